/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "engine/memory/backends.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"
#include "engine/tensor/tensor.h"
#include "move/memory.h"
#include "relayout/engine_opencl.h"

/* The alignment of a wrapped buffer's elements; 1 for packed ones. */
static int64_t element_bytes(const rlo_shape *shape) {
  rlo_shape_extent extent;
  if (rlo_shape_measure(shape, &extent) != RLO_OK ||
      extent.element_bits % 8 != 0) {
    return 1;
  }
  return extent.element_bits / 8;
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
  rlo__place *place = NULL;
  rlo__memory *memory = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__shape_table_get(engine->shapes, shape, &shared));
  RLO_TRY_GOTO(
      rlo__tensor_get_place(engine, RLO__OPENCL_BACKEND, &instance, &place));
  if (shared->bytes > 0) {
    RLO_TRY_GOTO(rlo__memory_wrap(place,
                                  buffer,
                                  offset_bytes,
                                  shared->bytes,
                                  element_bytes(shape),
                                  ready,
                                  &memory));
  }
  RLO_TRY_GOTO(rlo__tensor_create_external(
      engine, shared, instance, memory, release, payload, out_tensor));
fail:
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
  rlo__place *place = NULL;
  rlo__allocation *allocation = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__tensor_get_place(
      tensor->engine, RLO__OPENCL_BACKEND, &instance, &place));
  RLO_TRY_GOTO(rlo__tensor_need(tensor, instance, &allocation));
  rlo__memory *memory = allocation->memory;
  *out_buffer = NULL;
  *out_offset_bytes = 0;
  *out_ready = NULL;
  if (memory != NULL) {
    RLO_TRY_GOTO(rlo__memory_publish(memory, out_ready));
    *out_buffer = memory->buffer;
    *out_offset_bytes = memory->offset_bytes;
  }
fail:
  rlo__allocation_release(allocation);
  rlo__backend_instance_release(instance);
  return status;
}
