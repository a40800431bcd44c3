/* SPDX-License-Identifier: Apache-2.0 */
#include "contestant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "plain.h"
#include "process.h"

#ifndef BENCH_COMMAND
#define BENCH_COMMAND ""
#endif

#define COUNT_OF(array) ((int32_t)(sizeof(array) / sizeof *(array)))

/** NumPy's own way: all at once, by two maps. */
static const char numpy_script[] =
    "import sys, numpy\n"
    "kind, dims, order, source, target = sys.argv[1:]\n"
    "dims = [int(n) for n in dims.split(',')]\n"
    "order = [int(n) for n in order.split(',')]\n"
    "a = numpy.memmap(source, kind, 'r', shape=tuple(dims))\n"
    "b = numpy.memmap(target, kind, 'w+', shape=tuple(dims[k] for k in "
    "order))\n"
    "b[...] = a.transpose(order)\n"
    "b.flush()\n";

static void add_argument(bench_arguments *to, const char *item) {
  if (to->count + 1 < COUNT_OF(to->items)) {
    to->items[to->count++] = item;
    to->items[to->count] = NULL;
  }
}

static void add_permutation(const bench_case *item, bench_arguments *to) {
  bench_numbers order = {.count = item->src.rank};
  for (int32_t k = 0; k < order.count; ++k) {
    order.values[k] = item->permutation[k];
  }
  bench_numbers_print(&order, to->order, sizeof to->order);
  add_argument(to, to->order);
}

static void add_dims(const bench_case *item, bench_arguments *to) {
  bench_numbers dims = {.count = item->src.rank};
  memcpy(dims.values, item->src.dims, sizeof dims.values);
  bench_numbers_print(&dims, to->dims, sizeof to->dims);
  add_argument(to, to->dims);
}

/** All but the paths. */
static void set_relayout(const bench_contestants *list, const bench_contestant *who,
                         const bench_case *item, bench_arguments *to) {
  add_argument(to, BENCH_COMMAND);
  add_argument(to, "convert");
  add_argument(to, "--json");
  add_argument(to, "--quiet");
  add_argument(to, "--memory");
  add_argument(to, who->memory);
  if (who->kind == BENCH_CONTESTANT_HOST) {
    add_argument(to, "--host");
  } else if (list->run->device_number >= 0) {
    snprintf(to->device, sizeof to->device, "%d", (int)list->run->device_number);
    add_argument(to, "--device");
    add_argument(to, to->device);
  }
  rlo_shape_format(&item->src, to->from, sizeof to->from);
  rlo_shape_format(&item->dst, to->to, sizeof to->to);
  const char *layout = strchr(to->to, '{');
  add_argument(to, "--from");
  add_argument(to, to->from);
  add_argument(to, "--perm");
  add_permutation(item, to);
  if (layout != NULL) {
    add_argument(to, "--to");
    add_argument(to, layout);
  }
}

/** All but the paths. @return false if NumPy has no plain way to do it. */
static bool set_numpy(const bench_contestants *list, const bench_case *item, bench_arguments *to) {
  static const char *const kinds[] = {"u1", "u2", "u4", "u8"};
  bench_plain plain;
  rlo_shape_extent extent;
  int32_t kind = 0;
  if (!bench_plain_from_case(item, &plain) || rlo_shape_measure(&item->src, &extent) != RLO_OK) {
    return false;
  }
  while (kind < COUNT_OF(kinds) && 8 << kind != extent.element_bits) {
    kind += 1;
  }
  if (kind == COUNT_OF(kinds)) {
    return false;
  }
  add_argument(to, list->python);
  add_argument(to, "-c");
  add_argument(to, numpy_script);
  add_argument(to, kinds[kind]);
  add_dims(item, to);
  add_permutation(item, to);
  return true;
}

bool bench_contestant_is_ours(const bench_contestant *who) {
  return who->kind == BENCH_CONTESTANT_HOST || who->kind == BENCH_CONTESTANT_DEVICE;
}

bool bench_contestant_call(const bench_contestants *list, const bench_contestant *who,
                           const bench_case *item, const char *src, const char *dst,
                           bench_arguments *out) {
  bool can_do = true;
  out->count = 0;
  switch (who->kind) {
    case BENCH_CONTESTANT_COPY:
      add_argument(out, "cp");
      add_argument(out, "--reflink=never");
      break;
    case BENCH_CONTESTANT_NUMPY:
      can_do = set_numpy(list, item, out);
      break;
    case BENCH_CONTESTANT_COMMAND:
      add_argument(out, "sh");
      add_argument(out, "-c");
      add_argument(out, who->command);
      add_argument(out, who->name);
      src = who->input;
      break;
    default:
      set_relayout(list, who, item, out);
      break;
  }
  add_argument(out, src);
  add_argument(out, dst);
  return can_do;
}

static bench_contestant *add(bench_contestants *list, bench_contestant_kind kind,
                             const char *name) {
  bench_contestant *added = &list->items[list->count++];
  *added = (bench_contestant){.kind = kind};
  snprintf(added->name, sizeof added->name, "%s", name);
  return added;
}

/** Adds one for each budget of a list between commas. */
static bool add_relayout(bench_contestants *list, bench_contestant_kind kind, const char *budgets) {
  const char *where = kind == BENCH_CONTESTANT_HOST ? "host" : "device";
  int32_t count = 0;
  for (const char *at = budgets; *at != '\0'; ++count) {
    size_t length = strcspn(at, ",");
    if (length == 0 || length >= sizeof list->items->memory || count == BENCH_MAX_BUDGETS) {
      return bench_fail("--memory %s: up to %d sizes between commas", budgets,
                        (int)BENCH_MAX_BUDGETS);
    }
    bench_contestant *added = add(list, kind, where);
    memcpy(added->memory, at, length);
    snprintf(added->name, sizeof added->name, "%s %.*s", where, (int)length, at);
    at += length + (at[length] == ',');
  }
  return true;
}

/** Adds "NAME:INPUT:COMMAND". */
static bool add_command(bench_contestants *list, const char *text) {
  bench_contestant *added = add(list, BENCH_CONTESTANT_COMMAND, "");
  size_t name = strcspn(text, ":");
  const char *input = text[name] == ':' ? text + name + 1 : "";
  size_t length = strcspn(input, ":");
  if (name == 0 || length == 0 || input[length] != ':' || name >= sizeof added->name ||
      length >= sizeof added->input) {
    return bench_fail("--command %s: NAME:INPUT:COMMAND was expected", text);
  }
  memcpy(added->name, text, name);
  memcpy(added->input, input, length);
  added->command = input + length + 1;
  return access(added->input, R_OK) == 0 || bench_fail("%s: %s", added->input, strerror(errno));
}

/** Looks for a Python that has NumPy. */
static bool find_numpy(bench_contestants *list, const char *log) {
  static const char *const pythons[] = {"python3", "/usr/bin/python3"};
  for (int32_t n = 0; n < COUNT_OF(pythons) && list->python == NULL; ++n) {
    bench_usage usage;
    const char *const items[] = {pythons[n], "-c",
                                 "import importlib.util as u, sys\n"
                                 "sys.exit(u.find_spec('numpy') is None)",
                                 NULL};
    const bench_process probe = {.arguments = items, .output = log, .made = ""};
    if (!bench_process_run(&probe, &usage)) {
      return false;
    }
    list->python = usage.is_done ? pythons[n] : NULL;
  }
  return true;
}

bool bench_contestants_list(const bench_run *run, const char *log, bench_contestants *out) {
  const bench_files_request *wish = run->files;
  *out = (bench_contestants){.run = run};
  add(out, BENCH_CONTESTANT_COPY, "cp");
  if (BENCH_COMMAND[0] == '\0') {
    return bench_fail("this build has no command relayout");
  }
  bool is_done = add_relayout(out, BENCH_CONTESTANT_HOST, wish->budgets) &&
                 add_relayout(out, BENCH_CONTESTANT_DEVICE, wish->budgets) && find_numpy(out, log);
  if (out->python != NULL) {
    add(out, BENCH_CONTESTANT_NUMPY, "numpy");
  } else if (is_done) {
    fputs("numpy: left out, no python3 here has it\n", run->report->table);
  }
  for (int32_t n = 0; n < wish->num_commands && is_done; ++n) {
    is_done = add_command(out, wish->commands[n]);
  }
  return is_done;
}
