#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that #include lines respect the floors.

    check_layers.py [ROOT]

Prints one line per offence, `path:line: what is wrong`, and exits with 1 if
there was any. The rules:
  - a file of src/ includes only lower floors, and lower rooms of its own;
  - src/cli, bench and docs/examples see the public headers only, and src/cli
    base/, of which it has copies, and bench host/mover.h;
  - only include/relayout/opencl.h and src/runtime include <CL/...>, and only
    floors from runtime/ up may include relayout/opencl.h;
  - below runtime/ only base/thread knows <pthread.h>, and only host/mover
    base/thread;
  - public headers include public headers, and no other.
"""

import os
import re
import sys

# Lowest first. A room is a file of its floor, header and all, or a folder of
# them. Rooms of one floor are listed where their order matters; a room not
# listed may include any of its floor's rooms and be included by any.
FLOORS = {
    "base": (0, ["sentence", "status", "options", "checked", "alloc", "table", "str",
                 "hash", "thread", "file_replace", "file"]),
    "desc": (1, ["dtype", "permutation", "layout", "address",
                 "shape", "shape_record", "strides", "index"]),
    "ir": (2, ["problem", "lower", "canonical", "reference", "adjoint"]),
    "text": (2, ["lex", "layout", "array", "parse", "print"]),
    "plan": (3, []),
    "host": (3, []),
    "ops": (3, []),
    "codegen": (4, []),
    "io": (4, []),
    "shard": (4, []),
    "xla": (4, ["shape_strides", "shape_query", "cost",
                "bitcast", "decompose", "shape_tree"]),
    "runtime": (5, []),
    "move": (6, ["place", "memory", "move"]),
    "engine": (7, ["parts", "memory", "registry", "tensor", "copy", "call",
                   "gradient", "engine"]),
    "service": (7, ["storage_cache", "storage", "piece_grid",
                    "piece_tally",
                    "piece_plan", "piece_growth", "piece_search",
                    "piece_bands", "journal",
                     "work", "pipeline", "job_plan", "job",
                     "service", "submit"]),
    "exchange": (7, ["agreement", "state", "message_list", "ends",
                     "run", "exchange"]),
    "mpi": (8, []),
    "safetensors": (8, []),
}
DEVICE_LEVEL = FLOORS["runtime"][0]
# Formats of io/ do not include each other.
INDEPENDENT = {"io": {"dlpack", "npy"}}
# Floors that a floor above them must not include.
UNKNOWN = {"io": {"ir", "plan"}}
# Places that are built like a user's program.
OUTSIDE = ("src/cli/", "bench/", "docs/examples/")
# What the library exports for relayout-bench.
SEEN_BY_BENCH = "host/mover.h"

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def room_of(path):
    """<floor>/<room>.h or <floor>/<room>/<file>.h, src/ taken off."""
    return os.path.splitext(path.split("/")[1])[0]


def offence_outside(path, quote, target):
    """src/cli, bench and docs/examples."""
    if target.startswith("relayout/") or quote == "<":
        # The types of functions that a program loads.
        if target.startswith("CL/") and target != "CL/cl_icd.h":
            return "use relayout/opencl.h for OpenCL"
        return None
    if "/" not in target:
        return None  # a header beside it
    if path.startswith("src/cli/") and target.startswith("base/"):
        return None
    if path.startswith("bench/") and target == SEEN_BY_BENCH:
        return None
    return "only public headers may be included here"


def offence_public(path, quote, target):
    """include/relayout."""
    if quote == '"' and not target.startswith("relayout/"):
        return "a public header includes only public headers"
    if target.startswith("CL/") and path != "include/relayout/opencl.h":
        return "only include/relayout/opencl.h includes OpenCL"
    return None


def offence_floor(path, quote, target):
    """src/<floor>."""
    floor = path.split("/")[1]
    if floor not in FLOORS:
        return "src/%s is no floor" % floor
    level, order = FLOORS[floor]
    room = room_of(path[len("src/"):])
    if target.startswith("CL/"):
        return None if floor == "runtime" else "only src/runtime includes OpenCL"
    if target == "relayout/opencl.h":
        return None if level >= DEVICE_LEVEL else (
            "%s/ is below runtime/ and knows no OpenCL" % floor)
    if target in ("pthread.h", "threads.h", "base/thread.h"):
        if level >= DEVICE_LEVEL or (floor, room) == ("base", "thread"):
            return None
        if (floor, room, target) == ("host", "mover", "base/thread.h"):
            return None
        return "%s/ is below runtime/ and knows no threads" % floor
    if quote == "<" or target.startswith("relayout/"):
        return None
    if "/" not in target:
        return "say which floor: \"%s/%s\"" % (floor, target)
    other = target.split("/")[0]
    if other not in FLOORS:
        return "%s/ is no floor" % other
    other_level = FLOORS[other][0]
    if other == floor:
        other_room = room_of(target)
        if other_room == room:
            return None
        if {room, other_room} <= INDEPENDENT.get(floor, set()):
            return "%s/%s and %s/%s are independent" % (
                floor, room, floor, other_room)
        if room in order and other_room in order:
            if order.index(other_room) > order.index(room):
                return "%s stands above %s in %s/" % (other_room, room, floor)
        return None
    if other in UNKNOWN.get(floor, set()):
        return "%s/ knows nothing of %s/" % (floor, other)
    if other_level < level:
        return None
    if other_level == level:
        return "%s/ and %s/ share a floor" % (floor, other)
    return "%s/ is above %s/" % (other, floor)


def offence(path, quote, target):
    if path.startswith(OUTSIDE):
        return offence_outside(path, quote, target)
    if path.startswith("include/"):
        return offence_public(path, quote, target)
    return offence_floor(path, quote, target)


def source_files(root):
    for top in ("src", "include", "bench", "docs/examples"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    full = os.path.join(folder, name)
                    yield full, os.path.relpath(full, root).replace(os.sep, "/")


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    includes = offences = 0
    for full, path in source_files(root):
        with open(full, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = INCLUDE.match(line)
                if match is None:
                    continue
                includes += 1
                words = offence(path, *match.groups())
                if words is not None:
                    offences += 1
                    print("%s:%d: %s: %s" % (path, number, line.strip(), words))
    if includes == 0:
        print("no #include line under %s: is this the root?" % root)
        return 1
    print("%d include lines, %d offences" % (includes, offences))
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
