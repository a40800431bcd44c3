# SPDX-License-Identifier: Apache-2.0
"""Makes cases of operations with expectations from the model.

    generate_ops.py --out ops.tsv [--spoiled-out FILE] [--count N] [--seed N]
    generate_ops.py --show ID [--seed N]     the expected bytes of one case

Seeds as in generate_cases.py; README.md defines the lines.
"""

import argparse
import math
import os
import sys

import ops_model
import relayout_model as model
from generate_cases import comma, plain, random_dense, random_strided
from model_bytes import Random, index_number, prefill_bytes, source_bytes
from model_file import move_line, spoil, write_lines
from relayout_model import parse

# Cases of each operation, and of chains.
COUNT = 220
CHAIN_COUNT = 1000
DTYPES = ("u8", "s16", "u32", "f32", "s32", "u64", "c128")
MOST_ELEMENTS = 500


def random_dims(random, rank):
    dims = [random.choose((1, 2, 2, 3, 3, 4, 5, 8)) for _ in range(rank)]
    while math.prod(dims) > 200:
        dims[dims.index(max(dims))] = random.between(1, 2)
    if rank and random.chance(8):
        dims[random.below(rank)] = 0
    return dims


def random_size(random, dims):
    return random.choose((0, 1, 1, 2, 3)) if math.prod(dims) < 60 else random.below(2)


def divisors(n):
    return [d for d in range(1, 6) if n % d == 0]


def random_factors(random, count, most_rank):
    """Sizes with this product."""
    if count == 0:
        return random.shuffled([0] + [random.between(1, 3) for _ in range(2)])
    dims = []
    while count > 1 and len(dims) < most_rank - 1 and not random.chance(25):
        dims.append(random.choose([d for d in range(1, 9) if count % d == 0]))
        count //= dims[-1]
    return dims + [count] if count > 1 or random.chance(50) else dims


def named(random, dim, rank):
    """A dimension as a caller may name it: sometimes from the end."""
    return dim - rank if random.chance(30) else dim


def all_named(random, dims, rank):
    return comma(named(random, dim, rank) for dim in dims)


# Each takes random numbers and the operand's dimensions and gives the word of a
# program, or None where the operation does not apply.


def op_transpose(random, dims):
    rank = len(dims)
    return "transpose:" + all_named(random, random.shuffled(range(rank)), rank)


def op_reshape(random, dims):
    count = math.prod(dims)
    to = random_factors(random, count, 6)
    if count and to and random.chance(30):
        to[random.below(len(to))] = -1
    return "reshape:" + comma(to)


def op_slice(random, dims):
    begin, end, strides = [], [], []
    for n in dims:
        strides.append(random.choose((1, 1, 1, 2, 3, -1, -1, -2, 7, -9)))
        if random.chance(60):
            lo, hi = sorted((random.between(0, n), random.between(0, n)))
            lo, hi = (0, n) if random.chance(40) else (lo, hi)
            forwards = strides[-1] > 0
            begin.append(lo if forwards else hi - 1 if hi else 0)
            end.append(hi if forwards else lo - 1 if lo else -n - 1)
        else:
            begin.append(random.between(-n - 2, n + 2))
            end.append(random.between(-n - 2, n + 2))
    return "slice:%s:%s:%s" % (comma(begin), comma(end), comma(strides))


def op_pad(random, dims):
    low, high, interior = [], [], []
    for n in dims:
        gap = random.choose((0, 0, 0, 1, 2)) if math.prod(dims) < 60 else 0
        size = n + max(0, n - 1) * gap
        lo, hi = random_size(random, dims), random_size(random, dims)
        if random.chance(20):
            lo = -random.between(0, size)
            size += lo
        if random.chance(20):
            hi = -random.between(0, size + max(lo, 0))
        low.append(lo)
        high.append(hi)
        interior.append(gap)
    fill = random.choose((0, 0, 0x5A, 0x77, random.below(256)))
    return "pad:%s:%s:%s:0x%02x" % (comma(low), comma(high), comma(interior), fill)


def op_reverse(random, dims):
    some = random.shuffled(k for k in range(len(dims)) if random.chance(50))
    return "reverse:" + all_named(random, some, len(dims))


def op_roll(random, dims):
    some = [random.below(len(dims)) for _ in range(random.below(3))] if dims else []
    shifts = [random.between(-9, 9) for _ in some]
    return "roll:%s:%s" % (comma(shifts), all_named(random, some, len(dims)))


def op_broadcast(random, dims):
    rank = random.between(len(dims), max(len(dims), 6))
    places = random.shuffled(range(rank))[: len(dims)]
    if random.chance(60):
        places.sort()
    to = [random.choose((1, 2, 2, 3)) for _ in range(rank)]
    for k, place in enumerate(places):
        if dims[k] != 1:
            to[place] = dims[k]
    while math.prod(to) > MOST_ELEMENTS and rank > len(dims):
        free = [p for p in range(rank) if p not in places and to[p] > 1]
        if not free:
            break
        to[free[0]] = 1
    return "broadcast:%s:%s" % (comma(to), all_named(random, places, rank))


def random_times(random, dims):
    times = [random.choose((1, 1, 2, 2, 3)) for _ in dims]
    while math.prod(times) * math.prod(dims) > MOST_ELEMENTS and max(times) > 1:
        times[times.index(max(times))] = 1
    if times and random.chance(4):
        times[random.below(len(times))] = 0
    return comma(times)


def op_tile(random, dims):
    return "tile:" + random_times(random, dims)


def op_repeat(random, dims):
    return "repeat:" + random_times(random, dims)


def op_split(random, dims):
    if not dims:
        return None
    dim = random.below(len(dims))
    cuts = sorted(random.between(0, dims[dim]) for _ in range(random.between(0, 3)))
    cuts = [0] + cuts + [dims[dim]]
    sizes = [b - a for a, b in zip(cuts, cuts[1:])]
    part = random.below(len(sizes))
    return "split:%s:%d:%d" % (comma(sizes), named(random, dim, len(dims)), part)


def op_unstack(random, dims):
    free = [k for k, n in enumerate(dims) if n > 0]
    if not free:
        return None
    dim = random.choose(free)
    index = random.below(dims[dim])
    return "unstack:%d:%d" % (named(random, dim, len(dims)), index)


def op_mirror(random, dims):
    mode = random.below(2)
    low, high = [], []
    budget = 3
    for n in dims:
        most = max(0, n - (1 - mode))
        padded = budget > 0 and most and random.chance(50)
        budget -= bool(padded)
        low.append(random.between(0, min(3, most)) if padded else 0)
        high.append(random.between(0, min(3, most)) if padded else 0)
    return "mirror:%s:%s:%d" % (comma(low), comma(high), mode)


def common_block(random, sizes):
    blocks = [b for b in (1, 2, 3, 4) if all(n % b == 0 for n in sizes)]
    return max(blocks) if random.chance(70) else random.choose(blocks)


def op_s2d(random, dims):
    if len(dims) < 2:
        return None
    channel = random.choose((1, len(dims) - 1))
    sizes = [n for k, n in enumerate(dims) if k not in (0, channel)]
    block = common_block(random, sizes)
    return "s2d:%d:%d" % (block, named(random, channel, len(dims)))


def op_d2s(random, dims):
    if len(dims) < 2:
        return None
    channel = random.choose((1, len(dims) - 1))
    blocks = [b for b in (1, 2, 3) if dims[channel] % b ** (len(dims) - 2) == 0]
    block = random.choose(blocks)
    return "d2s:%d:%d" % (block, named(random, channel, len(dims)))


def op_s2b(random, dims):
    if not dims:
        return None
    count = random.between(0, min(3, len(dims) - 1))
    blocks, low, high = [], [], []
    for n in dims[1 : count + 1]:
        blocks.append(random.choose((1, 2, 2, 3)))
        lo = random_size(random, dims)
        low.append(lo)
        high.append(-(n + lo) % blocks[-1])
    return "s2b:%s:%s:%s" % (comma(blocks), comma(low), comma(high))


def op_b2s(random, dims):
    if not dims:
        return None
    count = random.between(0, min(3, len(dims) - 1))
    blocks, low, high = [], [], []
    batch = dims[0]
    for n in dims[1 : count + 1]:
        blocks.append(random.choose(divisors(batch)[:3] if batch else [1, 2]))
        batch //= blocks[-1]
        size = n * blocks[-1]
        low.append(random.between(0, min(1, size)))
        high.append(random.between(0, min(1, size - low[-1])))
    return "b2s:%s:%s:%s" % (comma(blocks), comma(low), comma(high))


def gather_program(random):
    """A gather, with the dimensions of the array and of the indices."""
    dims = random_dims(random, random.choose((1, 1, 2, 2, 3, 4, 5, 6)))
    dim = random.below(len(dims))
    rank = random.choose((0, 1, 1, 2, 3))
    batch_dims = random.between(0, min(dim, rank))
    rows = [random.choose((1, 2, 3, 5)) for _ in range(rank - batch_dims)]
    if rows and random.chance(5):
        rows[random.below(len(rows))] = 0
    while math.prod(dims) * math.prod(rows) > 2 * MOST_ELEMENTS:
        rows[rows.index(max(rows))] = 1
        if max(rows) == 1:
            break
    number = named(random, dim, len(dims))
    word = "gather:%d:%d:1:%d" % (number, batch_dims, dims[dim])
    return "x:0 " + word, [dims, dims[:batch_dims] + rows]


def segment_sum_program(random):
    """Makes a program as gather_program does; the array holds the rows."""
    rank = random.choose((0, 1, 1, 2, 3))
    batch_dims = random.between(0, random.choose((0, 0, 1, rank)))
    batch_dims = min(batch_dims, rank)
    batch = [random.choose((1, 2, 3)) for _ in range(batch_dims)]
    rows = [random.choose((0, 1, 2, 3, 5, 8)) for _ in range(rank - batch_dims)]
    before = random_dims(random, random.choose((0, 0, 1, 2)))
    after = random_dims(random, random.choose((0, 1, 1, 2)))
    while math.prod(batch + before + rows + after) > 2 * MOST_ELEMENTS:
        (before if random.chance(50) else after).clear()
    count = random.choose((0, 1, 2, 3, 4, 6))
    dim = batch_dims + len(before)
    number = named(random, dim, dim + 1 + len(after))
    word = "segment_sum:%d:%d:1:%d" % (number, batch_dims, count)
    return "x:0 " + word, [batch + before + rows + after, batch + rows]


OPS = {
    "transpose": op_transpose,
    "reshape": op_reshape,
    "slice": op_slice,
    "pad": op_pad,
    "reverse": op_reverse,
    "roll": op_roll,
    "broadcast": op_broadcast,
    "tile": op_tile,
    "repeat": op_repeat,
    "split": op_split,
    "unstack": op_unstack,
    "mirror": op_mirror,
    "s2d": op_s2d,
    "d2s": op_d2s,
    "s2b": op_s2b,
    "b2s": op_b2s,
}
JOINS = ("concat", "stack")


def dims_after(program, operand_dims):
    arrays = [
        ops_model.Array(dims, [0] * math.prod(dims)) for dims in operand_dims
    ]
    if "segment_sum" in program:
        arrays[0] = ops_model.Array(arrays[0].dims, [b"\0"] * len(arrays[0].flat))
        return ops_model.run(program, arrays, lambda bits: b"\0").dims
    return ops_model.run(program, arrays, lambda bits: 0).dims


def dims_for(random, name):
    """Dimensions that an operation has something to do with."""
    rank = random.choose((0, 1, 1, 2, 2, 3, 3, 4, 5, 6))
    dims = random_dims(random, rank)
    if name in ("s2d", "s2b", "d2s", "b2s"):
        rank = random.choose((2, 3, 4, 4, 5))
        dims = [random.choose((1, 2, 4, 6)) for _ in range(rank)]
        if name == "d2s" and random.chance(70):
            dims[-1] = 2 ** (rank - 2) * random.between(1, 2)
        if name == "b2s" and random.chance(70):
            dims[0] = random.choose((4, 8, 12))
        while math.prod(dims) > 300:
            dims[random.between(1, rank - 1)] = 2
        if random.chance(5):
            dims[random.below(rank)] = 0
    return dims


def join_program(random, name, dims):
    """A join of arrays that differ along its dimension, some of them the result
    of an operation themselves; and the dimensions of its operands."""
    count = random.between(1, 4)
    if name == "stack":
        dim = random.between(0, len(dims))
        operands = [dims] * count
    else:
        dims = dims or [2]
        dim = random.below(len(dims))
        operands = []
        for _ in range(count):
            operands.append(list(dims))
            operands[-1][dim] = random.choose((0, 1, 1, 2, 3))
    words = []
    for n in range(count):
        words.append("x:%d" % n)
        if random.chance(20):
            words.append("reverse:" + comma(range(len(dims))))
        elif random.chance(15) and name == "concat":
            zeros = [0] * len(dims)
            low = list(zeros)
            low[dim] = 1
            words.append(
                "pad:%s:%s:%s:0x%02x"
                % (comma(low), comma(zeros), comma(zeros), random.choose((0, 9)))
            )
    number = named(random, dim, len(dims) + (name == "stack"))
    words.append("%s:%d:%d" % (name, count, number))
    return " ".join(words), operands


def grow(random, program, operand_dims, steps):
    """More operations behind a program, as long as it stays small."""
    for _ in range(steps):
        dims = dims_after(program, operand_dims)
        word = OPS[random.choose(list(OPS))](random, dims)
        if word is None:
            continue
        longer = program + " " + word
        after = dims_after(longer, operand_dims)
        if len(after) <= 8 and math.prod(after) <= MOST_ELEMENTS:
            program = longer
    return program


def layout_of(random, dtype, dims, is_source):
    if random.chance(35):
        return plain(dtype, dims)
    if dims and random.chance(15):
        return random_strided(random, dtype, dims, is_source)
    return random_dense(
        random, dtype, dims, max(900, 2 * math.prod(dims)), not is_source
    )


def make_case(name, seed):
    """(id, class, program, operand texts, destination text)."""
    group, number = name.split("-")
    random = Random(name, seed)
    dtype = random.choose(DTYPES)
    if group in JOINS:
        program, operands = join_program(
            random, group, random_dims(random, random.choose((0, 1, 2, 2, 3, 5)))
        )
    elif group == "gather":
        program, operands = gather_program(random)
    elif group == "segment_sum":
        dtype = random.choose(("u8", "s16", "u32", "s32", "u64"))
        program, operands = segment_sum_program(random)
    elif group == "chain":
        if random.chance(20):
            program, operands = gather_program(random)
        elif random.chance(30):
            dims = random_dims(random, random.choose((1, 2, 3)))
            program, operands = join_program(random, random.choose(JOINS), dims)
        else:
            operands = [random_dims(random, random.choose((1, 2, 3, 4)))]
            program = "x:0"
        program = grow(random, program, operands, random.between(2, 5))
    else:
        word = None
        while word is None:
            operands = [dims_for(random, group)]
            word = OPS[group](random, operands[0])
        program = "x:0 " + word
    result = dims_after(program, operands)
    return (
        name,
        group,
        program,
        [
            layout_of(
                random,
                random.choose(("s32", "s64")) if n and index_operand(program) else dtype,
                dims,
                True,
            )
            for n, dims in enumerate(operands)
        ],
        layout_of(random, dtype, result, False),
    )


def names(count):
    for group in list(OPS) + list(JOINS) + ["gather", "segment_sum"]:
        for number in range(count):
            yield "%s-%d" % (group, number)
    for number in range(count * CHAIN_COUNT // COUNT):
        yield "chain-%d" % number


def elements_of(shape, data):
    """The elements of a memory as an Array."""
    size = shape.element_bits // 8
    places = model.slot_map(shape)
    flat = []
    for index in model.indices(shape):
        slot = places[index]
        flat.append(data[slot * size : (slot + 1) * size])
    return ops_model.Array(shape.dims, flat)


def indices_of(shape, limit):
    """Returns what elements_of does, of the memory of indices."""
    size = shape.element_bits // 8
    places = model.slot_map(shape)
    flat = [index_number(places[i], limit, size) for i in model.indices(shape)]
    return ops_model.Array(shape.dims, flat)


def index_operand(program):
    """(operand, limit) of the word of a program that takes indices, or None."""
    for word in program.split():
        if word.startswith(("gather:", "segment_sum:")):
            return tuple(int(n) for n in word.split(":")[3:5])
    return None


def expected_memory(case):
    operands = []
    start = 0
    shapes = [parse(text) for text in case[3]]
    gathered = index_operand(case[2])
    # Operand n begins at the first multiple of 16 behind operand n - 1.
    for shape in shapes:
        count = model.physical_bytes(shape)
        if gathered and len(operands) == gathered[0]:
            operands.append(indices_of(shape, gathered[1]))
            start += count + -count % 16
            continue
        operands.append(elements_of(shape, source_bytes(start + count)[start:]))
        start += count + -count % 16
    dst = parse(case[4])
    size = dst.element_bits // 8
    value_mask = (1 << model.value_bits(dst.dtype)) - 1

    def to_element(bits):
        return (bits & value_mask).to_bytes(size, "little")

    result = ops_model.run(case[2], operands, to_element)
    before = prefill_bytes(model.physical_bytes(dst))
    count = model.slots(dst)
    out = [before[k * size : (k + 1) * size] for k in range(count)]
    fill = None if dst.strides is not None else model.fill_bits(dst)
    if fill is not None:
        out = [fill.to_bytes(size, "little")] * count
    places = model.slot_map(dst)
    for index, element in result.to_dict().items():
        out[places[index]] = element
    return b"".join(out)


def case_line(case):
    return move_line(*case, expected_memory(case))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--spoiled-out")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--show")
    parser.add_argument(
        "--seed", type=int, default=int(os.environ.get("RELAYOUT_TEST_SEED") or 1)
    )
    options = parser.parse_args()
    if options.show:
        case = make_case(options.show, options.seed)
        print(case_line(case))
        print(expected_memory(case).hex())
        return 0
    lines = [case_line(make_case(n, options.seed)) for n in names(options.count)]
    if options.out:
        write_lines(options.out, options.seed, lines)
    if options.spoiled_out:
        write_lines(options.spoiled_out, options.seed, [spoil(l) for l in lines[:3]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
