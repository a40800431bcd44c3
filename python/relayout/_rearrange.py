# SPDX-License-Identifier: Apache-2.0
"""einops' notation: ``"b (h r) w c -> b c h (w r)"`` becomes two reshapes and a transpose."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple

from ._arrays import Dims
from .errors import ArgumentError, ParseError

Group = tuple[str, ...]
_TOKEN = re.compile(r"\s*(\.\.\.|…|\w+|[()]|\S)")
_ELLIPSIS = "…"


class Recipe(NamedTuple):
    """Reshape to `split`, transpose by `order`, reshape to `dims`."""

    split: Dims
    order: Dims
    dims: Dims


@lru_cache(maxsize=256)
def compile_pattern(pattern: str, dims: Dims, sizes: tuple[tuple[str, int], ...]) -> Recipe:
    """What a pattern does to an array with these dimensions. `sizes` has axes by name."""
    left_text, arrow, right_text = pattern.partition("->")
    if not arrow or "->" in right_text:
        raise ParseError(f"position {len(left_text)}: expected one '->' in {pattern!r}")
    left = _parse(pattern, left_text, 0)
    right = _parse(pattern, right_text, len(left_text) + 2)
    left, right = _expand(pattern, left, right, len(dims))
    if len(left) != len(dims):
        raise ArgumentError(f"{pattern!r} has {len(left)} dimensions at its left, "
                            f"and the array has {len(dims)}")
    known = _solve(pattern, left, dims, dict(sizes))
    axes = [axis for group in left for axis in group]
    wanted = [axis for group in right for axis in group]
    for axis in set(axes) ^ set(wanted):
        raise ArgumentError(f"axis {axis!r} is on one side of {pattern!r} only")
    return Recipe(tuple(known[axis] for axis in axes),
                  tuple(axes.index(axis) for axis in wanted),
                  tuple(math.prod(known[axis] for axis in group) for group in right))


def _parse(pattern: str, side: str, begin: int) -> list[Group]:
    """The groups of a side, a dimension each: ``"a (b c) 1"`` is (a,), (b, c), ()."""
    groups: list[Group] = []
    inside: list[str] | None = None
    seen: set[str] = set()
    for found in _TOKEN.finditer(side):
        token = _ELLIPSIS if found[1] == "..." else found[1]
        fault = None
        if token == "(" and inside is None:
            inside = []
            continue
        if token == ")" and inside is not None:
            groups.append(tuple(inside))
            inside = None
            continue
        if token in "()":
            fault = "parentheses that match and do not nest"
        elif token != _ELLIPSIS and token != "1" and not token.isidentifier():
            fault = "the name of an axis, 1, '...', '(' or ')'"
        elif token in seen:
            fault = "each axis once"
        if fault:
            raise ParseError(f"position {begin + found.start(1)}: expected {fault}, "
                             f"found {found[1]!r} in {pattern!r}")
        names = () if token == "1" else (token,)
        seen.update(names)
        if inside is None:
            groups.append(names)
        else:
            inside.extend(names)
    if inside is not None:
        raise ParseError(f"position {begin + len(side)}: expected ')' in {pattern!r}")
    return groups


def _expand(pattern: str, left: list[Group], right: list[Group],
            rank: int) -> tuple[list[Group], list[Group]]:
    """Both sides with the dimensions that '...' stands for."""
    if any(_ELLIPSIS in group and len(group) > 1 for group in left):
        raise ArgumentError(f"'...' is in parentheses at the left of {pattern!r}")
    if (_ELLIPSIS,) not in left:
        return left, right
    hidden = tuple(f"{_ELLIPSIS}{n}" for n in range(rank - len(left) + 1))
    at = left.index((_ELLIPSIS,))
    left = left[:at] + [(name,) for name in hidden] + left[at + 1:]
    expanded: list[Group] = []
    for group in right:
        if group == (_ELLIPSIS,):
            expanded.extend((name,) for name in hidden)
        elif _ELLIPSIS in group:
            at = group.index(_ELLIPSIS)
            expanded.append(group[:at] + hidden + group[at + 1:])
        else:
            expanded.append(group)
    return left, expanded


def _solve(pattern: str, left: list[Group], dims: Dims, known: dict[str, int]) -> dict[str, int]:
    """The size of each axis."""
    for name in known.keys() - {axis for group in left for axis in group}:
        raise ArgumentError(f"axis {name!r} has a size and is not in {pattern!r}")
    for group, size in zip(left, dims):
        unknown = [axis for axis in group if axis not in known]
        product = math.prod(known[axis] for axis in group if axis in known)
        if len(unknown) > 1:
            raise ArgumentError(f"{pattern!r}: of ({' '.join(group)}) more than one axis has no size")
        if unknown and product > 0 and size % product == 0:
            known[unknown[0]] = size // product
        elif unknown or product != size:
            raise ArgumentError(f"{pattern!r}: a dimension of {size} is not ({' '.join(group)}) "
                                f"with sizes {known}")
    return known
