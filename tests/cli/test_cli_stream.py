#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""convert of large arrays, in pieces: the same bytes in little memory."""

import errno
import fcntl
import json
import os
import pty
import random
import re
import resource
import select
import struct
import subprocess
import termios
import time
import unittest

from cli_case import COMMAND, main, npy_bytes, npy_parts
from stream_case import (IS_SLOW, MIB, SEED, StreamCase, fast_folder,
                         random_bytes)


class Bytes(StreamCase):
    """The whole path, which other tests hold against NumPy, is the model."""

    def compare(self, source, name, *arguments, memory="1MiB"):
        whole, pieces = "whole" + name, "pieces" + name
        shape = self.ok("convert", "--host", source, whole, *arguments)
        self.assertEqual(
            self.ok("convert", "--host", source, pieces, "--memory", memory,
                    *arguments), shape)
        with open(self.path(whole), "rb") as one, \
                open(self.path(pieces), "rb") as other:
            self.assertTrue(one.read() == other.read(),
                            "relayout convert --host %s OUT --memory %s %s "
                            "(RELAYOUT_TEST_SEED=%d)" % (
                                source, memory, " ".join(arguments), SEED))
        return shape.strip()

    def test_transposes(self):
        self.write_random("in.npy", "<f4", (60, 80, 100))
        for n, perm in enumerate(("2,1,0", "1,0,2", "0,2,1", "2,0,1", "1,2,0",
                                  "0,1,2")):
            self.compare("in.npy", ".npy" if n % 2 else ".bin", "--perm", perm)

    def test_tiles_and_pads(self):
        self.write_random("in.npy", "<u4", (500, 700))
        for n, layout in enumerate((
                "{1,0:T(8,128)fill(zero)}", "{0,1:T(8,128)}",
                "{0,1:T(16,4)(2,1)fill(one)}",
                "{1,0:pad(501,800)fill(one)}", "{0,1:pad(501,703)}",
                "{:strides(1,501)}", "{1,0:L(1024)}")):
            name = ".npy" if n % 2 else ".raw"
            shape = self.compare("in.npy", name, "--to", layout)
            # And back, from a layout with padding.
            self.compare("pieces" + name, ".bin", "--from", shape)
        self.compare("in.npy", ".npy", "--perm", "1,0", "--to",
                     "{0,1:T(8,128)fill(zero)}")

    def test_types(self):
        self.write("in.bin", random_bytes(SEED, 3 * MIB // 2))
        for shape in ("u8[1024,1536]", "bf16[512,1536]", "f64[256,768]",
                      "c128[256,384]", "s4[1536,2048]{1,0:E(4)}"):
            self.compare("in.bin", ".npy", "--from", shape,
                         *([] if "E(" in shape else ["--perm", "1,0"]))

    def test_element_sizes(self):
        """Packed in pieces; the one value that does not fit is found."""
        values = bytes(b & 15 for b in random_bytes(SEED, 1024 * 1200))
        self.write("in.bin", values)
        pack = ["--from", "s4[1024,1200]", "--to", "{0,1:E(4)}"]
        self.compare("in.bin", ".bin", *pack)
        self.write("in.bin", values[:-1200] + b"\x10" + values[-1199:])
        self.fails(1, "slot 1227600 of in.bin is no s4",
                   "convert", "--host", *pack, "in.bin", "out.bin", "--memory",
                   "1MiB")

    def test_drawn_cases(self):
        draw = random.Random(SEED)
        for case in range(60 if IS_SLOW else 2):
            rank = draw.randint(2, 5)
            dims = [draw.randint(1, 9) for _ in range(rank)]
            while 4 * product(dims) < MIB:
                dims[draw.randrange(rank)] *= draw.randint(2, 5)
            perm = draw.sample(range(rank), rank)
            order = draw.sample(range(rank), rank)
            text = ",".join(map(str, order))
            layout = draw.choice([
                "{%s}" % text, "{%s:T(%d,%d)fill(one)}" % (
                    text, draw.randint(2, 9), draw.choice([4, 8, 128]))])
            self.write_random("in.npy", "<u4", dims, seed=SEED + case)
            with self.subTest(dims=dims, perm=perm, layout=layout, seed=SEED):
                self.compare("in.npy", ".npy", "--perm",
                             ",".join(map(str, perm)), "--to", layout,
                             memory=draw.choice(["1MiB", "2MiB", "64MiB"]))

    def test_scalars_and_empty_arrays(self):
        self.write("scalar.npy", npy_bytes("<f8", (), struct.pack("<d", 7)))
        self.compare("scalar.npy", ".npy")
        self.write("empty.npy", npy_bytes("<f8", (3, 0), b""))
        self.compare("empty.npy", ".npy", "--perm", "1,0")
        self.compare("empty.npy", ".bin")

    def test_offset_and_byte_order(self):
        data = random_bytes(SEED, 2 * MIB)
        self.write("big.npy", npy_bytes(">f4", (512, 1024), data))
        self.compare("big.npy", ".npy", "--perm", "1,0")
        self.write("in.bin", b"?" * 1001 + data + b"behind")
        common = ["--from", "f32[512,1024]", "--offset", "1001",
                  "--byte-order", "big"]
        self.compare("in.bin", ".npy", *common)
        self.assertEqual(self.read("pieces.npy"),
                         (self.ok("convert", "--host", "big.npy", "x.npy"),
                          self.read("x.npy"))[1])
        self.compare("in.bin", ".npy", "--perm", "1,0", "--to",
                     "{1,0:T(8,128)fill(one)}", *common)
        self.compare("in.bin", ".bin", "--from", "c64[512,512]", "--offset",
                     "1001", "--byte-order", "big", "--perm", "1,0")
        # Tiles that do not divide each other.
        self.compare("in.bin", ".npy", "--from", "u16[700,1000]{1,0:T(7,5)}",
                     "--offset", "1001", "--byte-order", "big", "--to",
                     "{1,0:T(8,16)}")
        self.compare("in.bin", ".bin", "--from", "u16[512,2048]", "--offset",
                     "1001", "--byte-order", "little")
        self.assertEqual(self.read("pieces.bin"), data)

    def test_byte_order_of_the_output(self):
        data = random_bytes(SEED, 2 * MIB)
        turned = ["--perm", "1,0", "--to", "{1,0:T(8,128)fill(one)}"]
        for descr, letter, shape in (("f4", "f", (512, 1000)),
                                     ("c8", "f", (512, 500)),
                                     ("u2", "H", (512, 2000)),
                                     ("u1", "B", (512, 4000))):
            length = struct.calcsize(letter)
            values = data[:512 * 4000]
            swapped = b"".join(values[n:n + length][::-1]
                               for n in range(0, len(values), length))
            order = "<" if length > 1 else "|"
            self.write("in.npy", npy_bytes(order + descr, shape, values))
            self.write("in.bin", swapped)
            bare = ["--from", self.ok("convert", "--host", "in.npy",
                                      "x.bin").strip()]
            self.compare("in.npy", ".npy", "--byte-order", "big", *turned)
            header, array = npy_parts(self.read("pieces.npy"))
            self.assertIn("'descr': '%s%s'" % (order.replace("<", ">"), descr),
                          header)
            self.ok("convert", "--host", "in.npy", "x.bin", *turned)
            little = self.read("x.bin")
            self.assertEqual(array, b"".join(
                little[n:n + length][::-1]
                for n in range(0, len(little), length)))
            # Neither the numbers nor the fill change if both are big.
            self.compare("in.bin", ".bin", "--byte-order", "big,big", *bare,
                         *turned)
            self.assertEqual(self.read("pieces.bin"), array)
        self.write("in.npy", npy_bytes("<i2", (4,), bytes(8)))
        self.write("in.bin", bytes(8))
        for arguments in (["in.npy", "out.npy", "--to", "{0:E(32)}"],
                          ["in.bin", "out.npy", "--from", "s16[2]{0:E(32)}"]):
            self.fails(1, ["--byte-order", "s16"], "convert", "--host",
                       *arguments, "--byte-order",
                       "big" if "in.npy" in arguments else "little,big")

    def test_offset_refusals(self):
        self.write("in.bin", bytes(24))
        self.write("in.npy", npy_bytes("<f4", (2, 3), bytes(24)))
        for memory in [], ["--memory", "4MiB"]:
            self.fails(1, ["in.bin", "20 bytes from byte 4", "24"], "convert",
                       "--host", "in.bin", "out.npy", "--from", "f32[2,3]",
                       "--offset", "4", *memory)
            self.fails(1, ["0 bytes"], "convert", "--host", "in.bin",
                       "out.npy", "--from", "f32[2,3]", "--offset", "1TB",
                       *memory)
            self.fails(1, ["in.npy", "--offset", "--from"], "convert", "--host",
                       "in.npy", "out.npy", "--offset", "4", *memory)
            self.fails(1, ["in.npy", "--byte-order"], "convert", "--host",
                       "in.npy", "out.npy", "--byte-order", "big,big", *memory)
            self.fails(1, ["in.bin", "--array"], "convert", "--host", "in.bin",
                       "out.npy", "--from", "f32[2,3]", "--array", "0", *memory)
        self.fails(2, ["'middle'", "little, big,"], "convert", "--host",
                   "in.bin", "out.npy", "--byte-order", "middle")
        self.assert_files("in.bin", "in.npy")

    def test_an_existing_file_is_replaced(self):
        self.write_random("in.npy", "<f4", (600, 700))
        self.write("far.npy", b"old")
        os.chmod(self.path("far.npy"), 0o640)
        os.symlink("far.npy", self.path("out.npy"))
        self.ok("convert", "--host", "in.npy", "out.npy", "--memory", "1MiB")
        self.assertTrue(os.path.islink(self.path("out.npy")))
        self.assertEqual(self.read("far.npy"), self.read("in.npy"))
        self.assertEqual(os.stat(self.path("far.npy")).st_mode & 0o777, 0o640)
        self.assert_files("far.npy", "in.npy", "out.npy")


class PastThePageCache(StreamCase):
    # Where files usually are: a file system in memory may have no direct I/O.
    FOLDER = None

    def test_the_same_bytes(self):
        self.write_random("in.npy", "<f4", (1100, 1024))
        self.write_random("odd.npy", "<f4", (1001, 1003))
        for source in "in.npy", "odd.npy":
            for perm in "1,0", "0,1":
                arguments = ["convert", "--host", source, "out.npy", "--perm",
                             perm]
                self.ok(*arguments)
                wanted = self.read("out.npy")
                for way in "auto", "buffered", "direct":
                    for memory in ["1MiB"], ["16MiB"], ["1MiB", "--passes",
                                                        "2"]:
                        code, _, err = self.run_command(
                            *arguments, "--io", way, "--memory", *memory)
                        if way == "direct" and "no direct I/O" in err:
                            self.skipTest(err)
                        self.assertEqual((code, err), (0, ""))
                        self.assertTrue(self.read("out.npy") == wanted,
                                        (source, perm, way, memory))

    def test_what_has_none(self):
        file = "/sys/kernel/mm/transparent_hugepage/enabled"
        if not os.path.exists(file):
            self.skipTest("there is no " + file)
        os.symlink(file, self.path("in.raw"))
        arguments = ["convert", "--host", "in.raw", "out.raw", "--from",
                     "u8[5]", "--offset", "1"]
        for way in "auto", "buffered":
            self.ok(*arguments, "--memory", "1MiB", "--io", way)
            os.unlink(self.path("out.raw"))
        self.fails(1, [file, "no direct I/O (O_DIRECT)"], *arguments, "--io",
                   "direct")
        self.assert_files("in.raw")

    def test_usage(self):
        self.write("in.raw", bytes(4))
        self.fails(2, ["--io", "'fast'", "auto, buffered or direct"],
                   "convert", "--host", "in.raw", "out.raw", "--from", "u8[4]",
                   "--io", "fast")


def product(dims):
    count = 1
    for dim in dims:
        count *= dim
    return count


class Large(StreamCase):
    """More than 64 MiB: in pieces without being asked."""

    FOLDER = fast_folder(1 << 30)
    ROWS, COLUMNS = (9500, 8000)

    def write_large(self, rows, columns):
        """Element (i, j) is i * columns + j, times an odd number."""
        self.write("in.npy", npy_bytes("<u4", (rows, columns), b""))
        with open(self.path("in.npy"), "ab") as file:
            block = bytearray(4 * columns)
            for row in range(rows):
                struct.pack_into("<I", block, 0, row)
                struct.pack_into("<I", block, 4 * (columns - 1), ~row & 0xffff)
                struct.pack_into("<I", block, 4 * (row % columns), row * row)
                file.write(block)
        return 4 * rows * columns

    def element(self, file, offset, position):
        file.seek(offset + 4 * position)
        return file.read(4)

    def check_transposed(self, rows, columns):
        draw = random.Random(SEED)
        data = os.path.getsize(self.path("in.npy")) - 4 * rows * columns
        self.assertEqual(os.path.getsize(self.path("out.npy")),
                         4096 + 4 * rows * columns)
        with open(self.path("in.npy"), "rb") as before, \
                open(self.path("out.npy"), "rb") as after:
            for n in range(4000):
                i = draw.randrange(rows)
                j = [0, columns - 1, i % columns, draw.randrange(columns)][n % 4]
                self.assertEqual(
                    self.element(before, data, i * columns + j),
                    self.element(after, 4096, j * rows + i), (i, j))

    def test_memory(self):
        rows, columns = (34000, 30000) if IS_SLOW else (self.ROWS, self.COLUMNS)
        self.write_large(rows, columns)
        budget = 16 * MIB
        self.write("small.npy", npy_bytes("<f4", (2, 3), bytes(24)))
        base = self.watch_peak("convert", "small.npy", "x.npy")
        for passes in "1", "2":
            peak = self.watch_peak("convert", "in.npy", "out.npy", "--perm", "1,0",
                                   "--memory", str(budget), "--passes", passes)
            self.assertLessEqual(peak - base, budget + 32 * MIB)
        # The watch did see it run.
        self.assertGreater(peak, base)
        self.check_transposed(rows, columns)

    def test_without_being_asked(self):
        rows, columns = 5000, 4000
        size = self.write_large(rows, columns)
        told = [json.loads(line) for line in self.ok(
            "convert", "--host", "in.npy", "out.npy", "--perm", "1,0",
            "--json").splitlines()]
        self.assertEqual([told[0]["event"], told[-1]["event"]],
                         ["plan", "end"])
        self.assertEqual(told[-1]["physical_bytes"], size)
        self.check_transposed(rows, columns)
        try:
            import numpy as np
        except ImportError:
            return
        loaded = np.load(self.path("out.npy"), mmap_mode="r")
        self.assertEqual((loaded.shape, loaded.dtype.str),
                         ((columns, rows), "<u4"))
        self.assertEqual(loaded.offset, 4096)
        self.assertEqual(loaded[0, 77], 77)

    def test_little_of_what_a_process_has(self):
        self.write_random("in.npy", "<u4", (1500, 1400))
        turn = "convert", "--host", "in.npy", "out.npy", "--perm", "1,0"
        self.ok(*turn)
        whole = self.read("out.npy")
        for kind, most in ((resource.RLIMIT_STACK, 64 << 10),
                           (resource.RLIMIT_NOFILE, 8),
                           *((resource.RLIMIT_AS, n * MIB)
                             for n in (32, 60, 100, 200))):
            def limit(kind=kind, most=most):
                resource.setrlimit(kind, (most, most))
            if subprocess.run([COMMAND, "--version"], preexec_fn=limit,
                              capture_output=True, check=False).returncode:
                continue  # a sanitizer needs more
            for memory in [], ["--memory", "1MiB"]:
                with self.subTest(kind=kind, most=most, memory=memory):
                    self.ok(*turn, *memory, preexec_fn=limit)
                    self.assertTrue(self.read("out.npy") == whole)

    def piped(self, content, *arguments):
        done = subprocess.run([COMMAND, *arguments], cwd=self.folder, input=content,
                              capture_output=True, timeout=120, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_from_a_pipe(self):
        """What has four times the memory."""
        self.write_random("in.npy", ">f4", (1000, 1000))
        content = self.read("in.npy")
        for verb in (["convert"], ["convert", "--to", "{1,0:T(8,128)fill(zero)}"],
                     ["convert", "--to", "{0,1}"], ["convert", "--perm", "1,0", "--passes", "2"],
                     ["digest"],
                     ["op", "cast", "--attr", "dtype=bf16"],
                     ["op", "slice", "--attr", "begin=3,5", "--attr", "size=900,20"]):
            verb += ["--memory", "1MiB"]
            out = [] if verb[0] == "digest" else ["out.npy"]
            told = self.ok(*verb, "in.npy", *out)
            whole = self.read("out.npy") if out else told.replace("in.npy", "/dev/stdin")
            for name in out:
                os.unlink(self.path(name))
            code, told, err = self.piped(content, *verb, "-", *out)
            self.assertEqual((code, err), (0, ""), verb)
            self.assertTrue((self.read("out.npy") if out else told) == whole, verb)
        copy = ["convert", "--host", "--memory", "1MiB", "-", "none.npy"]
        for bad, words in ((content + b"X", "goes on behind its array, which ends"),
                           (content[:-1], "ends at byte %d, in the middle" % (len(content) - 1))):
            code, _, err = self.piped(bad, *copy)
            self.assertEqual(code, 1)
            self.assertIn(words, err)
        code, _, err = self.piped(content, *copy, "--verify")
        self.assertIn("more than the 1048576 bytes that may be read", err)
        self.assertEqual(self.piped(content, *copy[:-1], "--dry-run", "none.npy")[0], 0)
        self.assert_files("in.npy", "out.npy")

    def test_into_a_pipe(self):
        size = self.write_large(4200, 4000)
        os.mkfifo(self.path("out.npy"))
        process = self.start("convert", "--host", "in.npy", "out.npy")
        count = 0
        with open(self.path("out.npy"), "rb") as pipe:
            while True:
                block = pipe.read(MIB)
                if not block:
                    break
                count += len(block)
        self.assertEqual(self.finish(process)[0], 0)
        self.assertEqual(count, size + 4096)
        for more in ["--verify"], ["--passes", "2"], ["--to", "{1,0:pad(4201,4001)}"]:
            self.fails(1, ["out.npy", "not a regular file"], "convert", "--host",
                       "in.npy", "out.npy", "--memory", "4MiB", *more)

    def test_into_a_pipe_in_pieces(self):
        """As it is made, within the memory."""
        self.write_random("in.npy", ">f4", (1000, 1000))
        content = self.read("in.npy")
        for verb, sources in ((["convert"], ["in.npy", "-"]),
                              (["convert", "--perm", "1,0"], ["in.npy"]),
                              (["convert", "--to", "{1,0:T(8,128)fill(zero)}"], ["in.npy", "-"]),
                              (["op", "cast", "--attr", "dtype=bf16"], ["in.npy", "-"]),
                              (["op", "reverse", "--attr", "axis=0"], ["in.npy"])):
            self.ok(*verb, "in.npy", "out.npy")
            for source in sources:
                done = subprocess.run(
                    [COMMAND, *verb, source, "-", "--memory", "1MiB", "--json"], input=content,
                    cwd=self.folder, capture_output=True, timeout=120, check=False)
                told = json.loads(done.stderr.splitlines()[-1])
                self.assertEqual(done.returncode, 0, told)
                self.assertGreater(told["num_pieces"], 1)
                self.assertLessEqual(told["host_bytes_peak"], MIB)
                self.assertTrue(done.stdout == self.read("out.npy"), verb)
        with subprocess.Popen([COMMAND, "convert", "in.npy", "-", "--memory", "1MiB"],
                              cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdout.close()
            self.assertIn(b"Broken pipe", process.stderr.read())
        self.assertEqual(process.returncode, 1)


class Estimate(StreamCase):
    KEYS = {"event", "shape", "file", "physical_bytes", "num_passes",
            "num_pieces", "bytes_read", "bytes_written", "read_run_bytes",
            "write_run_bytes", "host_bytes", "device_bytes",
            "expected_fraction", "device", "chosen_by"}
    END = {"event", "status", "shape", "file", "physical_bytes", "family",
           "device", "chosen_by", "seconds", "is_verified", "num_passes",
           "num_pieces", "bytes_read", "bytes_written", "bytes_resumed",
           "host_bytes_peak", "device_bytes_peak", "smallest_read",
           "smallest_write"}

    def setUp(self):
        super().setUp()
        self.write_random("in.npy", "<f4", (900, 1100))

    def test_dry_run(self):
        text = self.ok("convert", "--host", "in.npy", "out.npy", "--perm",
                       "1,0", "--dry-run", "--memory", "1MiB")
        self.assertEqual(text.splitlines()[0], "f32[1100,900]{1,0}")
        for word in "passes", "reads", "writes", "memory", "speed":
            self.assertIn("\n%s " % word, text)
        self.assertIn("\nruns on the host, by option\n", text)
        self.assertNotIn("device", text)
        # It asks no driver.
        self.ok("convert", "in.npy", "out.npy", "--dry-run",
                env={"OCL_ICD_VENDORS": "/nonexistent"})
        self.assert_files("in.npy")

    def test_dry_run_as_an_object(self):
        told = json.loads(self.ok(
            "convert", "--host", "in.npy", "out.npy", "--perm", "1,0",
            "--dry-run", "--memory", "1MiB", "--json"))
        self.assertEqual(set(told), self.KEYS)
        self.assertEqual(told["event"], "plan")
        self.assertEqual(told["physical_bytes"], 4 * 900 * 1100)
        self.assertGreater(told["num_pieces"], 1)
        self.assertLessEqual(told["host_bytes"], MIB)
        self.assertEqual(told["device_bytes"], 0)
        # In 1 MiB a transpose has short runs.
        self.assertEqual(told["num_passes"], 2)
        self.assertEqual(told["bytes_written"], 2 * 4 * 900 * 1100)
        self.assert_files("in.npy")

    def test_two_passes_within_the_room_of_the_disk(self):
        size = 128 + 4 * 900 * 1100
        arguments = ["convert", "--host", "in.npy", "out.npy", "--perm", "1,0",
                     "--memory", "1MiB", "--json"]
        passes = []
        for room in size, size + MIB:
            env = dict(self.bad_disk(), SLOW_DISK_ROOM=str(room))
            lines = self.ok(*arguments, env=env).splitlines()
            passes.append(json.loads(lines[-1])["num_passes"])
        self.assertEqual(passes, [1, 2])
        for error in errno.ENOSPC, errno.EDQUOT:
            self.fails(1, [os.strerror(error), "; --passes 1 needs no scratch"],
                       *arguments[:-1], "--passes", "2", env=dict(
                           self.bad_disk(), SLOW_DISK_FAIL="fallocate:1:%d" % error))
        env["SLOW_DISK_ROOM"] = "0"
        self.fails(1, "; --passes 1 needs no scratch", *arguments, "--passes",
                   "2", env=env)

    def test_what_was_done_is_what_was_planned(self):
        lines = self.ok("convert", "--host", "in.npy", "out.npy", "--perm",
                        "1,0", "--memory", "1MiB", "--json",
                        "--verify").splitlines()
        plan, end = json.loads(lines[0]), json.loads(lines[-1])
        self.assertEqual((set(plan), set(end)), (self.KEYS, self.END))
        self.assertEqual((end["event"], end["status"]), ("end", "RLO_OK"))
        self.assertEqual((end["family"], end["device"], end["is_verified"]),
                         ("host", None, True))
        for key in "shape", "file", "physical_bytes", "num_passes", \
                "num_pieces", "bytes_read", "bytes_written":
            self.assertEqual(plan[key], end[key], key)
        self.assertLessEqual(end["host_bytes_peak"], MIB)
        # Rows are 3600 and 4400 bytes.
        for key in "smallest_read", "smallest_write":
            self.assertTrue(0 < end[key] <= 4400, end)

    def test_one_pass_and_two(self):
        bytes_ = 4 * 900 * 1100
        events = []
        for passes in 1, 2:
            lines = self.ok("convert", "--host", "in.npy", "%d.npy" % passes,
                            "--perm", "1,0", "--memory", "1MiB", "--passes",
                            str(passes), "--json").splitlines()
            plan, end = json.loads(lines[0]), json.loads(lines[-1])
            for event in plan, end:
                self.assertEqual(event["num_passes"], passes)
                self.assertEqual(event["bytes_read"], passes * bytes_)
                self.assertEqual(event["bytes_written"], passes * bytes_)
            self.assertLessEqual(end["host_bytes_peak"], MIB)
            events.append(plan)
        runs = [min(event["read_run_bytes"], event["write_run_bytes"])
                for event in events]
        self.assertGreater(runs[1], 8 * runs[0])
        # What the second one has used behind the array is gone.
        self.assertEqual(self.read("1.npy"), self.read("2.npy"))
        self.assert_files("in.npy", "1.npy", "2.npy")

    def test_a_budget_that_is_too_small_says_the_least(self):
        """A sum along all dimensions is one piece."""
        self.write_random("in.npy", "<f4", (1024, 1024))
        arguments = ["op", "--host", "Sum", "--attr", "dims=0,1", "in.npy",
                     "out.npy", "--memory"]
        for more in [], ["--dry-run"], ["--json"]:
            message = self.fails(1, ["1048576", "least"], *arguments, "1MiB",
                                 *more)
            self.assert_files("in.npy")
        least = re.search("least that suffices is ([0-9]+)", message).group(1)
        self.fails(1, [str(int(least) - 1), least], *arguments,
                   str(int(least) - 1))
        self.ok(*arguments, least)

    def test_usage(self):
        convert = ["convert", "in.npy", "out.npy"]
        for text in "0", "1MB", "-1", "1048575":
            self.fails(2, ["--memory", text], *convert, "--memory", text)
        for text in "", "x", "1 MiB", "1mib", "1MiBs", "0x10", "1.5GiB":
            self.fails(2, ["--memory", "'%s'" % text], *convert, "--memory",
                       text)
        self.fails(2, "64 bits", *convert, "--memory", "9" * 30)
        self.fails(2, "9000000000TiB is not within", *convert, "--memory",
                   "9000000000TiB")
        for text in ("x,x", "0,", "0,0", "-1", "all,0", "2147483648",
                     "default,0", "0,none", "", "x" * 64):
            self.fails(2, ["--device", "--help"], *convert, "--device", text)
        self.fails(2, "more than 16", *convert, "--device",
                   ",".join(map(str, range(17))))
        for text in "0", "3", "two", "":
            self.fails(2, "--passes: ", *convert, "--passes", text)
        self.fails(2, "--host", *convert, "--host", "--device", "none")
        self.fails(2, "none", *convert, "--device", "none", "--family", "tile")
        self.assert_files("in.npy")

    def test_device_none_is_the_host(self):
        self.ok("convert", "in.npy", "out.npy", "--device", "none",
                "--memory", "2MiB", env={"OCL_ICD_VENDORS": "/nonexistent"})
        self.ok("convert", "in.npy", "out.npy", "--device", "none",
                env={"OCL_ICD_VENDORS": "/nonexistent"})

    def test_input_is_output(self):
        before = self.read("in.npy")
        os.symlink("in.npy", self.path("link.npy"))
        os.link(self.path("in.npy"), self.path("hard.npy"))
        for name in "in.npy", "./in.npy", "link.npy", "hard.npy":
            self.fails(1, "one file", "convert", "--host", "in.npy", name,
                       "--memory", "1MiB")
        self.assertEqual(self.read("in.npy"), before)
        self.assert_files("hard.npy", "in.npy", "link.npy")


class Progress(StreamCase):
    """Of a job that a slow disk makes last for seconds."""

    WRITE_US = 8000

    def setUp(self):
        super().setUp()
        self.write_random("in.npy", "<f4", (1024, 1024))
        self.arguments = ["convert", "--host", "in.npy", "out.npy", "--perm",
                          "1,0", "--memory", "1MiB", "--passes", "1"]

    def slow(self):
        """So that the writes of the job take three seconds together."""
        return self.bad_disk(write_us=self.WRITE_US)

    def watch(self, *arguments, columns=100, **variables):
        """What the command shows on a terminal, and its standard output."""
        terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))
        environment = dict(self.slow(), TERM="xterm")
        environment.update(variables)
        begin = time.monotonic()
        process = self.start_on(theirs, environment, *arguments)
        os.close(theirs)
        shown = []
        while True:
            ready, _, _ = select.select([terminal], [], [], 60)
            self.assertTrue(ready)
            try:
                block = os.read(terminal, 4096)
            except OSError as error:
                self.assertEqual(error.errno, errno.EIO)
                break
            if not block:
                break
            shown.append((time.monotonic() - begin, block.decode()))
        out = process.stdout.read().decode()
        self.assertEqual(process.wait(60), 0)
        process.stdout.close()
        os.close(terminal)
        self.assertEqual(out, "f32[1024,1024]{1,0}\n")
        return shown

    def start_on(self, stderr, environment, *arguments):
        return subprocess.Popen(
            [COMMAND, *self.arguments, *arguments], cwd=self.folder,
            env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=stderr)

    def test_a_line_on_a_terminal(self):
        self.arguments[3] = "o\x1b[31m\u009b.npy"
        shown = self.watch(columns=120)
        self.assertGreaterEqual(shown[0][0], 0.9)
        text = "".join(block for _, block in shown)
        self.assertNotRegex(text, "[\x1b\u009b]")
        lines = text.split("\r")
        self.assertGreater(len(lines), 5)
        self.assertEqual(lines[0], "")
        for line in lines[1:-2]:
            self.assertLessEqual(len(line.rstrip("\n")), 119)
            self.assertRegex(line, r"^o\\x1b\[31m\\xc2\\x9b\.npy  "
                             r"\[=*>? *\] +[0-9]+%  .* of 8\.39 MB  .*/s  .*waits for")
        self.assertIn("waits for: write", text)
        self.assertRegex(text, r"[0-9]:[0-9]{2} left")
        self.assertRegex(text, r"8\.39 MB in [0-9.]+ s, .*/s, by the host; "
                         r"waited for: write *\r?\n$")

    def test_a_narrow_terminal(self):
        for _, block in self.watch(columns=30):
            for line in block.replace("\n", "\r").split("\r"):
                self.assertLessEqual(len(line), 29)
                # Whole fields.
                self.assertNotRegex(line, "of$|/$|waits|waited")

    def test_silence(self):
        self.assertEqual(self.watch("--quiet"), [])
        self.assertEqual(self.watch(TERM="dumb"), [])
        self.assertEqual(self.run_command(*self.arguments, "--progress",
                                          env=self.slow()).err, "")

    @unittest.skipUnless(IS_SLOW, "takes more than ten seconds")
    def test_lines_in_a_pipe(self):
        environment = dict(self.slow())
        environment["SLOW_DISK_WRITE_US"] = str(10 * self.WRITE_US)
        result = self.run_command(*self.arguments, "--progress",
                                  env=environment)
        self.assertRegex(result.err, r"^(out\.npy: [0-9]+%  .*\n)+$")

    def test_events(self):
        result = self.run_command(*self.arguments, "--json", env=self.slow())
        self.assertEqual((result.code, result.err), (0, ""))
        told = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual(told[0]["event"], "plan")
        self.assertEqual(told[-1]["event"], "end")
        self.assertGreaterEqual(len(told), 4)
        done = -1
        for event in told[1:-1]:
            self.assertEqual(set(event), {
                "event", "phase", "pass", "num_passes", "bytes_done",
                "bytes_total", "seconds", "seconds_left", "waits_for"})
            self.assertEqual(event["event"], "progress")
            self.assertEqual(event["bytes_total"], 8 * MIB)
            self.assertGreaterEqual(event["bytes_done"], done)
            self.assertLessEqual(event["bytes_done"], event["bytes_total"])
            done = event["bytes_done"]


if __name__ == "__main__":
    main()
