/* SPDX-License-Identifier: Apache-2.0 */
#include "array_sizes.h"

#include <stdlib.h>

#include "relayout/text.h"

#include "base/checked.h"
#include "message.h"

rlo_status rlo__array_sizes_add(rlo__array_sizes *sizes,
                                const rlo_subshape *subshape) {
  if (subshape->kind == RLO_SHAPE_KIND_TUPLE ||
      subshape->kind == RLO_SHAPE_KIND_TOKEN) {
    return RLO_OK;
  }
  if (subshape->shape == NULL || rlo_shape_is_unbounded(subshape->shape)) {
    ++sizes->without_size;
    return RLO_OK;
  }
  rlo_shape_extent extent = {0};
  rlo_status status = rlo_shape_measure(subshape->shape, &extent);
  if (status != RLO_OK) {
    return status;
  }
  ++sizes->arrays;
  bool fits =
      rlo__add(sizes->elements, extent.elements, &sizes->elements) &&
      rlo__add(sizes->bytes, extent.bytes, &sizes->bytes) &&
      rlo__add(
          sizes->physical_bytes, extent.physical_bytes, &sizes->physical_bytes);
  return fits ? RLO_OK
              : rlo_error_set(RLO_OVERFLOW,
                              "the sizes of the arrays together do not fit 64 "
                              "bits");
}

static rlo_status add_leaf(const rlo_subshape *subshape, void *payload) {
  return rlo__array_sizes_add(payload, subshape);
}

rlo_status rlo__array_sizes_add_tree(rlo__array_sizes *sizes,
                                     const rlo_shape_tree *tree) {
  return rlo_shape_tree_for_each_subshape(
      tree, RLO_WALK_LEAVES, add_leaf, sizes);
}

int64_t rlo__array_sizes_padding_bytes(const rlo__array_sizes *sizes) {
  int64_t more = sizes->physical_bytes - sizes->bytes;
  return more > 0 ? more : 0;
}

double rlo__array_sizes_padding_share(const rlo__array_sizes *sizes) {
  return sizes->physical_bytes == 0
             ? 0
             : (double)rlo__array_sizes_padding_bytes(sizes) /
                   (double)sizes->physical_bytes;
}

void rlo__array_sizes_report(rlo__report *r, const rlo__array_sizes *sizes) {
  if (r->is_json && sizes->arrays == 0 && sizes->without_size > 0) {
    RLO__REPORT(r,
                RLO__STRING("elements", NULL, NULL),
                RLO__STRING("bytes", NULL, NULL),
                RLO__STRING("physical_bytes", NULL, NULL),
                RLO__STRING("padding_share", NULL, NULL));
    return;
  }
  RLO__REPORT(
      r,
      RLO__INT("elements", "elements", sizes->elements),
      RLO__INT("bytes", "bytes", sizes->bytes),
      RLO__INT("physical_bytes", "physical bytes", sizes->physical_bytes),
      RLO__SHARE("padding_share",
                 "padding",
                 rlo__array_sizes_padding_share(sizes),
                 " of the physical bytes"));
}

const char *rlo__shape_kind_name(rlo_shape_kind kind) {
  switch (kind) {
    case RLO_SHAPE_KIND_ARRAY:
      return "array";
    case RLO_SHAPE_KIND_TUPLE:
      return "tuple";
    case RLO_SHAPE_KIND_OPAQUE:
      return "opaque";
    case RLO_SHAPE_KIND_TOKEN:
      return "token";
    case RLO_SHAPE_KIND_BUFFER:
      return "buffer";
  }
  return "unknown";
}

char *rlo__shape_tree_text_make(const rlo_shape_tree *tree) {
  size_t bytes = rlo_shape_tree_format(tree, NULL, 0) + 1;
  char *text = malloc(bytes);
  if (text == NULL) {
    rlo__fail("cannot get %zu bytes of memory for a shape", bytes);
    return NULL;
  }
  rlo_shape_tree_format(tree, text, bytes);
  return text;
}
