/* SPDX-License-Identifier: Apache-2.0 */
#include "text/lex.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "desc/dtype.h"
#include "relayout/text.h"

/* The letters of the C locale, whatever the process has set. */
static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The byte `ahead` of the next one; NUL, which is part of no token, at the
 * end. */
static char peek(const rlo__lexer *lexer, size_t ahead) {
  if (ahead >= lexer->text_bytes - lexer->next) {
    return '\0';
  }
  return lexer->text[lexer->next + ahead];
}

static bool is_at_end(const rlo__lexer *lexer) {
  return lexer->next >= lexer->text_bytes;
}

static rlo_status skip_block_comment(rlo__lexer *lexer) {
  size_t start = lexer->next;
  lexer->next += 2;
  while (!is_at_end(lexer)) {
    if (peek(lexer, 0) == '*' && peek(lexer, 1) == '/') {
      lexer->next += 2;
      return RLO_OK;
    }
    ++lexer->next;
  }
  return RLO_FAIL(
      RLO_PARSE,
      "position %zu: expected '*/' after the comment of position %zu, found the end of the text",
      lexer->next, start);
}

static rlo_status skip_blanks(rlo__lexer *lexer) {
  while (!is_at_end(lexer)) {
    if (is_space(peek(lexer, 0))) {
      ++lexer->next;
    } else if (peek(lexer, 0) == '/' && peek(lexer, 1) == '/') {
      while (!is_at_end(lexer) && peek(lexer, 0) != '\n') {
        ++lexer->next;
      }
    } else if (peek(lexer, 0) == '/' && peek(lexer, 1) == '*') {
      RLO_TRY(skip_block_comment(lexer));
    } else {
      break;
    }
  }
  return RLO_OK;
}

/* At most 40 bytes of a token, in quotes, with what is no ASCII as \xNN. */
static void quote(rlo__str *str, const char *text, size_t length) {
  enum { MAX_SHOWN = 40 };

  rlo__str_append_char(str, '\'');
  for (size_t i = 0; i < length && i < MAX_SHOWN; ++i) {
    unsigned char c = (unsigned char)text[i];
    if (c >= 0x20 && c < 0x7f) {
      rlo__str_append_char(str, text[i]);
    } else {
      rlo__str_printf(str, "\\x%02x", c);
    }
  }
  rlo__str_append(str, length > MAX_SHOWN ? "...'" : "'");
}

static rlo_status read_integer(rlo__lexer *lexer, size_t length) {
  rlo__token *token = &lexer->token;
  const char *text = lexer->text + token->position;
  bool is_negative = text[0] == '-';
  int64_t value = 0;
  for (size_t i = is_negative ? 1 : 0; i < length; ++i) {
    int64_t digit = text[i] - '0';
    /* Counted downwards, where there is room for one more. */
    if (!rlo__mul_add(-digit, value, 10, &value)) {
      value = 1;
      break;
    }
  }
  if (value > 0 || (!is_negative && value == INT64_MIN)) {
    char buffer[192];
    rlo__str number = rlo__str_over(buffer, sizeof buffer);
    quote(&number, text, length);
    return RLO_FAIL(RLO_OVERFLOW, "position %zu: %s does not fit 64 bits", token->position, buffer);
  }
  token->kind = RLO__TOKEN_INTEGER;
  token->length = length;
  token->value = is_negative ? value : -value;
  return RLO_OK;
}

/* Digits, from the current position on; a sign has been seen. */
static rlo_status read_number(rlo__lexer *lexer) {
  size_t length = peek(lexer, 0) == '-' ? 1 : 0;
  bool is_hex = length == 0 && peek(lexer, 0) == '0' &&
                (peek(lexer, 1) == 'x' || peek(lexer, 1) == 'X') && is_hex_digit(peek(lexer, 2));
  length += is_hex ? 2 : 0;
  while (is_hex ? is_hex_digit(peek(lexer, length)) : is_digit(peek(lexer, length))) {
    ++length;
  }
  if (is_word_char(peek(lexer, length))) {
    /* "2x3" and "8b" are slips, not two tokens: the message shows the whole. */
    while (is_word_char(peek(lexer, length))) {
      ++length;
    }
    lexer->token.kind = RLO__TOKEN_UNKNOWN;
    lexer->token.length = length;
    return RLO_OK;
  }
  if (is_hex) {
    lexer->token.kind = RLO__TOKEN_HEX;
    lexer->token.length = length;
    return RLO_OK;
  }
  return read_integer(lexer, length);
}

/* The length of a string, quotes included; 1 if it does not end. */
static size_t measure_string(const rlo__lexer *lexer) {
  const char quote = peek(lexer, 0);
  size_t length = 1;
  while (length < lexer->text_bytes - lexer->next && peek(lexer, length) != quote) {
    length += peek(lexer, length) == '\\' ? 2 : 1;
  }
  return peek(lexer, length) == quote ? length + 1 : 1;
}

rlo_status rlo__lexer_advance(rlo__lexer *lexer) {
  RLO_TRY(skip_blanks(lexer));
  rlo__token *token = &lexer->token;
  token->kind = RLO__TOKEN_END;
  token->position = lexer->next;
  token->length = 0;
  token->value = 0;
  if (is_at_end(lexer)) {
    return RLO_OK;
  }
  char first = peek(lexer, 0);
  if (is_digit(first) || (first == '-' && is_digit(peek(lexer, 1)))) {
    RLO_TRY(read_number(lexer));
  } else if (is_word_char(first)) {
    token->kind = RLO__TOKEN_WORD;
    while (is_word_char(peek(lexer, token->length))) {
      ++token->length;
    }
  } else if (first == '"' || first == '\'') {
    token->length = measure_string(lexer);
    token->kind = token->length > 1 ? RLO__TOKEN_STRING : RLO__TOKEN_UNKNOWN;
  } else {
    bool is_pair =
        (first == '<' && peek(lexer, 1) == '=') || (first == '-' && peek(lexer, 1) == '>');
    bool is_mark = is_pair || (first != '\0' && strchr("{}[](),:*#?+~=", first) != NULL);
    token->kind = is_mark ? RLO__TOKEN_MARK : RLO__TOKEN_UNKNOWN;
    token->length = is_pair ? 2 : 1;
  }
  lexer->next += token->length;
  return RLO_OK;
}

rlo_status rlo__lexer_begin(rlo__lexer *lexer, const char *text, size_t text_bytes,
                            size_t max_bytes) {
  memset(lexer, 0, sizeof *lexer);
  if (text_bytes == RLO_TEXT_TERMINATED) {
    text_bytes = strlen(text);
  }
  RLO_FAIL_IF(text_bytes > max_bytes, RLO_UNSUPPORTED,
              "a text of %zu bytes is beyond the limit of %zu", text_bytes, max_bytes);
  lexer->text = text;
  lexer->text_bytes = text_bytes;
  return rlo__lexer_advance(lexer);
}

void rlo__lexer_extend_name(rlo__lexer *lexer) {
  rlo__token *token = &lexer->token;
  while (is_word_char(peek(lexer, 0)) || peek(lexer, 0) == '.' || peek(lexer, 0) == '-') {
    ++lexer->next;
    ++token->length;
  }
}

bool rlo__lexer_is_at(const rlo__lexer *lexer, const char *spelling) {
  const rlo__token *token = &lexer->token;
  size_t length = strlen(spelling);
  return token->length == length && memcmp(lexer->text + token->position, spelling, length) == 0;
}

rlo_status rlo__lexer_expect(rlo__lexer *lexer, const char *spelling) {
  if (!rlo__lexer_is_at(lexer, spelling)) {
    char expected[24];
    rlo__str str = rlo__str_over(expected, sizeof expected);
    rlo__str_printf(&str, "'%s'", spelling);
    return rlo__lexer_refuse(lexer, expected);
  }
  return rlo__lexer_advance(lexer);
}

/* `hint` ends the sentence. */
static rlo_status refuse(const rlo__lexer *lexer, const char *expected, const char *hint) {
  const rlo__token *token = &lexer->token;
  char buffer[192];
  rlo__str found = rlo__str_over(buffer, sizeof buffer);
  if (token->kind == RLO__TOKEN_END) {
    rlo__str_append(&found, "the end of the text");
  } else {
    quote(&found, lexer->text + token->position, token->length);
  }
  return RLO_FAIL(RLO_PARSE, "position %zu: expected %s, found %s%s", token->position, expected,
                  buffer, hint);
}

rlo_status rlo__lexer_refuse(const rlo__lexer *lexer, const char *expected) {
  return refuse(lexer, expected, "");
}

rlo_status rlo__lexer_read_integer(rlo__lexer *lexer, int64_t min, const char *expected,
                                   int64_t *out_value) {
  const rlo__token *token = &lexer->token;
  if (token->kind != RLO__TOKEN_INTEGER || token->value < min) {
    return rlo__lexer_refuse(lexer, expected);
  }
  *out_value = token->value;
  return rlo__lexer_advance(lexer);
}

rlo_status rlo__lexer_read_integers(rlo__lexer *lexer, int64_t min, const char *expected,
                                    int32_t max, const char *what, int64_t *out_values,
                                    int32_t *out_count) {
  int32_t count = 0;
  do {
    if (count > 0) {
      RLO_TRY(rlo__lexer_advance(lexer));
    }
    RLO_FAIL_IF(count == max, RLO_UNSUPPORTED, "position %zu: more than %d %s",
                lexer->token.position, max, what);
    RLO_TRY(rlo__lexer_read_integer(lexer, min, expected, &out_values[count]));
    ++count;
  } while (rlo__lexer_is_at(lexer, ","));
  *out_count = count;
  return RLO_OK;
}

rlo_status rlo__lexer_read_list(rlo__lexer *lexer, const char *brackets,
                                rlo__lexer_item_fn *read_item, void *payload) {
  const char open[] = {brackets[0], '\0'};
  const char close[] = {brackets[1], '\0'};
  RLO_TRY(rlo__lexer_expect(lexer, open));
  bool has_more = !rlo__lexer_is_at(lexer, close);
  while (has_more) {
    RLO_TRY(read_item(lexer, payload));
    has_more = rlo__lexer_is_at(lexer, ",");
    RLO_TRY(has_more ? rlo__lexer_advance(lexer) : RLO_OK);
  }
  if (!rlo__lexer_is_at(lexer, close)) {
    char expected[16];
    rlo__str str = rlo__str_over(expected, sizeof expected);
    rlo__str_printf(&str, "',' or '%s'", close);
    return rlo__lexer_refuse(lexer, expected);
  }
  return rlo__lexer_advance(lexer);
}

rlo_status rlo__lexer_read_dtype(rlo__lexer *lexer, const char *expected, rlo_dtype *out_dtype) {
  const rlo__token *token = &lexer->token;
  char name[32] = "";
  if (token->kind == RLO__TOKEN_WORD && token->length < sizeof name) {
    memcpy(name, lexer->text + token->position, token->length);
  }
  if (rlo_dtype_from_name(name, out_dtype) != RLO_OK) {
    rlo__nearest nearest = rlo__nearest_begin(name, strlen(name));
    rlo__dtype_try_names(&nearest);
    return refuse(lexer, expected, nearest.hint);
  }
  return rlo__lexer_advance(lexer);
}

rlo_status rlo__lexer_expect_end(const rlo__lexer *lexer) {
  if (lexer->token.kind != RLO__TOKEN_END) {
    return rlo__lexer_refuse(lexer, "the end of the text");
  }
  return RLO_OK;
}
