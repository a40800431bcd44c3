/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/status.h"
#include "xla/shape_tree.h"

/* Each function builds a new tree and changes no other. */

/* Finishes the tree, or frees the builder on failure. */
static rlo_status conclude(rlo__tree_builder *builder,
                           rlo_status status,
                           rlo_shape_tree **out_tree) {
  if (status == RLO_OK) {
    return rlo__tree_builder_finish(builder, out_tree);
  }
  rlo__tree_builder_deinit(builder);
  return status;
}

rlo_status rlo_shape_tree_make_nil(rlo_shape_tree **out_tree) {
  return rlo_shape_tree_make_tuple(NULL, 0, out_tree);
}

static rlo_status add_tuple(rlo__tree_builder *builder,
                            const rlo_shape_tree *const *elements,
                            int64_t num_elements) {
  RLO_TRY(rlo__tree_builder_open(builder));
  for (int64_t i = 0; i < num_elements; ++i) {
    RLO_TRY(rlo__tree_builder_copy(builder, elements[i], 0));
  }
  rlo__tree_builder_close(builder);
  return RLO_OK;
}

rlo_status rlo_shape_tree_make_tuple(const rlo_shape_tree *const *elements,
                                     int64_t num_elements,
                                     rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE_EACH(elements, num_elements);
  if (num_elements < 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "a tuple cannot have %" PRId64 " elements",
                    num_elements);
  }
  rlo__tree_builder builder;
  RLO_TRY(rlo__tree_builder_begin(&builder));
  return conclude(
      &builder, add_tuple(&builder, elements, num_elements), out_tree);
}

static rlo_status check_tuple(const rlo_shape_tree *tree) {
  if (tree->nodes[0].kind != RLO_SHAPE_KIND_TUPLE) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "the root is no tuple");
  }
  return RLO_OK;
}

/* The elements of the result: [start, limit) of the tuple, the new element, if
 * it is not NULL, and [resume, end) of the tuple. */
typedef struct edit {
  int64_t start, limit;
  const rlo_shape_tree *element;
  int64_t resume, end;
} edit;

static rlo_status add_range(rlo__tree_builder *builder,
                            const rlo_shape_tree *tuple,
                            int64_t start,
                            int64_t limit) {
  for (int64_t i = start; i < limit; ++i) {
    RLO_TRY(
        rlo__tree_builder_copy(builder, tuple, rlo__tree_element(tuple, 0, i)));
  }
  return RLO_OK;
}

static rlo_status add_edited(rlo__tree_builder *builder,
                             const rlo_shape_tree *tuple,
                             const edit *e) {
  RLO_TRY(rlo__tree_builder_open(builder));
  RLO_TRY(add_range(builder, tuple, e->start, e->limit));
  if (e->element != NULL) {
    RLO_TRY(rlo__tree_builder_copy(builder, e->element, 0));
  }
  RLO_TRY(add_range(builder, tuple, e->resume, e->end));
  rlo__tree_builder_close(builder);
  return RLO_OK;
}

static rlo_status make_edited(const rlo_shape_tree *tuple,
                              const edit *e,
                              rlo_shape_tree **out_tree) {
  rlo__tree_builder builder;
  RLO_TRY(rlo__tree_builder_begin(&builder));
  return conclude(&builder, add_edited(&builder, tuple, e), out_tree);
}

rlo_status rlo_shape_tree_append_to_tuple(const rlo_shape_tree *tuple,
                                          const rlo_shape_tree *element,
                                          rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE(tuple, element);
  RLO_TRY(check_tuple(tuple));
  edit e = {.limit = tuple->nodes[0].num_elements, .element = element};
  return make_edited(tuple, &e, out_tree);
}

rlo_status rlo_shape_tree_update_tuple(const rlo_shape_tree *tuple,
                                       int64_t position,
                                       const rlo_shape_tree *element,
                                       rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE(tuple, element);
  RLO_TRY(check_tuple(tuple));
  int64_t count = tuple->nodes[0].num_elements;
  if (position < 0 || position >= count) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "element %" PRId64 " is outside of a tuple with %" PRId64,
                    position,
                    count);
  }
  edit e = {.limit = position,
            .element = element,
            .resume = position + 1,
            .end = count};
  return make_edited(tuple, &e, out_tree);
}

rlo_status rlo_shape_tree_slice_tuple(const rlo_shape_tree *tuple,
                                      int64_t start,
                                      int64_t limit,
                                      rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE(tuple);
  RLO_TRY(check_tuple(tuple));
  int64_t count = tuple->nodes[0].num_elements;
  if (start < 0 || start > limit || limit > count) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "the elements from %" PRId64 " to %" PRId64
                    " are no part of a tuple with %" PRId64,
                    start,
                    limit,
                    count);
  }
  edit e = {.start = start, .limit = limit};
  return make_edited(tuple, &e, out_tree);
}

static rlo_status add_leaves(rlo__tree_builder *builder,
                             const rlo_shape_tree *tree) {
  RLO_TRY(rlo__tree_builder_open(builder));
  for (int32_t n = 0; n < tree->num_nodes; ++n) {
    if (tree->nodes[n].kind != RLO_SHAPE_KIND_TUPLE) {
      RLO_TRY(rlo__tree_builder_copy(builder, tree, n));
    }
  }
  rlo__tree_builder_close(builder);
  return RLO_OK;
}

rlo_status rlo_shape_tree_flatten(const rlo_shape_tree *tree,
                                  rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE(tree);
  rlo__tree_builder builder;
  RLO_TRY(rlo__tree_builder_begin(&builder));
  return conclude(&builder, add_leaves(&builder, tree), out_tree);
}

rlo_status rlo_shape_tree_get_subshape(const rlo_shape_tree *tree,
                                       const int64_t *index,
                                       int32_t count,
                                       rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE(tree);
  RLO_REQUIRE_LIST(index, count);
  int32_t node = 0;
  RLO_TRY(rlo__tree_find(tree, index, count, &node));
  rlo__tree_builder builder;
  RLO_TRY(rlo__tree_builder_begin(&builder));
  return conclude(
      &builder, rlo__tree_builder_copy(&builder, tree, node), out_tree);
}

/* Makes the shape of a node of the new tree. */
typedef rlo_status (*make_array_fn)(const rlo_shape_tree *tree,
                                    int32_t node,
                                    const void *payload,
                                    rlo_shape *out_shape);

/* Copies a tree with other arrays. */
static rlo_status rebuild(const rlo_shape_tree *tree,
                          make_array_fn make,
                          const void *payload,
                          rlo_shape_tree **out_tree) {
  *out_tree = NULL;
  rlo__tree_builder builder;
  RLO_TRY(rlo__tree_builder_begin(&builder));
  rlo_status status = RLO_OK;
  int32_t node = 0;
  for (; node < tree->num_nodes; ++node) {
    const rlo__tree_node *old = &tree->nodes[node];
    /* Close the tuples that end before this node. */
    while (builder.open > old->parent) {
      rlo__tree_builder_close(&builder);
    }
    if (old->kind == RLO_SHAPE_KIND_TUPLE) {
      RLO_TRY_GOTO(rlo__tree_builder_open(&builder));
    } else if (rlo__shape_kind_has_shape(old->kind)) {
      rlo_shape shape;
      RLO_TRY_GOTO(make(tree, node, payload, &shape));
      RLO_TRY_GOTO(rlo_shape_validate_unbounded(&shape));
      RLO_TRY_GOTO(rlo__tree_builder_add(&builder, old->kind, &shape));
    } else {
      RLO_TRY_GOTO(rlo__tree_builder_add(&builder, old->kind, NULL));
    }
  }
  while (builder.open >= 0) {
    rlo__tree_builder_close(&builder);
  }
  return rlo__tree_builder_finish(&builder, out_tree);

fail:
  rlo__tree_builder_deinit(&builder);
  return rlo__tree_prefix(status, tree, node);
}

typedef struct mapping {
  rlo_shape_map_fn map;
  void *payload;
} mapping;

static rlo_status make_mapped(const rlo_shape_tree *tree,
                              int32_t node,
                              const void *payload,
                              rlo_shape *out_shape) {
  const mapping *m = payload;
  rlo_shape shape;
  rlo__tree_get_shape(tree, node, &shape);
  *out_shape = shape;
  return m->map(&shape, out_shape, m->payload);
}

rlo_status rlo_shape_tree_map_arrays(const rlo_shape_tree *tree,
                                     rlo_shape_map_fn map,
                                     void *payload,
                                     rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE(tree, map);
  mapping m = {.map = map, .payload = payload};
  return rebuild(tree, make_mapped, &m, out_tree);
}

static rlo_status make_with_layout_of(const rlo_shape_tree *tree,
                                      int32_t node,
                                      const void *payload,
                                      rlo_shape *out_shape) {
  const rlo_shape_tree *from = payload;
  rlo_shape layouts;
  rlo_shape shape;
  rlo__tree_get_shape(from, node, &layouts);
  rlo__tree_get_shape(tree, node, &shape);
  if (layouts.rank != shape.rank) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "the layout of rank %d is not for an array of rank %d",
                    layouts.rank,
                    shape.rank);
  }
  shape.layout = layouts.layout;
  *out_shape = shape;
  return RLO_OK;
}

rlo_status rlo_shape_tree_copy_layouts(const rlo_shape_tree *from,
                                       const rlo_shape_tree *to,
                                       rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE(from, to);
  int32_t common =
      from->num_nodes < to->num_nodes ? from->num_nodes : to->num_nodes;
  for (int32_t n = 0; n < common; ++n) {
    if (from->nodes[n].kind != to->nodes[n].kind ||
        from->nodes[n].num_elements != to->nodes[n].num_elements) {
      rlo_status status =
          RLO_FAIL(RLO_INVALID_ARGUMENT, "the trees differ in structure here");
      return rlo__tree_prefix(status, to, n);
    }
  }
  /* The structures are equal: node n of one tree is node n of the other. */
  return rebuild(to, make_with_layout_of, from, out_tree);
}
