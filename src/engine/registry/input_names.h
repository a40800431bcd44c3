/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_INPUT_NAMES_H
#define RLO_ENGINE_INPUT_NAMES_H

#include "base/status.h"
#include "relayout/kernel.h"

/*
 * The names of a kernel's inputs: `count` of them, of which the last one stands
 * for all inputs from its place on. A kernel without names has a count of 0.
 */

/** The name in messages of an input. A long name is cut. */
typedef struct rlo__input_text {
  char text[96];
} rlo__input_text;

/** "'x'", "'inputs[2]'": the n-th input of a name. Returns out_text->text. */
const char *rlo__name_text_make(const char *name,
                                int32_t n,
                                rlo__input_text *out_text);

/** "input 'x'", "input 'inputs[2]'" where several inputs share the name, "input
 *  1" without a name. Returns out_text->text. */
const char *rlo__input_text_make(const char *const *names,
                                 int32_t count,
                                 int32_t num_inputs,
                                 int32_t place,
                                 rlo__input_text *out_text);

/** The index of a name; -1 if it is none of them. */
int32_t rlo__input_names_find(const char *const *names,
                              int32_t count,
                              const char *name);

/** The name of an input; NULL without names. */
const char *rlo__input_name(const char *const *names,
                            int32_t count,
                            int32_t place);

/** The place of the n-th input of this name among `num_inputs`; -1 if there is
 *  none. */
int32_t rlo__input_place(const char *const *names,
                         int32_t count,
                         int32_t num_inputs,
                         const char *name,
                         int32_t n);

/** RLO_OK if a kernel's config gives every input one name, and the results
 *  others. RLO_INVALID_ARGUMENT. */
RLO_NODISCARD rlo_status
rlo__input_names_check(const rlo_kernel_config *config);

/** RLO_INVALID_ARGUMENT for a number of inputs that a kernel does not take. */
RLO_NODISCARD rlo_status rlo__input_count_fail(const rlo_kernel_config *config,
                                               int32_t num_inputs);

/** RLO_OK if a kernel takes this number of inputs. RLO_INVALID_ARGUMENT. */
RLO_NODISCARD static inline rlo_status rlo__input_count_check(
    const rlo_kernel_config *config, int32_t num_inputs) {
  return num_inputs >= config->min_inputs &&
                 (config->max_inputs < 0 || num_inputs <= config->max_inputs)
             ? RLO_OK
             : rlo__input_count_fail(config, num_inputs);
}

/** Finds the places of named inputs: rlo_kernel_place_inputs. */
RLO_NODISCARD rlo_status rlo__input_names_place(const rlo_kernel_config *config,
                                                const char *const *names,
                                                int32_t count,
                                                int32_t *out_places);

#endif
