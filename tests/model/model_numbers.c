/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions, scaling, adding and sums, whose bytes a line has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"

#include "model_case.h"

/* The fields of a line. */
enum { SRC_TYPE = 1, DST_TYPE, DIMS, SUM, ALPHA, BETA, LOW, HIGH, IN_F64, SRC, DST, EXPECTED };

enum { MOST_BYTES = 1 << 16 };

static int32_t parse_numbers(const char *text, int64_t *out) {
  int32_t count = 0;
  for (char *end; strcmp(text, "-") != 0 && count < RLO_MAX_RANK; text = end + 1) {
    out[count++] = strtoll(text, &end, 10);
    if (*end != ',') {
      break;
    }
  }
  return count;
}

/* Bytes out of hexadecimal digits; returns how many. */
static size_t parse_bytes(const char *text, uint8_t *memory) {
  size_t bytes = strcmp(text, "-") == 0 ? 0 : strlen(text) / 2;
  for (size_t b = 0; b < bytes && b < MOST_BYTES; ++b) {
    char digits[3] = {text[2 * b], text[2 * b + 1], '\0'};
    memory[b] = (uint8_t)strtoul(digits, NULL, 16);
  }
  return bytes;
}

static rlo_combine_options read_options(char *const *fields) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  const double low = strtod(fields[LOW], NULL);
  options.alpha = strtod(fields[ALPHA], NULL);
  options.beta = strtod(fields[BETA], NULL);
  if (!isnan(low)) {
    options.num_steps = 1;
    options.steps[0] = (rlo_element_step){RLO_ELEMENT_CLAMP, {low, strtod(fields[HIGH], NULL)}};
  }
  if (strcmp(fields[IN_F64], "1") == 0) {
    options.compute_type = RLO_DTYPE_F64;
  }
  return options;
}

/* The problems of a line; NULL after a complaint. */
static rlo_problem_list *lower(char *const *fields) {
  rlo_dtype src_type;
  rlo_dtype dst_type;
  rlo_shape src;
  rlo_shape dst;
  int64_t dims[RLO_MAX_RANK];
  int64_t summed[RLO_MAX_RANK];
  int32_t sum_dims[RLO_MAX_RANK];
  rlo_chain *chain = NULL;
  rlo_problem_list *problems = NULL;
  const rlo_combine_options options = read_options(fields);
  const int32_t rank = parse_numbers(fields[DIMS], dims);
  const int32_t count = parse_numbers(fields[SUM], summed);
  for (int32_t k = 0; k < count; ++k) {
    sum_dims[k] = (int32_t)summed[k];
  }
  if (model_is_ok(rlo_dtype_from_name(fields[SRC_TYPE], &src_type)) &&
      model_is_ok(rlo_dtype_from_name(fields[DST_TYPE], &dst_type)) &&
      model_is_ok(rlo_shape_make(src_type, dims, rank, &src)) &&
      model_is_ok(rlo_chain_create(&src, &chain)) &&
      (count == 0 || model_is_ok(rlo_chain_sum(chain, sum_dims, count, false)))) {
    const rlo_shape *result = rlo_chain_shape(chain);
    (void)(model_is_ok(rlo_shape_make(dst_type, result->dims, result->rank, &dst)) &&
           model_is_ok(rlo_chain_combine(chain, &dst, &options, &problems)));
  }
  rlo_chain_release(chain);
  return problems;
}

bool model_run_numbers(char *fields[MODEL_MAX_FIELDS]) {
  static uint8_t src[MOST_BYTES];
  static uint8_t dst[MOST_BYTES];
  static uint8_t expected[MOST_BYTES];
  const void *operands[1] = {src};
  const size_t src_bytes = parse_bytes(fields[SRC], src);
  const size_t bytes = parse_bytes(fields[DST], dst);
  if (src_bytes > MOST_BYTES || bytes > MOST_BYTES ||
      parse_bytes(fields[EXPECTED], expected) != bytes) {
    return model_complain("the result has another size");
  }
  rlo_problem_list *problems = lower(fields);
  bool is_right =
      problems != NULL && model_is_ok(rlo_problem_list_run_host(problems, operands, dst));
  for (size_t b = 0; is_right && b < bytes; ++b) {
    if (dst[b] != expected[b]) {
      char what[80];
      (void)snprintf(what, sizeof what, "byte %zu of %zu is 0x%02x, not 0x%02x", b, bytes, dst[b],
                     expected[b]);
      is_right = model_complain(what);
    }
  }
  rlo_problem_list_release(problems);
  return is_right;
}
