# SPDX-License-Identifier: Apache-2.0
"""Weights of models: the members of safetensors files become those of others, by a recipe."""

from __future__ import annotations

import json
import os
from ctypes import addressof, byref, c_char_p, c_int64, c_void_p
from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from . import _c
from .errors import Exists, RangeError, Unsupported
from .files import Part
from .service import Service, Storage, progress_bar, size_in_bytes

_SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_LEAST_BYTES, _MOST_HELD_BYTES = 2 << 20, 256 << 20


def weights(inputs: Any, output: Any, *, recipe: Any, memory: int | str | None = None,
            threads: int | None = None, devices: Sequence[str | int] = (),
            max_shard: int | str = "5GB", progress: bool = False) -> None:
    """Converts a model's weights, as the command `relayout weights` does; docs/weights.md has
    recipes. All of a recipe is checked before a byte is written, and room is reserved. The
    output appears when all of it is complete. Ctrl-C ends it and raises KeyboardInterrupt; to go
    on where one was stopped, use the command.

    Args:
        inputs: the path of a safetensors file, of an index, or of a folder with one; or several.
        output: the path of a file, ``NAME.safetensors``, or of a folder, which is made.
        recipe: the path of a recipe, or what is in one, as a dictionary.
        memory: the budget, such as "2GiB", beside names, shapes and headers. A half of it is
            for results of several members, which are made in memory.
        threads: as for `Service`.
        devices: as for `Service`.
        max_shard: the most bytes of members in each of the files of a folder.
        progress: show a bar by tqdm, where that is installed.
    """
    budget = size_in_bytes(memory)
    if 0 < budget < _LEAST_BYTES:
        raise RangeError(f"memory is {budget}; {_LEAST_BYTES} is the least")
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    if isinstance(recipe, Mapping):
        text = json.dumps(recipe).encode()
    else:
        with open(recipe, "rb") as file:
            text = file.read()
    model = _Model(paths, text)
    folder = os.fspath(output)
    is_file = folder.endswith(".safetensors")
    plan = model.plan(0 if is_file else size_in_bytes(max_shard))
    files = [_c.SafetensorsFile.from_address(_c.safetensors_plan_file(plan, n))
             for n in range(_c.safetensors_plan_num_files(plan))]
    targets = [folder if is_file else os.path.join(folder, each.name.decode()) for each in files]
    index = _c.safetensors_plan_index(plan)
    _check_targets(model, targets, None if is_file else os.path.join(folder, _SINGLE if index else _INDEX))
    is_new = not is_file and not os.path.isdir(folder)
    if is_new:
        os.mkdir(folder)
    parts: list[Part] = []
    try:
        for written, target in zip(files, targets):
            parts.append(Part(target))
            os.posix_fallocate(parts[-1].lock, 0, written.bytes)
            os.pwrite(parts[-1].lock, _c.bytes_at(written.head, written.head_bytes), 0)
        service = Service(memory=budget - budget // 2, threads=threads, devices=devices, running=1)
        model.write(plan, parts, service, budget // 2 or _MOST_HELD_BYTES, progress)
        if index:
            parts.append(Part(os.path.join(folder, _INDEX)))
            os.pwrite(parts[-1].lock, index, 0)
        while parts:
            parts[0].finish()
            del parts[0]
    except BaseException:
        for part in parts:
            part.abandon()
        if is_new and not os.listdir(folder):
            os.rmdir(folder)
        raise


def _check_targets(model: _Model, targets: Sequence[str], other: str | None) -> None:
    """Refuses to replace an input, and a folder with a file that is read in place of ours."""
    for path in model.paths:
        for target in targets:
            if os.path.exists(target) and os.path.samefile(path, target):
                raise Exists(f"{target} is an input; write to another file")
    if other and os.path.exists(other):
        raise Exists(f"{other} would be read in place of what is written: remove it, or write to "
                     "another folder")


class _Model:
    """The inputs, and what a recipe makes of them."""

    def __init__(self, paths: Sequence[Any], recipe: bytes) -> None:
        try:
            release = _c.safetensors_release
        except OSError as error:
            raise Unsupported(f"the library of safetensors is not here: {error}") from None
        names = (c_char_p * len(paths))(*map(os.fsencode, paths))
        self.list = _c.Handle(release, _c.safetensors_open_all, names, len(paths))
        self.paths = [_c.safetensors_file_path(self.list, n)
                      for n in range(_c.safetensors_num_files(self.list))]
        self.members = (_c.RecipeMember * _c.safetensors_num_members(self.list))()
        shapes: dict[bytes, Any] = {}  # they are 5 kB each, and few are different
        found = _c.SafetensorsMember()
        for n, member in enumerate(self.members):
            _c.safetensors_get_member(self.list, n, byref(found))
            shape = shapes.setdefault(bytes(found.shape), _c.Shape.from_buffer_copy(found.shape))
            member.name, member.shape = found.name, addressof(shape)
            member.made_by, member.sharding = found.made_by, found.sharding
        rules = _c.Handle(_c.recipe_release, _c.recipe_parse, recipe, len(recipe), -1)
        self._applied = _c.Handle(_c.recipe_results_release, _c.recipe_apply, rules, self.members,
                                  len(self.members))
        self._applied.keeps = (rules, self.members, shapes, self.list)
        self.results = [_c.RecipeResult.from_address(_c.recipe_results_get(self._applied, n))
                        for n in range(_c.recipe_results_count(self._applied))]

    def plan(self, shard: int) -> _c.Handle:
        """Which file has which results, where, and the headers."""
        count, num_texts = len(self.results), c_int64()

        def each(kind: Any, field: str) -> Any:
            return (kind * count)(*(getattr(result, field) for result in self.results))
        shardings, made_by = each(c_char_p, "sharding"), each(c_char_p, "made_by")
        texts = _c.safetensors_metadata(self.list, byref(num_texts))
        options = _c.SafetensorsPlanOptions(
            shard_bytes=shard, metadata=texts, num_metadata=num_texts.value,
            shardings=addressof(shardings), made_by=addressof(made_by))
        return _c.Handle(_c.safetensors_plan_release, _c.safetensors_plan_create,
                         each(c_char_p, "name"), each(c_void_p, "shape"), count, byref(options))

    def write(self, plan: _c.Handle, parts: Sequence[Part], service: Service, held: int,
              progress: bool) -> None:
        """Makes the results in their files, each in bands of `held` bytes where it can be cut."""
        places = [_c.SafetensorsPlace.from_address(_c.safetensors_plan_place(plan, n))
                  for n in range(len(self.results))]
        bar = progress_bar(sum(place.bytes for place in places)) if progress else None
        for n, (result, place) in enumerate(zip(self.results, places)):
            for begin, end, at, size in _bands(result, place.bytes, held):
                problems = _c.Handle(_c.problem_list_release, _c.recipe_results_lower,
                                     self._applied, n, begin, end)
                self._write_band(service, result, problems, parts[place.file].lock,
                                 place.offset_bytes + at, size, held)
                if bar is not None:
                    bar.update(size)
        if bar is not None:
            bar.close()

    def _write_band(self, service: Service, result: Any, problems: _c.Handle, file: int,
                    offset: int, size: int, held: int) -> None:
        """Runs problems into a part of a file: of several, which may lie between one another,
        in memory first."""
        count = _c.problem_list_count(problems)
        target = Storage.made(_c.storage_from_fd, file, offset, size, None)
        memory = np.zeros(size if count > 1 and size <= held else 0, np.uint8)
        if memory.size:
            target = Storage.made(_c.storage_from_memory, memory.ctypes.data, size)
            target.keeps = memory
        for k in range(count):
            operand = _c.problem_list_operand(problems, k)
            member = (c_int64 * result.num_members).from_address(result.members)[operand]
            source = Storage.made(_c.safetensors_storage, self.list, member, None)
            service._submit(_c.problem_list_get(problems, k), (source, target),
                            _c.JobOptions(is_new_destination=count == 1)).wait()
        left = memoryview(memory.data)
        while left:
            written = os.pwrite(file, left, offset + size - len(left))
            left = left[written:]


def _bands(result: Any, size: int, most: int) -> Iterator[tuple[Any, Any, int, int]]:
    """Boxes of a result that is row-major, with the bytes before them and in them."""
    shape = _c.Shape.from_address(result.shape)
    bits = shape.layout.element_size_bits or _c.dtype_storage_bits(shape.dtype)
    if size <= most or bits % 8 or not _c.layout_is_row_major(byref(shape.layout), shape.rank):
        yield None, None, 0, size
        return
    dims = shape.dims[:shape.rank]
    axis = next(k for k, length in enumerate(dims) if length > 1)
    row = size // dims[axis]
    step = max(1, most // row)
    for first in range(0, dims[axis], step):
        last = min(first + step, dims[axis])
        begin, end = [0] * len(dims), list(dims)
        begin[axis], end[axis] = first, last
        yield _c.int64s(begin), _c.int64s(end), first * row, (last - first) * row
