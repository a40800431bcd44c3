#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the ABI of the stable headers against the baseline of the minor version.

    check_abi.py [--write] ABIDW INCLUDE LIBRARY BASELINE

ABIDW, of Debian's abigail-tools, reads from the debug information of LIBRARY the
functions that the headers marked Stable declare, and the types that these reach. BASELINE
has a line for each function, member and enumerator, and for the size of each struct that
has to keep it: docs/api.md. The library may have more lines, and none fewer. --write
writes the baseline, when the minor version changes.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import check_exports

# The library makes and lends them: they may grow.
LENT = {"rlo_error", "rlo_plan_report", "rlo_wisdom_record"}


def stable_functions(include):
    names = set()
    for path in glob.glob(os.path.join(include, "relayout", "**", "*.h"), recursive=True):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if "/* Stable: " in text:
            names |= check_exports.declared_by(text)
    return names


def read_abi(abidw, include, library):
    with tempfile.NamedTemporaryFile("w", suffix=".suppressions") as file:
        file.write("[suppress_function]\n  symbol_name_not_regexp = ^(%s)$\n  drop = yes\n"
                   % "|".join(sorted(stable_functions(include))))
        file.flush()
        # Without types of other headers: what is behind a handle may change.
        text = subprocess.run(
            [abidw, "--suppressions", file.name, "--headers-dir", include,
             "--drop-private-types", "--exported-interfaces-only", library],
            stdout=subprocess.PIPE, check=True).stdout
    return ElementTree.fromstring(text)


class Types:
    """Types as a declaration writes them, by their ids."""

    def __init__(self, root):
        self.nodes = {node.get("id"): node for node in root.iter() if node.get("id")}

    def arguments(self, node):
        return ", ".join("..." if p.get("is-variadic") else self.text(p.get("type-id"))
                         for p in node.findall("parameter")) or "void"

    def result(self, node):
        return self.text(node.find("return").get("type-id"))

    def text(self, type_id):
        node = self.nodes[type_id]
        inner = node.get("type-id")
        if node.tag == "pointer-type-def":
            return self.text(inner) + (" *" if not self.text(inner).endswith("*") else "*")
        if node.tag == "qualified-type-def":
            return self.text(inner) + " const"
        if node.tag == "array-type-def":
            return self.text(inner) + "".join("[%s]" % r.get("length")
                                              for r in node.findall("subrange"))
        if node.tag == "function-type":
            return "%s(%s)" % (self.result(node), self.arguments(node))
        if node.get("is-anonymous"):
            return "{%s}" % "; ".join(self.members(node))
        return node.get("name")

    def members(self, node):
        for member in node.findall("data-member"):
            variable = member.find("var-decl")
            yield "%s: %s at %d bits" % (
                variable.get("name"), self.text(variable.get("type-id")),
                int(member.get("layout-offset-in-bits", 0)))


def lines_of(root):
    types = Types(root)
    for node in root.iter():
        name = node.get("name")
        if node.tag == "function-decl":
            yield "%s %s(%s)" % (types.result(node), name, types.arguments(node))
        elif node.tag == "enumerator":
            yield "%s = %s" % (name, node.get("value"))
        elif node.tag == "class-decl" and name.startswith("rlo_"):
            members = list(types.members(node))
            yield from ("%s.%s" % (name, member) for member in members)
            if members and name not in LENT and not members[0].startswith("struct_size:"):
                yield "%s has %s bits" % (name, node.get("size-in-bits"))


def main():
    is_written = sys.argv[1:2] == ["--write"]
    abidw, include, library, baseline = sys.argv[-4:]
    lines = sorted(set(lines_of(read_abi(abidw, include, library))))
    if is_written:
        with open(baseline, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        return 0
    with open(baseline, encoding="utf-8") as file:
        expected = file.read().splitlines()
    missing = sorted(set(expected) - set(lines))
    for line in missing:
        print("the library lacks: " + line)
    print("%d lines of the ABI, %d missing" % (len(expected), len(missing)))
    return 1 if missing or not expected else 0


if __name__ == "__main__":
    sys.exit(main())
