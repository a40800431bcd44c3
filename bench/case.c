/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum {
  /** The remainder of an extent by this decides how it is moved. */
  GRAIN = 16,
  LEAST_EXTENT = 4,
  /** The size of most arrays at size factor 1. */
  FULL_ARRAY_BYTES = 200 << 20
};

bool bench_numbers_parse(const char *text, bench_numbers *out_numbers) {
  bench_numbers numbers = {0};
  for (const char *at = text;; ++at) {
    char *end = NULL;
    long long value = strtoll(at, &end, 10);
    if (end == at || numbers.count == RLO_MAX_RANK) {
      return bench_fail("'%s' is no list of at most %d numbers", text, (int)RLO_MAX_RANK);
    }
    numbers.values[numbers.count++] = value;
    at = end;
    if (*at != ',') {
      if (*at != '\0') {
        return bench_fail("'%s': a comma was expected before '%s'", text, at);
      }
      *out_numbers = numbers;
      return true;
    }
  }
}

/** About half of an extent. */
static int64_t halve(int64_t extent) {
  int64_t half = extent / 2;
  return extent >= 2 * GRAIN ? half - half % GRAIN + extent % GRAIN : extent - half;
}

/** About twice an extent, as aligned or odd as it is. */
static int64_t redouble(int64_t extent) {
  return 2 * extent - extent % GRAIN;
}

double bench_size_factor_beyond(int64_t cache_bytes) {
  double factor = 1.0;
  while (factor < (double)BENCH_MAX_SIZE_FACTOR &&
         factor * (double)FULL_ARRAY_BYTES < 4.0 * (double)cache_bytes) {
    factor *= 2.0;
  }
  return factor;
}

size_t bench_numbers_print(const bench_numbers *numbers, char *out_text, size_t capacity) {
  size_t length = 0;
  for (int32_t k = 0; k < numbers->count; ++k) {
    size_t used = length < capacity ? length : capacity;
    length += (size_t)snprintf(out_text + used, capacity - used, "%s%lld", k == 0 ? "" : ",",
                               (long long)numbers->values[k]);
  }
  return length;
}

static int64_t *find_largest(bench_numbers *dims) {
  int64_t *largest = &dims->values[0];
  for (int32_t k = 1; k < dims->count; ++k) {
    if (dims->values[k] > *largest) {
      largest = &dims->values[k];
    }
  }
  return largest;
}

void bench_dims_scale(bench_numbers *dims, double factor) {
  double elements = 1.0;
  for (int32_t k = 0; k < dims->count; ++k) {
    elements *= (double)dims->values[k];
  }
  const double target = elements * factor;
  /* Up by the largest extent alone: the others are what the case is about. */
  for (int64_t *largest = find_largest(dims);
       factor > 1.0 && elements * 1.5 < target && *largest >= GRAIN;) {
    int64_t grown = redouble(*largest);
    elements *= (double)grown / (double)*largest;
    *largest = grown;
  }
  while (elements > target) {
    int64_t *largest = find_largest(dims);
    int64_t cut = halve(*largest);
    if (cut == *largest || *largest <= LEAST_EXTENT) {
      return;
    }
    elements *= (double)cut / (double)*largest;
    *largest = cut;
  }
}

/** Widen the last two dimensions of a shape. */
static bool widen(rlo_shape *shape, const int32_t pad[2]) {
  if (pad[0] == 0 && pad[1] == 0) {
    return true;
  }
  rlo_layout *layout = &shape->layout;
  layout->has_padded_dimensions = true;
  for (int32_t k = 0; k < shape->rank; ++k) {
    int32_t from_last = shape->rank - 1 - k;
    int64_t multiple = from_last <= 1 ? pad[1 - from_last] : 0;
    layout->padded_dimensions[k] = shape->dims[k];
    if (multiple > 0) {
      layout->padded_dimensions[k] = (shape->dims[k] + multiple - 1) / multiple * multiple;
    }
  }
  return rlo_shape_validate(shape) == RLO_OK || bench_fail_last("padding");
}

static bool make_shape(const char *dtype, const bench_numbers *dims, const char *layout,
                       const int32_t pad[2], rlo_shape *out_shape) {
  char text[512];
  size_t length = (size_t)snprintf(text, sizeof text, "%s[", dtype);
  length += bench_numbers_print(dims, text + length, sizeof text - length);
  length +=
      (size_t)snprintf(text + length, sizeof text - length, "]%s", layout == NULL ? "" : layout);
  if (rlo_shape_parse(text, length, out_shape) != RLO_OK) {
    return bench_fail_last(text);
  }
  return widen(out_shape, pad);
}

/* Reads the computation, and the dimensions that sums leave. */
static bool read_computing(const bench_case_spec *spec, bench_case *out_case, bench_numbers *dims) {
  bench_numbers summed = {0};
  if (spec->sum != NULL && !bench_numbers_parse(spec->sum, &summed)) {
    return false;
  }
  static const rlo_combine_options plain = RLO_COMBINE_OPTIONS_INIT;
  out_case->options = plain;
  out_case->options.beta = spec->beta;
  if (spec->alpha < 0.0 || spec->alpha > 0.0) {
    out_case->options.alpha = spec->alpha;
  }
  out_case->is_computed = spec->sum != NULL || spec->dst_dtype != NULL || spec->alpha < 0.0 ||
                          spec->alpha > 0.0 || spec->beta < 0.0 || spec->beta > 0.0;
  out_case->num_summed = summed.count;
  bool is_summed[RLO_MAX_RANK] = {false};
  for (int32_t d = 0; d < summed.count; ++d) {
    if (summed.values[d] < 0 || summed.values[d] >= dims->count) {
      return bench_fail("'%s' names no dimensions to sum", spec->sum);
    }
    out_case->summed[d] = (int32_t)summed.values[d];
    is_summed[summed.values[d]] = true;
  }
  int32_t kept = 0;
  for (int32_t k = 0; k < dims->count; ++k) {
    if (!is_summed[k]) {
      dims->values[kept++] = dims->values[k];
    }
  }
  dims->count = kept;
  return true;
}

/** The destination of a chain, and how many operands it has. */
static bool read_chain(const bench_case_spec *spec, bench_case *out_case) {
  rlo_chain *chain = NULL;
  if (spec->chain(&out_case->src, &chain) != RLO_OK) {
    return bench_fail_last(spec->name);
  }
  out_case->chain = spec->chain;
  out_case->single = spec->single;
  out_case->dst = *rlo_chain_shape(chain);
  out_case->num_operands = rlo_chain_num_operands(chain);
  rlo_chain_release(chain);
  return out_case->num_operands <= BENCH_MAX_OPERANDS ||
         bench_fail("'%s' has %d operands, more than %d", spec->name, (int)out_case->num_operands,
                    (int)BENCH_MAX_OPERANDS);
}

static bool make_case(const bench_case_spec *spec, double size_factor, bench_case *out_case) {
  bench_numbers dims;
  bench_numbers order = {0};
  bench_numbers moved;
  if (!bench_numbers_parse(spec->dims, &dims) ||
      (spec->permutation != NULL && !bench_numbers_parse(spec->permutation, &order))) {
    return false;
  }
  bench_dims_scale(&dims, size_factor);
  moved.count = dims.count;
  for (int32_t k = 0; k < dims.count; ++k) {
    int64_t from = spec->permutation == NULL ? k : order.values[k];
    if (from < 0 || from >= dims.count ||
        (spec->permutation != NULL && order.count != dims.count)) {
      return bench_fail("'%s' is no permutation of '%s'", spec->permutation, spec->dims);
    }
    out_case->permutation[k] = (int32_t)from;
    moved.values[k] = dims.values[from];
  }
  snprintf(out_case->name, sizeof out_case->name, "%s", spec->name);
  const char *dst_dtype = spec->dst_dtype == NULL ? spec->dtype : spec->dst_dtype;
  out_case->num_operands = 1;
  if (spec->chain != NULL) {
    return make_shape(spec->dtype, &dims, spec->src_layout, spec->src_pad, &out_case->src) &&
           read_chain(spec, out_case);
  }
  return read_computing(spec, out_case, &moved) &&
         make_shape(spec->dtype, &dims, spec->src_layout, spec->src_pad, &out_case->src) &&
         make_shape(dst_dtype, &moved, spec->dst_layout, spec->dst_pad, &out_case->dst);
}

bool bench_case_add(bench_case_list *list, const bench_case_spec *spec) {
  if (list->count == list->capacity) {
    int32_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
    bench_case *items = realloc(list->items, (size_t)capacity * sizeof *list->items);
    if (items == NULL) {
      return bench_fail("out of memory for %d cases", (int)capacity);
    }
    list->items = items;
    list->capacity = capacity;
  }
  bench_case *added = &list->items[list->count];
  memset(added, 0, sizeof *added);
  if (!make_case(spec, list->size_factor, added)) {
    return bench_fail("case '%s' is not valid", spec->name);
  }
  list->count += 1;
  return true;
}

bool bench_case_add_all(bench_case_list *list, const bench_case_spec *specs, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (!bench_case_add(list, &specs[i])) {
      return false;
    }
  }
  return true;
}

static rlo_status lower_sum(const bench_case *item, rlo_problem *out_problem) {
  rlo_chain *chain = NULL;
  rlo_problem_list *problems = NULL;
  rlo_status status = rlo_chain_create(&item->src, &chain);
  if (status == RLO_OK) {
    status = rlo_chain_sum(chain, item->summed, item->num_summed, false);
  }
  if (status == RLO_OK) {
    status = rlo_chain_combine(chain, &item->dst, &item->options, &problems);
  }
  if (status == RLO_OK) {
    *out_problem = *rlo_problem_list_get(problems, 0);
  }
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
  return status;
}

static rlo_status lower_chain(const bench_case *item, rlo_problem *out_problems) {
  rlo_chain *chain = NULL;
  rlo_problem_list *problems = NULL;
  rlo_status status = item->chain(&item->src, &chain);
  if (status == RLO_OK) {
    status = rlo_chain_lower(chain, &item->dst, &problems);
  }
  for (int32_t n = 0; status == RLO_OK && n < item->num_operands; ++n) {
    if (rlo_problem_list_count(problems) != item->num_operands ||
        rlo_problem_list_operand(problems, n) != n) {
      bench_fail("'%s' is not one problem for each operand", item->name);
      status = RLO_UNSUPPORTED;
    } else {
      out_problems[n] = *rlo_problem_list_get(problems, n);
    }
  }
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
  return status;
}

bool bench_case_lower(const bench_case *item, rlo_problem *out_problems) {
  rlo_status status;
  if (item->chain != NULL) {
    status = lower_chain(item, out_problems);
  } else if (item->num_summed > 0) {
    status = lower_sum(item, out_problems);
  } else if (item->is_computed) {
    status = rlo_relayout_combine(&item->src, &item->dst, item->permutation, &item->options,
                                  out_problems);
  } else {
    status = rlo_relayout_lower(&item->src, &item->dst, item->permutation, out_problems);
  }
  return status == RLO_OK || bench_fail_last(item->name);
}

void bench_case_list_deinit(bench_case_list *list) {
  free(list->items);
  *list = (bench_case_list){.size_factor = list->size_factor};
}
