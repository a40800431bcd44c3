/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/status.h"

/** Checks a call that fails only when it is misused. */
static void must(int error) {
  assert(error == 0);
  (void)error;
}

rlo_status rlo__mutex_init(rlo__mutex *mutex) {
  int error = pthread_mutex_init(&mutex->handle, NULL);
  if (error != 0) {
    return RLO_FAIL(RLO_OUT_OF_MEMORY, "no mutex: error %d", error);
  }
  return RLO_OK;
}

void rlo__mutex_deinit(rlo__mutex *mutex) {
  must(pthread_mutex_destroy(&mutex->handle));
}

void rlo__mutex_lock(rlo__mutex *mutex) {
  must(pthread_mutex_lock(&mutex->handle));
}

void rlo__mutex_unlock(rlo__mutex *mutex) {
  must(pthread_mutex_unlock(&mutex->handle));
}

rlo_status rlo__rwlock_init(rlo__rwlock *lock) {
  int error = pthread_rwlock_init(&lock->handle, NULL);
  if (error != 0) {
    return RLO_FAIL(RLO_OUT_OF_MEMORY, "no lock: error %d", error);
  }
  return RLO_OK;
}

void rlo__rwlock_deinit(rlo__rwlock *lock) {
  must(pthread_rwlock_destroy(&lock->handle));
}

void rlo__rwlock_lock_read(rlo__rwlock *lock) {
  must(pthread_rwlock_rdlock(&lock->handle));
}

void rlo__rwlock_lock_write(rlo__rwlock *lock) {
  must(pthread_rwlock_wrlock(&lock->handle));
}

void rlo__rwlock_unlock(rlo__rwlock *lock) {
  must(pthread_rwlock_unlock(&lock->handle));
}

rlo_status rlo__cond_init(rlo__cond *cond) {
  int error = pthread_cond_init(&cond->handle, NULL);
  if (error != 0) {
    return RLO_FAIL(
        RLO_OUT_OF_MEMORY, "no condition variable: error %d", error);
  }
  return RLO_OK;
}

void rlo__cond_deinit(rlo__cond *cond) {
  must(pthread_cond_destroy(&cond->handle));
}

void rlo__cond_wait(rlo__cond *cond, rlo__mutex *mutex) {
  must(pthread_cond_wait(&cond->handle, &mutex->handle));
}

void rlo__cond_signal(rlo__cond *cond) {
  must(pthread_cond_signal(&cond->handle));
}

void rlo__cond_broadcast(rlo__cond *cond) {
  must(pthread_cond_broadcast(&cond->handle));
}

/** The function of a new thread, which frees this struct. */
typedef struct start {
  void (*fn)(void *payload);
  void *payload;
} start;

static void *run(void *argument) {
  start s = *(start *)argument;
  rlo__free(argument);
  s.fn(s.payload);
  return NULL;
}

rlo_status rlo__thread_start(void (*fn)(void *payload),
                             void *payload,
                             rlo__thread *out_thread) {
  start *s = rlo__alloc(sizeof *s);
  if (s == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  s->fn = fn;
  s->payload = payload;
  int error = pthread_create(&out_thread->handle, NULL, run, s);
  if (error != 0) {
    rlo__free(s);
    return RLO_FAIL(RLO_OUT_OF_MEMORY, "no thread: error %d", error);
  }
  return RLO_OK;
}

void rlo__thread_join(rlo__thread *thread) {
  must(pthread_join(thread->handle, NULL));
}

void rlo__thread_detach(rlo__thread *thread) {
  must(pthread_detach(thread->handle));
}

bool rlo__thread_is_current(const rlo__thread *thread) {
  return pthread_equal(thread->handle, pthread_self()) != 0;
}
