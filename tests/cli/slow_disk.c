/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the command: a file never reaches the disk, so that a test can
 * interrupt just then. Before it, as many do as $SLOW_DISK_FILES says. */
#include <stdlib.h>
#include <unistd.h>

int fsync(int descriptor) {
  static int num_files;
  const char *quick = getenv("SLOW_DISK_FILES");
  (void)descriptor;
  if (quick != NULL && num_files++ < atoi(quick)) {
    return 0;
  }
  for (;;) {
    pause();
  }
}
