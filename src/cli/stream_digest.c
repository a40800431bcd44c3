/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "relayout/text.h"
#include "relayout/xla/shape_util.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/thread.h"
#include "message.h"
#include "stream_inside.h"

static rlo__mutex mutex = RLO__MUTEX_INIT;

rlo_status rlo__stream_sum_add(void *sum, int64_t offset, int64_t bytes, const void *from) {
  const rlo__stream_sum *s = sum;
  rlo_digest part = RLO_DIGEST_INIT;
  RLO_TRY(rlo_digest_add(s->shape, offset, from, bytes, &part));
  rlo__mutex_lock(&mutex);
  rlo_digest_join(s->digest, &part);
  rlo__mutex_unlock(&mutex);
  return RLO_OK;
}

rlo_storage_traits rlo__stream_sum_traits(const rlo__stream_output *output) {
  rlo_storage_traits traits = RLO_STORAGE_TRAITS_INIT;
  traits.bytes = output->bytes;
  traits.granule_bytes = rlo_shape_element_size_bits(output->shape);
  return traits;
}

rlo_status rlo__stream_storage_that_sums(const rlo__stream_output *output, rlo__stream_sum *sum,
                                         rlo_storage **out_storage) {
  rlo_storage_ops ops = RLO_STORAGE_OPS_INIT;
  ops.write = rlo__stream_sum_add;
  const rlo_storage_traits traits = rlo__stream_sum_traits(output);
  return rlo_storage_create(&ops, sum, &traits, out_storage);
}

bool rlo__stream_can_sum(const rlo__stream *stream) {
  const rlo__stream_output *o = stream->outputs;
  const int64_t bits = rlo_shape_element_size_bits(o->shape);
  /* Otherwise a write may have a part of an element, or goes to memory. */
  return stream->has_digest && !stream->is_verifying && !o->is_dropped && o->memory == NULL &&
         (bits & (bits - 1)) == 0 && bits <= rlo_dtype_storage_bits(o->shape->dtype);
}

/* Adds up an output that is there. */
static rlo_status sum_output(rlo__stream_output *o, rlo__stream_sum *sum) {
  enum { PART_ELEMENTS = 1 << 13 };

  const int64_t part = PART_ELEMENTS * rlo_shape_element_size_bits(o->shape);
  char *bytes = rlo__alloc((size_t)part);
  rlo_status status = bytes != NULL ? RLO_OK : RLO_OUT_OF_MEMORY;
  for (int64_t at = 0; at < o->bytes && status == RLO_OK; at += part) {
    const int64_t length = rlo__min(part, o->bytes - at);
    RLO_TRY_GOTO(rlo__stream_output_read(o, at, length, bytes));
    RLO_TRY_GOTO(rlo__stream_sum_add(sum, at, length, bytes));
  }
fail:
  rlo__free(bytes);
  return status;
}

int rlo__stream_finish_digest(const rlo__stream *stream, rlo__stream_result *result) {
  rlo__stream_output *o = stream->outputs;
  rlo__stream_sum sum = {o->shape, &result->digest};
  if (!o->is_dropped && (!rlo__stream_can_sum(stream) || result->info.bytes_resumed > 0)) {
    result->digest = (rlo_digest)RLO_DIGEST_INIT;
    RLO__EXIT_TRY(rlo__check(sum_output(o, &sum)));
  }
  return rlo__check(rlo_digest_finish(o->shape, &result->digest, &result->digest));
}

void rlo__digest_print(const rlo_digest *digest, char out_text[33]) {
  (void)snprintf(out_text, 33, "%016" PRIx64 "%016" PRIx64, digest->high, digest->low);
}

void rlo__stream_report_digest(rlo__report *r, const rlo_shape *shape, const char *path,
                               const rlo__stream_result *result) {
  char text[33] = "";
  char name[2048];
  (void)rlo_shape_human_string(shape, name, sizeof(name));
  if (result != NULL) {
    rlo__digest_print(&result->digest, text);
    rlo__report_line(r, "", "%s  %s  %s", text, name, path);
  }
  RLO__REPORT(r, RLO__STRING("digest", NULL, result != NULL ? text : NULL));
}
