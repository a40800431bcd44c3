/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relayout/permutation.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "command.h"
#include "display.h"
#include "explain.h"
#include "message.h"
#include "report.h"
#include "subprocess.h"

/* ----------------------------------------------------------------- problems */

char *rlo__explain_text(const rlo_problem *problem) {
  const size_t bytes = rlo_problem_format(problem, NULL, 0) + 1;
  char *text = rlo__alloc(bytes);
  if (text != NULL) {
    rlo_problem_format(problem, text, bytes);
  }
  return text;
}

static void print_problem(rlo__report *r, const rlo_problem *problem) {
  char *text = rlo__explain_text(problem);
  char *rest = NULL;
  if (text == NULL) {
    rlo__report_line(r, "", "  (no memory to print it)");
    return;
  }
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    rlo__report_line(r, "", "  %s", line);
  }
  rlo__free(text);
}

static void add_form(rlo__report *r, const char *key, const rlo_problem *problem,
                     const rlo_form *form) {
  RLO__REPORT_OBJECT(r, key, RLO__INT("base", NULL, form->base),
                     RLO__INTS("axis", NULL, form->axis, problem->num_axes),
                     RLO__INTS("term", NULL, form->term, problem->num_terms));
}

static double factor_of(const rlo_arithmetic *a, rlo_element_op op, double otherwise) {
  for (int32_t s = 0; s < a->num_steps; ++s) {
    if (a->steps[s].op == op) {
      return a->steps[s].numbers[0];
    }
  }
  return otherwise;
}

static void add_update(rlo__report *r, const rlo_problem *problem) {
  const rlo_arithmetic *a = &problem->arithmetic;
  const bool computes = problem->update == RLO_UPDATE_COMBINE;
  RLO__REPORT(r, RLO__STRING("update", NULL, computes ? "combine" : "store"));
  if (computes) {
    RLO__REPORT_OBJECT(r, "arithmetic", RLO__STRING("src_type", NULL, rlo_dtype_name(a->src_type)),
                       RLO__STRING("dst_type", NULL, rlo_dtype_name(a->dst_type)),
                       RLO__INT("dst_unit_bits", NULL, a->dst_unit_bits),
                       RLO__REAL("alpha", factor_of(a, RLO_ELEMENT_SCALE, 1.0)),
                       RLO__REAL("beta", factor_of(a, RLO_ELEMENT_ACCUMULATE, 0.0)),
                       RLO__BOOL("is_sum", rlo_problem_is_sum(problem)));
  }
}

static void add_problem(rlo__report *r, const char *key, const rlo_problem *problem) {
  print_problem(r, problem);
  rlo__report_open(r, key, '{');
  RLO__REPORT(r, RLO__INT("unit_bits", NULL, problem->unit_bits),
              RLO__INTS("extents", NULL, problem->extents, problem->num_axes));
  add_form(r, "src", problem, &problem->src);
  add_form(r, "dst", problem, &problem->dst);
  rlo__report_open(r, "terms", '[');
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    rlo__report_open(r, NULL, '{');
    add_form(r, "form", problem, &problem->terms[t].form);
    RLO__REPORT(r, RLO__INT("divisor", NULL, problem->terms[t].divisor));
    rlo__report_close(r);
  }
  rlo__report_close(r);
  rlo__report_open(r, "guards", '[');
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const rlo_guard *guard = &problem->guards[g];
    rlo__report_open(r, NULL, '{');
    RLO__REPORT(r, RLO__STRING("kind", NULL, guard->kind == RLO_GUARD_PAD ? "pad" : "skip"));
    add_form(r, "form", problem, &guard->form);
    RLO__REPORT(r, RLO__INT("limit", NULL, guard->limit));
    rlo__report_close(r);
  }
  rlo__report_close(r);
  add_update(r, problem);
  RLO__REPORT(r, RLO__INT("src_bytes", NULL, problem->src_bytes),
              RLO__INT("dst_bytes", NULL, problem->dst_bytes));
  rlo__report_close(r);
}

/* Prints the steps of the rewriting as it takes them. */
typedef struct step_list {
  rlo__report *report;
  int count;
} step_list;

static void add_step(void *payload, const char *step, const rlo_problem *after) {
  step_list *list = payload;
  (void)after;
  rlo__report_line(list->report, "", "  %d. %s", ++list->count, step);
  RLO__REPORT(list->report, RLO__STRING(NULL, NULL, step));
}

static void add_steps(rlo__report *r, const rlo__explain_request *e) {
  static rlo_problem canonical;
  step_list list = {.report = r};
  /* The unit that the planner forms if both buffers begin at the device's
   * alignment. */
  const int64_t alignment_bytes = e->device.base_alignment_bytes;
  const int64_t aligned_bits = alignment_bytes > 0
                                   ? rlo__min(alignment_bytes, RLO_MAX_UNIT_BITS / 8) * 8
                                   : RLO_MAX_UNIT_BITS;
  rlo__report_line(r, "", "\nrewriting");
  rlo__report_open(r, "steps", '[');
  canonical = e->written;
  const rlo_status status = rlo_problem_canonicalize(
      &canonical, (int32_t)rlo__max(e->written.unit_bits, aligned_bits), add_step, &list);
  rlo__report_close(r);
  if (status != RLO_OK) {
    rlo__report_line(r, "", "  (it ended with %s)", rlo_status_name(status));
  } else if (list.count == 0) {
    rlo__report_line(r, "", "  nothing: it is in canonical form");
  }
}

/* --------------------------------------------------------------------- plan */

static void add_candidates(rlo__report *r, const rlo_plan_report *report) {
  rlo__report_open(r, "candidates", '[');
  for (int32_t i = 0; i < report->num_candidates; ++i) {
    const rlo_plan_candidate *c = &report->candidates[i];
    if (c->is_applicable) {
      rlo__report_line(r, "", "  %-12s fits, %.2f of the copy limit expected%s%s", c->family,
                       c->predicted_fraction, c->reason[0] == '\0' ? "" : ": ", c->reason);
    } else {
      rlo__report_line(r, "", "  %-12s refused: %s", c->family, c->reason);
    }
    RLO__REPORT_OBJECT(r, NULL, RLO__STRING("family", NULL, c->family),
                       RLO__BOOL("is_applicable", c->is_applicable),
                       c->is_applicable
                           ? (rlo__row)RLO__REAL("predicted_fraction", c->predicted_fraction)
                           : (rlo__row)RLO__REAL(NULL, 0),
                       RLO__STRING("reason", NULL, c->reason));
  }
  rlo__report_close(r);
}

/* The sizes of a launch. */
static void add_sizes(rlo__report *r, const char *key, const char *label, int32_t count,
                      const size_t *sizes) {
  int64_t numbers[3];
  for (int32_t i = 0; i < count; ++i) {
    numbers[i] = (int64_t)sizes[i];
  }
  RLO__REPORT(r, RLO__INTS(key, label, numbers, count));
}

static void add_bytes(rlo__report *r, const char *key, const char *label, int64_t bytes) {
  rlo__report_line(r, label, "%" PRId64 " (%s)", bytes, rlo__bytes_text(bytes));
  RLO__REPORT(r, RLO__INT(key, NULL, bytes));
}

static void add_launch(rlo__report *r, const rlo_plan_report *report, bool has_source) {
  RLO__REPORT(r, RLO__STRING("kernel_name", "  kernel", report->kernel_name));
  add_sizes(r, "global_size", "  work-items", report->work_dim, report->global_size);
  add_sizes(r, "local_size", "  work-group", report->work_dim, report->local_size);
  rlo__report_line(r, "  alignment", "source %" PRId64 ", destination %" PRId64 " bytes",
                   report->src_alignment_bytes, report->dst_alignment_bytes);
  RLO__REPORT(r, RLO__INT("src_alignment_bytes", NULL, report->src_alignment_bytes),
              RLO__INT("dst_alignment_bytes", NULL, report->dst_alignment_bytes));
  if (has_source) {
    RLO__REPORT(r, RLO__STRING("build_options", "  options", report->build_options),
                RLO__STRING("source", NULL, report->source));
    fputs(r->is_json ? "" : report->source, stdout);
  }
}

static void add_decision(rlo__report *r, const rlo_plan_report *report) {
  static const char *const names[] = {[RLO_PLAN_DECISION_FORCED] = "command line",
                                      [RLO_PLAN_DECISION_WISDOM] = "wisdom",
                                      [RLO_PLAN_DECISION_MEASURE] = "measurement",
                                      [RLO_PLAN_DECISION_ESTIMATE] = "expectation"};
  const bool is_known = report->decision == RLO_PLAN_DECISION_WISDOM;
  const char *name = names[report->decision];
  if (is_known) {
    rlo__report_line(r, "  chosen by", "%s: it had %.3f of the copy limit when it was measured",
                     name, report->measured_fraction);
  }
  RLO__REPORT(r, RLO__STRING("chosen_by", is_known ? NULL : "  chosen by", name),
              is_known ? (rlo__row)RLO__REAL("measured_fraction", report->measured_fraction)
                       : (rlo__row)RLO__REAL(NULL, 0));
}

static void add_plan(rlo__report *r, const rlo_plan_report *report, bool has_source) {
  const char *class_name = rlo__device_class_names[report->device_class];
  rlo__report_line(r, "", "\nfamilies of the %s class", class_name);
  add_candidates(r, report);
  rlo__report_line(r, "", "\nplan");
  r->label_width = 16;
  RLO__REPORT(r, RLO__STRING("family", "  family", report->family),
              RLO__STRING("class", NULL, class_name),
              RLO__STRING("schedule", "  schedule", report->schedule));
  add_decision(r, report);
  RLO__REPORT(r, RLO__STRING("parameters", "  parameters", report->parameters));
  add_bytes(r, "read_bytes", "  bytes read", report->problem.read_bytes);
  add_bytes(r, "written_bytes", "  bytes written", report->problem.written_bytes);
  if (report->work_dim == 0) {
    rlo__report_line(r, "  kernel", "none: there is nothing to move");
    RLO__REPORT(r, RLO__STRING("kernel_name", NULL, NULL));
  } else {
    add_launch(r, report, has_source);
  }
}

/* ------------------------------------------------------------------- report */

static void add_permutation(rlo__report *r, const rlo__explain_request *e) {
  int64_t numbers[RLO_MAX_RANK];
  for (int32_t k = 0; k < e->src.rank; ++k) {
    numbers[k] = e->permutation[k];
  }
  RLO__REPORT(r, RLO__INTS("permutation", "permutation", numbers, e->src.rank));
}

/* Adds the device, and what of the wisdom file is of it. */
static void add_device(rlo__report *r, const rlo__session *session) {
  static const rlo__session none = {.device_name = "none: typical numbers of the class"};
  const rlo__session *s = session == NULL ? &none : session;
  const char *name = s->device_name;
  RLO__REPORT(r, RLO__STRING("device", NULL, session == NULL ? NULL : name),
              RLO__STRING(NULL, "device", name), RLO__INT("wisdom_records", NULL, s->num_taken),
              RLO__INT("wisdom_ignored", NULL, s->num_ignored));
  if (s->num_ignored > 0) {
    rlo__report_line(
        r, "wisdom",
        "%d records of this device; %d of another device, driver or table of kernels are ignored",
        (int)s->num_taken, (int)s->num_ignored);
  } else if (s->num_taken > 0) {
    rlo__report_line(r, "wisdom", "%d records of this device", (int)s->num_taken);
  }
}

static int print_report(const rlo__explain_request *e, const rlo_plan_report *report) {
  rlo__report r;
  rlo__report_begin(&r, e->common.is_json, 12);
  RLO__REPORT(&r, RLO__STRING("src", "source", rlo__shape_text(&e->src)),
              RLO__STRING("dst", "destination", rlo__shape_text(&e->dst)));
  if (e->permutation_text != NULL) {
    add_permutation(&r, e);
  }
  add_device(&r, e->session);
  rlo__report_line(&r, "", "\nproblem as written");
  add_problem(&r, "written", &e->written);
  add_steps(&r, e);
  rlo__report_line(&r, "", "\ncanonical problem");
  add_problem(&r, "canonical", &report->problem);
  add_plan(&r, report, e->has_source);
  rlo__report_end(&r);
  return RLO__EXIT_OK;
}

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

/* Plans with the device's context, which has measurements; with NULL, by
 * estimates. */
static int explain(rlo__explain_request *e, rlo_context *context) {
  rlo_plan_report *report = NULL;
  RLO__EXIT_TRY(rlo__check(rlo_relayout_combine(&e->src, &e->dst,
                                                e->permutation_text != NULL ? e->permutation : NULL,
                                                &e->combine, &e->written)));
  RLO__EXIT_TRY(
      rlo__check(context == NULL
                     ? rlo_plan_explain(&e->written, &e->device, &e->plan_options, 0, 0, &report)
                     : rlo_context_explain(context, &e->written, &e->plan_options, 0, 0, &report)));
  const int code = e->print(e, report);
  rlo_plan_report_release(report);
  return code;
}

static int explain_for_device(void *payload, rlo__session *session) {
  rlo__explain_request *e = payload;
  e->session = session;
  e->device = *rlo_context_device_info(session->context);
  return explain(e, session->context);
}

/* ------------------------------------------------------------ command line */

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__OPTION("perm", TEXT, rlo__explain_request, permutation_text),
    RLO__OPTION_COMMON("device", DEVICE),
    RLO__OPTION("alpha", FACTOR, rlo__explain_request, combine.alpha),
    RLO__OPTION("beta", FACTOR, rlo__explain_request, combine.beta),
    /* The numbers of rlo_device_class. */
    RLO__OPTION_OF("class", rlo__explain_request, plan_options.device_class, "cpu", "gpu"),
    RLO__OPTION("family", TEXT, rlo__explain_request, plan_options.family),
    RLO__OPTION("schedule", TEXT, rlo__explain_request, plan_options.schedule),
    RLO__OPTION("source", FLAG, rlo__explain_request, has_source),
    RLO__OPTION_COMMON("no-isolate", NO_ISOLATE),
    {0}};

/* Turns the relayout around. */
static void invert(rlo__explain_request *e) {
  const rlo_shape dst = e->src;
  int32_t forward[RLO_MAX_RANK];
  memcpy(forward, e->permutation, sizeof forward);
  e->src = e->dst;
  e->dst = dst;
  rlo_permutation_inverse(forward, dst.rank, e->permutation);
}

int rlo__explain_run(const rlo__command *command, int argc, char **argv, rlo__explain_request *e) {
  e->plan_options = (rlo_plan_options)RLO_PLAN_OPTIONS_INIT;
  e->combine = (rlo_combine_options)RLO_COMBINE_OPTIONS_INIT;
  RLO__EXIT_TRY(rlo__options_take(command, argc, argv, e, &e->common));
  RLO__EXIT_TRY(rlo__operands_take(argc, argv, 2, "a source and a destination shape"));
  RLO__EXIT_TRY(rlo__shape_operand_parse(argv[optind], &e->src));
  RLO__EXIT_TRY(rlo__shape_operand_parse(argv[optind + 1], &e->dst));
  RLO__EXIT_TRY(
      rlo__permutation_parse(argv[0], "--perm", e->permutation_text, e->src.rank, e->permutation));
  if (e->is_inverse) {
    invert(e);
  }
  rlo_device_class *wanted = &e->plan_options.device_class;
  if (!e->common.is_device_given && *wanted == RLO_DEVICE_CLASS_AUTO) {
    *wanted = e->typical;
  }
  if (!e->common.is_device_given && *wanted != RLO_DEVICE_CLASS_AUTO) {
    e->device = typical_device(*wanted);
    return explain(e, NULL);
  }
  return rlo__session_run(
      &e->common,
      e->common.is_device_given ? NULL : "relayout explain --class cpu needs no device.\n",
      explain_for_device, e);
}

static int run(int argc, char **argv) {
  static rlo__explain_request e = {.print = print_report};
  return rlo__explain_run(&rlo__cmd_explain, argc, argv, &e);
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
        "  --class cpu|gpu\n"
        "                the kernels for it; without --device, plan for a typical\n"
        "                one and use no OpenCL at all\n"
        "  --family F    plan with this family, or print why it refuses\n"
        "  --schedule S  by this schedule of the family, such as 'output order'\n"
        "  --source      print the kernel's build options and source, too\n"
        "  --json        print one object\n"
        "  --no-isolate  use the OpenCL driver in this process\n"
        "\n"
        "Example: relayout explain 'f32[64,48]' 'f32[64,48]{0,1}' --class cpu\n",
    .options = options,
    .run = run,
};
