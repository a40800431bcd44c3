#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every index map of every small shape, for every_index_driver.

    every_index.py [--max-rank R] [--max-dim D] > STREAM

Ranks 0 to R (4), dimensions 1 to D (4; 0 too up to rank 3), every
minor_to_major, every padding up to +2, and the layouts of TILES. A map is made
by doing what the layout says to an array that holds its own element numbers:
widen it, put its dimensions in order, cut it into tiles, lay it out. No index
is ever computed. -1 stands where no element is.

For each shape the stream holds the length of its text as one byte, the text,
the number of slots as four bytes, and for each slot the row-major number of its
element as four bytes; little-endian, signed. Needs NumPy.
"""

import argparse
import itertools
import sys

import numpy as np

# Tiles in order of application, None for `*`; then the tail alignment.
TILES = [
    ([], 1),
    ([], 7),
    ([(2,)], 1),
    ([(2, 3)], 1),
    ([(3,), (2,)], 1),
    ([(2, 2), (2, 1)], 1),
    ([(4, 3)], 5),
    ([(None, 2)], 1),
    ([(2, 2), (None, 3)], 1),
    ([(2, 1, 2)], 1),
]


def layout_text(order, pads, tiles, tail):
    text = "{" + ",".join(map(str, order))
    words = ""
    if tiles:
        words += "T" + "".join(
            "(" + ",".join("*" if t is None else str(t) for t in tile) + ")"
            for tile in tiles)
    if tail > 1:
        words += "L(%d)" % tail
    if pads:
        words += "pad(" + ",".join(map(str, pads)) + ")"
    return text + (":" + words if words else "") + "}"


def cut(array, tile):
    """Apply one tile to the most minor dimensions."""
    rank = len(tile)
    if array.ndim < rank:
        array = array.reshape((1,) * (rank - array.ndim) + array.shape)
    dims = list(array.shape[:array.ndim - rank])
    prefix = len(dims)
    sizes = []
    carried = 1
    for extent, size in zip(array.shape[prefix:], tile):
        carried *= extent
        if size is not None:
            dims.append(carried)
            sizes.append(size)
            carried = 1
    array = array.reshape(dims)
    array = np.pad(array, [(0, 0)] * prefix +
                   [(0, -d % t) for d, t in zip(dims[prefix:], sizes)],
                   constant_values=-1)
    split = list(array.shape[:prefix])
    for extent, size in zip(array.shape[prefix:], sizes):
        split += [extent // size, size]
    count = len(sizes)
    axes = list(range(prefix))
    axes += [prefix + 2 * k for k in range(count)]
    axes += [prefix + 2 * k + 1 for k in range(count)]
    return array.reshape(split).transpose(axes)


def shapes(max_rank, max_dim):
    for rank in range(max_rank + 1):
        least = 0 if rank < 4 else 1
        for dims in itertools.product(range(least, max_dim + 1), repeat=rank):
            yield dims


def maps_of(dims):
    """(layout text, the memory) of each layout of an array."""
    rank = len(dims)
    elements = np.arange(int(np.prod(dims, dtype=np.int64)),
                         dtype=np.int32).reshape(dims)
    for widths in itertools.product(range(3), repeat=rank):
        pads = [d + w for d, w in zip(dims, widths)]
        padded = np.pad(elements, [(0, w) for w in widths],
                        constant_values=-1) if rank else elements
        shown = pads if any(widths) else None
        for order in itertools.permutations(range(rank)):
            physical = padded.transpose(order[::-1])
            for tiles, tail in TILES:
                memory = physical
                for tile in tiles:
                    memory = cut(memory, tile)
                memory = memory.reshape(-1)
                if memory.size % tail:
                    memory = np.concatenate(
                        [memory, np.full(-memory.size % tail, -1, np.int32)])
                yield layout_text(order, shown, tiles, tail), memory


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-rank", type=int, default=4)
    parser.add_argument("--max-dim", type=int, default=4)
    options = parser.parse_args()
    out = sys.stdout.buffer
    for dims in shapes(options.max_rank, options.max_dim):
        head = "u8[" + ",".join(map(str, dims)) + "]"
        for layout, memory in maps_of(dims):
            text = (head + layout if dims or ":" in layout else head).encode()
            out.write(bytes([len(text)]) + text +
                      memory.size.to_bytes(4, "little") +
                      np.ascontiguousarray(memory, "<i4").tobytes())


main()
