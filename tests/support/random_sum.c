/* SPDX-License-Identifier: Apache-2.0 */
#include "support/random_sum.h"

#include <stdbool.h>
#include <string.h>

#include "desc/dtype.h"
#include "ir/arithmetic.h"
#include "relayout/dtype.h"
#include "support/factors.h"

/** Sets the base and the bytes of one side. */
static int64_t place(const rlo_problem *problem, rlo_form *form, int64_t unit_bytes) {
  int64_t last = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    int64_t span = form->axis[a] * (problem->extents[a] - 1);
    form->base -= span < 0 ? span : 0;
    last += span < 0 ? -span : span;
  }
  return (last + 1) * unit_bytes;
}

void test_sum_make(rlo_dtype src_type, rlo_dtype dst_type, const test_sum_axis *axes,
                   int32_t num_axes, rlo_problem *out) {
  memset(out, 0, sizeof *out);
  out->update = RLO_UPDATE_COMBINE;
  out->unit_bits = rlo_dtype_storage_bits(src_type);
  out->arithmetic = (rlo_arithmetic){.src_type = src_type,
                                     .dst_type = dst_type,
                                     .dst_unit_bits = rlo_dtype_storage_bits(dst_type)};
  out->num_axes = num_axes;
  for (int32_t a = 0; a < num_axes; ++a) {
    out->extents[a] = axes[a].extent;
    out->src.axis[a] = axes[a].src_stride;
    out->dst.axis[a] = axes[a].dst_stride;
  }
  out->src_bytes = place(out, &out->src, out->unit_bits / 8);
  out->dst_bytes = place(out, &out->dst, out->arithmetic.dst_unit_bits / 8);
  out->read_bytes = out->src_bytes;
  out->written_bytes = out->dst_bytes;
}

/** A power of two of blocks, give or take a point, a block or anything. */
static int64_t random_length(test_random *random, int64_t points) {
  int64_t length = RLO_SUM_BLOCK;
  while (length < points && !test_random_once_in(random, 6)) {
    length *= 2;
  }
  switch (test_random_in(random, 0, 6)) {
    case 0:
      break;
    case 1:
      length += 1;
      break;
    case 2:
      length -= 1;
      break;
    case 3:
      length += RLO_SUM_BLOCK;
      break;
    case 4:
      length -= length > RLO_SUM_BLOCK ? RLO_SUM_BLOCK : 0;
      break;
    default:
      length = test_random_in(random, 1, 2 * points);
      break;
  }
  return length;
}

void test_random_sum(test_random *random, rlo_dtype src_type, rlo_dtype dst_type, int64_t points,
                     rlo_problem *out) {
  test_sum_axis axes[4];
  int32_t num_axes = 0;
  int64_t length = random_length(random, points);
  /* Gaps keep axes apart. */
  int64_t gap = test_random_in(random, 0, 3);
  int64_t cells = test_random_in(random, 1, 5);
  switch (test_random_in(random, 0, 5)) {
    case 0: /* of all */
      axes[num_axes++] = (test_sum_axis){length, 1, 0};
      break;
    case 1: /* along rows, read backwards now and then */
      length = length / cells + 1;
      axes[num_axes++] = (test_sum_axis){cells, length + gap, 1 + gap};
      axes[num_axes++] = (test_sum_axis){length, test_random_once_in(random, 4) ? -1 : 1, 0};
      break;
    case 2: /* down columns */
      cells = test_random_in(random, 1, 40);
      length = length / cells + 1;
      axes[num_axes++] = (test_sum_axis){length, cells + gap, 0};
      axes[num_axes++] = (test_sum_axis){cells, 1, 1};
      break;
    case 3: /* over the outer and the inner axis */
    case 4: {
      int64_t outer = test_random_in(random, 2, 12);
      length = length / cells / outer + 1;
      axes[num_axes++] = (test_sum_axis){cells, length, 1};
      axes[num_axes++] = (test_sum_axis){outer, cells * length + gap, 0};
      axes[num_axes++] = (test_sum_axis){length, 1, 0};
      break;
    }
    default: { /* of windows, and of the same number many times */
      axes[num_axes++] = (test_sum_axis){test_random_in(random, 2, 9), gap, 0};
      axes[num_axes++] = (test_sum_axis){length / 6 + 1, 1, 0};
      axes[num_axes++] = (test_sum_axis){3, -2, -1};
      break;
    }
  }
  test_sum_make(src_type, dst_type, axes, num_axes, out);
  if (test_random_once_in(random, 3)) {
    double alpha = (double)test_random_in(random, -3, 3);
    test_set_factors(&out->arithmetic, alpha, (double)test_random_in(random, -2, 2));
  }
}

void test_sum_fill(test_random *random, rlo_dtype dtype, int64_t bytes, uint8_t *memory) {
  rlo_dtype part = rlo__arithmetic_part(dtype);
  int64_t part_bytes = rlo_dtype_storage_bits(part) / 8;
  int32_t value_bits = rlo_dtype_value_bits(part);
  const rlo__dtype_info *info = rlo__dtype_info_of(part);
  uint64_t infinity = ((UINT64_C(1) << info->format.exponent_bits) - 1)
                      << info->format.mantissa_bits;
  uint64_t sign = UINT64_C(1) << (value_bits - 1);
  bool is_odd = test_random_once_in(random, 4);
  bool is_all_minus_zero = test_random_once_in(random, 8);
  for (int64_t k = 0; k < bytes / part_bytes; ++k) {
    uint64_t bits = test_random_bits(random);
    if (rlo_dtype_is_floating(part)) {
      /* Half of the exponents, around 1. */
      bits &= ~(sign >> 1);
      bits |= sign >> 2 | sign >> 3;
      if (is_all_minus_zero || test_random_once_in(random, 16)) {
        bits = sign;
      } else if (is_odd && test_random_once_in(random, 5000)) {
        bits = (bits & sign) | infinity | test_random_once_in(random, 2);
      }
    }
    memcpy(memory + k * part_bytes, &bits, (size_t)part_bytes);
  }
}
