/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "engine/call/fusion.h"
#include "engine/engine.h"

static rlo_status check_operands(const rlo_engine *engine,
                                 const rlo_chain *chain,
                                 rlo_tensor *const *inputs,
                                 int32_t num_inputs) {
  if (num_inputs != rlo_chain_num_operands(chain)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%d inputs for a chain of %d operands",
                    num_inputs,
                    rlo_chain_num_operands(chain));
  }
  for (int32_t n = 0; n < num_inputs; ++n) {
    RLO_TRY(rlo__tensor_check(inputs[n], engine, "input", n));
    if (!rlo_shape_equal(rlo_tensor_shape(inputs[n]),
                         rlo_chain_operand(chain, n))) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "input %d has another shape or layout than operand %d of "
                      "the chain",
                      n,
                      n);
    }
  }
  return RLO_OK;
}

rlo_status rlo_run_chain(rlo_engine *engine,
                         const rlo_chain *chain,
                         rlo_tensor *const *inputs,
                         int32_t num_inputs,
                         const rlo_shape *out_shape,
                         rlo_tensor **out_tensor) {
  if (engine == NULL || chain == NULL || inputs == NULL || out_tensor == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the %s is NULL",
                    engine == NULL   ? "engine"
                    : chain == NULL  ? "chain"
                    : inputs == NULL ? "list of inputs"
                                     : "place for the result");
  }
  RLO_TRY(check_operands(engine, chain, inputs, num_inputs));
  rlo__backend_instance *instance = NULL;
  rlo__shared_shape *shape = NULL;
  rlo__call_plan *plan = NULL;
  rlo__storage *storage = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__backend_need_active(engine, &instance));
  RLO_TRY_GOTO(rlo__shape_table_get(
      &engine->shapes,
      out_shape != NULL ? out_shape : rlo_chain_shape(chain),
      &shape));
  RLO_TRY_GOTO(
      rlo__call_plan_create_chain(engine, instance, chain, shape, &plan));
  RLO_TRY_GOTO(
      rlo__call_plan_run_tensors(plan, 0, inputs, num_inputs, &storage));
  RLO_TRY_GOTO(rlo__tensor_create(engine, shape, storage, NULL, out_tensor));
  storage = NULL;
fail:
  rlo__storage_release(storage);
  rlo__call_plan_release(plan);
  rlo__shared_shape_release(&engine->shapes, shape);
  rlo__backend_instance_release(instance);
  return status;
}
