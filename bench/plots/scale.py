#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What redistributions of 1 GiB cost on 8 to 4096 ranks, from the planner.

    scale.py RELAYOUT                  a line of CSV for each case and number
    scale.py --table RELAYOUT          the table of docs/distributed.md
    scale.py --check DOCUMENT RELAYOUT whether the document has its rows
    --most N                           up to N ranks only

RELAYOUT is the command. The plot is drawn from the CSV by scale.gp.
"""

import argparse
import json
import subprocess
import sys

RANKS = [2 ** k for k in range(3, 13)]
# Those of the table.
SHOWN = (8, 64, 512, 4096)
# The longest message of an exchange, longer ones are cut, and how many are in
# flight each way.
MAX_MESSAGE_BYTES = 16 * 2 ** 20
IN_FLIGHT = 4

SQUARE = "f32[16384,16384]"
COLUMNS = ("case", "ranks", "messages", "bytes_sent", "received",
           "largest_message", "rounds", "scratch", "resident",
           "replicate_received")


def grids(ranks):
    """The most square grid, higher than wide, and one that is wider."""
    wide = 2 ** ((ranks.bit_length() - 1) // 2)
    high = ranks // wide
    other = (wide, high) if high > wide else (high // 2, wide * 2)
    return tuple(f"{{devices=[{a},{b}]<=[{ranks}]}}"
                 for a, b in ((high, wide), other))


def pair(case, ranks):
    """The shape, and the shardings of source and destination."""
    rows = f"{{devices=[{ranks},1]<=[{ranks}]}}"
    columns = f"{{devices=[1,{ranks}]<=[{ranks}]}}"
    if case == "rows to columns":
        return SQUARE, rows, columns
    if case == "grid to grid":
        return (SQUARE,) + grids(ranks)
    if case == "xla#15207":
        half = ranks // 2
        return ("f32[32,4096,2048]",
                f"{{devices=[2,1,{half}]<=[{half},2]T(1,0)}}",
                f"{{devices=[1,{ranks},1]<=[{ranks}]}}")
    if case == "all-gather":
        return SQUARE, rows, "{replicated}"
    return SQUARE, "{unreduced}", rows


CASES = ("rows to columns", "grid to grid", "xla#15207", "all-gather",
         "reduce-scatter")


def measure(command, case, ranks):
    shape, source, destination = pair(case, ranks)
    answer = json.loads(subprocess.run(
        [command, "shard", "--explain", "--json", "--device", "0",
         f"{shape} sharding={source}", f"{shape} sharding={destination}"],
        check=True, capture_output=True, text=True).stdout)
    if answer["bytes_sent"] != answer["least_bytes_sent"]:
        sys.exit(f"{case} on {ranks} ranks: more bytes than the least")
    scratch = 2 * IN_FLIGHT * min(answer["largest_message_bytes"],
                                  MAX_MESSAGE_BYTES)
    return (case, ranks, answer["num_messages"], answer["bytes_sent"],
            answer["most_bytes_received"], answer["largest_message_bytes"],
            answer["num_rounds"], scratch, answer["most_bytes_resident"],
            answer["replicate_bytes_sent"] // ranks)


def bytes_text(count):
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            break
        count /= 1000
    else:
        unit = "TB"
    return f"{count:.3g} {unit}" if count < 999.5 else f"{count:.0f} {unit}"


def table_row(values):
    (case, ranks, messages, sent, received, largest, rounds, scratch, resident,
     replicated) = values
    return (f"| {case} | {ranks:,} | {messages:,} | {rounds:,} "
            f"| {bytes_text(sent)} | {bytes_text(received)} "
            f"| {bytes_text(largest)} | {bytes_text(scratch)} "
            f"| {bytes_text(resident)} | {bytes_text(replicated)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", metavar="DOCUMENT")
    parser.add_argument("--most", type=int, default=RANKS[-1])
    parser.add_argument("command")
    args = parser.parse_args()
    in_table = args.table or args.check is not None
    if not in_table:
        print(",".join(COLUMNS))
    rows = []
    for case in CASES:
        for ranks in RANKS:
            if ranks > args.most or (in_table and ranks not in SHOWN):
                continue
            values = measure(args.command, case, ranks)
            rows.append(table_row(values))
            if args.check is None:
                print(rows[-1] if in_table else ",".join(map(str, values)))
                sys.stdout.flush()
    if args.check is not None:
        with open(args.check, encoding="utf-8") as file:
            lines = file.read().splitlines()
        missing = [row for row in rows if row not in lines]
        for row in missing:
            print(f"{args.check} does not have {row}")
        print(f"{len(rows)} rows, {len(missing)} missing")
        return 1 if missing or not rows else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
