/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/file.h"

#include "fuzz.h"

enum { MOST_BYTES = 1 << 24, PATH_BYTES = 4096 };

/* Give one file to the target, in a block of just its size, so that reading
 * beyond its end is seen. */
static bool replay_file(const char *path) {
  char *data;
  size_t bytes;
  if (rlo__file_read(path, MOST_BYTES, &data, &bytes) != RLO_OK) {
    fprintf(stderr, "%s\n", rlo_error_last()->message);
    return false;
  }
  uint8_t *exact = malloc(bytes == 0 ? 1 : bytes);
  FUZZ_CHECK(exact != NULL);
  memcpy(exact, data, bytes);
  rlo__free(data);
  printf("%s\n", path);
  fflush(stdout);
  LLVMFuzzerTestOneInput(exact, bytes);
  free(exact);
  return true;
}

/**
 * Run a fuzz target over files, without libFuzzer:
 *     replay_NAME FOLDER | FILE...
 * Fails if there is none.
 */
int main(int argc, char **argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    DIR *folder = opendir(argv[i]);
    if (folder == NULL) {
      if (!replay_file(argv[i])) {
        return 1;
      }
      ++count;
      continue;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
      char path[PATH_BYTES];
      if (entry->d_name[0] == '.') {
        continue;
      }
      snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
      if (!replay_file(path)) {
        closedir(folder);
        return 1;
      }
      ++count;
    }
    closedir(folder);
  }
  printf("%d files\n", count);
  return count > 0 ? 0 : 1;
}
