/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_verify.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/file.h"
#include "message.h"
#include "stream_plan.h"

/* An output that was written. */
typedef struct output {
  const char *path;
  int fd;
  int64_t offset_bytes;
  const unsigned char *memory;
} output;

static rlo_status read_output(void *payload,
                              int64_t offset,
                              int64_t bytes,
                              void *into) {
  const output *o = payload;
  if (o->memory != NULL) {
    memcpy(into, o->memory + offset, (size_t)bytes);
    return RLO_OK;
  }
  return rlo__file_pread(
      o->fd, o->path, into, (size_t)bytes, o->offset_bytes + offset);
}

/* Compares, in place of writing. */
static rlo_status compare(void *payload,
                          int64_t offset,
                          int64_t bytes,
                          const void *from) {
  const output *o = payload;
  const unsigned char *expected = from;
  unsigned char found[1 << 14];
  for (int64_t at = 0; at < bytes; at += (int64_t)sizeof(found)) {
    const size_t length = (size_t)rlo__min(bytes - at, (int64_t)sizeof(found));
    rlo_status status =
        read_output(payload, offset + at, (int64_t)length, found);
    if (status != RLO_OK) {
      return status;
    }
    for (size_t n = 0; memcmp(found, expected + at, length) != 0; ++n) {
      if (found[n] != expected[at + (int64_t)n]) {
        return rlo_error_set(
            RLO_DATA_LOSS,
            "byte %" PRId64
            " of the result is 0x%02x, the host makes 0x%02x; nothing was "
            "written to %s",
            offset + at + (int64_t)n,
            found[n],
            expected[at + (int64_t)n],
            o->path);
      }
    }
  }
  return RLO_OK;
}

static int run_job(const rlo__stream *s,
                   int32_t n,
                   rlo_service *service,
                   rlo_storage *dst) {
  static const rlo__journal_path no_journal;
  const rlo__stream_job *job = &s->jobs[n];
  rlo_job_options options = rlo__stream_job_options(s, n, &no_journal);
  rlo_storage_traits hints = RLO_STORAGE_TRAITS_INIT;
  rlo_storage *src = NULL;
  rlo_job *made = NULL;
  int code = rlo__array_source_storage(&s->sources[job->source], &hints, &src);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  options.passes = 1;
  rlo_status status =
      rlo_service_submit(service, job->problem, src, dst, &options, &made);
  if (status == RLO_OK) {
    status = rlo_job_wait(made, -1, NULL);
  }
  if (status == RLO_OK) {
    status = rlo_job_result(made);
  }
  rlo_job_release(made);
  rlo_storage_release(src);
  return status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

int rlo__stream_verify(const rlo__stream *stream,
                       int32_t number,
                       int fd,
                       int64_t offset_bytes,
                       const void *memory) {
  const rlo__stream_output *made = &stream->outputs[number];
  output o = {made->path, fd, offset_bytes, memory};
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  ops.read = read_output;
  ops.write = compare;
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = made->bytes;
  const rlo_service_options options = rlo__stream_service_options(stream);
  rlo_service *service = NULL;
  rlo_storage *dst = NULL;
  int code = rlo_service_create(NULL, 0, &options, &service) == RLO_OK &&
                     rlo_storage_create(&ops, &o, &traits, &dst) == RLO_OK
                 ? RLO__EXIT_OK
                 : rlo__fail_last();
  for (int32_t n = 0; code == RLO__EXIT_OK && n < stream->num_jobs; ++n) {
    if (stream->jobs[n].output == number) {
      code = run_job(stream, n, service, dst);
    }
  }
  rlo_service_release(service);
  rlo_storage_release(dst);
  return code;
}
