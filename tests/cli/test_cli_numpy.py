#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""convert against NumPy: every type, order, version; layouts by a model."""

import io
import itertools
import os
import random
import sys

from cli_case import CliCase, main

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed: these tests are skipped")
    sys.exit(77)

SEED = int(os.environ.get("RELAYOUT_TEST_SEED", "20261120"))
IS_LOW = "RELAYOUT_TEST_LOW" in os.environ
TYPES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4",
         "f8", "c8", "c16"]


def counting(dtype, dims):
    """An array whose elements differ as far as their type allows."""
    size = int(np.prod(dims))
    itemsize = np.dtype(dtype).itemsize
    if np.dtype(dtype).kind == "b":
        return (np.arange(size) % 3 == 0).reshape(dims)
    raw = np.arange(1, size * itemsize + 1, dtype="u4") * 2654435761 >> 24
    return raw.astype("u1").view(dtype).reshape(dims)


def raw(array):
    """The bytes in C order: NaN is not equal to itself."""
    return np.ascontiguousarray(array).tobytes()


def physical(array, minor_to_major, pad=None, tile=None, fill=0):
    """The slots of a layout, by NumPy's own means."""
    if pad is not None:
        array = np.pad(array, [(0, p - d) for p, d in zip(pad, array.shape)],
                       constant_values=fill)
    array = np.transpose(array, minor_to_major[::-1])
    if tile is not None:
        first = array.ndim - len(tile)
        array = np.pad(array, [(0, 0)] * first + [
            (0, -d % t) for d, t in zip(array.shape[first:], tile)],
            constant_values=fill)
        split = list(array.shape[:first])
        for d, t in zip(array.shape[first:], tile):
            split += [d // t, t]
        outer = list(range(first, len(split), 2))
        inner = list(range(first + 1, len(split), 2))
        array = array.reshape(split).transpose(
            list(range(first)) + outer + inner)
    return np.ascontiguousarray(array).reshape(-1)


class NumPy(CliCase):
    device = ["--host"]

    def save(self, array, version=(1, 0)):
        with open(self.path("in.npy"), "wb") as file:
            np.lib.format.write_array(file, array, version=version)

    def convert(self, *arguments):
        return self.ok("convert", *self.device, *arguments).strip()

    def check_equal(self, name, other):
        """Byte for byte; the header of what is moved in pieces is wider."""
        if IS_LOW:
            self.assertEqual(self.load(name).dtype, self.load(other).dtype)
            self.assertEqual(self.load(name).shape, self.load(other).shape)
            self.assertEqual(raw(self.load(name)), raw(self.load(other)))
        else:
            self.assertEqual(self.read(name), self.read(other))

    def load(self, name):
        return np.load(self.path(name), allow_pickle=False)

    def check_transpose(self, array, perm):
        self.convert("in.npy", "out.npy", "--perm",
                     ",".join(map(str, perm)) or "-")
        expected = np.array(np.transpose(array, perm), order="C").astype(
            array.dtype.newbyteorder("<"))
        result = self.load("out.npy")
        self.assertEqual(result.dtype, expected.dtype)
        self.assertEqual(result.shape, expected.shape)
        self.assertEqual(result.tobytes(), expected.tobytes())
        saved = io.BytesIO()
        np.save(saved, expected)
        self.assertEqual(self.read("out.npy"), saved.getvalue())

    def test_every_type_order_and_version(self):
        generator = random.Random(SEED)
        for dtype, order, version in itertools.product(
                TYPES, "CF", [(1, 0), (2, 0), (3, 0)]):
            array = np.array(counting(dtype, (3, 5, 4)), order=order)
            perm = generator.sample(range(3), 3)
            with self.subTest(dtype=dtype, order=order, version=version,
                              perm=perm, seed=SEED):
                self.save(array, version)
                self.check_transpose(array, perm)

    def test_other_byte_order(self):
        for dtype in TYPES:
            array = counting(dtype, (3, 5)).astype(
                np.dtype(dtype).newbyteorder(">"))
            with self.subTest(dtype=dtype):
                self.save(array)
                self.check_transpose(array, (1, 0))

    def test_every_permutation_up_to_rank_4(self):
        for rank in range(5):
            array = counting("f4", (2, 3, 1, 4)[:rank])
            self.save(array)
            for perm in itertools.permutations(range(rank)):
                # Some of them from the end.
                perm = [p - rank if (p + k) % 2 else p
                        for k, p in enumerate(perm)]
                with self.subTest(rank=rank, perm=perm):
                    self.check_transpose(array, perm)

    def test_layouts(self):
        cases = [
            ((2, 3), "{0,1:pad(3,5)fill(zero)}",
             dict(minor_to_major=[0, 1], pad=(3, 5))),
            ((20, 300), "{1,0:T(8,128)fill(zero)}",
             dict(minor_to_major=[1, 0], tile=(8, 128))),
            ((20, 30), "{0,1:T(4,8)fill(one)}",
             dict(minor_to_major=[0, 1], tile=(4, 8), fill=1)),
            ((2, 5, 7, 3), "{2,1,3,0:pad(2,6,9,4)T(2,4)fill(one)}",
             dict(minor_to_major=[2, 1, 3, 0], pad=(2, 6, 9, 4), tile=(2, 4),
                  fill=1)),
            ((5, 6, 7), "{0,2,1:T(3)}",
             dict(minor_to_major=[0, 2, 1], tile=(3,))),
        ]
        for (dims, layout, model), dtype in itertools.product(
                cases, ["i1", "f4", "c16"]):
            array = counting(dtype, dims)
            self.save(array)
            with self.subTest(layout=layout, dtype=dtype):
                layout = self.order_words(layout)
                shape = self.convert("in.npy", "out.npy", "--to", layout)
                expected = physical(array, **model)
                self.assertEqual(raw(self.load("out.npy")), raw(expected))
                self.convert("in.npy", "out.bin", "--to", layout)
                self.assertEqual(self.read("out.bin"), raw(expected))
                for name in "out.npy", "out.bin":
                    self.convert(name, "back.npy", "--from", shape)
                    self.check_equal("back.npy", "in.npy")

    @staticmethod
    def order_words(layout):
        """Our words come after XLA's tiles."""
        if "T(" in layout and "pad(" in layout:
            head, rest = layout.split(":", 1)
            pad, rest = rest.split(")T", 1)
            tile, rest = rest.split(")", 1)
            return "%s:T%s)%s)%s" % (head, tile, pad, rest)
        return layout


if __name__ == "__main__":
    main()
