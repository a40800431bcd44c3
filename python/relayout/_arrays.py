# SPDX-License-Identifier: Apache-2.0
"""Arrays of users: what comes in, and what goes out.

An array comes in by NumPy's interface or by DLPack and is then a text, which says type,
dimensions and layout, and an address. What goes out is of the kind that came in.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_char_p, c_int, c_void_p, py_object, pythonapi
from functools import lru_cache
from typing import Any, NamedTuple, Sequence

import numpy as np

from . import _c
from .errors import ArgumentError, NotFound, Unsupported

Dims = tuple[int, ...]


class Array(NamedTuple):
    """An array's shape and memory."""

    text: str  # "f32[3,4]{:strides(1,3)}"
    dtype: str  # "f32"
    dims: Dims
    address: int  # of slot 0
    owner: Any  # the object that the user has; it keeps the memory
    lender: Any  # what else does


# ------------------------------------------------------------------- types

@lru_cache(maxsize=None)
def type_name(dtype: Any) -> str:
    """The library's name of a type: of one of NumPy, ml_dtypes or torch, or of its name."""
    name = str(dtype).rpartition(".")[2] if _is_a(dtype, "torch", "dtype") else dtype
    if not isinstance(name, str):
        kind = np.dtype(dtype)
        name = "s64" if kind.kind in "mM" else kind.name  # times move as their integers
    try:
        return str(_c.dtype_name(type_code(name)), "ascii")
    except NotFound as error:
        raise Unsupported(error.message) from None


@lru_cache(maxsize=None)
def type_code(name: str) -> int:
    """The number of a type; NotFound for a name that neither the library nor NumPy has."""
    code = c_int()
    try:
        _c.dtype_from_name(name.encode(), ctypes.byref(code))
    except NotFound as error:
        try:
            full = np.dtype(name).name
        except TypeError:
            raise error from None
        if full == name:
            raise
        return type_code(full)
    return code.value


@lru_cache(maxsize=None)
def type_bits(name: str) -> int:
    """The bits of an element in memory."""
    return int(_c.dtype_storage_bits(type_code(name)))


@lru_cache(maxsize=None)
def numpy_name(name: str) -> str:
    """The name in NumPy, ml_dtypes and torch."""
    return str(_c.dtype_numpy_name(type_code(name)), "ascii")


@lru_cache(maxsize=None)
def numpy_type(name: str) -> np.dtype[Any]:
    """NumPy's type, which ml_dtypes adds where it is installed."""
    full = numpy_name(name)
    try:
        return np.dtype(full)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        raise Unsupported(f"NumPy has no type {full}; ml_dtypes, which has, is not installed") from None
    kind: np.dtype[Any] = np.dtype(getattr(ml_dtypes, full))
    return kind


def _is_a(x: Any, package: str, kind: str) -> bool:
    """Tells if something is of a class of a package, which is not imported for that."""
    module = sys.modules.get(package)
    return module is not None and isinstance(x, getattr(module, kind))


def native(x: Any) -> Any:
    """An array of NumPy in the machine's byte order; others as they are."""
    is_swapped = isinstance(x, np.ndarray) and not x.dtype.isnative
    return x.astype(x.dtype.newbyteorder("=")) if is_swapped else x


def row_major(rank: int) -> str:
    """The layout of a C-contiguous array."""
    return "{%s}" % ",".join(map(str, reversed(range(rank))))


# ---------------------------------------------------------------------- in

def take(x: Any) -> Array:
    """Describes an array; raises Unsupported for a type or a device that is none of ours."""
    if type(x) is np.ndarray:
        return _take_numpy(x, x)
    if isinstance(x, np.ma.MaskedArray):
        raise Unsupported("a masked array has a mask, which would be lost; give its data")
    if not _is_a(x, "jax", "Array") and not hasattr(x, "__array_interface__") and hasattr(x, "__dlpack__"):
        return _take_dlpack(x)
    return _take_numpy(np.asarray(x), x)


def take_writable(x: Any) -> Array:
    """Describes the array that a caller gives for the result."""
    array = take(x)
    if isinstance(array.lender, np.ndarray):
        if not hasattr(x, "__array_interface__") or (
                array.lender.size > 0 and not np.may_share_memory(array.lender, x)):
            raise ArgumentError(f"a {type(x).__name__} cannot hold the result: its memory cannot be reached")
        if not array.lender.flags.writeable:
            raise ArgumentError("the array for the result is read-only")
    elif _view(array.lender).is_read_only:
        raise ArgumentError("the array for the result is read-only")
    return array


def _take_numpy(array: np.ndarray[Any, Any], owner: Any) -> Array:
    dtype = array.dtype
    name = type_name(dtype)
    if not array.flags.c_contiguous and any(stride % dtype.itemsize for stride in array.strides):
        array = array.copy()  # a field of records, whose strides are no whole elements
    if array.flags.c_contiguous:
        text, lowest = f"{name}[{','.join(map(str, array.shape))}]", 0
    else:
        text, lowest = strided_text(name, array.shape, array.strides, dtype.itemsize)
    address: int = array.__array_interface__["data"][0]
    return Array(text, name, array.shape, address + lowest, owner, array)


def strided_text(name: str, dims: Dims, strides: Dims, itemsize: int) -> tuple[str, int]:
    """The text of an array with strides in bytes, and where slot 0 lies from its first element:
    0, or below it where strides are negative."""
    text = f"{name}[{','.join(map(str, dims))}]"
    if 0 in dims or not dims:
        return text, 0
    steps = [stride // itemsize for stride in strides]
    lowest = sum((n - 1) * step for n, step in zip(dims, steps) if step < 0)
    text += f"{{:strides({','.join(map(str, steps))})offset({-lowest})}}"
    return text, lowest * itemsize


class _Import:
    """A tensor that DLPack lends."""

    def __init__(self, capsule: object) -> None:
        name = _capsule_name(capsule)
        load = _c.dlpack_import_create_versioned if name.endswith(b"versioned") else _c.dlpack_import_create
        self.handle = _c.Handle(_c.dlpack_import_release, load, _capsule_pointer(capsule, name), -1)
        _capsule_rename(capsule, _USED[name])


def _view(lender: _Import) -> Any:
    return _c.DlpackView.from_address(_c.dlpack_import_view(lender.handle))


_USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}


def _python(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(pythonapi, name)
    prototype = ctypes.PYFUNCTYPE(result, *arguments)
    return prototype(ctypes.cast(function, c_void_p).value or 0)


_capsule_name = _python("PyCapsule_GetName", c_char_p, py_object)
_capsule_pointer = _python("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
_capsule_rename = _python("PyCapsule_SetName", c_int, py_object, c_char_p)


def _take_dlpack(x: Any) -> Array:
    device = int(x.__dlpack_device__()[0])
    if device != 1:
        raise Unsupported(f"the array is on device type {device} of DLPack; the CPU is 1")
    try:
        capsule = x.__dlpack__(max_version=(1, 1))
    except TypeError:  # of a producer that knows no versions
        capsule = x.__dlpack__()
    lender = _Import(capsule)
    view = _view(lender)
    text = _c.formatted(_c.shape_format, ctypes.byref(view.shape))
    dims = tuple(view.shape.dims[:view.shape.rank])
    address = (view.data or 0) + view.offset_bytes
    return Array(text, text.partition("[")[0], dims, address, x, lender)


# --------------------------------------------------------------------- out

def make(like: Array, dims: Sequence[int], dtype: str | None = None) -> Array:
    """A new C-contiguous array of the kind of `like`, and of its very type unless one is named."""
    dims = tuple(dims)
    if _is_a(like.owner, "torch", "Tensor"):
        torch = sys.modules["torch"]
        kind = like.owner.dtype if dtype is None else getattr(torch, numpy_name(dtype), None)
        if kind is None:
            raise Unsupported(f"torch has no type {numpy_name(dtype or '')}")
        return _take_dlpack(torch.empty(dims, dtype=kind))
    if dtype is None and isinstance(like.lender, np.ndarray):
        numpy_kind = like.lender.dtype
    else:
        numpy_kind = numpy_type(dtype or like.dtype)
    array = np.empty(dims, numpy_kind)
    return _take_numpy(array, _ForJax(array) if _is_a(like.owner, "jax", "Array") else array)


class _ForJax(NamedTuple):
    """A result that jax is to have."""

    array: np.ndarray[Any, Any]


def give(array: Array) -> Any:
    """The user's object of a result."""
    if isinstance(array.owner, _ForJax):
        return sys.modules["jax"].numpy.asarray(array.owner.array)
    return array.owner
