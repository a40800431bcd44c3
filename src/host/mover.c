/* SPDX-License-Identifier: Apache-2.0 */
#include "host/mover.h"

#include <fenv.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/threshold.h"
#include "host/cast.h"
#include "host/nest.h"
#include "host/peel.h"
#include "ir/form.h"
#include "ir/piece.h"
#include "ir/record.h"
#include "ir/update.h"
#include "ir/validate.h"

enum {
  MAX_THREADS = 256,
  /** Work, in bytes that a nest writes: of a turn of its loops, and of a point
   *  that the reference runs. */
  TURN_BYTES = 64,
  POINT_BYTES = 512,
  /** The same of a unit below a byte that a nest moves. */
  PACKED_BYTES = 2
};

/** A problem that the reference runs, cut along one axis, so that threads may
 * run slices of it; or one of units below a byte, whose slices become nests when they run:
 * their parts share bytes with each other, but not with those of other slices. */
typedef struct slices {
  bool is_packed;
  /** The problem's record, which is far shorter; owned. */
  int64_t *record;
  int32_t axis;
  /** Its points. */
  int64_t extent;
  /** Points of the axis in a slice, but for the last one. */
  int64_t points;
  /** At least 1. */
  int64_t count;
} slices;

/** A part of the box. */
typedef struct part {
  bool is_nest;
  rlo__host_nest nest;
  slices slices;
  /** Work of the parts before this one, and of this one. */
  double work_before, work;
} part;

struct rlo__host_mover {
  const rlo__host_kernels *kernels;
  bool is_past_caches;
  /** The conversion of the nests; NULL: they move. Owned. */
  rlo__host_cast *cast;
  part *parts;
  size_t num_parts, capacity;
  double work;
  /** Bytes of indices that the caller has to give, if it loads any, and how many operands
   *  a list of them has. */
  int64_t index_bytes, operand_length;
  /** True if a part runs beyond its memory, so that the parts are of no use. */
  bool is_beyond;
};

/* ------------------------------------------------------------------- bounds */

/** If the guard's form is a constant and a term, that term; else -1. */
static int32_t term_of(const rlo_problem *problem, const rlo_guard *guard) {
  int32_t found = -1;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (guard->form.axis[a] != 0) {
      return -1;
    }
  }
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    int64_t coefficient = guard->form.term[t];
    if (coefficient == 0) {
      continue;
    }
    if (found >= 0 || (coefficient != 1 && coefficient != -1)) {
      return -1;
    }
    found = t;
  }
  return found;
}

/** Narrows the bounds of terms to where guards on a term alone hold:
 *  0 <= base + q < limit, or 0 <= base - q < limit. */
static void apply_guards(const rlo_problem *problem, rlo_guard_kind kind, rlo__term_bounds *terms) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    int32_t t = guard->kind == kind ? term_of(problem, guard) : -1;
    if (t < 0) {
      continue;
    }
    int64_t base = guard->form.base;
    bool is_rising = guard->form.term[t] > 0;
    int64_t low = is_rising ? -base : base - guard->limit + 1;
    int64_t high = is_rising ? guard->limit - 1 - base : base;
    terms->min[t] = rlo__max(terms->min[t], low);
    terms->max[t] = rlo__min(terms->max[t], high);
  }
}

static bool form_is_within(const rlo_problem *problem, const rlo_form *form,
                           const rlo__term_bounds *terms, int64_t unit_bits, int64_t bytes) {
  int64_t min;
  int64_t max;
  int64_t end;
  return rlo__form_range_with(problem, form, terms, &min, &max) && min >= 0 &&
         rlo__mul_add(unit_bits, max, unit_bits, &end) && rlo__ceil_div(end, 8) <= bytes;
}

/** The length of each list of operands in the third memory; 0 if there is none. */
static int64_t operand_length(const rlo_problem *problem) {
  const int32_t num_lists = rlo__arithmetic_lists_before(&problem->arithmetic, INT32_MAX);
  return rlo__problem_operand_term(problem) < 0
             ? 0
             : problem->index_bytes / (problem->index_bits / 8) / num_lists;
}

/* Tells if every point of a canonical problem that is not empty is proven to
 * stay within the memories, by the bounds of the forms over the box. Guards
 * on a term alone count, others do not. False may also mean that the bounds do
 * not decide it. */
static bool is_within(const rlo_problem *problem) {
  rlo__term_bounds terms;
  if (!rlo__term_bounds_find(problem, &terms)) {
    return false;
  }
  apply_guards(problem, RLO_GUARD_SKIP, &terms);
  const int32_t operand = rlo__problem_operand_term(problem);
  if (!form_is_within(problem, &problem->dst, &terms, rlo_problem_dst_unit_bits(problem),
                      problem->dst_bytes)) {
    return false;
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    if (problem->guards[g].kind == RLO_GUARD_PAD &&
        rlo__form_is_constant(&problem->guards[g].form) &&
        problem->guards[g].limit <= problem->guards[g].form.base) {
      return true; /* it never holds, so nothing is read */
    }
  }
  apply_guards(problem, RLO_GUARD_PAD, &terms);
  if (operand >= 0 &&
      !form_is_within(problem, &problem->terms[operand].form, &terms, problem->index_bits,
                      operand_length(problem) * (problem->index_bits / 8))) {
    return false;
  }
  return form_is_within(problem, &problem->src, &terms, problem->unit_bits, problem->src_bytes);
}

/* -------------------------------------------------------------------- parts */

/** Tells if each axis steps over all that the later ones span together. */
static bool is_nested(const rlo_problem *problem) {
  int64_t span = 1;
  for (int32_t a = problem->num_axes - 1; a >= 0; --a) {
    if (problem->dst.axis[a] < span ||
        !rlo__mul_add(span, problem->dst.axis[a], problem->extents[a] - 1, &span)) {
      return false;
    }
  }
  return true;
}

/** How many units make whole bytes, at least. */
static int64_t units_of_bytes(int64_t units, int64_t bits) {
  return 8 / rlo__gcd(units % 8 * bits, 8);
}

/** How many slices along an axis write no byte together; 1 if that is not
 *  known. Units of whole bytes never do. Others do not if the steps of a nested
 *  box are whole bytes down to where each slice begins. */
static int64_t count_slices(const rlo_problem *problem, int32_t axis, int64_t *out_points) {
  const int64_t bits = rlo_problem_dst_unit_bits(problem);
  *out_points = 1;
  if (bits % 8 == 0) {
    return problem->extents[axis];
  }
  if (!is_nested(problem) || units_of_bytes(problem->dst.base, bits) != 1) {
    return 1;
  }
  for (int32_t a = 0; a < axis; ++a) {
    if (units_of_bytes(problem->dst.axis[a], bits) != 1) {
      return 1;
    }
  }
  *out_points = units_of_bytes(problem->dst.axis[axis], bits);
  return rlo__ceil_div(problem->extents[axis], *out_points);
}

static rlo_status add_part(rlo__host_mover *mover, const part *added) {
  RLO_TRY(rlo__array_reserve(&mover->parts, sizeof *mover->parts, mover->num_parts + 1,
                             &mover->capacity));
  part *place = &mover->parts[mover->num_parts++];
  *place = *added;
  place->work_before = mover->work;
  mover->work += place->work;
  return RLO_OK;
}

/** Adds a copy of a problem, in one slice if `is_whole`, and otherwise cut
 * where no two slices write one byte; it is canonical then. */
static rlo_status add_slices(rlo__host_mover *mover, const rlo_problem *problem, bool is_whole,
                             bool is_packed) {
  part added = {.slices = {.count = 1, .is_packed = is_packed},
                .work = is_packed ? PACKED_BYTES : POINT_BYTES};
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    added.work *= (double)problem->extents[a];
    int64_t points = 1;
    int64_t count = is_whole ? 1 : count_slices(problem, a, &points);
    if (count > added.slices.count) {
      added.slices = (slices){.is_packed = is_packed,
                              .axis = a,
                              .extent = problem->extents[a],
                              .points = points,
                              .count = count};
    }
  }
  added.slices.record = rlo__alloc_array(rlo__record_count(problem), sizeof(int64_t));
  RLO_TRY_MEMORY(added.slices.record);
  rlo__record_write(problem, added.slices.record);
  rlo_status status = add_part(mover, &added);
  if (status != RLO_OK) {
    rlo__free(added.slices.record);
  }
  return status;
}

/** A rlo__host_part_fn. */
static rlo_status check_part(void *payload, const rlo_problem *problem, bool is_plain) {
  rlo__host_mover *mover = payload;
  (void)is_plain;
  mover->is_beyond = mover->is_beyond || !is_within(problem);
  return RLO_OK;
}

/** A rlo__host_part_fn. */
static rlo_status take_part(void *payload, const rlo_problem *problem, bool is_plain) {
  rlo__host_mover *mover = payload;
  if (mover->is_beyond || !is_within(problem)) {
    mover->is_beyond = true;
    return RLO_OK;
  }
  if (!is_plain) {
    return add_slices(mover, problem, false, false);
  }
  part added = {.is_nest = true};
  rlo__host_nest_make(problem, mover->kernels, mover->cast, mover->is_past_caches, &added.nest);
  added.work = (double)added.nest.written_bytes + (double)added.nest.num_turns * (double)TURN_BYTES;
  return add_part(mover, &added);
}

static void drop_parts(rlo__host_mover *mover) {
  for (size_t n = 0; n < mover->num_parts; ++n) {
    rlo__free(mover->parts[n].slices.record);
  }
  mover->num_parts = 0;
  mover->work = 0;
}

/** Tells if the order of points matters, so that one share runs them all. */
static bool is_one_share(const rlo_problem *problem) {
  return problem->update == RLO_UPDATE_COMBINE &&
         (problem->arithmetic.is_sequential || rlo_problem_is_sum(problem));
}

/** Makes what becomes of the values of a problem that computes, if there is a fast way. */
static rlo_status make_cast(rlo__host_mover *mover, const rlo_problem *work) {
  if (work->update != RLO_UPDATE_COMBINE) {
    return RLO_OK;
  }
  rlo__host_cast *cast = rlo__alloc_unset(sizeof *cast);
  RLO_TRY_MEMORY(cast);
  if (rlo__host_cast_make(work, mover->kernels, cast)) {
    mover->cast = cast;
  } else {
    rlo__free(cast);
  }
  return RLO_OK;
}

/** Takes the canonical problem apart. What cannot be, the reference runs. */
static rlo_status prepare(rlo__host_mover *mover, rlo_problem *work) {
  if (is_one_share(work)) {
    mover->is_beyond = true;
    return RLO_OK;
  }
  RLO_TRY(rlo_problem_canonicalize(work, RLO_MAX_UNIT_BITS, NULL, NULL));
  if (rlo_problem_is_empty(work)) {
    return RLO_OK;
  }
  RLO_TRY(make_cast(mover, work));
  if (mover->cast != NULL || (work->update == RLO_UPDATE_STORE && work->unit_bits % 8 == 0)) {
    return rlo__host_peel(work, take_part, mover);
  }
  if (work->update == RLO_UPDATE_STORE && 8 % work->unit_bits == 0) {
    RLO_TRY(rlo__host_peel(work, check_part, mover));
    return add_slices(mover, work, false, true);
  }
  return take_part(mover, work, false);
}

static rlo_status create(rlo__host_mover *mover, const rlo_problem *problem) {
  rlo_problem *work = rlo__alloc(sizeof *work);
  RLO_TRY_MEMORY(work);
  *work = *problem;
  rlo_status status = prepare(mover, work);
  rlo__free(work);
  if (status == RLO_OUT_OF_MEMORY) {
    return status;
  }
  if (status == RLO_OK && !mover->is_beyond) {
    return RLO_OK;
  }
  drop_parts(mover);
  return add_slices(mover, problem, true, false);
}

rlo_status rlo__host_mover_create(const rlo_problem *problem, rlo__host_mover **out_mover) {
  RLO_TRY(rlo__problem_validate(problem));
  rlo__host_mover *mover = rlo__alloc(sizeof *mover);
  RLO_TRY_MEMORY(mover);
  mover->kernels = rlo__host_kernels_get();
  mover->is_past_caches = problem->dst_bytes >= rlo__thresholds.host_past_caches_bytes;
  mover->index_bytes = rlo_problem_loads(problem) ? problem->index_bytes : 0;
  mover->operand_length = operand_length(problem);
  rlo_status status = create(mover, problem);
  if (status != RLO_OK) {
    rlo__host_mover_release(mover);
    return status;
  }
  *out_mover = mover;
  return RLO_OK;
}

void rlo__host_mover_release(rlo__host_mover *mover) {
  if (mover == NULL) {
    return;
  }
  drop_parts(mover);
  rlo__free(mover->parts);
  rlo__free(mover->cast);
  rlo__free(mover);
}

/* ------------------------------------------------------------------- shares */

static int64_t num_turns(const part *p) {
  return p->is_nest ? p->nest.num_turns : p->slices.count;
}

/** Where a share begins in a part: its first turn. */
static int64_t first_turn(const rlo__host_mover *mover, const part *p, int32_t share,
                          int32_t num_shares) {
  const int64_t turns = num_turns(p);
  const double work = mover->work * share / num_shares - p->work_before;
  if (share == num_shares || work >= p->work) {
    return turns;
  }
  return work <= 0 ? 0 : rlo__min((int64_t)(work / p->work * (double)turns), turns);
}

/** A share that runs. */
typedef struct share_run {
  const rlo__host_mover *mover;
  rlo__host_memories memories;
  /** NULL until a nest runs. */
  rlo__host_workspace *workspace;
} share_run;

static rlo_status run_nest(share_run *s, const rlo__host_nest *nest, int64_t first, int64_t end) {
  if (s->workspace == NULL) {
    s->workspace = rlo__host_workspace_create();
  }
  RLO_TRY_MEMORY(s->workspace);
  rlo__host_nest_run(nest, s->mover->kernels, &s->memories, first, end, s->workspace);
  return RLO_OK;
}

/** A rlo__host_part_fn. */
static rlo_status run_part(void *payload, const rlo_problem *problem, bool is_plain) {
  share_run *s = payload;
  rlo__host_nest nest;
  if (!is_plain) {
    return rlo_problem_run_host_indexed(problem, s->memories.src, s->memories.operands,
                                        s->memories.dst);
  }
  rlo__host_nest_make(problem, s->mover->kernels, NULL, s->mover->is_past_caches, &nest);
  return run_nest(s, &nest, 0, nest.num_turns);
}

/** Runs the slices first <= n < end, of which there is one or more. */
static rlo_status run_slices(const slices *s, share_run *by, int64_t first, int64_t end) {
  rlo_problem *problem = rlo__alloc_unset(sizeof *problem);
  RLO_TRY_MEMORY(problem);
  rlo__record_read(s->record, problem);
  const int64_t begin = first * s->points;
  const int64_t stop = rlo__min(end * s->points, s->extent);
  rlo_status status = RLO_OK;
  if (end - first < s->count) {
    status = rlo__problem_restrict(problem, s->axis, begin, stop, problem);
  }
  if (status == RLO_OK) {
    status = s->is_packed ? rlo__host_peel(problem, run_part, by) : run_part(by, problem, false);
  }
  rlo__free(problem);
  return status;
}

rlo_status rlo__host_mover_run_share(const rlo__host_mover *mover, const void *src,
                                     const void *indices, void *dst, int32_t share,
                                     int32_t num_shares) {
  RLO_FAIL_IF(share < 0 || share >= num_shares, RLO_INVALID_ARGUMENT,
              "share %d of %d does not exist", (int)share, (int)num_shares);
  RLO_FAIL_IF(indices == NULL && mover->index_bytes > 0, RLO_INVALID_ARGUMENT,
              "the indices are NULL; %lld bytes are needed", (long long)mover->index_bytes);
  share_run s = {mover, {src, indices, mover->operand_length, dst}, NULL};
  rlo_status status = RLO_OK;
  /* The caller may round otherwise, or flush denormals. */
  fenv_t mode;
  if (mover->cast != NULL) {
    fegetenv(&mode);
    fesetenv(FE_DFL_ENV);
  }
  for (size_t n = 0; status == RLO_OK && n < mover->num_parts; ++n) {
    const part *p = &mover->parts[n];
    const int64_t first = first_turn(mover, p, share, num_shares);
    const int64_t end = first_turn(mover, p, share + 1, num_shares);
    if (first == end) {
      continue;
    }
    status =
        p->is_nest ? run_nest(&s, &p->nest, first, end) : run_slices(&p->slices, &s, first, end);
  }
  rlo__free(s.workspace);
  if (mover->cast != NULL) {
    fesetenv(&mode);
  }
  return status;
}

/* ------------------------------------------------------------------ threads */

/** A share that a thread runs. */
typedef struct job {
  rlo__host_share_fn run;
  const void *payload;
  int32_t share, num_shares;
  bool has_thread;
  rlo__thread thread;
  rlo_status status;
  /** Error records belong to threads. */
  char message[256];
} job;

static void run_job(void *payload) {
  job *j = payload;
  j->status = j->run(j->payload, j->share, j->num_shares);
  if (j->status != RLO_OK) {
    snprintf(j->message, sizeof j->message, "%s", rlo_error_last()->message);
  }
}

rlo_status rlo__host_run_shares(rlo__host_share_fn run, const void *payload, double work,
                                int32_t num_threads) {
  const double most = work / (double)rlo__thresholds.host_thread_bytes;
  int32_t threads = num_threads < MAX_THREADS ? num_threads : MAX_THREADS;
  threads = most < threads ? (int32_t)most : threads;
  if (threads <= 1) {
    return run(payload, 0, 1);
  }
  job *jobs = rlo__alloc_array((size_t)threads, sizeof *jobs);
  RLO_TRY_MEMORY(jobs);
  for (int32_t n = 0; n < threads; ++n) {
    jobs[n] = (job){.run = run, .payload = payload, .share = n, .num_shares = threads};
    jobs[n].has_thread = n > 0 && rlo__thread_start(run_job, &jobs[n], &jobs[n].thread) == RLO_OK;
  }
  for (int32_t n = 0; n < threads; ++n) {
    if (!jobs[n].has_thread) {
      run_job(&jobs[n]); /* the first, and those that got no thread */
    }
  }
  rlo_status status = RLO_OK;
  for (int32_t n = threads - 1; n >= 0; --n) {
    if (jobs[n].has_thread) {
      rlo__thread_join(&jobs[n].thread);
    }
    if (jobs[n].status != RLO_OK) {
      status = RLO_FAIL(jobs[n].status, "%s", jobs[n].message);
    }
  }
  rlo__free(jobs);
  return status;
}

/** A run of one mover. */
typedef struct run {
  const rlo__host_mover *mover;
  const void *src, *indices;
  void *dst;
} run;

/** A rlo__host_share_fn. */
static rlo_status run_share(const void *payload, int32_t share, int32_t num_shares) {
  const run *r = payload;
  return rlo__host_mover_run_share(r->mover, r->src, r->indices, r->dst, share, num_shares);
}

rlo_status rlo__host_mover_run(const rlo__host_mover *mover, const void *src, const void *indices,
                               void *dst, int32_t num_threads) {
  const run all = {mover, src, indices, dst};
  return rlo__host_run_shares(run_share, &all, mover->work, num_threads);
}

double rlo__host_mover_work(const rlo__host_mover *mover) {
  return mover->work;
}

static rlo_status check_memory(const rlo_problem *problem, const void *src, const void *dst) {
  RLO_REQUIRE_LIST(src, problem->src_bytes);
  RLO_REQUIRE_LIST(dst, problem->dst_bytes);
  return RLO_OK;
}

rlo_status rlo_run_host(const rlo_problem *problem, const void *src, const void *indices, void *dst,
                        int32_t num_threads) {
  RLO_REQUIRE(problem);
  RLO_FAIL_IF(num_threads < 1, RLO_INVALID_ARGUMENT, "'num_threads' is %d; at least 1",
              (int)num_threads);
  rlo__host_mover *mover;
  RLO_TRY(rlo__host_mover_create(problem, &mover));
  rlo_status status = RLO_OK;
  if (!rlo_problem_is_empty(problem)) {
    status = check_memory(problem, src, dst);
  }
  if (status == RLO_OK) {
    status = rlo__host_mover_run(mover, src, indices, dst, num_threads);
  }
  rlo__host_mover_release(mover);
  return status;
}
