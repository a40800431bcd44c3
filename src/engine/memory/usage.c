/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/memory/usage.h"

#include <stddef.h>

void rlo__usage_init(rlo__usage *usage, rlo__usage *whole) {
  for (int32_t k = 0; k < RLO__NUM_USAGE_KINDS; ++k) {
    atomic_init(&usage->counters[k].now, 0);
    atomic_init(&usage->counters[k].peak, 0);
  }
  usage->whole = whole;
}

static void raise_peak(rlo__usage_counter *counter, int_fast64_t now) {
  int_fast64_t peak =
      atomic_load_explicit(&counter->peak, memory_order_relaxed);
  while (peak < now &&
         !atomic_compare_exchange_weak_explicit(&counter->peak,
                                                &peak,
                                                now,
                                                memory_order_relaxed,
                                                memory_order_relaxed)) {
  }
}

void rlo__usage_add(rlo__usage *usage,
                    rlo__usage_kind kind,
                    int64_t increment) {
  for (; usage != NULL; usage = usage->whole) {
    rlo__usage_counter *counter = &usage->counters[kind];
    int_fast64_t now = atomic_fetch_add_explicit(
                           &counter->now, increment, memory_order_relaxed) +
                       increment;
    raise_peak(counter, now);
  }
}

int64_t rlo__usage_now(const rlo__usage *usage, rlo__usage_kind kind) {
  return (int64_t)atomic_load_explicit(&usage->counters[kind].now,
                                       memory_order_relaxed);
}

static int64_t peak_of(const rlo__usage *usage, rlo__usage_kind kind) {
  return (int64_t)atomic_load_explicit(&usage->counters[kind].peak,
                                       memory_order_relaxed);
}

void rlo__usage_read(const rlo__usage *usage, rlo_memory_info *out_info) {
  *out_info = (rlo_memory_info){
      .tensors = rlo__usage_now(usage, RLO__USAGE_TENSORS),
      .buffers = rlo__usage_now(usage, RLO__USAGE_BUFFERS),
      .bytes = rlo__usage_now(usage, RLO__USAGE_BYTES),
      .external_bytes = rlo__usage_now(usage, RLO__USAGE_EXTERNAL_BYTES),
      .peak_tensors = peak_of(usage, RLO__USAGE_TENSORS),
      .peak_buffers = peak_of(usage, RLO__USAGE_BUFFERS),
      .peak_bytes = peak_of(usage, RLO__USAGE_BYTES)};
}

void rlo__usage_reset_peaks(rlo__usage *usage) {
  for (int32_t k = 0; k < RLO__NUM_USAGE_KINDS; ++k) {
    rlo__usage_counter *counter = &usage->counters[k];
    atomic_store_explicit(
        &counter->peak,
        atomic_load_explicit(&counter->now, memory_order_relaxed),
        memory_order_relaxed);
    /* Another thread may have added to the counter meanwhile. */
    raise_peak(counter,
               atomic_load_explicit(&counter->now, memory_order_relaxed));
  }
}
