# SPDX-License-Identifier: Apache-2.0
"""Files: an array from one to another, in bounded memory.

`.npy` and bare bytes are known here. Another format is a module with `claims`, `open` and
`create`, in the list `FORMATS`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import weakref
from ctypes import byref
from typing import IO, Any, NamedTuple, Protocol, Sequence

import numpy as np

from . import _c
from ._arrays import numpy_type, row_major, type_name
from ._moves import Problem
from .errors import ArgumentError, DataLoss, Exists, Unsupported
from .layout import LaidOut, Shape, end_of
from .service import Service, Storage, size_in_bytes

# Outputs of so many bytes have a journal, so that a job that was stopped can go on.
_JOURNAL_BYTES = 1 << 30


class Source(NamedTuple):
    """An array that is read."""

    storage: Storage
    type: Any = None  # its type in NumPy, where that is none of the library's


class Destination(Protocol):
    """An array that is written: whole, or not at all."""

    storage: Storage

    def finish(self) -> None:
        """Gives what was written its name."""

    def abandon(self) -> None:
        """Removes what was written, but for what a later call goes on with."""


class Format(Protocol):
    """A kind of files."""

    def claims(self, path: str) -> bool:
        """Tells if a path, which may end in ``::member``, is of this format."""

    def open(self, path: str, **options: Any) -> Source:
        """The array of a file."""

    def create(self, path: str, shape: Shape, source: Source, **options: Any) -> Destination:
        """A file to be written. `options` are those of `convert` that it does not know."""


FORMATS: list[Format] = []


def convert(source: Any, destination: Any, *, perm: Sequence[int] | None = None,
            dtype: Any = None, to: Any = None, shape: Any = None, offset: int = 0,
            memory: int | str | None = None, threads: int | None = None,
            devices: Sequence[str | int] = (), progress: bool = False, resume: bool = False,
            **options: Any) -> None:
    """Moves an array from one file to another, with its dimensions permuted, in another type or
    layout, within a budget of memory.

    A file that is written appears whole or not at all. Ctrl-C cancels and raises
    KeyboardInterrupt; what was done of an output of 1 GiB or more, or with `resume`, stays
    beside it, and the same call with ``resume=True`` goes on there.

    Args:
        source: the path of a `.npy` file, or of bare bytes whose `shape` is given; or an array,
            or a `Storage`.
        destination: a path that is written, `.npy` or bare bytes; or an array or a `Storage`.
        perm: as `transpose` takes it.
        dtype: the type of the result; None: that of the source.
        to: the layout of bare bytes, row-major if None.
        shape, offset: of bare bytes in the source: their shape, and the bytes before them.
        memory: the budget, such as "2GiB"; a quarter of what is available, at most 16 GiB, if None.
        threads, devices: as for `Service`.
        progress: show a bar by tqdm, where that is installed.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> maps, series = os.path.join(folder, "maps.npy"), os.path.join(folder, "series.npy")
    >>> np.save(maps, np.arange(24.0).reshape(2, 3, 4))
    >>> convert(maps, series, perm=(1, 2, 0), memory="64MiB")
    >>> np.load(series).shape
    (3, 4, 2)
    """
    begin = _open(source, shape, offset)
    old = Shape(begin.storage.shape)
    end = end_of(old.dtype if dtype is None else type_name(dtype), old.dims,
                 row_major(len(old.dims)) if to is None else to, perm)
    if begin.type is not None and dtype is not None:
        raise Unsupported(f"elements of {begin.type} have no other type")
    problem = Problem(old.text, end.text, perm)
    job_options = _c.JobOptions(host_memory_bytes=size_in_bytes(memory))
    service = Service(memory=memory, threads=threads, devices=devices)
    target = _create(destination, end, begin, resume, options)
    try:
        if isinstance(target, _Part):
            target.plan(service, problem.handle, begin.storage, job_options)
        service._submit(problem.handle, (begin.storage, target.storage), job_options).wait(progress=progress)
        target.finish()
    except BaseException:
        target.abandon()
        raise


def _open(source: Any, shape: Any, offset: int) -> Source:
    if isinstance(source, Storage):
        return Source(source)
    if not isinstance(source, (str, os.PathLike)):
        return Source(Storage.of_array(source))
    path = os.fspath(source)
    for form in FORMATS:
        if shape is None and form.claims(path):
            return form.open(path)
    if shape is not None:
        with open(path, "rb") as file:
            return Source(Storage.of_file(file, str(shape), offset=offset))
    if not path.endswith(".npy"):
        raise ArgumentError(f"{path}: bare bytes need a shape such as 'f32[2,3]'")
    return open_npy(path)


def open_npy(path: str) -> Source:
    """The array of an `.npy` file. One of a type that is none of the library's moves as
    integers of its width."""
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        read = (np.lib.format.read_array_header_1_0 if version == (1, 0)
                else np.lib.format.read_array_header_2_0)
        dims, is_fortran, dtype = read(file)
        other = None
        if dtype.kind in "SUV" and dtype.names is None and dtype.itemsize in (1, 2, 4, 8):
            other, dtype = dtype, np.dtype(f"u{dtype.itemsize}")
        elif dtype.kind in "mM":
            other = dtype
        order = range(len(dims)) if is_fortran else reversed(range(len(dims)))
        text = f"{type_name(dtype)}[{','.join(map(str, dims))}]"
        if dims:
            text += f"{{{','.join(map(str, order))}}}"
        return Source(file_storage(file, text, file.tell(), not dtype.isnative), other)


def file_storage(file: IO[bytes], shape: str, offset: int, is_swapped: bool) -> Storage:
    """A part of a file that is read, whose numbers may be in the other byte order."""
    if not is_swapped:
        return Storage.of_file(file, shape, offset=offset)
    own = os.dup(file.fileno())
    kind = numpy_type(shape.partition("[")[0])

    def read(position: int, view: memoryview) -> None:
        done = 0
        while done < len(view):
            count = os.preadv(own, [view[done:]], offset + position + done)
            if count == 0:
                raise DataLoss(f"the file ends at byte {offset + position + done}")
            done += count
        np.frombuffer(view, kind).byteswap(inplace=True)

    def identify() -> int:
        state = os.fstat(own)
        return hash((state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns))

    storage = Storage(shape, read=read, identify=identify, granule=kind.itemsize)
    weakref.finalize(storage, os.close, own)
    return storage


def _create(destination: Any, shape: Shape, source: Source, resume: bool,
            options: dict[str, Any]) -> Destination:
    if isinstance(destination, (str, os.PathLike)):
        path = os.fspath(destination)
        for form in FORMATS:
            if form.claims(path):
                return form.create(path, shape, source, resume=resume, **options)
    if options:
        raise TypeError(f"convert has no option {next(iter(options))!r} for this destination")
    if isinstance(destination, Storage):
        return _Memory(destination)
    if isinstance(destination, LaidOut):
        return _Memory(Storage.of_array(destination.memory, writable=True))
    if isinstance(destination, (str, os.PathLike)):
        return _Part(path, shape, source, resume)
    return _Memory(Storage.of_array(destination, writable=True))


class _Memory:
    """What is written in place."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def finish(self) -> None:
        pass

    def abandon(self) -> None:
        pass


class _Part:
    """A file beside the destination, which it replaces when it is whole."""

    def __init__(self, path: str, shape: Shape, source: Source, resume: bool) -> None:
        self.path = path
        folder, name = os.path.split(path)
        self.part = os.path.join(folder, f".{name}.relayout-part")
        self.journal = os.path.join(folder, f".{name}.relayout-journal")
        self.has_journal = resume or shape.physical_bytes >= _JOURNAL_BYTES
        self.head = _npy_head(shape, source.type) if path.endswith(".npy") else b""
        self.shape = shape
        self.file = os.fdopen(os.open(self.part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "r+b")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.file.close()
            raise Exists(f"{self.part} is written by another process") from None
        is_ours = os.fstat(self.file.fileno()).st_uid == os.geteuid()
        if not (resume and is_ours and os.path.exists(self.journal)):
            _remove(self.journal)
            self.file.truncate(0)
        self.file.write(self.head)
        self.file.flush()

    def plan(self, service: Service, problem: int, source: Storage, job: _c.JobOptions) -> None:
        """Makes the storage, with room for two passes where they are faster."""
        room = shutil.disk_usage(os.path.dirname(os.path.abspath(self.path))).free
        traits = _c.StorageTraits()
        _c.storage_get_traits(source._handle, byref(traits))
        if self.has_journal:
            job.journal_path = os.fsencode(os.path.abspath(self.journal))
        job.is_new_destination = True
        job.scratch_bytes = max(0, room - self.shape.physical_bytes)
        target = _c.StorageTraits(bytes=self.shape.physical_bytes + job.scratch_bytes)
        estimate = _c.JobEstimate()
        _c.service_estimate(service._handle, problem, byref(traits), byref(target), byref(job),
                            byref(estimate))
        job.scratch_bytes = estimate.scratch_bytes
        job.host_memory_bytes = estimate.budget_bytes
        self.storage = Storage.of_file(self.file, self.shape.text, offset=len(self.head),
                                       scratch=estimate.scratch_bytes)

    def finish(self) -> None:
        self.file.truncate(len(self.head) + self.shape.physical_bytes)
        os.fsync(self.file.fileno())
        os.replace(self.part, self.path)
        _remove(self.journal)
        folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        self.file.close()

    def abandon(self) -> None:
        if not os.path.exists(self.journal):
            _remove(self.part)
        self.file.close()


def _npy_head(shape: Shape, kind: Any) -> bytes:
    """The header of an `.npy` file."""
    import io
    head = io.BytesIO()
    dtype = kind if kind is not None else numpy_type(shape.dtype)
    np.lib.format.write_array_header_1_0(head, {
        "descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape.dims})
    return head.getvalue()


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass

