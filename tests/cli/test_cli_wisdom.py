#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tune, its wisdom file, and plans that use it."""

import json
import os

from cli_case import CliCase, main, npy_bytes

PAIR = ("f32[64,96]", "f32[64,96]{0,1}")
TITLE = b"relayout-wisdom\t1\n"
RECORD = b"\t".join([b"0123456789abcdef" * 2, b"64", b"0.871", b"cpu", b"tile",
                     b"tile 4x8", b"32 bits, 8 x 8\n"])


class WisdomCase(CliCase):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.folder, "data", "relayout", "wisdom")

    def run_command(self, *arguments, env=None, **options):
        environment = {"XDG_DATA_HOME": os.path.join(self.folder, "data")}
        environment.update(env or {})
        return super().run_command(*arguments, env=environment, **options)

    def plant(self, content):
        os.makedirs(os.path.dirname(self.file), exist_ok=True)
        with open(self.file, "wb") as file:
            file.write(content)

    def show(self):
        return json.loads(self.ok("tune", "show", "--json"))["records"]


class File(WisdomCase):
    """Without a device."""

    def test_path(self):
        self.assertEqual(self.ok("tune", "path"), self.file + "\n")
        home = {"XDG_DATA_HOME": "", "HOME": "/some/home"}
        self.assertEqual(self.ok("tune", "path", env=home),
                         "/some/home/.local/share/relayout/wisdom\n")
        home["XDG_DATA_HOME"] = "not/absolute"
        self.assertEqual(self.ok("tune", "path", env=home),
                         "/some/home/.local/share/relayout/wisdom\n")
        home["HOME"] = ""
        for verb in (["tune", "path"], ["tune", *PAIR]):
            self.fails(1, "no directory for wisdom", *verb, env=home)

    def test_there_is_none(self):
        self.assertIn("there is no wisdom", self.ok("tune", "show"))
        self.assertEqual(self.show(), [])
        self.ok("tune", "clear")
        self.assert_files()

    def test_show(self):
        self.plant(TITLE + b"device\tA\t1\t0000000000000001\n" + RECORD +
                   b"device\tB\t1\t0000000000000001\n" + RECORD)
        told = self.ok("tune", "show")
        self.assertIn("A, driver 1 (of another table of kernels: not used)\n"
                      "  0.871  tile         tile 4x8", told)
        self.assertEqual(told.count("32 bits, 8 x 8, aligned to 64\n"), 2)
        record = self.show()[1]
        self.assertEqual(
            (record["device"], record["problem"], record["schedule"],
             record["fraction"], record["is_current"], record["class"]),
            ("B", "0123456789abcdef" * 2, "tile 4x8", 0.871, False, "cpu"))

    def test_a_damaged_file_is_told(self):
        self.plant(TITLE + RECORD)
        self.fails(1, [self.file, "line 2", "before any device"],
                   "tune", "show")
        self.plant(TITLE[:-1])
        self.fails(1, [self.file, "line 1", "no end"], "tune", "show")

    def test_clear(self):
        self.plant(TITLE)
        self.ok("tune", "clear")
        self.assertFalse(os.path.exists(self.file))
        os.mkdir(self.file)
        self.fails(1, "cannot remove", "tune", "clear")

    def test_command_lines(self):
        self.fails(2, "0 given, 2 expected", "tune")
        self.fails(2, "'burn' is not show", "tune", "burn")
        self.fails(2, "--json applies to show", "tune", "clear", "--json")
        self.fails(2, "'f32[2]' is not show", "tune", "f32[2]")
        self.fails(2, "3 given, 2 expected", "tune", *PAIR, "f32[2]")
        for seconds in "0", "-1", "nan", "x", "1x", "4000":
            self.fails(2, "--seconds", "tune", "--seconds", seconds, *PAIR)
        self.write("suite", b"")
        self.fails(2, "a suite has its own", "tune", "--suite", "suite",
                   "--perm", "1,0")
        self.fails(2, "no shapes beside --suite", "tune", "--suite", "suite",
                   *PAIR)

    def test_suites_that_are_wrong(self):
        self.fails(1, "cannot open none", "tune", "--suite", "none")
        good = b"# remark\n\nf32[2,3] f32[3,2] 1,0\n"
        for line, words in (
                (b"f32[2,3]", "two shapes"),
                (b"f32[2,3] f32[3,2] 1,0 x", "two shapes"),
                (b"f32[2,3 f32[3,2]", "position 7"),
                (b"f32[2,3] f32[3,2] 1,1", "permutation"),
                (b"f32[2] " + b"x" * 70000, "xxx...': ")):
            self.write("suite", good + line + b"\n")
            result = self.run_command("tune", "--suite", "suite")
            self.assertEqual((result.code, result.out), (1, ""), result)
            self.assertTrue(result.err.startswith("relayout: suite:4: "),
                            result.err)
            self.assertEqual(len(result.err.splitlines()), 1, result.err)
            self.assertIn(words, result.err)
        self.assertFalse(os.path.exists(self.file))


class Tune(WisdomCase):
    def test_what_is_measured_is_planned_with(self):
        before = json.loads(self.ok("explain", "--json", *PAIR))
        self.assertEqual((before["chosen_by"], before["wisdom_records"]),
                         ("expectation", 0))
        told = json.loads(self.ok("tune", "--seconds", "0.3", "--json", *PAIR))
        self.assertEqual(told["path"], self.file)
        pair = told["pairs"][0]
        self.assertTrue(pair["is_measured"])
        self.assertGreater(pair["fraction"], 0)
        records = self.show()
        self.assertEqual({r["family"] for r in records}, {pair["family"]})
        self.assertEqual({r["schedule"] for r in records}, {pair["schedule"]})
        self.assertTrue(all(r["is_current"] for r in records))
        self.assertTrue(records[0]["device"].startswith(told["device"]))
        after = json.loads(self.ok("explain", "--json", *PAIR))
        self.assertEqual(
            (after["chosen_by"], after["family"], after["schedule"]),
            ("wisdom", pair["family"], pair["schedule"]))
        self.assertAlmostEqual(after["measured_fraction"], pair["fraction"],
                               delta=0.002)
        self.assertEqual(after["wisdom_records"], len(records))
        # A small pair may be faster than the copy of more bytes.
        self.assertRegex(self.ok("explain", *PAIR),
                         r"chosen by      wisdom: it had \d+\.\d+ of the copy ")
        # A known pair is measured again only with --again.
        known = self.ok("tune", *PAIR)
        self.assertIn("(known)", known)
        self.assertNotIn("(known)",
                         self.ok("tune", "--again", "--seconds", "0.1", *PAIR))
        # Wisdom does not change the result.
        data = bytes((i * 2654435761 >> 13) & 255 for i in range(64 * 96 * 4))
        self.write("in.npy", npy_bytes("<f4", (64, 96), data))
        self.ok("convert", "in.npy", "out.npy", "--to", "{0,1}", "--verify",
                "--device", "default")
        self.ok("tune", "clear")
        after = json.loads(self.ok("explain", "--json", *PAIR))
        self.assertEqual(after["chosen_by"], "expectation")

    def test_a_suite(self):
        self.write("suite", b"# two, and nothing\n"
                   b"f32[64,96] f32[96,64] 1,0\n\n"
                   b"f32[64,80] f32[64,80]{0,1}\r\n"
                   b"f32[0,3] f32[0,3]{0,1}")
        told = self.ok("tune", "--suite", "suite", "--seconds", "0.1")
        lines = told.splitlines()
        self.assertEqual(len(lines), 3, told)
        self.assertIn("f32[64,96]{1,0} f32[96,64]{1,0}: ", lines[0])
        self.assertIn("of the copy limit", lines[1])
        self.assertIn("nothing to measure", lines[2])
        self.assertGreaterEqual(len(self.show()), 2)

    def test_a_pair_that_is_none_fails(self):
        self.fails(1, [], "tune", "f32[2,3]", "f32[2,4]")
        self.fails(1, [], "tune", "f32[2,3", "f32[2,4]")
        self.assertFalse(os.path.exists(self.file))

    def test_wisdom_of_others_is_passed_over_and_kept(self):
        others = b"device\tA\t1\t0000000000000001\n" + RECORD
        self.plant(TITLE + others)
        told = json.loads(self.ok("explain", "--json", *PAIR))
        self.assertEqual((told["chosen_by"], told["wisdom_records"],
                          told["wisdom_ignored"]), ("expectation", 0, 1))
        self.assertIn("1 of another device, driver or table of kernels are "
                      "ignored", self.ok("explain", *PAIR))
        self.ok("tune", "--seconds", "0.1", *PAIR)
        with open(self.file, "rb") as file:
            self.assertTrue(file.read().endswith(others))

    def test_a_damaged_file_costs_speed_and_nothing_else(self):
        self.plant(b"dear diary\n")
        data = bytes(64 * 96 * 4)
        self.write("in.npy", npy_bytes("<f4", (64, 96), data))
        result = self.run_command("convert", "in.npy", "out.npy", "--to",
                                  "{0,1}", "--device", "default")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("planning without wisdom", result.err)
        self.assertIn("line 1", result.err)
        result = self.run_command("tune", "--seconds", "0.1", *PAIR)
        self.assertEqual(result.code, 1)
        self.assertIn("is not touched", result.err)
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), b"dear diary\n")

    def test_a_folder_that_cannot_be_made(self):
        self.write("data", b"in the way")
        result = self.run_command("tune", "--seconds", "0.1", *PAIR)
        self.assertEqual(result.code, 1)
        self.assertIn("data", result.err)

    def test_a_schedule_can_be_named(self):
        told = json.loads(self.ok("explain", "--json", *PAIR, "--schedule",
                                  "output order"))
        self.assertEqual((told["schedule"], told["chosen_by"]),
                         ("output order", "command line"))
        self.fails(1, ["sideways", "\"output order\""], "explain", *PAIR,
                   "--schedule", "sideways")


if __name__ == "__main__":
    main()
