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
  RLO_ATTRIBUTE_SHAPE = 1 << 5
} rlo_attribute_type;

/** A list of integers; NULL only for a count of 0. */
typedef struct rlo_i64_list {
  const int64_t *values;
  int32_t count;
} rlo_i64_list;

/**
 * A named argument of a kernel that is not a tensor. Name, list, string and
 * shape are borrowed.
 */
typedef struct rlo_attribute {
  const char *name;
  rlo_attribute_type type;

  union {
    int64_t i64;
    rlo_i64_list i64s;
    double f64;
    bool boolean;
    const char *string;
    const rlo_shape *shape;
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

/** The attribute of this name; borrowed; NULL if there is none. */
RLO_API const rlo_attribute *rlo_attributes_find(
    const rlo_attributes *attributes, const char *name);

/**
 * Get the value of an attribute. Lists, strings and shapes are borrowed.
 * rlo_attributes_get_f64 takes an integer too.
 * @param attributes  NULL: none.
 * @return RLO_OK; RLO_NOT_FOUND if there is no such attribute;
 *         RLO_INVALID_ARGUMENT if it is of another type. Outputs are written on
 *         RLO_OK only. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status rlo_attributes_get_i64(
    const rlo_attributes *attributes, const char *name, int64_t *out_value);
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

/** An attribute that a kernel takes. */
typedef struct rlo_attribute_spec {
  const char *name;
  /** rlo_attribute_type bits: one of these. */
  uint32_t types;
  bool is_required;
} rlo_attribute_spec;

/**
 * Checks attributes against those that a kernel takes.
 * @param kernel_name  for the message.
 * @param specs        `count` entries, borrowed.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for an attribute without name, given
 *         twice, not among the specs, or of another type; RLO_NOT_FOUND if a
 *         required one is missing. Threads: safe (pure).
 */
RLO_API RLO_NODISCARD rlo_status
rlo_attributes_check(const rlo_attributes *attributes,
                     const char *kernel_name,
                     const rlo_attribute_spec *specs,
                     int32_t count);

/**
 * Copies attributes with all their parts.
 * @param attributes      NULL: none.
 * @param out_attributes  released by rlo_attributes_release.
 * @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_INVALID_ARGUMENT for an attribute
 *         without name or of an unknown type.
 */
RLO_API RLO_NODISCARD rlo_status rlo_attributes_clone(
    const rlo_attributes *attributes, rlo_attributes **out_attributes);

/** Releases a clone; NULL is legal. */
RLO_API void rlo_attributes_release(rlo_attributes *attributes);

RLO_END_DECLS

#endif
