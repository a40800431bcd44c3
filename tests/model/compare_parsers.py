#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library's parsers against others, text by text.

    compare_parsers.py LIBRARY COUNT [--seed SEED]

COUNT shapes are drawn, most of them spoiled, and read by rlo_shape_parse and by
relayout_model.py: both have to refuse, or both to read the same shape. As many
headers of .npy files are read by rlo_npy_parse and by NumPy, if that is there:
what the library reads, NumPy has to read too, and the same; of what NumPy reads
the library may refuse what its documentation says. A verdict that differs is
printed, and ends the run with exit code 1.
"""

import argparse
import ctypes
import io
import math
import os
import re
import struct
import sys

import generate_cases
import relayout_model as model
from model_bytes import Random
from model_dtypes import DTYPES

try:
    import numpy
except ImportError:
    numpy = None

DEFAULT_SEED = 20261120
MAX_SHOWN = 20
LARGEST = (1 << 63) - 1
# Statuses for what is beyond what the library counts with.
BEYOND = {3: "RLO_OVERFLOW", 4: "RLO_UNSUPPORTED"}


class Error(ctypes.Structure):
    """The beginning of rlo_error."""
    _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char_p)]


class Library:
    """What is asked of the library, without the size of any struct."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.rlo_error_last.restype = ctypes.POINTER(Error)
        self.c.rlo_shape_parse.argtypes = [
            ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]
        self.c.rlo_shape_format.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
        self.c.rlo_shape_format.restype = ctypes.c_size_t
        self.c.rlo_npy_parse.argtypes = [
            ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_void_p]
        self.shape = ctypes.c_void_p()
        if self.c.rlo_shape_create(ctypes.byref(self.shape)) != 0:
            sys.exit("compare_parsers.py: out of memory")
        self.text = ctypes.create_string_buffer(1 << 16)
        self.header = ctypes.create_string_buffer(1 << 16)

    def message(self):
        return self.c.rlo_error_last().contents.message.decode()

    def format(self, shape):
        self.c.rlo_shape_format(shape, self.text, len(self.text))
        return self.text.value.decode()

    def parse_shape(self, text):
        """The status, and the shape as text if it was read."""
        raw = text.encode()
        status = self.c.rlo_shape_parse(raw, len(raw), self.shape)
        return status, self.format(self.shape) if status == 0 else None

    def parse_npy(self, raw):
        """The status and, if it was read, the shape, where the data begin, and
        whether their bytes are swapped and their type unknown."""
        size = struct.unpack_from("N", self.header)[0]
        status = self.c.rlo_npy_parse(raw, len(raw), -1, self.header)
        if status != 0:
            return status, None
        # The last members, of which two are bools, before a text of 32 bytes.
        offset, is_swapped, is_unknown = struct.unpack_from(
            "q??", self.header, size - 48)
        text = self.format(ctypes.addressof(self.header) + 8)
        return 0, (text, offset, is_swapped, is_unknown)

    def learn_header_size(self):
        """The library says how much it knows to who claims too much."""
        struct.pack_into("N", self.header, 0, len(self.header))
        file = io.BytesIO()
        numpy.save(file, numpy.zeros(0))
        self.parse_npy(file.getvalue())
        known = re.search(r"knows (\d+) bytes", self.message())
        struct.pack_into("N", self.header, 0, int(known.group(1)))


class Verdicts:
    """Counts what was compared, and shows what differs."""

    def __init__(self):
        self.both, self.neither, self.beyond, self.wrong = 0, 0, 0, 0

    def complain(self, text, *what):
        self.wrong += 1
        if self.wrong <= MAX_SHOWN:
            print("DIFFERS: %r: %s" % (text, ", ".join(map(str, what))))

    def print(self, name):
        print("%s: %d read by both, %d refused by both, %d beyond the library's "
              "limits, %d differ" % (name, self.both, self.neither, self.beyond,
                                     self.wrong))


# ---------------------------------------------------------------------- drawing

TOKEN = re.compile(r"0x[0-9a-fA-F]+|-?[0-9]+|[A-Za-z_][A-Za-z_0-9]*|'[^']*'|\s+|.")
NUMBERS = ("0", "1", "-1", "2", "3", "7", "8", "16", "31", "32", "33", "128",
           "129", "1000003", "2147483648", "4294967297", "4611686018427387904",
           "9223372036854775807", "9223372036854775808",
           "18446744073709551616", "-9223372036854775808")


def spoil(random, text, words):
    """A few tokens deleted, doubled, swapped or put in the place of others."""
    tokens = TOKEN.findall(text)
    for _ in range(random.between(1, 3)):
        if not tokens:
            break
        at = random.below(len(tokens))
        kind = random.below(6)
        if kind == 0:
            del tokens[at]
        elif kind == 1:
            tokens.insert(at, tokens[at])
        elif kind == 2:
            other = random.below(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 3:
            tokens.insert(at, random.choose(words))
        elif tokens[at].lstrip("-").isdigit():
            tokens[at] = random.choose(NUMBERS)
        else:
            tokens[at] = random.choose(words)
    return "".join(tokens)


def drawn_shape(random):
    dtype = random.choose(DTYPES)
    dims = generate_cases.random_dims(random, random.between(0, 5), 200)
    if random.chance(15):
        text = generate_cases.random_strided(random, dtype, dims, True)
    else:
        text = generate_cases.plain(dtype, dims) + generate_cases.random_layout(
            random, dtype, dims, True, 0)
    return text if random.chance(30) else spoil(random, text, SHAPE_WORDS)


# What the model knows: the library's notation has more.
SHAPE_WORDS = ("[", "]", "{", "}", "(", ")", ",", ":", ":", "T", "L", "E", "S",
               "pad", "fill", "strides", "offset", "zero", "highest", "0x7f",
               " ", "f32", "u4", "bf16", "{}", "()", "T(8,128)", "L(4)", "E(16)",
               "S(1)", "0", "1", "2", "3")

TYPES = ("<f4", ">f4", "|b1", "<f8", "<f2", "<c8", ">c16", "|u1", "|i1", "<u2",
         "=i4", "<i8", ">u8", "|V1", "|V2", "<f16", "<c32", "|O", "<U4", "|S3",
         "<M8", "<i3", "", "float64", "f8",
         "|f8", "d", "?", "L", "u8", ">U1", ">m8[ns]", "|S8", "|V7", "int16")
NPY_WORDS = ("{", "}", "(", ")", ",", ":", "True", "False", "None", "'descr'",
             "'shape'", "'fortran_order'", " ", "0", "1", "3", "()", "(3,)",
             "'<f4'", "[]", "'")


def drawn_header(random):
    dims = generate_cases.random_dims(random, random.between(0, 5), 200)
    values = {"descr": "'%s'" % random.choose(TYPES),
              "fortran_order": random.choose(("True", "False")),
              "shape": "(%s)" % "".join("%d, " % size for size in dims)}
    keys = random.shuffled(values) if random.chance(20) else sorted(values)
    text = "{%s}" % "".join("'%s': %s, " % (key, values[key]) for key in keys)
    if not random.chance(40):
        text = spoil(random, text, NPY_WORDS)
    return text


# -------------------------------------------------------------------- comparing

# What Python's literals may be and NumPy never writes, so that the library does
# not read it: brackets around a tuple, strings one behind the other, 00.
ODD_LITERAL = re.compile(rb"\(\s*\(|'\s*'|\b0\d")


def read_by_model(text):
    try:
        return model.parse(text)
    except (model.ModelError, RecursionError):
        return None


def is_beyond_counting(shape):
    """A number, or a size in bits, that 64 bits do not hold."""
    numbers = [*shape.dims, *(shape.pad or ()), *(shape.strides or ()),
               shape.offset, shape.tail, shape.element_bits, shape.space]
    numbers += [size for tile in shape.tiles for size in tile if size != "*"]
    if any(abs(number) > LARGEST >> 1 for number in numbers):
        return True
    if shape.strides is not None:
        slots = 1 + abs(shape.offset) + sum(
            abs(stride) * max(size, 1)
            for stride, size in zip(shape.strides, shape.dims))
    else:
        slots = math.prod(max(size, 1) for size in (shape.pad or shape.dims))
        slots *= math.prod(2 * size for tile in shape.tiles
                           for size in tile if size != "*")
        slots += shape.tail
    slots = max(slots, math.prod(shape.dims))
    return slots * max(shape.element_bits, 1) > LARGEST


def compare_shapes(library, count, seed):
    verdicts = Verdicts()
    for number in range(count):
        random = Random("shape %d" % number, seed)
        text = drawn_shape(random)
        status, back = library.parse_shape(text)
        expected = read_by_model(text)
        if status == 0 and expected is not None:
            verdicts.both += 1
            if read_by_model(back) != expected:
                verdicts.complain(text, "read as " + back, expected)
        elif status != 0 and expected is None:
            verdicts.neither += 1
        elif expected is not None and status in BEYOND and (
                is_beyond_counting(expected)):
            verdicts.beyond += 1
        else:
            verdicts.complain(text, "read" if status == 0
                              else library.message(), expected)
    verdicts.print("shapes")
    return verdicts.wrong


def npy_bytes(random, text):
    raw = text.encode()
    version = random.choose((1, 1, 2, 3))
    head = 10 if version == 1 else 12
    padding = -(head + len(raw) + 1) % 64 if random.chance(80) else 0
    raw += b" " * padding + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(raw))
    whole = b"\x93NUMPY" + bytes([version, 0]) + length + raw
    if random.chance(5):
        at = random.below(12)
        whole = whole[:at] + bytes([random.below(256)]) + whole[at + 1:]
    if random.chance(5):
        whole = whole[:random.below(len(whole))]
    return whole


def read_by_numpy(raw):
    """(dims, is_fortran, dtype, where the data begin), or None."""
    file = io.BytesIO(raw)
    try:
        version = numpy.lib.format.read_magic(file)
        # No public function reads version 3.
        dims, is_fortran, dtype = numpy.lib.format._read_array_header(
            file, version)
    except Exception:  # pylint: disable=broad-except
        return None
    return dims, is_fortran, dtype, file.tell()


NUMPY_NAMES = {"b1": "pred", "f2": "f16", "f4": "f32", "f8": "f64", "c8": "c64",
               "c16": "c128"}
NUMPY_NAMES.update({kind[0] + str(size): kind + str(8 * size)
                    for kind, size in (("u", 1), ("u", 2), ("u", 4), ("u", 8))})
NUMPY_NAMES.update({"i" + str(size): "s" + str(8 * size) for size in (1, 2, 4, 8)})


def bytes_alone(dtype):
    """The type of integers that stands for a type of NumPy's that the library
    lacks, and how many of them are an element."""
    unit = 4 if dtype.kind == "U" else (
        dtype.itemsize if dtype.itemsize in (1, 2, 4, 8) else 1)
    return "u%d" % (8 * unit), dtype.itemsize // unit


def expected_header(found):
    """What the library should make of NumPy's; None: it may refuse that."""
    dims, is_fortran, dtype, offset = found
    name, count = NUMPY_NAMES.get(dtype.str[1:]), 1
    is_unknown = name is None
    if is_unknown:
        name, count = bytes_alone(dtype)
    if (dtype.hasobject or dtype.itemsize == 0 or len(dims) > 32 - (count > 1)
            or any(type(size) is not int or not 0 <= size <= LARGEST
                   for size in dims)
            or math.prod(dims) * 128 * count > LARGEST):
        return None
    order = list(range(len(dims)) if is_fortran else reversed(range(len(dims))))
    if count > 1:
        order, dims = [len(dims)] + order, (*dims, count)
    text = "%s[%s]" % (name, ",".join(map(str, dims)))
    shape = model.parse(text + "{%s}" % ",".join(map(str, order))
                        if dims else text)
    is_swapped = dtype.str[0] == (">" if sys.byteorder == "little" else "<")
    return shape, offset, is_swapped, is_unknown


def compare_headers(library, count, seed):
    verdicts = Verdicts()
    library.learn_header_size()
    for number in range(count):
        random = Random("npy %d" % number, seed)
        raw = npy_bytes(random, drawn_header(random))
        status, got = library.parse_npy(raw)
        found = read_by_numpy(raw)
        expected = expected_header(found) if found is not None else None
        if status == 0 and expected is not None:
            verdicts.both += 1
            if (model.parse(got[0]), *got[1:]) != expected:
                verdicts.complain(raw, got, expected)
        elif status == 0 or (expected is not None
                             and ODD_LITERAL.search(raw) is None):
            verdicts.complain(raw, got if status == 0 else library.message(),
                              found)
        elif found is not None:
            verdicts.beyond += 1
        else:
            verdicts.neither += 1
    verdicts.print("headers")
    return verdicts.wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=int(
        os.environ.get("RELAYOUT_TEST_SEED", DEFAULT_SEED)))
    arguments = parser.parse_args()
    print("repeat with: compare_parsers.py LIBRARY %d --seed %d" % (
        arguments.count, arguments.seed))
    library = Library(arguments.library)
    wrong = compare_shapes(library, arguments.count, arguments.seed)
    if numpy is not None:
        wrong += compare_headers(library, arguments.count, arguments.seed)
    else:
        print("headers: left out, there is no NumPy")
    sys.exit(1 if wrong > 0 else 0)


if __name__ == "__main__":
    main()
