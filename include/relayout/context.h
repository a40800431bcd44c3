/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_CONTEXT_H
#define RELAYOUT_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "relayout/status.h"

RLO_BEGIN_DECLS

/*
 * What a context of OpenCL is made with, what it counts, and the wisdom that it keeps.
 * relayout/opencl.h makes one.
 */

/** A cl_context and one of its devices, with the programs built for it. */
typedef struct rlo_context rlo_context;

/** Receives a line of the log: severity 0 error, 1 warning, 2 information,
 *  3 debug. */
typedef void (*rlo_log_fn)(void *payload, int32_t severity, const char *line);

/** Copies what rlo_program_store_fn was given under a name: snprintf rules. Returns its
 *  bytes, whatever fits; 0 if there is none. */
typedef size_t (*rlo_program_load_fn)(void *payload, const char *name, void *out_data,
                                      size_t capacity);

/** Keeps the bytes of a compiled program, which are borrowed, under a name of 32
 *  hexadecimal digits, in place of others of that name. */
typedef void (*rlo_program_store_fn)(void *payload, const char *name, const void *data,
                                     size_t num_bytes);

/** Options of a context. Begin with RLO_CONTEXT_OPTIONS_INIT. */
typedef struct rlo_context_options {
  /** sizeof(rlo_context_options). */
  size_t struct_size;
  /** Called from any thread; NULL: no log. */
  rlo_log_fn log;
  void *log_payload;
  /** Limit in bytes of all buffers of rlo_buffer_create in this context
   *  together; 0: three quarters of the device's global memory. */
  int64_t memory_budget_bytes;
  /**
   * Directory for compiled programs, an absolute path. NULL:
   * $XDG_CACHE_HOME/relayout, else $HOME/.cache/relayout, read from the
   * environment when the context is created. "": none. Created with mode 0700
   * if it does not exist; not used if it is a symbolic link, belongs to another
   * user, or others can write to it. Failures are logged and cost only the time
   * to compile.
   */
  const char *cache_dir;
  /** Limit in bytes of the files in that directory, beyond which those unused
   *  for longest are deleted; 0: 64 MiB. */
  int64_t cache_limit_bytes;
  /**
   * Directories of programs that came with a package, absolute paths between colons,
   * which are read where cache_dir has no program, and never written. NULL:
   * relayout/programs in each of $XDG_DATA_DIRS, else in /usr/local/share and /usr/share,
   * unless cache_dir is ""; "": none. Not read if it, or the program's file, is a symbolic link,
   * belongs to another user than root and this one, or others can write to it. What `relayout cache
   * warm --into` writes is such a directory, for the same device and driver.
   */
  const char *shared_cache_dirs;
  /**
   * Functions of a caller who keeps compiled programs itself; each may be NULL. They come
   * before cache_dir, whose entries they get too. A name is of one program, device, driver
   * and version; bytes that are damaged or another program's are not used, but who forges
   * them can forge their hash. Threads that build call them, several at once; they call
   * nothing of this library. The counters count them as directories.
   */
  rlo_program_load_fn load_program;
  rlo_program_store_fn store_program;
  /** Passed to both. */
  void *program_payload;
} rlo_context_options;

#define RLO_CONTEXT_OPTIONS_INIT \
  { sizeof(rlo_context_options), NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL }

/** Adds a reference; NULL is legal. Threads: safe. */
RLO_API rlo_context *rlo_context_retain(rlo_context *context);

/**
 * Drops a reference. The last one waits for running preparations
 * (rlo_plan_prepare_async), except when it is released within the callback of
 * one.
 */
RLO_API void rlo_context_release(rlo_context *context);

/** Counters since the creation of the context; a snapshot. Begin with
 *  RLO_CONTEXT_STATS_INIT. */
typedef struct rlo_context_stats {
  /** sizeof(rlo_context_stats). */
  size_t struct_size;
  /** Programs compiled from source. */
  int64_t programs_built;
  /** Programs found in memory. */
  int64_t program_hits;
  int64_t kernels_created;
  /** Kernels enqueued. */
  int64_t launches;
  /** Bytes of the buffers of rlo_buffer_create at present. */
  int64_t buffer_bytes;
  /** Programs looked up in the cache directory: found; not found; found, but
   *  deleted because they were damaged or rejected by the driver; and programs
   *  written to it. */
  int64_t disk_hits, disk_misses, disk_rejects, disk_writes;
} rlo_context_stats;

#define RLO_CONTEXT_STATS_INIT \
  { sizeof(rlo_context_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Copies the counters.
 *  @param out_stats  as out_info of rlo_device_query.
 *  @return RLO_OK; RLO_INVALID_ARGUMENT. Threads: safe. */
RLO_API RLO_NODISCARD rlo_status rlo_context_get_stats(const rlo_context *context,
                                                       rlo_context_stats *out_stats);

/*
 * Wisdom: the fastest family and schedule for each problem that rlo_plan_create
 * measured on this device (RLO_EFFORT_MEASURE). A context uses its wisdom for
 * every plan, whatever the effort. Texts and files carry it to other contexts
 * and processes; relayout/plan.h describes the format.
 */

/**
 * Imports wisdom. Records of other devices, drivers and tables are ignored; the
 * last record of a problem wins.
 * @param text  any bytes; NULL only if num_bytes is 0.
 * @param out_taken, out_ignored  numbers of records; may be NULL.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL context; RLO_PARSE with the
 *         number of the invalid line, with nothing imported; RLO_OUT_OF_RANGE
 *         beyond 16384 problems, or RLO_OUT_OF_MEMORY, with the records before
 *         it imported.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_context_import_wisdom(rlo_context *context, const char *text,
                                                           size_t num_bytes, int32_t *out_taken,
                                                           int32_t *out_ignored);

/** Prints the context's wisdom; snprintf rules, as rlo_shape_format: returns
 * the length without the NUL, 0 for a NULL context. The length may grow between
 * two calls if another thread measures. Threads: safe. */
RLO_API size_t rlo_context_export_wisdom(const rlo_context *context, char *buffer, size_t capacity);

/** Imports a file of wisdom, as rlo_context_import_wisdom does.
 *  @return also RLO_NOT_FOUND if there is no such file; RLO_IO;
 *          RLO_OUT_OF_RANGE beyond 64 MiB. Threads: safe. */
RLO_API RLO_NODISCARD rlo_status rlo_context_load_wisdom(rlo_context *context, const char *path,
                                                         int32_t *out_taken, int32_t *out_ignored);

/**
 * Merges the context's wisdom into a file: the records of other devices and
 * drivers stay, and of this device the context's records win. The file is
 * replaced as a whole or stays unchanged; if two processes save at the same
 * time, the records of one may be lost. A file that is not wisdom is not
 * changed.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL context; RLO_PARSE if the
 *         file is not wisdom; RLO_IO; RLO_NOT_FOUND if its directory does not
 *         exist; RLO_OUT_OF_RANGE beyond 64 MiB or 16384 problems;
 *         RLO_OUT_OF_MEMORY.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_context_save_wisdom(rlo_context *context, const char *path);

/** Deletes the context's wisdom. Existing plans do not change. NULL is legal.
 *  Threads: safe. */
RLO_API void rlo_context_clear_wisdom(rlo_context *context);

RLO_END_DECLS

#endif
