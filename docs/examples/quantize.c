/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizes the rows of a matrix by blocks, transposes on the way, and brings it back. */
#include <relayout/quantize.h>
#include <relayout/relayout.h>
#include <stdio.h>

static int fail(void) {
  fprintf(stderr, "%s\n", rlo_error_last()->message);
  return 1;
}

int main(void) {
  const float x[2][4] = {{0.1F, -0.2F, 30, -40}, {1, 2, 3, 1000}};
  int8_t q[4][2];
  float back[2][4];
  rlo_problem *problem = NULL;
  rlo_shape matrix;
  rlo_shape columns;
  rlo_shape blocks;
  if (rlo_shape_parse("f32[2,4]", 8, &matrix) != RLO_OK ||
      rlo_shape_parse("s8[2,4]{0,1}", 12, &columns) != RLO_OK ||
      rlo_shape_parse("f32[2,2]", 8, &blocks) != RLO_OK || rlo_problem_create(&problem) != RLO_OK) {
    return fail();
  }

  // [snippet quantize/quantize]
  const float scales[2][2] = {{0.002F, 0.5F}, {0.02F, 10}};
  rlo_quantization by_blocks = RLO_QUANTIZATION_INIT;
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  by_blocks.scales = &blocks; /* f32[2,2] of a matrix f32[2,4]: blocks of 2 */
  if (rlo_combine_options_quantize(&options, RLO_DTYPE_S8, &by_blocks) != RLO_OK ||
      rlo_relayout_combine(&matrix, &columns, NULL, &options, problem) != RLO_OK ||
      rlo_run_host(problem, x, scales, q, 1) != RLO_OK) {
    return fail();
  }
  // [/snippet]

  rlo_combine_options inverse = RLO_COMBINE_OPTIONS_INIT;
  if (rlo_combine_options_dequantize(&inverse, &by_blocks) != RLO_OK ||
      rlo_relayout_combine(&columns, &matrix, NULL, &inverse, problem) != RLO_OK ||
      rlo_run_host(problem, q, scales, back, 1) != RLO_OK) {
    return fail();
  }
  rlo_problem_release(problem);
  for (int k = 0; k < 4; ++k) {
    printf("%4d %4d   %g %g\n", q[k][0], q[k][1], (double)back[0][k], (double)back[1][k]);
  }
  return 0;
}
