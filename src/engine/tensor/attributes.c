/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/attributes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sentence.h"
#include "base/status.h"
#include "base/str.h"
#include "desc/dimension.h"
#include "engine/tensor/attributes.h"

static const struct {
  rlo_attribute_type kind;
  /* A value; several. */
  const char *one, *many;
  /* The size of an entry of a list; 0: there are none. */
  size_t entry_bytes;
} kinds[] = {
    {RLO_ATTRIBUTE_I64, "an integer", "a list of integers", sizeof(int64_t)},
    {RLO_ATTRIBUTE_F64, "a number", "a list of numbers", sizeof(double)},
    {RLO_ATTRIBUTE_STRING, "a string", "a list of strings", sizeof(char *)},
    {RLO_ATTRIBUTE_SHAPE, "a shape", "a list of shapes", sizeof(rlo_shape)},
    {RLO_ATTRIBUTE_MAP, "a map", "a list of maps", 0},
};

enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };

/* The row of a type's kind; NUM_KINDS if there is no such type. */
static size_t find_kind(uint32_t type) {
  size_t row = 0;
  uint32_t kind = type & ~(uint32_t)RLO_ATTRIBUTE_LIST;
  while (row < NUM_KINDS && (uint32_t)kinds[row].kind != kind) {
    ++row;
  }
  return kind != type && row < NUM_KINDS && kinds[row].entry_bytes == 0 ? NUM_KINDS : row;
}

static const char *type_name(uint32_t type) {
  size_t row = find_kind(type);
  return row == NUM_KINDS                   ? "of no known type"
         : (type & RLO_ATTRIBUTE_LIST) != 0 ? kinds[row].many
                                            : kinds[row].one;
}

static bool is_of(const rlo_attribute *attribute, uint32_t wanted) {
  return (attribute->type & ~wanted) == 0;
}

/* "an integer or a string": where a number is wanted, integers are not named.
 */
static void print_types(uint32_t wanted, rlo__str *out) {
  if ((wanted & RLO_ATTRIBUTE_F64) != 0) {
    wanted &= ~(uint32_t)RLO_ATTRIBUTE_I64;
  }
  for (size_t row = 0; row < NUM_KINDS; ++row) {
    if ((wanted & (uint32_t)kinds[row].kind) != 0) {
      rlo__str_printf(out, "%s%s", out->length == 0 ? "" : " or ",
                      (wanted & RLO_ATTRIBUTE_LIST) != 0 ? kinds[row].many : kinds[row].one);
    }
  }
}

static rlo_status fail_type(const rlo_attribute *attribute, uint32_t wanted) {
  char words[256];
  rlo__str names = rlo__str_over(words, sizeof words);
  print_types(wanted, &names);
  return RLO_FAIL(RLO_INVALID_ARGUMENT, "attribute '%s' is %s, not %s", attribute->name,
                  type_name(attribute->type), rlo__str_text(&names));
}

size_t rlo__attribute_entry_bytes(uint32_t type) {
  return kinds[find_kind(type)].entry_bytes;
}

const rlo_attribute *rlo_attributes_find(const rlo_attributes *attributes, const char *name) {
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

/* Finds an attribute of one of the types. */
static rlo_status find(const rlo_attributes *attributes, const char *name, uint32_t wanted,
                       const rlo_attribute **out_attribute) {
  *out_attribute = rlo_attributes_find(attributes, name);
  RLO_FAIL_IF(*out_attribute == NULL, RLO_NOT_FOUND, "attribute '%s' is missing", name);
  return is_of(*out_attribute, wanted) ? RLO_OK : fail_type(*out_attribute, wanted);
}

/* Defines the getter of one type; `value` is made of `found`. */
#define GETTER(function, type_of_value, wanted, ...)                      \
  rlo_status function(const rlo_attributes *attributes, const char *name, \
                      type_of_value *out_value) {                         \
    RLO_REQUIRE(name, out_value);                                         \
    const rlo_attribute *found = NULL;                                    \
    RLO_TRY(find(attributes, name, wanted, &found));                      \
    *out_value = __VA_ARGS__;                                             \
    return RLO_OK;                                                        \
  }

/* The same of a list, or of a single value. */
#define LIST_GETTER(function, type_of_value, kind, many, one) \
  GETTER(                                                     \
      function, type_of_value, (kind) | RLO_ATTRIBUTE_LIST,   \
      is_list(found) ? (type_of_value){found->value.many, found->count} : (type_of_value){one, 1})

static bool is_list(const rlo_attribute *attribute) {
  return (attribute->type & RLO_ATTRIBUTE_LIST) != 0;
}

GETTER(rlo_attributes_get_i64, int64_t, RLO_ATTRIBUTE_I64, found->value.i64)
GETTER(rlo_attributes_get_string, const char *, RLO_ATTRIBUTE_STRING, found->value.string)
GETTER(rlo_attributes_get_shape, const rlo_shape *, RLO_ATTRIBUTE_SHAPE, found->value.shape)
GETTER(rlo_attributes_get_map, const rlo_attributes *, RLO_ATTRIBUTE_MAP, found->value.map)
LIST_GETTER(rlo_attributes_get_i64s, rlo_i64_list, RLO_ATTRIBUTE_I64, i64s, &found->value.i64)
LIST_GETTER(rlo_attributes_get_f64s, rlo_f64_list, RLO_ATTRIBUTE_F64, f64s, &found->value.f64)
LIST_GETTER(rlo_attributes_get_strings, rlo_string_list, RLO_ATTRIBUTE_STRING, strings,
            &found->value.string)
LIST_GETTER(rlo_attributes_get_shapes, rlo_shape_list, RLO_ATTRIBUTE_SHAPE, shapes,
            found->value.shape)

rlo_status rlo_attributes_get_f64(const rlo_attributes *attributes, const char *name,
                                  double *out_value) {
  RLO_REQUIRE(name, out_value);
  const rlo_attribute *found = NULL;
  RLO_TRY(find(attributes, name, RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64, &found));
  double value = found->value.f64;
  if (found->type == RLO_ATTRIBUTE_I64) {
    value = (double)found->value.i64;
    RLO_FAIL_IF(value >= 0x1p63 || (int64_t)value != found->value.i64, RLO_OUT_OF_RANGE,
                "attribute '%s' is %lld, which no double holds exactly", name,
                (long long)found->value.i64);
  }
  *out_value = value;
  return RLO_OK;
}

/* ------------------------------------------------------------------ numbers */

rlo_status rlo__attribute_number_get(const rlo_attributes *attributes, const char *name,
                                     rlo__attribute_number *out_number) {
  rlo_i64_list words;
  const rlo_attribute *found = rlo_attributes_find(attributes, name);
  if (found != NULL && found->type == RLO_ATTRIBUTE_F64) {
    *out_number = (rlo__attribute_number){RLO_DTYPE_F64, {.f64 = found->value.f64}};
    return RLO_OK;
  }
  RLO_TRY(rlo_attributes_get_i64s(attributes, name, &words));
  RLO_FAIL_IF(words.count < 1 || words.count > 2 || (words.count == 2 && words.values[1] != 0),
              RLO_INVALID_ARGUMENT,
              "attribute '%s' has %d words of 64 bits; it is a number, or a word of bits and 0",
              name, words.count);
  *out_number = (rlo__attribute_number){words.count == 2 ? RLO_DTYPE_U64 : RLO_DTYPE_S64,
                                        {.i64 = words.values[0]}};
  return RLO_OK;
}

/* ----------------------------------------------------------------- checking */

static rlo_status check_map(const rlo_attributes *map, int32_t depth);

/* Returns whether an attribute of a known type has the parts of its value. */
static bool is_whole(const rlo_attribute *item) {
  return is_list(item) ? item->count >= 0 && (item->count == 0 || item->value.list != NULL)
                       : (item->type & (RLO_ATTRIBUTE_I64 | RLO_ATTRIBUTE_F64)) != 0 ||
                             item->value.list != NULL;
}

/* Checks an attribute by itself. `depth` is that of the map it is in. */
static rlo_status check_item(const rlo_attribute *item, int32_t index, int32_t depth) {
  RLO_FAIL_IF(item->name == NULL, RLO_INVALID_ARGUMENT, "attribute %d has no name", index);
  RLO_FAIL_IF(find_kind(item->type) == NUM_KINDS, RLO_INVALID_ARGUMENT,
              "attribute '%s' is of no known type (%u)", item->name, item->type);
  RLO_FAIL_IF(!is_whole(item), RLO_INVALID_ARGUMENT, "attribute '%s' is %s without its values",
              item->name, type_name(item->type));
  if (item->type == RLO_ATTRIBUTE_MAP) {
    return rlo__status_prefix(check_map(item->value.map, depth + 1), "in '%s': ", item->name);
  }
  for (int32_t i = 0; i < item->count && is_list(item) && (item->type & RLO_ATTRIBUTE_STRING) != 0;
       ++i) {
    RLO_FAIL_IF(item->value.strings[i] == NULL, RLO_INVALID_ARGUMENT,
                "string %d of attribute '%s' is NULL", i, item->name);
  }
  return RLO_OK;
}

static rlo_status check_items(const rlo_attributes *attributes, int32_t depth) {
  RLO_FAIL_IF(attributes->count < 0 || (attributes->count > 0 && attributes->items == NULL),
              RLO_INVALID_ARGUMENT, "%d attributes without a list of them", attributes->count);
  for (int32_t i = 0; i < attributes->count; ++i) {
    RLO_TRY(check_item(&attributes->items[i], i, depth));
  }
  return RLO_OK;
}

static rlo_status check_map(const rlo_attributes *map, int32_t depth) {
  RLO_FAIL_IF(depth > RLO_MAX_ATTRIBUTE_DEPTH, RLO_INVALID_ARGUMENT, "maps nest deeper than %d",
              RLO_MAX_ATTRIBUTE_DEPTH);
  RLO_TRY(check_items(map, depth));
  for (int32_t i = 0; i < map->count; ++i) {
    RLO_FAIL_IF(rlo_attributes_find(map, map->items[i].name) != &map->items[i],
                RLO_INVALID_ARGUMENT, "attribute '%s' is given twice", map->items[i].name);
  }
  return RLO_OK;
}

rlo_status rlo__attributes_check_items(const rlo_attributes *attributes) {
  return attributes != NULL ? check_items(attributes, 0) : RLO_OK;
}

static rlo_status fail_unknown(const char *name, const char *kernel_name,
                               const rlo_attribute_spec *specs, int32_t count) {
  char words[256];
  rlo__str known = rlo__str_over(words, sizeof words);
  rlo__nearest nearest = rlo__nearest_begin(name, strlen(name));
  for (int32_t s = 0; s < count; ++s) {
    rlo__nearest_try(&nearest, specs[s].name);
    rlo__str_printf(&known, "%s'%s'", s == 0 ? "" : ", ", specs[s].name);
  }
  return RLO_FAIL(RLO_INVALID_ARGUMENT, "%s: there is no attribute '%s'; %s%s%s", kernel_name, name,
                  count == 0 ? "it takes none" : "it takes ", rlo__str_text(&known), nearest.hint);
}

static rlo_status check_known(const rlo_attributes *attributes, int32_t index,
                              const char *kernel_name, const rlo_attribute_spec *specs,
                              int32_t count) {
  const rlo_attribute *item = &attributes->items[index];
  RLO_FAIL_IF(rlo_attributes_find(attributes, item->name) != item, RLO_INVALID_ARGUMENT,
              "%s: attribute '%s' is given twice", kernel_name, item->name);
  for (int32_t s = 0; s < count; ++s) {
    if (strcmp(specs[s].name, item->name) == 0) {
      if (!is_of(item, specs[s].types)) {
        return rlo__status_prefix(fail_type(item, specs[s].types), "%s: ", kernel_name);
      }
      return RLO_OK;
    }
  }
  return fail_unknown(item->name, kernel_name, specs, count);
}

rlo_status rlo_attributes_check(const rlo_attributes *attributes, const char *kernel_name,
                                const rlo_attribute_spec *specs, int32_t count) {
  RLO_REQUIRE(kernel_name);
  RLO_REQUIRE_LIST(specs, count);
  RLO_FAIL_IF(count < 0, RLO_INVALID_ARGUMENT, "%s: %d attribute specs", kernel_name, count);
  RLO_TRY(rlo__status_prefix(rlo__attributes_check_items(attributes), "%s: ", kernel_name));
  for (int32_t i = 0; attributes != NULL && i < attributes->count; ++i) {
    RLO_TRY(check_known(attributes, i, kernel_name, specs, count));
  }
  for (int32_t s = 0; s < count; ++s) {
    RLO_FAIL_IF(specs[s].is_required && rlo_attributes_find(attributes, specs[s].name) == NULL,
                RLO_NOT_FOUND, "%s: attribute '%s' is missing", kernel_name, specs[s].name);
  }
  return RLO_OK;
}

/* ------------------------------------------------------------------ reading */

rlo_status rlo__dims_get(const rlo_attributes *attributes, const char *name, rlo__dims *out_dims) {
  rlo_i64_list list;
  RLO_TRY(rlo_attributes_get_i64s(attributes, name, &list));
  RLO_FAIL_IF(list.count > RLO_MAX_RANK, RLO_UNSUPPORTED, "'%s' has %d numbers; the limit is %d",
              name, list.count, RLO_MAX_RANK);
  out_dims->count = list.count;
  if (list.count > 0) {
    memcpy(out_dims->values, list.values, (size_t)list.count * sizeof list.values[0]);
  }
  return RLO_OK;
}

rlo_status rlo__dims_get_exactly(const rlo_attributes *attributes, const char *name, int32_t count,
                                 rlo__dims *out_dims) {
  RLO_TRY(rlo__dims_get(attributes, name, out_dims));
  RLO_FAIL_IF(out_dims->count != count, RLO_INVALID_ARGUMENT, "'%s' has %d numbers; %d are wanted",
              name, out_dims->count, count);
  return RLO_OK;
}

rlo_status rlo__dims_get_or(const rlo_attributes *attributes, const char *name, int32_t count,
                            int64_t otherwise, rlo__dims *out_dims) {
  if (rlo_attributes_find(attributes, name) != NULL) {
    return rlo__dims_get_exactly(attributes, name, count, out_dims);
  }
  for (int32_t k = 0; k < count; ++k) {
    out_dims->values[k] = otherwise;
  }
  return RLO_OK;
}

rlo_status rlo__dims_get_pairs(const rlo_attributes *attributes, const char *name, int32_t count,
                               rlo__dims *out_low, rlo__dims *out_high) {
  rlo_i64_list list;
  RLO_TRY(rlo_attributes_get_i64s(attributes, name, &list));
  RLO_FAIL_IF(count > RLO_MAX_RANK || list.count != 2 * count, RLO_INVALID_ARGUMENT,
              "'%s' has %d numbers; %d pairs are wanted, before and after each dimension", name,
              list.count, count);
  for (int32_t k = 0; k < count; ++k) {
    out_low->values[k] = list.values[2 * (size_t)k];
    out_high->values[k] = list.values[2 * (size_t)k + 1];
  }
  return RLO_OK;
}

rlo_status rlo__axis_get(const rlo_attributes *attributes, const char *name, int32_t rank,
                         int32_t *out_axis) {
  return rlo__dim_find(name, rlo__i64_or(attributes, name, 0), rank, out_axis);
}

rlo_status rlo__axes_get(const rlo_attributes *attributes, const char *name, int32_t rank,
                         bool is_once, int32_t out_axes[RLO_MAX_RANK], int32_t *out_count) {
  rlo__dims dims = {{0}, 0};
  rlo__dim_set named;
  RLO_TRY(rlo__dims_get(attributes, name, &dims));
  rlo__dim_set_init(&named, rank);
  for (int32_t k = 0; k < dims.count; ++k) {
    RLO_TRY(is_once ? rlo__dim_set_add(&named, name, dims.values[k], &out_axes[k])
                    : rlo__dim_find(name, dims.values[k], rank, &out_axes[k]));
  }
  *out_count = dims.count;
  return RLO_OK;
}

int64_t rlo__i64_or(const rlo_attributes *attributes, const char *name, int64_t otherwise) {
  const rlo_attribute *found = rlo_attributes_find(attributes, name);
  return found != NULL && found->type == RLO_ATTRIBUTE_I64 ? found->value.i64 : otherwise;
}

rlo_status rlo__word_get(const rlo_attributes *attributes, const char *name,
                         const char *const *words, int32_t count, int32_t *out_which) {
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
  /* Two or three. */
  return RLO_FAIL(RLO_INVALID_ARGUMENT, "'%s' is '%s'; it is '%s'%s%s%s or '%s'", name,
                  found->value.string, words[0], count > 2 ? ", '" : "", count > 2 ? words[1] : "",
                  count > 2 ? "'" : "", words[count - 1]);
}
