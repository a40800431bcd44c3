/* SPDX-License-Identifier: Apache-2.0 */

/* The transposes and reshapes that a bitcast is made of, and the layout that
 * makes a reshape a bitcast. */

#include "relayout/xla/bitcast.h"
#include "support/shape_of.h"
#include "support/suite.h"

static const struct {
  const char *src, *dst;
  bool is_found;
  int32_t permutation[5];
} deduced[] = {
    {"f32[5,3]{1,0}", "f32[3,5]{0,1}", true, {1, 0}},
    {"f32[5,3]{1,0}", "f32[3,5]{1,0}", false, {0}},
    {"f32[3,7,6,4]{3,2,1,0}", "f32[3,6,4,7]{2,1,3,0}", true, {0, 2, 3, 1}},
    {"f32[4,4]{1,0}", "f32[4,4]{0,1}", true, {1, 0}},
    {"f32[4,4]{1,0}", "f32[4,4]{1,0}", true, {0, 1}},
    {"f32[1,4,1,5]", "f32[5,1,4,1]{0,3,2,1}", true, {3, 0, 1, 2}},
    {"f32[16,256]{1,0:T(8,128)}", "f32[256,16]{0,1:T(8,128)}", true, {1, 0}},
    {"f32[16,256]{1,0:T(8,128)}", "f32[256,16]{0,1}", false, {0}},
    {"f32[10,100]{1,0:T(*,128)}", "f32[100,10]{0,1:T(*,128)}", true, {1, 0}},
    {"f32[5]", "f32[5,1]", false, {0}},
    {"f32[0,3]", "f32[3,0]", true, {1, 0}},
    {"f32[0,3]", "f32[3,3]", false, {0}},
    {"f32[]", "f32[]", true, {0}},
};

RLO_TABLE_TEST(test_bitcast__deduces_transposes, deduced) {
  rlo_shape src = test_shape_of(deduced[_i].src);
  rlo_shape dst = test_shape_of(deduced[_i].dst);
  int32_t permutation[RLO_MAX_RANK];
  bool is_found;
  ck_assert_int_eq(rlo_shape_deduce_transpose_for_bitcast(&src, &dst, 0, &is_found, permutation),
                   RLO_OK);
  ck_assert_int_eq(is_found, deduced[_i].is_found);
  for (int32_t k = 0; is_found && k < src.rank; ++k) {
    ck_assert_int_eq(permutation[k], deduced[_i].permutation[k]);
  }
  bool is_either;
  ck_assert_int_eq(rlo_shape_is_reshape_or_transpose_bitcast(&src, &dst, 0, &is_either), RLO_OK);
  bool is_reshape;
  ck_assert_int_eq(rlo_shape_reshape_is_bitcast(&src, &dst, 0, &is_reshape), RLO_OK);
  ck_assert_int_eq(is_either, is_found || is_reshape);
}

static const struct {
  const char *src, *dst;
  rlo_bitcast_kind kind;
  int32_t transpose1[4];
  const char *reshape;
  int32_t transpose2[4];
} decompositions[] = {
    {"f32[1,16,17,3]", "f32[16,51]", RLO_BITCAST_KIND_RESHAPE, {0}, NULL, {0}},
    {"f32[17,3,1,16]{1,0,3,2}", "f32[51,16]{0,1}", RLO_BITCAST_KIND_RESHAPE, {0}, NULL, {0}},
    {"f32[3,7,6,4]", "f32[3,6,4,7]{2,1,3,0}", RLO_BITCAST_KIND_TRANSPOSE, {0, 2, 3, 1}, NULL, {0}},
    {"f32[16,17,3]", "f32[51,16]{0,1}", RLO_BITCAST_KIND_TRT, {0, 1, 2}, "f32[16,51]", {1, 0}},
    {"f32[16,17,3,7]",
     "f32[7,16,51]{0,2,1}",
     RLO_BITCAST_KIND_TRT,
     {0, 1, 2, 3},
     "f32[16,51,7]",
     {2, 0, 1}},
    {"f32[16,3,17]{1,2,0}",
     "f32[51,16]{1,0}",
     RLO_BITCAST_KIND_TRT,
     {0, 2, 1},
     "f32[51,16]",
     {0, 1}},
    {"f32[16,3,17]{1,2,0}",
     "f32[16,51]{0,1}",
     RLO_BITCAST_KIND_TRT,
     {0, 2, 1},
     "f32[51,16]",
     {1, 0}},
    /* XLA refuses different element sizes. */
    {"s4[4,2]{1,0:E(4)}", "s8[4]", RLO_BITCAST_KIND_RESHAPE, {0}, NULL, {0}},
    {"s4[4,2,3]{1,0,2:E(4)}", "s8[4,3]{0,1}", RLO_BITCAST_KIND_TRT, {2, 0, 1}, "s8[3,4]", {1, 0}},
    /* Tiles on both sides. */
    {"f32[16,256]{1,0:T(8,128)}",
     "f32[256,2,8]{0,2,1:T(8,128)}",
     RLO_BITCAST_KIND_TRT,
     {0, 1},
     "f32[2,8,256]{2,1,0:T(8,128)}",
     {2, 0, 1}},
    {"f32[16,256]{1,0:T(8,128)}", "f32[4096]", RLO_BITCAST_KIND_NONE, {0}, NULL, {0}},
    {"f32[0]", "f32[0]", RLO_BITCAST_KIND_NONE, {0}, NULL, {0}},
    {"f32[6]", "f32[5]", RLO_BITCAST_KIND_NONE, {0}, NULL, {0}},
};

RLO_TABLE_TEST(test_bitcast__decomposes, decompositions) {
  rlo_shape src = test_shape_of(decompositions[_i].src);
  rlo_shape dst = test_shape_of(decompositions[_i].dst);
  rlo_bitcast_decomposition d;
  ck_assert_int_eq(rlo_bitcast_decompose(&src, &dst, 0, &d), RLO_OK);
  ck_assert_msg(d.kind == decompositions[_i].kind, "%s to %s is %d", decompositions[_i].src,
                decompositions[_i].dst, (int)d.kind);
  if (d.kind == RLO_BITCAST_KIND_TRANSPOSE || d.kind == RLO_BITCAST_KIND_TRT) {
    ck_assert_mem_eq(d.transpose1, decompositions[_i].transpose1,
                     (size_t)src.rank * sizeof(int32_t));
  }
  if (d.kind == RLO_BITCAST_KIND_TRT) {
    rlo_shape reshape = test_shape_of(decompositions[_i].reshape);
    ck_assert(rlo_shape_equal(&d.reshape_shape, &reshape));
    ck_assert_mem_eq(d.transpose2, decompositions[_i].transpose2,
                     (size_t)dst.rank * sizeof(int32_t));
  }
}

static const struct {
  const char *src;
  int64_t dims[6];
  int32_t rank;
  const char *result;
} alignments[] = {
    {"f32[3,8,5,7,11]{3,2,1,0,4}", {4, 3, 2, 7, 5, 11}, 6, "f32[4,3,2,7,5,11]{4,3,2,1,0,5}"},
    {"f32[3,8,5,7,11]{3,2,1,0,4}", {3, 2, 4, 35, 11}, 5, "f32[3,2,4,35,11]{3,2,1,0,4}"},
    {"f32[3,8,5,7,11]{3,2,1,0,4}", {4, 3, 2, 5, 77}, 5, NULL},
    {"f32[3,8,5,7,11]{2,3,1,0,4}", {4, 3, 2, 7, 5, 11}, 6, NULL},
    {"f32[6,4]{0,1}", {2, 1, 3, 4}, 4, "f32[2,1,3,4]{2,0,3,1}"},
    /* Beyond XLA: rows that are padded, views, tiles that change nothing. */
    {"f32[3,8]{1,0:pad(3,10)}", {3, 2, 4}, 3, "f32[3,2,4]{:strides(10,4,1)}"},
    {"f32[2,6]{:strides(-6,1)offset(6)}", {2, 2, 3}, 3, "f32[2,2,3]{:strides(-6,3,1)offset(6)}"},
    {"f32[2,6]{:strides(6,1)}", {12}, 1, "f32[12]"},
    {"f32[8,128]{1,0:T(8,128)}", {1024}, 1, "f32[1024]"},
    {"f32[16,256]{1,0:T(8,128)}", {4096}, 1, NULL},
    {"f32[16,256]{1,0:T(8,128)}", {2, 8, 2, 128}, 4, "f32[2,8,2,128]{3,1,2,0}"},
    {"s4[4,6]{1,0:E(4)S(3)}", {24}, 1, "s4[24]{0:E(4)S(3)}"},
    {"f32[]", {1, 1}, 2, "f32[1,1]"},
    {"f32[0,5]{0,1}", {5, 0}, 2, "f32[5,0]"},
};

RLO_TABLE_TEST(test_bitcast__aligns_layouts, alignments) {
  rlo_shape src = test_shape_of(alignments[_i].src);
  rlo_shape found;
  bool is_found;
  ck_assert_int_eq(
      rlo_shape_align_layout(&src, alignments[_i].dims, alignments[_i].rank, &is_found, &found),
      RLO_OK);
  ck_assert_int_eq(is_found, alignments[_i].result != NULL);
  if (is_found) {
    rlo_shape expected = test_shape_of(alignments[_i].result);
    ck_assert_msg(rlo_shape_equal(&found, &expected), "%s", test_text_of(&found));
  }
}

RLO_TEST(test_bitcast__align_needs_the_same_elements) {
  rlo_shape src = test_shape_of("f32[6]");
  rlo_shape found;
  bool is_found;
  ck_assert_int_eq(rlo_shape_align_layout(&src, (int64_t[]){5}, 1, &is_found, &found),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_shape_align_layout(&src, (int64_t[]){-6}, 1, &is_found, &found),
                   RLO_INVALID_ARGUMENT);
}
