#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`relayout op`: every operation against NumPy, on the host and a device."""

import json
import os
import sys

from cli_case import CliCase, main

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed: these tests are skipped")
    sys.exit(77)


def numbers(*dims, first=1):
    return np.arange(first, first + int(np.prod(dims)),
                     dtype="f4").reshape(dims)


X = numbers(4, 6)
Y = numbers(4, 6, first=101)
IMAGE = numbers(1, 4, 4, 2)
ROWS = np.array([3, 0, 3], dtype="i4")


def to_depth(x):
    n, h, w, c = x.shape
    return (x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5)
            .reshape(n, h // 2, w // 2, 4 * c))


def to_batch(x):
    """Blocks of 2 by 2, no padding."""
    n, h, w, c = x.shape
    return (x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(2, 4, 0, 1, 3, 5)
            .reshape(4 * n, h // 2, w // 2, c))


# Operation: attributes, inputs, results.
CASES = {
    "Identity": ([], [X], [X]),
    "Relayout": (["shape=f32[4,6]{0,1}"], [X], [X]),
    "Transpose": (["perm=-1,0"], [X], [X.T]),
    "Reshape": (["shape=3,-1"], [X], [X.reshape(3, 8)]),
    "ExpandDims": (["axis=1"], [X], [X[:, None, :]]),
    "Slice": (["begin=1,2", "size=2,-1"], [X], [X[1:3, 2:]]),
    "StridedSlice": (["begin=3,5", "end=0,0", "strides=-1,-2"], [X],
                     [X[3:0:-1, 5:0:-2]]),
    "PadV2": (["paddings=1,0,0,2", "value=7.5"], [X],
              [np.pad(X, [(1, 0), (0, 2)], constant_values=7.5)]),
    "MirrorPad": (["paddings=1,0,0,2", "mode=symmetric"], [X],
                  [np.pad(X, [(1, 0), (0, 2)], mode="symmetric")]),
    "Reverse": (["dims=0"], [X], [X[::-1]]),
    "Roll": (["shifts=1,-7", "dims=0,-1"], [X], [np.roll(X, (1, -7), (0, -1))]),
    "BroadcastTo": (["shape=2,4,6"], [X], [np.broadcast_to(X, (2, 4, 6))]),
    "Tile": (["reps=2,1"], [X], [np.tile(X, (2, 1))]),
    "Repeat": (["repeats=1,3"], [X], [np.repeat(X, 3, axis=1)]),
    "Concat": (["axis=1"], [X, Y], [np.concatenate([X, Y], axis=1)]),
    "ConcatV2": (["axis=-2"], [X, Y], [np.concatenate([X, Y], axis=0)]),
    "Pack": (["axis=2"], [X, Y], [np.stack([X, Y], axis=2)]),
    "SplitV": (["num_or_size_splits=1,-1,3", "axis=1"], [X],
               [X[:, :1], X[:, 1:3], X[:, 3:]]),
    "Unpack": (["axis=0"], [X], list(X)),
    "SpaceToDepth": (["block_size=2"], [IMAGE], [to_depth(IMAGE)]),
    "DepthToSpace": (["block_size=2"], [to_depth(IMAGE)], [IMAGE]),
    "SpaceToBatchND": (["block_shape=2,2", "paddings=0,0,0,0"], [IMAGE],
                       [to_batch(IMAGE)]),
    "BatchToSpaceND": (["block_shape=2,2", "crops=0,0,0,0"],
                       [to_batch(IMAGE)], [IMAGE]),
    "Cast": (["dtype=s32"], [X], [X.astype("i4")]),
    "Sum": (["dims=0", "keep_dims=true"], [X], [X.sum(0, keepdims=True)]),
    "Rescale": (["factor=2"], [X], [2 * X]),
    "GatherV2": (["axis=0"], [X, ROWS], [X[ROWS]]),
    "UnsortedSegmentSum": (["num_segments=4"], [X[:3], ROWS],
                           [np.stack([X[1], 0 * X[0], 0 * X[0],
                                      X[0] + X[2]])]),
    "AddN": ([], [X, Y, X], [X + Y + X]),
}


class Op(CliCase):
    device = []

    def setUp(self):
        super().setUp()
        for name, array in (("x.npy", X), ("y.npy", Y)):
            np.save(self.path(name), array)

    def load(self, name):
        return np.load(self.path(name), allow_pickle=False)

    def run_case(self, name, case):
        attributes, inputs, results = case
        files = []
        for n, array in enumerate(inputs):
            np.save(self.path("in%d.npy" % n), array)
            files.append("in%d.npy" % n)
        outs = ["out%d.npy" % n for n in range(len(results))]
        options = [word for a in attributes for word in ("--attr", a)]
        self.ok("op", name, *self.device, *options, *files, *outs)
        for out, expected in zip(outs, results):
            result = self.load(out)
            self.assertEqual(result.dtype, expected.dtype)
            self.assertEqual(result.shape, expected.shape)
            self.assertEqual(result.tolist(), expected.tolist())

    def test_every_operation(self):
        listed = json.loads(self.ok("op", "--list", "--json"))["operations"]
        self.assertEqual(sorted(o["name"] for o in listed), sorted(CASES))
        for name, case in CASES.items():
            with self.subTest(operation=name):
                self.run_case(name, case)

    def test_layouts_of_both_sides(self):
        text = self.ok("op", "transpose", *self.device, "x.npy", "t.npy",
                       "--to", "{0,1:pad(8,4)fill(zero)}").strip()
        self.assertEqual(text, "f32[6,4]{0,1:pad(8,4)fill(zero)}")
        slots = np.zeros((4, 8), dtype="f4")
        slots[:, :6] = X
        self.assertEqual(self.load("t.npy").tolist(),
                         slots.reshape(-1).tolist())
        np.save(self.path("in.npy"), X.T)
        self.ok("op", "concat", *self.device, "--from", text, "--from", "-",
                "--attr", "axis=0", "t.npy", "in.npy", "back.npy")
        self.assertEqual(self.load("back.npy").tolist(),
                         np.concatenate([X.T, X.T]).tolist())

    def test_slots_without_element_are_zero(self):
        """Whatever the memory held before, and whatever the input's file has
        there: equal inputs make equal files."""
        np.save(self.path("in.npy"), np.full(100, 7, dtype="u1"))
        tiled = "u8[100]{0:T(128)}"
        for to, slots in (("{0:T(128)}", 128), ("{0:L(1000)}", 1000),
                          ("{0:pad(640)}", 640)):
            wanted = [7] * 100 + [0] * (slots - 100)
            self.ok("op", "identity", *self.device, "--to", to, "in.npy",
                    "out.npy")
            self.assertEqual(self.load("out.npy").tolist(), wanted)
            self.ok("op", "concat", *self.device, "--attr", "axis=0", "--to",
                    to, "in.npy", "out.npy")
            self.assertEqual(self.load("out.npy").tolist(), wanted)
        self.write("dirty.bin", bytes([7] * 100 + [0xa5] * 28))
        self.ok("op", "identity", *self.device, "--from", tiled, "--to",
                "{0:T(128)}", "dirty.bin", "clean.bin")
        self.assertEqual(self.read("clean.bin"), bytes([7] * 100 + [0] * 28))
        self.ok("convert", *self.device, "--from", tiled, "--to",
                "{0:T(128)}", "dirty.bin", "converted.bin")
        self.assertEqual(self.read("converted.bin"), self.read("clean.bin"))

    def test_a_result_beyond_the_memory(self):
        """Of what is loaded."""
        np.save(self.path("ids.npy"), np.zeros(4, dtype="i4"))
        self.fails(1, ["takes 24000000000000 bytes",
                       "the arrays in memory 112", "memory of this machine"],
                   "op", "unsorted_segment_sum", *self.device, "--attr",
                   "num_segments=1000000000000", "x.npy", "ids.npy", "z.npy")
        self.assert_files("ids.npy", "x.npy", "y.npy")

    def test_json_names_each_result(self):
        told = json.loads(self.ok(
            "op", "split-v", *self.device, "--json", "--attr",
            "num_or_size_splits=2", "x.npy", "a.npy", "b.npy"))
        self.assertEqual(told, {"operation": "SplitV", "results": [
            {"shape": "f32[2,6]{1,0}", "file": "a.npy"},
            {"shape": "f32[2,6]{1,0}", "file": "b.npy"}]})

    def test_refuses(self):
        for code, words, *arguments in (
                (2, "name an operation"),
                (2, "no operation 'nope'", "nope", "x.npy", "z.npy"),
                (2, "0 files", "transpose"),
                (2, "1 file;", "transpose", "x.npy"),
                (2, ["no attribute 'prm'", "its attributes are perm"],
                 "transpose", "--attr", "prm=1", "x.npy", "z.npy"),
                (2, "write NAME=VALUE", "transpose", "--attr", "perm",
                 "x.npy", "z.npy"),
                (2, "'1;0' is not of its type: integers", "transpose",
                 "--attr", "perm=1;0", "x.npy", "z.npy"),
                (2, "' 1,0' is not of its type: integers", "transpose",
                 "--attr", "perm= 1,0", "x.npy", "z.npy"),
                (2, "'99999999999999999999'", "transpose",
                 "--attr", "perm=99999999999999999999", "x.npy", "z.npy"),
                (2, "'yes' is not of its type: true or false", "sum",
                 "--attr", "keep_dims=yes", "x.npy", "z.npy"),
                (2, "SplitV has 2 results here, but 1 file is named",
                 "splitv", "--attr", "num_or_size_splits=2", "x.npy",
                 "z.npy"),
                (2, "--from is given 2 times for 1 inputs", "transpose",
                 "--from", "-", "--from", "-", "x.npy", "z.npy"),
                (1, "perm: dimensions 1 and -1 are one and the same",
                 "transpose", "--attr", "perm=1,-1", "x.npy", "z.npy"),
                (1, "given twice", "transpose", "--attr", "perm=0,1",
                 "--attr", "perm=1,0", "x.npy", "z.npy"),
                (1, "'begin' is missing", "slice", "x.npy", "z.npy"),
                (1, "dimension 9", "concat", "--attr", "axis=9", "x.npy",
                 "y.npy", "z.npy"),
                (1, "one file", "transpose", "x.npy", "x.npy"),
                (1, "one file", "splitv", "--attr", "num_or_size_splits=2",
                 "x.npy", "z.npy", "z.npy"),
                (1, "nofile.npy", "transpose", "nofile.npy", "z.npy"),
                (1, "factor is NaN; a factor must be finite", "rescale",
                 "--attr", "factor=nan", "x.npy", "z.npy"),
                (1, "factor is -infinity", "rescale", "--attr",
                 "factor=-inf", "x.npy", "z.npy"),
                (1, "f99", "cast", "--attr", "dtype=f99", "x.npy", "z.npy"),
                (1, "cannot reserve 96000000000000 bytes", "tile", "--attr",
                 "reps=1000000,1000000", "x.npy", "z.npy")):
            with self.subTest(arguments=arguments):
                self.fails(code, words, "op", *arguments)
        self.fails(2, "excludes --device", "op", "transpose", "--host",
                   "--device", "0", "x.npy", "z.npy")
        self.assert_files("x.npy", "y.npy")


class OpOnHost(Op):
    device = ["--host"]


if __name__ == "__main__":
    # One of the two, so that a machine without OpenCL can run the other.
    if os.environ.get("RELAYOUT_OP_DEVICE") == "1":
        del OpOnHost
    else:
        del Op
    main()
