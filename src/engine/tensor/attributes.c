/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/attributes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "desc/dimension.h"
#include "engine/tensor/attributes.h"

static const char *type_name(rlo_attribute_type type) {
  switch (type) {
    case RLO_ATTRIBUTE_I64:
      return "an integer";
    case RLO_ATTRIBUTE_I64S:
      return "a list of integers";
    case RLO_ATTRIBUTE_F64:
      return "a number";
    case RLO_ATTRIBUTE_BOOL:
      return "a boolean";
    case RLO_ATTRIBUTE_STRING:
      return "a string";
    case RLO_ATTRIBUTE_SHAPE:
      return "a shape";
  }
  return "of no known type";
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

/* Finds an attribute and checks that it has one of the types. */
static rlo_status get(const rlo_attributes *attributes,
                      const char *name,
                      uint32_t types,
                      rlo_attribute_type wanted,
                      const rlo_attribute **out_attribute) {
  const rlo_attribute *attribute = rlo_attributes_find(attributes, name);
  if (attribute == NULL) {
    return RLO_FAIL(RLO_NOT_FOUND, "attribute '%s' is missing", name);
  }
  if (((uint32_t)attribute->type & types) == 0) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "attribute '%s' is %s, not %s",
                    name,
                    type_name(attribute->type),
                    type_name(wanted));
  }
  *out_attribute = attribute;
  return RLO_OK;
}

/* Copies the value of an attribute of exactly this type: the members of a union
 * begin where it does. */
static rlo_status copy_value(const rlo_attributes *attributes,
                             const char *name,
                             rlo_attribute_type type,
                             void *out_value,
                             size_t bytes) {
  const rlo_attribute *found = NULL;
  RLO_TRY(get(attributes, name, (uint32_t)type, type, &found));
  memcpy(out_value, &found->value, bytes);
  return RLO_OK;
}

rlo_status rlo_attributes_get_i64(const rlo_attributes *attributes,
                                  const char *name,
                                  int64_t *out_value) {
  return copy_value(
      attributes, name, RLO_ATTRIBUTE_I64, out_value, sizeof *out_value);
}

rlo_status rlo_attributes_get_i64s(const rlo_attributes *attributes,
                                   const char *name,
                                   rlo_i64_list *out_value) {
  return copy_value(
      attributes, name, RLO_ATTRIBUTE_I64S, out_value, sizeof *out_value);
}

rlo_status rlo_attributes_get_f64(const rlo_attributes *attributes,
                                  const char *name,
                                  double *out_value) {
  const rlo_attribute *found = NULL;
  RLO_TRY(get(attributes,
              name,
              RLO_ATTRIBUTE_F64 | RLO_ATTRIBUTE_I64,
              RLO_ATTRIBUTE_F64,
              &found));
  *out_value = found->type == RLO_ATTRIBUTE_F64 ? found->value.f64
                                                : (double)found->value.i64;
  return RLO_OK;
}

rlo_status rlo_attributes_get_bool(const rlo_attributes *attributes,
                                   const char *name,
                                   bool *out_value) {
  return copy_value(
      attributes, name, RLO_ATTRIBUTE_BOOL, out_value, sizeof *out_value);
}

rlo_status rlo_attributes_get_string(const rlo_attributes *attributes,
                                     const char *name,
                                     const char **out_value) {
  return copy_value(
      attributes, name, RLO_ATTRIBUTE_STRING, out_value, sizeof *out_value);
}

rlo_status rlo_attributes_get_shape(const rlo_attributes *attributes,
                                    const char *name,
                                    const rlo_shape **out_value) {
  return copy_value(
      attributes, name, RLO_ATTRIBUTE_SHAPE, out_value, sizeof *out_value);
}

/* ------------------------------------------------------------------ checking
 */

/* Checks an attribute by itself. */
static rlo_status check_item(const rlo_attribute *item, int32_t index) {
  if (item->name == NULL) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT, "attribute %d has no name", index);
  }
  bool is_whole = true;
  switch (item->type) {
    case RLO_ATTRIBUTE_I64:
    case RLO_ATTRIBUTE_F64:
    case RLO_ATTRIBUTE_BOOL:
      break;
    case RLO_ATTRIBUTE_I64S:
      is_whole =
          item->value.i64s.count >= 0 &&
          (item->value.i64s.count == 0 || item->value.i64s.values != NULL);
      break;
    case RLO_ATTRIBUTE_STRING:
      is_whole = item->value.string != NULL;
      break;
    case RLO_ATTRIBUTE_SHAPE:
      is_whole = item->value.shape != NULL;
      break;
    default:
      return RLO_FAIL(RLO_INVALID_ARGUMENT,
                      "attribute '%s' is of no known type (%d)",
                      item->name,
                      (int)item->type);
  }
  if (!is_whole) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "attribute '%s' is %s without its values",
                    item->name,
                    type_name(item->type));
  }
  return RLO_OK;
}

rlo_status rlo__attributes_check_items(const rlo_attributes *attributes) {
  if (attributes == NULL) {
    return RLO_OK;
  }
  if (attributes->count < 0 ||
      (attributes->count > 0 && attributes->items == NULL)) {
    return RLO_FAIL(RLO_INVALID_ARGUMENT,
                    "%d attributes without a list of them",
                    attributes->count);
  }
  for (int32_t i = 0; i < attributes->count; ++i) {
    RLO_TRY(check_item(&attributes->items[i], i));
  }
  return RLO_OK;
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
      uint32_t types = specs[s].types;
      if (((uint32_t)item->type & types) == 0) {
        return RLO_FAIL(RLO_INVALID_ARGUMENT,
                        "%s: attribute '%s' is %s, not %s",
                        kernel_name,
                        item->name,
                        type_name(item->type),
                        /* The simplest of its types. */
                        type_name((rlo_attribute_type)(types & -types)));
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

/* ------------------------------------------------------------------- cloning
 */

static rlo_status clone_item(const rlo_attribute *from, rlo_attribute *to) {
  to->type = from->type;
  to->value = from->value;
  void *part = NULL;
  size_t bytes = 0;
  if (from->type == RLO_ATTRIBUTE_I64S) {
    bytes = (size_t)from->value.i64s.count * sizeof(int64_t);
    part = rlo__alloc(bytes);
    to->value.i64s.values = part;
    if (part != NULL && bytes > 0) {
      memcpy(part, from->value.i64s.values, bytes);
    }
  } else if (from->type == RLO_ATTRIBUTE_STRING) {
    part = rlo__alloc_string(from->value.string);
    to->value.string = part;
  } else if (from->type == RLO_ATTRIBUTE_SHAPE) {
    rlo_shape *shape = rlo__alloc(sizeof *shape);
    part = shape;
    to->value.shape = shape;
    if (shape != NULL) {
      *shape = *from->value.shape;
    }
  } else {
    to->name = rlo__alloc_string(from->name);
    return to->name != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
  }
  if (part == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  to->name = rlo__alloc_string(from->name);
  return to->name != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

/* A list that owns its parts, which the public struct declares const. */
typedef struct owned_attributes {
  rlo_attributes list;
  rlo_attribute *items;
} owned_attributes;

rlo_status rlo_attributes_clone(const rlo_attributes *attributes,
                                rlo_attributes **out_attributes) {
  *out_attributes = NULL;
  RLO_TRY(rlo__attributes_check_items(attributes));
  int32_t count = attributes != NULL ? attributes->count : 0;
  owned_attributes *clone = rlo__alloc(sizeof *clone);
  if (clone == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  rlo_status status = RLO_OUT_OF_MEMORY;
  clone->items = rlo__alloc_array((size_t)count + 1, sizeof *clone->items);
  if (clone->items == NULL) {
    goto fail;
  }
  clone->list.items = clone->items;
  for (int32_t i = 0; i < count; ++i) {
    /* Counted first, so that a failure releases its parts. */
    clone->list.count = i + 1;
    RLO_TRY_GOTO(clone_item(&attributes->items[i], &clone->items[i]));
  }
  *out_attributes = &clone->list;
  return RLO_OK;
fail:
  rlo_attributes_release(&clone->list);
  return status;
}

static void free_borrowed(const void *part) {
  /* Allocated by clone_item. */
  rlo__free((void *)(uintptr_t)part);
}

void rlo_attributes_release(rlo_attributes *attributes) {
  if (attributes == NULL) {
    return;
  }
  owned_attributes *clone = (owned_attributes *)attributes;
  for (int32_t i = 0; clone->items != NULL && i < clone->list.count; ++i) {
    rlo_attribute *item = &clone->items[i];
    free_borrowed(item->name);
    if (item->type == RLO_ATTRIBUTE_I64S) {
      free_borrowed(item->value.i64s.values);
    } else if (item->type == RLO_ATTRIBUTE_STRING) {
      free_borrowed(item->value.string);
    } else if (item->type == RLO_ATTRIBUTE_SHAPE) {
      free_borrowed(item->value.shape);
    }
  }
  rlo__free(clone->items);
  rlo__free(clone);
}

/* ------------------------------------------------------------------- reading
 */

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
