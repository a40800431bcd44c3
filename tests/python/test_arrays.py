# SPDX-License-Identifier: Apache-2.0
"""Random arrays through every entry point, against NumPy."""

import gc
import itertools
import os
import random
import sys
import threading
import unittest

import numpy as np

import relayout as rl

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

# Random arrays of each test; --slow has 10,000, and 100,000 calls that must not leak.
COUNT = int(os.environ.get("RELAYOUT_TEST_ARRAYS", "1000"))

TYPES = ["?", "i1", "<i2", ">i2", "<i4", ">i8", "u1", "<u8", "<f2", "<f4", ">f4", "<f8", ">f8",
         "<c8", ">c16", "<M8[ns]", ">m8[s]"]
if ml_dtypes is not None:
    TYPES += [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4]


def random_array(rng):
    """An array of any type, rank, order, strides and flags, with any bits."""
    dtype = np.dtype(rng.choice(TYPES))
    dims = [rng.choice((0, 1, 1, 2, 3, 4, 5)) for _ in range(rng.randrange(6))]
    if rng.random() < 0.03:
        dims = [rng.randrange(90, 120) for _ in range(2)]  # beyond what NumPy does
    full = [2 * n + 1 for n in dims]
    count = int(np.prod(full, dtype=np.int64))
    if dtype.kind == "b" or dtype.name == "int4":
        base = np.frombuffer(rng.randbytes(count), np.uint8) % 2
        base = base.astype(dtype)
    else:
        base = np.frombuffer(rng.randbytes(count * dtype.itemsize), np.uint8).view(dtype)
    array = base.reshape(full, order=rng.choice("CF"))
    cuts = []
    for n in dims:
        step = rng.choice((1, 1, 2, -1, -2))
        cuts.append(slice(0, n * step, step) if step > 0 else slice(n * -step, 0, step))
    array = array[(*cuts, ...)]
    assert list(array.shape) == dims, (array.shape, dims)
    if dims and rng.random() < 0.2:
        k = rng.randrange(len(dims))
        array = np.broadcast_to(array[tuple([slice(None)] * k + [slice(0, 1)])],
                                [min(n, 1) if j == k and n == 0 else n for j, n in enumerate(dims)])
    array = array.transpose(rng.sample(range(array.ndim), array.ndim))
    if rng.random() < 0.3:
        array = array.copy(order=rng.choice("CF"))
    if rng.random() < 0.2:
        array.flags.writeable = False
    return array


def same(case, found, expected):
    case.assertEqual(found.dtype, expected.dtype)
    case.assertEqual(found.shape, expected.shape)
    case.assertTrue(found.flags.c_contiguous)
    case.assertEqual(found.tobytes(), expected.tobytes())


class RandomArrays(unittest.TestCase):
    def tearDown(self):
        if sys.exc_info()[0] is not None or not self._outcome.success:
            print(self.id(), "stopped at", self.at, file=sys.stderr)

    def each(self, count, seed):
        rng = random.Random(seed)
        for n in range(count):
            array = random_array(rng)
            self.at = f"array {n}: {array.dtype} {array.shape} of strides {array.strides}"
            yield rng, array

    def test_transpose(self):
        for rng, a in self.each(COUNT, 1):
            axes = rng.choice((None, rng.sample(range(a.ndim), a.ndim)))
            same(self, rl.transpose(a, axes), a.transpose(axes))

    def test_out(self):
        for rng, a in self.each(COUNT, 2):
            axes = rng.sample(range(a.ndim), a.ndim)
            room = np.zeros([2 * a.shape[k] + 1 for k in axes], a.dtype, order=rng.choice("CF"))
            out = room[tuple(slice(2 * a.shape[k], 0, -2) if rng.random() < 0.5
                             else slice(1, None, 2) for k in axes) + (...,)]
            self.assertIs(rl.transpose(a, axes, out=out), out)
            self.assertEqual(out.tobytes(), a.transpose(axes).tobytes())
            out[...] = np.zeros((), a.dtype)
            self.assertFalse(any(room.tobytes()), "bytes beside the result were written")

    def test_contiguous(self):
        for _, a in self.each(COUNT, 3):
            same(self, rl.contiguous(a), a)

    def test_rearrange(self):
        for rng, a in self.each(COUNT, 4):
            names = "abcdef"[:a.ndim]
            order = "".join(rng.sample(names, a.ndim))
            at = rng.randrange(a.ndim + 1)
            pattern = f"{' '.join(names)} -> {' '.join(order[:at])} ({' '.join(order[at:])})"
            moved = a.transpose([names.index(k) for k in order])
            last = int(np.prod(moved.shape[at:], dtype=np.int64))
            same(self, rl.rearrange(a, pattern), moved.reshape(*moved.shape[:at], last))

    def test_relayout(self):
        for rng, a in self.each(COUNT, 5):
            order = rng.sample(range(a.ndim), a.ndim)
            tile = f":T({rng.randrange(1, 5)},{rng.randrange(1, 5)})" if rng.random() < 0.5 else ""
            y = rl.relayout(a, f"{{{','.join(map(str, order))}{tile if order else ''}}}")
            back = a.astype(a.dtype.newbyteorder("=")).view("i8") if a.dtype.kind in "mM" else \
                a.astype(a.dtype.newbyteorder("="))
            same(self, np.asarray(y), back)
            self.assertEqual(y.digest(), rl.digest(a))

    def test_pad(self):
        for rng, a in self.each(COUNT, 6):
            widths = [(rng.randrange(3), rng.randrange(3)) for _ in a.shape]
            mode = rng.choice(("constant", "edge", "reflect", "symmetric"))
            if mode != "constant":
                widths = [tuple(min(w, n - (mode == "reflect")) if n > 0 else 0 for w in pair)
                          for pair, n in zip(widths, a.shape)]
            bits = np.zeros((), a.dtype) if a.dtype.kind == "V" else a.dtype.type(1) \
                if a.dtype.kind not in "mM" else np.array(1, a.dtype)
            keywords = {"constant_values": bits} if mode == "constant" else {}
            if a.ndim == 0:
                expected = a
            else:
                expected = np.pad(a, widths, mode, **keywords)
            same(self, rl.pad(a, widths or 0, mode, **keywords), expected)

    def test_cast(self):
        for rng, a in self.each(COUNT, 7):
            if a.dtype.kind in "mMVc" or a.dtype.itemsize == 1 and a.dtype.kind == "f":
                continue
            to = rng.choice(("f4", "f8", "c16", "c8"))
            with np.errstate(all="ignore"):
                expected = a.astype(to)
            found = rl.cast(a, to)
            self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
            np.testing.assert_array_equal(found, expected)

    def test_concat(self):
        for rng, a in self.each(COUNT, 8):
            if a.ndim == 0:
                continue
            axis = rng.randrange(-a.ndim, a.ndim)
            b = a[tuple([slice(None)] * (axis % a.ndim) + [slice(None, None, -2)])]
            same(self, rl.concat([a, b, a], axis), np.concatenate([a, b, a], axis).astype(a.dtype))

    def test_digest(self):
        seen = {}
        for rng, a in self.each(COUNT, 9):
            digest = rl.digest(a, threads=1)
            self.assertEqual(digest, rl.digest(a.copy(order=rng.choice("CF")), threads=1))
            native = a.astype(a.dtype.newbyteorder("="))
            name = "int64" if a.dtype.kind in "mM" else a.dtype.newbyteorder("=")
            self.assertEqual(seen.setdefault(digest, (str(name), a.shape, native.tobytes())),
                             (str(name), a.shape, native.tobytes()))


class Refusals(unittest.TestCase):
    def test_types(self):
        for a in (np.zeros(3, "f4,i2"), np.array([{}]), np.array(["ab"]), np.zeros(2, "V12"),
                  np.zeros(2, np.longdouble), np.ma.masked_array([1, 2], [0, 1])):
            for call in (rl.transpose, rl.contiguous, rl.digest,
                         lambda a: rl.rearrange(a, "a -> a"), lambda a: rl.pad(a, 1),
                         lambda a: rl.cast(a, "f4"), lambda a: rl.concat([a, a]),
                         lambda a: rl.relayout(a, "{0}")):
                with self.assertRaises(rl.Unsupported) as caught:
                    call(a)
                self.assertIsInstance(caught.exception, NotImplementedError)

    def test_field_of_records(self):
        a = np.zeros((40, 300), "f4,i1")
        a["f0"] = np.random.rand(40, 300)
        same(self, rl.transpose(a["f0"]), a["f0"].T)

    def test_results(self):
        a = np.arange(6.0).reshape(2, 3)
        read_only = np.zeros((3, 2))
        read_only.flags.writeable = False
        for out in (read_only, np.zeros((2, 3)), np.zeros((3, 2), "f4"), [[0, 0]] * 3,
                    np.broadcast_to(np.zeros((1, 2)), (3, 2))):
            with self.assertRaises(ValueError):
                rl.transpose(a, out=out)
        with self.assertRaisesRegex(ValueError, "permutation"):
            rl.transpose(a, (0, 0))
        with self.assertRaisesRegex(rl.ArgumentError, "2 dimensions"):
            rl.transpose(a, (0,))

    def test_result_that_overlaps(self):
        a = np.arange(40_000, dtype="f4").reshape(200, 200)
        expected = a.T.copy()
        rl.transpose(a, out=a)
        np.testing.assert_array_equal(a, expected)

    def test_errors(self):
        with self.assertRaises(rl.ParseError) as caught:
            rl.Shape("f32[3,4")
        self.assertEqual(caught.exception.position, 7)
        self.assertTrue(caught.exception.message.endswith("found the end of the text in 'f32[3,4'"))
        self.assertEqual(str(caught.exception), caught.exception.message)
        for call, kind, builtin in (
                (lambda: rl.Shape("f32[99999999999999999999]"), rl.Overflow, OverflowError),
                (lambda: rl.Shape("f32[2]").slot((5,)), rl.RangeError, IndexError),
                (lambda: rl.Layout("1,0"), rl.ArgumentError, ValueError)):
            with self.assertRaises(builtin) as caught:
                call()
            self.assertIs(type(caught.exception), kind)
            self.assertIsInstance(caught.exception, rl.Error)


class Calls(unittest.TestCase):
    def test_threads(self):
        arrays = [np.random.rand(60, 70, k + 1).astype("f4") for k in range(8)]
        wrong = []

        def work(a):
            for _ in range(100):
                if not np.array_equal(rl.transpose(a, (2, 0, 1)), a.transpose(2, 0, 1)):
                    wrong.append(a.shape)
        workers = [threading.Thread(target=work, args=(a,)) for a in arrays]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(wrong, [])

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_fork(self):
        a = np.random.rand(1000, 1100)
        rl.transpose(a)
        child = os.fork()
        if child == 0:
            os._exit(not np.array_equal(rl.transpose(a), a.T))
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_no_leak(self):
        a = np.random.rand(80, 90).astype("f4")
        sizes = itertools.count()
        calls = (lambda: rl.transpose(a), lambda: rl.digest(a, threads=1),
                 lambda: rl.pad(a[:8], ((next(sizes) % 999, 0), (0, 0))),  # each is lowered
                 lambda: rl.relayout(a, "{0,1}"), lambda: rl.rearrange(a, "a b -> (b a)"),
                 lambda: self.assertRaises(rl.Error, rl.pad, a, (-99, 0)))
        size = [0, 0]
        for n, call in zip(range(10 * COUNT), itertools.cycle(calls)):
            call()
            if n in (COUNT, 10 * COUNT - 1):
                gc.collect()
                size[n > COUNT] = resident()
        self.assertLess(size[1] - size[0], 4 << 20)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    unittest.main()
