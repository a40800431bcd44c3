/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs cases of operations through the library's host reference and compares
 * with the model's hashes:
 *
 *   ops_driver FILE [ID]
 *
 * Each case runs as it was lowered, canonical, and canonical with the widest
 * units. Then its adjoint is held to its definition: <dy, S x> == <S^T dy, x>,
 * exactly, for integers of the element's size, and the adjoint of the adjoint
 * does what S does. With an ID only that case is run and its problems are
 * printed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/problem.h"
#include "relayout/text.h"

#include "model_case.h"
#include "ops_program.h"

enum {
  MAX_OPERANDS = 8,
  MEMORY_BYTES = 1 << 20,
  ALIGN_BYTES = 16,
  MAX_SHOWN_FAILURES = 20
};

typedef struct state {
  model_file file;
  bool is_verbose;
  int64_t passed, failed, problems;
  int32_t num_operands;
  rlo_shape operands[MAX_OPERANDS];
  size_t begins[MAX_OPERANDS];
  size_t src_bytes, dst_bytes;
  /** The operand that holds indices, and their limit; or -1. */
  int32_t index_operand;
  int64_t index_limit;
  /** Operands whose gradient is a movement: stored, not added up. */
  int64_t stored;
  rlo_problem changed, again;
  uint8_t src[MEMORY_BYTES];
  uint8_t src_before[MEMORY_BYTES];
  uint8_t dst[MEMORY_BYTES];
  /** For the adjoint: what zeros become; dy; S^T dy by adding and by storing;
   *  S x by the adjoint of the adjoint. */
  uint8_t zeros[MEMORY_BYTES];
  uint8_t of_zeros[MEMORY_BYTES];
  uint8_t dy[MEMORY_BYTES];
  uint8_t dx[MEMORY_BYTES];
  uint8_t stored_dx[MEMORY_BYTES];
  uint8_t twice[MEMORY_BYTES];
} state;

static bool complain(const state *s, const char *what) {
  if (s->failed < MAX_SHOWN_FAILURES) {
    printf("%s\n", what);
  }
  return false;
}

static bool complain_status(const state *s, rlo_status status) {
  (void)status;
  return complain(s, rlo_error_last()->message);
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

static bool read_shape(const state *s, const char *text, rlo_shape *out) {
  rlo_status status = rlo_shape_parse(text, strlen(text), out);
  return status == RLO_OK || complain_status(s, status);
}

/* The operands, and where each begins in the one source memory. */
static bool read_operands(state *s, char *texts) {
  s->num_operands = 0;
  s->src_bytes = 0;
  for (char *at = texts; at != NULL;) {
    char *next = strchr(at, ';');
    if (next != NULL) {
      *next++ = '\0';
    }
    rlo_shape *operand = &s->operands[s->num_operands];
    rlo_shape_extent extent;
    if (s->num_operands == MAX_OPERANDS || !read_shape(s, at, operand) ||
        rlo_shape_measure(operand, &extent) != RLO_OK) {
      return false;
    }
    s->begins[s->num_operands++] = s->src_bytes;
    s->src_bytes += (size_t)extent.physical_bytes;
    s->src_bytes = (s->src_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    at = next;
  }
  return s->src_bytes <= MEMORY_BYTES || complain(s, "too large");
}

/* Canonicalise s->changed; a second time nothing may change. */
static bool make_canonical(state *s, int32_t max_unit_bits) {
  rlo_status status =
      rlo_problem_canonicalize(&s->changed, max_unit_bits, NULL, NULL);
  if (status != RLO_OK) {
    return complain_status(s, status);
  }
  s->again = s->changed;
  status = rlo_problem_canonicalize(&s->again, max_unit_bits, NULL, NULL);
  if (status != RLO_OK) {
    return complain_status(s, status);
  }
  return (rlo_problem_equal(&s->changed, &s->again) &&
          rlo_problem_hash(&s->changed) == rlo_problem_hash(&s->again)) ||
         complain(s, "the canonical form is not stable");
}

/* The source pattern, and indices in the operand that holds such. */
static void fill_source(const state *s, uint8_t *memory) {
  model_fill_source(memory, s->src_bytes);
  if (s->index_operand >= 0) {
    const rlo_shape *indices = &s->operands[s->index_operand];
    rlo_shape_extent extent;
    if (rlo_shape_measure(indices, &extent) == RLO_OK) {
      model_fill_indices(memory + s->begins[s->index_operand],
                         (size_t)extent.physical_bytes,
                         (size_t)extent.element_bits / 8,
                         s->index_limit);
    }
  }
}

static const uint8_t *indices_of(const state *s) {
  return s->index_operand < 0 ? NULL : s->src + s->begins[s->index_operand];
}

/* max_unit_bits < 0: as lowered. */
static bool run_way(state *s,
                    const rlo_problem_list *problems,
                    uint64_t wanted,
                    int32_t max_unit_bits) {
  fill_source(s, s->src);
  memcpy(s->src_before, s->src, s->src_bytes);
  model_fill_prefill(s->dst, s->dst_bytes);
  for (int32_t n = 0; n < rlo_problem_list_count(problems); ++n) {
    s->changed = *rlo_problem_list_get(problems, n);
    if (max_unit_bits >= 0 && !make_canonical(s, max_unit_bits)) {
      return false;
    }
    if (s->is_verbose) {
      printf("operand %d, ", rlo_problem_list_operand(problems, n));
      print_problem(&s->changed);
    }
    const uint8_t *src =
        s->src + s->begins[rlo_problem_list_operand(problems, n)];
    rlo_status status =
        rlo_problem_run_host_indexed(&s->changed, src, indices_of(s), s->dst);
    if (status != RLO_OK) {
      return complain_status(s, status);
    }
  }
  if (memcmp(s->src, s->src_before, s->src_bytes) != 0) {
    return complain(s, "the source changed");
  }
  if (s->is_verbose) {
    for (size_t k = 0; k < s->dst_bytes; ++k) {
      printf("%02x", (unsigned)s->dst[k]);
    }
    printf("\n");
  }
  return model_hash(MODEL_HASH_START, s->dst, s->dst_bytes) == wanted ||
         complain(s, "the destination differs from the model's");
}

static bool run_moves(state *s,
                      const rlo_problem_list *problems,
                      uint64_t wanted) {
  s->problems += rlo_problem_list_count(problems);
  return run_way(s, problems, wanted, -1) && run_way(s, problems, wanted, 0) &&
         run_way(s, problems, wanted, RLO_MAX_UNIT_BITS);
}

/* The low 64 bits of a little-endian unit, which are all that the low 64 bits
 * of sums and products depend on. */
static uint64_t unit_at(const uint8_t *memory, size_t unit, size_t unit_bytes) {
  uint64_t value = 0;
  for (size_t b = 0; b < unit_bytes && b < 8; ++b) {
    value |= (uint64_t)memory[unit * unit_bytes + b] << (8 * b);
  }
  return value;
}

/* sum(a * (b - c)) modulo 2^unit_bits (or 2^64). */
static uint64_t inner_product(const uint8_t *a,
                              const uint8_t *b,
                              const uint8_t *c,
                              size_t num_bytes,
                              size_t unit_bytes) {
  uint64_t sum = 0;
  for (size_t k = 0; k < num_bytes / unit_bytes; ++k) {
    sum += unit_at(a, k, unit_bytes) *
           (unit_at(b, k, unit_bytes) - unit_at(c, k, unit_bytes));
  }
  return unit_bytes < 8 ? sum & ((UINT64_C(1) << 8 * unit_bytes) - 1) : sum;
}

/* The integers that units are added as; of 16-byte units the low halves, which
 * is what inner products look at. */
static rlo_dtype integer_of(const rlo_problem *problem) {
  switch (problem->unit_bits) {
    case 8:
      return RLO_DTYPE_U8;
    case 16:
      return RLO_DTYPE_U16;
    case 32:
      return RLO_DTYPE_U32;
    default:
      return RLO_DTYPE_U64;
  }
}

/* One problem's part of S^T dy, and of S x by way of the second adjoint. */
static bool run_adjoint(state *s, const rlo_problem *problem, size_t begin) {
  rlo_problem *adjoint = &s->changed;
  rlo_status status =
      rlo_problem_adjoint(problem, integer_of(problem), adjoint);
  if (status == RLO_OK) {
    status = rlo_problem_run_host_indexed(
        adjoint, s->dy, indices_of(s), s->dx + begin);
  }
  if (status == RLO_OK) {
    status = rlo_problem_adjoint(adjoint, integer_of(problem), &s->again);
  }
  if (status == RLO_OK) {
    status = rlo_problem_run_host_indexed(
        &s->again, s->src + begin, indices_of(s), s->twice);
  }
  return status == RLO_OK || complain_status(s, status);
}

/* Where the source is read once, storing into zeros does what adding does. */
static bool check_stored(state *s, const rlo_problem_list *problems) {
  bool has_stored = true;
  memset(s->stored_dx, 0, s->src_bytes);
  for (int32_t n = 0; n < rlo_problem_list_count(problems); ++n) {
    const rlo_problem *problem = rlo_problem_list_get(problems, n);
    size_t begin = s->begins[rlo_problem_list_operand(problems, n)];
    bool reads_once = false;
    rlo_status status = rlo_problem_reads_once(problem, &reads_once);
    if (status != RLO_OK) {
      return complain_status(s, status);
    }
    status = rlo_problem_adjoint(problem, RLO_DTYPE_INVALID, &s->changed);
    if (status != (reads_once ? RLO_OK : RLO_INVALID_ARGUMENT)) {
      return complain(s, "storing is refused, or is not");
    }
    if (!reads_once) {
      return true;
    }
    /* Several boxes of one operand add up. */
    for (int32_t m = 0; m < n; ++m) {
      has_stored =
          has_stored && (rlo_problem_list_operand(problems, m) !=
                             rlo_problem_list_operand(problems, n) ||
                         rlo_problem_list_get(problems, m)->read_bytes == 0);
    }
    status = rlo_problem_run_host_indexed(
        &s->changed, s->dy, indices_of(s), s->stored_dx + begin);
    if (status != RLO_OK) {
      return complain_status(s, status);
    }
  }
  has_stored = has_stored && rlo_problem_list_get(problems, 0)->unit_bits <= 64;
  s->stored += has_stored;
  return !has_stored || memcmp(s->dx, s->stored_dx, s->src_bytes) == 0 ||
         complain(s, "the stored gradient differs from the added one");
}

static bool check_adjoint(state *s, const rlo_problem_list *problems) {
  if (rlo_problem_list_count(problems) == 0) {
    return true;
  }
  size_t unit_bytes = (size_t)rlo_problem_list_get(problems, 0)->unit_bits / 8;
  fill_source(s, s->src);
  model_fill_prefill(s->dy, s->dst_bytes);
  memset(s->dst, 0, s->dst_bytes);
  memset(s->of_zeros, 0, s->dst_bytes);
  memset(s->twice, 0, s->dst_bytes);
  memset(s->dx, 0, s->src_bytes);
  const void *operands[MAX_OPERANDS];
  const void *no_operands[MAX_OPERANDS];
  for (int32_t n = 0; n < s->num_operands; ++n) {
    operands[n] = s->src + s->begins[n];
    no_operands[n] = n == s->index_operand ? operands[n] : s->zeros;
  }
  rlo_status status = rlo_problem_list_run_host(problems, operands, s->dst);
  if (status == RLO_OK) {
    status = rlo_problem_list_run_host(problems, no_operands, s->of_zeros);
  }
  if (status != RLO_OK) {
    return complain_status(s, status);
  }
  for (int32_t n = 0; n < rlo_problem_list_count(problems); ++n) {
    if (!run_adjoint(s,
                     rlo_problem_list_get(problems, n),
                     s->begins[rlo_problem_list_operand(problems, n)])) {
      return false;
    }
  }
  /* Ends of operands are rounded up to whole units: dx is 0 there. */
  uint64_t forwards =
      inner_product(s->dy, s->dst, s->of_zeros, s->dst_bytes, unit_bytes);
  if (forwards !=
      inner_product(s->src, s->dx, s->zeros, s->src_bytes, unit_bytes)) {
    return complain(s, "<dy, S x> is not <S^T dy, x>");
  }
  if (forwards !=
      inner_product(s->dy, s->twice, s->zeros, s->dst_bytes, unit_bytes)) {
    return complain(s, "the adjoint of the adjoint is not S");
  }
  return check_stored(s, problems);
}

/* A program that is one segment sum: no chain. */
static bool run_segment_sum(state *s,
                            const char *program,
                            const rlo_shape *dst,
                            uint64_t wanted) {
  int dim;
  int batch_dims;
  rlo_segment_sum *sum;
  if (sscanf(program, "x:0 segment_sum:%d:%d", &dim, &batch_dims) != 2) {
    return complain(s, "the program is not understood");
  }
  rlo_status status = rlo_segment_sum_create(
      &s->operands[0], &s->operands[1], dim, batch_dims, dst, &sum);
  if (status != RLO_OK) {
    return complain_status(s, status);
  }
  fill_source(s, s->src);
  memcpy(s->src_before, s->src, s->src_bytes);
  model_fill_prefill(s->dst, s->dst_bytes);
  status = rlo_segment_sum_run_host(sum, s->src, indices_of(s), s->dst);
  s->problems += rlo_problem_list_count(rlo_segment_sum_problems(sum));
  rlo_segment_sum_release(sum);
  if (status != RLO_OK) {
    return complain_status(s, status);
  }
  return (memcmp(s->src, s->src_before, s->src_bytes) == 0 ||
          complain(s, "the source changed")) &&
         (model_hash(MODEL_HASH_START, s->dst, s->dst_bytes) == wanted ||
          complain(s, "the destination differs from the model's"));
}

static bool run_case(state *s, char *fields[MODEL_MAX_FIELDS]) {
  rlo_shape dst;
  rlo_shape_extent extent;
  if (!read_operands(s, fields[3]) || !read_shape(s, fields[4], &dst) ||
      rlo_shape_measure(&dst, &extent) != RLO_OK) {
    return false;
  }
  s->dst_bytes = strtoul(fields[5], NULL, 10);
  if (extent.physical_bytes != (int64_t)s->dst_bytes ||
      s->dst_bytes > MEMORY_BYTES) {
    return complain(s, "the destination has another size than the model's");
  }
  s->index_operand = ops_program_indices(fields[2], &s->index_limit);
  if (strstr(fields[2], "segment_sum") != NULL) {
    return run_segment_sum(s, fields[2], &dst, strtoull(fields[6], NULL, 16));
  }
  rlo_chain *chain = ops_program_build(fields[2], s->operands, s->num_operands);
  if (chain == NULL) {
    return complain(s, "the program does not build");
  }
  rlo_problem_list *problems;
  rlo_status status = rlo_chain_lower(chain, &dst, &problems);
  rlo_chain_release(chain);
  if (status != RLO_OK) {
    return complain_status(s, status);
  }
  bool is_right = run_moves(s, problems, strtoull(fields[6], NULL, 16)) &&
                  check_adjoint(s, problems);
  rlo_problem_list_release(problems);
  return is_right;
}

static int run_file(state *s, const char *path, const char *only) {
  if (!model_file_open(&s->file, path)) {
    return 2;
  }
  char *fields[MODEL_MAX_FIELDS] = {NULL};
  int num_fields;
  while ((num_fields = model_file_next(&s->file, fields)) == 7) {
    if (only != NULL && strcmp(only, fields[0]) != 0) {
      continue;
    }
    if (run_case(s, fields)) {
      ++s->passed;
      continue;
    }
    if (s->failed < MAX_SHOWN_FAILURES) {
      printf("FAILED %s\n  again: ops_driver %s %s\n",
             s->file.shown,
             path,
             fields[0]);
      printf("  expected: generate_ops.py --seed %" PRId64 " --show %s\n",
             s->file.seed,
             fields[0]);
    }
    ++s->failed;
  }
  printf("%" PRId64 " problems; %" PRId64 " gradients are movements\n",
         s->problems,
         s->stored);
  printf("seed %" PRId64 ": %" PRId64 " passed, %" PRId64 " failed\n",
         s->file.seed,
         s->passed,
         s->failed);
  model_file_close(&s->file);
  return num_fields != 0 || s->failed != 0 || s->passed == 0;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: ops_driver FILE [ID]\n");
    return 2;
  }
  state *s = calloc(1, sizeof *s);
  if (s == NULL) {
    fprintf(stderr, "out of memory\n");
    return 2;
  }
  s->is_verbose = argc == 3;
  int code = run_file(s, argv[1], argc == 3 ? argv[2] : NULL);
  free(s);
  return code;
}
