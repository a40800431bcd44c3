# SPDX-License-Identifier: Apache-2.0
"""Jobs: movements in the background, within a budget of memory, between arrays, files and
whatever functions of the caller's read and write.

Threads: everything here may be called by any thread. Python code runs in threads of the
library only as a storage's functions, while a job runs. In a child of `os.fork` a service of
the parent cannot be used; a new one can.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import time
import weakref
from ctypes import byref, c_bool
from typing import TYPE_CHECKING, Any, Callable, Generator, NamedTuple, Sequence

from . import _c
from ._arrays import take, take_writable
from ._moves import Problem, count_cpus, physical_bytes
from .errors import ArgumentError, Error, number_of

if TYPE_CHECKING:
    import asyncio

_UNITS = {"": 1, "B": 1, "kB": 1000, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def size_in_bytes(size: int | str | None) -> int:
    """`size`, or what a text such as "2GiB" says; 0 for None.

    >>> size_in_bytes("1.5GiB")
    1610612736
    """
    if size is None or isinstance(size, int):
        return size or 0
    number = size.rstrip("kKMGTiB ")
    try:
        return int(float(number) * _UNITS[size[len(number):].strip()])
    except (KeyError, ValueError):
        raise ArgumentError(f"{size!r} is no size such as 512MiB or 4GB") from None


class Storage:
    """Bytes that hold an array of some layout.

    A storage is made of an array, of a part of a file, or of functions::

        Storage.of_file(file, "f32[4096,4096]", offset=128)
        Storage("f32[512,512]{1,0:T(64,64)}", read=read, granule=64 * 64 * 4)

    `read(offset, view)` fills a writable memoryview with the bytes from `offset` on, and
    `write(offset, view)` takes those of a view that ends with the call. Threads of the library
    call them, several at once; what they raise ends the job. Transfers begin at multiples of
    `granule` bytes, and have such a length, or end with the storage.

    Attributes:
        shape: the text of the array's shape.
        bytes: how many there are.
    """

    def __init__(self, shape: str, *, read: Callable[[int, memoryview], None] | None = None,
                 write: Callable[[int, memoryview], None] | None = None,
                 flush: Callable[[], None] | None = None,
                 identify: Callable[[], int] | None = None, granule: int = 0) -> None:
        self._prepare(shape)
        kinds = dict(_c.StorageOps._fields_)
        functions: dict[str, Callable[..., Any]] = {}
        if read is not None:
            functions["read"] = lambda _, offset, count, into: read(
                offset, _c.bytes_at(into, count))
        if write is not None:
            functions["write"] = lambda _, offset, count, source: write(
                offset, _c.bytes_at(source, count).toreadonly())
        if flush is not None:
            functions["flush"] = lambda _: flush()
        if identify is not None:
            functions["identify"] = lambda _, number: setattr(
                ctypes.c_uint64.from_address(number), "value", identify() % 2**64)
        self._ops = _c.StorageOps(**{
            name: kinds[name](self._guarded(function)) for name, function in functions.items()})
        traits = _c.StorageTraits(bytes=self.bytes, granule_bytes=granule)
        self._handle = _c.Handle(_c.storage_release, _c.storage_create, byref(self._ops), None,
                                 byref(traits))

    @classmethod
    def of_file(cls, file: Any, shape: str, *, offset: int = 0, scratch: int = 0) -> Storage:
        """A part of a file: an open one, or a descriptor, which is duplicated. Two passes may
        use `scratch` bytes behind it."""
        number = file if isinstance(file, int) else file.fileno()
        size = physical_bytes(str(shape)) + scratch
        return cls.made(_c.storage_from_fd, number, offset, size, None, shape=shape)

    @classmethod
    def of_array(cls, array: Any, *, writable: bool = False) -> Storage:
        """The memory of an array."""
        taken = take_writable(array) if writable else take(array)
        create = _c.storage_from_memory if writable else _c.storage_from_const_memory
        self = cls.made(create, taken.address, physical_bytes(taken.text), shape=taken.text)
        self.keeps = taken
        return self

    @classmethod
    def made(cls, create: Callable[..., None], *arguments: Any, shape: str = "u8[0]") -> Storage:
        """What a function of the library creates."""
        self = cls.__new__(cls)
        self._prepare(shape)
        self._handle = _c.Handle(_c.storage_release, create, *arguments)
        return self

    def _prepare(self, shape: str) -> None:
        self.shape = str(shape)
        self.bytes = physical_bytes(self.shape)
        self.failure: BaseException | None = None
        self.keeps: Any = None

    def _guarded(self, function: Callable[..., Any]) -> Callable[..., int]:
        """The function, for C: returns a status."""
        def call(*arguments: Any) -> int:
            try:
                function(*arguments)
                return 0
            except BaseException as error:
                self.failure = error
                text = f"{type(error).__name__}: {error}"
                status: int = _c.error_set(number_of(error), b"%s", text.encode())
                return status
        return call


class Progress(NamedTuple):
    """What a job has done so far."""

    state: str  # "queued", "running", "finishing", "done", "failed" or "cancelled"
    bytes_done: int  # read and written, of all passes
    bytes_total: int
    pieces_done: int
    num_pieces: int
    seconds: float
    seconds_left: float | None
    bytes_read: int
    bytes_written: int
    bytes_resumed: int


_STATES = ("queued", "running", "finishing", "done", "failed", "cancelled")


class Job:
    """A movement that a service runs. `await job` and `job.wait()` end with it, and raise what
    it failed with."""

    def __init__(self, service: Service, handle: _c.Handle, ends: Sequence[Storage]) -> None:
        self._handle = handle
        self._service = service
        self._ends = ends

    def done(self) -> bool:
        """Tells if the job has ended, however."""
        return self._has_ended(0)

    def cancel(self) -> None:
        """Asks the job to end, which it does after the pieces in flight."""
        _c.job_cancel(self._handle)

    def progress(self) -> Progress:
        """A snapshot."""
        info = _c.JobInfo()
        _c.job_get_info(self._handle, byref(info))
        left = info.seconds_left
        return Progress(_STATES[info.state], info.bytes_done, info.bytes_total, info.pieces_done,
                        info.num_pieces, info.seconds, None if left < 0 else left,
                        info.bytes_read, info.bytes_written, info.bytes_resumed)

    def wait(self, timeout: float | None = None, progress: bool = False) -> None:
        """Waits for the end of the job; raises what it failed with.

        Ctrl-C cancels the job and raises KeyboardInterrupt when it has ended.

        Args:
            timeout: seconds, after which TimeoutError is raised and the job goes on.
            progress: show a bar by tqdm, where that is installed.
        """
        bar = progress_bar(self.progress().bytes_total) if progress else None

        def has_ended(milliseconds: int) -> bool:
            ended = self._has_ended(milliseconds)
            if bar is not None:
                bar.update(self.progress().bytes_done - bar.n)
            return ended

        try:
            if not _wait(has_ended, timeout):
                raise TimeoutError(f"the job has not ended within {timeout} seconds")
        except KeyboardInterrupt:
            self.cancel()
            while not has_ended(100):
                pass
            raise
        finally:
            if bar is not None:
                bar.close()
        self.result()

    def result(self) -> None:
        """Raises what the job failed with; ArgumentError if it has not ended."""
        try:
            _c.job_result(self._handle)
        except Error as error:
            raise error from next((end.failure for end in self._ends if end.failure), None)

    def __await__(self) -> Generator[Any, None, None]:
        return self._wait_in_loop().__await__()

    async def _wait_in_loop(self) -> None:
        import asyncio
        try:
            await self._service._until_ended(self)
        except asyncio.CancelledError:
            self.cancel()
            raise
        self.result()

    def _has_ended(self, milliseconds: int) -> bool:
        ended = c_bool()
        _c.job_wait(self._handle, milliseconds, byref(ended))
        return ended.value


def _wait(has_ended: Callable[[int], bool], timeout: float | None) -> bool:
    """Calls a function, which waits so many milliseconds, until it returns True or `timeout`
    seconds are over. The waits are short, so that signals are seen."""
    limit = math.inf if timeout is None else time.monotonic() + timeout
    while True:
        left = limit - time.monotonic()
        if has_ended(int(1000 * min(0.1, max(0.0, left)))):
            return True
        if left <= 0:
            return False


def progress_bar(total: int) -> Any:
    """A bar of so many bytes by tqdm; None without it."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None
    return tqdm(total=total, unit="B", unit_scale=True)


class Service:
    """A queue of jobs with threads and budgets of memory of its own.

        with Service(memory="4GiB") as service:
            job = service.submit(source, destination, perm=(1, 0))
            await job  # or job.wait(progress=True)

    Leaving the block waits for the jobs; an exception there cancels them first.

    Args:
        memory: staging memory of all jobs together, beside the arrays; a quarter of what is
            available, at most 16 GiB, if None.
        threads: those that read, write and move; 8 if None.
        running: further jobs wait.
        devices: names or numbers of OpenCL devices that run the pieces; the host if there is none.
    """

    def __init__(self, *, memory: int | str | None = None, threads: int | None = None,
                 running: int | None = None, devices: Sequence[str | int] = ()) -> None:
        options = _c.ServiceOptions(host_memory_bytes=size_in_bytes(memory),
                                    io_threads=threads or 0, max_running_jobs=running or 0)
        contexts = [open_context(device) for device in devices]
        self._handle = _c.Handle(_c.service_release, _c.service_create, _c.handles(contexts),
                                 len(contexts), byref(options))
        self._jobs: list[Job] = []
        self._awaited: list[tuple[Job, asyncio.Future[None]]] = []
        _services.add(self)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is not None:
            self.cancel_all()
        try:
            self.drain()
        except KeyboardInterrupt:
            self.cancel_all()
            self.drain()
            raise

    def submit(self, source: Any, destination: Any, *, perm: Sequence[int] | None = None,
               memory: int | str | None = None, priority: int = 0,
               journal: str | None = None) -> Job:
        """Begins a job that moves an array into another one, of another layout, order or type.

        Args:
            source: an array, or a storage. It is kept until the job has ended.
            destination: the same, kept as long; its dims are those of the source, by `perm`.
            perm: as `transpose` takes it; None keeps the order.
            memory: staging memory of this job.
            priority: -1, 0 or 1.
            journal: path of a file by which a job that was stopped goes on where it was.
        """
        ends = (_storage(source, False), _storage(destination, True))
        problem = Problem(ends[0].shape, ends[1].shape, perm)
        return self._submit(problem.handle, ends, _c.JobOptions(
            priority=priority, host_memory_bytes=size_in_bytes(memory),
            journal_path=journal.encode() if journal else None))

    def _submit(self, problem: _c.Handle | int, ends: Sequence[Storage], options: _c.JobOptions) -> Job:
        handle = _c.Handle(_c.job_release, _c.service_submit, self._handle, problem,
                           ends[0]._handle, ends[1]._handle, byref(options))
        job = Job(self, handle, ends)
        # Until a job has ended its storages are in use, whoever still has the job.
        self._jobs = [other for other in self._jobs if not other.done()] + [job]
        return job

    def cancel_all(self) -> None:
        """Asks every job to end."""
        _c.service_cancel_all(self._handle)

    def drain(self, timeout: float | None = None) -> bool:
        """Waits until every job has ended, and tells if they have."""
        def is_idle(milliseconds: int) -> bool:
            idle = c_bool()
            _c.service_drain(self._handle, milliseconds, byref(idle))
            return idle.value
        return _wait(is_idle, timeout)

    async def _until_ended(self, job: Job) -> None:
        import asyncio
        loop = asyncio.get_running_loop()
        entry = (job, loop.create_future())
        descriptor = _c.service_poll_fd(self._handle)
        self._awaited.append(entry)
        loop.add_reader(descriptor, self._tell_ended)
        try:
            if not job.done():
                await entry[1]
        finally:
            self._awaited.remove(entry)
            if all(future.get_loop() is not loop for _, future in self._awaited):
                loop.remove_reader(descriptor)

    def _tell_ended(self) -> None:
        """Wakes those who wait for jobs that have ended."""
        while handle := _c.service_take_ended(self._handle):
            _c.job_release(handle)
        for job, future in list(self._awaited):
            if job.done():
                future.get_loop().call_soon_threadsafe(_wake, future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _storage(end: Any, writable: bool) -> Storage:
    return end if isinstance(end, Storage) else Storage.of_array(end, writable=writable)


def open_context(device: str | int) -> _c.Handle:
    """A context of the library's on a device by its number, or by a part of its name."""
    number = ctypes.c_int32()
    if isinstance(device, int):
        number.value = device
    else:
        _c.device_find(device.encode(), byref(number))
    return _c.Handle(_c.context_release, _c.context_create_default, number, None)


def run_as_job(problem: int, source: int, destination: int, threads: int) -> None:
    """Runs a problem in memory so that Ctrl-C cancels it.

    The service ends here and not in a `__del__`, where a KeyboardInterrupt would be lost.
    """
    ends = (Storage.made(_c.storage_from_const_memory, source, _c.problem_src_bytes(problem)),
            Storage.made(_c.storage_from_memory, destination, _c.problem_dst_bytes(problem)))
    service = Service(threads=threads)
    service._submit(problem, ends, _c.JobOptions()).wait()
    service._jobs.clear()
    service._handle.release()


_services: weakref.WeakSet[Service] = weakref.WeakSet()


@atexit.register
def _end_services() -> None:
    for service in list(_services):
        service.cancel_all()
        service.drain()
