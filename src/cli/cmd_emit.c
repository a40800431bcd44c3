/* SPDX-License-Identifier: Apache-2.0 */

/* A relayout as source text that needs no library: a kernel with the C function that
 * launches it, or a C function alone. */

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
#include "display.h"
#include "explain.h"
#include "kernel_text.h"
#include "message.h"
#include "relayout/version.h"

/* ---------------------------------------------------------------------- head */

/* A relayout that is emitted. */
typedef struct emit_request {
  rlo__explain_request plan;
  /* An identifier of C. */
  const char *name;
  bool is_host;
} emit_request;

static rlo_status append_loop(rlo__str *out, const rlo_problem *problem) {
  char *text = rlo__explain_text(problem);
  char *rest = NULL;
  RLO_TRY_MEMORY(text);
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    rlo__str_printf(out, " *   %s\n", line);
  }
  rlo__free(text);
  return RLO_OK;
}

static rlo_status append_head(rlo__str *out, const emit_request *e, const rlo_plan_report *report) {
  const rlo__explain_request *plan = &e->plan;
  rlo__str_printf(out, "/* SPDX-License-Identifier: 0BSD */\n/*\n * %s: moves %s\n", e->name,
                  rlo__shape_text(&plan->src));
  rlo__str_printf(out, " * to %s", rlo__shape_text(&plan->dst));
  for (int32_t k = 0; plan->permutation_text != NULL && k < plan->src.rank; ++k) {
    rlo__str_printf(out, k == 0 ? ", permuted by %d" : ",%d", (int)plan->permutation[k]);
  }
  rlo__str_append(out, "\n *\n");
  RLO_TRY(append_loop(out, &report->problem));
  rlo__str_printf(
      out,
      " *\n * Written by relayout %s (relayout emit). Use, change and publish it as you like.\n",
      rlo_version_string());
  return RLO_OK;
}

/* -------------------------------------------------------------------- kernels */

/* Defines a constant of the C function: an array of a type's lanes. */
static void append_constant(rlo__str *out, int32_t number, const rlo_plan_argument *a) {
  const bool is_vector = a->num_values > 1;
  rlo__str_printf(out, "  static const cl_%s argument%d = %s", a->type, (int)number,
                  is_vector ? "{{" : "");
  for (int32_t n = 0; n < a->num_values; ++n) {
    rlo__str_printf(out, "%s%" PRId64, n == 0 ? "" : ", ", a->values[n]);
  }
  rlo__str_append(out, is_vector ? "}};\n" : ";\n");
}

static void append_sizes(rlo__str *out, const char *name, int32_t count, const size_t *sizes) {
  rlo__str_printf(out, "  static const size_t %s[] = {", name);
  for (int32_t d = 0; d < count; ++d) {
    rlo__str_printf(out, "%s%zu", d == 0 ? "" : ", ", sizes[d]);
  }
  rlo__str_append(out, "};\n");
}

static bool is_constant(const rlo_plan_argument *a) {
  return strncmp(a->type, "int", 3) == 0 || strncmp(a->type, "long", 4) == 0;
}

/* Appends what precedes the list of arguments: the constants that it points to. */
static void append_constants(rlo__str *out, const rlo_plan_report *report) {
  for (int32_t n = 0; n < report->num_arguments; ++n) {
    const rlo_plan_argument *a = &report->arguments[n];
    if (is_constant(a)) {
      append_constant(out, n, a);
    } else if (a->num_values > 0) {
      rlo__str_printf(out, "  const cl_ulong argument%d = %s + (cl_ulong)%" PRId64 ";\n", (int)n,
                      a->type, a->values[0]);
    }
  }
  append_sizes(out, "global_size", report->work_dim, report->global_size);
  append_sizes(out, "local_size", report->work_dim, report->local_size);
  rlo__str_append(out,
                  "  const struct {\n    size_t bytes;\n    const void *value;\n"
                  "  } arguments[] = {\n");
  for (int32_t n = 0; n < report->num_arguments; ++n) {
    const rlo_plan_argument *a = &report->arguments[n];
    rlo__str_append(out, n % 3 == 0 ? "      " : " ");
    if (a->num_values > 0) {
      rlo__str_printf(out, "{sizeof argument%d, &argument%d},", (int)n, (int)n);
    } else {
      rlo__str_printf(out, "{sizeof %s, &%s},", a->type, a->type);
    }
    rlo__str_append(out, n % 3 == 2 || n + 1 == report->num_arguments ? "\n" : "");
  }
  rlo__str_append(out, "  };\n");
}

/* Appends the C function. */
static void append_launch(rlo__str *out, const char *name, const rlo_plan_report *report) {
  rlo__str_printf(out,
                  "/* Enqueues %s. src and dst have %" PRId64 " and %" PRId64
                  " bytes from their offsets on,\n"
                  " * which are multiples of %" PRId64 " and %" PRId64
                  ". */\n"
                  "static inline cl_int %s_enqueue(cl_command_queue queue, cl_kernel kernel,\n"
                  "    cl_mem src, cl_ulong src_offset, cl_mem dst, cl_ulong dst_offset,\n"
                  "    cl_uint num_wait, const cl_event *wait_list, cl_event *event) {\n",
                  name, report->problem.src_bytes, report->problem.dst_bytes,
                  report->src_alignment_bytes, report->dst_alignment_bytes, name);
  append_constants(out, report);
  rlo__str_printf(
      out,
      "  if (src_offset %% %" PRId64 " != 0 || dst_offset %% %" PRId64
      " != 0) {\n"
      "    return CL_MISALIGNED_SUB_BUFFER_OFFSET;\n"
      "  }\n"
      "  for (cl_uint n = 0; n < sizeof arguments / sizeof arguments[0]; ++n) {\n"
      "    const cl_int code = clSetKernelArg(kernel, n, arguments[n].bytes, arguments[n].value);\n"
      "    if (code != CL_SUCCESS) {\n"
      "      return code;\n"
      "    }\n"
      "  }\n"
      "  return clEnqueueNDRangeKernel(queue, kernel, %d, NULL, global_size, local_size, "
      "num_wait,\n"
      "                                wait_list, event);\n"
      "}\n",
      report->src_alignment_bytes, report->dst_alignment_bytes, (int)report->work_dim);
}

/* The constants with the kernel's new name. */
static rlo_status append_kernel(rlo__str *out, const char *name, const rlo_plan_report *report) {
  rlo__str options = rlo__str_growing();
  const char *old = report->kernel_name;
  const char *at = strstr(report->build_options, old);
  rlo__str_append_bytes(&options, report->build_options, (size_t)(at - report->build_options));
  rlo__str_append(&options, name);
  rlo__str_append(&options, at + strlen(old));
  rlo_status status = rlo__str_status(&options);
  if (status == RLO_OK) {
    status = rlo__kernel_text_append(out, report->source, rlo__str_text(&options));
  }
  rlo__str_deinit(&options);
  return status;
}

static rlo_status emit_kernel(rlo__str *out, const emit_request *e, const rlo_plan_report *report) {
  RLO_TRY(append_head(out, e, report));
  rlo__str_printf(
      out,
      " *\n * Family %s: %s.\n"
      " * OpenCL reads the kernel in this file, C and C++ the function that launches it:\n"
      " * build a program of its text with -cl-std=CL1.2, make the kernel %s of it,\n"
      " * include this file, and call %s_enqueue.\n */\n"
      "#ifdef __OPENCL_VERSION__\n\n",
      report->family, report->parameters, e->name, e->name);
  RLO_TRY(append_kernel(out, e->name, report));
  rlo__str_append(out, "\n#else\n\n#include <CL/cl.h>\n\n");
  append_launch(out, e->name, report);
  rlo__str_append(out, "\n#endif\n");
  return RLO_OK;
}

/* ----------------------------------------------------------------------- host */

enum { HOST_BLOCK = 16 };

static void append_product(rlo__str *out, int64_t factor, char name, int32_t number,
                           const char **between) {
  if (factor != 0) {
    rlo__str_append(out, *between);
    if (factor != 1) {
      rlo__str_printf(out, "%" PRId64 " * ", factor);
    }
    rlo__str_printf(out, "%c%d", name, (int)number);
    *between = " + ";
  }
}

/* Appends a linear form as an expression. */
static void append_form(rlo__str *out, const rlo_problem *problem, const rlo_form *form) {
  const char *between = "";
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    append_product(out, form->axis[a], 'a', a, &between);
  }
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    append_product(out, form->term[t], 'q', t, &between);
  }
  if (form->base != 0 || between[0] == '\0') {
    rlo__str_printf(out, "%s%" PRId64, between, form->base);
  }
}

static void append_guards(rlo__str *out, const rlo_problem *problem) {
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    const bool skips = problem->guards[g].kind == RLO_GUARD_SKIP;
    rlo__str_printf(out, "    const int64_t g%d = ", (int)g);
    append_form(out, problem, &problem->guards[g].form);
    rlo__str_printf(out, ";\n    if (g%d < 0 || g%d >= %" PRId64 ") {\n      %s;\n    }\n", (int)g,
                    (int)g, problem->guards[g].limit, skips ? "continue" : "from = fill");
  }
}

/* Finds the axis of step 1 in the source, to be cut into blocks beside the last one; -1:
 * that is the last one, or one of them is short. */
static int32_t find_block_axis(const rlo_problem *problem) {
  const int32_t last = problem->num_axes - 1;
  for (int32_t a = 0; a < last; ++a) {
    if (rlo__abs(problem->src.axis[a]) == 1 && rlo__abs(problem->src.axis[last]) != 1 &&
        problem->extents[a] > HOST_BLOCK && problem->extents[last] > HOST_BLOCK) {
      return a;
    }
  }
  return -1;
}

static void append_block_loop(rlo__str *out, const rlo_problem *problem, int32_t axis) {
  rlo__str_printf(out, "  for (int64_t b%d = 0; b%d < %" PRId64 "; b%d += %d)\n", (int)axis,
                  (int)axis, problem->extents[axis], (int)axis, HOST_BLOCK);
}

static void append_loops(rlo__str *out, const rlo_problem *problem) {
  const int32_t last = problem->num_axes - 1;
  const int32_t block = find_block_axis(problem);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    if (block < 0 || (a != block && a != last)) {
      rlo__str_printf(out, "  for (int64_t a%d = 0; a%d < %" PRId64 "; ++a%d)\n", (int)a, (int)a,
                      problem->extents[a], (int)a);
    }
  }
  if (block >= 0) {
    append_block_loop(out, problem, block);
    append_block_loop(out, problem, last);
    const int32_t inner[] = {block, last};
    for (int n = 0; n < 2; ++n) {
      const int a = (int)inner[n];
      rlo__str_printf(out,
                      "  for (int64_t a%d = b%d; a%d < b%d + %d && a%d < %" PRId64 "; ++a%d)\n", a,
                      a, a, a, HOST_BLOCK, a, problem->extents[a], a);
    }
  }
}

static void append_quotients(rlo__str *out, const rlo_problem *problem) {
  for (int32_t t = 0; t < problem->num_terms; ++t) {
    const int64_t d = problem->terms[t].divisor;
    rlo__str_printf(out, "    const int64_t n%d = ", (int)t);
    append_form(out, problem, &problem->terms[t].form);
    rlo__str_printf(out,
                    ";\n    const int64_t q%d = n%d / %" PRId64 " - (n%d %% %" PRId64 " < 0);\n",
                    (int)t, (int)t, d, (int)t, d);
  }
}

static void append_fill(rlo__str *out, const rlo_problem *problem) {
  rlo__str_append(out, "  static const unsigned char fill[] = {");
  for (int32_t b = 0; b < problem->unit_bits / 8; ++b) {
    rlo__str_printf(out, "%s%d", b == 0 ? "" : ", ", (int)problem->fill[b]);
  }
  rlo__str_append(out, "};\n");
}

static rlo_status emit_host(rlo__str *out, const emit_request *e, const rlo_plan_report *report) {
  const rlo_problem *problem = &report->problem;
  const int bytes = (int)(problem->unit_bits / 8);
  bool has_fill = false;
  for (int32_t g = 0; g < problem->num_guards; ++g) {
    has_fill = has_fill || problem->guards[g].kind == RLO_GUARD_PAD;
  }
  RLO_TRY(append_head(out, e, report));
  rlo__str_printf(out,
                  " */\n#include <stdint.h>\n#include <string.h>\n\n"
                  "/* src and dst have %" PRId64 " and %" PRId64
                  " bytes and do not overlap. */\n"
                  "static inline void %s(const void *src, void *dst) {\n",
                  problem->src_bytes, problem->dst_bytes, e->name);
  if (has_fill) {
    append_fill(out, problem);
  }
  append_loops(out, problem);
  rlo__str_append(out, "  {\n");
  append_quotients(out, problem);
  rlo__str_append(out, "    const int64_t s = ");
  append_form(out, problem, &problem->src);
  rlo__str_append(out, ";\n    const int64_t d = ");
  append_form(out, problem, &problem->dst);
  rlo__str_printf(out,
                  ";\n    const unsigned char *from = (const unsigned char *)src + %d * s;\n"
                  "    unsigned char *to = (unsigned char *)dst + %d * d;\n",
                  bytes, bytes);
  append_guards(out, problem);
  rlo__str_printf(out, "    memcpy(to, from, %d);\n  }\n}\n", bytes);
  return RLO_OK;
}

/* ----------------------------------------------------------------------- verb */

static bool is_identifier(const char *name) {
  bool is_word = !isdigit((unsigned char)name[0]) && name[0] != '\0';
  for (const char *at = name; *at != '\0'; ++at) {
    is_word = is_word && (isalnum((unsigned char)*at) || *at == '_');
  }
  return is_word;
}

/* The plan is the first member of the request. */
static int emit(const rlo__explain_request *plan, const rlo_plan_report *report) {
  const emit_request *e = (const emit_request *)(const void *)plan;
  const rlo_problem *problem = &report->problem;
  RLO__EXIT_IF(report->work_dim == 0, "there is nothing to move: the destination has no element");
  RLO__EXIT_IF(
      e->is_host && (problem->unit_bits % 8 != 0 || problem->update != RLO_UPDATE_STORE),
      problem->unit_bits % 8 != 0
          ? "--class host moves whole bytes, not elements of %d bits; --class cpu and gpu do"
          : "--class host moves elements of %d bits as they are; --class cpu and gpu convert them",
      (int)problem->unit_bits);
  rlo__str out = rlo__str_growing();
  rlo_status status = (e->is_host ? emit_host : emit_kernel)(&out, e, report);
  if (status == RLO_OK) {
    status = rlo__str_status(&out);
  }
  if (status == RLO_OK) {
    fputs(rlo__str_text(&out), stdout);
  }
  rlo__str_deinit(&out);
  return rlo__check(status);
}

static int take_class(const char *verb, const char *value, void *field) {
  static const char *const words[] = {"cpu", "gpu", "host", NULL};
  emit_request *e = field;
  int32_t number = 0;
  RLO__EXIT_TRY(rlo__word_parse(verb, "--class", value, words, &number));
  e->is_host = number == 3;
  e->plan.plan_options.device_class = e->is_host ? RLO_DEVICE_CLASS_CPU : (rlo_device_class)number;
  return RLO__EXIT_OK;
}

static int take_name(const char *verb, const char *value, void *field) {
  RLO__USAGE_IF(!is_identifier(value), verb, "--name %s is no identifier of C", value);
  *(const char **)field = value;
  return RLO__EXIT_OK;
}

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION("perm", TEXT, emit_request, plan.permutation_text),
    RLO__OPTION("inverse", FLAG, emit_request, plan.is_inverse),
    RLO__OPTION_BY("name", emit_request, name, take_name),
    RLO__OPTION_COMMON("device", DEVICE),
    {.name = "class", .kind = RLO__OPTION_CALL, .take = take_class},
    RLO__OPTION("family", TEXT, emit_request, plan.plan_options.family),
    RLO__OPTION_COMMON("no-isolate", NO_ISOLATE),
    {0}};

static int run(int argc, char **argv) {
  static emit_request e = {.name = "relayout",
                           .plan = {.typical = RLO_DEVICE_CLASS_GPU, .print = emit}};
  return rlo__explain_run(&rlo__cmd_emit, argc, argv, &e.plan);
}

const rlo__command rlo__cmd_emit = {
    .name = "emit",
    .summary = "write a relayout as a kernel that needs no library",
    .help =
        "Usage: relayout emit [OPTION...] SRC_SHAPE DST_SHAPE\n"
        "\n"
        "Prints a file with the kernel that is planned for one relayout, in\n"
        "OpenCL C 1.2, and with the C function that launches it on a queue of\n"
        "yours: OpenCL compiles the one, C or C++ includes the other. It needs\n"
        "nothing of this project. What is emitted is yours (0BSD).\n"
        "\n"
        "  --perm P      destination dimension k is source dimension P[k]\n"
        "  --inverse     the way back, from DST_SHAPE to SRC_SHAPE\n"
        "  --name N      the kernel; the function is N_enqueue (relayout)\n"
        "  --class cpu|gpu|host\n"
        "                for a typical gpu (the default) or cpu; host: a\n"
        "                function in C that moves the bytes itself\n"
        "  --device D    for this device of `relayout devices`\n"
        "  --family F    by this family of `relayout explain`\n"
        "  --no-isolate  use the OpenCL driver in this process\n"
        "\n"
        "Example: relayout emit 'u8[8,224,224,3]' 'u8[8,3,224,224]' \\\n"
        "           --perm 0,3,1,2 --name nhwc_to_nchw > nhwc_to_nchw.cl\n",
    .options = options,
    .run = run,
};
