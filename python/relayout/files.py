# SPDX-License-Identifier: Apache-2.0
"""Files: an array from one to another, in bounded memory.

Bare bytes are known here, and every other format by its entry in the table `FORMATS`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
import weakref
from contextlib import closing
from ctypes import byref
from functools import partial
from typing import IO, Any, Callable, NamedTuple, Sequence

import numpy as np

from . import _c
from ._arrays import Dims, numpy_type, row_major, type_name
from ._moves import Problem
from .errors import ArgumentError, DataLoss, Error, Exists, NotFound, Unsupported
from .layout import LaidOut, Shape, end_of
from .service import Service, Storage, size_in_bytes

# Outputs of so many bytes have a journal, so that a job that was stopped can go on.
_JOURNAL_BYTES = 1 << 30


class About(NamedTuple):
    """What goes with an array from one format to another."""

    name: str = ""
    names: tuple[str, ...] = ()  # of the dimensions
    attributes: dict[str, Any] = {}
    fill: Any = None
    chunks: Dims = ()
    codec: dict[str, dict[str, Any]] = {}  # by format, options of `create` that say how it is compressed
    # By their names the arrays that are its coordinates, and what goes with them.
    coordinates: Callable[[], dict[str, tuple[Any, About]]] = dict


class Source(NamedTuple):
    """An array that is read."""

    storage: Storage
    type: Any = None  # its type in NumPy, where that is none of the library's
    about: About = About()
    close: Callable[[], None] = lambda: None  # when it has been read

    def moved(self, perm: Sequence[int] | None, keeps_type: bool) -> Source:
        """What the result has of this array."""
        about = self.about
        if not keeps_type:
            about = about._replace(fill=None, codec={}, attributes={
                name: value for name, value in about.attributes.items() if name != "_FillValue"})
        if perm is not None and sorted(perm) == list(range(len(Shape(self.storage.shape).dims))):
            about = about._replace(names=tuple(about.names[k] for k in perm if about.names),
                                   chunks=tuple(about.chunks[k] for k in perm if about.chunks))
        return self._replace(about=about)


class Destination:
    """An array that is written: in place, or whole or not at all.

    Attributes:
        shape: its text, with the layout.
        is_new: what lies between its elements is nobody's.
    """

    def __init__(self, storage: Storage, shape: str | None = None, is_new: bool = False) -> None:
        self.storage = storage
        self.shape = shape or storage.shape
        self.is_new = is_new

    def prepare(self, service: Service, problem: int, source: Storage, job: _c.JobOptions) -> None:
        """Says what the job is to know, before it begins."""
        job.is_new_destination = self.is_new

    def finish(self) -> None:
        """Gives what was written its name."""

    def abandon(self) -> None:
        """Removes what was written, but for what a later call goes on with."""


class Format(NamedTuple):
    """A kind of files, by the ends of their names, and of objects, by their package and class.

    `open` gets a path and the member of ``path::member``; `create` also the shape and the source
    of what is written, `resume`, and the options of `convert` that it does not know. `read` and
    `written` get an object.
    """

    endings: tuple[str, ...]
    open: Callable[[str, str], Source]
    create: Callable[..., Destination] | None = None
    kind: str = ""
    read: Callable[[Any], Source] | None = None
    written: Callable[[Any], Storage] | None = None


FORMATS: list[Format] = []


def _format_of(x: Any) -> tuple[Format | None, Any, str]:
    """The format of a path or an object, the path alone, and the member."""
    if isinstance(x, str):
        for name, _, member in (x.partition("::"), (x, "", "")):
            for form in FORMATS:
                if name.lower().rstrip("/").endswith(form.endings):
                    return form, name, member.strip("/")
    kind = f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}"
    return next((form for form in FORMATS if form.kind == kind), None), x, ""


def by_reader(path: str, member: str, function: Callable[[str, str], Any]) -> Any:
    """Calls a function of a format's package, each of which has errors of its own."""
    try:
        return function(path, member)
    except (Error, OSError, TypeError):
        raise
    except ImportError as error:
        raise Unsupported(f"{path}: {error.name}, which is needed for it, is not installed") from None
    except (KeyError, IndexError):
        raise NotFound(f"{path} has no array {member!r}") from None
    except Exception as error:
        raise ArgumentError(f"{path}: {error}") from error


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
        source: the path of a `.npy` file, of another format as ``path::member``, or of bare bytes
            whose `shape` is given; or an array, one of zarr or h5py, or a `Storage`.
        destination: a path that is written: `.npy`, Zarr, HDF5, TIFF or bare bytes; or what a
            source may be. An array has its type and its strides.
        perm: as `transpose` takes it.
        dtype: the type of the result; None: that of the source.
        to: the layout of bare bytes, row-major if None.
        shape: that of bare bytes in the source.
        offset: the bytes before them.
        memory: the budget, such as "2GiB"; a quarter of what is available, at most 16 GiB, if None.
        threads: as for `Service`.
        devices: as for `Service`.
        progress: show a bar by tqdm, where that is installed.
        options: `chunks`, and what the package takes that writes the destination's format.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> maps, series = os.path.join(folder, "maps.npy"), os.path.join(folder, "series.npy")
        >>> np.save(maps, np.arange(24.0).reshape(2, 3, 4))
        >>> convert(maps, series, perm=(1, 2, 0), memory="64MiB")
        >>> np.load(series).shape
        (3, 4, 2)
    """
    begin = _open(source, shape, offset)
    with closing(begin):
        old = Shape(begin.storage.shape)
        end = end_of(old.dtype if dtype is None else type_name(dtype), old.dims,
                     row_major(len(old.dims)) if to is None else to, perm)
        if begin.type is not None and dtype is not None:
            raise Unsupported(f"elements of {begin.type} have no other type")
        job_options = _c.JobOptions(host_memory_bytes=size_in_bytes(memory))
        service = Service(memory=memory, threads=threads, devices=devices)
        target = _create(destination, end, begin.moved(perm, end.dtype == old.dtype), resume, options)
        try:
            problem = Problem(old.text, target.shape, perm)
            target.prepare(service, problem.handle, begin.storage, job_options)
            ends = (begin.storage, target.storage)
            service._submit(problem.handle, ends, job_options).wait(progress=progress)
            target.finish()
        except BaseException:
            target.abandon()
            raise


def _traits(storage: Storage) -> _c.StorageTraits:
    traits = _c.StorageTraits()
    _c.storage_get_traits(storage._handle, byref(traits))
    return traits


def is_source(x: Any) -> bool:
    """Tells if something is a path, a storage, or an object of a format."""
    return isinstance(x, (str, os.PathLike, Storage)) or _format_of(x)[0] is not None


def digest_of_source(source: Any, threads: int | None) -> str:
    """The digest of what `convert` reads, by a job that writes nothing."""
    total, lock = _c.Digest(), threading.Lock()

    def write(offset: int, view: memoryview) -> None:
        part = _c.Digest()
        _c.digest_add(byref(shape), offset, np.frombuffer(view, np.uint8).ctypes.data, len(view),
                      byref(part))
        with lock:
            _c.digest_join(byref(total), byref(part))

    with closing(_open(source, None, 0)) as begin:
        text = begin.storage.shape
        shape = _c.parsed(text)
        ends = (begin.storage, Storage(text, write=write, granule=_traits(begin.storage).granule_bytes))
        problem = Problem(text, text, None)
        Service(threads=threads)._submit(problem.handle, ends,
                                         _c.JobOptions(is_new_destination=True)).wait()
    _c.digest_finish(byref(shape), byref(total), byref(total))
    return f"{total.high:016x}{total.low:016x}"


def _open(source: Any, shape: Any, offset: int) -> Source:
    if isinstance(source, Storage):
        return Source(source)
    path = os.fspath(source) if isinstance(source, os.PathLike) else source
    if shape is not None and isinstance(path, str):
        with open(path, "rb") as file:
            return Source(Storage.of_file(file, str(shape), offset=offset))
    form, path, member = _format_of(path)
    if not isinstance(path, str):
        return form.read(path) if form and form.read else Source(Storage.of_array(path))
    if form is None:
        raise ArgumentError(f"{path}: bare bytes need a shape such as 'f32[2,3]'")
    return by_reader(path, member, form.open)  # type: ignore[no-any-return]


def carrier(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], Any]:
    """The type as which elements of a type move, in the machine's order, and that type in NumPy
    where it is another one."""
    if dtype.kind in "SUV" and dtype.names is None and dtype.itemsize in (1, 2, 4, 8):
        return np.dtype(f"u{dtype.itemsize}"), dtype
    return numpy_type(type_name(dtype)), dtype.newbyteorder("=") if dtype.kind in "mM" else None


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

    storage = Storage(shape, read=read, identify=identity(own), granule=kind.itemsize)
    weakref.finalize(storage, os.close, own)
    return storage


def identity(descriptor: int) -> Callable[[], int]:
    """A function whose number is another one when the file has changed."""
    def identify() -> int:
        state = os.fstat(descriptor)
        return hash((state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns))
    return identify


def _create(destination: Any, shape: Shape, source: Source, resume: bool,
            options: dict[str, Any]) -> Destination:
    path = os.fspath(destination) if isinstance(destination, os.PathLike) else destination
    form, path, member = _format_of(path)
    if isinstance(path, str) and form:
        if form.create is None:
            raise Unsupported(f"{path}: files of this format are read only")
        if form.create is not File or not options:
            create = partial(form.create, shape=shape, source=source, resume=resume, **options)
            return by_reader(path, member, create)  # type: ignore[no-any-return]
    if options:
        raise TypeError(f"convert has no option {next(iter(options))!r} for this destination")
    if isinstance(path, str):
        return File(path, "", shape, source, resume=resume)
    if form and form.written:
        return Destination(form.written(path), is_new=True)  # beyond the border chunks are nobody's
    if isinstance(path, LaidOut):
        return Destination(Storage.of_array(path.memory, writable=True), path.shape.text)
    return Destination(path if isinstance(path, Storage) else Storage.of_array(path, writable=True))


class Part(Destination):
    """A file or a folder beside the destination, which it becomes when it is whole.

    Attributes:
        path: the destination; of a folder that exists, `member` is what it gets.
        part: what is written, by this process alone; `lock` is its descriptor.
        is_resumed: it holds what an earlier job has written.
        journal: the path of the job's journal, if `has_journal`.
    """

    is_new = True

    def __init__(self, path: str, *, member: str = "", is_folder: bool = False,
                 has_journal: bool = False, resume: bool = False) -> None:
        self.path = path
        self.member = member
        folder, base = os.path.split(os.path.abspath(path))
        if member:
            base += "." + member.replace("/", ".")
        self.part = os.path.join(folder, f".{base}.relayout-part")
        self.journal = os.path.join(folder, f".{base}.relayout-journal")
        self.has_journal = has_journal
        flags = os.O_RDONLY | os.O_DIRECTORY if is_folder else os.O_RDWR | os.O_CREAT
        if is_folder:
            os.makedirs(self.part, exist_ok=True)
        self.lock = os.open(self.part, flags | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self.lock)
            raise Exists(f"{self.part} is written by another process") from None
        state = os.fstat(self.lock)
        # A job that was killed after it gave its part a name has left its journal alone.
        held = os.listdir(self.part) if is_folder else state.st_size
        self.is_resumed = bool(resume and held and state.st_uid == os.geteuid()
                               and os.path.exists(self.journal))
        if not self.is_resumed:
            _remove(self.journal)
            if is_folder:
                for name in os.listdir(self.part):
                    _remove(os.path.join(self.part, name))
            else:
                os.ftruncate(self.lock, 0)

    def prepare(self, service: Service, problem: int, source: Storage, job: _c.JobOptions) -> None:
        super().prepare(service, problem, source, job)
        if self.has_journal:
            job.journal_path = os.fsencode(self.journal)

    def finish(self) -> None:
        os.fsync(self.lock)
        _publish(self.part, self.path, self.member)
        _remove(self.journal)
        _remove(self.part)
        folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        os.close(self.lock)

    def abandon(self) -> None:
        if not os.path.exists(self.journal):
            _remove(self.part)
        os.close(self.lock)


class File(Part):
    """An `.npy` file, or bare bytes."""

    def __init__(self, path: str, member: str, shape: Shape, source: Source, *, resume: bool) -> None:
        self.shape = shape.text
        self.bytes = shape.physical_bytes
        self.head = _npy_head(shape, source.type) if path.endswith(".npy") else b""
        super().__init__(path, has_journal=resume or self.bytes >= _JOURNAL_BYTES, resume=resume)
        os.pwrite(self.lock, self.head, 0)

    def prepare(self, service: Service, problem: int, source: Storage, job: _c.JobOptions) -> None:
        """Makes the storage, with room for two passes where they are faster."""
        super().prepare(service, problem, source, job)
        room = shutil.disk_usage(os.path.dirname(self.part)).free
        traits = _traits(source)
        job.scratch_bytes = max(0, room - self.bytes)
        target = _c.StorageTraits(bytes=self.bytes + job.scratch_bytes)
        estimate = _c.JobEstimate()
        _c.service_estimate(service._handle, problem, byref(traits), byref(target), byref(job),
                            byref(estimate))
        job.scratch_bytes = estimate.scratch_bytes
        job.host_memory_bytes = estimate.budget_bytes
        self.storage = Storage.of_file(self.lock, self.shape, offset=len(self.head),
                                       scratch=estimate.scratch_bytes)

    def finish(self) -> None:
        os.ftruncate(self.lock, len(self.head) + self.bytes)
        super().finish()


def _npy_head(shape: Shape, kind: Any) -> bytes:
    """The header of an `.npy` file."""
    import io
    head = io.BytesIO()
    dtype = kind if kind is not None else numpy_type(shape.dtype)
    np.lib.format.write_array_header_1_0(head, {
        "descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape.dims})
    return head.getvalue()


def _publish(part: str, path: str, member: str) -> None:
    """Gives what is whole its name. Where that is a folder, which gets a member, all that goes
    with the member comes before it, but for what the folder has."""
    if not member or not os.path.exists(path):
        os.rename(part, path)
        return
    first, _, rest = member.partition("/")
    for name in sorted(os.listdir(part), key=lambda name: name == first):
        if name == first or not os.path.exists(os.path.join(path, name)):
            _publish(os.path.join(part, name), os.path.join(path, name), rest)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass
    except IsADirectoryError:
        shutil.rmtree(path)
