/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_TEXT_LEX_H
#define RLO_IO_TEXT_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/status.h"

/** The tokens of shape text. */
typedef enum rlo_token_kind {
  RLO_TOKEN_END,
  /** A decimal integer, maybe negative; its value fits 64 bits. */
  RLO_TOKEN_INTEGER,
  /** 0x and hexadecimal digits. */
  RLO_TOKEN_HEX,
  /** A letter or '_', then letters, digits and '_'. */
  RLO_TOKEN_WORD,
  /** One of { } [ ] ( ) , : * # ? + ~ <= -> */
  RLO_TOKEN_MARK,
  /** Anything else: one byte, or digits that run into letters ("2x3"). */
  RLO_TOKEN_STRANGER
} rlo_token_kind;

typedef struct rlo_token {
  rlo_token_kind kind;
  /** Of the first byte, from 0. */
  size_t position;
  size_t length;
  /** Of an INTEGER. */
  int64_t value;
} rlo_token;

/** A reader of tokens with the current one in its hand. */
typedef struct rlo_lexer {
  /** Borrowed; need not be terminated. */
  const char *text;
  size_t text_bytes;
  /** Where the next token is looked for. */
  size_t next;
  rlo_token token;
} rlo_lexer;

/**
 * Begin with the first token of a text. `text` may be NULL if it is empty.
 * @return RLO_OK; RLO_UNSUPPORTED beyond `most_bytes`; RLO_PARSE for a comment
 *         without end; RLO_OVERFLOW for an integer beyond 64 bits.
 */
RLO_NODISCARD rlo_status rlo__lexer_begin(rlo_lexer *lexer,
                                          const char *text,
                                          size_t text_bytes,
                                          size_t most_bytes);

/** Go on to the next token, past white space and comments; after the last one,
 *  RLO_TOKEN_END for ever. Statuses as rlo__lexer_begin. */
RLO_NODISCARD rlo_status rlo__lexer_advance(rlo_lexer *lexer);

/** Let the current WORD go on with '.' and '-', as names of parameters may. */
void rlo__lexer_extend_name(rlo_lexer *lexer);

/** True if the current token is spelled like this. */
bool rlo__lexer_is_at(const rlo_lexer *lexer, const char *spelling);

/** Step over this token, or fail with "expected '('". */
RLO_NODISCARD rlo_status rlo__lexer_expect(rlo_lexer *lexer,
                                           const char *spelling);

/** RLO_PARSE: "position 7: expected <expected>, found <current token>". */
rlo_status rlo__lexer_refuse(const rlo_lexer *lexer, const char *expected);

#endif
