/* SPDX-License-Identifier: Apache-2.0 */
#include "host/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "host/cast.h"

/* Pointers to vectors are not aligned where the intrinsic does not ask for
 * it. */
#define AT(p)   ((void *)(p))
#define FROM(p) ((const void *)(p))

#define PASTE(a, b)        PASTE_VALUES(a, b)
#define PASTE_VALUES(a, b) a##b

/* The intrinsic for units of UNIT bytes. */
#define UNPACK(intrinsic) PASTE(intrinsic, PASTE(BITS_, UNIT))
#define BITS_1            8
#define BITS_2            16
#define BITS_4            32
#define BITS_8            64

/* ----------------------------------------------------------------- 16 bytes */

#define ISA                   ssse3
#define TARGET                __attribute__((target("ssse3")))
#define VECTOR                __m128i
#define LANES                 1
#define LOAD(src, rows, step) _mm_loadu_si128(FROM((src) + (rows)[0]))
#define STORE(p, v)           _mm_storeu_si128(AT(p), v)
#define STREAM(p, v)          _mm_stream_si128(AT(p), v)
#define LOW(a, b)             UNPACK(_mm_unpacklo_epi)(a, b)
#define HIGH(a, b)            UNPACK(_mm_unpackhi_epi)(a, b)
#include "host/kernels_body.h"

#define ISA                 ssse3
#define TARGET              __attribute__((target("ssse3")))
#define VECTOR              __m128i
#define LANES               1
#define WIDTH               16
#define LOAD(p, step)       _mm_loadu_si128(FROM(p))
#define STORE(p, v, step)   _mm_storeu_si128(AT(p), v)
#define STREAM(p, v, step)  _mm_stream_si128(AT(p), v)
#define SHUFFLE(v, mask)    _mm_shuffle_epi8(v, _mm_loadu_si128(FROM(mask)))
#define MERGE(out, v, mask) _mm_or_si128(out, SHUFFLE(v, mask))
#include "host/shuffle_body.h"

/* ----------------------------------------------------------------- 32 bytes */

#define ISA    avx2
#define TARGET __attribute__((target("avx2")))
#define VECTOR __m256i
#define LANES  2
#define LOAD(src, rows, step)                                                               \
  _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(FROM((src) + (rows)[0]))), \
                          _mm_loadu_si128(FROM((src) + (rows)[step])), 1)
#define LOAD_ROW(p)  _mm256_loadu_si256(FROM(p))
#define EVEN(a, b)   _mm256_permute2x128_si256(a, b, 0x20)
#define ODD(a, b)    _mm256_permute2x128_si256(a, b, 0x31)
#define STORE(p, v)  _mm256_storeu_si256(AT(p), v)
#define STREAM(p, v) _mm256_stream_si256(AT(p), v)
#define LOW(a, b)    UNPACK(_mm256_unpacklo_epi)(a, b)
#define HIGH(a, b)   UNPACK(_mm256_unpackhi_epi)(a, b)
#include "host/kernels_body.h"

#define LOW_LANE(v)  _mm256_castsi256_si128(v)
#define HIGH_LANE(v) _mm256_extracti128_si256(v, 1)

#define ISA           avx2
#define TARGET        __attribute__((target("avx2")))
#define VECTOR        __m256i
#define LANES         2
#define WIDTH         16
#define LOAD(p, step) _mm256_loadu2_m128i(FROM((p) + (step)), FROM(p))
#define STORE(p, v, step)               \
  _mm_storeu_si128(AT(p), LOW_LANE(v)); \
  _mm_storeu_si128(AT((p) + (step)), HIGH_LANE(v))
#define STREAM(p, v, step)              \
  _mm_stream_si128(AT(p), LOW_LANE(v)); \
  _mm_stream_si128(AT((p) + (step)), HIGH_LANE(v))
#define SHUFFLE(v, mask) \
  _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(_mm_loadu_si128(FROM(mask))))
#define MERGE(out, v, mask) _mm256_or_si256(out, SHUFFLE(v, mask))
#include "host/shuffle_body.h"

#define ISA    avx2
#define TARGET __attribute__((target("avx2")))
#include "host/cast_body.h"

/* ----------------------------------------------------------------- 64 bytes */

#define ISA    avx512
#define TARGET __attribute__((target("avx512f,avx512bw")))
#define VECTOR __m512i
#define LANES  4
#define LANE(v, src, rows, step, q) \
  _mm512_inserti32x4(v, _mm_loadu_si128(FROM((src) + (rows)[(q) * (step)])), q)
#define LOAD(src, rows, step)                                                                 \
  LANE(LANE(LANE(_mm512_castsi128_si512(_mm_loadu_si128(FROM((src) + (rows)[0]))), src, rows, \
                 step, 1),                                                                    \
            src, rows, step, 2),                                                              \
       src, rows, step, 3)
#define LOAD_ROW(p)  _mm512_loadu_si512(FROM(p))
#define EVEN(a, b)   _mm512_shuffle_i32x4(a, b, 0x88)
#define ODD(a, b)    _mm512_shuffle_i32x4(a, b, 0xdd)
#define STORE(p, v)  _mm512_storeu_si512(AT(p), v)
#define STREAM(p, v) _mm512_stream_si512(AT(p), v)
#define LOW(a, b)    UNPACK(_mm512_unpacklo_epi)(a, b)
#define HIGH(a, b)   UNPACK(_mm512_unpackhi_epi)(a, b)
#include "host/kernels_body.h"

#define ISA    avx512
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#include "host/cast_body.h"

/* Any byte of a vector, where the processor has the instruction. For streams it is slower
 * than two lanes of 16 bytes. */
#define ISA                vbmi
#define TARGET             __attribute__((target("avx512f,avx512bw,avx512vbmi")))
#define VECTOR             __m512i
#define LANES              1
#define WIDTH              64
#define LOAD(p, step)      _mm512_loadu_si512(FROM(p))
#define STORE(p, v, step)  _mm512_storeu_si512(AT(p), v)
#define STREAM(p, v, step) _mm512_stream_si512(AT(p), v)
#define IS_SET(mask)       _mm512_movepi8_mask(mask)
#define SHUFFLE(v, mask)   _mm512_permutexvar_epi8(LOAD(mask, 0), v)
#define MERGE(out, v, mask) \
  _mm512_mask_permutexvar_epi8(out, ~IS_SET(LOAD(mask, 0)), LOAD(mask, 0), v)
#include "host/shuffle_body.h"

/* ------------------------------------------------------------------- copies */

/* Bytes before the first whole line. */
static size_t head_of(const uint8_t *dst, size_t bytes) {
  size_t head = (size_t)(-(uintptr_t)dst % RLO__HOST_LINE_BYTES);
  return head < bytes ? head : bytes;
}

#define DEFINE_COPY(isa, target_attribute, copy_line)                                       \
  target_attribute static void copy_##isa(uint8_t *dst, const uint8_t *src, size_t bytes) { \
    size_t head = head_of(dst, bytes);                                                      \
    memcpy(dst, src, head);                                                                 \
    size_t end = bytes - (bytes - head) % RLO__HOST_LINE_BYTES;                             \
    for (size_t i = head; i < end; i += RLO__HOST_LINE_BYTES) {                             \
      copy_line(dst + i, src + i);                                                          \
    }                                                                                       \
    memcpy(dst + end, src + end, bytes - end);                                              \
  }

#define COPY_16(p, q) _mm_stream_si128(AT(p), _mm_loadu_si128(FROM(q)))
#define COPY_32(p, q) _mm256_stream_si256(AT(p), _mm256_loadu_si256(FROM(q)))
#define COPY_LINE_SSSE3(p, q)  \
  COPY_16(p, q);               \
  COPY_16((p) + 16, (q) + 16); \
  COPY_16((p) + 32, (q) + 32); \
  COPY_16((p) + 48, (q) + 48)
#define COPY_LINE_AVX2(p, q) \
  COPY_32(p, q);             \
  COPY_32((p) + 32, (q) + 32)
#define COPY_LINE_AVX512(p, q) _mm512_stream_si512(AT(p), _mm512_loadu_si512(FROM(q)))

DEFINE_COPY(ssse3, , COPY_LINE_SSSE3)
DEFINE_COPY(avx2, __attribute__((target("avx2"))), COPY_LINE_AVX2)
DEFINE_COPY(avx512, __attribute__((target("avx512f"))), COPY_LINE_AVX512)

#define DEFINE_GRAINS(isa, target_attribute, copy_line)                           \
  target_attribute static void grains_##isa(                                      \
      uint8_t *dst, const int64_t *columns, const uint8_t *src, int64_t src_step, \
      int64_t num_columns, int64_t grain_bytes, const uint8_t *ahead) {           \
    for (int64_t i = 0; i < num_columns; ++i) {                                   \
      const uint8_t *from = src + i * src_step;                                   \
      uint8_t *to = dst + columns[i];                                             \
      for (int64_t k = 0; k < grain_bytes; k += RLO__HOST_LINE_BYTES) {           \
        if (ahead != NULL) {                                                      \
          __builtin_prefetch(ahead + i * grain_bytes + k, 0, 2);                  \
        }                                                                         \
        copy_line(to + k, from + k);                                              \
      }                                                                           \
    }                                                                             \
  }

DEFINE_GRAINS(ssse3, , COPY_LINE_SSSE3)
DEFINE_GRAINS(avx2, __attribute__((target("avx2"))), COPY_LINE_AVX2)
DEFINE_GRAINS(avx512, __attribute__((target("avx512f"))), COPY_LINE_AVX512)

static void fence(void) {
  _mm_sfence();
}

/* ------------------------------------------------------------------- tables */

#define GROUPS(kind, isa) \
  { kind##_##isa##_1, kind##_##isa##_2, kind##_##isa##_4, kind##_##isa##_8, kind##_##isa##_16 }
#define KERNELS(isa, bytes, streams_isa, blocks_isa, width, rows)                                  \
  {                                                                                                \
    .vector_bytes = bytes, .line_rows = GROUPS(line_rows, isa),                                    \
    .line_rows_past_caches = GROUPS(line_rows_past_caches, isa),                                   \
    .few_rows = GROUPS(few_rows, ssse3), .copy_past_caches = copy_##isa,                           \
    .grains_past_caches = grains_##isa, .shuffle_streams = streams_##streams_isa,                  \
    .shuffle_blocks = blocks_##blocks_isa, .block_width = width, .cast_rows = rows, .fence = fence \
  }

static const rlo__host_kernels ssse3 =
    KERNELS(ssse3, 16, ssse3, ssse3, 16, rlo__host_rows_portable);
static const rlo__host_kernels avx2 = KERNELS(avx2, 32, avx2, avx2, 16, rlo__host_rows_avx2);
static const rlo__host_kernels avx512 = KERNELS(avx512, 64, avx2, avx2, 16, rlo__host_rows_avx512);
static const rlo__host_kernels vbmi = KERNELS(avx512, 64, avx2, vbmi, 64, rlo__host_rows_avx512);

const rlo__host_kernels *rlo__host_kernels_x86(int64_t max_vector_bytes) {
  if (max_vector_bytes >= 64 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return __builtin_cpu_supports("avx512vbmi") ? &vbmi : &avx512;
  }
  if (max_vector_bytes >= 32 && __builtin_cpu_supports("avx2")) {
    return &avx2;
  }
  return __builtin_cpu_supports("ssse3") ? &ssse3 : NULL;
}

#else

const rlo__host_kernels *rlo__host_kernels_x86(int64_t max_vector_bytes) {
  (void)max_vector_bytes;
  return NULL;
}

#endif
