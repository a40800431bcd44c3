/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program_build.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/thread.h"
#include "support/suite.h"

static atomic_bool has_entered;

static void enter(void *payload) {
  (void)payload;
  rlo__pocl_binary_count_contexts(1);
  atomic_store(&has_entered, true);
}

RLO_NO_FORK();

RLO_TEST(test_pocl_binary_threads__no_context_comes_while_one_asks) {
  rlo__thread thread;
  ck_assert(!rlo__pocl_binary_begin_asking());
  rlo__pocl_binary_count_contexts(1);
  ck_assert(rlo__pocl_binary_begin_asking());
  ck_assert_int_eq(rlo__thread_start(enter, NULL, &thread), RLO_OK);
  /* It may not have begun yet; if it does not wait, this mostly shows it. */
  nanosleep(&(struct timespec){0, 20 * 1000 * 1000}, NULL);
  ck_assert(!atomic_load(&has_entered));
  rlo__pocl_binary_end_asking();
  rlo__thread_join(&thread);
  ck_assert(atomic_load(&has_entered));
  ck_assert(!rlo__pocl_binary_begin_asking());
  rlo__pocl_binary_count_contexts(-1);
  ck_assert(rlo__pocl_binary_begin_asking());
  rlo__pocl_binary_end_asking();
  rlo__pocl_binary_count_contexts(-1);
}

RLO_TEST(test_pocl_binary_threads__a_program_is_new_once) {
  char one_options[] = "-DONE";
  char two_options[] = "-DTWO";
  rlo__program_spec one = {
      .source = "kernel", .source_bytes = 6, .options = one_options, .kernel_name = "name"};
  rlo__program_spec two = one;
  two.options = two_options;
  ck_assert(rlo__pocl_binary_note(&one));
  ck_assert(rlo__pocl_binary_note(&two));
  ck_assert(!rlo__pocl_binary_note(&one));
  ck_assert(!rlo__pocl_binary_note(&two));
}
