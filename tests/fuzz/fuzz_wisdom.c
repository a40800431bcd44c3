/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "plan/wisdom.h"

#include "fuzz.h"

static void check_record(void *payload, const rlo_wisdom_record *record) {
  int32_t *num_records = payload;
  ++*num_records;
  FUZZ_CHECK(record->device != NULL && strlen(record->driver) < 512);
  FUZZ_CHECK(record->family[0] != '\0' && record->schedule[0] != '\0');
  FUZZ_CHECK(record->alignment_bytes > 0);
  FUZZ_CHECK(record->fraction >= 0.0 && record->fraction <= 1001.0);
  FUZZ_CHECK(strlen(record->note) < 512);
}

/* Any bytes: what is read comes out again the same, and what is refused leaves
 * nothing behind. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  int32_t num_records = 0;
  rlo_status status = rlo_wisdom_read(text, size, check_record, &num_records);
  FUZZ_CHECK(status == RLO_OK || status == RLO_PARSE);
  rlo__wisdom wisdom;
  rlo__wisdom_init("device", "driver", 1, &wisdom);
  rlo__wisdom_count count;
  FUZZ_CHECK(rlo__wisdom_import(&wisdom, text, size, &count) == status);
  FUZZ_CHECK(status == RLO_OK || wisdom.entries.count == 0);
  FUZZ_CHECK(status != RLO_OK || count.num_taken + count.num_ignored == num_records);
  FUZZ_CHECK(wisdom.entries.count <= (size_t)count.num_taken);
  /* Once printed, it stays what it is. */
  rlo__str once = rlo__str_growing();
  FUZZ_CHECK(rlo__wisdom_export(&wisdom, text, size, &once) == status);
  if (status != RLO_OK) {
    rlo__str_truncate(&once, 0);
    FUZZ_CHECK(rlo__wisdom_export(&wisdom, NULL, 0, &once) == RLO_OK);
  }
  rlo__wisdom again;
  rlo__wisdom_init("device", "driver", 1, &again);
  FUZZ_CHECK(rlo__wisdom_import(&again, rlo__str_text(&once), once.length, &count) == RLO_OK);
  FUZZ_CHECK(again.entries.count == wisdom.entries.count);
  rlo__str twice = rlo__str_growing();
  FUZZ_CHECK(rlo__wisdom_export(&again, rlo__str_text(&once), once.length, &twice) == RLO_OK);
  FUZZ_CHECK(strcmp(rlo__str_text(&once), rlo__str_text(&twice)) == 0);
  rlo__str_deinit(&twice);
  rlo__str_deinit(&once);
  rlo__wisdom_deinit(&again);
  rlo__wisdom_deinit(&wisdom);
  return 0;
}
