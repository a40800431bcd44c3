/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/xla/shape_util.h"

#include "base/checked.h"
#include "command.h"
#include "display.h"
#include "files.h"
#include "message.h"
#include "op.h"

/* -------------------------------------------------------------------- files */

/* Finds the place of each input, by its name or else by its order. `names` gets
 * the names, which the caller frees. */
static int find_places(const rlo__op *op, char **names, int32_t *out_places) {
  const rlo__text_list *inputs = &op->request->inputs;
  if (names == NULL || out_places == NULL) {
    rlo__fail("cannot get memory for %d names", op->num_inputs);
    return RLO__EXIT_FAILURE;
  }
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    out_places[n] = n;
  }
  for (int32_t n = 0; n < inputs->count; ++n) {
    const char *text = inputs->texts[n];
    const char *equals = strchr(text, '=');
    RLO__USAGE_IF(equals == NULL || equals == text || equals[1] == '\0', "op",
                  "--input %s: write NAME=FILE", text);
    names[n] = strndup(text, (size_t)(equals - text));
    RLO__EXIT_IF(names[n] == NULL, "cannot get memory for a name");
  }
  return inputs->count == 0 || rlo_kernel_place_inputs(op->engine, op->kernel.kernel_name,
                                                       (const char *const *)names, inputs->count,
                                                       out_places) == RLO_OK
             ? RLO__EXIT_OK
             : rlo__fail_usage("op", "%s", rlo_error_last()->message);
}

static int take_inputs(rlo__op *op) {
  const rlo__op_request *request = op->request;
  char **names = calloc((size_t)op->num_inputs, sizeof(*names));
  int32_t *places = calloc((size_t)op->num_inputs, sizeof(*places));
  const int code = find_places(op, names, places);
  for (int32_t n = 0; code == RLO__EXIT_OK && n < op->num_inputs; ++n) {
    const char *operand =
        request->inputs.count > 0 ? strchr(request->inputs.texts[n], '=') + 1 : request->paths[n];
    op->paths[places[n]] = rlo__path_of(operand, "/dev/stdin");
    op->order[places[n]] = n;
  }
  for (int32_t n = 0; names != NULL && n < op->num_inputs; ++n) {
    free(names[n]);
  }
  free((void *)names);
  free(places);
  return code;
}

/* Prints what files are wanted. */
static int fail_count(const rlo__op *op) {
  char text[512];
  rlo__str names = rlo__str_over(text, sizeof(text));
  rlo__op_inputs_text(&op->kernel, &names);
  int32_t num_paths = op->request->num_paths;
  return rlo__fail_usage(
      "op", "%s: %d file%s; name those of its inputs (%s), then those of its results",
      op->kernel.kernel_name, num_paths, num_paths == 1 ? "" : "s", rlo__str_text(&names));
}

/* Counts the files of the inputs and of the results. */
static int count_files(rlo__op *op) {
  const rlo__op_request *request = op->request;
  const rlo_kernel_config *kernel = &op->kernel;
  bool is_named = request->inputs.count > 0;
  int32_t num_paths = request->num_paths;
  /* Without names their places tell: one input and several outputs, or several inputs and
   * one output. Named inputs may be as many as the outputs. */
  op->num_inputs = is_named ? request->inputs.count : kernel->max_inputs == 1 ? 1 : num_paths - 1;
  op->num_outputs = is_named ? num_paths : num_paths - op->num_inputs;
  RLO__USAGE_IF(is_named && num_paths < 1, "op", "%s: name the files of its results",
                kernel->kernel_name);
  if (!is_named && (num_paths < 2 || op->num_inputs < kernel->min_inputs ||
                    (kernel->max_inputs >= 0 && op->num_inputs > kernel->max_inputs))) {
    return fail_count(op);
  }
  const int64_t most_given =
      rlo__max(request->from.count, rlo__max(request->offsets.count, request->arrays.count));
  return most_given <= op->num_inputs
             ? RLO__EXIT_OK
             : rlo__fail_usage("op", "--from, --offset or --array is given %d times for %d inputs",
                               (int)most_given, op->num_inputs);
}

/* Finds the files, and allocates the lists with a place for each. */
static int take_files(rlo__op *op) {
  RLO__EXIT_TRY(count_files(op));
  const size_t num_inputs = (size_t)op->num_inputs;
  const size_t count = num_inputs + (size_t)op->num_outputs;
  op->paths = calloc(count, sizeof(*op->paths));
  op->order = calloc(num_inputs, sizeof(*op->order));
  op->sources = calloc(count, sizeof(*op->sources));
  op->input_shapes = calloc(num_inputs, sizeof(*op->input_shapes));
  op->outputs = calloc(2 * (size_t)op->num_outputs, sizeof(*op->outputs));
  RLO__EXIT_IF(op->paths == NULL || op->order == NULL || op->sources == NULL ||
                   op->input_shapes == NULL || op->outputs == NULL,
               "cannot get memory for %zu files", count);
  RLO__EXIT_TRY(take_inputs(op));
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    op->paths[op->num_inputs + n] = rlo__path_of(
        op->request->paths[op->request->num_paths - op->num_outputs + n], "/dev/stdout");
  }
  return RLO__EXIT_OK;
}

/* Checks that a file that is written is not that of attributes, nor one of the first
 * `count` outputs. */
static int check_path(const rlo__op *op, const char *path, int32_t count) {
  const char *attributes = op->request->attributes_path;
  for (int32_t n = -1; n < count; ++n) {
    const char *other = n < 0 ? attributes : op->paths[op->num_inputs + n];
    RLO__EXIT_IF(other != NULL && (strcmp(path, other) == 0 || rlo__path_is_same_file(path, other)),
                 "%s and %s are one file; write to another", other, path);
  }
  return RLO__EXIT_OK;
}

static int check_paths(rlo__op *op) {
  const char *trace = op->request->trace_path;
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    RLO__EXIT_TRY(check_path(op, op->paths[op->num_inputs + n], n));
  }
  if (trace == NULL) {
    return RLO__EXIT_OK;
  }
  trace = rlo__path_of(trace, "/dev/stdout");
  RLO__EXIT_TRY(check_path(op, trace, op->num_outputs));
  rlo__output_claim(trace);
  return RLO__EXIT_OK;
}

/* Opens the next source. */
static int open_source(rlo__op *op, const char *path, const rlo__file_hints *hints) {
  RLO__EXIT_TRY(rlo__array_source_open(path, hints, &op->sources[op->num_open]));
  ++op->num_open;
  return RLO__EXIT_OK;
}

/* Returns the value of an option for one of the inputs; NULL: it has none. */
static const char *text_of(const rlo__text_list *list, int32_t n) {
  return n < list->count && strcmp(list->texts[n], "-") != 0 ? list->texts[n] : NULL;
}

static int open_input(rlo__op *op, int32_t n) {
  const rlo__op_request *request = op->request;
  const char *shape = text_of(&request->from, op->order[n]);
  const char *offset = text_of(&request->offsets, op->order[n]);
  const char *array = text_of(&request->arrays, op->order[n]);
  rlo__file_hints hints = {
      NULL, -1, -1, request->byte_order, request->is_bitcast, request->stream.memory_bytes};
  rlo_shape from;
  if (shape != NULL) {
    RLO__EXIT_TRY(rlo__shape_operand_parse(shape, &from));
    hints.from = &from;
  }
  if (offset != NULL) {
    RLO__EXIT_TRY(rlo__size_parse("op", "--offset", offset, 0, &hints.offset_bytes));
  }
  if (array != NULL) {
    RLO__EXIT_TRY(rlo__number_parse("op", "--array", array, 0, INT64_MAX, &hints.array));
  }
  RLO__EXIT_TRY(open_source(op, op->paths[n], &hints));
  op->input_shapes[n] = &op->sources[n].contents.shape;
  for (int32_t k = 0; k < op->num_outputs; ++k) {
    RLO__EXIT_TRY(rlo__input_file_check(&op->sources[n].file, op->paths[op->num_inputs + k]));
  }
  if (request->trace_path != NULL) {
    RLO__EXIT_TRY(rlo__input_file_check(&op->sources[n].file,
                                        rlo__path_of(request->trace_path, "/dev/stdout")));
  }
  RLO__EXIT_IF(
      op->sources[n].has_header && request->byte_order != RLO__BYTE_ORDER_DEFAULT,
      "%s has a header, which says its byte order: --byte-order is for files of bare bytes",
      op->paths[n]);
  return RLO__EXIT_OK;
}

static int open_inputs(rlo__op *op) {
  /* Each may have one more descriptor, for a storage. */
  rlo__files_allow(2 * (op->num_inputs + 2 * op->num_outputs));
  for (int32_t n = 0; n < op->num_inputs; ++n) {
    RLO__EXIT_TRY(open_input(op, n));
  }
  return RLO__EXIT_OK;
}

/* Infers the shapes of the results and checks their count. */
static int infer_outputs(rlo__op *op) {
  int32_t count = 0;
  RLO__EXIT_TRY(rlo__check(rlo_infer_kernel(op->engine, op->kernel.kernel_name, op->input_shapes,
                                            op->num_inputs, &op->attributes.list, op->plain_shapes,
                                            RLO_MAX_KERNEL_OUTPUTS, &count)));
  return count == op->num_outputs
             ? RLO__EXIT_OK
             : rlo__fail_usage("op", "%s has %d result%s here, but %d file%s named for them",
                               op->kernel.kernel_name, count, count == 1 ? "" : "s",
                               op->num_outputs, op->num_outputs == 1 ? " is" : "s are");
}

/* Gives the results their layout. */
static int place_outputs(rlo__op *op) {
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    rlo_shape *shape = &op->output_shapes[n];
    const char *path = op->paths[op->num_inputs + n];
    *shape = op->plain_shapes[n];
    if (op->request->to != NULL) {
      RLO__EXIT_TRY(rlo__layout_operand_apply(op->request->to, shape));
    }
    op->outputs[n].path = path;
    op->outputs[n].shape = shape;
    RLO__EXIT_TRY(rlo__check(rlo_shape_array_size(shape, &op->outputs[n].bytes)));
    for (int32_t k = 0; k < op->num_inputs; ++k) {
      op->sources[k].has_checked_values |= rlo__values_may_be_cut(op->input_shapes[k], shape);
    }
    if (rlo__op_is_adding(op->request)) {
      RLO__EXIT_IF(rlo__path_why_in_place(path) != NULL,
                   "%s %s: nothing can be added to what it holds", path,
                   rlo__path_why_in_place(path));
      const rlo__file_hints hints = {
          .from = shape, .offset_bytes = -1, .array = -1, .is_bitcast = op->request->is_bitcast};
      RLO__EXIT_TRY(open_source(op, path, &hints));
    }
  }
  return RLO__EXIT_OK;
}

/* ---------------------------------------------------------------- reporting */

static void report_results(const rlo__stream *stream, rlo__report *r,
                           const rlo__stream_result *result) {
  const rlo__op *op = stream->payload;
  RLO__REPORT(r, RLO__STRING("operation", NULL, op->kernel.kernel_name));
  rlo__report_open(r, "results", '[');
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    RLO__REPORT_OBJECT(r, NULL, RLO__STRING("shape", "", rlo__shape_text(op->outputs[n].shape)),
                       RLO__STRING("file", NULL, op->outputs[n].path));
  }
  rlo__report_close(r);
  if (result != NULL && stream->is_in_pieces) {
    RLO__REPORT(r, RLO__REAL("seconds", result->info.seconds));
  }
}

/* -------------------------------------------------------------------- trace */

static json_t *make_shapes(const rlo_shape *const *shapes, int32_t count) {
  json_t *texts = json_array();
  for (int32_t n = 0; n < count; ++n) {
    (void)json_array_append_new(texts, json_string(rlo__shape_text(shapes[n])));
  }
  return texts;
}

/* An event of the Trace Event Format of Chrome; takes over `args`. */
static json_t *make_event(const char *name, int row, double seconds, json_t *args) {
  return json_pack("{s:s, s:s, s:f, s:f, s:i, s:i, s:o}", "name", name, "ph", "X", "ts", 0.0, "dur",
                   seconds * 1e6, "pid", 1, "tid", row, "args", args);
}

static json_t *make_trace(const rlo__op *op, const rlo__stream_result *result) {
  const rlo_job_info *info = &result->info;
  const rlo_shape *results[RLO_MAX_KERNEL_OUTPUTS];
  for (int32_t n = 0; n < op->num_outputs; ++n) {
    results[n] = op->outputs[n].shape;
  }
  json_t *args = json_pack(
      "{s:o, s:o, s:s, s:I, s:I, s:I}", "inputs", make_shapes(op->input_shapes, op->num_inputs),
      "results", make_shapes(results, op->num_outputs), "device",
      op->request->stream.devices.is_none ? "host" : result->device_names, "bytes_read",
      (json_int_t)info->bytes_read, "bytes_written", (json_int_t)info->bytes_written, "num_pieces",
      (json_int_t)info->num_pieces);
  return json_pack("{s:s, s:[o, o, o, o]}", "displayTimeUnit", "ns", "traceEvents",
                   make_event(op->kernel.kernel_name, 0, info->seconds, args),
                   make_event("read", 1, info->stage_seconds[RLO_STAGE_READ], json_object()),
                   make_event("run", 2, info->stage_seconds[RLO_STAGE_RUN], json_object()),
                   make_event("write", 3, info->stage_seconds[RLO_STAGE_WRITE], json_object()));
}

static int save_trace(const rlo__op *op, const rlo__stream_result *result) {
  json_t *trace = make_trace(op, result);
  char *text = json_dumps(trace, JSON_COMPACT);
  const int code = text == NULL
                       ? rlo__fail("cannot get memory for the trace")
                       : rlo__output_write(op->request->trace_path, NULL, 0, text, strlen(text));
  free(text);
  json_decref(trace);
  return code;
}

/* ----------------------------------------------------------------- running */

static int run_jobs(rlo__op *op) {
  rlo__stream stream = {.options = &op->request->stream,
                        .common = &op->request->common,
                        .sources = op->sources,
                        .num_sources = op->num_open,
                        .outputs = op->outputs,
                        .num_outputs = op->num_stages,
                        .jobs = op->jobs,
                        .num_jobs = op->num_jobs,
                        .report = report_results,
                        .payload = op};
  rlo__stream_result result;
  RLO__EXIT_TRY(rlo__stream_do(&stream, &result));
  return op->request->trace_path == NULL ? RLO__EXIT_OK : save_trace(op, &result);
}

static int operate(rlo__op *op) {
  RLO__EXIT_TRY(rlo__check(rlo_engine_create(NULL, &op->engine)));
  RLO__EXIT_TRY(rlo__op_catalog_find(op->engine, op->request->name, &op->kernel));
  RLO__EXIT_TRY(rlo__op_attributes_read(&op->kernel, op->request->attributes_path,
                                        &op->request->attributes, &op->attributes));
  RLO__EXIT_TRY(take_files(op));
  RLO__EXIT_TRY(check_paths(op));
  RLO__EXIT_TRY(open_inputs(op));
  RLO__EXIT_TRY(infer_outputs(op));
  RLO__EXIT_TRY(place_outputs(op));
  RLO__EXIT_TRY(rlo__op_make_jobs(op));
  return run_jobs(op);
}

static int run_request(rlo__op_request *request) {
  static rlo__op op;
  op.request = request;
  int code = operate(&op);
  for (int32_t n = 0; n < op.num_open; ++n) {
    rlo__array_source_close(&op.sources[n]);
  }
  rlo__op_release_jobs(&op);
  free(op.outputs);
  free((void *)op.input_shapes);
  free(op.sources);
  free((void *)op.paths);
  free(op.order);
  rlo__op_attributes_deinit(&op.attributes);
  rlo_engine_release(op.engine);
  return code;
}

/* ----------------------------------------------------------------- options */

static int take_attributes_path(const char *verb, const char *value, void *field) {
  const char **path = field;
  RLO__USAGE_IF(*path != NULL, verb, "--attrs is given twice");
  *path = value;
  return RLO__EXIT_OK;
}

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__OPTION("list", FLAG, rlo__op_request, is_listing),
    RLO__OPTION("attr", TEXTS, rlo__op_request, attributes),
    RLO__OPTION_BY("attrs", rlo__op_request, attributes_path, take_attributes_path),
    RLO__OPTION("input", TEXTS, rlo__op_request, inputs),
    RLO__OPTION("from", TEXTS, rlo__op_request, from),
    RLO__OPTION("offset", TEXTS, rlo__op_request, offsets),
    RLO__OPTION("array", TEXTS, rlo__op_request, arrays),
    RLO__OPTION_OF("byte-order", rlo__op_request, byte_order, "little", "big"),
    RLO__OPTION("bitcast", FLAG, rlo__op_request, is_bitcast),
    RLO__OPTION("alpha", FACTOR, rlo__op_request, alpha),
    RLO__OPTION("beta", FACTOR, rlo__op_request, beta),
    RLO__OPTION("accumulate", FLAG, rlo__op_request, is_accumulating),
    RLO__OPTION("to", TEXT, rlo__op_request, to),
    RLO__OPTION("trace", TEXT, rlo__op_request, trace_path),
    RLO__STREAM_OPTIONS(rlo__op_request, stream),
    RLO__OPTION_COMMON("no-isolate", NO_ISOLATE),
    {0}};

static int take_arguments(int argc, char **argv, rlo__op_request *request) {
  RLO__EXIT_TRY(rlo__options_take(&rlo__cmd_op, argc, argv, request, &request->common));
  if (request->is_listing) {
    return rlo__operands_take(argc, argv, 0, "nothing");
  }
  RLO__USAGE_IF(optind >= argc, "op", "name an operation, or give --list");
  request->beta = request->is_accumulating ? 1.0 : request->beta;
  RLO__USAGE_IF(rlo__op_is_adding(request) && request->stream.is_resumed, "op",
                "what --beta or --accumulate has added cannot be told from what it has not: they "
                "exclude --resume");
  request->name = argv[optind];
  request->paths = &argv[optind + 1];
  request->num_paths = argc - optind - 1;
  return rlo__stream_options_check("op", &request->stream);
}

static int run(int argc, char **argv) {
  const char **room = calloc(5 * (size_t)argc, sizeof(*room));
  RLO__EXIT_IF(room == NULL, "cannot get memory for %d arguments", argc);
  rlo__op_request request = {.alpha = 1.0,
                             .attributes.texts = room,
                             .inputs.texts = room + argc,
                             .from.texts = room + (ptrdiff_t)2 * argc,
                             .offsets.texts = room + (ptrdiff_t)3 * argc,
                             .arrays.texts = room + (ptrdiff_t)4 * argc};
  int code = take_arguments(argc, argv, &request);
  if (code == RLO__EXIT_OK) {
    code =
        request.is_listing ? rlo__op_catalog_print(request.common.is_json) : run_request(&request);
  }
  free((void *)room);
  return code;
}

const rlo__command rlo__cmd_op = {
    .name = "op",
    .summary = "run an operation on arrays in files",
    .help =
        "Usage: relayout op NAME [OPTION...] IN... OUT...\n"
        "       relayout op --list [--json]\n"
        "\n"
        "Runs one of the built-in operations on arrays in files:\n"
        "\n"
        "  relayout op pad_v2 --attr paddings=0,1,2,2 in.npy out.npy\n"
        "  relayout op concat --attr axis=1 a.npy b.npy c.npy out.npy\n"
        "  relayout op split_v --attr num_or_size_splits=2 in.npy a.npy b.npy\n"
        "\n"
        "  --list        print the operations: their inputs and attributes,\n"
        "                and whether they have a gradient\n"
        "  --attr KEY=VALUE\n"
        "                an attribute as JSON; a word and a shape need no\n"
        "                quotes, numbers between commas no brackets (- for none)\n"
        "  --attrs FILE  attributes as a JSON object in a file; - for standard\n"
        "                input\n"
        "  --input NAME=FILE\n"
        "                an input by its name, as --list shows it; once for\n"
        "                each, in any order. The files behind NAME are then those\n"
        "                of the results\n"
        "  --to LAYOUT   the layout of the results, in braces; row-major\n"
        "                without it\n"
        "  --from SHAPE, --offset BYTES, --array N\n"
        "                what an input is, as convert has it; one for each\n"
        "                input, in the order in which they are named, - for\n"
        "                what its file says\n"
        "  --bitcast, --byte-order big|little\n"
        "                the same, of all inputs\n"
        "  --alpha A     multiply the results by A\n"
        "  --beta B      and add B times what OUT holds, which is then an array\n"
        "                of the result's shape and layout\n"
        "  --accumulate  --beta 1\n"
        "  --device D    a device of `relayout devices`, by its number or a part\n"
        "                of its name, or default. Several between commas, or all,\n"
        "                share the work on large arrays; none is --host. Without\n"
        "                it the host runs what has at most 64 MiB, and all with\n"
        "                --memory; the default device, if there is one, what\n"
        "                is larger\n"
        "  --host        use the host, and no OpenCL\n"
        "  --trace FILE  write to FILE, for chrome://tracing and\n"
        "                ui.perfetto.dev, the inputs, results and bytes of the\n"
        "                operation, and how long it read, ran and wrote\n"
        "  --json        print operation, results (each shape, file),\n"
        "                device and chosen_by\n"
        "  --no-isolate  use the OpenCL driver in this process\n"
        "\n"
        "Large arrays. If an input or a result has more than 64 MiB, the operation\n"
        "runs in pieces, and no array is in memory as a whole, but for indices and\n"
        "ids, for what --alpha or --beta are applied to if the operation itself\n"
        "computes or fills and, if there is memory for it, for results that are\n"
        "written in short runs between those of others, as by pack along the last\n"
        "dimension. What cannot be cut, such as a sum along all dimensions, needs\n"
        "memory for all that it reads; the message says how much:\n"
        "\n" RLO__STREAM_HELP
        "\n"
        "NAME may be written in any case, with or without underscores. Prints\n"
        "the shape of each result. No OUT changes before all results are\n"
        "complete on the disk.\n",
    .print_more_help = rlo__array_file_print_help,
    .options = options,
    .run = run,
};
