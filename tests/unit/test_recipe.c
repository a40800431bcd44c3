/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/str.h"
#include "relayout/recipe.h"
#include "relayout/text.h"
#include "relayout/xla/shape_util.h"
#include "support/expect.h"
#include "support/suite.h"

RLO_TIMEOUT(20);

enum { MAX_MEMBERS = 16, MAX_BYTES = 256 };

/* Members "NAME SHAPE NAME SHAPE ...": their bytes are the numbers from 0 on, each
 * member's after those of the one before. */
static rlo_shape shapes[MAX_MEMBERS];
static rlo_recipe_member members[MAX_MEMBERS];
static uint8_t bytes[MAX_MEMBERS][MAX_BYTES];
static char words[4096];

static int64_t physical_bytes(const rlo_shape *shape) {
  int64_t size = 0;
  expect_ok(rlo_shape_array_size(shape, &size));
  ck_assert_int_le(size, MAX_BYTES);
  return size;
}

static int64_t make_members(const char *text) {
  int64_t count = 0;
  uint8_t next = 0;
  char *rest = NULL;
  snprintf(words, sizeof(words), "%s", text);
  for (char *name = strtok_r(words, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
    const char *shape = strtok_r(NULL, " ", &rest);
    expect_ok(rlo_shape_parse(shape, RLO_TEXT_TERMINATED, &shapes[count]));
    const int64_t size = physical_bytes(&shapes[count]);
    for (int64_t n = 0; n < size; ++n) {
      bytes[count][n] = next++;
    }
    members[count] = (rlo_recipe_member){.name = name, .shape = &shapes[count]};
    ++count;
  }
  return count;
}

/* "RULE NAME SHAPE: BYTES", a line for each result; 255 is a byte that nobody wrote. */
static void write_results(const rlo_recipe_results *results, rlo__str *out) {
  for (int64_t n = 0; n < rlo_recipe_results_count(results); ++n) {
    const rlo_recipe_result *r = rlo_recipe_results_get(results, n);
    const void *operands[MAX_MEMBERS];
    uint8_t made[MAX_BYTES];
    char shape[256];
    rlo_problem_list *problems = NULL;
    memset(made, 255, sizeof(made));
    for (int32_t k = 0; k < r->num_members; ++k) {
      operands[k] = bytes[r->members[k]];
    }
    expect_ok(rlo_recipe_results_lower(results, n, NULL, NULL, &problems));
    expect_ok(rlo_problem_list_run_host(problems, operands, made));
    rlo_problem_list_release(problems);
    rlo_shape_format(r->shape, shape, sizeof(shape));
    rlo__str_printf(out, "%d %s %s:", r->rule, r->name, shape);
    for (int64_t b = 0; b < physical_bytes(r->shape); ++b) {
      rlo__str_printf(out, " %d", made[b]);
    }
    rlo__str_append(out, "\n");
  }
}

static rlo_status apply(const char *text, int64_t count, rlo_recipe **recipe,
                        rlo_recipe_results **results) {
  *recipe = NULL;
  *results = NULL;
  const int64_t device = strstr(text, "shard ") == NULL ? -1 : 1;
  const rlo_status status = rlo_recipe_parse(text, strlen(text), device, recipe);
  return status == RLO_OK ? rlo_recipe_apply(*recipe, members, count, results) : status;
}

/* The bytes of results are worked out by hand. */
static const struct {
  const char *recipe, *members, *results;
} cases[] = {
    /* No rule: copies, layouts and all. */
    {"{'rules':[]}", "b u8[2,2]{0,1} a u8[2]", "0 b u8[2,2]{0,1}: 0 1 2 3\n0 a u8[2]{0}: 4 5\n"},
    {"{'rules':[{'from':'a'}],'rest':'drop'}", "b u8[2] a u8[2]", "1 a u8[2]{0}: 2 3\n"},
    /* What has the layout already is a copy. */
    {"{'rules':[{'from':'*','ops':['layout {0,1}']}]}", "a u8[2,3] b u8[2,3]{0,1}",
     "1 a u8[2,3]{0,1}: 0 3 1 4 2 5\n1 b u8[2,3]{0,1}: 6 7 8 9 10 11\n"},
    /* Square weights: what is transposed and what is not. */
    {"{'rules':[{'from':'*.{k,v}','ops':['perm 1,0']}]}", "a.q u8[2,2] a.k u8[2,2] a.v u8[2,2]",
     "0 a.q u8[2,2]{1,0}: 0 1 2 3\n1 a.k u8[2,2]{1,0}: 4 6 5 7\n1 a.v u8[2,2]{1,0}: 8 10 9 11\n"},
    /* Groups are joined in their order; stars keep results apart. */
    {"{'rules':[{'from':'*.{q,k,v}.w','to':'*.qkv','ops':['concat 0']}]}",
     "0.k.w u8[1,2] 0.v.w u8[1,2] 1.q.w u8[1] 1.k.w u8[1] 1.v.w u8[2] 0.q.w u8[2,2]",
     "1 1.qkv u8[4]{0}: 4 5 6 7\n1 0.qkv u8[4,2]{1,0}: 8 9 10 11 0 1 2 3\n"},
    /* Renaming keeps groups apart. */
    {"{'rules':[{'from':'*.{q,k}','to':'{query,key}.*'}]}", "m.q u8[1] m.k u8[1]",
     "1 query.m u8[1]{0}: 0\n1 key.m u8[1]{0}: 1\n"},
    /* Experts, sorted by number. */
    {"{'rules':[{'from':'l.*.e.*.w','to':'l.*.e.w','ops':['perm 1,0','stack 0']}]}",
     "l.7.e.1.w u8[1,2] l.7.e.0.w u8[1,2] l.8.e.0.w u8[1,1]",
     "1 l.7.e.w u8[2,2,1]{2,1,0}: 2 3 0 1\n1 l.8.e.w u8[1,1,1]{2,1,0}: 4\n"},
    /* Ten follows nine. */
    {"{'rules':[{'from':'*','to':'e','ops':['concat -1']}]}",
     "0 u8[1] 1 u8[1] 10 u8[1] 2 u8[1] 3 u8[1] 4 u8[1] 5 u8[1] 6 u8[1] 7 u8[1] 8 u8[1] 9 u8[1]",
     "1 e u8[11]{0}: 0 1 3 4 5 6 7 8 9 10 2\n"},
    /* Mixtral: the experts of w1 and w3 merged, then side by side. */
    {"{'rules':[{'from':'*.e.*.w{1,3}','to':'*.gate_up','ops':['stack 0','concat 1']}]}",
     "m.e.0.w1 u8[1,2] m.e.0.w3 u8[1,2] m.e.1.w1 u8[1,2] m.e.1.w3 u8[1,2]",
     "1 m.gate_up u8[2,2,2]{2,1,0}: 0 1 2 3 4 5 6 7\n"},
    /* gpt-oss: gate and up interleaved, transposed. */
    {"{'rules':[{'from':'*.e.*.{gate,up}','to':'*.gate_up',"
     "'ops':['stack 0','stack 2','reshape 2,4,3','perm 0,2,1']}]}",
     "m.e.0.gate u8[2,3] m.e.0.up u8[2,3] m.e.1.gate u8[2,3] m.e.1.up u8[2,3]",
     "1 m.gate_up u8[2,3,4]{2,1,0}: 0 6 3 9 1 7 4 10 2 8 5 11 12 18 15 21 13 19 16 22 14 20 17 "
     "23\n"},
    /* Fused qkv apart, and the parts changed. */
    {"{'rules':[{'from':'*.qkv','to':'*.{q,k,v}','ops':['split 0','perm 1,0']}]}", "m.qkv u8[6,2]",
     "1 m.q u8[2,2]{1,0}: 0 2 1 3\n1 m.k u8[2,2]{1,0}: 4 6 5 7\n1 m.v u8[2,2]{1,0}: 8 10 9 11\n"},
    {"{'rules':[{'from':'qkv','to':'{q,kv}','ops':['split -1 1,2']}]}", "qkv u8[2,3]",
     "1 q u8[2,1]{1,0}: 0 3\n1 kv u8[2,2]{1,0}: 1 2 4 5\n"},
    {"{'rules':[{'from':'a','ops':['slice 1:,0:1','pad 0:0,1:0','cast u16']}]}", "a u8[3,2]",
     "1 a u16[2,2]{1,0}: 0 0 2 0 0 0 4 0\n"},
    {"{'rules':[{'from':'a','ops':['reshape -1','layout {0:T(4)}']}]}", "a u8[2,3]",
     "1 a u8[6]{0:T(4)}: 0 1 2 3 4 5 255 255\n"},
    /* What device 1 holds: the rest, all of it, and nothing. */
    {"{'rules':[{'from':'a','ops':['perm 1,0','shard {devices=[2,1]0,1}','layout {0,1}']},"
     "{'from':'b','ops':['shard {replicated}']}],'rest':{'ops':['shard {maximal device=0}']}}",
     "a u8[2,3] b u8[2] c u8[1]", "1 a u8[1,2]{0,1}: 2 5\n2 b u8[2]{0}: 6 7\n0 c u8[0]{0}:\n"},
    /* What no rule takes, changed too. */
    {"{'rules':[{'from':'p'}],'rest':{'ops':['cast f32']}}", "p s8[2] w f16[1] v f32[1]",
     "1 p s8[2]{0}: 0 1\n0 w f32[1]{0}: 0 128 64 56\n0 v f32[1]{0}: 4 5 6 7\n"},
    /* A star takes dots, and as little as it can. */
    {"{'rules':[{'from':'*.*.w','to':'*/*'}]}", "a.b.c.w u8[1] ww u8[1]",
     "1 a/b.c u8[1]{0}: 0\n0 ww u8[1]{0}: 1\n"},
};

/* JSON with ' for ". */
static const char *quoted(const char *text) {
  static char out[4096];
  snprintf(out, sizeof(out), "%s", text);
  for (char *c = out; *c != '\0'; ++c) {
    *c = (char)(*c == '\'' ? '"' : *c);
  }
  return out;
}

RLO_TABLE_TEST(test_recipe__results_are_what_the_rules_say, cases) {
  rlo_recipe *recipe = NULL;
  rlo_recipe_results *results = NULL;
  rlo__str text = rlo__str_growing();
  expect_ok(apply(quoted(cases[_i].recipe), make_members(cases[_i].members), &recipe, &results));
  write_results(results, &text);
  ck_assert_str_eq(rlo__str_text(&text), cases[_i].results);
  rlo__str_deinit(&text);
  rlo_recipe_results_release(results);
  rlo_recipe_release(recipe);
}

static const struct {
  const char *recipe, *members;
  rlo_status status;
  const char *part;
} refusals[] = {
    {"{'rules':[}", "", RLO_PARSE, "the recipe, line 1, column 11: "},
    {"{'rules':{}}", "", RLO_PARSE, "a recipe is {\"rules\": ["},
    {"[]", "", RLO_PARSE, "a recipe is {\"rules\": ["},
    {"{'rules':[],'align':64}", "", RLO_PARSE, "there is no key 'align'"},
    {"{'rules':[],'Rest':'drop'}", "", RLO_PARSE, "there is no key 'Rest'; did you mean 'rest'?"},
    {"{'rules':[],'rules':[]}", "", RLO_PARSE, "duplicate object key"},
    {"{'rules':[],'rest':'keep'}", "", RLO_PARSE, "and not \"keep\""},
    {"{'rules':[],'rest':1}", "", RLO_PARSE,
     "the rest: \"from\" and \"to\" are texts, and \"ops\" is a list (a right rule is {\"ops\""},
    {"{'rules':[],'rest':{}}", "", RLO_PARSE, "\"ops\" is a list"},
    {"{'rules':[],'rest':{'from':'*','ops':[]}}", "", RLO_PARSE,
     "the rest: there is no key 'from' (a right"},
    {"{'rules':[],'rest':{'ops':['stack 0']}}", "", RLO_PARSE,
     "the rest: '*' to '*' needs 0 of concat and stack, and 0 of split, and its \"ops\" have 1"},
    {"{'rules':[],'rest':{'ops':['cast bf16']}}", "p s64[4]", RLO_INVALID_ARGUMENT,
     "the rest, result 'p', cast bf16: a member of the rest is s64, which is cast"},
    {"{'rules':[3]}", "", RLO_PARSE,
     "rule 1: \"from\" and \"to\" are texts, and \"ops\" is a list (a right rule is {\"from\""},
    {"{'rules':[{'from':'a'},{'form':'a'}]}", "", RLO_PARSE,
     "rule 2: there is no key 'form'; did you mean 'from'? (a right"},
    {"{'rules':[{'from':'a','op':['perm 1,0']}]}", "", RLO_PARSE,
     "rule 1: there is no key 'op'; did you mean 'ops'?"},
    {"{'rules':[{'to':'a'}]}", "", RLO_PARSE, "rule 1: \"from\" and \"to\" are texts"},
    {"{'rules':[{'from':'a','to':1}]}", "", RLO_PARSE, "rule 1: \"from\" and \"to\" are texts"},
    {"{'rules':[{'from':''}]}", "a u8[1]", RLO_NOT_FOUND, "rule 1 takes no member"},
    {"{'rules':[{'from':'a{b'}]}", "", RLO_PARSE, "rule 1: 'a{b': a group is written {q,k,v}"},
    {"{'rules':[{'from':'a{b*}'}]}", "", RLO_PARSE, "a group is written"},
    {"{'rules':[{'from':'ab}'}]}", "", RLO_PARSE, "rule 1: 'ab}': a group is written"},
    {"{'rules':[{'from':'*********'}]}", "", RLO_UNSUPPORTED,
     "rule 1: '*********' has more than 8 stars"},
    {"{'rules':[{'from':'{a}{b}'}]}", "", RLO_PARSE, "there is one"},
    {"{'rules':[{'from':'a{}'}]}", "", RLO_PARSE, "a group is written"},
    {"{'rules':[{'from':'*','to':'**'}]}", "", RLO_PARSE,
     "rule 1: '*' has 1 stars and a group of 1, and '**' 2 and 1: \"to\" has"},
    {"{'rules':[{'from':'{a,b}','to':'{a,b,c}'}]}", "", RLO_PARSE,
     "as many texts where both have a group"},
    {"{'rules':[{'from':'{a,b}','to':'c'}]}", "", RLO_PARSE,
     "rule 1: '{a,b}' to 'c' needs 1 of concat and stack, and 0 of split, and its \"ops\" have 0"},
    {"{'rules':[{'from':'a','ops':['concat 0']}]}", "", RLO_PARSE, "'a' to 'a' needs 0 of concat"},
    {"{'rules':[{'from':'a','to':'{b,c}'}]}", "", RLO_PARSE,
     "and 1 of split, and its \"ops\" have 0 and 0"},
    {"{'rules':[{'from':'a','ops':['layout {0}','cast u8']}]}", "", RLO_PARSE,
     "rule 1: a layout is the last operation"},
    {"{'rules':[{'from':'a','ops':'cast u8'}]}", "", RLO_PARSE, "and \"ops\" is a list"},
    {"{'rules':[{'from':'a','ops':[1]}]}", "", RLO_PARSE, "rule 1: operation '' is none of perm"},
    {"{'rules':[{'from':'a','ops':['turn 1']}]}", "", RLO_PARSE,
     "rule 1: operation 'turn 1' is none of perm, reshape"},
    {"{'rules':[{'from':'a','ops':['perm 1;0']}]}", "", RLO_PARSE,
     "rule 1: operation 'perm 1;0' is not right; a right one is \"perm 1,0\""},
    {"{'rules':[{'from':'a','ops':['perm']}]}", "", RLO_PARSE,
     "operation 'perm' is none of perm, reshape, concat, stack, split, slice, pad, shard, cast "
     "and layout, with arguments"},
    {"{'rules':[{'from':'a','ops':['shard [2]']}]}", "", RLO_PARSE, "\"shard {devices=[2,1]0,1}\""},
    {"{'rules':[{'from':'a','ops':['shard {replicated}','perm 0']}]}", "", RLO_PARSE,
     "and a shard the last but for it and casts"},
    {"{'rules':[{'from':'a','ops':['shard {devices=[2']}]}", "a u8[2]", RLO_PARSE,
     "rule 1, result 'a', shard {devices=[2: "},
    {"{'rules':[{'from':'a','ops':['shard {devices=[2,1]0,1}']}]}", "a u8[2]", RLO_INVALID_ARGUMENT,
     "the sharding is for arrays of rank 2, the shape has rank 1"},
    {"{'rules':[{'from':'a','ops':['shard {devices=[1]0}']}]}", "a u8[2]", RLO_OUT_OF_RANGE,
     "device 1 is outside 0..0"},
    {"{'rules':[{'from':'a','ops':['shard {unreduced}']}]}", "a u8[2]", RLO_UNSUPPORTED,
     "devices hold summands"},
    {"{'rules':[{'from':'a','ops':['shard {devices=[2,2]<=[4] last_tile_dims={unreduced}}']}]}",
     "a u8[2]", RLO_UNSUPPORTED, "devices hold summands"},
    {"{'rules':[{'from':'a','ops':['perm 1,']}]}", "", RLO_PARSE, "a right one is \"perm 1,0\""},
    {"{'rules':[{'from':'a','ops':['reshape 99999999999999999999']}]}", "", RLO_PARSE,
     "a right one is \"reshape 2,-1,64\""},
    {"{'rules':[{'from':'a','ops':['slice 1']}]}", "", RLO_PARSE, "\"slice 0:4,2:\""},
    {"{'rules':[{'from':'a','ops':['slice 0:1:2:3']}]}", "", RLO_PARSE, "\"slice 0:4,2:\""},
    {"{'rules':[{'from':'a','ops':['pad 1']}]}", "", RLO_PARSE, "\"pad 0:3,1:2\""},
    {"{'rules':[{'from':'a','ops':['cast f33']}]}", "", RLO_PARSE, "\"cast bf16\""},
    {"{'rules':[{'from':'a','ops':['layout 0,1']}]}", "", RLO_PARSE, "\"layout {0,1}\""},
    {"{'rules':[{'from':'{a,b}','to':'c','ops':['stack x']}]}", "", RLO_PARSE, "\"stack 0\""},
    {"{'rules':[{'from':'a'},{'from':'*.w'}]}", "a u8[1]", RLO_NOT_FOUND,
     "rule 2 takes no member: none of 1 matches '*.w'"},
    {"{'rules':[{'from':'*.w'},{'from':'a*'}]}", "a.w u8[1]", RLO_ALREADY_EXISTS,
     "member 'a.w' is taken twice, by rule 1 and by rule 2"},
    {"{'rules':[{'from':'a','to':'c'},{'from':'b','to':'c'}]}", "a u8[1] b u8[1]",
     RLO_ALREADY_EXISTS, "'c' is made of 'a' by rule 1, and of 'b' by rule 2"},
    {"{'rules':[{'from':'a','to':'b'}]}", "a u8[1] b u8[1]", RLO_ALREADY_EXISTS,
     "'b' is made of 'a' by rule 1, and of 'b' by the rest"},
    {"{'rules':[{'from':'{a,b}','to':'{c,c}'}]}", "a u8[1] b u8[1]", RLO_ALREADY_EXISTS,
     "'c' is made of 'a' by rule 1, and of 'b' by rule 1"},
    {"{'rules':[{'from':'a'}],'rest':'refuse'}", "a u8[1] b u8[1]", RLO_INVALID_ARGUMENT,
     "no rule takes member 'b'"},
    {"{'rules':[{'from':'*.{q,k,v}','to':'*','ops':['concat 0']}]}", "a.q u8[1] a.v u8[1]",
     RLO_NOT_FOUND, "rule 1, result 'a': of '*.{q,k,v}' text 2 of 3, number 0 is missing"},
    {"{'rules':[{'from':'e.*','to':'e','ops':['stack 0']}]}", "e.0 u8[1] e.2 u8[1]", RLO_NOT_FOUND,
     "rule 1, result 'e': of 'e.*' text 1 of 1, number 1 is missing"},
    {"{'rules':[{'from':'e.*','to':'e','ops':['stack 0']}]}", "e.0 u8[1] e.00 u8[1]",
     RLO_ALREADY_EXISTS, "'e' is made of 'e.0"},
    {"{'rules':[{'from':'e.*','to':'e','ops':['stack 0']}]}", "e.x u8[1]", RLO_INVALID_ARGUMENT,
     "rule 1: the last star of 'e.*' joins numbers, and in 'e.x' it is 'x'"},
    {"{'rules':[{'from':'e.*.{a,b}','to':'e','ops':['stack 0','stack 0']}]}",
     "e.0.a u8[1] e.1.a u8[1] e.0.b u8[1]", RLO_NOT_FOUND, "text 2 of 2, number 1 is missing"},
    {"{'rules':[{'from':'a','ops':['perm 1,0']}]}", "a u8[1]", RLO_INVALID_ARGUMENT,
     "rule 1, result 'a', perm 1,0: 2 dimensions, and the array has 1"},
    {"{'rules':[{'from':'a','ops':['perm 7,0']}]}", "a u8[1,2]", RLO_INVALID_ARGUMENT,
     "rule 1, result 'a', perm 7,0: "},
    {"{'rules':[{'from':'a','ops':['pad 0:1,0:1']}]}", "a u8[1]", RLO_INVALID_ARGUMENT,
     "pad 0:1,0:1: 2 dimensions, and the array has 1"},
    {"{'rules':[{'from':'a','to':'{b,c}','ops':['split 0']}]}", "a u8[3]", RLO_INVALID_ARGUMENT,
     "result 'b', split 0: this does not make 2 parts of dimension 0"},
    {"{'rules':[{'from':'a','to':'{b,c}','ops':['split 0 1,1,1']}]}", "a u8[3]",
     RLO_INVALID_ARGUMENT, "split 0 1,1,1: this does not make 2 parts"},
    {"{'rules':[{'from':'{a,b}','to':'c','ops':['concat 0']}]}", "a u8[3] b u16[3]",
     RLO_INVALID_ARGUMENT, "rule 1, result 'c', concat 0: "},
    {"{'rules':[{'from':'a','ops':['layout {1,0}']}]}", "a u8[3]", RLO_INVALID_ARGUMENT,
     "rule 1, result 'a'"},
    {"{'rules':[]}", "a u8[1] a u8[1]", RLO_ALREADY_EXISTS, "'a' is made of 'a' by the rest"},
};

RLO_TABLE_TEST(test_recipe__what_is_wrong_is_refused, refusals) {
  rlo_recipe *recipe = NULL;
  rlo_recipe_results *results = NULL;
  const int64_t live = rlo__alloc_live_count();
  expect_refusal_with(
      apply(quoted(refusals[_i].recipe), make_members(refusals[_i].members), &recipe, &results),
      refusals[_i].status, refusals[_i].part);
  ck_assert_ptr_null(results);
  rlo_recipe_release(recipe);
  ck_assert_int_eq(rlo__alloc_live_count(), live);
}

RLO_TABLE_TEST(test_recipe__nothing_is_lost_without_memory, cases) {
  const int64_t count = make_members(cases[_i].members);
  const int64_t live = rlo__alloc_live_count();
  rlo_status status = RLO_OUT_OF_MEMORY;
  for (int64_t nth = 1; status != RLO_OK; ++nth) {
    rlo_recipe *recipe = NULL;
    rlo_recipe_results *results = NULL;
    rlo__alloc_set_fault(nth, false);
    status = apply(quoted(cases[_i].recipe), count, &recipe, &results);
    rlo__alloc_set_fault(0, false);
    ck_assert(status == RLO_OK || (status == RLO_OUT_OF_MEMORY && results == NULL));
    rlo_recipe_results_release(results);
    rlo_recipe_release(recipe);
    ck_assert_int_eq(rlo__alloc_live_count(), live);
  }
}

/* Applies a recipe to what it has made. */
RLO_TABLE_TEST(test_recipe__twice_is_once, cases) {
  rlo_recipe *recipe = NULL;
  rlo_recipe_results *once = NULL;
  rlo_recipe_results *twice = NULL;
  rlo_recipe_member made[MAX_MEMBERS];
  expect_ok(apply(quoted(cases[_i].recipe), make_members(cases[_i].members), &recipe, &once));
  const int64_t count = rlo_recipe_results_count(once);
  for (int64_t n = 0; n < count; ++n) {
    const rlo_recipe_result *r = rlo_recipe_results_get(once, n);
    made[n] = (rlo_recipe_member){r->name, r->shape, r->made_by, r->sharding};
  }
  expect_ok(rlo_recipe_apply(recipe, made, count, &twice));
  ck_assert_int_eq(rlo_recipe_results_count(twice), count);
  for (int64_t n = 0; n < count; ++n) {
    const rlo_recipe_result *r = rlo_recipe_results_get(twice, n);
    ck_assert(r->is_copy && r->made_by == made[n].made_by && r->members[0] == n);
    ck_assert_str_eq(r->name, made[n].name);
    ck_assert_ptr_eq(r->shape, made[n].shape);
  }
  rlo_recipe_results_release(twice);
  rlo_recipe_results_release(once);
  rlo_recipe_release(recipe);
}

/* Which members are copied, "c", and which are made, "m", by what has made them; what the
 * results say. */
static const struct {
  const char *recipe, *made_by[2], *kinds, *says[2];
} marks[] = {
    /* Square weights: what is transposed and what is not; a rule that takes more than it did. */
    {"{'rules':[{'from':'*','ops':['perm 1,0']}]}",
     {"[perm 1,0]", NULL},
     "cm",
     {"[perm 1,0]", "[perm 1,0]"}},
    /* A rule in between that gives names; and one of which the text is a part. */
    {"{'rules':[{'from':'*','ops':['perm 1,0']}]}",
     {"[perm 1,0][-> a]", "[perm 1,0; reshape -1]"},
     "cm",
     {"[perm 1,0][-> a]", "[perm 1,0]"}},
    /* A rule with `to` knows what it has made by any name, and no rule takes that again. */
    {"{'rules':[{'from':'b','to':'c','ops':['perm 1,0']},{'from':'a','ops':['cast u16']}]}",
     {"[perm 1,0 -> c][-> a]", NULL},
     NULL,
     {NULL}},
    {"{'rules':[{'from':'x','to':'c'},{'from':'{a,b}','ops':['cast u16']}]}",
     {"[-> c]", "[-> d]"},
     "cm",
     {"[-> c]", "[-> d]"}},
    /* Without `to` the name counts as well. */
    {"{'rules':[{'from':'a','ops':['perm 1,0']}],'rest':{'ops':['cast u16']}}",
     {"[perm 1,0]", "[perm 1,0]"},
     "cm",
     {"[perm 1,0]", "[perm 1,0]"}},
    /* Undone: what moves elements, and a name, take the places of those before. */
    {"{'rules':[{'from':'*','to':'*','ops':['perm 1,0']}]}",
     {"[perm 1,0]", "[stack 0 -> x][-> y]"},
     "mm",
     {"[perm 1,0 -> *]", "[perm 1,0 -> *]"}},
    {"{'rules':[{'from':'*','ops':['perm 1,0']}]}",
     {"[perm 1,0 -> *]", "[stack 0 -> x][-> y]"},
     "mm",
     {"[perm 1,0]", "[-> y][perm 1,0]"}},
    {"{'rules':[{'from':'*','to':'*.b'}]}",
     {"[perm 1,0][-> y]", "[-> *.b][reshape -1]"},
     "mc",
     {"[perm 1,0][-> *.b]", "[-> *.b][reshape -1]"}},
};

RLO_TABLE_TEST(test_recipe__what_is_made_is_copied, marks) {
  rlo_recipe *recipe = NULL;
  rlo_recipe_results *results = NULL;
  const int64_t count = make_members("a u8[2,2] b u8[2,2]");
  members[0].made_by = marks[_i].made_by[0];
  members[1].made_by = marks[_i].made_by[1];
  if (marks[_i].kinds == NULL) {
    expect_refusal(apply(quoted(marks[_i].recipe), count, &recipe, &results), RLO_NOT_FOUND,
                   "rule 2 takes no member: none of 2 matches 'a'");
  } else {
    expect_ok(apply(quoted(marks[_i].recipe), count, &recipe, &results));
  }
  for (int64_t n = 0; n < rlo_recipe_results_count(results); ++n) {
    const rlo_recipe_result *r = rlo_recipe_results_get(results, n);
    ck_assert_int_eq(r->is_copy ? 'c' : 'm', marks[_i].kinds[n]);
    ck_assert_pstr_eq(r->made_by, marks[_i].says[n]);
  }
  rlo_recipe_results_release(results);
  rlo_recipe_release(recipe);
}

/* 100 rules, of which each takes 1,000 of 100,000 members, by the front or the back of
 * their names. */
RLO_TEST(test_recipe__many_rules_take_many_members) {
  enum { RULES = 100, EACH = 1000, NAME_BYTES = 40 };

  static char names[RULES * EACH][NAME_BYTES];
  static rlo_recipe_member many[RULES * EACH];
  rlo__str text = rlo__str_growing();
  rlo_recipe *recipe = NULL;
  rlo_recipe_results *results = NULL;
  expect_ok(rlo_shape_parse("u8[2]", RLO_TEXT_TERMINATED, &shapes[0]));
  rlo__str_append(&text, "{\"rules\":[");
  for (int32_t n = 0; n < RULES; ++n) {
    rlo__str_printf(&text, n % 2 == 0 ? "%s{\"from\":\"model.%d.*\"}" : "%s{\"from\":\"*.w%d\"}",
                    n > 0 ? "," : "", n);
    for (int32_t k = 0; k < EACH; ++k) {
      snprintf(names[n * EACH + k], NAME_BYTES, n % 2 == 0 ? "model.%d.%d.w" : "model.x%d.%d.w%d",
               n, k, n);
      many[n * EACH + k] = (rlo_recipe_member){.name = names[n * EACH + k], .shape = &shapes[0]};
    }
  }
  rlo__str_append(&text, "],\"rest\":\"refuse\"}");
  const clock_t begin = clock();
  expect_ok(rlo_recipe_parse(rlo__str_text(&text), text.length, -1, &recipe));
  expect_ok(rlo_recipe_apply(recipe, many, RULES * EACH, &results));
  ck_assert_int_lt((clock() - begin) / CLOCKS_PER_SEC, 30);
  ck_assert_int_eq(rlo_recipe_results_count(results), RULES * EACH);
  rlo_recipe_results_release(results);
  rlo_recipe_release(recipe);
  rlo__str_deinit(&text);
}

RLO_TEST(test_recipe__equal_shapes_are_one) {
  rlo_recipe *recipe = NULL;
  rlo_recipe_results *results = NULL;
  expect_ok(apply("{\"rules\":[],\"rest\":{\"ops\":[\"cast bf16\"]}}",
                  make_members("a f32[2] b f32[3] c f32[2]"), &recipe, &results));
  const rlo_shape *shape = rlo_recipe_results_get(results, 0)->shape;
  ck_assert_ptr_ne(shape, rlo_recipe_results_get(results, 1)->shape);
  ck_assert_ptr_eq(shape, rlo_recipe_results_get(results, 2)->shape);
  rlo_recipe_results_release(results);
  rlo_recipe_release(recipe);
}

RLO_TEST(test_recipe__a_box_of_a_result) {
  rlo_recipe *recipe = NULL;
  rlo_recipe_results *results = NULL;
  rlo_problem_list *problems = NULL;
  const int64_t begin[2] = {0, 1}, end[2] = {2, 3};
  const void *operands[] = {bytes[0], bytes[1]};
  uint8_t made[5] = {255, 255, 255, 255, 255};
  expect_ok(
      apply("{\"rules\":[{\"from\":\"{a,b}\",\"to\":\"c\",\"ops\":[\"stack 1\",\"reshape 2,4\"]}]}",
            make_members("a u8[2,2] b u8[2,2]"), &recipe, &results));
  expect_refusal(rlo_recipe_results_lower(results, 0, begin, NULL, &problems), RLO_INVALID_ARGUMENT,
                 "a box has no end");
  expect_ok(rlo_recipe_results_lower(results, 0, begin, end, &problems));
  expect_ok(rlo_problem_list_run_host(problems, operands, made));
  const uint8_t expected[5] = {bytes[0][1], bytes[1][0], bytes[0][3], bytes[1][2], 255};
  ck_assert_mem_eq(made, expected, sizeof(made));
  rlo_problem_list_release(problems);
  rlo_recipe_results_release(results);
  rlo_recipe_release(recipe);
}

RLO_TEST(test_recipe__results_are_numbered) {
  rlo_recipe *recipe = NULL;
  rlo_recipe_results *results = NULL;
  rlo_problem_list *problems = NULL;
  expect_ok(apply("{\"rules\":[]}", make_members("a u8[1]"), &recipe, &results));
  ck_assert_ptr_null(rlo_recipe_results_get(results, 1));
  ck_assert_ptr_null(rlo_recipe_results_get(results, -1));
  expect_refusal(rlo_recipe_results_lower(results, 1, NULL, NULL, &problems), RLO_OUT_OF_RANGE,
                 "result 1 of 1");
  rlo_recipe_results_release(results);
  expect_refusal(rlo_recipe_apply(recipe, members, -1, &results), RLO_INVALID_ARGUMENT,
                 "-1 members");
  rlo_recipe_release(recipe);
}
