/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/memory/backend_instance.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

/* -------------------------------------------------------------------- usage */

static void raise_peak(rlo__usage_counter *counter, int_fast64_t now) {
  int_fast64_t peak = atomic_load_explicit(&counter->peak, memory_order_relaxed);
  while (peak < now &&
         !atomic_compare_exchange_weak_explicit(&counter->peak, &peak, now, memory_order_relaxed,
                                                memory_order_relaxed)) {
  }
}

void rlo__usage_add(rlo__usage *usage, rlo__usage_kind kind, int64_t increment) {
  for (; usage != NULL; usage = usage->whole) {
    rlo__usage_counter *counter = &usage->counters[kind];
    int_fast64_t now =
        atomic_fetch_add_explicit(&counter->now, increment, memory_order_relaxed) + increment;
    raise_peak(counter, now);
  }
}

int64_t rlo__usage_now(const rlo__usage *usage, rlo__usage_kind kind) {
  return (int64_t)atomic_load_explicit(&usage->counters[kind].now, memory_order_relaxed);
}

static int64_t peak_of(const rlo__usage *usage, rlo__usage_kind kind) {
  return (int64_t)atomic_load_explicit(&usage->counters[kind].peak, memory_order_relaxed);
}

void rlo__usage_read(const rlo__usage *usage, rlo_memory_info *out_info) {
  *out_info = (rlo_memory_info){.tensors = rlo__usage_now(usage, RLO__USAGE_TENSORS),
                                .buffers = rlo__usage_now(usage, RLO__USAGE_BUFFERS),
                                .bytes = rlo__usage_now(usage, RLO__USAGE_BYTES),
                                .external_bytes = rlo__usage_now(usage, RLO__USAGE_EXTERNAL_BYTES),
                                .peak_tensors = peak_of(usage, RLO__USAGE_TENSORS),
                                .peak_buffers = peak_of(usage, RLO__USAGE_BUFFERS),
                                .peak_bytes = peak_of(usage, RLO__USAGE_BYTES)};
}

void rlo__usage_reset_peaks(rlo__usage *usage) {
  for (int32_t k = 0; k < RLO__NUM_USAGE_KINDS; ++k) {
    rlo__usage_counter *counter = &usage->counters[k];
    atomic_store_explicit(&counter->peak, atomic_load_explicit(&counter->now, memory_order_relaxed),
                          memory_order_relaxed);
    /* Another thread may have added to the counter meanwhile. */
    raise_peak(counter, atomic_load_explicit(&counter->now, memory_order_relaxed));
  }
}

/* ---------------------------------------------------------------- instances */

/* Copies the methods that this library knows from a table that may be of
 * another version of the header; NULL has none. */
static rlo_backend_methods read_methods(const rlo_backend_methods *given) {
  rlo_backend_methods known = {0};
  if (given != NULL) {
    memcpy(&known, given, rlo__min_size(given->struct_size, sizeof known));
  }
  return known;
}

static bool has_all(const rlo_backend_methods *m) {
  return m->struct_size <= sizeof *m && m->allocate != NULL && m->free != NULL &&
         m->write != NULL && m->read != NULL && m->destroy != NULL &&
         ((m->prepare == NULL && m->prepare_segment_sum == NULL) ||
          (m->run != NULL && m->release_program != NULL));
}

rlo_status rlo__backend_instance_create(rlo_engine *engine, const char *name, rlo__usage *usage,
                                        rlo_backend_factory factory, void *payload, uint64_t id,
                                        rlo__backend_instance **out_instance) {
  rlo__backend_instance *instance = rlo__alloc(sizeof *instance);
  RLO_TRY_MEMORY(instance);
  *instance = (rlo__backend_instance){.num_references = 1, .id = id, .name = name, .usage = usage};
  const rlo_backend_methods *methods = NULL;
  rlo_status status = RLO__CALLBACK(factory(engine, payload, &methods, &instance->self),
                                    "the factory of backend '%s'", name);
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
                    "the factory of backend '%s' gives no methods, or not all that are needed",
                    name);
  }
  *out_instance = instance;
  return RLO_OK;
}

rlo__backend_instance *rlo__backend_instance_retain(rlo__backend_instance *instance) {
  atomic_fetch_add_explicit(&instance->num_references, 1, memory_order_relaxed);
  return instance;
}

void rlo__backend_instance_release(rlo__backend_instance *instance) {
  if (instance == NULL ||
      atomic_fetch_sub_explicit(&instance->num_references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  instance->methods.destroy(instance->self);
  rlo__free(instance);
}

rlo_status rlo__backend_instance_prepare(const rlo__backend_instance *instance,
                                         rlo_problem_list *problems, rlo_segment_sum *sum,
                                         void **out_program) {
  const rlo_backend_methods *m = &instance->methods;
  rlo_status status = RLO_UNSUPPORTED;
  if (sum == NULL ? m->prepare == NULL : m->prepare_segment_sum == NULL) {
    status = RLO_FAIL(RLO_UNSUPPORTED, "backend '%s' does not %s", instance->name,
                      sum == NULL ? "run moves" : "sum segments");
  } else {
    status = RLO__CALLBACK(sum == NULL ? m->prepare(instance->self, problems, out_program)
                                       : m->prepare_segment_sum(instance->self, sum, out_program),
                           "'%s' of backend '%s'", sum == NULL ? "prepare" : "prepare_segment_sum",
                           instance->name);
  }
  if (status != RLO_OK) {
    rlo_problem_list_release(problems);
    rlo_segment_sum_release(sum);
  }
  return status;
}

rlo_status rlo__backend_instance_run(const rlo__backend_instance *instance, void *program,
                                     void *const *operands, void *dst) {
  return RLO__CALLBACK(instance->methods.run(instance->self, program, operands, dst),
                       "'run' of backend '%s'", instance->name);
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

static rlo_status create(rlo__backend_instance *instance, int64_t bytes,
                         rlo__allocation **out_allocation) {
  rlo__allocation *allocation = rlo__alloc_unset(sizeof *allocation);
  RLO_TRY_MEMORY(allocation);
  *allocation = (rlo__allocation){
      .num_references = 1, .instance = rlo__backend_instance_retain(instance), .bytes = bytes};
  *out_allocation = allocation;
  return RLO_OK;
}

rlo_status rlo__allocation_adopt(rlo__backend_instance *instance, void *memory, int64_t bytes,
                                 rlo__allocation **out_allocation) {
  RLO_TRY(create(instance, bytes, out_allocation));
  (*out_allocation)->memory = memory;
  (*out_allocation)->is_external = true;
  count_memory(*out_allocation, 1);
  return RLO_OK;
}

bool rlo__allocation_host(const rlo__allocation *allocation, void **out_data) {
  const rlo__backend_instance *instance = allocation->instance;
  void *memory = allocation->memory;
  *out_data = memory != NULL && instance->methods.host_pointer != NULL
                  ? instance->methods.host_pointer(instance->self, memory)
                  : NULL;
  return memory == NULL || *out_data != NULL;
}

/* Copies all bytes from the host. */
static rlo_status write_bytes(rlo__allocation *allocation, const void *data) {
  const rlo__backend_instance *instance = allocation->instance;
  return RLO__CALLBACK(
      instance->methods.write(instance->self, allocation->memory, data, allocation->bytes),
      "'write' of backend '%s'", instance->name);
}

/* Clears all bytes; with a buffer of zeros on the host only if the backend has
 * neither `clear` nor host memory. */
static rlo_status clear(rlo__allocation *allocation) {
  const rlo__backend_instance *instance = allocation->instance;
  void *bytes = NULL;
  if (instance->methods.clear != NULL) {
    return RLO__CALLBACK(
        instance->methods.clear(instance->self, allocation->memory, allocation->bytes),
        "'clear' of backend '%s'", instance->name);
  }
  if (rlo__allocation_host(allocation, &bytes)) {
    if (bytes != NULL) {
      memset(bytes, 0, (size_t)allocation->bytes);
    }
    return RLO_OK;
  }
  void *zeros = rlo__alloc((size_t)allocation->bytes);
  rlo_status status = zeros != NULL ? write_bytes(allocation, zeros) : RLO_OUT_OF_MEMORY;
  rlo__free(zeros);
  return status;
}

rlo_status rlo__allocation_create(rlo__backend_instance *instance, int64_t bytes, bool is_zero,
                                  const void *data, rlo__allocation **out_allocation) {
  void *memory = NULL;
  RLO_TRY(create(instance, bytes, out_allocation));
  if (bytes == 0) {
    return RLO_OK;
  }
  rlo_status status = RLO__CALLBACK(instance->methods.allocate(instance->self, bytes, &memory),
                                    "'allocate' of backend '%s'", instance->name);
  if (status == RLO_OK) {
    (*out_allocation)->memory = memory;
    count_memory(*out_allocation, 1);
    status = data != NULL ? write_bytes(*out_allocation, data)
             : is_zero    ? clear(*out_allocation)
                          : RLO_OK;
  }
  if (status != RLO_OK) {
    rlo__allocation_release(*out_allocation);
    *out_allocation = NULL;
  }
  return status;
}

rlo__allocation *rlo__allocation_retain(rlo__allocation *allocation) {
  atomic_fetch_add_explicit(&allocation->num_references, 1, memory_order_relaxed);
  return allocation;
}

void rlo__allocation_release(rlo__allocation *allocation) {
  if (allocation == NULL ||
      atomic_fetch_sub_explicit(&allocation->num_references, 1, memory_order_acq_rel) != 1) {
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

rlo_status rlo__allocation_read(rlo__allocation *allocation, void *out_data, int64_t bytes) {
  const rlo__backend_instance *instance = allocation->instance;
  RLO_FAIL_IF(bytes > allocation->bytes, RLO_INTERNAL, "reading %lld bytes of a memory of %lld",
              (long long)bytes, (long long)allocation->bytes);
  if (bytes == 0) {
    return RLO_OK;
  }
  return RLO__CALLBACK(instance->methods.read(instance->self, allocation->memory, out_data, bytes),
                       "'read' of backend '%s'", instance->name);
}

rlo_status rlo__allocation_copy(rlo__allocation *from, rlo__backend_instance *instance,
                                rlo__allocation **out_allocation) {
  /* The bytes pass through host memory: that of either instance, or a bounce buffer. */
  void *data = NULL;
  void *bounce = NULL;
  rlo_status status = RLO_OK;
  bool has_host = rlo__allocation_host(from, &data);
  RLO_TRY(rlo__allocation_create(instance, from->bytes, false, data, out_allocation));
  if (has_host) {
    return RLO_OK;
  }
  if (!rlo__allocation_host(*out_allocation, &data)) {
    bounce = rlo__alloc((size_t)from->bytes);
    data = bounce;
  }
  status = data != NULL ? rlo__allocation_read(from, data, from->bytes) : RLO_OUT_OF_MEMORY;
  if (status == RLO_OK && bounce != NULL) {
    status = write_bytes(*out_allocation, bounce);
  }
  rlo__free(bounce);
  if (status != RLO_OK) {
    rlo__allocation_release(*out_allocation);
    *out_allocation = NULL;
  }
  return status;
}
