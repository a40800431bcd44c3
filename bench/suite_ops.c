/* SPDX-License-Identifier: Apache-2.0 */
/* The cases that compute on the way, and chains of operations against the one
 * relayout that writes as much: about 64 MiB each. */
#include "suite.h"

enum { BLOCK = 2, EDGE = 16 };

/** A chain that could not be grown goes. */
static rlo_status hand_out(rlo_status status, rlo_chain *chain, rlo_chain **out_chain) {
  if (status == RLO_OK) {
    *out_chain = chain;
  } else {
    rlo_chain_release(chain);
  }
  return status;
}

/** Without its edges, transposed, with edges of zeros. */
static rlo_status slice_transpose_pad(const rlo_shape *src, rlo_chain **out_chain) {
  const int64_t edges[2] = {EDGE, EDGE};
  const int64_t ends[2] = {-EDGE, -EDGE};
  const int32_t order[2] = {1, 0};
  rlo_chain *chain = NULL;
  rlo_status status = rlo_chain_create(src, &chain);
  if (status == RLO_OK) {
    status = rlo_chain_slice(chain, edges, ends, NULL);
  }
  if (status == RLO_OK) {
    status = rlo_chain_transpose(chain, order);
  }
  if (status == RLO_OK) {
    status = rlo_chain_pad(chain, edges, edges, NULL, NULL);
  }
  return hand_out(status, chain, out_chain);
}

static rlo_status transpose_reverse(const rlo_shape *src, rlo_chain **out_chain) {
  const int32_t order[2] = {1, 0};
  rlo_chain *chain = NULL;
  rlo_status status = rlo_chain_create(src, &chain);
  if (status == RLO_OK) {
    status = rlo_chain_transpose(chain, order);
  }
  if (status == RLO_OK) {
    status = rlo_chain_reverse(chain, order, 1);
  }
  return hand_out(status, chain, out_chain);
}

static rlo_status space_to_depth(const rlo_shape *src, rlo_chain **out_chain) {
  rlo_chain *chain = NULL;
  rlo_status status = rlo_chain_create(src, &chain);
  if (status == RLO_OK) {
    status = rlo_chain_space_to_depth(chain, BLOCK, src->rank - 1);
  }
  return hand_out(status, chain, out_chain);
}

static rlo_status concat(const rlo_shape *src, rlo_chain **out_chain) {
  rlo_chain *chain = NULL;
  rlo_chain *other = NULL;
  rlo_status status = rlo_chain_create(src, &chain);
  if (status == RLO_OK) {
    status = rlo_chain_create(src, &other);
  }
  if (status == RLO_OK) {
    const rlo_chain *others[] = {other};
    status = rlo_chain_concatenate(chain, others, 1, src->rank - 1);
  }
  rlo_chain_release(other);
  return hand_out(status, chain, out_chain);
}

static rlo_status tile(const rlo_shape *src, rlo_chain **out_chain) {
  const int64_t times[2] = {2, 2};
  rlo_chain *chain = NULL;
  rlo_status status = rlo_chain_create(src, &chain);
  if (status == RLO_OK) {
    status = rlo_chain_tile(chain, times);
  }
  return hand_out(status, chain, out_chain);
}

static rlo_status repeat(const rlo_shape *src, rlo_chain **out_chain) {
  const int64_t times[2] = {2, 2};
  rlo_chain *chain = NULL;
  rlo_status status = rlo_chain_create(src, &chain);
  if (status == RLO_OK) {
    status = rlo_chain_repeat(chain, times);
  }
  return hand_out(status, chain, out_chain);
}

static rlo_status single_copy(const rlo_shape *dst, rlo_problem *out_problem) {
  return rlo_relayout_lower(dst, dst, NULL, out_problem);
}

static rlo_status lower_transposed(rlo_dtype dtype, const int64_t *dims, int32_t rank,
                                   const int32_t *order, rlo_problem *out_problem) {
  rlo_shape src;
  rlo_shape dst;
  int64_t moved[RLO_MAX_RANK];
  for (int32_t k = 0; k < rank; ++k) {
    moved[k] = dims[order[k]];
  }
  rlo_status status = rlo_shape_make(dtype, dims, rank, &src);
  if (status == RLO_OK) {
    status = rlo_shape_make(dtype, moved, rank, &dst);
  }
  return status == RLO_OK ? rlo_relayout_lower(&src, &dst, order, out_problem) : status;
}

static rlo_status single_transpose(const rlo_shape *dst, rlo_problem *out_problem) {
  const int64_t dims[2] = {dst->dims[1], dst->dims[0]};
  const int32_t order[2] = {1, 0};
  return lower_transposed(dst->dtype, dims, 2, order, out_problem);
}

/** Rows of blocks become blocks: the middle two of four dimensions change
 *  places. */
static rlo_status single_space_to_depth(const rlo_shape *dst, rlo_problem *out_problem) {
  const int64_t dims[4] = {dst->dims[0] * dst->dims[1], BLOCK, dst->dims[2], dst->dims[3] / BLOCK};
  const int32_t order[4] = {0, 2, 1, 3};
  return lower_transposed(dst->dtype, dims, 4, order, out_problem);
}

// clang-format off
static const bench_case_spec cases[] = {
    {.name = "f32 to bf16", .dtype = "f32", .dims = "4096,4096",
     .dst_dtype = "bf16"},
    {.name = "bf16 to f32", .dtype = "bf16", .dims = "4096,4096",
     .dst_dtype = "f32"},
    {.name = "f32 to f16", .dtype = "f32", .dims = "4096,4096",
     .dst_dtype = "f16"},
    {.name = "f32 to s8", .dtype = "f32", .dims = "4096,4096",
     .dst_dtype = "s8"},
    {.name = "f32 to bf16 in T(8,128)", .dtype = "f32", .dims = "4096,4096",
     .dst_layout = "{1,0:T(8,128)fill(zero)}", .dst_dtype = "bf16"},
    {.name = "f32 accumulate", .dtype = "f32", .dims = "4096,4096",
     .beta = 1.0},
    {.name = "f32 axpby", .dtype = "f32", .dims = "4096,4096",
     .alpha = 2.5, .beta = -0.5},
    {.name = "f64 axpby", .dtype = "f64", .dims = "2048,4096",
     .alpha = 2.5, .beta = -0.5},
    {.name = "f32 to bf16, transposed", .dtype = "f32", .dims = "4096,4096",
     .permutation = "1,0", .dst_dtype = "bf16"},
    {.name = "f32 axpby, transposed", .dtype = "f32", .dims = "4096,4096",
     .permutation = "1,0", .alpha = 2.5, .beta = -0.5},
    {.name = "f32 sum of columns", .dtype = "f32", .dims = "4096,4096",
     .sum = "0"},
    {.name = "f32 sum of rows", .dtype = "f32", .dims = "4096,4096",
     .sum = "1"},
    {.name = "bf16 sum of rows", .dtype = "bf16", .dims = "4096,8192",
     .sum = "1"},
    {.name = "f32 sum over NHW of NHWC", .dtype = "f32",
     .dims = "64,64,64,64", .sum = "0,1,2"},
    {.name = "f32 sum over NHW of NCHW", .dtype = "f32",
     .dims = "64,64,64,64", .sum = "0,2,3"},
    {.name = "f32 sum of all", .dtype = "f32", .dims = "4096,4096",
     .sum = "0,1"},
    {.name = "pad(transpose(slice))", .dtype = "f32", .dims = "4128,4128",
     .chain = slice_transpose_pad, .single = single_transpose},
    {.name = "reverse(transpose)", .dtype = "f32", .dims = "4096,4096",
     .chain = transpose_reverse, .single = single_transpose},
    {.name = "space_to_depth", .dtype = "f32", .dims = "16,256,256,16",
     .chain = space_to_depth, .single = single_space_to_depth},
    {.name = "concat of columns", .dtype = "f32", .dims = "4096,2048",
     .chain = concat, .single = single_copy},
    {.name = "tile 2 by 2", .dtype = "f32", .dims = "2048,2048",
     .chain = tile, .single = single_copy},
    {.name = "repeat 2 by 2", .dtype = "f32", .dims = "2048,2048",
     .chain = repeat, .single = single_copy},
};

// clang-format on

bool bench_suite_ops_add(bench_case_list *list) {
  return bench_case_add_all(list, cases, (int32_t)(sizeof cases / sizeof cases[0]));
}
