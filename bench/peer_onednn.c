/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's reorder, between two plain strided descriptions (its API 2). */
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "peer.h"

typedef struct dnn_state {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t reorder;
  dnnl_memory_t src, dst;
} dnn_state;

static bool run(void *payload) {
  dnn_state *state = payload;
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, state->src}, {DNNL_ARG_TO, state->dst}};
  return (dnnl_primitive_execute(state->reorder, state->stream, 2, arguments) == dnnl_success &&
          dnnl_stream_wait(state->stream) == dnnl_success) ||
         bench_fail("oneDNN could not execute its reorder");
}

static void release(void *payload) {
  dnn_state *state = payload;
  if (state == NULL) {
    return;
  }
  if (state->src != NULL) {
    dnnl_memory_destroy(state->src);
  }
  if (state->dst != NULL) {
    dnnl_memory_destroy(state->dst);
  }
  if (state->reorder != NULL) {
    dnnl_primitive_destroy(state->reorder);
  }
  if (state->stream != NULL) {
    dnnl_stream_destroy(state->stream);
  }
  if (state->engine != NULL) {
    dnnl_engine_destroy(state->engine);
  }
  free(state);
}

/** A type of that size whose values pass unchanged. */
static dnnl_data_type_t type_of(int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return dnnl_u8;
    case 2:
      return dnnl_bf16;
    case 4:
      return dnnl_f32;
    default:
      return dnnl_data_type_undef;
  }
}

static bool prepare(dnn_state *state, const bench_move *move, const dnnl_memory_desc_t *src,
                    const dnnl_memory_desc_t *dst) {
  dnnl_primitive_desc_t description = NULL;
  bool is_ready =
      dnnl_engine_create(&state->engine, dnnl_cpu, 0) == dnnl_success &&
      dnnl_stream_create(&state->stream, state->engine, dnnl_stream_default_flags) ==
          dnnl_success &&
      dnnl_reorder_primitive_desc_create(&description, src, state->engine, dst, state->engine,
                                         NULL) == dnnl_success &&
      dnnl_primitive_create(&state->reorder, description) == dnnl_success &&
      dnnl_memory_create(&state->src, src, state->engine, move->arena->host_src) == dnnl_success &&
      dnnl_memory_create(&state->dst, dst, state->engine, move->arena->host_dst) == dnnl_success;
  if (description != NULL) {
    dnnl_primitive_desc_destroy(description);
  }
  return is_ready;
}

static void *create(const bench_move *move) {
  const bench_plain *plain = move->plain;
  dnnl_data_type_t type = type_of(move->element_bytes);
  if (plain == NULL || type == dnnl_data_type_undef || plain->rank > DNNL_MAX_NDIMS) {
    return NULL;
  }
  dnnl_dims_t dims;
  dnnl_dims_t src_strides;
  dnnl_dims_t dst_strides;
  int64_t src_stride = 1;
  int64_t dst_stride = 1;
  for (int32_t k = plain->rank - 1; k >= 0; --k) {
    int32_t from = plain->permutation[k];
    dims[k] = plain->dims[k];
    src_strides[k] = src_stride;
    src_stride *= plain->dims[k];
    dst_strides[from] = dst_stride;
    dst_stride *= plain->dims[from];
  }
  dnnl_memory_desc_t src;
  dnnl_memory_desc_t dst;
  if (dnnl_memory_desc_init_by_strides(&src, plain->rank, dims, type, src_strides) !=
          dnnl_success ||
      dnnl_memory_desc_init_by_strides(&dst, plain->rank, dims, type, dst_strides) !=
          dnnl_success) {
    return NULL;
  }
  dnn_state *state = calloc(1, sizeof *state);
  if (state == NULL) {
    bench_fail("out of memory");
    return NULL;
  }
  if (!prepare(state, move, &src, &dst)) {
    release(state);
    return NULL;
  }
  return state;
}

const bench_peer bench_peer_onednn = {
    .name = "onednn",
    .summary = "the reorder primitive of oneDNN",
    .is_on_host = true,
    .is_spinning = true,
    .create = create,
    .run = run,
    .release = release,
};
