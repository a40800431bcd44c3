/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_COPY_OPS_H
#define RLO_ENGINE_COPY_OPS_H

#include "engine/copy/copy_op.h"

/** The functions of rlo__copy_op, beside those of move_table.c. Each validates
 * its attributes, whose types have been checked. */

/* move_cut.c */
RLO_NODISCARD rlo_status rlo__append_slice(const rlo__copy_step *step);
RLO_NODISCARD rlo_status rlo__append_strided_slice(const rlo__copy_step *step);

/* move_pad.c */
RLO_NODISCARD rlo_status rlo__append_pad(const rlo__copy_step *step);
RLO_NODISCARD rlo_status rlo__append_mirror_pad(const rlo__copy_step *step);

/* move_join.c */
RLO_NODISCARD rlo_status rlo__append_concat(const rlo__copy_step *step);
RLO_NODISCARD rlo_status rlo__append_pack(const rlo__copy_step *step);
RLO_NODISCARD rlo_status rlo__append_split(const rlo__copy_step *step);
RLO_NODISCARD rlo_status rlo__append_unpack(const rlo__copy_step *step);
RLO_NODISCARD rlo_status rlo__count_split(const rlo__copy_call *call,
                                          int32_t *out_count);
RLO_NODISCARD rlo_status rlo__count_unpack(const rlo__copy_call *call,
                                           int32_t *out_count);

/* move_compute.c */
RLO_NODISCARD rlo_status rlo__append_cast(const rlo__copy_step *step);
RLO_NODISCARD rlo_status rlo__append_sum(const rlo__copy_step *step);
RLO_NODISCARD rlo_status rlo__infer_add_n(const rlo__copy_call *call,
                                          rlo_shape *out_shape);
RLO_NODISCARD rlo_status
rlo__prepare_add_n(const rlo__backend_instance *instance,
                   const rlo__copy_call *call,
                   const rlo_shape *dst,
                   void **out_program);

RLO_NODISCARD rlo_status rlo__infer_scale(const rlo__copy_call *call,
                                          rlo_shape *out_shape);
RLO_NODISCARD rlo_status
rlo__prepare_scale(const rlo__backend_instance *instance,
                   const rlo__copy_call *call,
                   const rlo_shape *dst,
                   void **out_program);

/* move_adjoint.c */
RLO_NODISCARD rlo_status rlo__infer_adjoint(const rlo__copy_call *call,
                                            rlo_shape *out_shape);
RLO_NODISCARD rlo_status
rlo__prepare_adjoint(const rlo__backend_instance *instance,
                     const rlo__copy_call *call,
                     const rlo_shape *dst,
                     void **out_program);

/* move_indexed.c */
RLO_NODISCARD rlo_status rlo__append_gather(const rlo__copy_step *step);
RLO_NODISCARD rlo_status rlo__infer_segment_sum(const rlo__copy_call *call,
                                                rlo_shape *out_shape);
RLO_NODISCARD rlo_status
rlo__prepare_segment_sum(const rlo__backend_instance *instance,
                         const rlo__copy_call *call,
                         const rlo_shape *dst,
                         void **out_program);

#endif
