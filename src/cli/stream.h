/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_H
#define RLO_CLI_STREAM_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "relayout/digest.h"
#include "relayout/service.h"

#include "array_file.h"
#include "options.h"
#include "report.h"

/** A stream: jobs from files to files, in pieces, so that no side is in memory
 *  as a whole. Functions that return an int return an exit code of message.h,
 *  after a message unless it is RLO__EXIT_OK. */

enum { RLO__STREAM_IO_DIRECT = 3 };

/** The options of verbs that have jobs. */
typedef struct rlo__stream_options {
  rlo__device_choice devices;
  /** --memory; 0: not given. */
  int64_t memory_bytes;
  /** --io: the number of its word, of which RLO__STREAM_IO_DIRECT is "direct".
   *  auto is buffered, which is best everywhere up to now. */
  int32_t io;
  /** --passes; 0: not given. */
  int64_t passes;
  bool is_dry_run;
  /** Goes on with a job that was stopped. */
  bool is_resumed;
  bool is_quiet;
  bool is_progress_wanted;
  /** --family and --schedule of the kernels; NULL: not given. */
  const char *family;
  const char *schedule;
  /** Given; they only exclude others. */
  bool is_host;
  bool is_device;
} rlo__stream_options;

/** Rows of a verb's table, whose request has them in a field: where jobs run,
 *  and with what. */
#define RLO__STREAM_PLACE_OPTIONS(request, field)                            \
  RLO__OPTION_BY("device", request, field, rlo__stream_option_take_device),  \
      RLO__OPTION("host", FLAG, request, field.is_host),                     \
      RLO__OPTION_OF("io", request, field.io, "auto", "buffered", "direct"), \
      RLO__OPTION_BYTES("memory", request, field.memory_bytes, RLO_SERVICE_MIN_HOST_BYTES)
/** All of them. */
#define RLO__STREAM_OPTIONS(request, field)                             \
  RLO__STREAM_PLACE_OPTIONS(request, field),                            \
      RLO__OPTION_WITHIN("passes", request, field.passes, 1, 2),        \
      RLO__OPTION("dry-run", FLAG, request, field.is_dry_run),          \
      RLO__OPTION("resume", FLAG, request, field.is_resumed),           \
      RLO__OPTION("progress", FLAG, request, field.is_progress_wanted), \
      RLO__OPTION("quiet", FLAG, request, field.is_quiet)

/** The help of those that are for large arrays only. */
#define RLO__STREAM_HELP                                                          \
  "  --memory SIZE\n"                                                             \
  "                use so much of it (512MiB, 4GiB): in pieces even if the\n"     \
  "                array is small. A quarter of what is free without it\n"        \
  "  --io auto|buffered|direct\n"                                                 \
  "                direct: past the system's page cache, in pieces even if the\n" \
  "                array is small. buffered, or auto: through it\n"               \
  "  --passes N    read and write each byte once (1) or twice (2), in "           \
  "longer\n"                                                                      \
  "                runs and through OUT; the faster without it\n"                 \
  "  --dry-run     only print what would be done: passes, pieces, bytes and\n"    \
  "                the lengths of the runs that are read and written\n"           \
  "  --resume      go on where the same command was stopped or killed, or\n"      \
  "                failed; begin if it was not. Without it only outputs of\n"     \
  "                1 GiB and more can be gone on with\n"                          \
  "  --progress    a line each 10 seconds where standard error is no\n"           \
  "                terminal; on one it is drawn without. It waits for the\n"      \
  "                stage, read, run or write, that takes longest\n"               \
  "  --quiet       no progress\n"                                                 \
  "\n"                                                                            \
  "With --json there are then several objects, one a line, with the key\n"        \
  "event: plan, progress each second, and end, which has status and the\n"        \
  "keys above.\n"

/** For rlo__option.take. */
int rlo__stream_option_take_device(const char *verb, const char *value, void *options);

/** Counts the devices of a choice, which is not none; fails if there are none
 *  of all. */
int rlo__stream_count_devices(const rlo__device_choice *choice, int32_t *out_count);

/** Checks them together, and makes --host a choice of no device. */
int rlo__stream_options_check(const char *verb, rlo__stream_options *options);

/** Returns whether one is given that has a meaning only in pieces. */
bool rlo__stream_is_asked_for(const rlo__stream_options *options);

/** A file that is written: by one job, or by several, each its own bytes. A
 *  signal handler may read it, so its address must not change. */
typedef struct rlo__stream_output {
  /** NULL: it is only made in memory, for later jobs. */
  const char *path;
  /** The shape whose physical bytes it holds, behind a header; NULL: it begins with
   *  `head_bytes` bytes of `head`. */
  const rlo_shape *shape;
  const void *head;
  int64_t head_bytes;
  int64_t bytes;
  /** Its numbers have their first byte last, says the header. */
  bool is_swapped;
  /** It has no path, and its bytes are dropped: only its digest is wanted. */
  bool is_dropped;
  /** It is a part of this output of another stream; NULL: it is a file. */
  struct rlo__stream_output *whole;

  /** The rest is rlo__stream_do's, and begins with zeros: where it is while it
   * is made. */
  rlo__output_file part;
  /** The place of the array in the part; the maker of an output with a whole sets it. */
  int64_t offset_bytes;
  /** The open journal of an output that is made in steps, and how many steps of the
   *  stream need not be done again for it. */
  int journal_fd;
  int64_t num_done;
  /** The bytes that a job of two passes uses behind the array. */
  int64_t scratch_bytes;
  /** The output is a regular file, of which this is the part, or is written forward. */
  bool has_part;
  /** It is no regular file, and is written as it is made, from its first byte to its last
   *  one. */
  bool is_forward;
  /** Shared memory for the array, if it is not made in the part; else NULL. */
  void *memory;
} rlo__stream_output;

/** A problem, and which of the sources and outputs it reads and writes. */
typedef struct rlo__stream_job {
  const rlo_problem *problem;
  /** From num_sources on: an output that earlier jobs have made in memory. */
  int32_t source;
  int32_t output;
  /** The source that holds the indices; not used if the problem loads none. */
  int32_t indices;
} rlo__stream_job;

/** The result of a stream. Plain, without pointers: processes share it. */
typedef struct rlo__stream_result {
  /** Between commas; "" on the host. */
  char device_names[256];
  /** The family of the kernel, where one kernel runs the whole of it. */
  char family[32];
  /** The state of all jobs together. */
  rlo_job_info info;
  /** The digest of the only output, if has_digest; until the end its sum. */
  rlo_digest digest;
  /** Why a job failed; RLO_OK also if it was none that did. */
  rlo_status status;
  /** All jobs were accepted. */
  bool has_begun;
  /** The signal that asks for an orderly stop; 0: none does. */
  volatile sig_atomic_t stop_signal;
} rlo__stream_result;

/** The work of a stream. All borrowed. */
typedef struct rlo__stream {
  rlo__stream_options *options;
  const rlo__common_options *common;
  /** Open. What is left of pipes is read into memory, unless the job reads it as
   *  it comes. */
  rlo__array_source *sources;
  int32_t num_sources;
  /** At least one. */
  rlo__stream_output *outputs;
  int32_t num_outputs;
  /** They run one after the other, in this order. */
  const rlo__stream_job *jobs;
  int32_t num_jobs;
  /** Makes step n of those that follow each other, in place of jobs, when its turn
   *  comes: a stream with sources and jobs for one part of one output, valid until
   *  the next call. *out_step begins as a copy of the stream. INT64_MAX as the limit
   *  makes the whole step, another one at most so many bytes of its output, from byte
   *  `at` on, if it can be cut. */
  rlo_status (*make_step)(const struct rlo__stream *stream, int64_t n, int64_t at, int64_t limit,
                          struct rlo__stream *out_step);
  int64_t num_steps;
  /** A hash of all that the steps depend on: steps that were done for another one are
   *  done again. */
  uint64_t identity;
  /** The outputs are compared with what the host makes of the sources, before
   *  they get their names. */
  bool is_verified;
  /** The digest of the only output, whose numbers are not swapped, is found while it is
   *  written, and is written too where the format has room for it. */
  bool has_digest;
  /** Adds what a verb says of its outputs, and, if there is a result, of how they
   *  were made. NULL: nothing is printed. */
  void (*report)(const struct rlo__stream *stream, rlo__report *report,
                 const rlo__stream_result *result);
  const void *payload;

  /** Set by rlo__stream_do. */
  /** Some array is moved in several pieces, mostly; else each job is one kernel
   *  on a device. --json then has an event for the plan, for each second and
   *  for the end. */
  bool is_in_pieces;
  /** The outputs are made in memory: they would be written in short runs between
   *  those of each other, which is slow, and there is memory for them. */
  bool is_in_memory;
  /** Set by make_step: the step's output can be cut; it has no padding. */
  bool can_cut;
  /** The jobs compare with the outputs, in place of writing them. */
  bool is_verifying;
  /** Why the jobs run where they do: "option", "size", "element size", "memory",
   *  "default", or "no device" if that one cannot be opened. */
  const char *chosen_by;
} rlo__stream;

/**
 * Decides where the jobs run (rlo_place_choose), unless the options do, and
 * sets devices of these. Plans the jobs, runs them unless that is all that is
 * wanted, and prints what they need and have done. The outputs appear complete,
 * all of them or none, whatever ends the command. What can be resumed then
 * stays, and the command says so. Draws the progress on standard error, and
 * prints an event each second for --json.
 */
int rlo__stream_do(rlo__stream *stream, rlo__stream_result *out_result);

/** Writes the 32 digits of a digest. */
void rlo__digest_print(const rlo_digest *digest, char out_text[33]);

/** Adds the digest and a line with it, the shape and a path; in JSON the digest alone, null
 *  without a result. */
void rlo__stream_report_digest(rlo__report *report, const rlo_shape *shape, const char *path,
                               const rlo__stream_result *result);

/**
 * Runs the jobs of the only output, whose bytes begin at a position of a file
 * that is open for both: a part of an output that others begin and end. In this
 * process.
 */
int rlo__stream_run_share(rlo__stream *stream, int fd, int64_t offset_bytes,
                          rlo__stream_result *out_result);

#endif
