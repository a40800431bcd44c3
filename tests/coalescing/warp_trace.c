/* SPDX-License-Identifier: Apache-2.0 */
#include "coalescing/warp_trace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
  WARP = 32,
  SECTOR_BYTES = 32,
  BANKS = 32,
  BANK_BYTES = 4,
  MAX_RECORDS = 1 << 20,
  MAX_SITES = 4096,
  /** A kernel's private memory lies within this distance of its caller's. */
  STACK_BYTES = 1 << 20
};

typedef enum space { SRC, DST, LOCAL } space;

/* One access of one work-item. */
typedef struct record {
  uintptr_t site;
  /** The work-item had been at the site so often before. */
  int32_t visit;
  space space;
  size_t lane;
  uintptr_t address;
  uint32_t bytes;
} record;

static record records[MAX_RECORDS];
static size_t num_records;

/* Sites that the present work-item has been at. */
static struct {
  uintptr_t site;
  int32_t visits;
} sites[MAX_SITES];

static size_t num_sites;

static const warp_run *current;
static size_t current_group;
static size_t current_lane;
static uintptr_t stack_at;

static bool is_within(uintptr_t address, const uint8_t *memory, size_t bytes) {
  return address >= (uintptr_t)memory && address < (uintptr_t)memory + bytes;
}

static int32_t count_visit(uintptr_t site) {
  for (size_t n = 0; n < num_sites; ++n) {
    if (sites[n].site == site) {
      return sites[n].visits++;
    }
  }
  if (num_sites == MAX_SITES) {
    abort();
  }
  sites[num_sites].site = site;
  sites[num_sites].visits = 1;
  ++num_sites;
  return 0;
}

static void record_access(void *pointer, uint32_t bytes, void *site) {
  uintptr_t address = (uintptr_t)pointer;
  space where = LOCAL;
  if (is_within(address, current->src, current->src_bytes)) {
    where = SRC;
  } else if (is_within(address, current->dst, current->dst_bytes)) {
    where = DST;
  } else if (address + STACK_BYTES > stack_at && address < stack_at + STACK_BYTES) {
    return;
  }
  if (num_records == MAX_RECORDS) {
    abort();
  }
  records[num_records++] =
      (record){(uintptr_t)site, count_visit((uintptr_t)site), where, current_lane, address, bytes};
}

/* Functions that the compiled kernels call. */
#pragma GCC visibility push(default)

/* ThreadSanitizer's instrumentation; its own library is not there. */
#define DEFINE_ACCESS(name, bytes)                              \
  void name(void *pointer);                                     \
  void name(void *pointer) {                                    \
    record_access(pointer, bytes, __builtin_return_address(0)); \
  }

DEFINE_ACCESS(__tsan_read1, 1)
DEFINE_ACCESS(__tsan_read2, 2)
DEFINE_ACCESS(__tsan_read4, 4)
DEFINE_ACCESS(__tsan_read8, 8)
DEFINE_ACCESS(__tsan_read16, 16)
DEFINE_ACCESS(__tsan_write1, 1)
DEFINE_ACCESS(__tsan_write2, 2)
DEFINE_ACCESS(__tsan_write4, 4)
DEFINE_ACCESS(__tsan_write8, 8)
DEFINE_ACCESS(__tsan_write16, 16)
DEFINE_ACCESS(__tsan_unaligned_read2, 2)
DEFINE_ACCESS(__tsan_unaligned_read4, 4)
DEFINE_ACCESS(__tsan_unaligned_read8, 8)
DEFINE_ACCESS(__tsan_unaligned_read16, 16)
DEFINE_ACCESS(__tsan_unaligned_write2, 2)
DEFINE_ACCESS(__tsan_unaligned_write4, 4)
DEFINE_ACCESS(__tsan_unaligned_write8, 8)
DEFINE_ACCESS(__tsan_unaligned_write16, 16)

/* In place of accesses one after the other, from clang 15 on. */
void *__tsan_memcpy(void *to, const void *from, size_t bytes);

void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
  void *site = __builtin_return_address(0);
  record_access((void *)(uintptr_t)from, (uint32_t)bytes, site);
  record_access(to, (uint32_t)bytes, site);
  return memcpy(to, from, bytes);
}

void *__tsan_memset(void *to, int value, size_t bytes);

void *__tsan_memset(void *to, int value, size_t bytes) {
  record_access(to, (uint32_t)bytes, __builtin_return_address(0));
  return memset(to, value, bytes);
}

void __tsan_init(void);

void __tsan_init(void) {
}

void __tsan_func_entry(void *caller);

void __tsan_func_entry(void *caller) {
  (void)caller;
}

void __tsan_func_exit(void);

void __tsan_func_exit(void) {
}

/* The functions of OpenCL C that the kernels for GPUs call, under the names
 * that clang gives them. */
#define DEFINE_BUILTIN(type, name, parameters, value) \
  type name parameters;                               \
  type name parameters {                              \
    return value;                                     \
  }

DEFINE_BUILTIN(size_t, _Z12get_local_idj, (uint32_t d), d == 0 ? current_lane : 0)
DEFINE_BUILTIN(size_t, _Z12get_group_idj, (uint32_t d), d == 0 ? current_group : 0)
DEFINE_BUILTIN(size_t, _Z14get_num_groupsj, (uint32_t d), d == 0 ? current->num_groups : 1)
DEFINE_BUILTIN(size_t, _Z13get_global_idj, (uint32_t d),
               d == 0 ? current_group * current->local_size + current_lane : 0)
DEFINE_BUILTIN(size_t, _Z15get_global_sizej, (uint32_t d),
               d == 0 ? current->num_groups * current->local_size : 1)
DEFINE_BUILTIN(int64_t, _Z3minll, (int64_t a, int64_t b), a < b ? a : b)
DEFINE_BUILTIN(int64_t, _Z3maxll, (int64_t a, int64_t b), a > b ? a : b)
DEFINE_BUILTIN(int32_t, _Z3minii, (int32_t a, int32_t b), a < b ? a : b)
DEFINE_BUILTIN(int32_t, _Z3maxii, (int32_t a, int32_t b), a > b ? a : b)
DEFINE_BUILTIN(uint32_t, _Z3minjj, (uint32_t a, uint32_t b), a < b ? a : b)
DEFINE_BUILTIN(uint32_t, _Z6mul_hijj, (uint32_t a, uint32_t b), (uint32_t)(((uint64_t)a * b) >> 32))
DEFINE_BUILTIN(uint32_t, _Z3clzj, (uint32_t a), a == 0 ? 32 : (uint32_t)__builtin_clz(a))

void _Z7barrierj(uint32_t flags);

void _Z7barrierj(uint32_t flags) {
  (void)flags;
}

#pragma GCC visibility pop

/* ----------------------------------------------------------------- counting */

static int compare_numbers(uintptr_t a, uintptr_t b) {
  return (a > b) - (a < b);
}

/* Requests together; local memory serves work-items in their order. */
static int compare_records(const void *a, const void *b) {
  const record *x = a;
  const record *y = b;
  int order = compare_numbers(x->site, y->site);
  order = order != 0 ? order : (x->visit > y->visit) - (x->visit < y->visit);
  order = order != 0 ? order : (int)x->space - (int)y->space;
  if (order == 0 && x->space == LOCAL) {
    order = compare_numbers(x->lane, y->lane);
  }
  return order != 0 ? order : compare_numbers(x->address, y->address);
}

static int compare_addresses(const void *a, const void *b) {
  const record *x = a;
  const record *y = b;
  int order = (int)x->space - (int)y->space;
  return order != 0 ? order : compare_numbers(x->address, y->address);
}

/* Blocks of memory of this size that records touch, sorted by address. */
static int64_t count_blocks(const record *r, size_t count, size_t block_bytes) {
  int64_t blocks = 0;
  uintptr_t next = 0; /* the first block not counted yet */
  for (size_t n = 0; n < count; ++n) {
    uintptr_t first = r[n].address / block_bytes;
    uintptr_t end = (r[n].address + r[n].bytes - 1) / block_bytes + 1;
    first = first < next ? next : first;
    if (end > first) {
      blocks += (int64_t)(end - first);
      next = end;
    }
  }
  return blocks;
}

static int64_t count_sectors(const record *r, size_t count) {
  return count_blocks(r, count, SECTOR_BYTES);
}

static int64_t count_bytes(const record *r, size_t count) {
  int64_t bytes = 0;
  for (size_t n = 0; n < count; ++n) {
    bytes += r[n].bytes;
  }
  return bytes;
}

/* True if a record wants the word of one before it. */
static bool is_served(const record *r, size_t n, uint32_t word_bytes) {
  for (size_t k = 0; k < n; ++k) {
    if (r[k].address / word_bytes == r[n].address / word_bytes) {
      return true;
    }
  }
  return false;
}

/* Local memory serves as many work-items at a time as all banks together have
 * bytes for; those that want the same word share it. */
static void count_banks(const record *r, size_t count, warp_counts *counts) {
  uint32_t bytes = r[0].bytes < BANK_BYTES ? BANK_BYTES : r[0].bytes;
  size_t at_a_time = BANKS * BANK_BYTES / bytes;
  for (size_t first = 0; first < count; first += at_a_time) {
    size_t left = count - first < at_a_time ? count - first : at_a_time;
    int64_t words[BANKS] = {0};
    int64_t most = 0;
    for (size_t n = 0; n < left; ++n) {
      if (!is_served(r + first, n, bytes)) {
        int64_t *bank = &words[r[first + n].address / bytes % at_a_time];
        ++*bank;
        most = *bank > most ? *bank : most;
      }
    }
    counts->bank_rounds += most;
    ++counts->least_bank_rounds;
  }
}

static void count_request(const record *r, size_t count, warp_counts *counts) {
  switch (r[0].space) {
    case SRC:
      counts->read.request_sectors += count_sectors(r, count);
      counts->read.bytes += count_bytes(r, count);
      break;
    case DST:
      counts->written.request_sectors += count_sectors(r, count);
      counts->written.bytes += count_bytes(r, count);
      break;
    case LOCAL:
      count_banks(r, count, counts);
      break;
  }
}

/* Count the records [first, num_records), which are those of one warp. */
static void count_warp(size_t first, warp_counts *counts) {
  qsort(&records[first], num_records - first, sizeof records[0], compare_records);
  while (first < num_records) {
    const record *r = &records[first];
    size_t count = 1;
    while (first + count < num_records && r[count].site == r->site && r[count].visit == r->visit &&
           r[count].space == r->space) {
      ++count;
    }
    count_request(r, count, counts);
    first += count;
  }
}

static void count_group(warp_counts *counts) {
  qsort(records, num_records, sizeof records[0], compare_addresses);
  size_t num_src = 0;
  size_t num_dst = 0;
  for (size_t n = 0; n < num_records; ++n) {
    num_src += records[n].space == SRC;
    num_dst += records[n].space == DST;
  }
  counts->read.group_bytes += count_blocks(records, num_src, 1);
  counts->written.group_bytes += count_blocks(records + num_src, num_dst, 1);
  counts->read.group_sectors += count_sectors(records, num_src);
  counts->written.group_sectors += count_sectors(records + num_src, num_dst);
}

void warp_run_group(const warp_run *run, size_t group, warp_counts *counts) {
  char here;
  stack_at = (uintptr_t)&here;
  current = run;
  current_group = group;
  num_records = 0;
  size_t first = 0;
  for (size_t lane = 0; lane < run->local_size; ++lane) {
    current_lane = lane;
    num_sites = 0;
    run->entry(run->arguments);
    if (lane % WARP == WARP - 1 || lane == run->local_size - 1) {
      count_warp(first, counts);
      first = num_records;
    }
  }
  count_group(counts);
}
