/* SPDX-License-Identifier: Apache-2.0 */
/* For MAP_ANONYMOUS, which POSIX 2008 lacks. */
#define _DEFAULT_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine_case.h"
#include "relayout/backend.h"
#include "relayout/engine_opencl.h"
#include "support/shape_of.h"

/*
 * Tensors that are smaller than the memory they share: an engine copies their
 * own bytes from and to the caller's memory, which ends here at a page without
 * access. And the bytes of a result that no element has.
 */

RLO_FILE_FIXTURE(open_context, close_context);
RLO_TIMEOUT(120);

/** Memory that ends where a page without access begins. */
typedef struct guarded {
  unsigned char *data;
  void *pages;
  size_t pages_bytes;
} guarded;

static guarded guard(int64_t bytes, int value) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t room = ((size_t)bytes + page - 1) / page * page;
  guarded g = {NULL, NULL, room + page};
  g.pages = mmap(NULL, g.pages_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(g.pages, MAP_FAILED);
  ck_assert_int_eq(mprotect((char *)g.pages + room, page, PROT_NONE), 0);
  g.data = (unsigned char *)g.pages + room - bytes;
  memset(g.data, value, (size_t)bytes);
  return g;
}

static void unguard(guarded *g) {
  ck_assert_int_eq(munmap(g->pages, g->pages_bytes), 0);
}

/* A tensor of s32[100,128] in tiles of 8 by 128, of 104 rows therefore: element
 * n is n, and the slots without element are not 0. */
static rlo_tensor *make_tiled(void) {
  rlo_shape shape = test_shape_of("s32[100,128]{1,0:T(8,128)}");
  rlo_tensor *x = NULL;
  guarded g = guard(104 * 128 * 4, 0xa5);
  int32_t *data = (int32_t *)(void *)g.data;
  for (int32_t n = 0; n < 100 * 128; ++n) {
    data[n] = n;
  }
  expect_ok(rlo_tensor_create(engine, &shape, data, &x));
  unguard(&g);
  return x;
}

/* Reads a tensor of these 12800 elements in every way; releases it. */
static void expect_counted(rlo_tensor *y) {
  enum { BYTES = 100 * 128 * 4 };

  ck_assert_int_eq(rlo_tensor_bytes(y), BYTES);
  guarded g = guard(BYTES, 0xff);
  expect_ok(rlo_tensor_read(y, g.data, BYTES));
  const int32_t *got = (const int32_t *)(const void *)g.data;
  const void *borrowed = NULL;
  expect_ok(rlo_tensor_host_data(y, &borrowed));
  for (int32_t n = 0; n < 100 * 128; ++n) {
    ck_assert_int_eq(got[n], n);
  }
  ck_assert_mem_eq(borrowed, got, BYTES);
  unguard(&g);
  rlo_tensor_release(y);
}

RLO_LOOP_TEST(test_engine_views__are_read_to_their_own_end, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_shape flat = test_shape_of("s32[100,128]");
  rlo_shape line = test_shape_of("s32[12800]");
  rlo_tensor *x = make_tiled();
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_relayout(x, &flat, &y));
  ck_assert(rlo_tensor_shares_memory(x, y));
  expect_counted(y);
  expect_ok(rlo_op_reshape(x, DIMS(12800), 1, &y));
  ck_assert(rlo_tensor_shares_memory(x, y));
  expect_counted(y);
  expect_ok(rlo_op_expand_dims(x, 0, &y));
  ck_assert(rlo_tensor_shares_memory(x, y));
  expect_counted(y);
  expect_ok(rlo_tensor_view(x, &line, &y));
  ck_assert(rlo_tensor_shares_memory(x, y));
  expect_counted(y);
  rlo_tensor_release(x);
  end();
}

RLO_LOOP_TEST(test_engine_views__move_to_the_other_backend, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = make_tiled();
  rlo_tensor *line = NULL;
  rlo_tensor *y = NULL;
  expect_ok(rlo_op_reshape(x, DIMS(12800), 1, &line));
  bool is_host = strcmp(rlo_tensor_backend_name(x), "host") == 0;
  expect_ok(rlo_backend_set(engine, is_host ? "opencl" : "host"));
  /* Twice reversed, on the other backend. */
  expect_ok(rlo_op_reverse(line, DIMS(0), 1, &y));
  rlo_tensor_release(line);
  expect_ok(rlo_op_reverse(y, DIMS(0), 1, &line));
  rlo_tensor_release(y);
  expect_counted(line);
  rlo_tensor_release(x);
  end();
}

/* Kernels read memory of the caller's no further than its end either. */
RLO_LOOP_TEST(test_engine_views__of_wrapped_memory, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_shape shape = test_shape_of("s32[100,128]{1,0:T(8,128)}");
  guarded g = guard(104 * 128 * 4, 0xa5);
  int32_t *data = (int32_t *)(void *)g.data;
  for (int32_t n = 0; n < 100 * 128; ++n) {
    data[n] = n;
  }
  rlo_tensor *x = NULL;
  rlo_tensor *y = NULL;
  rlo_tensor *r = NULL;
  expect_ok(rlo_tensor_wrap_host(engine, &shape, data, NULL, NULL, &x));
  expect_ok(rlo_op_reshape(x, DIMS(12800), 1, &y));
  expect_ok(rlo_op_reverse(y, DIMS(0), 1, &r));
  expect_counted(y);
  expect_ok(rlo_op_reverse(r, DIMS(0), 1, &y));
  expect_counted(y);
  rlo_tensor_release(r);
  rlo_tensor_release(x);
  end();
  unguard(&g);
}

/* The value to pad with is a scalar in any layout: its memory may be larger,
 * and the element need not come first. */
RLO_LOOP_TEST(test_engine_views__value_to_pad_with, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  rlo_tensor *x = tensor(DIMS(1), 1, FLOATS(1));
  rlo_tensor *tail = NULL;
  rlo_tensor *y = NULL;
  static float data[1024];
  for (int32_t n = 0; n < COUNT(data); ++n) {
    data[n] = (float)(9 + n);
  }
  rlo_shape shape = test_shape_of("f32[]{:L(1024)}");
  expect_ok(rlo_tensor_create(engine, &shape, data, &tail));
  expect_ok(rlo_op_pad(x, DIMS(1), DIMS(0), NULL, tail, &y));
  expect_array(y, DIMS(2), 1, FLOATS(9, 1));
  rlo_tensor_release(tail);
  /* A scalar that sees the third element. */
  rlo_layout layout = rlo_layout_row_major(0);
  layout.kind = RLO_LAYOUT_STRIDED;
  layout.offset_elems = 2;
  expect_ok(rlo_shape_make_with_layout(RLO_DTYPE_F32, NULL, 0, &layout, &shape));
  expect_ok(rlo_tensor_create(engine, &shape, data, &tail));
  expect_ok(rlo_op_pad(x, DIMS(1), DIMS(0), NULL, tail, &y));
  expect_array(y, DIMS(2), 1, FLOATS(11, 1));
  rlo_tensor_release(tail);
  /* One whose memory is larger than it is. */
  rlo_tensor *view = NULL;
  rlo_shape tiled = test_shape_of("f32[1]{0:T(128)}");
  rlo_shape plain = test_shape_of("f32[]");
  expect_ok(rlo_tensor_create(engine, &tiled, data, &tail));
  expect_ok(rlo_tensor_view(tail, &plain, &view));
  expect_ok(rlo_op_pad(x, DIMS(1), DIMS(0), NULL, view, &y));
  expect_array(y, DIMS(2), 1, FLOATS(9, 1));
  rlo_tensor_release(view);
  rlo_tensor_release(tail);
  rlo_tensor_release(x);
  end();
}

/* Fills and frees memory of a size, so that whoever gets it next finds it so.
 */
static void leave_traces(int64_t bytes) {
  rlo_shape shape;
  rlo_tensor *x = NULL;
  guarded g = guard(bytes, 0xa5);
  expect_ok(rlo_shape_make(RLO_DTYPE_U8, &bytes, 1, &shape));
  expect_ok(rlo_tensor_create(engine, &shape, g.data, &x));
  unguard(&g);
  rlo_tensor_release(x);
}

static void expect_counted_and_zeros(rlo_tensor *y, int64_t bytes) {
  guarded g = guard(bytes, 0xff);
  ck_assert_int_eq(rlo_tensor_bytes(y), bytes);
  expect_ok(rlo_tensor_read(y, g.data, bytes));
  for (int64_t n = 0; n < bytes; ++n) {
    ck_assert_int_eq(g.data[n], n < 100 ? (int)n : 0);
  }
  unguard(&g);
  rlo_tensor_release(y);
}

/* Slots that hold no element and take no fill. */
RLO_LOOP_TEST(test_engine_views__gaps_are_zero, 0, NUM_SET_UPS) {
  begin_set_up(_i);
  const char *const texts[] = {"u8[100]{0:T(128)}", "u8[100]{0:L(1000)}", "u8[100]{0:pad(640)}",
                               "u8[100]{0:T(128)fill(zero)}"};
  const int64_t bytes[] = {128, 1000, 640, 128};
  rlo_shape flat = test_shape_of("u8[100]");
  uint8_t data[100];
  for (int32_t n = 0; n < 100; ++n) {
    data[n] = (uint8_t)n;
  }
  rlo_tensor *x = NULL;
  expect_ok(rlo_tensor_create(engine, &flat, data, &x));
  for (int32_t n = 0; n < COUNT(texts); ++n) {
    rlo_shape shape = test_shape_of(texts[n]);
    rlo_tensor *y = NULL;
    leave_traces(bytes[n]);
    expect_ok(rlo_op_relayout(x, &shape, &y));
    expect_counted_and_zeros(y, bytes[n]);
    /* By a chain of the caller's. */
    rlo_chain *chain = NULL;
    expect_ok(rlo_chain_create(&flat, &chain));
    leave_traces(bytes[n]);
    expect_ok(rlo_run_chain(engine, chain, &x, 1, &shape, &y));
    rlo_chain_release(chain);
    expect_counted_and_zeros(y, bytes[n]);
    /* All of it. */
    leave_traces(bytes[n]);
    expect_ok(rlo_tensor_create(engine, &shape, NULL, &y));
    guarded g = guard(bytes[n], 0xff);
    expect_ok(rlo_tensor_read(y, g.data, bytes[n]));
    for (int64_t b = 0; b < bytes[n]; ++b) {
      ck_assert_int_eq(g.data[b], 0);
    }
    unguard(&g);
    rlo_tensor_release(y);
  }
  rlo_tensor_release(x);
  end();
}
