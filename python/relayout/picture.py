# SPDX-License-Identifier: Apache-2.0
"""The memory of a shape as a picture: slots in boxes, boxes in boxes.

The last two physical dimensions are the rows and columns of a box, the two before them the rows
and columns of a grid of such boxes, and so on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ._arrays import Dims
from .errors import Unsupported

if TYPE_CHECKING:
    from .layout import Shape

_MOST = 12  # rows and columns of a box that are drawn
_HEIGHT, _GAP = 22, 8
_STYLE = ("text{font:12px monospace;fill:#222;text-anchor:middle}.element{fill:#e3f1f4}"
          ".padding{fill:#c9c9c9}.box{fill:none;stroke:#06768d}")


def draw(shape: Shape) -> str:
    """An SVG document. Of longer dimensions the first 12 rows and columns are drawn."""
    width = 16 + 8 * max(1, sum(len(str(n - 1)) + 1 for n in shape.dims))
    try:
        dims = shape.physical_dims
    except Unsupported:  # it has strides
        dims = (shape.slots,)
    parts: list[str] = []
    right, bottom = _draw_box(shape, dims, 0, (_GAP, _GAP + 16), width, parts)
    title = f'<text style="text-anchor:start" x="{_GAP}" y="16">{shape}</text>'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(right, 8 * len(str(shape))) + _GAP}"'
            f' height="{bottom + _GAP}"><style>{_STYLE}</style>{title}{"".join(parts)}</svg>')


def _draw_box(shape: Shape, dims: Dims, first: int, corner: tuple[int, int], width: int,
              parts: list[str]) -> tuple[int, int]:
    """Draws the slots from `first` on that these dimensions have; returns the far corner."""
    if not dims:
        return _draw_slot(shape, first, corner, width, parts)
    outer, inner = (dims[:1], dims[1:]) if len(dims) % 2 else (dims[:2], dims[2:])
    rows, columns = outer if len(outer) == 2 else (outer[0], 1) if inner else (1, outer[0])
    size = math.prod(inner)
    x, y = right, bottom = corner
    for row in range(min(rows, _MOST)):
        x = corner[0]
        for column in range(min(columns, _MOST)):
            at = first + (row * columns + column) * size
            x, low = _draw_box(shape, inner, at, (x + 2 * bool(inner), y + 2 * bool(inner)), width, parts)
            right, bottom = max(right, x), max(bottom, low)
        y = bottom
    if rows > _MOST or columns > _MOST:
        parts.append(f'<text x="{right + 10}" y="{bottom}">…</text>')
    parts.append(f'<rect class="box" x="{corner[0]}" y="{corner[1]}" '
                 f'width="{right - corner[0]}" height="{bottom - corner[1]}"/>')
    return right, bottom


def _draw_slot(shape: Shape, slot: int, corner: tuple[int, int], width: int,
               parts: list[str]) -> tuple[int, int]:
    x, y = corner
    index = shape.index(slot) if slot < shape.slots else None
    kind, label = ("padding", "·") if index is None else ("element", ",".join(map(str, index)))
    parts.append(f'<rect class="{kind}" x="{x + 1}" y="{y + 1}" width="{width - 2}" '
                 f'height="{_HEIGHT - 2}"/><text x="{x + width // 2}" y="{y + 15}">{label}</text>')
    return x + width, y + _HEIGHT
