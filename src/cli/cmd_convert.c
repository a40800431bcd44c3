/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/shape_util.h"

#include "array_file.h"
#include "command.h"
#include "display.h"
#include "files.h"
#include "json.h"
#include "message.h"
#include "options.h"
#include "session.h"
#include "subprocess.h"

typedef struct convert_request {
  const char *input_path;
  const char *output_path;
  /* NULL if not given. */
  const char *from;
  const char *to;
  const char *permutation;
  const char *family;
  const char *schedule;
  rlo__common_options common;
  bool is_on_host;
  bool is_verified;
} convert_request;

/* Results of the child process, in shared memory. */
typedef struct device_result {
  char device_name[128];
  char family[32];
  double seconds;
} device_result;

typedef struct conversion {
  convert_request request;
  rlo__array src;
  rlo_shape dst_shape;
  rlo_problem problem;
  /* In shared memory, zeroed. */
  void *dst;
  size_t dst_bytes;
  device_result *result;
} conversion;

static int load_source(conversion *c) {
  rlo_shape from;
  if (c->request.from != NULL) {
    int code = rlo__shape_operand_parse(c->request.from, &from);
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  return rlo__array_load(
      c->request.input_path, c->request.from == NULL ? NULL : &from, &c->src);
}

/* Sets dst_shape and problem from the source's shape and the options. */
static int lower(conversion *c) {
  const rlo_shape *src = &c->src.shape;
  int32_t permutation[RLO_MAX_RANK];
  int code = rlo__permutation_parse(
      "convert", "--perm", c->request.permutation, src->rank, permutation);
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

static int allocate_destination(conversion *c) {
  int code = rlo__memory_check(c->problem.src_bytes, c->problem.dst_bytes);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  c->dst_bytes = (size_t)c->problem.dst_bytes;
  c->dst = rlo__shared_create(c->dst_bytes);
  c->result = rlo__shared_create(sizeof(*c->result));
  return c->dst == NULL || c->result == NULL ? RLO__EXIT_FAILURE : RLO__EXIT_OK;
}

static int run_plan(conversion *c,
                    rlo__session *session,
                    rlo_plan *plan,
                    cl_mem src,
                    cl_mem dst) {
  /* Compiles first, so that the time is that of the relayout only. */
  if (rlo_plan_prepare(plan) != RLO_OK) {
    return rlo__fail_last();
  }
  int code = rlo__session_upload(session, src, c->src.data, c->src.bytes);
  if (code == RLO__EXIT_OK) {
    code = rlo__session_clear(session, dst, c->dst_bytes);
  }
  if (code == RLO__EXIT_OK) {
    code = rlo__session_run(session, plan, src, dst, &c->result->seconds);
  }
  if (code == RLO__EXIT_OK) {
    code = rlo__session_download(session, dst, c->dst, c->dst_bytes);
  }
  return code;
}

static int run_in_session(conversion *c, rlo__session *session) {
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = c->request.family;
  options.schedule = c->request.schedule;
  /* The buffers begin at the device's alignment. */
  options.is_aligned = true;
  rlo_plan *plan = NULL;
  if (rlo_plan_create(session->context, &c->problem, &options, &plan) !=
      RLO_OK) {
    return rlo__fail_last();
  }
  rlo_plan_info info;
  rlo_plan_get_info(plan, &info);
  snprintf(c->result->family, sizeof(c->result->family), "%s", info.family);
  snprintf(c->result->device_name,
           sizeof(c->result->device_name),
           "%s",
           session->device_name);
  cl_mem src = NULL;
  cl_mem dst = NULL;
  int code = rlo__session_create_buffer(session, c->src.bytes, &src);
  if (code == RLO__EXIT_OK) {
    code = rlo__session_create_buffer(session, c->dst_bytes, &dst);
  }
  if (code == RLO__EXIT_OK) {
    code = run_plan(c, session, plan, src, dst);
  }
  if (dst != NULL) {
    rlo_buffer_release(session->context, dst);
  }
  if (src != NULL) {
    rlo_buffer_release(session->context, src);
  }
  rlo_plan_release(plan);
  return code;
}

static int run_on_device(void *payload) {
  conversion *c = payload;
  rlo__session session;
  int code = rlo__session_init(c->request.common.device_index, &session);
  if (code == RLO__EXIT_OK) {
    code = run_in_session(c, &session);
  }
  rlo__session_deinit(&session);
  return code;
}

static int run_on_host(conversion *c) {
  if (rlo_problem_run_host(&c->problem, c->src.data, c->dst) != RLO_OK) {
    return rlo__fail_last();
  }
  snprintf(c->result->family, sizeof(c->result->family), "host");
  return RLO__EXIT_OK;
}

/* Compares the result with the host reference. */
static int verify(const conversion *c) {
  unsigned char *expected = calloc(c->dst_bytes == 0 ? 1 : c->dst_bytes, 1);
  if (expected == NULL) {
    return rlo__fail("cannot get %zu bytes of memory to verify the result",
                     c->dst_bytes);
  }
  int code = RLO__EXIT_OK;
  if (rlo_problem_run_host(&c->problem, c->src.data, expected) != RLO_OK) {
    code = rlo__fail_last();
  } else if (memcmp(expected, c->dst, c->dst_bytes) != 0) {
    const unsigned char *result = c->dst;
    size_t at = 0;
    while (result[at] == expected[at]) {
      ++at;
    }
    code = rlo__fail(
        "byte %zu of the result is 0x%02x, the host reference has 0x%02x; "
        "nothing was written",
        at,
        result[at],
        expected[at]);
  }
  free(expected);
  return code;
}

static void print_result(const conversion *c) {
  rlo__shape_text text;
  rlo__shape_text_make(&c->dst_shape, &text);
  if (!c->request.common.is_json) {
    puts(text.text);
    return;
  }
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  rlo__json_string(&json, "shape", text.text);
  rlo__json_string(&json, "file", c->request.output_path);
  rlo__json_int(&json, "physical_bytes", (int64_t)c->dst_bytes);
  rlo__json_string(&json, "family", c->result->family);
  if (c->request.is_on_host) {
    rlo__json_string(&json, "device", NULL);
  } else {
    rlo__json_string(&json, "device", c->result->device_name);
    rlo__json_double(&json, "seconds", c->result->seconds);
  }
  rlo__json_bool(&json, "is_verified", c->request.is_verified);
  rlo__json_end_object(&json);
}

static int convert(conversion *c) {
  if (rlo__path_is_same_file(c->request.input_path, c->request.output_path)) {
    return rlo__fail("%s and %s are one file; write to another",
                     c->request.input_path,
                     c->request.output_path);
  }
  int code = load_source(c);
  if (code == RLO__EXIT_OK) {
    code = lower(c);
  }
  if (code == RLO__EXIT_OK) {
    code = allocate_destination(c);
  }
  if (code == RLO__EXIT_OK) {
    code = c->request.is_on_host
               ? run_on_host(c)
               : rlo__subprocess_run(
                     c->request.common.is_isolated, run_on_device, c);
  }
  if (code == RLO__EXIT_OK && c->request.is_verified) {
    code = verify(c);
  }
  if (code == RLO__EXIT_OK) {
    rlo__array_target target = {c->request.output_path, &c->dst_shape, c->dst};
    code = rlo__arrays_save(&target, 1);
  }
  if (code == RLO__EXIT_OK) {
    print_result(c);
  }
  return code;
}

static int run_conversion(const convert_request *request) {
  conversion *c = calloc(1, sizeof(*c));
  if (c == NULL) {
    return rlo__fail("cannot get %zu bytes of memory", sizeof(*c));
  }
  c->request = *request;
  int code = convert(c);
  rlo__shared_release(c->result, sizeof(*c->result));
  rlo__shared_release(c->dst, c->dst_bytes);
  rlo__array_deinit(&c->src);
  free(c);
  return code;
}

static int take_option(void *payload, int option, const char *value) {
  convert_request *request = payload;
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
      request->is_on_host = true;
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
    {"device", required_argument, NULL, RLO__OPTION_DEVICE},
    {"family", required_argument, NULL, RLO__OPTION_FAMILY},
    {"schedule", required_argument, NULL, RLO__OPTION_SCHEDULE},
    /* The former name. */
    {"way", required_argument, NULL, RLO__OPTION_SCHEDULE},
    {"host", no_argument, NULL, RLO__OPTION_HOST},
    {"verify", no_argument, NULL, RLO__OPTION_VERIFY},
    {"no-isolate", no_argument, NULL, RLO__OPTION_NO_ISOLATE},
    {0}};

static int run(int argc, char **argv) {
  convert_request request = {0};
  int code = rlo__options_take(
      &rlo__cmd_convert, argc, argv, &request, &request.common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  char **operands;
  code = rlo__operands_take(
      argc, argv, 2, "an input and an output file", &operands);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (request.is_on_host &&
      (request.family != NULL || request.schedule != NULL ||
       request.common.device_index >= 0)) {
    return rlo__fail_usage(
        argv[0],
        "--host uses no device: it excludes --device, --family and --schedule");
  }
  request.input_path = operands[0];
  request.output_path = operands[1];
  return run_conversion(&request);
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
        "  --device N    a device of `relayout devices`; the default device\n"
        "                without it\n"
        "  --family F    use this family of kernels\n"
        "  --schedule S  run it by this schedule, such as 'output order'; "
        "also\n"
        "                called --way, its former name\n"
        "  --host        use the plain loop on the host, and no OpenCL\n"
        "  --verify      compare the result with the host's before writing it\n"
        "  --json        print an object with the keys shape, file,\n"
        "                physical_bytes, family, device, seconds, is_verified\n"
        "  --no-isolate  use the OpenCL driver in this process\n"
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
