# SPDX-License-Identifier: Apache-2.0
"""Files of cases: README.md says what is in them, model_driver.c reads them."""

from model_bytes import fnv1a


def move_line(name, group, program, operands, dst, expected):
    """A case of moving: a relayout, or operations."""
    return "\t".join((name, group, program, ";".join(operands), dst,
                      str(len(expected)), "%016x" % fnv1a(expected)))


def write_lines(path, seed, lines):
    with open(path, "w", encoding="ascii", newline="\n") as out:
        out.write("# seed %d lines %d\n" % (seed, len(lines)))
        out.writelines(line + "\n" for line in lines)


def spoil(line):
    """The same case with another expectation, for a driver that accepts it
    compares nothing."""
    return line[:-1] + ("0" if line[-1] != "0" else "1")
