/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/agreement.h"

#include "fuzz.h"

/* A link on which the other ranks say what the input says. */
typedef struct link {
  fuzz_reader reader;
  int32_t num_tests;
} link;

static rlo_status start_send(void *payload, int32_t slot, int32_t rank, const void *data,
                             int64_t bytes) {
  (void)payload;
  (void)rank;
  (void)data;
  FUZZ_CHECK(slot == 0 && bytes == sizeof(rlo__verdict));
  return RLO_OK;
}

static rlo_status start_receive(void *payload, int32_t slot, int32_t rank, void *data,
                                int64_t bytes) {
  link *l = payload;
  (void)rank;
  FUZZ_CHECK(slot == 0 && bytes == sizeof(rlo__verdict));
  fuzz_take(&l->reader, data, (size_t)bytes);
  return RLO_OK;
}

static rlo_status test(void *payload, int32_t slot, bool *out_is_done) {
  link *l = payload;
  FUZZ_CHECK(slot == 0);
  *out_is_done = ++l->num_tests % 2 == 0;
  return RLO_OK;
}

/* Runs the agreement of ranks of which one may have failed; the input is what
 * the other ranks send. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  link l = {{data, size}, 0};
  rlo_exchange_link calls = RLO_EXCHANGE_LINK_INIT;
  calls.payload = &l;
  calls.start_send = start_send;
  calls.start_receive = start_receive;
  calls.test = test;
  calls.num_ranks = 1 + fuzz_take_byte(&l.reader) % 8;
  calls.rank = fuzz_take_byte(&l.reader) % calls.num_ranks;
  rlo_status own = RLO_OK;
  if (fuzz_take_byte(&l.reader) % 4 == 0) {
    own = rlo_error_set(RLO_IO, "a failure of this rank");
  }
  rlo__agreement agreement;
  rlo__agreement_begin(&agreement, &calls, own, 1);
  bool is_done = false;
  for (int32_t n = 0; n < 100 && !is_done; ++n) {
    FUZZ_CHECK(rlo__agreement_step(&agreement, &is_done) == RLO_OK);
  }
  FUZZ_CHECK(is_done);
  const rlo_status status = rlo__agreement_result(&agreement);
  FUZZ_CHECK(own == RLO_OK || status != RLO_OK || calls.rank != 0);
  if (status != RLO_OK) {
    FUZZ_CHECK(rlo_error_last()->status == status);
    FUZZ_CHECK(strncmp(rlo_error_last()->message, "rank ", 5) == 0);
    /* A character that a terminal would not show takes four bytes. */
    FUZZ_CHECK(strlen(rlo_error_last()->message) < 512);
    FUZZ_CHECK(strcmp(rlo_status_name(status), "RLO_UNKNOWN") != 0);
  }
  return 0;
}
