# SPDX-License-Identifier: Apache-2.0
"""Element types: sizes, and the bits of zero, one, lowest and highest, from
what the formats are rather than from a list of codes."""

from collections import namedtuple


class ModelError(ValueError):
    """A text or a request that has no meaning."""


# A binary float: exponent bits, mantissa bits, bias, and which special values
# the all-ones exponent holds. "ieee": infinity and NaNs. "fn": only the code
# with every bit set is NaN. "none": every code is finite. "fnuz": NaN is the
# code of minus zero, every other code is finite.
Float = namedtuple("Float", "exponent mantissa bias special")

FLOATS = {
    "f16": Float(5, 10, 15, "ieee"),
    "bf16": Float(8, 7, 127, "ieee"),
    "f32": Float(8, 23, 127, "ieee"),
    "f64": Float(11, 52, 1023, "ieee"),
    "f8e5m2": Float(5, 2, 15, "ieee"),
    "f8e4m3": Float(4, 3, 7, "ieee"),
    "f8e3m4": Float(3, 4, 3, "ieee"),
    "f8e4m3fn": Float(4, 3, 7, "fn"),
    "f8e4m3b11fnuz": Float(4, 3, 11, "fnuz"),
    "f8e5m2fnuz": Float(5, 2, 16, "fnuz"),
    "f8e4m3fnuz": Float(4, 3, 8, "fnuz"),
    "f4e2m1fn": Float(2, 1, 1, "none"),
    "f6e3m2fn": Float(3, 2, 3, "none"),
    "f6e2m3fn": Float(2, 3, 1, "none"),
}
COMPLEX = {"c64": "f32", "c128": "f64"}
INTEGERS = {
    kind + str(bits): bits for kind in "su" for bits in (1, 2, 4, 8, 16, 32, 64)
}
DTYPES = ["pred", "f8e8m0fnu"] + list(FLOATS) + list(COMPLEX) + list(INTEGERS)


def value_bits(dtype):
    """Bits that carry the value of one element."""
    if dtype == "pred":
        return 1
    if dtype == "f8e8m0fnu":
        return 8
    if dtype in FLOATS:
        f = FLOATS[dtype]
        return 1 + f.exponent + f.mantissa
    if dtype in COMPLEX:
        return 2 * value_bits(COMPLEX[dtype])
    if dtype in INTEGERS:
        return INTEGERS[dtype]
    raise ModelError("no such dtype: %r" % dtype)


def storage_bits(dtype):
    """Bits one element takes when the layout does not say: whole bytes."""
    return (value_bits(dtype) + 7) // 8 * 8


def constant(dtype, name):
    """The bits of zero, one, lowest or highest, as a non-negative int."""
    bits = value_bits(dtype)
    if dtype == "pred":
        return {"zero": 0, "one": 1, "lowest": 0, "highest": 1}[name]
    if dtype == "f8e8m0fnu":
        # 2**(code - 127); code 255 is NaN; there is neither zero nor sign.
        values = {"one": 127, "lowest": 0, "highest": 254}
        if name not in values:
            raise ModelError("%s has no %s" % (dtype, name))
        return values[name]
    if dtype in INTEGERS:
        signed = dtype[0] == "s"
        least = -(1 << (bits - 1)) if signed else 0
        greatest = least + (1 << bits) - 1
        value = {"zero": 0, "one": 1, "lowest": least, "highest": greatest}[name]
        if not least <= value <= greatest:
            raise ModelError("%s has no %s" % (dtype, name))
        return value % (1 << bits)
    if dtype in COMPLEX:
        if name in ("lowest", "highest"):
            raise ModelError("complex numbers have no %s" % name)
        # Real part first, that is in the low bits; the imaginary part is zero.
        return constant(COMPLEX[dtype], name)
    f = FLOATS[dtype]
    sign = 1 << (f.exponent + f.mantissa)
    if name == "zero":
        return 0
    if name == "one":
        return f.bias << f.mantissa
    if f.special == "ieee":
        greatest = ((1 << f.exponent) - 1) << f.mantissa  # infinity
    elif f.special == "fn":
        greatest = sign - 2  # all ones is NaN
    else:
        greatest = sign - 1
    return greatest if name == "highest" else sign | greatest
