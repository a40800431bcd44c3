#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each call of the system that the command makes fails in turn, once and from
then on: files, memory, and transfers that are short. What it writes is absent,
what it was before, or whole; the exit code is right and the sentence names the
file; the next run works and leaves nothing. A fault of the cache of compiled
programs or of the wisdom never changes a result.

RELAYOUT_TEST_ALL=1 tries each call with each error;
RELAYOUT_TEST_FAULT="SCENARIO CALL:NUMBER:ERRNO" one."""

import errno
import os
import random
import shutil
import struct
import time
import unittest

from cli_case import main
from stream_case import IS_SLOW, JOURNAL, PART, SEED, StreamCase, note

SHORT = 0
# The names of slow_disk.c, in that order.
ERRORS = {
    "open": [errno.EACCES, errno.EIO, errno.EINTR, errno.EMFILE],
    "read": [errno.EIO, errno.EINTR, SHORT],
    "pread": [errno.EIO, errno.EINTR, SHORT],
    "write": [errno.ENOSPC, errno.EIO, errno.EINTR, SHORT],
    "pwrite": [errno.ENOSPC, errno.EIO, errno.EINTR, SHORT],
    "fsync": [errno.EIO, errno.ENOSPC, errno.EINTR],
    "rename": [errno.EACCES, errno.EIO],
    "ftruncate": [errno.EIO, errno.ENOSPC, errno.EINTR],
    "fallocate": [errno.ENOSPC, errno.EIO, errno.EINTR, errno.EOPNOTSUPP,
                  errno.EPERM],
    "mkdir": [errno.EACCES, errno.ENOSPC],
    "mmap": [errno.ENOMEM],
    "close": [errno.EIO],
    "malloc": [errno.ENOMEM],
    "thread": [errno.EAGAIN],
}
# What a caller has to go on after.
PASSING = [errno.EINTR, SHORT, errno.EPERM, errno.EAGAIN]
# Scenarios with a device are a test of their own.
ON_DEVICE = os.environ.get("RELAYOUT_FAULTS_DEVICE", "0") != "0"
OLD = b"what was there before"


class Scenario(StreamCase):
    """One command line."""
    # A job on a device takes so much longer.
    NUM_SAMPLES = 12
    # Tried whatever is drawn.
    ALWAYS = []
    OUTPUTS = ["out.npy"]
    # What a sentence may name.
    NAMES = ["in.npy", "out.npy"]
    # May stay after a failure, and until the next run.
    LEFT = []
    SWEPT = []
    IS_ON_DEVICE = False

    def setUp(self):
        if type(self) is Scenario or self.IS_ON_DEVICE != ON_DEVICE:
            self.skipTest("not here")
        super().setUp()
        self.write_random("in.npy", "<f4", (60, 50))
        self.extra = {"RELAYOUT_CACHE_DIR": ""}
        self.prepare()
        for name in self.OUTPUTS:
            self.write(name, OLD)
        self.before = self.files()
        self.ok(*self.ARGUMENTS, env=self.environment())
        self.whole = {name: self.read(name) for name in self.OUTPUTS}

    def prepare(self):
        pass

    def files(self):
        """The cache of compiled programs may come and go."""
        return set(os.listdir(self.folder)) - {"cache"}

    def environment(self):
        # Checkpoints each 10 ms, as in test_cli_resume.py.
        return {**self.bad_disk(clock=500), **self.extra}

    def rewind(self):
        """Before a run: as if there had been none."""
        for name in self.OUTPUTS:
            self.write(name, OLD)

    def count_calls(self):
        self.rewind()
        path = self.write("counts", bytes(8 * len(ERRORS)))
        try:
            self.ok(*self.ARGUMENTS,
                    env={**self.environment(), "SLOW_DISK_CALLS": path})
            counts = struct.unpack("<%dq" % len(ERRORS), self.read("counts"))
        finally:
            os.unlink(path)
        return dict(zip(ERRORS, counts))

    def every_fault(self):
        for call, count in self.count_calls().items():
            for number in range(1, count + 1):
                for error in ERRORS[call]:
                    yield "%s:%d:%d" % (call, number, error)
                    # A signal does not interrupt for ever.
                    if error != errno.EINTR:
                        yield "%s:%d+:%d" % (call, number, error)

    def judge_outputs(self, is_done, told):
        for name in self.OUTPUTS:
            content = self.read(name)
            self.assertTrue(
                content == (self.whole[name] if is_done else OLD),
                "%s: %s is %s" % (told, name, "the old one" if content == OLD
                                  else "%d bytes" % len(content)))

    def judge(self, fault, result):
        call, _, error = fault.split(":")
        told = "RELAYOUT_TEST_FAULT='%s %s': %s" % (
            type(self).__name__, fault, result)
        self.assertIn(result.code, (0, 1), told)
        # A device needs a thread of its own.
        if int(error) in PASSING and not (ON_DEVICE and call == "thread"):
            self.assertEqual(result.code, 0, told)
        lines = result.err.splitlines()
        self.assertTrue(all(line.startswith("relayout: ") for line in lines),
                        told)
        if result.code == 1:
            self.assertTrue(lines, told)
            names = ["thread"] if call == "thread" else \
                ["memory"] if call in ("malloc", "mmap") else self.NAMES
            self.assertTrue(any(name in result.err for name in names), told)
        else:
            # A fault of what only makes it faster is told at most.
            self.assertEqual([line for line in lines if "planning without" not
                              in line], [], told)
        self.judge_outputs(result.code == 0, told)
        left = self.files() - self.before
        allowed = self.LEFT if result.code else self.SWEPT
        self.assertLessEqual(
            left, set([] if int(error) in PASSING else allowed), told)

    def try_fault(self, fault):
        self.rewind()
        self.judge(fault, self.run_command(
            *self.ARGUMENTS,
            env={**self.environment(), "SLOW_DISK_FAIL": fault}))
        self.ok(*self.ARGUMENTS, env=self.environment())
        self.judge_outputs(True, "after " + fault)
        self.assertEqual(self.files(), self.before)

    def test_each_call_fails(self):
        wanted = os.environ.get("RELAYOUT_TEST_FAULT", "").split()
        faults = list(self.every_fault())
        if wanted:
            faults = wanted[1:] if wanted[0] == type(self).__name__ else []
        elif not IS_SLOW and len(faults) > self.NUM_SAMPLES:
            faults = self.ALWAYS + random.Random(SEED).sample(
                faults, self.NUM_SAMPLES)
        begin = time.monotonic()
        for fault in faults:
            with self.subTest(fault=fault):
                self.try_fault(fault)
        note("%s: %d faults in %.1f s" % (
            type(self).__name__, len(faults), time.monotonic() - begin))


class Convert(Scenario):
    ARGUMENTS = ["convert", "--host", "in.npy", "out.npy", "--perm", "1,0"]


class Raw(Scenario):
    OUTPUTS = ["out.bin"]
    NAMES = ["in.bin", "out.bin"]
    ARGUMENTS = ["convert", "--host", "in.bin", "out.bin", "--from",
                 "u8[120,100]", "--to", "{0,1:T(8,128)}"]

    def prepare(self):
        self.write("in.bin", bytes(range(120)) * 100)


class Stream(Scenario):
    # No thread, few threads, and a file that may not be reserved.
    ALWAYS = ["thread:1+:%d" % errno.EAGAIN, "thread:3+:%d" % errno.EAGAIN,
              "fallocate:1:%d" % errno.EPERM]
    ARGUMENTS = ["convert", "--host", "in.npy", "out.npy", "--perm", "1,0",
                 "--memory", "1MiB", "--passes", "1"]

    def prepare(self):
        self.write_random("in.npy", "<f4", (600, 650))


class TwoPasses(Stream):
    ARGUMENTS = Stream.ARGUMENTS[:-1] + ["2"]


class Resume(Stream):
    ARGUMENTS = Stream.ARGUMENTS + ["--resume"]
    LEFT = [PART, JOURNAL]
    SWEPT = [JOURNAL]
    NAMES = ["in.npy", "out.npy", JOURNAL]


class Op(Scenario):
    ARGUMENTS = ["op", "concat", "in.npy", "in.npy", "out.npy", "--host",
                 "--attr", "axis=0"]


class Split(Scenario):
    """Several outputs: each is whole or as it was, and on failure the first
    ones may be there already."""
    OUTPUTS = ["a.npy", "b.npy", "c.npy"]
    NAMES = ["in.npy"] + OUTPUTS
    ARGUMENTS = ["op", "split_v", "in.npy", *OUTPUTS, "--host", "--attr",
                 "num_or_size_splits=3"]

    def judge_outputs(self, is_done, told):
        states = []
        for name in self.OUTPUTS:
            content = self.read(name)
            self.assertTrue(content in (OLD, self.whole[name]), told)
            states.append(content == self.whole[name])
        self.assertTrue(all(states) or not is_done, told)
        self.assertEqual(states, sorted(states, reverse=True), told)


class OpStream(Stream):
    ARGUMENTS = ["op", "transpose", "in.npy", "out.npy", "--host",
                 "--memory", "1MiB"]


class Describe(Scenario):
    """It reads and prints only."""
    OUTPUTS = []
    NAMES = ["suite"]
    ARGUMENTS = ["describe", "--hlo", "suite"]

    def prepare(self):
        self.write("suite", b"""HloModule m
ENTRY main {
  p = f32[2,3]{1,0} parameter(0)
  ROOT t = f32[3,2]{1,0} transpose(p), dimensions={1,0}
}
""")


class Device(Scenario):
    """With a cache of compiled programs that is empty, and wisdom. Neither
    changes the result."""
    NUM_SAMPLES = 4
    IS_ON_DEVICE = True
    ARGUMENTS = ["convert", "in.npy", "out.npy", "--perm", "1,0", "--device",
                 "default"]
    TUNE = ["tune", "f32[64,48]", "f32[64,48]{0,1}", "--seconds", "0.01"]

    def prepare(self):
        self.extra = {"RELAYOUT_CACHE_DIR": self.path("cache"),
                      "XDG_DATA_HOME": self.path("data")}
        os.makedirs(self.path("data/relayout"))
        self.before_wisdom()

    def before_wisdom(self):
        self.ok(*self.TUNE, env=self.environment())

    def rewind(self):
        super().rewind()
        shutil.rmtree(self.path("cache"), ignore_errors=True)

    def judge(self, fault, result):
        super().judge(fault, result)
        if os.path.isdir(self.path("cache")):
            # What stays is swept after an hour.
            for name in os.listdir(self.path("cache")):
                self.assertNotIn("tmp", name, fault)


class Cached(Device):
    """The same with a cache that has the program."""

    def rewind(self):
        Scenario.rewind(self)


class DeviceStream(Device):
    NUM_SAMPLES = 2
    ARGUMENTS = ["convert", "in.npy", "out.npy", "--perm", "1,0", "--device",
                 "default", "--memory", "8MiB"]


class DeviceOp(Device):
    ARGUMENTS = ["op", "transpose", "in.npy", "out.npy", "--device", "default"]


class Tune(Device):
    """The wisdom is what it was, or complete."""
    NUM_SAMPLES = 2
    # A directory that is there and may not be made.
    ALWAYS = ["mkdir:1:%d" % errno.EACCES]
    OUTPUTS = []
    NAMES = ["wisdom", "data"]
    ARGUMENTS = Device.TUNE + ["--again"]
    WISDOM = "data/relayout/wisdom"

    def judge_outputs(self, is_done, told):
        self.assertEqual(len(self.read(self.WISDOM).splitlines()),
                         len(self.lines), told)
        self.ok("tune", "show", env=self.environment())
        self.assertEqual(os.listdir(self.path("data/relayout")), ["wisdom"])

    def before_wisdom(self):
        super().before_wisdom()
        self.lines = self.read(self.WISDOM).splitlines()


class Warm(Device):
    """Entries of the cache are absent or whole: what is there is found."""
    NUM_SAMPLES = 3
    OUTPUTS = []
    NAMES = ["suite", "cache"]
    ARGUMENTS = ["cache", "warm", "--suite", "suite"]

    def prepare(self):
        self.write("suite", b"f32[64,48] f32[64,48]{0,1}\n")
        super().prepare()

    def judge_outputs(self, is_done, told):
        if os.path.isdir(self.path("cache")):
            self.ok("cache", "show", env=self.environment())


class Clear(Warm):
    ARGUMENTS = ["cache", "clear"]

    def rewind(self):
        self.ok(*Warm.ARGUMENTS, env=self.environment())


class Show(Device):
    OUTPUTS = []
    NAMES = ["wisdom", "data"]
    ARGUMENTS = ["tune", "show"]


if __name__ == "__main__":
    main()
