#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of `relayout shard`: who holds what, and what resharding sends."""

import json

from cli_case import CliCase, main

FROM = "f32[16,16,16] sharding={devices=[2,1,4]<=[4,2]T(1,0)}"
TO = "f32[16,16,16]{0,1,2}, sharding={devices=[1,8,1]<=[8]}"


class Holdings(CliCase):
    def test_text_of_one_device(self):
        self.assertEqual(
            self.ok("shard", "--device", "3", "f32[5,4]",
                    "{devices=[4,1]<=[2,2]T(1,0)}"), """\
f32[5,4]{1,0} sharding={devices=[4,1]<=[2,2]T(1,0)} on 4 devices
device  holds            bytes  shape
     3  [5:5,0:4]            0  f32[0,4]{1,0}
""")

    def test_pictures(self):
        self.assertIn("""\
              +-------------+
          0:2 | 0,1         |
              +-------------+
          2:4 | 2,3         |
              +-------------+
rows are dimension 1
""", self.ok("shard", "f32[3,4]",
             "{devices=[1,2,2]<=[4] last_tile_dim_replicate}"))
        self.assertIn("| 0,1,2,+27   |\n", self.ok(
            "shard", "f32[3]", "{replicated}", "--devices", "30"))
        self.assertIn("3 dimensions are cut: no picture\n", self.ok(
            "shard", "f32[2,2,2]", "{devices=[2,2,2]<=[8]}"))
        self.assertIn("more than 16 parts of a dimension: no picture\n",
                      self.ok("shard", "f32[34]", "{devices=[17]<=[17]}"))

    def test_json(self):
        answer = json.loads(self.ok("shard", "--json", "f32[5]{0}",
                                    "{boxes=[0:2][2:5]}"))
        self.assertEqual(answer["num_devices"], 2)
        self.assertEqual(answer["devices"][1], {
            "device": 1, "start": [2], "limit": [5], "shape": "f32[3]{0}",
            "bytes": 12})

    def test_wrong_input(self):
        self.fails(1, "position 12: expected a number of tiles",
                   "shard", "f32[4]", "{devices=[2,]<=[2]}")
        self.fails(1, "the sharding is for arrays of rank 2",
                   "shard", "f32[4]", "{devices=[2,1]<=[2]}")
        self.fails(2, "'x' is not a number", "shard", "--device", "x", "f32[4]",
                   "{replicated}")
        self.fails(1, "device 2 is outside 0..1", "shard", "--device", "2",
                   "f32[4]", "{devices=[2]<=[2]}")
        self.fails(1, "the sharding is for 2 devices, and there are 3",
                   "shard", "--devices", "3", "f32[4]", "{devices=[2]<=[2]}")
        self.fails(1, "the boxes hold 3 of the array's 4 elements",
                   "shard", "f32[4]", "{boxes=[0:1][2:4]}")
        self.fails(1, "strided", "shard", "f32[4]{:strides(2)}",
                   "{devices=[2]<=[2]}")
        self.fails(2, "--devices", "shard", "--devices", "0", "f32[4]",
                   "{replicated}")
        self.fails(2, "--perm needs --explain", "shard", "--perm", "0",
                   "f32[4]", "{replicated}")
        self.fails(2, "a shape and a sharding", "shard", "f32[4]")


class Redistributions(CliCase):
    def test_the_case_of_xla_15207(self):
        self.assertEqual(self.ok("shard", "--explain", FROM, TO), """\
messages         56
rounds           7
bytes sent       14336
  the least      14336
largest message  256
most received    1792
most sent        1792
most resident    4096
by replicating   114688
  resident       16384
""")

    def test_pieces_of_a_device(self):
        lines = self.ok("shard", "--explain", "--device", "3", FROM,
                        TO).splitlines()[10:]
        self.assertEqual(len(lines), 8)
        self.assertEqual(lines[5].split(),
                         ["3", "<-", "3", "256", "[8:16,6:8,4:8]", "(stays)"])

    def test_a_transposition_as_json(self):
        answer = json.loads(self.ok(
            "shard", "--explain", "--json", "--perm", "-1,0",
            "u8[4,6] sharding={devices=[2,1]<=[2]}",
            "u8[6,4] sharding={maximal device=1}"))
        self.assertEqual(answer["bytes_sent"], 12)
        self.assertEqual(answer["pieces"], [
            {"from": 0, "to": 1, "addend": 0, "start": [0, 0],
             "limit": [6, 2], "bytes": 12},
            {"from": 1, "to": 1, "addend": 0, "start": [0, 2],
             "limit": [6, 4], "bytes": 12}])

    def test_relabelling(self):
        pair = ("f32[8] sharding={devices=[4]<=[4]}",
                "f32[8] sharding={devices=[4]1,2,3,0}")
        self.assertEqual(self.ok("shard", "--explain", "--relabel",
                                 *pair).splitlines()[10:15], [
            "", "relabelled", "to               {devices=[4]0,1,2,3}",
            "messages         0", "rounds           0"])
        answer = json.loads(self.ok("shard", "--explain", "--relabel",
                                    "--json", *pair))
        self.assertEqual((answer["bytes_sent"], answer["num_rounds"]),
                         (32, 2))
        self.assertEqual(answer["relabelled"]["devices"], [3, 0, 1, 2])
        self.assertEqual(answer["relabelled"]["bytes_sent"], 0)
        self.fails(2, "--relabel needs --explain", "shard", "--relabel",
                   "f32[4]", "{replicated}")

    def test_wrong_input(self):
        self.fails(1, "expected SHAPE sharding=SHARDING", "shard", "--explain",
                   FROM, "f32[16,16,16]")
        self.fails(1, "destination dimension 0 is 8", "shard", "--explain",
                   FROM, "f32[8,16,16] sharding={replicated}")
        self.fails(1, "destination: the sharding is for 4 devices", "shard",
                   "--explain", FROM,
                   "f32[16,16,16] sharding={devices=[4,1,1]<=[4]}")
        self.fails(1, "device 8 is outside 0..7", "shard", "--explain",
                   "--device", "8", FROM, TO)
        self.fails(1, "entries, the array has rank 3", "shard", "--explain",
                   "--perm", "1,0", FROM, TO)


if __name__ == "__main__":
    main()
