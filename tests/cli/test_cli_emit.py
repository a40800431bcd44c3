#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of `relayout emit`, built and run without the library: the bytes of convert."""

import json
import os
import struct
import subprocess
import sys

from cli_case import CliCase, main

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "emitted.c")
COMPILER = os.environ.get("RELAYOUT_TEST_CC", "cc").split()

# Source, destination, permutation, options: of each class, tiles, guards, quotients, units
# of a fraction of a byte, fields of structs.
CASES = [
    ("u8[3,37,41,3]", "u8[3,3,37,41]", "0,3,1,2", ["--class", "gpu"]),
    ("f32[200,264]", "f32[264,200]", "1,0", ["--class", "gpu"]),
    ("bf16[61,300]", "bf16[61,300]{1,0:T(8,128)(2,1)fill(one)}", None, ["--class", "gpu"]),
    ("s4[64,96]{1,0:E(4)}", "s4[96,64]{1,0:E(4)}", "1,0", ["--class", "gpu"]),
    ("u4[61,8,2,2]{:E(4)strides(36,4,2,1)offset(4)}", "u4[61,2,8,2]{3,2,1,0:E(4)}", "0,3,1,2",
     ["--class", "gpu"]),
    ("u8[61,16]{:strides(18,1)offset(2)}", "u8[61,16]", None, ["--class", "gpu"]),
    ("f32[60,300]", "f32[60,300]{1,0:T(8,128)}", None, ["--class", "cpu"]),
    ("u8[3,37,41,3]", "u8[3,3,37,41]", "0,3,1,2", ["--class", "host"]),
    ("u16[90,100]{1,0:T(7,5)}", "u16[90,100]{1,0:T(8,16)fill(one)}", None,
     ["--class", "host"]),
]


class Emit(CliCase):
    def relayout(self, data, src, dst, perm):
        """The bytes of convert."""
        self.write("in.raw", data)
        layout = dst.partition("{")[2]
        extra = ["--perm", perm] if perm else []
        extra += ["--to", "{" + layout] if layout else []
        self.run_command("convert", "in.raw", "out.raw", "--from", src, *extra)
        return self.read("out.raw")

    def run_emitted(self, text, data, num_bytes, options):
        is_host = "host" in options
        path = self.write("emitted.cl", text.encode())
        self.write("src", data)
        build = COMPILER + ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1",
                            "-DCL_TARGET_OPENCL_VERSION=120", '-DEMITTED="%s"' % path, SOURCE,
                            "-o", self.path("run")]
        subprocess.run(build + (["-DON_HOST"] if is_host else ["-lOpenCL"]), check=True)
        done = subprocess.run([self.path("run"), self.path("src"), self.path("dst"),
                               str(num_bytes)], check=False)
        self.assertEqual(done.returncode, 0)
        return self.read("dst")

    def test_bytes_of_convert(self):
        for src, dst, perm, options in CASES:
            with self.subTest(src=src, dst=dst, options=options):
                extra = ["--perm", perm] if perm else []
                num_bytes = json.loads(self.ok("describe", src, "--json"))["physical_bytes"]
                data = bytes((n * 2654435761 >> 15) & 255 for n in range(num_bytes))
                expected = self.relayout(data, src, dst, perm)
                text = self.ok("emit", src, dst, *extra, *options, "--name", "emitted")
                self.assertNotIn("Apache", text)
                got = self.run_emitted(text, data, len(expected), options)
                self.assertEqual(got, expected)

    def test_a_conversion(self):
        """Of numbers that bf16 has: the upper halves of their bits."""
        rows, columns = 64, 96
        data = struct.pack("<%df" % (rows * columns), *(n % 251 for n in range(rows * columns)))
        expected = b"".join(data[4 * (r * columns + c) + 2:][:2]
                            for c in range(columns) for r in range(rows))
        text = self.ok("emit", "f32[64,96]", "bf16[96,64]", "--perm", "1,0", "--class", "cpu",
                       "--name", "emitted")
        self.assertEqual(self.run_emitted(text, data, len(expected), []), expected)

    def test_the_way_back(self):
        src, dst = "u8[3,37,41,3]", "u8[3,3,37,41]"
        data = bytes((n * 2654435761 >> 15) & 255 for n in range(3 * 37 * 41 * 3))
        moved = self.relayout(data, src, dst, "0,3,1,2")
        text = self.ok("emit", src, dst, "--perm", "0,3,1,2", "--inverse", "--class", "host",
                       "--name", "emitted")
        self.assertEqual(self.run_emitted(text, moved, len(data), ["host"]), data)

    def test_refusals(self):
        pair = ["f32[4,5]", "f32[5,4]{0,1}"]
        self.fails(2, "--name 2d is no identifier of C", "emit", *pair, "--name", "2d")
        self.fails(1, "not elements of 4 bits", "emit", "s4[7,9]{1,0:E(4)}",
                   "s4[7,9]{0,1:E(4)}", "--class", "host")
        self.fails(1, "as they are", "emit", "f32[4]", "bf16[4]", "--class", "host")
        self.fails(1, "nothing to move", "emit", "f32[0]", "f32[0]")


if __name__ == "__main__":
    if subprocess.run(COMPILER + ["--version"], stdout=subprocess.DEVNULL, check=False).returncode:
        sys.exit(77)
    main()
