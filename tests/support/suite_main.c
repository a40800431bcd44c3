/* SPDX-License-Identifier: Apache-2.0 */
/* In a file of its own, so that a program that defines main() does not link it.
 */
#include "support/suite.h"

int main(int argc, char **argv) {
  return test_suite_run(argc, argv);
}
