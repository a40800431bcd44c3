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


IS_LOW = "RELAYOUT_TEST_LOW" in os.environ
X = numbers(4, 6)
Y = numbers(4, 6, first=101)
IMAGE = numbers(1, 4, 4, 2)
# Scales of blocks of 3 along the rows, then zero points.
QUANTIZATION = np.array([[[0.5, 0.1]], [[1, -100]]], dtype="f4")
SCALES, ZEROS = np.repeat(QUANTIZATION, 3, axis=2)
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
    "Multiply": ([], [X, Y], [X * Y]),
    "Less": ([], [X, Y], [(X < Y).astype(X.dtype)]),
    "LessEqual": ([], [X, Y], [(X <= Y).astype(X.dtype)]),
    "Greater": ([], [X, Y], [(X > Y).astype(X.dtype)]),
    "GreaterEqual": ([], [X, Y], [(X >= Y).astype(X.dtype)]),
    "Equal": ([], [X, Y], [(X == Y).astype(X.dtype)]),
    "Abs": ([], [-X], [X]),
    "Step": (["alpha=-2"], [X], [np.where(X > 0, 1, -2).astype(X.dtype)]),
    "Exp": ([], [0 * X], [0 * X + 1]),
    "Tanh": ([], [0 * X], [0 * X]),
    "Quantize": (["dtype=s8"], [X, QUANTIZATION],
                 [np.clip(np.rint(X / SCALES) + ZEROS, -128, 127).astype("i1")]),
    "Dequantize": (["scale=0.5", "zero_point=3"], [X.astype("u1")],
                   [(X.astype("f4") - 3) * np.float32(0.5)]),
    "Select": ([], [X, Y, (X > 5).astype("i4")], [np.where(X > 5, Y, X)]),
}


class Op(CliCase):
    device = ["--device", "default"]

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

    def test_factors(self):
        """out = alpha * result + beta * out."""
        np.save(self.path("out.npy"), np.ascontiguousarray(Y.T))
        self.ok("op", "transpose", *self.device, "--alpha", "2", "--beta",
                "-0.5", "x.npy", "out.npy")
        self.assertEqual(self.load("out.npy").tolist(),
                         (2 * X.T - 0.5 * Y.T).tolist())
        self.ok("op", "transpose", "--host", "--alpha", "3", "x.npy",
                "new.npy")
        self.assertEqual(self.load("new.npy").tolist(), (3 * X.T).tolist())
        for name, part in (("a.npy", Y[:2]), ("b.npy", Y[2:])):
            np.save(self.path(name), part)
        self.ok("op", "split_v", "--host", "--accumulate", "--attr",
                "num_or_size_splits=2", "x.npy", "a.npy", "b.npy")
        self.assertEqual(self.load("a.npy").tolist(), (X[:2] + Y[:2]).tolist())
        self.assertEqual(self.load("b.npy").tolist(), (X[2:] + Y[2:]).tolist())
        # In a layout: what holds no element stays zero.
        to = ["--to", "{1,0:T(8)}"]
        self.ok("op", "identity", "--host", *to, "x.npy", "sum.bin")
        for _ in range(2):
            self.ok("op", "identity", "--host", *to, "--accumulate",
                    "x.npy", "sum.bin")
        slots = np.zeros((4, 8), dtype="f4")
        slots[:, :6] = 3 * X
        self.assertEqual(np.frombuffer(self.read("sum.bin"), "f4").tolist(),
                         slots.reshape(-1).tolist())

    def test_factors_that_cannot_be(self):
        sum_up = ["op", "identity", "--host", "--accumulate", "x.npy"]
        self.fails(1, "z.npy", *sum_up, "z.npy")
        np.save(self.path("t.npy"), np.ascontiguousarray(X.T))
        self.fails(1, ["t.npy holds f32[6,4]", "f32[4,6]"], *sum_up, "t.npy")
        np.save(self.path("t.npy"), X.astype("i4"))
        self.fails(1, "t.npy holds s32[4,6]", *sum_up, "t.npy")
        self.fails(1, "alpha is 0.5", "op", "cast", "--host", "--attr",
                   "dtype=s32", "--alpha", "0.5", "x.npy", "z.npy")
        self.fails(2, "'nan' is not a finite", "op", "identity", "--alpha",
                   "nan", "x.npy", "z.npy")
        self.fails(2, "exclude --resume", "op", "identity", "--accumulate",
                   "--resume", "x.npy", "z.npy")
        self.assert_files("t.npy", "x.npy", "y.npy")

    def test_packs_values(self):
        """The host does; a device may refuse."""
        np.save(self.path("in.npy"), np.array([[1, -1], [7, -8]], dtype="i1"))
        pack = ["op", "transpose", "--host", "--from", "s4[2,2]", "--to",
                "{1,0:E(4)}", "in.npy", "out.bin"]
        self.assertEqual(self.ok(*pack), "s4[2,2]{1,0:E(4)}\n")
        self.assertEqual(self.read("out.bin"), bytes([0x71, 0x8f]))
        np.save(self.path("in.npy"), np.array([[1, -1], [8, -8]], dtype="i1"))
        self.fails(1, "slot 2 of in.npy is no s4", *pack)

    def test_a_value_that_is_an_input(self):
        for name, array, value in (
                ("x.npy", X, np.array(7.5, dtype="f4")),
                ("b.npy", np.array([[True, False]]), np.array(True))):
            np.save(self.path(name), array)
            np.save(self.path("value.npy"), value)
            self.ok("op", "pad_v2", *self.device, "--attr", "paddings=1,0,0,2",
                    name, "value.npy", "z.npy")
            self.assertEqual(
                self.load("z.npy").tolist(),
                np.pad(array, [(1, 0), (0, 2)],
                       constant_values=value).tolist())

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
        """The order of the rows, in this case."""
        np.save(self.path("ids.npy"), np.zeros(4, dtype="i4"))
        self.fails(1, ["takes 8000000000040 bytes",
                       "the arrays in memory 16", "bytes of memory are available"],
                   "op", "unsorted_segment_sum", *self.device, "--attr",
                   "num_segments=1000000000000", "x.npy", "ids.npy", "z.npy")
        self.assert_files("ids.npy", "x.npy", "y.npy")

    def test_json_names_each_result(self):
        told = json.loads(self.ok(
            "op", "split-v", *self.device, "--json", "--attr",
            "num_or_size_splits=2", "x.npy", "a.npy", "b.npy"))
        self.assertEqual(told.pop("device") is None,
                         "--host" in self.device)
        self.assertEqual(told, {"operation": "SplitV", "results": [
            {"shape": "f32[2,6]{1,0}", "file": "a.npy"},
            {"shape": "f32[2,6]{1,0}", "file": "b.npy"}],
            "chosen_by": "option"})

    def test_trace(self):
        """The seconds of the operation, in a file that is replaced."""
        for more in [], ["--memory", "4MiB"]:
            self.ok("op", "transpose", *self.device, "--trace", "t.json",
                    "--to", "{0,1:T(2,2)}", *more, "x.npy", "z.npy")
            whole, *stages = json.loads(self.read("t.json"))["traceEvents"]
            self.assertEqual([e["name"] for e in [whole, *stages]],
                             ["Transpose", "read", "run", "write"])
            for event in whole, *stages:
                self.assertEqual((event["ph"], event["ts"]), ("X", 0))
                self.assertGreaterEqual(event["dur"], 0)
            self.assertGreater(whole["dur"], 0)
            args = whole["args"]
            self.assertEqual(args["inputs"], ["f32[4,6]{1,0}"])
            self.assertEqual(args["results"], ["f32[6,4]{0,1:T(2,2)}"])
            self.assertEqual((args["bytes_read"], args["bytes_written"]),
                             (96, 96))
            self.assertEqual(args["device"] == "host",
                             self.device == ["--host"])
        result = self.run_command("op", "identity", *self.device, "--trace",
                                  "nowhere/t.json", "x.npy", "z.npy")
        self.assertEqual(result.code, 1)
        self.assertIn("cannot write nowhere/t.json", result.err)
        for trace in "x.npy", "z.npy":
            self.fails(1, "are one file", "op",
                       "transpose", *self.device, "--trace", trace, "x.npy",
                       "z.npy")

    def test_refuses(self):
        for code, words, *arguments in (
                (2, "name an operation"),
                (2, "no operation 'nope'", "nope", "x.npy", "z.npy"),
                (2, "0 files", "transpose"),
                (2, "1 file;", "transpose", "x.npy"),
                (1, ["no attribute 'prm'", "it takes 'perm'"],
                 "transpose", "--attr", "prm=1", "x.npy", "z.npy"),
                (2, "write NAME=VALUE", "transpose", "--attr", "perm",
                 "x.npy", "z.npy"),
                (1, "'1;0' is not of its type: integers", "transpose",
                 "--attr", "perm=1;0", "x.npy", "z.npy"),
                (1, "'99999999999999999999'", "transpose",
                 "--attr", "perm=99999999999999999999", "x.npy", "z.npy"),
                (1, "'yes' is not of its type: integer", "sum",
                 "--attr", "keep_dims=yes", "x.npy", "z.npy"),
                (2, "SplitV has 2 results here, but 1 file is named",
                 "splitv", "--attr", "num_or_size_splits=2", "x.npy",
                 "z.npy"),
                (2, "is given 2 times for 1 inputs", "transpose",
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
                # Low thresholds cut it into too many boxes to list.
                (1, "the host has no memory for" if IS_LOW else
                 "cannot reserve 96000000000000 bytes", "tile", "--attr",
                 "reps=1000000,1000000", "x.npy", "z.npy")):
            with self.subTest(arguments=arguments):
                self.fails(code, words, "op", *arguments)
        self.fails(2, "excludes --device", "op", "transpose", "--host",
                   "--device", "0", "x.npy", "z.npy")
        self.assert_files("x.npy", "y.npy")


    def test_a_device_that_lacks_it(self):
        np.save(self.path("c.npy"), np.array([1 + 2j], dtype="c8"))
        if self.device != ["--host"]:
            self.fails(1, "; try --host", "op", "cast", *self.device, "--attr",
                       "dtype=pred", "c.npy", "z.npy")
        self.ok("op", "cast", "--host", "--attr", "dtype=pred", "c.npy",
                "z.npy")


class OpOnHost(Op):
    device = ["--host"]

    def test_inputs_by_name(self):
        np.save(self.path("rows.npy"), ROWS)
        self.write("rows.bin", ROWS.tobytes())
        os.rename(self.path("y.npy"), self.path("y=1.npy"))
        gather = ["op", "gather_v2", "--host"]
        for arguments in (
                ["--input", "indices=rows.npy", "--input", "x=x.npy"],
                ["--input", "x=x.npy", "--input", "indices=rows.npy"],
                # In the order in which they are named.
                ["--input", "indices=rows.bin", "--input", "x=x.npy",
                 "--from", "s32[3]", "--from", "-"],
                ["--input", "indices=rows.bin", "--from", "s32[3]",
                 "--input", "x=x.npy"]):
            self.ok(*gather, *arguments, "g.npy")
            self.assertEqual(self.load("g.npy").tolist(), X[ROWS].tolist())
            os.remove(self.path("g.npy"))
        self.ok("op", "concat", "--host", "--input", "inputs=y=1.npy",
                "--input", "inputs=x.npy", "c.npy")
        self.assertEqual(self.load("c.npy").tolist(),
                         np.concatenate([Y, X]).tolist())
        self.ok("op", "unpack", "--host", "--input", "value=x.npy",
                *["%d.npy" % n for n in range(4)])
        self.assertEqual(self.load("3.npy").tolist(), X[3].tolist())
        for words, *arguments in (
                ("input 'ids' is unknown; it takes 'x', 'indices'",
                 "--input", "x=x.npy", "--input", "ids=rows.npy", "z.npy"),
                ("input 'x' is given twice", "--input", "x=x.npy", "--input",
                 "x=x.npy", "z.npy"),
                ("input 'indices' is missing", "--input", "x=x.npy", "z.npy"),
                ("--input x.npy: write NAME=FILE", "--input", "x.npy",
                 "z.npy"),
                ("--input x=: write NAME=FILE", "--input", "x=", "z.npy"),
                ("name the files of its results", "--input", "x=x.npy"),
                ("is given 2 times for 1 inputs", "--input", "x=x.npy",
                 "--from", "-", "--from", "-", "z.npy"),
                ("GatherV2: 1 file; name those of its inputs (x, indices), "
                 "then those of its results", "x.npy")):
            with self.subTest(arguments=arguments):
                self.fails(2, words, *gather, *arguments)
        both = ["--input", "x=x.npy", "--input", "indices=rows.npy"]
        self.fails(1, "one file", *gather, *both, "rows.npy")
        for name in "rows.npy", "z.npy":
            self.fails(1, "are one file", *gather, *both,
                       "z.npy", "--trace", name)

    def test_the_list_shows_names(self):
        lines = self.ok("op", "--list").splitlines()
        for line in ("GatherV2: 2 inputs: x, indices",
                     "PadV2: 1 to 2 inputs: x, value (may be left out)",
                     "Pack: 1 or more inputs: inputs (any number)",
                     "Unpack: 1 input: value"):
            self.assertIn(line + ", has a gradient", lines)
        listed = json.loads(self.ok("op", "--list", "--json"))["operations"]
        names = {o["name"]: o["inputs"] for o in listed}
        self.assertEqual(names["UnsortedSegmentSum"], ["x", "segment_ids"])
        self.assertEqual(names["AddN"], ["inputs"])


if __name__ == "__main__":
    # One of the two, so that a machine without OpenCL can run the other.
    if os.environ.get("RELAYOUT_OP_DEVICE") == "1":
        del OpOnHost
    else:
        del Op
    main()
