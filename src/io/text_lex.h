/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_IO_TEXT_LEX_H
#define RLO_IO_TEXT_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/status.h"

/** The tokens of shape text. */
typedef enum rlo__token_kind {
  RLO__TOKEN_END,
  /** A decimal integer, maybe negative; its value fits 64 bits. */
  RLO__TOKEN_INTEGER,
  /** 0x and hexadecimal digits. */
  RLO__TOKEN_HEX,
  /** A letter or '_', then letters, digits and '_'. */
  RLO__TOKEN_WORD,
  /** One of { } [ ] ( ) , : * # ? + ~ <= -> */
  RLO__TOKEN_MARK,
  /** Anything else: one byte, or digits that run into letters ("2x3"). */
  RLO__TOKEN_STRANGER
} rlo__token_kind;

typedef struct rlo__token {
  rlo__token_kind kind;
  /** Of the first byte, from 0. */
  size_t position;
  size_t length;
  /** Of an INTEGER. */
  int64_t value;
} rlo__token;

/** A reader of tokens with the current one in its hand. */
typedef struct rlo__lexer {
  /** Borrowed; need not be terminated. */
  const char *text;
  size_t text_bytes;
  /** Where the next token is looked for. */
  size_t next;
  rlo__token token;
} rlo__lexer;

/**
 * Begin with the first token of a text. `text` may be NULL if it is empty.
 * @return RLO_OK; RLO_UNSUPPORTED beyond `most_bytes`; RLO_PARSE for a comment
 *         without end; RLO_OVERFLOW for an integer beyond 64 bits.
 */
RLO_NODISCARD rlo_status rlo__lexer_begin(rlo__lexer *lexer,
                                          const char *text,
                                          size_t text_bytes,
                                          size_t most_bytes);

/** Go on to the next token, past white space and comments; after the last one,
 *  RLO__TOKEN_END for ever. Statuses as rlo__lexer_begin. */
RLO_NODISCARD rlo_status rlo__lexer_advance(rlo__lexer *lexer);

/** Let the current WORD go on with '.' and '-', as names of parameters may. */
void rlo__lexer_extend_name(rlo__lexer *lexer);

/** True if the current token is spelled like this. */
bool rlo__lexer_is_at(const rlo__lexer *lexer, const char *spelling);

/** Step over this token, or fail with "expected '('". */
RLO_NODISCARD rlo_status rlo__lexer_expect(rlo__lexer *lexer,
                                           const char *spelling);

/** RLO_PARSE: "position 7: expected <expected>, found <current token>". */
rlo_status rlo__lexer_refuse(const rlo__lexer *lexer, const char *expected);

#endif
