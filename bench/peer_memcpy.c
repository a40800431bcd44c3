/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the host that copy, or read: what the memory can do without OpenCL.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "peer.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { MAX_THREADS = 64, LINE_BYTES = 64 };

/** Copies of at most so many bytes stay in the caches, where plain stores are
 *  faster. */
#define CACHED_MAX_BYTES (INT64_C(4) << 20)

typedef void (*copy_fn)(uint8_t *dst, const uint8_t *src, size_t bytes);

typedef struct copy_crew copy_crew;

typedef struct copy_hand {
  copy_crew *crew;
  pthread_t thread;
  size_t begin, bytes;
} copy_hand;

/** The caller copies the first part; each other hand waits for its turn. */
struct copy_crew {
  const uint8_t *src;
  uint8_t *dst;
  copy_fn copy;
  int32_t num_hands, num_started;
  copy_hand hands[MAX_THREADS];
  pthread_mutex_t mutex;
  pthread_cond_t started, finished;
  /** Runs so far; under the mutex, like what follows. */
  uint64_t turn;
  int32_t num_busy;
  bool is_over;
};

static void copy_plain(uint8_t *dst, const uint8_t *src, size_t bytes) {
  memcpy(dst, src, bytes);
}

#if defined(__x86_64__)
/* Destinations begin at a multiple of LINE_BYTES; the rest of a line goes last.
 */
__attribute__((target("avx512f"))) static void copy_avx512(uint8_t *dst, const uint8_t *src,
                                                           size_t bytes) {
  size_t whole = bytes / LINE_BYTES * LINE_BYTES;
  for (size_t i = 0; i < whole; i += LINE_BYTES) {
    _mm512_stream_si512((void *)(dst + i), _mm512_loadu_si512((const void *)(src + i)));
  }
  _mm_sfence();
  memcpy(dst + whole, src + whole, bytes - whole);
}

__attribute__((target("avx"))) static void copy_avx(uint8_t *dst, const uint8_t *src,
                                                    size_t bytes) {
  size_t whole = bytes / LINE_BYTES * LINE_BYTES;
  for (size_t i = 0; i < whole; i += LINE_BYTES) {
    __m256i low = _mm256_loadu_si256((const void *)(src + i));
    __m256i high = _mm256_loadu_si256((const void *)(src + i + 32));
    _mm256_stream_si256((void *)(dst + i), low);
    _mm256_stream_si256((void *)(dst + i + 32), high);
  }
  _mm_sfence();
  memcpy(dst + whole, src + whole, bytes - whole);
}
#endif

typedef uint64_t line __attribute__((vector_size(LINE_BYTES)));

__attribute__((always_inline)) static inline void add_line(line *sum, const uint8_t *from) {
  enum { AHEAD_BYTES = 1024 };

  __builtin_prefetch(from + AHEAD_BYTES, 0, 2);
  *sum ^= *(const line *)(const void *)from;
}

/** Reads four parts in turns, a line of each, as the copy kernel does. */
__attribute__((always_inline)) static inline void read_parts(const uint8_t *src, size_t bytes) {
  enum { PARTS = 4, PART_BYTES = 65 << 10 };

  line a = {0};
  line b = {0};
  line c = {0};
  line d = {0};
  while (bytes >= PARTS * LINE_BYTES) {
    size_t part = bytes / PARTS / LINE_BYTES * LINE_BYTES;
    part = part < PART_BYTES ? part : PART_BYTES;
    for (size_t at = 0; at < part; at += LINE_BYTES) {
      add_line(&a, src + at);
      add_line(&b, src + at + part);
      add_line(&c, src + at + 2 * part);
      add_line(&d, src + at + 3 * part);
    }
    src += PARTS * part;
    bytes -= PARTS * part;
  }
  a ^= b ^ c ^ d;
  __asm__ volatile("" : : "m"(a)); /* it is wanted */
}

static void read_plain(uint8_t *dst, const uint8_t *src, size_t bytes) {
  (void)dst;
  read_parts(src, bytes);
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static void read_avx512(uint8_t *dst, const uint8_t *src,
                                                           size_t bytes) {
  (void)dst;
  read_parts(src, bytes);
}
#endif

static copy_fn choose_read(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return read_avx512;
  }
#endif
  return read_plain;
}

static copy_fn choose_copy(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return copy_avx512;
  }
  if (__builtin_cpu_supports("avx")) {
    return copy_avx;
  }
#endif
  return copy_plain;
}

static void do_part(const copy_hand *hand) {
  const copy_crew *crew = hand->crew;
  crew->copy(crew->dst + hand->begin, crew->src + hand->begin, hand->bytes);
}

static void *work(void *payload) {
  copy_hand *hand = payload;
  copy_crew *crew = hand->crew;
  uint64_t done = 0;
  pthread_mutex_lock(&crew->mutex);
  for (;;) {
    while (!crew->is_over && crew->turn == done) {
      pthread_cond_wait(&crew->started, &crew->mutex);
    }
    if (crew->is_over) {
      break;
    }
    done = crew->turn;
    pthread_mutex_unlock(&crew->mutex);
    do_part(hand);
    pthread_mutex_lock(&crew->mutex);
    crew->num_busy -= 1;
    if (crew->num_busy == 0) {
      pthread_cond_signal(&crew->finished);
    }
  }
  pthread_mutex_unlock(&crew->mutex);
  return NULL;
}

static bool run(void *payload) {
  copy_crew *crew = payload;
  pthread_mutex_lock(&crew->mutex);
  crew->turn += 1;
  crew->num_busy = crew->num_started;
  pthread_cond_broadcast(&crew->started);
  pthread_mutex_unlock(&crew->mutex);
  do_part(&crew->hands[0]);
  pthread_mutex_lock(&crew->mutex);
  while (crew->num_busy > 0) {
    pthread_cond_wait(&crew->finished, &crew->mutex);
  }
  pthread_mutex_unlock(&crew->mutex);
  return true;
}

static void release(void *payload) {
  copy_crew *crew = payload;
  if (crew == NULL) {
    return;
  }
  pthread_mutex_lock(&crew->mutex);
  crew->is_over = true;
  pthread_cond_broadcast(&crew->started);
  pthread_mutex_unlock(&crew->mutex);
  for (int32_t i = 1; i <= crew->num_started; ++i) {
    pthread_join(crew->hands[i].thread, NULL);
  }
  pthread_cond_destroy(&crew->started);
  pthread_cond_destroy(&crew->finished);
  pthread_mutex_destroy(&crew->mutex);
  free(crew);
}

static void *create_crew(const bench_move *move, size_t bytes, copy_fn copy) {
  copy_crew *crew = calloc(1, sizeof *crew);
  if (crew == NULL) {
    bench_fail("out of memory");
    return NULL;
  }
  int32_t threads = move->arena->threads;
  crew->num_hands = threads < MAX_THREADS ? threads : MAX_THREADS;
  crew->src = move->arena->host_src;
  crew->dst = move->arena->host_dst;
  crew->copy = copy;
  pthread_mutex_init(&crew->mutex, NULL);
  pthread_cond_init(&crew->started, NULL);
  pthread_cond_init(&crew->finished, NULL);
  size_t hands = (size_t)crew->num_hands;
  size_t part = (bytes / hands + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
  for (size_t i = 0; i < hands; ++i) {
    size_t begin = i * part < bytes ? i * part : bytes;
    size_t end = i + 1 == hands || begin + part > bytes ? bytes : begin + part;
    crew->hands[i] = (copy_hand){.crew = crew, .begin = begin, .bytes = end - begin};
  }
  for (int32_t i = 1; i < crew->num_hands; ++i) {
    if (pthread_create(&crew->hands[i].thread, NULL, work, &crew->hands[i]) != 0) {
      bench_fail("no thread for copying");
      release(crew);
      return NULL;
    }
    crew->num_started += 1;
  }
  return crew;
}

static void *create(const bench_move *move) {
  return create_crew(move, (size_t)move->copy_bytes,
                     move->copy_bytes <= CACHED_MAX_BYTES ? copy_plain : choose_copy());
}

static void *create_cached(const bench_move *move) {
  return create_crew(move, (size_t)move->copy_bytes, copy_plain);
}

static void *create_read(const bench_move *move) {
  return move->item->num_summed > 0 ? create_crew(move, 2 * (size_t)move->copy_bytes, choose_read())
                                    : NULL;
}

const bench_peer bench_peer_memcpy_cached = {
    .name = "memcpy-cached",
    .summary = "host threads that call memcpy",
    .is_copy = true,
    .is_on_host = true,
    .is_opt_in = true,
    .create = create_cached,
    .run = run,
    .release = release,
};

const bench_peer bench_peer_memcpy = {
    .name = "memcpy",
    .summary = "host threads that copy: with non-temporal stores above 4 MiB",
    .is_copy = true,
    .is_on_host = true,
    .create = create,
    .run = run,
    .release = release,
};

const bench_peer bench_peer_read = {
    .name = "read",
    .summary = "of a sum: host threads that read as many bytes as the copies move",
    .is_copy = true,
    .is_on_host = true,
    .create = create_read,
    .run = run,
    .release = release,
};
