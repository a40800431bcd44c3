/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "engine/tensor/attributes.h"

/* A clone is one block of memory with all parts. It is walked through twice:
 * `memory` is NULL while its size is counted. */
typedef struct block {
  char *memory;
  size_t used;
} block;

/* Copies bytes into the block; NULL while it is counted. */
static void *put(block *b, const void *from, size_t bytes) {
  enum { ALIGNMENT = 16 };

  size_t begin = b->used;
  b->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (b->memory == NULL) {
    return NULL;
  }
  return bytes > 0 ? memcpy(b->memory + begin, from, bytes) : b->memory + begin;
}

static const char *put_string(block *b, const char *text) {
  return put(b, text, strlen(text) + 1);
}

static const char *const *put_strings(block *b, const char *const *from, size_t count) {
  const char **strings = put(b, from, count * sizeof(char *));
  for (size_t i = 0; i < count; ++i) {
    const char *string = put_string(b, from[i]);
    if (strings != NULL) {
      strings[i] = string;
    }
  }
  return strings;
}

static rlo_attributes *put_attributes(block *b, const rlo_attributes *from);

/* Copies what a checked attribute points to. */
static void put_value(block *b, rlo_attribute *item) {
  const bool is_list = (item->type & RLO_ATTRIBUTE_LIST) != 0;
  const size_t count = is_list ? (size_t)item->count : 1;
  if (item->type == RLO_ATTRIBUTE_STRING) {
    item->value.string = put_string(b, item->value.string);
  } else if (item->type == RLO_ATTRIBUTE_MAP) {
    item->value.map = put_attributes(b, item->value.map);
  } else if (item->type == (RLO_ATTRIBUTE_STRING | RLO_ATTRIBUTE_LIST)) {
    item->value.strings = put_strings(b, item->value.strings, count);
  } else if (is_list || item->type == RLO_ATTRIBUTE_SHAPE) {
    item->value.list = put(b, item->value.list, count * rlo__attribute_entry_bytes(item->type));
  }
}

static rlo_attributes *put_attributes(block *b, const rlo_attributes *from) {
  rlo_attributes *to = put(b, from, sizeof *from);
  rlo_attribute *items = put(b, from->items, (size_t)from->count * sizeof *items);
  for (int32_t i = 0; i < from->count; ++i) {
    rlo_attribute item = from->items[i];
    item.name = put_string(b, item.name);
    put_value(b, &item);
    if (items != NULL) {
      items[i] = item;
    }
  }
  if (to != NULL) {
    to->items = items;
  }
  return to;
}

rlo_status rlo_attributes_clone(const rlo_attributes *attributes, rlo_attributes **out_attributes) {
  static const rlo_attributes none = {NULL, 0};
  RLO_REQUIRE(out_attributes);
  *out_attributes = NULL;
  RLO_TRY(rlo__attributes_check_items(attributes));
  const rlo_attributes *from = attributes != NULL ? attributes : &none;
  block b = {NULL, 0};
  (void)put_attributes(&b, from);
  b.memory = rlo__alloc_unset(b.used);
  RLO_TRY_MEMORY(b.memory);
  b.used = 0;
  *out_attributes = put_attributes(&b, from);
  return RLO_OK;
}

void rlo_attributes_release(rlo_attributes *attributes) {
  rlo__free(attributes);
}
