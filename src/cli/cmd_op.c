/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/threshold.h"
#include "command.h"
#include "display.h"
#include "files.h"
#include "message.h"
#include "op.h"
#include "op_report.h"
#include "value_check.h"

static int read_attributes(rlo__op *op) {
  return rlo__op_attributes_read(&op->kernel,
                                 op->request->attributes_path,
                                 op->request->attributes,
                                 op->request->num_attributes,
                                 &op->attributes);
}

/* ------------------------------------------------------------------- files */

/* Checks that each output file differs from the inputs and the other outputs.
 */
static int check_paths(rlo__op *op) {
  const char **paths = op->paths;
  for (int32_t n = op->num_inputs; n < op->num_inputs + op->num_outputs; ++n) {
    for (int32_t other = 0; other < n; ++other) {
      if (strcmp(paths[n], paths[other]) == 0 ||
          rlo__path_is_same_file(paths[n], paths[other])) {
        return rlo__fail(
            "%s and %s are one file; write to another", paths[other], paths[n]);
      }
    }
  }
  return rlo__trace_path_check(
      op->request->trace_path, paths, op->num_inputs + op->num_outputs);
}

static int open_inputs(rlo__op *op) {
  /* Each may have one more descriptor, for a storage. */
  op->has_files = rlo__files_allow(2 * (op->num_inputs + op->num_outputs));
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    rlo__file_hints hints = RLO__FILE_HINTS_INIT;
    hints.is_bitcast = op->request->is_bitcast;
    rlo_shape from;
    int code = RLO__EXIT_OK;
    if (strcmp(op->from[n], "-") != 0) {
      hints.from = &from;
      code = rlo__shape_operand_parse(op->from[n], &from);
    }
    if (code == RLO__EXIT_OK) {
      code = rlo__array_source_open(op->paths[n], &hints, &op->sources[n]);
    }
    if (code != RLO__EXIT_OK) {
      return code;
    }
    ++op->num_open;
    op->input_shapes[n] = &op->sources[n].contents.shape;
  }
  return RLO__EXIT_OK;
}

/* Infers the shapes of the results and checks their count. */
static int infer_outputs(rlo__op *op) {
  rlo_attributes attributes = {op->attributes.items, op->attributes.count};
  int32_t count = 0;
  if (rlo_infer_kernel(op->engine,
                       op->kernel.kernel_name,
                       op->input_shapes,
                       op->num_inputs,
                       &attributes,
                       op->output_shapes,
                       op->num_outputs,
                       &count) != RLO_OK) {
    return rlo__fail_last();
  }
  if (count != op->num_outputs) {
    return rlo__fail_usage("op",
                           "%s has %d result%s here, but %d file%s named for "
                           "them",
                           op->kernel.kernel_name,
                           count,
                           count == 1 ? "" : "s",
                           op->num_outputs,
                           op->num_outputs == 1 ? " is" : "s are");
  }
  return RLO__EXIT_OK;
}

/* Gives the results their layout. */
static int place_outputs(rlo__op *op) {
  const rlo__stream_options *options = &op->request->stream;
  op->is_in_pieces = rlo__stream_is_asked_for(options) || options->is_resumed;
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    op->is_in_pieces |= op->sources[n].bytes > rlo__thresholds.cli_large_bytes;
  }
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    rlo_shape *shape = &op->output_shapes[n];
    int code = op->request->to == NULL
                   ? RLO__EXIT_OK
                   : rlo__layout_operand_apply(op->request->to, shape);
    if (code != RLO__EXIT_OK) {
      return code;
    }
    rlo_shape_extent extent = {0};
    if (rlo_shape_measure(shape, &extent) != RLO_OK) {
      return rlo__fail_last();
    }
    op->outputs[n] = (rlo__stream_output){
        op->paths[op->num_inputs + n], shape, extent.physical_bytes};
    op->is_in_pieces |= extent.physical_bytes > rlo__thresholds.cli_large_bytes;
    for (int32_t k = 0; k < op->num_inputs; ++k) {
      op->sources[k].has_checked_values |=
          rlo__values_may_be_cut(op->input_shapes[k], shape);
    }
  }
  return RLO__EXIT_OK;
}

/* ----------------------------------------------------------------- running */

/* The problems of all results, as jobs. */
typedef struct job_list {
  /* One list for each result; owned. */
  rlo_problem_list **problems;
  rlo__stream_job *jobs;
  int32_t num_jobs;
} job_list;

static rlo_status lower_outputs(const rlo__op *op, job_list *list) {
  rlo_attributes attributes = {op->attributes.items, op->attributes.count};
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    rlo_status status = rlo_lower_kernel(op->engine,
                                         op->kernel.kernel_name,
                                         op->input_shapes,
                                         op->num_inputs,
                                         &attributes,
                                         n,
                                         op->outputs[n].shape,
                                         &list->problems[n]);
    if (status != RLO_OK) {
      return status;
    }
    list->num_jobs += rlo_problem_list_count(list->problems[n]);
  }
  return RLO_OK;
}

static int make_jobs(const rlo__op *op, job_list *list) {
  list->jobs = calloc((size_t)list->num_jobs + 1, sizeof(*list->jobs));
  if (list->jobs == NULL) {
    return rlo__fail("cannot get memory for %d jobs", list->num_jobs);
  }
  rlo__stream_job *next = list->jobs;
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    const rlo_problem_list *problems = list->problems[n];
    for (int32_t k = 0; k < rlo_problem_list_count(problems); ++k) {
      *next++ = (rlo__stream_job){rlo_problem_list_get(problems, k),
                                  rlo_problem_list_operand(problems, k),
                                  n};
    }
  }
  return RLO__EXIT_OK;
}

static int stream_jobs(const rlo__op *op, job_list *list, bool *out_is_done) {
  const rlo__op_request *request = op->request;
  rlo_status status = lower_outputs(op, list);
  if (status == RLO_UNSUPPORTED &&
      !rlo__stream_is_asked_for(&request->stream)) {
    return RLO__EXIT_OK;
  }
  if (status != RLO_OK) {
    return rlo__fail_last();
  }
  int code = make_jobs(op, list);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  const rlo__stream stream = {.options = &request->stream,
                              .common = &request->common,
                              .sources = op->sources,
                              .num_sources = op->num_inputs,
                              .outputs = op->outputs,
                              .num_outputs = op->num_outputs,
                              .jobs = list->jobs,
                              .num_jobs = list->num_jobs,
                              .has_events = op->is_in_pieces,
                              .is_whole = !op->is_in_pieces,
                              .report = rlo__op_report,
                              .payload = op};
  return rlo__stream_do(&stream, out_is_done);
}

/* Runs the problems in pieces, unless they cannot be cut: then *out_is_done is
 * false. */
static int run_in_pieces(const rlo__op *op, bool *out_is_done) {
  *out_is_done = false;
  job_list list = {0};
  list.problems =
      rlo__alloc_array((size_t)op->num_outputs, sizeof(rlo_problem_list *));
  if (list.problems == NULL) {
    return rlo__fail_last();
  }
  int code = stream_jobs(op, &list, out_is_done);
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    rlo_problem_list_release(list.problems[n]);
  }
  rlo__free((void *)list.problems);
  free(list.jobs);
  return code;
}

static int run_operation(rlo__op *op) {
  bool is_done = false;
  const bool is_loaded = op->request->trace_path != NULL ||
                         rlo__op_factors_matter(&op->request->factors) ||
                         !(op->has_files || op->is_in_pieces);
  int code = is_loaded ? RLO__EXIT_OK : run_in_pieces(op, &is_done);
  if (code != RLO__EXIT_OK || is_done) {
    return code;
  }
  code = rlo__op_in_memory(op);
  if (code == RLO__EXIT_OK) {
    rlo__op_print_results(op);
  }
  return code;
}

static int operate(rlo__op *op) {
  if (rlo_engine_create(NULL, &op->engine) != RLO_OK) {
    return rlo__fail_last();
  }
  int code = rlo__op_catalog_find(op->engine, op->request->name, &op->kernel);
  int (*const stages[])(rlo__op *) = {read_attributes,
                                      rlo__op_take_files,
                                      check_paths,
                                      open_inputs,
                                      infer_outputs,
                                      place_outputs,
                                      run_operation};
  for (size_t i = 0;
       code == RLO__EXIT_OK && i < sizeof(stages) / sizeof(stages[0]);
       ++i) {
    code = stages[i](op);
  }
  return code;
}

static int run_request(const rlo__op_request *request) {
  rlo__op op = {.request = request};
  int code = operate(&op);
  for (int32_t n = 0; n < op.num_open; ++n) {
    rlo__array_source_close(&op.sources[n]);
  }
  free(op.outputs);
  free(op.output_shapes);
  free((void *)op.input_shapes);
  free(op.sources);
  free((void *)op.from);
  free((void *)op.paths);
  rlo__op_attributes_deinit(&op.attributes);
  rlo_engine_release(op.engine);
  return code;
}

/* ----------------------------------------------------------------- options */

typedef struct op_arguments {
  rlo__op_request request;
  bool is_listing;
} op_arguments;

static int take_attribute(const char *verb, const char *value, void *field) {
  rlo__op_request *request = field;
  (void)verb;
  request->attributes[request->num_attributes++] = value;
  return RLO__EXIT_OK;
}

static int take_attributes_path(const char *verb,
                                const char *value,
                                void *field) {
  const char **path = field;
  if (*path != NULL) {
    return rlo__fail_usage(verb, "--attrs is given twice");
  }
  *path = value;
  return RLO__EXIT_OK;
}

static int take_input(const char *verb, const char *value, void *field) {
  rlo__op_request *request = field;
  (void)verb;
  request->inputs[request->num_inputs++] = value;
  return RLO__EXIT_OK;
}

static int take_from(const char *verb, const char *value, void *field) {
  rlo__op_request *request = field;
  (void)verb;
  request->from[request->num_from++] = value;
  return RLO__EXIT_OK;
}

static int accumulate(const char *verb, const char *value, void *field) {
  (void)verb;
  (void)value;
  *(double *)field = 1.0;
  return RLO__EXIT_OK;
}

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__OPTION("list", FLAG, op_arguments, is_listing),
    RLO__OPTION_BY("attr", CALL, op_arguments, request, take_attribute),
    RLO__OPTION_BY("attrs",
                   CALL,
                   op_arguments,
                   request.attributes_path,
                   take_attributes_path),
    RLO__OPTION_BY("input", CALL, op_arguments, request, take_input),
    RLO__OPTION_BY("from", CALL, op_arguments, request, take_from),
    RLO__OPTION("bitcast", FLAG, op_arguments, request.is_bitcast),
    RLO__OPTION("alpha", FACTOR, op_arguments, request.factors.alpha),
    RLO__OPTION("beta", FACTOR, op_arguments, request.factors.beta),
    RLO__OPTION_BY("accumulate",
                   CALL_BARE,
                   op_arguments,
                   request.factors.beta,
                   accumulate),
    RLO__OPTION("to", TEXT, op_arguments, request.to),
    RLO__OPTION("trace", TEXT, op_arguments, request.trace_path),
    RLO__STREAM_OPTIONS(op_arguments, request.stream),
    RLO__OPTION_COMMON("no-isolate", NO_ISOLATE),
    {0}};

static int take_arguments(int argc, char **argv, op_arguments *arguments) {
  rlo__op_request *request = &arguments->request;
  int code =
      rlo__options_take(&rlo__cmd_op, argc, argv, arguments, &request->common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (arguments->is_listing) {
    char **none;
    return rlo__operands_take(argc, argv, 0, "nothing", &none);
  }
  if (optind >= argc) {
    return rlo__fail_usage("op", "name an operation, or give --list");
  }
  if (request->is_bitcast && request->num_from == 0) {
    return rlo__fail_usage("op", "--bitcast requires --from");
  }
  if (rlo__op_factors_matter(&request->factors) &&
      (rlo__stream_is_asked_for(&request->stream) ||
       request->stream.is_resumed)) {
    return rlo__fail_usage("op",
                           "--alpha, --beta and --accumulate load the arrays: "
                           "they exclude --memory, --passes, --dry-run and "
                           "--resume");
  }
  request->name = argv[optind];
  request->paths = &argv[optind + 1];
  request->num_paths = argc - optind - 1;
  code = rlo__stream_options_check("op", &request->stream);
  return code == RLO__EXIT_OK
             ? rlo__trace_options_check(request->trace_path, &request->stream)
             : code;
}

static int run(int argc, char **argv) {
  op_arguments arguments = {.request.factors = RLO__OP_FACTORS_INIT};
  const char **from = calloc((size_t)argc, sizeof(*from));
  const char **inputs = calloc((size_t)argc, sizeof(*inputs));
  const char **attributes = calloc((size_t)argc, sizeof(*attributes));
  arguments.request.from = from;
  arguments.request.inputs = inputs;
  arguments.request.attributes = attributes;
  int code = from == NULL || inputs == NULL || attributes == NULL
                 ? rlo__fail("cannot get memory for %d arguments", argc)
                 : take_arguments(argc, argv, &arguments);
  if (code == RLO__EXIT_OK) {
    code = arguments.is_listing
               ? rlo__op_catalog_print(arguments.request.common.is_json)
               : run_request(&arguments.request);
  }
  free((void *)attributes);
  free((void *)inputs);
  free((void *)from);
  return code;
}

const rlo__command rlo__cmd_op = {
    .name = "op",
    .summary = "run an operation on arrays in files",
    .help =
        "Usage: relayout op NAME [OPTION...] IN... OUT...\n"
        "       relayout op --list [--json]\n"
        "\n"
        "Reads arrays, runs one of the built-in operations on a device, and\n"
        "writes its results:\n"
        "\n"
        "  relayout op pad_v2 --attr paddings=0,1,2,2 in.npy out.npy\n"
        "  relayout op concat --attr axis=1 a.npy b.npy c.npy out.npy\n"
        "  relayout op split_v --attr num_or_size_splits=2 in.npy a.npy "
        "b.npy\n"
        "\n"
        "  --list           print the operations: their inputs and "
        "attributes,\n"
        "                   and whether they have a gradient\n"
        "  --attr KEY=VALUE an attribute as JSON; a word and a shape need no\n"
        "                   quotes, numbers between commas no brackets (- for "
        "none)\n"
        "  --attrs FILE     attributes as a JSON object in a file; - for "
        "standard\n"
        "                   input\n"
        "  --input NAME=FILE  an input by its name, as --list shows it; once "
        "for\n"
        "                   each, in any order. The files behind NAME are then "
        "those\n"
        "                   of the results\n"
        "  --to LAYOUT      the layout of the results, in braces; row-major\n"
        "                   without it\n"
        "  --from SHAPE     the shape whose slots an input holds; one for "
        "each\n"
        "                   input, in the order in which they are named, - "
        "for\n"
        "                   the shape in its "
        "file\n"
        "  --bitcast        take the bits of .npy elements for elements of "
        "the\n"
        "                   type of --from, whatever type they have there\n"
        "  --alpha A        multiply the results by A\n"
        "  --beta B         and add B times what OUT holds, which is then an "
        "array\n"
        "                   of the result's shape and layout\n"
        "  --accumulate     --beta 1\n"
        "  --device D       a device of `relayout devices`, by its number or "
        "a\n"
        "                   part of its name; the default device without it.\n"
        "                   Several between commas, or all, share the\n"
        "                   work on large arrays; none is --host\n"
        "  --host           use the host backend, and no OpenCL\n"
        "  --trace FILE     write to FILE, for chrome://tracing and\n"
        "                   ui.perfetto.dev, the kernels that ran: their "
        "inputs,\n"
        "                   results, bytes, the time of the host, and of the "
        "device\n"
        "                   if one was used. Loads the arrays whole, however\n"
        "                   large, and takes no option for pieces\n"
        "  --json           print an object with the keys operation and "
        "results\n"
        "                   (each shape, file)\n"
        "  --no-isolate     use the OpenCL driver in this process\n"
        "\n"
        "Large arrays. If an input or a result has more than 64 MiB, an\n"
        "operation that moves, converts, sums or adds runs in pieces, and no\n"
        "array is in memory as a whole. What loads indices is\n"
        "loaded; so is everything with --alpha or --beta and, if there is "
        "memory\n"
        "for it, what writes short runs between those of others, as pack does\n"
        "along the last dimension:\n"
        "\n" RLO__STREAM_HELP
        "\n"
        "NAME may be written in any case, with or without underscores. Prints\n"
        "the shape of each result. No OUT changes before all results are\n"
        "complete on the disk.\n",
    .print_more_help = rlo__array_file_print_help,
    .options = options,
    .run = run,
};
