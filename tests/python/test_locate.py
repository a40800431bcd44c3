# SPDX-License-Identifier: Apache-2.0
"""Arrays in files of other formats, written by the packages that own them."""

import importlib
import json
import os
import tempfile
import unittest

import numpy as np

import relayout as rl

A = np.random.default_rng(5).random((6, 7, 8)).astype("f4")


def package(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest("%s is not installed" % name) from None


class Locate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def check(self, name, member, array):
        """What lies there is the array, and `convert` brings it into another order."""
        found = rl.locate(name, member)
        with open(found.path, "rb") as file:
            held = file.read()
        view = np.ndarray(found.dims, found.dtype, held, found.offset, found.strides)
        np.testing.assert_array_equal(view, array)
        perm = tuple(reversed(range(array.ndim)))
        rl.convert(name + ("::" + member if member else ""), "out.npy", perm=perm, memory="1MiB")
        np.testing.assert_array_equal(np.load("out.npy"), array.transpose(perm))
        return found

    def test_hdf5(self):
        h5py = package("h5py")
        with h5py.File("a.h5", "w") as file:
            file["g/big"] = A.astype(">f8")
            file["g/a"] = A
            file.create_dataset("chunked", data=A, chunks=(2, 7, 8))
        self.check("a.h5", "/g/a", A)
        found = self.check("a.h5", "g/big", A)
        self.assertIn("--byte-order big", found.command)
        for member, error, words in (("chunked", rl.Unsupported, "chunked is chunked"),
                                     ("none", rl.NotFound, "no array 'none'")):
            with self.assertRaisesRegex(error, words):
                rl.locate("a.h5", member)

    def test_netcdf3(self):
        io = package("scipy.io")
        with io.netcdf_file("a.nc", "w") as file:
            for name, size in zip("xyz", A.shape):
                file.createDimension(name, size)
            file.createVariable("t", "f4", tuple("xyz"))[:] = A
        self.check("a.nc", "t", A)

    def test_fits(self):
        fits = package("astropy.io.fits")
        fits.HDUList([fits.PrimaryHDU(A), fits.ImageHDU(A.astype("i2"), name="B"),
                      fits.CompImageHDU(A[0], name="C"),
                      fits.ImageHDU(A[0].astype("u2"), name="U")]).writeto("a.fits")
        self.check("a.fits", "", A)
        self.check("a.fits", "B", A.astype("i2"))
        for member, words in ("C", "no plain image"), ("U", "scaled"):
            with self.assertRaisesRegex(rl.Unsupported, words):
                rl.locate("a.fits", member)

    def test_tiff(self):
        tifffile = package("tifffile")
        for order in "<>":
            tifffile.imwrite("a.tif", A, byteorder=order, photometric="minisblack")
            self.check("a.tif", "0", A)

    def test_nifti(self):
        nibabel = package("nibabel")
        nibabel.save(nibabel.Nifti1Image(A, np.eye(4)), "a.nii")
        self.check("a.nii", "", A)

    def test_nrrd(self):
        nrrd = package("nrrd")
        nrrd.write("a.nrrd", A, {"encoding": "raw", "endian": "big"})
        self.check("a.nrrd", "", A)
        nrrd.write("b.nhdr", A.astype(">i2"), {"encoding": "raw", "endian": "big"}, detached_header=True)
        with open("b.raw", "rb+") as file:
            raw = file.read()
            file.seek(0)
            file.write(b"a line\n" + b"skip" + raw)
        with open("b.nhdr") as file:
            text = file.read()
        for skips in "line skip: 1\nbyte skip: 4\n", "byte skip: -1\n":
            with open("b.nhdr", "w") as file:
                file.write(text.rstrip() + "\n" + skips)
            self.check("b.nhdr", "", A.astype("i2"))
        nrrd.write("c.nrrd", A, {"encoding": "gzip"})
        with self.assertRaisesRegex(rl.Unsupported, "encoding gzip"):
            rl.locate("c.nrrd")
        with open("d.nrrd", "wb") as file:
            file.write(b"NRRD9999\n")
        with self.assertRaisesRegex(rl.ArgumentError, "d.nrrd: "):
            rl.locate("d.nrrd")

    def test_envi(self):
        envi = package("spectral").envi
        for interleave in ("bsq", "bil", "bip"):
            envi.save_image("a.hdr", A, interleave=interleave, byteorder=1, force=True)
            self.check("a.hdr", "", A)
        with open("a.hdr", "a") as file:
            file.write("reflectance scale factor = 100\n")
        with self.assertRaisesRegex(rl.Unsupported, "scaled"):
            rl.locate("a.hdr")

    def test_mrc(self):
        mrcfile = package("mrcfile")
        with mrcfile.new("a.mrc") as file:
            file.set_data(A)
        self.check("a.mrc", "", A)

    def test_segy(self):
        segyio = package("segyio")
        spec = segyio.spec()
        spec.format, spec.samples, spec.tracecount = 5, range(50), 9
        traces = np.arange(450, dtype="f4").reshape(9, 50)
        with segyio.create("a.sgy", spec) as file:
            file.trace = traces
        self.check("a.sgy", "", traces)

    def test_gguf(self):
        gguf = package("gguf")
        writer = gguf.GGUFWriter("a.gguf", "llama")
        writer.add_tensor("w", A)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        self.check("a.gguf", "w", A)

    def test_safetensors(self):
        head = {"w": {"dtype": "F32", "shape": A.shape, "data_offsets": [2, 2 + A.nbytes]},
                "i": {"dtype": "I8", "shape": [2], "data_offsets": [0, 2]}}
        text = json.dumps(head).encode()
        with open("a.safetensors", "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text + b"\x01\xff" + A.tobytes())
        self.check("a.safetensors", "w", A)
        self.check("a.safetensors", "i", np.array([1, -1], "i1"))

    def test_what_is_refused(self):
        with self.assertRaisesRegex(rl.ArgumentError, "no format that is known"):
            rl.locate("a.xyz")
        with self.assertRaises(FileNotFoundError):
            rl.locate("none.safetensors", "w")


if __name__ == "__main__":
    unittest.main()
