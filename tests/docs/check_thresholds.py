#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that docs/testing.md has the thresholds of src/base/threshold.h.

    check_thresholds.py ROOT

Each row X(name, value, low) has one row `| `name` | value | low | what |` in the
document, in the same order and with the same numbers, which the document may
write with KiB, MiB or GiB. Prints what differs, and exits with 1 then.
"""

import os
import re
import sys

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
LINE = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$")


def number_of_code(text):
    text = re.sub(r"INT64_C\((\d+)\)", r"\1", text)
    text = text.replace("INT32_MAX", str((1 << 31) - 1))
    if not re.fullmatch(r"[\d\s<*]+", text):
        raise ValueError("%s is no number" % text)
    return eval(text)  # pylint: disable=eval-used


def number_of_document(text):
    words = text.replace(",", "").split()
    return int(words[0]) * (UNITS[words[1]] if len(words) > 1 else 1)


def rows_of_code(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read().replace("\\\n", "\n"),
                      flags=re.S)
    table = text[text.index("#define RLO__THRESHOLDS(X)"):]
    table = table[len("#define RLO__THRESHOLDS(X)"):table.index("typedef")]
    found = re.findall(r"X\(\s*(\w+)\s*,((?:[^()]|\(\d+\))*),"
                       r"((?:[^()]|\(\d+\))*)\)", table)
    if len(found) != table.count("X("):
        raise ValueError("%s: a row that cannot be read" % path)
    return [(name, number_of_code(value), number_of_code(low))
            for name, value, low in found]


def rows_of_document(path):
    with open(path, encoding="utf-8") as file:
        found = [LINE.match(line.rstrip("\n")) for line in file]
    return [(row.group(1), number_of_document(row.group(2)),
             number_of_document(row.group(3)))
            for row in found if row is not None and
            re.fullmatch(r"[a-z]+_\w+", row.group(1))]


def main():
    root = sys.argv[1]
    code = rows_of_code(os.path.join(root, "src/base/threshold.h"))
    document = rows_of_document(os.path.join(root, "docs/testing.md"))
    offences = ["docs/testing.md: no row of %s, %d, low %d" % row
                for row in code if row not in document]
    offences += ["src/base/threshold.h: no row of %s, %d, low %d" % row
                 for row in document if row not in code]
    if not offences and code != document:
        offences.append("docs/testing.md: the thresholds have another order, "
                        "or one is there twice")
    print("\n".join(offences), end="\n" if offences else "")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
