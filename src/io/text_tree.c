/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "io/text_parse.h"
#include "relayout/text.h"

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
  RLO_TRY(rlo__text_parse_array(&p, expected));
  RLO_TRY(at_position(rlo__text_finish_array(&p), position));
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
  rlo__lexer lexer;
  rlo_shape_tree *tree = NULL;
  rlo_status status = RLO_OK;
  *out_tree = NULL;
  RLO_TRY_GOTO(
      rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_TREE_BYTES));
  RLO_TRY_GOTO(rlo__text_parse_tree(&lexer, &tree));
  RLO_TRY_GOTO(rlo__text_expect_end(&lexer));
  *out_tree = tree;
  return RLO_OK;

fail:
  rlo_shape_tree_release(tree);
  return status;
}

rlo_status rlo_bare_layout_parse(const char *text,
                                 size_t text_bytes,
                                 rlo_bare_layout *out_layout) {
  rlo__lexer lexer;
  rlo__text_parser p;
  rlo_status status = RLO_OK;
  memset(&p, 0, sizeof p);
  p.lexer = &lexer;
  p.is_bare = true;
  RLO_TRY_GOTO(
      rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_TREE_BYTES));
  RLO_TRY_GOTO(rlo__text_parse_layout(&p, true));
  RLO_TRY_GOTO(rlo__text_expect_end(&lexer));
  out_layout->rank = p.shape.rank;
  out_layout->layout = p.shape.layout;
  out_layout->physical_shape = p.physical_shape;
  return RLO_OK;

fail:
  rlo_shape_tree_release(p.physical_shape);
  memset(out_layout, 0, sizeof *out_layout);
  return status;
}

void rlo_bare_layout_deinit(rlo_bare_layout *layout) {
  if (layout != NULL) {
    rlo_shape_tree_release(layout->physical_shape);
    memset(layout, 0, sizeof *layout);
  }
}

bool rlo_bare_layout_equal(const rlo_bare_layout *a, const rlo_bare_layout *b) {
  if (a->rank != b->rank ||
      !rlo_layout_equal(&a->layout, &b->layout, a->rank)) {
    return false;
  }
  if (a->physical_shape == NULL || b->physical_shape == NULL) {
    return a->physical_shape == b->physical_shape;
  }
  return rlo_shape_tree_equal(a->physical_shape, b->physical_shape);
}
