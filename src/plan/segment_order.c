/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/segment_order.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "base/threshold.h"
#include "plan/specialized.h"

enum { CPU_CHUNKS_PER_UNIT = 2, GPU_LOCAL = 64, GPU_SCAN_LOCAL = 256 };

/** Chunks run at the same time, but each has counters of all segments, which
 *  together should not be more than the rows. */
static int64_t choose_chunks(const rlo__segment_ids *ids, const rlo_device_info *device,
                             bool is_gpu) {
  int64_t units = rlo__max(device->compute_units, 1);
  int64_t max_chunks = is_gpu ? rlo__thresholds.plan_gpu_order_chunks : CPU_CHUNKS_PER_UNIT * units;
  int64_t rows = is_gpu ? rlo__thresholds.plan_gpu_order_chunk_rows
                        : rlo__thresholds.plan_cpu_order_chunk_rows;
  int64_t chunks = rlo__min(max_chunks, rlo__ceil_div(ids->rows, rows));
  chunks = rlo__min(chunks, 2 * (ids->rows / ids->segments) + 2);
  return rlo__max(chunks, 1);
}

rlo_status rlo__segment_order_cut(const rlo__segment_ids *ids, const rlo_device_info *device,
                                  rlo_device_class device_class, rlo__segment_cut *out_cut) {
  rlo__segment_cut cut = {0};
  bool is_gpu = device_class == RLO_DEVICE_CLASS_GPU;
  cut.chunk_rows = rlo__ceil_div(ids->rows, choose_chunks(ids, device, is_gpu));
  cut.chunks = rlo__ceil_div(ids->rows, cut.chunk_rows);
  cut.count_at = ids->segments + 1 + ids->rows; /* fits, as the order does */
  int64_t numbers;
  RLO_FAIL_IF(!rlo__mul_add(cut.count_at, cut.chunks, ids->segments, &numbers) ||
                  !rlo__mul(numbers, ids->order_bits / 8, &cut.scratch_bytes),
              RLO_OVERFLOW,
              "the scratch memory of a segment sum of %lld rows and %lld segments exceeds 64 bits",
              (long long)ids->rows, (long long)ids->segments);
  *out_cut = cut;
  return RLO_OK;
}

/** Ids at one constant distance share one program for all shapes. */
static bool is_linear(const rlo_problem *canonical) {
  return canonical->num_axes <= 1 && canonical->num_terms == 0 && canonical->num_guards == 0;
}

static int64_t local_items(const rlo_device_info *device, bool is_gpu, int32_t phase) {
  int64_t max_items = !is_gpu ? 1 : phase == 1 ? GPU_SCAN_LOCAL : GPU_LOCAL;
  max_items = rlo__min(max_items, device->max_work_group_items);
  int64_t local = 1;
  while (local * 2 <= max_items) {
    local *= 2;
  }
  return local;
}

static rlo_status emit(const rlo__segment_ids *ids, const rlo__segment_cut *cut, int64_t local,
                       int32_t phase, rlo_problem *canonical, rlo__launch *launch) {
  const rlo_problem *problem = &ids->problem;
  *canonical = *problem;
  RLO_TRY(rlo_problem_canonicalize(canonical, 0, NULL, NULL));
  bool is_index32 = rlo__specialized_fits_32_bits(problem) && ids->rows <= INT32_MAX;
  bool is_short = is_linear(canonical);
  const rlo__constant constants[] = {
      {"RLO_PHASE", phase},
      {"RLO_LOCAL", local},
      {"RLO_ORDER_BITS", ids->order_bits},
      {"RLO_UNIT_BYTES", problem->unit_bits / 8},
      {is_short ? "RLO_LINEAR" : "RLO_INDEX32", is_short || is_index32},
      {0}};
  const int64_t numbers[] = {ids->rows,           ids->batch_rows,     ids->segments,
                             ids->batch_segments, cut->chunks,         cut->chunk_rows,
                             cut->count_at,       canonical->src.base, canonical->src.axis[0]};
  RLO_TRY(rlo__launch_begin(problem, "segment_order", 0, launch));
  RLO_TRY(rlo__launch_define_all(launch, constants));
  if (!is_short) {
    RLO_TRY(rlo__specialized_define(problem, launch));
  }
  RLO_TRY(rlo__launch_longs(launch, numbers, (int32_t)(sizeof numbers / sizeof numbers[0])));
  int64_t groups = phase == 1 ? 1 : rlo__ceil_div(cut->chunks, local);
  rlo__launch_set_groups(launch, (size_t)groups, local);
  rlo__launch_describe(launch, "%lld chunks of %lld rows, %lld segments", (long long)cut->chunks,
                       (long long)cut->chunk_rows, (long long)ids->segments);
  return RLO_OK;
}

rlo_status rlo__segment_order_emit(const rlo__segment_ids *ids, const rlo__segment_cut *cut,
                                   const rlo_device_info *device, rlo_device_class device_class,
                                   int32_t phase, rlo__launch *launch) {
  rlo_problem *canonical = rlo__alloc(sizeof *canonical);
  RLO_TRY_MEMORY(canonical);
  bool is_gpu = device_class == RLO_DEVICE_CLASS_GPU;
  rlo_status status = emit(ids, cut, local_items(device, is_gpu, phase), phase, canonical, launch);
  rlo__free(canonical);
  RLO_TRY(status);
  return rlo__launch_define_reach(&ids->problem, device, launch);
}
