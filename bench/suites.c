/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "suite.h"

const bench_suite bench_suites[] = {
    {"ttc57",
     "the 57 transpositions of the TTC benchmark, float",
     bench_suite_ttc57_add,
     NULL},
    {"types",
     "elements of 1 to 16 bytes; aligned, odd and power-of-two sizes",
     bench_suite_types_add,
     NULL},
    {"ml",
     "images, attention heads, weights and embeddings",
     bench_suite_ml_add,
     NULL},
    {"pad",
     "row pitch and multiples of 8 and 128, both ways, each fill",
     bench_suite_pad_add,
     NULL},
    {"tile", "tiled layouts, both ways", bench_suite_tile_add, NULL},
    {"skinny",
     "2 to 16 by ten million, both ways",
     bench_suite_skinny_add,
     NULL},
    {"small",
     "batches of small matrices, and arrays of 1 KiB to 4 MiB",
     bench_suite_small_add,
     NULL},
    {"rows",
     "the identity, and rows that stay whole",
     bench_suite_rows_add,
     NULL},
    {"ops",
     "computed on the way: converted, scaled, added, summed; chains",
     bench_suite_ops_add,
     NULL},
    {"host",
     "the library without OpenCL, on ttc57, ml and tile, by 1 thread and all",
     NULL,
     bench_suite_host_run},
    {"service",
     "jobs from memory to memory, against the plan and the mover themselves",
     bench_suite_service_add,
     bench_suite_service_run},
    {"latency",
     "host time of planning and enqueueing",
     NULL,
     bench_suite_latency_run},
    {"compile",
     "programs of ttc57, their time cold and warm",
     NULL,
     bench_suite_compile_run},
};

const int32_t bench_num_suites =
    (int32_t)(sizeof bench_suites / sizeof *bench_suites);

const bench_suite *bench_suite_find(const char *name) {
  for (int32_t i = 0; i < bench_num_suites; ++i) {
    if (strcmp(bench_suites[i].name, name) == 0) {
      return &bench_suites[i];
    }
  }
  return NULL;
}
