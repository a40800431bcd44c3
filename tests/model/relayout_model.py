# SPDX-License-Identifier: Apache-2.0
"""An independent model of shapes, layouts and relayouts.

Written from the definition of the notation, not from the library: it lays an
array out by building the array. The logical array is a list of cells, a cell
being the index of an element or None for padding; padding adds cells, a tile
cuts the list into boxes and writes the boxes one after another, and the
position of a cell in the last list is its slot. No stride is ever computed for
a dense layout.

    parse(text)             -> Shape
    slots(shape)            -> how many slots the memory has
    cells(shape)            -> list: slot -> index or None     (builds the array)
    relayout(src_shape, dst_shape, perm, src_bytes, dst_prefill) -> dst bytes

The published formula, one index at a time, is the library's (rlo_index_to_linear and
back): both are compared over whole maps.

Only the standard library is needed.
"""

import functools
import itertools
import math
import re
from collections import namedtuple

from model_dtypes import ModelError, constant, storage_bits, value_bits

COMBINE = "*"
MAX_RANK = 32
MAX_TILES = 8
MAX_ELEMENT_BITS = 128

# ---------------------------------------------------------------------- shapes

# tiles: tuple of tuples of ints and COMBINE. pad: tuple or None. fill: None, a
# name, or an int (the bits). strides: tuple or None; offset only with strides.
Shape = namedtuple(
    "Shape",
    "dtype dims m2m pad fill tiles tail element_bits space strides offset",
)

_TOKEN = re.compile(
    r"(?:\s|/\*.*?\*/|//[^\n]*)*"
    r"(0x[0-9a-fA-F]+|-?[0-9]+|[A-Za-z_][A-Za-z_0-9]*|[\[\]{}(),:*])",
    re.DOTALL,
)
_BLANK = re.compile(r"(?:\s|/\*.*?\*/|//[^\n]*)*\Z", re.DOTALL)


class _Reader:
    """Tokens of a text, one after another."""

    def __init__(self, text):
        self.tokens = []
        at = 0
        while not _BLANK.match(text, at):
            match = _TOKEN.match(text, at)
            if not match:
                raise ModelError("unexpected text at %d of %r" % (at, text))
            self.tokens.append(match.group(1))
            at = match.end()
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted=None):
        token = self.peek()
        if not token or (wanted is not None and token != wanted):
            raise ModelError("expected %r, found %r" % (wanted, token))
        self.at += 1
        return token

    def integer(self):
        token = self.take()
        if not re.fullmatch(r"-?[0-9]+", token):
            raise ModelError("expected an integer, found %r" % token)
        return int(token)

    def list_until(self, end, item):
        """item {',' item} end, or just end."""
        items = []
        if self.peek() != end:
            items.append(item())
            while self.peek() == ",":
                self.take()
                items.append(item())
        self.take(end)
        return tuple(items)

    def group(self, item):
        self.take("(")
        return self.list_until(")", item)

    def one(self, item):
        values = self.group(item)
        if len(values) != 1:
            raise ModelError("expected one value, found %d" % len(values))
        return values[0]


@functools.lru_cache(maxsize=65536)
def parse(text):
    """Read the text form of an array shape; ModelError if it is not one."""
    reader = _Reader(text)
    dtype = reader.take()
    bits_by_default = storage_bits(dtype)
    reader.take("[")
    dims = reader.list_until("]", reader.integer)
    m2m, tiles, tail, element_bits, space = None, (), 1, 0, 0
    pad, fill, strides, offset = None, None, None, 0

    def tile_dim():
        if reader.peek() == COMBINE:
            return reader.take()
        return reader.integer()

    def fill_value():
        token = reader.take()
        return int(token, 16) if token.startswith("0x") else token

    if reader.peek() == "{":
        reader.take()
        m2m = []
        if re.fullmatch(r"-?[0-9]+", reader.peek()):
            m2m.append(reader.integer())
            while reader.peek() == ",":
                reader.take()
                m2m.append(reader.integer())
        m2m = tuple(m2m)
        if reader.peek() == ":":
            reader.take()
            if reader.peek() == "T":
                reader.take()
                tiles = [reader.group(tile_dim)]
                while reader.peek() == "(":
                    tiles.append(reader.group(tile_dim))
                tiles = tuple(tiles)
            if reader.peek() == "L":
                reader.take()
                tail = reader.one(reader.integer)
            if reader.peek() == "E":
                reader.take()
                element_bits = reader.one(reader.integer)
            if reader.peek() == "S":
                reader.take()
                space = reader.one(reader.integer)
            if reader.peek() == "pad":
                reader.take()
                pad = reader.group(reader.integer)
            if reader.peek() == "fill":
                reader.take()
                fill = reader.one(fill_value)
            if reader.peek() == "strides":
                reader.take()
                strides = reader.group(reader.integer)
                if reader.peek() == "offset":
                    reader.take()
                    offset = reader.one(reader.integer)
        reader.take("}")
    if reader.peek():
        raise ModelError("unexpected %r after the shape" % reader.peek())

    shape = Shape(
        dtype,
        dims,
        tuple(range(len(dims) - 1, -1, -1)) if m2m is None else m2m,
        pad,
        None if fill == "invalid" else fill,
        tiles,
        tail,
        element_bits or bits_by_default,
        space,
        strides,
        offset,
    )
    _validate(shape)
    return shape


def _validate(shape):
    rank = len(shape.dims)
    if rank > MAX_RANK or any(d < 0 for d in shape.dims):
        raise ModelError("dimensions %r" % (shape.dims,))
    if not value_bits(shape.dtype) <= shape.element_bits <= MAX_ELEMENT_BITS:
        raise ModelError("elements of %d bits" % shape.element_bits)
    if shape.strides is not None:
        if shape.m2m or len(shape.strides) != rank:
            raise ModelError("strides %r" % (shape.strides,))
        if shape.tiles or shape.pad or shape.fill or shape.tail != 1:
            raise ModelError("strides beside properties of dense layouts")
        # The arrays of a spoiled text are too large to build.
        least = shape.offset + sum(
            min(0, stride * (size - 1))
            for stride, size in zip(shape.strides, shape.dims))
        if math.prod(shape.dims) and least < 0:
            raise ModelError("strides reach below slot 0")
        return
    if sorted(shape.m2m) != list(range(rank)):
        raise ModelError("minor_to_major %r" % (shape.m2m,))
    if shape.pad is not None:
        if len(shape.pad) != rank:
            raise ModelError("pad %r" % (shape.pad,))
        if any(p < d for p, d in zip(shape.pad, shape.dims)):
            raise ModelError("pad %r below %r" % (shape.pad, shape.dims))
    if len(shape.tiles) > MAX_TILES or shape.tail < 1:
        raise ModelError("layout of %r" % (shape,))
    for tile in shape.tiles:
        if not tile or tile[-1] == COMBINE:
            raise ModelError("tile %r" % (tile,))
        if any(t != COMBINE and t < 1 for t in tile):
            raise ModelError("tile %r" % (tile,))
    fill_bits(shape)


def fill_bits(shape):
    """The bits of a slot without element, or None: such slots keep theirs."""
    if shape.fill in (None, "unknown"):
        return None
    if isinstance(shape.fill, int):
        if shape.fill >> shape.element_bits:
            raise ModelError("fill 0x%x is too wide" % shape.fill)
        return shape.fill
    if shape.fill not in ("zero", "one", "lowest", "highest"):
        raise ModelError("fill %r" % (shape.fill,))
    return constant(shape.dtype, shape.fill)


# ------------------------------------------------- the array, built and cut up


def _nest(flat, dims):
    """A row-major list as lists of lists of ... cells."""
    for size in reversed(dims[1:]):
        flat = [flat[k : k + size] for k in range(0, len(flat), size)]
    return flat


def _box(array, corner, size):
    """The cells of a box of a nested array, row-major; None where the box
    reaches over the edge."""
    first, count = corner[0], size[0]
    rows = array[first : first + count]
    if len(size) == 1:
        return rows + [None] * (count - len(rows))
    cells_of_box = []
    for row in rows:
        cells_of_box += _box(row, corner[1:], size[1:])
    missing = (count - len(rows)) * math.prod(size[1:])
    return cells_of_box + [None] * missing


def _cut_into_boxes(flat, dims, tile):
    """Apply one tile to a row-major list of cells with dimensions dims."""
    dims = [1] * (len(tile) - len(dims)) + list(dims)
    prefix, suffix = dims[: -len(tile)], dims[-len(tile) :]
    # `*`: this dimension and the next one become one; row-major order of the
    # cells does not change by that.
    extents, sizes = [], []
    carried = 1
    for extent, size in zip(suffix, tile):
        carried *= extent
        if size != COMBINE:
            extents.append(carried)
            sizes.append(size)
            carried = 1
    grid = [-(-extent // size) for extent, size in zip(extents, sizes)]
    corners = list(
        itertools.product(
            *(range(0, n * size, size) for n, size in zip(grid, sizes))
        )
    )
    block = math.prod(extents)
    out = []
    for start in range(0, len(flat), block):
        array = _nest(flat[start : start + block], extents)
        for corner in corners:
            out += _box(array, corner, sizes)
    return out, prefix + grid + sizes


@functools.lru_cache(maxsize=256)
def cells(shape):
    """slot -> index of the element there, or None. A list; do not change it.
    Dense layouts, and strided ones whose elements have slots of their own."""
    if shape.strides is not None:
        out = [None] * slots(shape)
        for index, slot in zip(indices(shape), _strided_slots(shape)):
            if out[slot] is not None:
                raise ModelError("elements share slot %d" % slot)
            out[slot] = index
        return out
    widths = shape.dims if shape.pad is None else shape.pad
    if math.prod(widths) == 0:
        return []
    major_to_minor = shape.m2m[::-1]
    physical = [widths[k] for k in major_to_minor]
    position_of = [major_to_minor.index(k) for k in range(len(widths))]
    flat = []
    for coordinates in itertools.product(*map(range, physical)):
        index = tuple([coordinates[p] for p in position_of])
        inside = all(c < d for c, d in zip(index, shape.dims))
        flat.append(index if inside else None)
    for tile in shape.tiles:
        flat, physical = _cut_into_boxes(flat, physical, tile)
    flat += [None] * (-len(flat) % shape.tail)
    return flat


def indices(shape):
    """Every index, the last dimension fastest."""
    return itertools.product(*map(range, shape.dims))


def _strided_slots(shape):
    return [
        shape.offset + sum(i * s for i, s in zip(index, shape.strides))
        for index in indices(shape)
    ]


def slot_map(shape):
    """dict: index -> slot, elements only."""
    if shape.strides is not None:
        return dict(zip(indices(shape), _strided_slots(shape)))
    return {
        index: slot
        for slot, index in enumerate(cells(shape))
        if index is not None
    }


# ------------------------------------------------------------------------ sizes


def _physical(shape):
    widths = shape.dims if shape.pad is None else shape.pad
    return [widths[k] for k in reversed(shape.m2m)]


def _tile_dims(dims, tile):
    """dims after rank extension and `*`, and the tile without its `*`."""
    dims = [1] * (len(tile) - len(dims)) + list(dims)
    tile = list(tile)
    while COMBINE in tile:
        at = tile.index(COMBINE)
        where = len(dims) - len(tile) + at
        dims[where : where + 2] = [dims[where] * dims[where + 1]]
        del tile[at]
    return dims, tile


def slots(shape):
    """How many slots a shape's memory has, padding and tail included."""
    if shape.strides is not None:
        if math.prod(shape.dims) == 0:
            return 0
        return 1 + max(_strided_slots(shape))
    dims = _physical(shape)
    for tile in shape.tiles:
        dims, tile = _tile_dims(dims, tile)
        kept = dims[: len(dims) - len(tile)]
        dims = kept + [-(-d // t) for d, t in zip(dims[len(kept) :], tile)] + tile
    count = math.prod(dims)
    return count + -count % shape.tail


def physical_bytes(shape):
    return (slots(shape) * shape.element_bits + 7) // 8


# -------------------------------------------------------------------- relayout


def _split_elements(data, bits, count):
    """The first `count` elements of a memory, each as something movable."""
    if bits % 8 == 0:
        size = bits // 8
        return [data[k : k + size] for k in range(0, count * size, size)]
    # Element k is bits [k * bits, (k + 1) * bits) of the bytes read as one
    # little-endian number. A text of binary digits has them in reverse.
    digits = format(int.from_bytes(data, "little"), "0%db" % (8 * len(data)))
    digits = digits[::-1]
    return [digits[k : k + bits] for k in range(0, count * bits, bits)]


def _element_of_bits(value, bits):
    if bits % 8 == 0:
        return value.to_bytes(bits // 8, "little")
    return format(value, "0%db" % bits)[::-1]


def _join_elements(elements, bits, behind):
    """The inverse of _split_elements; `behind` is what the memory held, whose
    bits after the last element stay."""
    if bits % 8 == 0:
        return b"".join(elements)
    digits = "".join(elements)
    old = format(int.from_bytes(behind, "little"), "0%db" % (8 * len(behind)))
    digits += old[::-1][len(digits) :]
    if not digits:
        return b""
    return int(digits[::-1], 2).to_bytes(len(behind), "little")


def moves(src, dst, perm):
    """dst slot -> src slot, for the slots that hold an element."""
    if sorted(perm) != list(range(len(src.dims))):
        raise ModelError("permutation %r" % (perm,))
    if dst.dims != tuple(src.dims[p] for p in perm):
        raise ModelError("%r permuted is not %r" % (src.dims, dst.dims))
    if src.dtype != dst.dtype or src.element_bits != dst.element_bits:
        raise ModelError("element types differ")
    # Destination dimension k is source dimension perm[k].
    place = [perm.index(m) for m in range(len(perm))]
    source_slot = slot_map(src)
    return {
        slot: source_slot[tuple([i[k] for k in place])]
        for slot, i in enumerate(cells(dst))
        if i is not None
    }


def relayout(src, dst, perm, src_bytes, dst_prefill):
    """What the destination's memory holds afterwards.

    dst[i] = src[j] with j[perm[k]] = i[k] (NumPy's transpose). A slot of a
    dense destination that holds no element takes the destination's fill, or
    stays as it was where the fill is unknown or not given. A strided
    destination is written at its elements only.
    """
    bits = dst.element_bits
    if len(src_bytes) != physical_bytes(src):
        raise ModelError("source of %d bytes" % len(src_bytes))
    if len(dst_prefill) != physical_bytes(dst):
        raise ModelError("destination of %d bytes" % len(dst_prefill))
    count = slots(dst)
    out = _split_elements(dst_prefill, bits, count)
    fill = None if dst.strides is not None else fill_bits(dst)
    if fill is not None:
        out = [_element_of_bits(fill, bits)] * count
    source = _split_elements(src_bytes, bits, slots(src))
    for to, origin in moves(src, dst, perm).items():
        out[to] = source[origin]
    return _join_elements(out, bits, dst_prefill)
