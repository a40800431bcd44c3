/* SPDX-License-Identifier: Apache-2.0 */
#include "convert_verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/threshold.h"
#include "relayout/index.h"
#include "relayout/xla/shape_util.h"

#include "files.h"
#include "message.h"

static int fail_byte(const rlo__conversion *c,
                     int64_t at,
                     unsigned char found,
                     unsigned char expected) {
  return rlo__fail("byte %" PRId64
                   " of the result is 0x%02x, the host reference has 0x%02x; "
                   "nothing was written to %s",
                   at,
                   found,
                   expected,
                   c->request.output_path);
}

/* -------------------------------------------------------------- every byte */

static int compare_whole(const rlo__conversion *c,
                         const rlo__input_file *output,
                         int64_t offset_bytes,
                         const unsigned char *expected,
                         unsigned char *chunk) {
  const int64_t most = rlo__thresholds.cli_compared_bytes;
  int64_t bytes = c->problem.dst_bytes;
  for (int64_t at = 0; at < bytes; at += most) {
    size_t length = (size_t)(bytes - at < most ? bytes - at : most);
    int code = rlo__input_file_read(output, offset_bytes + at, chunk, length);
    if (code != RLO__EXIT_OK) {
      return code;
    }
    if (memcmp(chunk, expected + at, length) != 0) {
      size_t n = 0;
      while (chunk[n] == expected[at + (int64_t)n]) {
        ++n;
      }
      return fail_byte(c, at + (int64_t)n, chunk[n], expected[at + (int64_t)n]);
    }
  }
  return RLO__EXIT_OK;
}

static int verify_whole(const rlo__conversion *c,
                        const rlo__input_file *output,
                        int64_t offset_bytes) {
  size_t bytes = (size_t)c->problem.dst_bytes;
  unsigned char *expected = calloc(bytes == 0 ? 1 : bytes, 1);
  const size_t chunk_bytes = (size_t)rlo__thresholds.cli_compared_bytes;
  unsigned char *chunk = malloc(chunk_bytes);
  if (expected == NULL || chunk == NULL) {
    free(chunk);
    free(expected);
    return rlo__fail("cannot get %zu bytes of memory to verify the result",
                     bytes + chunk_bytes);
  }
  rlo__array src = {0};
  int code = rlo__array_source_read(&c->source, &src);
  if (code == RLO__EXIT_OK &&
      rlo_problem_run_host(&c->problem, src.data, expected) != RLO_OK) {
    code = rlo__fail_last();
  }
  if (code == RLO__EXIT_OK) {
    code = compare_whole(c, output, offset_bytes, expected, chunk);
  }
  rlo__array_deinit(&src);
  free(chunk);
  free(expected);
  return code;
}

/* ------------------------------------------------------------ some elements */

/* Where the elements of one side are. */
typedef struct side {
  rlo_address_map map;
  int64_t element_bits;
  const rlo__input_file *file;
  int64_t offset_bytes;
} side;

/* An element, low bits first, with zeros above. */
typedef struct element {
  unsigned char bytes[RLO_MAX_UNIT_BITS / 8];
  /* Of the byte in which it begins. */
  int64_t position;
} element;

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Keeps the low bits. */
static void cut_element(element *e, int64_t bits) {
  for (int64_t b = bits; b < RLO_MAX_UNIT_BITS; ++b) {
    e->bytes[b / 8] &= (unsigned char)~(1U << (b % 8));
  }
}

/* What becomes of an element of another size. */
static void repack(rlo_dtype dtype, element *e) {
  if (dtype == RLO_DTYPE_PRED) {
    e->bytes[0] = e->bytes[0] != 0;
  }
  cut_element(e, rlo_dtype_value_bits(dtype));
}

static int read_element(const side *s,
                        const int64_t *index,
                        size_t swapped_width,
                        element *out) {
  unsigned char bytes[RLO_MAX_UNIT_BITS / 8 + 2] = {0};
  int64_t first_bit = rlo_address_map_slot(&s->map, index) * s->element_bits;
  int64_t shift = first_bit % 8;
  size_t count = (size_t)((shift + s->element_bits + 7) / 8);
  out->position = first_bit / 8;
  int code = rlo__input_file_read(
      s->file, s->offset_bytes + out->position, bytes, count);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  rlo__swap_bytes(bytes, count, swapped_width);
  for (size_t b = 0; b < sizeof(out->bytes); ++b) {
    unsigned both = bytes[b] | (unsigned)bytes[b + 1] << 8;
    out->bytes[b] = (unsigned char)(both >> shift & 0xff);
  }
  cut_element(out, s->element_bits);
  return RLO__EXIT_OK;
}

static int verify_elements(const rlo__conversion *c,
                           const side *src,
                           const side *dst) {
  const rlo_shape *shape = &c->dst_shape;
  uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
  for (int32_t n = 0; n < RLO__VERIFY_ELEMENTS; ++n) {
    int64_t of_dst[RLO_MAX_RANK] = {0};
    int64_t of_src[RLO_MAX_RANK] = {0};
    for (int32_t k = 0; k < shape->rank; ++k) {
      of_dst[k] = (int64_t)(next_random(&state) % (uint64_t)shape->dims[k]);
      of_src[c->permutation[k]] = of_dst[k];
    }
    element found;
    element expected;
    int code =
        read_element(src, of_src, c->source.swapped_width_bytes, &expected);
    if (code == RLO__EXIT_OK) {
      code = read_element(dst, of_dst, 0, &found);
    }
    if (code != RLO__EXIT_OK) {
      return code;
    }
    if (src->element_bits != dst->element_bits) {
      repack(shape->dtype, &expected);
    }
    for (size_t b = 0; b < sizeof(found.bytes); ++b) {
      if (found.bytes[b] != expected.bytes[b]) {
        return fail_byte(
            c, found.position + (int64_t)b, found.bytes[b], expected.bytes[b]);
      }
    }
  }
  return RLO__EXIT_OK;
}

static int verify_some(const rlo__conversion *c,
                       const rlo__input_file *output,
                       int64_t offset_bytes) {
  const rlo__array_source *source = &c->source;
  rlo_shape_extent extent = {0};
  side src = {
      .element_bits = rlo_shape_element_size_bits(&source->contents.shape),
      .file = &source->file,
      .offset_bytes = source->contents.offset_bytes};
  side dst = {.element_bits = rlo_shape_element_size_bits(&c->dst_shape),
              .file = output,
              .offset_bytes = offset_bytes};
  if (rlo_shape_measure(&c->dst_shape, &extent) != RLO_OK ||
      rlo_address_map_make(&source->contents.shape, &src.map) != RLO_OK ||
      rlo_address_map_make(&c->dst_shape, &dst.map) != RLO_OK) {
    return rlo__fail_last();
  }
  return extent.elements == 0 ? RLO__EXIT_OK : verify_elements(c, &src, &dst);
}

int rlo__convert_verify(const rlo__conversion *c,
                        int fd,
                        int64_t offset_bytes) {
  const rlo__input_file output = {
      .descriptor = fd,
      .path = c->request.output_path,
  };
  const int64_t most = rlo__thresholds.cli_whole_bytes;
  bool is_whole = c->source.bytes <= most && c->problem.dst_bytes <= most;
  return is_whole ? verify_whole(c, &output, offset_bytes)
                  : verify_some(c, &output, offset_bytes);
}
