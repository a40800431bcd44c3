#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the structs and functions that relayout/_c.py reads in the headers with what the C
compiler reads there.

    check_abi.py INCLUDE_DIR COMPILER [FLAG...]
"""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
from relayout import _c  # noqa: E402

PACKAGE = Path(_c.__file__).parent
CHECK = '_Static_assert(%s == %d, "%s");\n'


def names_used(pattern: str) -> list[str]:
    """What the package's modules take of _c and Python does not define there."""
    text = "".join(path.read_text() for path in PACKAGE.glob("*.py"))
    defined = re.findall(r"^(?:def|class) (\w+)", (PACKAGE / "_c.py").read_text(), re.M)
    return sorted({"Error", *re.findall(pattern, text)} - set(defined))


def assertions(struct: type) -> str:
    name = struct.__name__
    text = CHECK % (f"sizeof({name})", ctypes.sizeof(struct), f"the size of {name}")
    for field, kind in struct._fields_:
        offset = getattr(struct, field).offset
        text += CHECK % (f"offsetof({name}, {field})", offset, f"the offset of {name}.{field}")
        text += CHECK % (f"sizeof((({name} *)0)->{field})", ctypes.sizeof(kind),
                         f"the size of {name}.{field}")
    return text


def main() -> int:
    include, *compiler = sys.argv[1:]
    structs = [getattr(_c, name) for name in names_used(r"_c\.([A-Z]\w+[a-z])\b")]
    assert len(structs) >= 12, structs
    source = "".join(f'#include "relayout/{header}.h"\n'
                     for header in ("relayout", "dlpack", "service", "opencl", "digest",
                                    "recipe", "safetensors"))
    source += "#include <stddef.h>\n" + "".join(map(assertions, structs))
    source += CHECK % ("RLO_MAX_RANK", _c.MAX_RANK, "RLO_MAX_RANK")
    run = subprocess.run([*compiler, "-std=c11", "-fsyntax-only", "-I", include, "-x", "c", "-"],
                         input=source, text=True, capture_output=True)
    print(run.stderr or f"{len(structs)} structs as in the headers")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
