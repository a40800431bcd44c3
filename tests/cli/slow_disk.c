/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the command: a file never reaches the disk, so that a test can
 * interrupt just then. */
#include <unistd.h>

int fsync(int descriptor) {
  (void)descriptor;
  for (;;) {
    pause();
  }
}
