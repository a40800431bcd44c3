/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SAFETENSORS_FORMAT_H
#define RLO_SAFETENSORS_FORMAT_H

#include "relayout/safetensors.h"

/** What reading and writing know of the format. */

/** The key of the metadata in a header. */
#define RLO__METADATA_KEY "__metadata__"

/** The texts of a member in the metadata. */
enum { RLO__SHAPE_TEXT, RLO__DIGEST_TEXT, RLO__SHARDING_TEXT, RLO__MADE_BY_TEXT, RLO__NUM_TEXTS };

/** The beginning of the key of each, which the name of the member follows. */
extern const char *const rlo__safetensors_text_keys[RLO__NUM_TEXTS];

/** Finds the text that a key is for; RLO__NUM_TEXTS if it is for none. */
int rlo__safetensors_text_of(const char *key);

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
