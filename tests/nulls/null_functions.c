/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that calls pass. */
#include "null_objects.h"

rlo_status copy_inputs(rlo_engine *engine,
                       rlo_tensor *const *inputs,
                       int32_t num_inputs,
                       rlo_saver *saver,
                       rlo_tensor **outputs,
                       int32_t num_outputs,
                       void *payload) {
  (void)engine;
  (void)saver;
  (void)payload;
  for (int32_t n = 0; n < num_inputs && n < num_outputs; ++n) {
    outputs[n] = rlo_tensor_retain(inputs[n]);
  }
  return RLO_OK;
}

rlo_status copy_shape(const rlo_shape *shape,
                      rlo_shape *out_shape,
                      void *payload) {
  (void)payload;
  *out_shape = *shape;
  return RLO_OK;
}

void do_nothing(void *payload) {
  (void)payload;
}

rlo_status fail_factory(rlo_engine *engine,
                        void *payload,
                        const rlo_backend_methods **out_methods,
                        void **out_self) {
  (void)engine;
  (void)payload;
  (void)out_methods;
  (void)out_self;
  return RLO_INTERNAL;
}

rlo_status fail_gradient(rlo_gradient_call *call, void *payload) {
  (void)call;
  (void)payload;
  return RLO_INTERNAL;
}

void on_run(const rlo_profile_entry *entry, void *payload) {
  (void)entry;
  (void)payload;
}

void on_prepared(void *payload, rlo_status status) {
  (void)payload;
  (void)status;
}

void on_record(void *payload, const rlo_wisdom_record *record) {
  (void)payload;
  (void)record;
}

void on_step(void *payload, const char *step, const rlo_problem *after) {
  (void)payload;
  (void)step;
  (void)after;
}

rlo_status take_first(rlo_engine *engine,
                      rlo_tensor *const *xs,
                      int32_t count,
                      rlo_tensor **out_y,
                      void *payload) {
  (void)engine;
  (void)count;
  (void)payload;
  *out_y = rlo_tensor_retain(xs[0]);
  return RLO_OK;
}

rlo_status visit_index(const int64_t *index, bool *go_on, void *payload) {
  (void)index;
  (void)go_on;
  (void)payload;
  return RLO_OK;
}

rlo_status visit_piece(void *payload, const rlo_redistribution_piece *piece) {
  (void)payload;
  (void)piece;
  return RLO_OK;
}

rlo_status visit_subshape(const rlo_subshape *subshape, void *payload) {
  (void)subshape;
  (void)payload;
  return RLO_OK;
}
