/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_ATTRIBUTES_H
#define RELAYOUT_ATTRIBUTES_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/** The type of an attribute's value: bits, so that a spec can allow several. */
typedef enum rlo_attribute_type {
  RLO_ATTRIBUTE_I64 = 1 << 0,
  RLO_ATTRIBUTE_I64S = 1 << 1,
  RLO_ATTRIBUTE_F64 = 1 << 2,
  RLO_ATTRIBUTE_BOOL = 1 << 3,
  RLO_ATTRIBUTE_STRING = 1 << 4,
  RLO_ATTRIBUTE_SHAPE = 1 << 5,
  RLO_ATTRIBUTE_F64S = 1 << 6,
  RLO_ATTRIBUTE_BOOLS = 1 << 7,
  RLO_ATTRIBUTE_STRINGS = 1 << 8,
  RLO_ATTRIBUTE_SHAPES = 1 << 9,
  /** Attributes within an attribute. */
  RLO_ATTRIBUTE_MAP = 1 << 10,
  /** An integer above INT64_MAX; all others are I64. */
  RLO_ATTRIBUTE_U64 = 1 << 11
} rlo_attribute_type;

/** How deep maps nest: a map in a map has the depth 2. */
#define RLO_MAX_ATTRIBUTE_DEPTH 8

/** Lists of values; `values` is NULL only for a count of 0. */
typedef struct rlo_i64_list {
  const int64_t *values;
  int32_t count;
} rlo_i64_list;

typedef struct rlo_f64_list {
  const double *values;
  int32_t count;
} rlo_f64_list;

typedef struct rlo_bool_list {
  const bool *values;
  int32_t count;
} rlo_bool_list;

/** No string of it is NULL. */
typedef struct rlo_string_list {
  const char *const *values;
  int32_t count;
} rlo_string_list;

typedef struct rlo_shape_list {
  const rlo_shape *values;
  int32_t count;
} rlo_shape_list;

/**
 * A named argument of a kernel that is not a tensor. Name, lists, strings,
 * shapes and maps are borrowed. The functions below make one of each type.
 */
typedef struct rlo_attribute {
  const char *name;
  rlo_attribute_type type;

  union {
    int64_t i64;
    uint64_t u64;
    double f64;
    bool boolean;
    const char *string;
    const rlo_shape *shape;
    rlo_i64_list i64s;
    rlo_f64_list f64s;
    rlo_bool_list bools;
    rlo_string_list strings;
    rlo_shape_list shapes;
    const struct rlo_attributes *map;
  } value;
} rlo_attribute;

/** The attributes of a call, in any order, each name once. Borrowed; where a
 *  function takes a pointer to attributes, NULL stands for none. */
typedef struct rlo_attributes {
  const rlo_attribute *items;
  int32_t count;
} rlo_attributes;

static inline rlo_attribute rlo_attribute_i64(const char *name, int64_t value) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_I64, {value}};
  return attribute;
}

/** I64 where the value is one. */
static inline rlo_attribute rlo_attribute_u64(const char *name,
                                              uint64_t value) {
  if (value <= INT64_MAX) {
    return rlo_attribute_i64(name, (int64_t)value);
  }
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_U64, {0}};
  attribute.value.u64 = value;
  return attribute;
}

static inline rlo_attribute rlo_attribute_i64s(const char *name,
                                               const int64_t *values,
                                               int32_t count) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_I64S, {0}};
  attribute.value.i64s.values = values;
  attribute.value.i64s.count = count;
  return attribute;
}

static inline rlo_attribute rlo_attribute_f64(const char *name, double value) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_F64, {0}};
  attribute.value.f64 = value;
  return attribute;
}

static inline rlo_attribute rlo_attribute_bool(const char *name, bool value) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_BOOL, {0}};
  attribute.value.boolean = value;
  return attribute;
}

static inline rlo_attribute rlo_attribute_string(const char *name,
                                                 const char *value) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_STRING, {0}};
  attribute.value.string = value;
  return attribute;
}

static inline rlo_attribute rlo_attribute_shape(const char *name,
                                                const rlo_shape *value) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_SHAPE, {0}};
  attribute.value.shape = value;
  return attribute;
}

static inline rlo_attribute rlo_attribute_f64s(const char *name,
                                               const double *values,
                                               int32_t count) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_F64S, {0}};
  attribute.value.f64s.values = values;
  attribute.value.f64s.count = count;
  return attribute;
}

static inline rlo_attribute rlo_attribute_bools(const char *name,
                                                const bool *values,
                                                int32_t count) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_BOOLS, {0}};
  attribute.value.bools.values = values;
  attribute.value.bools.count = count;
  return attribute;
}

static inline rlo_attribute rlo_attribute_strings(const char *name,
                                                  const char *const *values,
                                                  int32_t count) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_STRINGS, {0}};
  attribute.value.strings.values = values;
  attribute.value.strings.count = count;
  return attribute;
}

static inline rlo_attribute rlo_attribute_shapes(const char *name,
                                                 const rlo_shape *values,
                                                 int32_t count) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_SHAPES, {0}};
  attribute.value.shapes.values = values;
  attribute.value.shapes.count = count;
  return attribute;
}

static inline rlo_attribute rlo_attribute_map(const char *name,
                                              const rlo_attributes *value) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_MAP, {0}};
  attribute.value.map = value;
  return attribute;
}

/** The attribute of this name; borrowed; NULL if there is none. Names within
 *  maps are not looked at. */
RLO_API const rlo_attribute *rlo_attributes_find(
    const rlo_attributes *attributes, const char *name);

/**
 * Get the value of an attribute. Lists, strings, shapes and maps are borrowed.
 * rlo_attributes_get_u64 takes any integer, rlo_attributes_get_f64 an integer
 * too.
 * @param attributes  NULL: none.
 * @return RLO_OK; RLO_NOT_FOUND if there is no such attribute;
 *         RLO_INVALID_ARGUMENT if it is of another type; RLO_OUT_OF_RANGE for a
 *         negative integer as u64, and for one that a double does not hold
 *         exactly as f64. Outputs are written on RLO_OK only. Threads: safe
 *         (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_i64(
    const rlo_attributes *attributes, const char *name, int64_t *out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_u64(
    const rlo_attributes *attributes, const char *name, uint64_t *out_value);
RLO_API RLO_NODISCARD rlo_status
rlo_attributes_get_i64s(const rlo_attributes *attributes,
                        const char *name,
                        rlo_i64_list *out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_f64(
    const rlo_attributes *attributes, const char *name, double *out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_bool(
    const rlo_attributes *attributes, const char *name, bool *out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_string(
    const rlo_attributes *attributes, const char *name, const char **out_value);
RLO_API RLO_NODISCARD rlo_status
rlo_attributes_get_shape(const rlo_attributes *attributes,
                         const char *name,
                         const rlo_shape **out_value);
RLO_API RLO_NODISCARD rlo_status
rlo_attributes_get_f64s(const rlo_attributes *attributes,
                        const char *name,
                        rlo_f64_list *out_value);
RLO_API RLO_NODISCARD rlo_status
rlo_attributes_get_bools(const rlo_attributes *attributes,
                         const char *name,
                         rlo_bool_list *out_value);
RLO_API RLO_NODISCARD rlo_status
rlo_attributes_get_strings(const rlo_attributes *attributes,
                           const char *name,
                           rlo_string_list *out_value);
RLO_API RLO_NODISCARD rlo_status
rlo_attributes_get_shapes(const rlo_attributes *attributes,
                          const char *name,
                          rlo_shape_list *out_value);
RLO_API RLO_NODISCARD rlo_status
rlo_attributes_get_map(const rlo_attributes *attributes,
                       const char *name,
                       const rlo_attributes **out_value);

/** An attribute that a kernel takes. */
typedef struct rlo_attribute_spec {
  const char *name;
  /** rlo_attribute_type bits: one of these. */
  uint32_t types;
  bool is_required;
} rlo_attribute_spec;

/**
 * Checks attributes against those that a kernel takes. What is in a map is
 * checked for names and for values that are missing; which names a map takes,
 * a kernel checks by calling this for the map.
 * @param kernel_name  for the message.
 * @param specs        `count` entries, borrowed.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for an attribute without name, given
 *         twice, not among the specs, of another type, or for maps deeper than
 *         RLO_MAX_ATTRIBUTE_DEPTH; RLO_NOT_FOUND if a required one is missing.
 *         Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_attributes_check(const rlo_attributes *attributes,
                     const char *kernel_name,
                     const rlo_attribute_spec *specs,
                     int32_t count);

/**
 * Copies attributes with all their parts, maps and what is in them too: the
 * copy needs nothing of the original.
 * @param attributes      NULL: none.
 * @param out_attributes  released by rlo_attributes_release.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INVALID_ARGUMENT for an attribute
 *         without name or of an unknown type, a name given twice within a map,
 *         or maps deeper than RLO_MAX_ATTRIBUTE_DEPTH.
 */
RLO_API RLO_NODISCARD rlo_status rlo_attributes_clone(
    const rlo_attributes *attributes, rlo_attributes **out_attributes);

/** Releases a clone; NULL is legal. */
RLO_API void rlo_attributes_release(rlo_attributes *attributes);

RLO_END_DECLS

#endif
