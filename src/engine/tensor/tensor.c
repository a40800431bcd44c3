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

rlo_status rlo__tensor_check(const rlo_tensor *tensor, const rlo_engine *engine, const char *role,
                             int32_t index) {
  const char *fault = rlo__tensor_fault(tensor, engine);
  return fault == NULL ? RLO_OK : RLO_FAIL(RLO_INVALID_ARGUMENT, "%s %d is %s", role, index, fault);
}

rlo_status rlo__tensors_check(rlo_tensor *const *tensors, int32_t count, const rlo_engine *engine,
                              const char *role) {
  for (int32_t n = 0; n < count; ++n) {
    RLO_TRY(rlo__tensor_check(tensors[n], engine, role, n));
  }
  return RLO_OK;
}

/* ----------------------------------------------------------------- creating */

/* The source of the bytes of a new tensor. */
typedef struct source {
  /** A tensor whose bytes they are; NULL: another source. */
  rlo_tensor *viewed;
  /** They are the caller's, on a built-in backend; NULL: they are copied to the
   *  active one. */
  const char *backend_name;
  /** The bytes in host memory, or the buffer that has them. NULL: the tensor gets zeros. */
  const void *data;
  cl_mem buffer;
  int64_t offset_bytes;
  cl_event ready;
  /** Called once, when the caller's bytes are free; never, if wrapping them
   *  fails. */
  rlo_release_fn release;
  void *payload;
} source;

/* The alignment of a wrapped buffer's elements; 1 for packed ones. */
static int64_t element_bytes(const rlo_shape *shape) {
  rlo_shape_extent extent;
  if (rlo_shape_measure(shape, &extent) != RLO_OK || extent.element_bits % 8 != 0) {
    return 1;
  }
  return extent.element_bits / 8;
}

/* Gets the place of a built-in backend. RLO_NOT_FOUND for another one of the
 * name. */
static rlo_status get_place(const rlo__backend_instance *instance, rlo__place **out_place) {
  *out_place = rlo__backend_place(instance);
  return *out_place != NULL
             ? RLO_OK
             : RLO_FAIL(RLO_NOT_FOUND, "backend '%s' is not the built-in one", instance->name);
}

static rlo_status wrap(rlo__backend_instance *instance, const rlo__shared_shape *shape,
                       const source *from, rlo__allocation **out_allocation) {
  rlo__place *place = NULL;
  rlo__memory *memory = NULL;
  RLO_TRY(get_place(instance, &place));
  if (shape->bytes > 0 && place->context != NULL) {
    RLO_TRY(rlo__memory_wrap(place, from->buffer, from->offset_bytes, shape->bytes,
                             element_bytes(&shape->shape), from->ready, &memory));
  } else if (shape->bytes > 0) {
    /* Never written: tensors are immutable. */
    RLO_TRY(rlo__memory_over_host(place, (void *)(uintptr_t)from->data, shape->bytes, &memory));
  }
  rlo_status status = rlo__allocation_adopt(instance, memory, shape->bytes, out_allocation);
  if (status != RLO_OK) {
    rlo__memory_free(memory);
  }
  return status;
}

static rlo_status check_view(const rlo_shape *from, const rlo_shape *to) {
  bool is_bitcast = rlo_shape_equal(from, to);
  if (!is_bitcast) {
    RLO_TRY(rlo_shape_reshape_is_bitcast(from, to, 0, &is_bitcast));
  }
  return is_bitcast
             ? RLO_OK
             : RLO_FAIL(
                   RLO_INVALID_ARGUMENT,
                   "the view's shape is no bitcast of the tensor's: elements would have to move");
}

static rlo_status get_bytes(rlo_engine *engine, const rlo__shared_shape *shape, const source *from,
                            rlo__allocation **out_allocation) {
  rlo__backend_instance *instance = NULL;
  if (from->viewed != NULL) {
    RLO_TRY(check_view(&from->viewed->shape->shape, &shape->shape));
    return rlo__tensor_need(from->viewed, NULL, out_allocation);
  }
  RLO_TRY(rlo__backend_get(engine->registry, from->backend_name, &instance));
  rlo_status status = from->backend_name != NULL
                          ? wrap(instance, shape, from, out_allocation)
                          : rlo__allocation_create(instance, shape->bytes, from->data == NULL,
                                                   from->data, out_allocation);
  rlo__backend_instance_release(instance);
  return status;
}

static rlo_status create(rlo_engine *engine, const rlo_shape *shape, const source *from,
                         rlo_tensor **out_tensor) {
  rlo__shared_shape *shared = NULL;
  rlo__allocation *allocation = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY(rlo__shape_table_get(engine->shapes, shape, &shared));
  RLO_TRY_GOTO(get_bytes(engine, shared, from, &allocation));
  RLO_TRY_GOTO(rlo__tensor_create_for_caller(engine, shared, allocation, out_tensor));
  if (from->backend_name != NULL) {
    /* Set last, so that a failure never calls `release`. */
    allocation->release = from->release;
    allocation->payload = from->payload;
  }
fail:
  rlo__shared_shape_release(engine->shapes, shared);
  return status;
}

rlo_status rlo_tensor_create(rlo_engine *engine, const rlo_shape *shape, const void *data,
                             rlo_tensor **out_tensor) {
  RLO_REQUIRE(engine, shape, out_tensor);
  return create(engine, shape, &(source){.data = data}, out_tensor);
}

rlo_status rlo_tensor_view(rlo_tensor *tensor, const rlo_shape *shape, rlo_tensor **out_view) {
  RLO_REQUIRE(tensor, shape, out_view);
  return create(tensor->engine, shape, &(source){.viewed = tensor}, out_view);
}

rlo_status rlo_tensor_wrap_host(rlo_engine *engine, const rlo_shape *shape, const void *data,
                                rlo_release_fn release, void *payload, rlo_tensor **out_tensor) {
  RLO_REQUIRE(engine, shape, out_tensor);
  rlo_shape_extent extent;
  RLO_TRY(rlo_shape_measure(shape, &extent));
  RLO_FAIL_IF(data == NULL && extent.physical_bytes > 0, RLO_INVALID_ARGUMENT,
              "'data' is NULL; the shape takes %lld bytes", (long long)extent.physical_bytes);
  return create(
      engine, shape,
      &(source){
          .backend_name = RLO__HOST_BACKEND, .data = data, .release = release, .payload = payload},
      out_tensor);
}

rlo_status rlo_tensor_wrap_buffer(rlo_engine *engine, const rlo_shape *shape, cl_mem buffer,
                                  int64_t offset_bytes, cl_event ready, rlo_release_fn release,
                                  void *payload, rlo_tensor **out_tensor) {
  RLO_REQUIRE(engine, shape, out_tensor);
  return create(engine, shape,
                &(source){.backend_name = RLO__OPENCL_BACKEND,
                          .buffer = buffer,
                          .offset_bytes = offset_bytes,
                          .ready = ready,
                          .release = release,
                          .payload = payload},
                out_tensor);
}

rlo_status rlo_tensor_create_constant(rlo_engine *engine, const rlo_shape *shape,
                                      rlo_dtype_constant constant, rlo_tensor **out_tensor) {
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
  RLO_TRY_MEMORY(data);
  RLO_TRY_GOTO(rlo_chain_create(&one, &chain));
  RLO_TRY_GOTO(rlo_chain_broadcast_in_dim(chain, shape->dims, shape->rank, NULL));
  RLO_TRY_GOTO(rlo_chain_lower(chain, shape, &problems));
  RLO_TRY_GOTO(rlo_problem_list_run_host(problems, (const void *[]){bits}, data));
  RLO_TRY_GOTO(rlo_tensor_create(engine, shape, data, out_tensor));
fail:
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
  rlo__free(data);
  return status;
}

/* -------------------------------------------------------------------- bytes */

rlo__pending *rlo__tensor_peek(rlo_tensor *tensor) {
  rlo__mutex_lock(&tensor->mutex);
  rlo__pending *pending = tensor->pending;
  if (pending != NULL) {
    atomic_fetch_add_explicit(&pending->num_references, 1, memory_order_relaxed);
  }
  rlo__mutex_unlock(&tensor->mutex);
  return pending;
}

/* Under the mutex. The computation that is done goes to the caller, who
 * releases it outside. */
static rlo_status materialize(rlo_tensor *tensor, rlo__pending **out_done) {
  if (tensor->allocation != NULL) {
    return RLO_OK;
  }
  RLO_TRY(tensor->pending->run(tensor->pending, tensor->shape, &tensor->allocation));
  *out_done = tensor->pending;
  tensor->pending = NULL;
  rlo__engine_count(tensor->engine, RLO__COUNT_MATERIALIZED, 1);
  return RLO_OK;
}

/* Under the mutex: the allocation on this instance, borrowed. Copies the bytes
 * if they are elsewhere. */
static rlo_status place(rlo_tensor *tensor, rlo__backend_instance *instance,
                        rlo__allocation **out_allocation) {
  rlo__allocation *found = tensor->allocation;
  if (instance != NULL && found->instance != instance) {
    found = tensor->replicas;
  }
  while (found != NULL && instance != NULL && found->instance != instance) {
    found = found->next_replica;
  }
  if (found == NULL) {
    RLO_TRY(rlo__allocation_copy(tensor->allocation, instance, &found));
    found->next_replica = tensor->replicas;
    tensor->replicas = found;
    rlo__engine_count(tensor->engine, RLO__COUNT_COPIES, 1);
    rlo__engine_count(tensor->engine, RLO__COUNT_COPIED_BYTES, found->bytes);
  }
  *out_allocation = found;
  return RLO_OK;
}

rlo_status rlo__tensor_need(rlo_tensor *tensor, rlo__backend_instance *instance,
                            rlo__allocation **out_allocation) {
  rlo__pending *done = NULL;
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

/* The bytes, which the tensor keeps as long as it lives; NULL while it is
 * pending. */
static const rlo__allocation *find_bytes(rlo_tensor *tensor) {
  rlo__mutex_lock(&tensor->mutex);
  const rlo__allocation *allocation = tensor->allocation;
  rlo__mutex_unlock(&tensor->mutex);
  return allocation;
}

bool rlo_tensor_is_pending(rlo_tensor *tensor) {
  return tensor != NULL && find_bytes(tensor) == NULL;
}

bool rlo_tensor_shares_memory(rlo_tensor *a, rlo_tensor *b) {
  const rlo__allocation *bytes = a != NULL ? find_bytes(a) : NULL;
  return bytes != NULL && b != NULL && bytes == find_bytes(b);
}

rlo_status rlo_tensor_read(rlo_tensor *tensor, void *out_data, int64_t bytes) {
  RLO_REQUIRE(tensor);
  RLO_REQUIRE_LIST(out_data, bytes);
  RLO_FAIL_IF(bytes != tensor->shape->bytes, RLO_INVALID_ARGUMENT,
              "reading a tensor of %lld bytes into %lld", (long long)tensor->shape->bytes,
              (long long)bytes);
  rlo__allocation *allocation = NULL;
  RLO_TRY(rlo__tensor_need(tensor, NULL, &allocation));
  rlo_status status = rlo__allocation_read(allocation, out_data, bytes);
  rlo__allocation_release(allocation);
  return status;
}

/* The same as rlo__tensor_need on the backend of a name. */
static rlo_status need_on(rlo_tensor *tensor, const char *backend_name,
                          rlo__allocation **out_allocation) {
  rlo__backend_instance *instance = NULL;
  RLO_TRY(rlo__backend_get(tensor->engine->registry, backend_name, &instance));
  rlo_status status = rlo__tensor_need(tensor, instance, out_allocation);
  rlo__backend_instance_release(instance);
  return status;
}

rlo_status rlo_tensor_host_data(rlo_tensor *tensor, const void **out_data) {
  RLO_REQUIRE(tensor, out_data);
  rlo__allocation *allocation = NULL;
  void *data = NULL;
  RLO_TRY(rlo__tensor_need(tensor, NULL, &allocation));
  bool has_host = rlo__allocation_host(allocation, &data);
  if (!has_host) {
    rlo__allocation_release(allocation);
    RLO_TRY(need_on(tensor, RLO__HOST_BACKEND, &allocation));
    has_host = rlo__allocation_host(allocation, &data);
  }
  /* Borrowed from the tensor from here on, as is a copy on the host. */
  rlo__allocation_release(allocation);
  RLO_FAIL_IF(!has_host, RLO_UNSUPPORTED, "backend '%s' has no host memory", RLO__HOST_BACKEND);
  *out_data = data;
  return RLO_OK;
}

rlo_status rlo_tensor_buffer(rlo_tensor *tensor, cl_mem *out_buffer, int64_t *out_offset_bytes,
                             cl_event *out_ready) {
  RLO_REQUIRE(tensor, out_buffer, out_offset_bytes, out_ready);
  rlo__place *place = NULL;
  rlo__allocation *allocation = NULL;
  RLO_TRY(need_on(tensor, RLO__OPENCL_BACKEND, &allocation));
  rlo_status status = get_place(allocation->instance, &place);
  rlo__memory *memory = status == RLO_OK ? allocation->memory : NULL;
  cl_event ready = NULL;
  if (memory != NULL) {
    status = rlo__memory_publish(memory, &ready);
  }
  if (status == RLO_OK) {
    *out_buffer = memory != NULL ? memory->buffer : NULL;
    *out_offset_bytes = memory != NULL ? memory->offset_bytes : 0;
    *out_ready = ready;
  }
  rlo__allocation_release(allocation);
  return status;
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
  rlo__mutex_lock(&tensor->mutex);
  const char *name =
      (tensor->allocation != NULL ? tensor->allocation->instance : tensor->pending->instance)->name;
  rlo__mutex_unlock(&tensor->mutex);
  return name;
}

rlo_status rlo__tensor_make_alias(rlo_tensor **tensor) {
  rlo_tensor *alias = NULL;
  RLO_TRY(rlo_tensor_view(*tensor, &(*tensor)->shape->shape, &alias));
  rlo_tensor_release(*tensor);
  *tensor = alias;
  return RLO_OK;
}
