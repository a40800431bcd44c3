/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CODEGEN_EXPLAIN_H
#define RLO_CODEGEN_EXPLAIN_H

#include "plan/wisdom.h"

/** As rlo_plan_explain, with what is known of the device; `wisdom` may be NULL.
 *  Threads: it must not change meanwhile. */
RLO_NODISCARD rlo_status rlo__plan_explain_with(const rlo_problem *problem,
                                                const rlo_device_info *device,
                                                const rlo_plan_options *options,
                                                int64_t src_alignment_bytes,
                                                int64_t dst_alignment_bytes,
                                                const rlo__wisdom *wisdom,
                                                rlo_plan_report **out_report);

#endif
