/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "relayout/service.h"

#include "base/checked.h"
#include "base/status.h"
#include "message.h"
#include "subprocess.h"

const char *rlo__wisdom_path(void) {
  static char path[PATH_MAX];
  const char *base = getenv("XDG_DATA_HOME");
  const char *below = "";
  /* The XDG specification requires relative paths to be ignored. */
  if (base == NULL || base[0] != '/') {
    base = getenv("HOME");
    below = "/.local/share";
  }
  if (base == NULL || base[0] != '/') {
    return NULL;
  }
  const int length = snprintf(path, sizeof(path), "%s%s/relayout/wisdom", base, below);
  return length > 0 && (size_t)length < sizeof(path) ? path : NULL;
}

/* A missing file is not an error; an invalid one is reported and ignored. */
static void load_wisdom(rlo__session *session) {
  const char *path = rlo__wisdom_path();
  const rlo_status status =
      path == NULL ? RLO_OK
                   : rlo_context_load_wisdom(session->context, path, &session->num_taken,
                                             &session->num_ignored);
  if (status != RLO_OK && status != RLO_NOT_FOUND) {
    rlo__fail("planning without wisdom: %s", rlo_error_last()->message);
  }
}

const char *rlo__cache_dir(void) {
  return getenv("RELAYOUT_CACHE_DIR");
}

int rlo__session_init(const rlo__device_ref *device_ref, rlo__session *out_session) {
  *out_session = (rlo__session){0};
  int32_t device_number = device_ref->index;
  if (device_ref->name[0] != '\0' && rlo_device_find(device_ref->name, &device_number) != RLO_OK) {
    return rlo__fail_last();
  }
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = rlo__cache_dir();
  RLO__EXIT_TRY(
      rlo__check(rlo_context_create_default(device_number, &options, &out_session->context)));
  out_session->device_name = rlo_context_device_name(out_session->context);
  load_wisdom(out_session);
  return RLO__EXIT_OK;
}

int rlo__session_move(const rlo__session *session, const rlo_problem *problem, void *src,
                      void *dst) {
  rlo_service *service = NULL;
  rlo_storage *from = NULL;
  rlo_storage *to = NULL;
  rlo_job *job = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo_service_create(&session->context, 1, NULL, &service));
  RLO_TRY_GOTO(rlo_storage_from_memory(src, rlo__max(1, problem->src_bytes), &from));
  RLO_TRY_GOTO(rlo_storage_from_memory(dst, rlo__max(1, problem->dst_bytes), &to));
  RLO_TRY_GOTO(rlo_service_submit(service, problem, from, to, NULL, &job));
  RLO_TRY_GOTO(rlo_job_wait(job, -1, NULL));
  RLO_TRY_GOTO(rlo_job_result(job));
fail:
  rlo_job_release(job);
  rlo_storage_release(to);
  rlo_storage_release(from);
  rlo_service_release(service);
  return rlo__check(status);
}

typedef struct visit {
  const rlo__common_options *common;
  const char *hint;
  int (*work)(void *payload, rlo__session *session);
  void *payload;
} visit;

static int run_on_device(void *payload) {
  const visit *v = payload;
  rlo__session session;
  int code = rlo__session_init(&v->common->device, &session);
  if (code == RLO__EXIT_OK) {
    code = v->work(v->payload, &session);
    rlo_context_release(session.context);
  } else if (v->hint != NULL) {
    fputs(v->hint, stderr);
  }
  return code;
}

int rlo__session_run(const rlo__common_options *common, const char *hint,
                     int (*work)(void *payload, rlo__session *session), void *payload) {
  visit v = {common, hint, work, payload};
  return rlo__subprocess_run(common->is_isolated, run_on_device, &v);
}
