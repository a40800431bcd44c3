/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/codegen.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/options.h"
#include "base/status.h"
#include "base/str.h"
#include "plan/sum_parts.h"

#define NAME_SEED  UINT64_C(0x6b65726e656c0001)
#define TABLE_SEED UINT64_C(0x7461626c65000001)

#define LARGE_BUFFER_OPTION " -cl-intel-greater-than-4GB-buffer-required"

void rlo__kernel_source_append(const rlo__kernel_source *source, rlo__str *out) {
  for (const rlo__kernel_part *part = source->parts; part->text != NULL; ++part) {
    rlo__str_append_bytes(out, part->text, part->bytes);
  }
}

/** Appends the arguments of an item, as cl/batch.cl calls them. */
static void append_item_arguments(rlo__str *out, const int64_t *places, int32_t count) {
  static const char *const names[] = {
      [RLO__ARGUMENT_SRC] = "src",         [RLO__ARGUMENT_SRC_OFFSET] = "RLO_ITEM_SRC",
      [RLO__ARGUMENT_DST] = "dst",         [RLO__ARGUMENT_DST_OFFSET] = "RLO_ITEM_DST",
      [RLO__ARGUMENT_INT] = "RLO_INT",     [RLO__ARGUMENT_LONG] = "RLO_LONG",
      [RLO__ARGUMENT_INT16] = "RLO_INT16", [RLO__ARGUMENT_LONG16] = "RLO_LONG16",
      [RLO__ARGUMENT_LONG8] = "RLO_LONG8"};
  for (int32_t k = 0; k < count; k += 2) {
    const rlo__argument_kind kind = (rlo__argument_kind)places[k];
    rlo__str_printf(out, "%s%s", k == 0 ? "" : ",", names[kind]);
    if (rlo__argument_lanes(kind) > 0) {
      rlo__str_printf(out, "(%" PRId64 ")", places[k + 1]);
    }
  }
}

/* " -DNAME=v0,v1" for each constant, in the order of the launch; options of a
 * compiler are among them, so that a kernel's name covers them too. */
static void append_defines(rlo__str *out, const rlo__launch *launch) {
  for (int32_t d = 0; d < launch->num_defines; ++d) {
    const rlo__define *define = &launch->defines[d];
    if (strcmp(define->name, RLO__LARGE_BUFFERS) == 0) {
      rlo__str_append(out, LARGE_BUFFER_OPTION);
      continue;
    }
    rlo__str_printf(out, " -D%s=", define->name);
    if (strcmp(define->name, RLO__CODEGEN_ITEM_ARGUMENTS) == 0) {
      append_item_arguments(out, &launch->numbers[define->first], define->count);
      continue;
    }
    for (int32_t k = 0; k < define->count; ++k) {
      rlo__str_printf(out, "%s%" PRId64, k == 0 ? "" : ",", launch->numbers[define->first + k]);
    }
  }
}

/* Distinct programs have distinct kernel names. The hash in a name covers the
 * file and the constants. */
static void name_kernel(const rlo__launch *launch, const rlo__kernel_source *source,
                        const char *defines, rlo__program_spec *spec) {
  rlo__hash hash = rlo__hash_init(NAME_SEED);
  rlo__hash_u64(&hash, source->hash);
  rlo__hash_string(&hash, defines);
  rlo__str name = rlo__str_over(spec->kernel_name, sizeof spec->kernel_name);
  rlo__str_printf(&name, "rlo_%s_%016" PRIx64, launch->kernel_file, rlo__hash_finish_u64(&hash));
}

rlo_status rlo__codegen_program(const rlo__launch *launch, rlo__program_spec *out_spec) {
  memset(out_spec, 0, sizeof *out_spec);
  const rlo__kernel_source *source = rlo__kernel_source_find(launch->kernel_file);
  RLO_FAIL_IF(source == NULL, RLO_INTERNAL, "the kernel file %s.cl is not part of this library",
              launch->kernel_file == NULL ? "?" : launch->kernel_file);
  rlo__str defines = rlo__str_growing();
  append_defines(&defines, launch);
  rlo_status status = rlo__str_status(&defines);
  if (status != RLO_OK) {
    rlo__str_deinit(&defines);
    return status;
  }
  rlo__program_spec spec = {.kernel = source, .source = ""};
  name_kernel(launch, source, rlo__str_text(&defines), &spec);
  rlo__str options = rlo__str_growing();
  /* -w: on processors without AVX-512 PoCL's clang warns, on the caller's
   * standard error, that vectors of 64 bytes are passed in another way. */
  rlo__str_printf(&options, "-cl-std=CL1.2 -w -DRLO_KERNEL=%s%s", spec.kernel_name,
                  rlo__str_text(&defines));
  rlo__str_deinit(&defines);
  RLO_TRY(rlo__str_take(&options, &spec.options));
  *out_spec = spec;
  return RLO_OK;
}

bool rlo__codegen_has_batch(const rlo__launch *item) {
  const rlo__kernel_source *source = rlo__kernel_source_find(item->kernel_file);
  return source != NULL && source->has_batch;
}

uint64_t rlo__codegen_hash(const rlo__program_spec *spec) {
  rlo__hash hash = rlo__hash_init(UINT64_C(0x70726f6772616d));
  rlo__hash_u64(&hash, spec->source_bytes);
  rlo__hash_string(&hash, spec->options);
  rlo__hash_string(&hash, spec->kernel_name);
  return rlo__hash_finish_u64(&hash);
}

void rlo__codegen_deinit(rlo__program_spec *spec) {
  if (spec != NULL) {
    rlo__free(spec->options);
    memset(spec, 0, sizeof *spec);
  }
}

/* ------------------------------------------------------------------- wisdom */

static void hash_schedule(rlo__hash *hash, const rlo__schedule *schedule) {
  const int64_t knobs[] = {schedule->order,           schedule->stores,
                           schedule->has_no_prefetch, schedule->tile_a_lines,
                           schedule->tile_b_lines,    schedule->group_log2};
  rlo__hash_string(hash, schedule->name);
  for (size_t n = 0; n < sizeof knobs / sizeof knobs[0]; ++n) {
    rlo__hash_i64(hash, knobs[n]);
  }
}

/* The kernels' texts count as much as the names: with a better kernel another
 * schedule may be the best. */
uint64_t rlo_wisdom_table(void) {
  rlo__hash hash = rlo__hash_init(TABLE_SEED);
  rlo__hash_u64(&hash, rlo__kernel_sources_hash());
  for (int32_t n = 0; n < rlo__num_families; ++n) {
    rlo__hash_string(&hash, rlo__families[n]->name);
    rlo__hash_i64(&hash, rlo__families[n]->device_class);
  }
  for (int32_t n = 0; n < rlo__num_schedules; ++n) {
    hash_schedule(&hash, &rlo__schedules[n]);
  }
  return rlo__hash_finish_u64(&hash);
}

/* ------------------------------------------------------------------ explain */

/* A report with the program that its strings point into. The report is the
 * first member, so that a pointer to it points to the whole. */
typedef struct owned_report {
  rlo_plan_report report;
  rlo__program_spec spec;
  char *source;
  /** The arguments point into it. */
  rlo__launch *launch;
  rlo_plan_argument arguments[RLO__LAUNCH_MAX_ARGUMENTS];
} owned_report;

/* Too large for a small stack. */
typedef struct workspace {
  rlo__choice choice;
  rlo__launch launch;
  rlo__sum_parts parts;
} workspace;

static void report_choice(const rlo__choice *choice, rlo_plan_report *report) {
  report->family = choice->family == NULL ? "none" : choice->family->name;
  report->schedule = choice->schedule->name;
  report->decision = choice->decision;
  report->measured_fraction = choice->measured_fraction;
  report->device_class = choice->device_class;
  report->src_alignment_bytes = choice->src_alignment_bytes;
  report->dst_alignment_bytes = choice->dst_alignment_bytes;
  report->num_candidates = choice->num_candidates;
  memcpy(report->candidates, choice->candidates,
         (size_t)choice->num_candidates * sizeof choice->candidates[0]);
}

static void report_launch(const rlo__launch *launch, rlo_plan_report *report) {
  memcpy(report->parameters, launch->parameters, sizeof report->parameters);
  report->work_dim = launch->work_dim;
  memcpy(report->global_size, launch->global_size, sizeof launch->global_size);
  memcpy(report->local_size, launch->local_size, sizeof launch->local_size);
}

/** Copies the arguments of a launch. */
static rlo_status report_arguments(const rlo__launch *launch, owned_report *owned) {
  static const char *const types[] = {
      [RLO__ARGUMENT_SRC] = "src",       [RLO__ARGUMENT_SRC_OFFSET] = "src_offset",
      [RLO__ARGUMENT_DST] = "dst",       [RLO__ARGUMENT_DST_OFFSET] = "dst_offset",
      [RLO__ARGUMENT_INDEX] = "indices", [RLO__ARGUMENT_INDEX_OFFSET] = "index_offset",
      [RLO__ARGUMENT_INT] = "int",       [RLO__ARGUMENT_LONG] = "long",
      [RLO__ARGUMENT_INT16] = "int16",   [RLO__ARGUMENT_LONG16] = "long16",
      [RLO__ARGUMENT_LONG8] = "long8",
  };
  owned->launch = rlo__launch_pack(launch);
  RLO_TRY_MEMORY(owned->launch);
  for (int32_t n = 0; n < launch->num_arguments; ++n) {
    const rlo__argument *from = &owned->launch->arguments[n];
    rlo_plan_argument *to = &owned->arguments[n];
    to->type = types[from->kind];
    to->num_values = rlo__argument_lanes(from->kind);
    to->values = &owned->launch->numbers[from->first];
    if (from->kind == RLO__ARGUMENT_SRC_OFFSET || from->kind == RLO__ARGUMENT_DST_OFFSET) {
      to->num_values = 1;
      to->values = from->kind == RLO__ARGUMENT_SRC_OFFSET ? &owned->launch->src_base_bytes
                                                          : &owned->launch->dst_base_bytes;
    }
  }
  owned->report.num_arguments = launch->num_arguments;
  owned->report.arguments = owned->arguments;
  return RLO_OK;
}

static rlo_status explain(const rlo__plan_request *request, workspace *w, owned_report *owned) {
  rlo_plan_report *report = &owned->report;
  RLO_TRY(rlo__planner_choose(request, &w->choice, &w->launch));
  report_choice(&w->choice, report);
  report->kernel_name = report->source = report->build_options = "";
  if (w->choice.family == NULL) {
    return RLO_OK;
  }
  report_launch(&w->launch, report);
  RLO_TRY(rlo__codegen_program(&w->launch, &owned->spec));
  report->kernel_name = owned->spec.kernel_name;
  rlo__str source = rlo__str_growing();
  rlo__kernel_source_append(owned->spec.kernel, &source);
  RLO_TRY(rlo__str_take(&source, &owned->source));
  report->source = owned->source;
  report->build_options = owned->spec.options;
  return report_arguments(&w->launch, owned);
}

/** The report is of the parts of a sum. */
static void describe_parts(const workspace *w, rlo_plan_report *report) {
  char own[sizeof report->parameters];
  rlo__str words = rlo__str_over(own, sizeof own);
  rlo__sum_parts_describe(&w->parts, report->parameters, &words);
  memcpy(report->parameters, own, sizeof own);
}

rlo_status rlo__plan_report_create(const rlo_problem *problem, const rlo__plan_request *request,
                                   rlo_plan_report **out_report) {
  *out_report = NULL;
  rlo__plan_request explaining = *request;
  rlo_plan_options known;
  RLO_TRY(rlo__plan_options_read(&explaining.options, &known));
  workspace *w = rlo__alloc(sizeof *w);
  owned_report *owned = rlo__alloc(sizeof *owned);
  if (w == NULL || owned == NULL) {
    rlo__free(w);
    rlo__free(owned);
    return RLO_OUT_OF_MEMORY;
  }
  owned->report.problem = *problem;
  explaining.problem = &owned->report.problem;
  rlo_status status = RLO_OK;
  bool is_cut = false;
  if (rlo__sum_parts_are_allowed(problem, explaining.options)) {
    status = rlo__sum_parts_plan(&explaining, NULL, &w->parts, &is_cut);
  }
  if (is_cut) {
    rlo__sum_parts_get(&w->parts, false, &owned->report.problem);
    /* The alignment of scratch memory is the device's own. */
    explaining.dst_alignment_bytes = 0;
  }
  rlo__launch_init(&w->launch);
  explaining.is_explaining = true;
  if (status == RLO_OK) {
    status = explain(&explaining, w, owned);
  }
  if (status == RLO_OK && is_cut) {
    describe_parts(w, &owned->report);
  }
  rlo__launch_deinit(&w->launch);
  rlo__free(w);
  if (status != RLO_OK) {
    rlo_plan_report_release(&owned->report);
    return status;
  }
  *out_report = &owned->report;
  return RLO_OK;
}

rlo_status rlo_plan_explain(const rlo_problem *problem, const rlo_device_info *device,
                            const rlo_plan_options *options, int64_t src_alignment_bytes,
                            int64_t dst_alignment_bytes, rlo_plan_report **out_report) {
  RLO_REQUIRE(problem, device, out_report);
  rlo_device_info known = RLO_DEVICE_INFO_INIT;
  RLO_TRY(rlo__options_read("device info", "RLO_DEVICE_INFO_INIT", device, &known, sizeof known));
  const rlo__plan_request request = {.device = &known,
                                     .options = options,
                                     .src_alignment_bytes = src_alignment_bytes,
                                     .dst_alignment_bytes = dst_alignment_bytes};
  return rlo__plan_report_create(problem, &request, out_report);
}

void rlo_plan_report_release(rlo_plan_report *report) {
  if (report == NULL) {
    return;
  }
  owned_report *owned = (owned_report *)(void *)report;
  rlo__codegen_deinit(&owned->spec);
  rlo__free(owned->source);
  rlo__free(owned->launch);
  rlo__free(owned);
}
