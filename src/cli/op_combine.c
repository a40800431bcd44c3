/* SPDX-License-Identifier: Apache-2.0 */
#include "op_combine.h"

#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"

#include "message.h"

/* By order, because compilers warn about == between floats. */
static bool is_equal(double a, double b) {
  return a <= b && a >= b;
}

bool rlo__op_factors_matter(const rlo__op_factors *factors) {
  return !is_equal(factors->alpha, 1.0) || !is_equal(factors->beta, 0.0);
}

int rlo__op_load_old(const rlo__op_factors *factors,
                     const char *path,
                     const rlo__array *output) {
  if (is_equal(factors->beta, 0.0)) {
    return RLO__EXIT_OK;
  }
  rlo__array old;
  int code = rlo__array_load(path, &output->shape, &old);
  if (code == RLO__EXIT_OK) {
    memcpy(output->data, old.data, output->bytes);
  }
  rlo__array_deinit(&old);
  return code;
}

static rlo_status combine(const rlo__op_factors *factors,
                          rlo_tensor *result,
                          const rlo__array *output,
                          rlo_problem *problem,
                          void *memory) {
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  options.alpha = factors->alpha;
  options.beta = factors->beta;
  rlo_status status = rlo_tensor_read(result, memory, rlo_tensor_bytes(result));
  if (status == RLO_OK) {
    status = rlo_relayout_combine(
        rlo_tensor_shape(result), &output->shape, NULL, &options, problem);
  }
  return status == RLO_OK ? rlo_problem_run_host(problem, memory, output->data)
                          : status;
}

rlo_status rlo__op_combine(const rlo__op_factors *factors,
                           rlo_tensor *result,
                           const rlo__array *output) {
  size_t bytes = (size_t)rlo_tensor_bytes(result);
  rlo_problem *problem = calloc(1, sizeof(*problem));
  void *memory = malloc(bytes + 1);
  rlo_status status =
      problem == NULL || memory == NULL
          ? rlo_error_set(RLO_OUT_OF_MEMORY,
                          "cannot get %zu bytes of memory for a result",
                          bytes)
          : combine(factors, result, output, problem, memory);
  free(memory);
  free(problem);
  return status;
}
