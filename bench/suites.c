/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "suite.h"

const bench_suite bench_suites[] = {
    {.name = "ttc57",
     .summary = "the 57 transpositions of the TTC benchmark, float",
     .add_cases = bench_suite_ttc57_add},
    {.name = "types",
     .summary = "elements of 1 bit to 16 bytes; aligned, odd and power-of-two sizes",
     .add_cases = bench_suite_types_add},
    {.name = "ml",
     .summary = "images, attention heads, weights and embeddings",
     .add_cases = bench_suite_ml_add},
    {.name = "pad",
     .summary = "row pitch and multiples of 8 and 128, both ways, each fill",
     .add_cases = bench_suite_pad_add},
    {.name = "tile", .summary = "tiled layouts, both ways", .add_cases = bench_suite_tile_add},
    {.name = "skinny",
     .summary = "2 to 16 by ten million, both ways",
     .add_cases = bench_suite_skinny_add},
    {.name = "small",
     .summary = "batches of small matrices, and arrays of 1 KiB to 4 MiB",
     .add_cases = bench_suite_small_add},
    {.name = "rows",
     .summary = "the identity, and rows that stay whole",
     .add_cases = bench_suite_rows_add},
    {.name = "ops",
     .summary = "computed on the way: converted, scaled, added, summed; chains",
     .add_cases = bench_suite_ops_add},
    {.name = "host",
     .summary = "the library without OpenCL, on ttc57, ml and tile, by 1 "
                "thread and all",
     .run = bench_suite_host_run},
    {.name = "service",
     .summary = "jobs from memory to memory, against the plan and the mover "
                "themselves",
     .add_cases = bench_suite_service_add,
     .run = bench_suite_service_run},
    {.name = "files",
     .summary = "relayout convert from file to file, within budgets of memory",
     .add_cases = bench_suite_files_add,
     .run = bench_suite_files_run,
     .rounds = 3,
     .size_factor = 1.0 / 32},
    {.name = "latency",
     .summary = "host time of planning and enqueueing",
     .run = bench_suite_latency_run},
    {.name = "compile",
     .summary = "programs of ttc57, their time cold and warm",
     .run = bench_suite_compile_run},
};

const int32_t bench_num_suites = (int32_t)(sizeof bench_suites / sizeof *bench_suites);

const bench_suite *bench_suite_find(const char *name) {
  for (int32_t i = 0; i < bench_num_suites; ++i) {
    if (strcmp(bench_suites[i].name, name) == 0) {
      return &bench_suites[i];
    }
  }
  return NULL;
}
