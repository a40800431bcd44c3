/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cases of the suites that are tables. Sizes are those of --size-factor 1:
 * 64 MiB and more unless the name says otherwise.
 */
#include "suite.h"

#define COUNT_OF(array) ((int32_t)(sizeof(array) / sizeof *(array)))

/** Row-major on both sides. */
#define MOVE(name_, dtype_, dims_, permutation_) \
  { .name = name_, .dtype = dtype_, .dims = dims_, .permutation = permutation_ }

/** The same order of dimensions, in two layouts. */
#define TILE(name_, dtype_, dims_, src_, dst_) \
  { .name = name_, .dtype = dtype_, .dims = dims_, .src_layout = src_, .dst_layout = dst_ }

/** Packed elements, in the same layout on both sides. */
#define BITS(name_, dtype_, dims_, permutation_, layout_)                       \
  {                                                                             \
    .name = name_, .dtype = dtype_, .dims = dims_, .permutation = permutation_, \
    .src_layout = layout_, .dst_layout = layout_                                \
  }

/** The last two dimensions widened to multiples, of the source (s) and of the
 *  destination (d). */
#define WIDE(name_, dtype_, dims_, permutation_, dst_, s0, s1, d0, d1)          \
  {                                                                             \
    .name = name_, .dtype = dtype_, .dims = dims_, .permutation = permutation_, \
    .dst_layout = dst_, .src_pad = {s0, s1}, .dst_pad = {                       \
      d0,                                                                       \
      d1                                                                        \
    }                                                                           \
  }

// clang-format off
static const bench_case_spec types[] = {
    MOVE("u8 aligned", "u8", "14464,7232", "1,0"),
    MOVE("u16 aligned", "u16", "14464,7232", "1,0"),
    MOVE("f32 aligned", "f32", "7264,7264", "1,0"),
    MOVE("f64 aligned", "f64", "7232,3616", "1,0"),
    MOVE("c128 aligned", "c128", "3620,3616", "1,0"),
    MOVE("u8 odd", "u8", "14465,7233", "1,0"),
    MOVE("u16 odd", "u16", "14465,7233", "1,0"),
    MOVE("f32 odd", "f32", "7225,7225", "1,0"),
    MOVE("f32 odd, rank 3", "f32", "367,383,361", "2,1,0"),
    MOVE("f32 odd, rank 3, batched", "f32", "61,1153,725", "0,2,1"),
    MOVE("f32 odd, rank 4", "f32", "95,75,97,77", "3,2,1,0"),
    MOVE("f32 odd, rank 4, middle", "f32", "95,75,97,77", "2,3,0,1"),
    MOVE("f32 odd, rank 5", "f32", "45,29,31,27,43", "4,3,2,1,0"),
    MOVE("f64 odd", "f64", "7231,3617", "1,0"),
    MOVE("c128 odd", "c128", "3621,3617", "1,0"),
    MOVE("u8 power of two", "u8", "16384,8192", "1,0"),
    MOVE("u16 power of two", "u16", "8192,8192", "1,0"),
    MOVE("f32 power of two", "f32", "8192,8192", "1,0"),
    MOVE("f64 power of two", "f64", "8192,4096", "1,0"),
    MOVE("c128 power of two", "c128", "4096,4096", "1,0"),
    BITS("s4 aligned", "s4", "14464,14464", "1,0", "{1,0:E(4)}"),
    BITS("u2 aligned", "u2", "29184,14592", "1,0", "{1,0:E(2)}"),
    BITS("u1 aligned", "u1", "29184,29184", "1,0", "{1,0:E(1)}"),
    BITS("s4 odd", "s4", "14465,14465", "1,0", "{1,0:E(4)}"),
    BITS("s4 odd rows", "s4", "512,57,7265", "1,0,2", "{2,1,0:E(4)}"),
};

static const bench_case_spec ml[] = {
    MOVE("f32 NCHW to NHWC", "f32", "32,64,112,112", "0,2,3,1"),
    MOVE("f32 NHWC to NCHW", "f32", "32,112,112,64", "0,3,1,2"),
    MOVE("bf16 NCHW to NHWC", "bf16", "64,64,112,112", "0,2,3,1"),
    MOVE("bf16 NHWC to NCHW", "bf16", "64,112,112,64", "0,3,1,2"),
    MOVE("f32 NCHW to NHWC, deep", "f32", "64,512,28,28", "0,2,3,1"),
    MOVE("f32 NHWC to NCHW, deep", "f32", "64,28,28,512", "0,3,1,2"),
    MOVE("f32 NCHW to nChw16c", "f32", "32,4,16,112,112", "0,1,3,4,2"),
    MOVE("f32 nChw16c to NCHW", "f32", "32,4,112,112,16", "0,1,4,2,3"),
    MOVE("u8 image HWC to CHW", "u8", "6000,4000,3", "2,0,1"),
    MOVE("u8 image CHW to HWC", "u8", "3,6000,4000", "1,2,0"),
    MOVE("u8 images NHWC to NCHW", "u8", "448,224,224,3", "0,3,1,2"),
    MOVE("f32 images NHWC to NCHW", "f32", "128,224,224,3", "0,3,1,2"),
    MOVE("f32 BSHD to BHSD", "f32", "8,2048,16,64", "0,2,1,3"),
    MOVE("f16 BSHD to BHSD", "f16", "16,2048,16,64", "0,2,1,3"),
    MOVE("f32 BSHD to BHDS", "f32", "8,2048,16,64", "0,2,3,1"),
    MOVE("f16 BSHD to BHDS", "f16", "16,2048,16,64", "0,2,3,1"),
    MOVE("f16 QKV to heads", "f16", "8,2048,3,16,64", "2,0,3,1,4"),
    MOVE("f32 OIHW to HWIO", "f32", "2048,1024,3,3", "2,3,1,0"),
    MOVE("f32 OIHW to OHWI", "f32", "2048,1024,3,3", "0,2,3,1"),
    MOVE("f32 OIHW to OIHW16i16o", "f32", "128,16,64,16,3,3", "0,2,4,5,3,1"),
    MOVE("f32 embedding, odd rows", "f32", "50257,768", "1,0"),
    MOVE("bf16 embedding", "bf16", "32000,4096", "1,0"),
};

/* Sizes just below the multiple: a few cells of each row are padding. */
static const bench_case_spec pad[] = {
    WIDE("f32 rows to 8", "f32", "8190,4093",
         NULL, "{1,0:fill(zero)}", 0, 0, 0, 8),
    WIDE("f32 rows to 128", "f32", "8190,4001",
         NULL, "{1,0:fill(zero)}", 0, 0, 0, 128),
    WIDE("f32 rows from 8", "f32", "8190,4093", NULL, NULL, 0, 8, 0, 0),
    WIDE("f32 rows from 128", "f32", "8190,4001", NULL, NULL, 0, 128, 0, 0),
    WIDE("f32 both to 8", "f32", "8190,4093",
         NULL, "{1,0:fill(zero)}", 0, 0, 8, 8),
    WIDE("f32 both to 128, zero", "f32", "8065,4001",
         NULL, "{1,0:fill(zero)}", 0, 0, 128, 128),
    WIDE("f32 both to 128, one", "f32", "8065,4001",
         NULL, "{1,0:fill(one)}", 0, 0, 128, 128),
    WIDE("f32 both to 128, lowest", "f32", "8065,4001",
         NULL, "{1,0:fill(lowest)}", 0, 0, 128, 128),
    WIDE("f32 both to 128, highest", "f32", "8065,4001",
         NULL, "{1,0:fill(highest)}", 0, 0, 128, 128),
    WIDE("f32 both to 128, left alone", "f32", "8065,4001",
         NULL, NULL, 0, 0, 128, 128),
    WIDE("f32 both from 128", "f32", "8065,4001", NULL, NULL, 128, 128, 0, 0),
    WIDE("bf16 rows to 128", "bf16", "8190,8101",
         NULL, "{1,0:fill(zero)}", 0, 0, 0, 128),
    WIDE("bf16 rows from 128", "bf16", "8190,8101", NULL, NULL, 0, 128, 0, 0),
    WIDE("u8 rows to 128", "u8", "8190,16101",
         NULL, "{1,0:fill(zero)}", 0, 0, 0, 128),
    WIDE("f32 short rows to 8", "f32", "250000,75",
         NULL, "{1,0:fill(zero)}", 0, 0, 0, 8),
    WIDE("f32 transposed to 128", "f32", "8065,4001",
         "1,0", "{1,0:fill(zero)}", 0, 0, 128, 128),
    WIDE("f32 transposed from 128", "f32", "8065,4001",
         "1,0", NULL, 128, 128, 0, 0),
};

static const bench_case_spec tile[] = {
    TILE("f32 to T(8,128)", "f32", "8192,4096",
         NULL, "{1,0:T(8,128)fill(zero)}"),
    TILE("f32 from T(8,128)", "f32", "8192,4096",
         "{1,0:T(8,128)fill(zero)}", NULL),
    TILE("f32 to T(8,128), ragged", "f32", "8061,4001",
         NULL, "{1,0:T(8,128)fill(zero)}"),
    TILE("f32 from T(8,128), ragged", "f32", "8061,4001",
         "{1,0:T(8,128)fill(zero)}", NULL),
    TILE("f32 column-major to T(8,128)", "f32", "8192,4096",
         "{0,1}", "{1,0:T(8,128)fill(zero)}"),
    TILE("f32 T(8,128) to column-major", "f32", "8192,4096",
         "{1,0:T(8,128)fill(zero)}", "{0,1}"),
    TILE("bf16 to T(8,128)(2,1)", "bf16", "8192,8192",
         NULL, "{1,0:T(8,128)(2,1)fill(zero)}"),
    TILE("bf16 from T(8,128)(2,1)", "bf16", "8192,8192",
         "{1,0:T(8,128)(2,1)fill(zero)}", NULL),
    TILE("u8 to T(8,128)(4,1)", "u8", "8192,16384",
         NULL, "{1,0:T(8,128)(4,1)fill(zero)}"),
    TILE("u8 from T(8,128)(4,1)", "u8", "8192,16384",
         "{1,0:T(8,128)(4,1)fill(zero)}", NULL),
    TILE("f32 T(8,128) to T(16,64)", "f32", "8192,4096",
         "{1,0:T(8,128)fill(zero)}", "{1,0:T(16,64)fill(zero)}"),
    TILE("f32 {1,0:T(8,128)} to {0,1:...}", "f32", "8192,4096",
         "{1,0:T(8,128)fill(zero)}", "{0,1:T(8,128)fill(zero)}"),
    MOVE("f32 NCHW to nChw16c", "f32", "32,4,16,112,112", "0,1,3,4,2"),
    MOVE("f32 nChw16c to NCHW", "f32", "32,4,112,112,16", "0,1,4,2,3"),
    MOVE("f32 NHWC to nChw16c", "f32", "32,12544,4,16", "0,2,1,3"),
    MOVE("f32 nChw16c to NHWC", "f32", "32,4,12544,16", "0,2,1,3"),
};

static const bench_case_spec skinny[] = {
    MOVE("f32 AoS to SoA, 2", "f32", "10000000,2", "1,0"),
    MOVE("f32 AoS to SoA, 3", "f32", "10000000,3", "1,0"),
    MOVE("f32 AoS to SoA, 4", "f32", "10000000,4", "1,0"),
    MOVE("f32 AoS to SoA, 5", "f32", "10000000,5", "1,0"),
    MOVE("f32 AoS to SoA, 6", "f32", "10000000,6", "1,0"),
    MOVE("f32 AoS to SoA, 7", "f32", "10000000,7", "1,0"),
    MOVE("f32 AoS to SoA, 8", "f32", "10000000,8", "1,0"),
    MOVE("f32 AoS to SoA, 12", "f32", "10000000,12", "1,0"),
    MOVE("f32 AoS to SoA, 16", "f32", "10000000,16", "1,0"),
    MOVE("f32 SoA to AoS, 2", "f32", "2,10000000", "1,0"),
    MOVE("f32 SoA to AoS, 3", "f32", "3,10000000", "1,0"),
    MOVE("f32 SoA to AoS, 4", "f32", "4,10000000", "1,0"),
    MOVE("f32 SoA to AoS, 5", "f32", "5,10000000", "1,0"),
    MOVE("f32 SoA to AoS, 6", "f32", "6,10000000", "1,0"),
    MOVE("f32 SoA to AoS, 7", "f32", "7,10000000", "1,0"),
    MOVE("f32 SoA to AoS, 8", "f32", "8,10000000", "1,0"),
    MOVE("f32 SoA to AoS, 12", "f32", "12,10000000", "1,0"),
    MOVE("f32 SoA to AoS, 16", "f32", "16,10000000", "1,0"),
    MOVE("u8 AoS to SoA, 3", "u8", "20000000,3", "1,0"),
    MOVE("u8 SoA to AoS, 3", "u8", "3,20000000", "1,0"),
    MOVE("u8 AoS to SoA, 4", "u8", "20000000,4", "1,0"),
    MOVE("u8 SoA to AoS, 4", "u8", "4,20000000", "1,0"),
    MOVE("u16 AoS to SoA, 2", "u16", "20000000,2", "1,0"),
    MOVE("u16 SoA to AoS, 2", "u16", "2,20000000", "1,0"),
    MOVE("f64 AoS to SoA, 3", "f64", "10000000,3", "1,0"),
    MOVE("f64 SoA to AoS, 3", "f64", "3,10000000", "1,0"),
};

static const bench_case_spec small[] = {
    MOVE("batch of 4x4", "f32", "1048576,4,4", "0,2,1"),
    MOVE("batch of 8x8", "f32", "262144,8,8", "0,2,1"),
    MOVE("batch of 16x16", "f32", "65536,16,16", "0,2,1"),
    MOVE("batch of 32x32", "f32", "16384,32,32", "0,2,1"),
    MOVE("batch of 3x5", "f32", "1118481,3,5", "0,2,1"),
    MOVE("batch of 7x9", "f32", "266305,7,9", "0,2,1"),
    MOVE("batch of 6x10", "f32", "279620,6,10", "0,2,1"),
};

/* These are not made smaller: their size is the point. */
static const bench_case_spec single[] = {
    MOVE("1 KiB: 16x16", "f32", "16,16", "1,0"),
    MOVE("4 KiB: 32x32", "f32", "32,32", "1,0"),
    MOVE("16 KiB: 64x64", "f32", "64,64", "1,0"),
    MOVE("64 KiB: 128x128", "f32", "128,128", "1,0"),
    MOVE("256 KiB: 256x256", "f32", "256,256", "1,0"),
    MOVE("1 MiB: 512x512", "f32", "512,512", "1,0"),
    MOVE("4 MiB: 1024x1024", "f32", "1024,1024", "1,0"),
    MOVE("39 KiB: 99x101", "f32", "99,101", "1,0"),
    MOVE("1 MiB rows: 64,64,64", "f32", "64,64,64", "1,0,2"),
    MOVE("1 MiB reversed: 32,16,16,32", "f32", "32,16,16,32", "3,2,1,0"),
    MOVE("1 MiB u8: 1024x1024", "u8", "1024,1024", "1,0"),
};

static const bench_case_spec rows[] = {
    MOVE("identity f32", "f32", "52765696", "0"),
    MOVE("identity u8, odd length", "u8", "200000003", "0"),
    MOVE("rows of 64 B", "f32", "1024,1024,16", "1,0,2"),
    MOVE("rows of 128 B", "f32", "1024,512,32", "1,0,2"),
    MOVE("rows of 132 B", "f32", "1024,512,33", "1,0,2"),
    MOVE("rows of 256 B", "f32", "512,512,64", "1,0,2"),
    MOVE("rows of 300 B", "f32", "512,512,75", "1,0,2"),
    MOVE("rows of 1 KiB", "f32", "256,256,256", "1,0,2"),
    MOVE("rows of 4012 B", "f32", "128,128,1003", "1,0,2"),
    MOVE("rows of 8 KiB", "f32", "96,96,2048", "1,0,2"),
    MOVE("rows of 75 B", "u8", "1024,1024,75", "1,0,2"),
    MOVE("rows of 192 B, rank 4", "f32", "28,48,28,28,48", "3,0,1,2,4"),
};

// clang-format on

bool bench_suite_types_add(bench_case_list *list) {
  return bench_case_add_all(list, types, COUNT_OF(types));
}

bool bench_suite_ml_add(bench_case_list *list) {
  return bench_case_add_all(list, ml, COUNT_OF(ml));
}

bool bench_suite_pad_add(bench_case_list *list) {
  return bench_case_add_all(list, pad, COUNT_OF(pad));
}

bool bench_suite_tile_add(bench_case_list *list) {
  return bench_case_add_all(list, tile, COUNT_OF(tile));
}

bool bench_suite_skinny_add(bench_case_list *list) {
  return bench_case_add_all(list, skinny, COUNT_OF(skinny));
}

bool bench_suite_small_add(bench_case_list *list) {
  if (!bench_case_add_all(list, small, COUNT_OF(small))) {
    return false;
  }
  double factor = list->size_factor;
  list->size_factor = 1.0;
  bool is_added = bench_case_add_all(list, single, COUNT_OF(single));
  list->size_factor = factor;
  return is_added;
}

bool bench_suite_rows_add(bench_case_list *list) {
  return bench_case_add_all(list, rows, COUNT_OF(rows));
}
