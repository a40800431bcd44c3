/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/index.h"
#include "relayout/ops.h"
#include "relayout/text.h"

#include "fuzz.h"

/* Most slots, and bytes, of a relayout that is run. */
enum { MOST_SLOTS = 2048, MOST_BYTES = 16 * MOST_SLOTS, UNTOUCHED = 0xa5 };

typedef struct pair {
  rlo_shape src, dst;
  rlo_shape_extent src_extent, dst_extent;
  unsigned char memory[MOST_BYTES];
  unsigned char expected[MOST_BYTES];
  unsigned char result[MOST_BYTES];
} pair;

static bool take_shape(const char *text, size_t size, rlo_shape *out_shape,
                       rlo_shape_extent *out_extent) {
  return rlo_shape_parse(text, size, out_shape) == RLO_OK &&
         rlo_shape_measure(out_shape, out_extent) == RLO_OK && out_extent->slots <= MOST_SLOTS &&
         out_extent->elements <= MOST_SLOTS;
}

/* Computes a relayout element by element, as the documents define it. Elements
 * have whole bytes, as many on both sides. */
static void expect(pair *p) {
  size_t bytes = (size_t)p->dst_extent.element_bits / 8;
  uint8_t fill[16];
  bool has_fill = false;
  rlo_address_map src;
  rlo_address_map dst;
  FUZZ_CHECK(rlo_address_map_make(&p->src, &src) == RLO_OK);
  FUZZ_CHECK(rlo_address_map_make(&p->dst, &dst) == RLO_OK);
  FUZZ_CHECK(rlo_shape_fill_bits(&p->dst, fill, &has_fill) == RLO_OK);
  for (int64_t slot = 0; slot < dst.slots; ++slot) {
    int64_t index[RLO_MAX_RANK];
    bool is_element = false;
    FUZZ_CHECK(rlo_address_map_element(&dst, slot, index, &is_element) == RLO_OK);
    unsigned char *to = p->expected + (size_t)slot * bytes;
    if (is_element) {
      int64_t from = rlo_address_map_slot(&src, index);
      memcpy(to, p->memory + (size_t)from * bytes, bytes);
    } else if (dst.is_dense && has_fill) {
      memcpy(to, fill, bytes);
    }
  }
}

static void run(pair *p, const rlo_problem *problem) {
  memset(p->result, UNTOUCHED, sizeof(p->result));
  FUZZ_CHECK(rlo_problem_run_host(problem, p->memory, p->result) == RLO_OK);
}

static void check_pair(pair *p, rlo_problem *problem) {
  for (size_t i = 0; i < sizeof(p->memory); ++i) {
    p->memory[i] = (unsigned char)(i * 73 + i / 256 * 11 + 5);
  }
  run(p, problem);
  memset(p->expected, UNTOUCHED, sizeof(p->expected));
  rlo_address_map dst;
  int64_t index[RLO_MAX_RANK];
  bool is_element;
  FUZZ_CHECK(rlo_address_map_make(&p->dst, &dst) == RLO_OK);
  if (p->dst_extent.element_bits % 8 == 0 &&
      p->src_extent.element_bits == p->dst_extent.element_bits &&
      (dst.slots == 0 || rlo_address_map_element(&dst, 0, index, &is_element) == RLO_OK)) {
    expect(p);
    FUZZ_CHECK(memcmp(p->expected, p->result, sizeof(p->result)) == 0);
  } else {
    memcpy(p->expected, p->result, sizeof(p->expected));
  }
  static const int32_t widths[] = {0, 8, 32, RLO_MAX_UNIT_BITS};
  for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); ++i) {
    rlo_problem canonical = *problem;
    rlo_status status = rlo_problem_canonicalize(&canonical, widths[i], NULL, NULL);
    if (status != RLO_OK) {
      FUZZ_CHECK(status == RLO_UNSUPPORTED || status == RLO_OVERFLOW);
      continue;
    }
    run(p, &canonical);
    FUZZ_CHECK(memcmp(p->expected, p->result, sizeof(p->result)) == 0);
    rlo_problem again = canonical;
    FUZZ_CHECK(rlo_problem_canonicalize(&again, widths[i], NULL, NULL) == RLO_OK);
    FUZZ_CHECK(rlo_problem_equal(&canonical, &again));
    FUZZ_CHECK(rlo_problem_hash(&canonical) == rlo_problem_hash(&again));
  }
}

/* Two shapes, a line each: the relayout between them, lowered, in canonical
 * form, and by its definition. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static pair p;
  static rlo_problem problem;
  const char *text = (const char *)data;
  const char *line = size == 0 ? NULL : memchr(text, '\n', size);
  if (line == NULL) {
    return 0;
  }
  size_t length = (size_t)(line - text);
  if (take_shape(text, length, &p.src, &p.src_extent) &&
      take_shape(line + 1, size - length - 1, &p.dst, &p.dst_extent) &&
      rlo_relayout_lower(&p.src, &p.dst, NULL, &problem) == RLO_OK) {
    check_pair(&p, &problem);
  }
  return 0;
}
