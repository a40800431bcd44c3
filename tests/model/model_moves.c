/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relayouts and chains of operations. Each case runs as it was lowered (at a
 * misaligned address), canonical, and canonical with the widest units. Then its
 * adjoint is held to its definition: <dy, S x> == <S^T dy, x>, exactly, for
 * integers of the element's size, and the adjoint of the adjoint does what S
 * does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/problem.h"
#include "relayout/text.h"

#include "model_case.h"
#include "model_program.h"

enum {
  MAX_OPERANDS = 8,
  MAX_PROBLEMS = 64,
  MEMORY_BYTES = 1 << 20,
  ALIGN_BYTES = 16,
  GUARD_BYTES = 64,
  GUARD = 0xa5
};

typedef struct state {
  int32_t num_operands, num_problems;
  rlo_shape operands[MAX_OPERANDS];
  size_t begins[MAX_OPERANDS];
  size_t src_bytes, dst_bytes;
  uint64_t wanted;
  /** The operand that holds indices, and their limit; or -1. */
  int32_t index_operand;
  int64_t index_limit;
  rlo_problem problems[MAX_PROBLEMS];
  int32_t operand_of[MAX_PROBLEMS];
  rlo_problem changed, again;
  _Alignas(64) uint8_t src[MEMORY_BYTES + 2 * GUARD_BYTES];
  uint8_t src_before[MEMORY_BYTES];
  _Alignas(64) uint8_t dst[MEMORY_BYTES + 2 * GUARD_BYTES];
  /** For the adjoint: x and S x; what zeros become; dy; S^T dy by adding and by
   *  storing; S x by the adjoint of the adjoint. */
  uint8_t x[MEMORY_BYTES], y[MEMORY_BYTES];
  uint8_t zeros[MEMORY_BYTES], of_zeros[MEMORY_BYTES];
  uint8_t dy[MEMORY_BYTES], dx[MEMORY_BYTES];
  uint8_t stored_dx[MEMORY_BYTES], twice[MEMORY_BYTES];
} state;

static void print_problem(const rlo_problem *problem) {
  size_t length = rlo_problem_format(problem, NULL, 0);
  char *text = malloc(length + 1);
  if (text != NULL) {
    (void)rlo_problem_format(problem, text, length + 1);
    printf("%s", text);
    free(text);
  }
}

/* Parses a shape, and prints it: the parser must read the same shape back. */
static bool read_shape(const char *text, rlo_shape *out_shape) {
  char printed[4096];
  rlo_shape again;
  if (!model_is_ok(rlo_shape_parse(text, strlen(text), out_shape))) {
    return false;
  }
  size_t length = rlo_shape_format(out_shape, printed, sizeof printed);
  return model_is_ok(rlo_shape_parse(printed, length, &again)) &&
         (rlo_shape_equal(out_shape, &again) ||
          model_complain("the printed shape reads as another one"));
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
    if (s->num_operands == MAX_OPERANDS || !read_shape(at, operand) ||
        !model_is_ok(rlo_shape_measure(operand, &extent))) {
      return false;
    }
    /* Behind an operand is up to what the next one begins at. */
    s->begins[s->num_operands++] = (s->src_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    s->src_bytes = s->begins[s->num_operands - 1] + (size_t)extent.physical_bytes;
    at = next;
  }
  return s->src_bytes <= MEMORY_BYTES || model_complain("too large");
}

/* Canonicalise s->changed; a second time nothing may change. */
static bool make_canonical(state *s, int32_t max_unit_bits) {
  if (!model_is_ok(rlo_problem_canonicalize(&s->changed, max_unit_bits, NULL, NULL))) {
    return false;
  }
  s->again = s->changed;
  return model_is_ok(rlo_problem_canonicalize(&s->again, max_unit_bits, NULL, NULL)) &&
         ((rlo_problem_equal(&s->changed, &s->again) &&
           rlo_problem_hash(&s->changed) == rlo_problem_hash(&s->again)) ||
          model_complain("the canonical form is not stable"));
}

/* The source pattern, and indices in the operand that holds such. */
static void fill_source(const state *s, uint8_t *memory) {
  model_fill_source(memory, s->src_bytes);
  if (s->index_operand >= 0) {
    const rlo_shape *indices = &s->operands[s->index_operand];
    rlo_shape_extent extent;
    if (rlo_shape_measure(indices, &extent) == RLO_OK) {
      model_fill_indices(memory + s->begins[s->index_operand], (size_t)extent.physical_bytes,
                         (size_t)extent.element_bits / 8, s->index_limit);
    }
  }
}

static const uint8_t *indices_in(const state *s, const uint8_t *src) {
  return s->index_operand < 0 ? NULL : src + s->begins[s->index_operand];
}

static bool is_guarded(const uint8_t *memory, size_t begin, size_t bytes) {
  for (size_t k = 0; k < begin + bytes + GUARD_BYTES; ++k) {
    if ((k < begin || k >= begin + bytes) && memory[k] != GUARD) {
      return false;
    }
  }
  return true;
}

/* Checks a source and a destination that begin `shift` bytes behind their
 * guards. */
static bool check_memories(const state *s, size_t shift) {
  const size_t begin = GUARD_BYTES + shift;
  if (memcmp(s->src + begin, s->src_before, s->src_bytes) != 0 ||
      !is_guarded(s->src, begin, s->src_bytes)) {
    return model_complain("the source changed");
  }
  if (!is_guarded(s->dst, begin, s->dst_bytes)) {
    return model_complain("bytes outside the destination changed");
  }
  return model_hash(MODEL_HASH_START, s->dst + begin, s->dst_bytes) == s->wanted ||
         model_complain("the destination differs from the model's");
}

static void fill_memories(state *s, size_t shift) {
  memset(s->src, GUARD, s->src_bytes + shift + 2 * GUARD_BYTES);
  memset(s->dst, GUARD, s->dst_bytes + shift + 2 * GUARD_BYTES);
  fill_source(s, s->src_before);
  memcpy(s->src + GUARD_BYTES + shift, s->src_before, s->src_bytes);
  model_fill_prefill(s->dst + GUARD_BYTES + shift, s->dst_bytes);
}

/* max_unit_bits < 0: as lowered, at a misaligned address. */
static bool run_way(state *s, int32_t max_unit_bits) {
  const size_t shift = max_unit_bits < 0 && s->index_operand < 0 ? 3 : 0;
  const uint8_t *src = s->src + GUARD_BYTES + shift;
  uint8_t *dst = s->dst + GUARD_BYTES + shift;
  fill_memories(s, shift);
  for (int32_t n = 0; n < s->num_problems; ++n) {
    s->changed = s->problems[n];
    if (max_unit_bits >= 0 && !make_canonical(s, max_unit_bits)) {
      return false;
    }
    if (model_is_verbose) {
      printf("operand %d, ", (int)s->operand_of[n]);
      print_problem(&s->changed);
    }
    if (!model_is_ok(rlo_problem_run_host_indexed(&s->changed, src + s->begins[s->operand_of[n]],
                                                  indices_in(s, src), dst))) {
      return false;
    }
  }
  for (size_t k = 0; model_is_verbose && k < s->dst_bytes; ++k) {
    printf("%02x%s", (unsigned)dst[k], k + 1 < s->dst_bytes ? "" : "\n");
  }
  return check_memories(s, shift);
}

/* ----------------------------------------------------------------- adjoints */

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
static uint64_t inner_product(const uint8_t *a, const uint8_t *b, const uint8_t *c,
                              size_t num_bytes, size_t unit_bytes) {
  uint64_t sum = 0;
  for (size_t k = 0; k < num_bytes / unit_bytes; ++k) {
    sum += unit_at(a, k, unit_bytes) * (unit_at(b, k, unit_bytes) - unit_at(c, k, unit_bytes));
  }
  return unit_bytes < 8 ? sum & ((UINT64_C(1) << 8 * unit_bytes) - 1) : sum;
}

/* The integers that units are added as, of 16-byte units the low halves, which
 * is what inner products look at; invalid where units are no such integers. */
static rlo_dtype integer_of(const rlo_problem *problem) {
  switch (problem->unit_bits) {
    case 8:
      return RLO_DTYPE_U8;
    case 16:
      return RLO_DTYPE_U16;
    case 32:
      return RLO_DTYPE_U32;
    case 64:
    case 128:
      return RLO_DTYPE_U64;
    default:
      return RLO_DTYPE_INVALID;
  }
}

/* S of an x, or of zeros beside the indices of x. */
static bool run_all(const state *s, const uint8_t *x, uint8_t *y) {
  memset(y, 0, s->dst_bytes);
  for (int32_t n = 0; n < s->num_problems; ++n) {
    if (!model_is_ok(rlo_problem_run_host_indexed(&s->problems[n], x + s->begins[s->operand_of[n]],
                                                  indices_in(s, s->x), y))) {
      return false;
    }
  }
  return true;
}

/* One problem's part of S^T dy, and of S x by way of the second adjoint. */
static bool run_adjoint(state *s, int32_t n) {
  const rlo_problem *problem = &s->problems[n];
  const size_t begin = s->begins[s->operand_of[n]];
  const uint8_t *indices = indices_in(s, s->x);
  const rlo_dtype dtype = integer_of(problem);
  return model_is_ok(rlo_problem_adjoint(problem, dtype, &s->changed)) &&
         model_is_ok(rlo_problem_run_host_indexed(&s->changed, s->dy, indices, s->dx + begin)) &&
         model_is_ok(rlo_problem_adjoint(&s->changed, dtype, &s->again)) &&
         model_is_ok(rlo_problem_run_host_indexed(&s->again, s->x + begin, indices, s->twice));
}

/* Where the source is read once, storing into zeros does what adding does. */
static bool check_stored(state *s) {
  bool has_stored = s->problems[0].unit_bits <= 64;
  memset(s->stored_dx, 0, s->src_bytes);
  for (int32_t n = 0; n < s->num_problems; ++n) {
    bool reads_once = false;
    if (!model_is_ok(rlo_problem_reads_once(&s->problems[n], &reads_once))) {
      return false;
    }
    rlo_status status = rlo_problem_adjoint(&s->problems[n], RLO_DTYPE_INVALID, &s->changed);
    if (status != (reads_once ? RLO_OK : RLO_INVALID_ARGUMENT)) {
      return model_complain("storing is refused, or is not");
    }
    if (!reads_once) {
      return true;
    }
    /* Several boxes of one operand add up. */
    for (int32_t m = 0; m < n; ++m) {
      has_stored =
          has_stored && (s->operand_of[m] != s->operand_of[n] || s->problems[m].read_bytes == 0);
    }
    if (!model_is_ok(rlo_problem_run_host_indexed(&s->changed, s->dy, indices_in(s, s->x),
                                                  s->stored_dx + s->begins[s->operand_of[n]]))) {
      return false;
    }
  }
  return !has_stored || memcmp(s->dx, s->stored_dx, s->src_bytes) == 0 ||
         model_complain("the stored gradient differs from the added one");
}

static bool check_adjoint(state *s) {
  if (s->num_problems == 0 || integer_of(&s->problems[0]) == RLO_DTYPE_INVALID) {
    return true;
  }
  const size_t unit_bytes = (size_t)s->problems[0].unit_bits / 8;
  /* Ends of operands are rounded up to whole units: x and dx are 0 there. */
  memset(s->x, 0, s->src_bytes + unit_bytes);
  memset(s->dx, 0, s->src_bytes + unit_bytes);
  memset(s->twice, 0, s->dst_bytes);
  fill_source(s, s->x);
  model_fill_prefill(s->dy, s->dst_bytes);
  if (!run_all(s, s->x, s->y) || !run_all(s, s->zeros, s->of_zeros)) {
    return false;
  }
  for (int32_t n = 0; n < s->num_problems; ++n) {
    if (!run_adjoint(s, n)) {
      return false;
    }
  }
  uint64_t forwards = inner_product(s->dy, s->y, s->of_zeros, s->dst_bytes, unit_bytes);
  const size_t src_bytes = (s->src_bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
  if (forwards != inner_product(s->x, s->dx, s->zeros, src_bytes, unit_bytes)) {
    return model_complain("<dy, S x> is not <S^T dy, x>");
  }
  if (forwards != inner_product(s->dy, s->twice, s->zeros, s->dst_bytes, unit_bytes)) {
    return model_complain("the adjoint of the adjoint is not S");
  }
  return check_stored(s);
}

/* -------------------------------------------------------------------- cases */

/* A program that is one segment sum: no chain. */
static bool run_segment_sum(state *s, const char *program, const rlo_shape *dst) {
  int dim;
  int batch_dims;
  rlo_segment_sum *sum;
  if (sscanf(program, "x:0 segment_sum:%d:%d", &dim, &batch_dims) != 2) {
    return model_complain("the program is not understood");
  }
  if (!model_is_ok(
          rlo_segment_sum_create(&s->operands[0], &s->operands[1], dim, batch_dims, dst, &sum))) {
    return false;
  }
  fill_memories(s, 0);
  const uint8_t *src = s->src + GUARD_BYTES;
  rlo_status status = rlo_segment_sum_run_host(sum, src, indices_in(s, src), s->dst + GUARD_BYTES);
  rlo_segment_sum_release(sum);
  return model_is_ok(status) && check_memories(s, 0);
}

static bool lower_chain(state *s, char *program, const rlo_shape *dst) {
  rlo_problem_list *list = NULL;
  rlo_chain *chain = model_program_build(program, s->operands, s->num_operands);
  bool is_right = chain != NULL && model_is_ok(rlo_chain_lower(chain, dst, &list));
  rlo_chain_release(chain);
  s->num_problems = rlo_problem_list_count(list);
  for (int32_t n = 0; n < s->num_problems && n < MAX_PROBLEMS; ++n) {
    s->problems[n] = *rlo_problem_list_get(list, n);
    s->operand_of[n] = rlo_problem_list_operand(list, n);
  }
  rlo_problem_list_release(list);
  return is_right &&
         (s->num_problems <= MAX_PROBLEMS || model_complain("more problems than expected"));
}

/* The identity has two spellings; each gets its share of the cases. */
static bool lower_relayout(state *s, const char *program, const rlo_shape *dst) {
  int32_t permutation[RLO_MAX_RANK];
  bool is_identity = s->wanted % 2 == 0;
  const int32_t rank = model_program_permutation(program, permutation);
  for (int32_t k = 0; k < rank; ++k) {
    is_identity = is_identity && permutation[k] == k;
  }
  s->num_problems = 1;
  s->operand_of[0] = 0;
  return model_is_ok(rlo_relayout_lower(&s->operands[0], dst, is_identity ? NULL : permutation,
                                        &s->problems[0])) &&
         ((s->problems[0].src_bytes == (int64_t)s->src_bytes &&
           s->problems[0].dst_bytes == (int64_t)s->dst_bytes) ||
          model_complain("sizes of memory differ from those of the shapes"));
}

bool model_run_moves(char *fields[MODEL_MAX_FIELDS]) {
  static state s;
  rlo_shape dst;
  rlo_shape_extent extent;
  char *program = fields[2];
  if (!read_operands(&s, fields[3]) || !read_shape(fields[4], &dst) ||
      !model_is_ok(rlo_shape_measure(&dst, &extent))) {
    return false;
  }
  s.dst_bytes = strtoul(fields[5], NULL, 10);
  s.wanted = strtoull(fields[6], NULL, 16);
  if (extent.physical_bytes != (int64_t)s.dst_bytes || s.dst_bytes > MEMORY_BYTES) {
    return model_complain("the destination has another size than the model's");
  }
  s.index_operand = model_program_indices(program, &s.index_limit);
  if (strstr(program, "segment_sum") != NULL) {
    return run_segment_sum(&s, program, &dst);
  }
  return (strstr(program, "relayout:") != NULL ? lower_relayout(&s, program, &dst)
                                               : lower_chain(&s, program, &dst)) &&
         run_way(&s, -1) && run_way(&s, 0) && run_way(&s, RLO_MAX_UNIT_BITS) && check_adjoint(&s);
}
