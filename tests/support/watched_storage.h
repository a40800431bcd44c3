/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_WATCHED_STORAGE_H
#define RLO_TESTS_SUPPORT_WATCHED_STORAGE_H

#include <stdatomic.h>

#include "base/thread.h"
#include "relayout/storage.h"

typedef enum test_storage_kind {
  TEST_STORAGE_MEMORY,
  /** At an odd address. */
  TEST_STORAGE_ODD_MEMORY,
  /** A part of a file. */
  TEST_STORAGE_FILE,
  /** Functions that watch and may fail or wait. */
  TEST_STORAGE_FUNCTIONS,
  TEST_STORAGE_NUM_KINDS
} test_storage_kind;

/**
 * A storage for tests, and what happened to it. The bytes before and behind it,
 * in memory or in the file, are not the storage's: watched_storage_get fails
 * the test if they have changed.
 */
typedef struct watched_storage {
  test_storage_kind kind;
  rlo_storage *storage;
  int64_t bytes;
  /** The granule of the traits; 1 for memory. */
  int64_t granule_bytes;
  /** For memory and functions: `bytes` bytes in a block of the heap, which is
   *  no longer where a sanitizer watches its ends. */
  uint8_t *block, *memory;
  /** The descriptor of a file, and where the storage begins in it. */
  int fd;
  int64_t file_offset;

  /** For functions: calls of read and write so far. */
  atomic_int num_calls;
  /** The number of the call, from 1, that fails, with `failure`; 0: none. */
  int fails_at;
  rlo_status failure;
  /** Without a message of its own. */
  bool fails_silently;
  /** Reads before the first, and writes before the second, fail if the storage is passed
   *  forward. */
  int64_t positions[2];
  /** The range of memory that jobs passed. */
  atomic_uintptr_t low, high;
  atomic_int num_reserves, num_flushes;
  /** Called in each read and write, if not NULL, before the bytes move. */
  void (*on_call)(void *payload);
  /** Called in each flush, after it has taken what it makes durable. */
  void (*on_flush)(void *payload);
  void *payload;
  /** The status that flushes return. */
  rlo_status flush_failure;
  /** The bytes that a loss of power would leave: those at the beginning of the
   *  last flush that ended. Guarded by the mutex, as are writes. */
  uint8_t *durable;
  rlo__mutex mutex;
} watched_storage;

/** Makes a storage of a copy of `bytes` bytes. Fails the test if it cannot. */
void watched_storage_init(watched_storage *watched, test_storage_kind kind, const void *content,
                          int64_t bytes, const rlo_storage_traits *traits);

/** Copies what a loss of power would leave of one of functions. */
void watched_storage_get_durable(watched_storage *watched, void *out_content);

/** Copies what it holds, and checks what is around it. */
void watched_storage_get(const watched_storage *watched, void *out_content);

/** True if its bytes lie in memory, where jobs may use them. */
bool watched_storage_is_memory(const watched_storage *watched);

/** Releases it; whatever uses it must have ended. */
void watched_storage_deinit(watched_storage *watched);

/** A gate that calls wait at. */
typedef struct test_gate {
  rlo__mutex mutex;
  rlo__cond cond;
  bool is_open;
  int num_waiting;
} test_gate;

void test_gate_init(test_gate *gate);
void test_gate_deinit(test_gate *gate);
/** Waits until it is open; for watched_storage.on_call. */
void test_gate_pass(void *gate);
/** Waits until so many calls wait. */
void test_gate_await(test_gate *gate, int num_waiting);
void test_gate_open(test_gate *gate);

#endif
