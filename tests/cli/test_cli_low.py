#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of some KiB as large ones are: in pieces, with journals, verified by
some of their elements. For a command whose thresholds are lowered."""

import errno
import os
import random
import sys

from cli_case import main
from stream_case import JOURNAL, PART, SEED, StreamCase

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed: these tests are skipped")
    sys.exit(77)

TYPES = ["u1", "<u2", "<f4", "<f8", "<c16"]


class Low(StreamCase):
    def write_array(self, dtype, dims, seed=SEED, name="in.npy"):
        """Bits that are no numbers are not compared as numbers: integers."""
        size = int(np.prod(dims)) * np.dtype(dtype).itemsize
        data = random.Random(seed).randbytes(size)
        array = np.frombuffer(data, dtype=dtype).reshape(dims)
        np.save(self.path(name), array)
        return array

    def expect(self, array, name="out.npy"):
        found = np.load(self.path(name))
        self.assertEqual((found.dtype, found.shape),
                         (array.dtype, array.shape))
        self.assertEqual(found.tobytes(), array.tobytes())
        if array.nbytes > 1024:
            self.assertEqual(os.path.getsize(self.path(name)),
                             4096 + array.nbytes)

    def test_convert(self):
        draw = random.Random(SEED)
        for n in range(12):
            dtype = np.dtype(draw.choice(TYPES))
            rank = draw.randint(2, 4)
            dims = [draw.randint(1, round(1600 ** (1 / rank)))
                    for _ in range(rank)]
            perm = draw.sample(range(rank), rank)
            told = "%s %s %s (RELAYOUT_TEST_SEED=%d)" % (
                dtype, dims, perm, SEED)
            with self.subTest(told):
                array = self.write_array(dtype, dims, seed=SEED + n)
                self.ok("convert", "--host", "in.npy", "out.npy", "--perm",
                        ",".join(map(str, perm)),
                        *(["--verify"] if n < 4 else []),
                        *(["--io", "direct"] if n == 5 else []))
                self.expect(np.ascontiguousarray(array.transpose(perm)))
        self.assert_files("in.npy", "out.npy")

    def test_op(self):
        a = self.write_array("<f4", (60, 70), name="a.npy")
        b = self.write_array("<f4", (60, 30), name="b.npy", seed=SEED + 1)
        self.ok("op", "Concat", "--host", "--attr", "axis=1", "a.npy",
                "b.npy", "out.npy")
        self.expect(np.concatenate([a, b], axis=1))

    def test_a_wrong_byte_is_found(self):
        """By all bytes, and by some elements. A write may be a journal's."""
        for rows in 20, 60:
            array = self.write_array("<f4", (rows, 50))
            num_found = 0
            for at in range(1, 9):
                done = self.run_command(
                    "convert", "--host", "in.npy", "out.npy", "--perm", "1,0",
                    "--verify", env=self.bad_disk(flip=at))
                if done.code == 0:
                    self.expect(np.ascontiguousarray(array.T))
                    os.unlink(self.path("out.npy"))
                else:
                    self.assertRegex(
                        done.err, "of the result is 0x|of the journal .* is damaged")
                    num_found += "result" in done.err
                self.assert_files("in.npy")
            self.assertGreater(num_found, 3)

    def test_what_is_done_stays(self):
        array = self.write_array("<f4", (130, 150))
        convert = ["convert", "--host", "in.npy", "out.npy", "--perm", "1,0"]
        result = self.run_command(
            *convert, env=self.bad_disk(fail=30, error=errno.ENOSPC))
        self.assertEqual(result.code, 1)
        self.assertIn("go on with: relayout convert --resume", result.err)
        self.assert_files("in.npy", PART, JOURNAL)
        self.ok(*convert, "--resume")
        self.expect(np.ascontiguousarray(array.T))
        self.assert_files("in.npy", "out.npy")


if __name__ == "__main__":
    main()
