/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "relayout/opencl.h"
#include "relayout/ops.h"
#include "relayout/plan.h"
#include "relayout/shape.h"

#include "command.h"
#include "display.h"
#include "json.h"
#include "message.h"
#include "options.h"
#include "session.h"
#include "subprocess.h"

/* Rewriting steps that are stored; further ones are counted only. */
enum { MAX_STEPS = 256 };

/* What `relayout explain` prints about a relayout. */
typedef struct explain_report {
  rlo_shape src;
  rlo_shape dst;
  bool has_permutation;
  int32_t permutation[RLO_MAX_RANK];
  /* The computation; a plain copy if the types are equal too. */
  rlo_combine_options combine;
  /* NULL: `device` is a typical device of a class. Borrowed. */
  const char *device_name;
  rlo_device_info device;
  /* Records of the wisdom file. */
  rlo__wisdom_known wisdom;
  /* The problem before rewriting; plan_report has the canonical one. */
  rlo_problem written;
  int32_t num_steps;
  char steps[MAX_STEPS][120];
  /* Borrowed. */
  const rlo_plan_report *plan_report;
} explain_report;

static void add_step(explain_report *report, const char *step) {
  int32_t step_index = report->num_steps++;
  if (step_index < MAX_STEPS) {
    snprintf(report->steps[step_index],
             sizeof(report->steps[step_index]),
             "%s",
             step);
  }
}

static int32_t num_stored_steps(const explain_report *e) {
  return e->num_steps < MAX_STEPS ? e->num_steps : MAX_STEPS;
}

static void print_problem(const rlo_problem *problem) {
  size_t length = rlo_problem_format(problem, NULL, 0);
  char *text = malloc(length + 1);
  if (text == NULL) {
    puts("  (no memory to print it)");
    return;
  }
  rlo_problem_format(problem, text, length + 1);
  bool is_at_line_start = true;
  for (const char *c = text; *c != '\0'; ++c) {
    if (is_at_line_start) {
      fputs("  ", stdout);
    }
    putchar(*c);
    is_at_line_start = *c == '\n';
  }
  free(text);
}

static void print_sizes(const char *label, int32_t count, const size_t *sizes) {
  printf("  %-15s", label);
  for (int32_t i = 0; i < count; ++i) {
    printf("%s%zu", i == 0 ? "" : " x ", sizes[i]);
  }
  putchar('\n');
}

static void print_families(const rlo_plan_report *report) {
  printf("families of the %s class\n",
         rlo__device_class_name(report->device_class));
  for (int32_t i = 0; i < report->num_candidates; ++i) {
    const rlo_plan_candidate *candidate = &report->candidates[i];
    if (candidate->is_applicable) {
      printf("  %-12s fits, %.2f of the copy limit expected%s%s\n",
             candidate->family,
             candidate->predicted_fraction,
             candidate->reason[0] == '\0' ? "" : ": ",
             candidate->reason);
    } else {
      printf("  %-12s refused: %s\n", candidate->family, candidate->reason);
    }
  }
}

static const char *decision_name(rlo_plan_decision decision) {
  switch (decision) {
    case RLO_PLAN_DECISION_FORCED:
      return "command line";
    case RLO_PLAN_DECISION_WISDOM:
      return "wisdom";
    case RLO_PLAN_DECISION_MEASURE:
      return "measurement";
    case RLO_PLAN_DECISION_ESTIMATE:
      break;
  }
  return "expectation";
}

static void print_decision(const rlo_plan_report *report) {
  printf("  chosen by      %s", decision_name(report->decision));
  if (report->decision == RLO_PLAN_DECISION_WISDOM) {
    printf(": it had %.3f of the copy limit when it was measured",
           report->measured_fraction);
  }
  putchar('\n');
}

static void print_plan(const rlo_plan_report *report, bool has_source) {
  rlo__bytes_text text;
  puts("plan");
  printf("  family         %s\n", report->family);
  printf("  schedule       %s\n", report->schedule);
  print_decision(report);
  printf("  parameters     %s\n", report->parameters);
  printf("  bytes read     %" PRId64 " (%s)\n",
         report->problem.read_bytes,
         rlo__bytes_text_make(report->problem.read_bytes, &text));
  printf("  bytes written  %" PRId64 " (%s)\n",
         report->problem.written_bytes,
         rlo__bytes_text_make(report->problem.written_bytes, &text));
  if (report->work_dim == 0) {
    puts("  kernel         none: there is nothing to move");
    return;
  }
  printf("  kernel         %s\n", report->kernel_name);
  print_sizes("work-items", report->work_dim, report->global_size);
  print_sizes("work-group", report->work_dim, report->local_size);
  printf("  alignment      source %" PRId64 ", destination %" PRId64 " bytes\n",
         report->src_alignment_bytes,
         report->dst_alignment_bytes);
  if (has_source) {
    printf("build options\n  %s\nsource\n", report->build_options);
    fputs(report->source, stdout);
  }
}

static void print_report_text(const explain_report *e, bool has_source) {
  rlo__shape_text text;
  printf("source       %s\n", rlo__shape_text_make(&e->src, &text));
  printf("destination  %s\n", rlo__shape_text_make(&e->dst, &text));
  if (e->has_permutation) {
    fputs("permutation  ", stdout);
    for (int32_t k = 0; k < e->src.rank; ++k) {
      printf("%s%d", k == 0 ? "" : ",", e->permutation[k]);
    }
    putchar('\n');
  }
  printf("device       %s\n",
         e->device_name == NULL ? "none: typical numbers of the class"
                                : e->device_name);
  if (e->wisdom.num_taken + e->wisdom.num_ignored > 0) {
    printf("wisdom       %d records of this device", (int)e->wisdom.num_taken);
    if (e->wisdom.num_ignored > 0) {
      printf("; %d of another device, driver or table of kernels are ignored",
             (int)e->wisdom.num_ignored);
    }
    putchar('\n');
  }
  puts("\nproblem as written");
  print_problem(&e->written);
  puts("\nrewriting");
  if (e->num_steps == 0) {
    puts("  nothing: it is in canonical form");
  }
  int32_t stored = num_stored_steps(e);
  for (int32_t i = 0; i < stored; ++i) {
    printf("  %d. %s\n", i + 1, e->steps[i]);
  }
  if (stored < e->num_steps) {
    printf("  and %d more\n", e->num_steps - stored);
  }
  puts("\ncanonical problem");
  print_problem(&e->plan_report->problem);
  putchar('\n');
  print_families(e->plan_report);
  putchar('\n');
  print_plan(e->plan_report, has_source);
}

static void write_form(rlo__json *json,
                       const char *key,
                       const rlo_problem *problem,
                       const rlo_form *form) {
  rlo__json_begin_object(json, key);
  rlo__json_int(json, "base", form->base);
  rlo__json_ints(json, "axis", form->axis, problem->num_axes);
  rlo__json_ints(json, "term", form->term, problem->num_terms);
  rlo__json_end_object(json);
}

static void write_update(rlo__json *json, const rlo_problem *problem) {
  const rlo_arithmetic *a = &problem->arithmetic;
  bool computes = problem->update == RLO_UPDATE_COMBINE;
  rlo__json_string(json, "update", computes ? "combine" : "store");
  if (!computes) {
    return;
  }
  rlo__json_begin_object(json, "arithmetic");
  rlo__json_string(json, "src_type", rlo_dtype_name(a->src_type));
  rlo__json_string(json, "dst_type", rlo_dtype_name(a->dst_type));
  rlo__json_int(json, "dst_unit_bits", a->dst_unit_bits);
  rlo__json_double(json, "alpha", a->alpha);
  rlo__json_double(json, "beta", a->beta);
  rlo__json_bool(json, "is_sum", rlo_problem_is_sum(problem));
  rlo__json_end_object(json);
}

static void write_problem(rlo__json *json,
                          const char *key,
                          const rlo_problem *problem) {
  rlo__json_begin_object(json, key);
  rlo__json_int(json, "unit_bits", problem->unit_bits);
  rlo__json_ints(json, "extents", problem->extents, problem->num_axes);
  write_form(json, "src", problem, &problem->src);
  write_form(json, "dst", problem, &problem->dst);
  rlo__json_begin_array(json, "terms");
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    rlo__json_begin_object(json, NULL);
    write_form(json, "form", problem, &problem->terms[t].form);
    rlo__json_int(json, "divisor", problem->terms[t].divisor);
    rlo__json_end_object(json);
  }
  rlo__json_end_array(json);
  rlo__json_begin_array(json, "guards");
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    rlo__json_begin_object(json, NULL);
    rlo__json_string(
        json, "kind", guard->kind == RLO_GUARD_PAD ? "pad" : "skip");
    write_form(json, "form", problem, &guard->form);
    rlo__json_int(json, "limit", guard->limit);
    rlo__json_end_object(json);
  }
  rlo__json_end_array(json);
  write_update(json, problem);
  rlo__json_int(json, "src_bytes", problem->src_bytes);
  rlo__json_int(json, "dst_bytes", problem->dst_bytes);
  rlo__json_end_object(json);
}

static void write_sizes(rlo__json *json,
                        const char *key,
                        int32_t count,
                        const size_t *sizes) {
  rlo__json_begin_array(json, key);
  for (int32_t i = 0; i < count; ++i) {
    rlo__json_int(json, NULL, (int64_t)sizes[i]);
  }
  rlo__json_end_array(json);
}

static void write_plan(rlo__json *json,
                       const rlo_plan_report *report,
                       bool has_source) {
  rlo__json_string(json, "family", report->family);
  rlo__json_string(json, "class", rlo__device_class_name(report->device_class));
  rlo__json_string(json, "schedule", report->schedule);
  rlo__json_string(json, "chosen_by", decision_name(report->decision));
  if (report->decision == RLO_PLAN_DECISION_WISDOM) {
    rlo__json_double(json, "measured_fraction", report->measured_fraction);
  }
  rlo__json_string(json, "parameters", report->parameters);
  rlo__json_begin_array(json, "candidates");
  for (int32_t i = 0; i < report->num_candidates; ++i) {
    const rlo_plan_candidate *candidate = &report->candidates[i];
    rlo__json_begin_object(json, NULL);
    rlo__json_string(json, "family", candidate->family);
    rlo__json_bool(json, "is_applicable", candidate->is_applicable);
    if (candidate->is_applicable) {
      rlo__json_double(
          json, "predicted_fraction", candidate->predicted_fraction);
    }
    rlo__json_string(json, "reason", candidate->reason);
    rlo__json_end_object(json);
  }
  rlo__json_end_array(json);
  rlo__json_int(json, "read_bytes", report->problem.read_bytes);
  rlo__json_int(json, "written_bytes", report->problem.written_bytes);
  if (report->work_dim == 0) {
    rlo__json_string(json, "kernel_name", NULL);
    return;
  }
  rlo__json_string(json, "kernel_name", report->kernel_name);
  write_sizes(json, "global_size", report->work_dim, report->global_size);
  write_sizes(json, "local_size", report->work_dim, report->local_size);
  rlo__json_int(json, "src_alignment_bytes", report->src_alignment_bytes);
  rlo__json_int(json, "dst_alignment_bytes", report->dst_alignment_bytes);
  if (has_source) {
    rlo__json_string(json, "build_options", report->build_options);
    rlo__json_string(json, "source", report->source);
  }
}

static void print_report_json(const explain_report *e, bool has_source) {
  rlo__shape_text text;
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  rlo__json_string(&json, "src", rlo__shape_text_make(&e->src, &text));
  rlo__json_string(&json, "dst", rlo__shape_text_make(&e->dst, &text));
  if (e->has_permutation) {
    rlo__json_begin_array(&json, "permutation");
    for (int32_t k = 0; k < e->src.rank; ++k) {
      rlo__json_int(&json, NULL, e->permutation[k]);
    }
    rlo__json_end_array(&json);
  }
  rlo__json_string(&json, "device", e->device_name);
  rlo__json_int(&json, "wisdom_records", e->wisdom.num_taken);
  rlo__json_int(&json, "wisdom_ignored", e->wisdom.num_ignored);
  write_problem(&json, "written", &e->written);
  rlo__json_begin_array(&json, "steps");
  int32_t stored = num_stored_steps(e);
  for (int32_t i = 0; i < stored; ++i) {
    rlo__json_string(&json, NULL, e->steps[i]);
  }
  rlo__json_end_array(&json);
  write_problem(&json, "canonical", &e->plan_report->problem);
  write_plan(&json, e->plan_report, has_source);
  rlo__json_end_object(&json);
}

typedef struct explain_request {
  explain_report report;
  rlo_plan_options plan_options;
  rlo__common_options common;
  /* NULL if not given. */
  const char *permutation;
  bool has_source;
} explain_request;

/* Returns the properties of a common device of a class. */
static rlo_device_info typical_device(rlo_device_class device_class) {
  bool is_cpu = device_class == RLO_DEVICE_CLASS_CPU;
  return (rlo_device_info){
      .struct_size = sizeof(rlo_device_info),
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
      .has_f32_denormals = true,
  };
}

static void record_step(void *payload,
                        const char *step,
                        const rlo_problem *after) {
  (void)after;
  add_step(payload, step);
}

/* Fills in the steps from the shapes and the permutation. Needs no device. */
static int explain_rewriting(explain_report *e) {
  if (rlo_relayout_combine(&e->src,
                           &e->dst,
                           e->has_permutation ? e->permutation : NULL,
                           &e->combine,
                           &e->written) != RLO_OK) {
    return rlo__fail_last();
  }
  /* The unit that the planner forms if both buffers begin at the device's
   * alignment. */
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

/* Plans with the device's context, which has measurements; without one, with
 * estimates. */
static rlo_status make_report(explain_request *request,
                              rlo_context *context,
                              rlo_plan_report **out_report) {
  const explain_report *e = &request->report;
  const rlo_plan_options *plan_options = &request->plan_options;
  return context == NULL
             ? rlo_plan_explain(
                   &e->written, &e->device, plan_options, 0, 0, out_report)
             : rlo_context_explain(
                   context, &e->written, plan_options, 0, 0, out_report);
}

/* `context` may be NULL. */
static int explain(explain_request *request, rlo_context *context) {
  explain_report *e = &request->report;
  int code = explain_rewriting(e);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  rlo_plan_report *report = NULL;
  if (make_report(request, context, &report) != RLO_OK) {
    return rlo__fail_last();
  }
  e->plan_report = report;
  if (request->common.is_json) {
    print_report_json(e, request->has_source);
  } else {
    print_report_text(e, request->has_source);
  }
  rlo_plan_report_release(report);
  e->plan_report = NULL;
  return RLO__EXIT_OK;
}

static int explain_for_device(void *payload) {
  explain_request *request = payload;
  rlo__session session;
  int code = rlo__session_init(&request->common.device, &session);
  if (code == RLO__EXIT_OK) {
    request->report.device = *rlo_context_device_info(session.context);
    request->report.device_name = session.device_name;
    request->report.wisdom = session.wisdom;
    code = explain(request, session.context);
  } else if (!request->common.is_device_given) {
    fputs("relayout explain --class cpu needs no device.\n", stderr);
  }
  rlo__session_deinit(&session);
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
  rlo_combine_options *combine = &request->report.combine;
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
    case RLO__OPTION_SCHEDULE:
      request->plan_options.schedule = value;
      return RLO__EXIT_OK;
    default:
      request->has_source = true;
      return RLO__EXIT_OK;
  }
}

static int take_shapes(explain_request *request, int argc, char **argv) {
  explain_report *e = &request->report;
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
    {"schedule", required_argument, NULL, RLO__OPTION_SCHEDULE},
    /* The former name. */
    {"way", required_argument, NULL, RLO__OPTION_SCHEDULE},
    {"source", no_argument, NULL, RLO__OPTION_SOURCE},
    {"no-isolate", no_argument, NULL, RLO__OPTION_NO_ISOLATE},
    {0}};

static int run(int argc, char **argv) {
  /* Static: the report is too large for the stack. */
  static explain_request request;
  request.plan_options = (rlo_plan_options)RLO_PLAN_OPTIONS_INIT;
  explain_report *e = &request.report;
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
  if (!request.common.is_device_given && wanted != RLO_DEVICE_CLASS_AUTO) {
    e->device = typical_device(wanted);
    return explain(&request, NULL);
  }
  return rlo__subprocess_run(
      request.common.is_isolated, explain_for_device, &request);
}

const rlo__command rlo__cmd_explain = {
    .name = "explain",
    .summary = "print how a relayout is planned, and why",
    .help =
        "Usage: relayout explain [OPTION...] SRC_SHAPE DST_SHAPE\n"
        "\n"
        "Prints the problem that the two shapes make, each step of its\n"
        "rewriting into canonical form, the kernel family that is chosen and\n"
        "why each other one was refused, and the launch. Elements are\n"
        "converted if the types differ.\n"
        "\n"
        "  --perm P      destination dimension k is source dimension P[k], as\n"
        "                in NumPy's transpose: --perm 1,0; -1 is the last one\n"
        "  --alpha A     scale the source, and add the destination, scaled\n"
        "  --beta B      too: dst = A * src + B * dst\n"
        "  --device D    plan for this device of `relayout devices`, by its\n"
        "                number or a part of its name; without it for the\n"
        "                default device\n"
        "  --class C     the kernels for cpu or gpu; without --device, plan "
        "for\n"
        "                a typical one and use no OpenCL at all\n"
        "  --family F    plan with this family, or print why it refuses\n"
        "  --schedule S  by this schedule of the family, such as 'output "
        "order';\n"
        "                also called --way, its former name\n"
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
