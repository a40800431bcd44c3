#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check what relayout-bench prints for programs.

    check_output.py RELAYOUT_BENCH
"""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile

SMALL = ["--size-factor", "small", "--rounds", "3", "--peers", "memcpy"]


def run(*arguments, path=None):
    """Run relayout-bench, with a folder before the others of PATH."""
    environment = dict(os.environ)
    if path is not None:
        environment["PATH"] = path + os.pathsep + environment["PATH"]
    return subprocess.run([sys.argv[1], *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=240,
                          env=environment, check=False)


def expect(is_so, what):
    if not is_so:
        sys.exit("check_output.py: %s" % what)


def check_service():
    """The ratios of each comparison, and their geometric mean."""
    done = run(*SMALL, "--json", "--case", "^(1:|f32 trans)", "service")
    expect(done.returncode == 0, done.stderr)
    figures = json.loads(done.stdout)["figures"]
    for what, reference in (("a job", "by the plan"),
                            ("a job on the host", "by the mover")):
        ratios = [figure["ratio"] for figure in figures
                  if figure["reference_name"] == reference
                  and "ratio" in figure]
        expect(len(ratios) == 2, "%s: ratios %s" % (what, ratios))
        means = [figure for figure in figures
                 if figure["name"] == what + ": geometric mean"]
        expect(len(means) == 1, "%s: means %s" % (what, means))
        mean = (ratios[0] * ratios[1]) ** 0.5
        expect(abs(means[0]["value"] - mean) < 0.01 * mean + 0.0001,
               "%s: mean %g, not %g" % (what, means[0]["value"], mean))
        expect(abs(means[0]["reference"] - min(ratios)) < 0.0002,
               "%s: the worst is not %g" % (what, min(ratios)))


def write_program(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


FILES = ["--size-factor", "0.0002", "--rounds", "1", "--memory", "4MiB",
         "--case", "^f32 batch", "--json", "files"]


def check_files(folder):
    """Who takes part, and that nobody's wrong output is timed."""
    given = os.path.join(folder, "given")
    with open(given, "wb") as file:
        file.write(bytes(1 << 16))
    os.mkdir(os.path.join(folder, "files"))
    options = ["--folder", os.path.join(folder, "files"),
               "--command", "copier:%s:cp \"$1\" \"$2\"" % given,
               "--command", "broken:%s:exit 3" % given]
    done = run(*options, *FILES)
    expect(done.returncode == 0, done.stderr)
    expect("broken: left out, it failed" in done.stderr, done.stderr)
    figures = {figure["name"]: figure
               for figure in json.loads(done.stdout)["figures"]}
    for cache in ("cold", "warm"):
        start = "f32 batch transposed, %s: " % cache
        if start + "cp" not in figures:
            expect("%s: left out" % start[:-2] in done.stderr, done.stderr)
            continue
        for who in ("cp", "host 4MiB", "device 4MiB",
                    "copier (not checked)"):
            figure = figures[start + who]
            expect(figure["unit"] == "s" and figure["value"] > 0
                   and figure["ratio"] > 0, "%s: %s" % (who, figure))
        # What cp held, not who started it.
        expect(figures[start + "cp"]["peak_bytes"] < 64 << 20,
               "cp held %s bytes" % figures[start + "cp"]["peak_bytes"])
        expect(figures[start + "host 4MiB"]["passes"] >= 1, "no passes")

    broken = "printf X | dd of=\"$%s\" bs=1 seek=4099 conv=notrunc 2>&1\n"
    write_program(folder, "cp", "/bin/cp \"$@\"\n" + broken % 3)
    done = run(*options, *FILES, path=folder)
    expect(done.returncode == 1 and "cp: its output is wrong" in done.stderr,
           "a wrong copy: %d, %s" % (done.returncode, done.stderr))
    os.remove(os.path.join(folder, "cp"))
    write_program(folder, "python3",
                  "test $# -lt 7 || head -c 1920000 /dev/zero >\"$7\"\n")
    done = run(*options, *FILES, path=folder)
    expect(done.returncode == 0
           and "numpy: left out, its output is wrong" in done.stderr
           and ": numpy" not in done.stdout,
           "a wrong NumPy: %d, %s" % (done.returncode, done.stderr))
    expect(os.listdir(os.path.join(folder, "files")) == [],
           "files are left behind")
    for wrong in (["--memory", ","], ["--command", "only a name"],
                  ["--command", "x:/nowhere/to/be/found:cat"],
                  ["--folder", "/nowhere/to/be/found"]):
        done = run(*FILES, *wrong)
        expect(done.returncode == 1 and "relayout-bench: " in done.stderr,
               "%s: exit code %d" % (wrong, done.returncode))


def check_chains():
    """Each chain that has one relayout beside it is held against it."""
    done = run("--size-factor", "small", "--rounds", "1", "--peers", "single",
               "--json", "--case", "^(reverse|space|concat)", "ops")
    expect(done.returncode == 0, done.stderr)
    for row in json.loads(done.stdout)["rows"]:
        expect(row["contestants"]["single"] is not None,
               "%s has no relayout beside it" % row["case"])


def check_sums():
    """On a CPU a sum is held against reading."""
    done = run(*SMALL, "--json", "--case", "^f32 (sum of all|axpby)$", "ops")
    expect(done.returncode == 0, done.stderr)
    for row in json.loads(done.stdout)["rows"]:
        read = row["contestants"]["read"]
        if "sum" not in row["case"]:
            expect(read is None, "%s is held against reading" % row["case"])
            continue
        expect(row["limit"] == "read" and read["fraction"] == 1.0,
               "%s: the limit is %s" % (row["case"], row["limit"]))
        expect(read["gb_per_s"] * read["us"] * 1e3 > 0.99 * row["read_bytes"],
               "reading does not read all of a sum's bytes: %s" % read)


def main():
    done = run(*SMALL, "--json", "--case", "^f32 odd", "types")
    expect(done.returncode == 0, done.stderr)
    found = json.loads(done.stdout)
    names = [row["case"] for row in found["rows"]]
    expect("f32 odd, rank 5" in names, "no case of rank 5 in %s" % names)
    expect(all(name.startswith("f32 odd") for name in names),
           "--case let others through: %s" % names)
    for row in found["rows"]:
        entries = row["contestants"]
        expect(sorted(entries) == ["copy", "memcpy", "read", "relayout"],
               "contestants %s" % sorted(entries))
        limit = entries[row["limit"]]
        other = entries["memcpy" if row["limit"] == "copy" else "copy"]
        expect(limit["fraction"] == 1.0,
               "the limit is not its own fraction: %s" % limit)
        expect(other["fraction"] <= 1.0, "above the limit: %s" % other)
        # Who wins most rounds need not win the fastest one.
        bests = [limit["best_fraction"], other["best_fraction"]]
        expect(max(bests) == 1.0, "nobody reached the best limit: %s" % bests)
        moved = row["read_bytes"] + row["written_bytes"]
        rate = moved / (entries["relayout"]["us"] * 1e3)
        # The rate is printed in steps of 0.0001: much of what is very slow.
        expect(abs(rate - entries["relayout"]["gb_per_s"])
               < 0.01 * rate + 0.0001,
               "%s: bytes, time and rate do not agree" % row["case"])
    mean = 1.0
    for row in found["rows"]:
        mean *= row["contestants"]["relayout"]["fraction"]
    mean **= 1 / len(found["rows"])
    said = found["geometric_means"]["types"]["fraction"]
    expect(abs(said - mean) < 0.01 * mean + 0.0001,
           "mean %g, not %g" % (mean, said))

    done = run(*SMALL, "--csv", "--case", "f32 NCHW to NHWC$", "ml")
    expect(done.returncode == 0, done.stderr)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    expect([row["contestant"] for row in rows] ==
           ["copy", "relayout", "memcpy"], "CSV: %s" % rows)
    expect(rows[0]["limit"] in ("copy", "memcpy"), "CSV: %s" % rows)

    check_chains()
    check_sums()
    check_service()
    with tempfile.TemporaryDirectory() as folder:
        check_files(folder)

    for wrong in (["nosuite"], ["--peers", "nobody"], ["--rounds", "0"],
                  ["--size-factor", "9"], ["--case", "("]):
        done = run(*wrong)
        expect(done.returncode == 2, "%s: exit code %d, not 2" %
               (wrong, done.returncode))
        expect(done.stderr.startswith("relayout-bench: "),
               "%s: no message" % wrong)


if __name__ == "__main__":
    main()
