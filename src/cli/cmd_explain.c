/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "relayout/opencl.h"
#include "relayout/ops.h"

#include "command.h"
#include "device_session.h"
#include "display.h"
#include "explanation.h"
#include "isolate.h"
#include "message.h"
#include "options.h"

typedef struct explain_request {
  rlo__explanation explanation;
  rlo_plan_options plan_options;
  rlo__common_options common;
  /** NULL where not given. */
  const char *permutation;
  bool has_source;
} explain_request;

/* Devices to plan for where none is at hand: numbers of common ones. */
static rlo_device_info typical_device(rlo_device_class device_class) {
  bool is_cpu = device_class == RLO_DEVICE_CLASS_CPU;
  return (rlo_device_info){
      .device_class = device_class,
      .compute_units = is_cpu ? 8 : 64,
      .max_work_group_items = is_cpu ? 4096 : 256,
      .local_memory_bytes = is_cpu ? 256 << 10 : 32 << 10,
      .global_memory_bytes = (int64_t)16 << 30,
      .max_allocation_bytes = (int64_t)4 << 30,
      .base_alignment_bytes = 128,
      .cache_line_bytes = is_cpu ? 64 : 128,
      .max_parameter_bytes = 1024,
      .address_bits = 64,
      .has_nontemporal_store = is_cpu,
      .has_builtin_prefetch = is_cpu,
      .has_vector_shuffle = is_cpu,
      .has_f64 = true,
  };
}

static void record_step(void *payload,
                        const char *step,
                        const rlo_problem *after) {
  (void)after;
  rlo__explanation_add_step(payload, step);
}

/* Everything that needs no device: *e has its shapes and permutation. */
static int explain_rewriting(rlo__explanation *e) {
  if (rlo_relayout_combine(&e->src,
                           &e->dst,
                           e->has_permutation ? e->permutation : NULL,
                           &e->combine,
                           &e->written) != RLO_OK) {
    return rlo__fail_last();
  }
  /* As wide a unit as the planner forms when both buffers begin as aligned as
   * the device allocates them. */
  int64_t alignment_bytes = e->device.base_alignment_bytes;
  int32_t unit_bits = RLO_MAX_UNIT_BITS;
  if (alignment_bytes > 0 && alignment_bytes * 8 < unit_bits) {
    unit_bits = (int32_t)alignment_bytes * 8;
  }
  if (unit_bits < e->written.unit_bits) {
    unit_bits = e->written.unit_bits;
  }
  e->num_steps = 0;
  rlo_problem *canonical = malloc(sizeof(*canonical));
  if (canonical == NULL) {
    return rlo__fail("cannot get %zu bytes of memory", sizeof(*canonical));
  }
  *canonical = e->written;
  rlo_status status =
      rlo_problem_canonicalize(canonical, unit_bits, record_step, e);
  free(canonical);
  return status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

/* What the device's context would plan; without one, what can be expected. */
static rlo_status make_report(explain_request *request,
                              rlo_context *context,
                              rlo_plan_report **out_report) {
  const rlo__explanation *e = &request->explanation;
  const rlo_plan_options *plan_options = &request->plan_options;
  return context == NULL
             ? rlo_plan_explain(
                   &e->written, &e->device, plan_options, 0, 0, out_report)
             : rlo_context_explain(
                   context, &e->written, plan_options, 0, 0, out_report);
}

/* `context` may be NULL. */
static int explain(explain_request *request, rlo_context *context) {
  rlo__explanation *e = &request->explanation;
  int code = explain_rewriting(e);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  rlo_plan_report *report = NULL;
  if (make_report(request, context, &report) != RLO_OK) {
    return rlo__fail_last();
  }
  e->report = report;
  if (request->common.is_json) {
    rlo__explanation_print_json(e, request->has_source);
  } else {
    rlo__explanation_print_text(e, request->has_source);
  }
  rlo_plan_report_release(report);
  e->report = NULL;
  return RLO__EXIT_OK;
}

static int explain_for_device(void *payload) {
  explain_request *request = payload;
  rlo__device_session session;
  int code = rlo__device_session_init(request->common.device_number, &session);
  if (code == RLO__EXIT_OK) {
    request->explanation.device = *rlo_context_device_info(session.context);
    request->explanation.device_name = session.device_name;
    request->explanation.wisdom = session.wisdom;
    code = explain(request, session.context);
  } else if (request->common.device_number < 0) {
    fputs("relayout explain --class cpu needs no device.\n", stderr);
  }
  rlo__device_session_deinit(&session);
  return code;
}

static int parse_class(const char *text, rlo_device_class *out_class) {
  static const char *const words[] = {"cpu", "gpu"};
  int32_t word = 0;
  int code = rlo__word_parse("explain", "--class", text, words, 2, &word);
  *out_class = word == 0 ? RLO_DEVICE_CLASS_CPU : RLO_DEVICE_CLASS_GPU;
  return code;
}

static int take_option(void *payload, int option, const char *value) {
  static const char verb[] = "explain";
  explain_request *request = payload;
  rlo_combine_options *combine = &request->explanation.combine;
  switch (option) {
    case RLO__OPTION_PERM:
      request->permutation = value;
      return RLO__EXIT_OK;
    case RLO__OPTION_CLASS:
      return parse_class(value, &request->plan_options.device_class);
    case RLO__OPTION_ALPHA:
      return rlo__factor_parse(verb, "--alpha", value, &combine->alpha);
    case RLO__OPTION_BETA:
      return rlo__factor_parse(verb, "--beta", value, &combine->beta);
    case RLO__OPTION_FAMILY:
      request->plan_options.family = value;
      return RLO__EXIT_OK;
    case RLO__OPTION_WAY:
      request->plan_options.way = value;
      return RLO__EXIT_OK;
    default:
      request->has_source = true;
      return RLO__EXIT_OK;
  }
}

static int take_shapes(explain_request *request, int argc, char **argv) {
  rlo__explanation *e = &request->explanation;
  char **operands;
  int code = rlo__operands_take(
      argc, argv, 2, "a source and a destination shape", &operands);
  if (code == RLO__EXIT_OK) {
    code = rlo__shape_operand_parse(operands[0], &e->src);
  }
  if (code == RLO__EXIT_OK) {
    code = rlo__shape_operand_parse(operands[1], &e->dst);
  }
  if (code == RLO__EXIT_OK) {
    code = rlo__permutation_parse(
        argv[0], "--perm", request->permutation, e->src.rank, e->permutation);
  }
  e->has_permutation = request->permutation != NULL;
  return code;
}

static const struct option options[] = {
    {"help", no_argument, NULL, RLO__OPTION_HELP},
    {"json", no_argument, NULL, RLO__OPTION_JSON},
    {"perm", required_argument, NULL, RLO__OPTION_PERM},
    {"device", required_argument, NULL, RLO__OPTION_DEVICE},
    {"alpha", required_argument, NULL, RLO__OPTION_ALPHA},
    {"beta", required_argument, NULL, RLO__OPTION_BETA},
    {"class", required_argument, NULL, RLO__OPTION_CLASS},
    {"family", required_argument, NULL, RLO__OPTION_FAMILY},
    {"way", required_argument, NULL, RLO__OPTION_WAY},
    {"source", no_argument, NULL, RLO__OPTION_SOURCE},
    {"no-isolate", no_argument, NULL, RLO__OPTION_NO_ISOLATE},
    {0}};

static int run(int argc, char **argv) {
  /* Two problems and two shapes: too much for a stack. */
  static explain_request request;
  request.plan_options = (rlo_plan_options)RLO_PLAN_OPTIONS_INIT;
  rlo__explanation *e = &request.explanation;
  e->combine = (rlo_combine_options)RLO_COMBINE_OPTIONS_INIT;
  int code = rlo__options_take(
      &rlo__cmd_explain, argc, argv, &request, &request.common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  code = take_shapes(&request, argc, argv);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  rlo_device_class wanted = request.plan_options.device_class;
  if (request.common.device_number < 0 && wanted != RLO_DEVICE_CLASS_AUTO) {
    e->device = typical_device(wanted);
    return explain(&request, NULL);
  }
  return rlo__isolate_run(
      request.common.is_isolated, explain_for_device, &request);
}

const rlo__command rlo__cmd_explain = {
    .name = "explain",
    .summary = "tell how a relayout would be done, and why so",
    .help =
        "Usage: relayout explain [OPTION...] SRC_SHAPE DST_SHAPE\n"
        "\n"
        "Prints the problem that the two shapes make, each step of its\n"
        "rewriting into canonical form, which kernel family is taken for it\n"
        "and why each other one was refused, and what is launched. Shapes of\n"
        "different types are converted.\n"
        "\n"
        "  --perm P      destination dimension k is source dimension P[k], as\n"
        "                in NumPy's transpose: --perm 1,0\n"
        "  --alpha A     scale the source, and add the destination, scaled\n"
        "  --beta B      too: dst = A * src + B * dst\n"
        "  --device N    plan for this device of `relayout devices`; without "
        "it\n"
        "                for the default device\n"
        "  --class C     the kernels for cpu or gpu; without --device, plan "
        "for\n"
        "                a typical one and use no OpenCL at all\n"
        "  --family F    plan with this family, or tell why it refuses\n"
        "  --way W       in this way of the family, such as 'output order'\n"
        "  --source      print the kernel's build options and source, too\n"
        "  --json        print one object\n"
        "  --no-isolate  use the OpenCL driver in this process\n"
        "\n"
        "Example: relayout explain 'f32[64,48]' 'f32[64,48]{0,1}' --class "
        "cpu\n",
    .options = options,
    .take_option = take_option,
    .run = run,
};
