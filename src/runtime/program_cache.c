/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program_cache.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/table.h"
#include "runtime/cl_error.h"

enum { MESSAGE_BYTES = 512 };

typedef enum entry_state {
  STATE_BUILDING,
  STATE_READY,
  STATE_FAILED
} entry_state;

/** The error of a build, for the threads that waited for it. */
typedef struct failure {
  rlo_status status;
  char message[MESSAGE_BYTES];
  const char *cl_call;
  cl_int cl_code;
  /** NULL if there is none, or no memory for it. */
  char *build_log;
} failure;

typedef struct entry {
  /** First, so that a pointer to the program is one to its entry. */
  rlo__program program;
  rlo__table_node node;
  /** Owns the options. */
  rlo__program_spec spec;
  cl_program cl_program;
  bool has_pool;
  /** The program was built from source, not loaded from the disk cache; counts
   *  as built. */
  bool is_from_source;
  /** The cache's mutex guards the fields below. */
  entry_state state;
  int64_t num_users;
  failure *failure;
} entry;

struct rlo__program_cache {
  rlo__program_builder builder;
  atomic_int_fast64_t num_kernels_created;
  rlo__mutex mutex;
  rlo__cond built;
  bool has_mutex, has_cond;
  int64_t num_built, num_hits;
  int64_t num_idle, max_idle;
  /** Entries, in the order in which they became idle or were inserted. */
  rlo__table table;
};

static bool is_same(const void *e, const void *key) {
  const rlo__program_spec *have = &((const entry *)e)->spec;
  const rlo__program_spec *spec = key;
  return have->source_bytes == spec->source_bytes &&
         (have->source == spec->source ||
          memcmp(have->source, spec->source, spec->source_bytes) == 0) &&
         strcmp(have->options, spec->options) == 0 &&
         strcmp(have->kernel_name, spec->kernel_name) == 0;
}

static void destroy_entry(entry *e) {
  if (e == NULL) {
    return;
  }
  if (e->has_pool) {
    rlo__kernel_pool_deinit(&e->program.kernels);
  }
  if (e->cl_program != NULL) {
    clReleaseProgram(e->cl_program);
  }
  if (e->failure != NULL) {
    rlo__free(e->failure->build_log);
    rlo__free(e->failure);
  }
  rlo__free(e->spec.options);
  rlo__free(e);
}

static entry *create_entry(const rlo__program_spec *spec) {
  entry *e = rlo__alloc(sizeof *e);
  if (e == NULL) {
    return NULL;
  }
  e->spec = *spec;
  e->spec.options = rlo__alloc_string(spec->options);
  /* Allocated beforehand, so that a failure can always be recorded. */
  e->failure = rlo__alloc(sizeof *e->failure);
  if (e->spec.options == NULL || e->failure == NULL) {
    destroy_entry(e);
    return NULL;
  }
  e->state = STATE_BUILDING;
  e->num_users = 1;
  return e;
}

/* ----------------------------------------------------------------- building */

static rlo_status read_kernel_limits(const rlo__program_cache *cache,
                                     entry *e) {
  rlo__pooled_kernel *kernel = NULL;
  RLO_TRY(rlo__kernel_pool_take(&e->program.kernels, &kernel));
  size_t items = 0;
  cl_ulong local_bytes = 0;
  rlo_status status = RLO_CL(clGetKernelWorkGroupInfo,
                             kernel->kernel,
                             cache->builder.device,
                             CL_KERNEL_WORK_GROUP_SIZE,
                             sizeof items,
                             &items,
                             NULL);
  if (status == RLO_OK) {
    status = RLO_CL(clGetKernelWorkGroupInfo,
                    kernel->kernel,
                    cache->builder.device,
                    CL_KERNEL_LOCAL_MEM_SIZE,
                    sizeof local_bytes,
                    &local_bytes,
                    NULL);
  }
  rlo__kernel_pool_return(&e->program.kernels, kernel);
  e->program.max_work_group_items = (int64_t)items;
  e->program.local_memory_bytes = (int64_t)local_bytes;
  return status;
}

static rlo_status build(rlo__program_cache *cache,
                        entry *e,
                        rlo__build_priority priority) {
  rlo__built_program built;
  rlo_status status =
      rlo__program_build(&cache->builder, &e->spec, priority, &built);
  e->cl_program = built.program;
  e->is_from_source = !built.is_from_disk;
  RLO_TRY(status);
  RLO_TRY(rlo__kernel_pool_init(&e->program.kernels,
                                e->cl_program,
                                e->spec.kernel_name,
                                &cache->num_kernels_created));
  e->has_pool = true;
  RLO_TRY(read_kernel_limits(cache, e));
  return RLO_OK;
}

static void record_failure(entry *e) {
  const rlo_error *error = rlo_error_last();
  failure *f = e->failure;
  f->status = error->status;
  snprintf(f->message, sizeof f->message, "%s", error->message);
  f->cl_call = error->cl_call;
  f->cl_code = error->cl_code;
}

static rlo_status repeat_failure(const failure *f) {
  rlo_status status =
      rlo__status_fail_cl(f->status, f->cl_call, f->cl_code, "%s", f->message);
  if (f->build_log != NULL) {
    rlo__status_set_build_log(f->build_log, strlen(f->build_log));
  }
  return status;
}

/* ---------------------------------------------------------------- the table */

/** Removes the entry that has been unused for longest. */
static entry *remove_oldest_idle(rlo__program_cache *cache) {
  entry *e = rlo__table_oldest(&cache->table);
  while (e != NULL && e->num_users > 0) {
    e = rlo__table_newer(&cache->table, e);
  }
  if (e != NULL) {
    rlo__table_remove(&cache->table, e);
    --cache->num_idle;
  }
  return e;
}

/** Waits until an entry is built. On failure drops the reference; if it was the
 *  last, *out_gone is the entry, which the caller destroys. */
static rlo_status join_entry(rlo__program_cache *cache,
                             entry *e,
                             entry **out_gone) {
  if (e->num_users++ == 0) {
    --cache->num_idle;
  }
  while (e->state == STATE_BUILDING) {
    rlo__cond_wait(&cache->built, &cache->mutex);
  }
  if (e->state == STATE_READY) {
    ++cache->num_hits;
    return RLO_OK;
  }
  rlo_status status = repeat_failure(e->failure);
  if (--e->num_users == 0) {
    *out_gone = e;
  }
  return status;
}

/** Builds an entry of the table, as the only thread to do so. */
static rlo_status build_entry(rlo__program_cache *cache,
                              entry *e,
                              rlo__build_priority priority) {
  rlo_status status = build(cache, e, priority);
  char *build_log = NULL;
  if (status != RLO_OK) {
    record_failure(e);
    if (rlo_error_last()->build_log[0] != '\0') {
      /* Without memory for it, the waiting threads get no log. */
      build_log = rlo__alloc_string(rlo_error_last()->build_log);
    }
    e->failure->build_log = build_log;
    rlo__log(cache->builder.log, RLO__LOG_ERROR, "%s", e->failure->message);
  }
  entry *gone = NULL;
  rlo__mutex_lock(&cache->mutex);
  if (status == RLO_OK) {
    e->state = STATE_READY;
    cache->num_built += e->is_from_source ? 1 : 0;
  } else {
    e->state = STATE_FAILED;
    rlo__table_remove(&cache->table, e);
    status = repeat_failure(e->failure);
    if (--e->num_users == 0) {
      gone = e;
    }
  }
  rlo__cond_broadcast(&cache->built);
  rlo__mutex_unlock(&cache->mutex);
  destroy_entry(gone);
  return status;
}

rlo_status rlo__program_cache_get(rlo__program_cache *cache,
                                  const rlo__program_spec *spec,
                                  rlo__build_priority priority,
                                  rlo__program **out_program) {
  uint64_t hash = rlo__codegen_hash(spec);
  rlo__mutex_lock(&cache->mutex);
  entry *e = rlo__table_find(&cache->table, hash, is_same, spec);
  if (e != NULL) {
    entry *gone = NULL;
    rlo_status status = join_entry(cache, e, &gone);
    rlo__mutex_unlock(&cache->mutex);
    destroy_entry(gone);
    RLO_TRY(status);
  } else {
    e = create_entry(spec);
    if (e != NULL) {
      rlo__table_insert(&cache->table, e, hash);
    }
    rlo__mutex_unlock(&cache->mutex);
    if (e == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    RLO_TRY(build_entry(cache, e, priority));
  }
  *out_program = &e->program;
  return RLO_OK;
}

void rlo__program_cache_put(rlo__program_cache *cache, rlo__program *program) {
  if (program == NULL) {
    return;
  }
  entry *e = (entry *)program;
  entry *gone = NULL;
  rlo__mutex_lock(&cache->mutex);
  if (--e->num_users == 0) {
    rlo__table_touch(&cache->table, e);
    if (++cache->num_idle > cache->max_idle) {
      gone = remove_oldest_idle(cache);
    }
  }
  rlo__mutex_unlock(&cache->mutex);
  destroy_entry(gone);
}

/* ---------------------------------------------------------------- lifecycle */

rlo_status rlo__program_cache_create(const rlo__program_cache_parts *parts,
                                     rlo__program_cache **out_cache) {
  *out_cache = NULL;
  rlo__program_cache *cache = rlo__alloc(sizeof *cache);
  if (cache == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  cache->builder = (rlo__program_builder){.context = parts->context,
                                          .device = parts->device,
                                          .log = parts->log,
                                          .disk = parts->disk};
  cache->max_idle = parts->max_idle;
  rlo__table_init(&cache->table, offsetof(entry, node));
  atomic_init(&cache->num_kernels_created, 0);
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__program_builder_init(&cache->builder));
  RLO_TRY_GOTO(rlo__mutex_init(&cache->mutex));
  cache->has_mutex = true;
  RLO_TRY_GOTO(rlo__cond_init(&cache->built));
  cache->has_cond = true;
  *out_cache = cache;
  return RLO_OK;
fail:
  rlo__program_cache_destroy(cache);
  return status;
}

void rlo__program_cache_destroy(rlo__program_cache *cache) {
  if (cache == NULL) {
    return;
  }
  entry *e;
  while ((e = rlo__table_remove_oldest(&cache->table)) != NULL) {
    destroy_entry(e);
  }
  rlo__table_deinit(&cache->table);
  if (cache->has_cond) {
    rlo__cond_deinit(&cache->built);
  }
  if (cache->has_mutex) {
    rlo__mutex_deinit(&cache->mutex);
  }
  rlo__program_builder_deinit(&cache->builder);
  rlo__free(cache);
}

void rlo__program_cache_get_stats(rlo__program_cache *cache,
                                  rlo__program_cache_stats *out_stats) {
  rlo__mutex_lock(&cache->mutex);
  out_stats->num_built = cache->num_built;
  out_stats->num_hits = cache->num_hits;
  rlo__mutex_unlock(&cache->mutex);
  out_stats->num_kernels_created =
      atomic_load_explicit(&cache->num_kernels_created, memory_order_relaxed);
}
