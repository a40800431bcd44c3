/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/batch_opencl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "codegen/codegen.h"
#include "ir/batch.h"
#include "runtime/cl_error.h"
#include "runtime/plan_handle.h"

/** A kernel of a batch, from one memory to another. */
typedef struct launch {
  /** A reference. */
  rlo__planned *planned;
  /** The memories; and, of an item that runs alone, its offsets: else 0. */
  rlo_batch_item at;
} launch;

struct rlo_batch {
  /** A reference. */
  rlo_context *context;
  /** NULL if each launch is of an item alone. */
  cl_mem tables;
  int32_t num_memories;
  /** The needs of all items, for each memory: `element_bytes` is its alignment. */
  rlo__operand_need *needs;
  launch *launches;
  size_t num_launches, launch_capacity;
};

/** An item that has points. */
typedef struct entry {
  const rlo_batch_item *item;
  /** A reference. */
  rlo__planned *planned;
  /** The launch that it shares: the hash of its program, or 0 for an item that runs
   *  alone; the memories. */
  uint64_t key[3];
  /** Its record, in longs from the tables on. */
  size_t record_at;
} entry;

enum { ROW_LONGS = 4 };

/** A batch in the making. */
typedef struct builder {
  rlo_batch *batch;
  /** In the order of their problems, then in that of the launches. */
  entry *entries;
  size_t num_entries;
  /** The tables of cl/batch.cl: a row for each item, records, groups. */
  int64_t *longs;
  size_t num_longs, long_capacity;
  /** Working memory. */
  rlo__launch launch;
} builder;

/* ------------------------------------------------------------------- planning */

/** Notes what an item needs of one of its memories. */
static rlo_status add_need(const rlo__operand_need *own, int64_t offset_bytes,
                           int64_t alignment_bytes, rlo__operand_need *all) {
  RLO_FAIL_IF(offset_bytes % own->element_bytes != 0, RLO_INVALID_ARGUMENT,
              "an offset of %lld bytes is not a multiple of the element's %lld",
              (long long)offset_bytes, (long long)own->element_bytes);
  all->is_updated |= own->is_updated || own->side == RLO__OPERAND_SRC;
  all->side = rlo__operand_is_written(all->side) ? all->side : own->side;
  all->bytes = rlo__max(all->bytes, offset_bytes + own->bytes);
  all->element_bytes = rlo__max(all->element_bytes, alignment_bytes);
  return RLO_OK;
}

/** The alignment of what begins at an offset in memory that is aligned as whole buffers. */
static int64_t alignment_at(const rlo_context *context, int64_t offset_bytes) {
  const int64_t known = offset_bytes | context->device_info.base_alignment_bytes;
  return known & -known;
}

/** Writes the launch of a batch: the kernel of an item's launch, compiled by the same
 *  constants, whose groups read the arguments of their items from tables (cl/batch.cl), which
 *  it takes as its indices. @param groups_at  where in them its groups begin, in longs. */
static rlo_status make_launch(const rlo__launch *item, int64_t groups_at, int64_t num_groups,
                              rlo__launch *batch) {
  static const rlo__argument_kind memories[] = {RLO__ARGUMENT_SRC, RLO__ARGUMENT_SRC_OFFSET,
                                                RLO__ARGUMENT_DST, RLO__ARGUMENT_DST_OFFSET,
                                                RLO__ARGUMENT_INDEX};
  int64_t places[2 * RLO__LAUNCH_MAX_ARGUMENTS];
  rlo__launch_clear(batch);
  batch->kernel_file = item->kernel_file;
  for (int32_t d = 0; d < item->num_defines; ++d) {
    const rlo__define *define = &item->defines[d];
    const int64_t *values = &item->numbers[define->first];
    RLO_TRY(rlo__launch_define_list(batch, define->name, values, define->count));
  }
  for (int64_t n = 0; n < item->num_arguments; ++n) {
    places[2 * n] = item->arguments[n].kind;
    places[2 * n + 1] = item->arguments[n].first;
  }
  RLO_TRY(rlo__launch_define(batch, RLO__CODEGEN_BATCH, (int64_t)item->local_size[0]));
  RLO_TRY(
      rlo__launch_define_list(batch, RLO__CODEGEN_ITEM_ARGUMENTS, places, 2 * item->num_arguments));
  for (size_t n = 0; n < sizeof memories / sizeof memories[0]; ++n) {
    RLO_TRY(rlo__launch_argument(batch, memories[n], NULL, 0));
  }
  rlo__launch_set_groups(batch, (size_t)num_groups, (int64_t)item->local_size[0]);
  rlo__launch_describe(batch, "a batch of %s", item->kernel_file);
  return rlo__launch_longs(batch, &groups_at, 1);
}

/** Finds the program that runs an item in a batch, if there is one, and adds the record. */
static rlo_status add_record(const rlo__launch *item, builder *b, entry *e) {
  const size_t count = (size_t)item->num_numbers;
  rlo__program_spec spec;
  if (!rlo__codegen_has_batch(item)) {
    return RLO_OK;
  }
  RLO_TRY(make_launch(item, 0, 1, &b->launch));
  RLO_TRY(rlo__codegen_program(&b->launch, &spec));
  e->key[0] = rlo__codegen_hash(&spec) | 1;
  rlo__codegen_deinit(&spec);
  RLO_TRY(
      rlo__array_reserve(&b->longs, sizeof *b->longs, b->num_longs + 1 + count, &b->long_capacity));
  e->record_at = b->num_longs;
  b->longs[b->num_longs] = (int64_t)(item->global_size[0] / item->local_size[0]);
  memcpy(&b->longs[b->num_longs + 1], item->numbers, count * sizeof *b->longs);
  b->num_longs += 1 + count;
  return RLO_OK;
}

/** Adds an item, if it has points. */
static rlo_status add_item(rlo_plan *plan, const rlo_batch_item *item, builder *b) {
  const rlo_context *context = b->batch->context;
  entry *e = &b->entries[b->num_entries];
  int64_t alignments[2] = {1, 1};
  if (plan->num_steps > 0) {
    RLO_TRY(rlo__plan_step_choose(&plan->steps[0], alignment_at(context, item->src_offset_bytes),
                                  alignment_at(context, item->dst_offset_bytes), &e->planned));
    rlo__memo_entry_retain(&e->planned->entry);
    *e = (entry){
        .item = item, .planned = e->planned, .key = {0, (uint64_t)item->src, (uint64_t)item->dst}};
    ++b->num_entries;
    const rlo__planned_terms *terms = &e->planned->terms;
    alignments[0] = terms->src_alignment_bytes;
    alignments[1] = terms->dst_alignment_bytes;
    if (b->num_entries > 1 && e[-1].planned == e->planned) {
      e->key[0] = e[-1].key[0];
      e->record_at = e[-1].record_at;
    } else {
      RLO_TRY(add_record(e->planned->launch, b, e));
    }
  }
  rlo__operand_need *needs = b->batch->needs;
  RLO_TRY(add_need(&plan->operands[0], item->src_offset_bytes, alignments[0], &needs[item->src]));
  return add_need(&plan->operands[1], item->dst_offset_bytes, alignments[1], &needs[item->dst]);
}

/** Plans the items, which come in the order of their problems. */
static rlo_status add_items(const rlo_batch_item *const *order, const rlo_batch_item *items,
                            size_t count, const rlo_plan_options *options, builder *b) {
  rlo_plan *plan = NULL;
  rlo_status status = RLO_OK;
  for (size_t n = 0; status == RLO_OK && n < count; ++n) {
    if (n == 0 || order[n]->problem != order[n - 1]->problem) {
      rlo_plan_release(plan);
      status = rlo_plan_create(b->batch->context, order[n]->problem, options, &plan);
    }
    if (status == RLO_OK) {
      status = add_item(plan, order[n], b);
    }
    (void)rlo__status_prefix(status, "item %d: ", (int)(order[n] - items));
  }
  rlo_plan_release(plan);
  return status;
}

/* ------------------------------------------------------------------- launches */

/** In some order by launch, then in the caller's. */
static int compare_entries(const void *a, const void *b) {
  const entry *x = a;
  const entry *y = b;
  const int order = memcmp(x->key, y->key, sizeof x->key);
  return order != 0 ? order : (x->item > y->item) - (x->item < y->item);
}

/** Adds a launch, and builds it. @param planned  the reference is taken over. */
static rlo_status add_launch(rlo_batch *batch, rlo__planned *planned, const rlo_batch_item *at) {
  rlo__planned *ready = NULL;
  rlo_status status = rlo__planned_build(planned, RLO__BUILD_BACKGROUND, &ready);
  if (status == RLO_OK) {
    status = rlo__array_reserve(&batch->launches, sizeof *batch->launches, batch->num_launches + 1,
                                &batch->launch_capacity);
  }
  if (status != RLO_OK) {
    rlo__planned_release(planned);
    return status;
  }
  batch->launches[batch->num_launches++] = (launch){planned, *at};
  return RLO_OK;
}

/** Writes the row of an item, and its groups behind those before, which began at `first`. */
static rlo_status add_groups(builder *b, size_t n, size_t first) {
  const entry *e = &b->entries[n];
  const rlo__launch *own = e->planned->launch;
  const size_t count = own->global_size[0] / own->local_size[0];
  RLO_TRY(rlo__array_reserve(&b->longs, sizeof *b->longs, b->num_longs + count, &b->long_capacity));
  const int64_t row[ROW_LONGS] = {e->item->src_offset_bytes + own->src_base_bytes,
                                  e->item->dst_offset_bytes + own->dst_base_bytes,
                                  (int64_t)e->record_at, (int64_t)(b->num_longs - first)};
  memcpy(&b->longs[ROW_LONGS * n], row, sizeof row);
  for (size_t k = 0; k < count; ++k) {
    b->longs[b->num_longs++] = (int64_t)n;
  }
  return RLO_OK;
}

/** Finds the end of the entries that can share a launch with the first. */
static size_t find_end(const builder *b, size_t first) {
  const entry *e = &b->entries[first];
  int64_t num_groups = 0;
  size_t end = first;
  do {
    num_groups += b->longs[b->entries[end++].record_at];
  } while (end < b->num_entries && memcmp(e->key, b->entries[end].key, sizeof e->key) == 0 &&
           num_groups + b->longs[b->entries[end].record_at] <= INT32_MAX);
  return end;
}

/** Adds a launch that runs these entries. */
static rlo_status add_shared(builder *b, size_t begin, size_t end) {
  const entry *e = &b->entries[begin];
  const size_t first = b->num_longs;
  const rlo_batch_item at = {.src = e->item->src, .dst = e->item->dst};
  rlo__planned *planned = NULL;
  for (size_t n = begin; n < end; ++n) {
    RLO_TRY(add_groups(b, n, first));
  }
  RLO_TRY(
      make_launch(e->planned->launch, (int64_t)first, (int64_t)(b->num_longs - first), &b->launch));
  RLO_TRY(rlo__planned_of_launch(b->batch->context, &b->launch, NULL, &planned));
  return add_launch(b->batch, planned, &at);
}

/** Adds a launch for each of these entries. */
static rlo_status add_alone(builder *b, size_t begin, size_t end) {
  for (size_t n = begin; n < end; ++n) {
    rlo__memo_entry_retain(&b->entries[n].planned->entry);
    RLO_TRY(add_launch(b->batch, b->entries[n].planned, b->entries[n].item));
  }
  return RLO_OK;
}

static rlo_status add_launches(builder *b) {
  qsort(b->entries, b->num_entries, sizeof *b->entries, compare_entries);
  size_t end = 0;
  for (size_t n = 0; n < b->num_entries; n = end) {
    const bool is_shared = b->entries[n].key[0] != 0;
    end = is_shared ? find_end(b, n) : n + 1;
    rlo_status status = is_shared ? add_shared(b, n, end) : RLO_UNSUPPORTED;
    if (status == RLO_UNSUPPORTED) {
      /* Or the compiled kernel runs smaller work-groups only. */
      status = add_alone(b, n, end);
    }
    RLO_TRY(status);
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------- lifetime */

static rlo_status build(const rlo_batch_item *const *order, const rlo_batch_item *items,
                        size_t count, const rlo_plan_options *options, builder *b) {
  cl_int code = CL_SUCCESS;
  rlo_batch *batch = b->batch;
  batch->needs = rlo__alloc_array((size_t)batch->num_memories, sizeof *batch->needs);
  b->entries = rlo__alloc_array(count, sizeof *b->entries);
  if (batch->needs == NULL || b->entries == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  b->num_longs = ROW_LONGS * count;
  RLO_TRY(rlo__array_reserve(&b->longs, sizeof *b->longs, b->num_longs, &b->long_capacity));
  RLO_TRY(add_items(order, items, count, options, b));
  RLO_TRY(add_launches(b));
  if (b->num_longs > ROW_LONGS * count) {
    batch->tables =
        clCreateBuffer(batch->context->cl_context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                       b->num_longs * sizeof *b->longs, b->longs, &code);
  }
  return rlo__cl_error_check("clCreateBuffer", code);
}

static void builder_deinit(builder *b) {
  for (size_t n = 0; n < b->num_entries; ++n) {
    rlo__planned_release(b->entries[n].planned);
  }
  rlo__launch_deinit(&b->launch);
  rlo__free(b->entries);
  rlo__free(b->longs);
  rlo__free(b);
}

rlo_status rlo_batch_create(rlo_context *context, const rlo_batch_item *items, int32_t count,
                            int32_t num_memories, const rlo_plan_options *options,
                            rlo_batch **out_batch) {
  RLO_REQUIRE(out_batch);
  *out_batch = NULL;
  RLO_REQUIRE(context);
  RLO_REQUIRE_LIST(items, count);
  rlo_plan_options known;
  RLO_TRY(rlo__plan_options_read(&options, &known));
  known.effort = RLO_EFFORT_ESTIMATE;
  known.max_scratch_bytes = 0;
  const rlo_batch_item **order = NULL;
  RLO_TRY(rlo__batch_order(items, count, num_memories, &order));
  builder *b = rlo__alloc(sizeof *b);
  rlo_batch *batch = rlo__alloc(sizeof *batch);
  rlo_status status = RLO_OUT_OF_MEMORY;
  if (b != NULL && batch != NULL) {
    batch->context = rlo__context_ref(context);
    batch->num_memories = num_memories;
    b->batch = batch;
    rlo__launch_init(&b->launch);
    status = build(order, items, (size_t)count, &known, b);
    builder_deinit(b);
  }
  rlo__free(order);
  if (status == RLO_OK) {
    *out_batch = batch;
  } else {
    rlo_batch_release(batch);
  }
  return status;
}

void rlo_batch_release(rlo_batch *batch) {
  if (batch == NULL || getpid() != batch->context->pid) {
    return;
  }
  for (size_t n = 0; n < batch->num_launches; ++n) {
    rlo__planned_release(batch->launches[n].planned);
  }
  if (batch->tables != NULL) {
    clReleaseMemObject(batch->tables);
  }
  rlo__context_unref(batch->context);
  rlo__free(batch->needs);
  rlo__free(batch->launches);
  rlo__free(batch);
}

/* ----------------------------------------------------------------- enqueueing */

/** Checks a memory, and that it does not overlap those before it. */
static rlo_status resolve(const rlo_batch *batch, const rlo_batch_memory *memory, int32_t number,
                          rlo__operand *operands) {
  rlo__operand *own = &operands[number];
  rlo__operand_need need = batch->needs[number];
  const int64_t alignment = need.element_bytes;
  need.element_bytes = 1;
  *own = (rlo__operand){
      .memory = memory->buffer, .pointer = memory->pointer, .offset_bytes = memory->offset_bytes};
  RLO_TRY(rlo__operand_resolve(batch->context, &need, own));
  RLO_FAIL_IF(own->alignment_bytes < alignment && need.bytes > 0, RLO_UNSUPPORTED,
              "it begins at a multiple of %lld bytes, and the batch needs one of %lld",
              (long long)own->alignment_bytes, (long long)alignment);
  for (int32_t k = 0; k < number; ++k) {
    if (rlo__operand_is_written(own->side) || rlo__operand_is_written(operands[k].side)) {
      RLO_TRY(rlo__operand_check_overlap(&operands[k], own));
    }
  }
  return RLO_OK;
}

static rlo_status enqueue(const rlo_batch *batch, const rlo__operand *operands,
                          rlo__submission *to) {
  const rlo__operand tables = {.memory = batch->tables};
  for (size_t n = 0; n < batch->num_launches; ++n) {
    const launch *each = &batch->launches[n];
    rlo__planned *ready = NULL;
    rlo__operand src = operands[each->at.src];
    rlo__operand dst = operands[each->at.dst];
    src.offset_bytes += each->at.src_offset_bytes;
    dst.offset_bytes += each->at.dst_offset_bytes;
    const rlo__launch_operands memories = {&src, &dst, &tables};
    RLO_TRY(rlo__planned_build(each->planned, RLO__BUILD_FOREGROUND, &ready));
    RLO_TRY(rlo__planned_launch(ready, &memories, (int32_t)n, (int32_t)batch->num_launches,
                                rlo__launch_enqueue, to));
  }
  return RLO_OK;
}

rlo_status rlo_batch_enqueue(const rlo_batch *batch, cl_command_queue queue,
                             const rlo_batch_memory *memories, cl_uint num_wait,
                             const cl_event *wait_list, cl_event *out_event) {
  RLO_REQUIRE(batch, queue);
  RLO_REQUIRE_LIST(memories, batch->num_memories);
  RLO_TRY(rlo__context_check_process(batch->context));
  rlo__submission to = {batch->context, queue, num_wait, wait_list, out_event, NULL};
  RLO_TRY(rlo__submission_check(&to));
  rlo__operand few[4];
  rlo__operand *operands = RLO__SMALL_ARRAY(few, (size_t)batch->num_memories);
  rlo_status status = operands == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
  for (int32_t n = 0; status == RLO_OK && n < batch->num_memories; ++n) {
    status = rlo__status_prefix(resolve(batch, &memories[n], n, operands), "memory %d: ", (int)n);
  }
  if (status == RLO_OK) {
    status = rlo__submission_end(&to, enqueue(batch, operands, &to), batch->num_launches == 0);
  }
  rlo__small_array_free(operands, few);
  return status;
}
