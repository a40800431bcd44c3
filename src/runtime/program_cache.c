/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program_cache.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/table.h"
#include "base/thread.h"
#include "runtime/cl_error.h"

typedef struct entry {
  /** First, so that a pointer to the program is one to its entry. */
  rlo__program program;
  rlo__table_node node;
  rlo__program_cache *cache;
  /** Owns the options. */
  rlo__program_spec spec;
  cl_program cl_program;
  /** Guards `idle`, the kernels that nobody uses. */
  rlo__mutex mutex;
  rlo__pooled_kernel *idle;
  /** The cache's mutex guards the fields below. One thread builds the program
   *  and is its only user until then. */
  bool is_built;
  int64_t num_users;
} entry;

struct rlo__program_cache {
  rlo__program_builder builder;
  atomic_int_fast64_t num_kernels_created;
  rlo__mutex mutex;
  /** A program was built, or could not be. */
  rlo__cond built;
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
  while (e->idle != NULL) {
    rlo__pooled_kernel *kernel = e->idle;
    e->idle = kernel->next;
    clReleaseKernel(kernel->kernel);
    rlo__free(kernel->parameters);
    rlo__free(kernel);
  }
  rlo__mutex_deinit(&e->mutex);
  if (e->cl_program != NULL) {
    clReleaseProgram(e->cl_program);
  }
  rlo__free(e->spec.options);
  rlo__free(e);
}

static entry *create_entry(rlo__program_cache *cache, const rlo__program_spec *spec) {
  entry *e = rlo__alloc(sizeof *e);
  if (e == NULL) {
    return NULL;
  }
  *e = (entry){.cache = cache, .num_users = 1, .spec = *spec};
  e->spec.options = rlo__alloc_string(spec->options);
  if (e->spec.options == NULL || rlo__mutex_init(&e->mutex) != RLO_OK) {
    destroy_entry(e);
    return NULL;
  }
  return e;
}

/* ------------------------------------------------------------------ kernels */

rlo_status rlo__program_renew_kernel(rlo__program *program, rlo__pooled_kernel *kernel) {
  entry *e = (entry *)program;
  cl_int code = CL_SUCCESS;
  const cl_kernel made = clCreateKernel(e->cl_program, e->spec.kernel_name, &code);
  const rlo_status status = rlo__cl_error_check("clCreateKernel", code);
  if (status != RLO_OK) {
    return rlo__status_prefix(status, "kernel %s: ", e->spec.kernel_name);
  }
  if (kernel->kernel != NULL) {
    clReleaseKernel(kernel->kernel);
  }
  kernel->kernel = made;
  kernel->arguments_of = 0;
  kernel->pointers = 0;
  atomic_fetch_add_explicit(&e->cache->num_kernels_created, 1, memory_order_relaxed);
  return RLO_OK;
}

rlo_status rlo__program_take_kernel(rlo__program *program, rlo__pooled_kernel **out_kernel) {
  entry *e = (entry *)program;
  rlo__mutex_lock(&e->mutex);
  rlo__pooled_kernel *kernel = e->idle;
  if (kernel != NULL) {
    e->idle = kernel->next;
  }
  rlo__mutex_unlock(&e->mutex);
  if (kernel == NULL) {
    kernel = rlo__alloc(sizeof *kernel);
    RLO_TRY_MEMORY(kernel);
    const rlo_status status = rlo__program_renew_kernel(program, kernel);
    if (status != RLO_OK) {
      rlo__free(kernel);
      return status;
    }
  }
  kernel->next = NULL;
  *out_kernel = kernel;
  return RLO_OK;
}

void rlo__program_give_kernel(rlo__program *program, rlo__pooled_kernel *kernel) {
  entry *e = (entry *)program;
  rlo__mutex_lock(&e->mutex);
  kernel->next = e->idle;
  e->idle = kernel;
  rlo__mutex_unlock(&e->mutex);
}

static rlo_status read_limits(entry *e) {
  cl_device_id device = e->cache->builder.device;
  rlo__pooled_kernel *kernel = NULL;
  RLO_TRY(rlo__program_take_kernel(&e->program, &kernel));
  size_t items = 0;
  cl_ulong local_bytes = 0;
  rlo_status status = RLO_CL(clGetKernelWorkGroupInfo, kernel->kernel, device,
                             CL_KERNEL_WORK_GROUP_SIZE, sizeof items, &items, NULL);
  if (status == RLO_OK) {
    status = RLO_CL(clGetKernelWorkGroupInfo, kernel->kernel, device, CL_KERNEL_LOCAL_MEM_SIZE,
                    sizeof local_bytes, &local_bytes, NULL);
  }
  rlo__program_give_kernel(&e->program, kernel);
  e->program.max_work_group_items = (int64_t)items;
  e->program.local_memory_bytes = (int64_t)local_bytes;
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

/** Finds a built program and adds a user. Waits while another thread builds it.
 *  Called with the mutex held. @return NULL: nobody has built it. */
static entry *find(rlo__program_cache *cache, uint64_t hash, const rlo__program_spec *spec) {
  entry *e = rlo__table_find(&cache->table, hash, is_same, spec);
  while (e != NULL && !e->is_built) {
    rlo__cond_wait(&cache->built, &cache->mutex);
    e = rlo__table_find(&cache->table, hash, is_same, spec);
  }
  if (e != NULL) {
    ++cache->num_hits;
    cache->num_idle -= e->num_users++ == 0;
  }
  return e;
}

/** Builds an entry of the table, as the only thread to do so. On failure the
 *  entry is gone. */
static rlo_status build_entry(rlo__program_cache *cache, entry *e, rlo__build_priority priority) {
  bool is_from_disk = false;
  rlo_status status =
      rlo__program_build(&cache->builder, &e->spec, priority, &e->cl_program, &is_from_disk);
  if (status == RLO_OK) {
    status = read_limits(e);
  }
  if (status != RLO_OK) {
    rlo__log(cache->builder.log, RLO__LOG_ERROR, "%s", rlo_error_last()->message);
  }
  rlo__mutex_lock(&cache->mutex);
  if (status == RLO_OK) {
    e->is_built = true;
    cache->num_built += !is_from_disk;
  } else {
    rlo__table_remove(&cache->table, e);
  }
  rlo__cond_broadcast(&cache->built);
  rlo__mutex_unlock(&cache->mutex);
  if (status != RLO_OK) {
    destroy_entry(e);
  }
  return status;
}

rlo_status rlo__program_cache_get(rlo__program_cache *cache, const rlo__program_spec *spec,
                                  rlo__build_priority priority, rlo__program **out_program) {
  uint64_t hash = rlo__codegen_hash(spec);
  rlo__mutex_lock(&cache->mutex);
  entry *e = find(cache, hash, spec);
  const bool is_new = e == NULL;
  if (is_new) {
    e = create_entry(cache, spec);
    if (e != NULL) {
      rlo__table_insert(&cache->table, e, hash);
    }
  }
  rlo__mutex_unlock(&cache->mutex);
  RLO_TRY_MEMORY(e);
  if (is_new) {
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

rlo_status rlo__program_cache_create(const rlo__program_builder *builder, int64_t max_idle,
                                     rlo__program_cache **out_cache) {
  *out_cache = NULL;
  rlo__program_cache *cache = rlo__alloc(sizeof *cache);
  RLO_TRY_MEMORY(cache);
  cache->builder = *builder;
  cache->max_idle = max_idle;
  rlo__table_init(&cache->table, offsetof(entry, node));
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__program_builder_init(&cache->builder));
  RLO_TRY_GOTO(rlo__mutex_init(&cache->mutex));
  RLO_TRY_GOTO(rlo__cond_init(&cache->built));
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
  rlo__cond_deinit(&cache->built);
  rlo__mutex_deinit(&cache->mutex);
  rlo__program_builder_deinit(&cache->builder);
  rlo__free(cache);
}

void rlo__program_cache_get_stats(rlo__program_cache *cache, rlo_context_stats *stats) {
  rlo__mutex_lock(&cache->mutex);
  stats->programs_built = cache->num_built;
  stats->program_hits = cache->num_hits;
  rlo__mutex_unlock(&cache->mutex);
  stats->kernels_created = atomic_load_explicit(&cache->num_kernels_created, memory_order_relaxed);
}
