# SPDX-License-Identifier: Apache-2.0
"""Self-test of the model, by published vectors. Run: python3 test_model.py"""

import math
import unittest

import generate_cases
import relayout_model as model
from relayout_model import ModelError, parse


def rows(text):
    """The slots of a matrix, row by row, from the array that is built."""
    shape = parse(text)
    places = model.slot_map(shape)
    return [
        [places[i, j] for j in range(shape.dims[1])]
        for i in range(shape.dims[0])
    ]


# The published vectors of tiled layouts, by their numbers there: slots, and the slots
# of some indices.
TILED = {
    "t1": ("f32[3,5]{1,0:T(2,2)}", 24, {(2, 3): 17}),
    "t3": ("f32[4,8]{1,0:T(2,4)(2,1)}", 32, {}),
    "t4": ("bf16[2048]{0:T(1024)(128)(2,1)}", 2048, {
        (0,): 0, (128,): 1, (1,): 2, (127,): 254, (129,): 3, (255,): 255,
        (256,): 256, (1023,): 1023, (1024,): 1024}),
    "t5": ("bf16[2,8,128]{2,1,0:T(8,128)(2,1)}", 2048,
           {(0, 0, 0): 0, (0, 2, 0): 256}),
    "t6": ("f32[8,4]{1,0:T(2,2)}", 32, {(3, 1): 11}),
    "t6 untiled": ("f32[8,4]{1,0}", 32, {(3, 1): 13}),
    "t7": ("f32[8]{0:T(2,2)}", 16, {(5,): 9}),
    "t8": ("f32[3]{0:T(8,128)}", 1024, {(2,): 2}),
    "t9": ("u32[]{:T(128)}", 128, {(): 0}),
    "t10": ("f32[3,5]{0,1:T(2,2)}", 24, {}),
    "t11": ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", 12432, {
        (0, 0, 1, 0, 0): 3, (0, 0, 0, 0, 3): 6, (0, 0, 0, 1, 0): 19,
        (1, 2, 3, 4, 5): 8307, (1, 6, 7, 10, 9): 12430}),
    "t14": ("f32[32,256]{1,0:T(8,128)}", 8192, {
        (0, 1): 1, (1, 0): 128, (3, 5): 389, (8, 0): 2048, (0, 128): 1024,
        (31, 255): 8191}),
    "t15": ("f32[32,256]{1,0:T(8,128)(2,1)}", 8192, {
        (0, 1): 2, (1, 0): 1, (3, 5): 267, (8, 0): 2048, (0, 128): 1024}),
    "t19": ("f32[6]{0:T(4)(2,2)}", 8, {(5,): 3}),
    "t19 ordered": ("f32[2,3,4]{1,2,0:T(2,2)}", 32, {(1, 2, 3): 30}),
    "t21": ("bf16[4,2]{1,0:T(8,128)(2,1)}", 1024, {}),
    "blocks": ("f32[2,6,3,3]{3,2,1,0:T(4,1,1)}", 144, {(1, 5, 2, 1): 137}),
    "blocks of blocks": (
        "f32[32,48,3,2]{3,2,1,0:T(16,1,1,1)(16,1,1,16,1,1,1)}", 9216, {}),
    "rows": ("f32[3,5]{1,0:T(8)}", 24,
             {(i, j): 8 * i + j for i in range(3) for j in range(5)}),
}
TILED.update({"order %d" % n: (text, math.prod(parse(text).dims), {index: slot})
              for n, (text, index, slot) in enumerate((
                  ("f32[100]{0}", (42,), 42),
                  ("f32[10,20]{0,1}", (0, 0), 0),
                  ("f32[10,20]{0,1}", (9, 19), 199),
                  ("f32[10,20]{0,1}", (3, 5), 53),
                  ("f32[10,20]{1,0}", (9, 19), 199),
                  ("f32[10,20]{1,0}", (3, 5), 65),
                  ("f32[10,20,30]{2,1,0}", (3, 5, 7), 1957),
                  ("f32[10,20,30]{2,1,0}", (8, 15, 27), 5277),
                  ("f32[10,20,30]{1,2,0}", (3, 5, 7), 1945),
                  ("f32[10,20,30]{1,2,0}", (8, 15, 27), 5355),
                  ("f32[10,20,30,40]{3,2,1,0}", (3, 5, 7, 9), 78289),
                  ("f32[10,20,30,40]{3,2,1,0}", (8, 15, 27, 33), 211113)))})


class TiledVectors(unittest.TestCase):
    def test_slots(self):
        for name, (text, slots, places) in TILED.items():
            shape = parse(text)
            with self.subTest(name=name):
                built = model.cells(shape)
                self.assertEqual((model.slots(shape), len(built)), (slots, slots))
                self.assertEqual({built[slot]: slot for slot in places.values()},
                                 places)
                self.assertEqual(sum(i is not None for i in built),
                                 math.prod(shape.dims))

    def test_rows(self):
        self.assertEqual(
            rows("f32[3,5]{1,0:T(2,2)}"),
            [[0, 1, 4, 5, 8], [2, 3, 6, 7, 10], [12, 13, 16, 17, 20]])
        self.assertEqual(
            rows("f32[3,5]{0,1:T(2,2)}"),
            [[0, 2, 8, 10, 16], [1, 3, 9, 11, 17], [4, 6, 12, 14, 20]])
        self.assertEqual(
            rows("f32[4,8]{1,0:T(2,4)(2,1)}"),
            [list(range(first, first + 16, 2)) for first in (0, 1, 16, 17)])

    def test_combined_dimensions(self):
        flat = model.slot_map(parse("f32[112,110]{1,0:T(2,3)}"))
        for index, place in model.slot_map(parse(TILED["t11"][0])).items():
            a, b, c, d, e = index
            self.assertEqual(place, flat[(a * 7 + b) * 8 + c, d * 10 + e])


class Padding(unittest.TestCase):
    letters = b"abcdef"

    def move(self, text, prefill=b"?"):
        src, dst = parse("u8[2,3]"), parse(text)
        return model.relayout(
            src, dst, (0, 1), self.letters, prefill * model.physical_bytes(dst)
        )

    def test_the_seed_example(self):
        zero = b"\0"
        self.assertEqual(
            self.move("u8[2,3]{0,1:pad(3,5)fill(zero)}"),
            b"ad" + zero + b"be" + zero + b"cf" + 7 * zero,
        )
        self.assertEqual(
            self.move("u8[2,3]{1,0:pad(3,5)fill(zero)}"),
            b"abc" + 2 * zero + b"def" + 7 * zero,
        )
        self.assertEqual(self.move("u8[2,3]{0,1}"), b"adbecf")
        self.assertEqual(self.move("u8[2,3]{1,0}"), b"abcdef")

    def test_without_fill_the_padding_stays(self):
        expected = b"ad?be?cf???????"
        for fill in ("", "fill(unknown)", "fill(invalid)"):
            self.assertEqual(
                self.move("u8[2,3]{0,1:pad(3,5)%s}" % fill), expected
            )

    def test_index_maps(self):
        self.assertEqual(
            rows("f32[2,3]{0,1:pad(3,5)}"), [[0, 3, 6], [1, 4, 7]]
        )
        self.assertEqual(
            rows("f32[2,3]{1,0:pad(3,5)}"), [[0, 1, 2], [5, 6, 7]]
        )

    def test_padding_is_one_tile(self):
        self.assertEqual(
            model.cells(parse("f32[2,3]{1,0:pad(3,5)}")),
            model.cells(parse("f32[2,3]{1,0:T(3,5)}")),
        )
        self.assertEqual(
            model.cells(parse("f32[2,3]{0,1:pad(3,5)}")),
            model.cells(parse("f32[2,3]{0,1:T(5,3)}")),
        )

    def test_sizes(self):
        self.assertEqual(model.physical_bytes(parse("f32[10,20]")), 800)
        self.assertEqual(
            model.physical_bytes(parse("f32[10,20]{1,0:pad(15,21)}")), 1260
        )
        self.assertEqual(
            model.physical_bytes(parse("s4[64,128]{1,0:E(4)}")), 4096
        )
        self.assertEqual(
            model.physical_bytes(parse("s4[9216,6144]{1,0:T(64,128)(8,1)E(4)}")),
            28311552,
        )

    def test_an_empty_array_can_have_padding(self):
        shape = parse("u8[0,3]{1,0:pad(2,3)fill(one)}")
        self.assertEqual(
            model.relayout(parse("u8[0,3]"), shape, (0, 1), b"", b"?" * 6),
            b"\1" * 6,
        )

    def test_tail(self):
        self.assertEqual(model.slots(parse("f32[2,3]{1,0:L(4)}")), 8)
        self.assertEqual(model.slots(parse("f32[0]{0:L(4)}")), 0)
        self.assertEqual(self.move("u8[2,3]{1,0:L(4)}"), b"abcdef??")

    def test_strided_writes_elements_only(self):
        self.assertEqual(
            self.move("u8[2,3]{:strides(-4,1)offset(5)}"), b"?def?abc"
        )


class Packing(unittest.TestCase):
    def test_vector(self):
        src, dst = parse("u4[16]{0:E(8)}"), parse("u4[16]{0:E(4)}")
        elements = model._split_elements(bytes(range(16)), 8, 16)
        packed = model._join_elements(
            [model._element_of_bits(e[0], 4) for e in elements], 4, bytes(8)
        )
        self.assertEqual(packed.hex(), "1032547698badcfe")
        with self.assertRaises(ModelError):
            model.relayout(src, dst, (0,), bytes(16), bytes(8))

    def test_transposed_nibbles(self):
        src = parse("u4[2,3]{1,0:E(4)}")
        dst = parse("u4[3,2]{1,0:E(4)}")
        out = model.relayout(src, dst, (1, 0), b"\x10\x32\x54", b"\xff" * 3)
        self.assertEqual(out.hex(), "304152")

    def test_bits_behind_the_last_slot_stay(self):
        shape = parse("u1[3]{0:E(1)}")
        out = model.relayout(shape, shape, (0,), b"\x05", b"\xf0")
        self.assertEqual(out, b"\xf5")

    def test_fill_in_six_bits(self):
        src = parse("f6e3m2fn[1]{0:E(6)}")
        dst = parse("f6e3m2fn[1]{0:E(6)pad(4)fill(lowest)}")
        out = model.relayout(src, dst, (0,), b"\x2a", bytes(3))
        word = int.from_bytes(out, "little")
        self.assertEqual(
            [word >> 6 * k & 63 for k in range(4)], [0x2A, 0x3F, 0x3F, 0x3F]
        )


class Constants(unittest.TestCase):
    # zero, one, lowest, highest; None: the type has no such value.
    table = {
        "pred": (0, 1, 0, 1),
        "s1": (0, None, 1, 0),
        "u1": (0, 1, 0, 1),
        "s4": (0, 1, 8, 7),
        "u4": (0, 1, 0, 15),
        "s8": (0, 1, 0x80, 0x7F),
        "u64": (0, 1, 0, 2**64 - 1),
        "f16": (0, 0x3C00, 0xFC00, 0x7C00),
        "bf16": (0, 0x3F80, 0xFF80, 0x7F80),
        "f32": (0, 0x3F800000, 0xFF800000, 0x7F800000),
        "f64": (0, 0x3FF0 << 48, 0xFFF0 << 48, 0x7FF0 << 48),
        "c64": (0, 0x3F800000, None, None),
        "c128": (0, 0x3FF0 << 48, None, None),
        "f8e5m2": (0, 0x3C, 0xFC, 0x7C),
        "f8e4m3": (0, 0x38, 0xF8, 0x78),
        "f8e3m4": (0, 0x30, 0xF0, 0x70),
        "f8e4m3fn": (0, 0x38, 0xFE, 0x7E),
        "f8e4m3b11fnuz": (0, 0x58, 0xFF, 0x7F),
        "f8e5m2fnuz": (0, 0x40, 0xFF, 0x7F),
        "f8e4m3fnuz": (0, 0x40, 0xFF, 0x7F),
        "f8e8m0fnu": (None, 0x7F, 0x00, 0xFE),
        "f4e2m1fn": (0, 0x2, 0xF, 0x7),
        "f6e3m2fn": (0, 0xC, 0x3F, 0x1F),
        "f6e2m3fn": (0, 0x8, 0x3F, 0x1F),
    }

    def test_table(self):
        for dtype, values in self.table.items():
            names = ("zero", "one", "lowest", "highest")
            for name, expected in zip(names, values):
                with self.subTest(dtype=dtype, name=name):
                    if expected is None:
                        with self.assertRaises(ModelError):
                            model.constant(dtype, name)
                    else:
                        self.assertEqual(
                            model.constant(dtype, name), expected
                        )


class Text(unittest.TestCase):
    def test_words(self):
        shape = parse(
            "bf16[64, 100]{1,0:T(8,128)(2,1)L(1024)E(16)S(1)pad(64,128)"
            "fill(lowest)} // a comment"
        )
        self.assertEqual(shape.tiles, ((8, 128), (2, 1)))
        self.assertEqual((shape.tail, shape.element_bits), (1024, 16))
        self.assertEqual((shape.space, shape.pad), (1, (64, 128)))
        self.assertEqual(model.fill_bits(shape), 0xFF80)
        self.assertEqual(
            parse("f32[2,3]{:strides(8,1)offset(3)}").strides, (8, 1)
        )
        self.assertEqual(
            model.fill_bits(parse("f32[2]{0:pad(3)fill(0x7fc00000)}")),
            0x7FC00000,
        )
        self.assertEqual(parse("f32[2,/* */3]").m2m, (1, 0))

    def test_errors(self):
        for text in (
            "f32[2,3]{1}",
            "f32[2,3]{1,1}",
            "f32[2,3]{0,1,2}",
            "f32[2,3]{1,0:pad(1,3)}",
            "f32[2,3]{1,0:pad(3)}",
            "f32[2,3]{1,0:T(0,1)}",
            "f32[2,3]{1,0:T(2,*)}",
            "f32[2,3]{1,0:T()}",
            "f32[2,3]{1,0:L(0)}",
            "f32[-1]",
            "f32[2,3]foo",
            "f32[2,3]{1,0:fill(purple)}",
            "c64[2]{0:pad(3)fill(lowest)}",
            "f32[2]{:strides(-1)}",
            "g32[2]",
        ):
            with self.subTest(text=text):
                with self.assertRaises(ModelError):
                    parse(text)


class Relayouts(unittest.TestCase):
    def test_permutation_is_that_of_numpy(self):
        # For a [2,3,4] array, transpose((2,0,1)) has shape [4,2,3] and
        # b[z,x,y] = a[x,y,z].
        src, dst = parse("u8[2,3,4]"), parse("u8[4,2,3]")
        data = bytes(range(24))
        out = model.relayout(src, dst, (2, 0, 1), data, bytes(24))
        for x, y, z in model.indices(src):
            self.assertEqual(out[6 * z + 3 * x + y], data[12 * x + 4 * y + z])

    def test_there_and_back(self):
        random = generate_cases.Random("test_model/there_and_back", 1)
        for _ in range(60):
            dims = generate_cases.random_dims(random, random.between(0, 4), 60)
            there = generate_cases.random_dense(random, "u16", dims, 400, True)
            src, mid = parse(generate_cases.plain("u16", dims)), parse(there)
            perm = tuple(range(len(dims)))
            data = generate_cases.source_bytes(model.physical_bytes(src))
            blank = bytes(model.physical_bytes(mid))
            stored = model.relayout(src, mid, perm, data, blank)
            back = model.relayout(mid, src, perm, stored, bytes(len(data)))
            self.assertEqual(back, data)

    def test_source_may_repeat_elements(self):
        src = parse("u8[2,3]{:strides(0,1)offset(1)}")
        dst = parse("u8[2,3]")
        self.assertEqual(
            model.relayout(src, dst, (0, 1), b"xabc", bytes(6)), b"abcabc"
        )


class Generator(unittest.TestCase):
    def test_counts_and_hash(self):
        self.assertEqual(sum(1 for _ in generate_cases.exhaustive()), 6565)
        # FNV-1a's published values.
        self.assertEqual(generate_cases.fnv1a(b""), 0xCBF29CE484222325)
        self.assertEqual(generate_cases.fnv1a(b"foobar"), 0x85944171F73967E8)

    def test_a_case_can_be_made_again(self):
        for name in ("l000007", "p000003", "o000001", "d000002", "x001234"):
            self.assertEqual(
                generate_cases.case_line(generate_cases.find_case(name, 5)),
                generate_cases.case_line(generate_cases.find_case(name, 5)),
            )
        self.assertNotEqual(
            generate_cases.find_case("l000007", 5)[2:],
            generate_cases.find_case("l000007", 6)[2:],
        )

    def test_every_feature_occurs(self):
        text = ""
        for n in range(400):
            text += "\t".join(map(str, generate_cases.layout_case(n, 1))) + "\n"
        for word in (
            ":T(", ")(", "*", "L(", "pad(", "strides(", "offset(", "-",
            "fill(zero)", "fill(one)", "fill(lowest)", "fill(highest)",
            "fill(0x", "fill(unknown)", "[]",
        ):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
