# SPDX-License-Identifier: Apache-2.0
"""Arrays that lie uncompressed in files of other formats: where their bytes are.

The format's own reader says where; the bytes then move at the speed of C. A reader that maps
its array into memory says it by that map.
"""

from __future__ import annotations

import mmap
import os
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np

from ._arrays import Dims, numpy_type, strided_text, type_name
from .errors import ArgumentError, Unsupported
from .files import FORMATS, File, Format, Source, by_reader, carrier, file_storage


class Located(NamedTuple):
    """Where an array lies in a file."""

    path: str
    offset: int  # of its first element, in bytes
    dims: Dims
    strides: Dims  # in bytes
    dtype: np.dtype[Any]  # with its byte order

    @property
    def shape(self) -> str:
        """The shape's text, in the library's notation."""
        return strided_text(type_name(carrier(self.dtype)[0]), self.dims, self.strides,
                            self.dtype.itemsize)[0]

    @property
    def command(self) -> str:
        """The command line that reads it, but for what it makes of it."""
        import shlex  # slow to import
        words = ["relayout", "convert", self.path, "OUT.npy", "--from", self.shape,
                 "--offset", str(self.offset)]
        return shlex.join(words + ([] if self.dtype.isnative else ["--byte-order", "big"]))

    def open(self) -> Source:
        """The array, to be read. One of a type that is none of the library's moves as integers of
        its width."""
        is_swapped = not self.dtype.isnative and self.dtype.kind not in "SUV"
        with open(self.path, "rb") as file:
            return Source(file_storage(file, self.shape, self.offset, is_swapped),
                          carrier(self.dtype)[1])


def locate(path: str, member: str = "") -> Located:
    """Finds an array that lies uncompressed, in one piece, in a file of another format.

    Args:
        path: a file of HDF5 or NetCDF-4 (contiguous), NetCDF-3, FITS, TIFF, NIfTI, NRRD, ENVI
            (its `.hdr`), MRC, SEG-Y, GGUF, safetensors or `.npy`, by the end of its name.
        member: the array of several: a name, or a number where they have none.

    Raises Unsupported for one that is compressed, chunked, scaled or in several pieces, and
    where the package that reads the format is not installed.

    Examples:
        >>> import numpy as np, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
        >>> head = b'{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}'
        >>> with open(path, "wb") as file:
        ...     count = file.write(len(head).to_bytes(8, "little") + head + bytes(24))
        >>> locate(path, "w")[1:4]
        (65, (2, 3), (12, 4))
    """
    for endings, finder in _FINDERS.items():
        if path.lower().endswith(endings):
            return by_reader(path, member, finder)  # type: ignore[no-any-return]
    raise ArgumentError(f"{path}: the end of the name is of no format that is known")


def _packed(path: str, offset: int, dims: Sequence[Any], dtype: Any, is_fortran: bool = False) -> Located:
    """One without gaps."""
    if is_fortran:
        found = _packed(path, offset, dims[::-1], dtype)
        return found._replace(dims=found.dims[::-1], strides=found.strides[::-1])
    kind = np.dtype(dtype)
    strides: list[int] = []
    step = kind.itemsize
    for size in reversed(dims):
        strides.insert(0, step)
        step *= int(size)
    return Located(path, int(offset), tuple(map(int, dims)), tuple(strides), kind)


def _is_map(base: Any) -> bool:
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)


def _mapped(path: str, array: Any) -> Located:
    """One that its reader has mapped into memory."""
    base = array
    while isinstance(base, np.ndarray) and not _is_map(base.base):
        base = base.base
    if not isinstance(base, np.ndarray):
        raise Unsupported(f"{path}: the array does not lie in one piece in the file, or not as it is")
    begin, address = 0, base.ctypes.data
    if isinstance(base, np.memmap):
        begin = base.offset
    else:
        held: Any = base.base
        address = np.frombuffer(held, np.uint8).ctypes.data
    return Located(path, begin + array.ctypes.data - address, array.shape, array.strides, array.dtype)


# -------------------------------------------------------------------- formats

def _hdf5(path: str, member: str) -> Located:
    import h5py
    with h5py.File(path, "r") as file:
        data = file[member]
        offset = data.id.get_offset()
        if offset is None or data.id.get_create_plist().get_external_count() > 0:
            raise Unsupported(f"{path}: {member} is chunked, compressed, empty or in other files")
        return _packed(path, offset, data.shape, data.dtype)


def _netcdf(path: str, member: str) -> Located:
    with open(path, "rb") as head:
        if head.read(3) != b"CDF":
            return _hdf5(path, member)
    from scipy.io import netcdf_file
    with netcdf_file(path, mmap=True) as file:
        data = file.variables[member].data
        found = _mapped(path, data)
        del data
        return found


def _fits(path: str, member: str) -> Located:
    from astropy.io import fits
    with fits.open(path, memmap=True, do_not_scale_image_data=True) as file:
        unit = file[int(member) if member.isdigit() else member or 0]
        if not unit.is_image or isinstance(unit, fits.CompImageHDU):
            raise Unsupported(f"{path}: {member or 0} is no plain image")
        kinds = {8: "u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}
        if (unit.header.get("BSCALE", 1), unit.header.get("BZERO", 0)) != (1, 0):
            raise Unsupported(f"{path}: {member or 0} is scaled by BSCALE and BZERO")
        return _packed(path, unit.fileinfo()["datLoc"], unit.shape, kinds[unit.header["BITPIX"]])


def _tiff(path: str, member: str) -> Located:
    import tifffile
    with tifffile.TiffFile(path) as file:
        series = file.series[int(member or 0)]
        if series.dataoffset is None:
            raise Unsupported(f"{path}: series {member or 0} is compressed or in several pieces")
        return _packed(path, series.dataoffset, series.shape, series.dtype.newbyteorder(file.byteorder))


def _nifti(path: str, member: str) -> Located:
    import nibabel
    image: Any = nibabel.load(path)
    data = image.dataobj
    if (data.slope, data.inter) != (1, 0):
        raise Unsupported(f"{path} is scaled: by {data.slope}, and {data.inter} is added")
    return _packed(path, data.offset, data.shape, data.dtype, is_fortran=True)


def _nrrd(path: str, member: str) -> Located:
    import nrrd
    with open(path, "rb") as file:
        head = nrrd.read_header(file)
        offset = file.tell()
    other = str(head.get("data file", head.get("datafile", "")))
    if head["encoding"] != "raw" or other.startswith("LIST") or "%" in other:
        raise Unsupported(f"{path}: of encoding {head['encoding']}, or in several files")
    kind, dims = nrrd.reader._determine_datatype(head), head["sizes"]
    if other:
        path, offset = os.path.join(os.path.dirname(path), other), 0
    with open(path, "rb") as file:
        file.seek(offset)
        for _ in range(head.get("line skip", head.get("lineskip", 0))):
            file.readline()
        skip = head.get("byte skip", head.get("byteskip", 0))
        offset = file.tell() + skip if skip >= 0 else file.seek(0, 2) - int(dims.prod()) * kind.itemsize
    return _packed(path, offset, dims, kind, is_fortran=True)


def _envi(path: str, member: str) -> Located:
    import spectral
    image = spectral.envi.open(path)
    if getattr(image, "scale_factor", 0) != 1:
        raise Unsupported(f"{path} is a library of spectra, or scaled")
    return _mapped(image.filename, image.open_memmap())  # of rows, columns, bands


def _npy(path: str, member: str) -> Located:
    return _mapped(path, np.lib.format.open_memmap(path, "r"))  # type: ignore[no-untyped-call, unused-ignore]


def _mrc(path: str, member: str) -> Located:
    import mrcfile
    with mrcfile.mmap(path, mode="r", permissive=True) as file:
        return _mapped(path, file.data)


def _segy(path: str, member: str) -> Located:
    import segyio
    with segyio.open(path, ignore_geometry=True) as file:
        kinds = {2: ">i4", 3: ">i2", 5: ">f4", 8: "i1"}
        form = file.bin[segyio.BinField.Format]
        if form not in kinds:
            raise Unsupported(f"{path}: samples of format {form}; NumPy knows 2, 3, 5 and 8")
        kind = np.dtype(kinds[form])
        count = len(file.samples)
        begin = 3600 + 3200 * max(0, file.bin[segyio.BinField.ExtendedHeaders]) + 240
        return Located(path, begin, (file.tracecount, count),
                       (240 + count * kind.itemsize, kind.itemsize), kind)


def _gguf(path: str, member: str) -> Located:
    import gguf
    for tensor in gguf.GGUFReader(path).tensors:
        if tensor.name == member:
            if tensor.tensor_type.name in ("F64", "F32", "F16", "I8", "I16", "I32", "I64"):
                return _packed(path, tensor.data_offset, tensor.data.shape, tensor.data.dtype)
            raise Unsupported(f"{path}: {member} is in blocks of type {tensor.tensor_type.name}")
    raise KeyError(member)


def _safetensors(path: str, member: str) -> Located:
    import json
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(size))[member]
    name = {"BOOL": "pred", "F8_E4M3": "f8e4m3fn"}.get(entry["dtype"])
    name = name or entry["dtype"].lower().replace("i", "s").replace("_", "")
    return _packed(path, 8 + size + entry["data_offsets"][0], entry["shape"], numpy_type(name))


_FINDERS: dict[tuple[str, ...], Callable[[str, str], Located]] = {
    (".npy",): _npy, (".h5", ".hdf5", ".nc4"): _hdf5, (".nc", ".cdf"): _netcdf,
    (".fits", ".fit"): _fits, (".tif", ".tiff"): _tiff, (".nii",): _nifti, (".nrrd", ".nhdr"): _nrrd,
    (".hdr",): _envi, (".mrc", ".map"): _mrc, (".segy", ".sgy"): _segy, (".gguf",): _gguf,
    (".safetensors",): _safetensors}
FORMATS += [Format(endings, lambda path, member: locate(path, member).open(),
                   File if ".npy" in endings else None) for endings in _FINDERS]
