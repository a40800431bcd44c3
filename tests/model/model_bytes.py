# SPDX-License-Identifier: Apache-2.0
"""What memories hold, how they are hashed, and where random numbers come from:
README.md has the rules, model_case.c the same in C."""

import functools

MASK = (1 << 64) - 1
SOURCE_SALT = 0x736F757263650000  # "source"
INDEX_SALT = 0x696E646963657300  # "indices"
PREFILL_SALT = 0x70726566696C6C00  # "prefill"


def mix(n):
    """Scatter a 64-bit number (the finaliser of splitmix64)."""
    n = (n + 0x9E3779B97F4A7C15) & MASK
    n = ((n ^ (n >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    n = ((n ^ (n >> 27)) * 0x94D049BB133111EB) & MASK
    return n ^ (n >> 31)


@functools.lru_cache(maxsize=None)
def _pattern(salt, words):
    return b"".join(mix(salt + w).to_bytes(8, "little") for w in range(words))


def pattern_bytes(salt, count):
    """Byte k is byte k mod 8, low first, of mix(salt + k div 8)."""
    words = 256
    while 8 * words < count:
        words *= 4
    return _pattern(salt, words)[:count]


def source_bytes(count):
    return pattern_bytes(SOURCE_SALT, count)


def prefill_bytes(count):
    return pattern_bytes(PREFILL_SALT, count)


def index_number(k, limit, size):
    """The index in slot k: in [-1, limit], or far from it."""
    number = mix(INDEX_SALT + k) % (limit + 3) - 1
    if number == limit + 1:
        number = 2**32 + 1 if size == 8 else -(2**31)
    return number


def fnv1a(data):
    """The 64-bit FNV-1a hash."""
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


class Random:
    """Numbers that are the same for every version of Python."""

    def __init__(self, name, seed):
        self.state = fnv1a(name.encode()) ^ mix(seed & MASK)

    def below(self, n):
        self.state = (self.state + 1) & MASK
        return mix(mix(self.state)) % n

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def chance(self, percent):
        return self.below(100) < percent

    def choose(self, items):
        return items[self.below(len(items))]

    def shuffled(self, items):
        items = list(items)
        for k in range(len(items) - 1, 0, -1):
            other = self.below(k + 1)
            items[k], items[other] = items[other], items[k]
        return items
