/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_HOST_BUDGET_H
#define RLO_SERVICE_HOST_BUDGET_H

#include <stdint.h>

/** The default of rlo_service_options.host_memory_bytes: a quarter of the
 * memory that the system has available and the process may still take, within
 *  limits. */
int64_t rlo__host_budget_default(void);

#endif
