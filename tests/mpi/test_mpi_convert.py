#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""relayout-mpi convert: the bytes, the messages and the exit codes of relayout
convert, whatever the number of ranks."""

import json
import os
import random
import signal
import subprocess
import time
import unittest
import unittest.mock

import cli_case

MPI_COMMAND = os.environ.get("RELAYOUT_MPI_COMMAND", "build/relayout-mpi")
# Otherwise the first of each table: every mpirun takes a second.
TRIES_ALL = "RELAYOUT_TEST_ALL" in os.environ
MPIEXEC = os.environ.get("MPIEXEC", "mpirun")


class MpiConvert(cli_case.CliCase):
    def start(self, ranks, *arguments):
        return subprocess.Popen(
            [MPIEXEC, "-n", str(ranks), MPI_COMMAND, "convert"]
            + list(arguments), cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def by_ranks(self, ranks, *arguments):
        """Runs it; returns the exit code, the output and our own messages."""
        process = self.start(ranks, *arguments)
        out, err = process.communicate(timeout=120)
        lines = err.decode().splitlines()
        return process.returncode, out.decode(), [
            line for line in lines
            if line.startswith(("relayout: ", "Try 'relayout"))]

    def write_random(self, name, dims):
        count = 4
        for dim in dims:
            count *= dim
        self.write(name, cli_case.npy_bytes(
            "<f4", dims, random.Random(7).randbytes(count)))

    def test_the_bytes_are_those_of_relayout_convert(self):
        self.write_random("in.npy", (40, 33, 7))
        cases = [
            (3, "--perm", "2,0,1"),
            (4, "--to", "{2,1,0:T(7,8,8)(2,1)pad(43,34,9)fill(one)}", "--host",
             "--memory", "1MiB"),
            (2, "--to", "{1,0,2:T(8,16)}"),
            (4, "--to", "{0,1,2:pad(43,34,9)fill(zero)}"),
        ][:None if TRIES_ALL else 2]
        for ranks, *options in cases:
            with self.subTest(ranks=ranks, options=options):
                said = self.ok("convert", "in.npy", "one", *options)
                self.assertEqual(
                    self.by_ranks(ranks, "in.npy", "many", *options),
                    (0, said, []))
                self.assertEqual(self.read("one"), self.read("many"))
        self.assert_files("in.npy", "one", "many")

    # A folder that the driver cannot make.
    @unittest.mock.patch.dict(os.environ, POCL_CACHE_DIR="/proc/none")
    def test_ranks_take_devices(self):
        self.write_random("in.npy", (40, 33))
        said = self.ok("convert", "in.npy", "one.npy", "--perm", "1,0")
        self.assertEqual(
            self.by_ranks(2, "in.npy", "many.npy", "--perm", "1,0",
                          "--device", "all"), (0, said, []))
        self.assertEqual(self.read("one.npy"), self.read("many.npy"))
        code, out, said = self.by_ranks(2, "in.npy", "none.npy", "--device",
                                        "no such device")
        self.assertEqual((code, out, len(said)), (1, "", 1))
        self.assertIn("no such device", said[0])
        self.assert_files("in.npy", "one.npy", "many.npy")

    def test_what_has_no_parts_is_done_by_one(self):
        # Dimensions that are merged before they are tiled, and elements of 4
        # bits of which an odd number lies in a row.
        self.write_random("in.npy", (5, 3, 7))
        packed = ["--from", "s4[5,3,7]{2,1,0:E(4)}", "--to", "{0,1,2:E(4)}"]
        self.write("in.bin", random.Random(8).randbytes(53))
        for name, options in [("in.bin", packed),
                              ("in.npy", ["--to", "{2,1,0:T(*,8)}"])
                              ][:None if TRIES_ALL else 1]:
            with self.subTest(options=options):
                self.ok("convert", name, "one.bin", *options)
                code, out, said = self.by_ranks(
                    3, name, "many.bin", "--json", *options)
                self.assertEqual((code, said), (0, []))
                self.assertEqual(json.loads(out)["ranks"], 3)
                self.assertEqual(self.read("one.bin"), self.read("many.bin"))

    def test_without_a_verb_it_tells_the_verbs(self):
        done = subprocess.run([MPI_COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (2, b""))
        self.assertIn(b"\n  convert  ", done.stdout)

    def test_failures_are_told_once_and_leave_nothing(self):
        self.write_random("in.npy", (4, 3))
        # The first one fails on rank 0 alone.
        for code, *arguments in [
                (1, "in.npy", "missing/out.npy"),
                (2, "in.npy", "out.npy", "--size", "1"),
                (1, "none.npy", "out.npy"),
                (1, "in.npy", "in.npy"),
                (1, "in.npy", "out.npy", "--perm", "1,1")
                ][:None if TRIES_ALL else 2]:
            with self.subTest(arguments=arguments):
                one = self.run_command("convert", *arguments)
                self.assertEqual(one.code, code)
                said = one.err.replace("Try 'relayout ", "Try 'relayout-mpi ")
                self.assertEqual(self.by_ranks(2, *arguments),
                                 (code, "", said.splitlines()))
        self.assert_files("in.npy")

    def test_a_rank_that_dies_ends_all_and_leaves_nothing(self):
        name = "in.npy"
        with open(self.path(name), "wb") as file:
            head = cli_case.npy_bytes("<f4", (20000, 20000), b"")
            file.write(head)
            file.truncate(len(head) + 4 * 20000 * 20000)
        process = self.start(2, name, "out.npy", "--perm", "1,0",
                             "--memory", "1MiB")
        # The part is there while the ranks work.
        end = time.monotonic() + 60
        while len(os.listdir(self.folder)) < 2:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        killed = 0
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                killed += self.kill_if_rank(entry, "1")
        begin = time.monotonic()
        process.communicate(timeout=60)
        self.assertEqual(killed, 1)
        self.assertNotEqual(process.returncode, 0)
        # Ten seconds, on a machine that is not busy with other tests.
        patience = float(os.environ.get("CK_TIMEOUT_MULTIPLIER", 1))
        self.assertLess(time.monotonic() - begin, 10 * patience)
        # Open MPI tells the others to end, MPICH kills them too; then the next
        # output into the folder removes the part.
        version = subprocess.run([MPIEXEC, "--version"], check=True,
                                 stdout=subprocess.PIPE).stdout
        if b"Open MPI" not in version:
            self.write_random("small.npy", (2, 3))
            self.ok("convert", "small.npy", "other.npy", "--memory", "1MiB",
                    "--host")
            os.remove(self.path("small.npy"))
            os.remove(self.path("other.npy"))
        self.assert_files(name)

    def kill_if_rank(self, pid, rank):
        """Kills the process if it is that rank of the command in our folder."""
        try:
            folder = os.readlink("/proc/%s/cwd" % pid)
            with open("/proc/%s/environ" % pid, "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            return 0
        names = [b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK="]
        if folder != os.path.realpath(self.folder) or not any(
                name + rank.encode() in variables for name in names):
            return 0
        os.kill(int(pid), signal.SIGKILL)
        return 1


if __name__ == "__main__":
    unittest.main(verbosity=1)
