/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"
#include "relayout/safetensors.h"
#include "relayout/text.h"
#include "service/storage.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/suite.h"
#include "support/temp_file.h"

static char folder[TEMP_FOLDER_CHARS];
static char path[2 * TEMP_FOLDER_CHARS];
static rlo_safetensors *list;

static void begin(void) {
  temp_folder_make(folder);
  snprintf(path, sizeof(path), "%s/a.safetensors", folder);
  list = NULL;
}

static void end(void) {
  rlo_safetensors_release(list);
  temp_folder_remove(folder);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(begin, end);

static void write_bytes(const char *name, const void *data, size_t bytes) {
  FILE *file = fopen(name, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(data, 1, bytes, file), bytes);
  ck_assert_int_eq(fclose(file), 0);
}

/* Writes a file: `length` in front of the header (-1: its own), `bytes` zeros behind. */
static void write_file(const char *name, const char *header, int64_t length, size_t bytes) {
  rlo__str text = rlo__str_growing();
  const uint64_t told = length < 0 ? strlen(header) : (uint64_t)length;
  for (int n = 0; n < 8; ++n) {
    rlo__str_append_char(&text, (char)(told >> 8 * n));
  }
  rlo__str_append(&text, header);
  for (size_t n = 0; n < bytes; ++n) {
    rlo__str_append_char(&text, '\0');
  }
  write_bytes(name, rlo__str_text(&text), text.length);
  rlo__str_deinit(&text);
}

static void write_index(const char *text) {
  char name[2 * TEMP_FOLDER_CHARS];
  snprintf(name, sizeof(name), "%s/model.safetensors.index.json", folder);
  write_bytes(name, text, strlen(text));
}

static const char *text_of(const rlo_shape *shape) {
  static char text[512];
  (void)rlo_shape_format(shape, text, sizeof(text));
  return text;
}

/* ---------------------------------------------------------------- refusals */

#define MEMBER(type, dims, begin, end) \
  "{\"dtype\":\"" type "\",\"shape\":" dims ",\"data_offsets\":[" #begin "," #end "]}"

static const struct {
  const char *header;
  /* -1: the header's. */
  int64_t length;
  size_t bytes;
  rlo_status status;
  const char *part;
} refusals[] = {
    {"{}", 3, 0, RLO_DATA_LOSS, "has 10 bytes; its header ends at byte 11"},
    {"{}", 100000001, 0, RLO_UNSUPPORTED, "of 100000001 bytes; the format allows 100000000"},
    {"{}", INT64_MAX, 0, RLO_UNSUPPORTED, "of 9223372036854775807 bytes"},
    {"", -1, 0, RLO_PARSE, "has no JSON object where one has to begin"},
    {" {}", -1, 0, RLO_PARSE, "has no JSON object where one has to begin"},
    {"[]", -1, 0, RLO_PARSE, "has no JSON object where one has to begin"},
    {"{} x", -1, 0, RLO_PARSE, "end of file expected"},
    {"{\"a\":\"\xff\"}", -1, 0, RLO_PARSE, "unable to decode byte 0xff"},
    {"{\"a\":\"\\u0000\"}", -1, 0, RLO_PARSE, "byte 13 of its JSON"},
    {"{}", -1, 1, RLO_DATA_LOSS, "has 11 bytes; its members end at byte 10"},
    {"{\"a\":" MEMBER("U8", "[2]", 0, 2) ",\"a\":" MEMBER("U8", "[2]", 0, 2) "}", -1, 2, RLO_PARSE,
     "duplicate object key"},
    {"{\"a\":1}", -1, 0, RLO_PARSE, "member 'a': it has to have a dtype"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":3,\"data_offsets\":[0,3]}}", -1, 3, RLO_PARSE, "a shape"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3,4]}}", -1, 3, RLO_PARSE,
     "an array of two numbers"},
    {"{\"a\":" MEMBER("U8", "[3.0]", 0, 3) "}", -1, 3, RLO_PARSE, "dimension 0 is no size"},
    {"{\"a\":" MEMBER("U8", "[3,-1]", 0, 3) "}", -1, 3, RLO_PARSE, "dimension 1 is no size"},
    {"{\"a\":" MEMBER("U8", "[99999999999999999999]", 0, 3) "}", -1, 3, RLO_PARSE, "too big"},
    {"{\"a\":" MEMBER("F7", "[3]", 0, 3) "}", -1, 3, RLO_UNSUPPORTED, "the type 'F7'"},
    {"{\"a\":" MEMBER("f32", "[]", 0, 4) "}", -1, 4, RLO_UNSUPPORTED, "the type 'f32'"},
    {"{\"a\":" MEMBER("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
                      0, 1) "}",
     -1, 1, RLO_UNSUPPORTED, "33 dimensions; known are those of the format, with up to 32"},
    {"{\"a\":" MEMBER("F32", "[2]", 0, 4) "}", -1, 4, RLO_PARSE,
     "it has 4 bytes; its type and dimensions take 8"},
    {"{\"a\":" MEMBER("F4", "[3]", 0, 2) "}", -1, 2, RLO_PARSE,
     "3 elements of 4 bits do not end with a byte"},
    {"{\"a\":" MEMBER("F6_E2M3", "[2]", 0, 2) "}", -1, 2, RLO_PARSE, "do not end with a byte"},
    {"{\"a\":" MEMBER("U8", "[4294967296,4294967296]", 0, 0) "}", -1, 0, RLO_OVERFLOW, "'a'"},
    {"{\"a\":" MEMBER("U8", "[3]", 0, 3) "}", -1, 2, RLO_PARSE,
     "it goes from byte 0 to byte 3 of the 2 behind the header"},
    {"{\"a\":" MEMBER("U8", "[3]", 3, 0) "}", -1, 3, RLO_PARSE, "from byte 3 to byte 0"},
    {"{\"a\":" MEMBER("U8", "[3]", -1, 2) "}", -1, 3, RLO_PARSE, "from byte -1"},
    {"{\"a\":" MEMBER("U8", "[1]", 0, 1) ",\"b\":" MEMBER("U8", "[1]", 2, 3) "}", -1, 3, RLO_PARSE,
     "member 'b': it begins at byte 115, the one before it ends at byte 114"},
    {"{\"b\":" MEMBER("U8", "[2]", 1, 3) ",\"a\":" MEMBER("U8", "[2]", 0, 2) "}", -1, 3, RLO_PARSE,
     "member 'b': it begins at byte 114, the one before it ends at byte 115"},
    {"{\"a\":" MEMBER("U8", "[1]", 1, 2) "}", -1, 2, RLO_PARSE, "member 'a': it begins at byte"},
    {"{\"a\":" MEMBER("U8", "[1]", 0, 1) "}", -1, 2, RLO_DATA_LOSS, "its members end at byte"},
    {"{\"__metadata__\":3}", -1, 0, RLO_PARSE, "__metadata__ is no object"},
    {"{\"__metadata__\":{\"k\":3}}", -1, 0, RLO_PARSE, "'k' of __metadata__ is no string"},
    {"{\"a\":" MEMBER("U8", "[4]", 0, 4) ",\"__metadata__\":{\"relayout:a\":\"u8[2,2]{0,\"}}", -1,
     4, RLO_PARSE, "member 'a': position"},
    {"{\"a\":" MEMBER("U8", "[2,2]", 0, 4) ",\"__metadata__\":{\"relayout:a\":\"u8[2,2]{0,1}\"}}",
     -1, 4, RLO_PARSE, "the header of a member that is u8[2,2]{0,1} has 4 elements of type U8"},
    {"{\"a\":" MEMBER("I8", "[4]", 0, 4) ",\"__metadata__\":{\"relayout:a\":\"u8[2,2]{0,1}\"}}", -1,
     4, RLO_PARSE, "has 4 elements of type U8"},
    {"{\"a\":" MEMBER("U8", "[4]", 0, 4) ",\"__metadata__\":{\"relayout:a\":\"u8[2,3]{0,1}\"}}", -1,
     4, RLO_PARSE, "has 6 elements of type U8"},
};

RLO_TABLE_TEST(test_safetensors__what_is_no_file_of_the_format_is_refused, refusals) {
  write_file(path, refusals[_i].header, refusals[_i].length, refusals[_i].bytes);
  expect_refusal_with(rlo_safetensors_open(path, &list), refusals[_i].status, refusals[_i].part);
  ck_assert_ptr_null(list);
  ck_assert_ptr_nonnull(strstr(rlo_error_last()->message, "a.safetensors"));
}

RLO_TEST(test_safetensors__what_is_no_file_is_refused) {
  expect_refusal_with(rlo_safetensors_open(path, &list), RLO_NOT_FOUND, "a.safetensors");
  expect_refusal_with(rlo_safetensors_open(folder, &list), RLO_NOT_FOUND, "/model.safetensors");
  expect_refusal_with(rlo_safetensors_open("/dev/null", &list), RLO_IO, "not a regular file");
  write_bytes(path, "1234567", 7);
  expect_refusal_with(rlo_safetensors_open(path, &list), RLO_DATA_LOSS, "ends at byte 7");
}

static const struct {
  const char *index;
  rlo_status status;
  const char *part;
} index_refusals[] = {
    {"{}", RLO_PARSE, "no object weight_map"},
    {"{\"weight_map\":{\"a\":1}}", RLO_PARSE, "'a' is in ''"},
    {"{\"weight_map\":{\"a\":\"../a.safetensors\"}}", RLO_PARSE, "the name of no file beside it"},
    {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", RLO_PARSE, "the name of no file beside it"},
    {"{\"weight_map\":{\"a\":\"..\"}}", RLO_IO, "not a regular file"},
    {"{\"weight_map\":{\"a\":\"c.safetensors\"}}", RLO_NOT_FOUND, "c.safetensors"},
    {"{\"weight_map\":{\"c\":\"a.safetensors\"}}", RLO_PARSE, "a.safetensors has no member 'c'"},
    {"{\"weight_map\":{\"b\":\"a.safetensors\",\"a\":\"b.safetensors\"}}", RLO_PARSE,
     "has no member"},
    {"{\"weight_map\":{\"a\":\"a.safetensors\",\"b\":\"twice.safetensors\"}}", RLO_PARSE,
     "both have a member 'a'"},
};

static void write_two_files(void) {
  char other[2 * TEMP_FOLDER_CHARS];
  write_file(path, "{\"a\":" MEMBER("U8", "[1]", 0, 1) ",\"__metadata__\":{\"k\":\"1\"}}", -1, 1);
  snprintf(other, sizeof(other), "%s/b.safetensors", folder);
  write_file(other, "{\"b\":" MEMBER("U8", "[2]", 0, 2) ",\"__metadata__\":{\"k\":\"2\"}}", -1, 2);
  snprintf(other, sizeof(other), "%s/twice.safetensors", folder);
  write_file(other, "{\"a\":" MEMBER("U8", "[2]", 0, 2) "}", -1, 2);
}

RLO_TABLE_TEST(test_safetensors__what_is_no_index_is_refused, index_refusals) {
  write_two_files();
  write_index(index_refusals[_i].index);
  expect_refusal_with(rlo_safetensors_open(folder, &list), index_refusals[_i].status,
                      index_refusals[_i].part);
}

/* ----------------------------------------------------------------- reading */

static const struct {
  const char *type;
  const char *shape;
  size_t bytes;
} types[] = {
    {"BOOL", "pred[8]{0}", 8},
    {"F4", "f4e2m1fn[8]{0:E(4)}", 4},
    {"F6_E2M3", "f6e2m3fn[8]{0:E(6)}", 6},
    {"F6_E3M2", "f6e3m2fn[8]{0:E(6)}", 6},
    {"U8", "u8[8]{0}", 8},
    {"I8", "s8[8]{0}", 8},
    {"F8_E5M2", "f8e5m2[8]{0}", 8},
    {"F8_E4M3", "f8e4m3fn[8]{0}", 8},
    {"F8_E8M0", "f8e8m0fnu[8]{0}", 8},
    {"F8_E4M3FNUZ", "f8e4m3fnuz[8]{0}", 8},
    {"F8_E5M2FNUZ", "f8e5m2fnuz[8]{0}", 8},
    {"I16", "s16[8]{0}", 16},
    {"U16", "u16[8]{0}", 16},
    {"F16", "f16[8]{0}", 16},
    {"BF16", "bf16[8]{0}", 16},
    {"I32", "s32[8]{0}", 32},
    {"U32", "u32[8]{0}", 32},
    {"F32", "f32[8]{0}", 32},
    {"C64", "c64[8]{0}", 64},
    {"F64", "f64[8]{0}", 64},
    {"I64", "s64[8]{0}", 64},
    {"U64", "u64[8]{0}", 64},
};

RLO_TABLE_TEST(test_safetensors__each_type_is_read, types) {
  char header[200];
  rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
  snprintf(header, sizeof(header),
           "{\"x\":{\"dtype\":\"%s\",\"shape\":[8],\"data_offsets\":[0,%zu]}}", types[_i].type,
           types[_i].bytes);
  write_file(path, header, -1, types[_i].bytes);
  expect_ok(rlo_safetensors_open(path, &list));
  expect_ok(rlo_safetensors_get_member(list, 0, &m));
  ck_assert_str_eq(m.type_name, types[_i].type);
  ck_assert_str_eq(text_of(&m.shape), types[_i].shape);
  ck_assert_int_eq(m.bytes, (int64_t)types[_i].bytes);
  ck_assert_int_eq(m.offset_bytes, 8 + (int64_t)strlen(header));
}

RLO_TEST(test_safetensors__members_are_in_the_order_of_their_bytes) {
  write_file(path,
             "{\"__metadata__\":null,\"b.1\":" MEMBER("F16", "[0,3]", 2, 2) ",\"c\":" MEMBER(
                 "U8", "[2]", 0, 2) ",\"b.0\":" MEMBER("F32", "[]", 2, 6) "}   ",
             -1, 6);
  expect_ok(rlo_safetensors_open(path, &list));
  ck_assert_int_eq(rlo_safetensors_num_members(list), 3);
  static const char *const names[] = {"c", "b.1", "b.0"};
  for (int64_t n = 0; n < 3; ++n) {
    rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
    expect_ok(rlo_safetensors_get_member(list, n, &m));
    ck_assert_str_eq(m.name, names[n]);
    ck_assert_int_eq(rlo_safetensors_find(list, names[n]), n);
  }
  ck_assert_int_eq(rlo_safetensors_find(list, "b"), -1);
  ck_assert_int_eq(rlo_safetensors_match(list, "b.*", 0), 1);
  ck_assert_int_eq(rlo_safetensors_match(list, "b.*", 2), 2);
  ck_assert_int_eq(rlo_safetensors_match(list, "b.*", 3), -1);
  rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
  rlo_storage *storage;
  expect_refusal(rlo_safetensors_get_member(list, 3, &m), RLO_OUT_OF_RANGE, "member 3 of 3");
  expect_refusal(rlo_safetensors_storage(list, -1, NULL, &storage), RLO_OUT_OF_RANGE,
                 "member -1 of 3");
}

RLO_TEST(test_safetensors__an_index_joins_files) {
  write_two_files();
  write_index("{\"weight_map\":{\"b\":\"b.safetensors\",\"a\":\"a.safetensors\"}}");
  expect_ok(rlo_safetensors_open(folder, &list));
  ck_assert_int_eq(rlo_safetensors_num_files(list), 2);
  ck_assert_ptr_nonnull(strstr(rlo_safetensors_file_path(list, 0), "/b.safetensors"));
  ck_assert_ptr_null(rlo_safetensors_file_path(list, 2));
  ck_assert_int_eq(rlo_safetensors_find(list, "b"), 0);
  int64_t count = 0;
  const rlo_safetensors_text *texts = rlo_safetensors_metadata(list, &count);
  ck_assert_int_eq(count, 1);
  ck_assert_str_eq(texts[0].value, "2");
}

/* A quadratic step would take minutes. */
RLO_TEST(test_safetensors__many_members_are_read_at_once) {
  enum { COUNT = 20000 };

  rlo__str header = rlo__str_growing();
  for (int n = 0; n < COUNT; ++n) {
    rlo__str_printf(&header,
                    "%s\"model.layers.%d.w\":{\"dtype\":\"U8\",\"shape\":[1],"
                    "\"data_offsets\":[%d,%d]}",
                    n == 0 ? "{" : ",", n, COUNT - 1 - n, COUNT - n);
  }
  rlo__str_append(&header, "}");
  write_file(path, rlo__str_text(&header), -1, COUNT);
  rlo__str_deinit(&header);
  const clock_t before = clock();
  expect_ok(rlo_safetensors_open(path, &list));
  ck_assert_int_lt((clock() - before) / CLOCKS_PER_SEC, 3);
  ck_assert_int_eq(rlo_safetensors_find(list, "model.layers.0.w"), COUNT - 1);
}

/* ----------------------------------------------------------------- writing */

enum { MAX_MEMBERS = 8 };

static rlo_shape shapes[MAX_MEMBERS];
static const rlo_shape *shape_list[MAX_MEMBERS];
static const char *const names[MAX_MEMBERS] = {"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"};

static void parse_shapes(const char *const *texts, int count) {
  for (int n = 0; n < count; ++n) {
    expect_ok(rlo_shape_parse(texts[n], strlen(texts[n]), &shapes[n]));
    shape_list[n] = &shapes[n];
  }
}

static const char *const mixed[] = {
    "u8[3]",         "f32[1024,2]", "bf16[64,32]{0,1}", "f32[20,300]{1,0:T(8,128)fill(zero)}",
    "s4[6]{0:E(4)}", "f32[16,3]",   "f8e4m3[7]",        "bf16[0,4]"};

/* Fills member n with bytes that are its own. */
static void make_bytes(int n, unsigned char *data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; ++at) {
    data[at] = (unsigned char)(at * 7 + n * 31 + 1);
  }
}

/* Writes the files of a plan, to a folder if they have names. */
static void write_members(const rlo_safetensors_plan *plan, const char *target) {
  static unsigned char data[1 << 16];
  char name[5 * TEMP_FOLDER_CHARS];
  for (int32_t f = 0; f < rlo_safetensors_plan_num_files(plan); ++f) {
    const rlo_safetensors_file *planned = rlo_safetensors_plan_file(plan, f);
    const bool is_inside = planned->name != NULL;
    if (is_inside) {
      (void)mkdir(target, 0777);
    }
    snprintf(name, sizeof(name), "%s%s%s", target, is_inside ? "/" : "",
             is_inside ? planned->name : "");
    FILE *file = fopen(name, "wb");
    ck_assert_ptr_nonnull(file);
    fwrite(planned->head, 1, (size_t)planned->head_bytes, file);
    for (int n = 0; n < MAX_MEMBERS; ++n) {
      const rlo_safetensors_place *place = rlo_safetensors_plan_place(plan, n);
      make_bytes(n, data, place->bytes);
      if (place->file == f) {
        fseek(file, (long)place->offset_bytes, SEEK_SET);
        fwrite(data, 1, (size_t)place->bytes, file);
      }
    }
    ck_assert_int_eq(ftell(file) <= planned->bytes, 1);
    ck_assert_int_eq(fclose(file), 0);
  }
  if (rlo_safetensors_plan_index(plan) != NULL) {
    snprintf(name, sizeof(name), "%s/model.safetensors.index.json", target);
    write_bytes(name, rlo_safetensors_plan_index(plan), strlen(rlo_safetensors_plan_index(plan)));
  }
}

static void check_members(void) {
  static unsigned char expected[1 << 16];
  static unsigned char found[1 << 16];
  ck_assert_int_eq(rlo_safetensors_num_members(list), MAX_MEMBERS);
  for (int n = 0; n < MAX_MEMBERS; ++n) {
    rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
    rlo_storage *storage = NULL;
    const int64_t at = rlo_safetensors_find(list, names[n]);
    expect_ok(rlo_safetensors_get_member(list, at, &m));
    ck_assert_msg(rlo_shape_equal(&m.shape, &shapes[n]), "%s is %s", m.name, text_of(&m.shape));
    make_bytes(n, expected, m.bytes);
    expect_ok(rlo_safetensors_storage(list, at, NULL, &storage));
    if (m.bytes > 0) {
      expect_ok(rlo__storage_read(storage, 0, m.bytes, found));
      ck_assert_mem_eq(found, expected, (size_t)m.bytes);
    }
    rlo_storage_release(storage);
  }
}

/* With every limit of a file's size, and metadata that is carried over. */
RLO_LOOP_TEST(test_safetensors__what_is_written_is_read, 0, 4) {
  static const int64_t limits[] = {0, 1, 20000, INT64_MAX};
  static const rlo_safetensors_text texts[] = {{"format", "pt"},
                                               {"relayout:m1", "f32[9]"},
                                               {"relayout.digest:m1", "old"},
                                               {"sharding:m1", "old"},
                                               {"relayout.made_by:m1", "old"}};
  static const rlo_digest digests[MAX_MEMBERS] = {{0x12, 0xab}};
  static const char *const shardings[MAX_MEMBERS] = {"{replicated}"};
  static const char *const made_by[MAX_MEMBERS] = {NULL, "[perm 1,0]"};
  rlo_safetensors_plan_options options = RLO_SAFETENSORS_PLAN_OPTIONS_INIT;
  rlo_safetensors_plan *plan = NULL;
  char target[3 * TEMP_FOLDER_CHARS];
  options.shard_bytes = limits[_i];
  options.metadata = texts;
  options.num_metadata = 5;
  options.digests = digests;
  options.shardings = shardings;
  options.made_by = made_by;
  snprintf(target, sizeof(target), "%s/out%s", folder, _i == 0 ? ".safetensors" : "");
  parse_shapes(mixed, MAX_MEMBERS);
  expect_ok(rlo_safetensors_plan_create(names, shape_list, MAX_MEMBERS, &options, &plan));
  const int32_t num_files = rlo_safetensors_plan_num_files(plan);
  ck_assert_int_eq(num_files, _i == 1 ? 7 : _i == 2 ? 3 : 1);
  ck_assert((num_files > 1) == (rlo_safetensors_plan_index(plan) != NULL));
  write_members(plan, target);
  rlo_safetensors_plan_release(plan);
  ck_assert_int_eq(temp_folder_count(folder), 1);
  expect_ok(rlo_safetensors_open(target, &list));
  ck_assert_int_eq(rlo_safetensors_num_files(list), num_files);
  check_members();
  int64_t count = 0;
  ck_assert_str_eq(rlo_safetensors_metadata(list, &count)[0].value, "pt");
  /* Four of the shapes are not plain. */
  ck_assert_int_eq(count, 7 + MAX_MEMBERS);
  for (int64_t n = 0; n < MAX_MEMBERS; ++n) {
    rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
    expect_ok(rlo_safetensors_get_member(list, rlo_safetensors_find(list, names[n]), &m));
    ck_assert_pstr_eq(m.sharding, shardings[n]);
    ck_assert_pstr_eq(m.made_by, made_by[n]);
    ck_assert_uint_eq(strlen(m.digest), 32);
    ck_assert(n > 0 || strcmp(m.digest, "000000000000001200000000000000ab") == 0);
  }
}

RLO_TEST(test_safetensors__members_are_aligned_as_their_sizes_allow) {
  static const char *const texts[] = {"u8[3]", "f32[16]", "u8[1048576]", "f32[3]", "u8[8192]"};
  static const int64_t offsets[] = {4096 + 1048576 + 8192 + 64 + 12, 4096 + 1048576 + 8192, 4096,
                                    4096 + 1048576 + 8192 + 64, 4096 + 1048576};
  rlo_safetensors_plan *plan = NULL;
  parse_shapes(texts, 5);
  expect_ok(rlo_safetensors_plan_create(names, shape_list, 5, NULL, &plan));
  for (int n = 0; n < 5; ++n) {
    ck_assert_int_eq(rlo_safetensors_plan_place(plan, n)->offset_bytes, offsets[n]);
  }
  const rlo_safetensors_file *file = rlo_safetensors_plan_file(plan, 0);
  ck_assert_int_eq(file->head_bytes, 4096);
  ck_assert_int_eq(file->bytes, offsets[0] + 3);
  ck_assert_ptr_null(file->name);
  rlo_safetensors_plan_release(plan);
  /* Without a large one the header ends at a multiple of 64. */
  expect_ok(rlo_safetensors_plan_create(names, shape_list, 2, NULL, &plan));
  ck_assert_int_eq(rlo_safetensors_plan_file(plan, 0)->head_bytes, 128);
  rlo_safetensors_plan_release(plan);
}

RLO_TEST(test_safetensors__what_cannot_be_planned_is_refused) {
  static const char *const same[] = {"a", "a"};
  static const char *const reserved[] = {"__metadata__"};
  static const char *const bytes[] = {"\xff"};
  static const rlo_safetensors_text text = {"k", "\xff"};
  rlo_safetensors_plan *plan = NULL;
  parse_shapes(mixed, 2);
  expect_refusal_with(rlo_safetensors_plan_create(same, shape_list, 2, NULL, &plan),
                      RLO_INVALID_ARGUMENT, "are 'a'");
  expect_refusal_with(rlo_safetensors_plan_create(reserved, shape_list, 1, NULL, &plan),
                      RLO_INVALID_ARGUMENT, "are '__metadata__'");
  expect_refusal_with(rlo_safetensors_plan_create(bytes, shape_list, 1, NULL, &plan),
                      RLO_INVALID_ARGUMENT, "no UTF-8");
  rlo_safetensors_plan_options options = RLO_SAFETENSORS_PLAN_OPTIONS_INIT;
  options.shard_bytes = -1;
  expect_refusal_with(rlo_safetensors_plan_create(names, shape_list, 1, &options, &plan),
                      RLO_INVALID_ARGUMENT, "-1 bytes of a file");
  options.shard_bytes = 0;
  options.metadata = &text;
  options.num_metadata = 1;
  expect_refusal_with(rlo_safetensors_plan_create(names, shape_list, 1, &options, &plan),
                      RLO_INVALID_ARGUMENT, "'k' is no UTF-8");
  ck_assert_ptr_null(plan);
}
