/* SPDX-License-Identifier: Apache-2.0 */
#include "xla/shape_tree.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "desc/shape_record.h"

/* Begins a function that makes a tree: there is none yet, nor if a parameter is
 * NULL, whose name is `null_name` then. */
static rlo_status begin(const char *null_name, rlo_shape_tree **out_tree) {
  if (out_tree != NULL) {
    *out_tree = NULL;
  }
  return null_name == NULL ? RLO_OK : RLO_FAIL(RLO_INVALID_ARGUMENT, "'%s' is NULL", null_name);
}

/* ----------------------------------------------------------------- lifetime */

static rlo_shape_tree *new_node(rlo_shape_kind kind, size_t more_bytes) {
  rlo_shape_tree *tree = rlo__alloc(sizeof *tree + more_bytes);
  if (tree != NULL) {
    atomic_init(&tree->references, 1);
    tree->kind = kind;
    tree->num_nodes = 1;
    tree->num_leaves = kind != RLO_SHAPE_KIND_TUPLE;
  }
  return tree;
}

rlo_shape_tree *rlo_shape_tree_retain(rlo_shape_tree *tree) {
  if (tree != NULL) {
    atomic_fetch_add_explicit(&tree->references, 1, memory_order_relaxed);
  }
  return tree;
}

void rlo_shape_tree_release(rlo_shape_tree *tree) {
  if (tree == NULL || atomic_fetch_sub_explicit(&tree->references, 1, memory_order_acq_rel) > 1) {
    return;
  }
  for (int32_t i = 0; i < tree->num_elements; ++i) {
    rlo_shape_tree_release(tree->elements[i]);
  }
  rlo__free(tree);
}

/* A tree that only its references count changes. */
static rlo_shape_tree *share(const rlo_shape_tree *tree) {
  return rlo_shape_tree_retain((rlo_shape_tree *)(uintptr_t)tree);
}

/* ------------------------------------------------------------------- leaves */

rlo_status rlo__tree_make_leaf(rlo_shape_kind kind, const rlo_shape *shape,
                               rlo_shape_tree **out_tree) {
  int64_t record[RLO__SHAPE_RECORD_MAX];
  size_t count = shape == NULL ? 0 : rlo__shape_record(shape, record);
  *out_tree = new_node(kind, count * sizeof record[0]);
  RLO_TRY_MEMORY(*out_tree);
  memcpy((*out_tree)->elements, record, count * sizeof record[0]);
  return RLO_OK;
}

void rlo__tree_get_shape(const rlo_shape_tree *leaf, rlo_shape *out_shape) {
  rlo__shape_from_record((const int64_t *)leaf->elements, out_shape);
}

static rlo_status make_from_shape(rlo_shape_kind kind, const rlo_shape *shape,
                                  rlo_shape_tree **out_tree) {
  RLO_TRY(begin(RLO__FIRST_NULL(out_tree, shape), out_tree));
  RLO_TRY(rlo_shape_validate_unbounded(shape));
  return rlo__tree_make_leaf(kind, shape, out_tree);
}

rlo_status rlo_shape_tree_make_array(const rlo_shape *shape, rlo_shape_tree **out_tree) {
  return make_from_shape(RLO_SHAPE_KIND_ARRAY, shape, out_tree);
}

rlo_status rlo_shape_tree_make_buffer(const rlo_shape *shape, rlo_shape_tree **out_tree) {
  return make_from_shape(RLO_SHAPE_KIND_BUFFER, shape, out_tree);
}

rlo_status rlo_shape_tree_make_token(rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  return rlo__tree_make_leaf(RLO_SHAPE_KIND_TOKEN, NULL, out_tree);
}

rlo_status rlo_shape_tree_make_opaque(rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  return rlo__tree_make_leaf(RLO_SHAPE_KIND_OPAQUE, NULL, out_tree);
}

/* ------------------------------------------------------------------- tuples */

rlo_status rlo__tree_check(int64_t num_nodes, int32_t depth) {
  RLO_FAIL_IF(num_nodes > RLO_SHAPE_TREE_MAX_SUBSHAPES, RLO_UNSUPPORTED,
              "%" PRId64 " tuples and leaves in one tree are beyond the limit of %d", num_nodes,
              RLO_SHAPE_TREE_MAX_SUBSHAPES);
  RLO_FAIL_IF(depth > RLO_SHAPE_TREE_MAX_DEPTH, RLO_UNSUPPORTED,
              "%d tuples inside one another are beyond the limit of %d", depth,
              RLO_SHAPE_TREE_MAX_DEPTH);
  return RLO_OK;
}

rlo_status rlo__tree_begin_tuple(int64_t num_elements, rlo_shape_tree **out_tree) {
  RLO_TRY(rlo__tree_check(num_elements + 1, 0));
  *out_tree = new_node(RLO_SHAPE_KIND_TUPLE, (size_t)num_elements * sizeof(rlo_shape_tree *));
  RLO_TRY_MEMORY(*out_tree);
  (*out_tree)->num_elements = (int32_t)num_elements;
  return RLO_OK;
}

static rlo_status count_elements(rlo_shape_tree *tuple) {
  int64_t num_nodes = 1;
  for (int32_t i = 0; i < tuple->num_elements; ++i) {
    const rlo_shape_tree *element = tuple->elements[i];
    num_nodes += element->num_nodes;
    tuple->num_leaves += element->num_leaves;
    tuple->depth = element->depth < tuple->depth ? tuple->depth : element->depth + 1;
  }
  tuple->num_nodes = (int32_t)num_nodes;
  return rlo__tree_check(num_nodes, tuple->depth);
}

rlo_status rlo__tree_finish_tuple(rlo_status status, rlo_shape_tree *tuple,
                                  rlo_shape_tree **out_tree) {
  if (status == RLO_OK) {
    status = count_elements(tuple);
  }
  if (status == RLO_OK) {
    *out_tree = tuple;
  } else {
    rlo_shape_tree_release(tuple);
  }
  return status;
}

rlo_status rlo_shape_tree_make_nil(rlo_shape_tree **out_tree) {
  return rlo_shape_tree_make_tuple(NULL, 0, out_tree);
}

rlo_status rlo_shape_tree_make_tuple(const rlo_shape_tree *const *elements, int64_t num_elements,
                                     rlo_shape_tree **out_tree) {
  RLO_TRY(begin(RLO__FIRST_NULL(out_tree), out_tree));
  RLO_REQUIRE_EACH(elements, num_elements);
  RLO_FAIL_IF(num_elements < 0, RLO_INVALID_ARGUMENT, "a tuple cannot have %" PRId64 " elements",
              num_elements);
  rlo_shape_tree *tuple = NULL;
  RLO_TRY(rlo__tree_begin_tuple(num_elements, &tuple));
  for (int64_t i = 0; i < num_elements; ++i) {
    tuple->elements[i] = share(elements[i]);
  }
  return rlo__tree_finish_tuple(RLO_OK, tuple, out_tree);
}

static rlo_status check_tuple(const rlo_shape_tree *tuple) {
  return tuple->kind == RLO_SHAPE_KIND_TUPLE
             ? RLO_OK
             : RLO_FAIL(RLO_INVALID_ARGUMENT, "the root is no tuple");
}

/* Makes a tuple of the elements from `start` to `limit`, where `element` is
 * number `at`, shared. */
static rlo_status edit(const rlo_shape_tree *tuple, int64_t start, int64_t limit, int64_t at,
                       const rlo_shape_tree *element, rlo_shape_tree **out_tree) {
  rlo_shape_tree *edited = NULL;
  RLO_TRY(rlo__tree_begin_tuple(limit - start, &edited));
  for (int64_t i = start; i < limit; ++i) {
    edited->elements[i - start] = share(i == at ? element : tuple->elements[i]);
  }
  return rlo__tree_finish_tuple(RLO_OK, edited, out_tree);
}

rlo_status rlo_shape_tree_append_to_tuple(const rlo_shape_tree *tuple,
                                          const rlo_shape_tree *element,
                                          rlo_shape_tree **out_tree) {
  RLO_TRY(begin(RLO__FIRST_NULL(out_tree, tuple, element), out_tree));
  RLO_TRY(check_tuple(tuple));
  int64_t count = tuple->num_elements;
  return edit(tuple, 0, count + 1, count, element, out_tree);
}

rlo_status rlo_shape_tree_update_tuple(const rlo_shape_tree *tuple, int64_t position,
                                       const rlo_shape_tree *element, rlo_shape_tree **out_tree) {
  RLO_TRY(begin(RLO__FIRST_NULL(out_tree, tuple, element), out_tree));
  RLO_TRY(check_tuple(tuple));
  RLO_FAIL_IF(position < 0 || position >= tuple->num_elements, RLO_OUT_OF_RANGE,
              "element %" PRId64 " is outside of a tuple with %d", position, tuple->num_elements);
  return edit(tuple, 0, tuple->num_elements, position, element, out_tree);
}

rlo_status rlo_shape_tree_slice_tuple(const rlo_shape_tree *tuple, int64_t start, int64_t limit,
                                      rlo_shape_tree **out_tree) {
  RLO_TRY(begin(RLO__FIRST_NULL(out_tree, tuple), out_tree));
  RLO_TRY(check_tuple(tuple));
  RLO_FAIL_IF(start < 0 || start > limit || limit > tuple->num_elements, RLO_OUT_OF_RANGE,
              "the elements from %" PRId64 " to %" PRId64 " are no part of a tuple with %d", start,
              limit, tuple->num_elements);
  return edit(tuple, start, limit, -1, NULL, out_tree);
}

static void share_leaves(const rlo_shape_tree *tree, rlo_shape_tree ***next) {
  if (tree->kind != RLO_SHAPE_KIND_TUPLE) {
    *(*next)++ = share(tree);
  }
  for (int32_t i = 0; i < tree->num_elements; ++i) {
    share_leaves(tree->elements[i], next);
  }
}

rlo_status rlo_shape_tree_flatten(const rlo_shape_tree *tree, rlo_shape_tree **out_tree) {
  RLO_TRY(begin(RLO__FIRST_NULL(out_tree, tree), out_tree));
  rlo_shape_tree *tuple = NULL;
  RLO_TRY(rlo__tree_begin_tuple(tree->num_leaves, &tuple));
  rlo_shape_tree **next = tuple->elements;
  share_leaves(tree, &next);
  return rlo__tree_finish_tuple(RLO_OK, tuple, out_tree);
}

/* ------------------------------------------------------------------- lookup */

rlo_shape_kind rlo_shape_tree_kind(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(RLO_SHAPE_KIND_OPAQUE, tree);
  return tree->kind;
}

int64_t rlo_shape_tree_tuple_element_count(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(0, tree);
  return tree->num_elements;
}

bool rlo_shape_tree_is_nested_tuple(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(false, tree);
  for (int32_t i = 0; i < tree->num_elements; ++i) {
    if (tree->elements[i]->kind == RLO_SHAPE_KIND_TUPLE) {
      return true;
    }
  }
  return false;
}

bool rlo_shape_tree_is_empty_tuple(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(false, tree);
  return tree->kind == RLO_SHAPE_KIND_TUPLE && tree->num_elements == 0;
}

int64_t rlo_shape_tree_subshape_count(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(0, tree);
  return tree->num_nodes;
}

int64_t rlo_shape_tree_leaf_count(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(0, tree);
  return tree->num_leaves;
}

int32_t rlo_shape_tree_depth(const rlo_shape_tree *tree) {
  RLO_REQUIRE_OR(0, tree);
  return tree->depth;
}

/* Follows a path as far as it goes; *out_steps is `count` if that is all of
 * it. */
static const rlo_shape_tree *follow(const rlo_shape_tree *tree, const int64_t *index, int32_t count,
                                    int32_t *out_steps) {
  int32_t i = 0;
  while (i < count && index[i] >= 0 && index[i] < tree->num_elements) {
    tree = tree->elements[index[i++]];
  }
  *out_steps = i;
  return tree;
}

const char *rlo__shape_kind_name(int32_t kind) {
  static const struct {
    rlo_shape_kind kind;
    const char *name;
  } kinds[] = {
      {RLO_SHAPE_KIND_ARRAY, "an array"},         {RLO_SHAPE_KIND_TUPLE, "a tuple"},
      {RLO_SHAPE_KIND_OPAQUE, "an opaque value"}, {RLO_SHAPE_KIND_TOKEN, "a token"},
      {RLO_SHAPE_KIND_BUFFER, "a buffer"},
  };

  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    if ((int32_t)kinds[k].kind == kind) {
      return kinds[k].name;
    }
  }
  return NULL;
}

static rlo_status find(const rlo_shape_tree *tree, const int64_t *index, int32_t count,
                       const rlo_shape_tree **out_subtree) {
  RLO_FAIL_IF(count < 0, RLO_INVALID_ARGUMENT, "a path of %d entries is no path", count);
  int32_t steps;
  *out_subtree = follow(tree, index, count, &steps);
  if (steps == count) {
    return RLO_OK;
  }
  RLO_FAIL_IF((*out_subtree)->kind == RLO_SHAPE_KIND_TUPLE, RLO_OUT_OF_RANGE,
              "entry %d of the path looks for element %" PRId64 " of a tuple with %d", steps,
              index[steps], (*out_subtree)->num_elements);
  return RLO_FAIL(RLO_OUT_OF_RANGE,
                  "entry %d of the path looks for element %" PRId64 " of %s, which has none", steps,
                  index[steps], rlo__shape_kind_name((int32_t)(*out_subtree)->kind));
}

bool rlo_shape_tree_index_is_valid(const rlo_shape_tree *tree, const int64_t *index,
                                   int32_t count) {
  int32_t steps = -1;
  if (tree != NULL && (index != NULL || count == 0)) {
    (void)follow(tree, index, count, &steps);
  }
  return steps >= 0 && steps == count;
}

bool rlo_shape_tree_is_leaf_index(const rlo_shape_tree *tree, const int64_t *index, int32_t count) {
  int32_t steps;
  return rlo_shape_tree_index_is_valid(tree, index, count) &&
         follow(tree, index, count, &steps)->kind != RLO_SHAPE_KIND_TUPLE;
}

rlo_status rlo_shape_tree_get_subshape(const rlo_shape_tree *tree, const int64_t *index,
                                       int32_t count, rlo_shape_tree **out_tree) {
  RLO_TRY(begin(RLO__FIRST_NULL(out_tree, tree), out_tree));
  RLO_REQUIRE_LIST(index, count);
  const rlo_shape_tree *subtree = NULL;
  RLO_TRY(find(tree, index, count, &subtree));
  *out_tree = share(subtree);
  return RLO_OK;
}

rlo_status rlo__tree_prefix(rlo_status status, const int64_t *path, int32_t count) {
  /* Prints the last entries of a long path. */
  enum { MOST = 8 };

  if (count == 0) {
    return status;
  }
  char text[MOST * 12 + 8];
  rlo__str str = rlo__str_over(text, sizeof text);
  rlo__str_append(&str, count > MOST ? "...," : "");
  for (int32_t i = count > MOST ? count - MOST : 0; i < count; ++i) {
    rlo__str_printf(&str, "%" PRId64 "%s", path[i], i < count - 1 ? "," : "");
  }
  return rlo__status_prefix(status, "subshape {%s}: ", text);
}

rlo_status rlo_shape_tree_get_array(const rlo_shape_tree *tree, const int64_t *index, int32_t count,
                                    rlo_shape *out_shape) {
  RLO_REQUIRE(tree, out_shape);
  RLO_REQUIRE_LIST(index, count);
  const rlo_shape_tree *subtree = NULL;
  RLO_TRY(find(tree, index, count, &subtree));
  if (!rlo__shape_kind_has_shape(subtree->kind)) {
    rlo_status status = RLO_FAIL(RLO_INVALID_ARGUMENT, "%s is no array",
                                 rlo__shape_kind_name((int32_t)subtree->kind));
    return rlo__tree_prefix(status, index, count);
  }
  rlo__tree_get_shape(subtree, out_shape);
  return RLO_OK;
}

/* --------------------------------------------------------- trees by changes */

/* Makes the arrays of a new tree, by a function or with the layouts of another
 * tree. */
typedef struct change {
  rlo_shape_map_fn map;
  void *payload;
  int64_t path[RLO_SHAPE_TREE_MAX_DEPTH];
  /* The shapes of the current leaf: here, so that the recursion takes little
   * stack. */
  rlo_shape old, shape;
} change;

static rlo_status take_layout(change *c, const rlo_shape_tree *from) {
  rlo__tree_get_shape(from, &c->old);
  RLO_FAIL_IF(c->old.rank != c->shape.rank, RLO_INVALID_ARGUMENT,
              "the layout of rank %d is not for an array of rank %d", c->old.rank, c->shape.rank);
  c->shape.layout = c->old.layout;
  return RLO_OK;
}

static rlo_status change_leaf(change *c, const rlo_shape_tree *leaf, const rlo_shape_tree *from,
                              rlo_shape_tree **out_tree) {
  if (!rlo__shape_kind_has_shape(leaf->kind)) {
    *out_tree = share(leaf);
    return RLO_OK;
  }
  rlo__tree_get_shape(leaf, &c->old);
  c->shape = c->old;
  RLO_TRY(from != NULL ? take_layout(c, from) : c->map(&c->old, &c->shape, c->payload));
  RLO_TRY(rlo_shape_validate_unbounded(&c->shape));
  return rlo__tree_make_leaf(leaf->kind, &c->shape, out_tree);
}

/* `from` is the subtree at the same place of another tree, or NULL. A failure
 * says where it is. */
static rlo_status change_tree(change *c, const rlo_shape_tree *tree, const rlo_shape_tree *from,
                              int32_t depth, rlo_shape_tree **out_tree) {
  if (from != NULL && (from->kind != tree->kind || from->num_elements != tree->num_elements)) {
    rlo_status status = RLO_FAIL(RLO_INVALID_ARGUMENT, "the trees differ in structure here");
    return rlo__tree_prefix(status, c->path, depth);
  }
  if (tree->kind != RLO_SHAPE_KIND_TUPLE) {
    rlo_status status = change_leaf(c, tree, from, out_tree);
    return status == RLO_OK ? status : rlo__tree_prefix(status, c->path, depth);
  }
  rlo_shape_tree *tuple = NULL;
  RLO_TRY(rlo__tree_begin_tuple(tree->num_elements, &tuple));
  rlo_status status = RLO_OK;
  for (int32_t i = 0; i < tree->num_elements && status == RLO_OK; ++i) {
    c->path[depth] = i;
    status = change_tree(c, tree->elements[i], from == NULL ? NULL : from->elements[i], depth + 1,
                         &tuple->elements[i]);
  }
  return rlo__tree_finish_tuple(status, tuple, out_tree);
}

rlo_status rlo_shape_tree_map_arrays(const rlo_shape_tree *tree, rlo_shape_map_fn map,
                                     void *payload, rlo_shape_tree **out_tree) {
  RLO_TRY(begin(RLO__FIRST_NULL(out_tree, tree, map), out_tree));
  change c = {.map = map, .payload = payload};
  return change_tree(&c, tree, NULL, 0, out_tree);
}

rlo_status rlo_shape_tree_copy_layouts(const rlo_shape_tree *from, const rlo_shape_tree *to,
                                       rlo_shape_tree **out_tree) {
  RLO_TRY(begin(RLO__FIRST_NULL(out_tree, from, to), out_tree));
  change c = {.map = NULL};
  return change_tree(&c, to, from, 0, out_tree);
}
