/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest way through: on the host, without any device. */
// [snippet hello]
#include <relayout/relayout.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const char *from = "u8[2,3]{1,0}";
  const char *to = "u8[2,3]{0,1:pad(3,5)fill(0x2e)}";
  rlo_shape src;
  rlo_shape dst;
  rlo_problem problem;
  char memory[16] = "";
  if (rlo_shape_parse(from, strlen(from), &src) != RLO_OK ||
      rlo_shape_parse(to, strlen(to), &dst) != RLO_OK ||
      rlo_relayout_lower(&src, &dst, NULL, &problem) != RLO_OK ||
      rlo_run_host(&problem, "abcdef", NULL, memory, 1) != RLO_OK) {
    fprintf(stderr, "%s\n", rlo_error_last()->message);
    return 1;
  }
  printf("%s\n", memory); /* ad.be.cf....... */
  return strcmp(memory, "ad.be.cf.......") != 0;
}

// [/snippet]
