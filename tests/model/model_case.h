/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_MODEL_CASE_H
#define RLO_TESTS_MODEL_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relayout/status.h"

/**
 * The kinds of cases share this: README.md beside this file defines the lines
 * and the rules by which memories are filled and hashed.
 */

/** Most fields a line may have. */
enum { MODEL_MAX_FIELDS = 13 };

/** True if one case runs alone, and its steps are printed. */
extern bool model_is_verbose;

/** Notes what is wrong with the case that runs. Returns false. */
bool model_complain(const char *what);

/** True for RLO_OK; else a complaint with the last error's sentence. */
bool model_is_ok(rlo_status status);

/* The kinds of cases, each with the fields of a line; false after a complaint.
 */
bool model_run_index(char *fields[MODEL_MAX_FIELDS]);
bool model_run_moves(char *fields[MODEL_MAX_FIELDS]);
bool model_run_numbers(char *fields[MODEL_MAX_FIELDS]);

/** Fill memory with the source pattern, or with the one that destinations hold
 *  before a relayout. */
void model_fill_source(uint8_t *bytes, size_t num_bytes);
void model_fill_prefill(uint8_t *bytes, size_t num_bytes);

/** Fill memory with indices below `limit`, some of which are none. */
void model_fill_indices(uint8_t *bytes, size_t num_bytes, size_t index_bytes, int64_t limit);

/** 64-bit FNV-1a; start with MODEL_HASH_START. */
#define MODEL_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t model_hash(uint64_t hash, const uint8_t *bytes, size_t num_bytes);

#endif
