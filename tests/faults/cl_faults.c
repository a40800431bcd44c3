/* SPDX-License-Identifier: Apache-2.0 */
#include "cl_faults.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FAILED_EVENTS = 4096 };

/* The lock guards all of this; the driver is called without it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cl_fault fault;
static int32_t num_calls;
static const char *failed_function = "";
/* Events of commands that were not run. Their handles may be used again for
 * other events when they are released, and are then removed. */
static cl_event failed_events[MAX_FAILED_EVENTS];
static int32_t num_failed_events;
static atomic_llong live;
static atomic_size_t group_limit;
static atomic_uint alignment_bits;
static _Thread_local int suspended;

void cl_faults_begin(const cl_fault *wanted) {
  pthread_mutex_lock(&lock);
  fault = *wanted;
  num_calls = 0;
  num_failed_events = 0;
  failed_function = "";
  pthread_mutex_unlock(&lock);
}

int32_t cl_faults_end(void) {
  pthread_mutex_lock(&lock);
  int32_t count = num_calls;
  fault = (cl_fault){CL_FAULT_NONE, 0, 0};
  pthread_mutex_unlock(&lock);
  return count;
}

const char *cl_faults_function(void) {
  return failed_function;
}

void cl_faults_suspend(void) {
  ++suspended;
}

void cl_faults_resume(void) {
  --suspended;
}

void cl_faults_limit_groups(size_t items) {
  atomic_store(&group_limit, items);
}

void cl_faults_align_memory(cl_uint bits) {
  atomic_store(&alignment_bits, bits);
}

int64_t cl_faults_live(void) {
  return atomic_load(&live);
}

/* The loader's function of a name. */
static void *real(const char *name) {
  void *loader = dlopen("libOpenCL.so.1", RTLD_NOW);
  void *found = loader != NULL ? dlsym(loader, name) : NULL;
  if (found == NULL) {
    (void)fprintf(stderr, "%s is not in libOpenCL.so.1\n", name);
    abort();
  }
  return found;
}

/* The code with which a call fails, or CL_SUCCESS. */
static cl_int next_code(const char *function, bool is_release) {
  if (suspended > 0) {
    return CL_SUCCESS;
  }
  cl_int code = CL_SUCCESS;
  pthread_mutex_lock(&lock);
  if (fault.kind != CL_FAULT_EVENT) {
    bool fails = (fault.kind == CL_FAULT_ONCE && num_calls == fault.call) ||
                 (fault.kind == CL_FAULT_FROM_THEN_ON && num_calls >= fault.call && !is_release);
    if (fails) {
      code = fault.code;
      if (failed_function[0] == '\0') {
        failed_function = function;
      }
    }
    ++num_calls;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

static bool is_failed(cl_event event) {
  bool found = false;
  for (int32_t i = 0; i < num_failed_events && !found; ++i) {
    found = failed_events[i] == event;
  }
  return found;
}

/* True if the next command is accepted and fails. */
static bool next_command_fails(const char *function, cl_uint num_events, const cl_event *events) {
  bool fails = false;
  pthread_mutex_lock(&lock);
  if (fault.kind == CL_FAULT_EVENT && suspended == 0) {
    fails = num_calls == fault.call;
    ++num_calls;
    if (fails) {
      failed_function = function;
    }
  }
  for (cl_uint i = 0; i < num_events; ++i) {
    fails = fails || is_failed(events[i]);
  }
  pthread_mutex_unlock(&lock);
  return fails;
}

/* A marker in place of a command. Without an event nobody learns of it. */
static cl_int fail_command(cl_command_queue queue, cl_event *out_event) {
  static cl_int (*enqueue_marker)(cl_command_queue, cl_uint, const cl_event *, cl_event *);
  if (enqueue_marker == NULL) {
    *(void **)&enqueue_marker = real("clEnqueueMarkerWithWaitList");
  }
  cl_event event = NULL;
  cl_int code = enqueue_marker(queue, 0, NULL, &event);
  if (code != CL_SUCCESS || out_event == NULL) {
    return code;
  }
  *out_event = event;
  pthread_mutex_lock(&lock);
  if (num_failed_events == MAX_FAILED_EVENTS) {
    (void)fprintf(stderr, "more than %d failed events\n", MAX_FAILED_EVENTS);
    abort();
  }
  failed_events[num_failed_events++] = event;
  pthread_mutex_unlock(&lock);
  return CL_SUCCESS;
}

/* ------------------------------------------------------------ the functions */

#define PASS_ON(type, name, parameters, arguments) \
  static type(*call) parameters;                   \
  if (call == NULL) {                              \
    *(void **)&call = real(#name);                 \
  }                                                \
  type result = call arguments

/* A call that returns a status; `change` alters what one without a fault said.
 */
#define STATUS_CHANGED(name, parameters, arguments, change) \
  cl_int name parameters {                                  \
    cl_int code = next_code(#name, false);                  \
    if (code != CL_SUCCESS) {                               \
      return code;                                          \
    }                                                       \
    PASS_ON(cl_int, name, parameters, arguments);           \
    if (result == CL_SUCCESS) {                             \
      change;                                               \
    }                                                       \
    return result;                                          \
  }

#define STATUS(name, parameters, arguments) STATUS_CHANGED(name, parameters, arguments, (void)0)

/* One that holds a reference more, or one less. */
#define RETAIN(name, type)                   \
  cl_int name(type object) {                 \
    cl_int code = next_code(#name, false);   \
    if (code != CL_SUCCESS) {                \
      return code;                           \
    }                                        \
    PASS_ON(cl_int, name, (type), (object)); \
    if (result == CL_SUCCESS) {              \
      atomic_fetch_add(&live, 1);            \
    }                                        \
    return result;                           \
  }

#define RELEASE(name, type)                    \
  cl_int name(type object) {                   \
    atomic_fetch_sub(&live, 1);                \
    cl_int code = next_code(#name, true);      \
    PASS_ON(cl_int, name, (type), (object));   \
    return code != CL_SUCCESS ? code : result; \
  }

/* One that makes an object and has a parameter `errcode` for its status. */
#define MAKE(type, name, parameters, arguments) \
  type name parameters {                        \
    cl_int code = next_code(#name, false);      \
    if (code != CL_SUCCESS) {                   \
      if (errcode != NULL) {                    \
        *errcode = code;                        \
      }                                         \
      return NULL;                              \
    }                                           \
    PASS_ON(type, name, parameters, arguments); \
    if (result != NULL) {                       \
      atomic_fetch_add(&live, 1);               \
    }                                           \
    return result;                              \
  }

/* One that enqueues on `queue`, after `count` events `events`, and has a
 * parameter `out_event`. `refusal`: the code with which a driver with our
 * limits refuses it. `may_fail_later`: a command without a result that the
 * caller waits for. */
#define ENQUEUE_CHECKED(name, refusal, may_fail_later, parameters, arguments) \
  cl_int name parameters {                                                    \
    cl_int code = next_code(#name, false);                                    \
    if (code == CL_SUCCESS) {                                                 \
      code = (refusal);                                                       \
    }                                                                         \
    if (code != CL_SUCCESS) {                                                 \
      return code;                                                            \
    }                                                                         \
    if ((may_fail_later) && next_command_fails(#name, count, events)) {       \
      code = fail_command(queue, out_event);                                  \
      atomic_fetch_add(&live, code == CL_SUCCESS && out_event != NULL);       \
      return code;                                                            \
    }                                                                         \
    PASS_ON(cl_int, name, parameters, arguments);                             \
    atomic_fetch_add(&live, result == CL_SUCCESS && out_event != NULL);       \
    return result;                                                            \
  }

#define ENQUEUE(name, may_fail_later, parameters, arguments) \
  ENQUEUE_CHECKED(name, CL_SUCCESS, may_fail_later, parameters, arguments)

/* Shorter names for long lists of parameters. */
typedef cl_platform_id platform_id;
typedef cl_device_id device_id;

STATUS(clGetPlatformIDs, (cl_uint room, platform_id *out, cl_uint *count), (room, out, count))
STATUS(clGetPlatformInfo, (platform_id p, cl_platform_info w, size_t n, void *v, size_t *s),
       (p, w, n, v, s))
STATUS(clGetDeviceIDs, (platform_id p, cl_device_type t, cl_uint n, device_id *d, cl_uint *c),
       (p, t, n, d, c))

static void set_alignment(cl_device_info what, cl_uint *bits) {
  const cl_uint wanted = atomic_load(&alignment_bits);
  if (what == CL_DEVICE_MEM_BASE_ADDR_ALIGN && bits != NULL && wanted > 0) {
    *bits = wanted;
  }
}

STATUS_CHANGED(clGetDeviceInfo, (device_id d, cl_device_info w, size_t n, void *v, size_t *s),
               (d, w, n, v, s), set_alignment(w, v))
RETAIN(clRetainDevice, cl_device_id)
RELEASE(clReleaseDevice, cl_device_id)
MAKE(cl_context, clCreateContext,
     (const cl_context_properties *p, cl_uint n, const device_id *d,
      void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *user,
      cl_int *errcode),
     (p, n, d, f, user, errcode))
RETAIN(clRetainContext, cl_context)
RELEASE(clReleaseContext, cl_context)
STATUS(clGetContextInfo, (cl_context c, cl_context_info w, size_t n, void *v, size_t *s),
       (c, w, n, v, s))
MAKE(cl_command_queue, clCreateCommandQueue,
     (cl_context c, device_id d, cl_command_queue_properties p, cl_int *errcode),
     (c, d, p, errcode))
RETAIN(clRetainCommandQueue, cl_command_queue)
RELEASE(clReleaseCommandQueue, cl_command_queue)
STATUS(clGetCommandQueueInfo,
       (cl_command_queue q, cl_command_queue_info w, size_t n, void *v, size_t *s), (q, w, n, v, s))
MAKE(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t n, void *h, cl_int *errcode),
     (c, f, n, h, errcode))
RETAIN(clRetainMemObject, cl_mem)
RELEASE(clReleaseMemObject, cl_mem)
STATUS(clGetMemObjectInfo, (cl_mem m, cl_mem_info w, size_t n, void *v, size_t *s), (m, w, n, v, s))
MAKE(cl_program, clCreateProgramWithSource,
     (cl_context c, cl_uint n, const char **t, const size_t *l, cl_int *errcode),
     (c, n, t, l, errcode))
MAKE(cl_program, clCreateProgramWithBinary,
     (cl_context c, cl_uint n, const device_id *d, const size_t *l, const unsigned char **b,
      cl_int *status, cl_int *errcode),
     (c, n, d, l, b, status, errcode))
RELEASE(clReleaseProgram, cl_program)
STATUS(clBuildProgram,
       (cl_program p, cl_uint n, const device_id *d, const char *o,
        void(CL_CALLBACK *f)(cl_program, void *), void *user),
       (p, n, d, o, f, user))
STATUS(clGetProgramInfo, (cl_program p, cl_program_info w, size_t n, void *v, size_t *s),
       (p, w, n, v, s))
STATUS(clGetProgramBuildInfo,
       (cl_program p, device_id d, cl_program_build_info w, size_t n, void *v, size_t *s),
       (p, d, w, n, v, s))
MAKE(cl_kernel, clCreateKernel, (cl_program p, const char *name, cl_int *errcode),
     (p, name, errcode))
RELEASE(clReleaseKernel, cl_kernel)
STATUS(clSetKernelArg, (cl_kernel k, cl_uint i, size_t n, const void *v), (k, i, n, v))
STATUS(clGetKernelInfo, (cl_kernel k, cl_kernel_info w, size_t n, void *v, size_t *s),
       (k, w, n, v, s))
STATUS(clGetKernelArgInfo,
       (cl_kernel k, cl_uint i, cl_kernel_arg_info w, size_t n, void *v, size_t *s),
       (k, i, w, n, v, s))

static void limit_group(cl_kernel_work_group_info what, size_t *items) {
  const size_t limit = atomic_load(&group_limit);
  if (what == CL_KERNEL_WORK_GROUP_SIZE && items != NULL && limit > 0 && *items > limit) {
    *items = limit;
  }
}

STATUS_CHANGED(clGetKernelWorkGroupInfo,
               (cl_kernel k, device_id d, cl_kernel_work_group_info w, size_t n, void *v,
                size_t *s),
               (k, d, w, n, v, s), limit_group(w, v))
STATUS(clFlush, (cl_command_queue q), (q))
STATUS(clFinish, (cl_command_queue q), (q))
RETAIN(clRetainEvent, cl_event)
STATUS(clGetEventProfilingInfo, (cl_event e, cl_profiling_info w, size_t n, void *v, size_t *s),
       (e, w, n, v, s))

cl_int clReleaseEvent(cl_event object) {
  /* The handle may be another event's from here on. */
  pthread_mutex_lock(&lock);
  for (int32_t i = 0; i < num_failed_events; ++i) {
    cl_uint references = 0;
    static cl_int (*get_info)(cl_event, cl_event_info, size_t, void *, size_t *);
    if (get_info == NULL) {
      *(void **)&get_info = real("clGetEventInfo");
    }
    if (failed_events[i] == object &&
        get_info(object, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL) ==
            CL_SUCCESS &&
        references == 1) {
      failed_events[i] = failed_events[--num_failed_events];
      break;
    }
  }
  pthread_mutex_unlock(&lock);
  atomic_fetch_sub(&live, 1);
  cl_int code = next_code("clReleaseEvent", true);
  PASS_ON(cl_int, clReleaseEvent, (cl_event), (object));
  return code != CL_SUCCESS ? code : result;
}

static void fail_completed(cl_event event, cl_event_info what, cl_int *status) {
  pthread_mutex_lock(&lock);
  if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && status != NULL && *status == CL_COMPLETE &&
      is_failed(event)) {
    *status = fault.code != 0 ? fault.code : CL_OUT_OF_RESOURCES;
  }
  pthread_mutex_unlock(&lock);
}

STATUS_CHANGED(clGetEventInfo, (cl_event e, cl_event_info w, size_t n, void *v, size_t *s),
               (e, w, n, v, s), fail_completed(e, w, v))

static cl_int status_of_all(cl_uint count, const cl_event *events) {
  cl_int status = CL_SUCCESS;
  pthread_mutex_lock(&lock);
  for (cl_uint i = 0; i < count; ++i) {
    if (is_failed(events[i])) {
      status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
  }
  pthread_mutex_unlock(&lock);
  return status;
}

STATUS_CHANGED(clWaitForEvents, (cl_uint count, const cl_event *events), (count, events),
               result = status_of_all(count, events))

/* PoCL runs groups of any size, whatever limit_group said. */
static cl_int check_group(cl_uint dimensions, const size_t *local) {
  const size_t limit = atomic_load(&group_limit);
  size_t items = 1;
  for (cl_uint d = 0; local != NULL && d < dimensions; ++d) {
    items *= local[d];
  }
  return limit > 0 && items > limit ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS;
}

ENQUEUE_CHECKED(clEnqueueNDRangeKernel, check_group(d, l), true,
                (cl_command_queue queue, cl_kernel k, cl_uint d, const size_t *o, const size_t *g,
                 const size_t *l, cl_uint count, const cl_event *events, cl_event *out_event),
                (queue, k, d, o, g, l, count, events, out_event))
ENQUEUE(clEnqueueFillBuffer, true,
        (cl_command_queue queue, cl_mem m, const void *p, size_t pn, size_t o, size_t n,
         cl_uint count, const cl_event *events, cl_event *out_event),
        (queue, m, p, pn, o, n, count, events, out_event))
ENQUEUE(clEnqueueCopyBuffer, true,
        (cl_command_queue queue, cl_mem a, cl_mem b, size_t ao, size_t bo, size_t n, cl_uint count,
         const cl_event *events, cl_event *out_event),
        (queue, a, b, ao, bo, n, count, events, out_event))
/* Reads and writes differ only in the pointer to host memory. */
#define TRANSFER(name, host_pointer)                                                    \
  ENQUEUE(name, is_blocking == CL_FALSE,                                                \
          (cl_command_queue queue, cl_mem m, cl_bool is_blocking, size_t o, size_t n,   \
           host_pointer h, cl_uint count, const cl_event *events, cl_event *out_event), \
          (queue, m, is_blocking, o, n, h, count, events, out_event))

#define TRANSFER_RECT(name, host_pointer)                                                     \
  ENQUEUE(name, is_blocking == CL_FALSE,                                                      \
          (cl_command_queue queue, cl_mem m, cl_bool is_blocking, const size_t *bo,           \
           const size_t *ho, const size_t *r, size_t brp, size_t bsp, size_t hrp, size_t hsp, \
           host_pointer h, cl_uint count, const cl_event *events, cl_event *out_event),       \
          (queue, m, is_blocking, bo, ho, r, brp, bsp, hrp, hsp, h, count, events, out_event))

TRANSFER(clEnqueueReadBuffer, void *)
TRANSFER(clEnqueueWriteBuffer, const void *)
TRANSFER_RECT(clEnqueueReadBufferRect, void *)
TRANSFER_RECT(clEnqueueWriteBufferRect, const void *)
ENQUEUE(clEnqueueMarkerWithWaitList, false,
        (cl_command_queue queue, cl_uint count, const cl_event *events, cl_event *out_event),
        (queue, count, events, out_event))
ENQUEUE(clEnqueueUnmapMemObject, false,
        (cl_command_queue queue, cl_mem m, void *h, cl_uint count, const cl_event *events,
         cl_event *out_event),
        (queue, m, h, count, events, out_event))

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem m, cl_bool is_blocking, cl_map_flags f,
                         size_t o, size_t n, cl_uint count, const cl_event *events,
                         cl_event *out_event, cl_int *errcode) {
  cl_int code = next_code("clEnqueueMapBuffer", false);
  if (code != CL_SUCCESS) {
    if (errcode != NULL) {
      *errcode = code;
    }
    return NULL;
  }
  PASS_ON(void *, clEnqueueMapBuffer,
          (cl_command_queue, cl_mem, cl_bool, cl_map_flags, size_t, size_t, cl_uint,
           const cl_event *, cl_event *, cl_int *),
          (queue, m, is_blocking, f, o, n, count, events, out_event, errcode));
  atomic_fetch_add(&live, result != NULL && out_event != NULL);
  return result;
}
