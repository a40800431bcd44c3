#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that no part of the interface is hidden from who reads the documents.

    check_api.py ROOT

A page for users names the header of each function that it explains, or one that includes it,
unless relayout.h does. docs/api.md names every public header, as `relayout/NAME.h`, but for old names of
headers, and with "(experimental)" in its row or section if the header says so. Every function that
makes something (rlo_..._create, _begin, _register and the like) is named in a
document. What documents name as `rlo_...` is in a header or a kernel.
"""

import glob
import os
import re
import sys

MAKERS = re.compile(
    r"_(create\w*|begin|open|register|make\w*|wrap\w*|set|from_\w+|parse|"
    r"submit|vjp|enqueue\w*)$")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def functions(header):
    """The names that a header declares as functions."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    return set(re.findall(r"\b(rlo_\w+)\s*\(", text)) - {"rlo_status"}


def included(name, headers):
    """A header and those that it includes."""
    found = {name}
    for other in re.findall(r'#include "relayout/([\w/]+\.h)"', headers[name]):
        found |= included(other, headers)
    return found


def without_header(headers, pages):
    usual = included("relayout.h", headers)
    for page, text in sorted(pages.items()):
        if os.path.basename(page) in ("architecture.md", "kernels.md", "testing.md"):
            continue
        known = set(usual)
        for name in headers:
            if re.search(r"\b%s\b" % os.path.basename(name), text):
                known |= included(name, headers)
        text = re.sub(r"```.*?```", "", text, flags=re.S)
        used = set(re.findall(r"`(rlo_\w+)", text))
        for name in sorted(set(headers) - known):
            for function in sorted(functions(headers[name]) & used):
                yield "%s names %s and not relayout/%s" % (page, function, name)


def hidden(root):
    include = os.path.join(root, "include", "relayout")
    headers = {os.path.relpath(path, include): read(path) for path in
               glob.glob(os.path.join(include, "**", "*.h"), recursive=True)}
    headers = {name: text for name, text in headers.items()
               if "/* The old name of relayout/" not in text}
    pages = {os.path.relpath(path, root): read(path) for path in
             [os.path.join(root, "README.md")]
             + glob.glob(os.path.join(root, "docs", "*.md"))}
    rows = {}
    note = ""
    for line in pages[os.path.join("docs", "api.md")].splitlines():
        if line.startswith("## "):
            note = ""
        elif line.startswith("All experimental"):
            note = "experimental"
        match = re.match(r"\| `relayout/([\w/]+\.h)`", line)
        if match:
            rows[match.group(1)] = note or line
    for name in sorted(set(headers) - set(rows)):
        yield "docs/api.md does not name relayout/%s" % name
    for name in sorted(set(rows) - set(headers)):
        yield "docs/api.md names relayout/%s, which there is not" % name
    for name in sorted(set(rows) & set(headers)):
        is_experimental = "/* Experimental:" in headers[name]
        if is_experimental != ("experimental" in rows[name]):
            yield "docs/api.md: relayout/%s is%s experimental" % (
                name, "" if is_experimental else " not")
    sources = [read(path) for path in glob.glob(os.path.join(root, "cl", "*.cl"))]
    declared = set(re.findall(r"\brlo_\w+",
                              "\n".join(list(headers.values()) + sources)))
    for page, text in sorted(pages.items()):
        text = re.sub(r"```.*?```", "", text, flags=re.S)
        for name in sorted(set(re.findall(r"`(rlo_[a-z0-9_]*[a-z0-9])\b(?!\*)",
                                          text))):
            if name.startswith("rlo__") or name in declared:
                continue
            if not any(known.startswith(name + "_") for known in declared):
                yield "%s names %s, which no header has" % (page, name)
    yield from without_header(headers, pages)
    named = set(re.findall(r"\brlo_\w+", "\n".join(pages.values())))
    for header, text in sorted(headers.items()):
        for name in sorted(functions(text) - named):
            if MAKERS.search(name):
                yield "no document names %s of relayout/%s" % (name, header)


def main():
    faults = list(hidden(sys.argv[1]))
    for fault in faults:
        print(fault)
    print("%d faults" % len(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
