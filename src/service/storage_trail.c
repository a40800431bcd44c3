/* SPDX-License-Identifier: Apache-2.0 */
#include "service/storage_trail.h"

#include <errno.h>

#include "base/checked.h"
#include "base/threshold.h"

enum { PAGE_BYTES = 4096 };

rlo_status rlo__trail_init(rlo__trail *trail,
                           const rlo__storage_calls *calls,
                           int fd) {
  trail->calls = calls;
  trail->fd = fd;
  return rlo__mutex_init(&trail->mutex);
}

void rlo__trail_deinit(rlo__trail *trail) {
  rlo__mutex_deinit(&trail->mutex);
}

/** Adds a range; the chunk has room. */
static void add(rlo__trail_chunk *chunk, int64_t begin, int64_t end) {
  int32_t last = chunk->num_ranges - 1;
  if (last >= 0 && begin >= chunk->ranges[last].begin &&
      begin <= chunk->ranges[last].end) {
    int64_t old_end = chunk->ranges[last].end;
    chunk->ranges[last].end = rlo__max(old_end, end);
    chunk->bytes += chunk->ranges[last].end - old_end;
    return;
  }
  chunk->ranges[chunk->num_ranges].begin = begin;
  chunk->ranges[chunk->num_ranges].end = end;
  ++chunk->num_ranges;
  chunk->bytes += end - begin;
}

static bool is_full(const rlo__trail_chunk *chunk) {
  return chunk->bytes >= rlo__thresholds.service_trail_chunk_bytes ||
         chunk->num_ranges == rlo__thresholds.service_trail_ranges;
}

/* Drops the ranges but for `margin` bytes at their ends. */
static void drop(const rlo__trail *trail,
                 rlo__trail_chunk *chunk,
                 int64_t margin) {
  for (int32_t i = 0; i < chunk->num_ranges; ++i) {
    int64_t begin = chunk->ranges[i].begin + margin;
    int64_t bytes = chunk->ranges[i].end - margin - begin;
    if (bytes > 0) {
      trail->calls->drop(trail->fd, begin, bytes);
    }
  }
  chunk->num_ranges = 0;
  chunk->bytes = 0;
}

void rlo__trail_add_read(rlo__trail *trail, int64_t offset, int64_t bytes) {
  if (bytes < rlo__thresholds.service_trail_read_bytes) {
    return;
  }
  rlo__mutex_lock(&trail->mutex);
  add(&trail->read, offset, offset + bytes);
  if (is_full(&trail->read)) {
    drop(trail, &trail->read, 0);
  }
  rlo__mutex_unlock(&trail->mutex);
}

/** Starts, or ends, to write a chunk back; goes on after a failure. */
static int write_back(const rlo__trail *trail,
                      const rlo__trail_chunk *chunk,
                      bool is_end) {
  int error = 0;
  for (int32_t i = 0; i < chunk->num_ranges; ++i) {
    int64_t begin = chunk->ranges[i].begin;
    int64_t bytes = chunk->ranges[i].end - begin;
    int result;
    do {
      result = trail->calls->write_back(trail->fd, begin, bytes, is_end);
    } while (result != 0 && errno == EINTR);
    /* Where the file system or a sandbox does not know the call, the system
     * writes back when it wants to. */
    if (result != 0 && error == 0 && errno != ENOSYS && errno != EINVAL &&
        errno != ESPIPE && errno != EPERM) {
      error = errno;
    }
  }
  return error;
}

/** Sends the chunk that is full, and makes room for the next one. */
static int send_chunk(rlo__trail *trail) {
  int32_t filled = (trail->oldest + trail->num_sent) % RLO__TRAIL_CHUNKS;
  int error = write_back(trail, &trail->written[filled], false);
  ++trail->num_sent;
  if (trail->num_sent == RLO__TRAIL_CHUNKS) {
    rlo__trail_chunk *oldest = &trail->written[trail->oldest];
    int end_error = write_back(trail, oldest, true);
    error = error != 0 ? error : end_error;
    /* Who writes the rest of a page would have to read it again. */
    drop(trail, oldest, PAGE_BYTES);
    trail->oldest = (trail->oldest + 1) % RLO__TRAIL_CHUNKS;
    --trail->num_sent;
  }
  return error;
}

int rlo__trail_add_written(rlo__trail *trail, int64_t offset, int64_t bytes) {
  /* Whole pages go to the disk. */
  int64_t begin = offset - offset % PAGE_BYTES;
  int64_t end = offset + bytes;
  end +=
      rlo__min((PAGE_BYTES - end % PAGE_BYTES) % PAGE_BYTES, INT64_MAX - end);
  int error = 0;
  rlo__mutex_lock(&trail->mutex);
  int32_t last = (trail->oldest + trail->num_sent) % RLO__TRAIL_CHUNKS;
  add(&trail->written[last], begin, end);
  if (is_full(&trail->written[last])) {
    error = send_chunk(trail);
    trail->lost_error = trail->lost_error != 0 ? trail->lost_error : error;
  }
  rlo__mutex_unlock(&trail->mutex);
  return error;
}

int rlo__trail_drop_written(rlo__trail *trail) {
  rlo__mutex_lock(&trail->mutex);
  for (int32_t i = 0; i < RLO__TRAIL_CHUNKS; ++i) {
    drop(trail, &trail->written[i], PAGE_BYTES);
  }
  trail->num_sent = 0;
  int error = trail->lost_error;
  rlo__mutex_unlock(&trail->mutex);
  return error;
}
