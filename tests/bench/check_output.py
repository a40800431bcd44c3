#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check what relayout-bench prints for programs.

    check_output.py RELAYOUT_BENCH
"""

import csv
import io
import json
import subprocess
import sys

SMALL = ["--size-factor", "small", "--rounds", "3", "--peers", "memcpy"]


def run(*arguments):
    return subprocess.run([sys.argv[1], *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=240,
                          check=False)


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
        expect(sorted(entries) == ["copy", "memcpy", "relayout"],
               "contestants %s" % sorted(entries))
        expect(entries["copy"]["fraction"] == 1.0,
               "the limit is not its own fraction: %s" % entries["copy"])
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

    check_service()

    for wrong in (["nosuite"], ["--peers", "nobody"], ["--rounds", "0"],
                  ["--size-factor", "2"], ["--case", "("]):
        done = run(*wrong)
        expect(done.returncode == 2, "%s: exit code %d, not 2" %
               (wrong, done.returncode))
        expect(done.stderr.startswith("relayout-bench: "),
               "%s: no message" % wrong)


if __name__ == "__main__":
    main()
