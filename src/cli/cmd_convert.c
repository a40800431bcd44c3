/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "relayout/ops.h"
#include "relayout/xla/shape_util.h"

#include "array_file.h"
#include "command.h"
#include "convert.h"
#include "display.h"
#include "files.h"
#include "message.h"
#include "options.h"
#include "report.h"
#include "stream.h"

static int open_source(rlo__conversion *c) {
  rlo__file_hints hints = c->request.hints;
  if (c->request.from != NULL) {
    RLO__EXIT_TRY(rlo__shape_operand_parse(c->request.from, &c->from));
    hints.from = &c->from;
  }
  const int32_t order = c->request.byte_order;
  hints.byte_order = order == 0       ? RLO__BYTE_ORDER_DEFAULT
                     : order % 2 == 0 ? RLO__BYTE_ORDER_BIG
                                      : RLO__BYTE_ORDER_LITTLE;
  RLO__EXIT_TRY(rlo__array_source_open(c->request.input_path, &hints, &c->source));
  c->is_big_endian = order > 2 || (order == 2 && c->source.has_header);
  return RLO__EXIT_OK;
}

/* Sets the permutation and dst_shape. */
static int find_shape(rlo__conversion *c) {
  RLO__EXIT_TRY(rlo__input_file_check(&c->source.file, c->request.output_path));
  RLO__EXIT_IF(c->source.has_header && c->request.byte_order > 2,
               "%s has a header, which says its byte order: give --byte-order that of %s alone",
               c->request.input_path, c->request.output_path);
  const rlo_shape *src = &c->source.contents.shape;
  RLO__EXIT_TRY(rlo__permutation_parse("convert", "--perm", c->request.permutation, src->rank,
                                       c->permutation));
  c->dst_shape = *src;
  c->dst_shape.layout = rlo_layout_row_major(src->rank);
  c->dst_shape.layout.element_size_bits = src->layout.element_size_bits;
  RLO__EXIT_TRY(rlo__check(
      rlo_shape_permute_dims_ignoring_layout(&c->dst_shape, c->permutation, &c->dst_shape)));
  return c->request.to == NULL ? RLO__EXIT_OK
                               : rlo__layout_operand_apply(c->request.to, &c->dst_shape);
}

int rlo__conversion_open(rlo__conversion *c) {
  RLO__EXIT_TRY(open_source(c));
  const int code = find_shape(c);
  if (code != RLO__EXIT_OK) {
    rlo__array_source_close(&c->source);
    return code;
  }
  c->source.has_checked_values = rlo__values_may_be_cut(&c->source.contents.shape, &c->dst_shape);
  return RLO__EXIT_OK;
}

/* ----------------------------------------------------------------- printing */

static void report_output(const rlo__stream *stream, rlo__report *r,
                          const rlo__stream_result *result) {
  const rlo__conversion *c = stream->payload;
  const bool is_on_host = c->request.stream.devices.is_none;
  RLO__REPORT(r, RLO__STRING("shape", "", rlo__shape_text(&c->dst_shape)),
              RLO__STRING("file", NULL, c->request.output_path),
              RLO__INT("physical_bytes", NULL, c->problem.dst_bytes));
  if (result == NULL) {
    return;
  }
  /* Pieces may run by several families. */
  const char *family = is_on_host ? "host" : result->family[0] != '\0' ? result->family : NULL;
  RLO__REPORT(r, RLO__STRING("family", NULL, family));
  if (stream->is_in_pieces || !is_on_host) {
    RLO__REPORT(r, RLO__REAL("seconds", result->info.seconds));
  }
  RLO__REPORT(r, RLO__BOOL("is_verified", c->request.is_verified));
  if (stream->has_digest) {
    rlo__stream_report_digest(r, &c->dst_shape, c->request.output_path, result);
  }
}

/* ----------------------------------------------------------------- running */

static int convert_source(rlo__conversion *c) {
  rlo__convert_request *request = &c->request;
  RLO__EXIT_TRY(rlo__check(
      rlo_relayout_lower(&c->source.contents.shape, &c->dst_shape, c->permutation, &c->problem)));
  RLO__EXIT_IF(c->is_big_endian && request->has_digest,
               "--digest is for numbers with their first byte first; relayout digest reads others "
               "from a file with a header");
  if (c->is_big_endian) {
    RLO__EXIT_TRY(rlo__array_source_swap(&c->source, &c->dst_shape, &c->problem));
  }
  rlo__stream_output output = {.path = request->output_path,
                               .shape = &c->dst_shape,
                               .bytes = c->problem.dst_bytes,
                               .is_swapped = c->is_big_endian};
  const rlo__stream_job job = {.problem = &c->problem};
  rlo__stream stream = {.options = &request->stream,
                        .common = &request->common,
                        .sources = &c->source,
                        .num_sources = 1,
                        .outputs = &output,
                        .num_outputs = 1,
                        .jobs = &job,
                        .num_jobs = 1,
                        .is_verified = request->is_verified,
                        .has_digest = request->has_digest,
                        .report = report_output,
                        .payload = c};
  rlo__stream_result result;
  return rlo__stream_do(&stream, &result);
}

/* ----------------------------------------------------------------- options */

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__CONVERT_OPTIONS,
    RLO__OPTION("family", TEXT, rlo__convert_request, stream.family),
    RLO__OPTION("schedule", TEXT, rlo__convert_request, stream.schedule),
    RLO__OPTION("verify", FLAG, rlo__convert_request, is_verified),
    RLO__OPTION("digest", FLAG, rlo__convert_request, has_digest),
    RLO__STREAM_OPTIONS(rlo__convert_request, stream),
    RLO__OPTION_COMMON("no-isolate", NO_ISOLATE),
    {0}};

static int check_options(rlo__convert_request *request) {
  bool is_kernel_named = request->stream.family != NULL || request->stream.schedule != NULL;
  RLO__USAGE_IF(request->stream.is_host && is_kernel_named, "convert",
                "--host uses no device: it excludes --family and --schedule");
  RLO__USAGE_IF(request->stream.devices.is_none && is_kernel_named, "convert",
                "--device none excludes --family and --schedule");
  return rlo__stream_options_check("convert", &request->stream);
}

int rlo__convert_request_take(const rlo__command *command, int argc, char **argv,
                              rlo__convert_request *out_request) {
  *out_request = (rlo__convert_request){.hints = RLO__FILE_HINTS_INIT};
  RLO__EXIT_TRY(rlo__options_take(command, argc, argv, out_request, &out_request->common));
  RLO__EXIT_TRY(rlo__operands_take(argc, argv, 2, "an input and an output file"));
  RLO__EXIT_TRY(check_options(out_request));
  out_request->input_path = rlo__path_of(argv[optind], "/dev/stdin");
  out_request->output_path = rlo__path_of(argv[optind + 1], "/dev/stdout");
  out_request->hints.memory_bytes = out_request->stream.memory_bytes;
  return RLO__EXIT_OK;
}

static int run(int argc, char **argv) {
  /* Static: a problem is too large for the stack. */
  static rlo__conversion c;
  RLO__EXIT_TRY(rlo__convert_request_take(&rlo__cmd_convert, argc, argv, &c.request));
  RLO__EXIT_TRY(rlo__conversion_open(&c));
  const int code = convert_source(&c);
  rlo__array_source_close(&c.source);
  return code;
}

const rlo__command rlo__cmd_convert = {
    .name = "convert",
    .summary = "move an array from one file and layout to another",
    .help =
        "Usage: relayout convert [OPTION...] IN OUT\n"
        "\n"
        "Reads an array, moves it to another layout, and writes it. Without --to\n"
        "the result is in C order, so that\n"
        "\n"
        "  relayout convert in.npy out.npy --perm 0,3,1,2\n"
        "\n"
        "is numpy.transpose(a, (0, 3, 1, 2)) in C order. With --to the logical\n"
        "array stays what it is and its bytes move:\n"
        "\n"
        "  relayout convert in.npy out.npy --to '{0,1:pad(3,5)fill(zero)}'\n"
        "\n"
        "An element size in --to packs or unpacks: '{0:E(4)}' takes the low 4\n"
        "bits of each s4 in a byte, and an element that holds more is named.\n"
        "Without one they stay packed, as in '{0}'.\n"
        "\n"
        "  --to LAYOUT   the part of the destination's shape in braces; with\n"
        "                --perm, for the permuted dimensions\n"
        "  --perm P      dimension k of the result is dimension P[k] of the\n"
        "                input; -1 is its last one, -2 the one before\n"
        "  --from SHAPE  the shape whose slots the input holds; needed for bare\n"
        "                bytes\n"
        "  --bitcast     take the bits of an .npy file's elements for elements of\n"
        "                the type of --from, whatever type they have there;\n"
        "                without --from, text, times and records for integers\n"
        "  --offset BYTES\n"
        "                where the slots begin; IN, of any name, is then bare\n"
        "                bytes, which may go on behind them\n"
        "  --array N     the array N of several in one .npy file, from 0\n"
        "  --byte-order big|little[,big]\n"
        "                that of the numbers in IN and, little without it, in\n"
        "                OUT. IN with a header says its own: then that of OUT\n"
        "  --device D    a device of `relayout devices`, by its number or a part\n"
        "                of its name, or default. Several between commas, or all,\n"
        "                share the work on a large array; none is\n"
        "                --host. Without it the host moves an array of at most\n"
        "                64 MiB, and any with --memory, since a driver has memory\n"
        "                of its own;\n"
        "                the default device, if there is one, moves larger ones\n"
        "  --family F    use this family of kernels\n"
        "  --schedule S  run it by this schedule, such as 'output order'\n"
        "  --host        use the host, and no OpenCL\n"
        "  --verify      move it once more, on the host, and compare each byte,\n"
        "                before OUT appears\n"
        "  --digest      print the digest of OUT, found while it is written\n"
        "  --json        print an object with the keys shape, file,\n"
        "                physical_bytes, family, device, chosen_by (option, size,\n"
        "                element size, memory, default or no device), seconds,\n"
        "                is_verified, digest\n"
        "  --no-isolate  use the OpenCL driver in this process\n"
        "\n"
        "Large arrays. An array of more than 64 MiB, before or after, is moved in\n"
        "pieces, and is in memory as a whole only if OUT cannot be written so:\n"
        "\n" RLO__STREAM_HELP
        "\n"
        "What is printed is the shape of the result: relayout convert --from\n"
        "'THAT' OUT BACK reads it again. Slots that hold no element and have no\n"
        "fill are zero, so that equal inputs make equal files. OUT appears\n"
        "complete or not at all.\n",
    .print_more_help = rlo__array_file_print_help,
    .options = options,
    .run = run,
};
