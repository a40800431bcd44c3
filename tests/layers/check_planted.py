#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the checker: each planted include must be found at its line.

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
    ("src/desc/address/address.c", '#include "desc/shape.h"'),
    ("src/desc/address/planted.h", '#include "desc/strides.h"'),
    ("src/desc/layout.c", '#include "desc/address/quasi.h"'),
    ("src/desc/cost.c", '#include "desc/tree/shape_tree.h"'),
    ("src/desc/planted.c", '#include "planted.h"'),
    ("src/io/npy.c", '#include "io/text.h"'),
    ("src/io/planted.c", '#include "ir/problem.h"'),
    ("src/ir/planted.c", "#include <CL/cl.h>"),
    ("src/ir/planted.c", '#include "relayout/opencl.h"'),
    ("src/plan/planted.c", "#include <pthread.h>"),
    ("src/plan/planted.c", '  #  include "ops/transpose.h"'),
    ("src/codegen/planted.c", '#include "runtime/context.h"'),
    ("src/engine/planted.c", "#include <CL/cl.h>"),
    ("src/engine/instance.c", '#include "engine/move.h"'),
    ("src/runtime/planted.c", '#include "engine/tensor.h"'),
    ("src/cli/planted.c", '#include "base/str.h"'),
    ("src/cli/planted.c", "#include <CL/cl.h>"),
    ("bench/planted.c", '#include "plan/planner.h"'),
    ("docs/examples/planted.c", '#include "ir/problem.h"'),
    ("include/relayout/status.h", '#include "base/status.h"'),
    ("include/relayout/status.h", "#include <CL/cl.h>"),
    ("src/util/planted.c", "#include <stddef.h>"),
]


def run(root):
    checker = os.path.join(os.path.dirname(__file__), "check_layers.py")
    done = subprocess.run([sys.executable, checker, root],
                          stdout=subprocess.PIPE, universal_newlines=True)
    return done.returncode, done.stdout.splitlines()


def main():
    root = sys.argv[1]
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        for index, (path, line) in enumerate(PLANTED):
            copy = os.path.join(work, str(index))
            os.mkdir(copy)
            for top in ("src", "include"):
                shutil.copytree(os.path.join(root, top),
                                os.path.join(copy, top))
            target = os.path.join(copy, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            before = 0
            if os.path.exists(target):
                with open(target, encoding="utf-8") as file:
                    before = len(file.read().splitlines())
            with open(target, "a", encoding="utf-8") as file:
                file.write(line + "\n")
            status, output = run(copy)
            place = "%s:%d: %s: " % (path, before + 1, line.strip())
            if status != 1 or not any(o.startswith(place) for o in output):
                failures += 1
                print("not found: %s in %s" % (line, path))
                print("\n".join(output))
    print("%d planted, %d not found" % (len(PLANTED), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
