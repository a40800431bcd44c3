/* SPDX-License-Identifier: Apache-2.0 */

/* Arrays of 5 GiB, whose positions do not fit 32 bits, transposed by the
 * kernels of both classes. Needs 12 GiB of memory; only with --slow. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "relayout/opencl.h"
#include "relayout/ops.h"
#include "runtime/context.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/shape_of.h"

enum { CHUNK_BYTES = 1 << 24, GUARD_BYTES = 4096, GUARD = 0xa5 };

static const int64_t needed_bytes = INT64_C(12) << 30;

/** Element e of every source, cut to its width. */
static uint32_t value_at(int64_t element) {
  uint64_t mixed = ((uint64_t)element + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(mixed >> 32);
}

static void put(void *chunk, int64_t place, int32_t bytes, uint32_t value) {
  memcpy((char *)chunk + place * bytes, &value, (size_t)bytes);
}

/** A transposition, rows by columns, of elements of `bytes` bytes. */
typedef struct matrix {
  int64_t rows, columns;
  int32_t bytes;
  const char *type;
} matrix;

static int64_t bytes_of(const matrix *m) {
  return m->rows * m->columns * m->bytes;
}

static int64_t available_bytes(void) {
  FILE *file = fopen("/proc/meminfo", "r");
  char line[128];
  long long kib = 0;
  while (file != NULL && kib == 0 && fgets(line, sizeof line, file) != NULL) {
    (void)sscanf(line, "MemAvailable: %lld", &kib);
  }
  if (file != NULL) {
    (void)fclose(file);
  }
  return (int64_t)kib * 1024;
}

static bool has_room(void) {
  const rlo_device_info *info = &device.context->device_info;
  const int64_t available = available_bytes();
  if (available < needed_bytes || info->global_memory_bytes < needed_bytes ||
      info->max_allocation_bytes < needed_bytes / 2) {
    printf("skipped: of %" PRId64 " bytes %" PRId64 " are available, and the device has %" PRId64
           " in buffers of at most %" PRId64 "\n",
           needed_bytes, available, info->global_memory_bytes, info->max_allocation_bytes);
    return false;
  }
  return true;
}

/** The last chunk ends where the array ends. */
static void fill_source(const matrix *m, cl_mem src, void *chunk) {
  const int64_t total = bytes_of(m);
  for (int64_t at = 0; at < total; at += CHUNK_BYTES) {
    const int64_t from = at < total - CHUNK_BYTES ? at : total - CHUNK_BYTES;
    for (int64_t n = 0; n < CHUNK_BYTES / m->bytes; ++n) {
      put(chunk, n, m->bytes, value_at(from / m->bytes + n));
    }
    test_device_write(device.queue, src, from, CHUNK_BYTES, chunk);
  }
}

/** The bytes [from, from + CHUNK_BYTES) of the destination. */
static void check_chunk(const matrix *m, cl_mem dst, int64_t from, char *got, char *wanted) {
  test_device_read(device.queue, dst, GUARD_BYTES + from, CHUNK_BYTES, got);
  const int64_t first = from / m->bytes;
  for (int64_t n = 0; n < CHUNK_BYTES / m->bytes; ++n) {
    const int64_t row = (first + n) / m->rows;
    const int64_t column = (first + n) % m->rows;
    put(wanted, n, m->bytes, value_at(column * m->columns + row));
  }
  for (int64_t n = 0; n < CHUNK_BYTES; ++n) {
    ck_assert_msg(got[n] == wanted[n],
                  "%s: byte %" PRId64
                  " of the destination is 0x%02x, not "
                  "0x%02x",
                  m->type, from + n, (unsigned char)got[n], (unsigned char)wanted[n]);
  }
}

static void check_guards(const matrix *m, cl_mem dst, char *got) {
  test_device_read(device.queue, dst, 0, CHUNK_BYTES, got);
  for (int64_t n = 0; n < GUARD_BYTES; ++n) {
    ck_assert_uint_eq((unsigned char)got[n], GUARD);
  }
  test_device_read(device.queue, dst, bytes_of(m) + 2 * GUARD_BYTES - CHUNK_BYTES, CHUNK_BYTES,
                   got);
  for (int64_t n = CHUNK_BYTES - GUARD_BYTES; n < CHUNK_BYTES; ++n) {
    ck_assert_uint_eq((unsigned char)got[n], GUARD);
  }
}

static rlo_problem transposition(const matrix *m) {
  static const int32_t permutation[] = {1, 0};
  char text[64];
  (void)snprintf(text, sizeof text, "%s[%" PRId64 ",%" PRId64 "]", m->type, m->rows, m->columns);
  rlo_shape src = test_shape_of(text);
  (void)snprintf(text, sizeof text, "%s[%" PRId64 ",%" PRId64 "]", m->type, m->columns, m->rows);
  rlo_shape dst = test_shape_of(text);
  rlo_problem problem;
  expect_ok(rlo_relayout_lower(&src, &dst, permutation, &problem));
  return problem;
}

static void run(const matrix *m, rlo_device_class device_class, cl_mem src, cl_mem dst) {
  const rlo_problem problem = transposition(m);
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.device_class = device_class;
  rlo_plan *plan = test_context_plan(device.context, &problem, &options);
  rlo_plan_info info = test_plan_info_of(plan);
  const unsigned char guard = GUARD;
  const size_t total = (size_t)bytes_of(m) + 2 * GUARD_BYTES;
  expect_cl(clEnqueueFillBuffer(device.queue, dst, &guard, 1, 0, total, 0, NULL, NULL));
  expect_ok(rlo_enqueue(plan, device.queue, src, 0, dst, GUARD_BYTES, 0, NULL, NULL));
  expect_cl(clFinish(device.queue));
  printf("%s[%" PRId64 ",%" PRId64 "] transposed: %" PRId64 " bytes, %s\n", m->type, m->rows,
         m->columns, bytes_of(m), info.parameters);
  (void)fflush(stdout);
  rlo_plan_release(plan);
}

/** The first and the last groups, and those on either side of 2^31 and 2^32
 *  bytes and elements. */
static void check(const matrix *m, cl_mem dst, char *got, char *wanted) {
  const int64_t last = bytes_of(m) - CHUNK_BYTES;
  const int64_t places[] = {0, (INT64_C(1) << 31) - CHUNK_BYTES / 2,
                            (INT64_C(1) << 32) - CHUNK_BYTES / 2,
                            (m->bytes * (INT64_C(1) << 31)) - CHUNK_BYTES / 2, last};
  for (size_t n = 0; n < sizeof places / sizeof places[0]; ++n) {
    if (places[n] <= last) {
      check_chunk(m, dst, places[n], got, wanted);
    }
  }
  check_guards(m, dst, got);
}

static void transpose_all(const matrix *m) {
  open_device();
  if (has_room()) {
    char *chunk = malloc(CHUNK_BYTES);
    char *wanted = malloc(CHUNK_BYTES);
    ck_assert(chunk != NULL && wanted != NULL);
    cl_mem src = NULL;
    cl_mem dst = NULL;
    expect_ok(rlo_buffer_create(device.context, bytes_of(m), &src));
    expect_ok(rlo_buffer_create(device.context, bytes_of(m) + 2 * GUARD_BYTES, &dst));
    fill_source(m, src, chunk);
    run(m, RLO_DEVICE_CLASS_CPU, src, dst);
    check(m, dst, chunk, wanted);
    run(m, RLO_DEVICE_CLASS_GPU, src, dst);
    check(m, dst, chunk, wanted);
    rlo_buffer_release(device.context, src);
    rlo_buffer_release(device.context, dst);
    free(chunk);
    free(wanted);
  }
  close_device();
}

RLO_TIMEOUT(600);

RLO_TEST(test_device_large__u8) {
  transpose_all(&(matrix){65539, 81920, 1, "u8"});
}

RLO_TEST(test_device_large__u16) {
  transpose_all(&(matrix){65539, 40960, 2, "u16"});
}

RLO_TEST(test_device_large__u32) {
  transpose_all(&(matrix){32771, 40961, 4, "u32"});
}
