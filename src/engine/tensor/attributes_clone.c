/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/tensor/attributes.h"

/* A list that owns its parts, which the public struct declares const. */
typedef struct owned_attributes {
  rlo_attributes list;
  rlo_attribute *items;
} owned_attributes;

static rlo_status clone_checked(const rlo_attributes *attributes,
                                rlo_attributes **out_attributes);

/* Copies memory to the heap; NULL without memory. */
static void *copy_bytes(const void *from, size_t bytes) {
  void *copy = rlo__alloc(bytes);
  if (copy != NULL && bytes > 0) {
    memcpy(copy, from, bytes);
  }
  return copy;
}

static rlo_status clone_strings(const rlo_attribute *from, rlo_attribute *to) {
  char **strings = rlo__alloc_array((size_t)from->count, sizeof(char *));
  if (strings == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  to->value.strings = (const char *const *)strings;
  to->count = 0;
  for (int32_t i = 0; i < from->count; ++i) {
    strings[i] = rlo__alloc_string(from->value.strings[i]);
    if (strings[i] == NULL) {
      return RLO_OUT_OF_MEMORY;
    }
    /* Counted one by one, so that a failure releases what there is. */
    to->count = i + 1;
  }
  return RLO_OK;
}

/* Copies the value of a checked attribute. `to` has no value, and what it has
 * after a failure can be released. */
static rlo_status clone_value(const rlo_attribute *from, rlo_attribute *to) {
  rlo_attributes *map = NULL;
  rlo_status status = RLO_OK;
  switch (from->type) {
    case RLO_ATTRIBUTE_I64:
    case RLO_ATTRIBUTE_F64:
      to->value = from->value;
      return RLO_OK;
    case RLO_ATTRIBUTE_STRING:
      to->value.string = rlo__alloc_string(from->value.string);
      break;
    case RLO_ATTRIBUTE_SHAPE:
      to->value.shape =
          copy_bytes(from->value.shape, sizeof *from->value.shape);
      break;
    case RLO_ATTRIBUTE_MAP:
      status = clone_checked(from->value.map, &map);
      to->value.map = map;
      return status;
    case RLO_ATTRIBUTE_STRING | RLO_ATTRIBUTE_LIST:
      return clone_strings(from, to);
    default:
      to->value.list = copy_bytes(
          from->value.list,
          (size_t)from->count * rlo__attribute_entry_bytes(from->type));
      break;
  }
  return to->value.list != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
}

static rlo_status clone_item(const rlo_attribute *from, rlo_attribute *to) {
  to->name = rlo__alloc_string(from->name);
  to->type = from->type;
  to->count = from->count;
  return to->name != NULL ? clone_value(from, to) : RLO_OUT_OF_MEMORY;
}

/* Copies attributes that have been checked, maps within them and all. */
static rlo_status clone_checked(const rlo_attributes *attributes,
                                rlo_attributes **out_attributes) {
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

rlo_status rlo_attributes_clone(const rlo_attributes *attributes,
                                rlo_attributes **out_attributes) {
  RLO_REQUIRE(out_attributes);
  *out_attributes = NULL;
  RLO_TRY(rlo__attributes_check_items(attributes));
  return clone_checked(attributes, out_attributes);
}

static void free_borrowed(const void *part) {
  /* Allocated by clone_item. */
  rlo__free((void *)(uintptr_t)part);
}

static void free_value(const rlo_attribute *item) {
  switch (item->type) {
    case RLO_ATTRIBUTE_I64:
    case RLO_ATTRIBUTE_F64:
      break;
    case RLO_ATTRIBUTE_MAP:
      rlo_attributes_release((rlo_attributes *)(uintptr_t)item->value.map);
      break;
    case RLO_ATTRIBUTE_STRING | RLO_ATTRIBUTE_LIST:
      for (int32_t i = 0; item->value.list != NULL && i < item->count; ++i) {
        free_borrowed(item->value.strings[i]);
      }
      free_borrowed(item->value.list);
      break;
    default:
      free_borrowed(item->value.list);
      break;
  }
}

void rlo_attributes_release(rlo_attributes *attributes) {
  if (attributes == NULL) {
    return;
  }
  owned_attributes *clone = (owned_attributes *)attributes;
  for (int32_t i = 0; clone->items != NULL && i < clone->list.count; ++i) {
    free_borrowed(clone->items[i].name);
    free_value(&clone->items[i]);
  }
  rlo__free(clone->items);
  rlo__free(clone);
}
