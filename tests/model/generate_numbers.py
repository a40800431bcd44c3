# SPDX-License-Identifier: Apache-2.0
"""Write cases of computing on the way: README.md has the lines."""

import argparse
import math
import os
import random

import numbers_model as model
from model_file import spoil, write_lines

EDGES = [0, 1, 2, 3, 7, 8, 15, 16, 127, 128, 255, 256, 32767, 32768, 65535]


def pattern(rng, name):
    """A pattern with something to round, to overflow or to lose."""
    width = 8 * model.size_of(name)
    if width <= 8 or rng.random() < 0.2:
        return rng.getrandbits(width)
    if name in model.INTEGERS:
        value = rng.choice(EDGES + [1 << rng.randrange(width)])
        value += rng.choice([-1, 0, 0, 1])
        return rng.choice([value, -value]) & ((1 << width) - 1)
    exponent_bits, mantissa_bits, bias, _ = model.FLOATS[name]
    low, high = max(0, bias - 160), min(2 * bias + 1, bias + 140)
    mantissa = rng.getrandbits(mantissa_bits)
    mantissa &= ~((1 << rng.randint(0, mantissa_bits)) - 1)
    bits = rng.randint(low, high) << mantissa_bits | mantissa
    bits = max(0, bits + rng.choice([-1, 0, 0, 1]))
    return bits | rng.getrandbits(1) << (exponent_bits + mantissa_bits)


def moderate(rng, name):
    """A pattern of a number of a size with which sums can be taken."""
    if name not in model.FLOATS:
        return rng.getrandbits(8 * model.size_of(name))
    exponent_bits, mantissa_bits, bias, _ = model.FLOATS[name]
    exponent = rng.randint(max(0, bias - 3), bias + 1)
    return (rng.getrandbits(1) << (exponent_bits + mantissa_bits)
            | exponent << mantissa_bits | rng.getrandbits(mantissa_bits))


def to_hex(name, values):
    return b"".join(v.to_bytes(model.size_of(name), "little")
                    for v in values).hex() or "-"


class Writer:

    def __init__(self):
        self.lines = []

    def put(self, src, dst, dims, summed, alpha, beta, in_f64, x, y, wanted,
            bounds=None):
        low, high = bounds or (math.nan, math.nan)
        words = [
            str(len(self.lines)), src, dst,
            ",".join(map(str, dims)) or "-",
            ",".join(map(str, summed)) or "-",
            float(alpha).hex(),
            float(beta).hex(),
            float(low).hex(),
            float(high).hex(),
            str(int(in_f64)),
            to_hex(src, x),
            to_hex(dst, y),
            to_hex(dst, wanted)
        ]
        self.lines.append("\t".join(words))


def conversions(rng, out):
    for src in model.TYPES:
        for dst in model.TYPES:
            x = [pattern(rng, src) for _ in range(24)]
            y = [0] * len(x)
            wanted = [model.convert(src, dst, bits) for bits in x]
            if src == dst:
                continue  # nothing is computed: bits stay as they are
            out.put(src, dst, [len(x)], [], 1, 0, False, x, y, wanted)


def pick_types(rng):
    src = rng.choice(model.TYPES)
    dst = src if rng.random() < 0.4 else rng.choice(model.TYPES)
    return src, dst


def pick_factor(rng, is_whole):
    factor = rng.choice([0, 1, -1, 2, 0.3, -1.7, 1e-3, 5])
    return int(factor) if is_whole else factor


def pick_bounds(rng, src, dst, is_whole):
    """None, or bounds of a clamp."""
    if rng.random() < 0.6 or is_whole and "u64" in (src, dst):
        return None
    low, high = sorted(
        rng.choice([-math.inf, -1e30, -300, -1.7, 0, 0.3, 6, 200, math.inf])
        for _ in range(2))
    if is_whole:
        low, high = (v if math.isinf(v) else int(max(v, -2**62))
                     for v in (low, high))
    return low, high


def combinations(rng, out):
    for _ in range(350):
        src, dst = pick_types(rng)
        is_whole = model.is_whole(src) and model.is_whole(dst)
        alpha, beta = pick_factor(rng, is_whole), pick_factor(rng, is_whole)
        bounds = pick_bounds(rng, src, dst, is_whole)
        if alpha == 1 and beta == 0 and bounds is None:
            continue
        in_f64 = not is_whole and rng.random() < 0.2
        computer = model.Computer(src, dst, in_f64)
        x = [pattern(rng, src) for _ in range(30)]
        y = [pattern(rng, dst) for _ in range(30)]
        wanted = [
            computer.combine(computer.load(src, a), alpha, beta, b, bounds)
            for a, b in zip(x, y)
        ]
        out.put(src, dst, [30], [], alpha, beta, in_f64, x, y, wanted, bounds)


def rows_of(values, dims, summed):
    """For each cell, the rows of its values: the canonical order of a
    row-major source, where summed neighbours are one axis."""
    strides = [math.prod(dims[k + 1:]) for k in range(len(dims))]
    kept = [k for k in range(len(dims)) if k not in summed and dims[k] > 1]
    axes = []
    for k in range(len(dims)):
        if k not in summed or dims[k] == 1:
            continue
        if axes and axes[-1][1] == dims[k] * strides[k]:
            axes[-1] = (axes[-1][0] * dims[k], strides[k])
        else:
            axes.append((dims[k], strides[k]))

    def walk(axes_left, base):
        if not axes_left:
            return [base]
        count, stride = axes_left[0]
        return [
            p for i in range(count)
            for p in walk(axes_left[1:], base + i * stride)
        ]

    for begin in walk([(dims[k], strides[k]) for k in kept], 0):
        rows = []
        for row in walk(axes[:-1], begin):
            rows.append([values[p] for p in walk(axes[-1:], row)])
        yield rows


def check_error(name, computer, rows, total):
    """The sum is near the true one: the bound of sums taken pairwise."""
    if computer.kind == "integer":
        return
    terms = [v for row in rows for v in row]
    if not all(map(math.isfinite, terms)) or not math.isfinite(total):
        return
    unit = 2.0**-53 if computer.kind == "f64" else 2.0**-24
    depth = 64 + 4 + math.log2(len(terms) + 1) + 1
    bound = depth * unit * math.fsum(map(abs, terms))
    error = abs(math.fsum(terms) - total)
    assert error <= bound * 1.01, (name, error, bound)


def sums(rng, out):
    sizes = [1, 2, 3, 5, 16, 17, 33, 70, 1025, 2100, 3500]
    addable = [t for t in model.TYPES if t not in ("pred", "s4", "u4")]
    for number in range(200):
        src = rng.choice(addable)
        dst = src if rng.random() < 0.5 else rng.choice(addable)
        rank = rng.randint(1, 4)
        while True:
            dims = [rng.choice(sizes) for _ in range(rank)]
            if math.prod(dims) <= 5000:
                break
        summed = [k for k in range(rank) if rng.random() < 0.6]
        if all(dims[k] == 1 for k in summed):
            continue
        is_whole = model.is_whole(src) and model.is_whole(dst)
        alpha, beta = 1, 0
        if number % 3 == 0:
            alpha, beta = pick_factor(rng, is_whole), pick_factor(
                rng, is_whole)
        in_f64 = not is_whole and rng.random() < 0.2
        computer = model.Computer(src, dst, in_f64)
        x = [moderate(rng, src) for _ in range(math.prod(dims))]
        values = [computer.load(src, bits) for bits in x]
        wanted, y = [], []
        for rows in rows_of(values, dims, summed):
            old = moderate(rng, dst)
            total = computer.sum(rows)
            check_error(src, computer, rows, total)
            y.append(old)
            wanted.append(computer.combine(total, alpha, beta, old))
        out.put(src, dst, dims, summed, alpha, beta, in_f64, x, y, wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--spoiled-out", required=True)
    arguments = parser.parse_args()
    seed = int(os.environ.get("RELAYOUT_TEST_SEED", "20261120"))
    print(f"repeat with: RELAYOUT_TEST_SEED={seed} {parser.prog}")
    rng = random.Random(seed)
    out = Writer()
    conversions(rng, out)
    combinations(rng, out)
    sums(rng, out)
    lines = out.lines
    print(f"{len(lines)} cases")
    write_lines(arguments.out, seed, lines)
    chosen = (lines[5], lines[len(lines) // 2], lines[-1])
    write_lines(arguments.spoiled_out, seed, [spoil(l) for l in chosen])


if __name__ == "__main__":
    main()
