# SPDX-License-Identifier: Apache-2.0
"""Plans for pyopencl: the caller's context, queue, buffers, wait list and events.

Objects of pyopencl go to the library by their handles, whichever loader of OpenCL each of the
two has, in both orders of import. Where the system has no loader, that of pyopencl's wheel is
the library's, too.

    Examples:
        >>> import pyopencl as cl
        >>> ctx = cl.create_some_context(interactive=False)
        >>> p = plan(ctx, "f32[300,200]", "f32[300,200]{0,1}")
        >>> p.source_bytes, p.destination_bytes
        (240000, 240000)
"""

from __future__ import annotations

import re
from contextlib import suppress
from ctypes import CDLL, CFUNCTYPE, byref, c_char_p, c_void_p, cast
from functools import lru_cache
from typing import Any, NamedTuple, Sequence

from . import _c
from ._arrays import strided_text, type_name
from ._moves import Problem
from .errors import ArgumentError, Exists, NotFound, Unsupported
from .layout import end_of, shape_of


class PlanInfo(NamedTuple):
    """How a device runs a relayout."""

    family: str
    schedule: str
    parameters: str
    read_bytes: int
    written_bytes: int


class Plan:
    """A relayout that is planned for a device. Any number of threads may enqueue it at once.

    Attributes:
        source_bytes, destination_bytes: what the buffers must have from their offsets on.
        info: the family of kernels that runs it, and how: a `PlanInfo`.
    """

    def __init__(self, context: _c.Handle, problem: Problem, measure: bool) -> None:
        options = _c.PlanOptions(effort=int(measure))
        self._handle = _c.Handle(_c.plan_release, _c.plan_create, context, problem.handle,
                                 byref(options))
        info = _c.PlanInfo()
        _c.plan_get_info(self._handle, byref(info))
        self.source_bytes: int = info.src_bytes
        self.destination_bytes: int = info.dst_bytes
        family, schedule, parameters = (
            (word or b"").decode() for word in (info.family, info.schedule, info.parameters))
        self.info = PlanInfo(family, schedule, parameters, info.read_bytes, info.written_bytes)

    def prepare(self) -> Plan:
        """Compiles what an enqueue may need, which the first one does else. Returns itself."""
        _c.plan_prepare(self._handle)
        return self

    def enqueue(self, queue: Any, source: Any, destination: Any, *, source_offset: int = 0,
                destination_offset: int = 0, wait_for: Sequence[Any] | None = None) -> Any:
        """Enqueues the plan, and returns its event, as pyopencl's `enqueue_` functions do.

        Args:
            queue: a CommandQueue of the plan's context and device; it is not flushed.
            source: a Buffer.
            destination: a Buffer, which does not overlap the source from their offsets on.
            source_offset: in bytes, whole elements.
            destination_offset: the same.
            wait_for: events that come first.
        """
        import pyopencl
        events = [event.int_ptr for event in wait_for or ()]
        event = c_void_p()
        _c.enqueue(self._handle, queue.int_ptr, _memory(source), source_offset,
                   _memory(destination), destination_offset, len(events),
                   _c.handles(events) if events else None, byref(event))
        return pyopencl.Event.from_int_ptr(event.value or 0, retain=False)


def plan(context: Any, source: Any, destination: Any, *, perm: Sequence[int] | None = None,
         device: Any = None, measure: bool = False) -> Plan:
    """Plans a relayout for a device of a `pyopencl.Context`.

    Args:
        source: a shape or its text, as for `explain`.
        destination: the same; its type may differ.
        perm: as `transpose` takes it.
        device: one of the context's; its first if None.
        measure: time the kernels that may be fastest, for up to 2 seconds.
    """
    begin = shape_of(source)
    end = end_of(begin.dtype, begin.dims, destination, perm)
    device = device or context.devices[0]
    problem = Problem(begin.text, end.text, perm)
    return Plan(_context(context.int_ptr, device.int_ptr), problem, measure)


def transpose_array(x: Any, axes: Sequence[int] | None, out: Any) -> Any:
    """`relayout.transpose` of a `pyopencl.array.Array`, on its queue, after its events."""
    import pyopencl.array
    if x.queue is None:
        raise ArgumentError("the array has no queue; give it one by with_queue")
    order = tuple(range(x.ndim))[::-1] if axes is None else tuple(int(k) % max(x.ndim, 1) for k in axes)
    if out is None:
        dims = tuple(x.shape[k] for k in order)
        out = pyopencl.array.empty(x.queue, dims, x.dtype, allocator=x.allocator)
    texts, offsets = zip(*map(_described, (x, out)))
    moved = _plan_of_array(x.context.int_ptr, x.queue.device.int_ptr, *texts, order)
    event = moved.enqueue(x.queue, x.base_data, out.base_data, source_offset=offsets[0],
                          destination_offset=offsets[1], wait_for=[*x.events, *out.events])
    x.add_event(event)
    out.add_event(event)
    return out


@lru_cache(maxsize=64)
def _plan_of_array(context: int, device: int, source: str, destination: str,
                   order: tuple[int, ...]) -> Plan:
    return Plan(_context(context, device), Problem(source, destination, order), False)


def _described(array: Any) -> tuple[str, int]:
    """The text of an array, and where its slot 0 lies in its buffer."""
    text, lowest = strided_text(type_name(array.dtype), array.shape, array.strides,
                                array.dtype.itemsize)
    return text, array.offset + lowest


def _memory(buffer: Any) -> int | None:
    handle = getattr(buffer, "int_ptr", None)
    if handle is None and buffer is not None:
        raise Unsupported(f"the memory is a {type(buffer).__name__} and no Buffer")
    return handle


@lru_cache(maxsize=16)
def _context(context: int, device: int) -> _c.Handle:
    """The library's context on a device of a context of pyopencl's, which it retains."""
    _load_opencl()
    return _c.Handle(_c.context_release, _c.context_create, context, device, None)


def _load_opencl() -> None:
    """Gives the library the loader of pyopencl's wheel where the system has none."""
    try:
        _c.opencl_load(None, None)
    except NotFound:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            found = re.search(r"/\S*/libOpenCL\S*", maps.read())
        if found is None:
            raise
        loader = CDLL(found[0])
        getter = CFUNCTYPE(c_void_p, c_void_p, c_char_p)(
            lambda _, name: cast(getattr(loader, name.decode(), 0), c_void_p).value)
        with suppress(Exists):  # another thread was first
            _c.opencl_load(getter, None)
