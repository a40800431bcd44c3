/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/sharding.h"
#include "relayout/text.h"
#include "support/expect.h"
#include "support/suite.h"

static rlo_sharding *parse(const char *text) {
  rlo_sharding *sharding;
  ck_assert_msg(rlo_sharding_parse(text, strlen(text), &sharding) == RLO_OK, "%s: %s", text,
                rlo_error_last()->message);
  return sharding;
}

static rlo_shape parse_shape(const char *text) {
  rlo_shape shape;
  ck_assert_int_eq(rlo_shape_parse(text, strlen(text), &shape), RLO_OK);
  return shape;
}

/* Texts to parse, their printed forms, and the devices of their cells. */
static const struct {
  const char *text;
  const char *printed;
  const char *devices;
} texts[] = {
    {"{replicated}", "{replicated}", ""},
    {"{manual}", "{manual}", ""},
    {"{unknown}", "{unknown}", ""},
    {"{unreduced}", "{unreduced}", ""},
    {" { maximal device = 3 } // here", "{maximal device=3}", ""},
    {"{devices=[2,2]0,1,2,3}", "{devices=[2,2]0,1,2,3}", "0,1,2,3"},
    {"{devices=[2,2]3,1,0,2}", "{devices=[2,2]3,1,0,2}", "3,1,0,2"},
    {"{devices=[2,2]<=[4]}", "{devices=[2,2]<=[4]}", "0,1,2,3"},
    {"{devices=[2,2]<=[2,2]}", "{devices=[2,2]<=[4]}", "0,1,2,3"},
    {"{devices=[2,2]<=[1,2,1,2]T(2,1,0,3)}", "{devices=[2,2]<=[4]}", "0,1,2,3"},
    {"{devices=[8]<=[4,2]T(1,0)}", "{devices=[8]<=[4,2]T(1,0)}", "0,2,4,6,1,3,5,7"},
    {"{devices=[8]<=[4,1,2]T(2,1,0)}", "{devices=[8]<=[4,2]T(1,0)}", "0,2,4,6,1,3,5,7"},
    {"{devices=[2,1,4]<=[4,2]T(1,0)}", "{devices=[2,1,4]<=[4,2]T(1,0)}", "0,2,4,6,1,3,5,7"},
    {"{devices=[16]<=[4,2,2]T(1,0,2)}", "{devices=[16]<=[4,2,2]T(1,0,2)}",
     "0,1,4,5,8,9,12,13,2,3,6,7,10,11,14,15"},
    {"{devices=[12]<=[2,3,2]T(2,0,1)}", "{devices=[12]<=[6,2]T(1,0)}", "0,2,4,6,8,10,1,3,5,7,9,11"},
    {"{devices=[4,2]<=[8] last_tile_dim_replicate}", "{devices=[4,2]<=[8] last_tile_dim_replicate}",
     "0,1,2,3,4,5,6,7"},
    {"{devices=[4,2]<=[8] last_tile_dims={replicated}}",
     "{devices=[4,2]<=[8] last_tile_dim_replicate}", "0,1,2,3,4,5,6,7"},
    {"{devices=[2,2,2]<=[8] last_tile_dims={unreduced, manual}}",
     "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, unreduced}}", "0,2,1,3,4,6,5,7"},
    {"{devices=[2]<=[2] last_tile_dim_replicate}", "{replicated}", ""},
    {"{devices=[1,4]3,0,1,2 last_tile_dims={manual}}", "{manual}", ""},
    {"{devices=[4,1]<=[4] last_tile_dims={manual}}", "{devices=[4]<=[4]}", "0,1,2,3"},
    {"{devices=[1,1]<=[1]}", "{devices=[1,1]<=[1]}", "0"},
    {"{devices=[1,1]0}", "{devices=[1,1]<=[1]}", "0"},
    {"{devices=[1,1]<=[1] last_tile_dims={manual}}", "{manual}", ""},
    {"{devices=[2,2]3,1,2,0 last_tile_dim_replicate}",
     "{devices=[2,2]1,3,0,2 last_tile_dim_replicate}", "1,3,0,2"},
    {"{devices=[2,4]<=[2,2,2]T(2,0,1) last_tile_dim_replicate}",
     "{devices=[2,4]<=[4,2]T(1,0) last_tile_dim_replicate}", "0,2,4,6,1,3,5,7"},
    {"{devices=[2,2,1,2]<=[8] last_tile_dims={replicated,unreduced,replicated}}",
     "{devices=[2,4]<=[8] last_tile_dim_replicate}", "0,1,2,3,4,5,6,7"},
    {"{devices=[2]<=[2] shard_as 3 metadata={{op_name=\"}\\\"\"}, {source_line=1}} shard_like 4}",
     "{devices=[2]<=[2]}", "0,1"},
    {"{replicated metadata={op_name='{'}}", "{replicated}", ""},
    {"{mesh['a'=2,'b'=4], [{'a'}, {'b'}]}", "{devices=[2,4]<=[8]}", "0,1,2,3,4,5,6,7"},
    {"{mesh['a'=2,'b'=4], [{'b'}, {'a'}]}", "{devices=[4,2]<=[2,4]T(1,0)}", "0,4,1,5,2,6,3,7"},
    {"{mesh['a'=2,'b'=4], [{'b', 'a', ?}, {?}]}", "{devices=[8,1]<=[2,4]T(1,0)}",
     "0,4,1,5,2,6,3,7"},
    {"{mesh['a'=2,'b'=4], [{'b':(1)2}, {'a','b':(2)2}]}", "{devices=[2,4]<=[2,2,2]T(1,0,2)}",
     "0,1,4,5,2,3,6,7"},
    {"{mesh['a'=2,'b'=4], [{'b':(2)2}, {}]}",
     "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}", "0,2,4,6,1,3,5,7"},
    {"{mesh['a'=2,'b'=2,'c'=2], [], replicated={'c'}, unreduced={'b'}, manual={'a'}, "
     "metadata={{}}}",
     "{devices=[2,2,2]<=[8] last_tile_dims={manual, unreduced, replicated}}", "0,1,2,3,4,5,6,7"},
    {"{mesh['x/y z'=4,'b'=2], device_ids=([2,4]T(1,0)), [{'b'}, {'x/y z'}]}",
     "{devices=[2,4]<=[8]}", "0,1,2,3,4,5,6,7"},
    {"{mesh['a'=6], device_ids=([3,2]T(1,0)), [{'a':(3)2}]}",
     "{devices=[2,3]0,3,4,1,2,5 last_tile_dim_replicate}", "0,3,4,1,2,5"},
    {"{mesh['a'=3], device_ids=(0,2,1), [{'a'}]}", "{devices=[3]0,2,1}", "0,2,1"},
    {"{mesh['a'=3,'b'=2], device_ids=([3,2]T(1,0)), [{'b':(1)2}, {'a'}]}",
     "{devices=[2,3]0,4,3,2,1,5}", "0,4,3,2,1,5"},
    {"{mesh['a'=1,'b'=2], [{'a'}, {'b'}]}", "{devices=[1,2]<=[2]}", "0,1"},
    {"{mesh['a'=1], [{'a'}]}", "{replicated}", ""},
    {"{mesh[], [{}, {}]}", "{replicated}", ""},
    {"{mesh['a'=2], replicated, metadata={op_name='x'}}", "{replicated}", ""},
    {"{mesh['a'=2], unreduced}", "{unreduced}", ""},
    {"{mesh['a'=2], manual}", "{manual}", ""},
    {"{maximal_mesh[device_id=3]}", "{maximal device=3}", ""},
    {"{boxes=[0:8,0:3][0:8,3:6]}", "{boxes=[0:8,0:3][0:8,3:6]}", ""},
    {"{boxes=[][]}", "{boxes=[][]}", ""},
};

RLO_TABLE_TEST(test_sharding__texts_round_trip, texts) {
  rlo_sharding *sharding = parse(texts[_i].text);
  char printed[256];
  size_t length = rlo_sharding_format(sharding, printed, sizeof printed);
  ck_assert_str_eq(printed, texts[_i].printed);
  ck_assert_uint_eq(length, strlen(printed));
  ck_assert_uint_eq(rlo_sharding_format(sharding, NULL, 0), length);
  rlo_sharding_tiles tiles;
  if (rlo_sharding_get_tiles(sharding, &tiles) == RLO_OK) {
    char devices[256] = "";
    for (int64_t k = 0; k < rlo_sharding_num_devices(sharding); ++k) {
      size_t at = strlen(devices);
      snprintf(devices + at, sizeof devices - at, "%s%lld", k > 0 ? "," : "",
               (long long)tiles.devices[k]);
    }
    ck_assert_str_eq(devices, texts[_i].devices);
  } else {
    ck_assert_str_eq("", texts[_i].devices);
  }
  rlo_sharding *again = parse(printed);
  char twice[256];
  rlo_sharding_format(again, twice, sizeof twice);
  ck_assert_str_eq(twice, printed);
  rlo_sharding_release(again);
  rlo_sharding_release(sharding);
}

static const struct {
  const char *text;
  rlo_status status;
  const char *words;
} refused[] = {
    {"", RLO_PARSE, "position 0: expected '{'"},
    {"replicated", RLO_PARSE, "position 0: expected '{', found 'replicated'"},
    {"{}", RLO_PARSE, "position 1: expected 'replicated', 'maximal'"},
    {"{replicated", RLO_PARSE, "expected '}', found the end"},
    {"{replicated} x", RLO_PARSE, "position 13"},
    {"{{replicated},{replicated}}", RLO_UNSUPPORTED, "sharding of a tuple"},
    {"{maximal}", RLO_PARSE, "expected 'device'"},
    {"{maximal device=-1}", RLO_PARSE, "expected a device"},
    {"{maximal device=1048576}", RLO_OUT_OF_RANGE, "1048576 is outside 0..10"},
    {"{devices=[]0}", RLO_PARSE, "expected a number of tiles >= 1"},
    {"{devices=[0]<=[1]}", RLO_PARSE, "expected a number of tiles >= 1"},
    {"{devices=[2]}", RLO_PARSE, "expected a device or '<='"},
    {"{devices=[2]0}", RLO_PARSE, "1 devices for a grid of more cells"},
    /* 2^80 cells, which 64 bits would count as 0. */
    {"{devices=[1048576,1048576,1048576,1048576]0}", RLO_PARSE,
     "1 devices for a grid of more cells"},
    {"{devices=[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,"
     "1]0}",
     RLO_UNSUPPORTED, "33"},
    {"{devices=[2]0,1,2}", RLO_PARSE, "3 devices for a grid of fewer cells"},
    {"{devices=[2]0,0}", RLO_INVALID_ARGUMENT, "the same device 0"},
    {"{devices=[2]1,2}", RLO_INVALID_ARGUMENT, "names device 2"},
    {"{devices=[4]<=[2,3]}", RLO_INVALID_ARGUMENT, "iota has 6 devices"},
    {"{devices=[4]<=[2,2]T(0,0)}", RLO_INVALID_ARGUMENT, "is there twice"},
    {"{devices=[4]<=[2,2]T(0,2)}", RLO_INVALID_ARGUMENT, "no dimension of it"},
    {"{devices=[4]<=[2,2]T(0)}", RLO_PARSE, "expected ','"},
    {"{devices=[4]<=[2,2]T(0,1,2)}", RLO_PARSE, "expected ')'"},
    {"{devices=[2]<=[2] last_tile_dims={maximal}}", RLO_PARSE,
     "expected 'replicated', 'unreduced' or 'manual'"},
    {"{devices=[2]<=[2] last_tile_dims={unknown}}", RLO_INVALID_ARGUMENT, "subgroup 0"},
    {"{devices=[2]<=[2] last_tile_dims={manual,manual}}", RLO_PARSE,
     "2 subgroups of a grid that has 1 dimensions"},
    {"{devices=[2]<=[2] metadata={\"}\"}", RLO_PARSE, "expected '}', found the end"},
    {"{devices=[1048576,2]<=[2097152]}", RLO_UNSUPPORTED, "more than 1048576 cells"},
    {"{devices=[4611686018427387904,4]<=[4]}", RLO_UNSUPPORTED, "more than 1048576 cells"},
    {"{devices=[2]<=["
     "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "2]}",
     RLO_UNSUPPORTED, "position 87: more than 36 dimensions"},
    {"{devices=[2]<=[2] "
     "last_tile_dims={manual,manual,manual,manual,manual}}",
     RLO_UNSUPPORTED, "position 62: more than 4 subgroups"},
    {"{boxes=[0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,"
     "0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1,0:1]}",
     RLO_UNSUPPORTED, "position 136: a rank above the limit of 32"},
    {"{mesh[a=2], [{}]}", RLO_PARSE, "position 6: expected a name in quotes"},
    {"{mesh['a'=2,'a'=2], [{}]}", RLO_PARSE,
     "position 12: expected a name in quotes that no other"},
    {"{mesh['a'=0], [{}]}", RLO_PARSE, "position 10: expected a size >= 1, found '0'"},
    {"{mesh['a'=1048576,'b'=2], [{}]}", RLO_UNSUPPORTED, "more than 1048576 cells"},
    {"{mesh['a'=2]}", RLO_PARSE, "position 12: expected ',', found '}'"},
    {"{mesh['a'=2], device_ids=(0), [{}]}", RLO_PARSE, "position 26: 1 devices for a grid of more"},
    {"{mesh['a'=2], device_ids=(0,2), [{}]}", RLO_INVALID_ARGUMENT, "names device 2"},
    {"{mesh['a'=4], [{'c'}]}", RLO_PARSE, "position 16: expected the name of an axis of the mesh"},
    {"{mesh['a'=4], [{'a':(1)2 'a'}]}", RLO_PARSE, "position 25: expected ','"},
    {"{mesh['a'=4], [{'a':(0)2}]}", RLO_PARSE, "position 21: expected a size >= 1 before a part"},
    {"{mesh['a'=4], [{'a':(1)1}]}", RLO_PARSE, "position 23: expected a size >= 2 of a part"},
    {"{mesh['a'=4], [{'a':(3)2}]}", RLO_PARSE,
     "position 16: part (3)2 of an axis of size 4 does not divide it, or is in use"},
    {"{mesh['a'=4], [{'a'}, {'a'}]}", RLO_PARSE, "position 23: part (1)4 of an axis of size 4"},
    {"{mesh['a'=12], [{'a':(2)2}, {'a':(6)2}]}", RLO_PARSE, "position 29: part (6)2"},
    {"{mesh['a'=4], [{'a'}], manual={'a'}}", RLO_PARSE, "position 31: part (1)4"},
    {"{mesh['a'=4], replicated, manual={'a'}}", RLO_PARSE, "position 26: expected '}'"},
    {"{mesh['a'=4], [{}], tiled={'a'}}", RLO_PARSE, "position 20: expected '}', found 'tiled'"},
    {"{mesh['a'=4], [{}], unknown={'a'}}", RLO_INVALID_ARGUMENT, "subgroup 0 is of sharding kind"},
    {"{mesh['a'=1], [{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},"
     "{},{},{},{},{},{},{},{},{}]}",
     RLO_UNSUPPORTED, "a rank above the limit of 32"},
    {"{maximal_mesh[device_id=1}", RLO_PARSE, "position 25: expected ']'"},
    {"{boxes=}", RLO_PARSE, "expected '['"},
    {"{boxes=[0:2,3]}", RLO_PARSE, "expected ':'"},
    {"{boxes=[2:1]}", RLO_INVALID_ARGUMENT, "box 0 is 2:1 in dimension 0"},
    {"{boxes=[0:1][0:1,0:1]}", RLO_INVALID_ARGUMENT, "box 1 has rank 2"},
};

RLO_TABLE_TEST(test_sharding__bad_texts_are_refused, refused) {
  rlo_sharding *sharding = (rlo_sharding *)&sharding;
  ck_assert_int_eq(rlo_sharding_parse(refused[_i].text, strlen(refused[_i].text), &sharding),
                   refused[_i].status);
  ck_assert_ptr_null(sharding);
  ck_assert_msg(strstr(rlo_error_last()->message, refused[_i].words) != NULL, "%s: %s",
                refused[_i].text, rlo_error_last()->message);
}

/* The box of an array that each device holds. */
static const struct {
  const char *shape;
  const char *sharding;
  int64_t num_devices;
  const char *boxes;
} held[] = {
    {"f32[10]", "{devices=[4]<=[4]}", 4, "0:3 3:6 6:9 9:10 "},
    {"f32[5]", "{devices=[4]<=[4]}", 4, "0:2 2:4 4:5 5:5 "},
    {"f32[0]", "{devices=[2]<=[2]}", 2, "0:0 0:0 "},
    {"f32[3]", "{devices=[2]1,0}", 2, "2:3 0:2 "},
    {"f32[4,6]", "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", 4,
     "0:2,0:6 2:4,0:6 0:2,0:6 2:4,0:6 "},
    {"f32[16,16,16]", "{devices=[2,1,4]<=[4,2]T(1,0)}", 8,
     "0:8,0:16,0:4 8:16,0:16,0:4 0:8,0:16,4:8 8:16,0:16,4:8 0:8,0:16,8:12 "
     "8:16,0:16,8:12 0:8,0:16,12:16 8:16,0:16,12:16 "},
    {"f32[2,3]", "{replicated}", 2, "0:2,0:3 0:2,0:3 "},
    {"f32[2,3]", "{unreduced}", 2, "0:2,0:3 0:2,0:3 "},
    {"f32[2,3]", "{maximal device=1}", 3, "0:0,0:0 0:2,0:3 0:0,0:0 "},
    {"f32[2,3]", "{boxes=[0:2,0:1][0:2,1:3][0:2,1:3]}", 3, "0:2,0:1 0:2,1:3 0:2,1:3 "},
    {"f32[]", "{boxes=[][]}", 2, "  "},
    {"f32[]", "{replicated}", 1, " "},
    {"f32[9223372036854775807,0]", "{devices=[1048576,1]<=[1048576]}", 0, ""},
};

RLO_TABLE_TEST(test_sharding__boxes_of_devices, held) {
  rlo_shape shape = parse_shape(held[_i].shape);
  rlo_sharding *sharding = parse(held[_i].sharding);
  char text[512] = "";
  if (held[_i].num_devices > 0) {
    ck_assert_msg(rlo_sharding_validate(sharding, &shape, held[_i].num_devices) == RLO_OK, "%s",
                  rlo_error_last()->message);
  }
  for (int64_t device = 0; device < held[_i].num_devices; ++device) {
    rlo_box box;
    ck_assert_int_eq(rlo_sharding_get_box(sharding, &shape, device, &box), RLO_OK);
    ck_assert_int_eq(box.rank, shape.rank);
    for (int32_t d = 0; d < box.rank; ++d) {
      size_t at = strlen(text);
      snprintf(text + at, sizeof text - at, "%s%lld:%lld", d > 0 ? "," : "",
               (long long)box.start[d], (long long)box.limit[d]);
    }
    strcat(text, " ");
  }
  ck_assert_str_eq(text, held[_i].boxes);
  rlo_sharding_release(sharding);
}

RLO_TEST(test_sharding__widths_near_the_limit_of_64_bits_do_not_overflow) {
  rlo_shape shape = parse_shape("f32[9223372036854775807,0]");
  rlo_sharding *sharding = parse("{devices=[3,1]<=[3]}");
  rlo_box box;
  ck_assert_int_eq(rlo_sharding_get_box(sharding, &shape, 2, &box), RLO_OK);
  ck_assert_int_eq(box.start[0], INT64_C(6148914691236517206));
  ck_assert_int_eq(box.limit[0], INT64_MAX);
  rlo_sharding_release(sharding);
}

static const struct {
  const char *shape;
  const char *sharding;
  int64_t num_devices;
  rlo_status status;
  const char *words;
} misfits[] = {
    {"f32[4]", "{devices=[2,2]<=[4]}", 4, RLO_INVALID_ARGUMENT, "of rank 2"},
    {"f32[4]", "{devices=[2]<=[2]}", 3, RLO_OUT_OF_RANGE, "for 2 devices"},
    {"f32[4]", "{devices=[2]<=[2]}", 1, RLO_OUT_OF_RANGE, "there are 1"},
    {"f32[4]", "{maximal device=2}", 2, RLO_OUT_OF_RANGE, "for 3 devices"},
    {"f32[4]", "{replicated}", 0, RLO_OUT_OF_RANGE, "0 devices"},
    {"f32[4]", "{manual}", 2, RLO_UNSUPPORTED, "manual"},
    {"f32[4]", "{unknown}", 2, RLO_UNSUPPORTED, "unknown"},
    {"f32[4]", "{devices=[2,2]<=[4] last_tile_dims={manual}}", 4, RLO_UNSUPPORTED, "manual"},
    {"f32[<=4]", "{replicated}", 2, RLO_UNSUPPORTED, "dimension 0 is dynamic"},
    {"f32[4]", "{boxes=[0:2][2:5]}", 2, RLO_INVALID_ARGUMENT, "ends at 5"},
    {"f32[4]", "{boxes=[0:2][2:3]}", 2, RLO_INVALID_ARGUMENT, "3 of the arr"},
    {"f32[4]", "{boxes=[0:3][2:4]}", 2, RLO_INVALID_ARGUMENT, "0 and 1 overl"},
    {"f32[4,4]", "{boxes=[0:4,0:2][2:4,1:4][0:2,2:4]}", 3, RLO_INVALID_ARGUMENT, "overlap"},
};

RLO_TABLE_TEST(test_sharding__misfits_are_named, misfits) {
  rlo_shape shape = parse_shape(misfits[_i].shape);
  rlo_sharding *sharding = parse(misfits[_i].sharding);
  ck_assert_int_eq(rlo_sharding_validate(sharding, &shape, misfits[_i].num_devices),
                   misfits[_i].status);
  ck_assert_msg(strstr(rlo_error_last()->message, misfits[_i].words) != NULL, "%s",
                rlo_error_last()->message);
  rlo_sharding_release(sharding);
}

/* The shape of what device 1 holds. */
static const struct {
  const char *shape;
  const char *sharding;
  const char *shard;
} shards[] = {
    {"f32[10,4]{0,1:T(2,2)}", "{devices=[4,1]<=[4]}", "f32[3,4]{0,1:T(2,2)}"},
    {"f32[10,4]{1,0:pad(12,8)fill(zero)}", "{devices=[4,2]<=[8]}",
     "f32[3,2]{1,0:pad(3,4)fill(zero)}"},
    {"f32[10,4]{1,0:pad(12,8)fill(zero)}", "{replicated}", "f32[10,4]{1,0:pad(12,8)fill(zero)}"},
    {"f32[10,4]{1,0:pad(10,8)}", "{boxes=[0:5,0:4][5:10,0:4]}", ""},
    {"f32[4]{:strides(2)}", "{devices=[2]<=[2]}", ""},
};

RLO_TABLE_TEST(test_sharding__shapes_of_shards, shards) {
  rlo_shape shape = parse_shape(shards[_i].shape);
  rlo_sharding *sharding = parse(shards[_i].sharding);
  rlo_shape shard;
  rlo_status status = rlo_sharding_get_shard_shape(sharding, &shape, 1, &shard);
  if (shards[_i].shard[0] == '\0') {
    ck_assert_int_eq(status, RLO_UNSUPPORTED);
  } else {
    char text[128];
    ck_assert_int_eq(status, RLO_OK);
    rlo_shape_format(&shard, text, sizeof text);
    ck_assert_str_eq(text, shards[_i].shard);
  }
  rlo_sharding_release(sharding);
}

/* The boxes of each grid are the array, each element once, and the inverse of
 * the list of devices is right: for sizes and grids drawn at random. */
RLO_TEST(test_sharding__tiles_are_the_whole_array_and_disjoint) {
  srandom(13);
  for (int round = 0; round < 200; ++round) {
    rlo_sharding_tiles tiles = {.rank = 2, .num_subgroups = 1};
    tiles.counts[0] = 1 + random() % 5;
    tiles.counts[1] = 1 + random() % 5;
    tiles.subgroups[0] = (rlo_sharding_subgroup){RLO_SHARDING_REPLICATED, 2};
    int64_t cells = tiles.counts[0] * tiles.counts[1] * 2;
    int64_t devices[64];
    for (int64_t k = 0; k < cells; ++k) {
      int64_t other = random() % (k + 1);
      devices[k] = devices[other];
      devices[other] = k;
    }
    tiles.devices = devices;
    rlo_sharding *sharding;
    ck_assert_int_eq(rlo_sharding_make_tiled(&tiles, &sharding), RLO_OK);
    const int64_t dims[2] = {random() % 9, random() % 9};
    rlo_shape shape;
    ck_assert_int_eq(rlo_shape_make(RLO_DTYPE_U8, dims, 2, &shape), RLO_OK);
    int counts[9][9] = {{0}};
    for (int64_t device = 0; device < cells; ++device) {
      rlo_box box;
      ck_assert_int_eq(rlo_sharding_get_box(sharding, &shape, device, &box), RLO_OK);
      for (int64_t i = box.start[0]; i < box.limit[0]; ++i) {
        for (int64_t j = box.start[1]; j < box.limit[1]; ++j) {
          ++counts[i][j];
        }
      }
    }
    for (int64_t i = 0; i < 9; ++i) {
      for (int64_t j = 0; j < 9; ++j) {
        ck_assert_int_eq(counts[i][j], i < dims[0] && j < dims[1] ? 2 : 0);
      }
    }
    rlo_sharding_release(sharding);
  }
}

static void expect_no_grid(const rlo_sharding_tiles *tiles, rlo_status status,
                           const char *message) {
  rlo_sharding *sharding;
  expect_refusal(rlo_sharding_make_tiled(tiles, &sharding), status, message);
  ck_assert_ptr_null(sharding);
}

RLO_TEST(test_sharding__kinds_with_parameters_are_not_made_without) {
  static const int kinds[] = {RLO_SHARDING_MAXIMAL, RLO_SHARDING_TILED, RLO_SHARDING_BOXES, 99};
  for (size_t n = 0; n < sizeof kinds / sizeof kinds[0]; ++n) {
    rlo_sharding *sharding;
    ck_assert_int_eq(rlo_sharding_make((rlo_sharding_kind)kinds[n], &sharding),
                     RLO_INVALID_ARGUMENT);
    ck_assert_ptr_null(sharding);
  }
}

RLO_TEST(test_sharding__grids_out_of_their_limits_are_refused) {
  rlo_sharding_tiles tiles = {.rank = 1, .counts = {4}, .num_subgroups = -1};
  expect_no_grid(&tiles, RLO_UNSUPPORTED, "-1 subgroups are outside 0..4");
  tiles.num_subgroups = 5;
  expect_no_grid(&tiles, RLO_UNSUPPORTED, "5 subgroups are outside 0..4");
  tiles.num_subgroups = 0;
  expect_no_grid(&tiles, RLO_INVALID_ARGUMENT, "'tiles->devices' is NULL, but its length is 4");
  tiles.iota_rank = RLO_SHARDING_MAX_IOTA_RANK + 1;
  expect_no_grid(&tiles, RLO_UNSUPPORTED, "iota of rank 37, and at most 36 is possible");
  tiles.iota_rank = 2;
  tiles.iota_permutation[1] = 1;
  tiles.iota_dims[0] = 4;
  expect_no_grid(&tiles, RLO_INVALID_ARGUMENT,
                 "dimension 1 of iota is 0, and at least 1 is needed");
}

RLO_TEST(test_sharding__boxes_out_of_their_limits_are_refused) {
  rlo_sharding *sharding;
  rlo_box box = {.rank = -1};
  expect_refusal(rlo_sharding_make_boxes(NULL, 0, &sharding), RLO_INVALID_ARGUMENT,
                 "0 boxes, and at least 1 is needed");
  expect_refusal(rlo_sharding_make_boxes(&box, RLO_SHARDING_MAX_DEVICES + 1, &sharding),
                 RLO_UNSUPPORTED, "1048577 boxes, and at most 1048576 are possible");
  expect_refusal(rlo_sharding_make_boxes(&box, 1, &sharding), RLO_INVALID_ARGUMENT,
                 "box 0 has rank -1, the first one -1, and 0..32 is possible");
  box.rank = RLO_MAX_RANK + 1;
  expect_refusal(rlo_sharding_make_boxes(&box, 1, &sharding), RLO_INVALID_ARGUMENT,
                 "box 0 has rank 33, the first one 33, and 0..32 is possible");
  box = (rlo_box){.rank = 1, .start = {-1}};
  expect_refusal(rlo_sharding_make_boxes(&box, 1, &sharding), RLO_INVALID_ARGUMENT,
                 "box 0 is -1:0 in dimension 0; 0 <= start <= limit is needed");
}

RLO_TEST(test_sharding__more_devices_than_there_may_be_are_not_read) {
  static char text[2 * (RLO_SHARDING_MAX_DEVICES + 1) + 32] = "{devices=[2]";
  size_t at = strlen(text);
  for (int k = 0; k <= RLO_SHARDING_MAX_DEVICES; ++k) {
    text[at++] = '0';
    text[at++] = ',';
  }
  rlo_sharding *sharding;
  expect_refusal(rlo_sharding_parse(text, at, &sharding), RLO_UNSUPPORTED,
                 "position 2097164: more than 1048576 devices");
}

RLO_TEST(test_sharding__only_devices_that_are_there_have_boxes) {
  rlo_shape shape = parse_shape("f32[4]");
  rlo_sharding *sharding = parse("{devices=[2]<=[2]}");
  rlo_box box;
  expect_refusal(rlo_sharding_get_box(sharding, &shape, -1, &box), RLO_OUT_OF_RANGE,
                 "device -1 is outside 0..1");
  expect_refusal(rlo_sharding_get_box(sharding, &shape, 2, &box), RLO_OUT_OF_RANGE,
                 "device 2 is outside 0..1");
  rlo_sharding_release(sharding);
}

/* One device's box begins where the other's does, and ends elsewhere: both
 * hold nothing else but the first. */
RLO_TEST(test_sharding__boxes_with_one_corner_overlap) {
  rlo_shape shape = parse_shape("f32[4,2]");
  rlo_sharding *sharding = parse("{boxes=[0:4,0:2][0:4,0:1]}");
  ck_assert_int_eq(rlo_sharding_validate(sharding, &shape, 2), RLO_INVALID_ARGUMENT);
  rlo_sharding_release(sharding);
}
