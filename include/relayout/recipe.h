/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_RECIPE_H
#define RELAYOUT_RECIPE_H

#include "relayout/chain.h"
#include "relayout/shape.h"

RLO_BEGIN_DECLS

/*
 * Recipes: which members of a model's weights become which members of another file, by
 * which operations. A recipe is a text; it is applied to names and shapes, and gives
 * names, shapes and the problems that make the bytes. Nothing here reads or writes a
 * file, so that a recipe is checked as a whole before the first byte is written.
 *
 * These functions are in librelayout-safetensors (safetensors.h).
 *
 *   {"rules": [{"from": PATTERN, "to": NAME, "ops": [OPERATION, ...]}, ...],
 *    "rest": "copy"}
 *
 * from   In a pattern, * takes any characters, as few as possible, and {q,k,v} one of
 *        the texts. There is no other special character, and none of these three can
 *        be in a name that a pattern spells out.
 * to     The name of the result. The stars of `to` and its groups take the texts of
 *        those of `from`, in their order: {q,k} to {query,key} renames. Without `to`,
 *        each member is a result of the same name.
 *          - `to` without groups: the members of the groups of `from` are joined, in
 *            the order of the texts; the last group varies fastest.
 *          - `to` with one star less: the last star of `from` takes numbers, from 0 on
 *            and none missing, whose members are joined in their order.
 *          - `to` with groups, `from` without: the member is split into them.
 * ops    From left to right. "concat D" and "stack D" join: the numbers first, then
 *        the groups, so that a rule has as many of them as it joins. Those before a
 *        join are for each member.
 *          perm 1,0             transpose
 *          reshape 2,-1,64      one size may be -1
 *          concat 0, stack 0    along dimension 0; -1 is the last
 *          split 0              into equal parts; "split 0 512,64,64" by sizes
 *          slice 0:4,2:         begin:end of the first dimensions, as in Python
 *          pad 0:3,1:2          zeros before and after, for the first dimensions
 *          shard {devices=[2,1]0,1}   what a device holds, as rlo_sharding_parse takes the
 *                               sharding; behind it only a cast and a layout
 *          cast bf16
 *          layout {1,0:T(8,128)(2,1)}   the last one, as rlo_layout_parse takes it
 * rest   What becomes of members that no rule takes: "copy" (also without `rest`),
 *        "refuse", "drop", or {"ops": [OPERATION, ...]} for each of them. The rest is
 *        not cast from integers to a floating-point type: it is refused, and a rule of
 *        its own says what becomes of such a member.
 *
 * An operation sees the logical array of a member, whatever its layout. The result
 * is row-major unless the last operation is a layout.
 *
 * Twice is once. The shape of a transposed square matrix does not tell that it is one,
 * so metadata do, under the key RLO_RECIPE_KEY NAME: the operations that moved the
 * elements, and the `to` of the rule, and behind it the `to` of a later rule that only
 * gave another name, such as
 *
 *   [perm 1,0; concat 0 -> *.qkv][-> model.*.qkv]
 *
 * It tells of the bytes as they are: a rule that moves elements takes the place of the
 * one before, which thereby may be undone and done again. Casts and layouts are not in
 * it, which types and shapes tell.
 *
 * Who reads members gives these texts to rlo_recipe_apply (rlo_safetensors_member.made_by).
 * Who writes results writes the `made_by` of each, if it has one, and no other key that begins
 * so (rlo_safetensors_plan_options.made_by). Then a member that a
 * rule has made is copied by this rule: one with `to` has made each member that has its
 * text; one without, those that it takes by their names and that have it. A rule that finds
 * only what it has made is no error. `from` is no part of the text, so that a rule that is
 * changed to take more members does not convert the others again.
 *
 * Threads: a recipe and its results are only read.
 */

/** The longest recipe that is read, in bytes. */
#define RLO_RECIPE_MAX_BYTES 16777216
/** The most stars of a pattern. */
#define RLO_RECIPE_MAX_MARKS 8
/** Begins the keys of metadata that say by which operations members were made. */
#define RLO_RECIPE_KEY "relayout.made_by:"

typedef struct rlo_recipe rlo_recipe;

/**
 * Reads a recipe.
 *
 * @param text  `bytes` bytes of JSON in UTF-8; borrowed.
 * @param device  whose part each `shard` makes, from 0, or below 0 if there is none.
 *                Members of rules without one are whole.
 * @param out_recipe  owned by the caller; rlo_recipe_release frees it. NULL on failure.
 * @return RLO_OK; RLO_PARSE for what is no recipe: the message has the line and column,
 *         or the number of the rule, counted from 1, and a right one; RLO_UNSUPPORTED
 *         beyond RLO_RECIPE_MAX_BYTES, RLO_RECIPE_MAX_MARKS or, for the texts of a
 *         rule's groups, RLO_CHAIN_MAX_PARTS; RLO_INVALID_ARGUMENT for a NULL, for a shard
 *         without a device, and for a device without a shard; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_recipe_parse(const char *text, size_t bytes, int64_t device,
                                                  rlo_recipe **out_recipe);

/** NULL is legal. */
RLO_API void rlo_recipe_release(rlo_recipe *recipe);

/** A member that a recipe is applied to. */
typedef struct rlo_recipe_member {
  const char *name;
  /** As it lies in its file, with its layout. */
  const rlo_shape *shape;
  /** The text of its file's metadata for RLO_RECIPE_KEY NAME; NULL: there is none. */
  const char *made_by;
  /** The sharding of which it is a device's part, as rlo_safetensors_member has it; NULL:
   *  it is whole. */
  const char *sharding;
} rlo_recipe_member;

/** What a recipe gives. */
typedef struct rlo_recipe_results rlo_recipe_results;

/** A member that is to be made. */
typedef struct rlo_recipe_result {
  const char *name;
  /** With its layout; that of a member itself, or owned by the results. */
  const rlo_shape *shape;
  /** The numbers of the members that it is made of: operand n of its problems is member
   *  members[n]. */
  const int64_t *members;
  int32_t num_members;
  /** The rule that makes it, or that has made it before, from 1; 0: it is of the rest. */
  int32_t rule;
  /** The part of a split that it is, from 0. */
  int32_t part;
  /** It is its one member as it is: of the rest, made before, or of the type and layout that
   *  it is cast to and laid out in. */
  bool is_copy;
  /** Its text for RLO_RECIPE_KEY, that of its member or owned by the results; NULL: none. */
  const char *made_by;
  /** Its text for RLO_SAFETENSORS_SHARDING_KEY NAME, borrowed; NULL: none. */
  const char *sharding;
} rlo_recipe_result;

/**
 * Applies a recipe: all rules, all names, all shapes and all problems are checked.
 *
 * @param recipe   borrowed, as the members are, until the results are released.
 * @param members  `count` of them.
 * @param out_results  in the order of their first members; owned by the caller;
 *                 rlo_recipe_results_release frees it. NULL on failure.
 * @return RLO_OK; RLO_NOT_FOUND for a rule that takes no member, and for members that
 *         are missing where a rule joins; RLO_ALREADY_EXISTS for a member that is taken
 *         twice, and two results of one name; RLO_INVALID_ARGUMENT for an operation that
 *         does not fit its array, a star that takes no number, a NULL, a negative count,
 *         and members of the rest if they are refused; the
 *         statuses of chain.h and ops.h; RLO_OUT_OF_MEMORY. The message names the rule,
 *         the result and the operation.
 */
RLO_API RLO_NODISCARD rlo_status rlo_recipe_apply(const rlo_recipe *recipe,
                                                  const rlo_recipe_member *members, int64_t count,
                                                  rlo_recipe_results **out_results);

/** NULL is legal. */
RLO_API void rlo_recipe_results_release(rlo_recipe_results *results);

/** Returns the number of results; 0 for NULL. */
RLO_API int64_t rlo_recipe_results_count(const rlo_recipe_results *results);

/** Returns result n, borrowed from the results; NULL for a number that is none. */
RLO_API const rlo_recipe_result *rlo_recipe_results_get(const rlo_recipe_results *results,
                                                        int64_t n);

/**
 * Makes the problems of a result: each byte of it is written by one of them, from where
 * it lies in a member, however many operations there are. They are not kept, because
 * a problem takes 36 KiB.
 *
 * @param begin, end  a box of the result, which the destination is then, with the layout of
 *                  the result: an index for each dimension, as rlo_chain_slice takes them,
 *                  borrowed. NULL: all of it.
 * @param out_problems  owned by the caller; rlo_problem_list_release frees it. NULL on
 *                  failure.
 * @return RLO_OK; RLO_OUT_OF_RANGE for a number that is none; RLO_INVALID_ARGUMENT for
 *         a NULL; what rlo_chain_slice returns; RLO_OUT_OF_MEMORY.
 */
RLO_API RLO_NODISCARD rlo_status rlo_recipe_results_lower(const rlo_recipe_results *results,
                                                          int64_t n, const int64_t *begin,
                                                          const int64_t *end,
                                                          rlo_problem_list **out_problems);

RLO_END_DECLS

#endif
