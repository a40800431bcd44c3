#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Digests by the words of relayout/digest.h, an element at a time.

    digest_model.py LIBRARY [--seed SEED]

Computes the digests of KNOWN, which never change, and of drawn layouts, and
compares each with what the library computes. Exit code 1 if one differs.
"""

import argparse
import ctypes
import os
import sys

import relayout_model as model
from model_bytes import Random, source_bytes
from model_dtypes import value_bits

MASK = (1 << 64) - 1
# XLA's numbers of the types that are drawn.
NUMBERS = {"pred": 1, "s32": 4, "u8": 6, "f16": 10, "f32": 11, "f64": 12,
           "c64": 15, "bf16": 16, "c128": 18, "s4": 21, "u1": 31, "f6e3m2fn": 35}
DRAWN = 300

# The slots hold source_bytes. One digest each, for all time.
KNOWN = """
f32[] 8dba23b2a4f8f4fe70b30185d72930f8
f32[0,3]{1,0} 40197c3832415f90c275aa91ec89ec0d
f32[3,5]{1,0} 8dad441d4f853dfd2006f46826f10a10
f32[3,5]{0,1:T(2,4)pad(4,6)} a98fd4827c02998e16b234871bf06b82
bf16[20,40]{1,0:T(8,16)(2,1)} 5886e55b401afb3dca502c50c682ab92
s4[9]{0:E(4)} ae565cd760ff8eb922951124c084fe9c
s4[9]{0} cb40b3a34b474ed8bd5376826544d5e3
u1[20]{0:E(1)} d35c5ec977bc8323a5bd91767cea6607
pred[10]{0} a73448535bc3760864ba533a37d03c9d
c64[2,3]{1,0} f03ebd898b91e601d39f11e2270b6eae
c128[2,3]{0,1} b819a5ab4dcc411722d313331e319e8f
f64[7]{0} ad0c8364d520e5bfbf85d4435f70e991
u8[300]{0} 4eb120f175d121e256bbd8acba3c92d0
f6e3m2fn[10]{0:E(6)} d6ab5710cb66b2dc51285e70e1ea3346
""".strip().splitlines()


def mix(x, b):
    a = x ^ b
    a = (a ^ a >> 32) * 0xBF58476D1CE4E5B9 & MASK
    a = (a ^ a >> 29) * 0x94D049BB133111EB & MASK
    a ^= a >> 32
    c = (b + a) * 0xFF51AFD7ED558CCD & MASK
    c = (c ^ c >> 32) * 0xC4CEB9FE1A85EC53 & MASK
    c ^= c >> 29
    return a ^ c, c


def mix_at(x, j):
    return mix(x, j * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15 & MASK)


def words(shape, data):
    """The words of an array and their places."""
    memory = int.from_bytes(data, "little")
    bits = shape.element_bits
    places = model.slot_map(shape)
    width = value_bits(shape.dtype)
    for i, index in enumerate(model.indices(shape)):
        element = memory >> places[index] * bits & (1 << bits) - 1
        if shape.dtype == "pred":
            yield i, int(element != 0)
        elif width == 128:
            yield 2 * i, element & MASK
            yield 2 * i + 1, element >> 64 & MASK
        else:
            yield i, element & (1 << width) - 1


def digest(text, data):
    shape = model.parse(text)
    total = 0
    for place, word in words(shape, data):
        high, low = mix_at(word, place)
        total += (high << 64) + low
    high, low = total >> 64 & MASK, total & MASK
    for w in (NUMBERS[shape.dtype], len(shape.dims), *shape.dims):
        high, low = mix(low ^ w, high)
    return "%016x%016x" % (high, low)


class Digest(ctypes.Structure):
    """rlo_digest"""
    _fields_ = [("high", ctypes.c_uint64), ("low", ctypes.c_uint64)]


class Library:
    """The library's digests, without the size of any other struct."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.rlo_shape_parse.argtypes = [
            ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]
        self.c.rlo_digest_add.argtypes = [
            ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p, ctypes.c_int64,
            ctypes.c_void_p]
        self.c.rlo_digest_finish.argtypes = [ctypes.c_void_p] * 3
        self.shape = ctypes.c_void_p()
        self.check(self.c.rlo_shape_create(ctypes.byref(self.shape)))

    @staticmethod
    def check(status):
        if status != 0:
            sys.exit("digest_model.py: the library returns status %d" % status)

    def digest(self, text, data):
        value = Digest()
        this = ctypes.byref(value)
        self.check(self.c.rlo_shape_parse(text.encode(), len(text), self.shape))
        self.check(self.c.rlo_digest_add(self.shape, 0, data, len(data), this))
        self.check(self.c.rlo_digest_finish(self.shape, this, this))
        return "%016x%016x" % (value.high, value.low)


def draw(random):
    """A text of a shape, with or without tiles, padding and an element size."""
    dtype = random.choose(sorted(NUMBERS))
    dims = [random.between(1, 7) for _ in range(random.between(0, 4))]
    order = random.shuffled(range(len(dims)))
    extras = ""
    if random.chance(50):
        tile = [random.between(1, 4) for _ in range(random.between(1, 2))]
        extras += "T(%s)" % ",".join(map(str, tile))
    if random.chance(30):
        extras += "E(%d)" % random.between(value_bits(dtype), 128)
    if random.chance(30) and dims:
        padded = [d + random.between(0, 3) for d in dims]
        extras += "pad(%s)" % ",".join(map(str, padded))
    layout = ",".join(map(str, order)) + (extras and ":" + extras)
    return "%s[%s]%s" % (dtype, ",".join(map(str, dims)), layout and "{%s}" % layout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--seed", type=int,
                        default=int(os.environ.get("RELAYOUT_TEST_SEED", 20261126)))
    options = parser.parse_args()
    library = Library(options.library)
    random = Random("digest", options.seed)
    cases = [line.rsplit(" ", 1) for line in KNOWN]
    cases += [(text, None) for text in (draw(random) for _ in range(DRAWN))]
    wrong = 0
    for text, known in cases:
        data = source_bytes(model.physical_bytes(model.parse(text)))
        expected, found = digest(text, data), library.digest(text, data)
        if found != expected or known not in (None, found):
            wrong += 1
            print("DIFFERS: %s: library %s, model %s, known %s" %
                  (text, found, expected, known))
    print("%d digests, seed %d: %d differ" % (len(cases), options.seed, wrong))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
