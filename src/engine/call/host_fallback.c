/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call/host_fallback.h"

#include "base/status.h"
#include "engine/memory/backends.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"

bool rlo__fall_back(rlo_engine *engine,
                    rlo_status status,
                    rlo__backend_instance **inout_instance) {
  rlo__backend_instance *host = NULL;
  if (status != RLO_UNSUPPORTED || !engine->options.allow_host_fallback ||
      rlo__backend_get(engine->registry, RLO__HOST_BACKEND, &host) != RLO_OK) {
    return false;
  }
  if (host == *inout_instance) {
    rlo__backend_instance_release(host);
    return false;
  }
  rlo__log(&engine->log,
           RLO__LOG_INFO,
           "the host runs what backend '%s' refuses: %s",
           (*inout_instance)->name,
           rlo_error_last()->message);
  rlo__engine_count(&engine->counters.fallbacks, 1);
  rlo__backend_instance_release(*inout_instance);
  *inout_instance = host;
  return true;
}

rlo_status rlo__call_plan_run_or_fall_back(rlo__call_plan *plan,
                                           int32_t output,
                                           rlo_tensor *const *inputs,
                                           int32_t num_inputs,
                                           rlo__allocation **out_allocation) {
  rlo_status status = rlo__call_plan_run_tensors(
      plan, output, inputs, num_inputs, out_allocation);
  if (status != RLO_UNSUPPORTED) {
    return status;
  }
  rlo__backend_instance *instance =
      rlo__backend_instance_retain(plan->instance);
  rlo__call_plan *on_host = NULL;
  if (!rlo__fall_back(inputs[0]->engine, status, &instance)) {
    goto fail;
  }
  RLO_TRY_GOTO(rlo__call_plan_get(plan->plans,
                                  instance,
                                  plan->op,
                                  plan->inputs,
                                  plan->num_inputs,
                                  plan->attributes,
                                  &on_host));
  RLO_TRY_GOTO(rlo__call_plan_run_tensors(
      on_host, output, inputs, num_inputs, out_allocation));
fail:
  rlo__call_plan_release(on_host);
  rlo__backend_instance_release(instance);
  return status;
}
