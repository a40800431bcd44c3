/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_CONTEXT_WISDOM_H
#define RLO_RUNTIME_CONTEXT_WISDOM_H

#include "runtime/context.h"

/** Begin a context's wisdom, empty; its device and name are set already. */
RLO_NODISCARD rlo_status rlo__context_wisdom_init(rlo_context *context);

/** Legal on a context whose wisdom was never begun. */
void rlo__context_wisdom_deinit(rlo_context *context);

/** Remember a measurement. If there is no room, the log says so. Threads:
 *  safe. */
void rlo__context_wisdom_put(rlo_context *context,
                             const rlo__wisdom_entry *entry);

#endif
