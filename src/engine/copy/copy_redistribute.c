/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/copy/copy_ops.h"
#include "engine/copy/redistribute.h"
#include "engine/tensor/attributes.h"
#include "ops/chain.h"
#include "ops/redistribution.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "relayout/xla/shape_util.h"

static const rlo_attribute_spec specs[] = {
    {"shape", RLO_ATTRIBUTE_I64S, true},
    {"from", RLO_ATTRIBUTE_STRING, true},
    {"to", RLO_ATTRIBUTE_STRING, true},
    {"perm", RLO_ATTRIBUTE_I64S, false},
};

/* --------------------------------------------------------------- attributes */

static rlo_status get_sharding(const rlo_attributes *attributes,
                               const char *name,
                               rlo_sharding **out_sharding) {
  const char *text = NULL;
  RLO_TRY(rlo_attributes_get_string(attributes, name, &text));
  rlo_status status = rlo_sharding_parse(text, strlen(text), out_sharding);
  return status == RLO_OK ? RLO_OK : rlo__status_prefix(status, "'%s': ", name);
}

static rlo_status get_permutation(const rlo_attributes *attributes,
                                  int32_t rank,
                                  int32_t out_permutation[RLO_MAX_RANK]) {
  rlo__dims perm;
  int32_t count = 0;
  for (int32_t k = 0; k < rank; ++k) {
    out_permutation[k] = k;
  }
  if (rlo_attributes_find(attributes, "perm") == NULL) {
    return RLO_OK;
  }
  RLO_TRY(rlo__dims_get_exactly(attributes, "perm", rank, &perm));
  return rlo__axes_get_once(attributes, "perm", rank, out_permutation, &count);
}

/* The plan between row-major arrays, a device for each input. */
static rlo_status make_plan(const rlo__copy_call *call,
                            rlo_sharding *from,
                            rlo_sharding *to,
                            rlo_redistribution **out_plan) {
  rlo__dims dims;
  int64_t permuted[RLO_MAX_RANK];
  int32_t permutation[RLO_MAX_RANK];
  rlo_shape shapes[2];
  RLO_TRY(rlo__dims_get(call->attributes, "shape", &dims));
  RLO_TRY(get_permutation(call->attributes, dims.count, permutation));
  for (int32_t k = 0; k < dims.count; ++k) {
    permuted[k] = dims.values[permutation[k]];
  }
  RLO_TRY(rlo__ops_shape_like(
      call->inputs[0], dims.values, dims.count, &shapes[0]));
  RLO_TRY(
      rlo__ops_shape_like(call->inputs[0], permuted, dims.count, &shapes[1]));
  rlo_redistribution_options options = RLO_REDISTRIBUTION_OPTIONS_INIT;
  options.from = &shapes[0];
  options.to = &shapes[1];
  options.from_sharding = from;
  options.to_sharding = to;
  options.permutation = permutation;
  options.num_devices = call->num_inputs;
  return rlo_redistribution_create(&options, out_plan);
}

rlo_status rlo__redistribute_decode(const rlo__copy_call *call,
                                    rlo__redistribute *out_redistribute) {
  rlo__redistribute *r = out_redistribute;
  rlo_sharding *from = NULL;
  rlo_sharding *copies = NULL;
  rlo_status status = RLO_OK;
  *r = (rlo__redistribute){.plan = NULL};
  RLO_TRY_GOTO(get_sharding(call->attributes, "from", &from));
  RLO_TRY_GOTO(get_sharding(call->attributes, "to", &r->to));
  RLO_TRY_GOTO(rlo__sharding_exchange(r->to, RLO__SUMMANDS_TO_COPIES, &copies));
  RLO_TRY_GOTO(make_plan(call, from, copies, &r->plan));
  status = rlo__holding_init(
      r->to, &r->plan->destination_shape, r->plan->num_devices, &r->holding);
fail:
  rlo_sharding_release(from);
  rlo_sharding_release(copies);
  return status;
}

void rlo__redistribute_deinit(rlo__redistribute *redistribute) {
  rlo__holding_deinit(&redistribute->holding);
  rlo_sharding_release(redistribute->to);
  rlo_redistribution_release(redistribute->plan);
}

/* The text of the dual of a sharding. */
static rlo_status make_dual(const rlo__holding *holding,
                            rlo_sharding *sharding,
                            const char *side,
                            char **out_text) {
  rlo_sharding *dual = NULL;
  RLO_TRY(rlo__holding_check_no_box_copies(holding, side));
  RLO_TRY(rlo__sharding_exchange(
      sharding, RLO__COPIES_TO_SUMMANDS | RLO__SUMMANDS_TO_COPIES, &dual));
  size_t bytes = rlo_sharding_format(dual, NULL, 0) + 1;
  *out_text = rlo__alloc(bytes);
  if (*out_text != NULL) {
    (void)rlo_sharding_format(dual, *out_text, bytes);
  }
  rlo_sharding_release(dual);
  return *out_text != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

rlo_status rlo__redistribute_transpose(const rlo__redistribute *redistribute,
                                       rlo__redistribute_code *out_code) {
  const rlo_redistribution *plan = redistribute->plan;
  rlo__redistribute_code *c = out_code;
  *c = (rlo__redistribute_code){.from = NULL};
  RLO_TRY(make_dual(
      &redistribute->holding, redistribute->to, "destination", &c->from));
  RLO_TRY(make_dual(&plan->source, plan->sharding[0], "source", &c->to));
  for (int32_t k = 0; k < plan->rank; ++k) {
    c->dims[k] = plan->destination_shape.dims[k];
    c->perm[plan->from[k]] = k;
  }
  c->items[0] = rlo_attribute_i64s("shape", c->dims, plan->rank);
  c->items[1] = rlo_attribute_string("from", c->from);
  c->items[2] = rlo_attribute_string("to", c->to);
  c->items[3] = rlo_attribute_i64s("perm", c->perm, plan->rank);
  c->attributes = (rlo_attributes){c->items, 4};
  return RLO_OK;
}

void rlo__redistribute_code_deinit(rlo__redistribute_code *code) {
  rlo__free(code->from);
  rlo__free(code->to);
}

/* ------------------------------------------------------------------- shapes */

static rlo_status check_shard(const rlo__redistribute *r,
                              const rlo_shape *input,
                              int32_t device) {
  const rlo_redistribution *plan = r->plan;
  rlo_shape wanted;
  RLO_TRY(rlo_sharding_get_shard_shape(
      plan->sharding[0], &plan->source_shape, device, &wanted));
  RLO_TRY(rlo_shape_validate(input));
  if (rlo_shape_compatible(input, &wanted)) {
    return RLO_OK;
  }
  char texts[2][160];
  rlo__array_text name;
  (void)rlo_shape_human_string(input, texts[0], sizeof texts[0]);
  (void)rlo_shape_human_string(&wanted, texts[1], sizeof texts[1]);
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "%s is %s; by 'from' device %" PRId32 " holds %s",
                  rlo__ops_array_text("shards", device, &name),
                  texts[0],
                  device,
                  texts[1]);
}

/* A result for each input. The inputs are checked here, once in a call. */
static rlo_status count_shards(const rlo__copy_call *call, int32_t *out_count) {
  rlo__redistribute r;
  RLO_TRY(rlo_shape_validate(call->inputs[0]));
  rlo_status status = rlo__redistribute_decode(call, &r);
  for (int32_t n = 0; n < call->num_inputs && status == RLO_OK; ++n) {
    status = check_shard(&r, call->inputs[n], n);
  }
  *out_count = call->num_inputs;
  rlo__redistribute_deinit(&r);
  return status;
}

static rlo_status infer_shard(const rlo__copy_call *call,
                              int32_t output,
                              rlo_shape *out_shape) {
  rlo__redistribute r;
  rlo_status status = rlo__redistribute_decode(call, &r);
  if (status == RLO_OK) {
    status = rlo_sharding_get_shard_shape(
        r.to, &r.plan->destination_shape, output, out_shape);
  }
  rlo__redistribute_deinit(&r);
  return status;
}

/* ----------------------------------------------------------------- problems */

/* The problems of one result under construction. */
typedef struct receiver {
  const rlo__copy_call *call;
  const rlo_redistribution *plan;
  int64_t device;
  const rlo_shape *dst;
  rlo_problem_list *problems;
} receiver;

static rlo_status add_all(rlo_problem_list *problems,
                          int32_t operand,
                          rlo_problem_list *more) {
  rlo_status status = RLO_OK;
  for (int32_t n = 0; n < more->count && status == RLO_OK; ++n) {
    status =
        rlo__problem_list_add(problems, operand, -1, more->entries[n].problem);
  }
  rlo_problem_list_release(more);
  return status;
}

static rlo_status add_piece(void *payload,
                            const rlo_redistribution_piece *piece) {
  const receiver *r = payload;
  /* Devices take turns to send, which is nothing to one engine: the first copy
   * is read, so that all results are linear in the same inputs. */
  rlo__holder holder = rlo__holding_find(&r->plan->source, piece->peer);
  int64_t sender =
      rlo__holding_device(&r->plan->source, holder.tile, holder.addend, 0);
  rlo_problem_list *list = NULL;
  RLO_TRY(rlo__redistribution_lower_between(r->plan,
                                            sender,
                                            r->call->inputs[sender],
                                            r->device,
                                            r->dst,
                                            piece,
                                            r->problems->count == 0,
                                            &list));
  return add_all(r->problems, (int32_t)sender, list);
}

/* Zeros, with the fill of the layout where there is no element: an array
 * without elements, padded. */
static rlo_status add_zeros(const receiver *r) {
  const int64_t none[] = {0};
  const int64_t one[] = {1};
  rlo_shape nothing;
  rlo_chain *chain = NULL;
  rlo_problem_list *list = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY(rlo__ops_shape_like(r->dst, none, 1, &nothing));
  RLO_TRY(rlo_chain_create(&nothing, &chain));
  RLO_TRY_GOTO(rlo_chain_pad(chain, NULL, one, NULL, NULL));
  RLO_TRY_GOTO(rlo_chain_reshape(chain, NULL, 0));
  RLO_TRY_GOTO(
      rlo_chain_broadcast_in_dim(chain, r->dst->dims, r->dst->rank, NULL));
  RLO_TRY_GOTO(rlo_chain_lower(chain, r->dst, &list));
  status = add_all(r->problems, 0, list);
fail:
  rlo_chain_release(chain);
  return status;
}

static rlo_status lower_shard(const rlo__copy_call *call,
                              int32_t output,
                              const rlo_shape *dst,
                              rlo_problem_list **out_problems) {
  rlo__redistribute decoded;
  receiver r = {.call = call, .device = output, .dst = dst};
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__redistribute_decode(call, &decoded));
  r.plan = decoded.plan;
  r.problems = rlo__alloc(sizeof *r.problems);
  if (r.problems == NULL) {
    status = RLO_OUT_OF_MEMORY;
    goto fail;
  }
  if (rlo__holding_find(&decoded.holding, output).addend == 0) {
    RLO_TRY_GOTO(
        rlo_redistribution_visit_receives(decoded.plan, output, add_piece, &r));
  }
  if (r.problems->count == 0) {
    RLO_TRY_GOTO(add_zeros(&r));
  }
  *out_problems = r.problems;
  r.problems = NULL;
fail:
  rlo_problem_list_release(r.problems);
  rlo__redistribute_deinit(&decoded);
  return status;
}

const rlo__copy_op rlo__op_redistribute = {
    .name = "Redistribute",
    RLO__COPY_INPUTS(1, -1, "shards"),
    RLO__COPY_SPECS(specs),
    .flags = RLO__COPY_STANDS_ALONE,
    .count = count_shards,
    .infer = infer_shard,
    .lower = lower_shard,
};
