# SPDX-License-Identifier: Apache-2.0
"""Operations become problems, and these run on the host.

An operation is a chain of *steps*, each a function of the library's `rlo_chain_` and its
arguments. However many there are, each byte of the result is written once.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_int
from functools import lru_cache
from typing import Any, Sequence

from . import _c
from ._arrays import Array, Dims, give, make, take_writable
from .errors import ArgumentError

Step = tuple[Any, ...]

# What is smaller takes one thread, whatever it is given.
ONE_THREAD_BYTES = 256 << 10
# From so many bytes on a movement is a job, which Ctrl-C cancels.
INTERRUPTIBLE_BYTES = 64 << 20


class Movement:
    """Problems that make one array out of others, and the result that they make."""

    def __init__(self, operands: Sequence[str], steps: Sequence[Step], to: str | None) -> None:
        chains: list[int] = []
        try:
            for text in operands:
                chains.append(_c.made(_c.chain_create, _c.parsed(text)))
            for name, *arguments in steps:
                _STEPS[name](chains, *arguments)
            shape = _c.chain_shape(chains[0]).contents
            self.dtype = _c.dtype_name(shape.dtype).decode()
            self.dims: Dims = tuple(shape.dims[:shape.rank])
            destination = None if to is None else _c.parsed(to)
            self._list = _c.made(_c.chain_lower, chains[0], destination)
        finally:
            for chain in chains:
                _c.chain_release(chain)
        problems = [_c.list_get(self._list, n) for n in range(_c.list_count(self._list))]
        self.problems = [(problem, _c.list_operand(self._list, n), _c.problem_dst_bytes(problem))
                         for n, problem in enumerate(problems)]

    def __del__(self) -> None:
        if hasattr(self, "_list"):
            _c.list_release(self._list)

    def run(self, operands: Sequence[Array], to: Array, threads: int | None) -> None:
        """Runs the problems in order. Raises KeyboardInterrupt, and then `to` is undefined."""
        for problem, operand, written in self.problems:
            source = operands[operand].address
            if written < ONE_THREAD_BYTES:
                _c.run_host(problem, source, None, to.address, threads or 1)
            elif written < INTERRUPTIBLE_BYTES:
                _c.run_host(problem, source, None, to.address, threads or count_cpus())
            else:
                from .service import run_as_job
                run_as_job(problem, source, to.address, threads or count_cpus())


class Problem:
    """The one problem that moves a shape into another one, of another type perhaps."""

    def __init__(self, source: str, destination: str, perm: Sequence[int] | None) -> None:
        begin, end = _c.parsed(source), _c.parsed(destination)
        self.handle = _c.made(_c.problem_create)
        order = None if perm is None else _permutation(perm, begin.rank)
        _c.relayout_combine(begin, end, order, None, self.handle)

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            _c.problem_release(self.handle)


lower = lru_cache(maxsize=128)(Movement)


def count_cpus() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0))


def _transpose(chains: list[int], permutation: Dims) -> None:
    rank = _c.chain_shape(chains[0]).contents.rank
    _c.chain_transpose(chains[0], _permutation(permutation, rank))


def _permutation(entries: Sequence[int], rank: int) -> Any:
    if len(entries) != rank:
        raise ArgumentError(
            f"the permutation has {len(entries)} entries, and the array {rank} dimensions")
    return _c.int32s([int(entry) for entry in entries])


def _pad(chains: list[int], low: Dims, high: Dims, fill: bytes) -> None:
    _c.chain_pad(chains[0], _c.int64s(low), _c.int64s(high), None, fill)


def _convert(chains: list[int], dtype: str) -> None:
    code = c_int()
    _c.dtype_from_name(dtype.encode(), byref(code))
    _c.chain_convert(chains[0], code)


def _join(function: Any, chains: list[int], axis: int) -> None:
    function(chains[0], _c.handles(chains[1:]), len(chains) - 1, axis)


_STEPS: dict[str, Any] = {
    "transpose": _transpose,
    "reshape": lambda chains, dims: _c.chain_reshape(chains[0], _c.int64s(dims), len(dims)),
    "pad": _pad,
    "mirror": lambda chains, low, high, mode: _c.chain_mirror_pad(
        chains[0], _c.int64s(low), _c.int64s(high), mode),
    "convert": _convert,
    "concat": lambda chains, axis: _join(_c.chain_concatenate, chains, axis),
    "stack": lambda chains, axis: _join(_c.chain_stack, chains, axis),
}


def move(operands: Sequence[Array], steps: Sequence[Step], out: Any, threads: int | None,
         dtype: str | None = None) -> Any:
    """Runs steps on arrays, into `out` or a new array of the first one's kind, and type unless
    `dtype` names another."""
    texts = tuple(operand.text for operand in operands)
    steps = tuple(steps)
    if out is None:
        movement = lower(texts, steps, None)
        to = make(operands[0], movement.dims, dtype)
    else:
        to = take_writable(out)
        movement = lower(texts, steps, to.text)
        operands = [_apart(operand, to) for operand in operands]
    movement.run(operands, to, threads)
    return give(to) if out is None else out


def _apart(operand: Array, to: Array) -> Array:
    """The operand, or a copy of it where its memory and that of the result may overlap."""
    begin, end = _reach(operand)
    other_begin, other_end = _reach(to)
    if end <= other_begin or other_end <= begin:
        return operand
    copy = make(operand, operand.dims)
    lower((operand.text,), (), None).run([operand], copy, None)
    return copy


def _reach(array: Array) -> tuple[int, int]:
    return array.address, array.address + physical_bytes(array.text)


@lru_cache(maxsize=128)
def physical_bytes(text: str) -> int:
    """The bytes from slot 0 to the end of the last one."""
    extent = _c.ShapeExtent()
    _c.shape_measure(_c.parsed(text), ctypes.byref(extent))
    return int(extent.physical_bytes)

