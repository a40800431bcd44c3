/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_FUZZ_FAKE_OBJECTS_H
#define RLO_TESTS_FUZZ_FAKE_OBJECTS_H

#include "fake_driver.h"

/*
 * The objects of the fake driver: what they hold, who refers to them, and how a
 * call of the driver begins. Calls take handles through CHECK and begin with
 * CALL or CALL_THAT_MAKES, but for those that release, which cannot fail.
 */

enum { MAX_ARGUMENTS = 128, MAX_ARGUMENT_BYTES = 128, MAX_PENDING = 64, MAX_MEMORIES = 256 };

typedef enum object_kind {
  CONTEXT = 0x5ca1ab1e,
  QUEUE,
  MEMORY,
  PROGRAM,
  KERNEL,
  EVENT
} object_kind;

/* First in every object. */
typedef struct object {
  object_kind kind;
  /* The references of callers, and of objects and commands that need it. */
  int64_t num_references, num_inner;
} object;

struct _cl_platform_id {
  int unused;
};

struct _cl_device_id {
  bool is_gpu;
};

struct _cl_context {
  object head;
  cl_device_id device;
};

struct _cl_mem {
  object head;
  cl_context context;
  size_t bytes;
  cl_mem_flags flags;
  unsigned char *memory;
};

struct _cl_program {
  object head;
  cl_context context;
  /* The most items of a group of its kernels; 0 before it is built. */
  size_t max_items;
};

typedef struct argument {
  size_t bytes;
  unsigned char value[MAX_ARGUMENT_BYTES];
} argument;

struct _cl_kernel {
  object head;
  cl_program program;
  argument arguments[MAX_ARGUMENTS];
};

struct _cl_event {
  object head;
  cl_context context;
  cl_command_queue queue;
  /* CL_QUEUED, CL_COMPLETE or a failure. */
  cl_int status;
};

typedef enum command_kind { RUN, READ, WRITE, MARK } command_kind;

typedef struct command {
  command_kind kind;
  cl_event event;
  /* The event of a command that it waits for and that will have failed. */
  cl_int fails_with;
  cl_event *events;
  cl_uint num_events;
  cl_mem memories[MAX_ARGUMENTS];
  int32_t num_memories;
  void *tag;
  size_t offset, bytes;
  void *host;
} command;

struct _cl_command_queue {
  object head;
  cl_context context;
  cl_device_id device;
  command pending[MAX_PENDING];
  int32_t num_pending;
};

/** Stops the program: a rule of OpenCL was broken. */
_Noreturn void fake_stop(const char *function, const char *why);

/** The code with which a call fails, or CL_SUCCESS. */
cl_int fake_next_code(const char *function);

#define CALL()                              \
  do {                                      \
    cl_int code = fake_next_code(__func__); \
    if (code != CL_SUCCESS) {               \
      return code;                          \
    }                                       \
  } while (0)

#define CALL_THAT_MAKES()                   \
  do {                                      \
    cl_int code = fake_next_code(__func__); \
    if (errcode != NULL) {                  \
      *errcode = code;                      \
    }                                       \
    if (code != CL_SUCCESS) {               \
      return NULL;                          \
    }                                       \
  } while (0)

/** Stops the program unless it is a handle of this kind that is alive. */
void fake_check(const void *handle, object_kind kind, const char *function);

#define CHECK(handle, kind) fake_check((handle), (kind), __func__)

/** An object with a caller's reference. */
void *fake_make(size_t bytes, object_kind kind);

/** References of callers. */
void fake_retain(void *object);
void fake_release(void *object, const char *function);

/** The functions of OpenCL that retain and release objects of a kind. */
#define DEFINE_RETAIN(function, type, kind) \
  cl_int function(type handle) {            \
    CHECK(handle, kind);                    \
    CALL();                                 \
    fake_retain(handle);                    \
    return CL_SUCCESS;                      \
  }

#define DEFINE_RELEASE(function, type, kind) \
  cl_int function(type handle) {             \
    CHECK(handle, kind);                     \
    fake_release(handle, __func__);          \
    return CL_SUCCESS;                       \
  }

/** References of objects and commands. */
void fake_keep(void *object);
void fake_drop(void *object);

/** Finds the place of a buffer that is alive; of NULL: a free one. NULL: none.
 */
cl_mem *fake_find_memory(cl_mem memory);

/** Puts a buffer, or NULL, into the place of another one. */
void fake_replace_memory(cl_mem from, cl_mem to);

/** Answers a call of clGet...Info with a value. */
cl_int fake_answer(const void *value, size_t bytes, size_t room, void *out, size_t *out_bytes);

#define ANSWER(type, ...)                                            \
  do {                                                               \
    type answered = __VA_ARGS__;                                     \
    return fake_answer(&answered, sizeof answered, room, out, size); \
  } while (0)

#define ANSWER_TEXT(text) return fake_answer(text, strlen(text) + 1, room, out, size)

#endif
