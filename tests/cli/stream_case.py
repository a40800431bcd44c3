# SPDX-License-Identifier: Apache-2.0
"""Base of the tests of large arrays: files for them, and a faulty disk."""

import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from cli_case import ASAN_OPTIONS, COMMAND, CliCase, npy_bytes

SEED = int(os.environ.get("RELAYOUT_TEST_SEED", "20261122"))
IS_SLOW = os.environ.get("RELAYOUT_TEST_ALL", "0") != "0"
MIB = 1 << 20
PART = ".out.npy.relayout-part"
JOURNAL = ".out.npy.relayout-journal"


def random_bytes(seed, count):
    return random.Random(seed).randbytes(count)


def fast_folder(bytes_needed=256 << 20):
    """In memory, if there is room: the waits for a disk are most of the time
    otherwise. None: the usual place."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return None
    is_usable = os.access("/dev/shm", os.W_OK) and \
        room.f_bavail * room.f_frsize > bytes_needed
    return "/dev/shm" if is_usable else None


class StreamCase(CliCase):
    FOLDER = fast_folder()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="relayout-cli-", dir=self.FOLDER)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # It lies outside the folder, in which nothing may be left.
        self.hold = pathlib.Path(self.folder + "-hold")
        self.addCleanup(self.hold.unlink, missing_ok=True)

    def write_random(self, name, descr, dims, seed=SEED):
        """An .npy file of random bits, 4 bytes an element."""
        count = 4
        for dim in dims:
            count *= dim
        return self.write(name, npy_bytes(descr, dims,
                                          random_bytes(seed, count)))

    def bad_disk(self, write_us=0, flip=0, files=1000, fail=0, error=0,
                 clock=0, count=None, hold=None):
        """Returns the environment of slow_disk.c. `hold`: so many writes are made
        at once, the others when finish() is called."""
        environment = dict(os.environ)
        environment["LD_PRELOAD"] = os.environ["RELAYOUT_SLOW_DISK"]
        environment["ASAN_OPTIONS"] = ASAN_OPTIONS + ":verify_asan_link_order=0"
        environment["SLOW_DISK_FILES"] = str(files)
        environment["SLOW_DISK_WRITE_US"] = str(write_us)
        environment["SLOW_DISK_FLIP"] = str(flip)
        if fail:
            environment["SLOW_DISK_FAIL"] = "pwrite:%d:%d" % (fail, error)
        environment["SLOW_DISK_CLOCK"] = str(clock)
        if count is not None:
            environment["SLOW_DISK_COUNT"] = self.path(count)
        if hold is not None:
            self.hold.touch()
            environment["SLOW_DISK_HOLD"] = str(self.hold)
            environment["SLOW_DISK_FREE"] = str(hold)
        return environment

    def start(self, *arguments, env=None, **options):
        return subprocess.Popen(
            [COMMAND, *arguments], cwd=self.folder, env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, **options)

    def watch_peak(self, *arguments):
        """Runs it; it must succeed. Returns the memory that it had at most."""
        # A sanitizer keeps freed memory, 256 MiB of it.
        process = self.start(*arguments, env=dict(
            os.environ, ASAN_OPTIONS="quarantine_size_mb=0"))
        peak = peak_bytes(process)
        self.assertEqual(self.finish(process)[0], 0)
        return peak

    def wait_for_part(self, process, name=PART):
        """Until the output has been begun."""
        deadline = time.monotonic() + 60
        while not os.path.exists(self.path(name)):
            if process.poll() is not None:
                self.fail("it has ended: %s" % (self.finish(process),))
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.002)

    def finish(self, process):
        self.hold.unlink(missing_ok=True)
        out, err = process.communicate(timeout=120)
        return process.returncode, out.decode(), err.decode()


def words_of(path):
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def peak_bytes(process):
    """The sum of VmHWM of a process, watched until its end, and its children."""
    peaks = {}
    while process.poll() is None:
        for pid in [str(process.pid), *words_of(
                "/proc/%d/task/%d/children" % (process.pid, process.pid))]:
            words = words_of("/proc/%s/status" % pid)
            if "VmHWM:" in words:
                peaks[pid] = int(words[words.index("VmHWM:") + 1]) << 10
        time.sleep(0.001)
    return sum(peaks.values())


def note(words):
    print(words, file=sys.stderr)
