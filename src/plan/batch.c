/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/batch.h"

#include "base/status.h"

rlo_status rlo__batch_launch(const rlo__launch *item, int64_t groups_at, int64_t num_groups,
                             rlo__launch *batch) {
  static const rlo__argument_kind memories[] = {RLO__ARGUMENT_SRC, RLO__ARGUMENT_SRC_OFFSET,
                                                RLO__ARGUMENT_DST, RLO__ARGUMENT_DST_OFFSET,
                                                RLO__ARGUMENT_INDEX};
  int64_t places[2 * RLO__LAUNCH_MAX_ARGUMENTS];
  rlo__launch_clear(batch);
  batch->kernel_file = item->kernel_file;
  for (int32_t d = 0; d < item->num_defines; ++d) {
    const rlo__define *define = &item->defines[d];
    const int64_t *values = &item->numbers[define->first];
    RLO_TRY(rlo__launch_define_list(batch, define->name, values, define->count));
  }
  for (int64_t n = 0; n < item->num_arguments; ++n) {
    places[2 * n] = item->arguments[n].kind;
    places[2 * n + 1] = item->arguments[n].first;
  }
  RLO_TRY(rlo__launch_define(batch, RLO__BATCH, (int64_t)item->local_size[0]));
  RLO_TRY(rlo__launch_define_list(batch, RLO__ITEM_ARGUMENTS, places, 2 * item->num_arguments));
  for (size_t n = 0; n < sizeof memories / sizeof memories[0]; ++n) {
    RLO_TRY(rlo__launch_argument(batch, memories[n], NULL, 0));
  }
  rlo__launch_set_groups(batch, (size_t)num_groups, (int64_t)item->local_size[0]);
  rlo__launch_describe(batch, "a batch of %s", item->kernel_file);
  return rlo__launch_longs(batch, &groups_at, 1);
}
