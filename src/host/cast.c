/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cast.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "desc/dtype.h"
#include "ir/arithmetic.h"
#include "ir/problem.h"
#include "ir/update.h"

/** A path that is laid. */
typedef struct path {
  rlo__host_cast *cast;
  const rlo__host_kernels *kernels;
} path;

static void add(path *p, int row) {
  p->cast->rows[p->cast->num_rows++] = p->kernels->cast_rows[row];
}

/* ------------------------------------------------------------------- formats */

static bool is_bf16(const rlo__dtype_info *info) {
  return info->value_bits == 16 && info->format.exponent_bits == 8;
}

static rlo__host_unpacking unpacking_of(const rlo__dtype_info *info) {
  const int32_t mantissa_bits = info->format.mantissa_bits;
  return (rlo__host_unpacking){.shift = 23 - mantissa_bits,
                               .infinity = ((1 << info->format.exponent_bits) - 1) << mantissa_bits,
                               .scale = ldexpf(1.0F, 127 - info->format.bias)};
}

static rlo__host_packing packing_of(const rlo__dtype_info *info) {
  const int32_t mantissa_bits = info->format.mantissa_bits;
  const int32_t bias = info->format.bias;
  const int32_t magnitude_bits = info->format.exponent_bits + mantissa_bits;
  const int32_t all = (1 << magnitude_bits) - 1;
  const int32_t infinity = all >> mantissa_bits << mantissa_bits;
  const int32_t quiet = infinity | 1 << (mantissa_bits - 1);
  rlo__host_packing packing = {.shift = 23 - mantissa_bits,
                               .rebias = (127 - bias) << mantissa_bits,
                               .least_normal = (128 - bias) << 23,
                               .magic = ldexpf(1.0F, 24 - bias - mantissa_bits),
                               .most = all + 1,
                               .over = INT32_MAX,
                               .sign_shift = magnitude_bits};
  switch (info->format.specials) {
    case RLO__FLOAT_IEEE:
      packing.most = infinity;
      packing.nan = quiet;
      break;
    case RLO__FLOAT_FN:
      packing.over = all;
      packing.nan = all;
      break;
    case RLO__FLOAT_FNUZ:
      packing.over = all + 1;
      packing.nan = all + 1;
      packing.has_one_zero = 1;
      break;
    default:
      packing.most = all;
  }
  return packing;
}

/* ---------------------------------------------------------------------- paths */

static void fill_table(rlo__host_cast *cast, rlo_dtype src, rlo_dtype dst) {
  for (int value = 0; value < 256; ++value) {
    uint8_t unit[16] = {(uint8_t)value};
    rlo__arithmetic_convert(src, dst, unit, unit);
    memcpy((uint8_t *)&cast->table + value * cast->dst_bytes, unit, (size_t)cast->dst_bytes);
  }
}

/** From f32, or from the f64 that `is_f64` tells of, to a float below 32 bits. */
static void pack_float(path *p, const rlo__dtype_info *dst, bool is_f64) {
  p->cast->packing = packing_of(dst);
  if (is_f64) {
    add(p, RLO__HOST_ROW_F64_ODD);
  }
  if (is_bf16(dst)) {
    add(p, RLO__HOST_ROW_F32_BF16);
  } else {
    add(p, p->cast->dst_bytes == 2 ? RLO__HOST_ROW_F32_F16 : RLO__HOST_ROW_F32_F8);
  }
}

/** From s64 to an integer. */
static void narrow(path *p, const rlo__dtype_info *dst) {
  if (p->cast->dst_bytes == 4) {
    add(p, RLO__HOST_ROW_S64_S32);
  } else if (p->cast->dst_bytes == 2) {
    add(p, RLO__HOST_ROW_S64_S16);
  } else if (p->cast->dst_bytes == 1) {
    p->cast->limits.mask = (INT64_C(1) << dst->value_bits) - 1;
    add(p, RLO__HOST_ROW_S64_S8);
  }
}

/** From f64, or from f32 to at most 16 bits, to an integer. */
static void truncate_float(path *p, const rlo__dtype_info *dst, bool is_f64) {
  const bool is_signed = dst->class_of == RLO_DTYPE_CLASS_SIGNED;
  if (!is_signed && dst->value_bits == 64) {
    add(p, RLO__HOST_ROW_F64_U64);
    return;
  }
  p->cast->limits.high = INT64_MAX >> (64 - dst->value_bits - (is_signed ? 0 : 1));
  p->cast->limits.low = is_signed ? -p->cast->limits.high - 1 : 0;
  p->cast->limits.least = (double)p->cast->limits.low;
  p->cast->limits.most = (double)p->cast->limits.high;
  if (dst->value_bits < 32 || (is_signed && dst->value_bits == 32)) {
    static const int rows[][5] = {
        {[1] = RLO__HOST_ROW_F32_S8, [2] = RLO__HOST_ROW_F32_S16},
        {[1] = RLO__HOST_ROW_F64_S8, [2] = RLO__HOST_ROW_F64_S16, [4] = RLO__HOST_ROW_F64_S32}};
    p->cast->limits.mask = (INT64_C(1) << dst->value_bits) - 1;
    add(p, rows[is_f64][p->cast->dst_bytes]);
    return;
  }
  add(p, RLO__HOST_ROW_F64_S64);
  narrow(p, dst);
}

static void lay_from_float(path *p, const rlo__dtype_info *src, const rlo__dtype_info *dst) {
  const bool is_f64 = src->value_bits == 64;
  const bool is_float = dst->class_of == RLO_DTYPE_CLASS_FLOAT;
  if (src->value_bits == 16) {
    p->cast->unpacking = unpacking_of(src);
    add(p, is_bf16(src) ? RLO__HOST_ROW_BF16_F32 : RLO__HOST_ROW_F16_F32);
  }
  if (is_float && dst->value_bits < 32) {
    pack_float(p, dst, is_f64);
    return;
  }
  if (is_float && dst->value_bits == 32) {
    if (is_f64) {
      add(p, RLO__HOST_ROW_F64_F32);
    }
    return;
  }
  /* The limits of integers of at most 16 bits are numbers of f32. */
  const bool is_short = !is_float && dst->class_of != RLO_DTYPE_CLASS_BOOL && dst->value_bits <= 16;
  if (!is_f64 && !is_short) {
    add(p, RLO__HOST_ROW_F32_F64);
  }
  if (dst->class_of == RLO_DTYPE_CLASS_BOOL) {
    add(p, RLO__HOST_ROW_F64_PRED);
  } else if (!is_float) {
    truncate_float(p, dst, is_f64 || !is_short);
  }
}

static void widen(path *p, const rlo__dtype_info *src) {
  const bool is_signed = src->class_of == RLO_DTYPE_CLASS_SIGNED;
  if (src->value_bits == 16) {
    add(p, is_signed ? RLO__HOST_ROW_S16_S64 : RLO__HOST_ROW_U16_S64);
  } else if (src->value_bits == 32) {
    add(p, is_signed ? RLO__HOST_ROW_S32_S64 : RLO__HOST_ROW_U32_S64);
  }
}

static void lay_to_float(path *p, const rlo__dtype_info *src, const rlo__dtype_info *dst) {
  static const int rows[3][3] = {
      /* to f32, f64, less */
      {RLO__HOST_ROW_S32_F32, RLO__HOST_ROW_S32_F64, RLO__HOST_ROW_S32_F64},
      {RLO__HOST_ROW_S64_F32, RLO__HOST_ROW_S64_F64, RLO__HOST_ROW_S64_ODD},
      {RLO__HOST_ROW_U64_F32, RLO__HOST_ROW_U64_F64, RLO__HOST_ROW_U64_ODD},
  };
  const bool is_signed = src->class_of == RLO_DTYPE_CLASS_SIGNED;
  int from = 1;
  if (is_signed && src->value_bits == 32) {
    from = 0;
  } else if (!is_signed && src->value_bits == 64) {
    from = 2;
  } else {
    widen(p, src);
  }
  const int to = dst->value_bits == 32 ? 0 : dst->value_bits == 64 ? 1 : 2;
  add(p, rows[from][to]);
  if (to == 2) {
    pack_float(p, dst, true);
  }
}

static void lay_from_integer(path *p, const rlo__dtype_info *src, const rlo__dtype_info *dst) {
  if (dst->class_of == RLO_DTYPE_CLASS_FLOAT) {
    lay_to_float(p, src, dst);
    return;
  }
  widen(p, src);
  if (dst->class_of == RLO_DTYPE_CLASS_BOOL) {
    add(p, RLO__HOST_ROW_S64_PRED);
  } else {
    narrow(p, dst);
  }
  if (p->cast->num_rows == 0) {
    add(p, RLO__HOST_ROW_S64_S64);
  }
}

static void lay(path *p, rlo_dtype src, rlo_dtype dst) {
  static const int tables[] = {[1] = RLO__HOST_ROW_TABLE_8,
                               [2] = RLO__HOST_ROW_TABLE_16,
                               [4] = RLO__HOST_ROW_TABLE_32,
                               [8] = RLO__HOST_ROW_TABLE_64};
  const rlo__dtype_info *from = rlo__dtype_info_of(src);
  const rlo__dtype_info *to = rlo__dtype_info_of(dst);
  p->cast->dst_bytes = rlo_dtype_storage_bits(dst) / 8;
  if (from->value_bits == 8 && rlo_dtype_is_integral(src) &&
      to->class_of == RLO_DTYPE_CLASS_FLOAT && to->value_bits <= 32) {
    add(p, from->class_of == RLO_DTYPE_CLASS_SIGNED ? RLO__HOST_ROW_S8_F32 : RLO__HOST_ROW_U8_F32);
    lay_from_float(p, rlo__dtype_info_of(RLO_DTYPE_F32), to);
  } else if (rlo_dtype_storage_bits(src) == 8) {
    fill_table(p->cast, src, dst);
    add(p, tables[p->cast->dst_bytes]);
  } else if (rlo_dtype_is_floating(src)) {
    lay_from_float(p, from, to);
  } else {
    lay_from_integer(p, from, to);
  }
}

/** Adds the row of a step, with a constant, or with a list of operands. */
static void add_step(path *p, int row, double number, int32_t list) {
  p->cast->steps[p->cast->num_steps++] = (rlo__host_step){rlo__arithmetic_f32(number), list};
  add(p, row);
}

static bool lay_step(path *p, const rlo_arithmetic *a, const rlo_element_step *step) {
  const int32_t list = rlo__arithmetic_lists_before(a, (int32_t)step->op);
  const double number = step->numbers[0];
  switch (step->op) {
    case RLO_ELEMENT_SCALE:
      add_step(p, RLO__HOST_ROW_F32_SCALE, number, -1);
      return true;
    case RLO_ELEMENT_SCALE_BY:
      add_step(p, RLO__HOST_ROW_F32_SCALE, 1.0, list);
      return true;
    case RLO_ELEMENT_DIVIDE:
      add_step(p, RLO__HOST_ROW_F32_DIVIDE, number, -1);
      return true;
    case RLO_ELEMENT_DIVIDE_BY:
      add_step(p, RLO__HOST_ROW_F32_DIVIDE, 1.0, list);
      return true;
    case RLO_ELEMENT_ADD:
      add_step(p, RLO__HOST_ROW_F32_ADD, number, -1);
      return true;
    case RLO_ELEMENT_ADD_BY:
      add_step(p, RLO__HOST_ROW_F32_ADD, number, list);
      return true;
    case RLO_ELEMENT_CLAMP:
      add_step(p, RLO__HOST_ROW_F32_LEAST, number, -1);
      add_step(p, RLO__HOST_ROW_F32_MOST, step->numbers[1], -1);
      return true;
    case RLO_ELEMENT_ROUND:
      add_step(p, RLO__HOST_ROW_F32_ROUND, 0.0, -1);
      return true;
    default:
      return false;
  }
}

/** Lays a path through f32. */
static bool lay_steps(path *p, const rlo_arithmetic *a) {
  bool has_path = rlo__arithmetic_compute(a) == RLO__COMPUTE_F32;
  if (a->src_type != RLO_DTYPE_F32) {
    lay(p, a->src_type, RLO_DTYPE_F32);
  }
  p->cast->first_step = p->cast->num_rows;
  for (int32_t s = 0; has_path && s < a->num_steps; ++s) {
    has_path = lay_step(p, a, &a->steps[s]);
  }
  p->cast->num_lists = rlo__arithmetic_lists_before(a, INT32_MAX);
  if (a->dst_type == RLO_DTYPE_F32) {
    p->cast->dst_bytes = 4;
    add(p, RLO__HOST_ROW_F32_F32);
  } else {
    lay(p, RLO_DTYPE_F32, a->dst_type);
  }
  return has_path;
}

bool rlo__host_cast_make(const rlo_problem *problem, const rlo__host_kernels *kernels,
                         rlo__host_cast *out) {
  const rlo_arithmetic *a = &problem->arithmetic;
  const bool has_steps = !rlo__problem_is_conversion(problem);
  const bool is_complex = rlo_dtype_is_complex(a->src_type);
  if ((a->src_type == a->dst_type && !has_steps) ||
      is_complex != rlo_dtype_is_complex(a->dst_type) || (is_complex && has_steps) ||
      problem->unit_bits != rlo_dtype_storage_bits(a->src_type) ||
      a->dst_unit_bits != rlo_dtype_storage_bits(a->dst_type)) {
    return false;
  }
  const rlo_dtype src = rlo__arithmetic_part(a->src_type);
  *out = (rlo__host_cast){.src_bytes = rlo_dtype_storage_bits(src) / 8};
  path p = {out, kernels};
  if (has_steps) {
    return lay_steps(&p, a);
  }
  lay(&p, src, rlo__arithmetic_part(a->dst_type));
  return true;
}

/* ------------------------------------------------------------------------ runs */

void rlo__host_cast_begin(const rlo__host_cast *cast, rlo__host_operands *operands) {
  for (int32_t s = 0; s < RLO__HOST_MAX_STEP_ROWS; ++s) {
    for (int32_t k = 0; k < RLO__HOST_CAST_BLOCK; ++k) {
      operands->numbers[s][k] = s < cast->num_steps ? cast->steps[s].number : 0.0F;
    }
  }
}

/** The operand of a list at a place. */
static float operand_at(const uint8_t *list, int64_t place) {
  float number;
  memcpy(&number, list + place * (int64_t)sizeof number, sizeof number);
  return number;
}

/** Finds the numbers of a step for some values of a run. */
static rlo__host_numbers find_numbers(const rlo__host_step *step, const rlo__host_operands *from,
                                      int64_t first, int64_t count, float *out) {
  const int64_t bytes = sizeof *out;
  const int64_t block_bytes = RLO__HOST_CAST_BLOCK * bytes;
  if (step->list < 0) {
    return (rlo__host_numbers){out, 0};
  }
  const uint8_t *list = from->memory + step->list * from->length * bytes;
  const bool is_row = from->varies && from->grain_values == 1 && from->has_row;
  const int64_t stride = is_row ? 1 : from->varies ? from->step : 0;
  for (int64_t k = 0; k < count;) {
    const int64_t grain = (first + k) / from->grain_values;
    const int64_t within = (first + k) % from->grain_values;
    const int64_t left = rlo__min(from->grain_values - within, count - k);
    const int64_t here = is_row || !from->varies ? count : left;
    int64_t place = from->place + from->grains[grain] + within * from->step;
    if (here == count && stride == 0) {
      const float number = operand_at(list, place) * step->number;
      for (int32_t i = 0; i < RLO__HOST_CAST_BLOCK; ++i) {
        out[i] = number;
      }
      return (rlo__host_numbers){out, 0};
    }
    if (here == count && stride == 1 && step->number == 1.0F && count >= RLO__HOST_CAST_BLOCK) {
      return (rlo__host_numbers){list + place * bytes, block_bytes};
    }
    for (int64_t end = k + here; k < end; ++k, place += stride) {
      out[k] = operand_at(list, place) * step->number;
    }
  }
  return (rlo__host_numbers){out, block_bytes};
}

void rlo__host_cast_run(const rlo__host_cast *cast, uint8_t *dst, const uint8_t *src,
                        int64_t src_bytes, rlo__host_operands *operands,
                        rlo__host_copy_fn copy_past_caches) {
  uint64_t between[2][RLO__HOST_CAST_CHUNK];
  const int64_t values = src_bytes / cast->src_bytes;
  for (int64_t first = 0, count = 0; first < values; first += count) {
    /* Blocks, and at last what is less than one, as one. */
    const int64_t left = rlo__min(values - first, RLO__HOST_CAST_CHUNK);
    const bool is_whole = left >= RLO__HOST_CAST_BLOCK;
    count = is_whole ? left - left % RLO__HOST_CAST_BLOCK : left;
    const void *in = src;
    if (!is_whole) {
      memset(between[1], 0, (size_t)(RLO__HOST_CAST_BLOCK * cast->src_bytes));
      in = memcpy(between[1], src, (size_t)(count * cast->src_bytes));
    }
    /* The next chunk, which the processor would ask for late, after rows in the cache. */
    const int64_t next = rlo__min(values - first - count, count) * cast->src_bytes;
    for (int64_t k = 0; k < next; k += RLO__HOST_LINE_BYTES) {
      __builtin_prefetch(src + count * cast->src_bytes + k, 0, 2);
    }
    for (int32_t n = 0; n < cast->num_rows; ++n) {
      const bool is_last = n == cast->num_rows - 1 && is_whole && copy_past_caches == NULL;
      void *out = is_last ? (void *)dst : (void *)between[n % 2];
      const int32_t s = n - cast->first_step;
      rlo__host_numbers numbers = {operands->numbers[0], 0};
      if (s >= 0 && s < cast->num_steps) {
        numbers = find_numbers(&cast->steps[s], operands, first, count, operands->numbers[s]);
      }
      cast->rows[n](cast, out, in, rlo__max(count, RLO__HOST_CAST_BLOCK), numbers);
      in = out;
    }
    if (!is_whole) {
      memcpy(dst, in, (size_t)(count * cast->dst_bytes));
    } else if (copy_past_caches != NULL) {
      copy_past_caches(dst, in, (size_t)(count * cast->dst_bytes));
    }
    src += count * cast->src_bytes;
    dst += count * cast->dst_bytes;
  }
}
