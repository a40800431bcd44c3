/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/service.h"
#include "relayout/storage.h"

#include "convert.h"
#include "message.h"
#include "session.h"
#include "subprocess.h"

typedef struct state {
  const rlo__conversion *c;
  rlo__array src;
  /* In shared memory, zeroed. */
  void *dst;
  size_t dst_bytes;
  rlo__convert_result *result;
} state;

static int allocate_destination(state *s) {
  int code =
      rlo__memory_check(s->c->problem.src_bytes, s->c->problem.dst_bytes);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  s->dst_bytes = (size_t)s->c->problem.dst_bytes;
  s->dst = rlo__shared_create(s->dst_bytes);
  s->result = rlo__shared_create(sizeof(*s->result));
  return s->dst == NULL || s->result == NULL ? RLO__EXIT_FAILURE : RLO__EXIT_OK;
}

static int run_plan(
    state *s, rlo__session *session, rlo_plan *plan, cl_mem src, cl_mem dst) {
  /* Compiles first, so that the time is that of the relayout only. */
  if (rlo_plan_prepare(plan) != RLO_OK) {
    return rlo__fail_last();
  }
  int code = rlo__session_upload(session, src, s->src.data, s->src.bytes);
  if (code == RLO__EXIT_OK) {
    code = rlo__session_clear(session, dst, s->dst_bytes);
  }
  if (code == RLO__EXIT_OK) {
    code = rlo__session_run(session, plan, src, dst, &s->result->seconds);
  }
  if (code == RLO__EXIT_OK) {
    code = rlo__session_download(session, dst, s->dst, s->dst_bytes);
  }
  return code;
}

static int run_in_session(state *s, rlo__session *session) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = s->c->request.family;
  options.schedule = s->c->request.schedule;
  /* The buffers begin at the device's alignment. */
  options.is_aligned = true;
  rlo_plan *plan = NULL;
  if (rlo_plan_create(session->context, &s->c->problem, &options, &plan) !=
      RLO_OK) {
    return options.family == NULL && options.schedule == NULL
               ? rlo__fail_on_device()
               : rlo__fail_last();
  }
  rlo_plan_info info = RLO_PLAN_INFO_INIT;
  if (rlo_plan_get_info(plan, &info) != RLO_OK) {
    int code = rlo__fail_last();
    rlo_plan_release(plan);
    return code;
  }
  snprintf(s->result->family, sizeof(s->result->family), "%s", info.family);
  snprintf(s->result->device_name,
           sizeof(s->result->device_name),
           "%s",
           session->device_name);
  cl_mem src = NULL;
  cl_mem dst = NULL;
  int code = rlo__session_create_buffer(session, s->src.bytes, &src);
  if (code == RLO__EXIT_OK) {
    code = rlo__session_create_buffer(session, s->dst_bytes, &dst);
  }
  if (code == RLO__EXIT_OK) {
    code = run_plan(s, session, plan, src, dst);
  }
  if (dst != NULL) {
    rlo_buffer_release(session->context, dst);
  }
  if (src != NULL) {
    rlo_buffer_release(session->context, src);
  }
  rlo_plan_release(plan);
  return code;
}

static int run_on_device(void *payload) {
  state *s = payload;
  rlo__session session;
  /* One is enough for what is small. */
  int code = rlo__session_init(
      rlo__device_choice_first(&s->c->request.stream.devices), &session);
  if (code == RLO__EXIT_OK) {
    code = run_in_session(s, &session);
  }
  rlo__session_deinit(&session);
  return code;
}

/* Runs the problem as a job from memory to memory, on all cores. */
static rlo_status run_as_job(state *s, rlo_service *service) {
  rlo_storage *src = NULL;
  rlo_storage *dst = NULL;
  rlo_job *job = NULL;
  rlo_status status =
      rlo_storage_from_const_memory(s->src.data, (int64_t)s->src.bytes, &src);
  if (status == RLO_OK) {
    status = rlo_storage_from_memory(s->dst, s->c->problem.dst_bytes, &dst);
  }
  if (status == RLO_OK) {
    status = rlo_service_submit(service, &s->c->problem, src, dst, NULL, &job);
  }
  if (status == RLO_OK) {
    status = rlo_job_wait(job, -1, NULL);
  }
  if (status == RLO_OK) {
    status = rlo_job_result(job);
  }
  rlo_job_release(job);
  rlo_storage_release(dst);
  rlo_storage_release(src);
  return status;
}

static int run_on_host(state *s) {
  rlo_service *service = NULL;
  rlo_status status = rlo_service_create(NULL, 0, NULL, &service);
  if (status == RLO_OK) {
    status = run_as_job(s, service);
  }
  rlo_service_release(service);
  if (status == RLO_UNSUPPORTED || status == RLO_OUT_OF_RANGE) {
    /* It cannot be cut, or not for so little memory. */
    status = rlo_problem_run_host(&s->c->problem, s->src.data, s->dst);
  }
  if (status != RLO_OK) {
    return rlo__fail_last();
  }
  snprintf(s->result->family, sizeof(s->result->family), "host");
  return RLO__EXIT_OK;
}

/* Compares the result with the host reference. */
static int verify(const state *s) {
  unsigned char *expected = calloc(s->dst_bytes == 0 ? 1 : s->dst_bytes, 1);
  if (expected == NULL) {
    return rlo__fail("cannot get %zu bytes of memory to verify the result",
                     s->dst_bytes);
  }
  int code = RLO__EXIT_OK;
  if (rlo_problem_run_host(&s->c->problem, s->src.data, expected) != RLO_OK) {
    code = rlo__fail_last();
  } else if (memcmp(expected, s->dst, s->dst_bytes) != 0) {
    const unsigned char *result = s->dst;
    size_t at = 0;
    while (result[at] == expected[at]) {
      ++at;
    }
    code = rlo__fail(
        "byte %zu of the result is 0x%02x, the host reference has 0x%02x; "
        "nothing was written",
        at,
        result[at],
        expected[at]);
  }
  free(expected);
  return code;
}

static int convert(state *s) {
  int code = rlo__array_source_read(&s->c->source, &s->src);
  if (code == RLO__EXIT_OK) {
    code = allocate_destination(s);
  }
  if (code == RLO__EXIT_OK) {
    code = s->c->request.stream.devices.is_none
               ? run_on_host(s)
               : rlo__subprocess_run(
                     s->c->request.common.is_isolated, run_on_device, s);
  }
  if (code == RLO__EXIT_OK && s->c->request.is_verified) {
    code = verify(s);
  }
  if (code == RLO__EXIT_OK) {
    rlo__array_target target = {
        s->c->request.output_path, &s->c->dst_shape, s->dst};
    code = rlo__arrays_save(&target, 1);
  }
  return code;
}

int rlo__convert_in_memory(const rlo__conversion *conversion,
                           rlo__convert_result *out_result) {
  state s = {.c = conversion};
  int code = convert(&s);
  *out_result = (rlo__convert_result){0};
  if (s.result != NULL) {
    *out_result = *s.result;
  }
  rlo__shared_release(s.result, sizeof(*s.result));
  rlo__shared_release(s.dst, s.dst_bytes);
  rlo__array_deinit(&s.src);
  return code;
}
