# SPDX-License-Identifier: Apache-2.0
"""Layouts: what they mean, how they look, and arrays that have one.

A shape is written as in XLA, ``f32[64,100]{1,0:T(8,128)}``; docs/shapes.md has the notation.
"""

from __future__ import annotations

from ctypes import byref, c_bool, c_int32, c_int64
from typing import Any, NamedTuple, Sequence

import numpy as np

from . import _c
from ._arrays import Array, Dims, native, numpy_type, take, type_name
from ._moves import Problem, Step, count_cpus, lower
from .errors import ArgumentError
from .ops import digest_of


class _Text:
    """What a text is all of."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(self.text)


class Shape(_Text):
    """An element type, dimensions and a layout, as one text.

    Attributes:
        text, dtype, dims, layout: of "f32[6,10]{1,0:T(2,4)}" all of it, "f32", (6, 10), and the
            part in braces.
        elements, slots: how many elements there are, and how many of them with padding.
        bytes, physical_bytes: those of the elements, and those of the memory.

    Examples:
        >>> shape = Shape("float32[6,10]{1,0:T(2,4)}")
        >>> shape
        Shape('f32[6,10]{1,0:T(2,4)}')
        >>> shape.dims, shape.bytes, shape.physical_bytes
        ((6, 10), 240, 288)
        >>> shape.slot((1, 2)), shape.index(6), shape.index(18)
        (6, (1, 2), None)
    """

    def __init__(self, text: str) -> None:
        self._shape = _c.parsed(str(text))
        self.text = _c.formatted(_c.shape_format, byref(self._shape))
        self.dtype = self.text.partition("[")[0]
        self.dims: Dims = tuple(self._shape.dims[:self._shape.rank])
        self.layout = Layout("{" + (self.text.partition("{")[2] or "}"))
        extent = _c.ShapeExtent()
        _c.shape_measure(byref(self._shape), byref(extent))
        self.elements: int = extent.elements
        self.slots: int = extent.slots
        self.bytes: int = extent.bytes
        self.physical_bytes: int = extent.physical_bytes

    @property
    def physical_dims(self) -> Dims:
        """The dimensions in memory, the slowest first: order, padding and tiles are applied."""
        room, count = (c_int64 * 64)(), c_int32()
        _c.shape_physical_dims(byref(self._shape), room, 64, byref(count))
        return tuple(room[:count.value])

    def slot(self, index: Sequence[int]) -> int:
        """The slot of an element, counted from 0."""
        slot = c_int64()
        if len(index) != len(self.dims):
            raise ArgumentError(f"the index has {len(index)} numbers, and the shape {len(self.dims)}")
        _c.index_to_linear(byref(self._shape), _c.int64s(index), byref(slot))
        return slot.value

    def index(self, slot: int) -> Dims | None:
        """The index of the element in a slot; None for padding."""
        index, is_element = (c_int64 * _c.MAX_RANK)(), c_bool()
        _c.index_from_linear(byref(self._shape), slot, index, byref(is_element))
        return tuple(index[:len(self.dims)]) if is_element.value else None

    def _repr_svg_(self) -> str:
        from .picture import draw
        return draw(self)


class Layout(_Text):
    """The order, padding and tiles of an array, of any type and dimensions that suit them.

    Examples:
        >>> Layout("{1,0:T(8,128)}").on("f32", (64, 100)).physical_bytes
        32768
    """

    def __init__(self, text: str) -> None:
        self.text = str(text)
        if not self.text.startswith("{"):
            raise ArgumentError(f"{self.text!r} is no layout such as {{1,0:T(8,128)}}")

    def on(self, dtype: Any, dims: Sequence[int]) -> Shape:
        """The shape of an array that has this layout."""
        text = self.text if dims else self.text.replace("{}", "")  # a scalar's
        return Shape(f"{type_name(dtype)}[{','.join(map(str, dims))}]{text}")


class LaidOut:
    """An array in a layout: its shape and its bytes. `numpy.asarray` and `relayout` read it back.

    Attributes:
        shape: the `Shape`.
        memory: the bytes, a NumPy array of uint8 and of dims (shape.physical_bytes,). Slots
            without an element that the layout does not fill are 0.
    """

    def __init__(self, shape: Shape, memory: Any = None) -> None:
        self.shape = shape
        self.memory = np.zeros(shape.physical_bytes, np.uint8) if memory is None else memory
        if self.memory.nbytes != shape.physical_bytes or not self.memory.flags.c_contiguous:
            raise ArgumentError(f"{shape} has {shape.physical_bytes} bytes and the memory "
                                f"{self.memory.nbytes}, which have no gaps")

    @property
    def shape_text(self) -> str:
        """The text of the shape."""
        return self.shape.text

    @property
    def bytes(self) -> bytes:
        """A copy of the bytes."""
        return bytes(self.memory.data)

    def digest(self, threads: int | None = None) -> str:
        """The digest of the array, which any layout of it has."""
        return digest_of(self.shape.text, self.memory.ctypes.data, threads)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("the elements of a layout are read by a copy")
        array = np.empty(self.shape.dims, numpy_type(self.shape.dtype))
        _relayout(_taken(self), take(array), None, None)
        return array if dtype is None else array.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"<LaidOut {self.shape}>"

    def _repr_svg_(self) -> str:
        return self.shape._repr_svg_()


def relayout(x: Any, to: Any, *, perm: Sequence[int] | None = None,
             threads: int | None = None) -> LaidOut:
    """Brings an array into a layout, its dimensions permuted on request.

    Args:
        x: an array, or a `LaidOut`. An array of NumPy in the other byte order is brought into
            that of the machine.
        to: a `Layout`, a `Shape`, or the text of one.
        perm: as `transpose` takes it; the dims of the result are then those of the transpose.

    Examples:
        >>> y = relayout(np.arange(6, dtype="u1").reshape(2, 3), "{0,1:pad(3,3)fill(0x2e)}")
        >>> y.shape_text, y.bytes
        ('u8[2,3]{0,1:pad(3,3)fill(0x2e)}', b'\\x00\\x03.\\x01\\x04.\\x02\\x05.')
        >>> np.asarray(y)
        array([[0, 1, 2],
               [3, 4, 5]], dtype=uint8)
    """
    source = _taken(native(x))
    result = LaidOut(end_of(source.dtype, source.dims, to, perm))
    _relayout(source, _taken(result), perm, threads)
    return result


def _relayout(source: Array, to: Array, perm: Sequence[int] | None, threads: int | None) -> None:
    steps: list[Step] = [] if perm is None else [("transpose", tuple(perm))]
    lower((source.text,), tuple(steps), to.text).run([source], to, threads or count_cpus())


def _taken(x: Any) -> Array:
    if not isinstance(x, LaidOut):
        return take(x)
    shape = x.shape
    return Array(shape.text, shape.dtype, shape.dims, x.memory.ctypes.data, x, x.memory)


class Explanation(NamedTuple):
    """How a relayout is seen and run; `str` prints it for people."""

    source: str
    destination: str
    problem: str  # as written
    canonical: str  # as it runs
    place: str  # where the library would run it, and why
    source_bytes: int
    destination_bytes: int

    def __str__(self) -> str:
        return (f"source       {self.source}\ndestination  {self.destination}\n"
                f"bytes        {self.source_bytes} read, {self.destination_bytes} written at most\n"
                f"runs on      {self.place}\n\n"
                f"problem as written\n{self.problem}\ncanonical problem\n{self.canonical}").rstrip()


_PLACES = ("the host, which has moved so few bytes before a device is opened",
           "the host; a device, where one is asked for, can run it too",
           "the host alone: devices refuse it")


def explain(source: Any, destination: Any, *, perm: Sequence[int] | None = None) -> Explanation:
    """Says how the library sees a relayout. Nothing runs, and no device is opened;
    `Plan.info` tells what a device would do.

    Args:
        source: a shape, its text, or an array.
        destination: the same, or a layout.

    Examples:
        >>> print(explain("f32[3,5]", "f32[3,5]{0,1}").canonical)
        unit 32 bits, box a0:5 x a1:3
        src = a0 + 5*a1
        dst = 3*a0 + a1
    """
    begin = shape_of(source)
    end = end_of(begin.dtype, begin.dims, destination, perm)
    problem = Problem(begin.text, end.text, perm)
    handle = problem.handle
    written = _c.formatted(_c.problem_format, handle)
    place = _PLACES[_c.place_choose(handle)]
    sizes = _c.problem_src_bytes(handle), _c.problem_dst_bytes(handle)
    _c.problem_canonicalize(handle, 128, None, None)
    canonical = _c.formatted(_c.problem_format, handle)
    return Explanation(begin.text, end.text, written, canonical.rstrip("\n"), place, *sizes)


def end_of(dtype: str, dims: Sequence[int], to: Any, perm: Sequence[int] | None) -> Shape:
    """The shape of a relayout's result, of which `to` may be the layout alone."""
    if isinstance(to, Layout) or isinstance(to, str) and to.startswith("{"):
        return Layout(str(to)).on(dtype, dims if perm is None else [dims[k] for k in perm])
    return shape_of(to)


def shape_of(x: Any) -> Shape:
    """The shape of a text, of a shape, of what has one, or of an array."""
    if isinstance(x, Shape):
        return x
    if isinstance(x, str):
        return Shape(x)
    return x.shape if isinstance(x, LaidOut) else Shape(take(x).text)


def show(x: Any) -> Shape:
    """The shape of an array, or of a text; a notebook shows its memory as a picture.

    `show(x)._repr_svg_()` is the picture, an SVG document.
    """
    return shape_of(x)
