/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

/** Characters of a text that others own. */
typedef struct span {
  const char *at, *end;
} span;

static bool is_word_char(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static bool spans_equal(span a, span b) {
  return a.end - a.at == b.end - b.at && memcmp(a.at, b.at, (size_t)(a.end - a.at)) == 0;
}

static bool span_is(span s, const char *text) {
  return spans_equal(s, (span){text, text + strlen(text)});
}

static bool begins_with(span s, const char *text) {
  const size_t length = strlen(text);
  return (size_t)(s.end - s.at) >= length && memcmp(s.at, text, length) == 0;
}

/** Takes the word that a span begins with, which may be empty. */
static span take_word(span *rest) {
  span word = {rest->at, rest->at};
  while (word.end < rest->end && is_word_char(*word.end)) {
    ++word.end;
  }
  rest->at = word.end;
  return word;
}

/** Skips spaces, and line ends behind a backslash. */
static void skip_spaces(span *rest) {
  while (rest->at < rest->end && (isspace((unsigned char)*rest->at) || *rest->at == '\\')) {
    ++rest->at;
  }
}

/** Takes a line, with those that backslashes join to it and the line end. */
static span take_line(span *rest) {
  span line = {rest->at, rest->at};
  while (line.end < rest->end &&
         (*line.end != '\n' || (line.end > line.at && line.end[-1] == '\\'))) {
    ++line.end;
  }
  line.end += line.end < rest->end;
  rest->at = line.end;
  return line;
}

/* --------------------------------------------------------------------- macros */

typedef struct macro {
  span name, body;
  /** False: it takes arguments, is not defined any more, or perhaps not. */
  bool is_known;
} macro;

typedef struct macro_list {
  macro *macros;
  size_t count, capacity;
} macro_list;

static rlo_status add_macro(macro_list *list, macro added) {
  RLO_TRY(
      rlo__array_reserve(&list->macros, sizeof *list->macros, list->count + 1, &list->capacity));
  list->macros[list->count++] = added;
  return RLO_OK;
}

static const macro *find_macro(const macro_list *list, span name) {
  for (size_t n = list->count; n-- > 0;) {
    if (spans_equal(list->macros[n].name, name)) {
      return &list->macros[n];
    }
  }
  return NULL;
}

/** A condition that is being evaluated. */
typedef struct condition {
  const macro_list *list;
  span rest;
  /** Macros within macros. */
  int depth;
  /** Only the compiler knows. */
  bool is_unknown;
} condition;

static int64_t evaluate(condition *c, int least);

static int64_t evaluate_name(condition *c, span name) {
  const macro *found = find_macro(c->list, name);
  if (found == NULL && begins_with(name, "RLO_")) {
    return 0;
  }
  if (found == NULL || !found->is_known || c->depth == 32) {
    c->is_unknown = true;
    return 0;
  }
  condition body = {.list = c->list, .rest = found->body, .depth = c->depth + 1};
  const int64_t value = evaluate(&body, 1);
  c->is_unknown |= body.is_unknown;
  return value;
}

static int64_t evaluate_operand(condition *c) {
  skip_spaces(&c->rest);
  char first = '\0';
  if (c->rest.at < c->rest.end) {
    first = *c->rest.at;
  }
  if (isdigit((unsigned char)first)) {
    const span digits = take_word(&c->rest);
    return strtoll(digits.at, NULL, 0);
  }
  if (is_word_char(first)) {
    return evaluate_name(c, take_word(&c->rest));
  }
  c->rest.at += first != '\0';
  if (first == '!') {
    return !evaluate_operand(c);
  }
  if (first == '-') {
    return -evaluate_operand(c);
  }
  if (first != '(') {
    c->is_unknown = true;
    return 0;
  }
  const int64_t value = evaluate(c, 1);
  skip_spaces(&c->rest);
  c->is_unknown |= c->rest.at == c->rest.end || *c->rest.at != ')';
  c->rest.at += c->rest.at < c->rest.end;
  return value;
}

typedef enum operation {
  OR,
  AND,
  EQUAL,
  UNEQUAL,
  AT_MOST,
  AT_LEAST,
  BELOW,
  ABOVE,
  PLUS,
  MINUS,
  TIMES,
  OVER,
  MODULO
} operation;

static const struct {
  const char *text;
  int precedence;
} operators[] = {
    [OR] = {"||", 1},      [AND] = {"&&", 2},      [EQUAL] = {"==", 3}, [UNEQUAL] = {"!=", 3},
    [AT_MOST] = {"<=", 4}, [AT_LEAST] = {">=", 4}, [BELOW] = {"<", 4},  [ABOVE] = {">", 4},
    [PLUS] = {"+", 5},     [MINUS] = {"-", 5},     [TIMES] = {"*", 6},  [OVER] = {"/", 6},
    [MODULO] = {"%", 6}};

static int64_t compute(operation op, int64_t a, int64_t b) {
  switch (op) {
    case OR:
      return a != 0 || b != 0;
    case AND:
      return a != 0 && b != 0;
    case EQUAL:
      return a == b;
    case UNEQUAL:
      return a != b;
    case AT_MOST:
      return a <= b;
    case AT_LEAST:
      return a >= b;
    case BELOW:
      return a < b;
    case ABOVE:
      return a > b;
    case PLUS:
      return a + b;
    case MINUS:
      return a - b;
    case TIMES:
      return a * b;
    case OVER:
      return b != 0 ? a / b : 0;
    case MODULO:
      return b != 0 ? a % b : 0;
  }
  return 0;
}

/** Evaluates operators of a precedence of at least `least`. */
static int64_t evaluate(condition *c, int least) {
  int64_t value = evaluate_operand(c);
  for (size_t n = 0; n < sizeof operators / sizeof operators[0];) {
    skip_spaces(&c->rest);
    if (operators[n].precedence < least || !begins_with(c->rest, operators[n].text)) {
      ++n;
      continue;
    }
    c->rest.at += strlen(operators[n].text);
    value = compute((operation)n, value, evaluate(c, operators[n].precedence + 1));
    n = 0;
  }
  return value;
}

/* ------------------------------------------------------------------- branches */

enum { MAX_CONDITIONS = 64 };

/** A text whose conditions are being resolved. */
typedef struct preprocessor {
  macro_list macros;
  rlo__str *out;
  /** For each open condition: this branch is compiled; one before it was. */
  bool is_live[MAX_CONDITIONS], was_live[MAX_CONDITIONS];
  int depth;
  /** Conditions that stay in the text. */
  int kept_depth;
} preprocessor;

static bool is_live(const preprocessor *p) {
  return p->depth == 0 || p->is_live[p->depth - 1];
}

static void append_span(rlo__str *out, span s) {
  rlo__str_append_bytes(out, s.at, (size_t)(s.end - s.at));
}

/** Takes an #if of which `rest` is the condition. Keeps an unknown one. */
static void open_condition(preprocessor *p, span keyword, span rest) {
  condition c = {.list = &p->macros, .rest = rest};
  int64_t value = 0;
  if (span_is(keyword, "if") || span_is(keyword, "elif")) {
    value = evaluate(&c, 1);
    skip_spaces(&c.rest);
    c.is_unknown |= c.rest.at < c.rest.end && *c.rest.at != '/';
  } else {
    const span name = take_word(&c.rest);
    const macro *found = find_macro(&p->macros, name);
    c.is_unknown = found != NULL ? !found->is_known : !begins_with(name, "RLO_");
    value = (found != NULL) == span_is(keyword, "ifdef");
  }
  if (c.is_unknown) {
    p->kept_depth = 1;
    rlo__str_append(p->out, span_is(keyword, "elif") ? "#if " : "#");
    append_span(p->out, span_is(keyword, "elif") ? rest : (span){keyword.at, rest.end});
    return;
  }
  p->is_live[p->depth] = value != 0;
  p->was_live[p->depth++] = value != 0;
}

/** Takes #elif, #else or #endif. */
static void go_on(preprocessor *p, span keyword, span rest) {
  const bool was_live = p->was_live[p->depth - 1];
  --p->depth;
  if (span_is(keyword, "endif")) {
    return;
  }
  if (!was_live && is_live(p) && span_is(keyword, "elif")) {
    open_condition(p, keyword, rest);
    return;
  }
  p->is_live[p->depth] = !was_live && is_live(p);
  p->was_live[p->depth++] = true;
}

static rlo_status define(preprocessor *p, span keyword, span rest) {
  macro added = {.name = take_word(&rest)};
  added.is_known =
      span_is(keyword, "define") && p->kept_depth == 0 && (rest.at == rest.end || *rest.at != '(');
  added.body = rest;
  return add_macro(&p->macros, added);
}

static bool is_if(span keyword) {
  return begins_with(keyword, "if");
}

static rlo_status take_directive(preprocessor *p, span line) {
  span rest = {memchr(line.at, '#', (size_t)(line.end - line.at)), line.end};
  ++rest.at;
  skip_spaces(&rest);
  const span keyword = take_word(&rest);
  skip_spaces(&rest);
  const bool closes =
      span_is(keyword, "elif") || span_is(keyword, "else") || span_is(keyword, "endif");
  if (p->kept_depth == 0 && is_if(keyword)) {
    RLO_FAIL_IF(p->depth == MAX_CONDITIONS, RLO_INTERNAL,
                "a kernel has more than %d conditions within each other", (int)MAX_CONDITIONS);
    if (is_live(p)) {
      open_condition(p, keyword, rest);
    } else {
      p->is_live[p->depth] = false;
      p->was_live[p->depth++] = true;
    }
    return RLO_OK;
  }
  if (p->kept_depth == 0 && closes) {
    go_on(p, keyword, rest);
    return RLO_OK;
  }
  if (!is_live(p)) {
    return RLO_OK;
  }
  p->kept_depth += is_if(keyword) - span_is(keyword, "endif");
  append_span(p->out, line);
  return span_is(keyword, "define") || span_is(keyword, "undef") ? define(p, keyword, rest)
                                                                 : RLO_OK;
}

/** Appends what the conditions of a source leave. */
static rlo_status resolve(preprocessor *p, span source) {
  while (source.at < source.end) {
    const span line = take_line(&source);
    span rest = line;
    skip_spaces(&rest);
    if (rest.at < rest.end && *rest.at == '#') {
      RLO_TRY(take_directive(p, line));
    } else if (is_live(p) && !begins_with(line, "/* SPDX-")) {
      append_span(p->out, line);
    }
  }
  return RLO_OK;
}

/** Appends the definitions of build options, each a part of its own. */
static rlo_status append_constants(preprocessor *p, const char *options) {
  for (const char *at = strstr(options, " -D"); at != NULL; at = strstr(at + 1, " -D")) {
    span rest = {at + 3, at + 3 + strcspn(at + 3, " ")};
    const span name = take_word(&rest);
    rest.at += rest.at < rest.end;
    RLO_TRY(add_macro(&p->macros, (macro){.name = name, .body = rest, .is_known = true}));
    rlo__str_append(p->out, "#define ");
    append_span(p->out, name);
    rlo__str_append(p->out, " ");
    append_span(p->out, rest);
    rlo__str_append(p->out, "\n\n");
  }
  return RLO_OK;
}

/* ---------------------------------------------------------------------- parts */

/** Lines between empty lines, and outside of functions and comments. */
typedef struct part {
  span text;
  bool is_needed;
} part;

typedef struct part_list {
  part *parts;
  size_t count, capacity;
} part_list;

/** Skips a comment that a span begins with. */
static bool skip_comment(span *rest) {
  const bool is_line = begins_with(*rest, "//");
  if (!is_line && !begins_with(*rest, "/*")) {
    return false;
  }
  rest->at += 2;
  while (rest->at < rest->end && !(is_line ? *rest->at == '\n' : begins_with(*rest, "*/"))) {
    ++rest->at;
  }
  rest->at += !is_line && rest->at < rest->end ? 2 : 0;
  return true;
}

static bool is_empty_line(span rest) {
  return begins_with(rest, "\n\n");
}

/** Takes the next part: up to an empty line at depth 0. */
static span take_part(span *rest) {
  while (rest->at < rest->end && *rest->at == '\n') {
    ++rest->at;
  }
  span taken = *rest;
  int depth = 0;
  while (rest->at < rest->end && (depth > 0 || !is_empty_line(*rest))) {
    if (*rest->at == '#' && rest->at[-1] == '\n') {
      take_line(rest);
      --rest->at;
    } else if (!skip_comment(rest)) {
      depth += (*rest->at == '{') - (*rest->at == '}');
      ++rest->at;
    }
  }
  rest->at += rest->at < rest->end;
  taken.end = rest->at;
  return taken;
}

/** Tells if a part names a word, or puts names together that may be it. */
static bool names(span text, span word) {
  while (text.at < text.end) {
    if (!is_word_char(*text.at)) {
      ++text.at;
      continue;
    }
    const span found = take_word(&text);
    const ptrdiff_t length = found.end - found.at;
    const ptrdiff_t more = (word.end - word.at) - length;
    if (spans_equal(found, word)) {
      return true;
    }
    if (more > 0 && length > 4 &&
        ((begins_with(text, "##") && spans_equal(found, (span){word.at, word.at + length})) ||
         (found.at[-1] == '#' && spans_equal(found, (span){word.end - length, word.end})))) {
      return true;
    }
  }
  return false;
}

static bool is_named(const part_list *list, span word) {
  for (size_t n = 0; n < list->count; ++n) {
    if (list->parts[n].is_needed && names(list->parts[n].text, word)) {
      return true;
    }
  }
  return false;
}

/** A macro that declares what its arguments name. */
static bool is_macro_name(span word) {
  for (; word.at < word.end && !islower((unsigned char)*word.at); ++word.at) {
  }
  return word.at == word.end;
}

/** Skips to the bracket that closes the one that a span begins with. */
static span take_brackets(span *rest) {
  const char open = *rest->at;
  char close = ']';
  if (open != '[') {
    close = open == '(' ? ')' : '}';
  }
  span inner = {rest->at + 1, NULL};
  int depth = 0;
  do {
    depth += (*rest->at == open) - (*rest->at == close);
    ++rest->at;
  } while (rest->at < rest->end && depth > 0);
  inner.end = rest->at - 1;
  return inner;
}

/** Tells if an argument of a macro is named elsewhere. */
static bool has_named_argument(const part_list *list, span arguments) {
  while (arguments.at < arguments.end) {
    const span word = take_word(&arguments);
    if (word.end > word.at && is_named(list, word)) {
      return true;
    }
    arguments.at += word.end == word.at;
  }
  return false;
}

/** Tells if anything that a part declares is named elsewhere. The name of a declaration
 *  is the last word before its first bracket, its sign of equality or its end. */
static bool declares_named(const part_list *list, span rest) {
  span last = {rest.at, rest.at};
  bool is_typedef = false;
  while (rest.at < rest.end) {
    const char c = *rest.at;
    if (skip_comment(&rest)) {
    } else if (c == '#') {
      span line = take_line(&rest);
      ++line.at;
      const span keyword = take_word(&line);
      skip_spaces(&line);
      if (!span_is(keyword, "define") || is_named(list, take_word(&line))) {
        return true;
      }
    } else if (is_word_char(c)) {
      const span word = take_word(&rest);
      is_typedef |= span_is(word, "typedef");
      last = span_is(word, "__attribute__") ? last : word;
    } else if (c == '(' || c == '[' || c == '{') {
      const bool is_call = c == '(' && is_macro_name(last);
      const span inner = take_brackets(&rest);
      if (!is_typedef && (is_call ? has_named_argument(list, inner) : is_named(list, last))) {
        return true;
      }
    } else {
      if (c == ';' && is_named(list, last)) {
        return true;
      }
      is_typedef &= c != ';';
      ++rest.at;
    }
  }
  return false;
}

/** Finds the parts that a kernel needs, directly or by others. */
static void find_needed(part_list *list) {
  static const char kernel[] = "__kernel";
  const span word = {kernel, kernel + sizeof kernel - 1};
  for (size_t n = 0; n < list->count; ++n) {
    list->parts[n].is_needed = names(list->parts[n].text, word);
  }
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (size_t n = 0; n < list->count; ++n) {
      part *each = &list->parts[n];
      if (!each->is_needed && declares_named(list, each->text)) {
        each->is_needed = has_changed = true;
      }
    }
  }
}

static bool is_define_line(span text) {
  return begins_with(text, "#define") &&
         memchr(text.at, '\n', (size_t)(text.end - text.at)) == text.end - 1;
}

static rlo_status append_needed(rlo__str *out, const char *text) {
  part_list list = {NULL, 0, 0};
  span rest = {text, text + strlen(text)};
  rlo_status status = RLO_OK;
  while (rest.at < rest.end && status == RLO_OK) {
    status = rlo__array_reserve(&list.parts, sizeof *list.parts, list.count + 1, &list.capacity);
    if (status == RLO_OK) {
      list.parts[list.count++].text = take_part(&rest);
    }
  }
  find_needed(&list);
  bool was_line = true;
  for (size_t n = 0; n < list.count; ++n) {
    if (list.parts[n].is_needed) {
      const bool is_line = is_define_line(list.parts[n].text);
      rlo__str_append(out, is_line && was_line ? "" : "\n");
      append_span(out, list.parts[n].text);
      was_line = is_line;
    }
  }
  rlo__free(list.parts);
  return status;
}

rlo_status rlo__kernel_text_append(rlo__str *out, const char *source, const char *options) {
  rlo__str resolved = rlo__str_growing();
  preprocessor p = {.out = &resolved};
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(append_constants(&p, options));
  RLO_TRY_GOTO(resolve(&p, (span){source, source + strlen(source)}));
  RLO_TRY_GOTO(rlo__str_status(&resolved));
  RLO_TRY_GOTO(append_needed(out, rlo__str_text(&resolved)));
fail:
  rlo__free(p.macros.macros);
  rlo__str_deinit(&resolved);
  return status;
}
