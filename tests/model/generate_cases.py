# SPDX-License-Identifier: Apache-2.0
"""Makes relayout cases and index maps with expectations from the model.

    generate_cases.py --out cases.tsv --index-out index.tsv [--seed N] [--jobs N]
    generate_cases.py --show ID [--seed N]     the expected bytes of one case
    generate_cases.py --show-index 'SHAPE'     the expected map of one shape

The seed is --seed, else the environment's RELAYOUT_TEST_SEED, else 1. A case
depends on the seed and its own number only. README.md defines the formats and
the rules by which memories are filled and hashed.
"""

import argparse
import itertools
import math
import multiprocessing
import os
import sys

import relayout_model as model
from model_bytes import MASK, Random, fnv1a, mix, prefill_bytes, source_bytes
from model_file import move_line, spoil, write_lines
from relayout_model import parse

# How many cases of each seeded class there are when nothing else is said.
COUNTS = {"layouts": 16000, "packed": 3000, "odd": 1000, "deep": 500}
INDEX_COUNTS = {"rank3": 6000, "rank4": 4000, "strided": 600}

# ----------------------------------------------------------------------- texts


def comma(numbers):
    return ",".join(map(str, numbers))


def plain(dtype, dims):
    return "%s[%s]" % (dtype, comma(dims))


def random_dims(random, rank, max_elements):
    if rank and random.chance(4):
        dims = [random.between(0, 3) for _ in range(rank)]
        return [0] + dims[1:] if random.chance(50) else dims
    dims = []
    left = max_elements
    for _ in range(rank):
        most = max(1, min(left, random.choose((1, 2, 3, 4, 5, 8, 9, 17, 40))))
        dims.append(random.between((most + 1) // 2, most))
        left //= dims[-1]
    return random.shuffled(dims)


def random_fill(random, dtype):
    kinds = ["zero", "one", "lowest", "highest", "bits", "bits", "unknown"]
    kind = random.choose(kinds)
    if kind == "unknown":
        return random.choose(("unknown", "invalid"))
    if kind != "bits":
        try:
            model.constant(dtype, kind)
            return kind
        except model.ModelError:
            pass
    digits = (model.value_bits(dtype) + 3) // 4
    bits = mix(random.below(MASK)) | mix(random.below(MASK)) << 64
    return "0x%0*x" % (digits, bits & ((1 << model.value_bits(dtype)) - 1))


def random_tile(random, rank_now):
    """One tile for an array that has rank_now physical dimensions."""
    size = random.between(1, max(1, min(rank_now + random.below(2), 4)))
    tile = [random.choose((1, 2, 2, 3, 4, 4, 5, 7, 8, 16)) for _ in range(size)]
    if random.chance(12):
        tile.insert(random.below(len(tile)), "*")
        if random.chance(25):
            tile.insert(0, "*")
    return tile


def random_layout(random, dtype, dims, with_fill, bits):
    """The braces of a dense layout; bits of an element, 0 for the type's."""
    rank = len(dims)
    m2m = random.shuffled(range(rank))
    if random.chance(15):
        m2m = list(range(rank - 1, -1, -1))
    words = ""
    kind = random.choose(
        ("plain", "pad", "pad", "tile", "tile", "tiles", "tiles", "all", "tail")
    )
    if kind in ("tile", "tiles", "all"):
        rank_now = rank
        levels = 1 if kind == "tile" else random.between(1, 2)
        levels += kind == "tiles" and random.chance(10)
        words += "T"
        for _ in range(levels):
            tile = random_tile(random, rank_now)
            words += "(%s)" % comma(tile)
            rank_now = max(rank_now, len(tile)) + len(tile) - tile.count("*") * 2
    if kind == "tail" or random.chance(15):
        words += "L(%d)" % random.choose((1, 2, 3, 7, 16, 50))
    if bits:
        words += "E(%d)" % bits
    elif random.chance(5):
        words += "E(%d)" % model.storage_bits(dtype)
    if random.chance(5):
        words += "S(%d)" % random.between(1, 5)
    if rank and kind in ("pad", "all"):
        most = random.choose((1, 3, 3))
        words += "pad(%s)" % comma(d + random.between(0, most) for d in dims)
    if with_fill and not random.chance(15):
        words += "fill(%s)" % random_fill(random, dtype)
    if not words and (not rank or random.chance(20)):
        return "" if not rank else "{%s}" % comma(m2m)
    return "{%s%s}" % (comma(m2m), ":" + words if words else "")


def random_dense(random, dtype, dims, max_slots, with_fill, bits=0):
    """A dense shape of at most max_slots slots."""
    while True:
        text = plain(dtype, dims) + random_layout(
            random, dtype, dims, with_fill, bits
        )
        if model.slots(parse(text)) <= max_slots:
            return text


def random_strided(random, dtype, dims, is_source, bits=0):
    """A strided shape; of a destination, every element has its own slot."""
    rank = len(dims)
    strides = [0] * rank
    loose = is_source and random.chance(40)
    step = random.choose((1, 1, 1, 2, 3))
    for k in random.shuffled(range(rank)):
        if loose:
            # Anything: repeated, overlapping, interleaved.
            strides[k] = random.choose((0, 0, 1, 1, 2, 3, 5, step))
        else:
            strides[k] = step
            step *= max(1, dims[k])
            step += random.choose((0, 0, 0, 1, 2, 5))
        if random.chance(30):
            strides[k] = -strides[k]
    reach = sum(s * (d - 1) for s, d in zip(strides, dims) if s < 0 and d > 0)
    offset = -reach + random.choose((0, 0, 1, 3, 8))
    words = "E(%d)" % bits if bits else ""
    return "%s{:%sstrides(%s)offset(%d)}" % (
        plain(dtype, dims),
        words,
        comma(strides),
        offset,
    )


# ----------------------------------------------------------------------- cases

# A case is (id, class, perm, source text, destination text).

WIDTHS = (
    ("u8", "u8", "s8", "pred", "f8e5m2", "f8e4m3fn", "u4"),
    ("u16", "u16", "s16", "f16", "bf16"),
    ("u32", "u32", "s32", "f32", "f32"),
    ("u64", "u64", "s64", "f64", "c64"),
    ("c128",),
)
PACKED = ("u4", "s4", "f4e2m1fn", "u2", "s2", "u1")


def exhaustive():
    """Ranks 0..4, dimensions 0..3, every permutation, row-major both sides."""
    number = 0
    dtypes = ("u8", "u16", "u32", "u64", "c128")
    for rank in range(5):
        for dims in itertools.product(range(4), repeat=rank):
            for perm in itertools.permutations(range(rank)):
                dtype = dtypes[number % len(dtypes)]
                yield (
                    "x%06d" % number,
                    "exhaustive",
                    perm,
                    plain(dtype, dims),
                    plain(dtype, [dims[p] for p in perm]),
                )
                number += 1


def _random_side(random, dtype, dims, is_source, bits):
    if dims and random.chance(15):
        return random_strided(random, dtype, dims, is_source, bits)
    most = 600 if random.chance(70) else 2400
    most = max(most, 2 * math.prod(dims))
    with_fill = not is_source or random.chance(20)
    return random_dense(random, dtype, dims, most, with_fill, bits)


def _random_case(name, group, random, dtype, dims, bits=0):
    perm = tuple(random.shuffled(range(len(dims))))
    if random.chance(20):
        perm = tuple(range(len(dims)))
    turned = [dims[p] for p in perm]
    return (
        name,
        group,
        perm,
        _random_side(random, dtype, dims, True, bits),
        _random_side(random, dtype, turned, False, bits),
    )


def layout_case(number, seed):
    name = "l%06d" % number
    random = Random(name, seed)
    dtype = random.choose(random.choose(WIDTHS))
    rank = random.choose((0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6))
    dims = random_dims(random, rank, random.choose((20, 100, 250, 600)))
    return _random_case(name, "layouts", random, dtype, dims)


def packed_case(number, seed):
    """Elements of less than a byte, packed."""
    name = "p%06d" % number
    random = Random(name, seed)
    dtype = random.choose(PACKED)
    rank = random.choose((0, 1, 1, 2, 2, 2, 3, 3, 4, 5))
    dims = random_dims(random, rank, random.choose((20, 100, 600)))
    return _random_case(name, "packed", random, dtype, dims, model.value_bits(dtype))


def odd_case(number, seed):
    """Elements that are no power of two of bits, or larger than their type."""
    name = "o%06d" % number
    random = Random(name, seed)
    dtype = random.choose(PACKED + ("f6e3m2fn", "u8", "pred", "bf16", "f32"))
    bits = model.value_bits(dtype)
    bits = random.between(bits, min(bits + random.choose((2, 8, 40)), 128))
    rank = random.choose((0, 1, 1, 2, 2, 2, 3, 3, 4))
    dims = random_dims(random, rank, random.choose((20, 100, 250)))
    return _random_case(name, "odd", random, dtype, dims, bits)


def deep_case(number, seed):
    """Ranks 7..32, most dimensions 1."""
    name = "d%06d" % number
    random = Random(name, seed)
    dtype = random.choose(random.choose(WIDTHS))
    rank = random.between(7, model.MAX_RANK)
    most = random.between(4, 9)
    dims = [random.choose((2, 2, 3)) if k < most else 1 for k in range(rank)]
    dims = random.shuffled(dims)
    while math.prod(dims) > 600:
        dims[dims.index(max(dims))] = 1
    return _random_case(name, "deep", random, dtype, dims)


SEEDED = {
    "l": ("layouts", layout_case),
    "p": ("packed", packed_case),
    "o": ("odd", odd_case),
    "d": ("deep", deep_case),
}


def find_case(name, seed):
    if name[0] == "x":
        return next(itertools.islice(exhaustive(), int(name[1:]), None))
    return SEEDED[name[0]][1](int(name[1:]), seed)


def expected_memory(case):
    src, dst = parse(case[3]), parse(case[4])
    return model.relayout(
        src,
        dst,
        case[2],
        source_bytes(model.physical_bytes(src)),
        prefill_bytes(model.physical_bytes(dst)),
    )


def case_line(case):
    name, group, perm, src, dst = case
    expected = expected_memory(case)
    return move_line(name, group, "x:0 relayout:" + comma(perm), [src], dst, expected)


# ------------------------------------------------------------------ index maps


def index_texts(seed):
    """Shapes whose whole map is compared, in both directions."""
    one = ("", "T(1)", "T(2)", "T(3)", "T(5)", "T(2,3)", "T(1,2)", "T(2)(2)")
    one += ("T(4)(2,1)", "T(3)(2,2)", "T(3)(2)L(5)", "L(3)", "T(2,2,2)", "T(*,3)")
    two = one + ("T(2,2)", "T(3,2)", "T(2,2)(2,1)", "T(2,3)(3,2)", "T(2,4)(1,2,1,3)")
    two += ("T(*,2)", "T(*,3)(2,2)", "T(2,2)(*,3)", "T(2,3)L(7)", "T(*,1,2)")
    three = two + ("T(2,2,2)(2,1)", "T(*,2,2)", "T(2,*,3)", "T(*,*,4)")
    three += ("T(3,2)(*,*,2)", "T(2,1,2)(3,1,1)", "T(2,2)(2,1,1,2)")
    families = {0: one, 1: one, 2: two, 3: three, 4: three}

    def text(dims, m2m, pads, words):
        if any(pads):
            words += "pad(%s)" % comma(d + p for d, p in zip(dims, pads))
        layout = "{%s%s}" % (comma(m2m), ":" + words if words else "")
        return plain("u8", dims) + ("" if layout == "{}" else layout)

    for rank in range(3):
        for dims in itertools.product(range(5), repeat=rank):
            for m2m in itertools.permutations(range(rank)):
                for pads in itertools.product(range(3), repeat=rank):
                    for words in families[rank]:
                        yield text(dims, m2m, pads, words)
    for rank in (3, 4):
        random = Random("index/rank%d" % rank, seed)
        for _ in range(INDEX_COUNTS["rank%d" % rank]):
            padded = random.chance(50)
            yield text(
                [random.between(not random.chance(3), 4) for _ in range(rank)],
                random.shuffled(range(rank)),
                [random.below(3) if padded else 0 for _ in range(rank)],
                random.choose(families[rank]),
            )
    random = Random("index/strided", seed)
    for _ in range(INDEX_COUNTS["strided"]):
        dims = [random.between(0, 4) for _ in range(random.between(1, 4))]
        is_source = random.chance(30)
        yield random_strided(random, "u8", dims, is_source)


def _is_nested(shape):
    """True if each stride steps over everything the smaller ones reach: then
    anybody can see that elements have slots of their own."""
    reach = 0
    for stride, size in sorted(
        (abs(s), d) for s, d in zip(shape.strides, shape.dims) if d > 1
    ):
        if stride <= reach:
            return False
        reach += stride * (size - 1)
    return True


def index_line(text):
    """text, slots, hash of index -> slot, hash of slot -> index."""
    shape = parse(text)
    places = model.slot_map(shape)
    # In logical row-major order, each slot as eight bytes, low first.
    forward = b"".join(
        places[index].to_bytes(8, "little") for index in model.indices(shape)
    )
    inverse = "-"
    if len(set(places.values())) == len(places):
        # Each slot: 0, or 1 and the coordinates as bytes.
        inverse = bytearray()
        for index in model.cells(shape):
            inverse += b"\0" if index is None else bytes((1,) + index)
        inverse = "%016x" % fnv1a(inverse)
        if shape.strides is not None and not _is_nested(shape):
            inverse = "?" + inverse
    count = model.slots(shape)
    return "%s\t%d\t%016x\t%s" % (text, count, fnv1a(forward), inverse)


# --------------------------------------------------------------------- command


def _line_of(job):
    if isinstance(job, str):
        return index_line(job)
    if len(job) == 2:
        return case_line(find_case(*job))
    return case_line(job)


def write_jobs(path, seed, jobs, workers):
    jobs = list(jobs)
    if workers > 1:
        with multiprocessing.Pool(workers) as pool:
            lines = pool.map(_line_of, jobs, chunksize=100)
    else:
        lines = [_line_of(job) for job in jobs]
    write_lines(path, seed, lines)
    print("%s: %d lines" % (path, len(lines)))


def hex_units(data, size):
    return " ".join(
        data[k : k + size].hex() for k in range(0, len(data), size)
    )


def show(name, seed):
    case = find_case(name, seed)
    src, dst = parse(case[3]), parse(case[4])
    print("\t".join((case[0], case[1], comma(case[2]) or "-") + case[3:]))
    expected = expected_memory(case)
    unit = max(1, dst.element_bits // 8)
    print("source   %s" % hex_units(source_bytes(model.physical_bytes(src)), unit))
    print("prefill  %s" % hex_units(prefill_bytes(len(expected)), unit))
    print("expected %s" % hex_units(expected, unit))
    fill = None if dst.strides is not None else model.fill_bits(dst)
    origin = model.moves(src, dst, case[2])
    for slot, index in enumerate(model.cells(dst)):
        if index is not None:
            what = "[%s] from source slot %d" % (comma(index), origin[slot])
        elif fill is None:
            what = "stays"
        else:
            what = "fill 0x%x" % fill
        print("slot %d: %s" % (slot, what))


def show_index(text):
    shape = parse(text)
    for slot, index in enumerate(model.cells(shape)):
        print("slot %d: %s" % (slot, "-" if index is None else list(index)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--out", help="file for the cases")
    parser.add_argument("--index-out", help="file for the index maps")
    parser.add_argument("--spoiled-out", help="file for three wrong expectations")
    parser.add_argument("--show", metavar="ID")
    parser.add_argument("--show-index", metavar="SHAPE")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument(
        "--scale",
        type=float,
        default=1,
        help="how many seeded cases, as a multiple of the usual",
    )
    arguments = parser.parse_args()
    seed = arguments.seed
    if seed is None:
        seed = int(os.environ.get("RELAYOUT_TEST_SEED") or "1", 0)
    if arguments.show:
        show(arguments.show, seed)
    if arguments.show_index:
        show_index(arguments.show_index)
    if arguments.out or arguments.index_out:
        print("seed %d" % seed)
    if arguments.out:
        jobs = list(exhaustive())
        for letter, (group, _) in SEEDED.items():
            count = int(COUNTS[group] * arguments.scale)
            jobs += [("%s%06d" % (letter, n), seed) for n in range(count)]
        write_jobs(arguments.out, seed, jobs, arguments.jobs)
    if arguments.spoiled_out:
        chosen = ("x000003", "l000004", "p000000")
        lines = [case_line(find_case(name, seed)) for name in chosen]
        write_lines(arguments.spoiled_out, seed, [spoil(l) for l in lines])
    if arguments.index_out:
        texts = index_texts(seed)
        write_jobs(arguments.index_out, seed, texts, arguments.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
