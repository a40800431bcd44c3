/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_ENGINE_REDISTRIBUTE_H
#define RLO_ENGINE_REDISTRIBUTE_H

#include "engine/copy/copy_op.h"
#include "shard/redistribution.h"

/**
 * Redistribute: a redistribution between the devices of which one engine has
 * all shards, as tensors. Of copies in the source it reads the first; of the
 * summands of an unreduced result the first one is the array, and the others
 * are zeros. So it is a linear map of all its inputs, and its transpose is the
 * one with both shardings dual, copies in place of summands and summands in
 * place of copies.
 */
typedef struct rlo__redistribute {
  /** With copies in place of the result's summands; row-major. */
  rlo_redistribution *plan;
  /** That of the result, as it is given, and its devices. */
  rlo_sharding *to;
  rlo__holding holding;
} rlo__redistribute;

/**
 * Decodes a call.
 * @param out_redistribute  needs rlo__redistribute_deinit also after a failure.
 * @return RLO_OK; the statuses of rlo_sharding_parse and
 *         rlo_redistribution_create; RLO_INVALID_ARGUMENT for bad attributes;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__redistribute_decode(
    const rlo__copy_call *call, rlo__redistribute *out_redistribute);
void rlo__redistribute_deinit(rlo__redistribute *redistribute);

/** Attributes that own the parts of their values. */
typedef struct rlo__redistribute_code {
  rlo_attributes attributes;
  rlo_attribute items[4];
  int64_t dims[RLO_MAX_RANK];
  int64_t perm[RLO_MAX_RANK];
  char *from, *to;
} rlo__redistribute_code;

/**
 * Encodes the transpose. Not to be copied: it points into itself.
 * @param out_code  needs rlo__redistribute_code_deinit also after a failure.
 * @return RLO_OK; RLO_UNSUPPORTED where several devices hold a box of a list;
 *         RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__redistribute_transpose(
    const rlo__redistribute *redistribute, rlo__redistribute_code *out_code);
void rlo__redistribute_code_deinit(rlo__redistribute_code *code);

#endif
