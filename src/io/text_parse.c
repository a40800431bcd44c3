/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/status.h"
#include "io/text_lex.h"
#include "relayout/text.h"

/* The state of one parse: the shape in the making, whose type, rank and
 * dimensions are known by the time its layout is read. */
typedef struct parser {
  rlo_lexer lexer;
  rlo_shape shape;
  /* What was written as minor_to_major, and where. */
  int32_t num_minor_to_major;
  size_t minor_to_major_position;
} parser;

static rlo_status unsupported(const parser *p, const char *construct) {
  return RLO_FAIL(RLO_UNSUPPORTED,
                  "position %zu: %s is not supported",
                  p->lexer.token.position,
                  construct);
}

/* An integer that is at least `least`. */
static rlo_status parse_integer(parser *p,
                                int64_t least,
                                const char *expected,
                                int64_t *out_value) {
  const rlo_token *token = &p->lexer.token;
  if (token->kind != RLO_TOKEN_INTEGER || token->value < least) {
    return rlo__lexer_refuse(&p->lexer, expected);
  }
  *out_value = token->value;
  return rlo__lexer_advance(&p->lexer);
}

/* '(' INT ')' */
static rlo_status parse_argument(parser *p,
                                 int64_t least,
                                 const char *expected,
                                 int64_t *out_value) {
  RLO_TRY(rlo__lexer_expect(&p->lexer, "("));
  RLO_TRY(parse_integer(p, least, expected, out_value));
  return rlo__lexer_expect(&p->lexer, ")");
}

/* '(' [INT {',' INT}] ')' with one integer for each dimension. */
static rlo_status parse_per_dimension(parser *p,
                                      int64_t least,
                                      const char *expected,
                                      int64_t *out_values) {
  RLO_TRY(rlo__lexer_expect(&p->lexer, "("));
  for (int32_t k = 0; k < p->shape.rank; ++k) {
    if (k > 0) {
      RLO_TRY(rlo__lexer_expect(&p->lexer, ","));
    }
    RLO_TRY(parse_integer(p, least, expected, &out_values[k]));
  }
  return rlo__lexer_expect(&p->lexer, ")");
}

/* '(' [td {',' td}] ')', td := INT | '*' */
static rlo_status parse_tile(parser *p) {
  size_t position = p->lexer.token.position;
  int64_t dims[RLO_MAX_TILE_RANK];
  int32_t rank = 0;
  RLO_TRY(rlo__lexer_expect(&p->lexer, "("));
  while (rank == 0 || !rlo__lexer_is_at(&p->lexer, ")")) {
    if (rank > 0) {
      if (!rlo__lexer_is_at(&p->lexer, ",")) {
        return rlo__lexer_refuse(&p->lexer, "',' or ')'");
      }
      RLO_TRY(rlo__lexer_advance(&p->lexer));
    }
    if (rank == RLO_MAX_TILE_RANK) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "position %zu: a tile of more than %d dimensions",
                      p->lexer.token.position,
                      RLO_MAX_TILE_RANK);
    }
    if (rlo__lexer_is_at(&p->lexer, "*")) {
      dims[rank++] = RLO_TILE_COMBINE;
      RLO_TRY(rlo__lexer_advance(&p->lexer));
    } else {
      RLO_TRY(parse_integer(p, 1, "a tile dimension >= 1 or '*'", &dims[rank]));
      ++rank;
    }
  }
  RLO_TRY(rlo__lexer_advance(&p->lexer));
  rlo_status status = rlo_layout_add_tile(&p->shape.layout, dims, rank);
  if (status != RLO_OK) {
    return rlo__status_prefix(status, "position %zu: ", position);
  }
  return RLO_OK;
}

static rlo_status parse_tiles(parser *p) {
  do {
    RLO_TRY(parse_tile(p));
  } while (rlo__lexer_is_at(&p->lexer, "("));
  return RLO_OK;
}

static rlo_status parse_tail_alignment(parser *p) {
  return parse_argument(
      p, 1, "an alignment >= 1", &p->shape.layout.tail_alignment_elems);
}

static rlo_status parse_element_size(parser *p) {
  return parse_argument(
      p, 0, "a number of bits >= 0", &p->shape.layout.element_size_bits);
}

static rlo_status parse_memory_space(parser *p) {
  return parse_argument(p,
                        INT64_MIN,
                        "the number of a memory space",
                        &p->shape.layout.memory_space);
}

static rlo_status parse_pad(parser *p) {
  p->shape.layout.has_padded_dimensions = true;
  return parse_per_dimension(
      p, 0, "a padded dimension >= 0", p->shape.layout.padded_dimensions);
}

/* The digits of a HEX token, the last ones into the first bytes. */
static rlo_status parse_fill_bits(parser *p) {
  const rlo_token *token = &p->lexer.token;
  const char *digits = p->lexer.text + token->position + 2;
  size_t count = token->length - 2;
  rlo_layout *layout = &p->shape.layout;
  if (count > 2 * sizeof layout->fill_bits) {
    return rlo__lexer_refuse(&p->lexer, "at most 32 hexadecimal digits");
  }
  for (size_t i = 0; i < count; ++i) {
    char c = digits[count - 1 - i];
    int value = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    layout->fill_bits[i / 2] |= (uint8_t)(value << (i % 2 * 4));
  }
  layout->fill = RLO_FILL_BITS;
  return RLO_OK;
}

static rlo_status parse_fill(parser *p) {
  static const struct {
    const char *word;
    rlo_fill fill;
  } words[] = {
      {"invalid", RLO_FILL_INVALID},
      {"zero", RLO_FILL_ZERO},
      {"one", RLO_FILL_ONE},
      {"lowest", RLO_FILL_LOWEST},
      {"highest", RLO_FILL_HIGHEST},
      {"unknown", RLO_FILL_UNKNOWN},
  };

  RLO_TRY(rlo__lexer_expect(&p->lexer, "("));
  if (p->lexer.token.kind == RLO_TOKEN_HEX) {
    RLO_TRY(parse_fill_bits(p));
  } else {
    size_t count = sizeof words / sizeof words[0];
    size_t i = 0;
    while (i < count && !rlo__lexer_is_at(&p->lexer, words[i].word)) {
      ++i;
    }
    if (i == count) {
      return rlo__lexer_refuse(
          &p->lexer,
          "zero, one, lowest, highest, unknown, invalid or 0x and digits");
    }
    p->shape.layout.fill = words[i].fill;
  }
  RLO_TRY(rlo__lexer_advance(&p->lexer));
  return rlo__lexer_expect(&p->lexer, ")");
}

static rlo_status parse_strides(parser *p) {
  if (p->num_minor_to_major != 0) {
    return RLO_FAIL(RLO_PARSE,
                    "position %zu: expected no minor_to_major before strides, "
                    "found %d entries",
                    p->minor_to_major_position,
                    p->num_minor_to_major);
  }
  p->shape.layout.kind = RLO_LAYOUT_STRIDED;
  return parse_per_dimension(
      p, INT64_MIN, "a stride", p->shape.layout.strides_elems);
}

static rlo_status parse_offset(parser *p) {
  return parse_argument(
      p, INT64_MIN, "an offset", &p->shape.layout.offset_elems);
}

/* What may follow the colon, in its one order. */
static const struct {
  const char *name;
  rlo_status (*parse)(parser *p);
  /* Where parse is NULL: what the name stands for. */
  const char *unsupported;
} properties[] = {
    {"D", NULL, "D(...), the levels of sparse dimensions,"},
    {"T", parse_tiles, NULL},
    {"L", parse_tail_alignment, NULL},
    {"#", NULL, "#(...), an index type,"},
    {"*", NULL, "*(...), a pointer type,"},
    {"E", parse_element_size, NULL},
    {"S", parse_memory_space, NULL},
    {"SC", NULL, "SC(...), a split configuration,"},
    {"P", NULL, "P(...), a physical shape,"},
    {"M", NULL, "M(...), a metadata prefix,"},
    {"pad", parse_pad, NULL},
    {"fill", parse_fill, NULL},
    {"strides", parse_strides, NULL},
    {"offset", parse_offset, NULL},
};

enum { NUM_PROPERTIES = sizeof properties / sizeof properties[0] };

static rlo_status parse_properties(parser *p) {
  int first = 0;
  while (!rlo__lexer_is_at(&p->lexer, "}")) {
    int at = first;
    while (at < NUM_PROPERTIES &&
           !rlo__lexer_is_at(&p->lexer, properties[at].name)) {
      ++at;
    }
    if (at == NUM_PROPERTIES) {
      return rlo__lexer_refuse(
          &p->lexer,
          "'}' or, once and in this order, T L E S pad fill strides offset");
    }
    if (properties[at].parse == NULL) {
      return unsupported(p, properties[at].unsupported);
    }
    if (properties[at].parse == parse_offset &&
        p->shape.layout.kind != RLO_LAYOUT_STRIDED) {
      return rlo__lexer_refuse(&p->lexer, "strides before an offset");
    }
    RLO_TRY(rlo__lexer_advance(&p->lexer));
    RLO_TRY(properties[at].parse(p));
    first = at + 1;
  }
  return RLO_OK;
}

/* [INT {',' INT}] */
static rlo_status parse_minor_to_major(parser *p) {
  int32_t rank = p->shape.rank;
  int32_t count = 0;
  p->minor_to_major_position = p->lexer.token.position;
  while (count == 0 ? p->lexer.token.kind == RLO_TOKEN_INTEGER
                    : rlo__lexer_is_at(&p->lexer, ",")) {
    if (count > 0) {
      RLO_TRY(rlo__lexer_advance(&p->lexer));
    }
    size_t position = p->lexer.token.position;
    int64_t dimension = 0;
    RLO_TRY(
        parse_integer(p, INT64_MIN, "the number of a dimension", &dimension));
    if (count == rank) {
      return RLO_FAIL(RLO_PARSE,
                      "position %zu: expected %d entries of minor_to_major, "
                      "found more",
                      position,
                      rank);
    }
    if (dimension < 0 || dimension >= rank) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "position %zu: minor_to_major[%d]=%lld is out of range "
                      "for rank %d",
                      position,
                      count,
                      (long long)dimension,
                      rank);
    }
    p->shape.layout.minor_to_major[count++] = (int32_t)dimension;
  }
  p->num_minor_to_major = count;
  return RLO_OK;
}

/* '{' minor_to_major [':' properties] '}'
 * As in XLA, "{}" is a layout where it stands alone, but not behind a shape. */
static rlo_status parse_layout(parser *p, bool may_be_bare) {
  memset(&p->shape.layout, 0, sizeof p->shape.layout);
  RLO_TRY(rlo__lexer_expect(&p->lexer, "{"));
  RLO_TRY(parse_minor_to_major(p));
  if (rlo__lexer_is_at(&p->lexer, ":")) {
    RLO_TRY(rlo__lexer_advance(&p->lexer));
    RLO_TRY(parse_properties(p));
  } else if (p->num_minor_to_major == 0 && !may_be_bare) {
    return rlo__lexer_refuse(&p->lexer, "the number of a dimension or ':'");
  } else if (!rlo__lexer_is_at(&p->lexer, "}")) {
    return rlo__lexer_refuse(&p->lexer, "',', ':' or '}'");
  }
  if (p->shape.layout.kind == RLO_LAYOUT_DENSE &&
      p->num_minor_to_major != p->shape.rank) {
    return RLO_FAIL(RLO_PARSE,
                    "position %zu: expected %d entries of minor_to_major, "
                    "found %d",
                    p->minor_to_major_position,
                    p->shape.rank,
                    p->num_minor_to_major);
  }
  return rlo__lexer_expect(&p->lexer, "}");
}

static rlo_status parse_dtype(parser *p) {
  static const struct {
    const char *spelling;
    const char *construct;
  } others[] = {
      {"(", "a tuple"},
      {"b", "a buffer"},
      {"token", "the type token"},
      {"opaque", "the type opaque"},
      {"opaque_type", "the type opaque"},
  };

  for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
    if (rlo__lexer_is_at(&p->lexer, others[i].spelling)) {
      return unsupported(p, others[i].construct);
    }
  }
  const rlo_token *token = &p->lexer.token;
  char name[32] = "";
  if (token->kind == RLO_TOKEN_WORD && token->length < sizeof name) {
    memcpy(name, p->lexer.text + token->position, token->length);
  }
  if (rlo_dtype_from_name(name, &p->shape.dtype) != RLO_OK) {
    return rlo__lexer_refuse(&p->lexer, "an element type");
  }
  return rlo__lexer_advance(&p->lexer);
}

/* '[' [INT {',' INT}] ']' */
static rlo_status parse_dims(parser *p) {
  RLO_TRY(rlo__lexer_expect(&p->lexer, "["));
  bool is_empty = rlo__lexer_is_at(&p->lexer, "]");
  int32_t rank = 0;
  while (!is_empty && (rank == 0 || !rlo__lexer_is_at(&p->lexer, "]"))) {
    if (rank > 0) {
      if (!rlo__lexer_is_at(&p->lexer, ",")) {
        return rlo__lexer_refuse(&p->lexer, "',' or ']'");
      }
      RLO_TRY(rlo__lexer_advance(&p->lexer));
    }
    if (rlo__lexer_is_at(&p->lexer, "<") || rlo__lexer_is_at(&p->lexer, "?")) {
      return unsupported(p, "a dynamic dimension");
    }
    if (rank == RLO_MAX_RANK) {
      return RLO_FAIL(RLO_UNSUPPORTED,
                      "position %zu: a rank above the limit of %d",
                      p->lexer.token.position,
                      RLO_MAX_RANK);
    }
    RLO_TRY(parse_integer(p, 0, "a dimension >= 0", &p->shape.dims[rank]));
    ++rank;
  }
  p->shape.rank = rank;
  return rlo__lexer_expect(&p->lexer, "]");
}

/* After the last token: keep what makes a valid shape, in its one form. */
static rlo_status finish(parser *p, rlo_shape *out_shape) {
  if (p->lexer.token.kind != RLO_TOKEN_END) {
    return rlo__lexer_refuse(&p->lexer, "the end of the text");
  }
  return rlo_shape_make_with_layout(p->shape.dtype,
                                    p->shape.dims,
                                    p->shape.rank,
                                    &p->shape.layout,
                                    out_shape);
}

rlo_status rlo_shape_parse(const char *text,
                           size_t text_bytes,
                           rlo_shape *out_shape) {
  parser p;
  memset(&p, 0, sizeof p);
  RLO_TRY(rlo__lexer_begin(&p.lexer, text, text_bytes));
  RLO_TRY(parse_dtype(&p));
  RLO_TRY(parse_dims(&p));
  p.shape.layout = rlo_layout_row_major(p.shape.rank);
  if (rlo__lexer_is_at(&p.lexer, "{")) {
    RLO_TRY(parse_layout(&p, false));
  }
  return finish(&p, out_shape);
}

rlo_status rlo_layout_parse(const char *text,
                            size_t text_bytes,
                            rlo_dtype dtype,
                            const int64_t *dims,
                            int32_t rank,
                            rlo_layout *out_layout) {
  parser p;
  memset(&p, 0, sizeof p);
  RLO_TRY(rlo_shape_make(dtype, dims, rank, &p.shape));
  RLO_TRY(rlo__lexer_begin(&p.lexer, text, text_bytes));
  RLO_TRY(parse_layout(&p, true));
  rlo_shape shape;
  RLO_TRY(finish(&p, &shape));
  *out_layout = shape.layout;
  return RLO_OK;
}
