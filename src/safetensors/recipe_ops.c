/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a recipe: their texts, and the chains that they make. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "relayout/ops.h"
#include "relayout/sharding.h"
#include "relayout/text.h"
#include "safetensors/recipe.h"

typedef struct op_kind op_kind;

/* An operation as it is read. */
typedef struct operation {
  const rlo__rule *rule;
  const op_kind *kind;
  const char *text;
  /* The text behind its name. */
  const char *arguments;
  /* The values of the kind's fields, one entry after the other. */
  int64_t numbers[RLO_CHAIN_MAX_PARTS + 1];
  int32_t count;
  rlo_dtype dtype;
  /* The part of a split that is made. */
  int32_t part;
} operation;

struct op_kind {
  const char *example;
  /* The characters that its list of numbers may have; NULL: it has no list. */
  const char *characters;
  /* The numbers of each entry of the list, with ':' between them, and all of them. */
  int32_t fields;
  int32_t max_numbers;
  /* The values of two fields that may be left out. */
  int64_t left_out[2];
  /* Changes each array; joins several. NULL: it does not. */
  rlo_status (*append)(const operation *op, rlo_chain *chain);
  rlo_status (*join)(rlo_chain *chain, const rlo_chain *const *others, int32_t count, int32_t dim);
};

/* ------------------------------------------------------------------ chains */

/* Narrows a number; one that is no dimension becomes another that is none. */
static int32_t dimension(int64_t number) {
  return number < -RLO_MAX_RANK || number > RLO_MAX_RANK ? RLO_MAX_RANK : (int32_t)number;
}

static rlo_status append_perm(const operation *op, rlo_chain *chain) {
  int32_t permutation[RLO_MAX_RANK];
  RLO_FAIL_IF(op->count != rlo_chain_shape(chain)->rank, RLO_INVALID_ARGUMENT,
              "%d dimensions, and the array has %d", op->count, rlo_chain_shape(chain)->rank);
  for (int32_t n = 0; n < op->count; ++n) {
    permutation[n] = dimension(op->numbers[n]);
  }
  return rlo_chain_transpose(chain, permutation);
}

static rlo_status append_reshape(const operation *op, rlo_chain *chain) {
  return rlo_chain_reshape(chain, op->numbers, op->count);
}

/* Slices and pads. Dimensions behind the last entry stay whole. */
static rlo_status append_box(const operation *op, rlo_chain *chain) {
  int64_t columns[2][RLO_MAX_RANK];
  const int32_t rank = rlo_chain_shape(chain)->rank;
  RLO_FAIL_IF(op->count > 2 * rank, RLO_INVALID_ARGUMENT, "%d dimensions, and the array has %d",
              op->count / 2, rank);
  for (int32_t n = 0; n < 2 * rank; ++n) {
    columns[n % 2][n / 2] = n < op->count ? op->numbers[n] : op->kind->left_out[n % 2];
  }
  return op->kind->left_out[1] != 0 ? rlo_chain_slice(chain, columns[0], columns[1], NULL)
                                    : rlo_chain_pad(chain, columns[0], columns[1], NULL, NULL);
}

static rlo_status append_split(const operation *op, rlo_chain *chain) {
  int64_t sizes[RLO_CHAIN_MAX_PARTS];
  const int32_t parts = op->rule->num_parts;
  const rlo_shape *shape = rlo_chain_shape(chain);
  const int32_t dim = dimension(op->numbers[0]) + (op->numbers[0] < 0 ? shape->rank : 0);
  RLO_FAIL_IF(op->count == 1 ? dim < 0 || dim >= shape->rank || shape->dims[dim] % parts != 0
                             : op->count != parts + 1,
              RLO_INVALID_ARGUMENT, "this does not make %d parts of dimension %lld", parts,
              (long long)op->numbers[0]);
  for (int32_t n = 0; n < parts; ++n) {
    sizes[n] = op->count == 1 ? shape->dims[dim] / parts : op->numbers[n + 1];
  }
  return rlo_chain_split(chain, sizes, parts, dim, op->part);
}

static bool is_unreduced(const rlo_sharding *sharding) {
  const rlo_sharding_kind kind = rlo_sharding_get_kind(sharding);
  bool is_some = kind == RLO_SHARDING_UNREDUCED;
  rlo_sharding_tiles tiles;
  if (kind == RLO_SHARDING_TILED && rlo_sharding_get_tiles(sharding, &tiles) == RLO_OK) {
    for (int32_t k = 0; k < tiles.num_subgroups; ++k) {
      is_some |= tiles.subgroups[k].kind == RLO_SHARDING_UNREDUCED;
    }
  }
  return is_some;
}

static rlo_status find_box(const rlo_sharding *sharding, const rlo_shape *shape, int64_t device,
                           rlo_box *out_box) {
  RLO_FAIL_IF(is_unreduced(sharding), RLO_UNSUPPORTED,
              "devices hold summands of an unreduced array, and nothing says which");
  const int64_t num_devices = rlo__max(1, rlo_sharding_num_devices(sharding));
  RLO_TRY(rlo_sharding_validate(sharding, shape, num_devices));
  return rlo_sharding_get_box(sharding, shape, device, out_box);
}

static rlo_status append_shard(const operation *op, rlo_chain *chain) {
  rlo_sharding *sharding;
  rlo_box box;
  RLO_TRY(rlo_sharding_parse(op->arguments, RLO_TEXT_TERMINATED, &sharding));
  const rlo_status status = find_box(sharding, rlo_chain_shape(chain), op->rule->device, &box);
  rlo_sharding_release(sharding);
  return status == RLO_OK ? rlo_chain_slice(chain, box.start, box.limit, NULL) : status;
}

/* Numbers, such as positions, would be rounded without a word. */
static rlo_status append_cast(const operation *op, rlo_chain *chain) {
  const rlo_dtype dtype = rlo_chain_shape(chain)->dtype;
  return op->rule->number == 0 && rlo_dtype_is_floating(op->dtype) && !rlo_dtype_is_floating(dtype)
             ? RLO_FAIL(RLO_INVALID_ARGUMENT,
                        "a member of the rest is %s, which is cast to a floating-point type by a "
                        "rule of its own only, or is kept by one",
                        rlo_dtype_name(dtype))
             : rlo_chain_convert(chain, op->dtype);
}

/* Joins each `size` chains that follow one another; the results come first. */
static rlo_status join(const operation *op, rlo_chain **chains, int32_t count, int32_t size) {
  for (int32_t n = 0; n < count; n += size) {
    rlo_chain *first = chains[n];
    RLO_TRY(op->kind->join(first, (const rlo_chain *const *)&chains[n + 1], size - 1,
                           dimension(op->numbers[0])));
    chains[n] = chains[n / size];
    chains[n / size] = first;
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------- texts */

#define DIGITS "-0123456789"

static const op_kind kinds[] = {
    {"perm 1,0", DIGITS ",", 1, RLO_MAX_RANK, {0}, append_perm, NULL},
    {"reshape 2,-1,64", DIGITS ",", 1, RLO_MAX_RANK, {0}, append_reshape, NULL},
    {"concat 0", DIGITS, 1, 1, {0}, NULL, rlo_chain_concatenate},
    {"stack 0", DIGITS, 1, 1, {0}, NULL, rlo_chain_stack},
    {"split 0 512,64,64", DIGITS ", ", 1, RLO_CHAIN_MAX_PARTS + 1, {0}, append_split, NULL},
    {"slice 0:4,2:", DIGITS ",:", 2, 2 * RLO_MAX_RANK, {INT64_MIN, INT64_MAX}, append_box, NULL},
    {"pad 0:3,1:2", DIGITS ",:", 2, 2 * RLO_MAX_RANK, {0}, append_box, NULL},
    {"shard {devices=[2,1]0,1}", NULL, 0, 0, {0}, append_shard, NULL},
    {"cast bf16", NULL, 0, 0, {0}, append_cast, NULL},
    {"layout {0,1}", NULL, 0, 0, {0}, NULL, NULL},
};

static bool is_layout(const op_kind *kind) {
  return kind->append == NULL && kind->join == NULL;
}

/* Reads entries with a comma or a blank between them. */
static bool read_numbers(operation *op) {
  const op_kind *kind = op->kind;
  int32_t field = 0;
  for (const char *at = op->arguments; op->count < kind->max_numbers; ++at) {
    char *end = NULL;
    errno = 0;
    const long long number = strtoll(at, &end, 10);
    if (end == at ? kind->fields == 1 : errno != 0) {
      return false;
    }
    op->numbers[op->count++] = end == at ? kind->left_out[field] : number;
    at = end;
    field = (field + 1) % kind->fields;
    if (field == 0 ? *at != ',' && *at != ' ' : *at != ':') {
      return field == 0 && *at == '\0';
    }
  }
  return false;
}

/* Reads operation n of a rule. */
static rlo_status read_op(const rlo__rule *rule, size_t n, operation *out) {
  const char *text = json_string_value(json_array_get(rule->ops, n));
  const size_t length = text == NULL ? 0 : strcspn(text, " ") + 1;
  const op_kind *kind = kinds;
  const op_kind *last = &kinds[sizeof(kinds) / sizeof(kinds[0]) - 1];
  while (length > 0 && kind < last && strncmp(text, kind->example, length) != 0) {
    ++kind;
  }
  RLO_FAIL_IF(length == 0 || strncmp(text, kind->example, length) != 0, RLO_PARSE,
              "operation '%s' is none of perm, reshape, concat, stack, split, slice, pad, shard, "
              "cast and layout, with arguments",
              length == 0 ? "" : text);
  *out = (operation){.rule = rule, .kind = kind, .text = text, .arguments = text + length};
  const char *arguments = out->arguments;
  return (kind->characters != NULL
              ? arguments[strspn(arguments, kind->characters)] == '\0' && read_numbers(out)
          : kind->append == append_cast ? rlo_dtype_from_name(arguments, &out->dtype) == RLO_OK
                                        : arguments[0] == '{')
             ? RLO_OK
             : RLO_FAIL(RLO_PARSE, "operation '%s' is not right; a right one is \"%s\"", text,
                        kind->example);
}

/* A rule has a join for each thing that it joins, and a split if it has parts. */
static rlo_status check_counts(const rlo__rule *rule, int32_t joins, int32_t splits) {
  const int32_t lists = rule->is_collecting + (rule->num_joined > 1);
  return joins == lists && splits == (rule->num_parts > 1)
             ? RLO_OK
             : RLO_FAIL(RLO_PARSE,
                        "'%s' to '%s' needs %d of concat and stack, and %d of split, and its "
                        "\"ops\" have %d and %d",
                        rule->from.text, rule->to.text, lists, rule->num_parts > 1, joins, splits);
}

/* Reads the operations, and adds to made_by those that move elements. */
static rlo_status read_ops(rlo__rule *rule, rlo__str *made_by) {
  int32_t joins = 0;
  int32_t splits = 0;
  for (size_t n = 0; n < json_array_size(rule->ops); ++n) {
    operation op;
    RLO_TRY(read_op(rule, n, &op));
    joins += op.kind->join != NULL;
    splits += op.kind->append == append_split;
    const bool is_shard = op.kind->append == append_shard;
    const bool is_moving = is_shard || op.kind->characters != NULL;
    RLO_FAIL_IF(
        is_layout(op.kind) ? n + 1 < json_array_size(rule->ops) : is_moving && rule->sharding,
        RLO_PARSE, "a layout is the last operation, and a shard the last but for it and casts");
    if (is_moving) {
      rlo__str_printf(made_by, "%s%s", rule->is_moving ? "; " : "[", op.text);
      rule->is_moving = true;
      rule->sharding = is_shard ? op.arguments : NULL;
    }
  }
  if (rule->sharding != NULL) {
    rlo__str_printf(made_by, "; device %lld", (long long)rule->device);
  }
  return rule->sharding == NULL || rule->device >= 0
             ? check_counts(rule, joins, splits)
             : RLO_FAIL(RLO_INVALID_ARGUMENT, "a shard is the part of a device, and none is given");
}

rlo_status rlo__rule_read_ops(rlo__rule *rule) {
  rlo__str made_by = rlo__str_growing();
  const rlo_status status = read_ops(rule, &made_by);
  if (rlo__rule_has_to(rule)) {
    rlo__str_printf(&made_by, "%s-> %s", rule->is_moving ? " " : "[", rule->to.text);
  }
  rlo__str_append(&made_by, made_by.length == 0 ? "" : "]");
  RLO_TRY(rlo__str_take(&made_by, &rule->made_by));
  return status;
}

/* ------------------------------------------------------------------ results */

/* Runs the operations over the chains of the members, which become one. *out_at is the one
 * that it has come to. */
static rlo_status run(const rlo__rule *rule, const rlo_recipe_result *result, rlo_chain **chains,
                      rlo_shape *out_shape, const char **out_at) {
  const char *layout = NULL;
  int32_t count = result->num_members;
  int32_t size = rule->is_collecting ? count / rule->num_joined : count;
  for (size_t n = 0; n < json_array_size(rule->ops); ++n) {
    operation op;
    RLO_TRY(read_op(rule, n, &op));
    op.part = result->part;
    *out_at = op.text;
    layout = is_layout(op.kind) ? op.arguments : NULL;
    if (op.kind->join != NULL) {
      RLO_TRY(join(&op, chains, count, size));
      count /= size;
      size = count;
    }
    for (int32_t c = 0; c < count && op.kind->append != NULL; ++c) {
      RLO_TRY(op.kind->append(&op, chains[c]));
    }
  }
  *out_shape = *rlo_chain_shape(chains[0]);
  return layout == NULL ? RLO_OK
                        : rlo_layout_parse(layout, RLO_TEXT_TERMINATED, out_shape->dtype,
                                           out_shape->dims, out_shape->rank, &out_shape->layout);
}

rlo_status rlo__result_lower(const rlo__rule *rule, const rlo_recipe_result *result,
                             const rlo_recipe_member *members, const int64_t *begin,
                             const int64_t *end, rlo_shape *out_shape,
                             rlo_problem_list **out_problems) {
  rlo_chain **chains = rlo__alloc_array((size_t)result->num_members, sizeof(*chains));
  rlo_status status = chains == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
  for (int32_t n = 0; n < result->num_members && status == RLO_OK; ++n) {
    status = rlo_chain_create(members[result->members[n]].shape, &chains[n]);
  }
  const char *at = "copy";
  *out_shape = *members[result->members[0]].shape;
  if (status == RLO_OK && !result->is_copy) {
    status = run(rule, result, chains, out_shape, &at);
  }
  if (status == RLO_OK && begin != NULL) {
    status = rlo_chain_slice(chains[0], begin, end, NULL);
    memcpy(out_shape->dims, rlo_chain_shape(chains[0])->dims, sizeof(out_shape->dims));
  }
  if (status == RLO_OK) {
    status = rlo_chain_lower(chains[0], out_shape, out_problems);
  }
  for (int32_t n = 0; chains != NULL && n < result->num_members; ++n) {
    rlo_chain_release(chains[n]);
  }
  rlo__free((void *)chains);
  return status == RLO_OK || status == RLO_OUT_OF_MEMORY
             ? status
             : RLO_FAIL(status, "%s, result '%s', %s: %s", rule->label, result->name, at,
                        rlo_error_last()->message);
}
