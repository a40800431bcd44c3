# SPDX-License-Identifier: Apache-2.0
"""The C library: its functions, its structs, and its failures as exceptions.

The headers, which are in the package, say what there is: `shape_parse` is `rlo_shape_parse` and
`JobInfo` is `rlo_job_info`, each made when it is first asked for. Pointers are `c_void_p`: pass
structs by `byref`. A function that returns a status to be checked raises what it says and
returns None. ctypes drops the GIL in every call.
"""

from __future__ import annotations

import ctypes
import os
import re
from ctypes import (CFUNCTYPE, Structure, byref, c_bool, c_char_p, c_double, c_int, c_int32,
                    c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p)
from functools import lru_cache
from typing import Any, Callable, Sequence

from . import errors

_FOLDER = os.path.dirname(__file__)


def _open_library(name: str) -> ctypes.CDLL:
    """The library beside $RELAYOUT_LIBRARY, else the one in the package, else the system's."""
    file = f"lib{name}.so.0.1"
    folder, base = os.path.split(os.environ.get("RELAYOUT_LIBRARY", ""))
    if base:
        return ctypes.CDLL(os.path.join(folder, base.replace("librelayout", f"lib{name}")))
    inside = os.path.join(_FOLDER, "lib", file)
    return ctypes.CDLL(inside if os.path.exists(inside) else file)


_library = _open_library("relayout")


# --------------------------------------------------------------- declarations

def _read_headers() -> str:
    inside = os.path.join(_FOLDER, "include", "relayout")
    folder = inside if os.path.isdir(inside) else os.path.join(_FOLDER, "../../include/relayout")
    texts = []
    for name in os.listdir(folder):
        if name.endswith(".h"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                texts.append(file.read())
    return "".join(texts)


_HEADERS = _read_headers()
_FUNCTIONS = {found[3]: found for found in re.finditer(
    r"\nRLO_API\s+(RLO_NODISCARD\s+)?([\w\s*]*?)\b(rlo_\w+)\(([^;]*)\);", _HEADERS)}
_STRUCTS = dict(re.findall(r"\ntypedef struct (rlo_\w+) \{(.*?)\n\} rlo_", _HEADERS, re.S))
_TYPES: dict[str, Any] = {
    "bool": c_bool, "double": c_double, "size_t": c_size_t, "uint8_t": c_uint8,
    "int32_t": c_int32, "int64_t": c_int64, "uint32_t": c_uint32, "uint64_t": c_uint64,
    "cl_uint": c_uint32, "cl_int": c_int32, "void": None}


class _Struct(Structure):
    """A struct, which knows its size where it begins with it."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        if hasattr(self, "struct_size"):
            self.struct_size = ctypes.sizeof(self)


def __getattr__(name: str) -> Any:
    """A function or a struct of the library's."""
    words = "rlo" + re.sub("([A-Z])", r"_\1", name).lower()
    if name[0].isupper() and words in _STRUCTS:
        made: Any = _struct(words)
    elif f"rlo_{name}" in _FUNCTIONS:
        made = _function(*_FUNCTIONS[f"rlo_{name}"].groups())
    else:
        raise AttributeError(f"relayout has no {name}")
    globals()[name] = made
    return made


def _function(is_checked: str | None, result: str, name: str, parameters: str) -> Any:
    library = _library if hasattr(_library, name) else _open_library("relayout-safetensors")
    function = getattr(library, name)
    function.restype = _raise_failure if is_checked else _type(result)
    kinds = [each.strip() for each in parameters.split(",")]
    function.argtypes = [_type(each) for each in kinds if each not in ("void", "...")]
    return function


def _struct(name: str) -> Any:
    fields: list[tuple[str, Any]] = []
    for text in re.sub(r"/\*.*?\*/", "", _STRUCTS[name], flags=re.S).split(";")[:-1]:
        call = re.fullmatch(r"\s*(\w+) \(\*(\w+)\)\((.*)\)", text, re.S)
        if call:
            kinds = [_type(each) for each in call[3].split(",")]
            fields.append((call[2], CFUNCTYPE(_type(call[1]), *kinds)))
            continue
        for field, size in re.findall(r"(\w+)(?:\[(\w+)\])?(?=,|$)", text):
            kind = _type(text.partition("[")[0])
            fields.append((field, kind * _number(size) if size else kind))
    return type(name, (_Struct,), {"_fields_": fields})


@lru_cache(maxsize=None)
def _number(text: str) -> int:
    """A number, or the value of a macro or an enumerator."""
    found = not text.isdigit() and re.search(rf"{text}(?: +| = )(\d+)", _HEADERS)
    return int(found[1] if found else text)


def _type(text: str) -> Any:
    """The type of a declaration: pointers and handles are addresses, enumerations are ints."""
    words = text.replace("const", "").split()
    if "*" in text or "[" in text:
        return c_char_p if text.count("*") == 1 and words[0] == "char" else c_void_p
    if words[0] in _TYPES:
        return _TYPES[words[0]]
    if words[0].startswith("cl_") or words[0].endswith("_fn"):
        return c_void_p
    camel = "".join(part.capitalize() for part in words[0].split("_")[1:])
    return __getattr__(camel) if words[0] in _STRUCTS else c_int


def _raise_failure(status: int) -> None:
    if status != 0:
        last = _Failure.from_address(_last_failure())
        texts = (last.message, last.cl_call, last.build_log)
        message, call, log = (text.decode(errors="replace") for text in texts)
        raise errors.of_status(status, message, call, last.cl_code, log)


_Failure, _last_failure = __getattr__("Error"), __getattr__("error_last")
Shape, shape_parse = __getattr__("Shape"), __getattr__("shape_parse")
MAX_RANK = _number("RLO_MAX_RANK")
errors.name_statuses(__getattr__("status_name"))


# -------------------------------------------------------------------- helpers

class Handle(c_void_p):
    """What a function stores behind its last parameter. It is released with the object, before
    what it `keeps`."""

    keeps: Any = None

    def __init__(self, release: Callable[..., None], create: Callable[..., None],
                 *arguments: Any) -> None:
        super().__init__()
        self._release = release
        create(*arguments, byref(self))

    def release(self) -> None:
        held, self.value = self.value, None
        if held:
            self._release(held)

    def __del__(self) -> None:
        self.release()


def version() -> str:
    return str(__getattr__("version_string")(), "ascii")


def int64s(values: Sequence[int]) -> Any:
    return (c_int64 * len(values))(*values)


def int32s(values: Sequence[int]) -> Any:
    return (c_int32 * len(values))(*values)


def handles(values: Sequence[Handle | int]) -> Any:
    return (c_void_p * len(values))(*values)


def parsed(text: str) -> Any:
    """The shape of a text in the library's notation."""
    raw = text.encode()
    shape = Shape()
    try:
        shape_parse(raw, len(raw), byref(shape))
    except errors.ParseError as error:
        raise errors.ParseError(f"{error.message} in {text!r}") from None
    return shape


def formatted(function: Callable[..., int], thing: Any) -> str:
    """What a function with the rules of snprintf prints."""
    room = function(thing, None, 0) + 1
    buffer = ctypes.create_string_buffer(room)
    function(thing, buffer, room)
    return buffer.value.decode(errors="replace")


def bytes_at(address: int, count: int) -> memoryview:
    """`count` bytes of memory, which the caller keeps alive."""
    return memoryview((c_uint8 * count).from_address(address)).cast("B")
