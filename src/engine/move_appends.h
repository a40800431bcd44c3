/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_MOVE_APPENDS_H
#define RLO_ENGINE_MOVE_APPENDS_H

#include "relayout/attributes.h"
#include "relayout/chain.h"

/** The appends and counts of rlo__move, beside those of move_table.c. Each
 *  validates its attributes, whose types have been checked. */

/* move_cut.c */
RLO_NODISCARD rlo_status rlo__append_slice(rlo_chain *chain,
                                           const rlo_chain *const *others,
                                           int32_t num_others,
                                           const rlo_attributes *attributes,
                                           int32_t output);
RLO_NODISCARD rlo_status
rlo__append_strided_slice(rlo_chain *chain,
                          const rlo_chain *const *others,
                          int32_t num_others,
                          const rlo_attributes *attributes,
                          int32_t output);

/* move_pad.c */
RLO_NODISCARD rlo_status rlo__append_pad(rlo_chain *chain,
                                         const rlo_chain *const *others,
                                         int32_t num_others,
                                         const rlo_attributes *attributes,
                                         int32_t output);
RLO_NODISCARD rlo_status
rlo__append_mirror_pad(rlo_chain *chain,
                       const rlo_chain *const *others,
                       int32_t num_others,
                       const rlo_attributes *attributes,
                       int32_t output);

/* move_join.c */
RLO_NODISCARD rlo_status rlo__append_concat(rlo_chain *chain,
                                            const rlo_chain *const *others,
                                            int32_t num_others,
                                            const rlo_attributes *attributes,
                                            int32_t output);
RLO_NODISCARD rlo_status rlo__append_pack(rlo_chain *chain,
                                          const rlo_chain *const *others,
                                          int32_t num_others,
                                          const rlo_attributes *attributes,
                                          int32_t output);
RLO_NODISCARD rlo_status rlo__append_split(rlo_chain *chain,
                                           const rlo_chain *const *others,
                                           int32_t num_others,
                                           const rlo_attributes *attributes,
                                           int32_t output);
RLO_NODISCARD rlo_status rlo__append_unpack(rlo_chain *chain,
                                            const rlo_chain *const *others,
                                            int32_t num_others,
                                            const rlo_attributes *attributes,
                                            int32_t output);
RLO_NODISCARD rlo_status rlo__count_split(const rlo_shape *const *inputs,
                                          const rlo_attributes *attributes,
                                          int32_t *out_count);
RLO_NODISCARD rlo_status rlo__count_unpack(const rlo_shape *const *inputs,
                                           const rlo_attributes *attributes,
                                           int32_t *out_count);

#endif
