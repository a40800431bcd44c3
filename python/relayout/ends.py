# SPDX-License-Identifier: Apache-2.0
"""Chunked arrays: Zarr by `zarr`, HDF5 and NetCDF-4 by `h5py`, TIFF by `tifffile`.

An array in chunks is a layout of tiles, and the bytes of one chunk are the granule of its
storage: the threads of a job decode and encode whole chunks. Those at the border are padded.
"""

from __future__ import annotations

import base64
import ctypes
import math
import os
import struct
import weakref
import zlib
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from . import _c
from ._arrays import Dims, numpy_type, row_major, type_name
from .errors import ArgumentError, Exists, NotFound, Unsupported
from .files import FORMATS, About, Destination, InPlace, Part, Source, carrier, identity
from .layout import Shape
from .locate import locate
from .ops import transpose
from .service import Service, Storage

Region = tuple[slice, ...]


def chunked(dims: Dims, chunks: Dims, dtype: np.dtype[Any], *,
            read: Callable[[Region], Any] | None = None,
            write: Callable[[Region, Any], None] | None = None, **functions: Any) -> Storage:
    """The storage of an array in chunks, by functions that read and write the part of the array
    that lies in one chunk."""
    kind, other = carrier(dtype)
    chunks = tuple(max(1, size) for size in chunks)
    granule = math.prod(chunks) * kind.itemsize
    grid = [-(-size // chunk) for size, chunk in zip(dims, chunks)]

    def parts(offset: int, view: memoryview) -> Iterator[tuple[Region, Any]]:
        for at in range(0, len(view), granule):
            index = np.unravel_index((offset + at) // granule, grid) if grid else ()
            region = tuple(slice(int(i) * chunk, min((int(i) + 1) * chunk, size))
                           for i, chunk, size in zip(index, chunks, dims))
            array = np.frombuffer(view[at:at + granule], kind).reshape(chunks)
            yield region, array[_extent(region)]

    def read_chunks(offset: int, view: memoryview) -> None:
        for region, part in parts(offset, view):
            data = read(region)  # type: ignore[misc]
            part[...] = data if other is None else data.astype(other, copy=False).view(kind)

    def write_chunks(offset: int, view: memoryview) -> None:
        for region, part in parts(offset, view):
            write(region, part if other is None else part.view(other))  # type: ignore[misc]

    tiles = f":T({','.join(map(str, chunks))})" if dims else ""
    layout = row_major(len(dims))[:-1] + tiles + "}" if dims else ""
    return Storage(f"{type_name(kind)}[{','.join(map(str, dims))}]{layout}", granule=granule,
                   read=read_chunks if read else None, write=write_chunks if write else None,
                   **functions)


def _extent(region: Region) -> Any:
    """The part of a chunk that lies in the array."""
    return (..., *(slice(each.stop - each.start) for each in region))


def _package(name: str, path: Any) -> Any:
    import importlib
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Unsupported(f"{path}: {name}, which reads and writes it, is not installed") from None


def _split(path: str) -> tuple[str, str]:
    name, _, member = path.partition("::")
    return name, member.strip("/")


def _is_path(path: Any, *endings: str) -> bool:
    return isinstance(path, str) and _split(path)[0].lower().rstrip("/").endswith(endings)


def _is_object(x: Any, package: str, name: str) -> bool:
    return type(x).__name__ == name and type(x).__module__.partition(".")[0] == package


def _plain(value: Any) -> Any:
    """An attribute as JSON has it."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _created(shape: Shape, source: Source) -> tuple[Dims, np.dtype[Any]]:
    """Dims and type of an array that is created; its chunks are its layout."""
    if shape.dims and str(shape.layout) != row_major(len(shape.dims)):
        raise ArgumentError(f"{shape}: an array in chunks has no other layout; `chunks` says theirs")
    return shape.dims, np.dtype(source.type or numpy_type(shape.dtype))


class _Existing(InPlace):
    """An array that exists: what it has in chunks beyond its border is nobody's."""

    def prepare(self, service: Service, problem: int, source: Storage, job: _c.JobOptions) -> None:
        job.is_new_destination = True


class _Whole(_Existing):
    """An array that is made beside its name. `make` returns a storage, and what is called at
    the end with whether it is whole."""

    def __init__(self, part: Part, make: Callable[[], tuple[Storage, Callable[[bool], None]]]) -> None:
        self.part = part
        try:
            storage, self.close = make()
        except BaseException:
            part.abandon()
            raise
        super().__init__(storage)
        self.scratch_folder = os.path.dirname(part.part)

    def prepare(self, service: Service, problem: int, source: Storage, job: _c.JobOptions) -> None:
        super().prepare(service, problem, source, job)
        if self.part.has_journal:
            job.journal_path = os.fsencode(self.part.journal)

    def finish(self) -> None:
        self.close(True)
        self.part.finish()

    def abandon(self) -> None:
        self.close(False)
        self.part.abandon()


# -------------------------------------------------------------------- formats

class _Zarr:
    """Zarr 2 and 3: paths of local stores, or arrays of zarr-python in any store."""

    def claims(self, path: Any) -> bool:
        return _is_path(path, ".zarr") or _is_object(path, "zarr", "Array")

    def open(self, path: Any, **options: Any) -> Source:
        array = path
        if isinstance(path, str):
            name, member = _split(path)
            try:
                array = _package("zarr", path).open_array(name, path=member or None, mode="r")
            except FileNotFoundError:
                raise NotFound(f"{name} has no array {member!r}") from None
        storage = chunked(array.shape, array.chunks, array.dtype, read=array.__getitem__)
        return Source(storage, carrier(array.dtype)[1], self.about(array))

    @staticmethod
    def about(array: Any) -> About:
        attributes = dict(array.attrs)
        version = array.metadata.zarr_format
        names = attributes.pop("_ARRAY_DIMENSIONS", None) if version == 2 \
            else array.metadata.dimension_names
        missing = attributes.get("_FillValue")
        if isinstance(missing, str) and array.dtype.kind == "f":  # as xarray has it
            attributes["_FillValue"] = struct.unpack("<d", base64.b64decode(missing))[0]
        codec = {"zarr_format": version, "compressors": array.compressors, "filters": array.filters}
        return About(tuple(name or "" for name in names or ()), attributes, array.fill_value,
                     array.chunks, {"zarr": codec})

    def create(self, path: Any, shape: Shape, source: Source, *, resume: bool = False,
               chunks: Sequence[int] | None = None, **options: Any) -> Destination:
        if not isinstance(path, str):
            if options or chunks:
                raise TypeError("an array that exists has its chunks and options")
            return _Existing(self.written(path))
        zarr = _package("zarr", path)
        dims, dtype = _created(shape, source)
        name, member = _split(path)
        target = os.path.join(name, member) if member else name.rstrip("/")
        if os.path.exists(target):
            raise Exists(f"{target} exists; what is made of several files is not replaced")
        codec = source.about.codec.get("zarr", {})
        version = options.setdefault("zarr_format", codec.get("zarr_format", 3))
        if codec.get("zarr_format") == version:
            options = {**codec, **options}
        options.setdefault("fill_value", source.about.fill)
        names = source.about.names or None
        attributes = {key: _plain(value) for key, value in source.about.attributes.items()}
        attributes.update(options.pop("attributes", {}))
        if version == 2 and names:
            attributes["_ARRAY_DIMENSIONS"] = names
        elif names:
            options.setdefault("dimension_names", [each or None for each in names])
        if isinstance(attributes.get("_FillValue"), float):  # as xarray has it
            attributes["_FillValue"] = base64.b64encode(
                struct.pack("<d", attributes["_FillValue"])).decode()
        part = Part(target, name=name.rstrip("/") + ("." + member.replace("/", ".") if member else ""),
                    is_folder=True, has_journal=resume, resume=resume)

        def make() -> tuple[Storage, Callable[[bool], None]]:
            if part.is_resumed:
                array = zarr.open_array(part.part, mode="r+")
            else:
                array = zarr.create_array(part.part, shape=dims, dtype=dtype, attributes=attributes,
                                          chunks=chunks or source.about.chunks or "auto", **options)
            return self.written(array, lambda: _sync(part.lock)), close

        def close(is_whole: bool) -> None:
            if member and is_whole:
                group = zarr.open_group(name, mode="a", zarr_format=version)
                if "/" in member:
                    group.require_group(os.path.dirname(member))
        return _Whole(part, make)

    @staticmethod
    def written(array: Any, flush: Callable[[], None] | None = None) -> Storage:
        def write(region: Region, part: Any) -> None:
            array[region] = part.copy()  # a store in memory may keep it
        return chunked(array.shape, array.shards or array.chunks, array.dtype,
                       read=array.__getitem__, write=write, flush=flush)


def _sync(descriptor: int) -> None:
    """Makes durable what lies on a file system."""
    if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


_DEFLATE, _SHUFFLE = 1, 2
_OF_HDF5 = ("DIMENSION_LABELS", "DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "_Netcdf4Dimid",
            "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties")


class _Filters:
    """The way of a chunk into the file. Without HDF5 many threads go it at once."""

    def __init__(self, data: Any) -> None:
        import h5py
        plist = data.id.get_create_plist()
        filters = [plist.get_filter(n) for n in range(plist.get_nfilters())]
        self.codes = [(each[0], each[2]) for each in filters]
        self.chunks, self.dtype = data.chunks, data.dtype
        self.bytes = math.prod(data.chunks or ()) * data.dtype.itemsize
        self.fill = data.fillvalue
        memory = h5py.h5t.py_create(data.dtype)
        self.are_known = (all(code in (_DEFLATE, _SHUFFLE) for code, _ in self.codes)
                          and data.id.get_type().equal(memory)
                          and not data.file.userblock_size and hasattr(data.id, "chunk_iter"))

    def decode(self, raw: Any, left_out: int) -> Any:
        for n, (code, _) in reversed(list(enumerate(self.codes))):
            if left_out >> n & 1:
                continue
            raw = zlib.decompress(raw, bufsize=self.bytes) if code == _DEFLATE else self._shuffle(raw, True)
        return np.frombuffer(raw, self.dtype).reshape(self.chunks)

    def encode(self, array: Any) -> bytes:
        raw = array.data
        for code, values in self.codes:
            raw = zlib.compress(raw, *values) if code == _DEFLATE else self._shuffle(raw, False)
        return bytes(raw)

    def _shuffle(self, raw: Any, is_back: bool) -> Any:
        size = self.dtype.itemsize
        split = (size, -1) if is_back else (-1, size)
        array = np.frombuffer(raw, np.uint8).reshape(split)
        return transpose(array, threads=1).data.cast("B") if size > 1 else raw


class _Hdf5:
    """HDF5 and NetCDF-4: ``path::member``, or datasets of h5py."""

    def claims(self, path: Any) -> bool:
        if _is_path(path, ".nc", ".cdf") and os.path.exists(_split(path)[0]):
            with open(_split(path)[0], "rb") as file:
                return file.read(3) != b"CDF"
        return _is_path(path, ".h5", ".hdf5", ".nc", ".nc4") or _is_object(path, "h5py", "Dataset")

    def open(self, path: Any, **options: Any) -> Source:
        if not isinstance(path, str):
            return self.read(path)
        name, member = _split(path)
        h5py = _package("h5py", path)
        file = h5py.File(name, "r", rdcc_nbytes=0)
        try:
            data = file.get(member) if member else None
            if not isinstance(data, h5py.Dataset):
                raise NotFound(f"{name} has no array {member!r}; it has {', '.join(file)}")
            return self.read(data)._replace(close=file.close)
        except BaseException:
            file.close()
            raise

    def read(self, data: Any) -> Source:
        about = self.about(data)
        if data.chunks is None:
            data.file.flush()
            return locate(data.file.filename, data.name).open()._replace(about=about)
        if data.file.mode != "r" or data.file.driver != "sec2":  # its bytes may be elsewhere
            storage = chunked(data.shape, data.chunks, data.dtype, read=data.__getitem__)
            return Source(storage, carrier(data.dtype)[1], about)
        descriptor = os.open(data.file.filename, os.O_RDONLY)
        filters = _Filters(data)
        places: dict[Dims, Any] = {}
        if filters.are_known:
            data.id.chunk_iter(lambda info: places.__setitem__(info.chunk_offset, info))

        def read(region: Region) -> Any:
            info = places.get(tuple(each.start for each in region))
            if info is None:
                return data[region]
            raw = os.pread(descriptor, info.size, info.byte_offset)
            return filters.decode(raw, info.filter_mask)[_extent(region)]
        storage = chunked(data.shape, data.chunks, data.dtype, read=read,
                          identify=identity(descriptor))
        weakref.finalize(storage, os.close, descriptor)
        return Source(storage, carrier(data.dtype)[1], about)

    @staticmethod
    def about(data: Any) -> About:
        attributes = {name: _plain(value) for name, value in data.attrs.items()
                      if name not in _OF_HDF5}
        missing = attributes.get("_FillValue")
        if isinstance(missing, list):
            attributes["_FillValue"] = missing[0]
        names = [each.label or (os.path.basename(each[0].name) if len(each) else "")
                 for each in data.dims]
        codec = {"compression": data.compression, "compression_opts": data.compression_opts,
                 "shuffle": data.shuffle, "fletcher32": data.fletcher32}
        return About(tuple(names) if any(names) else (), attributes, data.fillvalue,
                     data.chunks or (), {"hdf5": codec} if data.chunks else {})

    def create(self, path: Any, shape: Shape, source: Source, *, resume: bool = False,
               chunks: Sequence[int] | None = None, **options: Any) -> Destination:
        if not isinstance(path, str):
            if options or chunks:
                raise TypeError("a dataset that exists has its chunks and options")
            return _Existing(self.written(path))
        h5py = _package("h5py", path)
        dims, dtype = _created(shape, source)
        name, member = _split(path)
        if not member:
            raise ArgumentError(f"{path} does not name a dataset: {path}::NAME")
        if os.path.exists(name):
            raise Exists(f"{name} exists; what may have several arrays is not replaced")
        if "compression" not in options:
            options = {**source.about.codec.get("hdf5", {}), **options}
        options.setdefault("fillvalue", source.about.fill)
        part = Part(name)

        def make() -> tuple[Storage, Callable[[bool], None]]:
            file = h5py.File(part.part, "w", track_order=True, locking=False, rdcc_nbytes=0)
            data = file.create_dataset(member, dims, dtype, track_order=True,
                                       chunks=tuple(chunks or source.about.chunks) or bool(dims) or None,
                                       **options)
            for key, value in source.about.attributes.items():
                data.attrs[key] = value if key != "_FillValue" else np.array([value], dtype)
            _name_dimensions(data, source.about.names)
            return self.written(data), lambda _: file.close()
        return _Whole(part, make)

    @staticmethod
    def written(data: Any) -> Storage:
        filters = _Filters(data)

        def write(region: Region, part: Any) -> None:
            if not filters.are_known or data.chunks is None:
                data[region] = part
                return
            if part.shape != data.chunks:
                whole = np.full(data.chunks, filters.fill, filters.dtype)
                whole[_extent(region)] = part
                part = whole
            raw = filters.encode(np.ascontiguousarray(part, filters.dtype))
            data.id.write_direct_chunk(tuple(each.start for each in region), raw)
        rows = (1, *data.shape[1:])[:data.ndim]
        return chunked(data.shape, data.chunks or rows, data.dtype, read=data.__getitem__, write=write)


def _name_dimensions(data: Any, names: Sequence[str]) -> None:
    """Labels, and the scales by which NetCDF-4 knows dimensions."""
    for n, name in enumerate(names):
        data.dims[n].label = name
        if name and name not in data.parent:
            scale = data.parent.create_dataset(name, (data.shape[n],), "f4")
            scale.make_scale(f"This is a netCDF dimension but not a netCDF variable.{data.shape[n]:10}")
        if name and name != os.path.basename(data.name):
            data.dims[n].attach_scale(data.parent[name])


class _Tiff:
    """TIFF: a series, by its number, compressed or not, to be read; one that is not compressed,
    to be written."""

    def claims(self, path: Any) -> bool:
        return _is_path(path, ".tif", ".tiff")

    def open(self, path: Any, **options: Any) -> Source:
        name, member = _split(path)
        tifffile = _package("tifffile", path)
        with tifffile.TiffFile(name) as file:
            try:
                series = file.series[int(member or 0)]
            except (IndexError, ValueError):
                raise NotFound(f"{name} has no series {member!r}; it has {len(file.series)}") from None
            about = About(tuple(series.axes))
            if series.dataoffset is not None:
                return locate(name, member).open()._replace(about=about)
            mode = None if series.keyframe.is_tiled else "page"
        store = tifffile.imread(name, series=int(member or 0), aszarr=True, level=0,
                                chunkmode=mode)
        source = _Zarr().open(_package("zarr", path).open_array(store, mode="r"))
        return source._replace(about=about._replace(chunks=source.about.chunks), close=store.close)

    def create(self, path: Any, shape: Shape, source: Source, *, resume: bool = False,
               **options: Any) -> Destination:
        tifffile = _package("tifffile", path)
        dims, dtype = _created(shape, source)
        part = Part(path)
        if all(len(name) == 1 for name in source.about.names) and source.about.names:
            options.setdefault("metadata", {"axes": "".join(source.about.names)})

        def make() -> tuple[Storage, Callable[[bool], None]]:
            with open(part.part, "r+b") as file:
                offset = tifffile.memmap(part.part, shape=dims, dtype=dtype, **options).offset
                return Storage.of_file(file, shape.text, offset=offset), lambda _: None
        return _Whole(part, make)


FORMATS[:0] = [_Zarr(), _Hdf5(), _Tiff()]
