/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "process.h"
#include "request.h"
#include "timer.h"

static bool is_wanted(const bench_request *wish, const bench_suite *suite) {
  for (int32_t i = 0; i < wish->num_suites; ++i) {
    if (strcmp(wish->suites[i], suite->name) == 0) {
      return true;
    }
  }
  return wish->num_suites == 0;
}

static double factor_of(const bench_request *wish, const bench_suite *suite) {
  return wish->has_size_factor || suite->size_factor <= 0 ? wish->size_factor : suite->size_factor;
}

/** The cases of a suite that the pattern leaves. */
static bool list_cases(const bench_request *wish, const bench_suite *suite,
                       bench_case_list *out_list) {
  *out_list = (bench_case_list){.size_factor = factor_of(wish, suite)};
  if (suite->add_cases == NULL) {
    return true;
  }
  if (!suite->add_cases(out_list)) {
    return false;
  }
  int32_t kept = 0;
  for (int32_t i = 0; i < out_list->count; ++i) {
    if (!wish->has_pattern || regexec(&wish->pattern, out_list->items[i].name, 0, NULL, 0) == 0) {
      out_list->items[kept++] = out_list->items[i];
    }
  }
  out_list->count = kept;
  return true;
}

static void print_pair(const bench_case *item, const char *src, const char *dst) {
  printf("%s %s", src, dst);
  for (int32_t k = 0; k < item->src.rank; ++k) {
    printf("%c%d", k == 0 ? ' ' : ',', (int)item->permutation[k]);
  }
  putchar('\n');
}

static bool print_list(const bench_request *wish) {
  for (int32_t s = 0; s < bench_num_suites; ++s) {
    bench_case_list list;
    if (!is_wanted(wish, &bench_suites[s])) {
      continue;
    }
    bool is_listed = list_cases(wish, &bench_suites[s], &list);
    for (int32_t i = 0; is_listed && i < list.count; ++i) {
      char src[200];
      char dst[200];
      rlo_shape_format(&list.items[i].src, src, sizeof src);
      rlo_shape_format(&list.items[i].dst, dst, sizeof dst);
      if (wish->is_pair_list) {
        /* A sum, a conversion or a chain is no relayout of two shapes. */
        if (!list.items[i].is_computed && list.items[i].chain == NULL) {
          print_pair(&list.items[i], src, dst);
        }
        continue;
      }
      printf("%-8s %-30s %s -> %s\n", bench_suites[s].name, list.items[i].name, src, dst);
    }
    if (is_listed && list.count == 0 && !wish->has_pattern && !wish->is_pair_list) {
      printf("%-8s %s\n", bench_suites[s].name, bench_suites[s].summary);
    }
    bench_case_list_deinit(&list);
    if (!is_listed) {
      return false;
    }
  }
  return true;
}

static bool run_cases(bench_run *run, const bench_suite *suite, const bench_case_list *list) {
  if (!bench_reserve_for_cases(run->arena, list)) {
    return false;
  }
  for (int32_t i = 0; i < list->count; ++i) {
    bench_row row;
    if (!bench_measure_case(run->arena, run->report->settings, &list->items[i], &row)) {
      return false;
    }
    row.suite = suite->name;
    if (!bench_report_row(run->report, &row)) {
      return false;
    }
  }
  bench_report_suite_end(run->report, suite->name);
  return true;
}

static bool run_suite(const bench_request *wish, const bench_suite *suite, bench_run *run) {
  bench_case_list list;
  bench_settings settings = wish->settings;
  bool has_own_rounds = !wish->has_rounds && suite->rounds > 0;
  settings.rounds = has_own_rounds ? suite->rounds : settings.rounds;
  bool is_done = list_cases(wish, suite, &list);
  bool is_left_out = suite->add_cases != NULL ? list.count == 0 : wish->has_pattern;
  if (is_done && !is_left_out) {
    bench_report_suite(run->report, suite->name, suite->summary);
    if (has_own_rounds || list.size_factor < wish->size_factor) {
      fprintf(run->report->table, "%d round%s, size factor %g\n", (int)settings.rounds,
              settings.rounds == 1 ? "" : "s", list.size_factor);
    }
    run->report->settings = &settings;
    run->cases = &list;
    is_done = suite->run != NULL ? suite->run(run) : run_cases(run, suite, &list);
    run->cases = NULL;
    run->report->settings = &wish->settings;
  }
  bench_case_list_deinit(&list);
  return is_done;
}

static bool run_suites(const bench_request *wish, bench_run *run) {
  for (int32_t s = 0; s < bench_num_suites; ++s) {
    if (is_wanted(wish, &bench_suites[s]) && !run_suite(wish, &bench_suites[s], run)) {
      return false;
    }
  }
  return true;
}

/** The other load of the machine: runnable tasks, by the kernel's count. */
static void show_load(FILE *table) {
  FILE *file = fopen("/proc/loadavg", "r");
  double load = 0;
  if (file == NULL) {
    return;
  }
  if (fscanf(file, "%lf", &load) == 1) {
    fprintf(table, "%.1f tasks running before this one%s\n", load,
            load > 0.5 ? ": the machine is not quiet, look at the best" : "");
  }
  fclose(file);
}

/* A GPU's cache would serve what a benchmark of its memory repeats. */
static bench_request adapt(const bench_request *wish, const bench_arena *arena) {
  bench_request adapted = *wish;
  if (!wish->has_size_factor && !arena->is_host_memory) {
    adapted.size_factor = bench_size_factor_beyond(arena->cache_bytes);
  }
  return adapted;
}

static bool run_all(const bench_request *asked) {
  bench_arena arena;
  double start = bench_nanos_now();
  if (!bench_arena_init(asked->device_number, &arena)) {
    return false;
  }
  const bench_request adapted = adapt(asked, &arena);
  const bench_request *wish = &adapted;
  double open_ms = (bench_nanos_now() - start) / 1e6;
  bench_report report = {.format = wish->format,
                         .arena = &arena,
                         .settings = &wish->settings,
                         .size_factor = wish->size_factor,
                         .table = wish->format == BENCH_FORMAT_TEXT ? stdout : stderr};
  bench_run run = {.arena = &arena,
                   .report = &report,
                   .size_factor = wish->size_factor,
                   .device_number = wish->device_number,
                   .open_ms = open_ms,
                   .files = &wish->files,
                   .program = wish->program};
  bool is_done = false;
  if (wish->child != NULL) {
    is_done = bench_suite_compile_child(&run, strcmp(wish->child, "one") == 0);
  } else {
    fprintf(report.table,
            "%s, driver %s; %d threads on the host, %d round%s, size factor "
            "%g\nGB/s are bytes read and written; peers as fractions of the "
            "limit\n",
            arena.device_name, arena.driver_version, (int)arena.threads, (int)wish->settings.rounds,
            wish->settings.rounds == 1 ? "" : "s", wish->size_factor);
    show_load(report.table);
    is_done = run_suites(wish, &run);
    if (is_done) {
      bench_report_print(&report, stdout);
    }
  }
  bench_report_deinit(&report);
  bench_arena_deinit(&arena);
  return is_done;
}

int main(int argc, char **argv) {
  bench_request wish;
  if (bench_process_is_child(argc, argv)) {
    return bench_process_child(argv);
  }
  int code = bench_request_parse(argc, argv, &wish);
  if (code < 0) {
    bool is_done = wish.is_list ? print_list(&wish) : run_all(&wish);
    code = is_done ? BENCH_EXIT_OK : BENCH_EXIT_FAILED;
  }
  bench_request_deinit(&wish);
  return code;
}
