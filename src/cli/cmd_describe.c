/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "relayout/shape.h"

#include "command.h"
#include "display.h"
#include "json.h"
#include "message.h"
#include "options.h"

/* Every tile adds at most its own rank, and one. */
#define MAX_PHYSICAL_DIMS \
  (RLO_MAX_RANK + RLO_MAX_TILES * (RLO_MAX_TILE_RANK + 1))

typedef struct description {
  rlo_shape shape;
  rlo_shape_extent extent;
  double padding_share;
  bool has_physical_dims;
  int32_t num_physical_dims;
  int64_t physical_dims[MAX_PHYSICAL_DIMS];
} description;

static int describe(const char *text, description *out) {
  int code = rlo__shape_operand_parse(text, &out->shape);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (rlo_shape_measure(&out->shape, &out->extent) != RLO_OK) {
    return rlo__fail_last();
  }
  /* A broadcast view has more elements than slots, and no padding. */
  if (out->extent.slots > out->extent.elements) {
    out->padding_share = (double)(out->extent.slots - out->extent.elements) /
                         (double)out->extent.slots;
  }
  if (out->shape.layout.kind != RLO_LAYOUT_DENSE) {
    return RLO__EXIT_OK;
  }
  out->has_physical_dims = true;
  if (rlo_shape_physical_dims(&out->shape,
                              out->physical_dims,
                              MAX_PHYSICAL_DIMS,
                              &out->num_physical_dims) != RLO_OK) {
    return rlo__fail_last();
  }
  return RLO__EXIT_OK;
}

static void print_json(const description *d) {
  rlo__shape_text text;
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  rlo__json_string(&json, "shape", rlo__shape_text_make(&d->shape, &text));
  rlo__json_int(&json, "rank", d->shape.rank);
  rlo__json_int(&json, "elements", d->extent.elements);
  rlo__json_int(&json, "slots", d->extent.slots);
  rlo__json_int(&json, "element_bits", d->extent.element_bits);
  rlo__json_int(&json, "bytes", d->extent.bytes);
  rlo__json_int(&json, "physical_bytes", d->extent.physical_bytes);
  rlo__json_double(&json, "padding_share", d->padding_share);
  if (d->has_physical_dims) {
    rlo__json_ints(
        &json, "physical_dims", d->physical_dims, d->num_physical_dims);
  } else {
    rlo__json_string(&json, "physical_dims", NULL);
  }
  rlo__json_end_object(&json);
}

static void print_text(const description *d) {
  rlo__shape_text text;
  printf("shape           %s\n", rlo__shape_text_make(&d->shape, &text));
  printf("rank            %d\n", d->shape.rank);
  printf("elements        %" PRId64 "\n", d->extent.elements);
  printf("slots           %" PRId64 "\n", d->extent.slots);
  printf("element bits    %" PRId64 "\n", d->extent.element_bits);
  printf("bytes           %" PRId64 "\n", d->extent.bytes);
  printf("physical bytes  %" PRId64 "\n", d->extent.physical_bytes);
  printf("padding         %.1f %% of the slots\n", 100 * d->padding_share);
  if (!d->has_physical_dims) {
    puts("physical dims   none: the layout has strides");
    return;
  }
  fputs("physical dims   [", stdout);
  for (int32_t i = 0; i < d->num_physical_dims; ++i) {
    printf("%s%" PRId64, i == 0 ? "" : ",", d->physical_dims[i]);
  }
  puts("]");
}

static int run(int argc, char **argv) {
  static const struct option options[] = {
      {"help", no_argument, NULL, RLO__OPTION_HELP},
      {"json", no_argument, NULL, RLO__OPTION_JSON},
      {0}};
  bool is_json = false;
  for (int option; (option = rlo__option_next(argc, argv, options)) != -1;) {
    switch (option) {
      case RLO__OPTION_HELP:
        fputs(rlo__cmd_describe.help, stdout);
        return RLO__EXIT_OK;
      case RLO__OPTION_JSON:
        is_json = true;
        break;
      default:
        return RLO__EXIT_USAGE;
    }
  }
  char **operands;
  int code = rlo__operands_take(argc, argv, 1, "a shape", &operands);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  static description d;
  code = describe(operands[0], &d);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (is_json) {
    print_json(&d);
  } else {
    print_text(&d);
  }
  return RLO__EXIT_OK;
}

const rlo__command rlo__cmd_describe = {
    .name = "describe",
    .summary = "tell the sizes of a shape",
    .help =
        "Usage: relayout describe [--json] SHAPE\n"
        "\n"
        "Prints the canonical text of a shape, its rank and its sizes:\n"
        "elements are counted by the logical dimensions; slots are the places\n"
        "for elements in memory, padding included; bytes and physical bytes\n"
        "are what the two take; physical dims are the dimensions of the "
        "memory\n"
        "from the slowest to the fastest varying, after padding and tiles.\n"
        "\n"
        "  --json   print an object with the keys shape, rank, elements, "
        "slots,\n"
        "           element_bits, bytes, physical_bytes, padding_share and\n"
        "           physical_dims (null for a layout with strides)\n"
        "\n"
        "Example: relayout describe 'f32[64,100]{1,0:T(8,128)}'\n",
    .run = run,
};
