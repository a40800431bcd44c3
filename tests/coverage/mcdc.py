#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which conditions of src/ the tests have shown to decide.

    mcdc.py BUILD [--missing FILE]

BUILD was compiled by clang with -fcoverage-mcdc and its tests have run:
./dev coverage --mcdc. A condition of a decision (of && and ||) is covered if two
runs differ in it, in the outcome, and in no other condition that was looked at.
With --missing, the conditions of FILE that are not.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

from report import ROOT, SOURCES, percent


# What holds all code of src/, and the tests of what its headers define.
OBJECTS = ("lib*.so", "relayout", "relayout-mpi", "tests/*_tests")


def export(build):
    """[file, records of its decisions] of each source and header."""
    objects = [option for pattern in OBJECTS
               for path in sorted(build.glob(pattern))
               for option in ("-object", str(path))]
    if not objects:
        sys.exit(f"mcdc.py: there is no program in {build}")
    done = subprocess.run(
        ["llvm-cov-19", "export", "-skip-functions", "-skip-branches",
         "-skip-expansions", "-instr-profile", str(build / "all.profdata"),
         *objects], stdout=subprocess.PIPE, check=True)
    return [(entry["filename"], entry["mcdc_records"])
            for entry in json.loads(done.stdout)["data"][0]["files"]]


def merge(entries):
    """{path below src: {(line, column): [whether a condition is covered]}}. What
    a header or a macro says counts once, however many files take it in."""
    files = collections.defaultdict(dict)
    for name, records in entries:
        path = pathlib.Path(name)
        if SOURCES not in path.parents:
            continue
        decisions = files[path.relative_to(SOURCES)]
        for line, column, _, _, _, _, covered in records:
            known = decisions.setdefault((line, column), covered)
            decisions[line, column] = [a or b for a, b in zip(known, covered)]
    return files


def row(name, sums):
    decisions, whole, conditions, covered = sums
    print(f"{name:40} {decisions:9} {percent(whole, decisions)} "
          f"{conditions:10} {percent(covered, conditions)}")


def print_table(files):
    floors = collections.defaultdict(lambda: [0, 0, 0, 0])
    print(f"{'':40} {'decisions':>9} {'whole':>7} {'conditions':>10} "
          f"{'covered':>7}")
    for path, decisions in sorted(files.items()):
        found = decisions.values()
        sums = (len(found), sum(all(covered) for covered in found),
                sum(map(len, found)), sum(map(sum, found)))
        if found:
            row(str(path), sums)
        for name in (path.parts[0] + "/", "all"):
            floors[name] = [a + b for a, b in zip(floors[name], sums)]
    print()
    for name in sorted(floors, key=lambda floor: (floor == "all", floor)):
        row(name, floors[name])


def print_missing(files, name):
    path = (ROOT / name).resolve()
    if SOURCES not in path.parents or path.relative_to(SOURCES) not in files:
        sys.exit(f"mcdc.py: {name} is no source of src/ that was compiled")
    text = path.read_text(encoding="utf-8").splitlines()
    for (line, column), covered in sorted(
            files[path.relative_to(SOURCES)].items()):
        missing = [str(k + 1) for k, is_covered in enumerate(covered)
                   if not is_covered]
        if missing:
            print(f"{name}:{line}:{column}: {','.join(missing)} of "
                  f"{len(covered)}  {text[line - 1].strip()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--missing")
    arguments = parser.parse_args()
    files = merge(export(arguments.build.resolve()))
    if arguments.missing is None:
        print_table(files)
    else:
        print_missing(files, arguments.missing)


if __name__ == "__main__":
    main()
