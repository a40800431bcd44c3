/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "relayout/recipe.h"
#include "relayout/safetensors.h"
#include "relayout/sharding.h"
#include "relayout/xla/shape_util.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/str.h"
#include "command.h"
#include "display.h"
#include "message.h"
#include "options.h"
#include "stream.h"

/* The file of a folder of one file, and what names those of one with more: each is read in
 * place of others. */
#define SINGLE_NAME "model.safetensors"
#define INDEX_NAME  "model.safetensors.index.json"

/* A job of another recipe, or of files that have changed since, begins anew. */
#define IDENTITY_SEED UINT64_C(0x7765696768747331)

/* The request of a command line. All borrowed. */
typedef struct request {
  const char *recipe_path;
  int64_t max_shard_bytes;
  /* The device of --shard; below 0: none. */
  int64_t device;
  rlo__stream_options stream;
  rlo__common_options common;
  char **input_paths;
  int32_t num_inputs;
  const char *output_path;
  /* The output is a file; else a folder. */
  bool is_file;
} request;

typedef struct weights {
  request request;
  /* The inputs: their files, open, and their members. */
  rlo_safetensors *list;
  rlo__input_file *files;
  int32_t num_files;
  rlo_recipe_member *members;
  int64_t num_members;
  /* The members': 5 kB each, so that equal ones are one. */
  rlo__kept shapes;
  uint64_t identity;

  rlo_recipe *recipe;
  rlo_recipe_results *results;
  /* The names, and behind them the shardings, and what has made the results. */
  const char **names;
  const rlo_shape **result_shapes;
  rlo_safetensors_plan *plan;
  rlo__stream_output *outputs;

  /* The result that is being made. */
  rlo_problem_list *problems;
  rlo__array_source *sources;
  size_t source_capacity;
  rlo__stream_job *jobs;
  size_t job_capacity;
  rlo__stream_output part;
} weights;

/* ------------------------------------------------------------------- inputs */

static rlo_status list_members(weights *w) {
  const int64_t count = rlo_safetensors_num_members(w->list);
  rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
  w->members = rlo__alloc_array((size_t)count + 1, sizeof(*w->members));
  RLO_TRY_MEMORY(w->members);
  for (; w->num_members < count; ++w->num_members) {
    rlo_recipe_member *member = &w->members[w->num_members];
    RLO_TRY(rlo_safetensors_get_member(w->list, w->num_members, &m));
    member->name = m.name;
    member->made_by = m.made_by;
    member->sharding = m.sharding;
    member->shape = rlo__keep(&w->shapes, &m.shape, sizeof(m.shape));
    RLO_TRY_MEMORY(member->shape);
  }
  return RLO_OK;
}

static int open_inputs(weights *w, rlo__hash *hash) {
  /* Models have hundreds of files. */
  rlo__files_allow(INT32_MAX);
  RLO__EXIT_TRY(rlo__check(rlo_safetensors_open_all((const char *const *)w->request.input_paths,
                                                    w->request.num_inputs, &w->list)));
  const int32_t count = rlo_safetensors_num_files(w->list);
  w->files = rlo__alloc_array((size_t)count + 1, sizeof(*w->files));
  RLO__EXIT_TRY_MEMORY(w->files);
  for (; w->num_files < count; ++w->num_files) {
    rlo__input_file *file = &w->files[w->num_files];
    RLO__EXIT_TRY(rlo__input_file_open(rlo_safetensors_file_path(w->list, w->num_files), 0, file));
    rlo__hash_i64(hash, file->size_bytes);
    rlo__hash_i64(hash, file->modified.tv_sec);
    rlo__hash_i64(hash, file->modified.tv_nsec);
  }
  return rlo__check(list_members(w));
}

/* ------------------------------------------------------------------ results */

static int apply_recipe(weights *w, rlo__hash *hash) {
  const char *path = w->request.recipe_path;
  char *text = NULL;
  size_t bytes = 0;
  RLO__EXIT_TRY(rlo__check(rlo__file_read(path, RLO_RECIPE_MAX_BYTES, &text, &bytes)));
  rlo__hash_bytes(hash, text, bytes);
  rlo__hash_i64(hash, w->request.device);
  const rlo_status status = rlo_recipe_parse(text, bytes, w->request.device, &w->recipe);
  rlo__free(text);
  return status == RLO_OK &&
                 rlo_recipe_apply(w->recipe, w->members, w->num_members, &w->results) == RLO_OK
             ? RLO__EXIT_OK
             : rlo__fail("%s: %s", path, rlo_error_last()->message);
}

static int plan_files(weights *w) {
  const size_t count = (size_t)rlo_recipe_results_count(w->results);
  rlo_safetensors_plan_options options = RLO_SAFETENSORS_PLAN_OPTIONS_INIT;
  options.shard_bytes = w->request.is_file ? 0 : w->request.max_shard_bytes;
  w->names = rlo__alloc_array(3 * count + 1, sizeof(char *));
  w->result_shapes = rlo__alloc_array(count + 1, sizeof(rlo_shape *));
  if (w->names == NULL || w->result_shapes == NULL) {
    return rlo__fail_last();
  }
  for (size_t n = 0; n < count; ++n) {
    const rlo_recipe_result *result = rlo_recipe_results_get(w->results, (int64_t)n);
    w->names[n] = result->name;
    w->names[count + n] = result->sharding;
    w->names[2 * count + n] = result->made_by;
    w->result_shapes[n] = result->shape;
  }
  options.metadata = rlo_safetensors_metadata(w->list, &options.num_metadata);
  options.shardings = &w->names[count];
  options.made_by = &w->names[2 * count];
  return rlo__check(
      rlo_safetensors_plan_create(w->names, w->result_shapes, (int64_t)count, &options, &w->plan));
}

/* ------------------------------------------------------------------ outputs */

/* Makes the path of a file of the output. */
static rlo_status make_path(const weights *w, const char *name, char **out_path) {
  rlo__str path = rlo__str_growing();
  rlo__str_append(&path, w->request.output_path);
  if (!w->request.is_file) {
    rlo__str_printf(&path, "/%s", name);
  }
  return rlo__str_take(&path, out_path);
}

static int add_output(weights *w, int32_t f) {
  const rlo_safetensors_file *file = rlo_safetensors_plan_file(w->plan, f);
  rlo__stream_output *output = &w->outputs[f];
  char *path = NULL;
  RLO__EXIT_TRY(rlo__check(make_path(w, file->name, &path)));
  output->path = path;
  output->head = file->head;
  output->head_bytes = file->head_bytes;
  output->bytes = file->bytes - file->head_bytes;
  for (int32_t n = 0; n < w->num_files; ++n) {
    RLO__EXIT_TRY(rlo__input_file_check(&w->files[n], path));
  }
  return RLO__EXIT_OK;
}

/* Refuses a folder with a file that would be read in place of those that are written. */
static int check_folder(const weights *w) {
  char *other = NULL;
  const bool has_index = rlo_safetensors_plan_index(w->plan) != NULL;
  RLO__EXIT_TRY(rlo__check(make_path(w, has_index ? SINGLE_NAME : INDEX_NAME, &other)));
  const int code = access(other, F_OK) != 0 ? RLO__EXIT_OK
                                            : rlo__fail(
                                                  "%s would be read in place of what is written: "
                                                  "remove it, or write to another folder",
                                                  other);
  rlo__free(other);
  return code;
}

static int add_outputs(weights *w) {
  const int32_t count = rlo_safetensors_plan_num_files(w->plan);
  w->outputs = rlo__alloc_array((size_t)count, sizeof(*w->outputs));
  RLO__EXIT_TRY_MEMORY(w->outputs);
  RLO__EXIT_TRY(w->request.is_file ? RLO__EXIT_OK : check_folder(w));
  for (int32_t f = 0; f < count; ++f) {
    RLO__EXIT_TRY(add_output(w, f));
  }
  return RLO__EXIT_OK;
}

/* ---------------------------------------------------------------- reporting */

static void add_result(const weights *w, const rlo_recipe_result *result, rlo__report *r) {
  rlo__report_line(r, "", "%s  %s", result->name, rlo__shape_text(result->shape));
  rlo__report_open(r, NULL, '{');
  RLO__REPORT(r, RLO__STRING("name", NULL, result->name),
              RLO__STRING("shape", NULL, rlo__shape_text(result->shape)),
              RLO__INT("rule", NULL, result->rule));
  rlo__report_open(r, "from", '[');
  for (int32_t k = 0; k < result->num_members; ++k) {
    const rlo_recipe_member *member = &w->members[result->members[k]];
    rlo__report_line(r, "", "  of %s  %s", member->name, rlo__shape_text(member->shape));
    RLO__REPORT_OBJECT(r, NULL, RLO__STRING("name", NULL, member->name),
                       RLO__STRING("shape", NULL, rlo__shape_text(member->shape)));
  }
  rlo__report_close(r);
  rlo__report_close(r);
}

static void report_results(const rlo__stream *stream, rlo__report *r,
                           const rlo__stream_result *result) {
  const weights *w = stream->payload;
  const int64_t count = rlo_recipe_results_count(w->results);
  const int32_t num_files = rlo_safetensors_plan_num_files(w->plan);
  int64_t bytes = 0;
  for (int32_t f = 0; f < num_files; ++f) {
    bytes += rlo_safetensors_plan_file(w->plan, f)->bytes;
  }
  if (result == NULL) {
    rlo__report_open(r, "members", '[');
    for (int64_t n = 0; n < count; ++n) {
      add_result(w, rlo_recipe_results_get(w->results, n), r);
    }
    rlo__report_close(r);
  }
  rlo__report_line(r, "", "%" PRId64 " members, %s, in %d file%s", count, rlo__bytes_text(bytes),
                   num_files, num_files == 1 ? "" : "s");
  RLO__REPORT(r, RLO__INT("num_members", NULL, count), RLO__INT("num_files", NULL, num_files),
              RLO__INT("file_bytes", NULL, bytes),
              RLO__STRING("file", NULL, w->request.output_path));
  if (result != NULL) {
    RLO__REPORT(r, RLO__REAL("seconds", result->info.seconds));
  }
}

/* ----------------------------------------------------------------- running */

/* Makes the problems of what follows byte `at` of a row-major result: whole rows of some
 * dimension, of at most so many bytes. */
static rlo_status lower_band(weights *w, int64_t n, int64_t at, int64_t limit, int64_t *out_bytes) {
  const rlo_shape *shape = w->result_shapes[n];
  int64_t begin[RLO_MAX_RANK], end[RLO_MAX_RANK];
  int64_t row_bits = rlo_shape_element_size_bits(shape);
  int32_t cut = shape->rank - 1;
  for (; cut > 0 && row_bits * shape->dims[cut] / 8 <= limit; --cut) {
    row_bits *= shape->dims[cut];
  }
  memset(begin, 0, sizeof(begin));
  memcpy(end, shape->dims, sizeof(end));
  int64_t rows = at * 8 / row_bits;
  for (int32_t k = cut; k >= 0; --k) {
    begin[k] = rows % shape->dims[k];
    end[k] = begin[k] + 1;
    rows /= shape->dims[k];
  }
  end[cut] = rlo__min(shape->dims[cut], begin[cut] + limit * 8 / row_bits);
  *out_bytes = (end[cut] - begin[cut]) * row_bits / 8;
  return rlo_recipe_results_lower(w->results, n, begin, end, &w->problems);
}

/* The sources and jobs of a result, or of a part of it. */
static rlo_status make_result(const rlo__stream *stream, int64_t n, int64_t at, int64_t limit,
                              rlo__stream *out_step) {
  weights *w = (weights *)(uintptr_t)stream->payload;
  const rlo_recipe_result *result = rlo_recipe_results_get(w->results, n);
  const rlo_safetensors_place *place = rlo_safetensors_plan_place(w->plan, n);
  rlo_safetensors_member m = RLO_SAFETENSORS_MEMBER_INIT;
  rlo_problem_list_release(w->problems);
  int64_t bytes = place->bytes;
  out_step->can_cut = rlo_layout_is_row_major(&result->shape->layout, result->shape->rank) &&
                      rlo_shape_element_size_bits(result->shape) % 8 == 0;
  RLO_TRY(limit >= bytes ? rlo_recipe_results_lower(w->results, n, NULL, NULL, &w->problems)
                         : lower_band(w, n, at, limit, &bytes));
  const int32_t num_jobs = rlo_problem_list_count(w->problems);
  RLO_TRY(rlo__array_reserve(&w->sources, sizeof(*w->sources), (size_t)result->num_members,
                             &w->source_capacity));
  RLO_TRY(rlo__array_reserve(&w->jobs, sizeof(*w->jobs), (size_t)num_jobs + 1, &w->job_capacity));
  for (int32_t k = 0; k < result->num_members; ++k) {
    RLO_TRY(rlo_safetensors_get_member(w->list, result->members[k], &m));
    w->sources[k] =
        (rlo__array_source){.file = w->files[m.file],
                            .contents = {.shape = m.shape, .offset_bytes = m.offset_bytes},
                            .bytes = m.bytes,
                            .has_checked_values = rlo__values_may_be_cut(&m.shape, result->shape)};
  }
  for (int32_t k = 0; k < num_jobs; ++k) {
    w->jobs[k] = (rlo__stream_job){.problem = rlo_problem_list_get(w->problems, k),
                                   .source = rlo_problem_list_operand(w->problems, k)};
  }
  rlo__stream_output *whole = &w->outputs[place->file];
  w->part = (rlo__stream_output){.path = whole->path,
                                 .bytes = bytes,
                                 .whole = whole,
                                 .part.file.fd = whole->part.file.fd,
                                 .offset_bytes = place->offset_bytes + at};
  out_step->num_steps = 0;
  out_step->sources = w->sources;
  out_step->num_sources = result->num_members;
  out_step->outputs = &w->part;
  out_step->num_outputs = 1;
  out_step->jobs = w->jobs;
  out_step->num_jobs = num_jobs;
  return RLO_OK;
}

static int write_index(const weights *w) {
  const char *text = rlo_safetensors_plan_index(w->plan);
  char *path = NULL;
  if (text == NULL || w->request.stream.is_dry_run) {
    return RLO__EXIT_OK;
  }
  RLO__EXIT_TRY(rlo__check(make_path(w, INDEX_NAME, &path)));
  const int code = rlo__output_write(path, text, strlen(text), NULL, 0);
  rlo__free(path);
  return code;
}

static int run_jobs(weights *w) {
  const request *asked = &w->request;
  const bool makes_folder =
      !asked->is_file && !asked->stream.is_dry_run && mkdir(asked->output_path, 0777) == 0;
  rlo__stream stream = {.options = &w->request.stream,
                        .common = &asked->common,
                        .outputs = w->outputs,
                        .num_outputs = rlo_safetensors_plan_num_files(w->plan),
                        .make_step = make_result,
                        .num_steps = rlo_recipe_results_count(w->results),
                        .identity = w->identity,
                        .report = report_results,
                        .payload = w};
  rlo__stream_result result;
  const int code = rlo__stream_do(&stream, &result);
  if (code != RLO__EXIT_OK && makes_folder) {
    /* Unless there is something in it to go on with. */
    (void)rmdir(asked->output_path);
  }
  return code == RLO__EXIT_OK ? write_index(w) : code;
}

static int convert(weights *w) {
  rlo__hash hash = rlo__hash_init(IDENTITY_SEED);
  RLO__EXIT_TRY(open_inputs(w, &hash));
  RLO__EXIT_TRY(apply_recipe(w, &hash));
  RLO__EXIT_TRY(plan_files(w));
  RLO__EXIT_TRY(add_outputs(w));
  w->identity = rlo__hash_finish_u64(&hash);
  return run_jobs(w);
}

/* ----------------------------------------------------------------- options */

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__OPTION("recipe", TEXT, request, recipe_path),
    RLO__OPTION_BYTES("max-shard-size", request, max_shard_bytes, 1),
    RLO__OPTION_WITHIN("shard", request, device, 0, RLO_SHARDING_MAX_DEVICES - 1),
    RLO__STREAM_PLACE_OPTIONS(request, stream),
    RLO__OPTION("dry-run", FLAG, request, stream.is_dry_run),
    RLO__OPTION("resume", FLAG, request, stream.is_resumed),
    RLO__OPTION("progress", FLAG, request, stream.is_progress_wanted),
    RLO__OPTION("quiet", FLAG, request, stream.is_quiet),
    RLO__OPTION_COMMON("no-isolate", NO_ISOLATE),
    {0}};

static int run(int argc, char **argv) {
  static const char suffix[] = ".safetensors";
  /* Nothing is released: the process ends. */
  static weights w;
  request *r = &w.request;
  *r = (request){.max_shard_bytes = INT64_C(5000000000), .device = -1};
  RLO__EXIT_TRY(rlo__options_take(&rlo__cmd_weights, argc, argv, r, &r->common));
  RLO__USAGE_IF(r->recipe_path == NULL || argc - optind < 2, "weights",
                "expected inputs, an output and --recipe");
  RLO__EXIT_TRY(rlo__stream_options_check("weights", &r->stream));
  r->input_paths = &argv[optind];
  r->num_inputs = argc - optind - 1;
  r->output_path = argv[argc - 1];
  const size_t length = strlen(r->output_path);
  r->is_file =
      length >= strlen(suffix) && strcmp(r->output_path + length - strlen(suffix), suffix) == 0;
  return convert(&w);
}

const rlo__command rlo__cmd_weights = {
    .name = "weights",
    .summary = "convert a model's weights by a recipe",
    .help =
        "Usage: relayout weights [OPTION...] --recipe R.json IN... OUT\n"
        "\n"
        "Makes the members of safetensors files into those of others: renames,\n"
        "transposes, joins, splits, casts and lays them out anew, as the recipe\n"
        "says. IN is a file, an index, or a folder with one. OUT is a file\n"
        "NAME.safetensors, or else a folder, which gets model.safetensors, or\n"
        "several files and model.safetensors.index.json.\n"
        "\n"
        "  {\"rules\": [{\"from\": \"*.{q,k,v}.weight\", \"to\": \"*.qkv.weight\",\n"
        "              \"ops\": [\"concat 0\", \"cast bf16\"]}],\n"
        "   \"rest\": \"copy\"}\n"
        "\n"
        "docs/weights.md describes recipes. All of a recipe is checked before a\n"
        "byte is written, and OUT appears complete or not at all. The metadata of\n"
        "IN are carried over. A member whose bytes are not a plain row-major array\n"
        "says so there, and is read by that.\n"
        "\n"
        "  --recipe FILE\n"
        "                what to do\n"
        "  --max-shard-size SIZE\n"
        "                the most bytes of members in a file of a folder,\n"
        "                but for a file of one member; 5GB without it\n"
        "  --shard K     make what device K holds, by the operations `shard` of the\n"
        "                recipe: one file, or folder, for each device\n"
        "  --device D    a device of `relayout devices`, by its number or a part\n"
        "                of its name, default, several between commas, or all;\n"
        "                none is --host. Without it the host makes at most 64 MiB,\n"
        "                and any with --memory; the default device more, which\n"
        "                casts many times as fast\n"
        "  --host        use the host, and no OpenCL\n"
        "  --memory SIZE\n"
        "                use so much of it (512MiB, 4GiB), beside some MiB for\n"
        "                names and headers. A quarter of what is free without it\n"
        "  --io auto|buffered|direct\n"
        "                direct: past the system's page cache; buffered, or auto:\n"
        "                through it\n"
        "  --dry-run     only print what would be done: the members before and\n"
        "                after, passes, bytes, memory\n"
        "  --resume      go on where the same command was stopped or killed, or\n"
        "                failed, with the member that it wrote then; begin if it\n"
        "                was not. Without it only outputs of 1 GiB and more can be\n"
        "                gone on with\n"
        "  --progress    a line each 10 seconds where standard error is no\n"
        "                terminal; on one it is drawn without\n"
        "  --quiet       no progress\n"
        "  --json        several objects, one a line, with the key event: plan,\n"
        "                progress each second, and end, with the keys num_members,\n"
        "                num_files, file_bytes, file, seconds; that of the plan\n"
        "                has members, each with name, shape, rule and from\n"
        "  --no-isolate  use the OpenCL driver in this process\n",
    .options = options,
    .run = run,
};
