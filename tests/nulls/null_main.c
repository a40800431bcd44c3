/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL for each pointer of each public function, one at a time. Prints a line
 * for each call that breaks the rule of relayout/status.h, and fails if there
 * is one. A call that crashes is a line like any other; the calls go on.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nulls/null_calls.h"

static sigjmp_buf before_call;
static int num_calls, num_wrong;

/* Ends the program: without these objects nothing can be tested. */
static void need(rlo_status status) {
  if (status != RLO_OK) {
    fprintf(stderr, "no valid argument: %s\n", rlo_error_last()->message);
    exit(2);
  }
}

/* Between two devices, each of which holds a row of f32[2,3]. */
static void begin_exchange(objects *o) {
  static const char text[] = "{devices=[2,1]<=[2]}";
  static const rlo_exchange_member members[] = {{.device = 0}, {.device = 1}};
  need(rlo_sharding_parse(text, strlen(text), &o->sharding));
  rlo_redistribution_options options = RLO_REDISTRIBUTION_OPTIONS_INIT;
  options.from = options.to = &o->shape;
  options.from_sharding = options.to_sharding = o->sharding;
  need(rlo_redistribution_create(&options, &o->redistribution));
  rlo_exchange_options exchange = RLO_EXCHANGE_OPTIONS_INIT;
  exchange.plan = o->redistribution;
  exchange.members = members;
  exchange.num_members = 2;
  need(rlo_exchange_create(&exchange, &o->exchange));
}

static void objects_begin(objects *o) {
  const int64_t sizes[] = {2, 3};
  memset(o, 0, sizeof *o);
  need(rlo_shape_make(RLO_DTYPE_F32, sizes, 2, &o->shape));
  need(rlo_shape_make(RLO_DTYPE_S32, sizes, 1, &o->ids_shape));
  need(rlo_relayout_lower(&o->shape, &o->shape, NULL, &o->problem));
  need(rlo_address_map_make(&o->shape, &o->map));
  need(rlo_chain_create(&o->shape, &o->chain));
  need(rlo_chain_lower(o->chain, NULL, &o->problems));
  need(rlo_segment_sum_create(&o->shape, &o->ids_shape, 0, 0, &o->shape, &o->segment_sum));
  begin_exchange(o);
  need(rlo_engine_create(NULL, &o->engine));
  need(rlo_tensor_create(o->engine, &o->shape, NULL, &o->tensor));
  need(rlo_tape_begin(o->engine, &o->tape));
  for (int n = 0; n < 2; ++n) {
    o->tensors[n] = o->tensor;
  }
  for (int n = 0; n < 4; ++n) {
    o->pointers[n] = o->zeros;
  }
}

static void objects_end(objects *o) {
  need(rlo_tape_end(o->tape));
  rlo_tensor_release(o->tensor);
  rlo_engine_release(o->engine);
  rlo_exchange_release(o->exchange);
  rlo_redistribution_release(o->redistribution);
  rlo_sharding_release(o->sharding);
  rlo_segment_sum_release(o->segment_sum);
  rlo_problem_list_release(o->problems);
  rlo_chain_release(o->chain);
}

void *room(objects *o, int place) {
  return o->rooms[place];
}

void not_called(void) {
  abort();
}

rlo_status take_first(rlo_engine *engine, rlo_tensor *const *xs, int32_t count, rlo_tensor **out_y,
                      void *payload) {
  (void)engine;
  (void)count;
  (void)payload;
  *out_y = rlo_tensor_retain(xs[0]);
  return RLO_OK;
}

static void on_crash(int signal) {
  siglongjmp(before_call, signal);
}

static void say_wrong(const null_function *f, const null_case *c, const char *is) {
  printf("%s(%s = NULL) %s\n", f->name, c->name, is);
  ++num_wrong;
}

static void try_call(const null_function *f, int null) {
  static objects o;
  const null_case *c = &f->cases[null];
  answer a = {RLO_OK, 0};
  char is[1024];
  ++num_calls;
  objects_begin(&o);
  int crash = sigsetjmp(before_call, 1);
  if (crash != 0) {
    (void)snprintf(is, sizeof is, "crashes: signal %d", crash);
    say_wrong(f, c, is);
    return;
  }
  f->call(&o, null, &a);
  const char *message = rlo_error_last()->message;
  const bool is_named = a.status != RLO_OK && strstr(message, c->sentence) != NULL;
  const bool is_right = c->status == RLO_OK ? !is_named : a.status == c->status && is_named;
  if (f->has_status && !is_right) {
    (void)snprintf(is, sizeof is, "returns %s: %s, not %s: %s", rlo_status_name(a.status),
                   a.status != RLO_OK ? message : "", rlo_status_name(c->status), c->sentence);
    say_wrong(f, c, is);
  }
  if (!f->has_status && !c->is_any && a.value != c->value) {
    (void)snprintf(is, sizeof is, "returns %lld, not %lld", (long long)a.value,
                   (long long)c->value);
    say_wrong(f, c, is);
  }
  objects_end(&o);
}

int main(void) {
  const struct sigaction action = {.sa_handler = on_crash};
  (void)sigaction(SIGSEGV, &action, NULL);
  (void)sigaction(SIGBUS, &action, NULL);
  (void)sigaction(SIGABRT, &action, NULL);
  for (int n = 0; n < null_num_functions; ++n) {
    for (int i = 0; i < null_functions[n].num_cases; ++i) {
      try_call(&null_functions[n], i);
    }
  }
  printf("%d calls, %d of them wrong\n", num_calls, num_wrong);
  return num_wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
