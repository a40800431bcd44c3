/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_SERVICE_H
#define RLO_SERVICE_SERVICE_H

#include "relayout/service.h"

/** As rlo_service_create. For tests: with `copies` pieces are copied to every
 *  device, also to those that share the host's memory. */
RLO_NODISCARD rlo_status rlo__service_create(rlo_context *const *contexts,
                                             int32_t num_contexts,
                                             const rlo_service_options *options,
                                             bool copies,
                                             rlo_service **out_service);

#endif
