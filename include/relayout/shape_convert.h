/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_SHAPE_CONVERT_H
#define RELAYOUT_SHAPE_CONVERT_H

#include "relayout/shape.h"

RLO_BEGIN_DECLS

/**
 * The same dimensions with another element type or layout. out_shape may be the
 * shape converted. Each returns RLO_OK or what rlo_shape_validate_unbounded
 * says of the shape before or after; on failure *out_shape is unchanged.
 * Threads: safe (pure).
 */

/**
 * XLA's ChangeElementType: another element type in the same layout. The element
 * size becomes the type's own, but elements of less than a byte that are packed
 * stay packed if the new ones are of less than a byte too.
 * @return also RLO_INVALID_ARGUMENT or RLO_UNSUPPORTED for a fill that the new
 *         type cannot hold.
 */
RLO_API RLO_NODISCARD rlo_status rlo_shape_change_dtype(const rlo_shape *shape,
                                                        rlo_dtype dtype,
                                                        rlo_shape *out_shape);

/** XLA's UpdateElementSizeInBits: with `pack`, elements of less than a byte
 *  take the bits of their value; all others, and without it all, the type's
 *  own size. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_update_element_size(
    const rlo_shape *shape, bool pack, rlo_shape *out_shape);

/** XLA's DeviceShapeToHostShape: dense in the same order (a view: by falling
 *  size of its strides), without padding, tiles, tail, element size, memory
 *  space, splits and metadata prefix. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_device_to_host(const rlo_shape *shape, rlo_shape *out_shape);

/** XLA's DeviceShapeIsHostShape: rlo_shape_device_to_host changes nothing. */
RLO_API bool rlo_shape_device_is_host(const rlo_shape *shape);

/** XLA's ShapeWithoutPadding (2017): without padded dimensions; tiles and tail
 *  stay. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_without_padding(const rlo_shape *shape, rlo_shape *out_shape);

/** XLA's GetWithDefaultLayout: row-major, all else of the layout dropped. */
RLO_API RLO_NODISCARD rlo_status
rlo_shape_with_default_layout(const rlo_shape *shape, rlo_shape *out_shape);

/** XLA's CopyLayoutBetweenShapes: in the layout of another shape.
 *  @return also RLO_INVALID_ARGUMENT for different ranks. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_with_layout_of(
    const rlo_shape *shape, const rlo_shape *layout_of, rlo_shape *out_shape);

/** XLA's MakeStaticShape: each dimension of the size of its bound, none
 *  dynamic. @return also RLO_UNSUPPORTED if one has no bound. */
RLO_API RLO_NODISCARD rlo_status rlo_shape_make_static(const rlo_shape *shape,
                                                       rlo_shape *out_shape);

RLO_END_DECLS

#endif
