/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/recorder.h"

#include <assert.h>

#include "base/status.h"

static _Thread_local rlo__recorder *newest;
/* The depth of nested kernels on this thread. */
static _Thread_local int32_t depth;

void rlo__recorder_push(rlo__recorder *recorder) {
  recorder->below = newest;
  newest = recorder;
}

void rlo__recorder_pop(rlo__recorder *recorder) {
  rlo__recorder **link = &newest;
  while (*link != NULL && *link != recorder) {
    link = &(*link)->below;
  }
  assert(*link == recorder);
  if (*link != NULL) {
    *link = recorder->below;
    recorder->below = NULL;
  }
}

void rlo__recorder_enter(void) {
  ++depth;
}

void rlo__recorder_leave(void) {
  assert(depth > 0);
  --depth;
}

rlo_status rlo__recorder_notify(const rlo__record *record) {
  if (depth > 0) {
    return RLO_OK;
  }
  for (rlo__recorder *r = newest; r != NULL; r = r->below) {
    if (r->engine == record->call->engine) {
      RLO_TRY(r->record(r->payload, record));
    }
  }
  return RLO_OK;
}
