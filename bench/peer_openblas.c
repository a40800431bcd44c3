/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS's out-of-place transpose of matrices, one thread; batches in a loop.
 */
#include <cblas.h>
#include <stdlib.h>

#include "bench.h"
#include "peer.h"

/** Calls of a batch beyond which its cost is that of calling. */
#define MAX_BATCH 65536

typedef struct blas_state {
  const uint8_t *src;
  uint8_t *dst;
  int64_t batch;
  blasint rows, columns;
  int64_t element_bytes;
} blas_state;

static bool run(void *payload) {
  const blas_state *state = payload;
  const int64_t matrix_bytes = (int64_t)state->rows * state->columns * state->element_bytes;
  for (int64_t i = 0; i < state->batch; ++i) {
    const void *from = state->src + i * matrix_bytes;
    void *to = state->dst + i * matrix_bytes;
    if (state->element_bytes == 4) {
      cblas_somatcopy(CblasRowMajor, CblasTrans, state->rows, state->columns, 1.0f, from,
                      state->columns, to, state->rows);
    } else {
      cblas_domatcopy(CblasRowMajor, CblasTrans, state->rows, state->columns, 1.0, from,
                      state->columns, to, state->rows);
    }
  }
  return true;
}

static void *create(const bench_move *move) {
  const bench_plain *plain = move->plain;
  if (plain == NULL || (move->element_bytes != 4 && move->element_bytes != 8)) {
    return NULL;
  }
  const bool is_matrix = plain->rank == 2 && plain->permutation[0] == 1;
  const bool is_batch = plain->rank == 3 && plain->permutation[0] == 0 &&
                        plain->permutation[1] == 2 && plain->dims[0] <= MAX_BATCH;
  if (!is_matrix && !is_batch) {
    return NULL;
  }
  const int64_t *matrix = plain->dims + (is_batch ? 1 : 0);
  if (matrix[0] > INT32_MAX || matrix[1] > INT32_MAX) {
    return NULL;
  }
  blas_state *state = calloc(1, sizeof *state);
  if (state == NULL) {
    bench_fail("out of memory");
    return NULL;
  }
  *state = (blas_state){.src = move->arena->host_src,
                        .dst = move->arena->host_dst,
                        .batch = is_batch ? plain->dims[0] : 1,
                        .rows = (blasint)matrix[0],
                        .columns = (blasint)matrix[1],
                        .element_bytes = move->element_bytes};
  return state;
}

const bench_peer bench_peer_openblas = {
    .name = "openblas",
    .summary = "cblas_?omatcopy of OpenBLAS, one thread",
    .is_on_host = true,
    .create = create,
    .run = run,
    .release = free,
};
