/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of conversions for one set of instructions. kernels_portable.c and
 * kernels_x86.c include this file once for each set. They define, and this file undefines:
 *
 *   ISA      the end of the names of the table of rows, and of each
 *   TARGET   the attribute that permits the instructions
 *
 * Compilers make the vectors. Integers have a sign where they are compared, for which
 * the oldest processors have an instruction. No include guard, as kernels_body.h.
 */

#ifndef VALUE

/* For any set: a function takes on the instructions of the row that it is a part of. */
#define VALUE static inline __attribute__((always_inline))

VALUE int32_t bits_of(float x) {
  int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

VALUE float float_of(int32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Without a branch, into which compilers would sink work, so that no vectors remain. */
VALUE int32_t pick(bool is_first, int32_t first, int32_t second) {
  return second ^ ((first ^ second) & -(int32_t)is_first);
}

/* NaNs lose their sign and payload. */
VALUE float quiet(float x) {
  const int32_t bits = bits_of(x);
  return float_of(pick((bits & 0x7fffffff) > 0x7f800000, 0x7fc00000, bits));
}

/* The upper half, rounded: a bf16 has the exponents of an f32. */
VALUE int32_t bf16_of(float x) {
  const uint32_t bits = (uint32_t)bits_of(x);
  const int32_t near = (int32_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  return pick((bits & 0x7fffffff) > 0x7f800000, 0x7fc0, near);
}

VALUE float of_bf16(uint32_t x) {
  return quiet(float_of((int32_t)(x << 16)));
}

VALUE uint8_t is_true(double x) {
  return x != 0;
}

/* The bits that an f64 may lack, as one. */
VALUE double odd_s64(int64_t x) {
  const int64_t cut = (x & ~INT64_C(0x7ff)) | (int64_t)((x & 0x7ff) != 0) << 11;
  const bool is_exact = x < INT64_C(1) << 53 && x > -(INT64_C(1) << 53);
  return (double)(is_exact ? x : cut);
}

VALUE double odd_u64(uint64_t x) {
  const uint64_t cut = (x & ~UINT64_C(0x7ff)) | (uint64_t)((x & 0x7ff) != 0) << 11;
  return (double)(x < UINT64_C(1) << 53 ? x : cut);
}

VALUE float odd_f32(double x) {
  const float near = (float)x;
  const int32_t cut = bits_of(near) - (fabs((double)near) > fabs(x));
  return float_of(cut | ((double)near != x));
}

/* An integer of up to 32 bits, but for u32. */
VALUE int32_t s32_of(const rlo__host_limits *limits, double x) {
  const double number = x == x ? x : 0.0;
  const double raised = number < limits->least ? limits->least : number;
  return (int32_t)(raised > limits->most ? limits->most : raised);
}

/* An integer of up to 16 bits. */
VALUE int32_t short_of(const rlo__host_limits *limits, float x) {
  const float least = (float)limits->least;
  const float most = (float)limits->most;
  const float number = x == x ? x : 0.0F;
  const float raised = number < least ? least : number;
  return (int32_t)(raised > most ? most : raised);
}

VALUE int64_t s64_of(const rlo__host_limits *limits, double x) {
  const int64_t whole = x >= 0x1p63 ? INT64_MAX : x > -0x1p63 ? (int64_t)x : INT64_MIN;
  const int64_t raised = whole < limits->low ? limits->low : whole;
  const int64_t within = raised > limits->high ? limits->high : raised;
  return x == x ? within : 0;
}

VALUE uint64_t u64_of(double x) {
  return x >= 0x1p64 ? UINT64_MAX : x > 0 ? (uint64_t)x : 0;
}

VALUE float unpack(const rlo__host_unpacking *from, int32_t x) {
  const int32_t magnitude = x & 0x7fff;
  const int32_t finite = bits_of(float_of(magnitude << from->shift) * from->scale);
  const int32_t value = pick(magnitude < from->infinity, finite, 0x7f800000);
  const int32_t sign = (int32_t)((uint32_t)(x & 0x8000) << 16);
  return float_of(pick(magnitude > from->infinity, 0x7fc00000, value | sign));
}

VALUE int32_t pack(const rlo__host_packing *to, float x) {
  const uint32_t bits = (uint32_t)bits_of(x);
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t tie = (1U << (to->shift - 1)) - 1 + (magnitude >> to->shift & 1);
  const int32_t normal = (int32_t)((magnitude + tie) >> to->shift) - to->rebias;
  const int32_t small = bits_of(float_of((int32_t)magnitude) + to->magic) - bits_of(to->magic);
  const int32_t rounded = pick((int32_t)magnitude < to->least_normal, small, normal);
  const int32_t value = pick(rounded < to->most, rounded, to->most);
  const int32_t sign = (int32_t)(bits >> 31 << to->sign_shift);
  const int32_t result = value | (sign & -(int32_t)(value >= to->has_one_zero));
  return pick((value >= to->over) | ((int32_t)magnitude > 0x7f800000), to->nan, result);
}

/* A byte of units to a byte for each, by halves, and back. */
VALUE uint32_t unpacked_2(uint32_t x) {
  x = (x | x << 12) & 0x000f000f;
  return (x | x << 6) & 0x03030303;
}

VALUE uint64_t unpacked_1(uint64_t x) {
  x = (x | x << 28) & UINT64_C(0x0000000f0000000f);
  x = (x | x << 14) & UINT64_C(0x0003000300030003);
  return (x | x << 7) & UINT64_C(0x0101010101010101);
}

VALUE uint32_t packed_2(uint32_t x) {
  x = (x | x >> 6) & 0x000f000f;
  return x | x >> 12;
}

VALUE uint64_t packed_1(uint64_t x) {
  x = (x | x >> 7) & UINT64_C(0x0003000300030003);
  x = (x | x >> 14) & UINT64_C(0x0000000f0000000f);
  return x | x >> 28;
}

#endif

#define ROW_NAME(name) PASTE(row_##name##_, ISA)

/* At any address. Nothing overlaps, and blocks have a constant length, so that compilers
 * make vectors of them. */
#define DEFINE_ROW(name, from, to, value)                                           \
  TARGET static void ROW_NAME(name)(const rlo__host_cast *cast, void *restrict dst, \
                                    const void *restrict src, int64_t count,        \
                                    rlo__host_numbers numbers) {                    \
    const rlo__host_unpacking unpacking = cast->unpacking;                          \
    const rlo__host_packing packing = cast->packing;                                \
    const rlo__host_limits limits = cast->limits;                                   \
    const char *restrict in = src;                                                  \
    const char *restrict beside = (const char *)numbers.first;                      \
    char *restrict out = dst;                                                       \
    (void)unpacking;                                                                \
    (void)packing;                                                                  \
    (void)limits;                                                                   \
    for (int64_t n = 0; n < count; n += RLO__HOST_CAST_BLOCK) {                     \
      for (int i = 0; i < RLO__HOST_CAST_BLOCK; ++i) {                              \
        from x;                                                                     \
        float y;                                                                    \
        memcpy(&x, in + (size_t)i * sizeof x, sizeof x);                            \
        memcpy(&y, beside + (size_t)i * sizeof y, sizeof y);                        \
        (void)y;                                                                    \
        const to result = (to)(value);                                              \
        memcpy(out + (size_t)i * sizeof result, &result, sizeof result);            \
      }                                                                             \
      in += RLO__HOST_CAST_BLOCK * sizeof(from);                                    \
      out += RLO__HOST_CAST_BLOCK * sizeof(to);                                     \
      beside += numbers.step;                                                       \
    }                                                                               \
  }
#define ROW_ENTRY(name, from, to, value) [RLO__HOST_ROW_##name] = ROW_NAME(name),

RLO__HOST_ROWS(DEFINE_ROW)

const rlo__host_row_fn PASTE(rlo__host_rows_, ISA)[] = {RLO__HOST_ROWS(ROW_ENTRY)};

#undef DEFINE_ROW
#undef ROW_ENTRY
#undef ROW_NAME
#undef ISA
#undef TARGET
