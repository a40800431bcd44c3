/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/pocl_binary.h"

#include <stdatomic.h>

#include "base/thread.h"

enum { NUM_WORDS = 256 };

/** Held while a binary is being read. Guards num_contexts. */
static rlo__mutex asking = RLO__MUTEX_INIT;
static int32_t num_contexts;

/** One bit per hash of a program, modulo the number of bits. */
static atomic_uint_least64_t built[NUM_WORDS];

void rlo__pocl_binary_enter(void) {
  rlo__mutex_lock(&asking);
  ++num_contexts;
  rlo__mutex_unlock(&asking);
}

void rlo__pocl_binary_leave(void) {
  rlo__mutex_lock(&asking);
  --num_contexts;
  rlo__mutex_unlock(&asking);
}

bool rlo__pocl_binary_begin_asking(void) {
  rlo__mutex_lock(&asking);
  bool is_alone = num_contexts == 1;
  if (!is_alone) {
    rlo__mutex_unlock(&asking);
  }
  return is_alone;
}

void rlo__pocl_binary_end_asking(void) {
  rlo__mutex_unlock(&asking);
}

bool rlo__pocl_binary_note(const rlo__program_spec *spec) {
  uint64_t place = rlo__codegen_hash(spec);
  uint64_t bit = UINT64_C(1) << (place % 64);
  return (atomic_fetch_or(&built[place / 64 % NUM_WORDS], bit) & bit) == 0;
}
