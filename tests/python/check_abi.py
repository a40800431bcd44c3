#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the structs of relayout/_c.py with the headers, by the C compiler.

    check_abi.py INCLUDE_DIR COMPILER [FLAG...]
"""

import ctypes
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
from relayout import _c  # noqa: E402

NAMES = {"Failure": "rlo_error"}
CHECK = '_Static_assert(%s == %d, "%s");\n'


def c_name(struct: type) -> str:
    words = "".join("_" + letter.lower() if letter.isupper() else letter
                    for letter in struct.__name__)
    return NAMES.get(struct.__name__, "rlo" + words)


def assertions(struct: type) -> str:
    name = c_name(struct)
    text = CHECK % (f"sizeof({name})", ctypes.sizeof(struct), f"the size of {name}")
    for field, kind in struct._fields_:
        if not field.startswith("_"):
            offset = getattr(struct, field).offset
            text += CHECK % (f"offsetof({name}, {field})", offset, f"the offset of {name}.{field}")
            text += CHECK % (f"sizeof((({name} *)0)->{field})", ctypes.sizeof(kind),
                             f"the size of {name}.{field}")
    return text


def main() -> int:
    include, *compiler = sys.argv[1:]
    structs = [thing for thing in vars(_c).values()
               if isinstance(thing, type) and issubclass(thing, ctypes.Structure)
               and hasattr(thing, "_fields_") and thing.__module__ == _c.__name__]
    assert len(structs) >= 12, structs
    source = "".join(f'#include "relayout/{header}.h"\n'
                     for header in ("relayout", "dlpack", "service", "opencl", "digest"))
    source += "#include <stddef.h>\n" + "".join(map(assertions, structs))
    source += CHECK % ("RLO_MAX_RANK", _c.MAX_RANK, "RLO_MAX_RANK")
    run = subprocess.run([*compiler, "-std=c11", "-fsyntax-only", "-I", include, "-x", "c", "-"],
                         input=source, text=True, capture_output=True)
    print(run.stderr or f"{len(structs)} structs as in the headers")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
