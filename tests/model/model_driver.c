/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the cases of a file through the library's host reference and compares
 * with the model's hashes:
 *
 *   model_driver FILE [ID]
 *
 * Each case runs as it was lowered (at a misaligned address), canonical, and
 * canonical with the widest units. With an ID only that case is run and its
 * problem and bytes are printed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/problem.h"
#include "relayout/text.h"

#include "model_case.h"

enum { GUARD_BYTES = 64, ALIGN_BYTES = 64, MAX_SHOWN_FAILURES = 20 };

static const uint8_t guard_byte = 0xa5;

/* Memory with guards on both sides of its payload. */
typedef struct arena {
  uint8_t *bytes;
  size_t capacity_bytes;
} arena;

typedef enum way { WAY_LOWERED, WAY_CANONICAL, WAY_WIDENED, NUM_WAYS } way;

static const char *const way_names[NUM_WAYS] = {
    "as lowered", "canonical", "canonical and widened"};

typedef struct state {
  model_file file;
  arena src, dst;
  bool is_verbose;
  int64_t passed, failed;
  /* Static storage would do; these are 36 KiB each. */
  rlo_problem lowered, changed, again;
} state;

static bool arena_reserve(arena *a, size_t num_bytes) {
  size_t needed = num_bytes + 2 * GUARD_BYTES + ALIGN_BYTES;
  needed = (needed + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
  if (needed <= a->capacity_bytes) {
    return true;
  }
  free(a->bytes);
  a->bytes = aligned_alloc(ALIGN_BYTES, needed);
  a->capacity_bytes = a->bytes == NULL ? 0 : needed;
  return a->bytes != NULL;
}

/* The payload begins `shift` bytes after an aligned address. */
static uint8_t *arena_payload(const arena *a, size_t shift) {
  return a->bytes + GUARD_BYTES + shift;
}

static void arena_prepare(arena *a) {
  memset(a->bytes, guard_byte, a->capacity_bytes);
}

static bool arena_guards_hold(const arena *a, size_t shift, size_t num_bytes) {
  size_t first = GUARD_BYTES + shift;
  for (size_t k = 0; k < a->capacity_bytes; ++k) {
    if ((k < first || k >= first + num_bytes) && a->bytes[k] != guard_byte) {
      return false;
    }
  }
  return true;
}

static void print_bytes(const char *name, const uint8_t *bytes, size_t count) {
  printf("%s", name);
  for (size_t k = 0; k < count; ++k) {
    printf("%02x", (unsigned)bytes[k]);
  }
  printf("\n");
}

static void print_problem(const rlo_problem *problem) {
  size_t length = rlo_problem_format(problem, NULL, 0);
  char *text = malloc(length + 1);
  if (text != NULL) {
    (void)rlo_problem_format(problem, text, length + 1);
    printf("%s", text);
    free(text);
  }
}

/* False, after saying what went wrong. */
static bool complain(const state *s, const char *where, const char *what) {
  if (s->failed < MAX_SHOWN_FAILURES) {
    printf("%s: %s\n", where, what);
  }
  return false;
}

static bool complain_status(const state *s,
                            const char *where,
                            rlo_status status) {
  char text[512];
  (void)snprintf(text,
                 sizeof text,
                 "%s: %s",
                 rlo_status_name(status),
                 rlo_error_last()->message);
  return complain(s, where, text);
}

/* Canonicalise again: nothing may change. */
static bool is_stable(state *s, const char *where, int32_t max_unit_bits) {
  s->again = s->changed;
  rlo_status status =
      rlo_problem_canonicalize(&s->again, max_unit_bits, NULL, NULL);
  if (status != RLO_OK) {
    return complain_status(s, where, status);
  }
  if (!rlo_problem_equal(&s->changed, &s->again) ||
      rlo_problem_hash(&s->changed) != rlo_problem_hash(&s->again)) {
    return complain(s, where, "the canonical form is not stable");
  }
  return true;
}

static bool run_way(state *s, const model_case *c, way which) {
  const char *where = way_names[which];
  s->changed = s->lowered;
  if (which != WAY_LOWERED) {
    int32_t max_unit_bits = which == WAY_WIDENED ? RLO_MAX_UNIT_BITS : 0;
    rlo_status status =
        rlo_problem_canonicalize(&s->changed, max_unit_bits, NULL, NULL);
    if (status != RLO_OK) {
      return complain_status(s, where, status);
    }
    if (!is_stable(s, where, max_unit_bits)) {
      return false;
    }
  }
  if (s->is_verbose) {
    printf("%s:\n", where);
    print_problem(&s->changed);
  }
  size_t shift = which == WAY_LOWERED ? 3 : 0;
  arena_prepare(&s->src);
  arena_prepare(&s->dst);
  uint8_t *src = arena_payload(&s->src, shift);
  uint8_t *dst = arena_payload(&s->dst, shift);
  model_fill_source(src, c->src_bytes);
  model_fill_prefill(dst, c->dst_bytes);
  rlo_status status = rlo_problem_run_host(&s->changed, src, dst);
  if (status != RLO_OK) {
    return complain_status(s, where, status);
  }
  if (s->is_verbose) {
    print_bytes("source   ", src, c->src_bytes);
    print_bytes("got      ", dst, c->dst_bytes);
  }
  if (model_hash(MODEL_HASH_START, dst, c->dst_bytes) != c->dst_hash) {
    return complain(s, where, "the destination differs from the model's");
  }
  if (!arena_guards_hold(&s->dst, shift, c->dst_bytes)) {
    return complain(s, where, "bytes outside the destination changed");
  }
  if (!model_is_source(src, c->src_bytes) ||
      !arena_guards_hold(&s->src, shift, c->src_bytes)) {
    return complain(s, where, "the source changed");
  }
  return true;
}

/* Parse a shape, and print it: the parser must read the same shape back. */
static bool read_shape(const state *s,
                       const char *where,
                       const char *text,
                       rlo_shape *out_shape) {
  rlo_status status = rlo_shape_parse(text, strlen(text), out_shape);
  if (status != RLO_OK) {
    return complain_status(s, where, status);
  }
  char printed[4096];
  size_t length = rlo_shape_format(out_shape, printed, sizeof printed);
  if (length >= sizeof printed) {
    return complain(s, where, "the printed shape is too long");
  }
  rlo_shape again;
  status = rlo_shape_parse(printed, length, &again);
  if (status != RLO_OK) {
    return complain_status(s, where, status);
  }
  return rlo_shape_equal(out_shape, &again) ||
         complain(s, where, "the printed shape reads as another one");
}

static bool run_case(state *s, const model_case *c) {
  rlo_shape src, dst;
  if (!read_shape(s, "source", c->src_text, &src) ||
      !read_shape(s, "destination", c->dst_text, &dst)) {
    return false;
  }
  bool is_identity = true;
  for (int32_t k = 0; k < c->rank; ++k) {
    is_identity = is_identity && c->permutation[k] == k;
  }
  /* The identity has two spellings; each gets its share of the cases. */
  bool is_implicit = is_identity && c->dst_hash % 2 == 0;
  rlo_status status = rlo_relayout_lower(
      &src, &dst, is_implicit ? NULL : c->permutation, &s->lowered);
  if (status != RLO_OK) {
    return complain_status(s, "lowering", status);
  }
  if (s->lowered.src_bytes != (int64_t)c->src_bytes ||
      s->lowered.dst_bytes != (int64_t)c->dst_bytes) {
    return complain(s, "lowering", "sizes of memory differ from the model's");
  }
  if (!arena_reserve(&s->src, c->src_bytes) ||
      !arena_reserve(&s->dst, c->dst_bytes)) {
    return complain(s, "driver", "out of memory");
  }
  for (way which = WAY_LOWERED; which < NUM_WAYS; ++which) {
    if (!run_way(s, c, which)) {
      return false;
    }
  }
  return true;
}

static int run_file(state *s, const char *path, const char *only) {
  if (!model_file_open(&s->file, path)) {
    return 2;
  }
  model_case c;
  int more;
  while ((more = model_case_next(&s->file, &c)) == 1) {
    if (only != NULL && strcmp(only, c.id) != 0) {
      continue;
    }
    if (run_case(s, &c)) {
      ++s->passed;
      continue;
    }
    if (s->failed < MAX_SHOWN_FAILURES) {
      printf("FAILED %s\n  again: model_driver %s %s\n",
             s->file.shown,
             path,
             c.id);
      printf("  expected: generate_cases.py --seed %" PRId64 " --show %s\n",
             s->file.seed,
             c.id);
    }
    ++s->failed;
  }
  printf("seed %" PRId64 ": %" PRId64 " passed, %" PRId64 " failed\n",
         s->file.seed,
         s->passed,
         s->failed);
  model_file_close(&s->file);
  return more != 0 || s->failed != 0 || s->passed == 0;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: model_driver FILE [ID]\n");
    return 2;
  }
  state *s = calloc(1, sizeof *s);
  if (s == NULL) {
    fprintf(stderr, "out of memory\n");
    return 2;
  }
  s->is_verbose = argc == 3;
  int code = run_file(s, argv[1], argc == 3 ? argv[2] : NULL);
  free(s->src.bytes);
  free(s->dst.bytes);
  free(s);
  return code;
}
