/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_PICTURE_LABEL_H
#define RLO_CLI_PICTURE_LABEL_H

#include "relayout/index.h"

#include "picture.h"

/** How the elements of a shape are named in a picture. */
typedef struct rlo__labels {
  const rlo_shape *shape;
  rlo_address_map map;
  bool has_letters;
  /** Characters of the longest label. */
  int32_t width;
} rlo__labels;

/** The labels of a shape, which is borrowed. RLO__EXIT_OK, or prints why not.
 */
int rlo__labels_make(const rlo_shape *shape,
                     bool has_letters,
                     rlo__labels *out_labels);

/** The label of what lies at a slot: "." where there is no element. Returns
 *  whether there is one. */
bool rlo__label_of_slot(const rlo__labels *labels,
                        int64_t slot,
                        char out_text[RLO__PICTURE_TEXT_BYTES]);

#endif
