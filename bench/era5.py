#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time maps in NetCDF-4 to time series in Zarr and NetCDF-4, within a limit of memory.

    bench/era5.py [--folder D] [--gigabytes G] [--memory SIZE] [--rounds N] [--limit SECONDS]
                  [--rechunker PYTHON] [NAME...]

Makes a file as ERA5 has it, f32 t2m[time, 721, 1440] with coordinates, a chunk each hour, by
shuffle and gzip 1, and turns it into chunks of all hours, in turns by

    relayout, relayout-nc   `relayout.convert`, to Zarr and to NetCDF-4
    dask                    xarray and dask's threads, which know no limit
    dask-p2p                the same with a worker of `distributed` that has the limit, and 256 MiB
                            for its interpreter
    rechunker               by dask's threads, from chunks of dask
    nccopy, h5repack        to NetCDF-4

Zarr is of version 2 with Blosc, lz4 and shuffle, for each. A peer runs in a process of its own,
from its start until its output is on the disk; the input is not in the page cache. Outputs have
to have the digest of the input, and to be the same to xarray: a box of series with coordinates,
in what has them. Prints the seconds, those of processors, the read and written bytes of the input
in one second, and the most memory (PSS) that the processes held, sampled. Packages and commands that
are not there are left out. rechunker needs zarr 2: it runs by a Python of its own, which has
rechunker, h5py and NumPy; this one has zarr 3, h5py, xarray and netCDF4.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROWS, COLUMNS = 721, 1440
CHUNK = 24
PEERS = ("relayout", "dask", "dask-p2p", "rechunker", "relayout-nc", "nccopy", "h5repack")


def make_input(path, gigabytes):
    """Fields of 1/64 K that differ little from hour to hour."""
    import netCDF4
    import numpy as np
    steps = max(2, int(gigabytes * 1e9 / (ROWS * COLUMNS * 4)))
    random = np.random.default_rng(1)
    lat, lon = np.linspace(90, -90, ROWS), np.arange(COLUMNS) / 4
    with netCDF4.Dataset(path, "w") as file:
        for name, values, units in (
                ("time", np.arange(steps), "hours since 2001-01-01"),
                ("latitude", lat, "degrees_north"), ("longitude", lon, "degrees_east")):
            file.createDimension(name, len(values))
            variable = file.createVariable(name, "f8", (name,))
            variable[:] = values
            variable.units = units
        field = file.createVariable(
            "t2m", "f4", ("time", "latitude", "longitude"), zlib=True, complevel=1, shuffle=True,
            chunksizes=(1, ROWS, COLUMNS), fill_value=-32767)
        field.units = "K"
        weather = random.normal(0, 1, (ROWS, COLUMNS)).cumsum(axis=1) / 8
        for step in range(steps):
            weather += random.normal(0, 0.05, (ROWS, COLUMNS))
            sun = np.cos(np.radians(lon + 15 * step)) * np.cos(np.radians(lat))[:, None]
            plane = 250 + 45 * np.cos(np.radians(lat))[:, None] + 5 * sun + weather
            field[step] = np.round(plane * 64) / 64


# -------------------------------------------------------------------- peers

def run_relayout(source, target, chunks, memory):
    import numcodecs
    import relayout
    relayout.convert(source + "::t2m", target, chunks=chunks, memory=memory, zarr_format=2,
                     compressors=numcodecs.Blosc("lz4", 5, 1))


def run_relayout_nc(source, target, chunks, memory):
    import relayout
    relayout.convert(source + "::t2m", target, chunks=chunks, memory=memory)


def run_dask(source, target, chunks, memory):
    import numcodecs
    import xarray
    names = ("time", "latitude", "longitude")
    with xarray.open_dataset(source, engine="h5netcdf", chunks={"time": 1}) as data:
        data.chunk(dict(zip(names, chunks))).to_zarr(
            target, zarr_format=2, consolidated=False, encoding={"t2m": {
                "chunks": chunks, "compressors": numcodecs.Blosc("lz4", 5, 1)}})


def run_dask_p2p(source, target, chunks, memory):
    import dask
    from distributed import Client, LocalCluster
    folder = os.path.dirname(target)
    with dask.config.set({"array.rechunk.method": "p2p"}), \
            LocalCluster(n_workers=1, threads_per_worker=os.cpu_count(),
                         memory_limit=memory + 2**28, dashboard_address=None,
                         local_directory=folder) as cluster, Client(cluster):
        run_dask(source, target, chunks, memory)


def run_rechunker(source, target, chunks, memory):
    import dask.array
    import h5py
    import numcodecs
    from rechunker import rechunk
    with h5py.File(source) as file:
        data = dask.array.from_array(file["t2m"], chunks=(1, ROWS, COLUMNS))
        options = {"compressor": numcodecs.Blosc("lz4", 5, 1)}
        rechunk(data, chunks, memory, target, options, target + ".temp", options).execute()


def run_nccopy(source, target, chunks, memory):
    names = ("time", "latitude", "longitude")
    spec = ",".join("%s/%d" % pair for pair in zip(names, chunks))
    os.execvp("nccopy", ["nccopy", "-m", str(memory), "-c", spec, source, target])


def run_h5repack(source, target, chunks, memory):
    spec = "x".join(map(str, chunks))
    os.execvp("h5repack", ["h5repack", "-l", "t2m:CHUNK=" + spec, source, target])


NEEDS = {"relayout": "relayout zarr h5py", "relayout-nc": "relayout h5py",
         "dask": "dask xarray zarr h5netcdf", "dask-p2p": "distributed xarray zarr h5netcdf",
         "rechunker": "rechunker h5py"}


def has(python, name):
    if name in NEEDS:
        script = "import " + ", ".join(NEEDS[name].split())
        return subprocess.run([python, "-c", script], stderr=subprocess.DEVNULL).returncode == 0
    return shutil.which(name) is not None


# ----------------------------------------------------------------- measuring

def pss_of(pid):
    """Bytes that a process and its children hold, those that are shared by their part."""
    total = 0
    try:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            total = sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                total += sum(pss_of(int(child)) for child in file.read().split())
    except (OSError, ProcessLookupError):
        pass
    return total


def run_once(words, source, limit):
    """Seconds, those of processors, and the peak; None in place of seconds that are too many."""
    with open(source, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    begin, peak, is_late = time.monotonic(), 0, False
    child = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL)
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, pss_of(child.pid))
        if not is_late and time.monotonic() - begin > limit:
            is_late = True
            os.killpg(child.pid, signal.SIGKILL)
        time.sleep(0.02)
    child.returncode = status
    if status != 0 and not is_late:
        raise RuntimeError("%s failed" % " ".join(words))
    os.sync()
    return (None if is_late else time.monotonic() - begin), usage.ru_utime + usage.ru_stime, peak


def check(source, target, chunks):
    """Compares an output with the input."""
    import relayout
    import xarray
    if relayout.digest(source + "::t2m") != relayout.digest(target):
        raise RuntimeError("%s has other values" % target)
    if os.path.exists(os.path.join(target, ".zarray")):
        return  # rechunker's, of the array alone
    box = {"latitude": slice(0, chunks[1]), "longitude": slice(0, chunks[2])}
    how = {} if target.endswith(".nc") else {"engine": "zarr", "consolidated": False}
    with xarray.open_dataset(source) as old, xarray.open_dataset(target, **how) as new:
        xarray.testing.assert_identical(old["t2m"].isel(box).load(), new["t2m"].isel(box).load())


def measure(options, folder):
    from relayout.service import size_in_bytes
    source = os.path.join(folder, "maps.nc")
    make_input(source, options.gigabytes)
    steps = max(2, int(options.gigabytes * 1e9 / (ROWS * COLUMNS * 4)))
    chunks = (steps, CHUNK, CHUNK)
    pythons = {name: options.rechunker if name == "rechunker" else sys.executable for name in PEERS}
    names = [name for name in options.names if has(pythons[name], name)]
    runs = {name: [] for name in names}
    for turn in range(options.rounds):
        for name in names:
            work = os.path.join(folder, "work")
            os.mkdir(work)
            is_zarr = name in ("relayout", "dask", "dask-p2p", "rechunker")
            target = os.path.join(work, "series.zarr" if is_zarr else "series.nc")
            run = run_once([pythons[name], __file__, "--peer", name, source, target,
                            ",".join(map(str, chunks)), str(size_in_bytes(options.memory))],
                           source, options.limit)
            runs[name].append(run)
            print("%s: %s" % (name, run), file=sys.stderr)
            if turn == 0 and run[0] is not None:
                check(source, target, chunks)
            shutil.rmtree(work)
    size = steps * ROWS * COLUMNS * 4
    print("%.2f GB, %.2f in the file, to chunks of %s within %s" % (
        size / 1e9, os.path.getsize(source) / 1e9, chunks, options.memory))
    print("%-12s %9s %9s %9s %9s" % ("", "seconds", "cpu", "MB/s", "peak MiB"))
    for name, taken in runs.items():
        seconds, processor, peak = sorted(taken, key=lambda run: run[0] or options.limit)[len(taken) // 2]
        print("%-12s %9s %9.1f %9s %9.0f" % (
            name, "> %.0f" % options.limit if seconds is None else "%.1f" % seconds, processor,
            "" if seconds is None else "%.0f" % (size / seconds / 1e6), peak / 2**20))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default=".")
    parser.add_argument("--gigabytes", type=float, default=8)
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600)
    parser.add_argument("--rechunker", default=sys.executable)
    parser.add_argument("names", nargs="*", default=PEERS)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="relayout-era5-", dir=options.folder)
    try:
        measure(options, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer, maps, series, sizes, limit = sys.argv[2:]
        globals()["run_" + peer.replace("-", "_")](maps, series, tuple(map(int, sizes.split(","))),
                                                   int(limit))
    else:
        main()
