/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TEXT_LEX_H
#define RLO_TEXT_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/dtype.h"

/** The tokens of shape text. */
typedef enum rlo__token_kind {
  RLO__TOKEN_END,
  /** A decimal integer, maybe negative; its value fits 64 bits. */
  RLO__TOKEN_INTEGER,
  /** 0x and hexadecimal digits. */
  RLO__TOKEN_HEX,
  /** A letter or '_', then letters, digits and '_'. */
  RLO__TOKEN_WORD,
  /** In double or single quotes, before each of which may be a '\\'. */
  RLO__TOKEN_STRING,
  /** One of { } [ ] ( ) , : * # ? + ~ = <= -> */
  RLO__TOKEN_MARK,
  /** Anything else: one byte, or digits that run into letters ("2x3"). */
  RLO__TOKEN_UNKNOWN
} rlo__token_kind;

typedef struct rlo__token {
  rlo__token_kind kind;
  /** The position of the first byte, from 0. */
  size_t position;
  size_t length;
  /** The value of an INTEGER. */
  int64_t value;
} rlo__token;

/** Reads tokens, one at a time. */
typedef struct rlo__lexer {
  /** Borrowed; need not be terminated. */
  const char *text;
  size_t text_bytes;
  /** Where the search for the next token begins. */
  size_t next;
  rlo__token token;
} rlo__lexer;

/**
 * Reads the first token of a text. `text` may be NULL if it is empty.
 * @return RLO_OK; RLO_UNSUPPORTED beyond `max_bytes`; RLO_PARSE for a comment
 *         without end; RLO_OVERFLOW for an integer beyond 64 bits.
 */
RLO_NODISCARD rlo_status rlo__lexer_begin(rlo__lexer *lexer, const char *text, size_t text_bytes,
                                          size_t max_bytes);

/** Moves to the next token, past white space and comments; after the last one
 *  the token stays RLO__TOKEN_END. Statuses as rlo__lexer_begin. */
RLO_NODISCARD rlo_status rlo__lexer_advance(rlo__lexer *lexer);

/** Extends the current WORD by '.' and '-', which names of parameters may have.
 */
void rlo__lexer_extend_name(rlo__lexer *lexer);

/** Tells if the current token has this spelling. */
bool rlo__lexer_is_at(const rlo__lexer *lexer, const char *spelling);

/** Moves past this token, or fails with "expected '('". */
RLO_NODISCARD rlo_status rlo__lexer_expect(rlo__lexer *lexer, const char *spelling);

/** RLO_PARSE: "position 7: expected <expected>, found <current token>". */
rlo_status rlo__lexer_refuse(const rlo__lexer *lexer, const char *expected);

/** Reads an integer of at least `min`, or fails with "expected <expected>". */
RLO_NODISCARD rlo_status rlo__lexer_read_integer(rlo__lexer *lexer, int64_t min,
                                                 const char *expected, int64_t *out_value);

/** Reads INT {',' INT}, each as rlo__lexer_read_integer, of at most `max`
 *  integers. RLO_UNSUPPORTED for "more than <max> <what>". */
RLO_NODISCARD rlo_status rlo__lexer_read_integers(rlo__lexer *lexer, int64_t min,
                                                  const char *expected, int32_t max,
                                                  const char *what, int64_t *out_values,
                                                  int32_t *out_count);

/** Reads an item of a list. */
typedef rlo_status rlo__lexer_item_fn(rlo__lexer *lexer, void *payload);

/** Reads a list: the first of two brackets, items with commas between them, if there are
 *  any, and the second bracket. */
RLO_NODISCARD rlo_status rlo__lexer_read_list(rlo__lexer *lexer, const char *brackets,
                                              rlo__lexer_item_fn *read_item, void *payload);

/** Reads the name of an element type, or fails with "expected <expected>". */
RLO_NODISCARD rlo_status rlo__lexer_read_dtype(rlo__lexer *lexer, const char *expected,
                                               rlo_dtype *out_dtype);

/** RLO_OK at the end of the text only. */
RLO_NODISCARD rlo_status rlo__lexer_expect_end(const rlo__lexer *lexer);

#endif
