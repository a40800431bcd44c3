/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SAFETENSORS_FORMAT_H
#define RLO_SAFETENSORS_FORMAT_H

#include "relayout/safetensors.h"

/** What reading and writing know of the format. */

/** The key of the metadata in a header, and the beginning of those keys in it that
 *  have the shape of a member, its digest and its sharding. */
#define RLO__METADATA_KEY "__metadata__"
#define RLO__SHAPE_KEY    "relayout:"
#define RLO__DIGEST_KEY   "relayout.digest:"
#define RLO__SHARDING_KEY "sharding:"

/** The index of a folder, and its file if it has one only. */
#define RLO__INDEX_NAME  "model.safetensors.index.json"
#define RLO__SINGLE_NAME "model.safetensors"

/** Bytes of the length in front of the header. */
enum { RLO__LENGTH_BYTES = 8 };

/** Finds the type with a name of the format; RLO_DTYPE_INVALID if none has it. */
rlo_dtype rlo__safetensors_type(const char *name);

/** Returns the name of a type in the format; NULL if it has no such type. */
const char *rlo__safetensors_type_name(rlo_dtype dtype);

/** Makes the shape of a plain member: row-major, with elements of less than a byte
 *  packed. `dtype` is one of the format's. */
RLO_NODISCARD rlo_status rlo__safetensors_plain_shape(rlo_dtype dtype, const int64_t *dims,
                                                      int32_t rank, rlo_shape *out_shape);

/** Makes the shape that a header has for the physical bytes of a shape: the shape
 *  itself if it is plain, else one dimension with the slots, or with bytes. */
RLO_NODISCARD rlo_status rlo__safetensors_header_shape(const rlo_shape *shape,
                                                       rlo_shape *out_header_shape);

/** Fails because a text could not become JSON. */
rlo_status rlo__safetensors_fail_json(const char *text);

#endif
