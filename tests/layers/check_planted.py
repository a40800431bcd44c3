#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the checkers: each planted include, name and circle must be found.

    check_planted.py ROOT
"""

import os
import shutil
import subprocess
import sys
import tempfile

# (file, the include that must not be there)
PLANTED = [
    ("src/base/status.c", '#include "desc/shape.h"'),
    ("src/base/status.h", '#include "base/file.h"'),
    ("src/desc/planted.c", '#include "ir/problem.h"'),
    ("src/desc/planted.c", '#include "base/thread.h"'),
    ("src/desc/planted.c", '#include "xla/shape_tree.h"'),
    ("src/desc/address.c", '#include "desc/shape.h"'),
    ("src/desc/address.h", '#include "desc/strides.h"'),
    ("src/desc/layout.c", '#include "desc/address.h"'),
    ("src/ir/planted.c", '#include "xla/shape_tree.h"'),
    ("src/xla/cost.c", '#include "xla/shape_tree.h"'),
    ("src/desc/planted.c", '#include "planted.h"'),
    ("src/io/npy.c", '#include "io/dlpack.h"'),
    ("src/text/planted.c", '#include "ir/problem.h"'),
    ("src/text/lex.c", '#include "text/layout.h"'),
    ("src/io/planted.c", '#include "ir/problem.h"'),
    ("src/ir/planted.c", "#include <CL/cl.h>"),
    ("src/ir/planted.c", '#include "relayout/opencl.h"'),
    ("src/plan/planted.c", "#include <pthread.h>"),
    ("src/plan/planted.c", '  #  include "ops/transpose.h"'),
    ("src/codegen/planted.c", '#include "runtime/context.h"'),
    ("src/engine/planted.c", "#include <CL/cl.h>"),
    ("src/engine/memory/planted.c", '#include "engine/copy/copy_op.h"'),
    ("src/engine/tensor/planted.c", '#include "engine/call/call_plan.h"'),
    ("src/engine/call/planted.c", '#include "engine/gradient/tape.h"'),
    ("src/runtime/planted.c", '#include "engine/tensor/tensor_lifetime.h"'),
    ("src/service/planted.c", '#include "engine/parts.h"'),
    ("src/service/storage.c", '#include "service/journal.h"'),
    ("src/cli/planted.c", '#include "ir/problem.h"'),
    ("src/cli/planted.c", "#include <CL/cl.h>"),
    ("bench/planted.c", '#include "plan/planner.h"'),
    ("bench/planted.c", '#include "host/nest.h"'),
    ("src/host/planted.c", '#include "base/thread.h"'),
    ("src/host/mover.c", "#include <pthread.h>"),
    ("src/host/planted.c", '#include "plan/planner.h"'),
    ("docs/examples/planted.c", '#include "ir/problem.h"'),
    ("include/relayout/status.h", '#include "base/status.h"'),
    ("include/relayout/status.h", "#include <CL/cl.h>"),
    ("src/util/planted.c", "#include <stddef.h>"),
]

# (checker, {file: its text}, the beginning of the line that it must print)
PLANTED_FILES = [
    ("check_names.py", {"src/base/planted.c": "int rlo_planted(void);\n"},
     "src/base/planted.c:1: rlo_planted is not declared in include/"),
    ("check_names.py",
     {"src/base/planted.h": "enum { RLO_PLANTED = 1 };\n"},
     "src/base/planted.h:1: RLO_PLANTED is not declared in include/"),
    ("check_names.py",
     {"include/relayout/planted.h": "int rlo__planted(void);\n"},
     "include/relayout/planted.h:1: rlo__planted is internal"),
    ("check_circles.py",
     {"src/base/planted_a.h": '#include "base/planted_b.h"\n',
      "src/base/planted_b.h": '#include "base/planted_a.h"\n'},
     "circle of 2 files: src/base/planted_a, src/base/planted_b"),
    # By calls alone: both functions are declared in a third header.
    ("check_circles.py",
     {"src/base/planted.h": "int rlo__a(int n);\nint rlo__b(int n);\n",
      "src/base/planted_a.c": '#include "base/planted.h"\n'
                              "int rlo__a(int n) {\n  return rlo__b(n);\n}\n",
      "src/base/planted_b.c": '#include "base/planted.h"\n'
                              "int rlo__b(int n) {\n  return rlo__a(n);\n}\n"},
     "circle of 2 files: src/base/planted_a, src/base/planted_b"),
]


def run(root, script="check_layers.py"):
    checker = os.path.join(os.path.dirname(__file__), script)
    done = subprocess.run([sys.executable, checker, root],
                          stdout=subprocess.PIPE, universal_newlines=True)
    return done.returncode, done.stdout.splitlines()


def copy_tree(root, copy):
    for top in ("src", "include", "cl"):
        shutil.copytree(os.path.join(root, top), os.path.join(copy, top))


def append_line(root, path, line):
    """Returns its number."""
    target = os.path.join(root, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "a+", encoding="utf-8") as file:
        file.seek(0)
        number = len(file.read().splitlines()) + 1
        file.write(line + "\n")
    return number


def check_includes(root):
    """All in one tree: a line is right or wrong whatever the others are.
    Nothing else is wrong. Returns how many are not found."""
    places = ["%s:%d: %s: " % (path, append_line(root, path, line),
                               line.strip()) for path, line in PLANTED]
    status, output = run(root)
    missing = [place for place in places
               if not any(o.startswith(place) for o in output)]
    for place in missing:
        print("not found: %s" % place)
    if status != 1 or len(output) != len(PLANTED) + 1:
        print("exit code %d and not only what is planted:" % status)
        print("\n".join(output))
        return max(1, len(missing))
    return len(missing)


def is_found(root, script, files, expected):
    for path, text in files.items():
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)
    status, output = run(root, script)
    for path in files:
        os.remove(os.path.join(root, path))
    if status == 1 and any(o.startswith(expected) for o in output):
        return True
    print("not found by %s: %s" % (script, expected))
    print("\n".join(output))
    return False


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        copy_tree(sys.argv[1], work)
        for planted in PLANTED_FILES:
            failures += not is_found(work, *planted)
        failures += check_includes(work)
    print("%d planted, %d not found" % (len(PLANTED) + len(PLANTED_FILES),
                                        failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
