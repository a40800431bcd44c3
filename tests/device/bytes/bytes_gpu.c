/* SPDX-License-Identifier: Apache-2.0 */
#include "device/bytes/bytes.h"

#include <stdio.h>
#include <string.h>

#include "runtime/context.h"
#include "support/device_table.h"

/*
 * Kernels of the GPU class on whatever device is there, by force: shapes larger
 * than the blocks and tiles of local memory, and devices that have little of it
 * or take small groups. The numbers that planning knows of the device are
 * changed for that; they only become smaller.
 */

static rlo_device_info own;

static void limit(int64_t work_group_items, int64_t local_memory_bytes) {
  rlo_device_info *info = &device.context->device_info;
  *info = own;
  if (work_group_items < info->max_work_group_items) {
    info->max_work_group_items = work_group_items;
  }
  if (local_memory_bytes < info->local_memory_bytes) {
    info->local_memory_bytes = local_memory_bytes;
  }
}

/* Blocks that are cut on either side, on both, on none; with copies that do not
 * fill a group; with guards and without. */
static const test_pair pairs[] = {
    {"?[3,20001]", "?[20001,3]", "1,0", false},
    {"?[20001,3]", "?[3,20001]", "1,0", false},
    {"?[300,301]", "?[301,300]", "1,0", false},
    {"?[256,128]", "?[128,256]", "1,0", false},
    {"?[37,33,41]", "?[41,33,37]", "2,1,0", false},
    {"?[6,90,100]", "?[6,100,90]", "0,2,1", false},
    {"?[7,64,96]", "?[7,96,64]", "0,2,1", false},
    {"?[9,10,11,12]", "?[12,11,10,9]", "3,2,1,0", false},
    {"?[4,6,8,10,12]", "?[12,4,10,6,8]", "4,0,3,1,2", false},
    {"?[3,3,3,3,3,3,3,3]", "?[3,3,3,3,3,3,3,3]", "7,5,3,1,6,4,2,0", false},
    {"?[50,60,3]", "?[60,50,3]", "1,0,2", false},
    {"?[50,20,75]", "?[20,50,75]", "1,0,2", false},
    {"?[33,4097]", "?[33,4097]{1,0:pad(40,4101)fill(one)}", "", false},
    {"?[5,6,7,35]{3,2,1,0:pad(5,6,7,39)}", "?[7,5,6,35]", "2,0,1,3", false},
    {"?[70,90,5]", "?[5,90,70]", "2,1,0", false},
    {"?[20,300]", "?[20,300]{1,0:T(8,128)(2,1)fill(zero)}", "", false},
    {"?[300,200]", "?[300,200]{0,1:T(8,128)fill(one)}", "", false},
    {"?[300,200]{1,0:T(8,128)}", "?[200,300]", "1,0", false},
    {"?[90,100]{1,0:pad(96,101)}", "?[100,90]{1,0:pad(103,97)}", "1,0", false},
    {"?[40,50,6]{:strides(300,-6,1)offset(294)}", "?[6,50,40]", "2,1,0", false},
    {"?[40,50,6]{:strides(6,0,1)}", "?[6,50,40]", "2,1,0", false},
    {"?[9,1000,8]", "?[9,8,1000]{2,1,0:pad(9,8,1008)fill(one)}", "0,2,1", false},
    {"?[7,501]{1,0:pad(7,512)}", "?[501,7]", "1,0", false},
    {"?[4,500]{1,0:pad(4,512)}", "?[500,4]{1,0:pad(512,4)fill(zero)}", "1,0", false},
    {"?[37,130]{1,0:T(8,128)(4,1)}", "?[37,130]{1,0:pad(40,144)}", "", false},
};

enum { NUM_PAIRS = sizeof pairs / sizeof pairs[0], NUM_WIDTHS = 5 };

static const char *const families[] = {"rows", "skinny", "tile", "packed"};

enum { NUM_FAMILIES = sizeof families / sizeof families[0] };

static int64_t runs[NUM_FAMILIES];

static void run_pair_by(const test_pair *pair, int32_t width, int64_t shift, const char *schedule) {
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
  test_pair_shapes(pair, test_dtypes[width], &src, &dst, permutation);
  for (int32_t f = 0; f < NUM_FAMILIES; ++f) {
    test_case c = {.src = &src,
                   .dst = &dst,
                   .permutation = permutation,
                   .family = families[f],
                   .schedule = schedule,
                   .device_class = RLO_DEVICE_CLASS_GPU,
                   .src_shift_bytes = shift << width,
                   .dst_shift_bytes = (shift * 3) << width};
    test_outcome outcome = test_device_run(&device, &c, NULL);
    ck_assert_int_ne(outcome, TEST_FAILED);
    runs[f] += outcome == TEST_RAN;
  }
}

static void run_pair(const test_pair *pair, int32_t width, int64_t shift) {
  run_pair_by(pair, width, shift, NULL);
}

/* Groups in every order, of every number of tiles along either side. */
static void run_orders(void) {
  static const char *const orders[] = {"output order", "input order", "plane order",
                                       "diagonal order"};
  static const test_pair planes[] = {
      {"?[5,300,201]", "?[201,5,300]", "2,0,1", false},
      {"?[300,3,201]", "?[201,3,300]", "2,1,0", false},
      {"?[70,901]", "?[901,70]", "1,0", false},
  };
  for (size_t n = 0; n < sizeof orders / sizeof orders[0]; ++n) {
    for (size_t p = 0; p < sizeof planes / sizeof planes[0]; ++p) {
      run_pair_by(&planes[p], 2, 0, orders[n]);
    }
  }
}

static void run_large_blocks(void) {
  /* Each pair has two of the widths. */
  for (int32_t width = 0; width < NUM_WIDTHS; ++width) {
    for (int32_t p = 0; p < NUM_PAIRS; ++p) {
      if ((p + width) % NUM_WIDTHS < 2) {
        run_pair(&pairs[p], width, (p + width) % NUM_WIDTHS);
      }
    }
  }
}

static const struct {
  int64_t work_group_items, local_memory_bytes;
} limits[] = {{1, 65536}, {32, 4096}, {64, 16384}, {100, 32768}, {1024, 2048}};

enum { NUM_LIMITS = sizeof limits / sizeof limits[0] };

static void run_small_devices(void) {
  for (int32_t n = 0; n < NUM_LIMITS; ++n) {
    limit(limits[n].work_group_items, limits[n].local_memory_bytes);
    for (int32_t p = n; p < test_num_pairs; p += 7) {
      if (test_pairs[p].is_small) {
        run_pair(&test_pairs[p], (p / 7 + n) % NUM_WIDTHS, p % 3);
      }
    }
    for (int32_t p = n; p < NUM_PAIRS; p += 5) {
      run_pair(&pairs[p], (p / 5 + n) % NUM_WIDTHS, p % 2);
    }
  }
}

void bytes_gpu(void) {
  memset(runs, 0, sizeof runs);
  own = device.context->device_info;
  run_large_blocks();
  run_orders();
  run_small_devices();
  device.context->device_info = own;
  for (int32_t f = 0; bytes_is_all() && f < NUM_FAMILIES; ++f) {
    printf("%s: %lld cases\n", families[f], (long long)runs[f]);
    ck_assert_int_ge(runs[f], 10);
  }
}

void bytes_gpu_ends(void) {
  static const struct {
    test_pair pair;
    const char *family;
  } cases[] = {
      /* The last group is not full. */
      {{"?[4099]", "?[4099]", "", false}, "copy"},
      /* Words that end one row and begin the next. */
      {{"?[9,10,75]", "?[10,9,75]", "1,0,2", false}, "packed"},
  };

  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
    rlo_shape src;
    rlo_shape dst;
    int32_t permutation[RLO_MAX_RANK];
    test_pair_shapes(&cases[n].pair, test_dtypes[0], &src, &dst, permutation);
    const test_case c = {.src = &src,
                         .dst = &dst,
                         .permutation = permutation,
                         .family = cases[n].family,
                         .device_class = RLO_DEVICE_CLASS_GPU};
    ck_assert_int_eq(test_device_run(&device, &c, NULL), TEST_RAN);
  }
}
