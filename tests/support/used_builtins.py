#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the part of an opencl-c.h that a source tree uses.

    used_builtins.py OPENCL_C_H OUT SOURCE...

PoCL parses all 15,000 declarations of this header for every program, which takes
longer than everything else that it does to compile one without optimisation.
OUT has the same lines without the declarations of functions whose names occur in
no SOURCE. A function that is missing is an error of compilation, so no test can
pass because of this.
"""

import pathlib
import re
import sys


def statements(text):
    """Directives and declarations, each in one line, without comments."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\\[ \t]*\n", " ", text)
    text = re.sub(r"//[^\n]*", "", text)
    declaration = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("#"):
            if declaration:
                raise ValueError(f"'{line}' inside of '{declaration}'")
            yield line
            continue
        *ended, declaration = f"{declaration} {line}".split(";")
        declaration = declaration.strip()
        for part in ended:
            yield part.strip() + ";"
    if declaration:
        raise ValueError(f"'{declaration}' does not end")


def function_name(statement):
    """What a declaration declares; None for a directive or a type."""
    if statement.startswith("#"):
        return None
    plain = re.sub(r"__attribute__\(\(.*?\)\)", "", statement)
    match = re.search(r"(\w+)\s*\(", plain)
    return match and match.group(1)


def main(header, out, *sources):
    # What is no function is kept.
    words = {None}
    for source in sources:
        words.update(re.findall(r"[A-Za-z_]\w*", pathlib.Path(source).read_text()))
    lines = [
        statement
        for statement in statements(pathlib.Path(header).read_text())
        if function_name(statement) in words
    ]
    text = "\n".join(lines) + "\n"
    out = pathlib.Path(out)
    if out.is_symlink() or not out.exists() or out.read_text() != text:
        # A link to the whole header must not be written through.
        new = out.with_suffix(".new")
        new.write_text(text)
        new.replace(out)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
