/* SPDX-License-Identifier: Apache-2.0 */
#include "model_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"

#include "model_case.h"

enum { MAX_ARGS = 4, MAX_NUMBERS = 40, MAX_STACK = 16 };

/* One word: its name and its arguments, each a list of numbers. */
typedef struct word {
  const char *name;
  int32_t num_args;
  int32_t counts[MAX_ARGS];
  int64_t lists[MAX_ARGS][MAX_NUMBERS];
  int32_t ints[MAX_ARGS][MAX_NUMBERS];
  uint8_t fill[16];
} word;

/* The chains that the words before have left, and the joins' shapes. */
typedef struct stack {
  int32_t count;
  rlo_chain *chains[MAX_STACK];
} stack;

static bool read_list(char *text, word *w) {
  int32_t a = w->num_args++;
  if (strncmp(text, "0x", 2) == 0) {
    w->fill[0] = (uint8_t)strtoul(text, NULL, 16);
    return true;
  }
  while (*text != '\0') {
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    if (end == text || w->counts[a] == MAX_NUMBERS) {
      return false;
    }
    w->ints[a][w->counts[a]] = (int32_t)value;
    w->lists[a][w->counts[a]++] = value;
    text = *end == ',' ? end + 1 : end;
  }
  return true;
}

static bool read_word(char *text, word *w) {
  memset(w, 0, sizeof *w);
  w->name = text;
  for (char *at = strchr(text, ':'); at != NULL;) {
    *at++ = '\0';
    char *next = strchr(at, ':');
    if (w->num_args == MAX_ARGS) {
      return false;
    }
    if (next != NULL) {
      *next = '\0';
    }
    if (!read_list(at, w)) {
      return false;
    }
    if (next != NULL) {
      *next = ':';
    }
    at = next;
  }
  return true;
}

/* Appends the operation of a word to a chain. */
static rlo_status append(const word *w, rlo_chain *x) {
  const char *name = w->name;
  const int64_t(*l)[MAX_NUMBERS] = w->lists;
  const int32_t(*i)[MAX_NUMBERS] = w->ints;
  if (strcmp(name, "transpose") == 0) {
    return rlo_chain_transpose(x, i[0]);
  }
  if (strcmp(name, "reshape") == 0) {
    return rlo_chain_reshape(x, l[0], w->counts[0]);
  }
  if (strcmp(name, "slice") == 0) {
    return rlo_chain_slice(x, l[0], l[1], l[2]);
  }
  if (strcmp(name, "pad") == 0) {
    return rlo_chain_pad(x, l[0], l[1], l[2], w->fill);
  }
  if (strcmp(name, "reverse") == 0) {
    return rlo_chain_reverse(x, i[0], w->counts[0]);
  }
  if (strcmp(name, "roll") == 0) {
    return rlo_chain_roll(x, l[0], i[1], w->counts[1]);
  }
  if (strcmp(name, "broadcast") == 0) {
    return rlo_chain_broadcast_in_dim(x, l[0], w->counts[0], i[1]);
  }
  if (strcmp(name, "tile") == 0) {
    return rlo_chain_tile(x, l[0]);
  }
  if (strcmp(name, "repeat") == 0) {
    return rlo_chain_repeat(x, l[0]);
  }
  if (strcmp(name, "split") == 0) {
    return rlo_chain_split(x, l[0], w->counts[0], i[1][0], i[2][0]);
  }
  if (strcmp(name, "unstack") == 0) {
    return rlo_chain_unstack(x, i[0][0], l[1][0]);
  }
  if (strcmp(name, "mirror") == 0) {
    return rlo_chain_mirror_pad(x, l[0], l[1], (rlo_mirror)i[2][0]);
  }
  if (strcmp(name, "s2d") == 0) {
    return rlo_chain_space_to_depth(x, l[0][0], i[1][0]);
  }
  if (strcmp(name, "d2s") == 0) {
    return rlo_chain_depth_to_space(x, l[0][0], i[1][0]);
  }
  if (strcmp(name, "s2b") == 0) {
    return rlo_chain_space_to_batch(x, l[0], l[1], l[2], w->counts[0]);
  }
  return rlo_chain_batch_to_space(x, l[0], l[1], l[2], w->counts[0]);
}

/* Concatenate or stack the last chains of the stack into the first of them. */
static rlo_status join(const word *w, stack *s) {
  int32_t count = w->ints[0][0];
  int32_t dim = w->ints[1][0];
  s->count -= count - 1;
  rlo_chain **first = &s->chains[s->count - 1];
  bool is_stack = strcmp(w->name, "stack") == 0;
  const rlo_chain *const *others = (const rlo_chain *const *)(first + 1);
  rlo_status status = is_stack ? rlo_chain_stack(first[0], others, count - 1, dim)
                               : rlo_chain_concatenate(first[0], others, count - 1, dim);
  for (int32_t n = 1; n < count; ++n) {
    rlo_chain_release(first[n]);
  }
  return status;
}

static rlo_status run_word(const word *w, stack *s, const rlo_shape *operands) {
  if (strcmp(w->name, "x") == 0) {
    const rlo_shape *operand = &operands[w->lists[0][0]];
    rlo_status status = rlo_chain_create(operand, &s->chains[s->count]);
    s->count += status == RLO_OK;
    return status;
  }
  if (strcmp(w->name, "concat") == 0 || strcmp(w->name, "stack") == 0) {
    return join(w, s);
  }
  rlo_chain *top = s->chains[s->count - 1];
  if (strcmp(w->name, "gather") == 0) {
    const rlo_shape *indices = &operands[w->lists[2][0]];
    return rlo_chain_gather(top, indices, w->ints[0][0], w->ints[1][0]);
  }
  return append(w, top);
}

int32_t model_program_indices(const char *program, int64_t *out_limit) {
  const char *at = strstr(program, "gather:");
  at = at != NULL ? at : strstr(program, "segment_sum:");
  at = at != NULL ? strchr(at, ':') : NULL;
  long long limit;
  int operand;
  if (at == NULL || sscanf(at, ":%*d:%*d:%d:%lld", &operand, &limit) != 2) {
    return -1;
  }
  *out_limit = limit;
  return operand;
}

int32_t model_program_permutation(const char *program, int32_t permutation[RLO_MAX_RANK]) {
  const char *at = strstr(program, "relayout:") + strlen("relayout:");
  int32_t rank = 0;
  for (char *end; rank < RLO_MAX_RANK; at = end + (*end == ',')) {
    long value = strtol(at, &end, 10);
    if (end == at) {
      break;
    }
    permutation[rank++] = (int32_t)value;
  }
  return rank;
}

rlo_chain *model_program_build(char *program, const rlo_shape *operands, int32_t num_operands) {
  stack s = {0};
  word w;
  bool is_right = num_operands <= MAX_STACK;
  for (char *at = program; is_right && at != NULL;) {
    char *next = strchr(at, ' ');
    if (next != NULL) {
      *next++ = '\0';
    }
    is_right = read_word(at, &w);
    is_right = is_right && model_is_ok(run_word(&w, &s, operands));
    at = next;
  }
  if (is_right && s.count == 1) {
    return s.chains[0];
  }
  for (int32_t n = 0; n < s.count; ++n) {
    rlo_chain_release(s.chains[n]);
  }
  return NULL;
}
