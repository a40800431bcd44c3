/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t live;
/* Those that are alive. A kernel's argument is a buffer if it is one of them:
 * numbers are as long as handles. */
static cl_mem memories[MAX_MEMORIES];

static struct {
  cl_int code;
  int32_t calls;
  bool is_sticky;
  const char *function;
} fault;

void fake_driver_fail(int32_t calls, cl_int code, bool is_sticky) {
  fault.calls = calls;
  fault.code = code;
  fault.is_sticky = is_sticky;
  fault.function = NULL;
}

const char *fake_driver_end_failure(void) {
  fault.code = CL_SUCCESS;
  return fault.function;
}

int64_t fake_driver_live(void) {
  return live;
}

_Noreturn void fake_stop(const char *function, const char *why) {
  (void)fprintf(stderr, "fake driver: %s: %s\n", function, why);
  abort();
}

cl_int fake_next_code(const char *function) {
  if (fault.code == CL_SUCCESS) {
    return CL_SUCCESS;
  }
  bool fails = fault.calls == 0 || (fault.calls < 0 && fault.is_sticky);
  --fault.calls;
  if (!fails) {
    return CL_SUCCESS;
  }
  if (fault.function == NULL) {
    fault.function = function;
  }
  return fault.code;
}

void fake_check(const void *pointer, object_kind kind, const char *function) {
  const object *o = pointer;
  if (o == NULL || o->kind != kind) {
    fake_stop(function, "a handle of another kind");
  }
  if (o->num_references + o->num_inner <= 0) {
    fake_stop(function, "a handle that was released");
  }
}

void *fake_make(size_t bytes, object_kind kind) {
  object *o = calloc(1, bytes);
  if (o == NULL) {
    fake_stop("calloc", "no memory");
  }
  o->kind = kind;
  o->num_references = 1;
  ++live;
  return o;
}

void fake_keep(void *pointer) {
  ++((object *)pointer)->num_inner;
}

cl_mem *fake_find_memory(cl_mem memory) {
  for (int32_t n = 0; n < MAX_MEMORIES; ++n) {
    if (memories[n] == memory) {
      return &memories[n];
    }
  }
  return NULL;
}

void fake_replace_memory(cl_mem from, cl_mem to) {
  cl_mem *place = fake_find_memory(from);
  if (place != NULL) {
    *place = to;
  }
}

static void destroy(object *o) {
  switch (o->kind) {
    case QUEUE:
      fake_drop(((cl_command_queue)o)->context);
      break;
    case MEMORY:
      fake_replace_memory((cl_mem)o, NULL);
      fake_drop(((cl_mem)o)->context);
      free(((cl_mem)o)->memory);
      break;
    case PROGRAM:
      fake_drop(((cl_program)o)->context);
      break;
    case KERNEL:
      fake_drop(((cl_kernel)o)->program);
      break;
    case EVENT:
      fake_drop(((cl_event)o)->context);
      break;
    case CONTEXT:
      break;
  }
  free(o);
}

void fake_drop(void *pointer) {
  object *o = pointer;
  if (--o->num_inner + o->num_references == 0) {
    destroy(o);
  }
}

void fake_retain(void *pointer) {
  object *o = pointer;
  if (o->num_references <= 0) {
    fake_stop("retain", "a handle that was released");
  }
  ++o->num_references;
  ++live;
}

void fake_release(void *pointer, const char *function) {
  object *o = pointer;
  if (o->num_references <= 0) {
    fake_stop(function, "released once too often");
  }
  --live;
  if (--o->num_references + o->num_inner == 0) {
    destroy(o);
  }
}

cl_int fake_answer(const void *value, size_t bytes, size_t room, void *out, size_t *out_bytes) {
  if (out != NULL && room < bytes) {
    return CL_INVALID_VALUE;
  }
  if (out != NULL) {
    memcpy(out, value, bytes);
  }
  if (out_bytes != NULL) {
    *out_bytes = bytes;
  }
  return CL_SUCCESS;
}
