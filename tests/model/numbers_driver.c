/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the cases of generate_numbers.py on the host and compares the bytes:
 *
 *   numbers_driver FILE
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/status.h"

#include "model_case.h"

enum { MAX_SHOWN_FAILURES = 20 };

/* The fields of a line. */
typedef enum word {
  WORD_ID,
  WORD_SRC_TYPE,
  WORD_DST_TYPE,
  WORD_DIMS,
  WORD_SUM,
  WORD_ALPHA,
  WORD_BETA,
  WORD_LOW,
  WORD_HIGH,
  WORD_IN_F64,
  WORD_SRC,
  WORD_DST,
  WORD_EXPECTED,
  NUM_WORDS
} word;

typedef struct driver {
  char *words[MODEL_MAX_FIELDS];
  rlo_chain *chain;
  rlo_problem_list *problems;
  uint8_t *src, *dst, *expected;
  size_t dst_bytes;
} driver;

static int32_t parse_numbers(const char *text, int64_t *out) {
  int32_t count = 0;
  if (strcmp(text, "-") == 0) {
    return 0;
  }
  for (char *end; count < RLO_MAX_RANK; text = end + 1) {
    out[count++] = strtoll(text, &end, 10);
    if (*end != ',') {
      break;
    }
  }
  return count;
}

/* Bytes out of hexadecimal digits; the caller's. */
static uint8_t *parse_bytes(const char *text, size_t *out_bytes) {
  size_t bytes = strcmp(text, "-") == 0 ? 0 : strlen(text) / 2;
  uint8_t *memory = calloc(bytes + 1, 1);
  for (size_t b = 0; memory != NULL && b < bytes; ++b) {
    char digits[3] = {text[2 * b], text[2 * b + 1], '\0'};
    memory[b] = (uint8_t)strtoul(digits, NULL, 16);
  }
  *out_bytes = bytes;
  return memory;
}

static rlo_status lower(driver *d) {
  rlo_dtype src_type;
  rlo_dtype dst_type;
  int64_t dims[RLO_MAX_RANK];
  int64_t summed[RLO_MAX_RANK];
  int32_t sum_dims[RLO_MAX_RANK];
  rlo_shape src;
  rlo_shape dst;
  rlo_status status = rlo_dtype_from_name(d->words[WORD_SRC_TYPE], &src_type);
  if (status == RLO_OK) {
    status = rlo_dtype_from_name(d->words[WORD_DST_TYPE], &dst_type);
  }
  if (status != RLO_OK) {
    return status;
  }
  int32_t rank = parse_numbers(d->words[WORD_DIMS], dims);
  int32_t count = parse_numbers(d->words[WORD_SUM], summed);
  for (int32_t k = 0; k < count; ++k) {
    sum_dims[k] = (int32_t)summed[k];
  }
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = strtod(d->words[WORD_ALPHA], NULL);
  options.beta = strtod(d->words[WORD_BETA], NULL);
  const double low = strtod(d->words[WORD_LOW], NULL);
  if (!isnan(low)) {
    options.num_steps = 1;
    options.steps[0] = (rlo_element_step){
        RLO_ELEMENT_CLAMP, {low, strtod(d->words[WORD_HIGH], NULL)}};
  }
  if (strcmp(d->words[WORD_IN_F64], "1") == 0) {
    options.compute_type = RLO_DTYPE_F64;
  }
  status = rlo_shape_make(src_type, dims, rank, &src);
  if (status == RLO_OK) {
    status = rlo_chain_create(&src, &d->chain);
  }
  if (status == RLO_OK && count > 0) {
    status = rlo_chain_sum(d->chain, sum_dims, count, false);
  }
  if (status == RLO_OK) {
    const rlo_shape *result = rlo_chain_shape(d->chain);
    status = rlo_shape_make(dst_type, result->dims, result->rank, &dst);
  }
  return status == RLO_OK
             ? rlo_chain_combine(d->chain, &dst, &options, &d->problems)
             : status;
}

static bool run(driver *d, char *out_reason, size_t capacity) {
  size_t src_bytes;
  size_t expected_bytes;
  d->src = parse_bytes(d->words[WORD_SRC], &src_bytes);
  d->dst = parse_bytes(d->words[WORD_DST], &d->dst_bytes);
  d->expected = parse_bytes(d->words[WORD_EXPECTED], &expected_bytes);
  rlo_status status = lower(d);
  if (status == RLO_OK) {
    const void *operands[1] = {d->src};
    status = rlo_problem_list_run_host(d->problems, operands, d->dst);
  }
  if (status != RLO_OK) {
    snprintf(out_reason, capacity, "%s", rlo_error_last()->message);
    return false;
  }
  for (size_t b = 0; b < d->dst_bytes; ++b) {
    if (d->dst[b] != d->expected[b]) {
      snprintf(out_reason,
               capacity,
               "byte %zu of %zu is 0x%02x, not 0x%02x",
               b,
               d->dst_bytes,
               d->dst[b],
               d->expected[b]);
      return false;
    }
  }
  return expected_bytes == d->dst_bytes;
}

static bool run_case(char *fields[MODEL_MAX_FIELDS]) {
  driver d = {0};
  char reason[512] = "the result has another size";
  memcpy(d.words, fields, sizeof d.words);
  bool is_right = run(&d, reason, sizeof reason);
  static int32_t num_shown;
  if (!is_right && num_shown++ < MAX_SHOWN_FAILURES) {
    printf("case %s: %s to %s of [%s], sum of %s, alpha %s, beta %s: %s\n",
           d.words[WORD_ID],
           d.words[WORD_SRC_TYPE],
           d.words[WORD_DST_TYPE],
           d.words[WORD_DIMS],
           d.words[WORD_SUM],
           d.words[WORD_ALPHA],
           d.words[WORD_BETA],
           reason);
  }
  rlo_problem_list_release(d.problems);
  rlo_chain_release(d.chain);
  free(d.src);
  free(d.dst);
  free(d.expected);
  return is_right;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: numbers_driver FILE\n");
    return 2;
  }
  model_file file;
  if (!model_file_open(&file, argv[1])) {
    return 2;
  }
  int64_t passed = 0;
  int64_t failed = 0;
  char *fields[MODEL_MAX_FIELDS] = {NULL};
  int num_fields;
  while ((num_fields = model_file_next(&file, fields)) == NUM_WORDS) {
    bool is_right = run_case(fields);
    passed += is_right;
    failed += !is_right;
  }
  printf("seed %" PRId64 ": %" PRId64 " passed, %" PRId64 " failed\n",
         file.seed,
         passed,
         failed);
  model_file_close(&file);
  return num_fields != 0 || failed != 0 || passed == 0;
}
