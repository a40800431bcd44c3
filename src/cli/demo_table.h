/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_DEMO_TABLE_H
#define RLO_CLI_DEMO_TABLE_H

#include <stdbool.h>

#include "relayout/plan.h"

#define RLO__DEMO_STEPS      4
#define RLO__DEMO_MAX_ROUNDS 1000

/** One step of the demo as it is told. */
typedef struct rlo__demo_row {
  const char *name;
  const char *src_text;
  const char *dst_text;
  char family[32];
  /** Read and written. */
  int64_t moved_bytes;
  int64_t num_wrong_bytes;
  double seconds[RLO__DEMO_MAX_ROUNDS];
} rlo__demo_row;

typedef struct rlo__demo_table {
  /** Borrowed. */
  const char *device_name;
  rlo_device_class device_class;
  int32_t num_rounds;
  double copy_gb_per_s[RLO__DEMO_MAX_ROUNDS];
  rlo__demo_row rows[RLO__DEMO_STEPS];
} rlo__demo_table;

/** Print the table; sorts its measurements. RLO__EXIT_OK, or, after a line that
 *  says so, RLO__EXIT_FAILURE if a step wrote a wrong byte. */
int rlo__demo_table_print(rlo__demo_table *table, bool is_json);

#endif
