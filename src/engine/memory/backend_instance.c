/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/memory/backend_instance.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

/* Copies the methods that this library knows from a table that may be of
 * another version of the header; NULL has none. */
static rlo_backend_methods read_methods(const rlo_backend_methods *given) {
  rlo_backend_methods known;
  memset(&known, 0, sizeof known);
  if (given != NULL) {
    memcpy(&known, given, rlo__min_size(given->struct_size, sizeof known));
  }
  return known;
}

static bool has_all(const rlo_backend_methods *m) {
  return m->struct_size <= sizeof *m && m->allocate != NULL &&
         m->free != NULL && m->write != NULL && m->read != NULL &&
         m->destroy != NULL &&
         ((m->prepare == NULL && m->prepare_segment_sum == NULL) ||
          (m->run != NULL && m->release_program != NULL));
}

rlo_status rlo__backend_instance_create(rlo_engine *engine,
                                        const char *name,
                                        rlo__usage *usage,
                                        rlo_backend_factory factory,
                                        void *payload,
                                        uint64_t id,
                                        rlo__backend_instance **out_instance) {
  rlo__backend_instance *instance = rlo__alloc(sizeof *instance);
  if (instance == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  const rlo_backend_methods *methods = NULL;
  rlo_status status =
      RLO__CALLBACK(factory(engine, payload, &methods, &instance->self),
                    "the factory of backend '%s'",
                    name);
  if (status != RLO_OK) {
    rlo__free(instance);
    return status;
  }
  instance->methods = read_methods(methods);
  if (!has_all(&instance->methods)) {
    if (instance->methods.destroy != NULL) {
      instance->methods.destroy(instance->self);
    }
    rlo__free(instance);
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the factory of backend '%s' gives no methods, or not all "
                    "that are needed",
                    name);
  }
  atomic_init(&instance->num_references, 1);
  instance->id = id;
  instance->name = name;
  instance->usage = usage;
  *out_instance = instance;
  return RLO_OK;
}

rlo__backend_instance *rlo__backend_instance_retain(
    rlo__backend_instance *instance) {
  atomic_fetch_add_explicit(&instance->num_references, 1, memory_order_relaxed);
  return instance;
}

void rlo__backend_instance_release(rlo__backend_instance *instance) {
  if (instance == NULL ||
      atomic_fetch_sub_explicit(
          &instance->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  instance->methods.destroy(instance->self);
  rlo__free(instance);
}

rlo_status rlo__backend_instance_prepare(const rlo__backend_instance *instance,
                                         rlo_problem_list *problems,
                                         void **out_program) {
  rlo_status status;
  if (instance->methods.prepare == NULL) {
    status = RLO_FAIL(
        RLO_UNSUPPORTED, "backend '%s' does not run moves", instance->name);
  } else {
    status = RLO__CALLBACK(
        instance->methods.prepare(instance->self, problems, out_program),
        "'prepare' of backend '%s'",
        instance->name);
  }
  if (status != RLO_OK) {
    rlo_problem_list_release(problems);
  }
  return status;
}

rlo_status rlo__backend_instance_prepare_segment_sum(
    const rlo__backend_instance *instance,
    rlo_segment_sum *sum,
    void **out_program) {
  rlo_status status;
  if (instance->methods.prepare_segment_sum == NULL) {
    status = RLO_FAIL(
        RLO_UNSUPPORTED, "backend '%s' does not sum segments", instance->name);
  } else {
    status = RLO__CALLBACK(
        instance->methods.prepare_segment_sum(instance->self, sum, out_program),
        "'prepare_segment_sum' of backend '%s'",
        instance->name);
  }
  if (status != RLO_OK) {
    rlo_segment_sum_release(sum);
  }
  return status;
}

rlo_status rlo__backend_instance_run(const rlo__backend_instance *instance,
                                     void *program,
                                     void *const *operands,
                                     void *dst) {
  return RLO__CALLBACK(
      instance->methods.run(instance->self, program, operands, dst),
      "'run' of backend '%s'",
      instance->name);
}

/* Counts a memory that an allocation gets or gives up: `sign` 1 or -1. */
static void count_memory(const rlo__allocation *allocation, int64_t sign) {
  rlo__usage *usage = allocation->instance->usage;
  if (allocation->memory == NULL) {
    return;
  }
  rlo__usage_add(usage, RLO__USAGE_BUFFERS, sign);
  rlo__usage_add(usage, RLO__USAGE_BYTES, sign * allocation->bytes);
  if (allocation->is_external) {
    rlo__usage_add(usage, RLO__USAGE_EXTERNAL_BYTES, sign * allocation->bytes);
  }
}

rlo_status rlo__allocation_adopt(rlo__backend_instance *instance,
                                 void *memory,
                                 int64_t bytes,
                                 bool is_external,
                                 rlo_release_fn release,
                                 void *payload,
                                 rlo__allocation **out_allocation) {
  rlo__allocation *allocation = rlo__alloc(sizeof *allocation);
  if (allocation == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  atomic_init(&allocation->num_references, 1);
  allocation->instance = rlo__backend_instance_retain(instance);
  allocation->memory = memory;
  allocation->bytes = bytes;
  allocation->is_external = is_external;
  allocation->release = release;
  allocation->payload = payload;
  count_memory(allocation, 1);
  *out_allocation = allocation;
  return RLO_OK;
}

/* Clears all bytes; with a buffer of zeros on the host only if the backend has
 * neither `clear` nor host memory. */
static rlo_status clear(rlo__allocation *allocation) {
  const rlo__backend_instance *instance = allocation->instance;
  size_t bytes = (size_t)allocation->bytes;
  if (instance->methods.clear != NULL) {
    return RLO__CALLBACK(
        instance->methods.clear(
            instance->self, allocation->memory, allocation->bytes),
        "'clear' of backend '%s'",
        instance->name);
  }
  if (instance->methods.host_pointer != NULL) {
    memset(instance->methods.host_pointer(instance->self, allocation->memory),
           0,
           bytes);
    return RLO_OK;
  }
  void *zeros = rlo__alloc(bytes);
  if (zeros == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = rlo__allocation_write(allocation, zeros);
  rlo__free(zeros);
  return status;
}

rlo_status rlo__allocation_create(rlo__backend_instance *instance,
                                  int64_t bytes,
                                  bool is_zero,
                                  rlo__allocation **out_allocation) {
  rlo__allocation *allocation;
  RLO_TRY(rlo__allocation_adopt(
      instance, NULL, bytes, false, NULL, NULL, &allocation));
  if (bytes > 0) {
    rlo_status status = RLO__CALLBACK(
        instance->methods.allocate(instance->self, bytes, &allocation->memory),
        "'allocate' of backend '%s'",
        instance->name);
    if (status != RLO_OK) {
      allocation->memory = NULL;
    } else {
      count_memory(allocation, 1);
      status = is_zero ? clear(allocation) : RLO_OK;
    }
    if (status != RLO_OK) {
      rlo__allocation_release(allocation);
      return status;
    }
  }
  *out_allocation = allocation;
  return RLO_OK;
}

rlo__allocation *rlo__allocation_retain(rlo__allocation *allocation) {
  atomic_fetch_add_explicit(
      &allocation->num_references, 1, memory_order_relaxed);
  return allocation;
}

void rlo__allocation_release(rlo__allocation *allocation) {
  if (allocation == NULL ||
      atomic_fetch_sub_explicit(
          &allocation->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  rlo__backend_instance *instance = allocation->instance;
  count_memory(allocation, -1);
  if (allocation->memory != NULL) {
    instance->methods.free(instance->self, allocation->memory);
  }
  if (allocation->release != NULL) {
    allocation->release(allocation->payload);
  }
  rlo__backend_instance_release(instance);
  rlo__free(allocation);
}

rlo_status rlo__allocation_write(rlo__allocation *allocation,
                                 const void *data) {
  const rlo__backend_instance *instance = allocation->instance;
  if (allocation->bytes == 0) {
    return RLO_OK;
  }
  return RLO__CALLBACK(
      instance->methods.write(
          instance->self, allocation->memory, data, allocation->bytes),
      "'write' of backend '%s'",
      instance->name);
}

rlo_status rlo__allocation_read(rlo__allocation *allocation,
                                void *out_data,
                                int64_t bytes) {
  const rlo__backend_instance *instance = allocation->instance;
  if (bytes > allocation->bytes) {
    return RLO_FAIL(RLO_INTERNAL,
                    "reading %lld bytes of a memory of %lld",
                    (long long)bytes,
                    (long long)allocation->bytes);
  }
  if (bytes == 0) {
    return RLO_OK;
  }
  return RLO__CALLBACK(instance->methods.read(
                           instance->self, allocation->memory, out_data, bytes),
                       "'read' of backend '%s'",
                       instance->name);
}

rlo_status rlo__allocation_copy(rlo__allocation *from,
                                rlo__backend_instance *instance,
                                rlo__allocation **out_allocation) {
  const rlo__backend_instance *there = from->instance;
  rlo__allocation *to = NULL;
  void *bounce = NULL;
  rlo_status status;
  RLO_TRY_GOTO(rlo__allocation_create(instance, from->bytes, false, &to));
  if (from->bytes > 0) {
    const void *data = NULL;
    if (there->methods.host_pointer != NULL) {
      data = there->methods.host_pointer(there->self, from->memory);
    } else if (instance->methods.host_pointer != NULL) {
      /* Read straight into the new memory. */
      RLO_TRY_GOTO(rlo__allocation_read(
          from,
          instance->methods.host_pointer(instance->self, to->memory),
          from->bytes));
    } else {
      status = RLO_OUT_OF_MEMORY;
      bounce = rlo__alloc((size_t)from->bytes);
      if (bounce == NULL) {
        goto fail;
      }
      RLO_TRY_GOTO(rlo__allocation_read(from, bounce, from->bytes));
      data = bounce;
    }
    if (data != NULL) {
      RLO_TRY_GOTO(rlo__allocation_write(to, data));
    }
  }
  rlo__free(bounce);
  *out_allocation = to;
  return RLO_OK;
fail:
  rlo__free(bounce);
  rlo__allocation_release(to);
  return status;
}
