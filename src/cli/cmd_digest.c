/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "relayout/ops.h"
#include "relayout/safetensors.h"
#include "relayout/text.h"
#include "relayout/xla/shape_util.h"

#include "array_file.h"
#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
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
  /* Some array is not what its file says. */
  bool has_changed;
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

static int add_source(rlo__convert_request *request, summation *s, rlo__stream_result *result) {
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
  RLO__EXIT_TRY(rlo__check(lower_copy(s)));
  return rlo__stream_do(&stream, result);
}

/* Prints the digest of an array, and says if its file has another one. */
static int digest_source(rlo__convert_request *request, summation *s) {
  /* Bits above the values are not in the digest: they have to be none. */
  const rlo_shape *shape = &s->source.contents.shape;
  const char *told = s->source.contents.digest;
  char text[33];
  rlo__stream_result result;
  s->source.has_checked_values =
      shape->dtype != RLO_DTYPE_PRED &&
      rlo_shape_element_size_bits(shape) > rlo_dtype_value_bits(shape->dtype);
  RLO__EXIT_TRY(add_source(request, s, &result));
  rlo__digest_print(&result.digest, text);
  if (told[0] != '\0' && strcmp(text, told) != 0) {
    s->has_changed = true;
    (void)rlo__fail("%s has changed: its digest is %s, and was %s as the metadata say",
                    s->source.file.path, text, told);
  }
  return RLO__EXIT_OK;
}

static int digest_file(rlo__convert_request *request, summation *s, const char *path) {
  RLO__EXIT_TRY(rlo__array_source_open(path, &request->hints, &s->source));
  const int code = s->source.has_header && request->hints.byte_order != RLO__BYTE_ORDER_DEFAULT
                       ? rlo__fail(
                             "%s has a header, which says its byte order: --byte-order is for "
                             "files of bare bytes",
                             path)
                       : digest_source(request, s);
  rlo__array_source_close(&s->source);
  return code;
}

/* Digests member n of a file, or of a folder. */
static int digest_member(rlo__convert_request *request, summation *s, const char *path,
                         const rlo_safetensors *list, int64_t n) {
  rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
  char *name = NULL;
  rlo__str text = rlo__str_growing();
  RLO__EXIT_TRY(rlo__check(rlo_safetensors_get_member(list, n, &m)));
  rlo__str_printf(&text, "%s::%s", path, m.name);
  RLO__EXIT_TRY(rlo__check(rlo__str_take(&text, &name)));
  s->source = (rlo__array_source){.contents = {.shape = m.shape, .offset_bytes = m.offset_bytes},
                                  .bytes = m.bytes};
  (void)snprintf(s->source.contents.digest, sizeof(s->source.contents.digest), "%s",
                 m.digest == NULL ? "" : m.digest);
  int code = rlo__input_file_open(rlo_safetensors_file_path(list, m.file), 0, &s->source.file);
  if (code == RLO__EXIT_OK) {
    s->source.file.path = name;
    code = digest_source(request, s);
    rlo__array_source_close(&s->source);
  }
  rlo__free(name);
  return code;
}

/* Digests an operand: an array or, if it is a file with several and names none, each. */
static int digest(rlo__convert_request *request, summation *s, const char *path) {
  const rlo__file_hints *hints = &request->hints;
  rlo_safetensors *list = NULL;
  int code = RLO__EXIT_OK;
  if (hints->from != NULL || hints->offset_bytes >= 0 || hints->array >= 0 ||
      hints->byte_order != RLO__BYTE_ORDER_DEFAULT || access(path, F_OK) != 0 ||
      !rlo__array_file_has_members(path)) {
    return digest_file(request, s, path);
  }
  RLO__EXIT_TRY(rlo__check(rlo_safetensors_open(path, &list)));
  const int64_t count = rlo_safetensors_num_members(list);
  for (int64_t n = 0; n < count && code == RLO__EXIT_OK; ++n) {
    code = count == 1 ? digest_file(request, s, path) : digest_member(request, s, path, list, n);
  }
  rlo_safetensors_release(list);
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
  /* Static: a problem is too large for the stack. */
  static rlo_shape from;
  static summation s;
  rlo__convert_request request = {.hints = RLO__FILE_HINTS_INIT, .stream.devices.is_none = true};
  RLO__EXIT_TRY(rlo__options_take(&rlo__cmd_digest, argc, argv, &request, &request.common));
  RLO__USAGE_IF(optind == argc, "digest", "expected input files");
  request.hints.memory_bytes = request.stream.memory_bytes;
  if (request.from != NULL) {
    RLO__EXIT_TRY(rlo__shape_operand_parse(request.from, &from));
    request.hints.from = &from;
  }
  for (; optind < argc; ++optind) {
    RLO__EXIT_TRY(digest(&request, &s, rlo__path_of(argv[optind], "/dev/stdin")));
  }
  return s.has_changed ? RLO__EXIT_FAILURE : RLO__EXIT_OK;
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
        "Of a file or a folder of weights it prints the line of each member. If the\n"
        "metadata have another digest of one, it says so, and the exit code is 1,\n"
        "after all members.\n"
        "\n"
        "  relayout digest a.npy\n"
        "  relayout digest --from 'f32[2,3]{0,1:pad(3,5)}' b.bin\n"
        "\n"
        "  --from SHAPE  the shape whose slots the input holds; needed for bare\n"
        "                bytes\n"
        "  --bitcast     take the bits of an .npy file's elements for elements of\n"
        "                the type of --from\n"
        "  --offset BYTES\n"
        "                where the slots begin; IN, of any name, is then bare\n"
        "                bytes, which may go on behind them\n"
        "  --array N     the array N of several in one .npy file, from 0\n"
        "  --byte-order little|big\n"
        "                that of the numbers in bare bytes\n"
        "  --memory SIZE\n"
        "                use so much of it (512MiB, 4GiB)\n"
        "  --io auto|buffered|direct\n"
        "                direct: past the system's page cache; buffered, or auto:\n"
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
