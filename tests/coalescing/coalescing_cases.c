/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "coalescing/coalescing_table.h"
#include "coalescing/warp_trace.h"
#include "codegen/codegen.h"
#include "plan/planner.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/suite.h"

/*
 * Plans for a made-up GPU, their kernels compiled for this machine by clang and
 * a sample of their groups traced: what share of the bytes that memory moves is
 * asked for. Sizes are those of the benchmarks.
 */

enum { SAMPLE_GROUPS = 24, MAX_COMMAND = 16384, SLOT_BYTES = 128, PAGE_BYTES = 4096 };

static rlo_problem problem;
static rlo__launch launch;
static rlo__choice choice;

/* How an argument is taken from its place in memory, up to the place. */
static const char *const casts[] = {
    [RLO__ARGUMENT_SRC] = "(__global const uchar *)*(__global const ulong",
    [RLO__ARGUMENT_SRC_OFFSET] = "*(__global const ulong",
    [RLO__ARGUMENT_DST] = "(__global uchar *)*(__global const ulong",
    [RLO__ARGUMENT_DST_OFFSET] = "*(__global const ulong",
    [RLO__ARGUMENT_INT] = "*(__global const int",
    [RLO__ARGUMENT_LONG] = "*(__global const long",
    [RLO__ARGUMENT_INT16] = "*(__global const int16",
    [RLO__ARGUMENT_LONG16] = "*(__global const long16",
    [RLO__ARGUMENT_LONG8] = "*(__global const long8",
};

/* The program, and a function that calls its kernel with arguments that lie in
 * memory. */
static void write_source(const rlo__program_spec *spec, const char *path) {
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  for (const rlo__kernel_part *part = spec->kernel->parts; part->text != NULL; ++part) {
    fwrite(part->text, 1, part->bytes, file);
  }
  fprintf(file, "\nvoid rlo_run(__global const void *__global const *a) {\n  %s(",
          spec->kernel_name);
  for (int32_t n = 0; n < launch.num_arguments; ++n) {
    fprintf(file, "%s%s *)a[%d]", n == 0 ? "" : ", ", casts[launch.arguments[n].kind], (int)n);
  }
  fprintf(file, ");\n}\n");
  ck_assert_int_eq(fclose(file), 0);
}

/* Compiles without the optimisations that join accesses: they differ from
 * device to device. */
static void compile(const rlo__program_spec *spec, const char *source, const char *library) {
  char command[MAX_COMMAND];
  int length = snprintf(command, sizeof command,
                        "'%s' -x cl %s -Xclang -finclude-default-header -O2 "
                        "-fno-vectorize -fno-slp-vectorize -fsanitize=thread "
                        "-w -fPIC -shared -o '%s' '%s'",
                        RELAYOUT_TEST_CLANG, spec->options, library, source);
  ck_assert_int_lt(length, MAX_COMMAND);
  ck_assert_msg(system(command) == 0, "%s", command);
}

static uint8_t *map(size_t bytes) {
  void *memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ck_assert_ptr_ne(memory, MAP_FAILED);
  return memory;
}

/* Each argument in a slot of its own, as the runtime would set it. */
static void put_arguments(const uint8_t *src, const uint8_t *dst, uint8_t *slots,
                          const void **out_arguments) {
  for (int32_t n = 0; n < launch.num_arguments; ++n) {
    const rlo__argument *argument = &launch.arguments[n];
    uint8_t *slot = slots + (size_t)n * SLOT_BYTES;
    out_arguments[n] = slot;
    bool is_int = argument->kind == RLO__ARGUMENT_INT || argument->kind == RLO__ARGUMENT_INT16;
    for (int32_t k = 0; k < rlo__argument_lanes(argument->kind); ++k) {
      int64_t value = launch.numbers[argument->first + k];
      int32_t narrow = (int32_t)value;
      if (is_int) {
        memcpy(slot + (size_t)k * sizeof narrow, &narrow, sizeof narrow);
      } else {
        memcpy(slot + (size_t)k * sizeof value, &value, sizeof value);
      }
    }
    switch (argument->kind) {
      case RLO__ARGUMENT_SRC:
        memcpy(slot, &src, sizeof src);
        break;
      case RLO__ARGUMENT_DST:
        memcpy(slot, &dst, sizeof dst);
        break;
      case RLO__ARGUMENT_SRC_OFFSET:
        memcpy(slot, &launch.src_base_bytes, sizeof launch.src_base_bytes);
        break;
      case RLO__ARGUMENT_DST_OFFSET:
        memcpy(slot, &launch.dst_base_bytes, sizeof launch.dst_base_bytes);
        break;
      default:
        break;
    }
  }
}

static double share(int64_t bytes, int64_t sectors) {
  return sectors == 0 ? 1.0 : (double)bytes / (32.0 * (double)sectors);
}

static double least(double a, double b) {
  return a < b ? a : b;
}

static void trace(void *entry, warp_counts *counts) {
  static _Alignas(SLOT_BYTES) uint8_t slots[RLO__LAUNCH_MAX_ARGUMENTS * SLOT_BYTES];
  const void *arguments[RLO__LAUNCH_MAX_ARGUMENTS];
  warp_run run = {.arguments = arguments,
                  .src_bytes = (size_t)problem.src_bytes,
                  .dst_bytes = (size_t)problem.dst_bytes,
                  .num_groups = launch.global_size[0] / launch.local_size[0],
                  .local_size = launch.local_size[0]};
  memcpy(&run.entry, &entry, sizeof run.entry);
  uint8_t *src = map(run.src_bytes + PAGE_BYTES);
  uint8_t *dst = map(run.dst_bytes + PAGE_BYTES);
  run.src = src;
  run.dst = dst;
  put_arguments(src, dst, slots, arguments);
  memset(counts, 0, sizeof *counts);
  size_t samples = run.num_groups < SAMPLE_GROUPS ? run.num_groups : SAMPLE_GROUPS;
  /* Neither in step with the grid's axes nor by chance. */
  for (size_t n = 0; n < samples; ++n) {
    warp_run_group(&run, n * 2654435761U % run.num_groups, counts);
  }
  munmap(src, run.src_bytes + PAGE_BYTES);
  munmap(dst, run.dst_bytes + PAGE_BYTES);
}

static void check_case(const coalescing_case *c, const warp_counts *counts) {
  double read = share(counts->read.bytes, counts->read.request_sectors);
  double written = share(counts->written.bytes, counts->written.request_sectors);
  double group_read = share(counts->read.group_bytes, counts->read.group_sectors);
  double group_written = share(counts->written.group_bytes, counts->written.group_sectors);
  double banks = counts->bank_rounds == 0
                     ? 1.0
                     : (double)counts->least_bank_rounds / (double)counts->bank_rounds;
  printf("%-34s %-7s requests %.2f %.2f  groups %.2f %.2f  banks %.2f  %s\n", c->name,
         choice.family->name, read, written, group_read, group_written, banks, launch.parameters);
  ck_assert_int_gt(counts->written.bytes, 0);
  if (c->family[0])
    ck_assert_str_eq(choice.family->name, c->family);
  ck_assert_double_ge(least(read, written), c->request_share);
  ck_assert_double_ge(least(group_read, group_written), c->group_share);
  ck_assert_double_ge(banks, c->bank_share);
}

/* Plan a case, compile its kernel and trace it. `family` may be NULL. */
static void run_case(const coalescing_case *c, const char *family, warp_counts *out_counts) {
  rlo_device_info device = test_plan_gpu();
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = family;
  test_plan_lower(c->src, c->dst, c->permutation, &problem);
  expect_ok(test_plan_choose(&problem, &device, &options, 64, 64, &choice, &launch));
  rlo__program_spec spec;
  expect_ok(rlo__codegen_program(&launch, &spec));
  char source[512];
  char library[512];
  snprintf(source, sizeof source, "%s/case.cl", RELAYOUT_TEST_FOLDER);
  snprintf(library, sizeof library, "%s/%s.so", RELAYOUT_TEST_FOLDER, spec.kernel_name);
  write_source(&spec, source);
  compile(&spec, source, library);
  rlo__codegen_deinit(&spec);
  void *handle = dlopen(library, RTLD_NOW);
  ck_assert_msg(handle != NULL, "%s", dlerror());
  void *entry = dlsym(handle, "rlo_run");
  ck_assert_ptr_nonnull(entry);
  trace(entry, out_counts);
  dlclose(handle);
  unlink(library);
  unlink(source);
}

RLO_NO_FORK();
RLO_TIMEOUT(300);

RLO_LOOP_TEST(coalescing_cases__requests_fill_their_sectors, 0, num_coalescing_cases) {
  /* Compiling is what takes the time: one case in four, another one for
   * another seed, unless all are asked for. */
  const int one_in = getenv("RELAYOUT_TEST_ALL") != NULL ? 1 : 4;
  const char *seed = getenv("RELAYOUT_TEST_SEED");
  int chosen = seed != NULL ? atoi(seed) : 0;
  if ((_i + chosen) % one_in != 0) {
    return;
  }
  warp_counts counts;
  run_case(&coalescing_cases[_i], NULL, &counts);
  check_case(&coalescing_cases[_i], &counts);
}

/* The counting sees what is bad: lanes that each read another row. */
RLO_TEST(coalescing_cases__a_gathered_transpose_does_not) {
  static const coalescing_case c = {"gathered transpose",
                                    "f32[4096,4096]{1,0}",
                                    "f32[4096,4096]{0,1}",
                                    NULL,
                                    "gather",
                                    0.1,
                                    0.1,
                                    1.0};
  warp_counts counts;
  run_case(&c, "gather", &counts);
  check_case(&c, &counts);
  ck_assert_double_le(share(counts.read.bytes, counts.read.request_sectors), 0.2);
  ck_assert_double_ge(share(counts.written.bytes, counts.written.request_sectors), 0.9);
}
