/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays of the sizes that users have, 4 to 40 MiB, transposed by the host's
 * mover and by a job from memory to memory, between pages that nobody may
 * touch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/mover.h"
#include "relayout/service.h"
#include "support/expect.h"
#include "support/guarded_pages.h"
#include "support/suite.h"
#include "support/user_array.h"

RLO_TIMEOUT(1000);

static rlo_service *service;

static void open_service(void) {
  expect_ok(rlo_service_create(NULL, 0, NULL, &service));
}

static void close_service(void) {
  rlo_service_release(service);
}

RLO_NO_FORK();
RLO_FILE_FIXTURE(open_service, close_service);

static void run_mover(const test_user_array *a, const uint8_t *src, uint8_t *dst, int32_t threads) {
  rlo__host_mover *mover = NULL;
  expect_ok(rlo__host_mover_create(&a->problem, &mover));
  expect_ok(rlo__host_mover_run(mover, src, NULL, dst, threads));
  rlo__host_mover_release(mover);
}

static void run_job(const test_user_array *a, const uint8_t *src, uint8_t *dst) {
  rlo_storage *from = NULL;
  rlo_storage *to = NULL;
  rlo_job *job = NULL;
  expect_ok(rlo_storage_from_const_memory(src, a->total_bytes, &from));
  expect_ok(rlo_storage_from_memory(dst, a->total_bytes, &to));
  expect_ok(rlo_service_submit(service, &a->problem, from, to, NULL, &job));
  expect_ok(rlo_job_wait(job, -1, NULL));
  rlo_job_release(job);
  rlo_storage_release(from);
  rlo_storage_release(to);
}

/** Every third array by a job, the others on one and on two threads. */
static void run(const test_user_array *a, int number) {
  const size_t bytes = (size_t)a->total_bytes;
  const bool is_at_end = number % 2 == 0;
  const size_t shift = number % 4 == 1 ? 4 : 0;
  test_guarded_pages src = test_guarded_pages_make(bytes, 0, is_at_end, 0x33);
  test_guarded_pages dst = test_guarded_pages_make(bytes, shift, is_at_end, 0xee);
  test_user_array_fill(a, src.bytes);
  if (number % 3 == 2) {
    run_job(a, src.bytes, dst.bytes);
  } else {
    run_mover(a, src.bytes, dst.bytes, 1 + number % 3);
  }
  test_user_array_expect(a, dst.bytes, number % 3 == 2 ? "a job" : "the mover");
  ck_assert(test_guarded_pages_are_kept(&dst, 0xee));
  test_guarded_pages_release(&src);
  test_guarded_pages_release(&dst);
}

/* Arrays that crashed the mover: the last tile of a row of the destination has
 * fewer bytes than there are up to the next line. */
static const struct {
  const char *dims, *permutation;
  int64_t element_bytes;
} crashed[] = {{"4097,1024", "1,0", 4},       {"8193,1000", "1,0", 4}, {"16385,256", "1,0", 4},
               {"40961,40", "1,0", 4},        {"4097,4096", "1,0", 1}, {"4097,512", "1,0", 8},
               {"7,227,1545,4", "3,2,1,0", 1}};

RLO_TABLE_TEST(test_user_sizes__rows_end_in_a_line_of_the_tile_before, crashed) {
  test_user_array a;
  test_user_array_set(&a, crashed[_i].dims, crashed[_i].permutation, crashed[_i].element_bytes);
  for (int number = 0; number < 6; ++number) {
    run(&a, number);
  }
}

RLO_TEST(test_user_sizes__random_arrays) {
  test_random random = test_random_begin("test_user_sizes");
  test_user_array a;
  for (int number = 0; number < test_num_user_arrays(); ++number) {
    test_user_array_draw(&random, &a);
    run(&a, number);
  }
}
