/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL for each pointer of each public function, one at a time:
 *
 *   null_calls host|device
 *
 * `host` makes the calls that need no device, `device` the others. Prints a
 * line for each call that breaks the rule of relayout/status.h, and fails if
 * there is one. A call that crashes is a line like any other; the calls go on.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nulls/null_objects.h"

static sigjmp_buf before_call;

static void on_crash(int signal) {
  siglongjmp(before_call, signal);
}

static int num_calls, num_wrong;

/* A call with case `null` NULL, or with valid arguments if it is -1. */
static void try_call(const null_function *f, int null) {
  static objects o;
  const null_case *c = null >= 0 ? &f->cases[null] : NULL;
  const char *name = c != NULL ? c->name : "nothing";
  answer a = {RLO_OK, 0};
  ++num_calls;
  objects_begin(&o);
  int crash = sigsetjmp(before_call, 1);
  if (crash != 0) {
    printf("%s(%s = NULL) crashes: signal %d\n", f->name, name, crash);
    ++num_wrong;
    return;
  }
  f->call(&o, null, &a);
  const char *message = rlo_error_last()->message;
  rlo_status wanted = c != NULL ? c->status : RLO_OK;
  if (f->has_status &&
      (a.status != wanted || (c != NULL && wanted != RLO_OK &&
                              strstr(message, c->sentence) == NULL))) {
    printf("%s(%s = NULL) returns %s%s%s, not %s%s%s\n",
           f->name,
           name,
           rlo_status_name(a.status),
           a.status != RLO_OK ? ": " : "",
           a.status != RLO_OK ? message : "",
           rlo_status_name(wanted),
           c != NULL && c->sentence[0] != '\0' ? ": ..." : "",
           c != NULL ? c->sentence : "");
    ++num_wrong;
  }
  if (!f->has_status && c != NULL && !c->is_any && a.value != c->value) {
    printf("%s(%s = NULL) returns %lld, not %lld\n",
           f->name,
           name,
           (long long)a.value,
           (long long)c->value);
    ++num_wrong;
  }
  objects_end(&o);
}

int main(int argc, char **argv) {
  bool on_device = argc == 2 && strcmp(argv[1], "device") == 0;
  if (argc != 2 || (!on_device && strcmp(argv[1], "host") != 0)) {
    fprintf(stderr, "usage: null_calls host|device\n");
    return 2;
  }
  /* For functions that look for the cache of programs themselves. */
  char here[4096];
  if (getcwd(here, sizeof here) == NULL ||
      setenv("XDG_CACHE_HOME", here, 1) != 0) {
    perror("getcwd");
    return 2;
  }
  const struct sigaction action = {.sa_handler = on_crash};
  (void)sigaction(SIGSEGV, &action, NULL);
  (void)sigaction(SIGBUS, &action, NULL);
  (void)sigaction(SIGABRT, &action, NULL);
  for (int n = 0; n < null_num_functions; ++n) {
    const null_function *f = &null_functions[n];
    if (f->is_called_valid && f->needs_device == on_device) {
      try_call(f, -1);
    }
    for (int i = 0; i < f->num_cases; ++i) {
      if (f->cases[i].needs_device == on_device) {
        try_call(f, i);
      }
    }
  }
  device_end();
  printf("%d calls, %d of them wrong\n", num_calls, num_wrong);
  return num_wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
