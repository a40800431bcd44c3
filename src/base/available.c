/* SPDX-License-Identifier: Apache-2.0 */
#include "base/available.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"

enum { MAX_SYSTEM_FILE_BYTES = 64 * 1024 };

/** The files of a version of memory groups. */
typedef struct group_files {
  /** The beginning and an end of the line in /proc/self/cgroup. */
  const char *controllers, *folder;
  const char *limit, *use;
  /** Lines of memory.stat. */
  const char *cache[2];
} group_files;

static const group_files versions[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file ", "active_file "}},
    {":memory:",
     "/sys/fs/cgroup/memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_inactive_file ", "total_active_file "}}};

/* The number behind `key`, at the beginning of a line of a file, times `unit`;
 * `otherwise` if there is none, and for "max". */
static int64_t read_number(const char *folder, const char *file, const char *key, int64_t unit,
                           int64_t otherwise) {
  char path[PATH_MAX];
  char *text = NULL;
  size_t bytes;
  int64_t number = otherwise;
  (void)snprintf(path, sizeof path, "%s/%s", folder, file);
  if (rlo__file_read(path, MAX_SYSTEM_FILE_BYTES, &text, &bytes) != RLO_OK) {
    return otherwise;
  }
  const char *line = text;
  while (strncmp(line, key, strlen(key)) != 0 && (line = strchr(line, '\n')) != NULL) {
    ++line;
  }
  if (line != NULL) {
    char *end;
    long long value = strtoll(line + strlen(key), &end, 10);
    if (end == line + strlen(key) || value < 0 || !rlo__mul(value, unit, &number)) {
      number = otherwise;
    }
  }
  rlo__free(text);
  return number;
}

/* Returns the bytes that a group may still use; INT64_MAX if it has no limit. */
static int64_t read_group(const char *folder, const group_files *files) {
  int64_t limit = read_number(folder, files->limit, "", 1, INT64_MAX);
  if (limit > INT64_MAX / 2) {
    /* Groups of version 1 without a limit have such a number. */
    return INT64_MAX;
  }
  int64_t use = read_number(folder, files->use, "", 1, 0);
  for (int n = 0; n < 2; ++n) {
    use -= read_number(folder, "memory.stat", files->cache[n], 1, 0);
  }
  return rlo__max(0, limit - rlo__max(0, use));
}

/* The least that is left of a group and of those above it. A container may see
 * its own group as the topmost one, by whatever name. */
static int64_t read_groups(const char *root, const group_files *files, const char *name,
                           int name_bytes) {
  char folder[PATH_MAX];
  int64_t least = INT64_MAX;
  int top = snprintf(folder, sizeof folder, "%s%s", root, files->folder);
  (void)snprintf(folder, sizeof folder, "%s%s%.*s", root, files->folder, name_bytes, name);
  char *slash = folder + strlen(folder);
  do {
    *slash = '\0';
    least = rlo__min(least, read_group(folder, files));
    slash = strrchr(folder, '/');
  } while (slash != NULL && slash >= folder + top);
  return least;
}

static int64_t read_all_groups(const char *root) {
  char path[PATH_MAX];
  char *text = NULL;
  size_t bytes;
  int64_t least = INT64_MAX;
  (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  if (rlo__file_read(path, MAX_SYSTEM_FILE_BYTES, &text, &bytes) != RLO_OK) {
    return least;
  }
  for (int n = 0; n < 2; ++n) {
    const char *name = strstr(text, versions[n].controllers);
    if (name != NULL) {
      name += strlen(versions[n].controllers);
      least = rlo__min(least, read_groups(root, &versions[n], name, (int)strcspn(name, "\n")));
    }
  }
  rlo__free(text);
  return least;
}

int64_t rlo__available_addresses(const char *root) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur > INT64_MAX) {
    return INT64_MAX;
  }
  int64_t used = read_number(root, "proc/self/statm", "", sysconf(_SC_PAGESIZE), 0);
  return rlo__max(0, (int64_t)limit.rlim_cur - used);
}

int64_t rlo__available_bytes(const char *root) {
  int64_t available = read_number(root, "proc/meminfo", "MemAvailable:", 1024, INT64_MAX);
  return rlo__min(available, rlo__min(read_all_groups(root), rlo__available_addresses(root)));
}
