#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests against planted faults.

Each entry of mutants.txt is one fault, planted in a copy of the tree,
build/mutants/tree. The copy is built and tested as `./dev test` does it; the
first test that fails catches the fault. With --generate, faults are drawn from the
places that generate.py finds in the code. See README.md beside this file.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import generate  # noqa: E402  (beside this file, which must stay without a cache)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Two runs at once need two of these.
WORK = ROOT / os.environ.get("MUTANTS_DIR", "build/mutants")
TREE = WORK / "tree"
BUILD = TREE / "build"
JOBS = os.environ.get("JOBS", "2")
MIN_SHARE = 95
# The least share of the mutants of kernels that are generated.
MIN_KERNEL_SHARE = 100
TABLE = HERE / "mutants.txt"
EXPLAINED = HERE / "explained.txt"
REPORT = WORK / "report.txt"
# A mutant that waits for ever is killed after so many times the seconds of CPU
# that a program of the stage may take; one that does not end takes no more memory.
PATIENCE = 30
MAX_MEMORY_BYTES = 16 << 30

# "12/197 Test  #76: test_device_compute ....***Failed   42.88 sec", and
# "...***Exception: SegFault", "...Subprocess aborted***Exception:", "***Timeout".
FAILED_TEST = re.compile(r"Test +#\d+: (\S+) .*\*\*\*(?!Skipped)")


class NotApplied(Exception):
    """The old text of a mutant is not in its file exactly once."""


class Mutant:
    """One entry of mutants.txt."""

    def __init__(self, entry):
        head, *lines = entry.split("\n")
        self.name, self.path, self.what = (head.split(": ", 2) + ["", ""])[:3]
        if not self.what or any(line[:1] not in ("-", "+", " ") for line in lines):
            sys.exit(f"run_mutants: {TABLE.name}: {self.name}: not 'NAME: FILE: WHAT' "
                     "and lines that begin with '-', '+' or ' '")
        self.old, self.new = ("\n".join(line[1:] for line in lines if line[0] != sign)
                              for sign in "+-")

    def apply(self, text):
        start, end = find_once(text, self.old, f"{self.name}: {self.path}")
        return text[:start] + self.new.lstrip() + text[end:]


def find_once(text, old, place):
    """Where the only occurrence of `old` starts and ends. White space does not count,
    so that code can be formatted anew."""
    places = [i for i, c in enumerate(text) if not c.isspace()]
    code = "".join(text[i] for i in places)
    wanted = "".join(old.split())
    count = code.count(wanted)
    if count != 1:
        raise NotApplied(f"{place} has this {count} times instead of once:\n{old}")
    start = code.index(wanted)
    return places[start], places[start + len(wanted) - 1] + 1


def read_mutants(names):
    """The mutants of these names or numbers; without any, all."""
    text = "\n" + TABLE.read_text().rstrip("\n")
    mutants = [Mutant(entry) for entry in text.split("\n== ")[1:]]
    chosen = []
    for name in names:
        found = [m for m in mutants
                 if name in (m.name, *m.name.split("_", 1))]
        if not found:
            sys.exit(f"run_mutants: there is no mutant {name}")
        chosen += found
    return chosen if names else mutants


def tracked_files():
    """Paths, relative to ROOT, of the files that make up the tree."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=False)
    if listing.returncode == 0:
        names = [n for n in listing.stdout.decode().split("\0") if n]
    else:
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")
                 if p.relative_to(ROOT).parts[0] != "build"]
    return {n for n in names if (ROOT / n).is_file()}


def copy_file(name):
    """Copies one file, with a new time of change, so that it is rebuilt."""
    target = TREE / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / name, target)
    shutil.copymode(ROOT / name, target)


def sync_tree():
    """Makes TREE equal to the tracked files; files that are equal keep their
    time of change, so that the build stays incremental."""
    wanted = tracked_files()
    TREE.mkdir(parents=True, exist_ok=True)
    for folder, folders, files in os.walk(TREE):
        if pathlib.Path(folder) == TREE and "build" in folders:
            folders.remove("build")
        for file in files:
            path = pathlib.Path(folder, file)
            if str(path.relative_to(TREE)) not in wanted:
                path.unlink()
    for name in sorted(wanted):
        target = TREE / name
        if (not target.is_file()
                or target.read_bytes() != (ROOT / name).read_bytes()):
            copy_file(name)


def run(command, log, seconds=None, **options):
    """Runs a command; returns its exit status and what it printed, which is
    also appended to the log file. After so many seconds it is killed, with what
    it started, and has no exit status."""
    with subprocess.Popen(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace",
                          start_new_session=seconds is not None,
                          **options) as process:
        status = 0
        try:
            text, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            status = None
        status = process.returncode if status == 0 else None
    with open(log, "a", encoding="utf-8") as out:
        out.write(f"$ {' '.join(map(str, command))}\n{text}\n")
    return status, text


def configure(log):
    command = ["cmake", "-S", str(TREE), "-B", str(BUILD),
               "-DRELAYOUT_SLOW_TESTS=OFF"]
    if not (BUILD / "CMakeCache.txt").exists() and shutil.which("ninja"):
        command += ["-G", "Ninja"]
    # The choice of dev: the system's python3 has NumPy, another one may not.
    if os.access("/usr/bin/python3", os.X_OK):
        command.append("-DPython3_EXECUTABLE=/usr/bin/python3")
    status, text = run(command, log)
    if status != 0:
        sys.exit(text + "run_mutants: cmake failed")


def compile_tree(log, targets=()):
    command = ["cmake", "--build", str(BUILD), "-j", JOBS]
    if targets:
        command += ["--target", *targets]
    return run(command, log)[0] == 0


def targets_of(regex):
    """The programs that tests of these names run, as targets of the build, or
    nothing if only a full build is sure to make all of them."""
    if not (BUILD / "build.ninja").exists():
        return ()
    listing = subprocess.run(
        ["ctest", "--show-only=json-v1", "-R", regex], cwd=BUILD,
        capture_output=True, text=True, check=False)
    targets = set()
    for test in json.loads(listing.stdout)["tests"]:
        command = test.get("command", [])
        built = [w for w in command if w.startswith(f"{BUILD}/")
                 and not w.endswith((".tsv", ".log"))]
        is_model = command[-1:] and command[-1].endswith("_spoiled.tsv")
        if not built and not is_model:
            return ()
        targets.update(os.path.relpath(w, BUILD) for w in built
                       if not os.path.isdir(w))
    return sorted(targets)


def run_tests(log, selection, **options):
    """Runs tests until one fails; returns its name, or None if all pass."""
    status, text = run(["ctest", "--output-on-failure", "-j", JOBS, *selection],
                       log, cwd=BUILD, **options)
    failed = FAILED_TEST.search(text)
    if failed:
        return failed.group(1)
    if status is None:
        return "time"
    return None if status == 0 else "ctest"


def find_catcher(mutant, log):
    """Returns the verdict on a mutant that is applied to the tree."""
    for selection, _ in generate.first_stages(mutant.path):
        if not compile_tree(log, targets_of(selection[1])):
            return "does not build"
        test = run_tests(log, ["--stop-on-failure", *selection])
        if test:
            return f"caught by {test}"
    if not compile_tree(log):
        return "does not build"
    for selection in (["-L", "^host$"], ["-LE", "^host$"]):
        test = run_tests(log, ["--stop-on-failure", *selection])
        if test:
            return f"caught by {test}"
    return "SURVIVED"


def plant(mutant):
    (TREE / mutant.path).write_text(mutant.apply((ROOT / mutant.path).read_text()))


def try_mutant(mutant):
    log = WORK / "logs" / f"{mutant.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    try:
        plant(mutant)
    except NotApplied as error:
        return f"does not apply: {error}"
    try:
        return find_catcher(mutant, log)
    finally:
        copy_file(mutant.path)


def say(text):
    print(text, flush=True)


def check_clean_tree(log):
    say("== without a mutant")
    started = time.monotonic()
    if not compile_tree(log):
        sys.exit(f"run_mutants: the tree does not build; see {log}")
    test = run_tests(log, ["--no-tests=error"])
    if test:
        sys.exit(f"run_mutants: {test} fails without a mutant; see {log}")
    say(f"green ({time.monotonic() - started:.0f} s)")


# ------------------------------------------------------------------ generated

class Generated:
    """Runs mutants that generate.py draws, and counts their verdicts by area."""

    def __init__(self):
        self.commands = {}
        self.objects = {}
        self.counts = {}
        self.known = {}
        self.undecided = []
        self.survived = []
        self.log = WORK / "logs" / "generated.log"

    def compile_alone(self, site):
        """The object code of the file as it is in the tree, without what says on
        which line something is; None if it does not compile."""
        if not self.commands:
            entries = json.loads((BUILD / "compile_commands.json").read_text())
            self.commands = {e["file"]: e for e in entries}
        entry = self.commands[str(TREE / site.path)]
        words = [w for w in shlex.split(entry["command"]) if w != "-g"]
        target = WORK / "mutant.o"
        target.unlink(missing_ok=True)
        words[words.index("-o") + 1] = str(target)
        status, _ = run(words, self.log, cwd=entry["directory"])
        return target.read_bytes() if status == 0 else None

    def find_verdict(self, site, is_first):
        """The verdict on a site, which is applied to the tree meanwhile, of the
        first tests or of the others."""
        is_kernel = site.path.startswith("cl/")
        if not is_kernel and site.path not in self.objects:
            self.objects[site.path] = self.compile_alone(site)
        target = TREE / site.path
        try:
            target.write_text(site.apply((ROOT / site.path).read_text()))
            if not is_kernel and is_first:
                code = self.compile_alone(site)
                if code is None:
                    return "does not build"
                if code == self.objects[site.path]:
                    return "equivalent"
            return self.find_failing_test(site, is_first)
        finally:
            copy_file(site.path)

    def find_failing_test(self, site, is_first):
        stages = (generate.first_stages if is_first else generate.last_stages)
        for selection, seconds in stages(site.path):
            environment = dict(os.environ)
            if is_first:
                # What hangs or crashes ends the suite, and not one test of it.
                environment["CK_FORK"] = "no"
            targets = targets_of(selection[1]) if is_first else ()
            if not compile_tree(self.log, targets):
                return "does not build"

            def limit():
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
                resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES,) * 2)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            test = run_tests(self.log, ["--stop-on-failure", *selection],
                             env=environment, preexec_fn=limit,
                             seconds=PATIENCE * seconds)
            if test:
                return f"caught by {test}"
        return "passes the first tests" if is_first else "SURVIVED"

    def read_report(self):
        """Takes over what earlier runs caught or found equivalent."""
        for line in REPORT.read_text().splitlines() if REPORT.exists() else ():
            found = re.fullmatch(r"(.*\]: )(caught by \S+|equivalent)", line)
            if found:
                self.known[found.group(1)] = found.group(2)

    def judge(self, site, why, is_first=True):
        """Runs tests on a mutant and counts it, unless it is to be judged again by
        the tests that are not run first. Returns whether it is one: it compiles,
        and it is not known to change nothing."""
        seconds = 0.0
        line = f"{site.area} {site.name} {site.change} [{site.line}]: "
        if line in self.known:
            verdict = self.known[line]
        elif why is None:
            started = time.monotonic()
            self.log.unlink(missing_ok=True)
            verdict = self.find_verdict(site, is_first)
            seconds = time.monotonic() - started
        else:
            verdict = f"explained: {why}"
        if verdict == "does not build":
            return False
        kind = verdict.split(" ")[0].rstrip(":")
        say(f"{line}{verdict} ({seconds:.0f} s)")
        if kind == "passes":
            self.undecided.append(site)
            return True
        if line not in self.known:
            with open(REPORT, "a", encoding="utf-8") as out:
                out.write(f"{line}{verdict}\n")
        counts = self.counts.setdefault(site.area, {})
        counts[kind] = counts.get(kind, 0) + 1
        if kind == "SURVIVED":
            self.survived.append(site)
        return kind in ("caught", "SURVIVED")

    def judge_undecided(self):
        """The long tests, last: what the first ones catch is known early."""
        for site in self.undecided:
            self.judge(site, None, is_first=False)

    def share(self, areas):
        caught = sum(self.counts[a].get("caught", 0) for a in areas)
        survived = sum(self.counts[a].get("SURVIVED", 0) for a in areas)
        judged = caught + survived
        return 100.0 * caught / judged if judged else 100.0

    def summarize(self):
        """Prints the table; returns the exit status."""
        kinds = ("caught", "SURVIVED", "equivalent", "explained")
        say(f"\n{'area':12}" + "".join(f"{k.lower():>12}" for k in kinds))
        for area, counts in self.counts.items():
            say(f"{area:12}" + "".join(f"{counts.get(k, 0):12}" for k in kinds)
                + f"{self.share([area]):10.1f} %")
        say("not run before a mutant survives: tests whose names match\n"
            f"  {generate.LEFT_OUT}\n  and for kernels, "
            f"{generate.LEFT_OUT_ON_DEVICE} and all that need no device; "
            "for rooms that use none, all that need one")
        for site in self.survived:
            say(f"survived: ./dev mutants --trust --site '{site.name}'\n"
                f"  to explain: {' :: '.join(site.key)} :: why")
        kernels = [a for a in self.counts if a == "kernels"]
        others = [a for a in self.counts if a != "kernels"]
        is_enough = True
        for title, areas, wanted in (("host", others, MIN_SHARE),
                                     ("kernels", kernels, MIN_KERNEL_SHARE)):
            if areas:
                say(f"share of {title}: {self.share(areas):.1f} %, "
                    f"wanted: {wanted} %")
                is_enough = is_enough and self.share(areas) >= wanted
        return 0 if is_enough else 1


def run_generated(arguments):
    explained = generate.read_explained(ROOT, EXPLAINED)
    generated = Generated()
    if arguments.site:
        for name in arguments.site:
            if not generated.judge(generate.read_site(ROOT, name), None):
                say(f"{name}: no mutant")
        generated.judge_undecided()
        return generated.summarize()
    if arguments.resume:
        generated.read_report()
    seed = arguments.seed
    sites_of = generate.find_area_sites(ROOT, tracked_files(), arguments.chosen)
    if not sites_of:
        sys.exit(f"run_mutants: no area or file matches {arguments.chosen}")
    say(f"== {arguments.generate} mutants of seed {seed}, of "
        + ", ".join(f"{name} ({len(s)})" for name, s in sites_of.items()))
    count = 0
    for site in generate.draw(sites_of, seed):
        if count == arguments.generate:
            break
        count += generated.judge(site, generate.find_reason(explained, site))
    generated.judge_undecided()
    return generated.summarize()


def report(verdicts):
    """Prints the table of {name: verdict}; returns the exit status."""
    names = {kind: [n for n, v in verdicts.items() if v.startswith(kind)]
             for kind in ("caught", "SURVIVED", "does not")}
    judged = len(names["caught"]) + len(names["SURVIVED"])
    share = 100.0 * len(names["caught"]) / judged if judged else 0.0
    say(f"\ncaught      {len(names['caught'])}\nsurvived    {len(names['SURVIVED'])}\n"
        f"share       {share:.1f} %")
    for name in names["SURVIVED"] + names["does not"]:
        say(f"{verdicts[name].splitlines()[0]}: {name}")
    return 1 if names["does not"] or (judged and share < MIN_SHARE) else 0


def list_mutants(mutants):
    """Prints what each changes; fails if one does not apply."""
    status = 0
    for mutant in mutants:
        say(f"{mutant.name}: {mutant.what}")
        try:
            mutant.apply((ROOT / mutant.path).read_text())
        except (NotApplied, OSError) as error:
            say(f"  does not apply: {error}")
            status = 1
    return status


def main():
    parser = argparse.ArgumentParser(
        description="Run the tests against planted faults.")
    parser.add_argument("--trust", action="store_true",
                        help="skip the run without a mutant")
    parser.add_argument("--list", action="store_true",
                        help="print what each mutant changes, and whether it applies")
    parser.add_argument("--generate", type=int, metavar="N",
                        help="draw N mutants from the code")
    parser.add_argument("--seed", type=int, default=int(time.time()),
                        help="of the draw; without one, another each time")
    parser.add_argument("--in", dest="chosen", default="", metavar="REGEX",
                        help="draw from these areas or files only")
    parser.add_argument("--resume", action="store_true",
                        help="believe build/mutants/report.txt what it says is caught")
    parser.add_argument("--site", action="append", metavar="SITE",
                        help="the drawn mutant FILE:LINE:COLUMN:KIND")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="a mutant, or the number that it begins with")
    arguments = parser.parse_args()
    is_generated = arguments.generate is not None or arguments.site
    mutants = read_mutants(arguments.names)
    if arguments.list:
        return list_mutants(mutants)
    sync_tree()
    log = WORK / "logs" / "clean.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    configure(log)
    if not arguments.trust:
        check_clean_tree(log)
    if is_generated:
        return run_generated(arguments)
    verdicts = {}
    for mutant in mutants:
        started = time.monotonic()
        verdicts[mutant.name] = try_mutant(mutant)
        say(f"{mutant.name}: {verdicts[mutant.name]} "
            f"({time.monotonic() - started:.0f} s)")
    return report(verdicts)


if __name__ == "__main__":
    sys.exit(main())
