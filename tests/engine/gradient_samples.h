/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_ENGINE_GRADIENT_SAMPLES_H
#define RLO_TESTS_ENGINE_GRADIENT_SAMPLES_H

#include "relayout/engine.h"
#include "support/random_shape.h"

/*
 * A random call of each built-in kernel: attributes, and the dimensions of what
 * it is called with. What pads pads with 0, or it would not be linear.
 */

enum { MOST_TENSORS = 4, MOST_ITEMS = 5, MOST_NUMBERS = 16 };

/** A kernel and the arguments of a call. It points into itself: do not copy
 *  it. */
typedef struct sample {
  const char *kernel_name;
  int32_t num_inputs;
  /** The last of them when it holds indices. */
  bool has_indices;
  int64_t num_indexed;
  int64_t dims[MOST_TENSORS][RLO_MAX_RANK];
  int32_t ranks[MOST_TENSORS];
  rlo_attribute items[MOST_ITEMS];
  int32_t num_items;
  int64_t numbers[MOST_ITEMS][MOST_NUMBERS];
  /** For an attribute that is a shape. */
  rlo_shape shape;
  /** It reads no element twice and computes nothing. */
  bool is_injective;
} sample;

/** The source of all random numbers. */
extern test_random rng;

/** Draws a number from `low` to `high`, both included. */
int64_t draw(int64_t low, int64_t high);

/** Draws a call; kernels take turns as `number` counts up. */
void draw_sample(int64_t number, sample *out_sample);

#endif
