/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_HOST_CAST_H
#define RLO_HOST_CAST_H

#include "host/kernels.h"
#include "relayout/problem.h"

/**
 * A conversion of runs of values, bit for bit that of rlo__arithmetic_convert:
 * a path of *rows*, loops over a block of values in the first-level cache, each
 * from one C type to another. Element-wise steps are rows from f32 to f32, each with a
 * number `y[i]` for the value `x`.
 */

/** Values of a block: a constant, so that compilers make vectors of each row. A row takes
 *  a chunk at a time, which stays in the first-level cache. */
#define RLO__HOST_CAST_BLOCK 64
#define RLO__HOST_CAST_CHUNK 512

/**
 * The rows: X(name, from, to, value), where `value` is made of `x`. A number goes to
 * a float of 8 or 16 bits through an f32 that is *odd*: cut, with its last bit set
 * if that lost something, which the second rounding cannot mistake for a tie. The last
 * rows are of units below a byte (host/packed.h): between a byte of them and a byte for each.
 */
#define RLO__HOST_ROWS(X)                                       \
  X(TABLE_8, uint8_t, uint8_t, cast->table.of8[x])              \
  X(TABLE_16, uint8_t, uint16_t, cast->table.of16[x])           \
  X(TABLE_32, uint8_t, uint32_t, cast->table.of32[x])           \
  X(TABLE_64, uint8_t, uint64_t, cast->table.of64[x])           \
  X(S16_S64, int16_t, int64_t, x)                               \
  X(U16_S64, uint16_t, int64_t, x)                              \
  X(S32_S64, int32_t, int64_t, x)                               \
  X(U32_S64, uint32_t, int64_t, x)                              \
  X(S64_S64, int64_t, int64_t, x)                               \
  X(S64_S32, int64_t, int32_t, x)                               \
  X(S64_S16, int64_t, int16_t, x)                               \
  X(S64_S8, int64_t, uint8_t, x &limits.mask)                   \
  X(S64_PRED, int64_t, uint8_t, x != 0)                         \
  X(S8_F32, int8_t, float, x)                                   \
  X(U8_F32, uint8_t, float, x)                                  \
  X(S32_F32, int32_t, float, x)                                 \
  X(S32_F64, int32_t, double, x)                                \
  X(S64_F32, int64_t, float, x)                                 \
  X(S64_F64, int64_t, double, x)                                \
  X(S64_ODD, int64_t, double, odd_s64(x))                       \
  X(U64_F32, uint64_t, float, x)                                \
  X(U64_F64, uint64_t, double, x)                               \
  X(U64_ODD, uint64_t, double, odd_u64(x))                      \
  X(F32_F64, float, double, quiet(x))                           \
  X(F32_F16, float, uint16_t, pack(&packing, x))                \
  X(F32_BF16, float, uint16_t, bf16_of(x))                      \
  X(BF16_F32, uint16_t, float, of_bf16(x))                      \
  X(F32_F8, float, uint8_t, pack(&packing, x))                  \
  X(F16_F32, uint16_t, float, unpack(&unpacking, x))            \
  X(F64_F32, double, float, quiet((float)x))                    \
  X(F64_ODD, double, float, odd_f32(x))                         \
  X(F64_S32, double, int32_t, s32_of(&limits, x))               \
  X(F64_S16, double, int16_t, s32_of(&limits, x))               \
  X(F64_S8, double, uint8_t, s32_of(&limits, x) & limits.mask)  \
  X(F64_S64, double, int64_t, s64_of(&limits, x))               \
  X(F64_U64, double, uint64_t, u64_of(x))                       \
  X(F64_PRED, double, uint8_t, is_true(x))                      \
  X(F32_S16, float, int16_t, short_of(&limits, x))              \
  X(F32_S8, float, uint8_t, short_of(&limits, x) & limits.mask) \
  X(F32_F32, float, float, quiet(x))                            \
  X(F32_SCALE, float, float, x *y)                              \
  X(F32_DIVIDE, float, float, x / y)                            \
  X(F32_ADD, float, float, x + y)                               \
  X(F32_LEAST, float, float, x < y ? y : x)                     \
  X(F32_MOST, float, float, x > y ? y : x)                      \
  X(F32_ROUND, float, float, rintf(x))                          \
  X(UNPACK_4, uint8_t, uint16_t, (x | x << 4) & 0x0f0f)         \
  X(UNPACK_2, uint8_t, uint32_t, unpacked_2(x))                 \
  X(UNPACK_1, uint8_t, uint64_t, unpacked_1(x))                 \
  X(PACK_4, uint16_t, uint8_t, x | x >> 4)                      \
  X(PACK_2, uint32_t, uint8_t, packed_2(x))                     \
  X(PACK_1, uint64_t, uint8_t, packed_1(x))

enum {

#define RLO__HOST_ROW_NUMBER(name, from, to, value) RLO__HOST_ROW_##name,
  RLO__HOST_ROWS(RLO__HOST_ROW_NUMBER)
#undef RLO__HOST_ROW_NUMBER
  /** To f32, the steps, of which a clamp is two rows, and from f32. */
  RLO__HOST_MAX_STEP_ROWS = RLO_MAX_ELEMENT_STEPS + 1,
  RLO__HOST_MAX_ROWS = 4 + RLO__HOST_MAX_STEP_ROWS + 4
};

/** A float of 16 bits that is unpacked to f32. */
typedef struct rlo__host_unpacking {
  int32_t shift, infinity;
  float scale;
} rlo__host_unpacking;

/** A float of 8 or 16 bits that an f32 is packed to: its magnitude is rounded where
 *  it is normal, from `least_normal` on, and the sum with `magic` rounds others. */
typedef struct rlo__host_packing {
  int32_t shift, rebias, least_normal;
  float magic;
  /** Magnitudes are at most this, and NaN from `over` on. */
  int32_t most, over;
  int32_t nan;
  int32_t sign_shift;
  /** Whether a zero has no sign. */
  int32_t has_one_zero;
} rlo__host_packing;

/** The limits of an integer, and the bits that one below a byte has. */
typedef struct rlo__host_limits {
  int64_t low, high, mask;
  /** The same limits. */
  double least, most;
} rlo__host_limits;

/** The numbers that the row of a step takes: a constant, or a list of operands, each
 *  times `number`. */
typedef struct rlo__host_step {
  float number;
  /** Negative: none. */
  int32_t list;
} rlo__host_step;

/** The operands of a run of values. */
typedef struct rlo__host_operands {
  /** The third memory, at any address, and the length of each list in it. */
  const uint8_t *memory;
  int64_t length;
  /** The place of the run's first value is the sum of the next two. */
  int64_t place;
  /** What grains of the run add to it, and the step in them; all 0 unless `varies`. */
  const int64_t *grains;
  int64_t grain_values, step;
  bool varies;
  /** The places of grains follow each other. */
  bool has_row;
  /** Those of a chunk; of a block, where they do not vary. */
  float numbers[RLO__HOST_MAX_STEP_ROWS][RLO__HOST_CAST_CHUNK];
} rlo__host_operands;

struct rlo__host_cast {
  /** Bytes of a value: of a complex number's part. */
  int64_t src_bytes, dst_bytes;
  /** Steps are the rows from first_step on. */
  int32_t num_steps, first_step, num_lists;
  rlo__host_step steps[RLO__HOST_MAX_STEP_ROWS];
  int32_t num_rows;
  rlo__host_row_fn rows[RLO__HOST_MAX_ROWS];
  rlo__host_unpacking unpacking;
  rlo__host_packing packing;
  rlo__host_limits limits;

  /** Results of all values of a byte. */
  union {
    uint8_t of8[256];
    uint16_t of16[256];
    uint32_t of32[256];
    uint64_t of64[256];
  } table;
};

/** The rows in portable C, for AVX2 and for AVX-512. */
extern const rlo__host_row_fn rlo__host_rows_portable[];
extern const rlo__host_row_fn rlo__host_rows_avx2[];
extern const rlo__host_row_fn rlo__host_rows_avx512[];

/** Prepares what becomes of the values of a problem that computes and does not sum. False
 *  for steps, types and units that have no path. */
bool rlo__host_cast_make(const rlo_problem *problem, const rlo__host_kernels *kernels,
                         rlo__host_cast *out);

/** Prepares the numbers of steps that are constants. */
void rlo__host_cast_begin(const rlo__host_cast *cast, rlo__host_operands *operands);

/** Converts a run of src_bytes bytes in C's default floating-point mode, which the
 *  caller sets. The memories do not overlap.
 *  @param copy_past_caches  stores what it makes; NULL: it is stored as usual. */
void rlo__host_cast_run(const rlo__host_cast *cast, uint8_t *dst, const uint8_t *src,
                        int64_t src_bytes, rlo__host_operands *operands,
                        rlo__host_copy_fn copy_past_caches);

/** The distance in the destination of what is `src_bytes` apart in a source of the
 *  same places. */
static inline int64_t rlo__host_cast_scale(const rlo__host_cast *cast, int64_t src_bytes) {
  return src_bytes / cast->src_bytes * cast->dst_bytes;
}

#endif
