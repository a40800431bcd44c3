/* SPDX-License-Identifier: Apache-2.0 */
#include "service/storage.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "support/expect.h"
#include "support/storage_transfer.h"
#include "support/suite.h"

typedef struct user {
  char memory[64];
  int num_calls, num_released;
  int64_t reserved_bytes;
  rlo_status status;
  /** The message of the failure; NULL: none is set. */
  const char *message;
} user;

/* The caller and the traits of a storage of functions. */
static user caller;
static rlo_storage_traits traits;

/* The last storage of a test. */
static rlo_storage *storage;

static void begin(void) {
  caller = (user){.status = RLO_OK};
  traits = (rlo_storage_traits)RLO_STORAGE_TRAITS_INIT;
  traits.bytes = sizeof caller.memory;
}

static void end(void) {
  rlo_storage_release(storage);
  storage = NULL;
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(begin, end);

/* ------------------------------------------------------------------- memory */

RLO_TEST(test_storage__memory_is_read_and_written) {
  char memory[10] = "0123456789";
  expect_ok(rlo_storage_from_memory(memory, 10, &storage));
  char data[4] = "";
  expect_ok(rlo__storage_read(storage, 6, 4, data));
  ck_assert_int_eq(memcmp(data, "6789", 4), 0);
  expect_ok(rlo__storage_write(storage, 1, 2, "ab"));
  ck_assert_int_eq(memcmp(memory, "0ab3456789", 10), 0);
  ck_assert_ptr_eq(storage->memory, memory);
  expect_ok(rlo__storage_reserve(storage, 10));
  rlo__storage_set_streamed(storage);
  expect_ok(rlo__storage_flush(storage));
}

RLO_TEST(test_storage__const_memory_is_only_read) {
  static const char memory[4] = "abcd";
  expect_ok(rlo_storage_from_const_memory(memory, 4, &storage));
  char data[4] = "";
  expect_ok(rlo__storage_read(storage, 0, 4, data));
  ck_assert_int_eq(memcmp(data, memory, 4), 0);
  expect_refusal(rlo__storage_write(storage, 0, 4, data), RLO_INVALID_ARGUMENT,
                 "a write to a storage that can only be read");
  expect_refusal(rlo__storage_reserve(storage, 4), RLO_INVALID_ARGUMENT,
                 "a write to a storage that can only be read");
  expect_ok(rlo__storage_flush(storage));
  ck_assert_ptr_eq(storage->memory, memory);
}

RLO_TEST(test_storage__of_no_bytes) {
  expect_ok(rlo_storage_from_memory(NULL, 0, &storage));
  expect_ok(rlo__storage_read(storage, 0, 0, NULL));
  expect_ok(rlo__storage_write(storage, 0, 0, NULL));
  expect_ok(rlo__storage_reserve(storage, 0));
  char data[1];
  expect_refusal(rlo__storage_read(storage, 0, 1, data), RLO_OUT_OF_RANGE,
                 "1 bytes at byte 0 do not lie in a storage of 0 bytes");
  ck_assert_ptr_null(storage->memory);
}

RLO_TEST(test_storage__memory_that_cannot_be) {
  char memory[1];
  storage = (rlo_storage *)(void *)memory;
  expect_refusal(rlo_storage_from_memory(NULL, 3, &storage), RLO_INVALID_ARGUMENT,
                 "'memory' is NULL, but its length is 3");
  ck_assert_ptr_null(storage);
  expect_refusal_with(rlo_storage_from_memory(memory, -1, &storage), RLO_INVALID_ARGUMENT,
                      "-1 bytes");
  ck_assert_int_eq(rlo_storage_from_const_memory(NULL, 1, &storage), RLO_INVALID_ARGUMENT);
  expect_refusal(rlo_storage_from_memory(memory, 1, NULL), RLO_INVALID_ARGUMENT,
                 "'out_storage' is NULL");
}

RLO_TEST(test_storage__references_are_counted) {
  char memory[1];
  expect_ok(rlo_storage_from_memory(memory, 1, &storage));
  ck_assert_ptr_eq(rlo_storage_retain(storage), storage);
  rlo_storage_release(storage);
  expect_ok(rlo__storage_read(storage, 0, 1, memory + 0));
  rlo_storage_release(NULL);
  ck_assert_ptr_null(rlo_storage_retain(NULL));
}

/* ------------------------------------------------------------------- ranges */

RLO_TEST(test_storage__ranges_name_the_value_and_the_limit) {
  char memory[10];
  char data[16];
  expect_ok(rlo_storage_from_memory(memory, 10, &storage));

  static const struct {
    int64_t offset, bytes;
    const char *message;
  } cases[] = {{8, 3, "3 bytes at byte 8 do not lie in a storage of 10 bytes"},
               {11, 0, "0 bytes at byte 11 do not lie in a storage of 10 bytes"},
               {-1, 2, "2 bytes at byte -1 do not lie in a storage of 10 bytes"},
               {2, -1, "-1 bytes at byte 2 do not lie in a storage of 10 bytes"},
               {INT64_MAX, INT64_MAX,
                "9223372036854775807 bytes at byte 9223372036854775807 do not lie in a "
                "storage of 10 bytes"},
               {1, INT64_MAX,
                "9223372036854775807 bytes at byte 1 do not lie in a storage of 10 "
                "bytes"}};

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    if (cases[i].bytes > PTRDIFF_MAX) {
      /* A 32-bit host has no such memory, which is found before. */
      ck_assert_int_eq(rlo__storage_read(storage, cases[i].offset, cases[i].bytes, data),
                       RLO_OVERFLOW);
      continue;
    }
    expect_refusal(rlo__storage_read(storage, cases[i].offset, cases[i].bytes, data),
                   RLO_OUT_OF_RANGE, cases[i].message);
    expect_refusal(rlo__storage_write(storage, cases[i].offset, cases[i].bytes, data),
                   RLO_OUT_OF_RANGE, cases[i].message);
  }
  ck_assert_int_eq(rlo__storage_reserve(storage, 11), RLO_OUT_OF_RANGE);
  ck_assert_int_eq(rlo__storage_reserve(storage, -1), RLO_OUT_OF_RANGE);
}

RLO_TEST(test_storage__lattices_are_checked) {
  char memory[100] = "";
  char data[100];
  expect_ok(rlo_storage_from_memory(memory, 100, &storage));
  const int64_t two[] = {2, 2};
  const int64_t strides[] = {60, 20};
  expect_refusal(test_transfer(storage, -1, two, strides, 2, 10, data, false), RLO_OUT_OF_RANGE,
                 "90 bytes at byte -1 do not lie in a storage of 100 bytes");
  expect_ok(test_transfer(storage, 0, two, strides, 2, 10, data, false));
  expect_ok(test_transfer(storage, 10, two, strides, 2, 10, data, false));
  ck_assert_int_eq(test_transfer(storage, 11, two, strides, 2, 10, data, true), RLO_OUT_OF_RANGE);
}

/* ---------------------------------------------------------------- functions */

static rlo_status finish(user *u) {
  ++u->num_calls;
  if (u->status != RLO_OK && u->message != NULL) {
    return rlo_error_set(u->status, "%s", u->message);
  }
  return u->status;
}

static rlo_status user_read(void *payload, int64_t offset, int64_t bytes, void *into) {
  user *u = payload;
  memcpy(into, u->memory + offset, (size_t)bytes);
  return finish(u);
}

static rlo_status user_write(void *payload, int64_t offset, int64_t bytes, const void *from) {
  user *u = payload;
  memcpy(u->memory + offset, from, (size_t)bytes);
  return finish(u);
}

static rlo_status user_reserve(void *payload, int64_t bytes) {
  user *u = payload;
  u->reserved_bytes = bytes;
  return finish(u);
}

static rlo_status user_flush(void *payload) {
  return finish(payload);
}

static rlo_status user_identify(void *payload, uint64_t *out_number) {
  user *u = payload;
  *out_number = (uint64_t)u->memory[0];
  return finish(u);
}

static void user_release(void *payload) {
  user *u = payload;
  ++u->num_released;
}

static const rlo_storage_ops user_ops = {sizeof(rlo_storage_ops),
                                         user_read,
                                         user_write,
                                         user_reserve,
                                         user_flush,
                                         user_release,
                                         user_identify};

RLO_TEST(test_storage__functions_are_called) {
  strcpy(caller.memory, "0123456789");
  expect_ok(rlo_storage_create(&user_ops, &caller, &traits, &storage));
  char data[3] = "";
  expect_ok(rlo__storage_read(storage, 7, 3, data));
  ck_assert_int_eq(memcmp(data, "789", 3), 0);
  expect_ok(rlo__storage_reserve(storage, 60));
  ck_assert_int_eq(caller.reserved_bytes, 60);
  expect_ok(rlo__storage_write(storage, 0, 3, "abc"));
  ck_assert_int_eq(memcmp(caller.memory, "abc3", 4), 0);
  expect_ok(rlo__storage_flush(storage));
  ck_assert_int_eq(caller.num_calls, 4);
  ck_assert_ptr_null(storage->memory);
  /* Nothing is called for nothing. */
  expect_ok(rlo__storage_read(storage, 64, 0, NULL));
  expect_ok(rlo__storage_reserve(storage, 0));
  ck_assert_int_eq(caller.num_calls, 4);
  rlo_storage_retain(storage);
  rlo_storage_release(storage);
  ck_assert_int_eq(caller.num_released, 0);
  rlo_storage_release(storage);
  ck_assert_int_eq(caller.num_released, 1);
  storage = NULL;
}

RLO_TEST(test_storage__a_failure_of_a_function_has_a_sentence) {
  caller.status = RLO_NOT_FOUND;
  expect_ok(rlo_storage_create(&user_ops, &caller, &traits, &storage));
  char data[3] = "";
  expect_refusal(rlo__storage_read(storage, 0, 3, data), RLO_NOT_FOUND,
                 "'read' of a storage failed with RLO_NOT_FOUND and no "
                 "message");
  expect_refusal(rlo__storage_write(storage, 0, 3, data), RLO_NOT_FOUND,
                 "'write' of a storage failed with RLO_NOT_FOUND and no "
                 "message");
  caller.status = RLO_CANCELLED;
  caller.message = "the wire is cut";
  expect_refusal(rlo__storage_reserve(storage, 3), RLO_CANCELLED, "the wire is cut");
  expect_refusal(rlo__storage_flush(storage), RLO_CANCELLED, "the wire is cut");
  test_storage_stats stats = test_storage_get_stats(storage);
  ck_assert(stats.num_reads == 0 && stats.num_writes == 0);
}

RLO_TEST(test_storage__functions_that_identify) {
  caller.memory[0] = '7';
  expect_ok(rlo_storage_create(&user_ops, &caller, &traits, &storage));
  rlo__storage_identity identity;
  expect_ok(rlo__storage_get_identity(storage, &identity));
  ck_assert(!identity.is_file && identity.number == '7');
  expect_ok(rlo__storage_check_identity(storage, &identity));
  caller.memory[0] = '8';
  expect_refusal(rlo__storage_check_identity(storage, &identity), RLO_DATA_LOSS,
                 "the source has changed: its 'identify' gave 55 and gives 56");
  caller.status = RLO_IO;
  expect_refusal(rlo__storage_check_identity(storage, &identity), RLO_IO,
                 "'identify' of a storage failed with RLO_IO and no message");
  rlo_storage_release(storage);
  rlo_storage_ops ops = user_ops;
  ops.identify = NULL;
  expect_ok(rlo_storage_create(&ops, &caller, &traits, &storage));
  expect_ok(rlo__storage_get_identity(storage, &identity));
  ck_assert(!identity.is_file && identity.number == 0);
}

RLO_TEST(test_storage__functions_that_are_missing) {
  char data[3] = "";
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  expect_refusal(rlo_storage_create(&ops, &caller, &traits, &storage), RLO_INVALID_ARGUMENT,
                 "the storage has no function that reads and none that writes");
  ops.write = user_write;
  expect_ok(rlo_storage_create(&ops, &caller, &traits, &storage));
  expect_ok(rlo__storage_reserve(storage, 3));
  expect_ok(rlo__storage_write(storage, 0, 3, data));
  expect_ok(rlo__storage_flush(storage));
  expect_refusal(rlo__storage_read(storage, 0, 3, data), RLO_INVALID_ARGUMENT,
                 "a read of a storage that can only be written");
  rlo_storage_release(storage);
  ck_assert_int_eq(caller.num_released, 0);

  traits.is_read_only = true;
  expect_refusal(rlo_storage_create(&ops, &caller, &traits, &storage), RLO_INVALID_ARGUMENT,
                 "the storage has no function that reads and is only read");
  ops.write = NULL;
  ops.read = user_read;
  traits.is_read_only = false;
  expect_ok(rlo_storage_create(&ops, &caller, &traits, &storage));
  ck_assert_int_eq(rlo__storage_write(storage, 0, 3, data), RLO_INVALID_ARGUMENT);
  expect_ok(rlo_storage_get_traits(storage, &traits));
  ck_assert(traits.is_read_only);
  rlo_storage_release(storage);

  ops.struct_size = 0;
  expect_refusal_with(rlo_storage_create(&ops, &caller, &traits, &storage), RLO_INVALID_ARGUMENT,
                      "RLO_STORAGE_OPS_INIT");
  ck_assert_int_eq(rlo_storage_create(NULL, &caller, &traits, &storage), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_storage_create(&user_ops, &caller, NULL, &storage), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_storage_create(&user_ops, &caller, &traits, NULL), RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(caller.num_released, 0);
}

RLO_TEST(test_storage__functions_of_an_older_header) {
  rlo_storage_ops ops = user_ops;
  ops.struct_size = offsetof(rlo_storage_ops, release);
  expect_ok(rlo_storage_create(&ops, &caller, &traits, &storage));
  rlo_storage_release(storage);
  ck_assert_int_eq(caller.num_released, 0);
  ops.struct_size = sizeof ops + 1;
  ck_assert_int_eq(rlo_storage_create(&ops, &caller, &traits, &storage), RLO_INVALID_ARGUMENT);
  ck_assert_ptr_null(storage);
}

/* Runs that begin before the memory and end behind it: that part of neither is
 * touched. */
RLO_TEST(test_storage__lattices_beyond_memory_are_clipped) {
  enum { BEFORE = 4, BYTES = 8, RUN = 6, RUNS = 3 };

  const rlo__lattice lattice = {
      .base_byte = -BEFORE, .num_dims = 1, .extents = {RUNS}, .strides = {RUN}, .run_bytes = RUN};
  char around[2 * BEFORE + BYTES + RUN];
  char packed[RUN * RUNS];
  for (int is_write = 0; is_write < 2; ++is_write) {
    memset(around, 'm', sizeof around);
    memset(packed, 'p', sizeof packed);
    rlo__lattice_copy(&lattice, around + BEFORE, BYTES, packed, is_write == 1);
    for (int n = 0; n < RUN * RUNS; ++n) {
      const bool is_inside = n >= BEFORE && n < BEFORE + BYTES;
      ck_assert_int_eq(packed[n], is_inside && is_write == 0 ? 'm' : 'p');
      ck_assert_int_eq(around[n], is_inside && is_write == 1 ? 'p' : 'm');
    }
  }
}

/* ------------------------------------------------------------------- traits */

RLO_TEST(test_storage__traits_have_defaults) {
  rlo_storage_traits got = RLO_STORAGE_TRAITS_INIT;
  expect_ok(rlo_storage_create(&user_ops, &caller, &traits, &storage));
  expect_ok(rlo_storage_get_traits(storage, &got));
  ck_assert_int_eq(got.bytes, 64);
  ck_assert_int_eq(got.granule_bytes, 1);
  ck_assert_int_eq(got.good_read_bytes, 24576);
  ck_assert_int_eq(got.good_write_bytes, 98304);
  ck_assert_int_eq(got.good_depth, 8);
  ck_assert(!got.is_read_only);
  rlo_storage_release(storage);

  traits = (rlo_storage_traits){sizeof traits, 64, 100000, 0, 300000, 3, true, false, false};
  expect_ok(rlo_storage_create(&user_ops, &caller, &traits, &storage));
  expect_ok(rlo_storage_get_traits(storage, &got));
  ck_assert_int_eq(got.granule_bytes, 100000);
  ck_assert_int_eq(got.good_read_bytes, 100000);
  ck_assert_int_eq(got.good_write_bytes, 300000);
  ck_assert_int_eq(got.good_depth, 3);
  ck_assert(got.is_read_only);

  /* A caller whose struct ends before good_depth. */
  got = (rlo_storage_traits)RLO_STORAGE_TRAITS_INIT;
  got.struct_size = offsetof(rlo_storage_traits, good_depth);
  got.good_depth = 77;
  expect_ok(rlo_storage_get_traits(storage, &got));
  ck_assert_uint_eq(got.struct_size, offsetof(rlo_storage_traits, good_depth));
  ck_assert(got.good_write_bytes == 300000 && got.good_depth == 77);
  got.struct_size = sizeof got + 1;
  ck_assert_int_eq(rlo_storage_get_traits(storage, &got), RLO_INVALID_ARGUMENT);
  got.struct_size = 0;
  ck_assert_int_eq(rlo_storage_get_traits(storage, &got), RLO_INVALID_ARGUMENT);
  expect_refusal(rlo_storage_get_traits(storage, NULL), RLO_INVALID_ARGUMENT,
                 "'out_traits' is NULL");
  expect_refusal(rlo_storage_get_traits(NULL, &got), RLO_INVALID_ARGUMENT, "'storage' is NULL");
}

RLO_TEST(test_storage__traits_that_are_negative) {
  static const struct {
    rlo_storage_traits traits;
    const char *message;
  } cases[] = {{{sizeof(rlo_storage_traits), -1, 0, 0, 0, 0, false, false, false},
                "bytes of the storage traits is -1; at least 0"},
               {{sizeof(rlo_storage_traits), 1, -2, 0, 0, 0, false, false, false},
                "granule_bytes of the storage traits is -2; at least 0"},
               {{sizeof(rlo_storage_traits), 1, 0, -3, 0, 0, false, false, false},
                "good_read_bytes of the storage traits is -3; at least 0"},
               {{sizeof(rlo_storage_traits), 1, 0, 0, -4, 0, false, false, false},
                "good_write_bytes of the storage traits is -4; at least 0"},
               {{sizeof(rlo_storage_traits), 1, 0, 0, 0, -5, false, false, false},
                "good_depth of the storage traits is -5; at least 0"}};

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    expect_refusal(rlo_storage_create(&user_ops, &caller, &cases[i].traits, &storage),
                   RLO_INVALID_ARGUMENT, cases[i].message);
    ck_assert_ptr_null(storage);
  }
}

RLO_TEST(test_storage__transfers_are_whole_granules) {
  char data[64];
  traits.bytes = 60;
  traits.granule_bytes = 16;
  expect_ok(rlo_storage_create(&user_ops, &caller, &traits, &storage));
  expect_ok(rlo__storage_read(storage, 16, 32, data));
  expect_ok(rlo__storage_read(storage, 48, 12, data)); /* the end */
  expect_ok(rlo__storage_read(storage, 0, 60, data));
  expect_refusal(rlo__storage_read(storage, 8, 16, data), RLO_INVALID_ARGUMENT,
                 "1 runs of 16 bytes, first at byte 8, are not whole granules "
                 "of 16 bytes");
  expect_refusal(rlo__storage_write(storage, 16, 24, data), RLO_INVALID_ARGUMENT,
                 "1 runs of 24 bytes, first at byte 16, are not whole granules "
                 "of 16 bytes");
  const int64_t extent = 2;
  int64_t stride = 32;
  expect_ok(test_transfer(storage, 0, &extent, &stride, 1, 16, data, false));
  stride = 24;
  ck_assert_int_eq(test_transfer(storage, 0, &extent, &stride, 1, 16, data, false),
                   RLO_INVALID_ARGUMENT);
}

/* ----------------------------------------------------------------- counting */

RLO_TEST(test_storage__transfers_are_counted) {
  char data[64];
  expect_ok(rlo_storage_create(&user_ops, &caller, &traits, &storage));
  test_storage_stats stats = test_storage_get_stats(storage);
  ck_assert(stats.smallest_read == 0 && stats.smallest_write == 0);
  const int64_t extents[] = {3, 4};
  const int64_t strides[] = {20, 5};
  expect_ok(test_transfer(storage, 0, extents, strides, 2, 5, data, false));
  expect_ok(rlo__storage_read(storage, 0, 30, data));
  expect_ok(rlo__storage_read(storage, 62, 2, data)); /* ends with it */
  expect_ok(test_transfer(storage, 4, extents, strides, 1, 5, data, true));
  stats = test_storage_get_stats(storage);
  ck_assert_int_eq(stats.num_reads, 14); /* the lattice has 12 runs */
  ck_assert_int_eq(stats.bytes_read, 92);
  ck_assert_int_eq(stats.bytes_skipped, 0);
  ck_assert_int_eq(stats.smallest_read, 5);
  ck_assert_int_eq(stats.num_writes, 3);
  ck_assert_int_eq(stats.bytes_written, 15);
  ck_assert_int_eq(stats.smallest_write, 5);
}

RLO_TEST(test_storage__what_is_no_file_has_no_identity) {
  char memory[1];
  expect_ok(rlo_storage_from_memory(memory, 1, &storage));
  rlo__storage_identity identity;
  expect_ok(rlo__storage_get_identity(storage, &identity));
  ck_assert(!identity.is_file && identity.inode == 0);
  expect_ok(rlo__storage_check_identity(storage, &identity));
}

RLO_TEST(test_storage__survives_a_failed_allocation) {
  char memory[1];
  rlo__alloc_set_fault(1, true);
  ck_assert_int_eq(rlo_storage_from_memory(memory, 1, &storage), RLO_OUT_OF_MEMORY);
  ck_assert_ptr_null(storage);
  ck_assert_int_eq(rlo_storage_create(&user_ops, &caller, &traits, &storage), RLO_OUT_OF_MEMORY);
  ck_assert_ptr_null(storage);
  ck_assert_int_eq(caller.num_released, 0);
  rlo__alloc_set_fault(0, false);
}
