/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "plan/planner.h"
#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/plan_case.h"

/*
 * Plans problems for a made-up GPU and prints the launches, for programs that
 * know PTX. Each line of the standard input is
 *
 *     SOURCE DESTINATION HOW FAMILY
 *
 * with shapes as texts, a permutation, "-", "sum:DIMENSION" or
 * "add:PERMUTATION" (destination = 2 * source + 3 * destination), and a family
 * or "-"; each line of the output is a JSON object.
 */

enum { MAX_TEXT = 160, MAX_LINE = 512 };

static rlo_problem problem;
static rlo__launch launch;
static rlo__choice choice;

/* An H200, as far as plans depend on it. */
static rlo_device_info large_gpu(void) {
  rlo_device_info device = test_plan_gpu();
  device.compute_units = 132;
  device.global_memory_bytes = INT64_C(140) << 30;
  device.max_allocation_bytes = INT64_C(35) << 30;
  device.base_alignment_bytes = 512;
  device.cache_line_bytes = 128;
  device.max_parameter_bytes = 4352;
  return device;
}

/* Ends the program with the error of the library, unless all is well. */
static void expect_ok(rlo_status status, const char *what) {
  if (status != RLO_OK) {
    fprintf(stderr, "%s: %s\n", what, rlo_error_last()->message);
    exit(1);
  }
}

static rlo_shape parse(const char *text) {
  rlo_shape shape;
  expect_ok(rlo_shape_parse(text, strlen(text), &shape), text);
  return shape;
}

static void lower_sum(const char *src, int32_t dimension) {
  const rlo_shape shape = parse(src);
  rlo_chain *chain = NULL;
  rlo_problem_list *problems = NULL;
  expect_ok(rlo_chain_create(&shape, &chain), src);
  expect_ok(rlo_chain_sum(chain, &dimension, 1, false), src);
  expect_ok(rlo_chain_lower(chain, NULL, &problems), src);
  problem = *rlo_problem_list_get(problems, 0);
  rlo_problem_list_release(problems);
  rlo_chain_release(chain);
}

static void lower(const char *src, const char *dst, const char *how) {
  if (strncmp(how, "sum:", 4) == 0) {
    lower_sum(src, (int32_t)strtol(how + 4, NULL, 10));
    return;
  }
  const rlo_shape src_shape = parse(src);
  const rlo_shape dst_shape = parse(dst);
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  bool is_added = strncmp(how, "add:", 4) == 0;
  if (is_added) {
    options.alpha = 2.0;
    options.beta = 3.0;
    how += 4;
  }
  int32_t order[RLO_MAX_RANK];
  const char *rest = how;
  for (int32_t k = 0; *how != '-' && k < src_shape.rank; ++k) {
    char *end;
    order[k] = (int32_t)strtol(rest, &end, 10);
    rest = *end == ',' ? end + 1 : end;
  }
  const int32_t *given = *how == '-' ? NULL : order;
  expect_ok(is_added || src_shape.dtype != dst_shape.dtype
                ? rlo_relayout_combine(&src_shape, &dst_shape, given, &options, &problem)
                : rlo_relayout_lower(&src_shape, &dst_shape, given, &problem),
            src);
}

static double predicted(void) {
  for (int32_t n = 0; n < choice.num_candidates; ++n) {
    if (choice.candidates[n].family == choice.family->name) {
      return choice.candidates[n].predicted_fraction;
    }
  }
  return 0.0;
}

static void print_launch(const rlo__program_spec *spec) {
  printf(
      "{\"family\": \"%s\", \"parameters\": \"%s\", \"predicted\": %.3f, "
      "\"file\": \"%s\", \"kernel\": \"%s\", \"options\": \"%s\", "
      "\"groups\": %zu, \"items\": %zu, \"src_base\": %" PRId64 ", \"dst_base\": %" PRId64
      ", \"arguments\": [",
      choice.family->name, launch.parameters, predicted(), launch.kernel_file, spec->kernel_name,
      spec->options, launch.global_size[0] / launch.local_size[0], launch.local_size[0],
      launch.src_base_bytes, launch.dst_base_bytes);
  for (int32_t n = 0; n < launch.num_arguments; ++n) {
    const rlo__argument *argument = &launch.arguments[n];
    int32_t lanes = rlo__argument_lanes(argument->kind);
    int64_t bytes = rlo__argument_bytes(argument->kind);
    printf("%s[%d, %" PRId64, n == 0 ? "" : ", ", (int)argument->kind,
           lanes > 0 ? bytes / lanes : bytes);
    for (int32_t k = 0; k < lanes; ++k) {
      printf(", %" PRId64, launch.numbers[argument->first + k]);
    }
    printf("]");
  }
  printf("]}\n");
}

static void dump(const char *src, const char *dst, const char *how, const char *family) {
  const rlo_device_info device = large_gpu();
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = strcmp(family, "-") == 0 ? NULL : family;
  lower(src, dst, how);
  rlo__program_spec spec;
  expect_ok(test_plan_choose(&problem, &device, &options, 512, 512, &choice, &launch), src);
  expect_ok(rlo__codegen_program(&launch, &spec), src);
  print_launch(&spec);
  rlo__codegen_deinit(&spec);
}

int main(void) {
  char line[MAX_LINE];
  while (fgets(line, sizeof line, stdin) != NULL) {
    char src[MAX_TEXT];
    char dst[MAX_TEXT];
    char how[MAX_TEXT];
    char family[MAX_TEXT];
    if (sscanf(line, "%159s %159s %159s %159s", src, dst, how, family) != 4) {
      fprintf(stderr, "not four words: %s", line);
      return 1;
    }
    dump(src, dst, how, family);
  }
  return 0;
}
