#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which lines and branches of src/ the tests have run.

    report.py BUILD [--missing FILE]

BUILD was compiled with --coverage and its tests have run: ./dev coverage. A line
or branch counts as run if any program that holds a copy of it ran it. What
exceptions.txt says need not run is told apart; a rule there that excepts nothing, or
what was run, is an error. With --missing, the lines of FILE that no test has run,
and those whose branches were taken to one side only, without what is excepted; with
--missing "" those of all files.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

from exceptions import File, apply_rules, read_rules

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "src"


def read(build):
    """{path below src: {line: [count, [branch counts], function]}}"""
    files = collections.defaultdict(dict)
    notes = sorted(build.rglob("*.gcno"))
    if not notes:
        sys.exit(f"report.py: {build} was not compiled with --coverage")
    for note in notes:
        if "/src/" not in str(note):
            continue
        done = subprocess.run(
            ["gcov", "--json-format", "--stdout", "--branch-probabilities",
             str(note)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=build, check=True)
        for text in done.stdout.splitlines():
            for entry in json.loads(text)["files"]:
                path = pathlib.Path(build, entry["file"]).resolve()
                if SOURCES in path.parents:
                    merge(files[path.relative_to(SOURCES)], entry["lines"])
    return files


def merge(known, lines):
    for line in lines:
        counts = [branch["count"] for branch in line["branches"]]
        old = known.setdefault(line["line_number"],
                               [0, [], line.get("function_name", "")])
        old[0] += line["count"]
        # A header's function may have been optimised in two ways.
        if len(old[1]) == len(counts):
            old[1] = [a + b for a, b in zip(old[1], counts)]
        elif len(old[1]) < len(counts):
            old[1] = counts


def shares(file):
    """Lines: all, run, excepted; branches: all, taken, excepted."""
    lines = file.lines.values()
    branches = [count for _, counts, _ in lines for count in counts]
    return (len(lines), sum(count > 0 for count, _, _ in lines),
            len(file.excepted_lines),
            len(branches), sum(count > 0 for count in branches),
            sum(file.excepted_branches.values()))


def percent(part, whole):
    return f"{100 * part / whole:5.1f} %" if whole else "      -"


def row(name, sums):
    """`sums` is two wholes, each with its part and perhaps what is excepted: then
    what is missing is told, too."""
    text = f"{name:40}"
    half = len(sums) // 2
    for whole, part, *excepted in (sums[:half], sums[half:]):
        text += f" {whole:10} {percent(part, whole)}"
        for count in excepted:
            text += f" {count:8} {whole - part - count:7}"
    print(text)


def print_table(files, head, shares):
    """A row for each file, each folder of src/ and all; shares(what is known of
    a file) are its sums, as many in two halves."""
    floors = collections.defaultdict(lambda: None)
    widths = (10, 7, 8, 7)
    half = len(head) // 2
    print(" " * 40 + "".join(f" {word:>{widths[n % half]}}"
                             for n, word in enumerate(head)))
    for path, known in sorted(files.items()):
        sums = shares(known)
        if sums[0] > 0:
            row(str(path), sums)
        for name in (path.parts[0] + "/", "all"):
            old = floors[name] or [0] * len(sums)
            floors[name] = [a + b for a, b in zip(old, sums)]
    print()
    for name in sorted(floors, key=lambda floor: (floor == "all", floor)):
        row(name, floors[name])


def of_source(files, name):
    """What is known of a file, and its lines."""
    path = (ROOT / name).resolve()
    if SOURCES not in path.parents or path.relative_to(SOURCES) not in files:
        sys.exit(f"{sys.argv[0]}: {name} is no source of src/ that was compiled")
    return (files[path.relative_to(SOURCES)],
            path.read_text(encoding="utf-8").splitlines())


def print_missing(file, name):
    for number, (count, branches, _) in sorted(file.lines.items()):
        left = branches.count(0) - file.excepted_branches.get(number, 0)
        if (count == 0 and number not in file.excepted_lines) or left > 0:
            mark = "not run" if count == 0 else "one side"
            print(f"{name}:{number}: {mark:8}  {file.text[number - 1].strip()}")


def print_kinds(rules):
    print()
    kinds = collections.Counter()
    for rule in rules:
        kinds[rule.kind] += rule.excepted
    for kind, count in kinds.items():
        print(f"excepted: {kind:29} {count:10} lines and branches")


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--missing")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    known = read(arguments.build.resolve())
    files = {path: File(path, known[path], of_source(known, SOURCES / path)[1])
             for path in known}
    rules = read_rules()
    stale = apply_rules(rules, files.values())
    if arguments.missing is None:
        print_table(files, ("lines", "run", "excepted", "missing",
                            "branches", "taken", "excepted", "missing"), shares)
        print_kinds(rules)
    elif arguments.missing == "":
        for path, file in sorted(files.items()):
            print_missing(file, f"src/{path}")
    else:
        of_source(known, arguments.missing)
        path = (ROOT / arguments.missing).resolve().relative_to(SOURCES)
        print_missing(files[path], arguments.missing)
    for line in stale:
        print(f"stale: {line}", file=sys.stderr)
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
