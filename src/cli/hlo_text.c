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

/* -------------------------------------------------------------------- lines */

typedef struct reader {
  const char *path;
  FILE *file;
  /* The current line without its end, terminated; at most
   * RLO_TEXT_MAX_TREE_BYTES of it. */
  char *line;
  size_t length, capacity;
  int64_t number;
  /* Brackets that the whole line opens, less those that it closes, and the last
   * character that is no blank. */
  int64_t depth;
  char last;
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

/* The state within a line: brackets in strings and comments are none.
 */
typedef struct nesting {
  enum { IN_TEXT, IN_STRING, IN_COMMENT } in;

  char before;
  int64_t depth;
} nesting;

static void pass(nesting *n, char c) {
  char before = n->before;
  n->before = c;
  switch (n->in) {
    case IN_STRING:
      if (before == '\\') {
        n->before = '\0'; /* an escaped backslash escapes nothing */
      } else if (c == '"') {
        n->in = IN_TEXT;
      }
      return;
    case IN_COMMENT:
      if (before == '*' && c == '/') {
        n->in = IN_TEXT;
        n->before = '\0';
      }
      return;
    case IN_TEXT:
      break;
  }
  if (c == '"') {
    n->in = IN_STRING;
    n->before = '\0';
  } else if (before == '/' && c == '*') {
    n->in = IN_COMMENT;
    n->before = '\0';
  } else if (c == '(' || c == '[' || c == '{') {
    ++n->depth;
  } else if (c == ')' || c == ']' || c == '}') {
    --n->depth;
  }
}

static int keep(reader *r, char c) {
  if (r->length + 1 >= r->capacity) {
    size_t capacity = r->capacity == 0 ? 4096 : 2 * r->capacity;
    char *line = realloc(r->line, capacity);
    if (line == NULL) {
      return rlo__fail("cannot get %zu bytes of memory for line %" PRId64
                       " of %s",
                       capacity,
                       r->number,
                       r->path);
    }
    memset(line + r->capacity, 0, capacity - r->capacity);
    r->line = line;
    r->capacity = capacity;
  }
  r->line[r->length++] = c;
  r->line[r->length] = '\0';
  return RLO__EXIT_OK;
}

/* Reads the next line; *out_has_line is false at the end of the file. */
static int read_line(reader *r, bool *out_has_line) {
  nesting n = {.in = IN_TEXT};
  r->length = 0;
  r->last = '\0';
  ++r->number;
  int c = getc_unlocked(r->file);
  *out_has_line = c != EOF;
  r->number -= c == EOF;
  for (; c != EOF && c != '\n'; c = getc_unlocked(r->file)) {
    pass(&n, (char)c);
    if (c != ' ' && c != '\t' && c != '\r') {
      r->last = (char)c;
    }
    if (r->length < RLO_TEXT_MAX_TREE_BYTES && c != '\0') {
      int code = keep(r, (char)c);
      if (code != RLO__EXIT_OK) {
        return code;
      }
    }
  }
  if (ferror(r->file)) {
    return rlo__fail("cannot read %s: %s", r->path, strerror(errno));
  }
  while (r->length > 0 && strchr(" \t\r", r->line[r->length - 1]) != NULL) {
    --r->length;
  }
  r->depth = n.depth;
  if (r->length == 0) {
    int code = keep(r, ' ');
    if (code != RLO__EXIT_OK) {
      return code;
    }
    r->length = 0;
  }
  r->line[r->length] = '\0';
  return RLO__EXIT_OK;
}

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

static char *skip_blanks(char *at) {
  while (*at == ' ' || *at == '\t') {
    ++at;
  }
  return at;
}

/* Characters of names of instructions and computations, and of opcodes. */
static bool is_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '$';
}

/* Returns whether the text begins with a word, and none that goes on. */
static bool begins_with(const char *at, const char *word) {
  size_t length = strlen(word);
  return strncmp(at, word, length) == 0 && !is_in_name(at[length]);
}

static char *name_end(char *at) {
  while (is_in_name(*at)) {
    ++at;
  }
  return at;
}

/* The first character at `depth` 0, from `at` on, for which brackets close or
 * which is in `stops`; the end of the line if there is none. */
static char *outer_end(char *at, const char *stops) {
  nesting n = {.in = IN_TEXT};
  for (; *at != '\0'; ++at) {
    if (n.in == IN_TEXT && n.depth == 0 && strchr(stops, *at) != NULL) {
      return at;
    }
    pass(&n, *at);
    if (n.depth < 0) {
      return at;
    }
  }
  return at;
}

/* Finds `NAME=` outside of strings and brackets; NULL if it is not there. */
static char *find_attribute(char *at, const char *name) {
  size_t length = strlen(name);
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
static rlo_shape_tree *parse_shape(reader *r,
                                   const char *what,
                                   const char *at,
                                   const char *end) {
  rlo_shape_tree *tree = NULL;
  if (rlo_shape_tree_parse(at, (size_t)(end - at), &tree) != RLO_OK) {
    report(
        r, r->number, "the shape of %s: %s", what, rlo_error_last()->message);
  }
  return tree;
}

/* ------------------------------------------------------------------ modules */

/* "{(f32[2]{0})->f32[2]{0}}" */
static bool parse_entry(reader *r,
                        char *at,
                        rlo_shape_tree **out_parameters,
                        rlo_shape_tree **out_result) {
  at = skip_blanks(at + (*at == '{'));
  char *arrow = *at == '(' ? outer_end(at + 1, "") : at;
  arrow += *arrow == ')';
  char *result = skip_blanks(arrow);
  if (*at != '(' || strncmp(result, "->", 2) != 0) {
    report(r,
           r->number,
           "expected entry_computation_layout={(SHAPE, ...)->SHAPE}");
    return false;
  }
  result = skip_blanks(result + 2);
  *out_parameters = parse_shape(r, "the parameters", at, arrow);
  *out_result = parse_shape(r, "the result", result, outer_end(result, ""));
  return *out_parameters != NULL && *out_result != NULL;
}

static int begin_module(reader *r, char *at) {
  at = skip_blanks(at);
  char *end = at + strcspn(at, ", \t");
  char *entry =
      *end == '\0' ? NULL : find_attribute(end + 1, "entry_computation_layout");
  *end = '\0';
  if (*at == '\0') {
    report(r, r->number, "expected the name of a module after HloModule");
    return RLO__EXIT_OK;
  }
  rlo_shape_tree *parameters = NULL;
  rlo_shape_tree *result = NULL;
  int code = RLO__EXIT_OK;
  if (entry == NULL || parse_entry(r, entry, &parameters, &result)) {
    code = r->visitor->begin_module(r->payload, at, parameters, result);
  } else {
    code = r->visitor->begin_module(r->payload, at, NULL, NULL);
  }
  rlo_shape_tree_release(parameters);
  rlo_shape_tree_release(result);
  return code;
}

/* "%name (p: f32[2]) -> f32[2] {", "ENTRY name {" */
static int begin_computation(reader *r, char *at) {
  if (begins_with(at, "ENTRY")) {
    at = skip_blanks(at + strlen("ENTRY"));
  }
  at += *at == '%';
  char *end = name_end(at);
  if (end == at || (*end != ' ' && *end != '(' && *end != '{')) {
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

/* Finds the end of "NAME = " and of NAME; false if there is none. Attributes
 * have no blank before the '='. */
static bool find_name(char *at,
                      char **out_name,
                      char **out_end,
                      char **out_rest) {
  if (begins_with(at, "ROOT")) {
    at = skip_blanks(at + strlen("ROOT"));
  }
  at += *at == '%';
  char *end = name_end(at);
  char *equals = skip_blanks(end);
  *out_name = at;
  *out_end = end;
  *out_rest = skip_blanks(equals + (*equals != '\0'));
  return end > at && equals > end && *equals == '=';
}

static int add_instruction(reader *r, char *at) {
  char *name;
  char *end;
  char *shape;
  if (!find_name(at, &name, &end, &shape)) {
    report(r, r->number, "expected NAME = SHAPE OPCODE(...) or '}'");
    return RLO__EXIT_OK;
  }
  *end = '\0';
  char *shape_end = outer_end(shape, " \t");
  char *opcode = skip_blanks(shape_end);
  char *opcode_end = name_end(opcode);
  if (opcode_end == opcode || *opcode_end != '(') {
    report(
        r, r->number, "expected an opcode and '(' after the shape of %s", name);
    return RLO__EXIT_OK;
  }
  r->open_brackets = r->depth > 0 ? r->depth : 0;
  r->has_comma = r->last == ',';
  r->open_line = r->number;
  char what[256];
  snprintf(what, sizeof(what), "%s", name);
  rlo_shape_tree *tree = parse_shape(r, what, shape, shape_end);
  if (tree == NULL) {
    return RLO__EXIT_OK;
  }
  char *operands_end = outer_end(opcode_end + 1, "");
  *opcode_end = '\0';
  rlo__hlo_instruction instruction = {
      .line = r->number, .name = name, .opcode = opcode, .shape = tree};
  char *callee = NULL;
  if (strcmp(opcode, "fusion") == 0 && *operands_end == ')') {
    callee = find_attribute(operands_end + 1 + strspn(operands_end + 1, ", "),
                            "calls");
  }
  if (callee != NULL) {
    callee += *callee == '%';
    *name_end(callee) = '\0';
    instruction.fused_computation = callee;
  }
  int code = r->visitor->add_instruction(r->payload, &instruction);
  rlo_shape_tree_release(tree);
  return code;
}

/* "}", "}, execution_thread=..." */
static bool ends_computation(const char *at) {
  return *at == '}' && (at[1] == '\0' || at[1] == ',' || at[1] == ' ');
}

/* A line of an instruction that was begun before. *out_goes_on: it is no more
 * than that. */
static void continue_instruction(reader *r, char *at, bool *out_goes_on) {
  char *name;
  char *end;
  char *rest;
  *out_goes_on = r->open_brackets > 0 || r->has_comma;
  if (!*out_goes_on) {
    return;
  }
  /* The values of a constant have braces too, but not in the first column. */
  if (ends_computation(r->line) || find_name(at, &name, &end, &rest)) {
    report(r, r->open_line, "this instruction does not end");
    r->open_brackets = 0;
    r->has_comma = false;
    *out_goes_on = false;
    return;
  }
  r->open_brackets += r->depth;
  r->has_comma = r->last == ',';
}

/* --------------------------------------------------------------------- file */

/* The tables of source locations: their titles, and lines that begin with a
 * number. */
static bool is_of_table(const char *at) {
  static const char *const titles[] = {
      "FileNames", "FunctionNames", "FileLocations", "StackFrames"};
  for (size_t n = 0; n < sizeof(titles) / sizeof(titles[0]); ++n) {
    if (strcmp(at, titles[n]) == 0) {
      return true;
    }
  }
  return *at >= '0' && *at <= '9';
}

static int take_line(reader *r) {
  char *at = skip_blanks(r->line);
  bool goes_on = false;
  if (*at == '\0' || strncmp(at, "//", 2) == 0) {
    return RLO__EXIT_OK;
  }
  continue_instruction(r, at, &goes_on);
  if (goes_on) {
    return RLO__EXIT_OK;
  }
  if (begins_with(at, "HloModule")) {
    if (r->is_in_computation) {
      report(r, r->number, "a module begins before the last computation ends");
    }
    r->is_in_computation = false;
    return begin_module(r, at + strlen("HloModule"));
  }
  if (r->is_in_computation && ends_computation(at)) {
    r->is_in_computation = false;
    return RLO__EXIT_OK;
  }
  if (r->is_in_computation) {
    return add_instruction(r, at);
  }
  if (r->last == '{') {
    return begin_computation(r, at);
  }
  if (!is_of_table(at)) {
    report(r,
           r->number,
           "expected HloModule, a computation or a table of source locations");
  }
  return RLO__EXIT_OK;
}

static int read_file(reader *r) {
  bool has_line = true;
  int code = RLO__EXIT_OK;
  while (code == RLO__EXIT_OK && has_line) {
    code = read_line(r, &has_line);
    if (code == RLO__EXIT_OK && has_line) {
      code = take_line(r);
    }
  }
  if (code == RLO__EXIT_OK && (r->open_brackets > 0 || r->has_comma)) {
    report(r, r->open_line, "this instruction does not end");
  }
  if (code == RLO__EXIT_OK && r->is_in_computation) {
    report(r, r->number, "the file ends before its last computation does");
  }
  if (r->bad_lines > MAX_REPORTS) {
    rlo__fail("%" PRId64 " more lines of %s are no HLO",
              r->bad_lines - MAX_REPORTS,
              r->path);
  }
  return code;
}

int rlo__hlo_read(const char *path,
                  const rlo__hlo_visitor *visitor,
                  void *payload,
                  int64_t *out_bad_lines) {
  bool is_stdin = strcmp(path, "-") == 0;
  reader r = {.path = is_stdin ? "standard input" : path,
              .file = is_stdin ? stdin : fopen(path, "re"),
              .visitor = visitor,
              .payload = payload};
  *out_bad_lines = 0;
  if (r.file == NULL) {
    return rlo__fail("cannot open %s: %s", path, strerror(errno));
  }
  int code = read_file(&r);
  *out_bad_lines = r.bad_lines;
  if (!is_stdin) {
    fclose(r.file);
  }
  free(r.line);
  return code;
}
