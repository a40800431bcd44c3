#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the harnesses of a file, and shows that they can fail.

    run_proof.py FILE.c

Lines of the file's first comment say what to do:

    bound: PATH: TEXT -> TEXT       for all that follow, such as fewer axes
    take PATH: FUNCTION             its text alone, in taken_FUNCTION.h
    prove FUNCTION: OPTION...       CBMC has to succeed
    run main: OPTION...             compiled with these, the file has to exit with 0
    fault FUNCTION: PATH: TEXT -> TEXT
                                    with this fault planted, that has to fail

PATH is below src/, include/ or cl/, and TEXT is there once. What is changed is a
copy. Exits with 77 where CBMC is needed and there is none.
"""

import os
import pathlib
import re
import shutil
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


class Harness:
    """What the first comment of a file says."""

    def __init__(self, path):
        self.path = path
        self.bounds, self.takes, self.proofs, self.faults = [], [], {}, []
        header = path.read_text().split("*/")[1]
        words = re.sub(r"\s+", " ", re.sub(r"(?m)^ \*", "", header))
        verbs = r" (?=(?:bound|take \S+|prove \w+|run main|fault \w+): ?)"
        for entry in re.split(verbs, words)[1:]:
            self.read_entry(entry.strip())
        if not self.proofs or {f[0] for f in self.faults} != set(self.proofs):
            fail(f"{path.name}: each proof needs a fault, and each fault a proof")

    def read_entry(self, entry):
        change_ = re.match(r"(bound|fault (\w+)): (\S+): (.*) -> (.*)$", entry)
        take_ = re.match(r"take (\S+): (\w+)$", entry)
        prove = re.match(r"(prove|run) (\w+):(.*)$", entry)
        if change_ and change_.group(1) == "bound":
            self.bounds.append(change_.groups()[2:])
        elif change_:
            self.faults.append(change_.groups()[1:])
        elif take_:
            self.takes.append(take_.groups())
        elif prove:
            by = find_failures if prove.group(1) == "prove" else run
            self.proofs[prove.group(2)] = by, prove.group(3).split()
        else:
            fail(f"{self.path.name}: what is '{entry}'?")


def find_file(overlay, path):
    """Returns its place, and where its copy is or would be."""
    for folder in ("src", "include", "cl"):
        if (ROOT / folder / path).is_file():
            return ROOT / folder / path, overlay / folder / path
    return fail(f"there is no {path}")


def change(overlay, path, old, new):
    """Replaces a text in the copy of a file."""
    source, copy = find_file(overlay, path)
    text = (copy if copy.is_file() else source).read_text()
    if text.count(old) != 1:
        fail(f"{path} has '{old}' {text.count(old)} times")
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text.replace(old, new))


def take(overlay, path, function):
    """Writes the text of a function into a file of its own."""
    source, copy = find_file(overlay, path)
    text = (copy if copy.is_file() else source).read_text()
    found = re.findall(rf"(?ms)^[a-z][^;{{}}]*?\b{function}\([^;{{}}]*\) {{$.*?^}}$",
                       text)
    if len(found) != 1:
        fail(f"{path} has {function} {len(found)} times")
    (overlay / f"taken_{function}.h").write_text(found[0] + "\n")


def includes(overlay):
    folders = [overlay, HERE]
    for base in (overlay, ROOT):
        folders += [base / "src", base / "include"]
    return [word for folder in folders for word in ("-I", str(folder))]


def call(what, command, overlay):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              cwd=overlay, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return fail(f"{what}: no answer within {LIMIT_SECONDS} s")


def find_failures(overlay, path, function, options):
    """Returns the properties that do not hold: none if CBMC proves all."""
    done = call(function, ["cbmc", str(path), "--function", function, *CHECKS,
                           *options, *includes(overlay)], overlay)
    if "no body for" in done.stdout:
        fail(f"{function}: a function that it calls is missing:\n"
             + "\n".join(re.findall(r".*no body for.*", done.stdout)))
    failed = re.findall(r"(?m)^\[(\S+)\] .*: FAILURE$", done.stdout)
    if "VERIFICATION SUCCESSFUL" in done.stdout and not failed:
        return []
    # A loop that is longer than it was unwound refutes nothing.
    failed = [name for name in failed if ".unwind." not in name]
    if "VERIFICATION FAILED" in done.stdout and failed:
        return sorted(failed, key=lambda name: ".assertion." not in name)
    return fail(f"{function}: cbmc ended with {done.returncode}:\n"
                + done.stdout[-1000:])


def run(overlay, path, function, options):
    """Returns what the program says that does not hold."""
    compiler = os.environ.get("CC", "cc").split()
    done = call(function, [*compiler, *options, *includes(overlay), "-o",
                           "program", str(path)], overlay)
    if done.returncode != 0:
        fail(f"{path.name} is not compiled:\n{done.stdout}")
    done = call(function, [str(overlay / "program")], overlay)
    if done.returncode not in (0, 1) or (done.returncode == 1) != bool(done.stdout):
        fail(f"{path.name} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout.splitlines()


def main():
    harness = Harness(pathlib.Path(sys.argv[1]).resolve())
    if not shutil.which("cbmc") and any(by is find_failures for by, _
                                        in harness.proofs.values()):
        print("there is no cbmc: nothing is proven")
        return 77
    is_good = True
    for fault in [None, *harness.faults]:
        for function, (by, options) in harness.proofs.items():
            if fault and fault[0] != function:
                continue
            with tempfile.TemporaryDirectory() as folder:
                overlay = pathlib.Path(folder)
                for bound in harness.bounds:
                    change(overlay, *bound)
                if fault:
                    change(overlay, *fault[1:])
                for what in harness.takes:
                    take(overlay, *what)
                started = time.monotonic()
                failed = by(overlay, harness.path, function, options)
            words = f"with '{fault[3]}' in {fault[1]} " if fault else ""
            verdict = f"refuted by {failed[0]}" if failed else "proven"
            wrong = bool(failed) != bool(fault)
            print(f"{function}: {words}{verdict} "
                  f"({time.monotonic() - started:.1f} s)"
                  f"{': WRONG' if wrong else ''}", flush=True)
            is_good = is_good and not wrong
    return 0 if is_good else 1


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
