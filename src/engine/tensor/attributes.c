/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/attributes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "desc/dimension.h"
#include "engine/tensor/attributes.h"

/* The types, in the order of their bits. */
static const struct {
  rlo_attribute_type type;
  const char *name;
  /* Of a list: the size of an entry. */
  size_t entry_bytes;
} types[] = {
    {RLO_ATTRIBUTE_I64, "an integer", 0},
    {RLO_ATTRIBUTE_I64S, "a list of integers", sizeof(int64_t)},
    {RLO_ATTRIBUTE_F64, "a number", 0},
    {RLO_ATTRIBUTE_BOOL, "a boolean", 0},
    {RLO_ATTRIBUTE_STRING, "a string", 0},
    {RLO_ATTRIBUTE_SHAPE, "a shape", 0},
    {RLO_ATTRIBUTE_F64S, "a list of numbers", sizeof(double)},
    {RLO_ATTRIBUTE_BOOLS, "a list of booleans", sizeof(bool)},
    {RLO_ATTRIBUTE_STRINGS, "a list of strings", sizeof(const char *)},
    {RLO_ATTRIBUTE_SHAPES, "a list of shapes", sizeof(rlo_shape)},
    {RLO_ATTRIBUTE_MAP, "a map", 0},
    {RLO_ATTRIBUTE_U64, "an integer above 2^63 - 1", 0},
};

enum { NUM_TYPES = sizeof types / sizeof types[0] };

/* The row of a type; NUM_TYPES if there is no such type. */
static size_t find_type(rlo_attribute_type type) {
  size_t row = 0;
  while (row < NUM_TYPES && types[row].type != type) {
    ++row;
  }
  return row;
}

static const char *type_name(rlo_attribute_type type) {
  size_t row = find_type(type);
  return row < NUM_TYPES ? types[row].name : "of no known type";
}

/* "an integer or a list of integers": where a number is wanted, integers are
 * not named, and large ones never are. */
static void print_types(uint32_t wanted, rlo__str *out) {
  const uint32_t integers = RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_U64;
  wanted &= (wanted & RLO_ATTRIBUTE_F64) != 0 ? ~integers
                                              : ~(uint32_t)RLO_ATTRIBUTE_U64;
  for (size_t row = 0; row < NUM_TYPES; ++row) {
    if ((wanted & (uint32_t)types[row].type) != 0) {
      rlo__str_printf(
          out, "%s%s", out->length == 0 ? "" : " or ", types[row].name);
    }
  }
}

static rlo_status fail_type(const rlo_attribute *attribute, uint32_t wanted) {
  char words[256];
  rlo__str names = rlo__str_over(words, sizeof words);
  print_types(wanted, &names);
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "attribute '%s' is %s, not %s",
                  attribute->name,
                  type_name(attribute->type),
                  rlo__str_text(&names));
}

size_t rlo__attribute_entry_bytes(rlo_attribute_type type) {
  size_t row = find_type(type);
  return row < NUM_TYPES ? types[row].entry_bytes : 0;
}

rlo__attribute_list rlo__attribute_entries(const rlo_attribute *attribute) {
  switch (attribute->type) {
    case RLO_ATTRIBUTE_I64S:
      return (rlo__attribute_list){attribute->value.i64s.values,
                                   attribute->value.i64s.count};
    case RLO_ATTRIBUTE_F64S:
      return (rlo__attribute_list){attribute->value.f64s.values,
                                   attribute->value.f64s.count};
    case RLO_ATTRIBUTE_BOOLS:
      return (rlo__attribute_list){attribute->value.bools.values,
                                   attribute->value.bools.count};
    case RLO_ATTRIBUTE_STRINGS:
      return (rlo__attribute_list){attribute->value.strings.values,
                                   attribute->value.strings.count};
    case RLO_ATTRIBUTE_SHAPES:
      return (rlo__attribute_list){attribute->value.shapes.values,
                                   attribute->value.shapes.count};
    default:
      return (rlo__attribute_list){NULL, 0};
  }
}

const rlo_attribute *rlo_attributes_find(const rlo_attributes *attributes,
                                         const char *name) {
  if (attributes == NULL || name == NULL) {
    return NULL;
  }
  for (int32_t i = 0; i < attributes->count; ++i) {
    const rlo_attribute *attribute = &attributes->items[i];
    if (attribute->name != NULL && strcmp(attribute->name, name) == 0) {
      return attribute;
    }
  }
  return NULL;
}

/* Finds an attribute of one of the types; NULL, with the status set, if there
 * is none. */
static const rlo_attribute *find(const rlo_attributes *attributes,
                                 const char *name,
                                 uint32_t wanted,
                                 rlo_status *out_status) {
  const rlo_attribute *attribute = rlo_attributes_find(attributes, name);
  *out_status = RLO_OK;
  if (attribute == NULL) {
    *out_status = RLO_FAIL(RLO_NOT_FOUND, "attribute '%s' is missing", name);
    return NULL;
  }
  if (((uint32_t)attribute->type & wanted) == 0) {
    *out_status = fail_type(attribute, wanted);
    return NULL;
  }
  return attribute;
}

/* Defines the getter of one type. */
#define GETTER(function, type_of_value, attribute_type, member) \
  rlo_status function(const rlo_attributes *attributes,         \
                      const char *name,                         \
                      type_of_value *out_value) {               \
    RLO_REQUIRE(name, out_value);                               \
    rlo_status status = RLO_OK;                                 \
    const rlo_attribute *found =                                \
        find(attributes, name, attribute_type, &status);        \
    if (found != NULL) {                                        \
      *out_value = found->value.member;                         \
    }                                                           \
    return status;                                              \
  }

GETTER(rlo_attributes_get_i64, int64_t, RLO_ATTRIBUTE_I64, i64)
GETTER(rlo_attributes_get_bool, bool, RLO_ATTRIBUTE_BOOL, boolean)
GETTER(rlo_attributes_get_string, const char *, RLO_ATTRIBUTE_STRING, string)
GETTER(rlo_attributes_get_shape, const rlo_shape *, RLO_ATTRIBUTE_SHAPE, shape)
GETTER(rlo_attributes_get_i64s, rlo_i64_list, RLO_ATTRIBUTE_I64S, i64s)
GETTER(rlo_attributes_get_f64s, rlo_f64_list, RLO_ATTRIBUTE_F64S, f64s)
GETTER(rlo_attributes_get_bools, rlo_bool_list, RLO_ATTRIBUTE_BOOLS, bools)
GETTER(rlo_attributes_get_strings,
       rlo_string_list,
       RLO_ATTRIBUTE_STRINGS,
       strings)
GETTER(rlo_attributes_get_shapes, rlo_shape_list, RLO_ATTRIBUTE_SHAPES, shapes)
GETTER(rlo_attributes_get_map, const rlo_attributes *, RLO_ATTRIBUTE_MAP, map)

rlo_status rlo_attributes_get_u64(const rlo_attributes *attributes,
                                  const char *name,
                                  uint64_t *out_value) {
  RLO_REQUIRE(name, out_value);
  rlo_status status = RLO_OK;
  const rlo_attribute *found =
      find(attributes, name, RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_U64, &status);
  if (found == NULL) {
    return status;
  }
  if (found->type == RLO_ATTRIBUTE_I64 && found->value.i64 < 0) {
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "attribute '%s' is %lld; it is not negative",
                    name,
                    (long long)found->value.i64);
  }
  *out_value = found->type == RLO_ATTRIBUTE_U64 ? found->value.u64
                                                : (uint64_t)found->value.i64;
  return RLO_OK;
}

double rlo__attribute_round(const rlo_attribute *number, bool *out_is_exact) {
  /* The powers of two are no value of the integer types, and exact. */
  double rounded = 0.0;
  switch (number->type) {
    case RLO_ATTRIBUTE_I64:
      rounded = (double)number->value.i64;
      *out_is_exact = rounded < 0x1p63 && (int64_t)rounded == number->value.i64;
      return rounded;
    case RLO_ATTRIBUTE_U64:
      rounded = (double)number->value.u64;
      *out_is_exact =
          rounded < 0x1p64 && (uint64_t)rounded == number->value.u64;
      return rounded;
    default:
      *out_is_exact = true;
      return number->value.f64;
  }
}

rlo_status rlo_attributes_get_f64(const rlo_attributes *attributes,
                                  const char *name,
                                  double *out_value) {
  RLO_REQUIRE(name, out_value);
  rlo_status status = RLO_OK;
  bool is_exact = false;
  const rlo_attribute *found =
      find(attributes, name, RLO__ATTRIBUTE_NUMBER, &status);
  if (found == NULL) {
    return status;
  }
  double value = rlo__attribute_round(found, &is_exact);
  if (!is_exact) {
    char digits[RLO__ATTRIBUTE_DIGITS];
    return RLO_FAIL(RLO_OUT_OF_RANGE,
                    "attribute '%s' is %s, which no double holds exactly",
                    name,
                    rlo__attribute_print(found, digits));
  }
  *out_value = value;
  return RLO_OK;
}

const char *rlo__attribute_print(const rlo_attribute *number,
                                 char out_digits[RLO__ATTRIBUTE_DIGITS]) {
  rlo__str out = rlo__str_over(out_digits, RLO__ATTRIBUTE_DIGITS);
  switch (number->type) {
    case RLO_ATTRIBUTE_I64:
      rlo__str_printf(&out, "%lld", (long long)number->value.i64);
      break;
    case RLO_ATTRIBUTE_U64:
      rlo__str_printf(&out, "%llu", (unsigned long long)number->value.u64);
      break;
    default:
      rlo__str_printf(&out, "%g", number->value.f64);
      break;
  }
  return rlo__str_text(&out);
}

/* ----------------------------------------------------------------- checking */

static rlo_status check_map(const rlo_attributes *map, int32_t depth);

static rlo_status check_strings(const rlo_attribute *item) {
  for (int32_t i = 0; i < item->value.strings.count; ++i) {
    if (item->value.strings.values[i] == NULL) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "string %d of attribute '%s' is NULL",
                      i,
                      item->name);
    }
  }
  return RLO_OK;
}

/* Checks an attribute by itself. `depth` is that of the map it is in. */
static rlo_status check_item(const rlo_attribute *item,
                             int32_t index,
                             int32_t depth) {
  if (item->name == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "attribute %d has no name", index);
  }
  if (find_type(item->type) == NUM_TYPES) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "attribute '%s' is of no known type (%d)",
                    item->name,
                    (int)item->type);
  }
  const rlo__attribute_list list = rlo__attribute_entries(item);
  bool is_whole =
      list.count >= 0 && (list.count == 0 || list.entries != NULL) &&
      (item->type != RLO_ATTRIBUTE_STRING || item->value.string != NULL) &&
      (item->type != RLO_ATTRIBUTE_SHAPE || item->value.shape != NULL) &&
      (item->type != RLO_ATTRIBUTE_MAP || item->value.map != NULL);
  if (!is_whole) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "attribute '%s' is %s without its values",
                    item->name,
                    type_name(item->type));
  }
  if (item->type == RLO_ATTRIBUTE_STRINGS) {
    return check_strings(item);
  }
  if (item->type == RLO_ATTRIBUTE_MAP) {
    rlo_status status = check_map(item->value.map, depth + 1);
    return status == RLO_OK
               ? RLO_OK
               : rlo__status_prefix(status, "in '%s': ", item->name);
  }
  return RLO_OK;
}

static rlo_status check_items(const rlo_attributes *attributes, int32_t depth) {
  if (attributes->count < 0 ||
      (attributes->count > 0 && attributes->items == NULL)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%d attributes without a list of them",
                    attributes->count);
  }
  for (int32_t i = 0; i < attributes->count; ++i) {
    RLO_TRY(check_item(&attributes->items[i], i, depth));
  }
  return RLO_OK;
}

static rlo_status check_map(const rlo_attributes *map, int32_t depth) {
  if (depth > RLO_MAX_ATTRIBUTE_DEPTH) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "maps nest deeper than %d",
                    RLO_MAX_ATTRIBUTE_DEPTH);
  }
  RLO_TRY(check_items(map, depth));
  for (int32_t i = 0; i < map->count; ++i) {
    if (rlo_attributes_find(map, map->items[i].name) != &map->items[i]) {
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "attribute '%s' is given twice",
                      map->items[i].name);
    }
  }
  return RLO_OK;
}

rlo_status rlo__attributes_check_items(const rlo_attributes *attributes) {
  return attributes != NULL ? check_items(attributes, 0) : RLO_OK;
}

static rlo_status fail_unknown(const char *name,
                               const char *kernel_name,
                               const rlo_attribute_spec *specs,
                               int32_t count) {
  char words[256];
  rlo__str known = rlo__str_over(words, sizeof words);
  for (int32_t s = 0; s < count; ++s) {
    rlo__str_printf(&known, "%s'%s'", s == 0 ? "" : ", ", specs[s].name);
  }
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "%s: there is no attribute '%s'; %s%s",
                  kernel_name,
                  name,
                  count == 0 ? "it takes none" : "it takes ",
                  rlo__str_text(&known));
}

static rlo_status check_known(const rlo_attributes *attributes,
                              int32_t index,
                              const char *kernel_name,
                              const rlo_attribute_spec *specs,
                              int32_t count) {
  const rlo_attribute *item = &attributes->items[index];
  if (rlo_attributes_find(attributes, item->name) != item) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%s: attribute '%s' is given twice",
                    kernel_name,
                    item->name);
  }
  for (int32_t s = 0; s < count; ++s) {
    if (strcmp(specs[s].name, item->name) == 0) {
      if (((uint32_t)item->type & specs[s].types) == 0) {
        return rlo__status_prefix(
            fail_type(item, specs[s].types), "%s: ", kernel_name);
      }
      return RLO_OK;
    }
  }
  return fail_unknown(item->name, kernel_name, specs, count);
}

rlo_status rlo_attributes_check(const rlo_attributes *attributes,
                                const char *kernel_name,
                                const rlo_attribute_spec *specs,
                                int32_t count) {
  RLO_REQUIRE(kernel_name);
  RLO_REQUIRE_LIST(specs, count);
  if (count < 0) {
    return RLO_FAIL(
        RLO_INVALID_ARGUMENT, "%s: %d attribute specs", kernel_name, count);
  }
  rlo_status status = rlo__attributes_check_items(attributes);
  if (status != RLO_OK) {
    return rlo__status_prefix(status, "%s: ", kernel_name);
  }
  for (int32_t i = 0; attributes != NULL && i < attributes->count; ++i) {
    RLO_TRY(check_known(attributes, i, kernel_name, specs, count));
  }
  for (int32_t s = 0; s < count; ++s) {
    if (specs[s].is_required &&
        rlo_attributes_find(attributes, specs[s].name) == NULL) {
      return RLO_FAIL(RLO_NOT_FOUND,
                      "%s: attribute '%s' is missing",
                      kernel_name,
                      specs[s].name);
    }
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------ reading */

rlo_status rlo__dims_get(const rlo_attributes *attributes,
                         const char *name,
                         rlo__dims *out_dims) {
  rlo_i64_list list;
  RLO_TRY(rlo_attributes_get_i64s(attributes, name, &list));
  if (list.count > RLO_MAX_RANK) {
    return RLO_FAIL(RLO_UNSUPPORTED,
                    "'%s' has %d numbers; the limit is %d",
                    name,
                    list.count,
                    RLO_MAX_RANK);
  }
  out_dims->count = list.count;
  if (list.count > 0) {
    memcpy(out_dims->values,
           list.values,
           (size_t)list.count * sizeof list.values[0]);
  }
  return RLO_OK;
}

rlo_status rlo__dims_get_exactly(const rlo_attributes *attributes,
                                 const char *name,
                                 int32_t count,
                                 rlo__dims *out_dims) {
  RLO_TRY(rlo__dims_get(attributes, name, out_dims));
  if (out_dims->count != count) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "'%s' has %d numbers; %d are wanted",
                    name,
                    out_dims->count,
                    count);
  }
  return RLO_OK;
}

rlo_status rlo__dims_get_pairs(const rlo_attributes *attributes,
                               const char *name,
                               int32_t count,
                               rlo__dims *out_low,
                               rlo__dims *out_high) {
  rlo_i64_list list;
  RLO_TRY(rlo_attributes_get_i64s(attributes, name, &list));
  if (count > RLO_MAX_RANK || list.count != 2 * count) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "'%s' has %d numbers; %d pairs are wanted",
                    name,
                    list.count,
                    count);
  }
  for (int32_t k = 0; k < count; ++k) {
    out_low->values[k] = list.values[2 * (size_t)k];
    out_high->values[k] = list.values[2 * (size_t)k + 1];
  }
  out_low->count = count;
  out_high->count = count;
  return RLO_OK;
}

rlo_status rlo__axis_get(const rlo_attributes *attributes,
                         const char *name,
                         int32_t rank,
                         int32_t *out_axis) {
  return rlo__dim_find(name, rlo__i64_or(attributes, name, 0), rank, out_axis);
}

rlo_status rlo__axes_get(const rlo_attributes *attributes,
                         const char *name,
                         int32_t rank,
                         int32_t out_axes[RLO_MAX_RANK],
                         int32_t *out_count) {
  rlo__dims dims = {{0}, 0};
  RLO_TRY(rlo__dims_get(attributes, name, &dims));
  for (int32_t k = 0; k < dims.count; ++k) {
    RLO_TRY(rlo__dim_find(name, dims.values[k], rank, &out_axes[k]));
  }
  *out_count = dims.count;
  return RLO_OK;
}

rlo_status rlo__axes_get_once(const rlo_attributes *attributes,
                              const char *name,
                              int32_t rank,
                              int32_t out_axes[RLO_MAX_RANK],
                              int32_t *out_count) {
  rlo__dims dims = {{0}, 0};
  rlo__dim_set named;
  RLO_TRY(rlo__dims_get(attributes, name, &dims));
  rlo__dim_set_init(&named, rank);
  for (int32_t k = 0; k < dims.count; ++k) {
    RLO_TRY(rlo__dim_set_add(&named, name, dims.values[k], &out_axes[k]));
  }
  *out_count = dims.count;
  return RLO_OK;
}

int64_t rlo__i64_or(const rlo_attributes *attributes,
                    const char *name,
                    int64_t otherwise) {
  const rlo_attribute *found = rlo_attributes_find(attributes, name);
  return found != NULL && found->type == RLO_ATTRIBUTE_I64 ? found->value.i64
                                                           : otherwise;
}

rlo_status rlo__word_get(const rlo_attributes *attributes,
                         const char *name,
                         const char *const *words,
                         int32_t count,
                         int32_t *out_which) {
  *out_which = 0;
  const rlo_attribute *found = rlo_attributes_find(attributes, name);
  if (found == NULL) {
    return RLO_OK;
  }
  for (int32_t w = 0; w < count; ++w) {
    if (strcmp(found->value.string, words[w]) == 0) {
      *out_which = w;
      return RLO_OK;
    }
  }
  return RLO_FAIL(RLO_INVALID_ARGUMENT,
                  "'%s' is '%s'; it is '%s' or '%s'",
                  name,
                  found->value.string,
                  words[0],
                  words[count - 1]);
}
