/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental: may change in any release. */
#ifndef RELAYOUT_ATTRIBUTES_H
#define RELAYOUT_ATTRIBUTES_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/** The kind of an attribute's values: bits, so that a spec can allow several. A
 *  flag is an I64, 0 or 1. */
typedef enum rlo_attribute_type {
  RLO_ATTRIBUTE_I64 = 1 << 0,
  RLO_ATTRIBUTE_F64 = 1 << 1,
  RLO_ATTRIBUTE_STRING = 1 << 2,
  RLO_ATTRIBUTE_SHAPE = 1 << 3,
  /** Attributes within an attribute. */
  RLO_ATTRIBUTE_MAP = 1 << 4,
  /** With a kind but MAP: a list of values. A spec with it takes a single value
   *  too, which is a list of one. */
  RLO_ATTRIBUTE_LIST = 1 << 5
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
 * shapes and maps are borrowed. The functions below make one of each kind.
 */
typedef struct rlo_attribute {
  const char *name;
  /** A kind, or a kind and RLO_ATTRIBUTE_LIST. */
  uint32_t type;
  /** The number of values of a list. */
  int32_t count;

  union {
    int64_t i64;
    double f64;
    const char *string;
    const rlo_shape *shape;
    const struct rlo_attributes *map;
    const int64_t *i64s;
    const double *f64s;
    const char *const *strings;
    const rlo_shape *shapes;
    /** Any of the four above. */
    const void *list;
  } value;
} rlo_attribute;

/** The attributes of a call, in any order, each name once. Borrowed; where a
 *  function takes a pointer to attributes, NULL stands for none. */
typedef struct rlo_attributes {
  const rlo_attribute *items;
  int32_t count;
} rlo_attributes;

static inline rlo_attribute rlo_attribute_i64(const char *name, int64_t value) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_I64, 1, {0}};
  attribute.value.i64 = value;
  return attribute;
}

static inline rlo_attribute rlo_attribute_f64(const char *name, double value) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_F64, 1, {0}};
  attribute.value.f64 = value;
  return attribute;
}

static inline rlo_attribute rlo_attribute_string(const char *name, const char *value) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_STRING, 1, {0}};
  attribute.value.string = value;
  return attribute;
}

static inline rlo_attribute rlo_attribute_shape(const char *name, const rlo_shape *value) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_SHAPE, 1, {0}};
  attribute.value.shape = value;
  return attribute;
}

static inline rlo_attribute rlo_attribute_map(const char *name, const rlo_attributes *value) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_MAP, 1, {0}};
  attribute.value.map = value;
  return attribute;
}

static inline rlo_attribute rlo_attribute_i64s(const char *name, const int64_t *values,
                                               int32_t count) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_LIST, count, {0}};
  attribute.value.i64s = values;
  return attribute;
}

static inline rlo_attribute rlo_attribute_f64s(const char *name, const double *values,
                                               int32_t count) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_LIST, count, {0}};
  attribute.value.f64s = values;
  return attribute;
}

static inline rlo_attribute rlo_attribute_strings(const char *name, const char *const *values,
                                                  int32_t count) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_STRING | RLO_ATTRIBUTE_LIST, count, {0}};
  attribute.value.strings = values;
  return attribute;
}

static inline rlo_attribute rlo_attribute_shapes(const char *name, const rlo_shape *values,
                                                 int32_t count) {
  rlo_attribute attribute = {name, RLO_ATTRIBUTE_SHAPE | RLO_ATTRIBUTE_LIST, count, {0}};
  attribute.value.shapes = values;
  return attribute;
}

/** The attribute of this name; borrowed; NULL if there is none. Names within
 *  maps are not looked at. */
RLO_API const rlo_attribute *rlo_attributes_find(const rlo_attributes *attributes,
                                                 const char *name);

/**
 * Get the value of an attribute. Lists, strings, shapes and maps are borrowed.
 * rlo_attributes_get_f64 takes an integer too; where a list is wanted, a single
 * value is a list of one, which lies in the attribute.
 * @param attributes  NULL: none.
 * @return RLO_OK; RLO_NOT_FOUND if there is no such attribute;
 *         RLO_INVALID_ARGUMENT if it is of another type; RLO_OUT_OF_RANGE for
 *         an integer as f64 that a double does not hold exactly. Outputs are
 *         written on RLO_OK only. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_i64(const rlo_attributes *attributes,
                                                        const char *name, int64_t *out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_f64(const rlo_attributes *attributes,
                                                        const char *name, double *out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_string(const rlo_attributes *attributes,
                                                           const char *name,
                                                           const char **out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_shape(const rlo_attributes *attributes,
                                                          const char *name,
                                                          const rlo_shape **out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_map(const rlo_attributes *attributes,
                                                        const char *name,
                                                        const rlo_attributes **out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_i64s(const rlo_attributes *attributes,
                                                         const char *name, rlo_i64_list *out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_f64s(const rlo_attributes *attributes,
                                                         const char *name, rlo_f64_list *out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_strings(const rlo_attributes *attributes,
                                                            const char *name,
                                                            rlo_string_list *out_value);
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_shapes(const rlo_attributes *attributes,
                                                           const char *name,
                                                           rlo_shape_list *out_value);

/** An attribute that a kernel takes. */
typedef struct rlo_attribute_spec {
  const char *name;
  /** rlo_attribute_type bits: one of these kinds, single, or with
   *  RLO_ATTRIBUTE_LIST any number of values. */
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
RLO_API RLO_NODISCARD rlo_status rlo_attributes_check(const rlo_attributes *attributes,
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
RLO_API RLO_NODISCARD rlo_status rlo_attributes_clone(const rlo_attributes *attributes,
                                                      rlo_attributes **out_attributes);

/** Releases a clone; NULL is legal. */
RLO_API void rlo_attributes_release(rlo_attributes *attributes);

RLO_END_DECLS

#endif
