/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/ops.h"
#include "relayout/text.h"
#include "relayout/xla/shape_util.h"

#include "array_file.h"
#include "base/status.h"
#include "command.h"
#include "convert.h"
#include "display.h"
#include "message.h"
#include "options.h"
#include "report.h"
#include "stream.h"

/* The digest of a file: a job that copies its bytes, in their order, to nowhere. */
typedef struct summation {
  rlo__array_source source;
  rlo_problem problem;
} summation;

/* Lowers a copy of the bytes, whatever they mean. */
static rlo_status lower_copy(summation *s) {
  rlo_shape bytes;
  RLO_TRY(rlo_shape_make(RLO_DTYPE_U8, &s->source.bytes, 1, &bytes));
  return rlo_relayout_lower(&bytes, &bytes, NULL, &s->problem);
}

static void report_digest(const rlo__stream *stream, rlo__report *r,
                          const rlo__stream_result *result) {
  const summation *s = stream->payload;
  char name[2048];
  (void)rlo_shape_human_string(&s->source.contents.shape, name, sizeof(name));
  rlo__stream_report_digest(r, &s->source.contents.shape, s->source.file.path, result);
  RLO__REPORT(r, RLO__STRING("shape", NULL, name), RLO__STRING("file", NULL, s->source.file.path));
}

static int add_source(rlo__convert_request *request, summation *s) {
  rlo__stream_output output = {
      .shape = &s->source.contents.shape, .bytes = s->source.bytes, .is_dropped = true};
  const rlo__stream_job job = {.problem = &s->problem};
  rlo__stream stream = {.options = &request->stream,
                        .common = &request->common,
                        .sources = &s->source,
                        .num_sources = 1,
                        .outputs = &output,
                        .num_outputs = 1,
                        .jobs = &job,
                        .num_jobs = 1,
                        .has_digest = true,
                        .report = report_digest,
                        .payload = s};
  rlo__stream_result result;
  RLO__EXIT_TRY(rlo__check(lower_copy(s)));
  return rlo__stream_do(&stream, &result);
}

static int digest_file(rlo__convert_request *request, const char *path) {
  /* Static: a problem is too large for the stack. */
  static summation s;
  RLO__EXIT_TRY(rlo__array_source_open(path, &request->hints, &s.source));
  /* Bits above the values are not in the digest: they have to be none. */
  const rlo_shape *shape = &s.source.contents.shape;
  s.source.has_checked_values =
      shape->dtype != RLO_DTYPE_PRED &&
      rlo_shape_element_size_bits(shape) > rlo_dtype_value_bits(shape->dtype);
  const int code =
      s.source.has_header && request->hints.byte_order != RLO__BYTE_ORDER_DEFAULT
          ? rlo__fail(
                "%s has a header, which says its byte order: --byte-order is for files of "
                "bare bytes",
                path)
          : add_source(request, &s);
  rlo__array_source_close(&s.source);
  return code;
}

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__OPTION("from", TEXT, rlo__convert_request, from),
    RLO__OPTION_BYTES("offset", rlo__convert_request, hints.offset_bytes, 0),
    RLO__OPTION_WITHIN("array", rlo__convert_request, hints.array, 0, INT64_MAX),
    RLO__OPTION_OF("byte-order", rlo__convert_request, hints.byte_order, "little", "big"),
    RLO__OPTION("bitcast", FLAG, rlo__convert_request, hints.is_bitcast),
    RLO__OPTION_OF("io", rlo__convert_request, stream.io, "auto", "buffered", "direct"),
    RLO__OPTION_BYTES("memory", rlo__convert_request, stream.memory_bytes,
                      RLO_SERVICE_MIN_HOST_BYTES),
    RLO__OPTION("progress", FLAG, rlo__convert_request, stream.is_progress_wanted),
    RLO__OPTION("quiet", FLAG, rlo__convert_request, stream.is_quiet),
    {0}};

static int run(int argc, char **argv) {
  static rlo_shape from;
  rlo__convert_request request = {.hints = RLO__FILE_HINTS_INIT, .stream.devices.is_none = true};
  RLO__EXIT_TRY(rlo__options_take(&rlo__cmd_digest, argc, argv, &request, &request.common));
  if (optind == argc) {
    return rlo__fail_usage("digest", "expected input files");
  }
  request.hints.memory_bytes = request.stream.memory_bytes;
  if (request.from != NULL) {
    RLO__EXIT_TRY(rlo__shape_operand_parse(request.from, &from));
    request.hints.from = &from;
  }
  for (; optind < argc; ++optind) {
    RLO__EXIT_TRY(digest_file(&request, rlo__path_of(argv[optind], "/dev/stdin")));
  }
  return RLO__EXIT_OK;
}

const rlo__command rlo__cmd_digest = {
    .name = "digest",
    .summary = "print 128 bits of an array, the same in every layout",
    .help =
        "Usage: relayout digest [OPTION...] IN...\n"
        "\n"
        "Prints the digest of each array, its shape without the layout, and its\n"
        "file. The digest depends on the type, the dimensions and the value bits\n"
        "of each element at its index, and on nothing else: not on order, tiles,\n"
        "padding, strides, byte order or the file's format. Files with equal\n"
        "digests hold the same array. It is no cryptography.\n"
        "\n"
        "  relayout digest a.npy\n"
        "  relayout digest --from 'f32[2,3]{0,1:pad(3,5)}' b.bin\n"
        "\n"
        "  --from SHAPE  the shape whose slots the input holds; needed for bare\n"
        "                bytes\n"
        "  --bitcast     take the bits of an .npy file's elements for elements of\n"
        "                the type of --from\n"
        "  --offset BYTES  where the slots begin; IN, of any name, is then bare\n"
        "                bytes, which may go on behind them\n"
        "  --array N     the array N of several in one .npy file, from 0\n"
        "  --byte-order little|big  that of the numbers in bare bytes\n"
        "  --memory SIZE use so much of it (512MiB, 4GiB)\n"
        "  --io WAY      direct: past the system's page cache; buffered, or auto:\n"
        "                through it\n"
        "  --progress    a line each 10 seconds where standard error is no\n"
        "                terminal; on one it is drawn without\n"
        "  --quiet       no progress\n"
        "  --json        print an object for each array, with the keys digest,\n"
        "                shape and file; above 64 MiB, several, one a line, with\n"
        "                the key event: plan, progress each second, and end, which\n"
        "                has status and these keys\n",
    .print_more_help = rlo__array_file_print_help,
    .options = options,
    .run = run,
};
