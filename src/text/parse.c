/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "relayout/text.h"
#include "text/array.h"

/* INT, '<=' INT or '?' */
static rlo_status parse_dim(rlo__lexer *lexer, void *payload) {
  rlo_shape *shape = payload;
  RLO_FAIL_IF(shape->rank == RLO_MAX_RANK, RLO_UNSUPPORTED,
              "position %zu: a rank above the limit of %d", lexer->token.position, RLO_MAX_RANK);
  const int32_t k = shape->rank++;
  if (rlo__lexer_is_at(lexer, "?")) {
    shape->dims[k] = RLO_DIM_UNBOUNDED;
    shape->is_dynamic[k] = true;
    return rlo__lexer_advance(lexer);
  }
  if (rlo__lexer_is_at(lexer, "<=")) {
    shape->is_dynamic[k] = true;
    RLO_TRY(rlo__lexer_advance(lexer));
  }
  return rlo__lexer_read_integer(lexer, 0, "a dimension >= 0", &shape->dims[k]);
}

rlo_status rlo__text_parse_array(rlo__text_parser *p, const char *expected) {
  RLO_TRY(rlo__lexer_read_dtype(p->lexer, expected, &p->shape.dtype));
  RLO_TRY(rlo__lexer_read_list(p->lexer, "[]", parse_dim, &p->shape));
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

/* Refuses shapes that are no arrays. */
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
    RLO_FAIL_IF(rlo__lexer_is_at(lexer, others[i].spelling), RLO_UNSUPPORTED,
                "position %zu: %s is not an array, but a tree of shapes", lexer->token.position,
                others[i].construct);
  }
  return RLO_OK;
}

rlo_status rlo_shape_parse(const char *text, size_t text_bytes, rlo_shape *out_shape) {
  RLO_REQUIRE(out_shape);
  RLO_REQUIRE_LIST(text, text_bytes);
  rlo__lexer lexer;
  rlo__text_parser p = {.lexer = &lexer};
  RLO_TRY(rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_BYTES));
  RLO_TRY(refuse_trees(&lexer));
  RLO_TRY(rlo__text_parse_array(&p, "an element type"));
  RLO_TRY(rlo__lexer_expect_end(&lexer));
  RLO_TRY(rlo__text_finish_array(&p));
  *out_shape = p.shape;
  return RLO_OK;
}

rlo_status rlo_layout_parse(const char *text, size_t text_bytes, rlo_dtype dtype,
                            const int64_t *dims, int32_t rank, rlo_layout *out_layout) {
  RLO_REQUIRE(out_layout);
  RLO_REQUIRE_LIST(text, text_bytes);
  RLO_REQUIRE_LIST(dims, rank);
  rlo__lexer lexer;
  rlo__text_parser p = {.lexer = &lexer};
  RLO_TRY(rlo_shape_make_dynamic(dtype, dims, NULL, rank, &p.shape));
  RLO_TRY(rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_BYTES));
  RLO_TRY(rlo__text_parse_layout(&p, true));
  RLO_TRY(rlo__lexer_expect_end(&lexer));
  RLO_TRY(rlo__text_finish_array(&p));
  *out_layout = p.shape.layout;
  return RLO_OK;
}
