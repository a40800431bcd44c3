#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that a name tells whether it is public.

    check_names.py [ROOT]

Prints one line per offence, `path:line: what is wrong`, and exits with 1 if
there is one. The rules, for src/ and include/:
  - rlo_x is declared in include/; what src/ alone declares is rlo__x;
  - include/ declares no rlo__x, but for structs whose members are private;
  - RLO_X likewise, for enumerators and constants. Macros that stand for a
    statement (RLO_TRY, RLO_FAIL, RLO_CL) and include guards are exempt, and so
    are the names that kernels define (cl/).
"""

import os
import re
import sys

NAME = re.compile(r"\b(?:rlo|RLO)_\w+")
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
STATEMENTS = {"RLO_TRY", "RLO_TRY_GOTO", "RLO_TRY_MEMORY", "RLO_FAIL", "RLO_FAIL_IF",
              "RLO_CL", "RLO_REQUIRE",
              "RLO_REQUIRE_OR", "RLO_REQUIRE_LIST", "RLO_REQUIRE_EACH"}


def blank(match):
    """White space with the lines of what it stands for."""
    return re.sub(r"[^\n]", " ", match.group())


def read_code(root, top, suffixes):
    for folder, _, names in os.walk(os.path.join(root, top)):
        for name in sorted(names):
            if name.endswith(suffixes):
                full = os.path.join(folder, name)
                with open(full, encoding="utf-8") as file:
                    text = file.read()
                path = os.path.relpath(full, root).replace(os.sep, "/")
                yield path, COMMENT.sub(blank, text)


def is_internal(name):
    return name.startswith(("rlo__", "RLO__"))


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    public, kernel, names, offences = set(), set(), 0, 0
    for _, text in read_code(root, "include", ".h"):
        public.update(NAME.findall(text))
    for _, text in read_code(root, "cl", ".cl"):
        kernel.update(NAME.findall(text))
    for path, text in read_code(root, "src", (".c", ".h")):
        for number, line in enumerate(text.split("\n"), 1):
            for name in NAME.findall(line):
                names += 1
                if (is_internal(name) or name in public or name in kernel or
                        name in STATEMENTS):
                    continue
                if name.startswith("RLO_") and name.endswith("_H"):
                    continue
                offences += 1
                print("%s:%d: %s is not declared in include/: call it %s" % (
                    path, number, name, name[:4] + "_" + name[4:]))
    for path, text in read_code(root, "include", ".h"):
        for number, line in enumerate(text.split("\n"), 1):
            for name in filter(is_internal, NAME.findall(line)):
                offences += 1
                print("%s:%d: %s is internal and stands in a public header" % (
                    path, number, name))
    if names == 0:
        print("no name under %s/src: is this the root?" % root)
        return 1
    print("%d names, %d offences" % (names, offences))
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
