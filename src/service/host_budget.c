/* SPDX-License-Identifier: Apache-2.0 */
#include "service/host_budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"

static const int64_t least_bytes = INT64_C(256) << 20;
static const int64_t most_bytes = INT64_C(16) << 30;

enum { MAX_FILE_BYTES = 64 * 1024 };

/* The number after `key` in a file, times `unit`; INT64_MAX if there is none,
 * and for "max". */
static int64_t read_number(const char *path, const char *key, int64_t unit) {
  char *text = NULL;
  size_t bytes;
  int64_t number = INT64_MAX;
  if (rlo__file_read(path, MAX_FILE_BYTES, &text, &bytes) != RLO_OK) {
    return number;
  }
  const char *found = strstr(text, key);
  if (found != NULL) {
    found += strlen(key);
    char *end;
    long long value = strtoll(found, &end, 10);
    if (end == found || value < 0 || !rlo__mul(value, unit, &number)) {
      number = INT64_MAX;
    }
  }
  rlo__free(text);
  return number;
}

/* What the process' control group may still take; INT64_MAX without a limit. */
static int64_t read_group_room(void) {
  char *text = NULL;
  size_t bytes;
  int64_t room = INT64_MAX;
  if (rlo__file_read("/proc/self/cgroup", MAX_FILE_BYTES, &text, &bytes) !=
      RLO_OK) {
    return room;
  }
  /* Version 2 has one line: "0::/path". */
  char *path = strstr(text, "0::/");
  if (path != NULL) {
    path += strlen("0::");
    path[strcspn(path, "\n")] = '\0';
    char limit_path[512], use_path[512];
    (void)snprintf(
        limit_path, sizeof limit_path, "/sys/fs/cgroup%.400s/memory.max", path);
    (void)snprintf(
        use_path, sizeof use_path, "/sys/fs/cgroup%.400s/memory.current", path);
    int64_t limit = read_number(limit_path, "", 1);
    int64_t use = read_number(use_path, "", 1);
    if (limit != INT64_MAX && use != INT64_MAX) {
      room = rlo__max(0, limit - use);
    }
  }
  rlo__free(text);
  return room;
}

int64_t rlo__host_budget_default(void) {
  int64_t available = read_number("/proc/meminfo", "MemAvailable:", 1024);
  available = rlo__min(available, read_group_room());
  return rlo__max(least_bytes, rlo__min(most_bytes, available / 4));
}
