/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "io/text_parse.h"
#include "relayout/text.h"

/* The parts that were read so far. Parameters are two arrays of pointers, as
 * rlo_program_shape_create takes them. */
typedef struct parts {
  rlo_shape_tree **trees;
  char **names;
  size_t count;
  size_t tree_capacity, name_capacity;
  rlo_shape_tree *result;
} parts;

static void deinit(parts *list) {
  for (size_t i = 0; i < list->count; ++i) {
    rlo_shape_tree_release(list->trees[i]);
    rlo__free(list->names[i]);
  }
  rlo__free(list->trees);
  rlo__free(list->names);
  rlo_shape_tree_release(list->result);
}

/* NAME or '(' 'unknown' ')', which is the name "". */
static rlo_status parse_name(rlo__lexer *lexer, char **out_name) {
  if (rlo__lexer_is_at(lexer, "(")) {
    RLO_TRY(rlo__lexer_advance(lexer));
    RLO_TRY(rlo__lexer_expect(lexer, "unknown"));
    RLO_TRY(rlo__lexer_expect(lexer, ")"));
    *out_name = rlo__alloc_string("");
    return *out_name == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
  }
  if (lexer->token.kind != RLO__TOKEN_WORD) {
    return rlo__lexer_refuse(lexer, "the name of a parameter or '(unknown)'");
  }
  rlo__lexer_extend_name(lexer);
  char *name = rlo__alloc(lexer->token.length + 1);
  if (name == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(name, lexer->text + lexer->token.position, lexer->token.length);
  *out_name = name;
  return rlo__lexer_advance(lexer);
}

/* '(' [name ':' shape {',' name ':' shape}] ')' */
static rlo_status parse_parameters(rlo__lexer *lexer, parts *list) {
  RLO_TRY(rlo__lexer_expect(lexer, "("));
  while (list->count > 0 || !rlo__lexer_is_at(lexer, ")")) {
    RLO_TRY(rlo__array_reserve(&list->trees,
                               sizeof(rlo_shape_tree *),
                               list->count + 1,
                               &list->tree_capacity));
    RLO_TRY(rlo__array_reserve(
        &list->names, sizeof(char *), list->count + 1, &list->name_capacity));
    /* Counted before it is read: what a failure leaves is freed with it. */
    size_t at = list->count++;
    RLO_TRY(parse_name(lexer, &list->names[at]));
    RLO_TRY(rlo__lexer_expect(lexer, ":"));
    RLO_TRY(rlo__text_parse_tree(lexer, &list->trees[at]));
    if (!rlo__lexer_is_at(lexer, ",")) {
      break;
    }
    RLO_TRY(rlo__lexer_advance(lexer));
  }
  if (!rlo__lexer_is_at(lexer, ")")) {
    return rlo__lexer_refuse(lexer, "',' or ')'");
  }
  return rlo__lexer_advance(lexer);
}

static rlo_status parse_program(rlo__lexer *lexer,
                                parts *list,
                                rlo_program_shape **out_program) {
  RLO_TRY(parse_parameters(lexer, list));
  RLO_TRY(rlo__lexer_expect(lexer, "->"));
  RLO_TRY(rlo__text_parse_tree(lexer, &list->result));
  RLO_TRY(rlo__lexer_expect_end(lexer));
  return rlo_program_shape_create(list->trees,
                                  (const char *const *)list->names,
                                  (int64_t)list->count,
                                  list->result,
                                  out_program);
}

rlo_status rlo_program_shape_parse(const char *text,
                                   size_t text_bytes,
                                   rlo_program_shape **out_program) {
  RLO_REQUIRE(out_program);
  *out_program = NULL;
  RLO_REQUIRE_LIST(text, text_bytes);
  rlo__lexer lexer;
  parts list;
  memset(&list, 0, sizeof list);
  RLO_TRY(rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_TREE_BYTES));
  rlo_status status = parse_program(&lexer, &list, out_program);
  /* The program holds references of its own. */
  deinit(&list);
  return status;
}
