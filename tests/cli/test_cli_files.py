#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""convert --host: files in, files out, and everything wrong with either."""

import json
import os
import resource
import signal
import stat
import struct
import subprocess
import time

from cli_case import ASAN_OPTIONS, COMMAND, CliCase, main, npy_bytes, npy_parts

PAD = "{0,1:pad(3,5)fill(zero)}"
PAD_SHAPE = "f32[2,3]" + PAD


def floats(*values):
    return struct.pack("<%df" % len(values), *values)


ABC = floats(1, 2, 3, 4, 5, 6)
PADDED = floats(1, 4, 0, 2, 5, 0, 3, 6, 0, 0, 0, 0, 0, 0, 0)


class Convert(CliCase):
    def setUp(self):
        super().setUp()
        self.write("in.npy", npy_bytes("<f4", (2, 3), ABC))

    def convert(self, *arguments):
        return self.ok("convert", "--host", *arguments)

    def test_the_example(self):
        self.assertEqual(self.convert("in.npy", "out.npy", "--to", PAD),
                         PAD_SHAPE + "\n")
        header, data = npy_parts(self.read("out.npy"))
        self.assertIn("'descr': '<f4'", header)
        self.assertIn("'fortran_order': False", header)
        self.assertIn("'shape': (15,)", header)
        self.assertEqual(data, PADDED)
        self.assert_files("in.npy", "out.npy")

    def test_printed_shape_reads_it_back(self):
        layouts = [PAD, "{1,0}", "{0,1}", "{1,0:T(2,2)}", "{0,1:L(4)}",
                   "{1,0:T(2,2)(2,1)fill(one)}", "{:strides(-3,1)offset(3)}",
                   "{:strides(1,2)}", "{1,0:E(64)}"]
        for layout in layouts:
            for out in "out.npy", "out.bin", "out.raw":
                shape = self.convert("in.npy", out, "--to", layout).strip()
                self.convert(out, "back.npy", "--from", shape, "--to",
                             "{1,0:E(32)}")
                self.assertEqual(self.read("back.npy"), self.read("in.npy"),
                                 (layout, out))

    def test_the_end_of_a_name_selects_the_format(self):
        for name in "a.npy", "a.dat", "npy", "a.npy.bin.x", "a.BIN":
            self.convert("in.npy", name)
            self.assertEqual(self.read(name), self.read("in.npy"), name)
            self.convert(name, "back.npy")
        for name in "a.bin", "a.raw", "a.npy.bin", ".raw":
            self.convert("in.npy", name)
            self.assertEqual(self.read(name), npy_parts(self.read("in.npy"))[1])
            self.fails(1, "--from", "convert", "--host", name, "back.npy")

    def test_permutation(self):
        self.assertEqual(
            self.convert("in.npy", "out.npy", "--perm", "1,0"),
            "f32[3,2]{1,0}\n")
        header, data = npy_parts(self.read("out.npy"))
        self.assertIn("'shape': (3, 2)", header)
        self.assertEqual(data, floats(1, 4, 2, 5, 3, 6))

    def test_permutation_from_the_end(self):
        self.convert("in.npy", "out.npy", "--perm", "1,0")
        for perm in "-1,0", "-1,-2", "1,-2":
            self.convert("in.npy", "same.npy", "--perm", perm)
            self.assertEqual(self.read("same.npy"), self.read("out.npy"), perm)

    def test_permutation_with_layout(self):
        self.assertEqual(
            self.convert("in.npy", "out.bin", "--perm", "1,0", "--to",
                         "{1,0:pad(3,4)fill(one)}"),
            "f32[3,2]{1,0:pad(3,4)fill(one)}\n")
        self.assertEqual(self.read("out.bin"),
                         floats(1, 4, 1, 1, 2, 5, 1, 1, 3, 6, 1, 1))

    def test_column_major_is_fortran_order(self):
        self.convert("in.npy", "out.npy", "--to", "{0,1}")
        header, data = npy_parts(self.read("out.npy"))
        self.assertIn("'fortran_order': True", header)
        self.assertIn("'shape': (2, 3)", header)
        self.assertEqual(data, floats(1, 4, 2, 5, 3, 6))
        self.convert("out.npy", "back.npy")
        self.assertEqual(self.read("back.npy"), self.read("in.npy"))

    def test_unknown_fill_makes_zeros(self):
        self.convert("in.npy", "out.bin", "--to", "{0,1:pad(3,5)}")
        self.assertEqual(self.read("out.bin"), PADDED)
        self.convert("in.npy", "out.bin", "--to", "{0,1:pad(3,5)fill(unknown)}")
        self.assertEqual(self.read("out.bin"), PADDED)

    def test_bytes_of_nan_survive(self):
        data = struct.pack("<6I", 0x7f800001, 0xffc12345, 1, 0x80000000,
                           0x7fc00000, 0xff800002)
        self.write("nan.npy", npy_bytes("<f4", (2, 3), data))
        self.convert("nan.npy", "t.npy", "--perm", "1,0")
        self.convert("t.npy", "back.npy", "--perm", "1,0")
        self.assertEqual(npy_parts(self.read("back.npy"))[1], data)

    def test_packed_elements(self):
        self.write("in.bin", bytes([0x21, 0x43, 0x65]))
        shape = self.convert("in.bin", "out.npy", "--from",
                             "s4[2,3]{1,0:E(4)}", "--to", "{0,1}")
        self.assertEqual(shape, "s4[2,3]{0,1:E(4)}\n")
        header, data = npy_parts(self.read("out.npy"))
        self.assertIn("'descr': '|u1'", header)
        self.assertIn("'shape': (3,)", header)
        self.assertEqual(data, bytes([0x41, 0x52, 0x63]))
        self.convert("out.npy", "back.bin", "--from", shape.strip(), "--to",
                     "{1,0}")
        self.assertEqual(self.read("back.bin"), self.read("in.bin"))

    def test_element_sizes(self):
        """--to packs and unpacks; in pieces, too."""
        cases = [
            ("s4[4]{0:E(4)}", bytes([0x21, 0xf8]), "{0:E(8)}",
             bytes([1, 2, 8, 15]), "s4[4]{0}"),
            ("s4[4]", bytes([1, 2, 0xf8, 0xff]), "{0:E(4)}",
             bytes([0x21, 0xf8]), "s4[4]{0:E(4)}"),
            ("u2[3]{0:E(2)}", bytes([0x39]), "{0:E(8)}", bytes([1, 2, 3]),
             "u2[3]{0}"),
            ("u1[9]", bytes([1, 0, 0, 0, 0, 0, 0, 1, 1]), "{0:E(1)}",
             bytes([0x81, 1]), "u1[9]{0:E(1)}"),
            ("f4e2m1fn[2,2]", bytes([1, 2, 3, 15]), "{0,1:E(4)}",
             bytes([0x31, 0xf2]), "f4e2m1fn[2,2]{0,1:E(4)}"),
            ("s2[4]{0:T(2)E(4)}", bytes([0x13, 0x20]), "{0:E(2)}",
             bytes([0b10000111]), "s2[4]{0:E(2)}"),
            ("pred[9]", bytes([1, 0, 2, 0, 0, 0, 0, 255, 1]), "{0:E(1)}",
             bytes([0x85, 1]), "pred[9]{0:E(1)}"),
            ("f32[1]", struct.pack("<I", 0xff800001), "{0:E(64)}",
             struct.pack("<Q", 0xff800001), "f32[1]{0:E(64)}"),
        ]
        for shape, content, to, wanted, printed in cases:
            for pieces in [], ["--memory", "1MiB"]:
                with self.subTest(shape=shape, pieces=pieces):
                    self.write("in.bin", content)
                    self.assertEqual(
                        self.convert("in.bin", "out.bin", "--from", shape,
                                     "--to", to, "--verify", *pieces),
                        printed + "\n")
                    self.assertEqual(self.read("out.bin"), wanted)
        # Without an element size the input's is kept.
        self.write("in.bin", bytes([0x21, 0x43]))
        self.assertEqual(self.convert("in.bin", "out.bin", "--from",
                                      "s4[4]{0:E(4)}", "--to", "{0}"),
                         "s4[4]{0:E(4)}\n")

    def test_an_npy_file_is_unpacked_and_packed(self):
        self.write("in.npy", npy_bytes("|i1", (2, 2), bytes([1, 255, 248, 7])))
        self.convert("in.npy", "packed.npy", "--from", "s4[2,2]", "--to",
                     "{1,0:E(4)}")
        self.assertEqual(npy_parts(self.read("packed.npy"))[1],
                         bytes([0xf1, 0x78]))
        self.convert("packed.npy", "back.npy", "--from", "s4[2,2]{1,0:E(4)}",
                     "--to", "{1,0:E(8)}")
        self.assertEqual(npy_parts(self.read("back.npy"))[1],
                         bytes([1, 15, 8, 7]))

    def refuses_value(self, shape, content, to, words):
        self.write("in.bin", content)
        for pieces in [], ["--memory", "1MiB"]:
            self.fails(1, words, "convert", "--host", "in.bin", "out.bin",
                       "--from", shape, "--to", to, *pieces)
            self.assert_files("in.bin", "in.npy")

    def test_a_value_that_does_not_fit_is_named(self):
        self.refuses_value("s4[2,3]", bytes([1, 2, 3, 4, 23, 99]), "{1,0:E(4)}",
                           "slot 4 of in.bin is no s4: it has bits above the lowest 4")
        self.refuses_value("s4[3]", bytes([1, 0xf7, 0]), "{0:E(4)}",
                           "slot 1 of in.bin is no s4")
        self.refuses_value("u2[3]", bytes([1, 2, 4]), "{0:E(2)}",
                           "slot 2 of in.bin is no u2: it has bits above the lowest 2")
        self.refuses_value("u1[2]{0:E(2)}", bytes([0b1001]), "{0:E(1)}",
                           "slot 1 of in.bin is no u1")
        self.refuses_value("f4e2m1fn[2]", bytes([1, 0x17]), "{0:E(4)}",
                           "slot 1 of in.bin is no f4e2m1fn")
        self.refuses_value("s8[3]{0:E(12)}", bytes([0xff, 0xff, 0, 0, 0x08]),
                           "{0:E(8)}",
                           "slot 2 of in.bin is no s8: it has bits above the lowest 8")

    def test_numbers_have_their_signs(self):
        """In an int8 file 8 is 8, and not the bits of -8."""
        pack = ["convert", "--host", "in.npy", "out.bin", "--from", "s4[2]",
                "--to", "{0:E(4)}"]
        self.write("in.npy", npy_bytes("|i1", (2,), bytes([0xf8, 8])))
        self.fails(1, "slot 1 of in.npy is no s4", *pack)
        self.write("in.npy", npy_bytes("|u1", (2,), bytes([0xf8, 8])))
        self.ok(*pack)
        self.assertEqual(self.read("out.bin"), bytes([0x88]))

    def test_padding_is_no_value(self):
        self.write("in.bin", bytes([1, 2, 0xaa, 0xbb, 3, 4, 0xcc, 0xdd]))
        for pieces in [], ["--memory", "1MiB"]:
            self.convert("in.bin", "out.bin", "--from", "s4[2,2]{1,0:T(4)}",
                         "--to", "{1,0:E(4)}", *pieces)
            self.assertEqual(self.read("out.bin"), bytes([0x21, 0x43]))

    def test_types_that_numpy_lacks(self):
        self.write("in.bin", bytes(range(12)))
        shape = self.convert("in.bin", "out.npy", "--from", "bf16[2,3]",
                             "--to", "{0,1}").strip()
        self.assertEqual(shape, "bf16[2,3]{0,1}")
        header, _ = npy_parts(self.read("out.npy"))
        self.assertIn("'descr': '<u2'", header)
        self.assertIn("'shape': (2, 3)", header)
        self.convert("out.npy", "back.bin", "--from", shape)
        self.assertEqual(self.read("back.bin"), bytes(range(12)))

    def test_scalar_and_empty(self):
        self.write("scalar.npy", npy_bytes("<f8", (), struct.pack("<d", 7)))
        self.assertEqual(self.convert("scalar.npy", "out.npy", "--to", "{}"),
                         "f64[]\n")
        self.assertEqual(npy_parts(self.read("out.npy"))[1],
                         struct.pack("<d", 7))
        self.convert("scalar.npy", "out.npy", "--perm", "-")
        self.write("empty.npy", npy_bytes("<f8", (3, 0), b""))
        self.convert("empty.npy", "out.npy", "--perm", "1,0")
        self.assertIn("(0, 3)", npy_parts(self.read("out.npy"))[0])

    def test_other_byte_order(self):
        self.write("big.npy", npy_bytes(">f4", (2, 3),
                                        struct.pack(">6f", 1, 2, 3, 4, 5, 6)))
        self.convert("big.npy", "out.npy", "--to", "{1,0}")
        self.assertEqual(self.read("out.npy"), self.read("in.npy"))
        self.write("big.npy", npy_bytes(">c8", (3,),
                                        struct.pack(">6f", 1, 2, 3, 4, 5, 6)))
        self.convert("big.npy", "out.bin")
        self.assertEqual(self.read("out.bin"), ABC)

    def test_versions(self):
        for version in 2, 3:
            self.write("v.npy", npy_bytes("<f4", (2, 3), ABC, version=version))
            self.convert("v.npy", "out.npy")
            self.assertEqual(self.read("out.npy"), self.read("in.npy"))

    def test_json_and_verify(self):
        told = json.loads(self.convert("in.npy", "out.npy", "--to", PAD,
                                       "--json", "--verify"))
        self.assertEqual(told, {
            "shape": PAD_SHAPE, "file": "out.npy", "physical_bytes": 60,
            "family": "host", "device": None, "chosen_by": "option",
            "is_verified": True})

    def test_any_name_makes_valid_json(self):
        names = [b'a "b" \\ c', b"line\nend\ttab\x01\x7f",
                 "\u00fc \u20ac \U0001f600".encode(),
                 b"\xff cut \xe2\x82", b"\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80"]
        for name in names:
            out = self.convert("in.npy", os.fsdecode(name), "--json")
            self.assertEqual(len(out.splitlines()), 1)
            told = json.loads(out)["file"]
            try:
                self.assertEqual(told, name.decode())
            except UnicodeDecodeError:
                self.assertIn(r"\x%02x" % name[0], told)
            self.assertEqual(self.read(os.fsdecode(name)), self.read("in.npy"))


class Inputs(CliCase):
    def fails_on(self, content, words, *arguments, name="in.npy"):
        self.write(name, content)
        self.fails(1, words, "convert", "--host", name, "out.npy", *arguments)
        self.assert_files(name)

    def test_no_such_file(self):
        self.fails(1, ["in.npy", "No such file"], "convert", "--host",
                   "in.npy", "out.npy")
        self.assert_files()

    def test_not_a_regular_file(self):
        os.mkdir(self.path("folder"))
        self.fails(1, "regular file", "convert", "--host", "folder", "out.npy")
        self.assert_files("folder")

    def test_not_npy(self):
        self.fails_on(b"", "in.npy")
        self.fails_on(b"PK\x03\x04 and so on", "in.npy")
        self.fails_on(b"\x93NUMPY\x09\x00", "in.npy")

    def test_truncated(self):
        content = npy_bytes("<f4", (2, 3), ABC)
        for length in range(6, len(content), 7):
            self.fails_on(content[:length], "in.npy")
        self.fails_on(content[:-1], "in.npy")

    def test_header_that_lies(self):
        self.fails_on(npy_bytes("<f4", (2, 4), ABC), "in.npy")
        self.fails_on(npy_bytes("<f4", (2, 2), ABC), "in.npy")
        self.fails_on(npy_bytes("<f4", (1 << 62, 1 << 62), ABC), "in.npy")
        self.fails_on(npy_bytes("<f4", (1 << 40,), ABC), "in.npy")
        self.fails_on(npy_bytes("<f4", (-2, -3), ABC), "in.npy")

    def test_refused_types(self):
        for descr in "|O", ">V2", "<ixy", "[('a', '|O')]":
            self.fails_on(npy_bytes(descr, (1,), b"\0" * 16), "in.npy")

    def test_types_that_only_can_be_moved(self):
        """Times, texts and records, as integers as wide."""
        data = bytes(range(60))
        for descr, shape, result, width in (
                ("<M8[ns]", (2, 3), "u64[3,2]{1,0}", 8),
                ("<U1", (2, 3), "u32[3,2]{1,0}", 4),
                ("<W4", (2, 3), "u32[3,2]{1,0}", 4)):
            data = bytes(range(6 * width))
            self.write("in.npy", npy_bytes(descr, shape, data))
            self.fails(1, ["'%s'" % descr, "--bitcast"], "convert", "--host",
                       "in.npy", "out.npy", "--perm", "1,0")
            self.assertEqual(self.ok("convert", "--host", "in.npy", "out.npy",
                                     "--bitcast", "--perm", "1,0").strip(),
                             result)
            moved = b"".join(data[(3 * i + j) * width:][:width]
                             for j in range(3) for i in range(2))
            self.assertEqual(npy_parts(self.read("out.npy"))[1], moved)
        self.assertEqual(self.ok("op", "transpose", "--host", "--bitcast",
                                 "in.npy", "out.npy").strip(), "u32[3,2]{1,0}")
        self.fails(1, ["<W4", "f32", "--bitcast"], "convert", "--host",
                   "in.npy", "out.npy", "--from", "f32[2,3]")
        self.ok("convert", "--host", "in.npy", "out.npy", "--from",
                "f32[2,3]", "--bitcast")
        # NumPy writes the type of a record as a list.
        self.write("in.npy", npy_bytes("[('a', '<f4'), ('b', 'S3')]", (2,),
                                       bytes(range(14))))
        self.ok("convert", "--host", "in.npy", "out.npy", "--bitcast")
        self.assertEqual(npy_parts(self.read("out.npy"))[1], bytes(range(14)))

    def test_types_that_numpy_lacks(self):
        """bf16, fp8 and int4 as ml_dtypes writes them."""
        for descr, element, shape in (("<V2", "bf16", "bf16[2,3]{1,0}"),
                                      ("|V1", "s4", "f8e4m3fn[2,3]{1,0}")):
            data = bytes(range(2 * 3 * int(descr[2])))
            self.write("in.npy", npy_bytes(descr, (2, 3), data))
            self.fails(1, ["--from '%s'" % shape], "convert", "--host", "in.npy",
                       "out.npy")
            self.ok("convert", "--host", "in.npy", "out.bin", "--from",
                      element + "[2,3]", "--to", "{0,1}")
            width = int(descr[2])
            moved = b"".join(data[(3 * i + j) * width:][:width]
                             for j in range(3) for i in range(2))
            self.assertEqual(self.read("out.bin"), moved)
            self.fails(1, [], "convert", "--host", "in.npy", "out.npy", "--from",
                       "f32[2,3]")

    def test_several_arrays(self):
        """As numpy.save writes them one behind the other."""
        one = npy_bytes("<f4", (2, 3), ABC)
        two = npy_bytes(">u2", (2,), b"abcd")
        self.write("in.npy", one + two + one)
        self.fails(1, ["bytes after the 24 ", "--array 0"], "convert",
                   "--host", "in.npy", "out.npy")
        for n, data in enumerate((ABC, b"badc", ABC)):
            self.ok("convert", "--host", "in.npy", "out.npy", "--array", str(n))
            self.assertEqual(npy_parts(self.read("out.npy"))[1], data)
        self.ok("op", "concat", "--host", "--array", "2", "--array", "0",
                "in.npy", "in.npy", "out.bin")
        self.assertEqual(self.read("out.bin"), ABC + ABC)
        self.fails(1, ["in.npy, array 3: "], "convert", "--host", "in.npy",
                   "out.npy", "--array", "3")
        self.write("in.npy", one[:-1])
        self.fails(1, ["in.npy, array 0: ", "promises 24"], "convert",
                   "--host", "in.npy", "out.npy", "--array", "0")
        self.write("in.npy", one + b"and more")
        self.ok("convert", "--host", "in.npy", "out.npy", "--array", "0")

    def test_a_header_of_any_bytes(self):
        """In a file of any name, for each input, big-endian too."""
        self.write("in.dat", b"head" + b"\0\1\0\2" + b"tail")
        self.ok("convert", "--host", "in.dat", "out.bin", "--from", "u16[2]",
                "--offset", "4", "--byte-order", "big")
        self.assertEqual(self.read("out.bin"), b"\1\0\2\0")
        self.write("in.bin", b"\3\0")
        self.ok("op", "concat", "--host", "--from", "u16[1]", "--from", "u16[2]",
                "--offset", "-", "--offset", "4", "in.bin", "in.dat", "out.bin")
        self.assertEqual(self.read("out.bin"), b"\3\0\0\1\0\2")
        self.ok("op", "transpose", "--host", "--from", "u16[2]", "--offset",
                "4", "--byte-order", "big", "in.dat", "out.bin")
        self.assertEqual(self.read("out.bin"), b"\1\0\2\0")
        self.write("in.npy", npy_bytes("<f4", (2, 3), ABC))
        self.fails(1, ["in.npy has a header", "--byte-order"], "op", "transpose", "--host",
                   "--byte-order", "big", "in.npy", "out.npy")
        self.fails(2, "given 2 times for 1 inputs", "op", "transpose", "--host",
                   "--offset", "4", "--offset", "4", "in.npy", "out.npy")

    def test_bare_bytes(self):
        self.write("in.bin", ABC)
        self.fails(1, "--from", "convert", "--host", "in.bin", "out.npy")
        self.fails(1, ["24 bytes", "28"], "convert", "--host", "in.bin",
                   "out.npy", "--from", "f32[7]")
        self.fails(1, [], "convert", "--host", "in.bin", "out.npy", "--from",
                   "f32[2,3")
        self.assert_files("in.bin")

    def test_slots_that_do_not_fit(self):
        content = npy_bytes("<f4", (2, 3), ABC)
        self.fails_on(content, ["f32[2,3]", "f32[15]"], "--from", PAD_SHAPE)
        self.fails_on(content, [], "--from", "f32[3,2]")
        self.fails_on(content, [], "--from", "f32[2,3]{0,1}")
        self.fails_on(content, [], "--from", "f64[3]")
        self.fails_on(npy_bytes("<f4", (6,), ABC), [], "--from", "f64[3]")

    def test_another_type_of_the_same_width(self):
        """Is what its header says, unless the user says otherwise."""
        content = npy_bytes("<f4", (2, 3), ABC)
        self.fails_on(content, ["f32[2,3]", "s32", "--bitcast"], "--from",
                      "s32[2,3]")
        self.fails_on(npy_bytes("|u1", (3,), b"abc"), "--bitcast", "--from",
                      "s8[3]")
        self.fails_on(npy_bytes("<f2", (3,), b"abcdef"), "--bitcast", "--from",
                      "bf16[3]")
        self.write("in.npy", content)
        shape = self.ok("convert", "--host", "in.npy", "out.npy", "--from",
                        "s32[2,3]", "--bitcast", "--perm", "1,0").strip()
        self.assertEqual(shape, "s32[3,2]{1,0}")
        header, data = npy_parts(self.read("out.npy"))
        self.assertIn("'descr': '<i4'", header)
        self.assertEqual(data, floats(1, 4, 2, 5, 3, 6))
        # Types that NumPy lacks are integers of their width there.
        for descr in "<u2", "<i2":
            self.write("in.npy", npy_bytes(descr, (3,), b"abcdef"))
            self.ok("convert", "--host", "in.npy", "out.bin", "--from",
                    "bf16[3]")
            self.assertEqual(self.read("out.bin"), b"abcdef")
        # Bytes are what all types are made of.
        self.write("in.npy", npy_bytes("|u1", (8,), b"abcdefgh"))
        self.ok("convert", "--host", "in.npy", "out.bin", "--from", "f32[2]")
        self.assertEqual(self.read("out.bin"), b"abcdefgh")

    def test_permutations(self):
        content = npy_bytes("<f4", (2, 3), ABC)
        self.fails_on(content, [], "--perm", "0,0")
        self.fails_on(content, "2", "--perm", "0,2")
        self.fails_on(content, ["-3", "-2 to 1"], "--perm=-3,0")
        self.fails_on(content, ["permutation[0]=1", "permutation[1]=-1"],
                      "--perm", "1,-1")
        self.fails_on(content, ["1 entries", "rank 2"], "--perm", "0")
        self.fails_on(content, [], "--perm", "4294967296,1")

    def test_layouts(self):
        content = npy_bytes("<f4", (2, 3), ABC)
        for layout in ("{0,1", "{0}", "{0,0}", "{1,0:pad(1,3)}",
                       "{1,0:T(0,2)}", "{1,0:E(31)}", "{:strides(0,1)}", "x",
                       "f32[2,3]{1,0}"):
            self.fails_on(content, [], "--to", layout)

    def test_a_destination_beyond_memory(self):
        self.fails_on(npy_bytes("<f4", (2, 3), ABC), "bytes", "--to",
                      "{1,0:pad(1000000000,1000000)}")
        self.fails_on(npy_bytes("<f4", (2, 3), ABC), [], "--to",
                      "{1,0:pad(9000000000000000000,9000000000000000000)}")


class Outputs(CliCase):
    def setUp(self):
        super().setUp()
        self.write("in.npy", npy_bytes("<f4", (2, 3), ABC))

    def convert(self, *arguments, **options):
        return self.ok("convert", "--host", "in.npy", *arguments, **options)

    def fails_to(self, words, output, *arguments, **options):
        self.fails(1, words, "convert", "--host", "in.npy", output, *arguments,
                   **options)

    def test_missing_folder(self):
        self.fails_to(["no/out.npy", "No such file"], "no/out.npy")
        self.assert_files("in.npy")

    def test_folder_in_the_way(self):
        os.mkdir(self.path("out.npy"))
        self.fails_to("folder", "out.npy")

    def test_input_is_output(self):
        before = self.read("in.npy")
        self.fails_to("one file", "in.npy")
        self.fails_to("one file", "./in.npy")
        os.symlink("in.npy", self.path("link.npy"))
        self.fails_to("one file", "link.npy")
        os.link(self.path("in.npy"), self.path("hard.npy"))
        self.fails_to("one file", "hard.npy")
        self.assertEqual(self.read("in.npy"), before)

    def test_full_disk(self):
        self.fails_to(["/dev/full", "No space left"], "/dev/full")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))
        self.assert_files("in.npy")

    def test_file_size_limit(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        self.write("out.npy", b"old")
        self.fails_to(["out.npy", "too large"], "out.npy", "--to",
                      "{1,0:pad(100,100)}", preexec_fn=limit)
        self.assertEqual(self.read("out.npy"), b"old")
        self.assert_files("in.npy", "out.npy")

    def test_existing_file_is_replaced_with_its_permissions(self):
        self.write("out.npy", b"x" * 100000)
        os.chmod(self.path("out.npy"), 0o640)
        self.convert("out.npy")
        self.assertEqual(self.read("out.npy"), self.read("in.npy"))
        self.assertEqual(os.stat(self.path("out.npy")).st_mode & 0o777, 0o640)

    def test_new_file_follows_the_umask(self):
        self.convert("out.npy", preexec_fn=lambda: os.umask(0o027))
        self.assertEqual(os.stat(self.path("out.npy")).st_mode & 0o777, 0o640)

    def test_symbolic_link_stays(self):
        os.mkdir(self.path("far"))
        self.write("far/real.npy", b"old")
        os.symlink("far/real.npy", self.path("out.npy"))
        self.convert("out.npy")
        self.assertTrue(os.path.islink(self.path("out.npy")))
        self.assertEqual(self.read("far/real.npy"), self.read("in.npy"))

    def interrupt(self, number, *arguments, num_quick=0):
        """Stop it while the finished data wait for the disk: those of the
        first file after some quick ones."""
        environment = dict(os.environ)
        environment["SLOW_DISK_FILES"] = str(num_quick)
        environment["LD_PRELOAD"] = os.environ["RELAYOUT_SLOW_DISK"]
        environment["ASAN_OPTIONS"] = ASAN_OPTIONS + ":verify_asan_link_order=0"
        process = subprocess.Popen(
            [COMMAND, *arguments],
            cwd=self.folder, env=environment, stderr=subprocess.PIPE,
            stdout=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while len(os.listdir(self.folder)) < 2 + num_quick:
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(number)
        process.communicate(timeout=60)
        return process.returncode

    def test_interrupted(self):
        for number in signal.SIGINT, signal.SIGTERM:
            self.assertEqual(
                self.interrupt(number, "convert", "--host", "in.npy",
                               "out.npy"), 128 + number)
            self.assert_files("in.npy")

    def test_interrupted_between_results(self):
        self.assertEqual(
            self.interrupt(signal.SIGTERM, *self.SPLIT, "a.npy", "b.npy",
                           "c.npy", num_quick=2), 128 + signal.SIGTERM)
        self.assert_files("in.npy")

    SPLIT = ["op", "splitv", "--host", "--attr", "axis=1", "--attr",
             "num_or_size_splits=1,1,1", "in.npy"]

    def test_all_results_or_none(self):
        self.write("a.npy", b"old")
        self.fails(1, ["no/c.npy", "No such file"], *self.SPLIT, "a.npy",
                   "b.npy", "no/c.npy")
        self.assertEqual(self.read("a.npy"), b"old")
        self.assert_files("a.npy", "in.npy")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (140, 140))
        self.fails(1, "too large", "op", "splitv", "--host", "--attr",
                   "axis=1", "--attr", "num_or_size_splits=1,2", "in.npy",
                   "a.npy", "b.npy", preexec_fn=limit)
        self.assertEqual(self.read("a.npy"), b"old")
        self.assert_files("a.npy", "in.npy")
        self.ok(*self.SPLIT, "a.npy", "b.npy", "c.npy")
        self.assertEqual(npy_parts(self.read("c.npy"))[1], floats(3, 6))

    def test_many_results(self):
        """More of them than a process has open at first."""
        count = 300
        self.write("in.npy", npy_bytes("|u1", (count,), bytes(count * [7])))
        outs = ["%d.npy" % n for n in range(count)]

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))
        self.ok("op", "unpack", "--host", "--attr", "axis=0", "in.npy", *outs,
                preexec_fn=limit)
        self.assert_files("in.npy", *outs)
        self.assertEqual(npy_parts(self.read("299.npy"))[1], b"\7")


class Digest(CliCase):
    SHAPE = "f32[24,300]"
    # By tests/model/digest_model.py.
    DIGEST = "ee5198156b7f530538b2c8137a737f18"

    def setUp(self):
        super().setUp()
        self.values = [(31 * n) % 1009 / 8 for n in range(24 * 300)]
        self.turned = [self.values[i * 300 + j] for j in range(300)
                       for i in range(24)]
        self.write("in.npy", npy_bytes("<f4", (24, 300), floats(*self.values)))

    def digest(self, *arguments):
        """The digest of a file, whose shape and name are printed behind it."""
        digest, shape, name = self.ok("digest", *arguments).rstrip("\n").split("  ")
        self.assertRegex(digest, "^[0-9a-f]{32}$")
        self.assertIn(name, arguments)
        return digest, shape

    def test_no_layout_changes_it(self):
        wanted = self.digest("in.npy")
        self.assertEqual(wanted, (self.DIGEST, self.SHAPE))
        self.write("f.npy", npy_bytes("<f4", (24, 300), floats(*self.turned),
                                      fortran=True))
        self.write("big.npy", npy_bytes(">f4", (24, 300), struct.pack(
            ">7200f", *self.values)))
        self.write("turned.bin", b"xyz" + floats(*self.turned) + b"more")
        for arguments in (["f.npy"], ["big.npy"],
                          ["turned.bin", "--from", self.SHAPE + "{0,1}",
                           "--offset", "3"]):
            self.assertEqual(self.digest(*arguments), wanted, arguments)
        for layout in ("{1,0:T(8,128)}", "{0,1:pad(30,301)}", "{1,0:T(8,128)(2,1)}",
                       "{:strides(-301,1)offset(7000)}", "{1,0:E(96)}"):
            out = self.ok("convert", "--host", "in.npy", "out.raw", "--to", layout)
            for memory in [], ["--memory", "1MiB"]:
                self.assertEqual(self.digest("out.raw", "--from", out.strip(),
                                             *memory), wanted, layout)
            self.ok("convert", "--host", "in.npy", "out.safetensors", "--to", layout)
            self.assertEqual(self.digest("out.safetensors"), wanted, layout)

    def test_it_is_found_beside_a_conversion(self):
        self.write("rows.npy", npy_bytes("<f4", (1200, 1500), floats(
            *((31 * n) % 1009 / 8 for n in range(1800000)))))
        for arguments in (["in.npy", "out.npy"], ["in.npy", "out.raw", "--to", "{0,1:E(96)}"],
                          ["rows.npy", "out.npy", "--memory", "1MiB"],
                          ["rows.npy", "out.npy", "--perm", "1,0", "--memory", "1MiB"],
                          ["rows.npy", "out.npy", "--perm", "1,0", "--passes", "2",
                           "--memory", "2MiB"],
                          ["rows.npy", "out.raw", "--to", "{1,0:T(8,128)}", "--io", "direct"],
                          ["rows.npy", "out.safetensors", "--to", "{0,1}"]):
            shape, line = self.ok("convert", "--host", "--digest",
                                  *arguments).splitlines()
            hints = ["--from", shape] if "out.raw" in arguments else []
            self.assertEqual(tuple(line.split("  ")[:2]),
                             self.digest(arguments[1], *hints), arguments)
        self.assertIn(b'"relayout.digest:tensor":"%s"' % line[:32].encode(),
                      self.read("out.safetensors")[:4096])
        self.assertEqual(line[:32], self.digest("rows.npy")[0])
        self.fails(1, "--digest is for numbers with their first byte first",
                   "convert", "in.npy", "out.npy", "--digest", "--byte-order", "big")

    def test_a_changed_bit_changes_it(self):
        wanted = self.digest("in.npy")
        content = bytearray(self.read("in.npy"))
        content[-1] ^= 1
        self.write("other.npy", content)
        self.assertNotEqual(self.digest("other.npy"), wanted)
        self.assertNotEqual(self.digest("in.npy", "--bitcast", "--from",
                                        "u32[24,300]"), wanted)
        self.ok("convert", "--host", "in.npy", "turned.npy", "--perm", "1,0")
        self.assertNotEqual(self.digest("turned.npy"), wanted)

    def test_elements_of_less_than_a_byte(self):
        self.write("bytes.bin", bytes([0, 1, 7, 0xf8, 0xff]))
        self.ok("convert", "--host", "bytes.bin", "packed.bin", "--from", "s4[5]",
                "--to", "{0:E(4)}")
        self.assertEqual(self.digest("bytes.bin", "--from", "s4[5]"),
                         self.digest("packed.bin", "--from", "s4[5]{0:E(4)}"))
        self.fails(1, "bits above the lowest 4", "digest", "in.npy", "--from",
                   "s4[24,1200]", "--bitcast", "--offset", "128")

    def test_several_files_and_json(self):
        lines = self.ok("digest", "in.npy", "in.npy").splitlines()
        self.assertEqual(len(lines), 2)
        found = json.loads(self.ok("digest", "in.npy", "--json").splitlines()[-1])
        self.assertEqual(lines[1], "  ".join(
            found[key] for key in ("digest", "shape", "file")))
        found = self.ok("digest", "in.npy", "--json", "--memory", "1MiB")
        end = json.loads(found.splitlines()[-1])
        self.assertEqual((end["event"], end["digest"]), ("end", lines[0][:32]))
        self.write("long.bin", bytes(5 << 20))
        plan, *_, end = [json.loads(line) for line in self.ok(
            "digest", "long.bin", "--from", "u8[5242880]", "--json", "--memory",
            "1MiB").splitlines()]
        self.assertEqual((plan["event"], plan["num_pieces"]),
                         ("plan", end["num_pieces"]))
        self.write("empty.npy", npy_bytes("<f4", (0, 3), b""))
        self.assertEqual(self.digest("empty.npy")[1], "f32[0,3]")

    def test_refusals(self):
        self.fails(2, "expected input files", "digest")
        self.fails(1, "cannot open nix.npy", "digest", "nix.npy")
        self.fails(1, "has a header, which says its byte order", "digest",
                   "in.npy", "--byte-order", "big")
        self.fails(1, "give their shape with --from", "digest", "a.bin")


class Streams(CliCase):
    """Standard input and output, pipes, and what cannot be replaced."""
    TURN = ["--perm", "1,0"]

    def setUp(self):
        super().setUp()
        self.write("in.npy", npy_bytes("<f4", (2, 3), ABC))
        self.ok("convert", "--host", "in.npy", "wanted.npy", *self.TURN)
        self.wanted = self.read("wanted.npy")

    def shell(self, script, *arguments, **options):
        """Runs a script in which $R is the command, with arguments."""
        done = subprocess.run(
            ["bash", "-c", script, "bash", *arguments], cwd=self.folder,
            env=dict(os.environ, R=os.path.abspath(COMMAND)), timeout=60,
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
            **options)
        return done.returncode, done.stdout, done.stderr.decode()

    def test_what_is_said_is_not_in_the_data(self):
        said = "f32[3,2]{1,0}\n"
        for out in "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
            for to in "| cat", ">o.npy; cat o.npy", "> o.npy; cat o.npy >&2":
                if to.endswith(">&2"):
                    out = "./o.npy"
                    to = to.replace(" >&2", "")
                self.assertEqual(
                    self.shell('$R convert --host in.npy "$@" %s' % to, out,
                               *self.TURN), (0, self.wanted, said), (out, to))
        code, out, err = self.shell(
            '$R op transpose --host --attr perm=1,0 in.npy - --json')
        self.assertEqual((code, out), (0, self.wanted))
        self.assertEqual(json.loads(err)["operation"], "Transpose")
        self.assertEqual(
            self.shell('printf X >o; $R convert --host in.npy - "$@" >>o; cat o',
                       *self.TURN), (0, b"X" + self.wanted, said))
        code, out, err = self.shell(
            '$R op transpose --host --attr perm=1,0 --trace - in.npy t.npy')
        self.assertEqual((code, err), (0, said))
        self.assertIn("traceEvents", json.loads(out))
        code, out, _ = self.shell("$R show --svg - 'f32[2,2]'")
        self.assertTrue(code == 0 and out.startswith(b"<svg"))
        self.fails(1, "is standard output: it cannot be written in pieces", "convert",
                   "--host", "in.npy", "-", "--memory", "1MiB", "--verify")

    def test_pipes_in(self):
        turn = "convert --host %s o.npy --perm 1,0; cat o.npy"
        said = b"f32[3,2]{1,0}\n"
        for script in ("cat in.npy | $R " + turn % "-",
                       "$R " + turn % "- <in.npy",
                       "$R " + turn % "<(cat in.npy)",
                       "mkfifo f; cat in.npy >f & $R " + turn % "f",
                       "(printf X; cat in.npy) >x; (read -N 1; $R " +
                       turn % "-" + ") <x",
                       "cat in.npy | $R op transpose --host --attr perm=1,0 "
                       "--memory 2MiB - o.npy; cat o.npy"):
            self.assertEqual(self.shell(script), (0, said + self.wanted, ""),
                             script)
            os.unlink(self.path("o.npy"))
        self.assertEqual(
            self.shell("cat in.npy | $R convert --host - - --perm 1,0"),
            (0, self.wanted, said.decode()))
        for size, words in (("2000000", "more than the 1048576 bytes"),
                            ("900000", "leaves too little of --memory")):
            code, _, err = self.shell(
                "mkfifo p.raw; head -c %s /dev/zero >p.raw & $R convert --host "
                "--verify --from 'u8[%s]' --memory 1MiB p.raw o.npy; code=$?; "
                "rm p.raw; exit $code" % (size, size))
            self.assertEqual(code, 1, err)
            self.assertIn(words, err)
        self.assertFalse(os.path.exists(self.path("o.npy")))

    def test_a_pipe_without_a_reader(self):
        os.mkfifo(self.path("f"))
        process = subprocess.Popen(
            [COMMAND, "convert", "--host", "in.npy", "f"], cwd=self.folder)
        time.sleep(0.3)
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 143)

    def test_links_to_nothing(self):
        os.mkdir(self.path("far"))
        os.symlink("far/real.npy", self.path("l.npy"))
        os.symlink("none/real.npy", self.path("m.npy"))
        for arguments in (["convert", "--host", "in.npy", *self.TURN],
                          ["op", "transpose", "--host", "--attr", "perm=1,0",
                           "in.npy"], ["show", "f32[2,2]", "--svg"]):
            self.ok(*arguments, "l.npy")
            self.assertTrue(os.path.islink(self.path("l.npy")))
            os.unlink(self.path("far/real.npy"))
            self.fails(1, ["none/real.npy", "No such file"], *arguments,
                       "m.npy")
            self.assertTrue(os.path.islink(self.path("m.npy")))

    def test_names_of_one_output(self):
        os.symlink("x.npy", self.path("l.npy"))
        split = ["op", "split_v", "--host", "--attr", "axis=0", "--attr",
                 "num_or_size_splits=1,1", "in.npy"]
        for other in "./x.npy", self.path("x.npy"), "l.npy":
            self.fails(1, "are one file", *split, "x.npy", other)
            self.fails(1, "are one file", *split, "x.npy",
                       "y.npy", "--trace", other)
        self.write("a.json", b'{"perm": [1, 0]}')
        self.fails(1, "are one file", "op", "transpose", "--host",
                   "--attrs", "a.json", "in.npy", "./a.json")
        self.assert_files("a.json", "in.npy", "l.npy", "wanted.npy")

    def test_an_input_stays_whatever_its_name(self):
        for name, code in ((".o.npy.relayout-part", 1),
                           (".o.npy.relayout-journal", 0),
                           (".x.npy.relayout-part", 0),
                           (".x.npy.relayout-journal-2", 0)):
            self.write(name, self.read("in.npy"))
            result = self.run_command("convert", "--host", name, "o.npy")
            self.assertEqual(result.code, code, result)
            self.assertEqual(self.read(name), self.read("in.npy"))
            os.unlink(self.path(name))

    def as_user(self, *arguments):
        def drop():
            os.setgroups([])
            os.setgid(1234)
            os.setuid(1234)
        try:
            return self.run_command(*arguments, preexec_fn=drop)
        except PermissionError:
            return self.skipTest("others cannot enter the folder of the command")

    def test_what_cannot_be_replaced_is_written_in_place(self):
        if os.geteuid() != 0:
            self.skipTest("only root makes files of others")
        for mode, words in ((0o755, "in a folder that may not be written to"),
                            (0o1777, "another user's in a folder where only")):
            os.chmod(self.folder, mode)
            self.write("o.npy", b"x" * 100000)
            os.chmod(self.path("o.npy"), 0o666)
            result = self.as_user("convert", "--host", "in.npy", "o.npy",
                                  *self.TURN)
            self.assertEqual((result.code, result.err), (0, ""))
            self.assertEqual(self.read("o.npy"), self.wanted)
            result = self.as_user("convert", "--host", "in.npy", "o.npy",
                                  "--memory", "1MiB")
            self.assertEqual(result.code, 1)
            self.assertIn(words, result.err)
            self.assert_files("in.npy", "o.npy", "wanted.npy")
        script = 'cp in.npy s; mount --bind s o.npy && $R convert --host ' \
            'in.npy o.npy "$@" && cmp s wanted.npy'
        code, _, err = self.shell("unshare -m true")
        if code == 0:
            code, _, err = self.shell("unshare -m bash -c '%s' bash \"$@\"" %
                                      script, *self.TURN)
            self.assertEqual((code, err), (0, ""))
            full = "mkdir d; mount -t tmpfs -o size=64k none d; cd d; head -c " \
                "30000 ../b.raw >o.npy; cp o.npy ../s; cp o.npy rest; " \
                "mount --bind o.npy o.npy; $R convert --host --from " \
                "u8[60000] ../b.raw o.npy || cmp ../s o.npy && exit 9"
            self.write("b.raw", b"xy" * 30000)
            code, _, err = self.shell("unshare -m bash -c '%s'" % full)
            self.assertEqual(code, 9)
            self.assertIn("o.npy: No space left on device", err)

    def test_rights_of_who_is_not_in_the_group(self):
        if os.geteuid() != 0:
            self.skipTest("only root makes files of others")
        os.chmod(self.folder, 0o777)
        self.write("o.npy", b"old")
        os.chown(self.path("o.npy"), 1235, 1235)
        os.chmod(self.path("o.npy"), 0o666)
        self.assertEqual(self.as_user("convert", "--host", "in.npy",
                                      "o.npy").code, 0)
        os.chmod(self.path("o.npy"), 0o662)
        os.chown(self.path("o.npy"), 1235, 1235)
        self.assertEqual(self.as_user("convert", "--host", "in.npy",
                                      "o.npy").code, 0)
        found = os.stat(self.path("o.npy"))
        self.assertEqual((found.st_uid, found.st_gid, found.st_mode & 0o777),
                         (1234, 1234, 0o622))


def weights_bytes(members, metadata=None):
    """A safetensors file: each member a name, a type, dimensions and bytes."""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, kind, dims, content in members:
        header[name] = {"dtype": kind, "shape": dims,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def weights_parts(content):
    """The header and the bytes behind it."""
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8:8 + length]), content[8 + length:]


class Weights(CliCase):
    """Members of safetensors files."""

    def setUp(self):
        super().setUp()
        self.write("in.safetensors", weights_bytes(
            [("a.w", "U8", [2, 3], bytes(range(6))), ("b", "BF16", [1], b"\0\1")]))

    def test_a_member_is_moved(self):
        self.ok("convert", "--host", "in.safetensors::a.w", "out.safetensors", "--perm", "1,0")
        content = self.read("out.safetensors")
        self.assertEqual(weights_parts(content), (
            {"tensor": {"dtype": "U8", "shape": [3, 2], "data_offsets": [0, 6]}},
            bytes([0, 3, 1, 4, 2, 5])))
        self.assertEqual((len(content) - 6) % 64, 0)
        self.ok("op", "transpose", "--host", "--attr", "perm=1,0", "out.safetensors", "out.bin")
        self.assertEqual(self.read("out.bin"), bytes(range(6)))

    def test_a_layout_travels(self):
        """It is in the metadata, and what is not moved again is a copy."""
        self.ok("convert", "--host", "in.safetensors::a.w", "f.safetensors", "--to", "{0,1}")
        self.assertEqual(weights_parts(self.read("f.safetensors")), (
            {"__metadata__": {"relayout:tensor": "u8[2,3]{0,1}"},
             "tensor": {"dtype": "U8", "shape": [6], "data_offsets": [0, 6]}},
            bytes([0, 3, 1, 4, 2, 5])))
        self.ok("convert", "--host", "f.safetensors", "again.safetensors", "--to", "{0,1}")
        self.assertEqual(self.read("again.safetensors"), self.read("f.safetensors"))
        self.ok("convert", "--host", "f.safetensors", "plain.bin")
        self.assertEqual(self.read("plain.bin"), bytes(range(6)))

    def test_a_folder_has_an_index(self):
        os.mkdir(self.path("model"))
        os.rename(self.path("in.safetensors"), self.path("model/1.safetensors"))
        self.write("model/model.safetensors.index.json", json.dumps(
            {"weight_map": {"b": "1.safetensors", "a.w": "1.safetensors"}}).encode())
        self.ok("convert", "--host", "model::b", "b.bin")
        # A file of that name is itself.
        self.write("model::b.bin", b"xy")
        self.ok("convert", "--host", "model::b.bin", "own.bin", "--from", "u8[2]")
        self.assertEqual(self.read("own.bin"), b"xy")
        self.assertEqual(self.read("b.bin"), b"\0\1")

    def described(self, path, **options):
        return json.loads(self.ok("describe", "--json", path, **options))

    def test_members_are_described(self):
        name = "w\x1b[31m\n"
        self.write("a.safetensors", weights_bytes(
            [(name, "F32", [1024], bytes(4096)), ("b", "F4", [2, 3], b"xyz")],
            {"relayout:" + name: "f32[3,100]{1,0:T(8,128)}", "sharding:b": "{replicated}",
             "sharding:c": "is none of it"}))
        begin = len(self.read("a.safetensors")) - 4099
        alignment = begin & -begin
        told = self.described("a.safetensors")
        self.assertEqual(told["members"][0], {
            "name": name, "shape": "f32[3,100]{1,0:T(8,128)}", "sharding": None,
            "file": "a.safetensors", "offset_bytes": begin, "bytes": 4096,
            "wasted_bytes": 2896, "alignment_bytes": alignment, "is_too_long": False})
        self.assertEqual({key: told["members"][1][key] for key in (
            "shape", "sharding", "offset_bytes", "bytes", "wasted_bytes")}, {
                "shape": "f4e2m1fn[2,3]{1,0:E(4)}", "sharding": "{replicated}",
                "offset_bytes": begin + 4096, "bytes": 3, "wasted_bytes": 0})
        self.assertEqual((len(told["members"]), told["bytes"], told["wasted_bytes"]),
                         (2, 4099, 2896))
        text = self.ok("describe", "a.safetensors").split("\n")
        self.assertEqual(text[2].split(), [
            "4096", "2896", str(alignment), "w\\x1b[31m\\x0a", "f32[3,100]{1,0:T(8,128)}"])
        self.assertEqual(text[3].split()[-1], "sharding={replicated}")

    def test_a_folder_is_described_file_by_file(self):
        os.mkdir(self.path("model"))
        for n in "12":
            self.write("model/%s.safetensors" % n, weights_bytes([(n, "U8", [1], b"x")]))
        self.write("model/model.safetensors.index.json", json.dumps(
            {"weight_map": {"2": "2.safetensors", "1": "1.safetensors"}}).encode())
        self.assertEqual([(m["name"], m["file"]) for m in self.described("model")["members"]],
                         [(n, "model/%s.safetensors" % n) for n in "21"])
        self.assertIn("\n\nmodel/1.safetensors\n", self.ok("describe", "model"))
        self.fails(1, "cannot open", "describe", "none.safetensors")
        self.fails(1, "'none'", "describe", "none")

    def test_an_array_is_described(self):
        self.write("a.npy", npy_bytes("<f4", (3, 5), bytes(60), fortran=True))
        self.assertEqual(self.described("a.npy"), self.described("f32[3,5]{0,1}"))
        self.write("a.bin", b"xy")
        self.fails(1, "a.bin holds bare bytes", "describe", "a.bin")
        self.fails(1, "'none.npy': position 0", "describe", "none.npy")

    def test_a_member_may_be_too_long_for_a_device(self):
        none = {"OCL_ICD_VENDORS": "/nonexistent"}
        self.assertNotIn("max_buffer_bytes", self.described("in.safetensors", env=none))
        most = self.described("in.safetensors").get("max_buffer_bytes")
        if most is None:
            self.skipTest("there is no device")
        header = {name: {"dtype": "U8", "shape": [most + end], "data_offsets": [
            end * most, most + end * (most + 1)]} for end, name in enumerate("ab")}
        text = json.dumps(header).encode()
        self.write("long.safetensors", struct.pack("<Q", len(text)) + text)
        os.truncate(self.path("long.safetensors"), 8 + len(text) + 2 * most + 1)
        for env, number in ({}, 1), (none, 0):
            told = self.described("long.safetensors", env=env)
            self.assertEqual([m["is_too_long"] for m in told["members"]],
                             [False, number == 1])
            self.assertEqual(told.get("too_long", 0), number)

    def test_refusals(self):
        before = self.read("in.safetensors")
        for words, *arguments in (
                ("has 2 members: name one", "in.safetensors", "x.npy"),
                ("no member 'c'", "in.safetensors::c", "x.npy"),
                ("one file", "in.safetensors::b", "in.safetensors"),
                ("--array is for .npy", "in.safetensors::b", "x.npy", "--array", "0"),
                ("bf16[1]{0}, 2 bytes", "in.safetensors::b", "x.npy", "--from", "bf16[2]"),
                ("--bitcast another type", "in.safetensors::b", "x.npy", "--from", "u16[1]"),
                ("first byte first", "in.safetensors::b", "x.safetensors",
                 "--byte-order", "big")):
            self.fails(1, words, "convert", "--host", *arguments)
        self.fails(1, "one file", "op", "cast", "--attr", "dtype=f32", "--host",
                   "in.safetensors::b", "in.safetensors")
        self.assertEqual(self.read("in.safetensors"), before)
        self.assert_files("in.safetensors")

    def test_with_the_packages(self):
        missing = []
        for save in (save_numpy, save_torch, save_hub, save_flax, save_mlx):
            path = "%s.safetensors" % save.__name__
            try:
                arrays, facts_of, load = save(self.path(path))
            except ImportError as error:
                missing.append(error.name)
                continue
            for name, array in arrays.items():
                with self.subTest(save=save.__name__, name=name):
                    facts = facts_of(array)
                    for out in "x.bin", "x.safetensors":
                        self.ok("convert", "--host", "%s::%s" % (path, name), out)
                    self.assertEqual(self.read("x.bin"), facts[-1])
                    self.assertEqual(facts_of(load(self.path("x.safetensors"))["tensor"]), facts)
        if missing:
            self.skipTest("packages that are not there: " + ", ".join(missing))


# Each saves arrays with a package. They return these; a function for the type, the
# dimensions and the bytes of one; and the function that loads a file.


def numpy_facts(array):
    return array.dtype.name, array.shape, array.tobytes()


def save_numpy(path):
    import numpy
    from safetensors.numpy import load_file, save_file
    arrays = {kind: numpy.arange(30).reshape(5, 3, 2).astype(kind)
              for kind in ("bool", "i1", "u2", "f2", "i4", "u8", "f8", "c8")}
    arrays["none"] = numpy.zeros((0, 3), "f4")
    save_file(arrays, path, metadata={"format": "np"})
    return arrays, numpy_facts, load_file


def torch_facts(array):
    import torch
    return array.dtype, array.shape, array.reshape(-1).view(torch.uint8).numpy().tobytes()


def torch_arrays():
    import torch
    whole = torch.arange(256, dtype=torch.uint8)
    return {kind: whole.clone().view(getattr(torch, kind)).reshape(4, -1) for kind in (
        "int16", "bfloat16", "float16", "float64", "float8_e4m3fn", "float8_e5m2")}


def save_torch(path):
    from safetensors.torch import load_file, save_file
    arrays = {"scalar": torch_arrays()["bfloat16"][0, 1].clone(), **torch_arrays()}
    save_file(arrays, path, metadata={"format": "pt"})
    return arrays, torch_facts, load_file


def save_hub(path):
    """A folder of shards with an index."""
    from huggingface_hub import save_torch_state_dict
    from safetensors.torch import load_file
    os.mkdir(path)
    arrays = torch_arrays()
    save_torch_state_dict(arrays, path, max_shard_size=600)
    return arrays, torch_facts, load_file


def save_flax(path):
    import jax.numpy
    import numpy
    from safetensors.flax import load_file, save_file
    arrays = {kind: jax.numpy.arange(24).reshape(6, 4).astype(kind)
              for kind in ("bfloat16", "float16", "int32")}
    save_file(arrays, path)
    return arrays, lambda array: numpy_facts(numpy.asarray(array)), load_file


def save_mlx(path):
    import mlx.core
    import numpy
    arrays = {kind: mlx.core.arange(24).reshape(6, 4).T.astype(getattr(mlx.core, kind))
              for kind in ("float16", "float32", "uint8", "complex64")}
    mlx.core.save_safetensors(path, arrays)
    return arrays, lambda array: numpy_facts(numpy.array(array)), mlx.core.load


if __name__ == "__main__":
    main()
