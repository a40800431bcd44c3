/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "relayout/npy.h"
#include "relayout/xla/proto.h"
#include "relayout/xla/shape_util.h"
#include "relayout/xla/text.h"

#include "array_file.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"
#include "base/str.h"
#include "command.h"
#include "describe.h"
#include "display.h"
#include "files.h"
#include "message.h"
#include "options.h"
#include "report.h"

/* --------------------------------------------------------------------- cost */

/* Adds a part, in text "dimensions 1*2 are 90 of 128 (29.7 % padding)" if it
 * has padding. */
static void add_part(rlo__report *r, const rlo_cost_part *part) {
  static const char *const kinds[] = {"dimensions", "added", "tail"};
  static const char *const words[] = {"dimension", "a dimension that a tile adds", "the tail"};
  int64_t dimensions[RLO_MAX_RANK];
  int32_t count = 0;
  for (int32_t k = 0; k < RLO_MAX_RANK; ++k) {
    if ((part->dimensions >> k & 1U) != 0) {
      dimensions[count++] = k;
    }
  }
  const double share =
      part->slots == 0 ? 0 : (double)(part->slots - part->elements) / (double)part->slots;
  char buffer[RLO_MAX_RANK * 3 + 128];
  rlo__str text = rlo__str_over(buffer, sizeof(buffer));
  rlo__str_printf(&text, "%s%s", words[part->kind], count > 1 ? "s" : "");
  for (int32_t i = 0; i < count; ++i) {
    rlo__str_printf(&text, "%c%" PRId64, i == 0 ? ' ' : '*', dimensions[i]);
  }
  if (part->slots > part->elements) {
    rlo__report_line(r, " ", "%s %s %" PRId64 " of %" PRId64 " (%.1f %% padding)", buffer,
                     count > 1 ? "are" : "is", part->elements, part->slots, 100 * share);
  }
  RLO__REPORT_OBJECT(r, NULL, RLO__STRING("kind", NULL, kinds[part->kind]),
                     RLO__INTS("dimensions", NULL, dimensions, count),
                     RLO__INT("elements", NULL, part->elements),
                     RLO__INT("slots", NULL, part->slots), RLO__REAL("padding_share", share));
}

/* In text, the slots for the elements, such as "128x", or "1.536x" with four
 * digits if it is not whole, and a line for each part with padding. */
static void add_cost(rlo__report *r, const rlo_shape_cost *cost) {
  const bool is_empty = cost->elements == 0;
  const double factor = is_empty ? (double)INFINITY : (double)cost->slots / (double)cost->elements;
  char text[48] = "";
  if (!is_empty) {
    snprintf(text, sizeof(text), cost->slots % cost->elements == 0 ? ", %.0fx" : ", %.4gx", factor);
  }
  rlo__report_line(r, "cost", "%" PRId64 " slots for %" PRId64 " elements%s", cost->slots,
                   cost->elements, text);
  rlo__report_open(r, "cost", '{');
  RLO__REPORT(r, RLO__REAL("factor", factor));
  rlo__report_open(r, "parts", '[');
  for (int32_t i = 0; i < cost->num_parts; ++i) {
    add_part(r, &cost->parts[i]);
  }
  rlo__report_close(r);
  rlo__report_close(r);
}

/* -------------------------------------------------------------------- array */

/* Every tile adds at most its own rank, and one. */
#define MAX_PHYSICAL_DIMS (RLO_MAX_RANK + RLO_MAX_TILES * (RLO_MAX_TILE_RANK + 1))

static void add_numpy(rlo__report *r, const rlo_numpy_view *view) {
  RLO__REPORT(r, RLO__INT("offset_bytes", NULL, view->offset_bytes),
              RLO__BOOL("is_byte_swapped", view->is_byte_swapped));
  rlo__report_line(r, "slot 0 at", "byte %" PRId64 " from the first element", view->offset_bytes);
  rlo__report_line(r, "byte order", "%s", view->is_byte_swapped ? "swapped" : "this machine's");
}

/* Adds none for a layout with strides. */
static void add_physical_dims(rlo__report *r, const int64_t *dims, int32_t count) {
  if (count >= 0) {
    RLO__REPORT(r, RLO__INTS("physical_dims", "physical dims", dims, count));
    return;
  }
  rlo__report_line(r, "physical dims", "none: the layout has strides");
  RLO__REPORT(r, RLO__STRING("physical_dims", NULL, NULL));
}

static int describe_array(const rlo_numpy_view *view, bool is_numpy, bool is_json) {
  const rlo_shape *shape = &view->shape;
  rlo_shape_extent extent = {0};
  rlo_shape_cost cost;
  int64_t dims[MAX_PHYSICAL_DIMS];
  int32_t num_dims = -1;
  RLO__EXIT_TRY(rlo__check(rlo_shape_measure(shape, &extent)));
  RLO__EXIT_TRY(rlo__check(rlo_shape_predict_cost(shape, &cost)));
  if (shape->layout.kind == RLO_LAYOUT_DENSE) {
    RLO__EXIT_TRY(rlo__check(rlo_shape_physical_dims(shape, dims, MAX_PHYSICAL_DIMS, &num_dims)));
  }
  /* A broadcast view has more elements than slots, and no padding. */
  const int64_t padding = extent.slots - extent.elements;
  rlo__report r;
  rlo__report_begin(&r, is_json, 15);
  RLO__REPORT(
      &r, RLO__STRING("shape", "shape", rlo__shape_text(shape)),
      RLO__INT("rank", "rank", shape->rank), RLO__INT("elements", "elements", extent.elements),
      RLO__INT("slots", "slots", extent.slots),
      RLO__INT("element_bits", "element bits", extent.element_bits),
      RLO__INT("bytes", "bytes", extent.bytes),
      RLO__INT("physical_bytes", "physical bytes", extent.physical_bytes),
      RLO__SHARE("padding_share", "padding",
                 padding > 0 ? (double)padding / (double)extent.slots : 0, " of the slots"));
  if (is_numpy) {
    add_numpy(&r, view);
  }
  add_physical_dims(&r, dims, num_dims);
  add_cost(&r, &cost);
  rlo__report_end(&r);
  return RLO__EXIT_OK;
}

/* ---------------------------------------------------------------- arguments */

/* The subject of a description: one of a text, a NumPy array and files. */
typedef struct describe_request {
  /* The attributes of a NumPy array; NULL: it is none. */
  const char *numpy_type;
  rlo__int_list dims;
  rlo__int_list strides;
  int64_t available_bytes;
  const char *proto_path;
  const char *hlo_path;
  /* NULL: nothing is written. */
  const char *save_path;
  /* 0 if not given. */
  int64_t top;
} describe_request;

enum { DEFAULT_TOP = 20 };

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__OPTION("numpy", TEXT, describe_request, numpy_type),
    RLO__OPTION("dims", INTS, describe_request, dims),
    RLO__OPTION("strides", INTS, describe_request, strides),
    RLO__OPTION_WITHIN("bytes", describe_request, available_bytes, 0, INT64_MAX),
    RLO__OPTION("proto", TEXT, describe_request, proto_path),
    RLO__OPTION("save-proto", TEXT, describe_request, save_path),
    RLO__OPTION("hlo", TEXT, describe_request, hlo_path),
    RLO__OPTION_WITHIN("top", describe_request, top, 1, INT64_MAX),
    {0}};

static int check_options(const describe_request *request) {
  static const char verb[] = "describe";
  const bool is_numpy = request->numpy_type != NULL;
  RLO__USAGE_IF(!is_numpy && (request->dims.is_given || request->strides.is_given ||
                              request->available_bytes != RLO_AVAILABLE_UNKNOWN),
                verb, "--dims, --strides and --bytes require --numpy");
  RLO__USAGE_IF(is_numpy && !request->dims.is_given, verb, "--numpy needs --dims");
  RLO__USAGE_IF(is_numpy + (request->proto_path != NULL) + (request->hlo_path != NULL) > 1, verb,
                "give one of --numpy, --proto and --hlo");
  RLO__USAGE_IF(request->top != 0 && request->hlo_path == NULL, verb, "--top requires --hlo");
  RLO__USAGE_IF(request->save_path != NULL && request->hlo_path != NULL, verb,
                "--save-proto writes one shape, not --hlo");
  return RLO__EXIT_OK;
}

/* ----------------------------------------------------------- trees and files
 */

/* The program or the tree that is described, unless it is a NumPy array. The
 * other one is NULL. */
typedef struct contents {
  rlo_shape_tree *tree;
  rlo_program_shape *program;
} contents;

/* Reads a file that holds a ShapeProto or a ProgramShapeProto in wire form. The
 * fields of the two messages differ in form, so that bytes of one are none of
 * the other, but for no bytes at all. */
static int load_proto(const char *path, contents *out) {
  char *bytes = NULL;
  size_t size = 0;
  char why[512];
  RLO__EXIT_TRY(rlo__check(
      rlo__file_read(rlo__path_of(path, "/dev/stdin"), RLO_PROTO_MAX_BYTES, &bytes, &size)));
  rlo_status status = rlo_proto_parse_tree(bytes, size, &out->tree, NULL);
  if (status != RLO_OK) {
    snprintf(why, sizeof(why), "%s", rlo_error_last()->message);
    status = rlo_proto_parse_program(bytes, size, &out->program, NULL);
  }
  rlo__free(bytes);
  return status == RLO_OK ? RLO__EXIT_OK
                          : rlo__fail("%s holds no ShapeProto: %s; and no ProgramShapeProto: %s",
                                      path, why, rlo_error_last()->message);
}

/* Writes a ShapeProto or a ProgramShapeProto; the file appears complete or not
 * at all. */
static int save_proto(const char *path, const contents *c) {
  rlo_proto_options how = RLO_PROTO_OPTIONS_INIT;
  /* Without them a padded array could not be written. */
  how.has_padding_fields = true;
  size_t bytes = 0;
  void *memory = rlo__alloc(RLO_PROTO_MAX_BYTES);
  RLO__EXIT_TRY_MEMORY(memory);
  const rlo_status status =
      c->tree != NULL
          ? rlo_proto_format_tree(c->tree, &how, memory, RLO_PROTO_MAX_BYTES, &bytes)
          : rlo_proto_format_program(c->program, &how, memory, RLO_PROTO_MAX_BYTES, &bytes);
  const int code =
      status == RLO_OK ? rlo__output_write(path, NULL, 0, memory, bytes) : rlo__fail_last();
  rlo__free(memory);
  return code;
}

static rlo_status parse_operand(const char *text, contents *out) {
  return strstr(text, "->") != NULL ? rlo_program_shape_parse(text, strlen(text), &out->program)
                                    : rlo_shape_tree_parse(text, strlen(text), &out->tree);
}

/* Reads a text, or the header of a file that has this name. */
static int load_operand(const char *text, contents *out) {
  if (parse_operand(text, out) == RLO_OK) {
    return RLO__EXIT_OK;
  }
  RLO__EXIT_IF(access(text, F_OK) != 0, "'%s': %s", text, rlo_error_last()->message);
  const rlo__file_hints hints = RLO__FILE_HINTS_INIT;
  rlo__array_source source;
  RLO__EXIT_TRY(rlo__array_source_open(text, &hints, &source));
  const int code = rlo__check(rlo_shape_tree_make_array(&source.contents.shape, &out->tree));
  rlo__array_source_close(&source);
  return code;
}

/* ------------------------------------------------------------------ running */

static int describe_numpy(const describe_request *request, rlo_numpy_view *out) {
  const rlo__int_list *strides = &request->strides;
  RLO__EXIT_IF(strides->is_given && strides->count != request->dims.count,
               "there are %d strides, but %d dimensions", strides->count, request->dims.count);
  return rlo__check(rlo_shape_from_numpy(request->numpy_type, request->dims.values,
                                         strides->is_given ? strides->values : NULL,
                                         request->dims.count, request->available_bytes, out));
}

/* The array of a NumPy array, or of a tree that is one, goes to *view. */
static int load(const describe_request *request, const char *text, rlo_numpy_view *view,
                contents *out) {
  if (request->proto_path != NULL) {
    return load_proto(request->proto_path, out);
  }
  if (request->numpy_type == NULL) {
    return load_operand(text, out);
  }
  RLO__EXIT_TRY(describe_numpy(request, view));
  return rlo__check(rlo_shape_tree_make_array(&view->shape, &out->tree));
}

static int describe_contents(const contents *c, rlo_numpy_view *view, bool is_numpy, bool is_json) {
  if (c->program != NULL) {
    return rlo__describe_program(c->program, is_json);
  }
  if (rlo_shape_tree_kind(c->tree) != RLO_SHAPE_KIND_ARRAY) {
    return rlo__describe_tree(c->tree, is_json);
  }
  RLO__EXIT_TRY(rlo__check(rlo_shape_tree_get_array(c->tree, NULL, 0, &view->shape)));
  return describe_array(view, is_numpy, is_json);
}

/* `text` is NULL unless a text is what is described. */
static int describe(const describe_request *request, const char *text, bool is_json) {
  rlo_numpy_view view = RLO_NUMPY_VIEW_INIT;
  contents c = {NULL, NULL};
  int code = load(request, text, &view, &c);
  if (code == RLO__EXIT_OK && request->save_path != NULL) {
    code = save_proto(request->save_path, &c);
  }
  if (code == RLO__EXIT_OK) {
    code = describe_contents(&c, &view, request->numpy_type != NULL, is_json);
  }
  rlo_shape_tree_release(c.tree);
  rlo_program_shape_release(c.program);
  return code;
}

static int run(int argc, char **argv) {
  rlo__common_options common;
  describe_request request = {.available_bytes = RLO_AVAILABLE_UNKNOWN};
  RLO__EXIT_TRY(rlo__options_take(&rlo__cmd_describe, argc, argv, &request, &common));
  RLO__EXIT_TRY(check_options(&request));
  const bool has_text =
      request.numpy_type == NULL && request.proto_path == NULL && request.hlo_path == NULL;
  RLO__EXIT_TRY(rlo__operands_take(argc, argv, has_text ? 1 : 0,
                                   "a shape, weights, --numpy, --proto or --hlo"));
  if (has_text && request.save_path == NULL && rlo__array_file_has_members(argv[optind])) {
    return rlo__describe_weights(argv[optind], common.is_json);
  }
  return request.hlo_path != NULL
             ? rlo__describe_hlo(request.hlo_path, request.top == 0 ? DEFAULT_TOP : request.top,
                                 common.is_json)
             : describe(&request, has_text ? argv[optind] : NULL, common.is_json);
}

static void print_types(FILE *out) {
  /* Above the numbers of all types. */
  enum { END = 64 };

  int column = 0;
  fputs("\nElement types. NumPy's names, beside ours, are read as well:\n", out);
  for (int number = 0; number < END; ++number) {
    if (rlo_dtype_is_valid((rlo_dtype)number)) {
      fprintf(out, "%s%-13s %-*s", column == 0 ? "\n  " : "  ", rlo_dtype_name((rlo_dtype)number),
              column == 0 ? 19 : 0, rlo_dtype_numpy_name((rlo_dtype)number));
      column = 1 - column;
    }
  }
  fputc('\n', out);
}

const rlo__command rlo__cmd_describe = {
    .name = "describe",
    .summary = "print the sizes of a shape, of a program's arrays, of weights",
    .help =
        "Usage: relayout describe [--json] SHAPE\n"
        "       relayout describe [--json] --numpy TYPE --dims LIST [OPTION...]\n"
        "       relayout describe [--json] --proto FILE\n"
        "       relayout describe [--json] --hlo FILE [--top N]\n"
        "       relayout describe [--json] FILE.npy | FILE.safetensors | FOLDER\n"
        "\n"
        "Prints the canonical text of a shape, its rank and its sizes:\n"
        "elements are counted by the logical dimensions; slots are the places\n"
        "for elements in memory, padding included; bytes and physical bytes\n"
        "are what the two take; physical dims are the dimensions of the memory\n"
        "from the slowest to the fastest varying, after padding and tiles.\n"
        "\n"
        "The last lines list the dimensions that cause padding: how many\n"
        "positions each one uses, of those that padding and tiles give it.\n"
        "\n"
        "  --json   print an object with the keys shape, rank, elements, slots,\n"
        "           element_bits, bytes, physical_bytes, padding_share,\n"
        "           physical_dims (null for a layout with strides) and cost:\n"
        "           factor (slots for each element; null for no element) and\n"
        "           parts, the most wasteful first, each with kind (dimensions,\n"
        "           added or tail), dimensions, elements, slots and\n"
        "           padding_share\n"
        "\n"
        "Of a tuple, (f32[2], (s32[3], token[])), or a program, (x: f32[2]) ->\n"
        "f32[2], prints the sizes of all arrays together and of each leaf, with\n"
        "its index, {1,0}. Keys: shape, kind, arrays, without_size (opaque values\n"
        "and arrays without bound), elements, bytes, physical_bytes,\n"
        "padding_share, and leaves (each index, kind, shape, sizes); of a program\n"
        "program, parameters (each name and these) and result.\n"
        "\n"
        "In place of a shape, the attributes of a NumPy array `a`:\n"
        "\n"
        "  --numpy TYPE    a.dtype.str, such as '<f4'\n"
        "  --dims LIST     a.shape, numbers between commas; '-' is none\n"
        "  --strides LIST  a.strides, in bytes (row-major without)\n"
        "  --bytes N       bytes of memory from the first element on; with them,\n"
        "                  rows with a pitch are a padded layout\n"
        "\n"
        "Also prints the offset of slot 0 from the first element (strides may be\n"
        "negative), and the byte order: keys offset_bytes and is_byte_swapped.\n"
        "\n"
        "In place of a shape, files:\n"
        "\n"
        "  FILE.npy           the array that a file of NumPy's holds\n"
        "  --proto FILE       an XLA ShapeProto or ProgramShapeProto, in wire form\n"
        "  --save-proto FILE  writes what is described as one; padding goes into\n"
        "                     the fields of 2017, which XLA now skips\n"
        "  --hlo FILE         HLO text, as XLA dumps it; - is standard input\n"
        "  --top N            list this many shapes of each module (20)\n"
        "\n"
        "Of each HLO module prints what its parameters and its result take, and the\n"
        "arrays that instructions make, by shape: those with the most padding first,\n"
        "how many there are, and the first one. Arrays within fusions are not in\n"
        "memory, and only counted. Sums are over all instructions, of which\n"
        "some share memory. A line that is no HLO is named on standard error, the\n"
        "rest is read, and the exit code is 1. Keys: modules (each name,\n"
        "parameters, result, computations, fused_computations, instructions,\n"
        "arrays, arrays_in_fusions, without_size, bytes, physical_bytes,\n"
        "padding_share, shapes_with_padding, wasteful) and bad_lines.\n"
        "\n"
        "Of a file of weights, or of the files of a folder with an index, prints\n"
        "each member: its bytes, those of them that padding and tiles waste, the\n"
        "alignment of its place in the file, up to a page of 4096 bytes, its name,\n"
        "its shape, its sharding if the metadata have it, and whether it is too\n"
        "long for a buffer of the default device, if there is one. Keys: members\n"
        "(each name, shape, sharding, file, offset_bytes, bytes, wasted_bytes,\n"
        "alignment_bytes and is_too_long), bytes and wasted_bytes, and of a device\n"
        "max_buffer_bytes and too_long.\n"
        "\n"
        "Examples:\n"
        "  relayout describe --numpy '<f4' --dims 3,4 --strides 16,4\n"
        "  relayout describe 'f32[64,100]{1,0:T(8,128)}'\n"
        "  relayout describe model.safetensors\n",
    .print_more_help = print_types,
    .options = options,
    .run = run,
};
