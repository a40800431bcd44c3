/* SPDX-License-Identifier: Apache-2.0 */
#include "interrupt.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "base/file_replace.h"

static const int handled_signals[] = {SIGINT, SIGTERM, SIGHUP};

#define NUM_HANDLED (sizeof(handled_signals) / sizeof(handled_signals[0]))

/* A handler can only use globals. They are written only while the signals are
 * blocked. */
static volatile pid_t current_child;
static rlo__interrupt_file *volatile first_file;

static volatile sig_atomic_t *volatile orderly_flag;
static volatile sig_atomic_t is_asked;

static void handle(int signal_number) {
  if (orderly_flag != NULL && !is_asked) {
    is_asked = 1;
    *orderly_flag = signal_number;
    return;
  }
  if (current_child > 0) {
    kill(current_child, SIGKILL);
  }
  bool stays = false;
  for (const rlo__interrupt_file *file = first_file; file != NULL; file = file->next) {
    if (file->journal_path != NULL && rlo__file_is_own(AT_FDCWD, file->journal_path)) {
      stays = true;
    } else {
      unlink(file->path);
    }
  }
  for (const rlo__interrupt_file *file = first_file; file != NULL; file = file->next) {
    if (file->tell != NULL) {
      file->tell(file->payload, stays);
    }
  }
  _exit(128 + signal_number);
}

static void fill_set(sigset_t *out_set) {
  sigemptyset(out_set);
  for (size_t i = 0; i < NUM_HANDLED; ++i) {
    sigaddset(out_set, handled_signals[i]);
  }
}

void rlo__interrupt_install(void) {
  struct sigaction action = {0};
  action.sa_handler = handle;
  fill_set(&action.sa_mask);
  for (size_t i = 0; i < NUM_HANDLED; ++i) {
    struct sigaction before;
    sigaction(handled_signals[i], NULL, &before);
    /* Ignored by nohup or by a shell for a background job. */
    if (before.sa_handler != SIG_IGN) {
      sigaction(handled_signals[i], &action, NULL);
    }
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

void rlo__interrupt_uninstall(void) {
  current_child = 0;
  first_file = NULL;
  for (size_t i = 0; i < NUM_HANDLED; ++i) {
    struct sigaction before;
    sigaction(handled_signals[i], NULL, &before);
    if (before.sa_handler == handle && orderly_flag == NULL) {
      signal(handled_signals[i], SIG_DFL);
    }
  }
}

static sigset_t unblocked;

void rlo__interrupt_block(void) {
  sigset_t set;
  fill_set(&set);
  sigprocmask(SIG_BLOCK, &set, &unblocked);
}

void rlo__interrupt_unblock(void) {
  sigprocmask(SIG_SETMASK, &unblocked, NULL);
}

void rlo__interrupt_set_child(pid_t child) {
  current_child = child;
}

void rlo__interrupt_set_orderly(volatile sig_atomic_t *flag) {
  is_asked = 0;
  orderly_flag = flag;
}

void rlo__interrupt_add_file(rlo__interrupt_file *file) {
  file->next = first_file;
  first_file = file;
}

void rlo__interrupt_remove_file(const rlo__interrupt_file *file) {
  rlo__interrupt_file *volatile *at = &first_file;
  while (*at != NULL && *at != file) {
    at = &(*at)->next;
  }
  if (*at != NULL) {
    *at = file->next;
  }
}
