/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/npy.h"
#include "support/random.h"

/* The first bytes of a file: magic, version, length, dictionary. Returns how
 * many there are. */
static size_t make_file(unsigned char *out,
                        unsigned major,
                        const char *dictionary) {
  size_t length = strlen(dictionary);
  size_t length_bytes = major == 1 ? 2 : 4;
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (unsigned char)major;
  out[7] = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    out[8 + i] = (unsigned char)(length >> (8 * i) & 0xff);
  }
  memcpy(out + 8 + length_bytes, dictionary, length);
  return 8 + length_bytes + length;
}

/* Parse a copy of the exact size, so that a sanitizer sees a byte too many. */
static rlo_status parse_bytes(const unsigned char *bytes,
                              size_t size_bytes,
                              int64_t file_bytes,
                              rlo_npy_header *out_header) {
  unsigned char *copy = malloc(size_bytes > 0 ? size_bytes : 1);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, bytes, size_bytes);
  rlo_status status = rlo_npy_parse(copy, size_bytes, file_bytes, out_header);
  free(copy);
  return status;
}

static rlo_status parse_dictionary(const char *dictionary,
                                   rlo_npy_header *out_header) {
  unsigned char bytes[4096];
  size_t size_bytes = make_file(bytes, 1, dictionary);
  return parse_bytes(bytes, size_bytes, -1, out_header);
}

/* What numpy.save writes. */
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
};

static bool is_host_big_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 0;
}

START_TEST(test_npy__reads_what_numpy_writes)
{
  for (unsigned major = 1; major <= 3; ++major) {
    unsigned char bytes[256];
    size_t size_bytes = make_file(bytes, major, headers[_i].dictionary);
    rlo_npy_header header;
    rlo_status status = parse_bytes(bytes, size_bytes, -1, &header);
    ck_assert_msg(status == RLO_OK, "%s", rlo_error_last()->message);

    rlo_layout layout = headers[_i].is_fortran
                            ? rlo_layout_column_major(headers[_i].rank)
                            : rlo_layout_row_major(headers[_i].rank);
    rlo_shape expected;
    ck_assert_int_eq(rlo_shape_make_with_layout(headers[_i].dtype,
                                                headers[_i].dims,
                                                headers[_i].rank,
                                                &layout,
                                                &expected),
                     RLO_OK);
    ck_assert(rlo_shape_equal(&header.shape, &expected));
    ck_assert_int_eq(header.data_offset_bytes, (int64_t)size_bytes);
    bool is_wide = rlo_dtype_storage_bits(headers[_i].dtype) > 8;
    ck_assert_int_eq(
        header.is_byte_swapped,
        is_wide && headers[_i].is_big_endian != is_host_big_endian());
  }
}

END_TEST

static const struct {
  const char *dictionary;
  rlo_status status;
  const char *message;
} refusals[] = {
    {"",
     RLO_PARSE,
     "byte 10 of the .npy file: expected '{', found the header's end"},
    {"[]", RLO_PARSE, "byte 10 of the .npy file: expected '{', found '['"},
    {"{}", RLO_PARSE, "the .npy header does not say its descr"},
    {"{'descr': '<f4'}",
     RLO_PARSE,
     "the .npy header does not say its fortran_order"},
    {"{'descr': '<f4', 'fortran_order': False}",
     RLO_PARSE,
     "the .npy header does not say its shape"},
    {"{'descr': '<f4', 'descr': '<f4'}",
     RLO_PARSE,
     "byte 27 of the .npy file: expected the keys descr, fortran_order and "
     "shape, each once, found 'descr'"},
    {"{'desc': '<f4'}",
     RLO_PARSE,
     "byte 11 of the .npy file: expected the keys descr, fortran_order and "
     "shape, each once, found 'desc'"},
    {"{descr: '<f4'}",
     RLO_PARSE,
     "byte 11 of the .npy file: expected a string, found 'd'"},
    {"{'descr' '<f4'}",
     RLO_PARSE,
     "byte 19 of the .npy file: expected ':', found '''"},
    {"{'descr': '<f4' 'shape': ()}",
     RLO_PARSE,
     "byte 26 of the .npy file: expected ',' or '}', found '''"},
    {"{'descr': '<f4',,}",
     RLO_PARSE,
     "byte 26 of the .npy file: expected a string, found ','"},
    {"{'descr': '<f4",
     RLO_PARSE,
     "byte 24 of the .npy file: expected a character of a plain string, found "
     "the header's end"},
    {"{'descr': '<f\\x34'}",
     RLO_PARSE,
     "byte 23 of the .npy file: expected a character of a plain string, found "
     "'\\'"},
    {"{'descr': \"<f4'}",
     RLO_PARSE,
     "byte 26 of the .npy file: expected a character of a plain string, found "
     "the header's end"},
    {"{'descr': '<f4', 'fortran_order': 0}",
     RLO_PARSE,
     "byte 44 of the .npy file: expected True or False, found '0'"},
    {"{'descr': '<f4', 'fortran_order': true}",
     RLO_PARSE,
     "byte 44 of the .npy file: expected True or False, found 't'"},
    {"{'shape': 3}",
     RLO_PARSE,
     "byte 20 of the .npy file: expected '(' of a shape, found '3'"},
    {"{'shape': (3)}",
     RLO_PARSE,
     "byte 22 of the .npy file: expected ',', found ')'"},
    {"{'shape': (3 4)}",
     RLO_PARSE,
     "byte 23 of the .npy file: expected ',', found '4'"},
    {"{'shape': (3, 4 5)}",
     RLO_PARSE,
     "byte 26 of the .npy file: expected ',' or ')', found '5'"},
    {"{'shape': (,)}",
     RLO_PARSE,
     "byte 21 of the .npy file: expected a dimension >= 0, found ','"},
    {"{'shape': (-1,)}",
     RLO_PARSE,
     "byte 21 of the .npy file: expected a dimension >= 0, found '-'"},
    {"{'shape': (1.5,)}",
     RLO_PARSE,
     "byte 22 of the .npy file: expected ',', found '.'"},
    {"{'shape': (2,621,)",
     RLO_PARSE,
     "byte 28 of the .npy file: expected ',' or '}', found the header's end"},
    {"{'shape': (03,)}",
     RLO_PARSE,
     "byte 21 of the .npy file: expected a dimension without leading zeros, "
     "found '0'"},
    {"{'shape': (99999999999999999999,)}",
     RLO_OVERFLOW,
     "byte 21 of the .npy file: the dimension 99999999999999999999 does not "
     "fit 64 bits"},
    {"{'shape': (9999999999999999999999999,)}",
     RLO_OVERFLOW,
     "byte 21 of the .npy file: the dimension 999999999999999999999999... does "
     "not fit 64 bits"},
    {"{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,1)}",
     RLO_UNSUPPORTED,
     "byte 85 of the .npy file: a rank above the limit of 32"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
     RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '|O' (objects, text, times, records) "
     "is not supported"},
    {"{'descr': '<U4'}",
     RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '<U4' (objects, text, times, records) "
     "is not supported"},
    {"{'descr': '<M8[ns]'}",
     RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '<M8[ns]' (objects, text, times, "
     "records) is not supported"},
    {"{'descr': '|V1'}",
     RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '|V1' (objects, text, times, records) "
     "is not supported"},
    {"{'descr': [('a', '<f4')]}",
     RLO_UNSUPPORTED,
     "byte 20 of the .npy file: structured types are not supported"},
    {"{'descr': '<f16'}",
     RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '<f16' is not supported"},
    {"{'descr': '<c32'}",
     RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '<c32' is not supported"},
    {"{'descr': '<i3'}",
     RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '<i3' is not supported"},
    {"{'descr': '<ixy'}",
     RLO_PARSE,
     "byte 20 of the .npy file: expected a byte order and a type like '<f4', "
     "found '<ixy'"},
    {"{'descr': '<i4294967300'}",
     RLO_PARSE,
     "byte 20 of the .npy file: expected a byte order and a type like '<f4', "
     "found '<i4294967300'"},
    {"{'descr': 'f4'}",
     RLO_PARSE,
     "byte 20 of the .npy file: expected a byte order and a type like '<f4', "
     "found 'f4'"},
    {"{'descr': ''}",
     RLO_PARSE,
     "byte 20 of the .npy file: expected a byte order and a type like '<f4', "
     "found ''"},
    {"{'descr': '<'}",
     RLO_PARSE,
     "byte 20 of the .npy file: expected a byte order and a type like '<f4', "
     "found '<'"},
    {"{'descr': '|f4'}",
     RLO_PARSE,
     "byte 20 of the .npy file: the type '|f4' has more than one byte and no "
     "byte order"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x",
     RLO_PARSE,
     "byte 68 of the .npy file: expected nothing but blanks after '}', found "
     "'x'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296"
     "), }",
     RLO_OVERFLOW,
     NULL},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693951"
     ",), }",
     RLO_OVERFLOW,
     NULL},
};

START_TEST(test_npy__refuses_with_the_place)
{
  rlo_npy_header header;
  rlo_npy_header before;
  memset(&header, 0x5a, sizeof header);
  before = header;

  rlo_status status = parse_dictionary(refusals[_i].dictionary, &header);
  ck_assert_msg(status == refusals[_i].status,
                "'%s' gives %s",
                refusals[_i].dictionary,
                rlo_status_name(status));
  if (refusals[_i].message != NULL) {
    ck_assert_str_eq(rlo_error_last()->message, refusals[_i].message);
  }
  ck_assert_mem_eq(&header, &before, sizeof header);
}

END_TEST

static const char plain[] =
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

START_TEST(test_npy__refuses_other_files)
{
  unsigned char bytes[128];
  size_t size_bytes = make_file(bytes, 1, plain);
  rlo_npy_header header;

  for (size_t i = 0; i < 6; ++i) {
    bytes[i] ^= 1;
    ck_assert_int_eq(parse_bytes(bytes, size_bytes, -1, &header), RLO_PARSE);
    ck_assert_int_eq(parse_bytes(bytes, i + 1, -1, &header), RLO_PARSE);
    bytes[i] ^= 1;
  }
  bytes[6] = 4;
  ck_assert_int_eq(parse_bytes(bytes, size_bytes, -1, &header), RLO_PARSE);
  ck_assert_str_eq(rlo_error_last()->message,
                   "version 4.0 of .npy is unknown; 1.0, 2.0 and 3.0 are read");
  bytes[6] = 0;
  ck_assert_int_eq(parse_bytes(bytes, size_bytes, -1, &header), RLO_PARSE);
  bytes[6] = 1;
  bytes[7] = 1;
  ck_assert_int_eq(parse_bytes(bytes, size_bytes, -1, &header), RLO_PARSE);
  ck_assert_int_eq(rlo_npy_parse(NULL, 10, -1, &header), RLO_INVALID_ARGUMENT);
}

END_TEST

START_TEST(test_npy__every_truncation_is_data_loss)
{
  for (unsigned major = 1; major <= 3; ++major) {
    unsigned char bytes[128];
    size_t size_bytes = make_file(bytes, major, plain);
    rlo_npy_header header;
    for (size_t size = 0; size < size_bytes; ++size) {
      ck_assert_int_eq(parse_bytes(bytes, size, -1, &header), RLO_DATA_LOSS);
    }
    ck_assert_int_eq(parse_bytes(bytes, size_bytes, -1, &header), RLO_OK);
  }
}

END_TEST

START_TEST(test_npy__a_short_file_may_not_ask_for_memory)
{
  /* Twelve bytes that promise a header of 4 GiB. */
  static const unsigned char bytes[] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0xff, 0xff, 0xff, 0xff};
  rlo_npy_header header;

  ck_assert_int_eq(parse_bytes(bytes, sizeof bytes, 12, &header),
                   RLO_UNSUPPORTED);
  ck_assert_str_eq(
      rlo_error_last()->message,
      "an .npy header of 4294967295 bytes is beyond the limit of 65536");
}

END_TEST

START_TEST(test_npy__checks_the_size_of_the_file)
{
  unsigned char bytes[128];
  int64_t header_bytes = (int64_t)make_file(bytes, 1, plain);
  rlo_npy_header header;

  ck_assert_int_eq(
      rlo_npy_parse(bytes, (size_t)header_bytes, header_bytes + 24, &header),
      RLO_OK);
  ck_assert_int_eq(
      rlo_npy_parse(bytes, (size_t)header_bytes, header_bytes + 23, &header),
      RLO_DATA_LOSS);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the .npy header promises 24 bytes of data at byte 70, but "
                   "the file has 93 bytes");
  ck_assert_int_eq(
      rlo_npy_parse(bytes, (size_t)header_bytes, header_bytes + 25, &header),
      RLO_DATA_LOSS);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the .npy file has 1 bytes after the 24 bytes of data at "
                   "byte 70");
  ck_assert_int_eq(
      rlo_npy_parse(bytes, (size_t)header_bytes, header_bytes - 1, &header),
      RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_npy_parse(bytes, (size_t)header_bytes, -2, &header),
                   RLO_INVALID_ARGUMENT);
}

END_TEST

static rlo_shape make(rlo_dtype dtype,
                      const int64_t *dims,
                      int32_t rank,
                      const rlo_layout *layout) {
  rlo_shape shape;
  ck_assert_int_eq(
      rlo_shape_make_with_layout(dtype, dims, rank, layout, &shape), RLO_OK);
  return shape;
}

START_TEST(test_npy__writes_what_numpy_writes)
{
  static const struct {
    rlo_dtype dtype;
    int32_t rank;
    int64_t dims[6];
    bool is_fortran;
    const char *dictionary;
  } rows[] = {
      {RLO_DTYPE_F32,
       0,
       {0},
       false,
       "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
      {RLO_DTYPE_U8,
       1,
       {3},
       false,
       "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }"},
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
      {RLO_DTYPE_F32,
       1,
       {2},
       true,
       "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"},
      {RLO_DTYPE_C128,
       3,
       {2, 0, 3},
       false,
       "{'descr': '<c16', 'fortran_order': False, 'shape': (2, 0, 3), }"},
      {RLO_DTYPE_PRED,
       1,
       {4},
       false,
       "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }"},
      {RLO_DTYPE_BF16,
       1,
       {4},
       false,
       "{'descr': '<u2', 'fortran_order': False, 'shape': (4,), }"},
      {RLO_DTYPE_F8E4M3FN,
       1,
       {4},
       false,
       "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }"},
      {RLO_DTYPE_S4,
       1,
       {4},
       false,
       "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }"},
  };

  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    rlo_layout layout = rows[i].is_fortran
                            ? rlo_layout_column_major(rows[i].rank)
                            : rlo_layout_row_major(rows[i].rank);
    rlo_shape shape = make(rows[i].dtype, rows[i].dims, rows[i].rank, &layout);
    unsigned char expected[128];
    char buffer[128];
    char dictionary[128];
    size_t bytes = 0;
    /* numpy.save pads these to 128 bytes, the newline included. */
    snprintf(dictionary, sizeof dictionary, "%-117s\n", rows[i].dictionary);
    ck_assert_uint_eq(make_file(expected, 1, dictionary), sizeof expected);
    ck_assert_int_eq(rlo_npy_format(&shape, buffer, sizeof buffer, &bytes),
                     RLO_OK);
    ck_assert_uint_eq(bytes, sizeof expected);
    ck_assert_mem_eq(buffer, expected, sizeof expected);
  }
}

END_TEST

START_TEST(test_npy__needs_room)
{
  static const int64_t dims[] = {2, 3};
  rlo_layout layout = rlo_layout_row_major(2);
  rlo_shape shape = make(RLO_DTYPE_F32, dims, 2, &layout);
  char buffer[127];
  size_t bytes = 0;

  memset(buffer, '#', sizeof buffer);
  ck_assert_int_eq(rlo_npy_format(&shape, buffer, sizeof buffer, &bytes),
                   RLO_OUT_OF_RANGE);
  ck_assert_uint_eq(bytes, 128);
  ck_assert_int_eq(buffer[0], '#');
  bytes = 0;
  ck_assert_int_eq(rlo_npy_format(&shape, NULL, 0, &bytes), RLO_OUT_OF_RANGE);
  ck_assert_uint_eq(bytes, 128);
}

END_TEST

START_TEST(test_npy__writes_no_other_layout)
{
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
    ck_assert_int_eq(rlo_npy_format(&shape, buffer, sizeof buffer, &bytes),
                     RLO_UNSUPPORTED);
  }
}

END_TEST

START_TEST(test_npy__reads_what_it_writes)
{
  static const rlo_dtype dtypes[] = {RLO_DTYPE_PRED,
                                     RLO_DTYPE_S8,
                                     RLO_DTYPE_S16,
                                     RLO_DTYPE_S32,
                                     RLO_DTYPE_S64,
                                     RLO_DTYPE_U8,
                                     RLO_DTYPE_U16,
                                     RLO_DTYPE_U32,
                                     RLO_DTYPE_U64,
                                     RLO_DTYPE_F16,
                                     RLO_DTYPE_F32,
                                     RLO_DTYPE_F64,
                                     RLO_DTYPE_C64,
                                     RLO_DTYPE_C128};
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
    rlo_layout layout = test_random_once_in(&random, 2)
                            ? rlo_layout_row_major(rank)
                            : rlo_layout_column_major(rank);
    rlo_dtype dtype = dtypes[test_random_in(&random, 0, 13)];
    rlo_shape shape = make(dtype, dims, rank, &layout);
    char buffer[1024];
    size_t bytes = 0;
    ck_assert_int_eq(rlo_npy_format(&shape, buffer, sizeof buffer, &bytes),
                     RLO_OK);
    ck_assert_uint_eq(bytes % 64, 0);
    rlo_shape_extent extent;
    ck_assert_int_eq(rlo_shape_measure(&shape, &extent), RLO_OK);
    rlo_npy_header header;
    rlo_status status =
        rlo_npy_parse(buffer, bytes, (int64_t)bytes + extent.bytes, &header);
    ck_assert_msg(status == RLO_OK, "%s", rlo_error_last()->message);
    ck_assert(rlo_shape_equal(&header.shape, &shape));
    ck_assert_int_eq(header.data_offset_bytes, (int64_t)bytes);
  }
}

END_TEST

START_TEST(test_npy__mutations_are_refused_or_valid)
{
  test_random random = test_random_begin("test_npy");
  int accepted = 0;

  for (int round = 0; round < 100000; ++round) {
    unsigned char bytes[128];
    size_t size_bytes = make_file(
        bytes,
        (unsigned)test_random_in(&random, 1, 3),
        headers[test_random_in(
                    &random,
                    0,
                    (int64_t)(sizeof headers / sizeof headers[0]) - 1)]
            .dictionary);
    for (int64_t n = test_random_in(&random, 1, 3); n > 0; --n) {
      size_t at = (size_t)test_random_in(&random, 0, (int64_t)size_bytes - 1);
      bytes[at] =
          test_random_once_in(&random, 4)
              ? (unsigned char)test_random_bits(&random)
              : bytes[test_random_in(&random, 8, (int64_t)size_bytes - 1)];
    }
    rlo_npy_header header;
    rlo_status status = parse_bytes(bytes, size_bytes, -1, &header);
    if (status == RLO_OK) {
      ++accepted;
      ck_assert_int_eq(rlo_shape_validate(&header.shape), RLO_OK);
      ck_assert_int_le(header.data_offset_bytes, (int64_t)size_bytes);
    } else {
      ck_assert(status == RLO_PARSE || status == RLO_DATA_LOSS ||
                status == RLO_UNSUPPORTED || status == RLO_OVERFLOW);
    }
  }
  ck_assert_int_gt(accepted, 0);
}

END_TEST

int main(void) {
  Suite *suite = suite_create("npy");
  TCase *tcase = tcase_create("npy");
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase,
                      test_npy__reads_what_numpy_writes,
                      0,
                      (int)(sizeof headers / sizeof headers[0]));
  tcase_add_loop_test(tcase,
                      test_npy__refuses_with_the_place,
                      0,
                      (int)(sizeof refusals / sizeof refusals[0]));
  tcase_add_test(tcase, test_npy__refuses_other_files);
  tcase_add_test(tcase, test_npy__every_truncation_is_data_loss);
  tcase_add_test(tcase, test_npy__a_short_file_may_not_ask_for_memory);
  tcase_add_test(tcase, test_npy__checks_the_size_of_the_file);
  tcase_add_test(tcase, test_npy__writes_what_numpy_writes);
  tcase_add_test(tcase, test_npy__needs_room);
  tcase_add_test(tcase, test_npy__writes_no_other_layout);
  tcase_add_test(tcase, test_npy__reads_what_it_writes);
  tcase_add_test(tcase, test_npy__mutations_are_refused_or_valid);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
