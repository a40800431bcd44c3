/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "relayout/npy.h"
#include "relayout/text.h"
#include "support/npy_bytes.h"
#include "support/random.h"
#include "support/suite.h"

/* Headers that numpy.save writes. */
static const struct {
  const char *dictionary;
  rlo_dtype dtype;
  int32_t rank;
  int64_t dims[3];
  bool is_fortran;
  bool is_big_endian;
} headers[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
     RLO_DTYPE_F32,
     0,
     {0},
     false,
     false},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }   \n",
     RLO_DTYPE_F32,
     1,
     {3},
     false,
     false},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
     RLO_DTYPE_F32,
     2,
     {2, 3},
     false,
     false},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n",
     RLO_DTYPE_F32,
     2,
     {2, 3},
     true,
     false},
    {"{'descr': '<c16', 'fortran_order': False, 'shape': (2, 0, 3), }\n",
     RLO_DTYPE_C128,
     3,
     {2, 0, 3},
     false,
     false},
    {"{'descr': '>i8', 'fortran_order': False, 'shape': (4,), }\n",
     RLO_DTYPE_S64,
     1,
     {4},
     false,
     true},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }\n",
     RLO_DTYPE_PRED,
     1,
     {4},
     false,
     false},
    {"{'descr': '|i1', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_S8,
     1,
     {4},
     false,
     false},
    {"{'descr': '<i2', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_S16,
     1,
     {4},
     false,
     false},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_S32,
     1,
     {4},
     false,
     false},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_U8,
     1,
     {4},
     false,
     false},
    {"{'descr': '<u2', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_U16,
     1,
     {4},
     false,
     false},
    {"{'descr': '>u4', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_U32,
     1,
     {4},
     false,
     true},
    {"{'descr': '<u8', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_U64,
     1,
     {4},
     false,
     false},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_F16,
     1,
     {4},
     false,
     false},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_F64,
     1,
     {4},
     false,
     false},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_C64,
     1,
     {4},
     false,
     false},
    /* Other writers. */
    {"{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":True}",
     RLO_DTYPE_F32,
     2,
     {2, 3},
     true,
     false},
    {" { 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , 'descr' : '<f4' } ",
     RLO_DTYPE_F32,
     2,
     {2, 3},
     false,
     false},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
     RLO_DTYPE_F32,
     2,
     {2, 3},
     false,
     false},
    {"{'descr': '>u1', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_U8,
     1,
     {4},
     false,
     false},
    /* float8_e5m2 of ml_dtypes. */
    {"{'descr': '<f1', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_F8E5M2,
     1,
     {4},
     false,
     false},
    /* NumPy's other spellings. */
    {"{'descr': 'float64', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_F64,
     1,
     {4},
     false,
     false},
    {"{'descr': 'f8', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_F64,
     1,
     {4},
     false,
     false},
    {"{'descr': '|f8', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_F64,
     1,
     {4},
     false,
     false},
    {"{'descr': 'u8', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_U64,
     1,
     {4},
     false,
     false},
    {"{'descr': '>l', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_S64,
     1,
     {4},
     false,
     true},
    {"{'descr': 'D', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_C128,
     1,
     {4},
     false,
     false},
    {"{'descr': '?', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_PRED,
     1,
     {4},
     false,
     false},
    {"{'descr': 'bfloat16', 'fortran_order': False, 'shape': (4,), }",
     RLO_DTYPE_BF16,
     1,
     {4},
     false,
     false},
};

static bool is_host_big_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 0;
}

RLO_TIMEOUT(120);

RLO_TABLE_TEST(test_npy__reads_what_numpy_writes, headers) {
  for (unsigned major = 1; major <= 3; ++major) {
    unsigned char bytes[256];
    size_t size_bytes = test_npy_make(bytes, major, headers[_i].dictionary);
    rlo_npy_header header = RLO_NPY_HEADER_INIT;
    rlo_status status = test_npy_parse(bytes, size_bytes, -1, &header);
    ck_assert_msg(status == RLO_OK, "%s", rlo_error_last()->message);

    rlo_layout layout = headers[_i].is_fortran ? rlo_layout_column_major(headers[_i].rank)
                                               : rlo_layout_row_major(headers[_i].rank);
    rlo_shape expected;
    ck_assert_int_eq(rlo_shape_make_with_layout(headers[_i].dtype, headers[_i].dims,
                                                headers[_i].rank, &layout, &expected),
                     RLO_OK);
    ck_assert(rlo_shape_equal(&header.shape, &expected));
    ck_assert_int_eq(header.data_offset_bytes, (int64_t)size_bytes);
    bool is_wide = rlo_dtype_storage_bits(headers[_i].dtype) > 8;
    ck_assert(!header.is_type_unknown);
    ck_assert_int_eq(header.is_byte_swapped,
                     is_wide && headers[_i].is_big_endian != is_host_big_endian());
  }
}

/* The types that ml_dtypes writes for bfloat16, float8_e4m3fn, int4 and
 * complex32; texts, times, records. Each has a shape of integers as wide. */
RLO_TEST(test_npy__reads_elements_of_unknown_type) {
  static const struct {
    const char *descr, *name, *shape, *fortran_shape;
    bool is_byte_swapped;
  } cases[] = {
      {"'<V2'", "<V2", "u16[2,3]{1,0}", "u16[2,3]{0,1}", false},
      {"'|V2'", "|V2", "u16[2,3]{1,0}", "u16[2,3]{0,1}", false},
      {"'<V1'", "<V1", "u8[2,3]{1,0}", "u8[2,3]{0,1}", false},
      {"'|V1'", "|V1", "u8[2,3]{1,0}", "u8[2,3]{0,1}", false},
      {"'<W4'", "<W4", "u32[2,3]{1,0}", "u32[2,3]{0,1}", false},
      {"'<f16'", "<f16", "u8[2,3,16]{2,1,0}", "u8[2,3,16]{2,0,1}", false},
      {"'<M8[ns]'", "<M8[ns]", "u64[2,3]{1,0}", "u64[2,3]{0,1}", false},
      {"'>m8'", ">m8", "u64[2,3]{1,0}", "u64[2,3]{0,1}", true},
      {"'|S5'", "|S5", "u8[2,3,5]{2,1,0}", "u8[2,3,5]{2,0,1}", false},
      {"'|S8'", "|S8", "u64[2,3]{1,0}", "u64[2,3]{0,1}", false},
      {"'>U2'", ">U2", "u32[2,3,2]{2,1,0}", "u32[2,3,2]{2,0,1}", true},
      {"'<U1'", "<U1", "u32[2,3]{1,0}", "u32[2,3]{0,1}", false},
      {"'|V12'", "|V12", "u8[2,3,12]{2,1,0}", "u8[2,3,12]{2,0,1}", false},
      {"[('x', '<f4'), ('s', 'S3'), ('t', [('u', '>i2', (2, 2)), ('', '|V1')], (3,)), ]", "|V34",
       "u8[2,3,34]{2,1,0}", "u8[2,3,34]{2,0,1}", false},
      {"[('a', '<u8')]", "|V8", "u64[2,3]{1,0}", "u64[2,3]{0,1}", false},
  };

  for (size_t n = 0; n < 2 * sizeof cases / sizeof cases[0]; ++n) {
    char text[256];
    unsigned char bytes[300];
    const bool is_fortran = n % 2 != 0;
    rlo_npy_header header = RLO_NPY_HEADER_INIT;
    snprintf(text, sizeof text, "{'descr': %s, 'fortran_order': %s, 'shape': (2, 3), }",
             cases[n / 2].descr, is_fortran ? "True" : "False");
    size_t size_bytes = test_npy_make(bytes, 1, text);
    ck_assert_msg(test_npy_parse(bytes, size_bytes, -1, &header) == RLO_OK, "%s: %s", text,
                  rlo_error_last()->message);
    ck_assert(header.is_type_unknown);
    ck_assert(header.is_byte_swapped == cases[n / 2].is_byte_swapped);
    ck_assert_str_eq(header.type_name, cases[n / 2].name);
    rlo_shape_format(&header.shape, text, sizeof text);
    ck_assert_str_eq(text, is_fortran ? cases[n / 2].fortran_shape : cases[n / 2].shape);
  }
}

static rlo_shape make(rlo_dtype dtype, const int64_t *dims, int32_t rank,
                      const rlo_layout *layout) {
  rlo_shape shape;
  ck_assert_int_eq(rlo_shape_make_with_layout(dtype, dims, rank, layout, &shape), RLO_OK);
  return shape;
}

RLO_TEST(test_npy__writes_what_numpy_writes) {
  static const struct {
    rlo_dtype dtype;
    int32_t rank;
    int64_t dims[6];
    bool is_fortran;
    const char *dictionary;
  } rows[] = {
      {RLO_DTYPE_F32, 0, {0}, false, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
      {RLO_DTYPE_U8, 1, {3}, false, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }"},
      {RLO_DTYPE_F32,
       2,
       {2, 3},
       false,
       "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"},
      {RLO_DTYPE_F32,
       2,
       {2, 3},
       true,
       "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }"},
      {RLO_DTYPE_F32, 1, {2}, true, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"},
      {RLO_DTYPE_C128,
       3,
       {2, 0, 3},
       false,
       "{'descr': '<c16', 'fortran_order': False, 'shape': (2, 0, 3), }"},
      {RLO_DTYPE_PRED, 1, {4}, false, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }"},
      {RLO_DTYPE_BF16, 1, {4}, false, "{'descr': '<u2', 'fortran_order': False, 'shape': (4,), }"},
      {RLO_DTYPE_F8E4M3FN,
       1,
       {4},
       false,
       "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }"},
      {RLO_DTYPE_S4, 1, {4}, false, "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }"},
  };

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    rlo_layout layout = rows[i].is_fortran ? rlo_layout_column_major(rows[i].rank)
                                           : rlo_layout_row_major(rows[i].rank);
    rlo_shape shape = make(rows[i].dtype, rows[i].dims, rows[i].rank, &layout);
    unsigned char expected[128];
    char buffer[128];
    char dictionary[128];
    size_t bytes = 0;
    /* numpy.save pads these to 128 bytes, the newline included. */
    snprintf(dictionary, sizeof dictionary, "%-117s\n", rows[i].dictionary);
    ck_assert_uint_eq(test_npy_make(expected, 1, dictionary), sizeof expected);
    ck_assert_int_eq(rlo_npy_format(&shape, buffer, sizeof buffer, &bytes), RLO_OK);
    ck_assert_uint_eq(bytes, sizeof expected);
    ck_assert_mem_eq(buffer, expected, sizeof expected);
  }
}

RLO_TEST(test_npy__needs_room) {
  static const int64_t dims[] = {2, 3};
  rlo_layout layout = rlo_layout_row_major(2);
  rlo_shape shape = make(RLO_DTYPE_F32, dims, 2, &layout);
  char buffer[127];
  size_t bytes = 0;

  memset(buffer, '#', sizeof buffer);
  ck_assert_int_eq(rlo_npy_format(&shape, buffer, sizeof buffer, &bytes), RLO_OUT_OF_RANGE);
  ck_assert_uint_eq(bytes, 128);
  ck_assert_int_eq(buffer[0], '#');
  bytes = 0;
  ck_assert_int_eq(rlo_npy_format(&shape, NULL, 0, &bytes), RLO_OUT_OF_RANGE);
  ck_assert_uint_eq(bytes, 128);
}

RLO_TEST(test_npy__writes_no_other_layout) {
  static const int64_t dims[] = {2, 3, 4};
  static const int64_t tile[] = {2};
  rlo_layout layouts[5];
  char buffer[256];
  size_t bytes;

  for (int i = 0; i < 5; ++i) {
    layouts[i] = rlo_layout_row_major(3);
  }
  layouts[0].minor_to_major[0] = 1;
  layouts[0].minor_to_major[1] = 2;
  layouts[1].has_padded_dimensions = true;
  memcpy(layouts[1].padded_dimensions, dims, sizeof dims);
  ck_assert_int_eq(rlo_layout_add_tile(&layouts[2], tile, 1), RLO_OK);
  layouts[3].element_size_bits = 4;
  layouts[4].kind = RLO_LAYOUT_STRIDED;
  for (int i = 0; i < 5; ++i) {
    rlo_shape shape = make(RLO_DTYPE_S4, dims, 3, &layouts[i]);
    ck_assert_int_eq(rlo_npy_format(&shape, buffer, sizeof buffer, &bytes), RLO_UNSUPPORTED);
  }
}

RLO_TEST(test_npy__reads_what_it_writes) {
  static const rlo_dtype dtypes[] = {RLO_DTYPE_PRED, RLO_DTYPE_S8,  RLO_DTYPE_S16, RLO_DTYPE_S32,
                                     RLO_DTYPE_S64,  RLO_DTYPE_U8,  RLO_DTYPE_U16, RLO_DTYPE_U32,
                                     RLO_DTYPE_U64,  RLO_DTYPE_F16, RLO_DTYPE_F32, RLO_DTYPE_F64,
                                     RLO_DTYPE_C64,  RLO_DTYPE_C128};
  test_random random = test_random_begin("test_npy");

  /* Digits are digits, whatever the locale groups. */
  if (setlocale(LC_ALL, "en_US.UTF-8") == NULL) {
    setlocale(LC_ALL, "");
  }
  for (int round = 0; round < 5000; ++round) {
    int64_t dims[RLO_MAX_RANK];
    int32_t rank = (int32_t)test_random_in(&random, 0, RLO_MAX_RANK);
    for (int32_t k = 0; k < rank; ++k) {
      dims[k] = test_random_in(&random, 1, 2);
    }
    if (rank > 0 && test_random_once_in(&random, 3)) {
      dims[rank - 1] = test_random_in(&random, 0, INT64_C(1) << 20);
    }
    if (rank > 0 && test_random_once_in(&random, 5)) {
      for (int32_t k = 1; k < rank; ++k) {
        dims[k] = INT64_MAX;
      }
      dims[0] = 0;
    }
    rlo_layout layout = test_random_once_in(&random, 2) ? rlo_layout_row_major(rank)
                                                        : rlo_layout_column_major(rank);
    rlo_dtype dtype = dtypes[test_random_in(&random, 0, 13)];
    rlo_shape shape = make(dtype, dims, rank, &layout);
    char buffer[1024];
    size_t bytes = 0;
    ck_assert_int_eq(rlo_npy_format(&shape, buffer, sizeof buffer, &bytes), RLO_OK);
    ck_assert_uint_eq(bytes % 64, 0);
    rlo_shape_extent extent;
    ck_assert_int_eq(rlo_shape_measure(&shape, &extent), RLO_OK);
    rlo_npy_header header = RLO_NPY_HEADER_INIT;
    rlo_status status = rlo_npy_parse(buffer, bytes, (int64_t)bytes + extent.bytes, &header);
    ck_assert_msg(status == RLO_OK, "%s", rlo_error_last()->message);
    ck_assert(rlo_shape_equal(&header.shape, &shape));
    ck_assert_int_eq(header.data_offset_bytes, (int64_t)bytes);
  }
}

RLO_TEST(test_npy__mutations_are_refused_or_valid) {
  test_random random = test_random_begin("test_npy");
  int accepted = 0;

  for (int round = 0; round < 100000; ++round) {
    unsigned char bytes[128];
    size_t size_bytes = test_npy_make(
        bytes, (unsigned)test_random_in(&random, 1, 3),
        headers[test_random_in(&random, 0, (int64_t)(sizeof headers / sizeof headers[0]) - 1)]
            .dictionary);
    for (int64_t n = test_random_in(&random, 1, 3); n > 0; --n) {
      size_t at = (size_t)test_random_in(&random, 0, (int64_t)size_bytes - 1);
      bytes[at] = test_random_once_in(&random, 4)
                      ? (unsigned char)test_random_bits(&random)
                      : bytes[test_random_in(&random, 8, (int64_t)size_bytes - 1)];
    }
    rlo_npy_header header = RLO_NPY_HEADER_INIT;
    rlo_status status = test_npy_parse(bytes, size_bytes, -1, &header);
    if (status == RLO_OK) {
      ++accepted;
      ck_assert_int_eq(rlo_shape_validate(&header.shape), RLO_OK);
      ck_assert_int_le(header.data_offset_bytes, (int64_t)size_bytes);
    } else {
      ck_assert(status == RLO_PARSE || status == RLO_DATA_LOSS || status == RLO_UNSUPPORTED ||
                status == RLO_OVERFLOW);
    }
  }
  ck_assert_int_gt(accepted, 0);
}
