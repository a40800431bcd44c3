/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/opencl.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "command.h"
#include "display.h"
#include "message.h"
#include "options.h"
#include "pair_suite.h"
#include "report.h"
#include "session.h"
#include "subprocess.h"

typedef struct cache_request {
  rlo__common_options common;
  /* NULL if not given. */
  const char *suite_path;
  const char *into;
  /* The pairs of warm. */
  rlo__pair_suite suite;
} cache_request;

/* Prints what is there, or was. */
static void print_info(const rlo_cache_info *info, bool was_cleared, bool is_json) {
  rlo__report r;
  rlo__report_begin(&r, is_json, 0);
  if (was_cleared) {
    rlo__report_line(&r, "", "deleted %" PRId64 " programs, %s", info->num_entries,
                     rlo__bytes_text(info->bytes));
  } else if (info->is_usable) {
    rlo__report_line(&r, "", "%s: %" PRId64 " programs, %s", info->path, info->num_entries,
                     rlo__bytes_text(info->bytes));
  } else {
    rlo__report_line(&r, "", "compiled programs are not stored: %s", info->reason);
  }
  RLO__REPORT(&r, RLO__STRING("path", NULL, info->path[0] != '\0' ? info->path : NULL),
              RLO__BOOL("is_usable", info->is_usable),
              RLO__STRING("reason", NULL, info->is_usable ? NULL : info->reason),
              RLO__INT("entries", NULL, info->num_entries), RLO__INT("bytes", NULL, info->bytes));
  rlo__report_end(&r);
}

static int show(bool is_cleared, bool is_json) {
  rlo_cache_info info = RLO_CACHE_INFO_INIT;
  if (is_cleared) {
    RLO__EXIT_TRY(rlo__rights_check("the cache is not cleared"));
  }
  RLO__EXIT_TRY(
      rlo__check((is_cleared ? rlo_cache_clear : rlo_cache_inspect)(rlo__cache_dir(), &info)));
  print_info(&info, is_cleared, is_json);
  return RLO__EXIT_OK;
}

/* ------------------------------------------------------------------- warm */

/* Images, matrices and tables of 1, 2 and 4 bytes to an element. Programs
 * serve all shapes, but distinguish whether rows begin at lines of 64 bytes. */
static const char *const common_pairs[][3] = {{"f32[1024,1024]", "f32[1024,1024]{0,1}", NULL},
                                              {"f32[1023,1025]", "f32[1023,1025]{0,1}", NULL},
                                              {"f32[8,56,56,64]", "f32[8,64,56,56]", "0,3,1,2"},
                                              {"f32[8,64,55,55]", "f32[8,55,55,64]", "0,2,3,1"},
                                              {"f32[8,512,12,64]", "f32[8,12,512,64]", "0,2,1,3"},
                                              {"f32[65536,3]", "f32[3,65536]", "1,0"},
                                              {"bf16[1024,1024]", "bf16[1024,1024]{0,1}", NULL},
                                              {"bf16[1023,1025]", "bf16[1023,1025]{0,1}", NULL},
                                              {"bf16[8,512,12,64]", "bf16[8,12,512,64]", "0,2,1,3"},
                                              {"u8[8,224,224,3]", "u8[8,3,224,224]", "0,3,1,2"},
                                              {"u8[8,3,224,224]", "u8[8,224,224,3]", "0,2,3,1"},
                                              {"u8[1024,1024]", "u8[1024,1024]{0,1}", NULL}};

/* Some drivers compile a part at the first launch only, and keep that in a
 * directory of their own. */
static int launch(const rlo__pair_run *run) {
  void *src = rlo__alloc((size_t)rlo__max(1, run->problem.src_bytes));
  void *dst = rlo__alloc((size_t)rlo__max(1, run->problem.dst_bytes));
  const int code = src == NULL || dst == NULL
                       ? rlo__fail_last()
                       : rlo__session_move(run->session, &run->problem, src, dst);
  rlo__free(dst);
  rlo__free(src);
  return code;
}

static void print_warmed(rlo__pair_run *run, const char *family, const rlo_context_stats *before,
                         const rlo_context_stats *after) {
  const int64_t built = after->programs_built - before->programs_built;
  const int64_t found =
      after->disk_hits - before->disk_hits + after->program_hits - before->program_hits;
  rlo__report_line(&run->report, "", "%s %s: %s, %" PRId64 " compiled, %" PRId64 " found", run->src,
                   run->dst, family, built, found);
  RLO__REPORT_OBJECT(&run->report, NULL, RLO__STRING("src", NULL, run->src),
                     RLO__STRING("dst", NULL, run->dst), RLO__STRING("family", NULL, family),
                     RLO__INT("programs_compiled", NULL, built),
                     RLO__INT("programs_found", NULL, found));
}

static int warm_plan(rlo__pair_run *run, rlo_plan *plan, const rlo_context_stats *before) {
  rlo_context_stats after = RLO_CONTEXT_STATS_INIT;
  rlo_plan_info info = RLO_PLAN_INFO_INIT;
  RLO__EXIT_TRY(rlo__check(rlo_plan_prepare(plan)));
  RLO__EXIT_TRY(rlo__check(rlo_plan_get_info(plan, &info)));
  RLO__EXIT_TRY(rlo__check(rlo_context_get_stats(run->session->context, &after)));
  RLO__EXIT_TRY(launch(run));
  print_warmed(run, info.family, before, &after);
  return RLO__EXIT_OK;
}

static int warm_pair(void *payload, rlo__pair_run *run) {
  (void)payload;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  /* Buffers are aligned. The program for memory that is not aligned is compiled
   * when such memory is first enqueued. */
  options.is_aligned = true;
  rlo_plan *plan = NULL;
  rlo_context_stats before = RLO_CONTEXT_STATS_INIT;
  RLO__EXIT_TRY(rlo__check(rlo_context_get_stats(run->session->context, &before)));
  RLO__EXIT_TRY(rlo__check(rlo_plan_create(run->session->context, &run->problem, &options, &plan)));
  const int code = warm_plan(run, plan, &before);
  rlo_plan_release(plan);
  return code;
}

/* Reads and checks all pairs before the first program is compiled. */
static int read_pairs(cache_request *request) {
  if (request->suite_path != NULL) {
    return rlo__pair_suite_read(&request->suite, request->suite_path);
  }
  for (size_t n = 0; n < sizeof(common_pairs) / sizeof(common_pairs[0]); ++n) {
    const char *const *pair = common_pairs[n];
    RLO__EXIT_TRY(rlo__pair_suite_add(&request->suite, pair[0], pair[1], pair[2]));
  }
  return RLO__EXIT_OK;
}

static int warm(cache_request *request) {
  rlo_cache_info info = RLO_CACHE_INFO_INIT;
  RLO__EXIT_TRY(read_pairs(request));
  RLO__EXIT_IF(request->into != NULL && setenv("RELAYOUT_CACHE_DIR", request->into, 1) != 0,
               "no memory for the name of the folder");
  RLO__EXIT_TRY(rlo__check(rlo_cache_inspect(rlo__cache_dir(), &info)));
  RLO__EXIT_IF(!info.is_usable, "compiled programs are not stored: %s", info.reason);
  RLO__EXIT_TRY(rlo__pair_suite_run(&request->suite));
  if (request->into == NULL) {
    return RLO__EXIT_OK;
  }
  RLO__EXIT_TRY(rlo__check(rlo_cache_inspect(rlo__cache_dir(), &info)));
  return info.num_entries > 0
             ? RLO__EXIT_OK
             : rlo__fail(
                   "%s holds no program: it and the folder that it is in can be made, no more",
                   request->into);
}

/* ------------------------------------------------------------------ command */

static const rlo__option options[] = {RLO__OPTION_COMMON("help", HELP),
                                      RLO__OPTION_COMMON("json", JSON),
                                      RLO__OPTION("suite", TEXT, cache_request, suite_path),
                                      RLO__OPTION("into", TEXT, cache_request, into),
                                      RLO__OPTION_COMMON("device", DEVICE),
                                      RLO__OPTION_COMMON("no-isolate", NO_ISOLATE),
                                      {0}};

static int run(int argc, char **argv) {
  static const char *const words[] = {"show", "clear", "warm", NULL};

  enum { SHOW = 1, CLEAR, WARM };

  cache_request request = {
      .suite = {.verb = "cache", .common = &request.common, .work = warm_pair}};
  int32_t word = 0;
  RLO__EXIT_TRY(rlo__options_take(&rlo__cmd_cache, argc, argv, &request, &request.common));
  RLO__EXIT_TRY(rlo__operands_take(argc, argv, 1, "show, clear or warm"));
  RLO__EXIT_TRY(rlo__word_parse(argv[0], NULL, argv[optind], words, &word));
  RLO__USAGE_IF(word != WARM && (request.suite_path != NULL || request.into != NULL ||
                                 request.common.is_device_given),
                argv[0], "--suite, --into and --device are of warm, not of %s", argv[optind]);
  if (word != WARM) {
    return show(word == CLEAR, request.common.is_json);
  }
  const int code = warm(&request);
  rlo__pair_suite_deinit(&request.suite);
  return code;
}

const rlo__command rlo__cmd_cache = {
    .name = "cache",
    .summary = "show, empty or fill the directory of compiled programs",
    .help =
        "Usage: relayout cache show|clear [--json]\n"
        "       relayout cache warm [--suite FILE] [OPTION...]\n"
        "\n"
        "Programs that were compiled for a device are stored in\n"
        "$RELAYOUT_CACHE_DIR, else $XDG_CACHE_HOME/relayout, else\n"
        "$HOME/.cache/relayout, so that the next command need not compile them\n"
        "again. The directory holds 64 MiB at most; the least recently used\n"
        "programs are deleted first.\n"
        "It is not used if it belongs to another user, or if others can write to\n"
        "it. With an empty RELAYOUT_CACHE_DIR nothing is stored.\n"
        "\n"
        "  show    print where it is and how much it holds\n"
        "  clear   delete what it holds; other files in it stay\n"
        "  warm    compile the programs for a suite of relayouts, of arrays in whole\n"
        "          buffers, and launch each once; what is stored is not compiled\n"
        "          again. A program serves other shapes, too\n"
        "\n"
        "  --suite FILE  a pair of shapes to a line, and after them a permutation\n"
        "                if there is one; # begins a comment; - is standard input.\n"
        "                Without it 12 pairs of matrices and images of 1, 2 and 4\n"
        "                bytes to an element\n"
        "  --into DIR    store them in this folder instead, for a package\n"
        "  --device D    a device of `relayout devices`, by its number or a part\n"
        "                of its name; the default device without it\n"
        "  --no-isolate  use the OpenCL driver in this process\n"
        "  --json  print an object with the keys path, is_usable, reason,\n"
        "          entries, bytes; of warm with device and pairs, which have\n"
        "          src, dst, family, programs_compiled, programs_found\n"
        "\n"
        "PoCL, the driver for CPUs, stores files of its own in\n"
        "$POCL_CACHE_DIR, else $XDG_CACHE_HOME/pocl/kcache, else\n"
        "$HOME/.cache/pocl/kcache.\n"
        "\n"
        "Example: relayout-bench --pairs ttc57 | relayout cache warm --suite -\n",
    .options = options,
    .run = run,
};
