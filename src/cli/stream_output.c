/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/file.h"
#include "base/status.h"
#include "base/threshold.h"
#include "message.h"
#include "stream_inside.h"
#include "subprocess.h"

/* ------------------------------------------------------------------ storage */

rlo_status rlo__stream_output_read(void *output, int64_t offset, int64_t bytes, void *into) {
  const rlo__stream_output *o = output;
  if (o->memory != NULL) {
    memcpy(into, (const char *)o->memory + offset, (size_t)bytes);
    return RLO_OK;
  }
  return rlo__file_pread(o->part.file.fd, o->path, into, (size_t)bytes, o->offset_bytes + offset);
}

/* Compares, in place of writing. */
static rlo_status compare(void *payload, int64_t offset, int64_t bytes, const void *from) {
  const unsigned char *expected = from;
  unsigned char found[1 << 14];
  for (int64_t at = 0; at < bytes; at += (int64_t)sizeof(found)) {
    const size_t length = (size_t)rlo__min(bytes - at, (int64_t)sizeof(found));
    RLO_TRY(rlo__stream_output_read(payload, offset + at, (int64_t)length, found));
    for (size_t n = 0; memcmp(found, expected + at, length) != 0; ++n) {
      RLO_FAIL_IF(found[n] != expected[at + (int64_t)n], RLO_DATA_LOSS,
                  "byte %" PRId64
                  " of the result is 0x%02x, the host makes 0x%02x; nothing was written to %s",
                  offset + at + (int64_t)n, found[n], expected[at + (int64_t)n],
                  ((const rlo__stream_output *)payload)->path);
    }
  }
  return RLO_OK;
}

rlo_status rlo__stream_output_write(void *output, int64_t offset, int64_t bytes, const void *from) {
  const rlo__stream_output *o = output;
  const char *data = from;
  const off_t at = (off_t)(o->offset_bytes + offset);
  for (int64_t done = 0; done < bytes;) {
    const size_t rest = (size_t)(bytes - done);
    const ssize_t count = o->is_forward
                              ? write(o->part.file.fd, data + done, rest)
                              : pwrite(o->part.file.fd, data + done, rest, at + (off_t)done);
    if (count < 0 && errno != EINTR) {
      return rlo__file_fail("cannot write", o->path, errno);
    }
    done += rlo__max(count, 0);
  }
  return RLO_OK;
}

rlo_status rlo__stream_output_storage(const rlo__stream *s, rlo__stream_output *o,
                                      const rlo_storage_traits *hints, rlo_storage **out_storage) {
  /* A flush takes milliseconds, and a model has many small arrays. */
  const bool is_small =
      o->whole != NULL && o->memory == NULL && o->bytes <= rlo__thresholds.service_streamed_bytes;
  if (!s->is_verifying && !is_small && !o->is_forward) {
    return o->memory != NULL ? rlo_storage_from_memory(o->memory, o->bytes, out_storage)
                             : rlo_storage_from_fd(o->part.file.fd, o->offset_bytes,
                                                   o->bytes + o->scratch_bytes, hints, out_storage);
  }
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  ops.read = o->is_forward ? NULL : rlo__stream_output_read;
  ops.write = s->is_verifying ? compare : rlo__stream_output_write;
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = o->bytes;
  traits.is_forward = o->is_forward;
  return rlo_storage_create(&ops, o, &traits, out_storage);
}

/* Writes the header again, whose length is the same. */
static int write_digest(rlo__stream_output *o, const rlo_digest *digest) {
  char head[RLO__MAX_HEADER_BYTES];
  size_t bytes = 0;
  RLO__EXIT_TRY(rlo__array_make_header(o->path, o->shape, o->is_swapped, digest, head, &bytes));
  return rlo__output_file_rewrite(&o->part, head, bytes);
}

/* Writes an array that was made in memory, and syncs the part. */
static int finish_output(const rlo__stream *stream, rlo__stream_output *o,
                         const rlo_digest *found) {
  const rlo_digest *digest = stream->has_digest ? found : NULL;
  if (!o->has_part) {
    return o->path == NULL
               ? RLO__EXIT_OK
               : rlo__array_save(o->path, o->shape, o->is_swapped, digest, o->memory, o->bytes);
  }
  if (o->memory != NULL) {
    RLO__EXIT_TRY(rlo__output_file_append(&o->part, o->memory, (size_t)o->bytes));
  }
  RLO__EXIT_TRY(rlo__output_file_finish(&o->part));
  /* The digest comes last, so that a part that may be resumed has none. */
  return digest == NULL ? RLO__EXIT_OK : write_digest(o, digest);
}

int rlo__stream_cut_off_scratch(const rlo__stream *stream) {
  for (int32_t n = 0; n < stream->num_outputs; ++n) {
    rlo__stream_output *o = &stream->outputs[n];
    if (o->memory == NULL && o->has_part && !o->is_forward && !stream->is_verifying) {
      RLO__EXIT_TRY(rlo__output_file_resize(&o->part, o->offset_bytes + o->bytes));
    }
  }
  return RLO__EXIT_OK;
}

int rlo__stream_commit_outputs(const rlo__stream *stream, const rlo_digest *digest) {
  for (int32_t n = 0; n < stream->num_outputs; ++n) {
    RLO__EXIT_TRY(finish_output(stream, &stream->outputs[n], digest));
  }
  for (int32_t n = 0; n < stream->num_outputs; ++n) {
    if (stream->outputs[n].has_part) {
      RLO__EXIT_TRY(rlo__output_file_commit(&stream->outputs[n].part));
    }
  }
  return RLO__EXIT_OK;
}

bool rlo__stream_leave_outputs(const rlo__stream *stream, int32_t num_begun, bool is_spoilt) {
  bool stays = false;
  for (int32_t n = 0; n < num_begun; ++n) {
    rlo__stream_output *o = &stream->outputs[n];
    rlo__shared_release(o->memory, (size_t)o->bytes);
    if (o->journal_fd > 0) {
      rlo__file_close(o->journal_fd);
    }
    if (o->has_part && !is_spoilt && rlo__output_file_leave(&o->part)) {
      stays = true;
    } else if (o->has_part) {
      rlo__output_file_abandon(&o->part);
    }
  }
  return stays;
}

/* -------------------------------------------------------------------- notes */

/* The contents of a journal of steps. */
typedef struct steps_done {
  uint64_t identity;
  int64_t count;
} steps_done;

int rlo__stream_note_steps(const rlo__stream *stream, rlo__stream_output *output, int64_t n) {
  const steps_done done = {stream->identity, n};
  const char *path = output == NULL ? NULL : output->part.unfinished.journal_path;
  if (path == NULL || path[0] == '\0' || n <= output->num_done) {
    return RLO__EXIT_OK;
  }
  output->num_done = n;
  bool is_noted = fdatasync(output->part.file.fd) == 0;
  if (is_noted && output->journal_fd == 0) {
    output->journal_fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  }
  is_noted = is_noted && output->journal_fd > 0 &&
             pwrite(output->journal_fd, &done, sizeof(done), 0) == (ssize_t)sizeof(done) &&
             fdatasync(output->journal_fd) == 0;
  return is_noted ? RLO__EXIT_OK
                  : rlo__fail("cannot note what is done of %s: %s", output->path, strerror(errno));
}

int rlo__stream_find_notes(const rlo__stream *stream, rlo__stream_output *output) {
  steps_done found = {0};
  const int fd = open(output->part.unfinished.journal_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    return RLO__EXIT_OK;
  }
  output->journal_fd = fd;
  const bool is_whole = pread(fd, &found, sizeof(found), 0) == (ssize_t)sizeof(found);
  output->num_done = found.count;
  return !is_whole || found.identity == stream->identity
             ? RLO__EXIT_OK
             : rlo__fail(
                   "cannot go on with %s: it was begun with another recipe or other files; without "
                   "--resume the job begins anew",
                   output->path);
}
