/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_CONTEXT_H
#define RLO_RUNTIME_CONTEXT_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/sentence.h"
#include "plan/wisdom.h"
#include "relayout/opencl.h"
#include "runtime/plan_memo.h"
#include "runtime/program_cache.h"
#include "runtime/worker.h"

/** Makes a pointer an argument of a kernel. */
typedef cl_int(CL_API_CALL *rlo__set_pointer_fn)(cl_kernel kernel, cl_uint index,
                                                 const void *pointer);

/** What a device can do with pointers. */
typedef struct rlo__shared_memory {
  /** It has shared virtual memory. */
  bool has_svm;
  /** Functions of cl_intel_unified_shared_memory; NULL where the device lacks it. */
  rlo__set_pointer_fn set_argument;
  cl_int(CL_API_CALL *get_info)(cl_context context, const void *pointer, cl_uint what,
                                size_t capacity, void *out_value, size_t *out_bytes);
} rlo__shared_memory;

/** A buffer of rlo_buffer_create that is not released, with its size: what
 *  returns to the budget must not depend on a query that may fail. */
typedef struct rlo__buffer_record {
  rlo__table_node node;
  cl_mem buffer;
  int64_t bytes;
} rlo__buffer_record;

struct rlo_context {
  /** One per plan, and one for all users together. */
  atomic_int_fast32_t num_references;
  /** Counted by rlo_context_retain and rlo_context_release. */
  atomic_int_fast32_t num_user_references;
  /** Both retained. */
  cl_context cl_context;
  cl_device_id cl_device;
  rlo_device_info device_info;
  rlo__shared_memory shared;
  /** A device may have more than three dimensions; kernels use three. */
  size_t max_work_item_sizes[16];
  char device_name[128];
  /** The process that created the context: drivers do not survive fork. */
  pid_t pid;
  rlo__log_sink log;
  rlo__disk_cache *disk;
  rlo__worker *worker;
  rlo__program_cache *programs;
  /** Guards wisdom. */
  rlo__rwlock wisdom_lock;
  rlo__wisdom wisdom;
  /** Held while measuring: two measurements at once would disturb each other.
   */
  rlo__mutex measuring;
  /** The launches that were planned last (runtime/planned.h). */
  rlo__plan_memo memo;
  int64_t memory_budget_bytes;
  /** Guards buffers, the records of buffer.c. */
  rlo__mutex buffers_mutex;
  rlo__table buffers;
  atomic_int_fast64_t buffer_bytes;
  atomic_int_fast64_t launches;
  /** For tests: how often the planner ran. */
  atomic_int_fast64_t planned;
  /** The id of the newest planned launch; 0 before the first. */
  atomic_int_fast64_t last_launch_id;
};

/** References of plans. Unlike rlo_context_release, unref does not wait for
 *  preparations, unless it releases the last reference of all. */
rlo_context *rlo__context_ref(rlo_context *context);
void rlo__context_unref(rlo_context *context);

/** Creates a buffer that the host maps often: in memory that it reaches without
 *  a copy, where the device has such. @return as rlo_buffer_create. */
RLO_NODISCARD rlo_status rlo__buffer_create_mappable(rlo_context *context, int64_t bytes,
                                                     cl_mem *out_buffer);

/** Returns a function of an extension, or NULL if the driver has none of the name. */
void *rlo__context_find_function(const rlo_context *context, const char *name);

/** RLO_OK in the process that made the context; RLO_UNSUPPORTED in a child of
 *  fork, where a driver would hang. */
RLO_NODISCARD rlo_status rlo__context_check_process(const rlo_context *context);

/** RLO_OK if the device allows buffers of so many bytes; RLO_OUT_OF_MEMORY.
 *  Some drivers return larger ones and crash later. */
RLO_NODISCARD rlo_status rlo__context_check_buffer(const rlo_context *context, int64_t bytes);

#endif
