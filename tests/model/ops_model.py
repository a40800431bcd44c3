# SPDX-License-Identifier: Apache-2.0
"""What the operations that move data mean, on plain lists.

An Array is its dimensions and the list of its elements, row-major. Operations
along one dimension are operations of Python on the list of its slices; the
others are written from their definition, index by index. Nothing here knows
strides, maps or guards. README.md has the programs that `run` reads.
"""

import itertools
import math


class Array:
    def __init__(self, dims, flat):
        self.dims = list(dims)
        self.flat = list(flat)
        assert len(self.flat) == math.prod(self.dims), (dims, len(self.flat))

    def indices(self):
        return itertools.product(*map(range, self.dims))

    def to_dict(self):
        return dict(zip(self.indices(), self.flat))


def from_dict(dims, elements):
    return Array(dims, [elements[i] for i in itertools.product(*map(range, dims))])


def along(x, dim, edit):
    """Let `edit` make a new list of the slices of one dimension."""
    size = x.dims[dim]
    outer, inner = math.prod(x.dims[:dim]), math.prod(x.dims[dim + 1 :])
    flat = []
    for o in range(outer):
        start = o * size * inner
        rows = [
            x.flat[start + n * inner : start + (n + 1) * inner] for n in range(size)
        ]
        for row in edit(rows):
            flat += row if row is not None else [None] * inner
    count = len(edit([[]] * size))
    return Array(x.dims[:dim] + [count] + x.dims[dim + 1 :], flat)


def fill_holes(x, value):
    return Array(x.dims, [value if e is None else e for e in x.flat])


def transpose(x, perm):
    elements = x.to_dict()
    out = {tuple(i[p] for p in perm): e for i, e in elements.items()}
    return from_dict([x.dims[p] for p in perm], out)


def reshape(x, dims):
    dims = list(dims)
    if -1 in dims:
        at = dims.index(-1)
        dims[at] = len(x.flat) // math.prod(dims[:at] + dims[at + 1 :])
    return Array(dims, x.flat)


def slice_(x, begin, end, strides):
    for k, (b, e, s) in enumerate(zip(begin, end, strides)):
        x = along(x, k, lambda rows, b=b, e=e, s=s: rows[b:e:s])
    return x


def pad(x, low, high, interior, value):
    for k, (lo, hi, gap) in enumerate(zip(low, high, interior)):

        def edit(rows, lo=lo, hi=hi, gap=gap):
            spread = []
            for n, row in enumerate(rows):
                spread += [None] * (gap if n else 0) + [row]
            spread = [None] * lo + spread + [None] * hi
            spread = spread[-lo:] if lo < 0 else spread
            return spread[: len(spread) + hi] if hi < 0 else spread

        # A row of holes may be cut away again or be cut by later dimensions.
        x = along(x, k, edit)
    return fill_holes(x, value)


def reverse(x, dims):
    for k in dims:
        x = along(x, k, lambda rows: rows[::-1])
    return x


def roll(x, shifts, dims):
    for s, k in zip(shifts, dims):
        x = along(x, k, lambda rows: [rows[(i - s) % len(rows)]
                                      for i in range(len(rows))])
    return x


def broadcast(x, dims, from_dims):
    elements = x.to_dict()
    out = {}
    for i in itertools.product(*map(range, dims)):
        j = tuple(0 if n == 1 else i[d] for n, d in zip(x.dims, from_dims))
        out[i] = elements[j]
    return from_dict(dims, out)


def tile(x, times):
    for k, t in enumerate(times):
        x = along(x, k, lambda rows, t=t: rows * t)
    return x


def repeat(x, times):
    for k, t in enumerate(times):
        x = along(x, k, lambda rows, t=t: [r for r in rows for _ in range(t)])
    return x


def concatenate(arrays, dim):
    first, rest = arrays[0], arrays[1:]
    for other in rest:
        size = first.dims[dim] + other.dims[dim]
        dims = first.dims[:dim] + [size] + first.dims[dim + 1 :]
        left = first.dims[dim] * math.prod(first.dims[dim + 1 :])
        right = other.dims[dim] * math.prod(other.dims[dim + 1 :])
        flat = []
        for o in range(math.prod(first.dims[:dim])):
            flat += first.flat[o * left : (o + 1) * left]
            flat += other.flat[o * right : (o + 1) * right]
        first = Array(dims, flat)
    return first


def stack(arrays, dim):
    grown = [
        Array(x.dims[:dim] + [1] + x.dims[dim:], x.flat) for x in arrays
    ]
    return concatenate(grown, dim)


def split(x, sizes, dim, part):
    start = sum(sizes[:part])
    return along(x, dim, lambda rows: rows[start : start + sizes[part]])


def unstack(x, dim, index):
    one = along(x, dim, lambda rows: [rows[index]])
    return Array(x.dims[:dim] + x.dims[dim + 1 :], one.flat)


def _block_number(places, blocks):
    number = 0
    for place, block in zip(places, blocks):
        number = number * block + place
    return number


def _depth_pairs(wide, block, channel):
    """(index in the wide array, index in the deep one), for every element."""
    spatial = [k for k in range(1, len(wide)) if k != channel]
    for i in itertools.product(*map(range, wide)):
        deep = list(i)
        for k in spatial:
            deep[k] = i[k] // block
        places = [i[k] % block for k in spatial]
        number = _block_number(places, [block] * len(spatial))
        deep[channel] = number * wide[channel] + i[channel]
        yield i, tuple(deep)


def space_to_depth(x, block, channel):
    spatial = [k for k in range(1, len(x.dims)) if k != channel]
    dims = [n // block if k in spatial else n for k, n in enumerate(x.dims)]
    dims[channel] *= block ** len(spatial)
    elements = x.to_dict()
    pairs = _depth_pairs(x.dims, block, channel)
    return from_dict(dims, {deep: elements[i] for i, deep in pairs})


def depth_to_space(x, block, channel):
    spatial = [k for k in range(1, len(x.dims)) if k != channel]
    dims = [n * block if k in spatial else n for k, n in enumerate(x.dims)]
    dims[channel] //= block ** len(spatial)
    elements = x.to_dict()
    pairs = _depth_pairs(dims, block, channel)
    return from_dict(dims, {i: elements[deep] for i, deep in pairs})


def _batch_pairs(padded, blocks):
    """(index in the padded array, index in the batched one)."""
    for i in itertools.product(*map(range, padded)):
        batched = list(i)
        for k, block in enumerate(blocks, 1):
            batched[k] = i[k] // block
        places = [i[k] % block for k, block in enumerate(blocks, 1)]
        batched[0] = _block_number(places, blocks) * padded[0] + i[0]
        yield i, tuple(batched)


def space_to_batch(x, blocks, low, high, zero):
    rest = [0] * (len(x.dims) - 1 - len(blocks))
    low, high = [0] + list(low) + rest, [0] + list(high) + rest
    x = pad(x, low, high, [0] * len(x.dims), zero)
    dims = list(x.dims)
    for k, block in enumerate(blocks, 1):
        dims[k] //= block
        dims[0] *= block
    elements = x.to_dict()
    pairs = _batch_pairs(x.dims, blocks)
    return from_dict(dims, {batched: elements[i] for i, batched in pairs})


def batch_to_space(x, blocks, low, high):
    dims = list(x.dims)
    for k, block in enumerate(blocks, 1):
        dims[k] *= block
        dims[0] //= block
    elements = x.to_dict()
    pairs = _batch_pairs(dims, blocks)
    x = from_dict(dims, {i: elements[batched] for i, batched in pairs})
    for k, (lo, hi) in enumerate(zip(low, high), 1):
        x = along(x, k, lambda rows, lo=lo, hi=hi: rows[lo : len(rows) - hi])
    return x


def mirror_pad(x, low, high, is_symmetric):
    for k, (lo, hi) in enumerate(zip(low, high)):

        def edit(rows, lo=lo, hi=hi):
            inner = rows if is_symmetric else rows[1:]
            outer = rows if is_symmetric else rows[:-1]
            front = inner[:lo][::-1]
            back = outer[::-1][:hi]
            return front + rows + back

        x = along(x, k, edit)
    return x


def gather(x, indices, dim, batch_dims, zero):
    """Row r of a batch takes slice indices[r] of the dimension, or zeros."""
    elements, rows = x.to_dict(), indices.to_dict()
    row_dims = indices.dims[batch_dims:]
    dims = x.dims[:dim] + row_dims + x.dims[dim + 1 :]
    out = {}
    for i in itertools.product(*map(range, dims)):
        before, row = i[:dim], i[dim : dim + len(row_dims)]
        after = i[dim + len(row_dims) :]
        v = rows[before[:batch_dims] + row]
        out[i] = elements[before + (v,) + after] if 0 <= v < x.dims[dim] else zero
    return from_dict(dims, out)


def segment_sum(y, ids, dim, batch_dims, count):
    """Slice s of a batch is the sum of the rows whose id is s; elements are
    unsigned integers of as many bytes as they have, little-endian."""
    rows, sums = ids.to_dict(), {}
    row_dims = len(ids.dims) - batch_dims
    for i, element in y.to_dict().items():
        before, after = i[:dim], i[dim + row_dims :]
        s = rows[before[:batch_dims] + i[dim : dim + row_dims]]
        if 0 <= s < count:
            to = before + (s,) + after
            sums[to] = sums.get(to, 0) + int.from_bytes(element, "little")
    dims = y.dims[:dim] + [count] + y.dims[dim + row_dims :]
    return dims, sums


# -------------------------------------------------------------------- programs


def numbers(text):
    return [int(n) for n in text.split(",") if n]


# Where the words name dimensions of the operand.
NAMED = {"transpose": 0, "reverse": 0, "roll": 1, "split": 1, "unstack": 0,
         "s2d": 1, "d2s": 1}


def from_begin(dims, rank):
    """Numbers that may count from the end, -1 the last."""
    return [dim + rank if dim < 0 else dim for dim in dims]


def _step(stack_, name, args, operands, to_element):
    if name in ("concat", "stack"):
        count, dim = int(args[0]), int(args[1])
        arrays = stack_[-count:]
        del stack_[-count:]
        (dim,) = from_begin([dim], len(arrays[0].dims) + (name == "stack"))
        return (concatenate if name == "concat" else stack)(arrays, dim)
    x = stack_.pop()
    lists = [numbers(a) for a in args if not a.startswith("0x")]
    if name in NAMED:
        at = NAMED[name]
        lists[at] = from_begin(lists[at], len(x.dims))
    if name == "broadcast":
        lists[1] = from_begin(lists[1], len(lists[0]))
    if name == "pad":
        return pad(x, *lists, to_element(int(args[3], 16)))
    if name == "gather":
        dim, batch_dims, operand = (int(a) for a in args[:3])
        (dim,) = from_begin([dim], len(x.dims))
        return gather(x, operands[operand], dim, batch_dims, to_element(0))
    if name == "segment_sum":
        dim, batch_dims, operand, count = (int(a) for a in args)
        # From the end of the result.
        row_dims = len(operands[operand].dims) - batch_dims
        (dim,) = from_begin([dim], len(x.dims) - row_dims + 1)
        dims, sums = segment_sum(x, operands[operand], dim, batch_dims, count)
        size = len(to_element(0))
        element = lambda n: (n % (1 << (8 * size))).to_bytes(size, "little")
        return from_dict(
            dims,
            {
                i: element(sums.get(i, 0))
                for i in itertools.product(*map(range, dims))
            },
        )
    if name == "s2b":
        return space_to_batch(x, *lists, to_element(0))
    if name in ("transpose", "reshape", "slice", "reverse", "roll", "broadcast",
                "tile", "repeat", "b2s"):
        return {
            "transpose": transpose,
            "reshape": reshape,
            "slice": slice_,
            "reverse": reverse,
            "roll": roll,
            "broadcast": broadcast,
            "tile": tile,
            "repeat": repeat,
            "b2s": batch_to_space,
        }[name](x, *lists)
    if name == "split":
        return split(x, lists[0], lists[1][0], lists[2][0])
    if name == "mirror":
        return mirror_pad(x, lists[0], lists[1], lists[2][0])
    return {"unstack": unstack, "s2d": space_to_depth, "d2s": depth_to_space}[name](
        x, lists[0][0], lists[1][0]
    )


def run(program, operands, to_element):
    """The result of a program; operands are Arrays, to_element makes an element
    of the bits of a fill."""
    stack_ = []
    for word in program.split():
        name, *args = word.split(":")
        if name == "x":
            stack_.append(operands[int(args[0])])
        else:
            stack_.append(_step(stack_, name, args, operands, to_element))
    (result,) = stack_
    return result
