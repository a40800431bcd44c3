#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""op, tune and the cache of compiled programs, killed, interrupted and
terminated at random moments: a result is what it was or whole, and what is left
beside it goes with the next run. test_cli_stop.py and test_cli_resume.py do so
with convert.

By default a few times, with RELAYOUT_TEST_ALL=1 1,000 times in all."""

import json
import os
import random
import shutil
import signal
import time

from cli_case import main
from stream_case import IS_SLOW, SEED, StreamCase, note

TEMPORARY = ".relayout-tmp-"
SIGNALS = [signal.SIGKILL, signal.SIGINT, signal.SIGTERM]
PAIR = ["f32[64,48]", "f32[64,48]{0,1}"]


class Kill(StreamCase):
    def setUp(self):
        super().setUp()
        self.extra = {"RELAYOUT_CACHE_DIR": self.path("cache"),
                      "XDG_DATA_HOME": self.path("data")}
        self.draw = random.Random(SEED)
        self.ends = {}

    def run_and_stop(self, arguments, seconds):
        """Returns a line that says what was done, and the signal."""
        number = self.draw.choice(SIGNALS)
        delay = self.draw.uniform(0, 1.2 * seconds)
        process = self.start(*arguments, env={**os.environ, **self.extra})
        time.sleep(delay)
        process.send_signal(number)
        code = self.finish(process)[0]
        self.assertIn(code, (0, 128 + number, -number))
        return "signal %d after %.4f s, exit code %d; RELAYOUT_TEST_SEED=%d" \
            % (number, delay, code, SEED), number

    def seconds_of(self, arguments):
        seconds = 0
        for _ in range(2):
            begin = time.monotonic()
            self.ok(*arguments, env=self.extra)
            seconds = max(seconds, time.monotonic() - begin)
        return seconds

    def age(self, folder):
        """Makes temporary files old, as if an hour had gone by."""
        for name in os.listdir(folder):
            if name.startswith(TEMPORARY):
                os.utime(os.path.join(folder, name), (1, 1))

    def count(self, *key):
        self.ends[key] = self.ends.get(key, 0) + 1


class Op(Kill):
    """Two results, each renamed alone; small ones whole, large ones in
    pieces."""

    def stop_op(self, arguments, times):
        self.write_random("in.npy", "<f4", (1200, 1000))
        arguments = ["op", "split_v", "in.npy", "a.npy", "b.npy", "--host",
                     "--attr", "num_or_size_splits=2"] + arguments
        seconds = self.seconds_of(arguments)
        whole = [self.read(name) for name in ("a.npy", "b.npy")]
        for _ in range(times):
            for name in "a.npy", "b.npy":
                self.write(name, b"old")
            told, number = self.run_and_stop(arguments, seconds)
            now = [self.read(name) for name in ("a.npy", "b.npy")]
            for is_now, is_whole in zip(now, whole):
                self.assertTrue(is_now in (b"old", is_whole), told)
            left = set(os.listdir(self.folder)) - {"in.npy", "a.npy", "b.npy"}
            if number != signal.SIGKILL:
                self.assertEqual(left, set(), told)
            self.assertLessEqual(len(left), 2, told)
            self.count(number.name, now == whole, len(left))
            self.age(self.folder)
            self.ok(*arguments)
            self.assert_files("in.npy", "a.npy", "b.npy")
        note("op: %s" % self.ends)

    def test_whole(self):
        self.stop_op([], 170 if IS_SLOW else 5)

    def test_in_pieces(self):
        self.stop_op(["--memory", "1MiB"], 170 if IS_SLOW else 5)


class Tune(Kill):
    def test_wisdom_is_whole(self):
        arguments = ["tune", *PAIR, "--seconds", "0.01", "--again"]
        seconds = self.seconds_of(arguments)
        # The budgets are of memory that is aligned as usual, and less.
        most = (1, 2)
        for _ in range(250 if IS_SLOW else 2):
            told, number = self.run_and_stop(arguments, seconds)
            shown = self.ok("tune", "show", "--json", env=self.extra)
            self.assertIn(len(json.loads(shown)["records"]), most, told)
            self.count(number.name, len(os.listdir(self.path("data/relayout"))))
            if number == signal.SIGKILL:
                self.age(self.path("data/relayout"))
                self.ok(*arguments, env=self.extra)
            self.assertEqual(os.listdir(self.path("data/relayout")),
                             ["wisdom"], told)
        note("tune: %s" % self.ends)


class Cache(Kill):
    def test_entries_are_whole(self):
        """What is there after a kill is found, and not rejected: a torn entry
        would be compiled again."""
        self.write("suite", " ".join(PAIR).encode() + b"\n")
        arguments = ["cache", "warm", "--suite", "suite", "--json"]
        self.seconds_of(arguments)
        shutil.rmtree(self.path("cache"))
        begin = time.monotonic()
        self.ok(*arguments, env=self.extra)
        seconds = time.monotonic() - begin
        for _ in range(410 if IS_SLOW else 4):
            shutil.rmtree(self.path("cache"), ignore_errors=True)
            told, number = self.run_and_stop(arguments, seconds)
            entries = []
            if os.path.isdir(self.path("cache")):
                entries = [name for name in os.listdir(self.path("cache"))
                           if not name.startswith(TEMPORARY)]
            self.assertLessEqual(len(entries), 1, told)
            pair = json.loads(self.ok(*arguments, env=self.extra))["pairs"][0]
            self.assertEqual(pair["programs_compiled"], 1 - len(entries), told)
            self.count(number.name, len(entries))
            # Temporary files are old after an hour, and swept with the next
            # entry that is stored.
            os.unlink(self.path("cache/" + self.entry()))
            self.age(self.path("cache"))
            self.ok(*arguments, env=self.extra)
            self.assertEqual(os.listdir(self.path("cache")), [self.entry()])
        note("cache: %s" % self.ends)

    def entry(self):
        names = [name for name in os.listdir(self.path("cache"))
                 if not name.startswith(TEMPORARY)]
        self.assertEqual(len(names), 1)
        return names[0]


if __name__ == "__main__":
    main()
