/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/batch.h"

#include <string.h>

#include "base/checked.h"
#include "base/status.h"

/** Finds the place of an argument in the record, behind all that end at *end. Vectors lie
 *  at multiples of their size. */
static int64_t place(rlo__argument_kind kind, int64_t *end) {
  const int64_t longs = rlo__ceil_div(rlo__argument_bytes(kind), (int64_t)sizeof(int64_t));
  const int64_t at = rlo__ceil_div(*end, longs) * longs;
  *end = at + longs;
  return at;
}

/** The arguments of an item as pairs: kind, and place in the record or 0. */
static int32_t list_arguments(const rlo__launch *item, int64_t *out_pairs, int64_t *out_longs) {
  int64_t end = 1;
  for (int32_t n = 0; n < item->num_arguments; ++n) {
    const rlo__argument_kind kind = item->arguments[n].kind;
    out_pairs[2 * n] = kind;
    out_pairs[2 * n + 1] = rlo__argument_lanes(kind) > 0 ? place(kind, &end) : 0;
  }
  *out_longs = rlo__ceil_div(end, RLO__BATCH_RECORD_LONGS) * RLO__BATCH_RECORD_LONGS;
  return 2 * item->num_arguments;
}

int64_t rlo__batch_record_longs(const rlo__launch *item) {
  int64_t pairs[2 * RLO__LAUNCH_MAX_ARGUMENTS];
  int64_t longs;
  (void)list_arguments(item, pairs, &longs);
  return longs;
}

void rlo__batch_record_write(const rlo__launch *item, int64_t *out_record) {
  int64_t end = 1;
  out_record[0] = (int64_t)(item->global_size[0] / item->local_size[0]);
  for (int32_t n = 0; n < item->num_arguments; ++n) {
    const rlo__argument *argument = &item->arguments[n];
    const int32_t lanes = rlo__argument_lanes(argument->kind);
    const int64_t *numbers = &item->numbers[argument->first];
    if (lanes == 0) {
      continue;
    }
    const int64_t at = place(argument->kind, &end);
    if (argument->kind != RLO__ARGUMENT_INT16) {
      memcpy(out_record + at, numbers, (size_t)lanes * sizeof *numbers);
      continue;
    }
    int32_t narrow[16];
    for (int32_t lane = 0; lane < lanes; ++lane) {
      narrow[lane] = (int32_t)numbers[lane];
    }
    memcpy(out_record + at, narrow, sizeof narrow);
  }
}

rlo_status rlo__batch_launch(const rlo__launch *item, const rlo__batch_tables *tables,
                             rlo__launch *batch) {
  static const rlo__argument_kind memories[] = {RLO__ARGUMENT_SRC, RLO__ARGUMENT_SRC_OFFSET,
                                                RLO__ARGUMENT_DST, RLO__ARGUMENT_DST_OFFSET,
                                                RLO__ARGUMENT_INDEX};
  int64_t pairs[2 * RLO__LAUNCH_MAX_ARGUMENTS];
  int64_t longs;
  const int32_t count = list_arguments(item, pairs, &longs);
  rlo__launch_clear(batch);
  batch->kernel_file = item->kernel_file;
  for (int32_t d = 0; d < item->num_defines; ++d) {
    const rlo__define *define = &item->defines[d];
    RLO_TRY(
        rlo__launch_define_list(batch, define->name, &item->numbers[define->first], define->count));
  }
  RLO_TRY(rlo__launch_define(batch, RLO__BATCH, (int64_t)item->local_size[0]));
  RLO_TRY(rlo__launch_define_list(batch, RLO__ITEM_ARGUMENTS, pairs, count));
  for (size_t n = 0; n < sizeof memories / sizeof memories[0]; ++n) {
    RLO_TRY(rlo__launch_argument(batch, memories[n], NULL, 0));
  }
  RLO_TRY(rlo__launch_longs(batch, (const int64_t[]){tables->items_at, tables->groups_at}, 2));
  rlo__launch_set_groups(batch, (size_t)tables->num_groups, (int64_t)item->local_size[0]);
  rlo__launch_describe(batch, "a batch of %s", item->kernel_file);
  return RLO_OK;
}
