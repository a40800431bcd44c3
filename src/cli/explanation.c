/* SPDX-License-Identifier: Apache-2.0 */
#include "explanation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "display.h"
#include "json.h"

void rlo__explanation_add_step(rlo__explanation *explanation,
                               const char *step) {
  int32_t number = explanation->num_steps++;
  if (number < RLO__EXPLANATION_MAX_STEPS) {
    snprintf(explanation->steps[number],
             sizeof(explanation->steps[number]),
             "%s",
             step);
  }
}

static int32_t num_kept_steps(const rlo__explanation *e) {
  return e->num_steps < RLO__EXPLANATION_MAX_STEPS ? e->num_steps
                                                   : RLO__EXPLANATION_MAX_STEPS;
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
      printf("  %-8s fits, %.2f of the copy limit expected%s%s\n",
             candidate->family,
             candidate->predicted_fraction,
             candidate->reason[0] == '\0' ? "" : ": ",
             candidate->reason);
    } else {
      printf("  %-8s refused: %s\n", candidate->family, candidate->reason);
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
  printf("  way            %s\n", report->way);
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

void rlo__explanation_print_text(const rlo__explanation *e, bool has_source) {
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
  int32_t kept = num_kept_steps(e);
  for (int32_t i = 0; i < kept; ++i) {
    printf("  %d. %s\n", i + 1, e->steps[i]);
  }
  if (kept < e->num_steps) {
    printf("  and %d more\n", e->num_steps - kept);
  }
  puts("\ncanonical problem");
  print_problem(&e->report->problem);
  putchar('\n');
  print_families(e->report);
  putchar('\n');
  print_plan(e->report, has_source);
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
  rlo__json_string(json, "way", report->way);
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

void rlo__explanation_print_json(const rlo__explanation *e, bool has_source) {
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
  int32_t kept = num_kept_steps(e);
  for (int32_t i = 0; i < kept; ++i) {
    rlo__json_string(&json, NULL, e->steps[i]);
  }
  rlo__json_end_array(&json);
  write_problem(&json, "canonical", &e->report->problem);
  write_plan(&json, e->report, has_source);
  rlo__json_end_object(&json);
}
