#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what the kernels for GPUs cost a multiprocessor, and holds it against
bounds:

    check_instructions.py CLANG CL_FOLDER LAUNCH_DUMP TABLE
        [--all] [--only TEXT] [--family NAME] [--bounds] [--plant NAME=VALUE]

Each case of the table is planned, its kernel is compiled to PTX, and two warps
of sample groups are interpreted (ptx.py): machine instructions of a warp, those
before its first load, the bytes that a multiprocessor has asked for at a time,
and, where ptxas is on the path, registers; without it those that the table was
made with are taken, and none are held against a bound. Of the cases some are taken, others
for another RELAYOUT_TEST_SEED, unless all are asked for. --bounds prints the
table with bounds a tenth above what is counted; --plant gives a constant of the
kernels another value. Exits with 77 if clang does not know the target.
"""
import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import ptx

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = "nvptx64-nvidia-nvcl"
ONE_IN = 6

# An H200: the rate of a copy that was seen on one, and what a multiprocessor
# has. Instructions are issued to four schedulers.
COPY_BYTES_PER_CLOCK = 4.3e12 / 132 / 1.755e9
ISSUES_PER_CLOCK = 4
MAX_LANES = 2048
MAX_GROUPS = 32
REGISTERS = 65536
LOCAL_BYTES = 227 << 10
LOCAL_BYTES_OF_GROUP = 1 << 10  # that the driver takes
WARP = 32
# The numbers of plan/gpu_cost.c: slots that are filled, reads that have to be on
# their way, and how far above what is counted an expectation may be.
FILLED_SLOTS = 0.8
FLIGHT_KIB = 13
TOLERANCE = 1.15
ANY_REGISTERS = 255
SPARE_REGISTERS = 8  # in bounds, above what was counted

# rlo__argument_kind
SRC, SRC_OFFSET, DST, DST_OFFSET, INDEX, INDEX_OFFSET = range(6)
ADDRESSES = {SRC: 1 << 44, DST: 1 << 45, INDEX: 1 << 46}


class Case:
    """A line of the table: NAME | SRC | DST | HOW | instructions | before the
    first load | KiB in flight | registers. 255 registers: private memory, too.
    """

    def __init__(self, line):
        parts = [p.strip() for p in line.split("|")]
        if len(parts) != 8:
            raise SystemExit(f"not eight columns: {line}")
        self.name, self.src, self.dst, self.how = parts[:4]
        (self.max_instructions, self.max_prologue, self.min_in_flight,
         self.max_registers) = (int(p) for p in parts[4:])


def read_table(path):
    with open(path, encoding="utf-8") as file:
        return [Case(line) for line in file
                if line.strip() and not line.startswith("#")]


def plan(options, cases):
    lines = "".join(f"{c.src} {c.dst} {c.how} {options.family or '-'}\n"
                    for c in cases)
    text = subprocess.run([options.launch_dump], input=lines, check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def compile_ptx(options, launch):
    flags = [f for f in launch["options"].split() if not f.startswith("-cl-")]
    if options.plant:
        name = "-D" + options.plant.partition("=")[0] + "="
        at = next(n for n, f in enumerate(flags) if f.startswith(name))
        flags[at] = "-D" + options.plant
    return subprocess.run(
        [options.clang, "-x", "cl", "-cl-std=CL1.2", "-Xclang",
         "-finclude-default-header", "-include",
         os.path.join(HERE, "ptx_builtins.h"), "-O3", "-target", TARGET,
         "-Xclang", "-target-cpu", "-Xclang", "sm_75", "-Xclang",
         "-fcuda-short-ptr", "-mllvm", "-nvptx-short-ptr", "-w", "-I",
         options.folder, *flags, "-S", "-o", "-",
         os.path.join(options.folder, launch["file"] + ".cl")],
        check=True, stdout=subprocess.PIPE, text=True).stdout


def argument_bytes(launch, kind, size, numbers):
    if kind in ADDRESSES:
        return struct.pack("<Q", ADDRESSES[kind])
    if kind in (SRC_OFFSET, DST_OFFSET, INDEX_OFFSET):
        bases = {SRC_OFFSET: launch["src_base"], DST_OFFSET: launch["dst_base"]}
        return struct.pack("<q", bases.get(kind, 0))
    return b"".join(n.to_bytes(size, "little", signed=True) for n in numbers)


def count_registers(text):
    """What ptxas gives a lane, or None without it."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        return None
    text = re.sub(r"(?m)^\.target.*", ".target sm_90", text)
    text = re.sub(r"(?m)^\.version.*", ".version 7.8", text)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.ptx")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(
            [ptxas, "-arch=sm_90", "-v", "-O3", path, "-o", os.devnull],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
    used = re.search(r"Used (\d+) registers", done.stdout)
    return int(used.group(1)) if used else None


class Figures:
    """What a case costs."""

    def __init__(self, case, launch, text):
        self.launch = launch
        arguments = [argument_bytes(launch, a[0], a[1], a[2:])
                     for a in launch["arguments"]]
        kernel = ptx.Kernel(text, launch["kernel"], arguments)
        self.private_bytes = kernel.private_bytes
        self.local_bytes = kernel.shared_bytes
        self.registers = count_registers(text)
        self.groups = self._groups_at_a_time(
            self.registers or case.max_registers - SPARE_REGISTERS)
        self._sample(kernel)

    def _groups_at_a_time(self, registers):
        items = self.launch["items"]
        limits = [MAX_GROUPS, MAX_LANES // items,
                  REGISTERS // (items * (registers + 7 & ~7))]
        if self.local_bytes > 0:
            limits.append(LOCAL_BYTES
                          // (self.local_bytes + LOCAL_BYTES_OF_GROUP))
        return max(1, min(limits))

    def _sample(self, kernel):
        """Returns the middle one of three groups, by instructions."""
        warps = self.launch["items"] // WARP
        groups = self.launch["groups"]
        found = []
        for n in range(1, 4):
            counts = [ptx.WarpCounts(kernel, n * 2654435761 % groups,
                                     WARP * w, WARP, self.launch)
                      for w in (1 % warps, 6 % warps)]
            found.append(tuple(
                sum(getattr(c, key) for c in counts) / len(counts)
                for key in ("instructions", "prologue", "read_bytes",
                            "written_bytes", "in_flight_bytes")))
        found.sort()
        (self.instructions, self.prologue, self.read_bytes, self.written_bytes,
         in_flight) = found[1]
        self.in_flight = in_flight * warps * self.groups / 1024

    def slots(self):
        """Instructions that a warp may take for its bytes at the rate of a
        copy, if all schedulers issue all the time."""
        return ((self.read_bytes + self.written_bytes) / COPY_BYTES_PER_CLOCK
                * ISSUES_PER_CLOCK)

    def issue(self):
        return self.slots() / max(1.0, self.instructions)

    def most(self):
        """The fraction of a copy's rate that issue and latency leave. Where
        local memory is used, loads wait for a barrier half of the time."""
        needed = FLIGHT_KIB * (2 if self.local_bytes > 0 else 1)
        return min(FILLED_SLOTS * self.issue(), self.in_flight / needed)


def check(case, figures):
    """The bounds that a case breaks, as sentences."""
    broken = []
    for what, value, bound, is_upper in (
            ("instructions", figures.instructions, case.max_instructions, True),
            ("instructions before the first load", figures.prologue,
             case.max_prologue, True),
            ("KiB in flight", figures.in_flight, case.min_in_flight, False),
            ("registers", figures.registers, case.max_registers, True)):
        if value is not None and (value > bound if is_upper else value < bound):
            broken.append(f"{case.name}: {value:.0f} {what}, the bound is "
                          f"{bound}")
    expected = figures.launch["predicted"]
    if expected > TOLERANCE * figures.most():
        broken.append(f"{case.name}: {expected:.2f} of a copy is expected, "
                      f"{figures.most():.2f} is what was counted")
    if figures.private_bytes > 0 and case.max_registers < ANY_REGISTERS:
        broken.append(f"{case.name}: {figures.private_bytes} bytes of private "
                      "memory")
    return broken


def print_bounds(case, f):
    def above(value):
        return round(value * 1.1 + 4.9, -1)

    print(f"{case.name} | {case.src} | {case.dst} | {case.how} | "
          f"{above(f.instructions):.0f} | {above(f.prologue):.0f} | "
          f"{int(f.in_flight)} | "
          f"{ANY_REGISTERS if f.private_bytes else f.registers + SPARE_REGISTERS}")


def print_row(case, f):
    print(f"| {case.name} | {f.launch['family']}: {f.launch['parameters']} | "
          f"{f.registers or '?'}, {f.groups} | {f.instructions:.0f} "
          f"({f.prologue:.0f}) / {f.slots():.0f} = {f.issue():.2f} | "
          f"{f.in_flight:.0f} | {min(f.most(), 1.0):.2f} | "
          f"{f.launch['predicted']:.2f} |")


def choose(cases, options):
    if options.only:
        return [c for c in cases if options.only in c.name]
    if options.all or os.environ.get("RELAYOUT_TEST_ALL"):
        return cases
    seed = int(os.environ.get("RELAYOUT_TEST_SEED", "0"))
    return [c for n, c in enumerate(cases) if (n + seed) % ONE_IN == 0]


def knows_target(clang):
    targets = subprocess.run([clang, "--print-targets"], check=False,
                             stdout=subprocess.PIPE, text=True).stdout
    return "nvptx64" in targets


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("clang")
    parser.add_argument("folder")
    parser.add_argument("launch_dump")
    parser.add_argument("table")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--family")
    parser.add_argument("--bounds", action="store_true")
    parser.add_argument("--plant")
    options = parser.parse_args()
    if not knows_target(options.clang):
        print(f"{options.clang} does not compile for {TARGET}")
        return 77
    if shutil.which("ptxas") is None:
        if options.bounds:
            parser.error("--bounds needs ptxas, which is not on the path")
        print("ptxas is not on the path: registers are not counted; those of "
              "the table are taken")
    cases = choose(read_table(options.table), options)
    broken = []
    for case, launch in zip(cases, plan(options, cases)):
        figures = Figures(case, launch, compile_ptx(options, launch))
        if options.bounds:
            print_bounds(case, figures)
            continue
        print_row(case, figures)
        broken += check(case, figures)
    for sentence in broken:
        print(sentence)
    print(f"{len(cases)} cases, {len(broken)} bounds broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
