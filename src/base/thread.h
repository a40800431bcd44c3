/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_THREAD_H
#define RLO_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "relayout/status.h"

/** Seconds of the monotonic clock, to be subtracted from each other. */
static inline double rlo__clock_seconds(void) {
  struct timespec now = {0, 0};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/**
 * Thin wrappers of pthreads (programs with C11's threads.h crash under
 * ThreadSanitizer with gcc 12 and clang 14). Initialization can fail and
 * returns a status; the other functions fail only when they are misused, which
 * is asserted. Only the floors from runtime/ up use this
 * module, and host/mover.
 */
typedef struct rlo__mutex {
  pthread_mutex_t handle;
  /** Initialized. */
  bool is_there;
} rlo__mutex;

typedef struct rlo__cond {
  pthread_cond_t handle;
  bool is_there;
} rlo__cond;

/** Several concurrent readers, or one writer. */
typedef struct rlo__rwlock {
  pthread_rwlock_t handle;
  bool is_there;
} rlo__rwlock;

typedef struct rlo__thread {
  pthread_t handle;
} rlo__thread;

/** Initializer of a static rlo__mutex. */
#define RLO__MUTEX_INIT \
  { PTHREAD_MUTEX_INITIALIZER, true }

/** Fails with RLO_OUT_OF_MEMORY. Not recursive. */
RLO_NODISCARD rlo_status rlo__mutex_init(rlo__mutex *mutex);
/** The mutex is unlocked. Zeros are legal here, and for the other types. */
void rlo__mutex_deinit(rlo__mutex *mutex);
void rlo__mutex_lock(rlo__mutex *mutex);
void rlo__mutex_unlock(rlo__mutex *mutex);

/** Fails with RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__cond_init(rlo__cond *cond);
/** No thread may be waiting. */
void rlo__cond_deinit(rlo__cond *cond);
/** May return without a signal: call it in a loop that checks the condition. */
void rlo__cond_wait(rlo__cond *cond, rlo__mutex *mutex);
/** Like rlo__cond_wait, but returns false once rlo__clock_seconds() is at
 * `until_seconds` or later. */
bool rlo__cond_wait_until(rlo__cond *cond, rlo__mutex *mutex, double until_seconds);
void rlo__cond_signal(rlo__cond *cond);
void rlo__cond_broadcast(rlo__cond *cond);

/** Fails with RLO_OUT_OF_MEMORY. Not recursive. */
RLO_NODISCARD rlo_status rlo__rwlock_init(rlo__rwlock *lock);
/** It must be unlocked. */
void rlo__rwlock_deinit(rlo__rwlock *lock);
void rlo__rwlock_lock_read(rlo__rwlock *lock);
void rlo__rwlock_lock_write(rlo__rwlock *lock);
/** Unlocks either kind of lock. */
void rlo__rwlock_unlock(rlo__rwlock *lock);

/** The least stack of a thread, in bytes. */
enum { RLO__THREAD_STACK_BYTES = 1 << 20 };

/** Starts a thread that runs fn(payload). It must be joined or detached, to
 *  release its memory. Fails with RLO_OUT_OF_MEMORY when the system allows no
 *  more threads. */
RLO_NODISCARD rlo_status rlo__thread_start(void (*fn)(void *payload), void *payload,
                                           rlo__thread *out_thread);
void rlo__thread_join(rlo__thread *thread);
/** Lets a thread release its memory when it ends. */
void rlo__thread_detach(rlo__thread *thread);
/** Tells if this thread is the calling one. */
bool rlo__thread_is_current(const rlo__thread *thread);
/** Processors that are online: at least 1. */
int32_t rlo__thread_processors(void);

#endif
