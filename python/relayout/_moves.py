# SPDX-License-Identifier: Apache-2.0
"""Operations become problems, and these run on the host.

An operation is a chain of *steps*, each a name and arguments. However many there are, each byte
of the result is written once.
"""

from __future__ import annotations

import os
from ctypes import byref
from functools import lru_cache
from typing import Any, Sequence

from . import _c
from ._arrays import Array, Dims, give, make, take_writable, type_code
from .errors import ArgumentError

Step = tuple[Any, ...]

# A thread that has less to write takes longer to begin.
THREAD_BYTES = 1 << 20
# From so many bytes on a movement is a job, which Ctrl-C cancels.
INTERRUPTIBLE_BYTES = 64 << 20


class Movement:
    """Problems that make one array out of others, and the result that they make."""

    def __init__(self, operands: Sequence[str], steps: Sequence[Step], to: str | None) -> None:
        chains = [_c.Handle(_c.chain_release, _c.chain_create, byref(_c.parsed(text)))
                  for text in operands]
        for step in steps:
            _extend(chains, step)
        shape = _c.Shape.from_address(_c.chain_shape(chains[0]))
        self.dims: Dims = tuple(shape.dims[:shape.rank])
        self._list = _c.Handle(_c.problem_list_release, _c.chain_lower, chains[0],
                               None if to is None else byref(_c.parsed(to)))
        problems = [_c.problem_list_get(self._list, n) for n in range(_c.problem_list_count(self._list))]
        self.problems = [(problem, _c.problem_list_operand(self._list, n), _c.problem_dst_bytes(problem))
                         for n, problem in enumerate(problems)]

    def run(self, operands: Sequence[Array], to: Array, threads: int | None) -> None:
        """Runs the problems in order. Raises KeyboardInterrupt, and then `to` is undefined."""
        for problem, operand, written in self.problems:
            source = operands[operand].address
            number = threads or max(1, min(count_cpus(), written // THREAD_BYTES))
            if written < INTERRUPTIBLE_BYTES:
                _c.run_host(problem, source, None, to.address, number)
            else:
                from .service import run_as_job
                run_as_job(problem, source, to.address, number)


class Problem:
    """The one problem that moves a shape into another one, of another type perhaps."""

    def __init__(self, source: str, destination: str, perm: Sequence[int] | None) -> None:
        begin, end = _c.parsed(source), _c.parsed(destination)
        self.handle: Any = _c.Handle(_c.problem_release, _c.problem_create)
        order = None if perm is None else _permutation(perm, begin.rank)
        _c.relayout_combine(byref(begin), byref(end), order, None, self.handle)


lower = lru_cache(maxsize=128)(Movement)


def count_cpus() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0))


def _extend(chains: list[_c.Handle], step: Step) -> None:
    """Adds a step to the first chain, which takes in the others."""
    first, others = chains[0], chains[1:]
    match step:
        case ("transpose", order):
            rank = _c.Shape.from_address(_c.chain_shape(first)).rank
            _c.chain_transpose(first, _permutation(order, rank))
        case ("reshape", dims):
            _c.chain_reshape(first, _c.int64s(dims), len(dims))
        case ("pad", low, high, fill):
            _c.chain_pad(first, _c.int64s(low), _c.int64s(high), None, fill)
        case ("mirror", low, high, mode):
            _c.chain_mirror_pad(first, _c.int64s(low), _c.int64s(high), mode)
        case ("convert", dtype):
            _c.chain_convert(first, type_code(dtype))
        case ("concat", axis):
            _c.chain_concatenate(first, _c.handles(others), len(others), axis)
        case ("stack", axis):
            _c.chain_stack(first, _c.handles(others), len(others), axis)


def _permutation(entries: Sequence[int], rank: int) -> Any:
    if len(entries) != rank:
        raise ArgumentError(
            f"the permutation has {len(entries)} entries, and the array {rank} dimensions")
    return _c.int32s([int(entry) for entry in entries])


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
    _c.shape_measure(byref(_c.parsed(text)), byref(extent))
    return int(extent.physical_bytes)

