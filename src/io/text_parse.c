/* SPDX-License-Identifier: Apache-2.0 */
#include "io/text_parse.h"

#include <string.h>

#include "base/status.h"
#include "relayout/text.h"

rlo_status rlo__text_parse_integer(rlo__lexer *lexer,
                                   int64_t least,
                                   const char *expected,
                                   int64_t *out_value) {
  const rlo__token *token = &lexer->token;
  if (token->kind != RLO__TOKEN_INTEGER || token->value < least) {
    return rlo__lexer_refuse(lexer, expected);
  }
  *out_value = token->value;
  return rlo__lexer_advance(lexer);
}

rlo_status rlo__text_parse_dtype(rlo__lexer *lexer,
                                 const char *expected,
                                 rlo_dtype *out_dtype) {
  const rlo__token *token = &lexer->token;
  char name[32] = "";
  if (token->kind == RLO__TOKEN_WORD && token->length < sizeof name) {
    memcpy(name, lexer->text + token->position, token->length);
  }
  if (rlo_dtype_from_name(name, out_dtype) != RLO_OK) {
    return rlo__lexer_refuse(lexer, expected);
  }
  return rlo__lexer_advance(lexer);
}

rlo_status rlo__text_expect_end(const rlo__lexer *lexer) {
  if (lexer->token.kind != RLO__TOKEN_END) {
    return rlo__lexer_refuse(lexer, "the end of the text");
  }
  return RLO_OK;
}

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
  return rlo__text_parse_integer(
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

rlo_status rlo__text_parse_array(rlo__text_parser *p, const char *expected) {
  RLO_TRY(rlo__text_parse_dtype(p->lexer, expected, &p->shape.dtype));
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

rlo_status rlo__text_finish_array(rlo__text_parser *p) {
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
                      "position %zu: %s is not an array; "
                      "rlo_shape_tree_parse reads it",
                      lexer->token.position,
                      others[i].construct);
    }
  }
  return RLO_OK;
}

rlo_status rlo_shape_parse(const char *text,
                           size_t text_bytes,
                           rlo_shape *out_shape) {
  rlo__lexer lexer;
  rlo__text_parser p;
  memset(&p, 0, sizeof p);
  p.lexer = &lexer;
  RLO_TRY(rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_BYTES));
  RLO_TRY(refuse_trees(&lexer));
  RLO_TRY(rlo__text_parse_array(&p, "an element type"));
  RLO_TRY(rlo__text_expect_end(&lexer));
  RLO_TRY(rlo__text_finish_array(&p));
  *out_shape = p.shape;
  return RLO_OK;
}

rlo_status rlo_layout_parse(const char *text,
                            size_t text_bytes,
                            rlo_dtype dtype,
                            const int64_t *dims,
                            int32_t rank,
                            rlo_layout *out_layout) {
  rlo__lexer lexer;
  rlo__text_parser p;
  memset(&p, 0, sizeof p);
  p.lexer = &lexer;
  RLO_TRY(rlo_shape_make_dynamic(dtype, dims, NULL, rank, &p.shape));
  RLO_TRY(rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_BYTES));
  RLO_TRY(rlo__text_parse_layout(&p, true));
  RLO_TRY(rlo__text_expect_end(&lexer));
  RLO_TRY(rlo__text_finish_array(&p));
  *out_layout = p.shape.layout;
  return RLO_OK;
}
