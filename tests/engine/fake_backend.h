/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_ENGINE_FAKE_BACKEND_H
#define RLO_TESTS_ENGINE_FAKE_BACKEND_H

#include "relayout/backend.h"

/** A backend with memory of the host, counted. It is destroyed with the engine,
 *  after the test: what it counts in is static. */
typedef struct fake {
  int created, destroyed;
  /** The factory fails this many times. */
  int failures;
  /** The method that fails, "read", and does not say why; or NULL. */
  const char *fails;
} fake;

/** An rlo_backend_factory, whose payload is a fake. */
rlo_status fake_create(rlo_engine *of, void *payload, const rlo_backend_methods **out_methods,
                       void **out_self);

#endif
