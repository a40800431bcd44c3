/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_backend.h"

#include <stdlib.h>
#include <string.h>

static rlo_status status_of(const void *self, const char *method) {
  const fake *f = self;
  return f->fails != NULL && strcmp(f->fails, method) == 0 ? RLO_DEVICE : RLO_OK;
}

static rlo_status fake_allocate(void *self, int64_t bytes, void **out_memory) {
  if (status_of(self, "allocate") != RLO_OK) {
    return RLO_DEVICE;
  }
  *out_memory = calloc(1, (size_t)bytes);
  return *out_memory != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

static void fake_free(void *self, void *memory) {
  (void)self;
  free(memory);
}

static rlo_status fake_write(void *self, void *memory, const void *data, int64_t bytes) {
  memcpy(memory, data, (size_t)bytes);
  return status_of(self, "write");
}

static rlo_status fake_read(void *self, void *memory, void *out_data, int64_t bytes) {
  memcpy(out_data, memory, (size_t)bytes);
  return status_of(self, "read");
}

static void fake_destroy(void *self) {
  ++((fake *)self)->destroyed;
}

rlo_status fake_create(rlo_engine *of, void *payload, const rlo_backend_methods **out_methods,
                       void **out_self) {
  static const rlo_backend_methods methods = {.struct_size = sizeof methods,
                                              .allocate = fake_allocate,
                                              .free = fake_free,
                                              .write = fake_write,
                                              .read = fake_read,
                                              .destroy = fake_destroy};
  (void)of;
  fake *f = payload;
  if (f->failures > 0) {
    --f->failures;
    return RLO_DEVICE;
  }
  ++f->created;
  *out_methods = &methods;
  *out_self = f;
  return RLO_OK;
}
