# SPDX-License-Identifier: Apache-2.0
"""Chunked arrays: what the packages that own the formats wrote is read, and what is written is
read back by them. Every chunk is decoded and encoded once."""

import collections
import glob
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import numpy as np

import relayout as rl

A = np.random.default_rng(2).integers(0, 999, (50, 72, 33)).astype("f4")


def package(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest("%s is not installed" % name) from None


class Folder(unittest.TestCase):
    needs = ()

    def setUp(self):
        for name in self.needs:
            setattr(self, name, package(name))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)


class Zarr(Folder):
    needs = ("zarr",)

    def counted(self):
        """A store that counts the chunks that are read and written."""
        counts = collections.Counter()

        class Store(self.zarr.storage.MemoryStore):
            async def get(self, key, *arguments, **options):
                counts["read", key] += 1
                return await super().get(key, *arguments, **options)

            async def set(self, key, value, **options):
                counts["written", key] += 1
                await super().set(key, value, **options)
        return Store(), counts

    def array(self, dims, chunks, **options):
        store, counts = self.counted()
        array = self.zarr.create_array(store, shape=dims, chunks=chunks, **options)
        return array, counts

    def chunks_of(self, counts):
        return {key: count for key, count in counts.items()
                if not key[1].endswith((".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json"))}

    def test_grids(self):
        """Grids that do not divide each other, of every version, within a budget that has room
        for each chunk once."""
        for dims, chunks, others, perm, options in (
                ((50, 72, 33), (1, 72, 33), (16, 16, 50), (1, 2, 0), {"dtype": "f4"}),
                ((100, 100), (13, 13), (9, 8), (0, 1), {"dtype": "i2", "zarr_format": 2}),
                ((50, 64, 30), (7, 64, 10), (30, 11, 20), (2, 0, 1), {"dtype": ">f8"}),
                ((40, 60), (10, 12), (25, 33), (1, 0), {"dtype": "M8[s]", "zarr_format": 2}),
                ((40, 60), (10, 12), (25, 33), (1, 0), {"dtype": "c8", "compressors": None}),
                ((17,), (5,), (40,), (0,), {"dtype": "bool"}),
                ((0, 4), (1, 2), (2, 1), (1, 0), {"dtype": "f4"}),
                ((), (), (), (), {"dtype": "f4"})):
            with self.subTest(dims=dims, options=options):
                data = np.random.default_rng(1).integers(0, 2000, dims).astype(options["dtype"])
                source, read = self.array(dims, chunks, **options)
                source[...] = data
                target, written = self.array([dims[k] for k in perm], others,
                                             **{**options, "dtype": data.dtype.newbyteorder("=")})
                read.clear(), written.clear()
                rl.convert(source, target, perm=perm, memory="64MiB")
                num_read = np.prod([-(-n // c) for n, c in zip(dims, chunks)])
                num_written = np.prod([-(-dims[k] // c) for k, c in zip(perm, others)])
                for counts, kind, number in ((read, "read", num_read),
                                             (written, "written", num_written)):
                    chunk_counts = self.chunks_of(counts)
                    self.assertEqual(set(chunk_counts.values()), {1} if number else set())
                    self.assertEqual({name for name, _ in chunk_counts}, {kind} if number else set())
                    self.assertEqual(len(chunk_counts), number)
                np.testing.assert_array_equal(target[...], data.transpose(perm))

    def test_random_grids(self):
        pick = random.Random(4)
        for _ in range(12):
            dims = [pick.randint(1, 40) for _ in range(pick.randint(1, 3))]
            perm = pick.sample(range(len(dims)), len(dims))
            chunks, others = ([pick.randint(1, 50) for _ in dims] for _ in range(2))
            data = np.arange(np.prod(dims), dtype="i4").reshape(dims)
            source, _ = self.array(dims, chunks, dtype="i4")
            source[...] = data
            rl.convert(source, "out.zarr", perm=perm, chunks=others, memory="16MiB")
            found = self.zarr.open_array("out.zarr", mode="r")
            np.testing.assert_array_equal(found[...], data.transpose(perm))
            self.assertEqual(found.chunks, tuple(others))
            rl.convert("out.zarr", "out.npy", dtype="f8")
            np.testing.assert_array_equal(np.load("out.npy"), data.transpose(perm))
            self.assertEqual(sorted(os.listdir(".")), ["out.npy", "out.zarr"])
            shutil.rmtree("out.zarr")

    def test_shards_and_what_travels(self):
        np.save("a.npy", A)
        codec = self.zarr.codecs.GzipCodec(level=5)
        rl.convert("a.npy", "a.zarr", chunks=(25, 36, 11), shards=(50, 72, 11), compressors=[codec],
                   fill_value=7, dimension_names=("t", "y", "x"), attributes={"units": "K"})
        rl.convert("a.zarr", "g.zarr::/era/t2m", perm=(1, 2, 0))
        rl.convert("a.zarr", "g.zarr::d2m", perm=(1, 2, 0), dtype="f8", zarr_format=3)
        group = self.zarr.open_group("g.zarr", mode="r")
        found = group["era/t2m"]
        np.testing.assert_array_equal(found[...], A.transpose(1, 2, 0))
        np.testing.assert_array_equal(group["d2m"][...], A.transpose(1, 2, 0))
        self.assertEqual((found.chunks, found.fill_value), ((36, 11, 25), 7))
        self.assertEqual((found.metadata.dimension_names, dict(found.attrs)),
                         (("y", "x", "t"), {"units": "K"}))
        self.assertEqual(found.compressors, (codec,))
        other = group["d2m"]  # of another type
        self.assertEqual((other.fill_value, other.compressors == (codec,)), (0, False))
        self.assertEqual(rl.digest("a.zarr"), rl.digest(A))
        for target, kind in (("a.zarr", rl.Exists), ("g.zarr::era", rl.Exists)):
            with self.assertRaises(kind):
                rl.convert("a.npy", target)
        for source, kind in (("none.zarr", rl.NotFound), ("g.zarr::none", rl.NotFound)):
            with self.assertRaises(kind):
                rl.convert(source, "b.npy")
        with self.assertRaises(TypeError):
            rl.convert("a.npy", "b.zarr", chunk=(1, 2, 3))
        with self.assertRaises(rl.ArgumentError):
            rl.convert("a.npy", "b.zarr", to="{0,1,2}")
        self.assertEqual(sorted(os.listdir(".")), ["a.npy", "a.zarr", "g.zarr"])

    def test_empty_chunks(self):
        """Chunks of the fill value alone are not stored, and are removed where they were."""
        data = np.zeros((30, 30), "f4")
        data[9, 9], data[10, 10], data[:10, 20:] = 1, 2, np.nan
        for fill, number in (0, 3), (np.nan, 8):
            target, _ = self.array((30, 30), (10, 10), dtype="f4", fill_value=fill)
            target[...] = 5
            rl.convert(data, target)
            np.testing.assert_array_equal(target[...], data)
            self.assertEqual(target.nchunks_initialized, number)

    def test_failure(self):
        source, counts = self.array(A.shape, (10, 10, 10), dtype="f4")
        source[...] = A
        failing = mock.patch.object(type(source.store), "get", side_effect=OSError("the net is gone"))
        with failing, self.assertRaisesRegex(rl.IOFailure, "the net is gone"):
            rl.convert(source, "b.zarr")
        self.assertEqual(os.listdir("."), [])

    def test_interrupted_and_resumed(self):
        data = np.arange(1000 * 2000, dtype="f4").reshape(1000, 2000)
        np.save("a.npy", data)
        script = ("import relayout as rl, time\n"
                  "from relayout import ends\n"
                  "real, count = ends.chunked, []\n"
                  "def slow(*a, write=None, **o):\n"
                  "    def late(*b): time.sleep(len(count) > 60); count.append(1); write(*b)\n"
                  "    return real(*a, write=late, **o)\n"
                  "ends.chunked = slow\n"
                  "print('ready', flush=True)\n"
                  "rl.convert('a.npy', 'b.zarr', perm=(1, 0), chunks=(100, 100), memory='1MiB', "
                  "resume=True, threads=1)")
        for stop, number in ((signal.SIGINT, 60), (signal.SIGKILL, 100)):
            child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
            child.stdout.readline()
            limit = time.monotonic() + 60
            while (len(glob.glob(".b.zarr.relayout-part/c/*/*")) < number
                   and time.monotonic() < limit):
                time.sleep(0.01)
            child.send_signal(stop)
            _, text = child.communicate(timeout=60)
            self.assertEqual("KeyboardInterrupt" in text, stop == signal.SIGINT, text)
            self.assertEqual(sorted(os.listdir(".")),
                             [".b.zarr.relayout-journal", ".b.zarr.relayout-part", ".b.zarr.relayout-scratch", "a.npy"])
        writes = []
        real = self.zarr.Array.__setitem__
        with mock.patch.object(self.zarr.Array, "__setitem__",
                               lambda *a: (writes.append(1), real(*a))):
            rl.convert("a.npy", "b.zarr", perm=(1, 0), chunks=(100, 100), memory="1MiB", resume=True)
        self.assertTrue(0 < len(writes) <= 140, len(writes))
        np.testing.assert_array_equal(self.zarr.open_array("b.zarr", mode="r")[...], data.T)
        self.assertEqual(sorted(os.listdir(".")), ["a.npy", "b.zarr"])


class Hdf5(Folder):
    needs = ("h5py",)

    def test_chunks(self):
        """Once each, past HDF5 where the filters are its plain ones."""
        from relayout import ends
        for options in ({}, {"compression": "gzip", "shuffle": True}, {"compression": "lzf"},
                        {"scaleoffset": 0}, {"compression": "gzip", "fletcher32": True}):
            for dtype in ("i2", ">i4", "u1"):
                data = A.astype("i2").astype(dtype)
                with self.subTest(options=options, dtype=dtype), \
                        self.h5py.File("a.h5", "w") as file:
                    file.create_dataset("g/a", data=data, chunks=(7, 20, 9), **options)
                with mock.patch.object(ends._Filters, "decode", autospec=True,
                                       side_effect=ends._Filters.decode) as decode, \
                        mock.patch.object(ends._Filters, "encode", autospec=True,
                                          side_effect=ends._Filters.encode) as encode:
                    rl.convert("a.h5::g/a", "b.h5::x/b", perm=(2, 0, 1), chunks=(16, 50, 10),
                               memory="64MiB", **options)
                is_plain = not set(options) - {"compression", "shuffle"} and \
                    options.get("compression") != "lzf"
                self.assertEqual((decode.call_count, encode.call_count),
                                 (8 * 4 * 4, 3 * 1 * 8) if is_plain else (0, 0))
                with self.h5py.File("b.h5") as file:
                    np.testing.assert_array_equal(file["x/b"][...], data.transpose(2, 0, 1))
                    self.assertEqual(file["x/b"].chunks, (16, 50, 10))
                os.remove("b.h5")

    def test_little_memory(self):
        """Chunks that a job would decode again and again are decoded once, into a file."""
        from relayout import ends
        data = np.arange(64 * 200 * 120, dtype="f4").reshape(64, 200, 120)
        with self.h5py.File("a.h5", "w") as file:
            file.create_dataset("a", data=data, chunks=(1, 200, 120), compression="gzip")
        with mock.patch.object(ends._Filters, "decode", autospec=True,
                               side_effect=ends._Filters.decode) as decode:
            rl.convert("a.h5::a", "b.h5::a", perm=(1, 2, 0), chunks=(16, 16, 64), memory="1MiB",
                       compression="lzf")
        self.assertEqual(decode.call_count, 64)
        with self.h5py.File("b.h5") as file:
            np.testing.assert_array_equal(file["a"][...], data.transpose(1, 2, 0))
        self.assertEqual(sorted(os.listdir(".")), ["a.h5", "b.h5"])

    def test_chunks_that_were_never_written(self):
        with self.h5py.File("a.h5", "w") as file:
            data = file.create_dataset("a", (40, 50), "f4", chunks=(16, 16), maxshape=(None, 50),
                                       fillvalue=3, compression="gzip")
            data[20:30, 20:30] = 8
        rl.convert("a.h5::a", "a.npy", perm=(1, 0))
        expected = np.full((50, 40), 3, "f4")
        expected[20:30, 20:30] = 8
        np.testing.assert_array_equal(np.load("a.npy"), expected)

    def test_objects_and_refusals(self):
        with self.h5py.File("a.h5", "w") as file:
            a = file.create_dataset("a", data=A, chunks=(7, 20, 9), compression="gzip")
            file["texts"] = ["a", "b"]
            file["plain"] = A
            b = file.create_dataset("b", (33, 50, 72), "f8", chunks=(9, 9, 9), shuffle=True)
            file.flush()
            rl.convert(a, b, perm=(2, 0, 1))
            np.testing.assert_array_equal(b[...], A.transpose(2, 0, 1))
            rows = file.create_dataset("rows", (72, 33, 50), "f4")
            rl.convert(a, rows, perm=(1, 2, 0), memory="2MiB")
            np.testing.assert_array_equal(rows[...], A.transpose(1, 2, 0))
        rl.convert("a.h5::a", "c.h5::c", maxshape=(None, None, None), fillvalue=7)
        with self.h5py.File("c.h5", "r+") as file:
            file["c"].resize((51, 72, 34))  # into the padding
            np.testing.assert_array_equal(file["c"][...], np.pad(A, ((0, 1), (0, 0), (0, 1)),
                                                                 constant_values=7))
        os.remove("c.h5")
        np.save("a.npy", A)
        self.assertEqual({rl.digest(each) for each in (A, "a.npy", "a.h5::a", "a.h5::plain")},
                         {rl.digest(A)})
        for source, target, kind, words in (
                ("a.h5::none", "b.npy", rl.NotFound, "it has a, b"),
                ("a.h5", "b.npy", rl.NotFound, "it has a, b"),
                ("a.h5::texts", "b.npy", rl.Unsupported, ""),
                ("a.npy", "a.h5::c", rl.Exists, "not replaced"),
                ("a.npy", "b.h5", rl.ArgumentError, "b.h5::NAME")):
            with self.subTest(source=source, target=target), self.assertRaisesRegex(kind, words):
                rl.convert(source, target)
        self.assertEqual(sorted(os.listdir(".")), ["a.h5", "a.npy"])


class Between(Folder):
    needs = ("zarr", "h5py", "xarray", "netCDF4")

    def dataset(self):
        """An array with coordinates of each kind, one that is missing, and what is none."""
        data = A.copy()
        data[3, 4] = np.nan
        dims = ("time", "lat", "lon")
        coordinates = {
            "time": self.pandas.date_range("2001-01-01", periods=50, freq="h"),
            "lat": ("lat", np.linspace(90, -90, 72, dtype="f4"), {"units": "degrees_north"}),
            "area": (("lat", "lon"), np.arange(72.0 * 33).reshape(72, 33), {"empty": ""}),
            "number": ((), 0), "label": ((), "run"), "expver": ("time", np.array(["0001", "0005"] * 25))}
        return self.xarray.Dataset({"t2m": (dims, data, {"units": "K", "levels": [1, 2], "valid": 3.5}),
                                    "other": ("time", np.arange(50))}, coordinates)

    def check(self, path, array, **options):
        with self.xarray.open_dataset(path, **options) as found:
            self.assertEqual(list(found.data_vars), ["t2m"])
            self.xarray.testing.assert_identical(found["t2m"].load(), array)

    def test_netcdf_to_zarr_and_back(self):
        """As xarray sees them: values, names, attributes, missing values, coordinates."""
        self.pandas = package("pandas")
        every = self.dataset()
        every.to_netcdf("a.nc", encoding={"t2m": {
            "zlib": True, "shuffle": True, "chunksizes": (7, 20, 9), "_FillValue": -999.0}})
        turned = every["t2m"].transpose("lat", "lon", "time")
        for number in (2, 3):
            rl.convert("a.nc::/t2m", f"a{number}.zarr", perm=(1, 2, 0), chunks=(16, 16, 50),
                       memory="8MiB", zarr_format=number)
            self.check(f"a{number}.zarr", turned, engine="zarr", consolidated=False)
            rl.convert(f"a{number}.zarr", f"b{number}.nc", perm=(2, 0, 1), compression="gzip")
            self.check(f"b{number}.nc", every["t2m"], engine="netcdf4")
            rl.convert(f"a{number}.zarr", f"a{number}.zarr::back", perm=(2, 0, 1))
        with self.netCDF4.Dataset("b3.nc") as file:
            self.assertEqual(float(file["t2m"]._FillValue), -999)
        self.assertEqual(rl.digest("a.nc::t2m"), rl.digest("b3.nc"))
        with self.assertRaisesRegex(rl.NotFound, "it has .*t2m"):
            rl.convert("a.nc", "b.zarr")
        self.assertEqual(sorted(os.listdir(".")), ["a.nc", "a2.zarr", "a3.zarr", "b2.nc", "b3.nc"])

    def test_beside_others(self):
        """Into a store of xarray's, whose coordinates stay, and which lists the new array."""
        self.pandas = package("pandas")
        every = self.dataset()
        every.to_netcdf("a.nc")
        for number in (2, 3):
            store = f"a{number}.zarr"
            kept = every[["other"]].assign_coords(lat=np.zeros(72))
            kept.to_zarr(store, zarr_format=number, consolidated=True)
            rl.convert("a.nc::t2m", store + "::t2m")
            with self.xarray.open_zarr(store, consolidated=True) as found:
                self.assertEqual(set(found.data_vars), {"t2m", "other"})
                self.xarray.testing.assert_identical(
                    found["t2m"].load(), every["t2m"].assign_coords(lat=np.zeros(72)))
        self.assertEqual(sorted(os.listdir(".")), ["a.nc", "a2.zarr", "a3.zarr"])

    def test_netcdf3(self):
        """Packed, with the factor and the coordinates."""
        package("scipy.io")
        lat = np.linspace(90, -90, 72)
        array = self.xarray.DataArray(A, {"lat": ("lat", lat, {"units": "north"})},
                                      ("time", "lat", "lon"), "t2m", {"units": "K"})
        array.to_netcdf("a.nc", format="NETCDF3_64BIT", engine="scipy", encoding={
            "t2m": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -9}})
        rl.convert("a.nc::t2m", "a.zarr", chunks=(50, 16, 16))
        self.check("a.zarr", array, engine="zarr", consolidated=False)


class Tiff(Folder):
    needs = ("tifffile", "zarr")

    def test_series(self):
        for name, options in (("pages.tif", {}), ("tiles.tif", {"tile": (32, 16)}),
                              ("big.tif", {"byteorder": ">"}), ("one.ome.tif", {})):
            with self.subTest(name=name):
                self.tifffile.imwrite(name, A, compression="zlib", metadata={"axes": "ZYX"}, **options)
                rl.convert(name, "out.tif", perm=(1, 0, 2), memory="64MiB")
                np.testing.assert_array_equal(self.tifffile.imread("out.tif"), A.transpose(1, 0, 2))
                with self.tifffile.TiffFile("out.tif") as file:
                    self.assertEqual(file.series[0].axes, "YZX")
                rl.convert("out.tif", "back.npy", perm=(1, 0, 2))
                np.testing.assert_array_equal(np.load("back.npy"), A)
        rl.convert("pages.tif", "small.tif", compression="zlib", tile=(16, 16))
        with self.tifffile.TiffFile("small.tif") as file:
            self.assertEqual((file.series[0].axes, file.pages[0].compression), ("ZYX", 8))
            np.testing.assert_array_equal(file.asarray(), A)
        with self.assertRaises(rl.NotFound):
            rl.convert("pages.tif::9", "x.npy")
        self.assertFalse([name for name in os.listdir(".") if "relayout" in name])


if __name__ == "__main__":
    unittest.main()
