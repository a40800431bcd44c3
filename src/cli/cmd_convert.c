/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "relayout/ops.h"
#include "relayout/shape_util.h"

#include "array_file.h"
#include "command.h"
#include "convert.h"
#include "display.h"
#include "files.h"
#include "json.h"
#include "message.h"
#include "options.h"

static int open_source(rlo__conversion *c) {
  rlo__file_hints hints = c->request.hints;
  if (c->request.from != NULL) {
    int code = rlo__shape_operand_parse(c->request.from, &c->from);
    if (code != RLO__EXIT_OK) {
      return code;
    }
    hints.from = &c->from;
  }
  return rlo__array_source_open(c->request.input_path, &hints, &c->source);
}

/* Sets dst_shape and problem from the source's shape and the options. */
static int lower(rlo__conversion *c) {
  const rlo_shape *src = &c->source.contents.shape;
  const int32_t *permutation = c->permutation;
  int code = rlo__permutation_parse(
      "convert", "--perm", c->request.permutation, src->rank, c->permutation);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  c->dst_shape = *src;
  c->dst_shape.layout = rlo_layout_row_major(src->rank);
  c->dst_shape.layout.element_size_bits = src->layout.element_size_bits;
  if (rlo_shape_permute_dims_ignoring_layout(
          &c->dst_shape, permutation, &c->dst_shape) != RLO_OK) {
    return rlo__fail_last();
  }
  if (c->request.to != NULL) {
    code = rlo__layout_operand_apply(c->request.to, &c->dst_shape);
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  if (rlo_relayout_lower(src, &c->dst_shape, permutation, &c->problem) !=
      RLO_OK) {
    return rlo__fail_last();
  }
  return RLO__EXIT_OK;
}

/* ----------------------------------------------------------------- printing */

static void print_estimate_json(const rlo__conversion *c,
                                const rlo_job_estimate *estimate) {
  rlo__shape_text text;
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  rlo__json_string(&json, "event", "plan");
  rlo__json_string(&json, "shape", rlo__shape_text_make(&c->dst_shape, &text));
  rlo__json_string(&json, "file", c->request.output_path);
  rlo__json_int(&json, "physical_bytes", c->problem.dst_bytes);
  rlo__json_int(&json, "num_passes", estimate->num_passes);
  rlo__json_int(&json, "num_pieces", estimate->num_pieces);
  rlo__json_int(&json, "bytes_read", estimate->bytes_read);
  rlo__json_int(&json, "bytes_written", estimate->bytes_written);
  rlo__json_int(&json, "read_run_bytes", estimate->read_run_bytes);
  rlo__json_int(&json, "write_run_bytes", estimate->write_run_bytes);
  rlo__json_int(&json, "host_bytes", estimate->host_bytes);
  rlo__json_int(&json, "device_bytes", estimate->device_bytes);
  rlo__json_double(&json, "expected_fraction", estimate->expected_fraction);
  rlo__json_end_object(&json);
  fflush(stdout);
}

static void print_estimate_text(const rlo__conversion *c,
                                const rlo_job_estimate *estimate) {
  rlo__shape_text shape;
  rlo__bytes_text bytes;
  rlo__bytes_text run;
  printf("%s\n", rlo__shape_text_make(&c->dst_shape, &shape));
  printf("passes  %d, of %" PRId64 " pieces together\n",
         estimate->num_passes,
         estimate->num_pieces);
  printf("reads   %s, in runs of %s\n",
         rlo__bytes_text_make(estimate->bytes_read, &bytes),
         rlo__bytes_text_make(estimate->read_run_bytes, &run));
  printf("writes  %s, in runs of %s\n",
         rlo__bytes_text_make(estimate->bytes_written, &bytes),
         rlo__bytes_text_make(estimate->write_run_bytes, &run));
  printf("memory  %s", rlo__bytes_text_make(estimate->host_bytes, &bytes));
  if (estimate->device_bytes > 0) {
    printf(", and %s on each device",
           rlo__bytes_text_make(estimate->device_bytes, &bytes));
  }
  printf("\nspeed   %.2f of a copy's expected\n", estimate->expected_fraction);
}

static void print_job_keys(rlo__json *json, const rlo_job_info *info) {
  rlo__json_int(json, "num_passes", info->num_passes);
  rlo__json_int(json, "num_pieces", info->num_pieces);
  rlo__json_int(json, "bytes_read", info->bytes_read);
  rlo__json_int(json, "bytes_written", info->bytes_written);
  rlo__json_int(json, "host_bytes_peak", info->host_bytes_peak);
  rlo__json_int(json, "device_bytes_peak", info->device_bytes_peak);
}

static void print_result(const rlo__conversion *c,
                         const rlo__convert_result *result) {
  rlo__shape_text text;
  rlo__shape_text_make(&c->dst_shape, &text);
  if (!c->request.common.is_json) {
    puts(text.text);
    return;
  }
  const bool is_on_host = c->request.devices.is_none;
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  if (result->is_job) {
    rlo__json_string(&json, "event", "end");
    rlo__json_string(&json, "status", rlo_status_name(RLO_OK));
  }
  rlo__json_string(&json, "shape", text.text);
  rlo__json_string(&json, "file", c->request.output_path);
  rlo__json_int(&json, "physical_bytes", c->problem.dst_bytes);
  rlo__json_string(&json,
                   "family",
                   is_on_host                  ? "host"
                   : result->family[0] == '\0' ? NULL
                                               : result->family);
  rlo__json_string(&json, "device", is_on_host ? NULL : result->device_names);
  if (!is_on_host || result->is_job) {
    rlo__json_double(&json, "seconds", result->seconds);
  }
  rlo__json_bool(&json, "is_verified", c->request.is_verified);
  if (result->is_job) {
    print_job_keys(&json, &result->info);
  }
  rlo__json_end_object(&json);
}

/* The last event. The reason is on standard error. */
static void print_failure(const rlo__conversion *c, rlo_status status) {
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  rlo__json_string(&json, "event", "end");
  rlo__json_string(
      &json, "status", status == RLO_OK ? NULL : rlo_status_name(status));
  rlo__json_string(&json, "file", c->request.output_path);
  rlo__json_end_object(&json);
}

/* ----------------------------------------------------------------- running */

/* Options that have a meaning only for a job in pieces. */
static bool is_job_asked_for(const rlo__convert_request *request) {
  return request->memory_bytes != 0 || request->is_dry_run;
}

/* What is small is faster without threads and pieces; a family or a schedule is
 * of one kernel for the whole array; a pipe is not written at positions. */
static bool is_job_better(const rlo__conversion *c) {
  return (c->source.bytes > RLO__LARGE_BYTES ||
          c->problem.dst_bytes > RLO__LARGE_BYTES) &&
         c->request.family == NULL && c->request.schedule == NULL &&
         !rlo__path_is_special(c->request.output_path);
}

static int run_job(const rlo__conversion *c, const rlo_job_estimate *estimate) {
  const bool is_json = c->request.common.is_json;
  if (is_json) {
    print_estimate_json(c, estimate);
  } else if (c->request.is_dry_run) {
    print_estimate_text(c, estimate);
  }
  if (c->request.is_dry_run) {
    return RLO__EXIT_OK;
  }
  rlo__convert_result result;
  int code = rlo__convert_in_pieces(c, &result);
  if (code == RLO__EXIT_OK) {
    print_result(c, &result);
  } else if (is_json) {
    print_failure(c, result.status);
  }
  return code;
}

/* Converts in pieces, unless the array is small or cannot be cut:
 * then *out_is_done is false. */
static int convert_if_large(const rlo__conversion *c, bool *out_is_done) {
  bool is_asked_for = is_job_asked_for(&c->request);
  *out_is_done = is_asked_for || is_job_better(c);
  if (!*out_is_done) {
    return RLO__EXIT_OK;
  }
  if (rlo__path_is_special(c->request.output_path)) {
    return rlo__fail("%s is not a regular file: it cannot be written in pieces",
                     c->request.output_path);
  }
  rlo_job_estimate estimate;
  rlo_status status = rlo__convert_estimate(c, &estimate);
  if (status == RLO_UNSUPPORTED && !is_asked_for) {
    *out_is_done = false;
    return RLO__EXIT_OK;
  }
  if (status != RLO_OK) {
    return rlo__fail_last();
  }
  return run_job(c, &estimate);
}

static int convert_source(rlo__conversion *c) {
  bool is_done = false;
  int code = lower(c);
  if (code == RLO__EXIT_OK) {
    code = convert_if_large(c, &is_done);
  }
  if (code != RLO__EXIT_OK || is_done) {
    return code;
  }
  rlo__convert_result result;
  code = rlo__convert_in_memory(c, &result);
  if (code == RLO__EXIT_OK) {
    print_result(c, &result);
  }
  return code;
}

static int convert(rlo__conversion *c) {
  if (rlo__path_is_same_file(c->request.input_path, c->request.output_path)) {
    return rlo__fail("%s and %s are one file; write to another",
                     c->request.input_path,
                     c->request.output_path);
  }
  int code = open_source(c);
  if (code == RLO__EXIT_OK) {
    code = convert_source(c);
    rlo__array_source_close(&c->source);
  }
  return code;
}

static int run_conversion(const rlo__convert_request *request) {
  rlo__conversion *c = calloc(1, sizeof(*c));
  if (c == NULL) {
    return rlo__fail("cannot get %zu bytes of memory", sizeof(*c));
  }
  c->request = *request;
  int code = convert(c);
  free(c);
  return code;
}

/* ----------------------------------------------------------------- options */

/* What the options are put into; some only exclude others. */
typedef struct convert_options {
  rlo__convert_request request;
  bool is_host;
  bool is_device;
} convert_options;

static int parse_byte_order(const char *value, rlo__byte_order *out_order) {
  static const char *const words[] = {"little", "big"};
  int32_t n = 0;
  int code = rlo__word_parse("convert", "--byte-order", value, words, 2, &n);
  if (code == RLO__EXIT_OK) {
    *out_order = n == 0 ? RLO__BYTE_ORDER_LITTLE : RLO__BYTE_ORDER_BIG;
  }
  return code;
}

static int take_option(void *payload, int option, const char *value) {
  convert_options *given = payload;
  rlo__convert_request *request = &given->request;
  switch (option) {
    case RLO__OPTION_FROM:
      request->from = value;
      break;
    case RLO__OPTION_TO:
      request->to = value;
      break;
    case RLO__OPTION_PERM:
      request->permutation = value;
      break;
    case RLO__OPTION_FAMILY:
      request->family = value;
      break;
    case RLO__OPTION_SCHEDULE:
      request->schedule = value;
      break;
    case RLO__OPTION_HOST:
      given->is_host = true;
      break;
    case RLO__OPTION_DEVICES:
      given->is_device = true;
      return rlo__device_choice_parse("convert", value, &request->devices);
    case RLO__OPTION_MEMORY:
      return rlo__size_parse("convert",
                             "--memory",
                             value,
                             RLO_SERVICE_MIN_HOST_BYTES,
                             INT64_MAX,
                             &request->memory_bytes);
    case RLO__OPTION_OFFSET:
      return rlo__size_parse("convert",
                             "--offset",
                             value,
                             0,
                             INT64_MAX,
                             &request->hints.offset_bytes);
    case RLO__OPTION_BYTE_ORDER:
      return parse_byte_order(value, &request->hints.byte_order);
    case RLO__OPTION_DRY_RUN:
      request->is_dry_run = true;
      break;
    case RLO__OPTION_QUIET:
      request->is_quiet = true;
      break;
    case RLO__OPTION_PROGRESS:
      request->is_progress_wanted = true;
      break;
    default:
      request->is_verified = true;
      break;
  }
  return RLO__EXIT_OK;
}

static const struct option options[] = {
    {"help", no_argument, NULL, RLO__OPTION_HELP},
    {"json", no_argument, NULL, RLO__OPTION_JSON},
    {"from", required_argument, NULL, RLO__OPTION_FROM},
    {"to", required_argument, NULL, RLO__OPTION_TO},
    {"perm", required_argument, NULL, RLO__OPTION_PERM},
    {"device", required_argument, NULL, RLO__OPTION_DEVICES},
    {"family", required_argument, NULL, RLO__OPTION_FAMILY},
    {"schedule", required_argument, NULL, RLO__OPTION_SCHEDULE},
    /* The former name. */
    {"way", required_argument, NULL, RLO__OPTION_SCHEDULE},
    {"host", no_argument, NULL, RLO__OPTION_HOST},
    {"verify", no_argument, NULL, RLO__OPTION_VERIFY},
    {"memory", required_argument, NULL, RLO__OPTION_MEMORY},
    {"dry-run", no_argument, NULL, RLO__OPTION_DRY_RUN},
    {"offset", required_argument, NULL, RLO__OPTION_OFFSET},
    {"byte-order", required_argument, NULL, RLO__OPTION_BYTE_ORDER},
    {"progress", no_argument, NULL, RLO__OPTION_PROGRESS},
    {"quiet", no_argument, NULL, RLO__OPTION_QUIET},
    {"no-isolate", no_argument, NULL, RLO__OPTION_NO_ISOLATE},
    {0}};

static int check_options(convert_options *given) {
  rlo__convert_request *request = &given->request;
  bool is_kernel_named = request->family != NULL || request->schedule != NULL;
  if (given->is_host && (is_kernel_named || given->is_device)) {
    return rlo__fail_usage(
        "convert",
        "--host uses no device: it excludes --device, --family and --schedule");
  }
  request->devices.is_none |= given->is_host;
  if (request->devices.is_none && is_kernel_named) {
    return rlo__fail_usage("convert",
                           "--device none excludes --family and --schedule");
  }
  if (is_kernel_named && is_job_asked_for(request)) {
    return rlo__fail_usage("convert",
                           "--family and --schedule are of a kernel for the "
                           "whole array: they exclude --memory and "
                           "--dry-run");
  }
  return RLO__EXIT_OK;
}

static int run(int argc, char **argv) {
  convert_options given = {.request = {.hints = RLO__FILE_HINTS_INIT}};
  rlo__convert_request *request = &given.request;
  int code = rlo__options_take(
      &rlo__cmd_convert, argc, argv, &given, &request->common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  char **operands;
  code = rlo__operands_take(
      argc, argv, 2, "an input and an output file", &operands);
  if (code == RLO__EXIT_OK) {
    code = check_options(&given);
  }
  if (code != RLO__EXIT_OK) {
    return code;
  }
  request->input_path = operands[0];
  request->output_path = operands[1];
  return run_conversion(request);
}

const rlo__command rlo__cmd_convert = {
    .name = "convert",
    .summary = "move an array from one file and layout to another",
    .help =
        "Usage: relayout convert [OPTION...] IN OUT\n"
        "\n"
        "Reads an array, moves it to another layout on a device, and writes\n"
        "it. Without --to the result is in C order, so that\n"
        "\n"
        "  relayout convert in.npy out.npy --perm 0,3,1,2\n"
        "\n"
        "is numpy.transpose(a, (0, 3, 1, 2)) in C order. With --to the "
        "logical\n"
        "array stays what it is and its bytes move:\n"
        "\n"
        "  relayout convert in.npy out.npy --to '{0,1:pad(3,5)fill(zero)}'\n"
        "\n"
        "  --to LAYOUT   the part of the destination's shape in braces; with\n"
        "                --perm, for the permuted dimensions\n"
        "  --perm P      dimension k of the result is dimension P[k] of the\n"
        "                input\n"
        "  --from SHAPE  the shape whose slots the input holds; needed for "
        "bare\n"
        "                bytes\n"
        "  --offset BYTES  where the slots begin in a file of bare bytes, "
        "which\n"
        "                may go on behind them\n"
        "  --byte-order big|little\n"
        "                that of the numbers in a file of bare bytes\n"
        "  --device N    a device of `relayout devices`; the default device\n"
        "                without it. Several between commas, or all, share "
        "the\n"
        "                work on a large array; none is --host\n"
        "  --family F    use this family of kernels\n"
        "  --schedule S  run it by this schedule, such as 'output order'; "
        "also\n"
        "                called --way, its former name\n"
        "  --host        use the host, and no OpenCL\n"
        "  --verify      compare the result with the host's before OUT "
        "appears;\n"
        "                of more than 1 GiB, 100000 elements of it\n"
        "  --json        print an object with the keys shape, file,\n"
        "                physical_bytes, family, device, seconds, is_verified\n"
        "  --no-isolate  use the OpenCL driver in this process\n"
        "\n"
        "Large arrays. An array of more than 64 MiB, before or after, is moved "
        "in\n"
        "pieces and is never in memory as a whole, unless --family or "
        "--schedule\n"
        "is given or OUT is a pipe:\n"
        "\n"
        "  --memory SIZE use so much of it (512MiB, 4GiB): in pieces even if "
        "the\n"
        "                array is small. A quarter of what is free without it\n"
        "  --dry-run     only print what would be done: passes, pieces, bytes "
        "and\n"
        "                the lengths of the runs that are read and written\n"
        "  --progress    a line each 10 seconds where standard error is no\n"
        "                terminal; on one it is drawn without\n"
        "  --quiet       no progress\n"
        "\n"
        "With --json there are then several objects, one a line, with the key\n"
        "event: plan, progress each second, and end, which has status and the\n"
        "keys above.\n"
        "\n"
        "What is printed is the shape of the result: relayout convert --from\n"
        "'THAT' OUT BACK reads it again. Slots that hold no element and have "
        "no\n"
        "fill are zero, so that equal inputs make equal files. OUT appears\n"
        "complete or not at all.\n",
    .print_more_help = rlo__array_file_print_help,
    .options = options,
    .take_option = take_option,
    .run = run,
};
