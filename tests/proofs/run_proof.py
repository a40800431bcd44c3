#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the harnesses of a file with CBMC, and shows that they can fail.

    run_proof.py FILE.c

Lines of the file's first comment say what to do:

    bound: PATH: TEXT -> TEXT       for all that follow, such as fewer axes
    prove FUNCTION: OPTION...       CBMC has to succeed
    fault FUNCTION: PATH: TEXT -> TEXT
                                    with this fault planted, CBMC has to fail

PATH is below src/ or include/, and TEXT is there once. What is changed is a copy.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIMIT_SECONDS = 600
# The undefined behaviour that is looked for in every harness.
CHECKS = ["--bounds-check", "--pointer-check", "--div-by-zero-check",
          "--signed-overflow-check", "--unwinding-assertions"]


def fail(text):
    sys.exit(f"run_proof: {text}")


def read_header(path):
    """Returns the bounds, the proofs and the faults of a harness."""
    header = path.read_text().split("*/")[1]
    words = re.sub(r"\s+", " ", re.sub(r"(?m)^ \*", "", header))
    bounds, proofs, faults = [], {}, []
    for entry in re.split(r" (?=(?:bound|prove \w+|fault \w+): ?)", words)[1:]:
        change = re.match(r"(bound|fault (\w+)): (\S+): (.*) -> (.*)$",
                          entry.strip())
        prove = re.match(r"prove (\w+):(.*)$", entry)
        if change and change.group(1) == "bound":
            bounds.append(change.groups()[2:])
        elif change:
            faults.append(change.groups()[1:])
        elif prove:
            proofs[prove.group(1)] = prove.group(2).split()
        else:
            fail(f"{path.name}: what is '{entry}'?")
    if not proofs or {f[0] for f in faults} != set(proofs):
        fail(f"{path.name}: each proof needs a fault, and each fault a proof")
    return bounds, proofs, faults


def change(overlay, path, old, new):
    """Replaces a text in the copy of a file."""
    for folder in ("src", "include"):
        if (ROOT / folder / path).is_file():
            copy = overlay / folder / path
            source = copy if copy.is_file() else ROOT / folder / path
            text = source.read_text()
            if text.count(old) != 1:
                fail(f"{path} has '{old}' {text.count(old)} times")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text.replace(old, new))
            return
    fail(f"there is no {path}")


def is_proven(overlay, harness, function, options):
    command = ["cbmc", str(harness), "--function", function, *CHECKS, *options,
               "-I", str(overlay), "-I", str(HERE)]
    for base in (overlay, ROOT):
        command += ["-I", str(base / "src"), "-I", str(base / "include")]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              cwd=overlay, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        fail(f"{function}: no answer within {LIMIT_SECONDS} s")
    if "VERIFICATION SUCCESSFUL" in done.stdout:
        return True
    if "VERIFICATION FAILED" in done.stdout:
        return False
    fail(f"{function}: cbmc ended with {done.returncode}:\n"
         + done.stdout[-1000:])
    return False


def main():
    harness = pathlib.Path(sys.argv[1]).resolve()
    bounds, proofs, faults = read_header(harness)
    is_good = True
    for fault in [None, *faults]:
        for function, options in proofs.items():
            if fault and fault[0] != function:
                continue
            with tempfile.TemporaryDirectory() as folder:
                overlay = pathlib.Path(folder)
                for bound in bounds:
                    change(overlay, *bound)
                if fault:
                    change(overlay, *fault[1:])
                started = time.monotonic()
                proven = is_proven(overlay, harness, function, options)
            words = f"with '{fault[3]}' in {fault[1]} " if fault else ""
            verdict = "proven" if proven else "refuted"
            wrong = proven == bool(fault)
            print(f"{function}: {words}{verdict} "
                  f"({time.monotonic() - started:.1f} s)"
                  f"{': WRONG' if wrong else ''}", flush=True)
            is_good = is_good and not wrong
    return 0 if is_good else 1


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
