/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_ENQUEUE_H
#define RLO_RUNTIME_ENQUEUE_H

#include "runtime/context.h"

/** Whether this process, a queue and a wait list serve a plan of the context:
 *  what rlo_enqueue says of them. */
RLO_NODISCARD rlo_status rlo__enqueue_check(const rlo_context *context,
                                            cl_command_queue queue,
                                            cl_uint num_wait,
                                            const cl_event *wait_list);

#endif
