#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""convert in pieces on devices, and what is left when the driver dies."""

import json
import os
import signal
import time

from cli_case import main
from stream_case import JOURNAL, PART, StreamCase


class Device(StreamCase):
    def setUp(self):
        super().setUp()
        self.write_random("in.npy", "<f4", (500, 1100))
        self.arguments = ["convert", "in.npy", "out.npy", "--perm", "1,0",
                          "--device=default", "--memory", "8MiB"]

    def test_bytes(self):
        self.ok("convert", "--host", "in.npy", "whole.npy", "--perm", "1,0",
                "--to", "{1,0:T(8,128)fill(one)}")
        for device in [], ["--device", "PoCL"], ["--device", "all"]:
            told = [json.loads(line) for line in self.ok(
                *self.arguments, "--to", "{1,0:T(8,128)fill(one)}", "--json",
                "--verify", *device).splitlines()]
            self.assertEqual([told[0]["event"], told[-1]["event"]],
                             ["plan", "end"])
            self.assertTrue(told[-1]["device"])
            self.assertIsNone(told[-1]["family"])
            self.assertTrue(self.read("out.npy") == self.read("whole.npy"))
        self.assert_files("in.npy", "out.npy", "whole.npy")

    def test_a_family_is_named(self):
        self.ok("convert", "--host", "in.npy", "whole.npy", "--perm", "1,0")
        told = json.loads(self.ok(*self.arguments, "--family", "gather",
                                  "--json").splitlines()[-1])
        self.assertEqual(told["family"], "gather")
        self.assertTrue(self.read("out.npy") == self.read("whole.npy"))
        self.fails(1, "family rows refuses", *self.arguments, "--family",
                   "rows")

    def test_no_such_device(self):
        self.fails(1, "9999", *self.arguments, "--device", "0,9999")
        self.assert_files("in.npy")

    def child_of(self, process):
        """The process that uses the driver."""
        path = "/proc/%d/task/%d/children" % (process.pid, process.pid)
        deadline = time.monotonic() + 60
        while True:
            with open(path, encoding="ascii") as file:
                children = file.read().split()
            if children:
                return int(children[0])
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)

    def test_the_parent_ends_before_the_child_asks_to_die_with_it(self):
        process = self.start(*self.arguments, "--json", env={
            **self.bad_disk(), "SLOW_DISK_ORPHAN": "1"})
        self.assertEqual(self.finish(process), (-signal.SIGKILL, "", ""))

    def test_the_driver_dies(self):
        self.write("out.npy", b"old")
        process = self.start(*self.arguments, env=self.bad_disk(hold=2))
        self.wait_for_part(process)
        os.kill(self.child_of(process), signal.SIGKILL)
        code, out, err = self.finish(process)
        self.assertEqual((code, out), (70, ""))
        self.assertIn("OpenCL driver died of signal 9", err)
        self.assertEqual(self.read("out.npy"), b"old")
        self.assert_files("in.npy", "out.npy")

    def test_signals(self):
        for number in signal.SIGINT, signal.SIGTERM:
            process = self.start(*self.arguments,
                                 env=self.bad_disk(hold=2))
            self.wait_for_part(process)
            child = self.child_of(process)
            process.send_signal(number)
            code, out, err = self.finish(process)
            self.assertEqual((code, out), (128 + number, ""))
            self.assertIn("nothing was written to out.npy", err)
            self.assert_files("in.npy")
            self.assert_ends(child)

    def test_killed(self):
        process = self.start(*self.arguments, env=self.bad_disk(hold=2))
        self.wait_for_part(process)
        child = self.child_of(process)
        process.kill()
        self.finish(process)
        self.assert_ends(child)
        self.ok(*self.arguments)
        self.assert_files("in.npy", "out.npy")

    def stop_noted(self, stop):
        """Begins a job that can be resumed, and ends it by `stop`, given its
        process, when something is noted."""
        process = self.start(*self.arguments, "--resume",
                             env=self.bad_disk(write_us=5000, hold=100,
                                               clock=500))
        deadline = time.monotonic() + 60
        while not os.path.exists(self.path(JOURNAL)) or \
                os.path.getsize(self.path(JOURNAL)) < 88 + 32:
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.002)
        stop(process)
        return self.finish(process)

    def resume(self, *arguments):
        out = self.ok(*self.arguments, "--resume", "--json", "--verify",
                      *arguments)
        self.assertGreater(
            json.loads(out.splitlines()[-1])["bytes_resumed"], 0)
        self.assert_files("in.npy", "out.npy")

    def test_resumed_after_the_driver_died(self):
        self.arguments[-1] = "1MiB"
        code, out, err = self.stop_noted(
            lambda process: os.kill(self.child_of(process), signal.SIGKILL))
        self.assertEqual((code, out), (70, ""))
        self.assertIn("OpenCL driver died of signal 9", err)
        self.assertIn("what is done stays; go on with: relayout convert", err)
        self.assert_files("in.npy", JOURNAL, PART)
        # A device that is not there is no reason to lose it.
        self.fails(1, "9999", *self.arguments, "--resume", "--device", "9999")
        self.assert_files("in.npy", JOURNAL, PART)
        self.resume()

    def test_resumed_after_a_signal(self):
        self.arguments[-1] = "1MiB"
        code, out, err = self.stop_noted(
            lambda process: process.send_signal(signal.SIGTERM))
        self.assertEqual((code, out), (143, ""))
        self.assertRegex(err, r"stopped at \d+ %; what is done stays; go "
                         r"on with: relayout ")
        self.assert_files("in.npy", JOURNAL, PART)
        # The host does the rest, if the device shares its memory.
        told = json.loads(self.ok("devices", "--json"))
        shares = any(device["is_default"] and device["class"] == "cpu"
                     for device in told["devices"])
        if shares:
            self.arguments[5] = "--host"
        self.resume()

    def test_resumed_after_a_kill(self):
        """The child may live a little longer."""
        self.arguments[-1] = "1MiB"
        self.stop_noted(lambda process: process.kill())
        self.resume()

    def assert_ends(self, pid):
        """Nobody waits for it but the first process."""
        deadline = time.monotonic() + 60
        while os.path.exists("/proc/%d/status" % pid):
            with open("/proc/%d/stat" % pid, encoding="ascii") as file:
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    return
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)


if __name__ == "__main__":
    main()
