/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's service: a job from memory to memory, submitted and waited for.
 * It runs on the arena's context, on the host, or on two halves of a device.
 */
#include <relayout/service.h>
#include <stdlib.h>

#include "bench.h"
#include "peer.h"

enum { MAX_CONTEXTS = 2 };

typedef struct service_state {
  const rlo_problem *problem;
  rlo_service *service;
  rlo_storage *src, *dst;
  /** The contexts of the parts; others are retained by the service alone. */
  rlo_context *contexts[MAX_CONTEXTS];
} service_state;

static bool run(void *payload) {
  const service_state *state = payload;
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  rlo_job *job = NULL;
  options.is_new_destination = true;
  rlo_status status =
      rlo_service_submit(state->service, state->problem, state->src, state->dst, &options, &job);
  if (status == RLO_OK) {
    status = rlo_job_wait(job, -1, NULL);
  }
  if (status == RLO_OK) {
    status = rlo_job_result(job);
  }
  rlo_job_release(job);
  return status == RLO_OK || bench_fail_last("a job");
}

static void release(void *payload) {
  service_state *state = payload;
  if (state == NULL) {
    return;
  }
  rlo_service_release(state->service);
  rlo_storage_release(state->src);
  rlo_storage_release(state->dst);
  for (int32_t n = 0; n < MAX_CONTEXTS; ++n) {
    rlo_context_release(state->contexts[n]);
  }
  free(state);
}

static bool open_service(const bench_move *move, rlo_context *const *contexts, int32_t num_contexts,
                         service_state *state) {
  const bench_arena *arena = move->arena;
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  state->problem = move->problem;
  return (rlo_service_create(contexts, num_contexts, &options, &state->service) == RLO_OK &&
          rlo_storage_from_const_memory(arena->host_src, arena->src_capacity_bytes, &state->src) ==
              RLO_OK &&
          rlo_storage_from_memory(arena->host_dst, move->problem->dst_bytes, &state->dst) ==
              RLO_OK) ||
         bench_fail_last("the service");
}

/** @return NULL for what jobs do not do. */
static service_state *create_state(const bench_move *move) {
  service_state *state = NULL;
  if (move->item->num_operands == 1 && !move->item->is_computed) {
    state = calloc(1, sizeof *state);
    if (state == NULL) {
      bench_fail("out of memory");
    }
  }
  return state;
}

static void *create(const bench_move *move, rlo_context *const *contexts, int32_t num_contexts) {
  service_state *state = create_state(move);
  if (state != NULL && !open_service(move, contexts, num_contexts, state)) {
    release(state);
    state = NULL;
  }
  return state;
}

static void *create_on_device(const bench_move *move) {
  return create(move, &move->arena->context, 1);
}

static void *create_on_host(const bench_move *move) {
  return create(move, NULL, 0);
}

/** A context on a part of a device. The context keeps the part. */
static bool open_part(cl_device_id part, rlo_context **out_context) {
  cl_int code = CL_SUCCESS;
  cl_context context = clCreateContext(NULL, 1, &part, NULL, NULL, &code);
  if (code != CL_SUCCESS) {
    return bench_fail_cl("clCreateContext", code);
  }
  rlo_status status = rlo_context_create(context, part, NULL, out_context);
  clReleaseContext(context);
  return status == RLO_OK || bench_fail_last("half of the device");
}

/** Cuts the device in two. @return false if it cannot be cut. */
static bool open_parts(const bench_arena *arena, service_state *state) {
  const rlo_device_info *info = rlo_context_device_info(arena->context);
  const cl_uint units = (cl_uint)info->compute_units / MAX_CONTEXTS;
  const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, units, 0};
  cl_device_id parts[MAX_CONTEXTS];
  cl_uint count = 0;
  /* With an odd number of units one would be left over. */
  if (units == 0 || info->compute_units % MAX_CONTEXTS != 0 ||
      clCreateSubDevices(rlo_context_cl_device(arena->context), equally, MAX_CONTEXTS, parts,
                         &count) != CL_SUCCESS) {
    return false;
  }
  bool is_open = count == MAX_CONTEXTS;
  for (cl_uint n = 0; n < count; ++n) {
    is_open = is_open && open_part(parts[n], &state->contexts[n]);
    clReleaseDevice(parts[n]);
  }
  return is_open;
}

static void *create_on_parts(const bench_move *move) {
  service_state *state = create_state(move);
  if (state != NULL && (!open_parts(move->arena, state) ||
                        !open_service(move, state->contexts, MAX_CONTEXTS, state))) {
    release(state);
    state = NULL;
  }
  return state;
}

const bench_peer bench_peer_service = {
    .name = "service",
    .summary = "a job of the service on the device, from memory to memory",
    .is_on_host = true,
    .is_opt_in = true,
    .create = create_on_device,
    .run = run,
    .release = release,
};

const bench_peer bench_peer_service_host = {
    .name = "service-host",
    .summary = "the same without OpenCL",
    .is_on_host = true,
    .is_opt_in = true,
    .create = create_on_host,
    .run = run,
    .release = release,
};

const bench_peer bench_peer_service_parts = {
    .name = "service-parts",
    .summary = "the same on the two halves of the device",
    .is_on_host = true,
    .is_opt_in = true,
    .create = create_on_parts,
    .run = run,
    .release = release,
};
