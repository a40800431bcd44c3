#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that the files of src/ depend on each other without a circle.

    check_circles.py [ROOT]

A unit is a .c file with the header of its name. Unit A depends on unit B if A
includes B's header, or its code names a function that B defines: a function
declared in a public header, or in a header of a third unit, counts too. Prints each circle
with the names that tie it, and exits with 1 if there is one.
"""

import os
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
DEFINITION = re.compile(r"^(?!static\b|typedef\b|#)[A-Za-z_][^;{}=]*?"
                        r"\b(rlo_\w+)\s*\([^;{}]*\)\s*\{", re.M)
TABLE = re.compile(r"^const [\w ]+?\*?\b(rlo_\w+)(?:\[\w*\])?\s*=", re.M)
NAME = re.compile(r"\brlo_\w+\b")
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


def read_units(root):
    """{unit: (names it uses, headers it includes)}, {name: unit}."""
    uses, includes, home = {}, {}, {}
    source = os.path.join(root, "src")
    for folder, _, names in os.walk(source):
        for name in sorted(names):
            if not name.endswith((".c", ".h")):
                continue
            path = os.path.join(folder, name)
            unit = os.path.splitext(os.path.relpath(path, root))[0]
            unit = unit.replace(os.sep, "/")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for target in INCLUDE.findall(text):
                base = folder if "/" not in target else source
                header = os.path.normpath(os.path.join(base, target))
                if os.path.isfile(header):
                    header = os.path.relpath(header, root).replace(os.sep, "/")
                    includes.setdefault(unit, set()).add(
                        os.path.splitext(header)[0])
            text = COMMENT.sub(" ", text)
            uses.setdefault(unit, set())
            # A header declares names; only code uses them.
            if name.endswith(".c"):
                uses[unit].update(NAME.findall(text))
                for found in DEFINITION.findall(text) + TABLE.findall(text):
                    home[found] = unit
    return uses, includes, home


def dependencies(root):
    """{unit: {other unit: names that tie them}}."""
    uses, includes, home = read_units(root)
    graph = {unit: {} for unit in uses}
    for unit, targets in includes.items():
        for other in targets - {unit}:
            if other in graph:
                graph[unit].setdefault(other, set())
    for unit, names in uses.items():
        for name in names:
            other = home.get(name, unit)
            if other != unit:
                graph[unit].setdefault(other, set()).add(name)
    return graph


def circles(graph):
    """Strongly connected components of more than one unit (Tarjan)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []

    def visit(unit):
        index[unit] = low[unit] = len(index)
        stack.append(unit)
        on_stack.add(unit)
        for other in sorted(graph[unit]):
            if other not in index:
                visit(other)
                low[unit] = min(low[unit], low[other])
            elif other in on_stack:
                low[unit] = min(low[unit], index[other])
        if low[unit] == index[unit]:
            component = []
            while True:
                other = stack.pop()
                on_stack.discard(other)
                component.append(other)
                if other == unit:
                    break
            if len(component) > 1:
                found.append(sorted(component))

    sys.setrecursionlimit(max(10000, 10 * len(graph)))
    for unit in sorted(graph):
        if unit not in index:
            visit(unit)
    return found


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    graph = dependencies(root)
    if not graph:
        print("no file under %s/src: is this the root?" % root)
        return 1
    found = circles(graph)
    for component in found:
        print("circle of %d files: %s" % (len(component), ", ".join(component)))
        for unit in component:
            for other in component:
                if other in graph[unit]:
                    names = sorted(graph[unit][other]) or ["(its header)"]
                    print("  %s -> %s: %s" % (unit, other, ", ".join(names[:8])))
    arrows = sum(len(targets) for targets in graph.values())
    print("%d files, %d arrows, %d circles" % (len(graph), arrows, len(found)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
