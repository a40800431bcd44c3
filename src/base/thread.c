/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"

/** Checks a call that fails only when it is misused. */
static void must(int error) {
  assert(error == 0);
  (void)error;
}

static rlo_status made(const char *what, int error) {
  return error == 0 ? RLO_OK
                    : RLO_FAIL(RLO_OUT_OF_MEMORY, "the system has no room for another %s", what);
}

rlo_status rlo__mutex_init(rlo__mutex *mutex) {
  int error = pthread_mutex_init(&mutex->handle, NULL);
  mutex->is_there = error == 0;
  return made("mutex", error);
}

void rlo__mutex_deinit(rlo__mutex *mutex) {
  if (mutex->is_there) {
    must(pthread_mutex_destroy(&mutex->handle));
    mutex->is_there = false;
  }
}

void rlo__mutex_lock(rlo__mutex *mutex) {
  must(pthread_mutex_lock(&mutex->handle));
}

void rlo__mutex_unlock(rlo__mutex *mutex) {
  must(pthread_mutex_unlock(&mutex->handle));
}

rlo_status rlo__rwlock_init(rlo__rwlock *lock) {
  int error = pthread_rwlock_init(&lock->handle, NULL);
  lock->is_there = error == 0;
  return made("lock", error);
}

void rlo__rwlock_deinit(rlo__rwlock *lock) {
  if (lock->is_there) {
    must(pthread_rwlock_destroy(&lock->handle));
    lock->is_there = false;
  }
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
  pthread_condattr_t attributes;
  int error = pthread_condattr_init(&attributes);
  if (error == 0) {
    /* The clock of rlo__clock_seconds(), which nobody sets. */
    must(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
    error = pthread_cond_init(&cond->handle, &attributes);
    must(pthread_condattr_destroy(&attributes));
  }
  cond->is_there = error == 0;
  return made("condition variable", error);
}

void rlo__cond_deinit(rlo__cond *cond) {
  if (cond->is_there) {
    must(pthread_cond_destroy(&cond->handle));
    cond->is_there = false;
  }
}

void rlo__cond_wait(rlo__cond *cond, rlo__mutex *mutex) {
  must(pthread_cond_wait(&cond->handle, &mutex->handle));
}

bool rlo__cond_wait_until(rlo__cond *cond, rlo__mutex *mutex, double until_seconds) {
  /* Beyond this many seconds, 31 years, waiting is without limit. */
  const double most = 1e9;
  if (until_seconds > most) {
    rlo__cond_wait(cond, mutex);
    return true;
  }
  struct timespec until = {.tv_sec = (time_t)until_seconds};
  until.tv_nsec = (long)((until_seconds - (double)until.tv_sec) * 1e9);
  int error = pthread_cond_timedwait(&cond->handle, &mutex->handle, &until);
  assert(error == 0 || error == ETIMEDOUT);
  return error == 0;
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

rlo_status rlo__thread_start(void (*fn)(void *payload), void *payload, rlo__thread *out_thread) {
  start *s = rlo__alloc(sizeof *s);
  RLO_TRY_MEMORY(s);
  *s = (start){.fn = fn, .payload = payload};
  pthread_attr_t attributes;
  size_t stack_bytes = 0;
  must(pthread_attr_init(&attributes));
  must(pthread_attr_getstacksize(&attributes, &stack_bytes));
  if (stack_bytes < RLO__THREAD_STACK_BYTES) {
    /* The default is the limit of the process, which is meant for its first thread. */
    must(pthread_attr_setstacksize(&attributes, RLO__THREAD_STACK_BYTES));
  }
  int error = pthread_create(&out_thread->handle, &attributes, run, s);
  must(pthread_attr_destroy(&attributes));
  if (error != 0) {
    rlo__free(s);
  }
  return made("thread", error);
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

int32_t rlo__thread_processors(void) {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online < 1 ? 1 : (int32_t)online;
}
