/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_THREAD_H
#define RLO_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "relayout/status.h"

/**
 * Thin wrappers of pthreads (C11's threads.h crashes under ThreadSanitizer
 * with gcc 12 and clang 14). Making a thing can fail and returns a status;
 * using a thing that was made cannot, except through a fault of ours, which
 * the debug build asserts. Only floors from runtime/ up use these.
 */
typedef struct rlo__mutex {
  pthread_mutex_t handle;
} rlo__mutex;

typedef struct rlo__cond {
  pthread_cond_t handle;
} rlo__cond;

/** Many readers at once, or one writer. */
typedef struct rlo__rwlock {
  pthread_rwlock_t handle;
} rlo__rwlock;

typedef struct rlo__once {
  pthread_once_t handle;
} rlo__once;

typedef struct rlo__thread {
  pthread_t handle;
} rlo__thread;

/** Initialisers of a static rlo__once and rlo__mutex. */
#define RLO__ONCE_INIT \
  { PTHREAD_ONCE_INIT }
#define RLO__MUTEX_INIT \
  { PTHREAD_MUTEX_INITIALIZER }

/** Fails with RLO_OUT_OF_MEMORY. Not recursive. */
RLO_NODISCARD rlo_status rlo__mutex_init(rlo__mutex *mutex);
/** The mutex must have been initialised and be free. */
void rlo__mutex_deinit(rlo__mutex *mutex);
void rlo__mutex_lock(rlo__mutex *mutex);
void rlo__mutex_unlock(rlo__mutex *mutex);

/** Fails with RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__cond_init(rlo__cond *cond);
/** Nobody may wait on it. */
void rlo__cond_deinit(rlo__cond *cond);
/** May wake without cause: wait in a loop on the condition itself. */
void rlo__cond_wait(rlo__cond *cond, rlo__mutex *mutex);
/** As rlo__cond_wait, for at most `timeout_ms` milliseconds of a clock that
 *  nobody sets. Returns false when the time is over. */
bool rlo__cond_wait_for(rlo__cond *cond, rlo__mutex *mutex, int64_t timeout_ms);
void rlo__cond_signal(rlo__cond *cond);
void rlo__cond_broadcast(rlo__cond *cond);

/** Fails with RLO_OUT_OF_MEMORY. Not recursive. */
RLO_NODISCARD rlo_status rlo__rwlock_init(rlo__rwlock *lock);
/** Nobody may hold it. */
void rlo__rwlock_deinit(rlo__rwlock *lock);
void rlo__rwlock_lock_read(rlo__rwlock *lock);
void rlo__rwlock_lock_write(rlo__rwlock *lock);
/** Ends either. */
void rlo__rwlock_unlock(rlo__rwlock *lock);

/** Call `fn` the first time, and return to everybody only when it is done. */
void rlo__once_call(rlo__once *once, void (*fn)(void));

/** Start a thread on fn(payload); rlo__thread_join or rlo__thread_detach must
 *  follow, or a thread's memory is lost. Fails with
 *  RLO_OUT_OF_MEMORY when the system has no room for one more. */
RLO_NODISCARD rlo_status rlo__thread_start(void (*fn)(void *payload),
                                           void *payload,
                                           rlo__thread *out_thread);
void rlo__thread_join(rlo__thread *thread);
/** Let a thread end by itself. */
void rlo__thread_detach(rlo__thread *thread);
/** Whether the caller is this thread. */
bool rlo__thread_is_current(const rlo__thread *thread);

#endif
