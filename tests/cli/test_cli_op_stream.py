#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""op on large arrays, in pieces: the same bytes as when they are loaded."""

import json
import os
import random
import resource
import signal
import time
import unittest

from cli_case import main, npy_bytes, npy_parts
from stream_case import (IS_SLOW, MIB, SEED, StreamCase, fast_folder,
                         random_bytes)

# Operation: attributes and files. A is u4[600,700], B too, C is u4[600,30],
# IMAGE is u4[4,60,80,20].
MOVES = {
    "Identity": ([], "A"),
    "Relayout": (["shape=u32[600,700]{0,1:T(8,128)}"], "A"),
    "Transpose": (["perm=1,0"], "A"),
    "Reshape": (["shape=350,-1"], "A"),
    "ExpandDims": (["axis=1"], "A"),
    "Slice": (["begin=10,20", "size=580,-1"], "A"),
    "StridedSlice": (["begin=599,699", "end=0,0", "strides=-1,-2"], "A"),
    "PadV2": (["paddings=1,20,0,300", "value=7"], "A"),
    "MirrorPad": (["paddings=10,0,3,20", "mode=symmetric"], "A"),
    "Reverse": (["dims=0,1"], "A"),
    "Roll": (["shifts=100,-7", "dims=0,1"], "A"),
    "BroadcastTo": (["shape=3,600,700"], "A"),
    "Tile": (["reps=2,3"], "A"),
    "Repeat": (["repeats=1,3"], "A"),
    "Concat": (["axis=1"], "A C B"),
    "ConcatV2": (["axis=-2"], "A B A"),
    "Pack": (["axis=1"], "A B"),
    "SplitV": (["num_or_size_splits=100,-1,3", "axis=1"], "A"),
    "Unpack": (["axis=0"], "IMAGE"),
    "SpaceToDepth": (["block_size=2"], "IMAGE"),
    "DepthToSpace": (["block_size=2"], "IMAGE"),
    "SpaceToBatchND": (["block_shape=2,2", "paddings=0,2,1,1"], "IMAGE"),
    "BatchToSpaceND": (["block_shape=2,2", "crops=1,1,0,2"], "IMAGE"),
    "Cast": (["dtype=f16"], "A"),
    "Rescale": (["factor=2"], "A"),
    "AddN": ([], "A B"),
    "Multiply": ([], "A B"),
    "Less": ([], "A B"),
    "LessEqual": ([], "A A"),
    "Greater": ([], "A B"),
    "GreaterEqual": ([], "B A"),
    "Equal": ([], "A A"),
    "Abs": ([], "F"),
    "Step": (["alpha=2"], "F"),
    "Exp": ([], "F"),
    "Tanh": ([], "F"),
    "Select": ([], "COLUMN COLUMN2 MASK"),
    "Quantize": (["dtype=s8"], "F SCALES"),
    "Dequantize": (["scale=0.5", "zero_point=7"], "A"),
    "Sum": (["dims=0"], "A"),
    # Any row may be needed, so that each piece has the whole of A.
    "GatherV2": (["axis=0"], "A ROWS", "4MiB"),
    "UnsortedSegmentSum": (["num_segments=300"], "A IDS", "4MiB"),
    "PadV2 by an input": (["paddings=1,20,0,300"], "A VALUE"),
}

# Operation: options and files that are refused in pieces of 1 MiB, and why.
REFUSED = {
    "Sum": (["--attr", "dims=0,1"], "A", ["the least that suffices is 168",
                                             "; --memory sets the budget"]),
    "GatherV2": (["--attr", "axis=0"], "A ROWS", "the least that suffices is"),
    "Cast": (["--attr", "dtype=f32", "--alpha", "2"], "A",
             "Cast computes or fills: --alpha and --beta take its result from "
             "memory, which needs --memory 2728576 or more"),
    "PadV2": (["--attr", "paddings=1,1,1,1", "--alpha", "2"], "A",
              "PadV2 computes or fills"),
}

FILES = {"A": ("<u4", (600, 700)), "B": ("<u4", (600, 700)),
         "C": ("<u4", (600, 30)), "IMAGE": ("<u4", (4, 60, 80, 20)),
         "VALUE": ("<u4", ()), "F": ("<f4", (600, 700)),
         "SCALES": ("<f4", (2, 1, 70)),
         "COLUMN": ("<u4", (200000,)), "COLUMN2": ("<u4", (200000,))}
INDICES = {"ROWS": (900, 600), "IDS": (600, 350), "MASK": (200000, 2)}
NUM_RESULTS = {"SplitV": 3, "Unpack": 4}


class OpCase(StreamCase):
    device = ["--host"]

    def write_files(self, *names):
        for n, name in enumerate(sorted(FILES)):
            if not names or name in names:
                descr, dims = FILES[name]
                self.write_random(name + ".npy", descr, dims, seed=SEED + n)
        for name, (count, limit) in INDICES.items():
            if not names or name in names:
                self.write(name + ".npy", npy_bytes("<i4", (count,), b"".join(
                    (n * n % limit).to_bytes(4, "little")
                    for n in range(count))))

    def compare(self, name, arguments, files, num_results=1, suffix=".npy",
                memory="1MiB"):
        """Runs it both ways; returns the shapes."""
        outs = {way: [way + str(n) + suffix for n in range(num_results)]
                for way in ("whole", "pieces")}
        whole = self.ok("op", name, *self.device, *arguments, *files,
                        *outs["whole"])
        pieces = self.ok("op", name, *self.device, *arguments, "--memory",
                         memory, *files, *outs["pieces"])
        self.assertEqual(whole, pieces)
        for one, other in zip(outs["whole"], outs["pieces"]):
            self.assertTrue(
                self.read(one) == self.read(other),
                "relayout op %s %s %s --memory %s %s (RELAYOUT_TEST_SEED=%d)"
                % (name, " ".join(self.device), " ".join(arguments), memory,
                   " ".join(files), SEED))
        return whole.splitlines()


def options(attributes):
    return [word for a in attributes for word in ("--attr", a)]


class Bytes(OpCase):
    def run_all(self, *arguments, names=None):
        self.write_files()
        for n, (name, (attributes, files, *memory)) in enumerate(
                MOVES.items()):
            if names is None or name in names:
                with self.subTest(operation=name):
                    self.compare(name.split()[0],
                                 options(attributes) + list(arguments),
                                 [f + ".npy" for f in files.split()],
                                 NUM_RESULTS.get(name, 1),
                                 ".raw" if n % 2 else ".npy", *memory)

    def test_every_operation(self):
        listed = json.loads(self.ok("op", "--list", "--json"))["operations"]
        self.assertEqual(sorted(o["name"] for o in listed),
                         sorted({name.split()[0] for name in MOVES}))
        self.run_all()

    def test_layouts(self):
        """Fills are problems of their own; gaps belong to nobody."""
        names = ("Transpose", "PadV2", "MirrorPad", "Roll", "Concat",
                 "ConcatV2", "SplitV", "Cast", "Rescale", "Identity",
                 "UnsortedSegmentSum")
        for layout in ("{1,0:T(8,128)fill(one)}", "{0,1:T(16,4)(2,1)}",
                       "{0,1:pad(2000,2000)}"):
            with self.subTest(layout=layout):
                self.run_all("--to", layout, names=names)

    def test_layouts_of_the_inputs(self):
        self.write_files("A", "B")
        shape = self.compare("Identity", ["--to", "{0,1:T(8,128)}"],
                             ["A.npy"], suffix=".bin")[0]
        self.compare("Concat", ["--from", shape, "--from", "-", "--attr",
                                "axis=1"], ["whole0.bin", "B.npy"])
        swapped = self.read("A.npy").replace(b"<u4", b">u4", 1)
        self.write("swapped.npy", swapped)
        self.compare("Concat", ["--attr", "axis=0"], ["swapped.npy", "B.npy"])

    def test_factors(self):
        """What is moved is multiplied and added in pieces."""
        self.write_files("A", "B", "C")
        self.ok("op", "concat", *self.device, "--attr", "axis=1", "B.npy",
                "C.npy", "old.npy")
        for way, memory in ("whole", []), ("pieces", ["--memory", "1MiB"]):
            self.write(way + ".npy", self.read("old.npy"))
            self.ok("op", "concat", *self.device, "--attr", "axis=1",
                    "--alpha", "3", "--beta", "5", *memory, "A.npy", "C.npy",
                    way + ".npy")
        self.assertTrue(self.read("whole.npy") == self.read("pieces.npy"))
        parts = [self.read(name + ".npy") for name in "ABC"]
        whole = npy_parts(self.read("whole.npy"))[1]
        a, b, c = (npy_parts(part)[1] for part in parts)
        for at, (x, y) in ((0, (a, b)), (4 * 700, (c, c))):
            first = [int.from_bytes(data[n:n + 4], "little")
                     for data, n in ((x, 0), (y, 0), (whole, at))]
            self.assertEqual((3 * first[0] + 5 * first[1]) % 2**32, first[2])

    def test_what_cannot_be_resumed_begins(self):
        """It would add twice, or its source was in memory."""
        self.write_files("A", "B")
        for arguments in (["add_n", "A.npy", "B.npy"],
                          ["cast", "--attr", "dtype=f32", "--alpha", "2",
                           "A.npy"]):
            self.ok("op", *arguments, *self.device, "whole.npy")
            self.ok("op", *arguments, *self.device, "--resume", "out.npy")
            self.assertTrue(self.read("whole.npy") == self.read("out.npy"))
        self.assert_files("A.npy", "B.npy", "out.npy", "whole.npy")

    def test_types(self):
        self.write("in.bin", random_bytes(SEED, 3 * MIB // 2))
        for shape, dtype in (("f32[384,1024]", "bf16"), ("f64[192,1024]", "f32"),
                             ("u8[1536,1024]", "s64"), ("bf16[768,1024]", "f64"),
                             ("s4[1536,2048]{1,0:E(4)}", "s16")):
            source = ["--from", shape]
            self.compare("Cast", source + ["--attr", "dtype=" + dtype],
                         ["in.bin"])
            if "E(" not in shape:
                self.compare("Pack", 2 * source + ["--attr", "axis=0"],
                             ["in.bin", "in.bin"])

    def test_parts_of_bytes(self):
        """The second array begins within a byte that the first one ends in."""
        for rows, columns in (1024, 3072), (1023, 3001):
            self.write("in.bin", random_bytes(SEED, (rows * columns + 1) // 2))
            shape = ["--from", "s4[%d,%d]{1,0:E(4)}" % (rows, columns)]
            for axis in 0, 1:
                arguments = [*shape, *shape, "--to", "{1,0:E(4)}", "--attr",
                             "axis=%d" % axis]
                self.compare("Concat", arguments, ["in.bin", "in.bin"],
                             memory="16MiB")
        self.fails(1, ["bytes of each other", "1048576"], "op", "concat",
                   *self.device, *arguments, "in.bin", "in.bin", "out.bin",
                   "--memory", "1MiB")

    def test_drawn_joins(self):
        """Jobs into one destination leave each other's bytes alone."""
        draw = random.Random(SEED)
        for case in range(100 if IS_SLOW else 2):
            rank = draw.randint(1, 4)
            dims = [draw.randint(1, 9) for _ in range(rank)]
            while product(dims) < MIB // 8:
                dims[draw.randrange(rank)] *= draw.randint(2, 5)
            axis = draw.randrange(rank)
            order = draw.sample(range(rank), rank)
            layout = "{%s%s}" % (",".join(map(str, order)), draw.choice([
                "", ":T(%d)" % draw.choice([3, 8, 128]),
                ":T(%d)fill(one)" % draw.choice([5, 64])]))
            files = []
            for n in range(draw.randint(2, 4)):
                dims[axis] = draw.randint(1, 2 * dims[axis])
                files.append("in%d.npy" % n)
                self.write_random(files[-1], "<u4", dims, seed=SEED + case + n)
            with self.subTest(dims=dims, axis=axis, layout=layout, seed=SEED):
                self.compare("concat", ["--attr", "axis=%d" % axis, "--to",
                                        layout], files,
                             memory=draw.choice(["1MiB", "2MiB", "64MiB"]))

    def test_many_files(self):
        """More than the system lets a process have open at first."""
        self.write_random("row.npy", "<u4", (1, 6000))
        few = {"preexec_fn": lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (64, 4096))}
        for memory in [], ["--memory", "1MiB"]:
            self.ok("op", "concat", *self.device, "--attr", "axis=0", *memory,
                    *60 * ["row.npy"], "out.npy", **few)
            self.assertTrue(npy_parts(self.read("out.npy"))[1] ==
                            60 * npy_parts(self.read("row.npy"))[1])

    def test_nothing_to_move(self):
        self.write("empty.npy", npy_bytes("<f4", (3, 0), b""))
        self.write("scalar.npy", npy_bytes("<f4", (), bytes([1, 2, 3, 4])))
        self.compare("Concat", ["--attr", "axis=0"], 3 * ["empty.npy"])
        self.compare("Transpose", [], ["empty.npy"])
        self.compare("PadV2", ["--attr", "paddings=1,1,2,2"], ["empty.npy"])
        self.compare("Reshape", ["--attr", "shape=1,1"], ["scalar.npy"])
        self.compare("Identity", ["--to", "{1,0:pad(5,7)}"], ["empty.npy"])


def product(dims):
    count = 1
    for dim in dims:
        count *= dim
    return count


class Refusals(OpCase):
    def test_what_cannot_be_cut(self):
        self.write_files()
        before = sorted(os.listdir(self.folder))
        for name, (arguments, files, why) in REFUSED.items():
            files = [f + ".npy" for f in files.split()]
            for more in [], ["--dry-run"]:
                with self.subTest(operation=name, more=more):
                    self.fails(1, why, "op", name, *self.device, *more,
                               "--memory", "1MiB", *arguments, *files,
                               "out.npy")
            self.ok("op", name, *self.device, *arguments, *files, "out.npy")
            os.unlink(self.path("out.npy"))
        self.assert_files(*before)

    def test_a_factor_of_what_is_computed(self):
        """Its result is in memory, the rest of which is for pieces."""
        self.write_files("A")
        arguments = ["op", "cast", "--host", "--attr", "dtype=f32", "--alpha",
                     "2", "A.npy", "out.npy"]
        self.ok(*arguments)
        whole = self.read("out.npy")
        for more in ["--memory", "2728576"], ["--passes", "1"]:
            self.ok(*arguments, *more)
            self.assertEqual(self.read("out.npy"), whole)

    def test_usage(self):
        op = ["op", "transpose", "in.npy", "out.npy"]
        for text in "0", "1MB", "x":
            self.fails(2, ["--memory", text], *op, "--memory", text)
        for text in "x,x", "0,0", "all,0":
            self.fails(2, ["--device", "--help"], *op, "--device", text)
        self.fails(2, "excludes --device", *op, "--host", "--device", "none")

    def test_the_result_is_the_input(self):
        self.write_files("A", "B")
        before = self.read("A.npy")
        os.link(self.path("A.npy"), self.path("hard.npy"))
        for out in "A.npy", "./A.npy", "hard.npy":
            self.fails(1, "one file", "op", "concat", *self.device, "B.npy",
                       "A.npy", out, "--memory", "1MiB")
        self.assertEqual(self.read("A.npy"), before)

    def test_into_a_pipe(self):
        self.write_files("A")
        os.mkfifo(self.path("out.npy"))
        self.fails(1, ["out.npy", "not a regular file"], "op", "concat",
                   *self.device, "A.npy", "A.npy", "out.npy", "--memory", "4MiB")


class Reports(OpCase):
    PLAN = {"event", "operation", "results", "num_passes", "num_pieces",
            "bytes_read", "bytes_written", "read_run_bytes", "write_run_bytes",
            "host_bytes", "device_bytes", "expected_fraction", "device",
            "chosen_by"}
    END = {"event", "status", "operation", "results", "device", "seconds",
           "num_passes", "num_pieces", "bytes_read", "bytes_written",
           "bytes_resumed", "host_bytes_peak", "device_bytes_peak",
           "smallest_read", "smallest_write", "chosen_by"}

    def setUp(self):
        super().setUp()
        self.write_files("A", "B", "C")
        self.arguments = ["op", "concat", "--host", "--memory", "1MiB",
                          "--attr", "axis=1", "A.npy", "C.npy", "B.npy",
                          "out.npy"]

    def test_dry_run(self):
        text = self.ok(*self.arguments, "--dry-run")
        self.assertEqual(text.splitlines()[0], "u32[600,1430]{1,0}")
        for word in "passes", "reads", "writes", "memory", "speed":
            self.assertIn("\n%s " % word, text)
        # It asks no driver.
        self.ok("op", "transpose", "A.npy", "out.npy", "--dry-run",
                env={"OCL_ICD_VENDORS": "/nonexistent"})
        self.assert_files("A.npy", "B.npy", "C.npy")

    def test_what_was_done_is_what_was_planned(self):
        told = [json.loads(line) for line in
                self.ok(*self.arguments, "--json").splitlines()]
        plan, end = told[0], told[-1]
        self.assertEqual((set(plan), set(end)), (self.PLAN, self.END))
        self.assertEqual((plan["event"], end["event"], end["status"]),
                         ("plan", "end", "RLO_OK"))
        self.assertEqual((end["operation"], end["device"]), ("Concat", None))
        self.assertEqual(end["results"], [
            {"shape": "u32[600,1430]{1,0}", "file": "out.npy"}])
        for key in "operation", "results", "num_passes", "num_pieces", \
                "bytes_read", "bytes_written":
            self.assertEqual(plan[key], end[key], key)
        # Each byte once, on either side.
        self.assertEqual((end["bytes_read"], end["bytes_written"]),
                         (4 * 600 * 1430, 4 * 600 * 1430))
        self.assertLessEqual(end["host_bytes_peak"], MIB)
        self.assertEqual(self.ok(*self.arguments, "--json", "--dry-run"),
                         self.ok(*self.arguments, "--json").splitlines(
                             True)[0])

    def test_events_count_all_jobs(self):
        told = [json.loads(line) for line in self.run_command(
            *self.arguments, "--json", "--progress",
            env=self.bad_disk(write_us=20000)).out.splitlines()]
        self.assertGreaterEqual(len(told), 4)
        done = -1
        for event in told[1:-1]:
            self.assertEqual(event["event"], "progress")
            self.assertEqual(event["bytes_total"], 2 * 4 * 600 * 1430)
            self.assertGreaterEqual(event["bytes_done"], done)
            done = event["bytes_done"]

    def test_device_none_is_the_host(self):
        environment = {"OCL_ICD_VENDORS": "/nonexistent"}
        for memory in [], ["--memory", "2MiB"]:
            self.ok("op", "transpose", "A.npy", "out.npy", "--device", "none",
                    *memory, env=environment)


class Stop(OpCase):
    """Several results: all of them, or none."""

    def setUp(self):
        super().setUp()
        self.write_files("A")
        self.arguments = ["op", "split_v", "--host", "--memory", "1MiB",
                          "--attr", "num_or_size_splits=3", "A.npy", "a.npy",
                          "b.npy", "c.npy"]
        self.results = ["a.npy", "b.npy", "c.npy"]

    def test_signals(self):
        self.write("b.npy", b"old")
        for number in signal.SIGINT, signal.SIGTERM:
            process = self.start(*self.arguments,
                                 env=self.bad_disk(write_us=20000, files=0))
            self.wait_for_part(process, ".c.npy.relayout-part")
            process.send_signal(number)
            code, out, err = self.finish(process)
            self.assertEqual((code, out), (128 + number, ""))
            self.assertEqual(err, "relayout: stopped; nothing was written\n")
            self.assert_files("A.npy", "b.npy")
            self.assertEqual(self.read("b.npy"), b"old")

    def test_at_random_moments(self):
        begin = time.monotonic()
        self.ok(*self.arguments)
        seconds = time.monotonic() - begin
        whole = [self.read(name) for name in self.results]
        draw = random.Random(SEED)
        for n in range(300 if IS_SLOW else 3):
            for name in self.results:
                self.write(name, b"old")
            process = self.start(*self.arguments)
            time.sleep(draw.uniform(0, 1.5 * seconds))
            process.send_signal(signal.SIGINT)
            code = self.finish(process)[0]
            told = "case %d, exit code %d; RELAYOUT_TEST_SEED=%d" % (
                n, code, SEED)
            now = [self.read(name) for name in self.results]
            for one, is_now in zip(whole, now):
                self.assertTrue(is_now in (one, b"old"), told)
            self.assert_files("A.npy", *self.results)

    def test_one_result_has_no_folder(self):
        self.write("a.npy", b"old")
        self.fails(1, ["no/c.npy", "No such file"], *self.arguments[:-1],
                   "no/c.npy")
        self.assertEqual(self.read("a.npy"), b"old")
        self.assert_files("A.npy", "a.npy")

    def test_an_input_that_changes(self):
        self.write_random("B.npy", "<u4", (600, 700))
        process = self.start("op", "concat", "--host", "--memory", "1MiB",
                             "A.npy", "B.npy", "out.npy",
                             env=self.bad_disk(hold=2))
        self.wait_for_part(process)
        # The second is not read yet.
        with open(self.path("B.npy"), "r+b") as file:
            file.seek(1000)
            file.write(b"new")
        code, out, err = self.finish(process)
        self.assertEqual((code, out), (1, ""), err)
        self.assertRegex(err, "B.npy was changed|the source has changed")
        self.assert_files("A.npy", "B.npy")


class Large(OpCase):
    """More than 64 MiB: in pieces without being asked."""

    FOLDER = fast_folder((6 if IS_SLOW else 1) << 30)

    def write_large(self, name, rows, columns):
        self.write(name, npy_bytes("<u4", (rows, columns), b""))
        block = random_bytes(SEED, 4 * columns)
        with open(self.path(name), "ab") as file:
            for row in range(rows):
                file.write(row.to_bytes(4, "little") + block[4:])
        return 4 * rows * columns

    def test_memory(self):
        rows, columns = (40000, 9000) if IS_SLOW else (6000, 4000)
        budget = 16 * MIB
        for name in "a.npy", "b.npy":
            self.write_large(name, rows, columns)
        self.write("small.npy", npy_bytes("<f4", (2, 3), bytes(24)))
        base = self.watch_peak("op", "identity", "small.npy", "x.npy")
        peak = self.watch_peak("op", "concat", "--memory", str(budget),
                               "--attr", "axis=1", "a.npy", "b.npy", "out.npy")
        self.assertLessEqual(peak - base, budget + 32 * MIB)
        # The watch did see it run.
        self.assertGreater(peak, base)
        # Each of many jobs gives its memory back.
        self.write_large("c.npy", 1200, 1200)
        peak = self.watch_peak("op", "concat", "--memory", str(budget),
                               "--attr", "axis=1", *["c.npy"] * 17, "x.npy")
        self.assertLessEqual(peak - base, budget + 32 * MIB)
        rest = random_bytes(SEED, 4 * columns)[4:]
        with open(self.path("out.npy"), "rb") as file:
            file.seek(4096)
            for row in range(0, rows, 97):
                file.seek(4096 + 8 * columns * row)
                half = row.to_bytes(4, "little") + rest
                self.assertTrue(file.read(8 * columns) == half + half, row)

    def test_without_being_asked(self):
        size = self.write_large("in.npy", 5000, 4000)
        told = [json.loads(line) for line in self.ok(
            "op", "reverse", "--host", "--attr", "dims=0", "in.npy",
            "out.npy", "--json").splitlines()]
        self.assertEqual([told[0]["event"], told[-1]["event"]],
                         ["plan", "end"])
        self.assertEqual(told[-1]["bytes_written"], size)
        header, _ = npy_parts(self.read("in.npy"))
        self.assertIn("(5000, 4000)", header)
        with open(self.path("out.npy"), "rb") as file:
            file.seek(4096)
            self.assertEqual(file.read(4), (4999).to_bytes(4, "little"))

    def test_short_runs_between_those_of_others_are_made_in_memory(self):
        """Each run would be a system call."""
        self.write_large("in.npy", 4500, 4000)
        for axis, written in ("2", 0), ("1", 4 * 4000):
            told = [json.loads(line) for line in self.ok(
                "op", "pack", "--host", "--json", "in.npy", "in.npy",
                "out.npy", "--attr", "axis=" + axis).splitlines()]
            self.assertEqual(told[0]["event"], "plan")
            if written == 0:
                self.assertEqual(told[0]["write_run_bytes"], 4)
                self.assertEqual(told[-1]["smallest_write"], 0)
            else:
                self.assertGreaterEqual(told[-1]["smallest_write"], written)
        self.ok("op", "pack", "--host", "in.npy", "in.npy", "out.npy",
                "--attr", "axis=2")
        with open(self.path("out.npy"), "rb") as file:
            file.seek(4096 + 32000)
            self.assertEqual(file.read(8), 2 * (1).to_bytes(4, "little"))

    def test_a_small_input_may_have_a_large_result(self):
        self.write("in.npy", npy_bytes("<u4", (1,), bytes([1, 2, 3, 4])))
        told = self.ok("op", "tile", "--host", "--json", "--attr",
                       "reps=17000000", "in.npy", "out.npy").splitlines()
        self.assertEqual(json.loads(told[0])["event"], "plan")
        self.assertEqual(os.path.getsize(self.path("out.npy")),
                         4096 + 4 * 17000000)
        with open(self.path("out.npy"), "rb") as file:
            file.seek(-4, os.SEEK_END)
            self.assertEqual(file.read(), bytes([1, 2, 3, 4]))


class Device(OpCase):
    device = []

    def test_bytes(self):
        self.write_files("A", "B", "C", "IDS")
        cases = [("Concat", ["axis=1"], "A C B"), ("Cast", ["dtype=f16"], "A"),
                 ("UnsortedSegmentSum", ["num_segments=300"], "A IDS")]
        if IS_SLOW:
            # Each operation has programs of its own.
            cases += [("Transpose", [], "A"),
                      ("MirrorPad", ["paddings=10,0,3,20"], "A"),
                      ("Roll", ["shifts=100,-7", "dims=0,1"], "A")]
        for name, attributes, files in cases:
            for device in ["--device", "default"], ["--device", "all"]:
                with self.subTest(operation=name, device=device):
                    self.compare(
                        name, device + options(attributes) + [
                            "--to", "{1,0:T(8,128)fill(one)}"],
                        [f + ".npy" for f in files.split()], memory="4MiB")

    def test_the_driver_dies(self):
        self.write_files("A")
        for name in "a.npy", "b.npy":
            self.write(name, b"old")
        process = self.start("op", "split_v", "--device", "default", "--memory",
                             "4MiB", "--attr", "num_or_size_splits=2", "A.npy",
                             "a.npy", "b.npy", env=self.bad_disk(hold=2))
        self.wait_for_part(process, ".b.npy.relayout-part")
        path = "/proc/%d/task/%d/children" % (process.pid, process.pid)
        children = []
        deadline = time.monotonic() + 60
        while not children and time.monotonic() < deadline:
            with open(path, encoding="ascii") as file:
                children = file.read().split()
        os.kill(int(children[0]), signal.SIGKILL)
        code, out, err = self.finish(process)
        self.assertEqual((code, out), (70, ""))
        self.assertIn("OpenCL driver died of signal 9", err)
        self.assertEqual((self.read("a.npy"), self.read("b.npy")),
                         (b"old", b"old"))
        self.assert_files("A.npy", "a.npy", "b.npy")

    def test_no_such_device(self):
        self.write_files("A")
        self.fails(1, "9999", "op", "transpose", "A.npy", "out.npy",
                   "--memory", "4MiB", "--device", "0,9999")
        self.assert_files("A.npy")


if __name__ == "__main__":
    # One or the other, so that a machine without OpenCL can run the first.
    if os.environ.get("RELAYOUT_OP_DEVICE") == "1":
        del Bytes, Refusals, Reports, Stop, Large
    else:
        del Device
    main()
