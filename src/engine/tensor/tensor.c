/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/tensor_lifetime.h"

#include "base/alloc.h"
#include "base/status.h"
#include "engine/memory/backend_instance.h"
#include "engine/parts.h"
#include "engine/registry/registry.h"
#include "move/memory.h"
#include "ops/chain.h"
#include "relayout/engine_opencl.h"
#include "relayout/ops.h"
#include "relayout/xla/bitcast.h"

static const rlo__pending no_pending = {NULL, NULL};

rlo_status rlo__tensor_check(const rlo_tensor *tensor,
                             const rlo_engine *engine,
                             const char *role,
                             int32_t index) {
  if (tensor == NULL || tensor->engine != engine) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s %d %s",
                    role,
                    index,
                    tensor == NULL ? "is NULL" : "is of another engine");
  }
  return RLO_OK;
}

rlo_status rlo__tensors_check(rlo_tensor *const *tensors,
                              int32_t count,
                              const rlo_engine *engine,
                              const char *role) {
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY(rlo__tensor_check(tensors[n], engine, role, n));
  }
  return RLO_OK;
}

/* ----------------------------------------------------------------- creating */

rlo_status rlo_tensor_create(rlo_engine *engine,
                             const rlo_shape *shape,
                             const void *data,
                             rlo_tensor **out_tensor) {
  RLO_REQUIRE(engine, shape, out_tensor);
  rlo__shared_shape *shared = NULL;
  rlo__backend_instance *instance = NULL;
  rlo__allocation *allocation = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__shape_table_get(engine->shapes, shape, &shared));
  RLO_TRY_GOTO(rlo__backend_get(engine->registry, NULL, &instance));
  RLO_TRY_GOTO(rlo__allocation_create(
      instance, shared->bytes, data == NULL, &allocation));
  if (data != NULL) {
    RLO_TRY_GOTO(rlo__allocation_write(allocation, data));
  }
  RLO_TRY_GOTO(rlo__tensor_create_for_caller(
      engine, shared, allocation, no_pending, out_tensor));
  allocation = NULL;
fail:
  rlo__allocation_release(allocation);
  rlo__backend_instance_release(instance);
  rlo__shared_shape_release(engine->shapes, shared);
  return status;
}

rlo_status rlo_tensor_create_constant(rlo_engine *engine,
                                      const rlo_shape *shape,
                                      rlo_dtype_constant constant,
                                      rlo_tensor **out_tensor) {
  RLO_REQUIRE(engine, shape, out_tensor);
  rlo_shape_extent extent;
  uint8_t bits[16];
  RLO_TRY(rlo_shape_measure(shape, &extent));
  RLO_TRY(rlo_dtype_constant_bits(shape->dtype, constant, bits));
  /* One element, broadcast into the layout. */
  rlo_shape one;
  RLO_TRY(rlo__ops_shape_like(shape, NULL, 0, &one));
  rlo_chain *chain = NULL;
  rlo_problem_list *problems = NULL;
  rlo_status status = RLO_OUT_OF_MEMORY;
  void *data = rlo__alloc((size_t)extent.physical_bytes);
  if (data == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  const void *const operands[] = {bits};
  RLO_TRY_GOTO(rlo_chain_create(&one, &chain));
  RLO_TRY_GOTO(
      rlo_chain_broadcast_in_dim(chain, shape->dims, shape->rank, NULL));
  RLO_TRY_GOTO(rlo_chain_lower(chain, shape, &problems));
  RLO_TRY_GOTO(rlo_problem_list_run_host(problems, operands, data));
  RLO_TRY_GOTO(rlo_tensor_create(engine, shape, data, out_tensor));
fail:
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
  rlo__free(data);
  return status;
}

/* Gets a new reference to a built-in backend, and its place. RLO_NOT_FOUND if
 * there is none, or another one of the name. */
static rlo_status get_place(rlo_engine *engine,
                            const char *name,
                            rlo__backend_instance **out_instance,
                            rlo__place **out_place) {
  RLO_TRY(rlo__backend_get(engine->registry, name, out_instance));
  *out_place = rlo__backend_place(*out_instance);
  if (*out_place == NULL) {
    rlo__backend_instance_release(*out_instance);
    *out_instance = NULL;
    return RLO_FAIL(
        RLO_NOT_FOUND, "backend '%s' is not the built-in one", name);
  }
  return RLO_OK;
}

/* The alignment of a wrapped buffer's elements; 1 for packed ones. */
static int64_t element_bytes(const rlo_shape *shape) {
  rlo_shape_extent extent;
  if (rlo_shape_measure(shape, &extent) != RLO_OK ||
      extent.element_bits % 8 != 0) {
    return 1;
  }
  return extent.element_bits / 8;
}

/* Bytes of the caller's: in host memory, or in a buffer. */
typedef struct external {
  const char *backend_name;
  const void *data;
  cl_mem buffer;
  int64_t offset_bytes;
  cl_event ready;
  /** Called once, when the bytes are free; never, if wrapping them fails. */
  rlo_release_fn release;
  void *payload;
} external;

static rlo_status make_memory(const external *from,
                              const rlo__shared_shape *shape,
                              rlo__place *place,
                              rlo__memory **out_memory) {
  if (shape->bytes == 0) {
    return RLO_OK;
  }
  return place->context == NULL
             /* Never written: tensors are immutable. */
             ? rlo__memory_over_host(place,
                                     (void *)(uintptr_t)from->data,
                                     shape->bytes,
                                     out_memory)
             : rlo__memory_wrap(place,
                                from->buffer,
                                from->offset_bytes,
                                shape->bytes,
                                element_bytes(&shape->shape),
                                from->ready,
                                out_memory);
}

static rlo_status wrap(rlo_engine *engine,
                       rlo__shared_shape *shape,
                       const external *from,
                       rlo_tensor **out_tensor) {
  rlo__backend_instance *instance = NULL;
  rlo__place *place = NULL;
  rlo__memory *memory = NULL;
  rlo__allocation *allocation = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(get_place(engine, from->backend_name, &instance, &place));
  RLO_TRY_GOTO(make_memory(from, shape, place, &memory));
  RLO_TRY_GOTO(
      rlo__allocation_adopt(instance, memory, shape->bytes, &allocation));
  memory = NULL;
  RLO_TRY_GOTO(rlo__tensor_create_for_caller(
      engine, shape, allocation, no_pending, out_tensor));
  /* Set last, so that a failure never calls `release`. */
  allocation->release = from->release;
  allocation->payload = from->payload;
  allocation = NULL;
fail:
  rlo__allocation_release(allocation);
  rlo__memory_free(memory);
  rlo__backend_instance_release(instance);
  return status;
}

rlo_status rlo_tensor_wrap_host(rlo_engine *engine,
                                const rlo_shape *shape,
                                const void *data,
                                rlo_release_fn release,
                                void *payload,
                                rlo_tensor **out_tensor) {
  RLO_REQUIRE(engine, shape, out_tensor);
  rlo__shared_shape *shared = NULL;
  RLO_TRY(rlo__shape_table_get(engine->shapes, shape, &shared));
  const external from = {.backend_name = RLO__HOST_BACKEND,
                         .data = data,
                         .release = release,
                         .payload = payload};
  rlo_status status =
      data == NULL && shared->bytes > 0
          ? RLO_FAIL(RLO_INVALID_ARGUMENT,
                     "'data' is NULL; the shape takes %lld bytes",
                     (long long)shared->bytes)
          : wrap(engine, shared, &from, out_tensor);
  rlo__shared_shape_release(engine->shapes, shared);
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
  RLO_TRY(rlo__shape_table_get(engine->shapes, shape, &shared));
  const external from = {.backend_name = RLO__OPENCL_BACKEND,
                         .buffer = buffer,
                         .offset_bytes = offset_bytes,
                         .ready = ready,
                         .release = release,
                         .payload = payload};
  rlo_status status = wrap(engine, shared, &from, out_tensor);
  rlo__shared_shape_release(engine->shapes, shared);
  return status;
}

/* -------------------------------------------------------------------- bytes */

void rlo__tensor_peek(rlo_tensor *tensor,
                      rlo__allocation **out_allocation,
                      rlo__pending *out_pending) {
  *out_allocation = NULL;
  *out_pending = no_pending;
  rlo__mutex_lock(&tensor->mutex);
  if (tensor->allocation != NULL) {
    *out_allocation = rlo__allocation_retain(tensor->allocation);
  } else {
    *out_pending = tensor->pending;
    out_pending->ops->retain(out_pending->state);
  }
  rlo__mutex_unlock(&tensor->mutex);
}

/* Under the mutex. The computation that is done goes to the caller, who
 * releases it outside. */
static rlo_status materialize(rlo_tensor *tensor, rlo__pending *out_done) {
  if (tensor->allocation != NULL) {
    return RLO_OK;
  }
  RLO_TRY(tensor->pending.ops->run(
      tensor->pending.state, tensor->shape, &tensor->allocation));
  *out_done = tensor->pending;
  tensor->pending = no_pending;
  rlo__engine_count(tensor->engine, RLO__COUNT_MATERIALIZED, 1);
  return RLO_OK;
}

/* Under the mutex. */
static rlo_status add_replica(rlo_tensor *tensor,
                              rlo__backend_instance *instance,
                              rlo__allocation **out_allocation) {
  rlo__replica *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status =
      rlo__allocation_copy(tensor->allocation, instance, &made->allocation);
  if (status != RLO_OK) {
    rlo__free(made);
    return status;
  }
  made->next = tensor->replicas;
  tensor->replicas = made;
  rlo__engine_count(tensor->engine, RLO__COUNT_COPIES, 1);
  rlo__engine_count(
      tensor->engine, RLO__COUNT_COPIED_BYTES, made->allocation->bytes);
  *out_allocation = made->allocation;
  return RLO_OK;
}

/* Under the mutex: the allocation on this instance, borrowed. Copies the bytes
 * if they are elsewhere. */
static rlo_status place(rlo_tensor *tensor,
                        rlo__backend_instance *instance,
                        rlo__allocation **out_allocation) {
  if (instance == NULL || tensor->allocation->instance == instance) {
    *out_allocation = tensor->allocation;
    return RLO_OK;
  }
  for (const rlo__replica *r = tensor->replicas; r != NULL; r = r->next) {
    if (r->allocation->instance == instance) {
      *out_allocation = r->allocation;
      return RLO_OK;
    }
  }
  return add_replica(tensor, instance, out_allocation);
}

rlo_status rlo__tensor_need(rlo_tensor *tensor,
                            rlo__backend_instance *instance,
                            rlo__allocation **out_allocation) {
  rlo__pending done = no_pending;
  rlo__allocation *allocation = NULL;
  rlo__mutex_lock(&tensor->mutex);
  rlo_status status = materialize(tensor, &done);
  if (status == RLO_OK) {
    status = place(tensor, instance, &allocation);
  }
  if (status == RLO_OK) {
    *out_allocation = rlo__allocation_retain(allocation);
  }
  rlo__mutex_unlock(&tensor->mutex);
  rlo__pending_release(done);
  return status;
}

rlo_status rlo_tensor_materialize(rlo_tensor *tensor) {
  RLO_REQUIRE(tensor);
  rlo__allocation *allocation = NULL;
  RLO_TRY(rlo__tensor_need(tensor, NULL, &allocation));
  rlo__allocation_release(allocation);
  return RLO_OK;
}

bool rlo_tensor_is_pending(rlo_tensor *tensor) {
  if (tensor == NULL) {
    return false;
  }
  rlo__mutex_lock(&tensor->mutex);
  bool is_pending = tensor->allocation == NULL;
  rlo__mutex_unlock(&tensor->mutex);
  return is_pending;
}

rlo_status rlo_tensor_read(rlo_tensor *tensor, void *out_data, int64_t bytes) {
  RLO_REQUIRE(tensor);
  RLO_REQUIRE_LIST(out_data, bytes);
  if (bytes != tensor->shape->bytes) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "reading a tensor of %lld bytes into %lld",
                    (long long)tensor->shape->bytes,
                    (long long)bytes);
  }
  rlo__allocation *allocation = NULL;
  RLO_TRY(rlo__tensor_need(tensor, NULL, &allocation));
  rlo_status status = rlo__allocation_read(allocation, out_data, bytes);
  rlo__allocation_release(allocation);
  return status;
}

rlo_status rlo_tensor_host_data(rlo_tensor *tensor, const void **out_data) {
  RLO_REQUIRE(tensor, out_data);
  rlo__allocation *allocation = NULL;
  rlo__backend_instance *host = NULL;
  void *data = NULL;
  RLO_TRY(rlo__tensor_need(tensor, NULL, &allocation));
  bool has_host = rlo__allocation_host(allocation, &data);
  /* Borrowed from the tensor from here on, as is a copy on the host. */
  rlo__allocation_release(allocation);
  if (!has_host) {
    RLO_TRY(
        rlo__backend_get(tensor->engine->registry, RLO__HOST_BACKEND, &host));
    rlo_status status = rlo__tensor_need(tensor, host, &allocation);
    rlo__backend_instance_release(host);
    RLO_TRY(status);
    has_host = rlo__allocation_host(allocation, &data);
    rlo__allocation_release(allocation);
  }
  if (!has_host) {
    return RLO_FAIL(
        RLO_UNSUPPORTED, "backend '%s' has no host memory", RLO__HOST_BACKEND);
  }
  *out_data = data;
  return RLO_OK;
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
  RLO_TRY_GOTO(
      get_place(tensor->engine, RLO__OPENCL_BACKEND, &instance, &place));
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

/* -------------------------------------------------------------------- views */

static rlo_status check_view(const rlo_shape *from, const rlo_shape *to) {
  bool is_bitcast = rlo_shape_equal(from, to);
  if (!is_bitcast) {
    RLO_TRY(rlo_shape_reshape_is_bitcast(from, to, 0, &is_bitcast));
  }
  if (!is_bitcast) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the view's shape is no bitcast of the tensor's: elements "
                    "would have to move");
  }
  return RLO_OK;
}

rlo_status rlo_tensor_view(rlo_tensor *tensor,
                           const rlo_shape *shape,
                           rlo_tensor **out_view) {
  RLO_REQUIRE(tensor, shape, out_view);
  rlo_engine *engine = tensor->engine;
  rlo__shared_shape *shared = NULL;
  rlo__allocation *allocation = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__shape_table_get(engine->shapes, shape, &shared));
  RLO_TRY_GOTO(check_view(&tensor->shape->shape, shape));
  RLO_TRY_GOTO(rlo__tensor_need(tensor, NULL, &allocation));
  RLO_TRY_GOTO(rlo__tensor_create_for_caller(
      engine, shared, allocation, no_pending, out_view));
  allocation = NULL;
fail:
  rlo__allocation_release(allocation);
  rlo__shared_shape_release(engine->shapes, shared);
  return status;
}

bool rlo_tensor_shares_memory(rlo_tensor *a, rlo_tensor *b) {
  if (a == NULL || b == NULL) {
    return false;
  }
  rlo__allocation *allocations[2] = {NULL, NULL};
  rlo_tensor *const tensors[2] = {a, b};
  for (int32_t i = 0; i < 2; ++i) {
    rlo__pending pending = no_pending;
    rlo__tensor_peek(tensors[i], &allocations[i], &pending);
    rlo__pending_release(pending);
  }
  bool is_shared = allocations[0] != NULL && allocations[0] == allocations[1];
  rlo__allocation_release(allocations[0]);
  rlo__allocation_release(allocations[1]);
  return is_shared;
}

/* --------------------------------------------------------------- properties */

const rlo_shape *rlo_tensor_shape(const rlo_tensor *tensor) {
  return tensor != NULL ? &tensor->shape->shape : NULL;
}

rlo_engine *rlo_tensor_engine(const rlo_tensor *tensor) {
  return tensor != NULL ? tensor->engine : NULL;
}

int64_t rlo_tensor_bytes(const rlo_tensor *tensor) {
  return tensor != NULL ? tensor->shape->bytes : 0;
}

const char *rlo_tensor_backend_name(rlo_tensor *tensor) {
  if (tensor == NULL) {
    return NULL;
  }
  rlo__allocation *allocation = NULL;
  rlo__pending pending = no_pending;
  rlo__tensor_peek(tensor, &allocation, &pending);
  const char *name = NULL;
  if (allocation != NULL) {
    name = allocation->instance->name;
  } else if (pending.ops != NULL) {
    name = pending.ops->instance(pending.state)->name;
  }
  rlo__allocation_release(allocation);
  rlo__pending_release(pending);
  return name;
}

rlo_status rlo__tensor_make_alias(rlo_tensor **tensor) {
  rlo_tensor *alias = NULL;
  RLO_TRY(rlo_tensor_view(*tensor, &(*tensor)->shape->shape, &alias));
  rlo_tensor_release(*tensor);
  *tensor = alias;
  return RLO_OK;
}
