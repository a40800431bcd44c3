/* SPDX-License-Identifier: Apache-2.0 */
#include "hlo_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/text.h"

#include "base/sentence.h"
#include "message.h"

/* Bad lines that are reported one by one. */
#define MAX_REPORTS 20

typedef struct reader {
  const char *path;
  FILE *file;
  /* The current line without the blanks at its end. */
  char *line;
  size_t capacity;
  int64_t number;
  int64_t bad_lines;

  const rlo__hlo_visitor *visitor;
  void *payload;
  bool is_in_computation;
  /* Brackets that the last instruction has left open, and whether it ended with
   * a comma: it goes on. */
  int64_t open_brackets;
  bool has_comma;
  int64_t open_line;
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

/* Passes over a string, a comment or another character. */
static char *pass(char *at) {
  if (*at == '"') {
    for (++at; *at != '\0' && *at != '"'; ++at) {
      at += at[0] == '\\' && at[1] != '\0';
    }
  } else if (at[0] == '/' && at[1] == '*') {
    char *end = strstr(at + 2, "*/");
    return end == NULL ? at + strlen(at) : end + 2;
  }
  return at + (*at != '\0');
}

/* The brackets that a line opens, less those that it closes. */
static int64_t count_open_brackets(char *at) {
  int64_t depth = 0;
  for (; *at != '\0'; at = pass(at)) {
    depth += nesting_of(*at);
  }
  return depth;
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

static int begin_module(reader *r, char *at) {
  char *end = at + strcspn(at, ", \t");
  char *entry = *end == '\0' ? NULL : find_attribute(end + 1, "entry_computation_layout");
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

/* "%name (p: f32[2]) -> f32[2] {", "ENTRY name {" */
static int begin_computation(reader *r, char *at) {
  at = skip_word(at, "ENTRY");
  at += *at == '%';
  char *end = name_end(at);
  if (end == at || strchr(" ({", *end) == NULL) {
    report(r, r->number, "expected the name of a computation before '{'");
    end = at;
  }
  r->is_in_computation = true;
  r->open_brackets = 0;
  r->has_comma = false;
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

/* Notes how much of an instruction is still to come. */
static void leave_open(reader *r, int64_t brackets, const char *line) {
  r->open_brackets = brackets > 0 ? brackets : 0;
  r->has_comma = line[strlen(line) - 1] == ',';
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

static int add_instruction(reader *r, char *at) {
  char *end;
  char *shape;
  char *name = find_name(at, &end, &shape);
  if (name == NULL) {
    report(r, r->number, "expected NAME = SHAPE OPCODE(...) or '}'");
    return RLO__EXIT_OK;
  }
  *end = '\0';
  char *shape_end = outer_end(shape, " \t");
  char *opcode = skip_blanks(shape_end);
  char *opcode_end = name_end(opcode);
  if (opcode_end == opcode || *opcode_end != '(') {
    report(r, r->number, "expected an opcode and '(' after the shape of %s", name);
    return RLO__EXIT_OK;
  }
  leave_open(r, count_open_brackets(shape), shape);
  r->open_line = r->number;
  rlo_shape_tree *tree = parse_shape(r, name, shape, shape_end);
  if (tree == NULL) {
    return RLO__EXIT_OK;
  }
  char *operands_end = outer_end(opcode_end + 1, "");
  *opcode_end = '\0';
  const rlo__hlo_instruction instruction = {
      .line = r->number,
      .name = name,
      .opcode = opcode,
      .shape = tree,
      .fused_computation = strcmp(opcode, "fusion") == 0 ? find_fused(operands_end) : NULL};
  const int code = r->visitor->add_instruction(r->payload, &instruction);
  rlo_shape_tree_release(tree);
  return code;
}

/* "}", "}, execution_thread=..." */
static bool ends_computation(const char *at) {
  return *at == '}' && (at[1] == '\0' || at[1] == ',' || at[1] == ' ');
}

/* Returns whether a line is no more than a part of the instruction before. */
static bool continues_instruction(reader *r, char *at) {
  char *end;
  char *rest;
  if (r->open_brackets == 0 && !r->has_comma) {
    return false;
  }
  /* The values of a constant have braces too, but not in the first column. */
  if (ends_computation(r->line) || find_name(at, &end, &rest) != NULL) {
    report(r, r->open_line, "this instruction does not end");
    r->open_brackets = 0;
    r->has_comma = false;
    return false;
  }
  leave_open(r, r->open_brackets + count_open_brackets(at), at);
  return true;
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

static int take_line(reader *r) {
  char *at = skip_blanks(r->line);
  if (*at == '\0' || strncmp(at, "//", 2) == 0 || continues_instruction(r, at)) {
    return RLO__EXIT_OK;
  }
  char *module = skip_word(at, "HloModule");
  if (module != at) {
    if (r->is_in_computation) {
      report(r, r->number, "a module begins before the last computation ends");
    }
    r->is_in_computation = false;
    return begin_module(r, module);
  }
  if (r->is_in_computation && ends_computation(at)) {
    r->is_in_computation = false;
    return RLO__EXIT_OK;
  }
  if (r->is_in_computation) {
    return add_instruction(r, at);
  }
  if (at[strlen(at) - 1] == '{') {
    return begin_computation(r, at);
  }
  if (!is_of_table(at)) {
    report(r, r->number, "expected HloModule, a computation or a table of source locations");
  }
  return RLO__EXIT_OK;
}

static int read_lines(reader *r) {
  ssize_t length = getline(&r->line, &r->capacity, r->file);
  for (; length >= 0; length = getline(&r->line, &r->capacity, r->file)) {
    ++r->number;
    if (strlen(r->line) < (size_t)length) {
      report(r, r->number, "expected text, found a byte of zeros");
      continue;
    }
    while (length > 0 && strchr(" \t\r\n", r->line[length - 1]) != NULL) {
      --length;
    }
    r->line[length] = '\0';
    RLO__EXIT_TRY(take_line(r));
  }
  return feof(r->file) ? RLO__EXIT_OK : rlo__fail("cannot read %s: %s", r->path, strerror(errno));
}

static int read_file(reader *r) {
  const int code = read_lines(r);
  if (code == RLO__EXIT_OK && (r->open_brackets > 0 || r->has_comma)) {
    report(r, r->open_line, "this instruction does not end");
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
  if (r.file == NULL) {
    return rlo__fail("cannot open %s: %s", path, strerror(errno));
  }
  const int code = read_file(&r);
  *out_bad_lines = r.bad_lines;
  if (!is_stdin) {
    fclose(r.file);
  }
  free(r.line);
  return code;
}
