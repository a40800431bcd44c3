# SPDX-License-Identifier: Apache-2.0
"""Arrays in memory: one movement each, on the host, by all cores.

An array that comes in has `__array_interface__` (NumPy and all that follows it) or
`__dlpack__` on the CPU (torch, with bfloat16 and float8). It has any strides, negative and zero
ones too, and either byte order. Records and objects are refused. The result is a new
C-contiguous array of the same kind, or `out`, which has any strides. Where `out` overlaps the
array, that is copied first.

Threads: every function may be called by several threads at once; the GIL is free while bytes
move. `threads` is the number of threads that one call uses: None, one for each MiB, as many at
most as the process has processors. They end with the call, so that the process may fork
afterwards. Ctrl-C ends what takes long and raises KeyboardInterrupt; `out` is then undefined.
"""

from __future__ import annotations

from ctypes import byref, create_string_buffer
from typing import Any, Callable, Sequence

import numpy as np

from . import _c
from ._arrays import Array, Dims, native, row_major, take, type_bits, type_name
from ._moves import Step, count_cpus, lower, move, physical_bytes
from .errors import ArgumentError, Unsupported
from ._rearrange import compile_pattern

# NumPy moves what is smaller in less time than it takes to say what is to be moved.
SMALL_BYTES = 32 << 10
_DIGEST_PART_BYTES = 8 << 20


def transpose(x: Any, axes: Sequence[int] | None = None, *, out: Any = None,
              threads: int | None = None) -> Any:
    """Permutes the dimensions: the result has dims ``[x.shape[k] for k in axes]``, as
    `numpy.transpose` has, and is in that order in memory.

    Args:
        x: an array of any type and strides. A `pyopencl.array.Array` is transposed on its queue.
        axes: a permutation, -1 the last; None reverses the dimensions.
        out: an array of the result's dims and type, of any strides.

    Examples:
        >>> transpose(np.arange(6).reshape(2, 3))
        array([[0, 3],
               [1, 4],
               [2, 5]])
    """
    if type(x).__module__ == "pyopencl.array":
        from .opencl import transpose_array
        return transpose_array(x, axes, out)
    small = _moved_by_numpy(x, out, lambda a: a.transpose(axes))
    if small is not None:
        return small
    array = take(x)
    order = tuple(range(len(array.dims)))[::-1] if axes is None else tuple(map(int, axes))
    return move([array], [("transpose", order)], out, threads)


def contiguous(x: Any, *, out: Any = None, threads: int | None = None) -> Any:
    """A C-contiguous array of the same elements: `x` itself where it is one and there is no
    `out`, as for `numpy.ascontiguousarray` and torch's `contiguous`. Dims and type are x's.

    Examples:
        >>> contiguous(np.arange(6)[::-2])
        array([5, 3, 1])
    """
    if out is None and type(x) is np.ndarray and x.flags.c_contiguous and type_name(x.dtype):
        return x
    small = _moved_by_numpy(x, out, lambda a: a)
    if small is not None:
        return small
    array = take(x)
    if out is None and "{" not in array.text.replace(row_major(len(array.dims)), ""):
        return x
    return move([array], [], out, threads)


def rearrange(x: Any, pattern: str, *, out: Any = None, threads: int | None = None,
              **axes_lengths: int) -> Any:
    """Reorders, splits and merges dimensions by einops' notation, as one movement.

    Args:
        x: an array, or a sequence of arrays of equal dims and type, which are stacked: their
            number is the first dimension.
        pattern: what `einops.rearrange` takes.
        axes_lengths: the sizes of axes that the pattern splits.

    Examples:
        >>> rearrange(np.arange(8), "(h r) -> r h", r=2)
        array([[0, 2, 4, 6],
               [1, 3, 5, 7]])
    """
    sizes = tuple(axes_lengths.items())
    if isinstance(x, (list, tuple)):
        arrays = [take(each) for each in x]
        if not arrays:
            raise ArgumentError("there is no array to rearrange")
        steps: list[Step] = [("stack", 0)]
        dims: Dims = (len(arrays), *arrays[0].dims)
    else:
        arrays, steps, dims = [take(x)], [], take(x).dims
    recipe = compile_pattern(pattern, dims, sizes)
    small = _moved_by_numpy(
        x, out, lambda a: a.reshape(recipe.split).transpose(recipe.order).reshape(recipe.dims))
    if small is not None:
        return small
    steps += [("reshape", recipe.split), ("transpose", recipe.order), ("reshape", recipe.dims)]
    return move(arrays, steps, out, threads)


def pad(x: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0,
        out: Any = None, threads: int | None = None) -> Any:
    """Continues an array beyond its edges: dims ``[low + n + high]``, x's type.

    Args:
        pad_width: an int, (low, high), or that for each dimension, as `numpy.pad` takes them.
            With mode "constant" negative ones remove elements.
        mode: "constant", "reflect", "symmetric" or "edge", as for `numpy.pad`. A reflection is
            not longer than the dimension.
        constant_values: one number, rounded to x's type.

    Examples:
        >>> pad(np.array([1, 2, 3]), (1, 2), constant_values=9)
        array([9, 1, 2, 3, 9, 9])
    """
    array = take(x)
    widths = np.broadcast_to(np.asarray(pad_width, np.int64), (len(array.dims), 2))
    low, high = tuple(widths[:, 0].tolist()), tuple(widths[:, 1].tolist())
    if mode == "constant":
        step: Step = ("pad", low, high, _bits_of(constant_values, array))
    elif mode in _MIRRORS:
        step = ("mirror", low, high, _MIRRORS.index(mode))
    else:
        raise ArgumentError(f"{mode!r} is no mode of pad: constant, {', '.join(_MIRRORS)}")
    return move([array], [step], out, threads)


_MIRRORS = ("reflect", "symmetric", "edge")


def cast(x: Any, dtype: Any, *, out: Any = None, threads: int | None = None) -> Any:
    """Converts the elements, each rounded once, to nearest even. Floats become integers towards
    zero, limited to the type's range, and NaN becomes 0.

    Args:
        dtype: one of NumPy, ml_dtypes or torch, or a name: "bf16", "float8_e4m3fn".

    Examples:
        >>> cast(np.array([1.5, -2.5, 300.0]), "s8")
        array([  1,  -2, 127], dtype=int8)
    """
    name = type_name(dtype)
    return move([take(native(x))], [("convert", name)], out, threads, dtype=name)


def concat(arrays: Sequence[Any], axis: int = 0, *, out: Any = None,
           threads: int | None = None) -> Any:
    """Joins arrays of one type along a dimension; their other dimensions are equal. The result
    is of the first one's kind.

    Examples:
        >>> concat([np.array([[1, 2]]), np.array([[3, 4]])], axis=1)
        array([[1, 2, 3, 4]])
    """
    taken = [take(each) for each in arrays]
    if not taken:
        raise ArgumentError("there is no array to concatenate")
    if len({_is_swapped(each) for each in taken}) > 1:
        raise Unsupported("the arrays have different byte orders")
    return move(taken, [("concat", axis)], out, threads)


def digest(x: Any, *, threads: int | None = None) -> str:
    """128 bits, as 32 hexadecimal digits, that depend on type, dims and elements of an array and
    not on its layout. `relayout digest` prints the same of a file. It is no cryptography.

    Args:
        x: an array, or what `convert` reads: the path of a file, which is read in pieces.

    Examples:
        >>> x = np.arange(6).reshape(2, 3)
        >>> digest(x) == digest(np.asfortranarray(x))
        True
    """
    from .files import digest_of_source, is_source
    if is_source(x):
        return digest_of_source(x, threads)
    array = take(native(x))
    return digest_of(array.text, array.address, threads)


def digest_of(text: str, address: int, threads: int | None) -> str:
    """The digest of memory with a layout."""
    shape = _c.parsed(text)
    size = physical_bytes(text)

    def add(offset: int) -> _c.Digest:
        part = _c.Digest()
        count = min(_DIGEST_PART_BYTES, size - offset)
        _c.digest_add(byref(shape), offset, address + offset, count, byref(part))
        return part

    from concurrent.futures import ThreadPoolExecutor
    total = _c.Digest()
    with ThreadPoolExecutor(threads or count_cpus()) as pool:
        run: Callable[..., Any] = map if size <= _DIGEST_PART_BYTES else pool.map
        for part in run(add, range(0, size, _DIGEST_PART_BYTES)):
            _c.digest_join(byref(total), byref(part))
    _c.digest_finish(byref(shape), byref(total), byref(total))
    return f"{total.high:016x}{total.low:016x}"


def _is_swapped(array: Array) -> bool:
    return isinstance(array.lender, np.ndarray) and not array.lender.dtype.isnative


def _moved_by_numpy(x: Any, out: Any, view: Callable[[Any], Any]) -> Any:
    """What NumPy makes of a small array of its own; None if it is none, or NumPy refuses."""
    if type(x) is not np.ndarray or x.nbytes >= SMALL_BYTES or out is not None:
        return None
    type_name(x.dtype)
    try:
        return np.array(view(x), order="C", copy=True)
    except ValueError:
        return None  # the library says why


def _bits_of(value: Any, like: Array) -> bytes:
    """The bits of a number in the type of an array, in its byte order."""
    if isinstance(like.lender, np.ndarray) and like.lender.dtype.kind in "mM":
        return np.asarray(value, like.lender.dtype).tobytes()
    number = np.asarray(value)
    wide = np.asarray(number, {"b": "i8", "i": "i8", "u": "u8", "f": "f8", "c": "c16"}.get(
        number.dtype.kind, "f8"))
    bits = create_string_buffer(max(1, type_bits(like.dtype) // 8))
    source = take(wide)
    movement = lower((source.text,), (("convert", like.dtype),), None)
    for problem, *_ in movement.problems:
        _c.run_host(problem, source.address, None, bits, 1)
    if _is_swapped(like):
        native = like.lender.dtype.newbyteorder("=")
        return np.frombuffer(bits.raw, native).byteswap().tobytes()
    return bits.raw

