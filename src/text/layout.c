/* SPDX-License-Identifier: Apache-2.0 */
#include "text/layout.h"

#include <string.h>

#include "base/status.h"
#include "relayout/permutation.h"

/* '(' INT ')' */
static rlo_status parse_argument(rlo__text_parser *p, int64_t min, const char *expected,
                                 int64_t *out_value) {
  RLO_TRY(rlo__lexer_expect(p->lexer, "("));
  RLO_TRY(rlo__lexer_read_integer(p->lexer, min, expected, out_value));
  return rlo__lexer_expect(p->lexer, ")");
}

/* '(' [INT {',' INT}] ')' with one integer for each dimension; `name` is that
 * of the property. */
static rlo_status parse_per_dimension(rlo__text_parser *p, int64_t min, const char *expected,
                                      const char *name, int64_t *out_values) {
  rlo__lexer *lexer = p->lexer;
  int32_t count = 0;
  size_t position = lexer->token.position;
  RLO_TRY(rlo__lexer_expect(lexer, "("));
  while (count == 0 ? !rlo__lexer_is_at(lexer, ")") : rlo__lexer_is_at(lexer, ",")) {
    if (count > 0) {
      RLO_TRY(rlo__lexer_advance(lexer));
    }
    RLO_FAIL_IF(count == p->shape.rank, RLO_PARSE,
                "position %zu: expected %d entries of %s, one for each dimension, found more",
                lexer->token.position, count, name);
    RLO_TRY(rlo__lexer_read_integer(lexer, min, expected, &out_values[count]));
    ++count;
  }
  if (!rlo__lexer_is_at(lexer, ")")) {
    return rlo__lexer_refuse(lexer, "',' or ')'");
  }
  RLO_FAIL_IF(count < p->shape.rank, RLO_PARSE,
              "position %zu: expected %d entries of %s, one for each dimension, found %d", position,
              p->shape.rank, name, count);
  return rlo__lexer_advance(lexer);
}

/* '(' [td {',' td}] ')', td := INT | '*' */
static rlo_status parse_tile(rlo__text_parser *p) {
  size_t position = p->lexer->token.position;
  int64_t dims[RLO_MAX_TILE_RANK];
  int32_t rank = 0;
  RLO_TRY(rlo__lexer_expect(p->lexer, "("));
  while (rank == 0 || !rlo__lexer_is_at(p->lexer, ")")) {
    if (rank > 0) {
      if (!rlo__lexer_is_at(p->lexer, ",")) {
        return rlo__lexer_refuse(p->lexer, "',' or ')'");
      }
      RLO_TRY(rlo__lexer_advance(p->lexer));
    }
    RLO_FAIL_IF(rank == RLO_MAX_TILE_RANK, RLO_UNSUPPORTED,
                "position %zu: a tile of more than %d dimensions", p->lexer->token.position,
                RLO_MAX_TILE_RANK);
    dims[rank] = RLO_TILE_COMBINE;
    RLO_TRY(
        rlo__lexer_is_at(p->lexer, "*")
            ? rlo__lexer_advance(p->lexer)
            : rlo__lexer_read_integer(p->lexer, 1, "a tile dimension >= 1 or '*'", &dims[rank]));
    ++rank;
  }
  RLO_TRY(rlo__lexer_advance(p->lexer));
  return rlo__status_prefix(rlo_layout_add_tile(&p->shape.layout, dims, rank),
                            "position %zu: ", position);
}

static rlo_status parse_tiles(rlo__text_parser *p) {
  do {
    RLO_TRY(parse_tile(p));
  } while (rlo__lexer_is_at(p->lexer, "("));
  return RLO_OK;
}

static rlo_status parse_tail_alignment(rlo__text_parser *p) {
  return parse_argument(p, 1, "an alignment >= 1", &p->shape.layout.tail_alignment_elems);
}

static rlo_status parse_element_size(rlo__text_parser *p) {
  return parse_argument(p, 0, "a number of bits >= 0", &p->shape.layout.element_size_bits);
}

static rlo_status parse_memory_space(rlo__text_parser *p) {
  return parse_argument(p, INT64_MIN, "the number of a memory space",
                        &p->shape.layout.memory_space);
}

static rlo_status parse_pad(rlo__text_parser *p) {
  p->shape.layout.has_padded_dimensions = true;
  return parse_per_dimension(p, 0, "a padded dimension >= 0", "pad",
                             p->shape.layout.padded_dimensions);
}

/* The digits of a HEX token, the last ones into the first bytes. */
static rlo_status parse_fill_bits(rlo__text_parser *p) {
  const rlo__token *token = &p->lexer->token;
  const char *digits = p->lexer->text + token->position + 2;
  size_t count = token->length - 2;
  rlo_layout *layout = &p->shape.layout;
  if (count > 2 * sizeof layout->fill_bits) {
    return rlo__lexer_refuse(p->lexer, "at most 32 hexadecimal digits");
  }
  for (size_t i = 0; i < count; ++i) {
    char c = digits[count - 1 - i];
    int value = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    layout->fill_bits[i / 2] |= (uint8_t)(value << (i % 2 * 4));
  }
  layout->fill = RLO_FILL_BITS;
  return RLO_OK;
}

static const char *const fill_words[] = {
    [RLO_FILL_INVALID] = "invalid", [RLO_FILL_ZERO] = "zero",       [RLO_FILL_ONE] = "one",
    [RLO_FILL_LOWEST] = "lowest",   [RLO_FILL_HIGHEST] = "highest", [RLO_FILL_UNKNOWN] = "unknown",
};

enum { NUM_FILL_WORDS = sizeof fill_words / sizeof fill_words[0] };

const char *rlo__text_fill_word(rlo_fill fill) {
  return (unsigned)fill < NUM_FILL_WORDS ? fill_words[fill] : NULL;
}

static rlo_status parse_fill(rlo__text_parser *p) {
  RLO_TRY(rlo__lexer_expect(p->lexer, "("));
  if (p->lexer->token.kind == RLO__TOKEN_HEX) {
    RLO_TRY(parse_fill_bits(p));
  } else {
    int fill = 0;
    while (fill < NUM_FILL_WORDS && !rlo__lexer_is_at(p->lexer, fill_words[fill])) {
      ++fill;
    }
    if (fill == NUM_FILL_WORDS) {
      return rlo__lexer_refuse(p->lexer,
                               "zero, one, lowest, highest, unknown, invalid or 0x and digits");
    }
    p->shape.layout.fill = (rlo_fill)fill;
  }
  RLO_TRY(rlo__lexer_advance(p->lexer));
  return rlo__lexer_expect(p->lexer, ")");
}

/* The rank of a bare layout is the number of its strides. */
static rlo_status parse_bare_strides(rlo__text_parser *p) {
  RLO_TRY(rlo__lexer_expect(p->lexer, "("));
  p->shape.rank = 0;
  if (!rlo__lexer_is_at(p->lexer, ")")) {
    RLO_TRY(rlo__lexer_read_integers(p->lexer, INT64_MIN, "a stride", RLO_MAX_RANK, "strides",
                                     p->shape.layout.strides_elems, &p->shape.rank));
  }
  return rlo__lexer_expect(p->lexer, ")");
}

static rlo_status parse_strides(rlo__text_parser *p) {
  RLO_FAIL_IF(p->num_minor_to_major != 0, RLO_PARSE,
              "position %zu: expected no minor_to_major before strides, found %d entries",
              p->minor_to_major_position, p->num_minor_to_major);
  p->shape.layout.kind = RLO_LAYOUT_STRIDED;
  if (p->is_bare) {
    return parse_bare_strides(p);
  }
  return parse_per_dimension(p, INT64_MIN, "a stride", "strides", p->shape.layout.strides_elems);
}

static rlo_status parse_offset(rlo__text_parser *p) {
  return parse_argument(p, INT64_MIN, "an offset", &p->shape.layout.offset_elems);
}

static rlo_status skip(rlo__lexer *lexer, const char *mark) {
  return rlo__lexer_is_at(lexer, mark) ? rlo__lexer_advance(lexer) : RLO_OK;
}

/* '(' lvl {',' lvl} ')', lvl := ('D' | 'C' | 'S' | 'H') ['+'] ['~']
 * The levels of sparse dimensions, which XLA still reads and forgets. */
static rlo_status parse_levels(rlo__text_parser *p) {
  rlo__lexer *lexer = p->lexer;
  RLO_TRY(rlo__lexer_expect(lexer, "("));
  for (;;) {
    if (lexer->token.length != 1 || strchr("DCSH", lexer->text[lexer->token.position]) == NULL) {
      return rlo__lexer_refuse(lexer, "D, C, S or H");
    }
    RLO_TRY(rlo__lexer_advance(lexer));
    RLO_TRY(skip(lexer, "+"));
    RLO_TRY(skip(lexer, "~"));
    if (!rlo__lexer_is_at(lexer, ",")) {
      return rlo__lexer_expect(lexer, ")");
    }
    RLO_TRY(rlo__lexer_advance(lexer));
  }
}

/* '(' uint-type ')' */
static rlo_status parse_unsigned_dtype(rlo__text_parser *p, rlo_dtype *out_dtype) {
  static const char expected[] = "the name of an unsigned integer type";
  RLO_TRY(rlo__lexer_expect(p->lexer, "("));
  rlo__lexer before = *p->lexer;
  RLO_TRY(rlo__lexer_read_dtype(p->lexer, expected, out_dtype));
  if (rlo_dtype_class_of(*out_dtype) != RLO_DTYPE_CLASS_UNSIGNED) {
    return rlo__lexer_refuse(&before, expected);
  }
  return rlo__lexer_expect(p->lexer, ")");
}

static rlo_status parse_index_dtype(rlo__text_parser *p) {
  return parse_unsigned_dtype(p, &p->shape.layout.index_dtype);
}

static rlo_status parse_pointer_dtype(rlo__text_parser *p) {
  return parse_unsigned_dtype(p, &p->shape.layout.pointer_dtype);
}

/* A bare layout keeps what is written: whether the cut points are right is for
 * the array to say. */
static rlo_status add_split(rlo__text_parser *p, size_t position, const rlo_split_config *split) {
  rlo_layout *layout = &p->shape.layout;
  if (p->is_bare && layout->num_split_configs < RLO_MAX_RANK) {
    layout->split_configs[layout->num_split_configs++] = *split;
    return RLO_OK;
  }
  rlo_status status =
      rlo_layout_add_split(layout, split->dimension, split->indices, split->num_indices);
  return rlo__status_prefix(status, "position %zu: ", position);
}

/* '(' INT ':' INT {',' INT} ')' */
static rlo_status parse_split(rlo__text_parser *p) {
  static const char expected[] = "the number of a physical dimension";
  rlo__lexer *lexer = p->lexer;
  size_t position = lexer->token.position;
  int64_t dimension = 0;
  rlo_split_config split = {0};
  RLO_TRY(rlo__lexer_expect(lexer, "("));
  if (lexer->token.value >= RLO_MAX_RANK) {
    return rlo__lexer_refuse(lexer, expected);
  }
  RLO_TRY(rlo__lexer_read_integer(lexer, 0, expected, &dimension));
  split.dimension = (int32_t)dimension;
  RLO_TRY(rlo__lexer_expect(lexer, ":"));
  RLO_TRY(rlo__lexer_read_integers(lexer, INT64_MIN, "a cut point", RLO_MAX_SPLIT_INDICES,
                                   "cut points in one dimension", split.indices,
                                   &split.num_indices));
  RLO_TRY(rlo__lexer_expect(lexer, ")"));
  return add_split(p, position, &split);
}

static rlo_status parse_splits(rlo__text_parser *p) {
  do {
    RLO_TRY(parse_split(p));
  } while (rlo__lexer_is_at(p->lexer, "("));
  return RLO_OK;
}

static rlo_status parse_physical_shape(rlo__text_parser *p) {
  RLO_TRY(rlo__lexer_expect(p->lexer, "("));
  RLO_TRY(p->parse_physical_shape(p->lexer, &p->physical_shape));
  return rlo__lexer_expect(p->lexer, ")");
}

static rlo_status parse_metadata_prefix(rlo__text_parser *p) {
  return parse_argument(p, 0, "a number of bytes >= 0", &p->shape.layout.metadata_prefix_bytes);
}

/* The properties that may follow the colon, in their one order: XLA's, then our
 * words. */
static const struct {
  const char *name;
  rlo_status (*parse)(rlo__text_parser *p);
} properties[] = {
    {"D", parse_levels},          {"T", parse_tiles},         {"L", parse_tail_alignment},
    {"#", parse_index_dtype},     {"*", parse_pointer_dtype}, {"E", parse_element_size},
    {"S", parse_memory_space},    {"SC", parse_splits},       {"P", parse_physical_shape},
    {"M", parse_metadata_prefix}, {"pad", parse_pad},         {"fill", parse_fill},
    {"strides", parse_strides},   {"offset", parse_offset},
};

enum { NUM_PROPERTIES = sizeof properties / sizeof properties[0] };

static rlo_status parse_properties(rlo__text_parser *p) {
  int first = 0;
  while (!rlo__lexer_is_at(p->lexer, "}")) {
    int at = first;
    while (at < NUM_PROPERTIES && !rlo__lexer_is_at(p->lexer, properties[at].name)) {
      ++at;
    }
    if (at == NUM_PROPERTIES) {
      return rlo__lexer_refuse(
          p->lexer, "'}' or, once and in this order, D T L # * E S SC P M pad fill strides offset");
    }
    RLO_FAIL_IF(properties[at].parse == parse_physical_shape && !p->is_bare, RLO_UNSUPPORTED,
                "position %zu: only sparse arrays have a physical shape, P(...), and they are not "
                "supported",
                p->lexer->token.position);
    if (properties[at].parse == parse_offset && p->shape.layout.kind != RLO_LAYOUT_STRIDED) {
      return rlo__lexer_refuse(p->lexer, "strides before an offset");
    }
    RLO_TRY(rlo__lexer_advance(p->lexer));
    RLO_TRY(properties[at].parse(p));
    first = at + 1;
  }
  return RLO_OK;
}

/* An entry of minor_to_major. The rank of a bare layout is the limit as yet. */
static rlo_status check_entry(const rlo__text_parser *p, size_t position, int32_t count,
                              int64_t dimension) {
  int32_t rank = p->shape.rank;
  RLO_FAIL_IF(count == rank && p->is_bare, RLO_UNSUPPORTED,
              "position %zu: a rank above the limit of %d", position, rank);
  RLO_FAIL_IF(count == rank, RLO_PARSE,
              "position %zu: expected %d entries of minor_to_major, found more", position, rank);
  RLO_FAIL_IF(dimension < 0 || dimension >= rank, RLO_INVALID_ARGUMENT,
              "position %zu: minor_to_major[%d]=%lld is out of range for rank %d", position, count,
              (long long)dimension, rank);
  return RLO_OK;
}

/* [INT {',' INT}] */
static rlo_status parse_minor_to_major(rlo__text_parser *p) {
  rlo__lexer *lexer = p->lexer;
  int32_t count = 0;
  p->minor_to_major_position = lexer->token.position;
  while (count == 0 ? lexer->token.kind == RLO__TOKEN_INTEGER : rlo__lexer_is_at(lexer, ",")) {
    if (count > 0) {
      RLO_TRY(rlo__lexer_advance(lexer));
    }
    size_t position = lexer->token.position;
    int64_t dimension = 0;
    RLO_TRY(rlo__lexer_read_integer(lexer, INT64_MIN, "the number of a dimension", &dimension));
    RLO_TRY(check_entry(p, position, count, dimension));
    p->shape.layout.minor_to_major[count++] = (int32_t)dimension;
  }
  p->num_minor_to_major = count;
  return RLO_OK;
}

/* After the entries of a bare layout: their number is the rank. */
static rlo_status take_rank(rlo__text_parser *p) {
  p->shape.rank = p->num_minor_to_major;
  rlo_status status = rlo_permutation_validate(p->shape.layout.minor_to_major, p->shape.rank);
  return rlo__status_prefix(status, "position %zu: minor_to_major: ", p->minor_to_major_position);
}

/* '{' minor_to_major [':' properties] '}' */
rlo_status rlo__text_parse_layout(rlo__text_parser *p, bool may_be_empty) {
  rlo__lexer *lexer = p->lexer;
  memset(&p->shape.layout, 0, sizeof p->shape.layout);
  RLO_TRY(rlo__lexer_expect(lexer, "{"));
  if (p->is_bare) {
    p->shape.rank = RLO_MAX_RANK;
  }
  RLO_TRY(parse_minor_to_major(p));
  if (p->is_bare) {
    RLO_TRY(take_rank(p));
  }
  if (rlo__lexer_is_at(lexer, ":")) {
    RLO_TRY(rlo__lexer_advance(lexer));
    RLO_TRY(parse_properties(p));
  } else if (p->num_minor_to_major == 0 && !may_be_empty) {
    return rlo__lexer_refuse(lexer, "the number of a dimension or ':'");
  } else if (!rlo__lexer_is_at(lexer, "}")) {
    return rlo__lexer_refuse(lexer, "',', ':' or '}'");
  }
  RLO_FAIL_IF(p->shape.layout.kind == RLO_LAYOUT_DENSE && p->num_minor_to_major != p->shape.rank,
              RLO_PARSE, "position %zu: expected %d entries of minor_to_major, found %d",
              p->minor_to_major_position, p->shape.rank, p->num_minor_to_major);
  return rlo__lexer_expect(lexer, "}");
}
