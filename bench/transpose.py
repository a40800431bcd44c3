#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time relayout.transpose against NumPy, torch and jax: one process, the same arrays.

    RELAYOUT_LIBRARY=build/librelayout.so PYTHONPATH=python \\
    bench/transpose.py [--rounds N] [--threads N] [--small] [CASE...]

Prints two tables, GB/s read and written, medians of the rounds:

    out     into an array that exists: `out=`, numpy.copyto, torch's copy_
    new     into a new one: numpy.ascontiguousarray, torch's contiguous, jax

and, for each case, the time of the best other over ours: the median of the ratios within a
round, and the worst. Contestants go in turns, each round begins with another one, and each
result is compared with NumPy's once. `numpy copy` is a copy without a transpose, no contestant.
--small has arrays of 1 MiB with the same permutations. Packages that are not there are left out;
jax has no 64-bit types by default and is not asked for them. CASE is a part of a case's name.
"""

import argparse
import gc
import importlib
import os
import statistics
import time

import numpy as np
import relayout as rl

CASES = (
    ("f32 4096x4096", "f4", (4096, 4096), (1, 0)),
    ("f32 10000x10000", "f4", (10000, 10000), (1, 0)),
    ("f32 9999x10001", "f4", (9999, 10001), (1, 0)),
    ("u8 NHWC to NCHW, 512x224x224x3", "u1", (512, 224, 224, 3), (0, 3, 1, 2)),
    ("u8 7001x14003", "u1", (7001, 14003), (1, 0)),
    ("u16 BSHD to BHSD, 8x2048x32x128", "u2", (8, 2048, 32, 128), (0, 2, 1, 3)),
    ("f64 256x384x320, 2,0,1", "f8", (256, 384, 320), (2, 0, 1)),
    ("c128 4096x2048", "c16", (4096, 2048), (1, 0)),
    ("f32 rank 6, 5,2,0,4,1,3", "f4", (16, 20, 24, 12, 18, 14), (5, 2, 0, 4, 1, 3)))
SMALL_BYTES = 1 << 20
REST_SECONDS = 0.006


def find(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed")
        return None


def small(dims, itemsize):
    """About 1 MiB: the longest dimensions are cut."""
    dims = list(dims)
    while np.prod(dims) * itemsize > SMALL_BYTES:
        longest = dims.index(max(dims))
        dims[longest] = dims[longest] * 7 // 8
    return tuple(dims)


def contestants(a, perm, torch, jax, threads):
    """By table: each a function that returns its result, an array of NumPy's or a view of it."""
    view = a.transpose(perm)
    mine, theirs, copied = np.zeros(view.shape, a.dtype), np.zeros(view.shape, a.dtype), np.zeros_like(a)

    def copyto(target, source):
        np.copyto(target, source)
        return target
    into = {"relayout": lambda: rl.transpose(a, perm, out=mine, threads=threads),
            "numpy": lambda: copyto(theirs, view)}
    new = {"relayout": lambda: rl.transpose(a, perm, threads=threads),
           "numpy": lambda: np.ascontiguousarray(view)}
    if torch:
        tensor = torch.from_numpy(a.view("i2") if a.dtype == "u2" else a)  # it has no u16
        target = torch.zeros(view.shape, dtype=tensor.dtype)
        into["torch"] = lambda: target.copy_(tensor.permute(perm)).numpy()
        new["torch"] = lambda: tensor.permute(perm).contiguous().numpy()
    if jax and a.dtype.kind != "c" and a.dtype != "f8":
        on_cpu, run = jax.numpy.asarray(a), jax.jit(lambda x: jax.numpy.transpose(x, perm))
        new["jax"] = lambda: run(on_cpu).block_until_ready()
    into["numpy copy"] = lambda: copyto(copied, a)
    return {"out": into, "new": new}


def check(functions, want):
    for name, function in functions.items():
        if name != "numpy copy":
            got = np.asarray(function()).view(want.dtype)
            if not np.array_equal(got, want):
                raise SystemExit(f"{name} has made another array")


def race(functions, rounds):
    """Seconds of each in each round."""
    names, seconds = list(functions), {name: [] for name in functions}
    for n in range(rounds):
        for name in names[n % len(names):] + names[:n % len(names)]:
            time.sleep(REST_SECONDS)
            begin = time.perf_counter()
            result = functions[name]()
            seconds[name].append(time.perf_counter() - begin)
            del result
    return seconds


def line(label, seconds, gigabytes, columns):
    others = [times for name, times in seconds.items() if name not in ("relayout", "numpy copy")]
    ratios = [min(times) / ours for ours, *times in zip(seconds["relayout"], *others)]
    cells = [f"{gigabytes / statistics.median(seconds[name]):.1f}" if name in seconds else "-"
             for name in columns]
    cells.append(f"{statistics.median(ratios):.1f} x, {min(ratios):.1f} x")
    print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("case", nargs="*")
    asked = parser.parse_args()
    torch, jax = find("torch"), find("jax")
    if torch:
        torch.set_num_threads(asked.threads or len(os.sched_getaffinity(0)))
    for table, columns in (("out", ("relayout", "numpy", "torch", "numpy copy")),
                           ("new", ("relayout", "numpy", "torch", "jax"))):
        print(f"\n| {table} | " + " | ".join(columns) + " | the best other's time |\n|" +
              "---|" * (len(columns) + 2))
        for label, dtype, dims, perm in CASES:
            if asked.case and not any(part in label for part in asked.case):
                continue
            dims = small(dims, np.dtype(dtype).itemsize) if asked.small else dims
            a = np.random.default_rng(29).integers(0, 250, dims, "u1").astype(dtype)
            functions = contestants(a, perm, torch, jax, asked.threads)[table]
            check(functions, a.transpose(perm))
            line(label, race(functions, asked.rounds), 2 * a.nbytes / 1e9, columns)
            del a, functions
            gc.collect()


if __name__ == "__main__":
    main()
