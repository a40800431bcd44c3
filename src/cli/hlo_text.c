/* SPDX-License-Identifier: Apache-2.0 */
#include "hlo_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/xla/text.h"

#include "base/sentence.h"
#include "message.h"

/* Bad lines that are reported one by one. */
#define MAX_REPORTS 20

/* Operands and attributes behind an opcode, or attributes alone. */
typedef struct tail {
  /* It may go on; a value has to come; its brackets, as many as are open, are
   * those of a nested computation. */
  bool is_open, is_value_due, is_nested;
  int64_t open_brackets;
  int64_t line;
} tail;

typedef struct reader {
  const char *path;
  FILE *file;
  /* The current line, without comments and the blanks at its end: in one of the
   * buffers, by turns, so that the line before it stays. */
  char *line;
  char *buffers[2];
  size_t capacities[2];
  int64_t number;
  int64_t bad_lines;

  const rlo__hlo_visitor *visitor;
  void *payload;
  bool is_in_computation, is_in_comment;
  tail tail;
} reader;

/* Reports a line that is no HLO; reading goes on. */
RLO_PRINTF(3, 4)

static void report(reader *r, int64_t line, const char *format, ...) {
  char sentence[RLO__SENTENCE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  (void)rlo__sentence_print(sentence, sizeof(sentence), format, arguments);
  va_end(arguments);
  if (++r->bad_lines <= MAX_REPORTS) {
    rlo__message_set_place(r->path, line);
    rlo__fail("%s", sentence);
    rlo__message_set_place(NULL, 0);
  }
}

/* ---------------------------------------------------------------- in a line */

/* Characters of names of instructions and computations, and of opcodes. */
static const char name_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$";

static char *skip_blanks(char *at) {
  return at + strspn(at, " \t");
}

static char *name_end(char *at) {
  return at + strspn(at, name_characters);
}

/* Passes over a word, and the blanks behind it, if the text begins with it. */
static char *skip_word(char *at, const char *word) {
  char *end = name_end(at);
  return (size_t)(end - at) == strlen(word) && strncmp(at, word, strlen(word)) == 0
             ? skip_blanks(end)
             : at;
}

/* Returns 1 for a bracket that opens, -1 for one that closes. */
static int nesting_of(char c) {
  return (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
}

/* Passes over a string or another character. */
static char *pass(char *at) {
  if (*at == '"') {
    for (++at; *at != '\0' && *at != '"'; ++at) {
      at += at[0] == '\\' && at[1] != '\0';
    }
  }
  return at + (*at != '\0');
}

/* Writes blanks over comments, which may go on in the next line. */
static void blank_comments(reader *r) {
  for (char *at = r->line; *at != '\0';) {
    if (r->is_in_comment || strncmp(at, "/*", 2) == 0) {
      char *end = strstr(at + (r->is_in_comment ? 0 : 2), "*/");
      r->is_in_comment = end == NULL;
      end = end == NULL ? at + strlen(at) : end + 2;
      memset(at, ' ', (size_t)(end - at));
      at = end;
    } else if (strncmp(at, "//", 2) == 0) {
      *at = '\0';
    } else {
      at = pass(at);
    }
  }
}

/* The first character at `depth` 0, from `at` on, for which brackets close or
 * which is in `stops`; the end of the line if there is none. */
static char *outer_end(char *at, const char *stops) {
  for (int64_t depth = 0; *at != '\0'; at = pass(at)) {
    depth += nesting_of(*at);
    if (depth < 0 || (depth == 0 && strchr(stops, *at) != NULL)) {
      break;
    }
  }
  return at;
}

/* Finds `NAME=` outside of strings and brackets; NULL if it is not there. */
static char *find_attribute(char *at, const char *name) {
  const size_t length = strlen(name);
  while (*at != '\0') {
    at = skip_blanks(at);
    if (strncmp(at, name, length) == 0 && at[length] == '=') {
      return at + length + 1;
    }
    at = outer_end(at, ",");
    at += *at != '\0';
  }
  return NULL;
}

/* Parses the shape from `at` up to `end`; reports it if it is none. */
static rlo_shape_tree *parse_shape(reader *r, const char *what, const char *at, const char *end) {
  rlo_shape_tree *tree = NULL;
  if (rlo_shape_tree_parse(at, (size_t)(end - at), &tree) != RLO_OK) {
    report(r, r->number, "the shape of %.255s: %s", what, rlo_error_last()->message);
  }
  return tree;
}

/* Reads the next line; false if there is none. */
static bool read_line(reader *r) {
  const size_t n = (size_t)(++r->number % 2);
  ssize_t length = getline(&r->buffers[n], &r->capacities[n], r->file);
  r->line = r->buffers[n];
  if (length < 0) {
    --r->number;
    return false;
  }
  if (strlen(r->line) < (size_t)length) {
    report(r, r->number, "expected text, found a byte of zeros");
    r->line[0] = '\0';
  }
  if (r->number == 1 && strncmp(r->line, "\xef\xbb\xbf", 3) == 0) {
    memset(r->line, ' ', 3);
  }
  blank_comments(r);
  length = (ssize_t)strlen(r->line);
  while (length > 0 && strchr(" \t\r\n", r->line[length - 1]) != NULL) {
    --length;
  }
  r->line[length] = '\0';
  return true;
}

/* -------------------------------------------------------------------- tails */

/* Ends a tail; reports it if there should be more of it. */
static void end_tail(reader *r) {
  if (r->tail.is_open && (r->tail.open_brackets > 0 || r->tail.is_value_due)) {
    report(r, r->tail.line, "this instruction does not end");
  }
  r->tail.is_open = false;
}

/* Passes over a word of a tail, or what is within its brackets: to the end of
 * the line, a blank or a comma. */
static char *skip_word_of_tail(reader *r, char *at) {
  while (*at != '\0' && (r->tail.open_brackets > 0 || strchr(" \t,})]", *at) == NULL)) {
    if (r->tail.open_brackets == 0) {
      r->tail.is_nested = *at == '{' && at[1] == '\0';
    }
    r->tail.open_brackets += nesting_of(*at);
    r->tail.is_value_due = *at == '=';
    at = pass(at);
  }
  return at;
}

/* Returns what is behind a tail; it may go on in the next line. Behind a comma or
 * "NAME=" there is more. */
static char *skip_tail(reader *r, char *at) {
  at = skip_blanks(at);
  while (r->tail.is_open && *at != '\0') {
    if (r->tail.open_brackets > 0 || (r->tail.is_value_due && strchr(",})]", *at) == NULL)) {
      at = skip_word_of_tail(r, at);
    } else if (*at == ',' && !r->tail.is_value_due) {
      r->tail.is_value_due = true;
      ++at;
    } else {
      end_tail(r);
    }
    at = skip_blanks(at);
  }
  return at;
}

/* ------------------------------------------------------------------ modules */

/* "{(f32[2]{0})->f32[2]{0}}" */
static void parse_entry(reader *r, char *at, rlo_shape_tree **out_parameters,
                        rlo_shape_tree **out_result) {
  at = skip_blanks(at + (*at == '{'));
  char *arrow = *at == '(' ? outer_end(at + 1, "") : at;
  arrow += *arrow == ')';
  char *result = skip_blanks(arrow);
  if (*at != '(' || strncmp(result, "->", 2) != 0) {
    report(r, r->number, "expected entry_computation_layout={(SHAPE, ...)->SHAPE}");
    return;
  }
  result = skip_blanks(result + 2);
  *out_parameters = parse_shape(r, "the parameters", at, arrow);
  *out_result = parse_shape(r, "the result", result, outer_end(result, ""));
}

static int begin_module(reader *r, char *at, char **out_rest) {
  char *end = at + strcspn(at, ", \t");
  char *entry = *end == '\0' ? NULL : find_attribute(end + 1, "entry_computation_layout");
  r->tail = (tail){.is_open = true, .line = r->number};
  *out_rest = skip_tail(r, end);
  *end = '\0';
  if (*at == '\0') {
    report(r, r->number, "expected the name of a module after HloModule");
    return RLO__EXIT_OK;
  }
  rlo_shape_tree *parameters = NULL;
  rlo_shape_tree *result = NULL;
  if (entry != NULL) {
    parse_entry(r, entry, &parameters, &result);
  }
  const bool has_entry = parameters != NULL && result != NULL;
  const int code = r->visitor->begin_module(r->payload, at, has_entry ? parameters : NULL,
                                            has_entry ? result : NULL);
  rlo_shape_tree_release(parameters);
  rlo_shape_tree_release(result);
  return code;
}

/* "%name (p: f32[2]) -> f32[2] {", "ENTRY name {"; `body` is the '{'. */
static int begin_computation(reader *r, char *at, const char *body) {
  at = skip_word(at, "ENTRY");
  at += *at == '%';
  char *end = name_end(at);
  if (end == at || (end != body && *skip_blanks(end) != '(' && skip_blanks(end) != body)) {
    report(r, r->number, "expected the name of a computation before '{'");
    end = at;
  }
  r->is_in_computation = true;
  *end = '\0';
  return r->visitor->begin_computation(r->payload, at);
}

/* ------------------------------------------------------------- instructions */

/* Finds the name in "NAME = ", its end and what follows; NULL if it is not
 * there. Attributes have no blank before the '='. */
static char *find_name(char *at, char **out_end, char **out_rest) {
  at = skip_word(at, "ROOT");
  at += *at == '%';
  *out_end = name_end(at);
  char *equals = skip_blanks(*out_end);
  if (*out_end == at || equals == *out_end || *equals != '=') {
    return NULL;
  }
  *out_rest = skip_blanks(equals + 1);
  return at;
}

static bool begins_instruction(char *at) {
  char *end;
  char *rest;
  return find_name(at, &end, &rest) != NULL;
}

/* The computation that a fusion calls, from behind its operands on; else
 * NULL. */
static char *find_fused(char *at) {
  char *callee = *at == ')' ? find_attribute(at + 1 + strspn(at + 1, ", "), "calls") : NULL;
  if (callee != NULL) {
    callee += *callee == '%';
    *name_end(callee) = '\0';
  }
  return callee;
}

/* "}", "}, execution_thread=..." */
static bool ends_computation(const char *at) {
  return *at == '}' && (at[1] == '\0' || at[1] == ',' || at[1] == ' ');
}

/* Takes the instruction with which the rest of a line begins; its opcode may be
 * in the next line. */
static int add_instruction(reader *r, char *at, char **out_rest) {
  const int64_t line = r->number;
  char *end;
  char *shape;
  char *name = find_name(at, &end, &shape);
  if (name == NULL) {
    report(r, r->number, "expected NAME = SHAPE OPCODE(...) or '}'");
    return RLO__EXIT_OK;
  }
  const bool has_shape = name_end(shape) == shape || *name_end(shape) != '(';
  char *shape_end = has_shape ? outer_end(shape, " \t") : shape;
  char *opcode = skip_blanks(shape_end);
  if (*opcode == '\0' && read_line(r)) {
    opcode = skip_blanks(r->line);
    *out_rest = opcode;
  }
  char *opcode_end = name_end(opcode);
  *end = '\0';
  if (opcode_end == opcode || *opcode_end != '(') {
    report(r, line, "expected an opcode and '(' after the shape of %s", name);
    return RLO__EXIT_OK;
  }
  r->tail = (tail){.is_open = true, .open_brackets = 1, .line = line};
  *out_rest = skip_tail(r, opcode_end + 1);
  rlo_shape_tree *tree = has_shape ? parse_shape(r, name, shape, shape_end) : NULL;
  if (has_shape && tree == NULL) {
    return RLO__EXIT_OK;
  }
  *opcode_end = '\0';
  const char next = **out_rest;
  const rlo__hlo_instruction instruction = {
      .line = line,
      .name = name,
      .opcode = opcode,
      .shape = tree,
      .fused_computation =
          strcmp(opcode, "fusion") == 0 ? find_fused(outer_end(opcode_end + 1, "")) : NULL};
  const int code = r->visitor->add_instruction(r->payload, &instruction);
  **out_rest = next;
  rlo_shape_tree_release(tree);
  return code;
}

/* --------------------------------------------------------------------- file */

/* The tables of source locations: their titles, and lines that begin with a
 * number. */
static bool is_of_table(const char *at) {
  static const char *const titles[] = {"FileNames", "FunctionNames", "FileLocations",
                                       "StackFrames"};
  for (size_t n = 0; n < sizeof(titles) / sizeof(titles[0]); ++n) {
    if (strcmp(at, titles[n]) == 0) {
      return true;
    }
  }
  return *at >= '0' && *at <= '9';
}

/* The '{' behind NAME, or behind NAME (PARAMETERS) -> SHAPE, whose layout has
 * braces too; the end of the line if there is none. */
static char *find_body(char *at) {
  at = skip_word(at, "ENTRY");
  at = skip_blanks(name_end(at + (*at == '%')));
  while (*at != '\0' && *at != '{') {
    at = skip_blanks(outer_end(pass(at), " \t"));
  }
  return at;
}

/* Takes what the rest of a line begins with, the whole of it by default. */
static int take_piece(reader *r, char *at, char **out_rest) {
  char *module = skip_word(at, "HloModule");
  *out_rest = at + strlen(at);
  if (module != at) {
    if (r->is_in_computation) {
      report(r, r->number, "a module begins before the last computation ends");
    }
    r->is_in_computation = false;
    return begin_module(r, module, out_rest);
  }
  if (r->is_in_computation && ends_computation(at)) {
    r->is_in_computation = false;
    r->tail = (tail){.is_open = true, .line = r->number};
    *out_rest = at + 1;
    return RLO__EXIT_OK;
  }
  if (r->is_in_computation) {
    return add_instruction(r, at, out_rest);
  }
  char *body = find_body(at);
  if (is_of_table(at)) {
    return RLO__EXIT_OK;
  }
  if (*body == '{') {
    *out_rest = body + 1;
    return begin_computation(r, at, body);
  }
  report(r, r->number, "expected HloModule, a computation or a table of source locations");
  return RLO__EXIT_OK;
}

static int take_line(reader *r) {
  char *at = skip_blanks(r->line);
  /* The values of a constant have braces too, but not in the first column. */
  if (!r->tail.is_nested && (ends_computation(r->line) || begins_instruction(at))) {
    end_tail(r);
  }
  at = skip_tail(r, at);
  while (*at != '\0') {
    RLO__EXIT_TRY(take_piece(r, at, &at));
    at = skip_tail(r, at);
  }
  return RLO__EXIT_OK;
}

static int read_lines(reader *r) {
  while (read_line(r)) {
    RLO__EXIT_TRY(take_line(r));
  }
  return feof(r->file) ? RLO__EXIT_OK : rlo__fail("cannot read %s: %s", r->path, strerror(errno));
}

static int read_file(reader *r) {
  const int code = read_lines(r);
  if (code == RLO__EXIT_OK) {
    end_tail(r);
  }
  if (code == RLO__EXIT_OK && r->is_in_comment) {
    report(r, r->number, "the file ends within a comment");
  }
  if (code == RLO__EXIT_OK && r->is_in_computation) {
    report(r, r->number, "the file ends before its last computation does");
  }
  if (r->bad_lines > MAX_REPORTS) {
    rlo__fail("%" PRId64 " more lines of %s are no HLO", r->bad_lines - MAX_REPORTS, r->path);
  }
  return code;
}

int rlo__hlo_read(const char *path, const rlo__hlo_visitor *visitor, void *payload,
                  int64_t *out_bad_lines) {
  const bool is_stdin = strcmp(path, "-") == 0;
  reader r = {.path = is_stdin ? "standard input" : path,
              .file = is_stdin ? stdin : fopen(path, "re"),
              .visitor = visitor,
              .payload = payload};
  *out_bad_lines = 0;
  RLO__EXIT_IF(r.file == NULL, "cannot open %s: %s", path, strerror(errno));
  const int code = read_file(&r);
  *out_bad_lines = r.bad_lines;
  if (!is_stdin) {
    fclose(r.file);
  }
  free(r.buffers[0]);
  free(r.buffers[1]);
  return code;
}
