/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_PROGRAM_SHAPE_H
#define RELAYOUT_PROGRAM_SHAPE_H

#include "relayout/shape_tree.h"

RLO_BEGIN_DECLS

/**
 * What a program takes and returns: named parameters and a result, each a
 * shape tree. XLA writes it `(a: f32[2], (unknown): s32[]) -> f32[]`.
 *
 * It never changes. Threads: safe; a program shape may be shared.
 */
typedef struct rlo_program_shape rlo_program_shape;

/**
 * Make a program shape.
 *
 * @param parameters      `num_parameters` trees; a reference to each is kept.
 * @param names           as many names, copied; NULL, or a NULL or empty name,
 *                        leaves it unknown. A name is a letter or '_', then
 *                        letters, digits, '_', '.' and '-'.
 * @param result          a reference is kept.
 * @param out_program     goes to rlo_program_shape_release; NULL on failure.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INVALID_ARGUMENT for a name of other
 *         characters or a negative number of parameters.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_program_shape_create(rlo_shape_tree *const *parameters,
                         const char *const *names,
                         int64_t num_parameters,
                         rlo_shape_tree *result,
                         rlo_program_shape **out_program);

/** Free a program shape. NULL is legal. */
RLO_API void rlo_program_shape_release(rlo_program_shape *program);

RLO_API int64_t
rlo_program_shape_parameter_count(const rlo_program_shape *program);

/** Parameter `position`, borrowed; NULL outside of [0, count). */
RLO_API const rlo_shape_tree *rlo_program_shape_parameter(
    const rlo_program_shape *program, int64_t position);

/** Its name, borrowed; "" if it is unknown; NULL outside of [0, count). */
RLO_API const char *rlo_program_shape_parameter_name(
    const rlo_program_shape *program, int64_t position);

/** The result, borrowed. */
RLO_API const rlo_shape_tree *rlo_program_shape_result(
    const rlo_program_shape *program);

/** Same number of parameters and equal trees throughout; names do not count.
 */
RLO_API bool rlo_program_shape_equal(const rlo_program_shape *a,
                                     const rlo_program_shape *b);

RLO_END_DECLS

#endif
