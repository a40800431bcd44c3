/* SPDX-License-Identifier: Apache-2.0 */
#include "io/text_parse.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "io/text_layout.h"
#include "relayout/text.h"

/* INT, '<=' INT or '?' */
static rlo_status parse_dim(rlo__text_parser *p, int32_t k) {
  rlo_shape *shape = &p->shape;
  if (rlo__lexer_is_at(p->lexer, "?")) {
    shape->dims[k] = RLO_DIM_UNBOUNDED;
    shape->is_dynamic[k] = true;
    return rlo__lexer_advance(p->lexer);
  }
  if (rlo__lexer_is_at(p->lexer, "<=")) {
    shape->is_dynamic[k] = true;
    RLO_TRY(rlo__lexer_advance(p->lexer));
  }
  return rlo__lexer_read_integer(
      p->lexer, 0, "a dimension >= 0", &shape->dims[k]);
}

/* '[' [dim {',' dim}] ']' */
static rlo_status parse_dims(rlo__text_parser *p) {
  rlo__lexer *lexer = p->lexer;
  RLO_TRY(rlo__lexer_expect(lexer, "["));
  bool is_empty = rlo__lexer_is_at(lexer, "]");
  int32_t rank = 0;
  while (!is_empty && (rank == 0 || !rlo__lexer_is_at(lexer, "]"))) {
    if (rank > 0) {
      if (!rlo__lexer_is_at(lexer, ",")) {
        return rlo__lexer_refuse(lexer, "',' or ']'");
      }
      RLO_TRY(rlo__lexer_advance(lexer));
    }
    if (rank == RLO_MAX_RANK) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "position %zu: a rank above the limit of %d",
                      lexer->token.position,
                      RLO_MAX_RANK);
    }
    RLO_TRY(parse_dim(p, rank));
    ++rank;
  }
  p->shape.rank = rank;
  return rlo__lexer_expect(lexer, "]");
}

static rlo_status parse_one_array(rlo__text_parser *p, const char *expected) {
  RLO_TRY(rlo__lexer_read_dtype(p->lexer, expected, &p->shape.dtype));
  RLO_TRY(parse_dims(p));
  if (rlo__lexer_is_at(p->lexer, "{")) {
    return rlo__text_parse_layout(p, false);
  }
  int32_t rank = p->shape.rank;
  for (int32_t i = 0; i < rank; ++i) {
    p->shape.layout.minor_to_major[i] = rank - 1 - i;
  }
  return RLO_OK;
}

static rlo_status finish_array(rlo__text_parser *p) {
  rlo_shape *shape = &p->shape;
  if (shape->layout.element_size_bits == rlo_dtype_storage_bits(shape->dtype)) {
    shape->layout.element_size_bits = 0;
  }
  return rlo_shape_is_unbounded(shape) ? rlo_shape_validate_unbounded(shape)
                                       : rlo_shape_validate(shape);
}

/* What is a shape, but no array. */
static rlo_status refuse_trees(const rlo__lexer *lexer) {
  static const struct {
    const char *spelling;
    const char *construct;
  } others[] = {
      {"(", "a tuple"},
      {"b", "a buffer"},
      {"token", "a token"},
      {"opaque", "an opaque value"},
      {"opaque_type", "an opaque value"},
  };

  for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
    if (rlo__lexer_is_at(lexer, others[i].spelling)) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "position %zu: %s is not an array, but a tree of shapes",
                      lexer->token.position,
                      others[i].construct);
    }
  }
  return RLO_OK;
}

rlo_status rlo_shape_parse(const char *text,
                           size_t text_bytes,
                           rlo_shape *out_shape) {
  RLO_REQUIRE(out_shape);
  RLO_REQUIRE_LIST(text, text_bytes);
  rlo__lexer lexer;
  rlo__text_parser p;
  memset(&p, 0, sizeof p);
  p.lexer = &lexer;
  RLO_TRY(rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_BYTES));
  RLO_TRY(refuse_trees(&lexer));
  RLO_TRY(parse_one_array(&p, "an element type"));
  RLO_TRY(rlo__lexer_expect_end(&lexer));
  RLO_TRY(finish_array(&p));
  *out_shape = p.shape;
  return RLO_OK;
}

rlo_status rlo_layout_parse(const char *text,
                            size_t text_bytes,
                            rlo_dtype dtype,
                            const int64_t *dims,
                            int32_t rank,
                            rlo_layout *out_layout) {
  RLO_REQUIRE(out_layout);
  RLO_REQUIRE_LIST(text, text_bytes);
  RLO_REQUIRE_LIST(dims, rank);
  rlo__lexer lexer;
  rlo__text_parser p;
  memset(&p, 0, sizeof p);
  p.lexer = &lexer;
  RLO_TRY(rlo_shape_make_dynamic(dtype, dims, NULL, rank, &p.shape));
  RLO_TRY(rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_BYTES));
  RLO_TRY(rlo__text_parse_layout(&p, true));
  RLO_TRY(rlo__lexer_expect_end(&lexer));
  RLO_TRY(finish_array(&p));
  *out_layout = p.shape.layout;
  return RLO_OK;
}

/* Tuples are opened and closed on the builder, not by recursion, so that no
 * text, however deep, can exhaust the stack. */

static rlo_status at_position(rlo_status status, size_t position) {
  return status == RLO_OK
             ? status
             : rlo__status_prefix(status, "position %zu: ", position);
}

static rlo_status parse_array(rlo__lexer *lexer,
                              rlo__tree_builder *builder,
                              rlo_shape_kind kind,
                              const char *expected) {
  size_t position = lexer->token.position;
  rlo__text_parser p;
  memset(&p, 0, sizeof p);
  p.lexer = lexer;
  RLO_TRY(parse_one_array(&p, expected));
  RLO_TRY(at_position(finish_array(&p), position));
  return at_position(rlo__tree_builder_add(builder, kind, &p.shape), position);
}

/* 'token' '[' ']' or 'opaque' '[' ']' */
static rlo_status parse_empty(rlo__lexer *lexer,
                              rlo__tree_builder *builder,
                              rlo_shape_kind kind) {
  size_t position = lexer->token.position;
  RLO_TRY(rlo__lexer_advance(lexer));
  RLO_TRY(rlo__lexer_expect(lexer, "["));
  RLO_TRY(rlo__lexer_expect(lexer, "]"));
  return at_position(rlo__tree_builder_add(builder, kind, NULL), position);
}

static rlo_status parse_leaf(rlo__lexer *lexer, rlo__tree_builder *builder) {
  if (rlo__lexer_is_at(lexer, "token")) {
    return parse_empty(lexer, builder, RLO_SHAPE_KIND_TOKEN);
  }
  if (rlo__lexer_is_at(lexer, "opaque") ||
      rlo__lexer_is_at(lexer, "opaque_type")) {
    return parse_empty(lexer, builder, RLO_SHAPE_KIND_OPAQUE);
  }
  if (rlo__lexer_is_at(lexer, "b")) {
    RLO_TRY(rlo__lexer_advance(lexer));
    RLO_TRY(rlo__lexer_expect(lexer, "("));
    RLO_TRY(parse_array(
        lexer, builder, RLO_SHAPE_KIND_BUFFER, "the array of a buffer"));
    return rlo__lexer_expect(lexer, ")");
  }
  return parse_array(lexer,
                     builder,
                     RLO_SHAPE_KIND_ARRAY,
                     "an element type, token, opaque, b(...) or '('");
}

/* After a shape: close the tuples that end here, up to a ',' or to the last
 * of those that were opened. */
static rlo_status close_tuples(rlo__lexer *lexer,
                               rlo__tree_builder *builder,
                               int32_t *num_open) {
  while (*num_open > 0) {
    if (rlo__lexer_is_at(lexer, ",")) {
      return rlo__lexer_advance(lexer);
    }
    if (!rlo__lexer_is_at(lexer, ")")) {
      return rlo__lexer_refuse(lexer, "',' or ')'");
    }
    RLO_TRY(rlo__lexer_advance(lexer));
    rlo__tree_builder_close(builder);
    --*num_open;
  }
  return RLO_OK;
}

rlo_status rlo__text_parse_subshape(rlo__lexer *lexer,
                                    rlo__tree_builder *builder) {
  int32_t num_open = 0;
  do {
    if (rlo__lexer_is_at(lexer, "(")) {
      RLO_TRY(
          at_position(rlo__tree_builder_open(builder), lexer->token.position));
      RLO_TRY(rlo__lexer_advance(lexer));
      ++num_open;
      if (!rlo__lexer_is_at(lexer, ")")) {
        continue;
      }
      RLO_TRY(rlo__lexer_advance(lexer));
      rlo__tree_builder_close(builder);
      --num_open;
    } else {
      RLO_TRY(parse_leaf(lexer, builder));
    }
    RLO_TRY(close_tuples(lexer, builder, &num_open));
  } while (num_open > 0);
  return RLO_OK;
}

rlo_status rlo__text_parse_tree(rlo__lexer *lexer, rlo_shape_tree **out_tree) {
  rlo__tree_builder builder;
  RLO_TRY(rlo__tree_builder_begin(&builder));
  rlo_status status = rlo__text_parse_subshape(lexer, &builder);
  if (status != RLO_OK) {
    rlo__tree_builder_deinit(&builder);
    return status;
  }
  return rlo__tree_builder_finish(&builder, out_tree);
}

rlo_status rlo_shape_tree_parse(const char *text,
                                size_t text_bytes,
                                rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE_LIST(text, text_bytes);
  rlo__lexer lexer;
  rlo_shape_tree *tree = NULL;
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(
      rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_TREE_BYTES));
  RLO_TRY_GOTO(rlo__text_parse_tree(&lexer, &tree));
  RLO_TRY_GOTO(rlo__lexer_expect_end(&lexer));
  *out_tree = tree;
  return RLO_OK;

fail:
  rlo_shape_tree_release(tree);
  return status;
}

rlo_status rlo_bare_layout_parse(const char *text,
                                 size_t text_bytes,
                                 rlo_bare_layout *out_layout) {
  RLO_REQUIRE(out_layout);
  memset(out_layout, 0, sizeof *out_layout);
  RLO_REQUIRE_LIST(text, text_bytes);
  rlo__lexer lexer;
  rlo__text_parser p;
  rlo_status status = RLO_OK;
  memset(&p, 0, sizeof p);
  p.lexer = &lexer;
  p.is_bare = true;
  p.parse_physical_shape = rlo__text_parse_tree;
  RLO_TRY_GOTO(
      rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_TREE_BYTES));
  RLO_TRY_GOTO(rlo__text_parse_layout(&p, true));
  RLO_TRY_GOTO(rlo__lexer_expect_end(&lexer));
  out_layout->rank = p.shape.rank;
  out_layout->layout = p.shape.layout;
  out_layout->physical_shape = p.physical_shape;
  return RLO_OK;

fail:
  rlo_shape_tree_release(p.physical_shape);
  return status;
}

void rlo_bare_layout_deinit(rlo_bare_layout *layout) {
  if (layout != NULL) {
    rlo_shape_tree_release(layout->physical_shape);
    memset(layout, 0, sizeof *layout);
  }
}

bool rlo_bare_layout_equal(const rlo_bare_layout *a, const rlo_bare_layout *b) {
  RLO_REQUIRE_OR(false, a, b);
  if (a->rank != b->rank ||
      !rlo_layout_equal(&a->layout, &b->layout, a->rank)) {
    return false;
  }
  if (a->physical_shape == NULL || b->physical_shape == NULL) {
    return a->physical_shape == b->physical_shape;
  }
  return rlo_shape_tree_equal(a->physical_shape, b->physical_shape);
}
