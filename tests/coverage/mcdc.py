#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which conditions of src/ the tests have shown to decide.

    mcdc.py BUILD [--missing FILE]

BUILD was compiled by clang with -fcoverage-mcdc and its tests have run:
./dev coverage --mcdc. A condition of a decision (of && and ||) is covered if two
runs differ in it, in the outcome, and in no other condition that was looked at.
With --missing, the conditions of FILE that are not.
"""

import collections
import json
import pathlib
import subprocess
import sys

from report import SOURCES, of_source, parse_arguments, print_table


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


def shares(decisions):
    """Decisions in all and those covered whole, their conditions alike."""
    found = decisions.values()
    return (len(found), sum(all(covered) for covered in found),
            sum(map(len, found)), sum(map(sum, found)))


def print_missing(files, name):
    decisions, text = of_source(files, name)
    for (line, column), covered in sorted(decisions.items()):
        missing = [str(k + 1) for k, is_covered in enumerate(covered)
                   if not is_covered]
        if missing:
            print(f"{name}:{line}:{column}: {','.join(missing)} of "
                  f"{len(covered)}  {text[line - 1].strip()}")


def main():
    arguments = parse_arguments()
    files = merge(export(arguments.build.resolve()))
    if arguments.missing is None:
        print_table(files, ("decisions", "whole", "conditions", "covered"),
                    shares)
    else:
        print_missing(files, arguments.missing)


if __name__ == "__main__":
    main()
