# SPDX-License-Identifier: Apache-2.0
"""What computing on the way should give, from exact fractions.

Written from the rules in include/relayout/problem.h and from nothing else
of the library: small floats are found by looking through the list of all their
values, large ones by Python's own conversions."""

import bisect
import math
import struct
from fractions import Fraction

import model_dtypes
from model_dtypes import FLOATS, storage_bits

INF = "inf"
NAN = "nan"

# name: (signed, bits)
INTEGERS = {name: (name[0] == "s", bits)
            for name, bits in model_dtypes.INTEGERS.items() if bits >= 4}

TYPES = ["pred", *INTEGERS, *FLOATS]


def size_of(name):
    return storage_bits(name) // 8


def is_whole(name):
    return name == "pred" or name in INTEGERS


class Number:
    """A value: a fraction, an infinity or NaN; and the sign, for -0."""

    def __init__(self, value, negative=False):
        self.value = value
        self.negative = negative


def decode(name, bits):
    """The value of a pattern."""
    if name == "pred":
        return Number(Fraction(int(bits != 0)))
    if name in INTEGERS:
        signed, width = INTEGERS[name]
        bits &= (1 << width) - 1
        value = bits - (1 << width) if signed and bits >> (width - 1) else bits
        return Number(Fraction(value), value < 0)
    exponent_bits, mantissa_bits, bias, specials = FLOATS[name]
    width = exponent_bits + mantissa_bits
    negative = bits >> width & 1 == 1
    magnitude = bits & ((1 << width) - 1)
    mantissa = magnitude & ((1 << mantissa_bits) - 1)
    exponent = magnitude >> mantissa_bits
    if specials == "ieee" and exponent == (1 << exponent_bits) - 1:
        return Number(NAN if mantissa else INF, negative)
    if specials == "fn" and magnitude == (1 << width) - 1:
        return Number(NAN)
    if specials == "fnuz" and negative and magnitude == 0:
        return Number(NAN)
    if exponent:
        mantissa += 1 << mantissa_bits
    else:
        exponent = 1
    value = Fraction(mantissa) * Fraction(2) ** (exponent - bias -
                                                 mantissa_bits)
    return Number(-value if negative else value, negative)


_magnitudes = {}


def magnitudes(name):
    """All values of a small float that are not negative, in order; what
    follows the greatest stands behind it."""
    if name not in _magnitudes:
        exponent_bits, mantissa_bits, bias, specials = FLOATS[name]
        width = exponent_bits + mantissa_bits
        last = 1 << width
        if specials == "ieee":
            last -= 1 << mantissa_bits
        elif specials == "fn":
            last -= 1
        values = [decode(name, bits).value for bits in range(last)]
        step = values[-1] - values[-2]
        _magnitudes[name] = (values, values[-1] + step)
    return _magnitudes[name]


def nearest(name, size):
    """The pattern of a magnitude, to nearest even; one too many: too large."""
    values, beyond = magnitudes(name)
    if size >= beyond:
        return len(values)
    at = bisect.bisect_right(values, size) - 1
    above = values[at + 1] if at + 1 < len(values) else beyond
    low, high = size - values[at], above - size
    return at + (high < low or (high == low and at % 2 == 1))


def to_double(value):
    """A fraction as a double, to nearest even; overflows to infinity."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.copysign(math.inf, value)


def round_f32(fraction):
    """A fraction as the pattern of a float, without rounding twice."""
    low_bits = struct.unpack("<I", struct.pack("<f", 0.0))[0]
    size = abs(fraction)
    if size >= Fraction(2) ** 128:
        return 0x7F800000
    low, high = 0, 0x7F800000  # the pattern after the greatest is 2^128
    value = lambda bits: (Fraction(2) ** 128 if bits == 0x7F800000 else
                          decode("f32", bits).value)
    while high - low > 1:
        middle = (low + high) // 2
        if value(middle) <= size:
            low = middle
        else:
            high = middle
    below, above = size - value(low), value(high) - size
    return low_bits + low + (above < below or
                             (above == below and low % 2 == 1))


def encode(name, number):
    """The pattern of a value, by the rules."""
    value = number.value
    if name == "pred":
        return int(value in (INF, NAN) or value != 0)
    if name in INTEGERS:
        signed, width = INTEGERS[name]
        lowest = -(1 << (width - 1)) if signed else 0
        highest = (1 << (width - signed)) - 1
        if value == NAN:
            whole = 0
        elif value == INF:
            whole = lowest if number.negative else highest
        else:
            whole = min(max(math.trunc(value), lowest), highest)
        return whole & ((1 << width) - 1)
    exponent_bits, mantissa_bits, _, specials = FLOATS[name]
    width = exponent_bits + mantissa_bits
    sign = 1 << width if number.negative else 0
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    nan = {
        "ieee": infinity | 1 << (mantissa_bits - 1),
        "fn": (1 << width) - 1,
        "fnuz": 1 << width,
        "none": 0
    }[specials]
    if value == NAN:
        return nan
    if value == INF:
        magnitude, is_large = infinity, True
    elif name == "f64":
        return struct.unpack("<Q", struct.pack("<d", to_double(value)))[0] | (
            1 << 63 if number.negative else 0)
    elif name == "f32":
        return round_f32(value) | sign
    else:
        magnitude = nearest(name, abs(value))
        is_large = magnitude == len(magnitudes(name)[0])
    if is_large:
        if specials == "ieee":
            return infinity | sign
        if specials == "none":
            return (1 << width) - 1 | sign
        return nan
    if specials == "fnuz" and magnitude == 0:
        return 0
    return magnitude | sign


def convert(src, dst, bits):
    if is_whole(src) and is_whole(dst):
        value = int(decode(src, bits).value)
        width = 64 if dst == "pred" else INTEGERS[dst][1]
        return int(value != 0) if dst == "pred" else value & ((1 << width) - 1)
    return encode(dst, decode(src, bits))


class Computer:
    """Arithmetic in the compute type, one rounding each."""

    def __init__(self, src, dst, in_f64):
        self.src, self.dst = src, dst
        if is_whole(src) and is_whole(dst):
            self.kind = "integer"
        elif "f64" in (src, dst) or in_f64:
            self.kind = "f64"
        else:
            self.kind = "f32"

    def round(self, value):
        if self.kind != "f32" or math.isnan(value) or math.isinf(value):
            return value
        try:
            return struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)

    def load(self, name, bits):
        number = decode(name, bits)
        if self.kind == "integer":
            return int(number.value)
        if number.value == NAN:
            return math.nan
        if number.value == INF:
            return -math.inf if number.negative else math.inf
        if self.kind == "f32" and abs(number.value).numerator >> 53:
            # A double would round first.
            pattern = encode("f32", number)
            return struct.unpack("<f", struct.pack("<I", pattern))[0]
        return self.round(
            math.copysign(to_double(abs(number.value)),
                          -1 if number.negative else 1))

    def store(self, value):
        if self.kind == "integer":
            value &= (1 << 64) - 1
            return (int(value != 0) if self.dst == "pred" else
                    value & ((1 << INTEGERS[self.dst][1]) - 1))
        if math.isnan(value):
            return encode(self.dst, Number(NAN))
        negative = math.copysign(1, value) < 0
        if math.isinf(value):
            return encode(self.dst, Number(INF, negative))
        return encode(self.dst, Number(Fraction(value), negative))

    def add(self, a, b):
        if self.kind == "integer":
            return a + b
        return self.round(a + b)

    def scale(self, factor, a):
        if self.kind == "integer":
            return int(factor) * a
        return self.round(self.round(factor) * a)

    def sum(self, rows):
        """Rows of values, in the order of the canonical box."""
        blocks = []
        for row in rows:
            for begin in range(0, len(row), 1024):
                lanes = [0 if self.kind == "integer" else 0.0] * 16
                for n, value in enumerate(row[begin:begin + 1024]):
                    lanes[n % 16] = self.add(lanes[n % 16], value)
                while len(lanes) > 1:
                    half = len(lanes) // 2
                    lanes = [
                        self.add(lanes[l], lanes[l + half])
                        for l in range(half)
                    ]
                blocks.append(lanes[0])
        # Blocks are joined as a binary counter carries: equal sizes meet.
        stack = []
        for block in blocks:
            size = 1
            while stack and stack[-1][0] == size:
                block = self.add(stack.pop()[1], block)
                size *= 2
            stack.append((size, block))
        total = stack.pop()[1]
        while stack:
            total = self.add(stack.pop()[1], total)
        return total

    def clamp(self, value, low, high):
        if self.kind == "integer":
            value = (value + (1 << 63)) % (1 << 64) - (1 << 63)
            low, high = (min(max(v, -(1 << 63)), (1 << 63) - 1)
                         for v in (low, high))
            return low if value < low else high if value > high else value
        low, high = self.round(low), self.round(high)
        return low if value < low else high if value > high else value

    def combine(self, value, alpha, beta, old_bits, bounds=None):
        value = self.scale(alpha, value)
        if bounds is not None:
            value = self.clamp(value, *bounds)
        if beta != 0:
            old = self.load(self.dst, old_bits)
            value = self.add(value, self.scale(beta, old))
        return self.store(value)
