/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_PLAN_HANDLE_H
#define RLO_RUNTIME_PLAN_HANDLE_H

#include "runtime/variant.h"

enum {
  /** One for memory aligned as the device aligns it, one for memory aligned to
   *  the element only. */
  RLO__PLAN_MAX_VARIANTS = 2
};

struct rlo_plan {
  atomic_int_fast32_t num_references;
  /** Retained. */
  rlo_context *context;
  rlo_plan_info info;
  char parameters[160];
  /** Bytes of an element on either side of the problem as it was given; 1 if
   *  they are not whole. */
  int64_t src_element_bytes, dst_element_bytes;
  /** What is in the destination is read too. */
  bool is_updating;
  /** Bytes of an index; 0 if the problem loads none. */
  int64_t index_element_bytes;
  /** The faster first; 0 for an empty problem. */
  int32_t num_variants;
  rlo__variant variants[RLO__PLAN_MAX_VARIANTS];
};

#endif
