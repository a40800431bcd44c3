#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check what the shared libraries export against the public headers.

    check_exports.py INCLUDE SONAME_VERSION LIBRARY...

Every function that a header of the folder INCLUDE declares with RLO_API is
exported by one of the libraries, and they export nothing else. A header whose
library is not among them (relayout/mpi.h, relayout/safetensors.h) is left out. Each library's SONAME ends in .so.SONAME_VERSION. Prints one line per offence.
"""

import glob
import os
import re
import subprocess
import sys

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# The name is the first one of ours that a parenthesis follows.
DECLARATION = re.compile(r"\bRLO_API\b[^;{]*?\b(rlo_\w+)\s*\(", re.S)
LIBRARIES = {"mpi.h": "librelayout-mpi",
             "safetensors.h": "librelayout-safetensors",
             "recipe.h": "librelayout-safetensors"}


def declared_by(text):
    """The functions that a header declares."""
    text = COMMENT.sub(" ", text)
    text = re.sub(r"^\s*#.*(?:\\\n.*)*$", "", text, flags=re.M)
    text = re.sub(r"\bRLO_PRINTF\([^)]*\)", "", text)
    return set(DECLARATION.findall(text))


def declared(include, libraries):
    names = set()
    folder = os.path.join(include, "relayout")
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.h"), recursive=True)):
        library = LIBRARIES.get(os.path.relpath(path, folder), "librelayout")
        if not any(os.path.basename(built).startswith(library + ".")
                   for built in libraries):
            continue
        with open(path, encoding="utf-8") as file:
            names |= declared_by(file.read())
    return names


def exported(library):
    table = subprocess.run(["nm", "-D", "--defined-only", library],
                           stdout=subprocess.PIPE, check=True,
                           universal_newlines=True).stdout
    for line in table.splitlines():
        kind, name = line.split()[-2:]
        # The version itself is an absolute symbol.
        if kind != "A":
            yield name.split("@")[0]


def soname(library):
    text = subprocess.run(["readelf", "-d", library], stdout=subprocess.PIPE,
                          check=True, universal_newlines=True).stdout
    found = re.search(r"SONAME.*\[(.*)\]", text)
    return found.group(1) if found else "none"


def main():
    include, version, libraries = sys.argv[1], sys.argv[2], sys.argv[3:]
    public = declared(include, libraries)
    seen, offences = set(), []
    for library in libraries:
        name = os.path.basename(library)
        for symbol in exported(library):
            if symbol not in public:
                offences.append("%s exports %s, which no header declares"
                                % (name, symbol))
            elif symbol in seen:
                offences.append("%s exports %s, as another library does"
                                % (name, symbol))
            seen.add(symbol)
        if not soname(library).endswith(".so." + version):
            offences.append("the SONAME of %s is %s and not .so.%s"
                            % (name, soname(library), version))
    offences += ["no library exports %s" % name
                 for name in sorted(public - seen)]
    for offence in offences:
        print(offence)
    print("%d functions, %d offences" % (len(public), len(offences)))
    return 1 if offences or not public else 0


if __name__ == "__main__":
    sys.exit(main())
