/* SPDX-License-Identifier: Apache-2.0 */
/* memfd_create is no part of POSIX 2008. */
#define _GNU_SOURCE
#include "hlo_text.h"

#include "memory_file.h"
#include "message.h"
#include "relayout/xla/text.h"

typedef struct counts {
  int64_t modules, computations, instructions, last_line;
} counts;

static void check_tree(const rlo_shape_tree *tree) {
  size_t length = rlo_shape_tree_format(tree, NULL, 0);
  char *text = malloc(length + 1);
  FUZZ_CHECK(text != NULL);
  FUZZ_CHECK(rlo_shape_tree_format(tree, text, length + 1) == length);
  free(text);
}

static int begin_module(void *payload, const char *name, const rlo_shape_tree *parameters,
                        const rlo_shape_tree *result) {
  FUZZ_CHECK(name[0] != '\0');
  FUZZ_CHECK((parameters == NULL) == (result == NULL));
  if (parameters != NULL) {
    check_tree(parameters);
    check_tree(result);
  }
  ++((counts *)payload)->modules;
  return RLO__EXIT_OK;
}

static int begin_computation(void *payload, const char *name) {
  (void)strlen(name);
  ++((counts *)payload)->computations;
  return RLO__EXIT_OK;
}

static int add_instruction(void *payload, const rlo__hlo_instruction *i) {
  counts *c = payload;
  FUZZ_CHECK(i->name[0] != '\0' && i->opcode[0] != '\0');
  FUZZ_CHECK(i->line >= c->last_line);
  c->last_line = i->line;
  if (i->shape != NULL) {
    check_tree(i->shape);
  }
  if (i->fused_computation != NULL) {
    (void)strlen(i->fused_computation);
  }
  ++c->instructions;
  return RLO__EXIT_OK;
}

/* HLO text: every instruction is on a line of its own, and none beyond the end.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char messages[1 << 16];
  static const rlo__hlo_visitor visitor = {begin_module, begin_computation, add_instruction};
  messages[0] = '\0';
  rlo__message_hold(messages, sizeof(messages));
  int64_t num_lines = 1;
  for (size_t n = 0; n < size; ++n) {
    num_lines += data[n] == '\n';
  }
  memory_file file = memory_file_make(data, size);
  counts seen = {0};
  int64_t bad_lines = 0;
  FUZZ_CHECK(rlo__hlo_read(file.path, &visitor, &seen, &bad_lines) == RLO__EXIT_OK);
  FUZZ_CHECK(bad_lines >= 0 && (bad_lines > 0) == (messages[0] != '\0'));
  FUZZ_CHECK(seen.last_line <= num_lines);
  memory_file_close(&file);
  return 0;
}
