/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "ir/form.h"
#include "plan/family.h"

/* Families gather of both classes: cl/gather.cl, which takes any problem. */

/* Units along a row that one work-item of a CPU moves, and how many a
 * work-group should come to: less, and handing out groups costs more than
 * their work. */
enum { CPU_SEGMENT_ELEMS = 1024, CPU_GROUP_ELEMS = 4096, CPU_MAX_LOCAL = 64 };

enum { GPU_LOCAL = 256 };

/* Work-items of a launch: the kernel loops beyond. Some drivers count them in
 * an int. */
#define MAX_WORK_ITEMS (INT64_C(1) << 30)

static bool is_applicable(const rlo_request *request, rlo__str *why) {
  (void)request;
  (void)why;
  return true;
}

/* |c|, and INT64_MAX where that does not fit. */
static int64_t magnitude(int64_t c) {
  if (c == INT64_MIN) {
    return INT64_MAX;
  }
  return c < 0 ? -c : c;
}

/* A bound for what a form and its coefficients can reach while its sum is
 * formed, in any order; false on overflow. */
static bool form_magnitude(const rlo_problem *problem,
                           const rlo_form *form,
                           const int64_t *term_magnitudes,
                           int32_t num_terms,
                           int64_t *out) {
  int64_t sum = magnitude(form->base);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (!rlo__mul_add(
            sum, magnitude(form->axis[a]), problem->extents[a], &sum)) {
      return false;
    }
  }
  for (int32_t t = 0; t < num_terms; ++t) {
    if (!rlo__mul_add(
            sum, magnitude(form->term[t]), term_magnitudes[t], &sum)) {
      return false;
    }
  }
  *out = sum;
  return true;
}

/* Whether int suffices for every form of the problem, in bytes where it is a
 * position. */
static bool fits_index32(const rlo_problem *problem) {
  int64_t unit_bytes = problem->unit_bits / 8;
  int64_t terms[RLO_MAX_TERMS];
  int64_t m;
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const rlo_term *term = &problem->terms[t];
    if (!form_magnitude(problem, &term->form, terms, t, &m) || m > INT32_MAX ||
        term->divisor > INT32_MAX) {
      return false;
    }
    terms[t] = m / term->divisor + 1;
  }
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    if (!form_magnitude(problem, &guard->form, terms, problem->num_terms, &m) ||
        m > INT32_MAX || guard->limit > INT32_MAX) {
      return false;
    }
  }
  return form_magnitude(
             problem, &problem->src, terms, problem->num_terms, &m) &&
         m <= INT32_MAX / unit_bytes &&
         form_magnitude(problem, &problem->dst, terms, 0, &m) &&
         m <= INT32_MAX / unit_bytes;
}

/* The shape of the work: how the box is cut and handed out. */
typedef struct cut {
  int64_t segment, row_segments, segments;
  int64_t local, items;
} cut;

static rlo_status cut_box(const rlo_problem *problem,
                          const rlo_device_info *device,
                          bool is_gpu,
                          cut *out) {
  int32_t last = problem->num_axes - 1;
  int64_t inner = last >= 0 ? problem->extents[last] : 1;
  int64_t limit = is_gpu ? 1 : CPU_SEGMENT_ELEMS;
  out->segment = inner < limit ? inner : limit;
  out->row_segments = rlo__ceil_div(inner, out->segment);
  out->segments = out->row_segments;
  for (int32_t a = 0; a < last; ++a) {
    if (!rlo__mul(out->segments, problem->extents[a], &out->segments)) {
      return RLO_FAIL(RLO_OVERFLOW,
                      "the points of a box of %d axes do not fit into 64 bits",
                      problem->num_axes);
    }
  }
  int64_t most = is_gpu ? GPU_LOCAL : CPU_MAX_LOCAL;
  if (device->max_work_group_items < most) {
    most = device->max_work_group_items;
  }
  out->local = 1;
  while (out->local * 2 <= most &&
         (is_gpu || out->local * out->segment < CPU_GROUP_ELEMS)) {
    out->local *= 2;
  }
  int64_t groups = rlo__ceil_div(out->segments, out->local);
  int64_t max_groups = MAX_WORK_ITEMS / out->local;
  out->items = (groups < max_groups ? groups : max_groups) * out->local;
  return RLO_OK;
}

/* The forms of a problem, end to end. */
typedef struct list {
  int32_t count;
  int64_t values[RLO_LAUNCH_MAX_NUMBERS];
} list;

static void put(list *to, int64_t value) {
  if (to->count < RLO_LAUNCH_MAX_NUMBERS) {
    to->values[to->count] = value;
  }
  ++to->count; /* too many are found when the list is handed over */
}

/* A problem without axes is run as one with an axis of extent 1. */
static void put_form(list *to, const rlo_problem *problem, const rlo_form *f) {
  put(to, f->base);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    put(to, f->axis[a]);
  }
  if (problem->num_axes == 0) {
    put(to, 0);
  }
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    put(to, f->term[t]);
  }
}

static rlo_status define_list(rlo_launch *launch,
                              const char *name,
                              list *values) {
  if (values->count > RLO_LAUNCH_MAX_NUMBERS) {
    return RLO_FAIL(RLO_INTERNAL,
                    "%s needs %d numbers, a launch holds %d",
                    name,
                    values->count,
                    RLO_LAUNCH_MAX_NUMBERS);
  }
  rlo_status status =
      rlo__launch_define_list(launch, name, values->values, values->count);
  values->count = 0;
  return status;
}

static int32_t put_guards(list *to,
                          const rlo_problem *problem,
                          rlo_guard_kind kind) {
  int32_t count = 0;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    if (guard->kind == kind) {
      put(to, guard->limit);
      put_form(to, problem, &guard->form);
      ++count;
    }
  }
  return count;
}

static rlo_status define_forms(const rlo_problem *problem, rlo_launch *launch) {
  list values;
  values.count = 0;
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    put(&values, problem->extents[a]);
  }
  if (problem->num_axes == 0) {
    put(&values, 1);
  }
  RLO_TRY(rlo__launch_define(launch, "RLO_NUM_AXES", values.count));
  RLO_TRY(define_list(launch, "RLO_EXTENTS", &values));

  RLO_TRY(rlo__launch_define(launch, "RLO_NUM_TERMS", problem->num_terms));
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    put(&values, problem->terms[t].divisor);
    put_form(&values, problem, &problem->terms[t].form);
  }
  if (problem->num_terms > 0) {
    RLO_TRY(define_list(launch, "RLO_TERMS", &values));
  }

  put_form(&values, problem, &problem->src);
  RLO_TRY(define_list(launch, "RLO_SRC", &values));
  put_form(&values, problem, &problem->dst);
  RLO_TRY(define_list(launch, "RLO_DST", &values));

  int32_t pad_guards = put_guards(&values, problem, RLO_GUARD_PAD);
  int32_t skip_guards = put_guards(&values, problem, RLO_GUARD_SKIP);
  RLO_TRY(rlo__launch_define(launch, "RLO_PAD_GUARDS", pad_guards));
  RLO_TRY(rlo__launch_define(launch, "RLO_SKIP_GUARDS", skip_guards));
  if (problem->num_guards > 0) {
    RLO_TRY(define_list(launch, "RLO_GUARDS", &values));
  }
  return RLO_OK;
}

static rlo_status add_arguments(const rlo_problem *problem,
                                rlo_launch *launch) {
  int64_t fill[2];
  memcpy(fill, problem->fill, sizeof fill);
  RLO_TRY(rlo__launch_argument(launch, RLO_ARGUMENT_SRC, NULL, 0));
  RLO_TRY(rlo__launch_argument(launch, RLO_ARGUMENT_SRC_OFFSET, NULL, 0));
  RLO_TRY(rlo__launch_argument(launch, RLO_ARGUMENT_DST, NULL, 0));
  RLO_TRY(rlo__launch_argument(launch, RLO_ARGUMENT_DST_OFFSET, NULL, 0));
  RLO_TRY(rlo__launch_argument(launch, RLO_ARGUMENT_LONG, &fill[0], 1));
  return rlo__launch_argument(launch, RLO_ARGUMENT_LONG, &fill[1], 1);
}

static rlo_status emit(const rlo_request *request,
                       bool is_gpu,
                       rlo_launch *launch) {
  const rlo_problem *problem = request->problem;
  cut c = {0, 0, 0, 0, 0};
  RLO_TRY(cut_box(problem, request->device, is_gpu, &c));
  bool is_index32 = fits_index32(problem) &&
                    c.segments <= INT32_MAX - CPU_SEGMENT_ELEMS &&
                    c.row_segments * c.segment <= INT32_MAX;
  launch->kernel_file = "gather";
  RLO_TRY(rlo__launch_define(launch, "RLO_UNIT_BYTES", problem->unit_bits / 8));
  RLO_TRY(rlo__launch_define(launch, "RLO_INDEX32", is_index32));
  RLO_TRY(rlo__launch_define(launch, "RLO_LOCAL", c.local));
  RLO_TRY(define_forms(problem, launch));
  RLO_TRY(rlo__launch_define(launch, "RLO_SEGMENT", c.segment));
  RLO_TRY(rlo__launch_define(launch, "RLO_ROW_SEGMENTS", c.row_segments));
  RLO_TRY(rlo__launch_define(launch, "RLO_SEGMENTS", c.segments));
  RLO_TRY(rlo__launch_define(launch, "RLO_LOOP", c.items < c.segments));
  RLO_TRY(add_arguments(problem, launch));
  launch->work_dim = 1;
  launch->global_size[0] = (size_t)c.items;
  launch->local_size[0] = (size_t)c.local;
  rlo__str words = rlo__str_over(launch->parameters, sizeof launch->parameters);
  rlo__str_printf(&words,
                  "segments of %lld, %lld to a group, units of %d bytes, "
                  "%d quotients, %d guards",
                  (long long)c.segment,
                  (long long)c.local,
                  problem->unit_bits / 8,
                  problem->num_terms,
                  problem->num_guards);
  return RLO_OK;
}

static rlo_status emit_cpu(const rlo_request *request, rlo_launch *launch) {
  return emit(request, false, launch);
}

static rlo_status emit_gpu(const rlo_request *request, rlo_launch *launch) {
  return emit(request, true, launch);
}

/* Units that lie one after the other in the source as in the destination. */
static bool is_streaming(const rlo_problem *problem) {
  int32_t last = problem->num_axes - 1;
  return last < 0 || (problem->src.axis[last] == 1 &&
                      problem->dst.axis[last] == 1 && problem->num_terms == 0);
}

static double predict_cpu(const rlo_request *request) {
  return is_streaming(request->problem) ? 0.4 : 0.05;
}

/* Not measured: reads that jump fetch a whole sector of 32 bytes each. */
static double predict_gpu(const rlo_request *request) {
  if (is_streaming(request->problem)) {
    return 0.5;
  }
  return 0.4 * request->problem->unit_bits / (32.0 * 8.0);
}

const rlo_family rlo__family_cpu_gather = {
    "gather", RLO_DEVICE_CLASS_CPU, is_applicable, predict_cpu, emit_cpu};

const rlo_family rlo__family_gpu_gather = {
    "gather", RLO_DEVICE_CLASS_GPU, is_applicable, predict_gpu, emit_gpu};
