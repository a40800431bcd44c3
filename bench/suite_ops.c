/* SPDX-License-Identifier: Apache-2.0 */
/* The cases that compute on the way, about 64 MiB each. */
#include "suite.h"

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
};

// clang-format on

bool bench_suite_ops_add(bench_case_list *list) {
  return bench_case_add_all(
      list, cases, (int32_t)(sizeof cases / sizeof cases[0]));
}
