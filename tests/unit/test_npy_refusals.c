/* SPDX-License-Identifier: Apache-2.0 */

/* rlo_npy_parse refuses headers with these sentences. */

#include <string.h>

#include "relayout/npy.h"
#include "support/npy_bytes.h"
#include "support/suite.h"

static rlo_status parse_dictionary(const char *dictionary, rlo_npy_header *out_header) {
  unsigned char bytes[4096];
  size_t size_bytes = test_npy_make(bytes, 1, dictionary);
  return test_npy_parse(bytes, size_bytes, -1, out_header);
}

static const struct {
  const char *dictionary;
  rlo_status status;
  const char *message;
} refusals[] = {
    {"", RLO_PARSE, "byte 10 of the .npy file: expected '{', found the header's end"},
    {"[]", RLO_PARSE, "byte 10 of the .npy file: expected '{', found '['"},
    {"{}", RLO_PARSE, "the .npy header does not say its descr"},
    {"{'descr': '<f4'}", RLO_PARSE, "the .npy header does not say its fortran_order"},
    {"{'descr': '<f4', 'fortran_order': False}", RLO_PARSE,
     "the .npy header does not say its shape"},
    {"{'descr': '<f4', 'descr': '<f4'}", RLO_PARSE,
     "byte 27 of the .npy file: expected the keys descr, fortran_order and "
     "shape, each once, found 'descr'"},
    {"{'desc': '<f4'}", RLO_PARSE,
     "byte 11 of the .npy file: expected the keys descr, fortran_order and "
     "shape, each once, found 'desc'"},
    {"{descr: '<f4'}", RLO_PARSE, "byte 11 of the .npy file: expected a string, found 'd'"},
    {"{'descr' '<f4'}", RLO_PARSE, "byte 19 of the .npy file: expected ':', found '''"},
    {"{'descr': '<f4' 'shape': ()}", RLO_PARSE,
     "byte 26 of the .npy file: expected ',' or '}', found '''"},
    {"{'descr': '<f4',,}", RLO_PARSE, "byte 26 of the .npy file: expected a string, found ','"},
    {"{'descr': '<f4", RLO_PARSE,
     "byte 24 of the .npy file: expected a character of a plain string, found "
     "the header's end"},
    {"{'descr': '<f\\x34'}", RLO_PARSE,
     "byte 23 of the .npy file: expected a character of a plain string, found "
     "'\\'"},
    {"{'descr': \"<f4'}", RLO_PARSE,
     "byte 26 of the .npy file: expected a character of a plain string, found "
     "the header's end"},
    {"{'descr': '<f4', 'fortran_order': 0}", RLO_PARSE,
     "byte 44 of the .npy file: expected True or False, found '0'"},
    {"{'descr': '<f4', 'fortran_order': true}", RLO_PARSE,
     "byte 44 of the .npy file: expected True or False, found 't'"},
    {"{'shape': 3}", RLO_PARSE, "byte 20 of the .npy file: expected '(' of a shape, found '3'"},
    {"{'shape': (3)}", RLO_PARSE, "byte 22 of the .npy file: expected ',', found ')'"},
    {"{'shape': (3 4)}", RLO_PARSE, "byte 23 of the .npy file: expected ',', found '4'"},
    {"{'shape': (3, 4 5)}", RLO_PARSE, "byte 26 of the .npy file: expected ',' or ')', found '5'"},
    {"{'shape': (,)}", RLO_PARSE, "byte 21 of the .npy file: expected a dimension >= 0, found ','"},
    {"{'shape': (-1,)}", RLO_PARSE,
     "byte 21 of the .npy file: expected a dimension >= 0, found '-'"},
    {"{'shape': (1.5,)}", RLO_PARSE, "byte 22 of the .npy file: expected ',', found '.'"},
    {"{'shape': (2,621,)", RLO_PARSE,
     "byte 28 of the .npy file: expected ',' or '}', found the header's end"},
    {"{'shape': (03,)}", RLO_PARSE,
     "byte 21 of the .npy file: expected a dimension without leading zeros, "
     "found '0'"},
    {"{'shape': (99999999999999999999,)}", RLO_OVERFLOW,
     "byte 21 of the .npy file: the dimension 99999999999999999999 does not "
     "fit 64 bits"},
    {"{'shape': (9999999999999999999999999,)}", RLO_OVERFLOW,
     "byte 21 of the .npy file: the dimension 999999999999999999999999... does "
     "not fit 64 bits"},
    {"{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,1)}",
     RLO_UNSUPPORTED, "byte 85 of the .npy file: a rank above the limit of 32"},
    {"{'descr': '|O'}", RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '|O' is not supported"},
    {"{'descr': 'O'}", RLO_UNSUPPORTED, "byte 20 of the .npy file: the type 'O' is not supported"},
    {"{'descr': '>V2'}", RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '>V2' is not supported"},
    {"{'descr': '>W4'}", RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '>W4' is not supported"},
    {"{'descr': '>f16'}", RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '>f16' is not supported"},
    {"{'descr': '<i3'}", RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '<i3' is not supported"},
    {"{'descr': '<b2'}", RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '<b2' is not supported"},
    {"{'descr': '<S0'}", RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '<S0' is not supported"},
    {"{'descr': '<f0'}", RLO_UNSUPPORTED,
     "byte 20 of the .npy file: the type '<f0' is not supported"},
    {"{'descr': '<ixy'}", RLO_PARSE,
     "byte 20 of the .npy file: expected a type like '<f4' or 'float32', found '<ixy'"},
    {"{'descr': '<i4294967300'}", RLO_PARSE,
     "byte 20 of the .npy file: expected a type like '<f4' or 'float32', found '<i4294967300'"},
    {"{'descr': ''}", RLO_PARSE,
     "byte 20 of the .npy file: expected a type like '<f4' or 'float32', found ''"},
    {"{'descr': '<'}", RLO_PARSE,
     "byte 20 of the .npy file: expected a type like '<f4' or 'float32', found '<'"},
    {"{'descr': '<M8ns'}", RLO_PARSE,
     "byte 20 of the .npy file: expected a type like '<f4' or 'float32', found '<M8ns'"},
    {"{'descr': '<f4[s]'}", RLO_PARSE,
     "byte 20 of the .npy file: expected a type like '<f4' or 'float32', found '<f4[s]'"},
    {"{'descr': 'x4 '}", RLO_PARSE,
     "byte 20 of the .npy file: expected a type like '<f4' or 'float32', found 'x4 '"},
    {"{'descr': []}", RLO_UNSUPPORTED, "a type of no bytes in the .npy file"},
    {"{'descr': [('a', '<f4')}", RLO_PARSE,
     "byte 33 of the .npy file: expected the end of a field, found '}'"},
    {"{'descr': ['<f4']}", RLO_PARSE,
     "byte 21 of the .npy file: expected '(' of a field, found '''"},
    {"{'descr': [('a' '<f4')]}", RLO_PARSE,
     "byte 26 of the .npy file: expected ',' and a type, found '''"},
    {"{'descr': [('a', '|O')]}", RLO_UNSUPPORTED,
     "byte 27 of the .npy file: the type '|O' is not supported"},
    {"{'descr': [('a', '<f4', 3)]}", RLO_PARSE,
     "byte 34 of the .npy file: expected '(' of a shape, found '3'"},
    {"{'descr': [('a', '|S1', (3506804644257309694,))], 'fortran_order': False, 'shape': (2,), }",
     RLO_OVERFLOW, NULL},
    {"{'descr': [('a', '|S1', (4611686018427387904,))], 'fortran_order': False, 'shape': (2,), }",
     RLO_OVERFLOW, NULL},
    {"{'descr': [('a', '<f4', (9223372036854775807,))]}", RLO_OVERFLOW,
     "byte 56 of the .npy file: a field beyond 64 bits"},
    {"{'descr': [('a', [('a', [('a', [('a', [('a', [('a', [('a', [('a', [('a', [('a', [('a', "
     "[('a', [('a', [('a', [('a', [('a', [('a', ",
     RLO_UNSUPPORTED, "byte 133 of the .npy file: fields deeper than 16"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", RLO_PARSE,
     "byte 68 of the .npy file: expected nothing but blanks after '}', found "
     "'x'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296"
     "), }",
     RLO_OVERFLOW, NULL},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693951"
     ",), }",
     RLO_OVERFLOW, NULL},
};

RLO_TIMEOUT(120);

RLO_TABLE_TEST(test_npy__refuses_with_the_place, refusals) {
  rlo_npy_header header;
  rlo_npy_header before;
  memset(&header, 0x5a, sizeof header);
  header.struct_size = sizeof header;
  before = header;

  rlo_status status = parse_dictionary(refusals[_i].dictionary, &header);
  ck_assert_msg(status == refusals[_i].status, "'%s' gives %s", refusals[_i].dictionary,
                rlo_status_name(status));
  if (refusals[_i].message != NULL) {
    ck_assert_str_eq(rlo_error_last()->message, refusals[_i].message);
  }
  ck_assert_mem_eq(&header, &before, sizeof header);
}

static const char plain[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

RLO_TEST(test_npy__refuses_other_files) {
  unsigned char bytes[128];
  size_t size_bytes = test_npy_make(bytes, 1, plain);
  rlo_npy_header header = RLO_NPY_HEADER_INIT;

  for (size_t i = 0; i < 6; ++i) {
    bytes[i] ^= 1;
    ck_assert_int_eq(test_npy_parse(bytes, size_bytes, -1, &header), RLO_PARSE);
    ck_assert_int_eq(test_npy_parse(bytes, i + 1, -1, &header), RLO_PARSE);
    bytes[i] ^= 1;
  }
  bytes[6] = 4;
  ck_assert_int_eq(test_npy_parse(bytes, size_bytes, -1, &header), RLO_PARSE);
  ck_assert_str_eq(rlo_error_last()->message,
                   "version 4.0 of .npy is unknown; 1.0, 2.0 and 3.0 are read");
  bytes[6] = 0;
  ck_assert_int_eq(test_npy_parse(bytes, size_bytes, -1, &header), RLO_PARSE);
  bytes[6] = 1;
  bytes[7] = 1;
  ck_assert_int_eq(test_npy_parse(bytes, size_bytes, -1, &header), RLO_PARSE);
  ck_assert_int_eq(rlo_npy_parse(NULL, 10, -1, &header), RLO_INVALID_ARGUMENT);
}

RLO_TEST(test_npy__every_truncation_is_data_loss) {
  for (unsigned major = 1; major <= 3; ++major) {
    unsigned char bytes[128];
    size_t size_bytes = test_npy_make(bytes, major, plain);
    rlo_npy_header header = RLO_NPY_HEADER_INIT;
    for (size_t size = 0; size < size_bytes; ++size) {
      ck_assert_int_eq(test_npy_parse(bytes, size, -1, &header), RLO_DATA_LOSS);
    }
    ck_assert_int_eq(test_npy_parse(bytes, size_bytes, -1, &header), RLO_OK);
  }
}

RLO_TEST(test_npy__a_short_file_may_not_ask_for_memory) {
  /* Twelve bytes that promise a header of 4 GiB. */
  static const unsigned char bytes[] = {0x93, 'N', 'U',  'M',  'P',  'Y',
                                        2,    0,   0xff, 0xff, 0xff, 0xff};
  rlo_npy_header header = RLO_NPY_HEADER_INIT;

  ck_assert_int_eq(test_npy_parse(bytes, sizeof bytes, 12, &header), RLO_UNSUPPORTED);
  ck_assert_str_eq(rlo_error_last()->message,
                   "an .npy header of 4294967295 bytes is beyond the limit of 65536");
}

RLO_TEST(test_npy__checks_the_size_of_the_file) {
  unsigned char bytes[128];
  int64_t header_bytes = (int64_t)test_npy_make(bytes, 1, plain);
  rlo_npy_header header = RLO_NPY_HEADER_INIT;

  ck_assert_int_eq(rlo_npy_parse(bytes, (size_t)header_bytes, header_bytes + 24, &header), RLO_OK);
  ck_assert_int_eq(rlo_npy_parse(bytes, (size_t)header_bytes, header_bytes + 23, &header),
                   RLO_DATA_LOSS);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the .npy header promises 24 bytes of data at byte 70, but "
                   "the file has 93 bytes");
  ck_assert_int_eq(rlo_npy_parse(bytes, (size_t)header_bytes, header_bytes + 25, &header),
                   RLO_DATA_LOSS);
  ck_assert_str_eq(rlo_error_last()->message,
                   "the .npy file has 1 bytes after the 24 bytes of data at "
                   "byte 70");
  ck_assert_int_eq(rlo_npy_parse(bytes, (size_t)header_bytes, header_bytes - 1, &header),
                   RLO_INVALID_ARGUMENT);
  ck_assert_int_eq(rlo_npy_parse(bytes, (size_t)header_bytes, -2, &header), RLO_INVALID_ARGUMENT);
}
