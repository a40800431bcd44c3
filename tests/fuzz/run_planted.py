#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that each fuzz target finds a planted fault.

    run_planted.py [TARGET...]

For each line of planted.txt: plants a mutant of tests/mutants in a copy of the
tree, build/planted/tree, builds the target and runs it from its corpus until it
stops, for a minute at most. Inputs that the corpus has for faults that were found
before are part of it. The exit status is 1 if a fault was not found, or a target
stops without one.
"""

import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mutants"))
import run_mutants  # noqa: E402

SECONDS = 60
WORK = run_mutants.ROOT / "build" / "planted"
run_mutants.WORK = WORK
run_mutants.TREE = WORK / "tree"
run_mutants.BUILD = WORK / "tree" / "build"


def configure(log):
    status, text = run_mutants.run(
        ["cmake", "-S", str(run_mutants.TREE), "-B", str(run_mutants.BUILD),
         "-DCMAKE_C_COMPILER=clang", "-DCMAKE_BUILD_TYPE=Debug",
         "-DCMAKE_C_FLAGS_DEBUG=-O1 -g", "-DRELAYOUT_FUZZ=ON",
         "-DRELAYOUT_SANITIZE=address,undefined",
         "-DPython3_EXECUTABLE=/usr/bin/python3"], log)
    if status != 0:
        sys.exit(text + "run_planted: cmake failed")


def run_target(target, seconds, log):
    """Builds and runs a target; returns whether it stopped, and after how many
    seconds and runs."""
    if not run_mutants.compile_tree(log, [f"fuzz_{target}"]):
        sys.exit(f"run_planted: fuzz_{target} does not build; see {log}")
    corpus = WORK / "corpus" / target
    subprocess.run(["rm", "-rf", str(corpus)], check=True)
    corpus.mkdir(parents=True)
    command = [str(run_mutants.BUILD / "tests" / "fuzz" / f"fuzz_{target}"),
               f"-max_total_time={seconds}", "-timeout=10", "-seed=1",
               "-rss_limit_mb=4096", f"-artifact_prefix={WORK}/found-",
               str(corpus), str(run_mutants.BUILD / "tests" / "fuzz" / "corpus" / target)]
    words = HERE / f"{target}.dict"
    if words.is_file():
        command.append(f"-dict={words}")
    started = time.monotonic()
    status, text = run_mutants.run(command, log)
    runs = re.findall(r"(?m)^#(\d+)", text)
    return status != 0, time.monotonic() - started, runs[-1] if runs else "0"


def read_lines(chosen):
    lines = [line.split() for line in (HERE / "planted.txt").read_text().split("\n")
             if line and not line.startswith("#")]
    return [line for line in lines if not chosen or line[0] in chosen]


def main():
    run_mutants.sync_tree()
    log = WORK / "planted.log"
    log.unlink(missing_ok=True)
    configure(log)
    is_good = True
    lines = read_lines(sys.argv[1:])
    for target in sorted({line[0] for line in lines}):
        has_stopped, _, _ = run_target(target, 2, log)
        if has_stopped:
            print(f"{target}: stops without a fault: see {log}", flush=True)
            is_good = False
    for target, number in lines:
        mutant = run_mutants.read_mutants([number])[0]
        try:
            run_mutants.plant(mutant)
            found, seconds, runs = run_target(target, SECONDS, log)
        except run_mutants.NotApplied as error:
            sys.exit(f"run_planted: {error}")
        finally:
            run_mutants.copy_file(mutant.path)
        words = "found" if found else "NOT FOUND"
        print(f"{target}: {mutant.name}: {words} in {seconds:.1f} s, after "
              f"{runs} runs", flush=True)
        is_good = is_good and found
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
