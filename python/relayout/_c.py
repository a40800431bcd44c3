# SPDX-License-Identifier: Apache-2.0
"""The C library: its functions, its structs, and its failures as exceptions.

Structs are opaque but for those below, which tests/check_abi.py compares with the headers. A
function that returns an rlo_status raises what the status says and returns None. ctypes drops
the GIL in every call.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char_p, c_double, c_int,
                    c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p)
from typing import Any, Callable, Sequence

from . import errors

MAX_RANK = 32


class Shape(Structure):
    """The beginning of rlo_shape; the layout is behind it."""

    _fields_ = [("dtype", c_int), ("rank", c_int32), ("dims", c_int64 * MAX_RANK),
                ("_layout", c_uint64 * 647)]


class ShapeExtent(Structure):
    _fields_ = [("elements", c_int64), ("slots", c_int64), ("element_bits", c_int64),
                ("bytes", c_int64), ("physical_bytes", c_int64)]


class Failure(Structure):
    _fields_ = [("status", c_int), ("message", c_char_p), ("cl_call", c_char_p),
                ("cl_code", c_int32), ("build_log", c_char_p)]


class Digest(Structure):
    _fields_ = [("high", c_uint64), ("low", c_uint64)]


class _Sized(Structure):
    """A struct that begins with its size."""

    def __init__(self, **values: Any) -> None:
        super().__init__(ctypes.sizeof(self), **values)


class DlpackView(_Sized):
    _fields_ = [("struct_size", c_size_t), ("shape", Shape), ("device", c_int),
                ("device_id", c_int32), ("data", c_void_p), ("offset_bytes", c_int64),
                ("is_read_only", c_bool)]


class StorageTraits(_Sized):
    _fields_ = [("struct_size", c_size_t), ("bytes", c_int64), ("granule_bytes", c_int64),
                ("good_read_bytes", c_int64), ("good_write_bytes", c_int64),
                ("good_depth", c_int32), ("is_read_only", c_bool), ("is_direct", c_bool),
                ("is_forward", c_bool)]


Transfer = CFUNCTYPE(c_int, c_void_p, c_int64, c_int64, c_void_p)
Reserve = CFUNCTYPE(c_int, c_void_p, c_int64)
Flush = CFUNCTYPE(c_int, c_void_p)
Release = CFUNCTYPE(None, c_void_p)
Identify = CFUNCTYPE(c_int, c_void_p, POINTER(c_uint64))


class StorageOps(_Sized):
    _fields_ = [("struct_size", c_size_t), ("read", Transfer), ("write", Transfer),
                ("reserve", Reserve), ("flush", Flush), ("release", Release),
                ("identify", Identify)]


class ServiceOptions(_Sized):
    _fields_ = [("struct_size", c_size_t), ("host_memory_bytes", c_int64),
                ("device_memory_bytes", c_int64), ("io_threads", c_int32),
                ("max_running_jobs", c_int32), ("family", c_char_p), ("schedule", c_char_p)]


class JobOptions(_Sized):
    _fields_ = [("struct_size", c_size_t), ("priority", c_int32), ("host_memory_bytes", c_int64),
                ("is_new_destination", c_bool), ("passes", c_int32), ("scratch_bytes", c_int64),
                ("journal_path", c_char_p), ("indices", c_void_p), ("watch", c_void_p),
                ("watch_payload", c_void_p)]


class JobEstimate(_Sized):
    _fields_ = [("struct_size", c_size_t), ("num_passes", c_int32), ("num_pieces", c_int64),
                ("bytes_read", c_int64), ("bytes_written", c_int64), ("read_run_bytes", c_int64),
                ("write_run_bytes", c_int64), ("host_bytes", c_int64), ("device_bytes", c_int64),
                ("scratch_bytes", c_int64), ("expected_fraction", c_double),
                ("budget_bytes", c_int64)]


class JobInfo(_Sized):
    _fields_ = [("struct_size", c_size_t), ("state", c_int), ("status", c_int), ("pass", c_int32),
                ("num_passes", c_int32), ("pieces_done", c_int64), ("num_pieces", c_int64),
                ("bytes_done", c_int64), ("bytes_total", c_int64), ("bytes_read", c_int64),
                ("bytes_written", c_int64), ("host_bytes_peak", c_int64),
                ("device_bytes_peak", c_int64), ("seconds", c_double),
                ("seconds_left", c_double), ("stage_seconds", c_double * 3),
                ("bytes_resumed", c_int64), ("smallest_read", c_int64),
                ("smallest_write", c_int64)]


class PlanOptions(_Sized):
    _fields_ = [("struct_size", c_size_t), ("family", c_char_p), ("device_class", c_int),
                ("schedule", c_char_p), ("effort", c_int), ("measure_seconds", c_double),
                ("is_aligned", c_bool), ("max_scratch_bytes", c_int64)]


class PlanInfo(_Sized):
    _fields_ = [("struct_size", c_size_t), ("family", c_char_p), ("schedule", c_char_p),
                ("parameters", c_char_p), ("device_class", c_int), ("decision", c_int),
                ("measured_fraction", c_double), ("src_bytes", c_int64), ("dst_bytes", c_int64),
                ("read_bytes", c_int64), ("written_bytes", c_int64), ("index_bytes", c_int64),
                ("scratch_bytes", c_int64), ("num_steps", c_int32)]


# ------------------------------------------------------------------ functions

def _open_library() -> ctypes.CDLL:
    """The library of $RELAYOUT_LIBRARY, else the one in the package, else the system's."""
    inside = os.path.join(os.path.dirname(__file__), "lib", "librelayout.so")
    named = os.environ.get("RELAYOUT_LIBRARY")
    return ctypes.CDLL(named or (inside if os.path.exists(inside) else "librelayout.so.0.1"))


_library = _open_library()


def _raise_failure(status: int) -> None:
    if status != 0:
        last = _last_failure().contents
        texts = (last.message, last.cl_call, last.build_log)
        message, call, log = (text.decode(errors="replace") for text in texts)
        raise errors.of_status(status, message, call, last.cl_code, log)


def _function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    function = getattr(_library, name)
    function.restype = result
    function.argtypes = arguments
    return function  # type: ignore[no-any-return]


def _checked(name: str, *arguments: Any) -> Callable[..., None]:
    return _function(name, _raise_failure, *arguments)


_P = c_void_p
_I64S = POINTER(c_int64)
_I32S = POINTER(c_int32)
_last_failure = _function("rlo_error_last", POINTER(Failure))
error_set = _function("rlo_error_set", c_int, c_int, c_char_p, c_char_p)
version_string = _function("rlo_version_string", c_char_p)

dtype_from_name = _checked("rlo_dtype_from_name", c_char_p, POINTER(c_int))
dtype_name = _function("rlo_dtype_name", c_char_p, c_int)
dtype_numpy_name = _function("rlo_dtype_numpy_name", c_char_p, c_int)
dtype_storage_bits = _function("rlo_dtype_storage_bits", c_int32, c_int)

shape_parse = _checked("rlo_shape_parse", c_char_p, c_size_t, POINTER(Shape))
shape_format = _function("rlo_shape_format", c_size_t, POINTER(Shape), c_char_p, c_size_t)
shape_measure = _checked("rlo_shape_measure", POINTER(Shape), POINTER(ShapeExtent))
shape_physical_dims = _checked("rlo_shape_physical_dims", POINTER(Shape), _I64S, c_int32, _I32S)
shape_strides = _checked("rlo_shape_strides", POINTER(Shape), POINTER(c_bool), _I64S, _I64S)
index_to_linear = _checked("rlo_index_to_linear", POINTER(Shape), _I64S, _I64S)
index_from_linear = _checked("rlo_index_from_linear", POINTER(Shape), c_int64, _I64S,
                             POINTER(c_bool))
digest_add = _checked("rlo_digest_add", POINTER(Shape), c_int64, _P, c_int64, POINTER(Digest))
digest_join = _function("rlo_digest_join", None, POINTER(Digest), POINTER(Digest))
digest_finish = _checked("rlo_digest_finish", POINTER(Shape), POINTER(Digest), POINTER(Digest))

dlpack_import = _checked("rlo_dlpack_import_create", _P, c_int64, POINTER(_P))
dlpack_import_versioned = _checked("rlo_dlpack_import_create_versioned", _P, c_int64, POINTER(_P))
dlpack_view = _function("rlo_dlpack_import_view", POINTER(DlpackView), _P)
dlpack_release = _function("rlo_dlpack_import_release", None, _P)

chain_create = _checked("rlo_chain_create", POINTER(Shape), POINTER(_P))
chain_release = _function("rlo_chain_release", None, _P)
chain_shape = _function("rlo_chain_shape", POINTER(Shape), _P)
chain_lower = _checked("rlo_chain_lower", _P, POINTER(Shape), POINTER(_P))
chain_transpose = _checked("rlo_chain_transpose", _P, _I32S)
chain_reshape = _checked("rlo_chain_reshape", _P, _I64S, c_int32)
chain_pad = _checked("rlo_chain_pad", _P, _I64S, _I64S, _I64S, _P)
chain_mirror_pad = _checked("rlo_chain_mirror_pad", _P, _I64S, _I64S, c_int)
chain_concatenate = _checked("rlo_chain_concatenate", _P, POINTER(_P), c_int32, c_int32)
chain_stack = _checked("rlo_chain_stack", _P, POINTER(_P), c_int32, c_int32)
chain_convert = _checked("rlo_chain_convert", _P, c_int)

list_count = _function("rlo_problem_list_count", c_int32, _P)
list_get = _function("rlo_problem_list_get", _P, _P, c_int32)
list_operand = _function("rlo_problem_list_operand", c_int32, _P, c_int32)
list_release = _function("rlo_problem_list_release", None, _P)

problem_create = _checked("rlo_problem_create", POINTER(_P))
problem_release = _function("rlo_problem_release", None, _P)
problem_format = _function("rlo_problem_format", c_size_t, _P, c_char_p, c_size_t)
problem_canonicalize = _checked("rlo_problem_canonicalize", _P, c_int32, _P, _P)
problem_src_bytes = _function("rlo_problem_src_bytes", c_int64, _P)
problem_dst_bytes = _function("rlo_problem_dst_bytes", c_int64, _P)
relayout_combine = _checked("rlo_relayout_combine", POINTER(Shape), POINTER(Shape), _I32S, _P, _P)
run_host = _checked("rlo_run_host", _P, _P, _P, _P, c_int32)
place_choose = _function("rlo_place_choose", c_int, _P)

storage_from_memory = _checked("rlo_storage_from_memory", _P, c_int64, POINTER(_P))
storage_from_const_memory = _checked("rlo_storage_from_const_memory", _P, c_int64, POINTER(_P))
storage_from_fd = _checked("rlo_storage_from_fd", c_int, c_int64, c_int64,
                           POINTER(StorageTraits), POINTER(_P))
storage_create = _checked("rlo_storage_create", POINTER(StorageOps), _P, POINTER(StorageTraits),
                          POINTER(_P))
storage_release = _function("rlo_storage_release", None, _P)
storage_get_traits = _checked("rlo_storage_get_traits", _P, POINTER(StorageTraits))

service_create = _checked("rlo_service_create", POINTER(_P), c_int32, POINTER(ServiceOptions),
                          POINTER(_P))
service_release = _function("rlo_service_release", None, _P)
service_cancel_all = _function("rlo_service_cancel_all", None, _P)
service_drain = _checked("rlo_service_drain", _P, c_int64, POINTER(c_bool))
service_estimate = _checked("rlo_service_estimate", _P, _P, POINTER(StorageTraits),
                            POINTER(StorageTraits), POINTER(JobOptions), POINTER(JobEstimate))
service_submit = _checked("rlo_service_submit", _P, _P, _P, _P, POINTER(JobOptions), POINTER(_P))
service_poll_fd = _function("rlo_service_poll_fd", c_int, _P)
service_take_ended = _function("rlo_service_take_ended", _P, _P)
job_wait = _checked("rlo_job_wait", _P, c_int64, POINTER(c_bool))
job_result = _checked("rlo_job_result", _P)
job_get_info = _checked("rlo_job_get_info", _P, POINTER(JobInfo))
job_cancel = _function("rlo_job_cancel", None, _P)
job_release = _function("rlo_job_release", None, _P)

device_find = _checked("rlo_device_find", c_char_p, POINTER(c_int32))
context_create = _checked("rlo_context_create", _P, _P, _P, POINTER(_P))
context_create_default = _checked("rlo_context_create_default", c_int32, _P, POINTER(_P))
context_release = _function("rlo_context_release", None, _P)
plan_create = _checked("rlo_plan_create", _P, _P, POINTER(PlanOptions), POINTER(_P))
plan_release = _function("rlo_plan_release", None, _P)
plan_prepare = _checked("rlo_plan_prepare", _P)
plan_get_info = _checked("rlo_plan_get_info", _P, POINTER(PlanInfo))
enqueue = _checked("rlo_enqueue", _P, _P, _P, c_int64, _P, c_int64, c_uint32, POINTER(_P),
                   POINTER(_P))


# -------------------------------------------------------------------- helpers

def made(create: Callable[..., None], *arguments: Any) -> int:
    """The handle that a function stores behind its last parameter."""
    handle = c_void_p()
    create(*arguments, byref(handle))
    assert handle.value is not None
    return handle.value


def int64s(values: Sequence[int]) -> Any:
    return (c_int64 * len(values))(*values)


def int32s(values: Sequence[int]) -> Any:
    return (c_int32 * len(values))(*values)


def handles(values: Sequence[int]) -> Any:
    return (c_void_p * len(values))(*values)


def parsed(text: str) -> Shape:
    """The shape of a text in the library's notation."""
    raw = text.encode()
    shape = Shape()
    shape_parse(raw, len(raw), shape)
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
