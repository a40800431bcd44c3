/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/threshold.h"
#include "relayout/opencl.h"
#include "relayout/ops.h"
#include "relayout/service.h"
#include "relayout/version.h"
#include "relayout/xla/shape_util.h"

#include "base/alloc.h"
#include "base/available.h"
#include "base/checked.h"
#include "base/status.h"
#include "convert.h"
#include "display.h"
#include "interrupt.h"
#include "message.h"
#include "report.h"
#include "subprocess.h"

/* ------------------------------------------------------------------- ranks */

/* The ranks that run the command together: all of MPI_COMM_WORLD. Failures of
 * MPI end all of them. */
static struct {
  int rank, count;
  /* The messages of this rank, held until the ranks agree on an exit code. */
  char message[16384];
} ranks;

/* Ranks other than 0 print nothing on standard output. */
static void begin_ranks(int *argc, char ***argv) {
  int provided = 0;
  /* MPI looks for devices by hwloc, which would open the OpenCL driver before
   * it has a folder. */
  setenv("HWLOC_COMPONENTS", "-opencl", 0);
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
  rlo__message_hold(ranks.message, sizeof ranks.message);
  if (ranks.rank != 0 && freopen("/dev/null", "w", stdout) == NULL) {
    fclose(stdout);
  }
}

/* Makes an exit code one of all ranks: that of the lowest one where it is not
 * RLO__EXIT_OK. Its message is printed, by rank 0. Collective. */
static int agree(int code) {
  const int failing = code == RLO__EXIT_OK ? ranks.count : ranks.rank;
  int lowest = ranks.count;
  MPI_Allreduce(&failing, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (lowest < ranks.count) {
    MPI_Bcast(&code, 1, MPI_INT, lowest, MPI_COMM_WORLD);
    MPI_Bcast(ranks.message, (int)sizeof ranks.message, MPI_CHAR, lowest, MPI_COMM_WORLD);
  }
  /* A rank also says what is no failure, such as which file it leaves. */
  if (ranks.rank == 0) {
    fputs(ranks.message, stderr);
  }
  ranks.message[0] = '\0';
  return code;
}

/* All ranks together stage in so large a part of what is available. */
#define MEMORY_SHARE 4

/* ------------------------------------------------------------------- parts */

/* The part that one rank writes of an array that ranks write together: one run
 * of its bytes. The runs of all ranks follow each other and are the whole
 * array. */
typedef struct slice {
  /* 0: nothing. */
  int64_t bytes;
  /* Counted from the beginning of the array. */
  int64_t offset_bytes;
  /* The box in the array: start <= index < limit in each dimension. */
  int64_t start[RLO_MAX_RANK], limit[RLO_MAX_RANK];
  /* The box, in the layout of the array, with the padding around it. */
  rlo_shape shape;
} slice;

static int64_t gcd(int64_t a, int64_t b) {
  return b == 0 ? a : gcd(b, a % b);
}

/* How many indices of the most major dimension belong together: those of a
 * tile, and as many as fill whole bytes. 0: no part of it is one run of bytes,
 * or not for sure. */
static int64_t find_grain(const rlo_shape *array) {
  const rlo_layout *layout = &array->layout;
  if (array->rank == 0 || layout->kind != RLO_LAYOUT_DENSE || layout->tail_alignment_elems > 1) {
    return 0;
  }
  int64_t grain = 1;
  for (int32_t n = 0; n < layout->num_tiles; ++n) {
    const rlo_tile *tile = &layout->tiles[n];
    for (int32_t d = 0; d < tile->rank; ++d) {
      if (tile->dims[d] == RLO_TILE_COMBINE) {
        return 0;
      }
    }
    /* Later tiles may cut the first one, but not what is around it. */
    if (tile->rank > layout->tiles[0].rank || tile->rank > array->rank) {
      return 0;
    }
    if (n == 0 && tile->rank == array->rank) {
      grain = tile->dims[0];
    }
  }
  int64_t whole_bytes = 8 / gcd(8, rlo_shape_element_size_bits(array));
  return grain > INT64_MAX / whole_bytes ? 0 : grain * whole_bytes;
}

static rlo_status make_whole(const rlo_shape *array, slice *part) {
  *part = (slice){.shape = *array};
  for (int32_t d = 0; d < array->rank; ++d) {
    part->limit[d] = array->dims[d];
  }
  return rlo_shape_array_size(array, &part->bytes);
}

/* Cuts the whole array to start <= index < limit in its most major dimension.
 * The padding behind it belongs to the end. */
static rlo_status cut(const rlo_shape *array, int64_t start, int64_t limit, slice *part) {
  int32_t major = array->layout.minor_to_major[array->rank - 1];
  RLO_TRY(make_whole(array, part));
  part->start[major] = start;
  part->limit[major] = limit;
  part->shape.dims[major] = limit - start;
  if (array->layout.has_padded_dimensions) {
    part->shape.layout.padded_dimensions[major] =
        limit == array->dims[major] ? array->layout.padded_dimensions[major] - start
                                    : limit - start;
  }
  part->bytes = 0;
  return start == limit ? RLO_OK : rlo_shape_array_size(&part->shape, &part->bytes);
}

/* Cuts an array along its most major dimension, at tiles; one that has no such
 * parts is rank 0's. */
static rlo_status make_part(const rlo_shape *array, slice *out_part) {
  const int64_t grain = find_grain(array);
  const int64_t size = grain == 0 ? 0 : array->dims[array->layout.minor_to_major[array->rank - 1]];
  if (size <= grain) {
    RLO_TRY(make_whole(array, out_part));
    out_part->bytes = ranks.rank == 0 ? out_part->bytes : 0;
    return RLO_OK;
  }
  const int64_t step = ((size - 1) / grain / ranks.count + 1) * grain;
  const int64_t start = ranks.rank > (size - 1) / step ? size : ranks.rank * step;
  slice before;
  RLO_TRY(cut(array, 0, start, &before));
  RLO_TRY(cut(array, start, start + rlo__min(step, size - start), out_part));
  out_part->offset_bytes = before.bytes;
  return RLO_OK;
}

/* -------------------------------------------------------------------- run */

/*
 * Rank 0 makes the part of the output (base/file_replace.h), into which each
 * rank writes its own bytes, and gives it its name when all ranks are done. A
 * signal removes it there: mpirun sends one when a rank dies.
 */
typedef struct run {
  rlo__conversion conversion;
  bool has_source;
  int64_t output_bytes;
  slice part;
  rlo_problem_list *problems;
  rlo__output_file output;

  /* The file of all ranks, and where the array begins in it. */
  struct {
    int64_t offset_bytes;
    char path[PATH_MAX];
  } place;

  int fd;
  double seconds;
} run;

/* ------------------------------------------------------------------- steps */

static int open_source(run *r) {
  RLO__EXIT_TRY(rlo__conversion_open(&r->conversion));
  r->has_source = true;
  RLO__EXIT_IF(r->conversion.is_big_endian,
               "the output has the byte order of this machine: --byte-order is that of the input");
  RLO__EXIT_IF(r->conversion.source.file.held_bytes > 0,
               "%s is not a regular file: each rank reads the whole of it",
               r->conversion.request.input_path);
  return rlo__check(rlo_shape_array_size(&r->conversion.dst_shape, &r->output_bytes));
}

static rlo_status lower_part(run *r, rlo_chain *chain) {
  RLO_TRY(rlo_chain_transpose(chain, r->conversion.permutation));
  RLO_TRY(rlo_chain_slice(chain, r->part.start, r->part.limit, NULL));
  return rlo_chain_lower(chain, &r->part.shape, &r->problems);
}

static int lower(run *r) {
  const rlo__conversion *c = &r->conversion;
  rlo_chain *chain = NULL;
  RLO__EXIT_TRY(rlo__check(make_part(&c->dst_shape, &r->part)));
  RLO__EXIT_TRY(rlo__check(rlo_chain_create(&c->source.contents.shape, &chain)));
  const rlo_status status = lower_part(r, chain);
  rlo_chain_release(chain);
  return rlo__check(status);
}

/* Makes the part and gives it its size. */
static int begin_output(run *r) {
  if (ranks.rank != 0) {
    return RLO__EXIT_OK;
  }
  const char *path = r->conversion.request.output_path;
  const char *why = rlo__path_why_in_place(path);
  RLO__EXIT_IF(why != NULL, "%s %s: it cannot be written in pieces", path, why);
  char head[RLO__MAX_HEADER_BYTES];
  rlo__output_start start = {.head = head};
  RLO__EXIT_TRY(
      rlo__array_make_header(path, &r->conversion.dst_shape, false, NULL, head, &start.head_bytes));
  RLO__EXIT_TRY(rlo__output_file_begin(path, &start, &r->output));
  r->place.offset_bytes = (int64_t)start.head_bytes;
  (void)snprintf(r->place.path, sizeof r->place.path, "%s", r->output.file.temp_path);
  return rlo__output_file_resize(&r->output, r->place.offset_bytes + r->output_bytes);
}

static int share_output(run *r) {
  MPI_Bcast(&r->place, (int)sizeof r->place, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (r->part.bytes == 0) {
    return RLO__EXIT_OK;
  }
  r->fd = open(r->place.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  return r->fd >= 0 ? RLO__EXIT_OK
                    : rlo__fail("cannot open %s: %s; all ranks write to one file", r->place.path,
                                strerror(errno));
}

/* Returns --memory, or the rank's share of what is available. */
static int64_t find_memory(const run *r) {
  const int64_t given = r->conversion.request.stream.memory_bytes;
  return given != 0 ? given
                    : rlo__max(RLO_SERVICE_MIN_HOST_BYTES,
                               rlo__min(rlo__available_bytes("") / MEMORY_SHARE / ranks.count,
                                        rlo__thresholds.cli_rank_bytes));
}

/* Leaves the device of the list that is this rank's turn. */
static int choose_device(rlo__stream_options *options) {
  rlo__device_choice *choice = &options->devices;
  int32_t count;
  choice->is_none |= !options->is_device;
  if (choice->is_none) {
    return RLO__EXIT_OK;
  }
  RLO__EXIT_TRY(rlo__driver_cache_make());
  RLO__EXIT_TRY(rlo__stream_count_devices(choice, &count));
  const int32_t turn = ranks.rank % count;
  if (choice->is_all || choice->count > 0) {
    *choice = (rlo__device_choice){
        .count = 1,
        .devices = {choice->is_all ? (rlo__device_ref){.index = turn} : choice->devices[turn]}};
  }
  return RLO__EXIT_OK;
}

static int run_jobs(run *r, rlo__stream_job *jobs, rlo__stream_options *options) {
  rlo__conversion *c = &r->conversion;
  rlo__stream_output output = {
      .path = c->request.output_path, .shape = &r->part.shape, .bytes = r->part.bytes};
  rlo__stream stream = {.options = options,
                        .common = &c->request.common,
                        .sources = &c->source,
                        .num_sources = 1,
                        .outputs = &output,
                        .num_outputs = 1,
                        .jobs = jobs,
                        .num_jobs = rlo_problem_list_count(r->problems),
                        .is_in_pieces = true};
  for (int32_t n = 0; n < stream.num_jobs; ++n) {
    jobs[n].problem = rlo_problem_list_get(r->problems, n);
  }
  rlo__stream_result result;
  int code =
      rlo__stream_run_share(&stream, r->fd, r->place.offset_bytes + r->part.offset_bytes, &result);
  r->seconds = result.info.seconds;
  return code;
}

static int move(run *r) {
  if (r->part.bytes == 0) {
    return RLO__EXIT_OK;
  }
  rlo__stream_options options = r->conversion.request.stream;
  options.memory_bytes = find_memory(r);
  options.passes = 1;
  options.is_quiet = true;
  RLO__EXIT_TRY(choose_device(&options));
  rlo__stream_job *jobs =
      rlo__alloc_array((size_t)rlo_problem_list_count(r->problems), sizeof(*jobs));
  RLO__EXIT_TRY_MEMORY(jobs);
  const int code = run_jobs(r, jobs, &options);
  rlo__free(jobs);
  return code == RLO__EXIT_OK ? rlo__input_file_check_unchanged(&r->conversion.source.file) : code;
}

static int commit(run *r) {
  if (ranks.rank != 0) {
    return RLO__EXIT_OK;
  }
  RLO__EXIT_TRY(rlo__output_file_finish(&r->output));
  return rlo__output_file_commit(&r->output);
}

/* ----------------------------------------------------------------- the verb */

static void print_result(const run *r) {
  const rlo__conversion *c = &r->conversion;
  rlo__report report;
  rlo__report_begin(&report, c->request.common.is_json, 0);
  RLO__REPORT(&report, RLO__STRING("shape", "", rlo__shape_text(&c->dst_shape)),
              RLO__STRING("file", NULL, c->request.output_path),
              RLO__INT("physical_bytes", NULL, r->output_bytes),
              RLO__INT("ranks", NULL, ranks.count), RLO__REAL("seconds", r->seconds));
  rlo__report_end(&report);
}

static void release(run *r) {
  rlo__driver_cache_remove();
  if (r->fd >= 0) {
    close(r->fd);
  }
  if (ranks.rank == 0) {
    rlo__output_file_abandon(&r->output);
  }
  rlo_problem_list_release(r->problems);
  if (r->has_source) {
    rlo__array_source_close(&r->conversion.source);
  }
}

/* All ranks take each step, and fail in it together. */
static int convert(run *r) {
  int (*const steps[])(run *) = {open_source, lower, begin_output, share_output, move, commit};
  int code = RLO__EXIT_OK;
  for (size_t n = 0; code == RLO__EXIT_OK && n < sizeof(steps) / sizeof(steps[0]); ++n) {
    code = agree(steps[n](r));
  }
  if (code == RLO__EXIT_OK) {
    print_result(r);
  }
  release(r);
  return code;
}

/* Some of those of `relayout convert`. */
static const rlo__option options[] = {RLO__OPTION_COMMON("help", HELP),
                                      RLO__OPTION_COMMON("json", JSON),
                                      RLO__CONVERT_OPTIONS,
                                      RLO__STREAM_PLACE_OPTIONS(rlo__convert_request, stream),
                                      {0}};

static const char help[] =
    "Usage: mpirun -n RANKS relayout-mpi convert [OPTION...] IN OUT\n"
    "\n"
    "Reads an array, moves it to another layout, and writes it, as `relayout\n"
    "convert` does: the same messages, exit codes and bytes, and these of its\n"
    "options. Each rank reads IN and writes a part of OUT, cut along the most\n"
    "major dimension of the result, in pieces and in one pass. All ranks have to\n"
    "see both files under these names. OUT appears complete, when all ranks are\n"
    "done, or not at all: there is no --resume, and nothing is kept for it.\n"
    "\n"
    "  --to LAYOUT   the layout of the result; C order without it\n"
    "  --perm P      dimension k of the result is dimension P[k] of the input\n"
    "  --from SHAPE  the shape whose slots the input holds\n"
    "  --bitcast     take the bits of the elements for those of that type\n"
    "  --offset BYTES, --byte-order big|little\n"
    "                of a file of bare bytes, of any name with --offset\n"
    "  --array N     of several in one .npy file\n"
    "  --memory SIZE\n"
    "                of each rank; a quarter of the machine's, and at most 1GiB,\n"
    "                divided by the ranks, without it\n"
    "  --io WAY      direct: past the system's page cache; buffered or auto\n"
    "  --device D    a device of `relayout devices`, by its number or a part of its\n"
    "                name; of several (0,1 or all) the ranks take one each, in turn\n"
    "  --host        use the host, as without --device\n"
    "  --json        print an object with the keys shape, file, physical_bytes,\n"
    "                ranks, seconds\n";

/* Each rank moves one contiguous part of the output, by a service of its own.
 */
static int run_convert(int argc, char **argv) {
  /* Static: a problem is too large for the stack. */
  static run r = {.fd = -1};
  rlo__command command = rlo__cmd_convert;
  command.options = options;
  command.help = help;
  const int code = agree(rlo__convert_request_take(&command, argc, argv, &r.conversion.request));
  return code == RLO__EXIT_OK ? convert(&r) : code;
}

static void print_overview(void) {
  fputs(
      "relayout-mpi lets the ranks of MPI share the work on large arrays.\n"
      "\n"
      "Usage: mpirun -n RANKS relayout-mpi convert [OPTION...] IN OUT\n"
      "\n"
      "  convert     move an array from one file and layout to another\n"
      "\n"
      "relayout-mpi convert --help tells the options; relayout-mpi --version prints\n"
      "the version. Exit codes are those of relayout.\n",
      stdout);
}

/* The same on all ranks. */
static int run_verb(int argc, char **argv) {
  if (argc < 2) {
    print_overview();
    return RLO__EXIT_USAGE;
  }
  const char *verb = argv[1];
  if (strcmp(verb, "convert") == 0) {
    return run_convert(argc - 1, argv + 1);
  }
  if (strcmp(verb, "--version") == 0) {
    puts("relayout " RLO_VERSION_STRING);
    return RLO__EXIT_OK;
  }
  if (strcmp(verb, "--help") == 0 || strcmp(verb, "help") == 0) {
    print_overview();
    return RLO__EXIT_OK;
  }
  return agree(rlo__fail_usage(NULL, "there is no verb '%s'; relayout-mpi has convert", verb));
}

int main(int argc, char **argv) {
  begin_ranks(&argc, &argv);
  /* After MPI, which may have handlers of its own. */
  rlo__interrupt_install();
  rlo__message_set_program("relayout-mpi");
  int code = run_verb(argc, argv);
  code = agree(rlo__finish_output(code));
  MPI_Finalize();
  return code == RLO__EXIT_HELP ? RLO__EXIT_OK : code;
}
