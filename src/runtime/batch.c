/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/batch_opencl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/batch.h"
#include "plan/batch.h"
#include "runtime/cl_error.h"
#include "runtime/plan_handle.h"

/** A kernel of a batch, from one memory to another. */
typedef struct launch {
  /** A reference. */
  rlo__planned *planned;
  int32_t src, dst;
  /** Of an item that runs alone; else 0. */
  int64_t src_offset_bytes, dst_offset_bytes;
} launch;

struct rlo_batch {
  /** A reference. */
  rlo_context *context;
  /** NULL if every launch is of one item. */
  cl_mem tables;
  int32_t num_memories;
  /** What the items need of each memory: `element_bytes` is its alignment. 0 bytes where
   *  none names it. */
  rlo__operand_need *needs;
  launch *launches;
  size_t num_launches, launch_capacity;
};

/** An item that has points. */
typedef struct entry {
  const rlo_batch_item *item;
  /** Of the item's plan. */
  rlo__planned *planned;
  /** Hash of the batch's program; 0 for an item that runs alone. */
  uint64_t program;
  /** Place of its record among the records. */
  int64_t record_at;
} entry;

/** A batch in the making. */
typedef struct builder {
  rlo_batch *batch;
  /** One for each problem. */
  rlo_plan **plans;
  size_t num_plans, plan_capacity;
  entry *entries;
  size_t num_entries;
  int64_t *records;
  size_t num_longs, long_capacity;
  /** A row for each entry, and the entry of each group, launch after launch. */
  rlo__batch_row *rows;
  uint32_t *groups;
  size_t num_groups, group_capacity;
  /** Working memory. */
  rlo__launch launch;
} builder;

/* ------------------------------------------------------------------ planning */

static int compare(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

/** By problem, then in the caller's order. */
static int compare_problems(const void *a, const void *b) {
  const rlo_batch_item *x = ((const entry *)a)->item;
  const rlo_batch_item *y = ((const entry *)b)->item;
  const int order = compare((uintptr_t)x->problem, (uintptr_t)y->problem);
  return order != 0 ? order : compare((uintptr_t)x, (uintptr_t)y);
}

static int compare_planned(const void *a, const void *b) {
  return compare(((const entry *)a)->planned->id, ((const entry *)b)->planned->id);
}

/** By launch, then in the caller's order. */
static int compare_launches(const void *a, const void *b) {
  const entry *x = a;
  const entry *y = b;
  const int orders[] = {compare(x->program, y->program),
                        compare((uint64_t)x->item->src, (uint64_t)y->item->src),
                        compare((uint64_t)x->item->dst, (uint64_t)y->item->dst),
                        compare((uintptr_t)x->item, (uintptr_t)y->item)};
  int order = 0;
  for (size_t n = 0; order == 0 && n < sizeof orders / sizeof orders[0]; ++n) {
    order = orders[n];
  }
  return order;
}

/** The alignment of what begins at an offset in memory that is aligned as whole buffers. */
static int64_t alignment_at(const rlo_context *context, int64_t offset_bytes) {
  const int64_t known = offset_bytes | context->device_info.base_alignment_bytes;
  return known & -known;
}

/** Notes what an item needs of one of its memories. */
static rlo_status need(const rlo__operand_need *own, int32_t memory, int64_t offset_bytes,
                       rlo_batch *batch) {
  rlo__operand_need *all = &batch->needs[memory];
  if (offset_bytes % own->element_bytes != 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "an offset of %lld bytes is not a multiple of the element's %lld",
                    (long long)offset_bytes, (long long)own->element_bytes);
  }
  if (own->bytes == 0) {
    return RLO_OK;
  }
  const bool was_used = all->bytes > 0;
  const bool was_written = was_used && all->side == RLO__OPERAND_DST;
  const bool is_written = own->side == RLO__OPERAND_DST;
  all->is_updated |= own->is_updated || (was_used && was_written != is_written);
  all->side = is_written || was_written ? RLO__OPERAND_DST : RLO__OPERAND_SRC;
  all->bytes = rlo__max(all->bytes, offset_bytes + own->bytes);
  return RLO_OK;
}

/** Chooses the launch of an item, if it has points. */
static rlo_status choose(rlo_plan *plan, const rlo_batch_item *item, builder *b) {
  rlo_batch *batch = b->batch;
  RLO_TRY(need(&plan->operands[0], item->src, item->src_offset_bytes, batch));
  RLO_TRY(need(&plan->operands[1], item->dst, item->dst_offset_bytes, batch));
  if (plan->num_steps == 0) {
    return RLO_OK;
  }
  entry *made = &b->entries[b->num_entries];
  *made = (entry){.item = item};
  RLO_TRY(
      rlo__plan_step_choose(&plan->steps[0], alignment_at(batch->context, item->src_offset_bytes),
                            alignment_at(batch->context, item->dst_offset_bytes), &made->planned));
  const rlo__planned_terms *terms = &made->planned->terms;
  int64_t *src = &batch->needs[item->src].element_bytes;
  int64_t *dst = &batch->needs[item->dst].element_bytes;
  *src = rlo__max(*src, terms->src_alignment_bytes);
  *dst = rlo__max(*dst, terms->dst_alignment_bytes);
  ++b->num_entries;
  return RLO_OK;
}

static rlo_status add_plan(const rlo_problem *problem, const rlo_plan_options *options,
                           builder *b) {
  RLO_TRY(rlo__array_reserve(&b->plans, sizeof *b->plans, b->num_plans + 1, &b->plan_capacity));
  RLO_TRY(rlo_plan_create(b->batch->context, problem, options, &b->plans[b->num_plans]));
  ++b->num_plans;
  return RLO_OK;
}

/** Plans all items. */
static rlo_status plan_items(const rlo_batch_item *items, int32_t count,
                             const rlo_plan_options *options, builder *b) {
  const size_t all = (size_t)count;
  b->entries = rlo__alloc_array(all, sizeof *b->entries);
  if (b->entries == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  for (size_t n = 0; n < all; ++n) {
    b->entries[n].item = &items[n];
  }
  qsort(b->entries, all, sizeof *b->entries, compare_problems);
  const rlo_problem *problem = NULL;
  for (size_t n = 0; n < all; ++n) {
    const rlo_batch_item *item = b->entries[n].item;
    rlo_status status = RLO_OK;
    if (item->problem != problem) {
      problem = item->problem;
      status = add_plan(problem, options, b);
    }
    if (status == RLO_OK) {
      status = choose(b->plans[b->num_plans - 1], item, b);
    }
    RLO_TRY(rlo__status_prefix(status, "item %d: ", (int)(item - items)));
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------- tables */

/** Finds the program of a launch in a batch, and adds its record. */
static rlo_status add_record(const rlo__launch *item, builder *b, entry *e) {
  const rlo__batch_tables none = {0, 0, 1};
  rlo__program_spec spec;
  if (!rlo__codegen_has_batch(item)) {
    return RLO_OK;
  }
  RLO_TRY(rlo__batch_launch(item, &none, &b->launch));
  RLO_TRY(rlo__codegen_program(&b->launch, &spec));
  e->program = rlo__codegen_hash(&spec) | 1;
  rlo__codegen_deinit(&spec);
  const size_t longs = (size_t)rlo__batch_record_longs(item);
  RLO_TRY(
      rlo__array_reserve(&b->records, sizeof *b->records, b->num_longs + longs, &b->long_capacity));
  memset(b->records + b->num_longs, 0, longs * sizeof *b->records);
  rlo__batch_record_write(item, b->records + b->num_longs);
  e->record_at = (int64_t)b->num_longs;
  b->num_longs += longs;
  return RLO_OK;
}

/** Adds the records of all items. */
static rlo_status add_records(builder *b) {
  qsort(b->entries, b->num_entries, sizeof *b->entries, compare_planned);
  for (size_t n = 0; n < b->num_entries; ++n) {
    entry *e = &b->entries[n];
    if (n > 0 && e->planned == e[-1].planned) {
      e->program = e[-1].program;
      e->record_at = e[-1].record_at;
    } else {
      RLO_TRY(add_record(e->planned->launch, b, e));
    }
  }
  qsort(b->entries, b->num_entries, sizeof *b->entries, compare_launches);
  return RLO_OK;
}

/* ------------------------------------------------------------------ launches */

static int64_t num_groups(const entry *e) {
  const rlo__launch *own = e->planned->launch;
  return (int64_t)(own->global_size[0] / own->local_size[0]);
}

/** Adds a launch, and builds it. @param added  its reference is taken over. */
static rlo_status add_launch(rlo_batch *batch, const launch *added) {
  rlo__planned *ready = NULL;
  rlo_status status = rlo__planned_build(added->planned, RLO__BUILD_BACKGROUND, &ready);
  if (status == RLO_OK) {
    status = rlo__array_reserve(&batch->launches, sizeof *batch->launches, batch->num_launches + 1,
                                &batch->launch_capacity);
  }
  if (status != RLO_OK) {
    rlo__planned_release(added->planned);
    return status;
  }
  batch->launches[batch->num_launches++] = *added;
  return RLO_OK;
}

/** Adds a launch for each of these entries. */
static rlo_status add_alone(builder *b, size_t first, size_t end) {
  for (size_t n = first; n < end; ++n) {
    const entry *e = &b->entries[n];
    rlo__memo_entry_retain(&e->planned->entry);
    RLO_TRY(add_launch(b->batch, &(launch){e->planned, e->item->src, e->item->dst,
                                           e->item->src_offset_bytes, e->item->dst_offset_bytes}));
  }
  return RLO_OK;
}

/** Lists the groups of a launch: those of each of its entries in turn. */
static rlo_status add_groups(builder *b, size_t first, size_t end, int64_t total) {
  RLO_TRY(rlo__array_reserve(&b->groups, sizeof *b->groups, b->num_groups + (size_t)total,
                             &b->group_capacity));
  int64_t done = 0;
  for (size_t n = first; n < end; ++n) {
    const entry *e = &b->entries[n];
    const rlo__launch *own = e->planned->launch;
    b->rows[n] =
        (rlo__batch_row){.src_offset_bytes = e->item->src_offset_bytes + own->src_base_bytes,
                         .dst_offset_bytes = e->item->dst_offset_bytes + own->dst_base_bytes,
                         .record_at = e->record_at,
                         .first_group = done};
    for (int64_t k = num_groups(e); k > 0; --k) {
      b->groups[b->num_groups++] = (uint32_t)n;
    }
    done += num_groups(e);
  }
  return RLO_OK;
}

/** Adds the launch of entries of one program and the same memories. */
static rlo_status add_joined(builder *b, size_t first, size_t end, int64_t total) {
  const entry *e = &b->entries[first];
  const int64_t items_at = (int64_t)(b->num_longs * sizeof *b->records);
  const int64_t groups_at =
      items_at + (int64_t)(b->num_entries * sizeof *b->rows + b->num_groups * sizeof *b->groups);
  const rlo__batch_tables tables = {items_at, groups_at, total};
  launch made = {.src = e->item->src, .dst = e->item->dst};
  RLO_TRY(rlo__batch_launch(e->planned->launch, &tables, &b->launch));
  RLO_TRY(rlo__planned_of_launch(b->batch->context, &b->launch, NULL, &made.planned));
  const rlo_status status = add_launch(b->batch, &made);
  if (status == RLO_UNSUPPORTED) {
    /* The compiled kernel runs smaller work-groups only. */
    return add_alone(b, first, end);
  }
  RLO_TRY(status);
  return add_groups(b, first, end, total);
}

static rlo_status add_launches(builder *b) {
  size_t end = 0;
  for (size_t first = 0; first < b->num_entries; first = end) {
    const entry *e = &b->entries[first];
    int64_t total = 0;
    do {
      total += num_groups(&b->entries[end++]);
    } while (end < b->num_entries && b->entries[end].program == e->program &&
             b->entries[end].item->src == e->item->src &&
             b->entries[end].item->dst == e->item->dst &&
             total + num_groups(&b->entries[end]) <= INT32_MAX);
    RLO_TRY(e->program != 0 ? add_joined(b, first, end, total) : add_alone(b, first, end));
  }
  return RLO_OK;
}

/** Gives the tables to the device. */
static rlo_status upload(builder *b) {
  const size_t record_bytes = b->num_longs * sizeof *b->records;
  const size_t row_bytes = b->num_entries * sizeof *b->rows;
  const size_t group_bytes = b->num_groups * sizeof *b->groups;
  if (group_bytes == 0) {
    return RLO_OK;
  }
  char *all = rlo__alloc_unset(record_bytes + row_bytes + group_bytes);
  if (all == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  memcpy(all, b->records, record_bytes);
  memcpy(all + record_bytes, b->rows, row_bytes);
  memcpy(all + record_bytes + row_bytes, b->groups, group_bytes);
  cl_int code = CL_SUCCESS;
  b->batch->tables =
      clCreateBuffer(b->batch->context->cl_context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                     record_bytes + row_bytes + group_bytes, all, &code);
  rlo__free(all);
  return rlo__cl_error_check("clCreateBuffer", code);
}

/* ------------------------------------------------------------------ lifetime */

static rlo_status create_empty(rlo_context *context, int32_t num_memories, rlo_batch **out_batch) {
  rlo_batch *batch = rlo__alloc(sizeof *batch);
  if (batch == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  batch->context = rlo__context_ref(context);
  batch->num_memories = num_memories;
  batch->needs = rlo__alloc_array((size_t)num_memories, sizeof *batch->needs);
  if (batch->needs == NULL) {
    rlo_batch_release(batch);
    return RLO_OUT_OF_MEMORY;
  }
  *out_batch = batch;
  return RLO_OK;
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

static void deinit(builder *b) {
  for (size_t n = 0; n < b->num_plans; ++n) {
    rlo_plan_release(b->plans[n]);
  }
  rlo__launch_deinit(&b->launch);
  rlo_batch_release(b->batch);
  rlo__free(b->plans);
  rlo__free(b->entries);
  rlo__free(b->records);
  rlo__free(b->rows);
  rlo__free(b->groups);
  rlo__free(b);
}

static rlo_status build(const rlo_batch_item *items, int32_t count, const rlo_plan_options *options,
                        builder *b) {
  RLO_TRY(plan_items(items, count, options, b));
  RLO_TRY(add_records(b));
  b->rows = rlo__alloc_array(b->num_entries, sizeof *b->rows);
  if (b->rows == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  RLO_TRY(add_launches(b));
  return upload(b);
}

rlo_status rlo_batch_create(rlo_context *context, const rlo_batch_item *items, int32_t count,
                            int32_t num_memories, const rlo_plan_options *options,
                            rlo_batch **out_batch) {
  RLO_REQUIRE(out_batch);
  *out_batch = NULL;
  RLO_REQUIRE(context);
  RLO_TRY(rlo__batch_check(items, count, num_memories));
  RLO_TRY(rlo__context_check_process(context));
  rlo_plan_options known;
  RLO_TRY(rlo__plan_options_read(&options, &known));
  known.effort = RLO_EFFORT_ESTIMATE;
  known.max_scratch_bytes = 0;
  builder *b = rlo__alloc(sizeof *b);
  if (b == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo__launch_init(&b->launch);
  rlo_status status = create_empty(context, num_memories, &b->batch);
  if (status == RLO_OK) {
    status = build(items, count, &known, b);
  }
  if (status == RLO_OK) {
    *out_batch = b->batch;
    b->batch = NULL;
  }
  deinit(b);
  return status;
}

int64_t rlo_batch_num_launches(const rlo_batch *batch) {
  return batch != NULL ? (int64_t)batch->num_launches : 0;
}

/* ---------------------------------------------------------------- enqueueing */

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
  if (own->alignment_bytes < alignment && need.bytes > 0) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "it begins at a multiple of %lld bytes, and the batch needs one of %lld",
                    (long long)own->alignment_bytes, (long long)alignment);
  }
  for (int32_t k = 0; k < number; ++k) {
    if (own->side == RLO__OPERAND_DST || operands[k].side == RLO__OPERAND_DST) {
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
    rlo__operand src = operands[each->src];
    rlo__operand dst = operands[each->dst];
    src.offset_bytes += each->src_offset_bytes;
    dst.offset_bytes += each->dst_offset_bytes;
    const rlo__launch_operands memories = {&src, &dst, &tables};
    rlo__planned *ready = NULL;
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
  if (operands == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = RLO_OK;
  for (int32_t n = 0; status == RLO_OK && n < batch->num_memories; ++n) {
    status = rlo__status_prefix(resolve(batch, &memories[n], n, operands), "memory %d: ", (int)n);
  }
  if (status == RLO_OK) {
    status = rlo__submission_end(&to, enqueue(batch, operands, &to), batch->num_launches == 0);
  }
  rlo__small_array_free(operands, few);
  return status;
}
