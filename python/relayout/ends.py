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
import shutil
import struct
import weakref
import zlib
from functools import partial
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from ._arrays import Dims, numpy_type, row_major, type_name
from .errors import ArgumentError, Exists, NotFound
from .files import FORMATS, About, Destination, Format, Part, Source, _remove, carrier, identity
from .layout import Shape
from ._locate import locate
from .ops import transpose
from .service import Storage

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


Coordinate = tuple[Any, About]


def _plain(value: Any) -> Any:
    """An attribute as JSON has it."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if type(value).__name__ == "Empty":  # h5py's, of an empty text
        return ""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.item() if value.size == 1 else value.tolist()  # NetCDF knows no scalars
    return value


def _coordinate_names(about: About) -> list[str]:
    """Those of its dimensions, and others as the CF conventions name them."""
    names = (*about.names, *str(about.attributes.get("coordinates", "")).split())
    return [name for name in dict.fromkeys(names) if name and name != about.name]


def _with_coordinates(about: About, find: Callable[[str], Coordinate | None]) -> About:
    def coordinates() -> dict[str, Coordinate]:
        found = {name: find(name) for name in _coordinate_names(about)}
        return {name: each for name, each in found.items() if each is not None}
    return about._replace(coordinates=coordinates)


def _array_in(group: Any, member: str, path: str, kind: type, about: Callable[[Any], About]) -> Any:
    """The array of a group that has a name, or the only one that is no coordinate."""
    if not member:
        arrays = {name: about(group[name]) for name in group if isinstance(group[name], kind)}
        others = {name for each in arrays.values() for name in _coordinate_names(each)}
        names = [name for name in arrays if name not in others]
        member = names[0] if len(names) == 1 else ""
    found = group.get(member) if member else None
    if not isinstance(found, kind):
        raise NotFound(f"{path} has no array {member!r}; it has {', '.join(group)}")
    return found


def _created(shape: Shape, source: Source) -> tuple[Dims, np.dtype[Any]]:
    """Dims and type of an array that is created; its chunks are its layout."""
    if shape.dims and str(shape.layout) != row_major(len(shape.dims)):
        raise ArgumentError(f"{shape}: an array in chunks has no other layout; `chunks` says theirs")
    return shape.dims, np.dtype(source.type or numpy_type(shape.dtype))


class _Made(Part):
    """An array that is made beside its name by a generator: it yields the storage, goes on when
    that is whole, and, if it yields again, when the array has its name."""

    def __init__(self, path: str, make: Callable[[Part], Iterator[Any]], **options: Any) -> None:
        super().__init__(path, **options)
        self.steps = make(self)
        try:
            self.storage = next(self.steps)
        except BaseException:
            super().abandon()
            raise
        self.shape = self.storage.shape
        self.scratch = self.part.removesuffix("part") + "scratch"

    def prepare(self, service: Any, problem: int, source: Storage, job: Any) -> None:
        """Lends the job a file for an intermediate, as far as the disk has room. It has a name
        if the job has a journal, and goes with that."""
        super().prepare(service, problem, source, job)
        kept = 0 if self.is_resumed else os.O_TRUNC
        with open(os.open(self.scratch, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | kept, 0o600), "r+b") as file:
            state = os.fstat(file.fileno())
            free = shutil.disk_usage(os.path.dirname(self.part)).free
            room = max(state.st_size, free + 512 * state.st_blocks - self.storage.bytes)
            self.storage.keeps = Storage.of_file(file, f"u8[{room}]")
        job.scratch = self.storage.keeps._handle.value
        if not self.has_journal:
            _remove(self.scratch)

    def finish(self) -> None:
        next(self.steps, None)
        super().finish()
        _remove(self.scratch)
        next(self.steps, None)

    def abandon(self) -> None:
        self.steps.close()  # type: ignore[attr-defined]
        super().abandon()
        if not os.path.exists(self.journal):
            _remove(self.scratch)


# ----------------------------------------------------------------------- Zarr

def _open_zarr(path: str, member: str) -> Source:
    import zarr
    root = _root_of(path)
    return _read_zarr(root if isinstance(root, zarr.Array) and not member
                      else _array_in(root or {}, member, path, zarr.Array, _about_zarr))


def _read_zarr(array: Any) -> Source:
    storage = chunked(array.shape, array.chunks, array.dtype, read=array.__getitem__)
    return Source(storage, carrier(array.dtype)[1], _about_zarr(array))


def _root_of(path: str) -> Any:
    """What is at the root of a store, if there is one."""
    import zarr
    try:
        return zarr.open(path, mode="r")
    except FileNotFoundError:
        return None


def _about_zarr(array: Any) -> About:
    attributes = dict(array.attrs)
    version = array.metadata.zarr_format
    names = attributes.pop("_ARRAY_DIMENSIONS", ()) if version == 2 else array.metadata.dimension_names
    missing = attributes.get("_FillValue")
    if version == 2 and names and array.fill_value is not None:  # as xarray has it, like the next
        attributes["_FillValue"] = _plain(array.fill_value)
    elif isinstance(missing, str) and array.dtype.kind == "f":
        attributes["_FillValue"] = struct.unpack("<d", base64.b64decode(missing))[0]
    codec = {"zarr_format": version, "compressors": array.compressors, "filters": array.filters}
    about = About(os.path.basename(array.path), tuple(name or "" for name in names or ()), attributes,
                  array.fill_value, array.chunks, {"zarr": codec})

    def coordinate(name: str) -> Coordinate | None:
        import zarr
        group = zarr.open_group(array.store, path=os.path.dirname(array.path), mode="r")
        found = group.get(name)
        return (np.asarray(found[...]), _about_zarr(found)) if isinstance(found, zarr.Array) else None
    return _with_coordinates(about, coordinate) if array.path else about


def _options_zarr(about: About, version: int, is_scalar: bool) -> dict[str, Any]:
    """What `create_array` gets, as xarray has it."""
    attributes = {key: _plain(value) for key, value in about.attributes.items()}
    missing = attributes.get("_FillValue")
    if version == 2 and (about.names or is_scalar):
        attributes.pop("_FillValue", None)
        return {"attributes": {**attributes, "_ARRAY_DIMENSIONS": about.names}, "fill_value": missing}
    if isinstance(missing, float):
        attributes["_FillValue"] = base64.b64encode(struct.pack("<d", missing)).decode()
    names = [each or None for each in about.names] or None
    return {"attributes": attributes, "fill_value": about.fill,
            **({"dimension_names": names} if version > 2 else {})}


def _create_zarr(path: str, member: str, shape: Shape, source: Source, *, resume: bool,
                 chunks: Sequence[int] | None = None, **options: Any) -> Destination:
    import zarr
    dims, dtype = _created(shape, source)
    about = source.about
    coordinates = about.coordinates()
    name = member or (about.name if coordinates else "")
    if os.path.exists(target := os.path.join(path, member).rstrip("/")):
        raise Exists(f"{target} exists; what is made of several files is not replaced")
    codec = about.codec.get("zarr", {})
    group = _root_of(path)
    version = options.setdefault("zarr_format", group.metadata.zarr_format if group is not None
                                 else codec.get("zarr_format", 3))
    described = _options_zarr(about, version, not dims)
    described["attributes"].update(options.pop("attributes", {}))
    options = {**(codec if codec.get("zarr_format") == version else {}), **described, **options}

    def make(part: Part) -> Iterator[Any]:
        if part.is_resumed:
            array = zarr.open_array(part.part, path=name, mode="r+")
        else:
            array = zarr.create_array(part.part, name=name or None, shape=dims, dtype=dtype,
                                      chunks=tuple(chunks or about.chunks) or "auto", **options)
            for other, (values, its) in coordinates.items():
                zarr.create_array(part.part, name=os.path.join(os.path.dirname(name), other), data=values,
                                  zarr_format=version, **_options_zarr(its, version, values.ndim == 0))
        yield _written_zarr(array, partial(_sync, part.lock))
        yield
        if group is not None and group.metadata.consolidated_metadata is not None:
            zarr.consolidate_metadata(path)
    return _Made(path, make, member=member, is_folder=True, has_journal=resume, resume=resume)


def _written_zarr(array: Any, flush: Callable[[], None] | None = None) -> Storage:
    # zarr compares each chunk with the fill value, which takes longer than many a codec.
    fill, every = array.fill_value, array
    if array.shards is None and hasattr(array, "with_config"):
        every = array.with_config({"write_empty_chunks": True})

    def write(region: Region, part: Any) -> None:
        first = part[(0,) * part.ndim]
        may_be_empty = first == fill or first != first
        (array if may_be_empty else every)[region] = part.copy()  # a store in memory may keep it
    return chunked(array.shape, array.shards or array.chunks, array.dtype,
                   read=array.__getitem__, write=write, flush=flush)


def _sync(descriptor: int) -> None:
    """Makes durable what lies on a file system."""
    if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


# ----------------------------------------------------------- HDF5 and NetCDF-4

_DEFLATE, _SHUFFLE = 1, 2
_OF_HDF5 = ("DIMENSION_LABELS", "DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "_Netcdf4Dimid",
            "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties")
_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."


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


def _open_hdf5(path: str, member: str) -> Source:
    with open(path, "rb") as head:
        if head.read(3) == b"CDF":
            return locate(path, member).open()._replace(about=_about_classic(path, member))
    import h5py
    file = h5py.File(path, "r", rdcc_nbytes=0)
    try:
        data = _array_in(file, member, path, h5py.Dataset, _about_hdf5)
        return _read_hdf5(data)._replace(close=file.close)
    except BaseException:
        file.close()
        raise


def _read_hdf5(data: Any) -> Source:
    about = _about_hdf5(data)
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
    storage = chunked(data.shape, data.chunks, data.dtype, read=read, identify=identity(descriptor))
    weakref.finalize(storage, os.close, descriptor)
    return Source(storage, carrier(data.dtype)[1], about)


def _about_hdf5(data: Any) -> About:
    attributes = {name: _plain(value) for name, value in data.attrs.items() if name not in _OF_HDF5}
    name = os.path.basename(data.name)
    names = [each.label or (os.path.basename(each[0].name) if len(each) else "") for each in data.dims]
    if data.is_scale and data.ndim == 1:
        names = [name]
    codec = {"compression": data.compression, "compression_opts": data.compression_opts,
             "shuffle": data.shuffle, "fletcher32": data.fletcher32}
    about = About(name, tuple(names) if any(names) else (), attributes, data.fillvalue,
                  data.chunks or (), {"hdf5": codec} if data.chunks else {})

    def coordinate(name: str) -> Coordinate | None:
        import h5py
        scales = {os.path.basename(each[0].name): each[0] for each in data.dims if len(each)}
        found = scales.get(name) or data.parent.get(name)
        if not isinstance(found, h5py.Dataset) or _NO_VARIABLE in str(_plain(found.attrs.get("NAME"))):
            return None
        is_text = h5py.check_string_dtype(found.dtype)
        return np.asarray(found.asstr()[...], str) if is_text else found[...], _about_hdf5(found)
    return _with_coordinates(about, coordinate)


def _about_classic(path: str, member: str) -> About:
    """Of an array of NetCDF-3."""
    from scipy.io import netcdf_file

    def coordinate(name: str) -> Coordinate | None:
        with netcdf_file(path, mmap=True) as file:
            if name not in file.variables:
                return None
            return np.array(file.variables[name].data), _about_classic(path, name)
    with netcdf_file(path, mmap=True) as file:
        dims = file.variables[member].dimensions
        attributes = {key: _plain(value) for key, value in file.variables[member]._attributes.items()}
    about = About(member, dims, attributes, attributes.get("_FillValue"))
    return _with_coordinates(about, coordinate)


def _create_hdf5(path: str, member: str, shape: Shape, source: Source, *, resume: bool,
                 chunks: Sequence[int] | None = None, **options: Any) -> Destination:
    import h5py
    dims, dtype = _created(shape, source)
    about = source.about
    if not (member := member or about.name):
        raise ArgumentError(f"{path} does not name a dataset: {path}::NAME")
    if os.path.exists(path):
        raise Exists(f"{path} exists; what may have several arrays is not replaced")
    if "compression" not in options:
        options = {**about.codec.get("hdf5", {}), **options}
    options.setdefault("fillvalue", about.fill)

    def make(part: Part) -> Iterator[Any]:
        with h5py.File(part.part, "w", track_order=True, locking=False, rdcc_nbytes=0) as file:
            data = file.create_dataset(member, dims, dtype, track_order=True,
                                       chunks=tuple(chunks or about.chunks) or bool(dims) or None, **options)
            made = [(data, about)]
            for name, (values, its) in about.coordinates().items():
                if values.dtype.kind == "U":
                    values = values.astype(h5py.string_dtype())
                made.append((data.parent.create_dataset(name, data=values, track_order=True), its))
                if its.names == (name,):
                    made[-1][0].make_scale(name)
            for each, its in made:
                _describe_hdf5(each, its)
            yield _written_hdf5(data)
    return _Made(path, make)


def _written_hdf5(data: Any) -> Storage:
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


def _describe_hdf5(data: Any, about: About) -> None:
    """Attributes, and the scales by which NetCDF-4 knows dimensions."""
    for key, value in about.attributes.items():
        data.attrs[key] = value if key != "_FillValue" else np.array([value], data.dtype)
    for n, name in enumerate(about.names):
        if not name or name == os.path.basename(data.name):
            continue
        if name not in data.parent:
            scale = data.parent.create_dataset(name, (data.shape[n],), "f4")
            scale.make_scale(f"{_NO_VARIABLE}{data.shape[n]:10}")
        data.dims[n].attach_scale(data.parent[name])


# ----------------------------------------------------------------------- TIFF

def _open_tiff(path: str, member: str) -> Source:
    """A series, by its number, compressed or not."""
    import tifffile
    with tifffile.TiffFile(path) as file:
        series = file.series[int(member or 0)]
        about = About(names=tuple(series.axes))
        if series.dataoffset is not None:
            return locate(path, member).open()._replace(about=about)
        mode = None if series.keyframe.is_tiled else "page"
    import zarr
    store = tifffile.imread(path, series=int(member or 0), aszarr=True, level=0, chunkmode=mode)
    source = _read_zarr(zarr.open_array(store, mode="r"))
    return source._replace(about=about._replace(chunks=source.about.chunks), close=store.close)


def _create_tiff(path: str, member: str, shape: Shape, source: Source, *, resume: bool,
                 **options: Any) -> Destination:
    import tifffile
    dims, dtype = _created(shape, source)
    if all(len(name) == 1 for name in source.about.names) and source.about.names:
        options.setdefault("metadata", {"axes": "".join(source.about.names)})

    def make(part: Part) -> Iterator[Any]:
        if not options.get("compression"):
            offset = tifffile.memmap(part.part, shape=dims, dtype=dtype, **options).offset
            yield Storage.of_file(part.lock, shape.text, offset=offset)
            return
        import tempfile  # slow to import
        # tifffile compresses in the order of the file: an array beside it.
        with tempfile.TemporaryFile(dir=os.path.dirname(part.part)) as file:
            file.truncate(shape.physical_bytes)
            yield Storage.of_file(file, shape.text)
            tifffile.imwrite(part.part, np.memmap(file, dtype, "r", shape=dims), **options)
    return _Made(path, make)


FORMATS[:0] = [
    Format((".zarr",), _open_zarr, _create_zarr, "zarr.Array", _read_zarr, _written_zarr),
    Format((".h5", ".hdf5", ".nc", ".nc4", ".cdf"), _open_hdf5, _create_hdf5, "h5py.Dataset", _read_hdf5,
           _written_hdf5),
    Format((".tif", ".tiff"), _open_tiff, _create_tiff)]
