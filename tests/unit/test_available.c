/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/available.h"
#include "support/sanitized.h"
#include "support/suite.h"

static char root[64];

static void make_root(void) {
  (void)snprintf(root, sizeof root, "/tmp/relayout_test_XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(root));
  /* What runs the tests may have limited it: then only root has none. */
  (void)setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
}

static void remove_root(void) {
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r %s", root);
  ck_assert_int_eq(system(command), 0);
  ck_assert_int_eq(rlo__alloc_live_count(), 0);
}

RLO_FIXTURE(make_root, remove_root);

/* Writes "PATH=TEXT", with the folders of the path. */
static void plant(const char *file) {
  char path[512];
  int length = (int)strcspn(file, "=");
  (void)snprintf(path, sizeof path, "%s%.*s", root, length, file);
  for (char *slash = path + strlen(root); (slash = strchr(slash + 1, '/')) != NULL;) {
    *slash = '\0';
    (void)mkdir(path, 0700);
    *slash = '/';
  }
  FILE *made = fopen(path, "w");
  ck_assert_ptr_nonnull(made);
  ck_assert_int_ge(fputs(file + length + 1, made), 0);
  ck_assert_int_eq(fclose(made), 0);
}

#define V1   "/sys/fs/cgroup/memory"
#define V2   "/sys/fs/cgroup"
#define INFO "/proc/meminfo=MemTotal: 9000 kB\nMemAvailable: 8000 kB\n"
#define SELF "/proc/self/cgroup="

enum { MAX_FILES = 10, SYSTEM = 8000 * 1024 };

typedef struct planted {
  const char *files[MAX_FILES];
  int64_t expected;
} planted;

static const planted table[] = {
    {{NULL}, INT64_MAX},
    {{INFO}, SYSTEM},
    {{INFO, SELF "0::/a/b\n"}, SYSTEM},
    {{"/proc/meminfo=MemAvailable: none\n"}, INT64_MAX},
    /* Version 2. */
    {{INFO, SELF "0::/a\n", V2 "/a/memory.max=1000\n", V2 "/a/memory.current=300\n"}, 700},
    {{INFO, SELF "0::/a\n", V2 "/a/memory.max=max\n", V2 "/a/memory.current=300\n"}, SYSTEM},
    {{INFO, SELF "0::/a\n", V2 "/a/memory.max=1000\n", V2 "/a/memory.current=1001\n"}, 0},
    /* The page cache is dropped; that of all groups below counts in both files. */
    {{INFO, SELF "0::/a\n", V2 "/a/memory.max=1000\n", V2 "/a/memory.current=900\n",
      V2 "/a/memory.stat=anon 300\nfile 600\ninactive_file 400\nactive_file 150\n"},
     650},
    /* Groups above: the least counts, also of the topmost one, as a container sees its own. */
    {{INFO, SELF "0::/a/b/c\n", V2 "/a/memory.max=1000\n", V2 "/a/memory.current=900\n",
      V2 "/a/b/c/memory.max=500\n", V2 "/a/b/c/memory.current=100\n"},
     100},
    {{INFO, SELF "0::/docker/0123\n", V2 "/memory.max=1000\n", V2 "/memory.current=10\n"}, 990},
    /* Version 1, beside an empty version 2. */
    {{INFO, SELF "9:name=systemd:/\n4:memory:/a/b\n1:cpu:/\n0::/\n",
      V1 "/a/memory.limit_in_bytes=1000\n", V1 "/a/memory.usage_in_bytes=500\n",
      V1 "/a/memory.stat=inactive_file 7\ntotal_inactive_file 50\ntotal_active_file 25\n",
      V1 "/a/b/memory.limit_in_bytes=9223372036854771712\n", V1 "/a/b/memory.usage_in_bytes=400\n"},
     575},
};

RLO_TABLE_TEST(test_available__the_least_of_system_and_groups, table) {
  for (int n = 0; n < MAX_FILES && table[_i].files[n] != NULL; ++n) {
    plant(table[_i].files[n]);
  }
  ck_assert_int_eq(rlo__available_bytes(root), table[_i].expected);
}

RLO_TEST(test_available__a_limited_address_space) {
  if (TEST_IS_SANITIZED) {
    return; /* A sanitizer needs more than the limit. */
  }
  const rlim_t mib = 1 << 20;
  struct rlimit limit;
  int64_t used;
  plant(INFO);
  plant("/proc/self/statm=256 9 9\n");
  used = 256 * (int64_t)sysconf(_SC_PAGESIZE);
  ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
  limit.rlim_cur = 1024 * mib;
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
  ck_assert_int_eq(rlo__available_bytes(root), SYSTEM);
  plant("/proc/meminfo=\n");
  ck_assert_int_eq(rlo__available_bytes(root), (int64_t)(1024 * mib) - used);
}
