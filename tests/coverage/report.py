#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which lines and branches of src/ the tests have run.

    report.py BUILD [--missing FILE]

BUILD was compiled with --coverage and its tests have run: ./dev coverage. A line
or branch counts as run if any program that holds a copy of it ran it. With
--missing, the lines of FILE that no test has run, and those whose branches were
taken to one side only.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "src"


def read(build):
    """{path below src: {line: [count, [branch counts]]}}"""
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
        old = known.setdefault(line["line_number"], [0, []])
        old[0] += line["count"]
        # A header's function may have been optimised in two ways.
        if len(old[1]) == len(counts):
            old[1] = [a + b for a, b in zip(old[1], counts)]
        elif len(old[1]) < len(counts):
            old[1] = counts


def shares(lines):
    """Lines in all and run, branches in all and taken."""
    branches = [count for _, counts in lines.values() for count in counts]
    return (len(lines), sum(count > 0 for count, _ in lines.values()),
            len(branches), sum(count > 0 for count in branches))


def percent(part, whole):
    return f"{100 * part / whole:5.1f} %" if whole else "      -"


def row(name, sums):
    """`sums` is two wholes, each with its part."""
    whole, part, second, second_part = sums
    print(f"{name:40} {whole:10} {percent(part, whole)} "
          f"{second:10} {percent(second_part, second)}")


def print_table(files, head, shares):
    """A row for each file, each folder of src/ and all; shares(what is known of
    a file) is four sums."""
    floors = collections.defaultdict(lambda: [0, 0, 0, 0])
    print("{:40} {:>10} {:>7} {:>10} {:>7}".format("", *head))
    for path, known in sorted(files.items()):
        sums = shares(known)
        if sums[0] > 0:
            row(str(path), sums)
        for name in (path.parts[0] + "/", "all"):
            floors[name] = [a + b for a, b in zip(floors[name], sums)]
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


def print_missing(files, name):
    known, text = of_source(files, name)
    for number, (count, branches) in sorted(known.items()):
        if count == 0 or 0 in branches:
            mark = "not run" if count == 0 else "one side"
            print(f"{name}:{number}: {mark:8}  {text[number - 1].strip()}")


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--missing")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    files = read(arguments.build.resolve())
    if arguments.missing is None:
        print_table(files, ("lines", "run", "branches", "taken"), shares)
    else:
        print_missing(files, arguments.missing)


if __name__ == "__main__":
    main()
