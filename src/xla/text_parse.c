/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "relayout/xla/text.h"
#include "text/array.h"
#include "xla/shape_tree.h"

/* The parser has room for one array: the recursion takes little stack. */
typedef struct tree_parser {
  rlo__text_parser array;
  int64_t num_nodes;
} tree_parser;

static rlo_status parse_array(tree_parser *t, rlo_shape_kind kind, const char *expected,
                              rlo_shape_tree **out_tree) {
  rlo__text_parser *p = &t->array;
  rlo__lexer *lexer = p->lexer;
  size_t position = lexer->token.position;
  memset(p, 0, sizeof *p);
  p->lexer = lexer;
  RLO_TRY(rlo__text_parse_array(p, expected));
  RLO_TRY(rlo__status_prefix(rlo__text_finish_array(p), "position %zu: ", position));
  return rlo__tree_make_leaf(kind, &p->shape, out_tree);
}

/* 'token' '[' ']' or 'opaque' '[' ']' */
static rlo_status parse_empty(rlo__lexer *lexer, rlo_shape_kind kind, rlo_shape_tree **out_tree) {
  RLO_TRY(rlo__lexer_advance(lexer));
  RLO_TRY(rlo__lexer_expect(lexer, "["));
  RLO_TRY(rlo__lexer_expect(lexer, "]"));
  return rlo__tree_make_leaf(kind, NULL, out_tree);
}

static rlo_status parse_leaf(tree_parser *t, rlo_shape_tree **out_tree) {
  rlo__lexer *lexer = t->array.lexer;
  if (rlo__lexer_is_at(lexer, "token")) {
    return parse_empty(lexer, RLO_SHAPE_KIND_TOKEN, out_tree);
  }
  if (rlo__lexer_is_at(lexer, "opaque") || rlo__lexer_is_at(lexer, "opaque_type")) {
    return parse_empty(lexer, RLO_SHAPE_KIND_OPAQUE, out_tree);
  }
  if (rlo__lexer_is_at(lexer, "b")) {
    RLO_TRY(rlo__lexer_advance(lexer));
    RLO_TRY(rlo__lexer_expect(lexer, "("));
    RLO_TRY(parse_array(t, RLO_SHAPE_KIND_BUFFER, "the array of a buffer", out_tree));
    return rlo__lexer_expect(lexer, ")");
  }
  return parse_array(t, RLO_SHAPE_KIND_ARRAY, "an element type, token, opaque, b(...) or '('",
                     out_tree);
}

/* Parses a shape that stands within `depth` tuples. On failure *out_tree may be
 * a tree. */
static rlo_status parse_subshape(tree_parser *t, int32_t depth, rlo_shape_tree **out_tree);

/* The elements of a tuple that were read so far. */
typedef struct elements {
  tree_parser *parser;
  int32_t depth;
  rlo_shape_tree **trees;
  size_t count, capacity;
} elements;

static rlo_status parse_element(rlo__lexer *lexer, void *payload) {
  elements *list = payload;
  (void)lexer;
  RLO_TRY(
      rlo__array_reserve(&list->trees, sizeof(rlo_shape_tree *), list->count + 1, &list->capacity));
  return parse_subshape(list->parser, list->depth, &list->trees[list->count++]);
}

static rlo_status parse_tuple(tree_parser *t, int32_t depth, rlo_shape_tree **out_tree) {
  elements list = {.parser = t, .depth = depth + 1};
  rlo_status status = rlo__lexer_read_list(t->array.lexer, "()", parse_element, &list);
  if (status == RLO_OK) {
    status = rlo_shape_tree_make_tuple((const rlo_shape_tree *const *)list.trees,
                                       (int64_t)list.count, out_tree);
  }
  while (list.count > 0) {
    rlo_shape_tree_release(list.trees[--list.count]);
  }
  rlo__free(list.trees);
  return status;
}

static rlo_status parse_subshape(tree_parser *t, int32_t depth, rlo_shape_tree **out_tree) {
  const rlo__lexer *lexer = t->array.lexer;
  RLO_TRY(rlo__status_prefix(rlo__tree_check(++t->num_nodes, depth),
                             "position %zu: ", lexer->token.position));
  return rlo__lexer_is_at(lexer, "(") ? parse_tuple(t, depth, out_tree) : parse_leaf(t, out_tree);
}

static rlo_status parse_tree(rlo__lexer *lexer, rlo_shape_tree **out_tree) {
  tree_parser t = {.array = {.lexer = lexer}};
  rlo_shape_tree *tree = NULL;
  rlo_status status = parse_subshape(&t, 0, &tree);
  if (status == RLO_OK) {
    *out_tree = tree;
  } else {
    rlo_shape_tree_release(tree);
  }
  return status;
}

rlo_status rlo_shape_tree_parse(const char *text, size_t text_bytes, rlo_shape_tree **out_tree) {
  RLO_REQUIRE(out_tree);
  *out_tree = NULL;
  RLO_REQUIRE_LIST(text, text_bytes);
  rlo__lexer lexer;
  RLO_TRY(rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_TREE_BYTES));
  RLO_TRY(parse_tree(&lexer, out_tree));
  rlo_status status = rlo__lexer_expect_end(&lexer);
  if (status != RLO_OK) {
    rlo_shape_tree_release(*out_tree);
    *out_tree = NULL;
  }
  return status;
}

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
  RLO_TRY_MEMORY(name);
  memcpy(name, lexer->text + lexer->token.position, lexer->token.length);
  *out_name = name;
  return rlo__lexer_advance(lexer);
}

/* name ':' shape */
static rlo_status parse_parameter(rlo__lexer *lexer, void *payload) {
  parts *list = payload;
  RLO_TRY(rlo__array_reserve(&list->trees, sizeof(rlo_shape_tree *), list->count + 1,
                             &list->tree_capacity));
  RLO_TRY(rlo__array_reserve(&list->names, sizeof(char *), list->count + 1, &list->name_capacity));
  /* Counted before it is read: what a failure leaves is freed with it. */
  size_t at = list->count++;
  RLO_TRY(parse_name(lexer, &list->names[at]));
  RLO_TRY(rlo__lexer_expect(lexer, ":"));
  return parse_tree(lexer, &list->trees[at]);
}

static rlo_status parse_program(rlo__lexer *lexer, parts *list, rlo_program_shape **out_program) {
  RLO_TRY(rlo__lexer_read_list(lexer, "()", parse_parameter, list));
  RLO_TRY(rlo__lexer_expect(lexer, "->"));
  RLO_TRY(parse_tree(lexer, &list->result));
  RLO_TRY(rlo__lexer_expect_end(lexer));
  return rlo_program_shape_create(list->trees, (const char *const *)list->names,
                                  (int64_t)list->count, list->result, out_program);
}

rlo_status rlo_program_shape_parse(const char *text, size_t text_bytes,
                                   rlo_program_shape **out_program) {
  RLO_REQUIRE(out_program);
  *out_program = NULL;
  RLO_REQUIRE_LIST(text, text_bytes);
  rlo__lexer lexer;
  parts list = {.count = 0};
  RLO_TRY(rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_TREE_BYTES));
  rlo_status status = parse_program(&lexer, &list, out_program);
  /* The program holds references of its own. */
  deinit(&list);
  return status;
}

rlo_status rlo_bare_layout_parse(const char *text, size_t text_bytes, rlo_bare_layout *out_layout) {
  RLO_REQUIRE(out_layout);
  memset(out_layout, 0, sizeof *out_layout);
  RLO_REQUIRE_LIST(text, text_bytes);
  rlo__lexer lexer;
  rlo__text_parser p = {.lexer = &lexer, .is_bare = true, .parse_physical_shape = parse_tree};
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__lexer_begin(&lexer, text, text_bytes, RLO_TEXT_MAX_TREE_BYTES));
  RLO_TRY_GOTO(rlo__text_parse_layout(&p, true));
  RLO_TRY_GOTO(rlo__lexer_expect_end(&lexer));
  out_layout->rank = p.shape.rank;
  out_layout->layout = p.shape.layout;
  out_layout->physical_shape = p.physical_shape;
  return RLO_OK;

fail:
  rlo_shape_tree_release(p.physical_shape);
  return status;
}

void rlo_bare_layout_deinit(rlo_bare_layout *layout) {
  if (layout != NULL) {
    rlo_shape_tree_release(layout->physical_shape);
    memset(layout, 0, sizeof *layout);
  }
}

bool rlo_bare_layout_equal(const rlo_bare_layout *a, const rlo_bare_layout *b) {
  RLO_REQUIRE_OR(false, a, b);
  if (a->rank != b->rank || !rlo_layout_equal(&a->layout, &b->layout, a->rank)) {
    return false;
  }
  if (a->physical_shape == NULL || b->physical_shape == NULL) {
    return a->physical_shape == b->physical_shape;
  }
  return rlo_shape_tree_equal(a->physical_shape, b->physical_shape);
}
