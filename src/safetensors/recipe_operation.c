/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a recipe: their texts, and the chains that they make. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "safetensors/recipe.h"

/* In the order of rlo__recipe_op_kind. Fields are the numbers of each entry of
 * a list. */
static const struct {
  const char *name, *example;
  int32_t fields;
} ops[] = {
    {"perm", "perm 1,0", 1},   {"reshape", "reshape 2,-1,64", 1}, {"concat", "concat 0", 1},
    {"stack", "stack 0", 1},   {"split", "split 0", 1},           {"slice", "slice 0:4,::2", 3},
    {"pad", "pad 0:3,1:2", 2}, {"cast", "cast bf16", 0},          {"layout", "layout {0,1}", 0},
};

enum { NUM_OPS = sizeof(ops) / sizeof(ops[0]) };

/* Sets what an entry of a slice leaves out; *is_right if its fields are enough. */
static void complete(rlo__recipe_op *op, int32_t fields, int32_t field, bool *is_right) {
  *is_right = field == fields;
  if (fields != 3) {
    return;
  }
  int64_t *entry = &op->numbers[op->count - field];
  op->count += field == 2;
  *is_right = field >= 2;
  if (entry[2] < 0) {
    entry[0] = entry[0] == INT64_MIN ? INT64_MAX : entry[0];
    entry[1] = entry[1] == INT64_MAX ? INT64_MIN : entry[1];
  }
}

/* Reads entries with a comma or a blank between them, their fields with colons. A field
 * of a slice may be empty. */
static rlo_status read_list(int32_t fields, rlo__recipe_op *op, bool *is_right) {
  static const int64_t empty[] = {INT64_MIN, INT64_MAX, 1};
  const char *at = op->arguments;
  size_t capacity = 0;
  int32_t field = 0;
  for (*is_right = true; *is_right;) {
    const size_t length = strspn(at, "-0123456789");
    char *end = NULL;
    errno = 0;
    const int64_t number = strtoll(at, &end, 10);
    *is_right = length == 0 ? fields == 3 : errno == 0 && end == at + length;
    RLO_TRY(
        rlo__array_reserve(&op->numbers, sizeof(*op->numbers), (size_t)op->count + 3, &capacity));
    op->numbers[op->count++] = length == 0 ? empty[field] : number;
    op->numbers[op->count] = empty[2];
    ++field;
    at += length;
    if (*at == ':' && field < fields) {
      ++at;
      continue;
    }
    if (*is_right) {
      complete(op, fields, field, is_right);
    }
    field = 0;
    if (*at == '\0' || op->count > 3 * RLO_CHAIN_MAX_PARTS) {
      return RLO_OK;
    }
    *is_right &= *at == ',' || (*at == ' ' && op->kind == RLO__RECIPE_SPLIT && op->count == 1);
    ++at;
  }
  return RLO_OK;
}

static rlo_status read_arguments(rlo__recipe_op *op, bool *is_right) {
  const bool has_dim = op->kind == RLO__RECIPE_CONCAT || op->kind == RLO__RECIPE_STACK;
  if (op->kind == RLO__RECIPE_CAST) {
    *is_right = rlo_dtype_from_name(op->arguments, &op->dtype) == RLO_OK;
    return RLO_OK;
  }
  if (op->kind == RLO__RECIPE_LAYOUT) {
    *is_right = op->arguments[0] == '{';
    return RLO_OK;
  }
  RLO_TRY(read_list(ops[op->kind].fields, op, is_right));
  if (has_dim || op->kind == RLO__RECIPE_SPLIT) {
    *is_right &= op->numbers[0] >= -RLO_MAX_RANK && op->numbers[0] < RLO_MAX_RANK &&
                 (!has_dim || op->count == 1);
    op->dim = (int32_t)(*is_right ? op->numbers[0] : 0);
  }
  *is_right &= op->count <= 3 * RLO_CHAIN_MAX_PARTS;
  return RLO_OK;
}

rlo_status rlo__recipe_op_parse(const char *text, rlo__recipe_op *out_op) {
  *out_op = (rlo__recipe_op){.text = rlo__alloc_string(text)};
  if (out_op->text == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  const size_t length = strcspn(text, " ");
  int32_t kind = 0;
  while (kind < NUM_OPS &&
         (strncmp(text, ops[kind].name, length) != 0 || ops[kind].name[length] != '\0')) {
    ++kind;
  }
  if (kind == NUM_OPS) {
    return RLO_FAIL(RLO_PARSE,
                    "operation '%s' is none of perm, reshape, concat, stack, split, slice, pad, "
                    "cast and layout; a right one is \"perm 1,0\"",
                    text);
  }
  out_op->kind = (rlo__recipe_op_kind)kind;
  out_op->arguments = out_op->text + length + (text[length] == ' ');
  bool is_right = false;
  RLO_TRY(read_arguments(out_op, &is_right));
  return is_right ? RLO_OK
                  : RLO_FAIL(RLO_PARSE, "operation '%s' is not right; a right one is \"%s\"", text,
                             ops[kind].example);
}

void rlo__recipe_op_deinit(rlo__recipe_op *op) {
  rlo__free(op->text);
  rlo__free(op->numbers);
}

/* ------------------------------------------------------------------- chains */

static rlo_status append_perm(const rlo__recipe_op *op, rlo_chain *chain) {
  const int32_t rank = rlo_chain_shape(chain)->rank;
  int32_t permutation[RLO_MAX_RANK];
  if (op->count != rank) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "it has %d dimensions, and the array %d", op->count,
                    rank);
  }
  for (int32_t n = 0; n < rank; ++n) {
    /* What is no dimension stays none. */
    permutation[n] =
        op->numbers[n] < 0 || op->numbers[n] >= rank ? RLO_MAX_RANK : (int32_t)op->numbers[n];
  }
  return rlo_chain_transpose(chain, permutation);
}

/* Slices and pads: numbers of each dimension; those behind the last one stay whole. */
static rlo_status append_box(const rlo__recipe_op *op, rlo_chain *chain) {
  const int32_t fields = ops[op->kind].fields;
  const int32_t rank = rlo_chain_shape(chain)->rank;
  const bool is_slice = op->kind == RLO__RECIPE_SLICE;
  int64_t first[RLO_MAX_RANK];
  int64_t second[RLO_MAX_RANK];
  int64_t strides[RLO_MAX_RANK];
  if (op->count / fields > rank) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "it has %d dimensions, and the array %d",
                    op->count / fields, rank);
  }
  for (int32_t n = 0; n < rank; ++n) {
    const int64_t *entry = n < op->count / fields ? &op->numbers[n * fields] : NULL;
    first[n] = entry != NULL ? entry[0] : is_slice ? INT64_MIN : 0;
    second[n] = entry != NULL ? entry[1] : is_slice ? INT64_MAX : 0;
    strides[n] = entry != NULL && is_slice ? entry[2] : 1;
  }
  return is_slice ? rlo_chain_slice(chain, first, second, strides)
                  : rlo_chain_pad(chain, first, second, NULL, NULL);
}

static rlo_status append_split(const rlo__recipe_op *op, int32_t part, int32_t num_parts,
                               rlo_chain *chain) {
  const rlo_shape *shape = rlo_chain_shape(chain);
  const int32_t dim = op->dim < 0 ? op->dim + shape->rank : op->dim;
  if (op->count > 1) {
    return rlo_chain_split(chain, op->numbers + 1, op->count - 1, dim, part);
  }
  if (dim < 0 || dim >= shape->rank || shape->dims[dim] % num_parts != 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "dimension %d does not have %d equal parts", op->dim,
                    num_parts);
  }
  int64_t sizes[RLO_CHAIN_MAX_PARTS];
  for (int32_t n = 0; n < num_parts; ++n) {
    sizes[n] = shape->dims[dim] / num_parts;
  }
  return rlo_chain_split(chain, sizes, num_parts, dim, part);
}

static rlo_status append(const rlo__recipe_op *op, int32_t part, int32_t num_parts,
                         rlo_chain *chain) {
  switch (op->kind) {
    case RLO__RECIPE_PERM:
      return append_perm(op, chain);
    case RLO__RECIPE_RESHAPE:
      return rlo_chain_reshape(chain, op->numbers, op->count);
    case RLO__RECIPE_SLICE:
    case RLO__RECIPE_PAD:
      return append_box(op, chain);
    case RLO__RECIPE_SPLIT:
      return append_split(op, part, num_parts, chain);
    case RLO__RECIPE_CAST:
      return rlo_chain_convert(chain, op->dtype);
    default:
      /* Layouts and joins are no operation on one array. */
      return RLO_OK;
  }
}

/* Joins each `size` chains that follow one another; the first holds the result. */
static rlo_status join(const rlo__recipe_op *op, rlo_chain **chains, int32_t count, int32_t size) {
  for (int32_t n = 0; n < count; n += size) {
    const rlo_shape *shape = rlo_chain_shape(chains[n]);
    const rlo_chain *const *others = (const rlo_chain *const *)&chains[n + 1];
    /* -1 is the last dimension of the result. */
    const int32_t dim =
        op->kind == RLO__RECIPE_CONCAT && op->dim < 0 ? op->dim + shape->rank : op->dim;
    RLO_TRY(op->kind == RLO__RECIPE_CONCAT ? rlo_chain_concatenate(chains[n], others, size - 1, dim)
                                           : rlo_chain_stack(chains[n], others, size - 1, dim));
  }
  for (int32_t n = 0; n < count / size; ++n) {
    rlo_chain *whole = chains[n * size];
    chains[n * size] = chains[n];
    chains[n] = whole;
  }
  return RLO_OK;
}

/* Runs the operations over the chains of the members, which become one. */
static rlo_status run(const rlo__rule *rule, const rlo__result *result, rlo_chain **chains,
                      const char **out_op) {
  int32_t count = result->public_part.num_members;
  bool is_collected = !rule->is_collecting;
  for (int32_t n = 0; n < rule->num_ops; ++n) {
    const rlo__recipe_op *op = &rule->ops[n];
    *out_op = op->text;
    if (op->kind == RLO__RECIPE_CONCAT || op->kind == RLO__RECIPE_STACK) {
      const int32_t size =
          is_collected ? count : count / (rule->is_grouping ? rule->from.num_choices : 1);
      RLO_TRY(join(op, chains, count, size));
      is_collected = true;
      count /= size;
      continue;
    }
    for (int32_t c = 0; c < count; ++c) {
      RLO_TRY(append(op, result->part, rule->num_parts, chains[c]));
    }
  }
  return RLO_OK;
}

/* The shape of a result: that of its chain, with the layout of the last operation; of
 * a copy the member's. */
static rlo_status find_shape(const rlo__rule *rule, const rlo_chain *chain, const rlo_shape *member,
                             rlo_shape *out_shape) {
  *out_shape = *rlo_chain_shape(chain);
  if (rule == NULL) {
    *out_shape = *member;
  } else if (rule->num_ops > 0 && rule->ops[rule->num_ops - 1].kind == RLO__RECIPE_LAYOUT) {
    return rlo_layout_parse(rule->ops[rule->num_ops - 1].arguments, RLO_TEXT_TERMINATED,
                            out_shape->dtype, out_shape->dims, out_shape->rank, &out_shape->layout);
  }
  return RLO_OK;
}

static rlo_status lower(const rlo__rule *rule, const rlo__result *result,
                        const rlo_recipe_member *members, rlo_chain **chains, const char **out_op,
                        rlo_shape *out_shape, rlo_problem_list **out_problems) {
  const rlo_recipe_result *made = &result->public_part;
  for (int32_t n = 0; n < made->num_members; ++n) {
    RLO_TRY(rlo_chain_create(members[made->members[n]].shape, &chains[n]));
  }
  if (rule != NULL) {
    RLO_TRY(run(rule, result, chains, out_op));
  }
  RLO_TRY(find_shape(rule, chains[0], members[made->members[0]].shape, out_shape));
  return rlo_chain_lower(chains[0], out_shape, out_problems);
}

rlo_status rlo__result_lower(const rlo__rule *rule, const rlo__result *result,
                             const rlo_recipe_member *members, rlo_shape *out_shape,
                             rlo_problem_list **out_problems) {
  const rlo_recipe_result *made = &result->public_part;
  const char *op = "";
  rlo_chain *few[8];
  rlo_chain **chains = RLO__SMALL_ARRAY(few, (size_t)made->num_members);
  if (chains == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = lower(rule, result, members, chains, &op, out_shape, out_problems);
  for (int32_t n = 0; n < made->num_members; ++n) {
    rlo_chain_release(chains[n]);
  }
  rlo__small_array_free(chains, few);
  if (status != RLO_OK && status != RLO_OUT_OF_MEMORY) {
    status = RLO_FAIL(status, "rule %d, result '%s'%s%s%s: %s", made->rule, made->name,
                      op[0] != '\0' ? ", operation '" : "", op, op[0] != '\0' ? "'" : "",
                      rlo_error_last()->message);
  }
  return status;
}
