/* SPDX-License-Identifier: Apache-2.0 */
#include "support/device_table.h"

#include <check.h>
#include <stdio.h>

#include "support/permutation.h"
#include "support/shape_of.h"

// clang-format off
const test_pair test_pairs[] = {
    /* Scalars, nothing, one. */
    {"?[]", "?[]", "", true},
    {"?[0]", "?[0]", "", true},
    {"?[4,0,3]", "?[0,3,4]", "1,2,0", true},
    {"?[1,1,1]", "?[1,1,1]{0,1,2}", "", true},
    {"?[0]", "?[0]{0:pad(7)fill(one)}", "", true},
    /* Copies: tails of every kind. */
    {"?[1]", "?[1]", "", true},
    {"?[61]", "?[61]", "", true},
    {"?[64,100]", "?[64,100]", "", true},
    {"?[100003]", "?[100003]", "", false},
    {"?[7,33]{0,1}", "?[33,7]", "1,0", true},
    /* Planes to transpose: below, at and beyond a tile. */
    {"?[2,3]", "?[3,2]", "1,0", true},
    {"?[16,16]", "?[16,16]", "1,0", true},
    {"?[64,64]", "?[64,64]{0,1}", "", true},
    {"?[65,63]", "?[65,63]{0,1}", "", true},
    {"?[17,129]", "?[129,17]", "1,0", true},
    {"?[128,256]", "?[256,128]", "1,0", false},
    {"?[301,257]", "?[257,301]", "1,0", false},
    {"?[640,513]", "?[640,513]{0,1}", "", false},
    /* Rows kept, others moved. */
    {"?[5,7,40]", "?[7,5,40]", "1,0,2", true},
    {"?[6,5,64]", "?[5,6,64]", "1,0,2", true},
    {"?[9,11,130]", "?[11,9,130]", "1,0,2", false},
    {"?[3,4,5,33]", "?[5,4,3,33]", "2,1,0,3", true},
    /* A tiny extent on one side. */
    {"?[100,3]", "?[3,100]", "1,0", true},
    {"?[2,100]", "?[100,2]", "1,0", true},
    {"?[4,33,4]", "?[4,4,33]", "0,2,1", true},
    {"?[1000,16]", "?[16,1000]", "1,0", false},
    {"?[5,300,7]", "?[5,7,300]", "0,2,1", false},
    {"?[13,500]", "?[500,13]", "1,0", false},
    /* So many that a group moves several, and the last one fewer. */
    {"?[97,3,70]", "?[97,70,3]", "0,2,1", false},
    {"?[97,70,3]", "?[97,3,70]", "0,2,1", false},
    {"?[97,2,70]", "?[97,70,2]{2,1,0:pad(101,73,2)fill(one)}", "0,2,1", false},
    /* Batches, and every axis elsewhere. */
    {"?[3,20,30]", "?[3,30,20]", "0,2,1", true},
    {"?[10,12,14]", "?[14,12,10]", "2,1,0", true},
    {"?[4,5,6,7]", "?[7,5,4,6]", "3,1,0,2", true},
    {"?[2,3,4,5,6]", "?[6,2,5,3,4]", "4,0,3,1,2", true},
    {"?[2,2,2,2,2,2,2,2]", "?[2,2,2,2,2,2,2,2]", "7,5,3,1,6,4,2,0", true},
    {"?[33,2,65]", "?[65,2,33]", "2,1,0", false},
    /* Padding on the destination: filled, and left alone. */
    {"?[2,3]", "?[2,3]{0,1:pad(3,5)fill(zero)}", "", true},
    {"?[60,61]", "?[60,61]{1,0:pad(64,64)fill(one)}", "", true},
    {"?[60,61]", "?[60,61]{1,0:pad(64,64)}", "", true},
    {"?[60,61]", "?[60,61]{0,1:pad(64,72)fill(one)}", "", true},
    {"?[60,61]", "?[60,61]{0,1:pad(64,72)fill(unknown)}", "", true},
    {"?[5,6,7]", "?[7,5,6]{2,1,0:pad(8,8,8)fill(zero)}", "2,0,1", true},
    {"?[130,190]", "?[130,190]{0,1:pad(133,200)fill(one)}", "", false},
    {"?[2,2]", "?[2,2]{1,0:pad(40,70)fill(one)}", "", true},
    /* Padding on the source: never read. */
    {"?[60,61]{1,0:pad(64,64)}", "?[60,61]", "", true},
    {"?[60,61]{0,1:pad(64,72)}", "?[60,61]", "", true},
    {"?[5,6,7]{2,1,0:pad(8,8,8)}", "?[7,5,6]", "2,0,1", true},
    {"?[30,31]{0,1:pad(32,40)}", "?[30,31]{1,0:pad(33,47)fill(one)}", "", true},
    /* Tiles on the destination, divisible or not. */
    {"?[16,256]", "?[16,256]{1,0:T(8,128)}", "", true},
    {"?[20,300]", "?[20,300]{1,0:T(8,128)fill(zero)}", "", true},
    {"?[20,300]", "?[20,300]{1,0:T(8,128)}", "", true},
    {"?[300,20]", "?[20,300]{1,0:T(8,128)fill(one)}", "1,0", true},
    {"?[20,30]", "?[20,30]{1,0:T(8,8)(2,1)fill(zero)}", "", true},
    {"?[9,10]", "?[9,10]{1,0:T(4,4)(2,2)}", "", true},
    {"?[100]", "?[100]{0:T(16)fill(one)}", "", true},
    /* Tiles that do not divide each other, rows in one piece. */
    {"?[15,16]{1,0:T(5,8)}", "?[15,16]{1,0:T(3,8)}", "", true},
    {"?[15,48]{1,0:T(5,16)}", "?[15,48]{1,0:T(3,16)fill(one)}", "", true},
    {"?[4,10,66]{2,1,0:T(5,33)}", "?[4,10,66]{2,1,0:T(2,33)}", "", true},
    {"?[6,21,16]{2,1,0:T(7,8)}", "?[6,21,16]{2,1,0:T(3,8)}", "", true},
    {"?[14,80]{1,0:T(7,40)}", "?[14,80]{1,0:T(2,40)}", "", true},
    /* Tiles on the source. */
    {"?[16,256]{1,0:T(8,128)}", "?[16,256]", "", true},
    {"?[20,300]{1,0:T(8,128)}", "?[20,300]", "", true},
    {"?[20,300]{1,0:T(8,128)}", "?[300,20]", "1,0", true},
    {"?[20,30]{1,0:T(8,8)(2,1)}", "?[20,30]", "", true},
    {"?[3,20,30]{2,1,0:T(8,8)}", "?[30,3,20]", "2,0,1", true},
    /* Tiles on both: the same, nested, and those that do not divide. */
    {"?[24,40]{1,0:T(8,8)}", "?[24,40]{1,0:T(8,8)}", "", true},
    {"?[24,40]{1,0:T(8,8)}", "?[24,40]{1,0:T(4,16)fill(zero)}", "", true},
    {"?[20,30]{1,0:T(8,8)}", "?[20,30]{0,1:T(3,5)fill(one)}", "", true},
    {"?[40]{0:T(8)}", "?[40]{0:T(3)fill(zero)}", "", true},
    /* Combined dimensions and tails. */
    {"?[4,6,10]", "?[4,6,10]{2,1,0:T(*,8)fill(zero)}", "", true},
    {"?[5,7]", "?[5,7]{1,0:L(64)fill(one)}", "", true},
    /* Strided views: reversed, spread, broadcast. */
    {"?[10,12]{:strides(-12,1)offset(108)}", "?[10,12]", "", true},
    {"?[10,12]{:strides(12,-1)offset(11)}", "?[12,10]", "1,0", true},
    {"?[10,12]", "?[10,12]{:strides(40,3)offset(5)}", "", true},
    {"?[10,12]{:strides(0,1)}", "?[10,12]{0,1}", "", true},
    {"?[64,8]{:strides(8,1)}", "?[64,8]{:strides(-1,-64)offset(511)}", "", true},
};
// clang-format on

const int32_t test_num_pairs = (int32_t)(sizeof test_pairs / sizeof test_pairs[0]);

const char *const test_dtypes[5] = {"u8", "bf16", "f32", "f64", "c128"};

static rlo_shape shape_of(const char *text, const char *dtype) {
  char whole[256];
  ck_assert_int_eq(text[0], '?');
  (void)snprintf(whole, sizeof whole, "%s%s", dtype, text + 1);
  return test_shape_of(whole);
}

void test_pair_shapes(const test_pair *pair, const char *dtype, rlo_shape *out_src,
                      rlo_shape *out_dst, int32_t *out_permutation) {
  *out_src = shape_of(pair->src, dtype);
  *out_dst = shape_of(pair->dst, dtype);
  test_parse_permutation(pair->permutation, out_dst->rank, out_permutation);
}
