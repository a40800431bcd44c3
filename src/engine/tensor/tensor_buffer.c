/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "engine/memory/backends.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"
#include "engine/tensor/tensor.h"
#include "relayout/engine_opencl.h"
#include "runtime/device_memory.h"

/* The alignment of a wrapped buffer's elements; 1 for packed ones. */
static int64_t element_bytes(const rlo_shape *shape) {
  rlo_shape_extent extent;
  if (rlo_shape_measure(shape, &extent) != RLO_OK ||
      extent.element_bits % 8 != 0) {
    return 1;
  }
  return extent.element_bits / 8;
}

/* The "opencl" instance, if it is the built-in one: another backend may have
 * that name. */
static rlo_status get_opencl(rlo_engine *engine,
                             rlo__backend_instance **out_instance) {
  RLO_TRY(
      rlo__backend_get(engine->registry, RLO__OPENCL_BACKEND, out_instance));
  if (!rlo__opencl_backend_is(&(*out_instance)->methods)) {
    rlo__backend_instance_release(*out_instance);
    return RLO_FAIL(RLO_NOT_FOUND,
                    "backend '%s' is not the built-in one",
                    RLO__OPENCL_BACKEND);
  }
  return RLO_OK;
}

static rlo_status wrap(rlo__backend_instance *instance,
                       rlo__shared_shape *shape,
                       cl_mem buffer,
                       int64_t offset_bytes,
                       cl_event ready,
                       rlo__allocation **out_allocation) {
  rlo__device_memory *memory = NULL;
  if (shape->bytes > 0) {
    RLO_TRY(rlo__device_memory_wrap(instance->self,
                                    buffer,
                                    offset_bytes,
                                    shape->bytes,
                                    element_bytes(&shape->shape),
                                    ready,
                                    &memory));
  }
  rlo_status status = rlo__allocation_adopt(
      instance, memory, shape->bytes, false, NULL, NULL, out_allocation);
  if (status != RLO_OK) {
    rlo__device_memory_free(memory);
  }
  return status;
}

rlo_status rlo_tensor_wrap_buffer(rlo_engine *engine,
                                  const rlo_shape *shape,
                                  cl_mem buffer,
                                  int64_t offset_bytes,
                                  cl_event ready,
                                  rlo_release_fn release,
                                  void *payload,
                                  rlo_tensor **out_tensor) {
  RLO_REQUIRE(engine, shape, out_tensor);
  rlo__shared_shape *shared = NULL;
  rlo__backend_instance *instance = NULL;
  rlo__allocation *allocation = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__shape_table_get(engine->shapes, shape, &shared));
  RLO_TRY_GOTO(get_opencl(engine, &instance));
  RLO_TRY_GOTO(
      wrap(instance, shared, buffer, offset_bytes, ready, &allocation));
  RLO_TRY_GOTO(rlo__tensor_create_external(
      engine, shared, allocation, release, payload, out_tensor));
  allocation = NULL;
fail:
  rlo__allocation_release(allocation);
  rlo__backend_instance_release(instance);
  rlo__shared_shape_release(engine->shapes, shared);
  return status;
}

rlo_status rlo_tensor_buffer(rlo_tensor *tensor,
                             cl_mem *out_buffer,
                             int64_t *out_offset_bytes,
                             cl_event *out_ready) {
  RLO_REQUIRE(tensor, out_buffer, out_offset_bytes, out_ready);
  rlo__backend_instance *instance = NULL;
  rlo__allocation *allocation = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(get_opencl(tensor->engine, &instance));
  RLO_TRY_GOTO(rlo__tensor_need(tensor, instance, &allocation));
  rlo__device_memory *memory = allocation->memory;
  *out_buffer = NULL;
  *out_offset_bytes = 0;
  *out_ready = NULL;
  if (memory != NULL) {
    RLO_TRY_GOTO(rlo__device_memory_publish(memory, out_ready));
    *out_buffer = memory->buffer;
    *out_offset_bytes = memory->offset_bytes;
  }
fail:
  rlo__allocation_release(allocation);
  rlo__backend_instance_release(instance);
  return status;
}
