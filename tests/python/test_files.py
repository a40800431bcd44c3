# SPDX-License-Identifier: Apache-2.0
"""Files: `.npy` and bare bytes, whole or not at all, and resumed."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

import relayout as rl

A = np.random.default_rng(3).random((30, 40, 50)).astype("f4")


class Convert(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def check(self, array, **options):
        np.save("in.npy", array)
        rl.convert("in.npy", "out.npy", **options)
        found = np.load("out.npy")
        expected = array.transpose(options.get("perm", range(array.ndim)))
        expected = expected.astype(options.get("dtype", array.dtype.newbyteorder("=")))
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        self.assertEqual(found.tobytes(), expected.tobytes())
        self.assertEqual(sorted(os.listdir(".")), ["in.npy", "out.npy"])

    def test_npy(self):
        self.check(A, perm=(2, 0, 1))
        self.check(np.asfortranarray(A), perm=(1, 2, 0), memory="1MiB")
        self.check(A.astype(">f4"), perm=(2, 1, 0))
        self.check(A.astype(">f8"), perm=(2, 1, 0), dtype="f4")
        self.check(A, dtype="f8")
        self.check(np.zeros((0, 4)), perm=(1, 0))
        self.check(np.array(3.5))
        self.check(np.arange("2001-01-01", "2001-04-11", dtype="M8[D]").reshape(10, 10), perm=(1, 0))
        self.check(np.array([["ab", "cd"], ["ef", "gh"]]), perm=(1, 0))
        self.check(A.view("V4"), perm=(1, 0, 2))

    def test_two_passes(self):
        a = np.arange(2000 * 3000, dtype="f4").reshape(2000, 3000)
        self.check(a, perm=(1, 0), memory="1MiB")
        self.check(a, perm=(1, 0), memory="1MiB", resume=True)

    def test_bare_bytes(self):
        np.save("a.npy", A)
        rl.convert("a.npy", "t.bin", to="{2,1,0:T(8,128)fill(zero)}")
        shape = "f32[30,40,50]{2,1,0:T(8,128)fill(zero)}"
        with open("t.bin", "rb") as file:
            tiles = file.read()
        self.assertEqual(tiles, rl.relayout(A, shape).bytes)
        with open("u.bin", "wb") as file:
            file.write(b"head" + tiles)
        rl.convert("u.bin", "b.npy", shape=shape, offset=4)
        np.testing.assert_array_equal(np.load("b.npy"), A)
        out = np.empty((50, 30, 40), "f4")
        rl.convert("a.npy", out, perm=(2, 0, 1))
        np.testing.assert_array_equal(out, A.transpose(2, 0, 1))
        wide = np.zeros((50, 60, 40))[:, ::2]
        rl.convert("a.npy", wide, perm=(2, 0, 1))
        np.testing.assert_array_equal(wide, out)
        self.assertEqual({rl.digest(each) for each in ("a.npy", A, np.asfortranarray(A))},
                         {rl.digest(A)})
        rl.convert(out, "c.npy", perm=(1, 2, 0))
        np.testing.assert_array_equal(np.load("c.npy"), A)

    def test_refusals(self):
        np.save("a.npy", A)
        np.save("s.npy", np.zeros(3, "f4,i2"))
        with open("b.bin", "wb") as file:
            file.write(bytes(100))
        for kind, source, target, options in (
                (FileNotFoundError, "none.npy", "x.npy", {}),
                (FileNotFoundError, "a.npy", "none/x.npy", {}),
                (rl.ArgumentError, "b.bin", "x.npy", {}),
                (rl.RangeError, "b.bin", "x.npy", {"shape": "f32[30]"}),
                (rl.Unsupported, "s.npy", "x.npy", {}),
                (rl.ArgumentError, "a.npy", "x.npy", {"perm": (0, 0, 1)}),
                (rl.ArgumentError, "a.npy", "x.npy", {"memory": "1XB"}),
                (rl.RangeError, "a.npy", "x.npy", {"memory": 5})):
            with self.subTest(source=source, options=options), self.assertRaises(kind):
                rl.convert(source, target, **options)
        for target in "x.npy", "x.bin":
            with self.assertRaisesRegex(TypeError, "convert has no option 'chunks' for this"):
                rl.convert("a.npy", target, chunks=(1, 2))
        self.assertEqual(sorted(os.listdir(".")), ["a.npy", "b.bin", "s.npy"])

    def test_interrupted_and_resumed(self):
        a = np.arange(4000 * 3000, dtype="f4").reshape(4000, 3000)
        np.save("a.npy", a)
        script = ("import relayout as rl; print('ready', flush=True); "
                  "rl.convert('a.npy', 'b.npy', perm=(1, 0), memory='1MiB', resume=True, threads=1)")
        for stop in (signal.SIGINT, signal.SIGKILL):
            child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
            child.stdout.readline()
            limit = time.monotonic() + 20
            while not os.path.exists(".b.npy.relayout-journal") and time.monotonic() < limit:
                time.sleep(0.002)
            child.send_signal(stop)
            _, text = child.communicate(timeout=60)
            if child.returncode == 0:
                continue  # it was done before
            self.assertEqual("KeyboardInterrupt" in text, stop == signal.SIGINT, text)
            self.assertFalse(os.path.exists("b.npy"))
        rl.convert("a.npy", "b.npy", perm=(1, 0), resume=True)
        np.testing.assert_array_equal(np.load("b.npy"), a.T)
        with open(".b.npy.relayout-journal", "w") as file:
            file.write("of a job that was killed when all but this was done")
        rl.convert("a.npy", "b.npy", perm=(1, 0), resume=True)
        np.testing.assert_array_equal(np.load("b.npy"), a.T)
        self.assertEqual(sorted(os.listdir(".")), ["a.npy", "b.npy"])

    def test_two_writers(self):
        np.save("a.npy", A)
        started = []

        def read(offset, view):
            if not started:
                started.append(1)
                with self.assertRaises(rl.Exists):
                    rl.convert("a.npy", "b.npy")
            view[:] = A.tobytes()[offset:offset + len(view)]

        rl.convert(rl.Storage("f32[30,40,50]", read=read), "b.npy")
        np.testing.assert_array_equal(np.load("b.npy"), A)


if __name__ == "__main__":
    unittest.main()
