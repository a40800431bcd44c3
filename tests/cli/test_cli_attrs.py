#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attributes of `relayout op`: as JSON in a file, and integers to the last
digit."""

import json
import os
import struct
import subprocess

import cli_case
from cli_case import CliCase, main, npy_bytes, npy_parts


class Attrs(CliCase):
    def setUp(self):
        super().setUp()
        self.write("x.npy", npy_bytes("<f4", (2, 3),
                                      struct.pack("<6f", *range(6))))
        self.write("s64.npy", npy_bytes("<i8", (1,), struct.pack("<q", 3)))
        self.write("u64.npy", npy_bytes("<u8", (1,), struct.pack("<Q", 3)))

    def result(self, descr, name="out.npy"):
        """The elements of a result, which has this type."""
        header, data = npy_parts(self.read(name))
        self.assertIn("'%s'" % descr, header)
        letter = {"<f4": "f", "<i8": "q", "<u8": "Q"}[descr]
        count = len(data) // struct.calcsize(letter)
        return list(struct.unpack("<%d%s" % (count, letter), data))

    def attrs(self, text):
        self.write("attrs.json", text.encode())

    def op(self, name, *arguments):
        return self.ok("op", name, "--host", "--attrs", "attrs.json",
                       *arguments, "out.npy")


class Json(Attrs):
    def test_each_type(self):
        self.attrs('{"paddings": [0, 0, 1, 1], "value": 7.5}')
        self.op("pad_v2", "x.npy")
        self.assertEqual(self.result("<f4"),
                         [7.5, 0, 1, 2, 7.5, 7.5, 3, 4, 5, 7.5])
        self.attrs('{"dims": [0], "keep_dims": true}')
        self.assertEqual(self.op("sum", "x.npy").strip(), "f32[1,3]{1,0}")
        self.attrs('{"dims": []}')
        self.assertEqual(self.op("sum", "x.npy").strip(), "f32[2,3]{1,0}")
        self.attrs('{"paddings": [0,0,1,1], "mode": "symmetric"}')
        self.op("mirror_pad", "x.npy")
        self.assertEqual(self.result("<f4"), [0, 0, 1, 2, 2, 3, 3, 4, 5, 5])
        self.attrs('{"shape": "f32[2,3]{0,1}"}')
        self.assertEqual(self.op("relayout", "x.npy").strip(),
                         "f32[2,3]{0,1}")
        self.attrs('{"num_or_size_splits": [1, -1], "axis": 1}')
        self.ok("op", "splitv", "--host", "--attrs", "attrs.json", "x.npy",
                "a.npy", "b.npy")
        self.attrs("{}")
        self.op("transpose", "x.npy")
        self.assertEqual(self.result("<f4"), [0, 3, 1, 4, 2, 5])

    def test_from_standard_input_and_the_command_line(self):
        done = subprocess.run(
            [cli_case.COMMAND, "op", "pad_v2", "--host", "--attrs", "-",
             "--attr", "value=-1", "s64.npy", "out.npy"],
            cwd=self.folder, input=b'{"paddings": [1, 0]}',
            capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.result("<i8"), [-1, 3])

    def test_lists_in_lists_and_other_names(self):
        self.attrs('{"paddings": [[0, 0], [1, 1]], "constantValue": 7.5}')
        self.op("pad_v2", "x.npy")
        self.assertEqual(self.result("<f4"),
                         [7.5, 0, 1, 2, 7.5, 7.5, 3, 4, 5, 7.5])
        self.attrs('{"blockShape": [[3]], "paddings": [[0, 0]]}')
        self.assertEqual(self.op("space_to_batch_nd", "x.npy").strip(),
                         "f32[6,1]{1,0}")
        self.attrs('{"perm": [1, 0], "axes": [1, 0]}')
        self.fails(1, "'perm' is given twice", "op", "transpose", "--host",
                   "--attrs", "attrs.json", "x.npy", "out.npy")

    def test_integers_keep_their_digits(self):
        for value in (9007199254740993, -9007199254740993, 2**63 - 1, -2**63):
            self.attrs(json.dumps({"paddings": [1, 0], "value": value}))
            self.op("pad_v2", "s64.npy")
            self.assertEqual(self.result("<i8"), [value, 3])
            self.attrs(json.dumps({"factor": value}))
            self.op("rescale", "s64.npy")
            wanted = (3 * value + 2**63) % 2**64 - 2**63
            self.assertEqual(self.result("<i8"), [wanted])

    def test_what_is_no_json(self):
        for text, where in (
                ('{"perm": [1, 0]', "1:15: "),
                ('{\n  "perm": [1, 0],\n  "perm": [0, 1]\n}', "3:8: "),
                ('{"perm": [1,\n 0,]}', "2:4: "),
                ("{'perm': [1, 0]}", "1:2: "),
                ('{"value": 18446744073709551616}', "1:30: "),
                ('{"value": 1e999}', "1:15: "),
                ('{"perm": [1, 0]} x', "1:18: "),
                ("", "1:0: ")):
            with self.subTest(text=text):
                self.attrs(text)
                self.fails(1, "attrs.json:" + where, "op", "transpose",
                           "--host", "--attrs", "attrs.json", "x.npy",
                           "out.npy")
        self.assertFalse(os.path.exists(self.path("out.npy")))

    def test_what_is_no_attribute(self):
        for text, words in (
                ("[1, 0]", "attributes are an object"),
                ('{"perm": null}', "'perm' is null"),
                ('{"perm": [1, null]}', "entry 1 is no integer"),
                ('{"perm": [1, "0"]}', "entry 1 is no integer"),
                ('{"perm": [[1], [[0.5]]]}', "entry 1 is no integer"),
                ('{"perm": [1.5, 0]}', "entry 0 is no integer"),
                ('{"perm": {"a": 1}}', "'perm' is an object"),
                ('{"perm": "a"}',
                 "'perm': 'a' is not of its type: integers, such as perm=1,0"),
                ('{"perm": 1.5}',
                 "Transpose: attribute 'perm' is a number, not a list of "
                 "integers"),
                ('{"order": [1, 0]}', "no attribute 'order'")):
            with self.subTest(text=text):
                self.attrs(text)
                self.fails(1, words, "op", "transpose", "--host", "--attrs",
                           "attrs.json", "x.npy", "out.npy")
        self.attrs('{"shape": "f32[2,"}')
        self.fails(1, "attribute 'shape' is no shape, such as f32[2,3]{0,1}: ", "op", "relayout",
                   "--host", "--attrs", "attrs.json", "x.npy", "out.npy")
        self.attrs('{"perm": [1, 0]}')
        self.fails(1, "'perm' is given twice", "op", "transpose", "--host",
                   "--attrs", "attrs.json", "--attr", "perm=0,1", "x.npy",
                   "out.npy")
        self.fails(2, "--attrs is given twice", "op", "transpose", "--attrs",
                   "attrs.json", "--attrs", "attrs.json", "x.npy", "out.npy")
        self.fails(1, "cannot open none.json", "op", "transpose", "--host",
                   "--attrs", "none.json", "x.npy", "out.npy")
        self.fails(1, "cannot read .", "op", "transpose", "--host", "--attrs",
                   ".", "x.npy", "out.npy")
        self.assertFalse(os.path.exists(self.path("out.npy")))


class Text(Attrs):
    def test_integers_keep_their_digits(self):
        for name, descr, values in (
                ("s64.npy", "<i8",
                 (9007199254740993, -9007199254740993, 2**63 - 1, -2**63)),
                ("u64.npy", "<u8", (9007199254740993, 2**63 + 1, 2**64 - 1))):
            for value in values:
                self.ok("op", "pad_v2", "--host", "--attr", "paddings=1,0",
                        "--attr", "value=%d" % value, name, "out.npy")
                self.assertEqual(self.result(descr), [value, 3])
                self.ok("op", "rescale", "--host", "--attr",
                        "factor=%d" % value, name, "out.npy")
                low = -2**63 if descr == "<i8" else 0
                self.assertEqual(self.result(descr),
                                 [(3 * value - low) % 2**64 + low])

    def test_as_python_writes_it(self):
        for name, texts, result in (
                ("transpose", ["perm=(1, 0)"], [0, 3, 1, 4, 2, 5]),
                ("transpose", ["axes=[1, 0,]"], [0, 3, 1, 4, 2, 5]),
                ("reverse", ["axis=(1,)"], [2, 1, 0, 5, 4, 3]),
                ("sum", ["axis=0", "keepdims=True"], [3, 5, 7]),
                ("pad_v2", ["pad_width=((0, 0), (1, 0))", "constant_values=9"],
                 [9, 0, 1, 2, 9, 3, 4, 5]),
                ("mirror_pad", ["paddings=[[1,0],[0,2]]", "mode=edge"],
                 [0, 1, 2, 2, 2, 0, 1, 2, 2, 2, 3, 4, 5, 5, 5])):
            with self.subTest(texts=texts):
                self.ok("op", name, "--host",
                        *[a for t in texts for a in ("--attr", t)], "x.npy",
                        "out.npy")
                self.assertEqual(self.result("<f4"), result)
        self.write("d.npy", npy_bytes("<f4", (1, 1, 1, 8),
                                      struct.pack("<8f", *range(8))))
        for mode, result in (("DCR", [0, 1, 2, 3, 4, 5, 6, 7]),
                             ("CRD", [0, 4, 1, 5, 2, 6, 3, 7])):
            self.ok("op", "depth_to_space", "--host", "--attr", "blockSize=2",
                    "--attr", "mode=" + mode, "d.npy", "out.npy")
            self.assertEqual(self.result("<f4"), result)
        self.fails(1, "'mode' is 'wrap'; it is 'reflect', 'symmetric' or 'edge'",
                   "op", "mirror_pad", "--host", "--attr", "paddings=1,0,0,0",
                   "--attr", "mode=wrap", "x.npy", "out.npy")
        self.fails(2, "write NAME=VALUE, such as perm=1,0", "op", "transpose",
                   "--host", "--attr", "perm", "x.npy", "out.npy")

    def test_what_does_not_fit(self):
        for words, *arguments in (
                ("attribute 'value': 18446744073709551616 does not fit 64 bits; "
                 "write a float with a point or an exponent",
                 "value=18446744073709551616"),
                ("-9223372036854775809 does not fit", "value=-9223372036854775809")):
            self.fails(1, words, "op", "pad_v2", "--host", "--attr",
                       "paddings=1,0", "--attr", *arguments, "u64.npy",
                       "out.npy")
        self.fails(1, "the value 9223372036854775808 does not fit type s64",
                   "op", "pad_v2", "--host", "--attr", "paddings=1,0",
                   "--attr", "value=9223372036854775808", "s64.npy",
                   "out.npy")
        self.fails(1, "'value_bits' has bit 32", "op", "pad_v2", "--host",
                   "--attr", "paddings=0,0,1,0", "--attr",
                   "value_bits=4294967296", "x.npy", "out.npy")
        # A number that is written as a float is one.
        self.ok("op", "pad_v2", "--host", "--attr", "paddings=0,0,1,0",
                "--attr", "value=1e20", "x.npy", "out.npy")
        self.assertEqual(self.result("<f4")[0],
                         struct.unpack("<f", struct.pack("<f", 1e20))[0])
        for option in ("--alpha", "--beta"):
            self.fails(2, option + ": 9007199254740993 is not exact as a "
                       "factor, which is a double; the nearest one is "
                       "9007199254740992", "explain", option,
                       "9007199254740993", "s64[2]", "s64[2]")
            self.ok("explain", option, "009007199254740992", "s64[2]",
                    "s64[2]")

    def test_listing_tells_gradients(self):
        listed = json.loads(self.ok("op", "--list", "--json"))["operations"]
        self.assertTrue(all(o["has_gradient"] is True for o in listed))
        self.assertIn("Transpose: 1 input: x, has a gradient\n",
                      self.ok("op", "--list"))


if __name__ == "__main__":
    main()
