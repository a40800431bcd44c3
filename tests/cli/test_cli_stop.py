#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""convert in pieces that is stopped: killed, interrupted, without room. The
target is what it was, or complete, and nothing is left beside it."""

import fcntl
import json
import os
import random
import resource
import signal
import subprocess
import time
import unittest

from cli_case import main
from stream_case import IS_SLOW, MIB, PART, SEED, StreamCase, note


class Stop(StreamCase):
    def setUp(self):
        super().setUp()
        self.write_random("in.npy", "<f4", (1200, 1100))
        self.arguments = ["convert", "--host", "in.npy", "out.npy", "--perm",
                          "1,0", "--memory", "2MiB", "--passes", "1"]


class Signals(Stop):
    def stop(self, number):
        """Sends a signal in the middle of the job, which has no end."""
        process = self.start(
            *self.arguments, env=self.bad_disk(write_us=2000, files=0))
        self.wait_for_part(process)
        time.sleep(0.02)
        process.send_signal(number)
        return self.finish(process)

    def test_exit_codes_and_words(self):
        self.write("out.npy", b"old")
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            code, out, err = self.stop(number)
            self.assertEqual((code, out), (128 + number, ""))
            self.assertEqual(
                err, "relayout: stopped; nothing was written to out.npy\n")
            self.assert_files("in.npy", "out.npy")
            self.assertEqual(self.read("out.npy"), b"old")

    def test_words_are_escaped(self):
        self.arguments[3] = "out.npy\x1b\u009b"
        process = self.start(
            *self.arguments, env=self.bad_disk(write_us=2000, files=0))
        self.wait_for_part(process, "." + self.arguments[3] + PART[8:])
        process.send_signal(signal.SIGINT)
        self.assertEqual(
            self.finish(process)[2], "relayout: stopped; nothing was written "
            "to out.npy\\x1b\\xc2\\x9b\n")

    def test_while_the_disk_is_waited_for(self):
        for number in signal.SIGINT, signal.SIGTERM:
            process = self.start(*self.arguments, env=self.bad_disk(files=0))
            self.wait_for_part(process)
            time.sleep(0.5)
            self.assertIsNone(process.poll())
            process.send_signal(number)
            self.assertEqual(self.finish(process)[0], 128 + number)
            self.assert_files("in.npy")

    def test_a_signal_that_is_ignored(self):
        process = self.start(
            *self.arguments, env=self.bad_disk(hold=100),
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for_part(process)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.finish(process)[0], 0)
        self.assert_files("in.npy", "out.npy")

    def test_at_random_moments(self):
        """From before the part is made to after it has its name."""
        seconds = 0
        for _ in range(2):
            begin = time.monotonic()
            self.ok(*self.arguments)
            seconds = max(seconds, time.monotonic() - begin)
        whole = self.read("out.npy")
        draw = random.Random(SEED)
        ends = {}
        for n in range(1000 if IS_SLOW else 12):
            old = draw.choice([None, b"old"])
            if old is None:
                os.unlink(self.path("out.npy"))
            else:
                self.write("out.npy", old)
            number = draw.choice(
                [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
            delay = draw.uniform(0, 1.5 * seconds)
            process = self.start(*self.arguments)
            time.sleep(delay)
            process.send_signal(number)
            code = self.finish(process)[0]
            told = "case %d: signal %d after %.4f s, exit code %d; " \
                "RELAYOUT_TEST_SEED=%d" % (n, number, delay, code, SEED)
            now = self.read("out.npy") if os.path.exists(
                self.path("out.npy")) else None
            self.assertIn(now == whole, [True, False], told)
            if now != whole:
                self.assertEqual(now, old, told)
            left = sorted(os.listdir(self.folder))
            if number != signal.SIGKILL:
                self.assertNotIn(PART, left, told)
            self.assertLessEqual(set(left), {"in.npy", "out.npy", PART}, told)
            key = (number.name, "whole" if now == whole else "old",
                   PART in left)
            ends[key] = ends.get(key, 0) + 1
            # The next run takes the part away.
            self.ok(*self.arguments)
            self.assertTrue(self.read("out.npy") == whole, told)
            self.assert_files("in.npy", "out.npy")
        note("ends (signal, target, part left): %s" % ends)


class Parts(Stop):
    def test_the_next_run_sweeps_the_folder(self):
        self.write(PART, b"x" * 1000)
        self.write(".other.npy.relayout-part", b"x")
        self.write("mine.relayout-part", b"x")
        self.ok(*self.arguments)
        self.assert_files("in.npy", "mine.relayout-part", "out.npy")

    def test_a_part_that_is_in_work_stays(self):
        first = self.start(*self.arguments, env=self.bad_disk(hold=100))
        self.wait_for_part(first)
        self.fails(1, ["out.npy", "another process", PART], *self.arguments)
        # Another target in the folder does not touch it either.
        self.ok("convert", "--host", "in.npy", "other.npy", "--memory", "2MiB")
        self.assertIsNone(first.poll())
        self.assertTrue(os.path.exists(self.path(PART)))
        self.assertEqual(self.finish(first)[0], 0)
        self.assert_files("in.npy", "other.npy", "out.npy")

    def test_missing_folder(self):
        self.fails(1, ["no/out.npy", "No such file"], "convert", "--host",
                   "in.npy", "no/out.npy", "--memory", "2MiB")
        os.mkdir(self.path("out.npy"))
        self.fails(1, "out.npy", *self.arguments)
        self.assert_files("in.npy", "out.npy")


class Disk(Stop):
    def fails_at_once(self, words, *arguments, **options):
        """Before a byte of the array is written: the room is taken first."""
        self.write("count", bytes(8))
        self.fails(1, words, *arguments, env=self.bad_disk(count="count"),
                   **options)
        self.assertEqual(self.read("count"), bytes(8))
        os.unlink(self.path("count"))

    def test_file_size_limit(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (3 * MIB, 3 * MIB))
        self.write("out.npy", b"old")
        self.fails_at_once(["out.npy", "too large"], *self.arguments,
                           preexec_fn=limit)
        self.assertEqual(self.read("out.npy"), b"old")
        self.assert_files("in.npy", "out.npy")

    def test_full_disk(self):
        disk = self.path("disk")
        os.mkdir(disk)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk],
            stderr=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            self.skipTest("a small disk cannot be mounted")
        try:
            self.write("disk/out.npy", b"old")
            self.fails_at_once(["out.npy", "No space left"], "convert",
                               "--host", "in.npy", "disk/out.npy", "--memory",
                               "2MiB")
            self.assertEqual(self.read("disk/out.npy"), b"old")
            self.assertEqual(os.listdir(disk), ["out.npy"])
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_json_tells_the_status(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (3 * MIB, 3 * MIB))
        result = self.run_command(*self.arguments, "--json", preexec_fn=limit)
        self.assertEqual(result.code, 1)
        self.assertIn("too large", result.err)
        told = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual([event["event"] for event in told], ["plan", "end"])
        self.assertEqual(told[-1]["status"], "RLO_IO")
        self.assert_files("in.npy")


class Input(Stop):
    def change(self, how):
        process = self.start(*self.arguments, env=self.bad_disk(hold=100))
        self.wait_for_part(process)
        with open(self.path("in.npy"), "r+b") as file:
            how(file)
        code, out, err = self.finish(process)
        self.assertEqual((code, out), (1, ""), err)
        self.assertRegex(err, "in.npy|the source has changed")
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assert_files("in.npy")

    def test_truncated(self):
        self.change(lambda file: file.truncate(200 * 1000))

    def test_written(self):
        def write(file):
            file.seek(1000 * 1000)
            file.write(b"new")
        self.change(write)

    def test_swapped_numbers(self):
        content = self.read("in.npy").replace(b"<f4", b">f4", 1)
        self.write("in.npy", content)
        self.change(lambda file: file.truncate(200 * 1000))
        self.write("in.npy", content)
        self.change(lambda file: file.write(b"\x93NUMPY"))


class Verify(Stop):
    def test_it_finds_a_wrong_byte(self):
        self.write("out.npy", b"old")
        self.ok(*self.arguments, "--verify")
        self.assertEqual(len(self.read("out.npy")), 128 + 4 * 1200 * 1100)
        self.write("out.npy", b"old")
        for flip in 1, 2, 5:
            self.fails(1, ["the host makes", "out.npy"],
                       *self.arguments, "--verify",
                       env=self.bad_disk(flip=flip))
            self.assertEqual(self.read("out.npy"), b"old")
        self.assert_files("in.npy", "out.npy")


if __name__ == "__main__":
    main()
