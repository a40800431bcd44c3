/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/pocl_binary.h"

#include <stdatomic.h>

#include "base/hash.h"

enum { NUM_WORDS = 256 };

static atomic_int num_contexts;

/** A bit for each hash of a program, modulo their number. */
static atomic_uint_least64_t made[NUM_WORDS];

void rlo__pocl_binary_enter(void) {
  atomic_fetch_add(&num_contexts, 1);
}

void rlo__pocl_binary_leave(void) {
  atomic_fetch_sub(&num_contexts, 1);
}

bool rlo__pocl_binary_is_alone(void) {
  return atomic_load(&num_contexts) == 1;
}

bool rlo__pocl_binary_note(const rlo_program_spec *spec) {
  rlo__hash hash = rlo__hash_init(0x706f636cULL);
  rlo__hash_u64(&hash, spec->source_bytes);
  rlo__hash_string(&hash, spec->options);
  rlo__hash_string(&hash, spec->kernel_name);
  uint64_t place = rlo__hash_finish_u64(&hash);
  uint64_t bit = UINT64_C(1) << (place % 64);
  return (atomic_fetch_or(&made[place / 64 % NUM_WORDS], bit) & bit) == 0;
}
