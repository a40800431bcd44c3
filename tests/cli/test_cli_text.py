#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verbs that print text and need neither a device nor a file."""

import json
import os
import re
import shutil
import struct
import subprocess
import unittest

from cli_case import COMMAND, CliCase, main, npy_bytes

VERBS = ["convert", "op", "weights", "digest", "describe", "show", "shard",
         "explain", "emit", "devices", "cache", "tune"]
EXAMPLE = "f32[2,3]{0,1:pad(3,5)fill(zero)}"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def weights_bytes(*names):
    """A file of weights with members of one element."""
    members = {name: {"dtype": "U8", "shape": [1], "data_offsets": [n, n + 1]}
               for n, name in enumerate(names)}
    header = json.dumps(members).encode()
    return struct.pack("<Q", len(header)) + header + bytes(len(names))


def part(dimensions, elements, slots, share, kind="dimensions"):
    return {"kind": kind, "dimensions": dimensions, "elements": elements,
            "slots": slots, "padding_share": share}


class Help(CliCase):
    def test_help_of_every_verb(self):
        overview = self.ok("help")
        self.assertEqual(self.ok("--help"), overview)
        for verb in VERBS:
            self.assertIn("\n  %s " % verb, overview)
            text = self.ok(verb, "--help")
            self.assertTrue(text.startswith("Usage: relayout %s" % verb))
            self.assertEqual(self.ok("help", verb), text)
            self.assertEqual(self.ok(verb, "-h"), text)
            for line in text.splitlines():
                self.assertLessEqual(len(line), 79, line)

    def test_help_lists_the_file_formats(self):
        for verb in "convert", "op", "digest":
            text = self.ok("help", verb)
            self.assertIn("\n  .npy          a NumPy array.", text)
            self.assertIn("\n  .bin, .raw    bare bytes:", text)
        self.assertNotIn(".npy", self.ok("help", "explain"))

    def test_help_lists_the_types(self):
        table = self.ok("describe", "--help").split("are read as well:\n")[1]
        names = table.split()
        self.assertEqual(len(names), 2 * 32)
        for ours, numpy in zip(names[::2], names[1::2]):
            text = self.ok("describe", numpy + "[2]")
            self.assertEqual(text, self.ok("describe", ours + "[2]"))
            self.assertIn(" %s[2]{0" % ours, text)

    def test_version(self):
        self.assertRegex(self.ok("--version"), r"^relayout \d+\.\d+\.\d+\n$")

    def test_no_verb_prints_the_overview_as_an_error(self):
        result = self.run_command()
        self.assertEqual((result.code, result.out), (2, ""))
        self.assertIn("Usage: relayout", result.err)


class Completion(CliCase):
    """What a shell offers for the last word of a line."""
    FILE = os.path.join(ROOT, "src/cli/completion.bash")
    # As bash is set by default: it splits words at these.
    BASH = r"""COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
        compopt() { :; }; . "$0"; COMP_LINE=$1; COMP_POINT=${#1}; _relayout
        printf '%s\n' "${COMPREPLY[@]}" """
    ZSH = r"""compadd() { print -rl -- ${@[(r)--,-1][2,-1]}; false }
        _files() { :; }; words=(${(z)1}); [[ $1 != *' ' ]] || words+=('')
        CURRENT=$#words; PREFIX=$words[-1]; . "$0" """

    def offered(self, line, shell=("bash", "--norc", "-c"), script=BASH):
        os.makedirs(self.path("bin"), exist_ok=True)
        if not os.path.exists(self.path("bin/relayout")):
            os.symlink(os.path.abspath(COMMAND), self.path("bin/relayout"))
        done = subprocess.run(
            [*shell, script, self.FILE, "relayout " + line], cwd=self.folder,
            env=dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"]),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        self.assertEqual(done.stderr, b"", line)
        return done.stdout.decode().split()

    LINES = {
        "co": ["convert"], "help di": ["digest"], "cache ": ["clear", "show", "warm"],
        "convert --ve": ["--verify"], "op Pad": ["PadV2"],
        "show --color ": ["always", "auto", "never"], "emit x y --class h": ["host"],
        "convert --device d": ["default"], "convert --family sk": ["skinny"],
        "explain f3": ["f32["], "convert a b --from c1": ["c128["],
        "describe m.safetensors::b": ["b.weight"], "nosuch --x": [],
        "convert a b --byte-order=b": ["big"], "convert a b --io=d": ["direct"],
    }

    def test_bash(self):
        self.write("m.safetensors", weights_bytes("a.weight", "b.weight"))
        for line, words in self.LINES.items():
            self.assertEqual(sorted(self.offered(line)), words, line)
        self.assertEqual(self.offered(""), VERBS + ["help"])
        self.assertEqual(self.offered("tune p"), ["path", "pred["])

    @unittest.skipUnless(shutil.which("zsh"), "there is no zsh")
    def test_zsh(self):
        """It offers what stands for the whole word, and leaves the choice to zsh."""
        self.write("m.safetensors", weights_bytes("a.weight", "b.weight"))
        for line, words in self.LINES.items():
            last = line.split(" ")[-1]
            told = self.offered(line, ("zsh", "-f", "-c"), self.ZSH)
            told = [word for word in told if word.startswith(last)]
            before = re.match(r".*::|--.*=|", last).group()
            self.assertEqual(sorted(told), [before + word for word in words], line)

    def test_all_options_are_offered(self):
        """The help of a verb has each option of its table, and no other."""
        for verb in VERBS:
            names = ["cmd_%s.c" % verb] + ["convert.h", "stream.h"] * (verb == "convert")
            in_table = set()
            for name in names:
                with open(os.path.join(ROOT, "src/cli", name), encoding="utf-8") as file:
                    in_table.update(re.findall(
                        r'\bRLO__OPTION\w*\(\s*"([a-z-]+)",', file.read()))
            self.assertIn("help", in_table)
            offered = self.offered(verb + " --")
            self.assertLessEqual({"--" + name for name in in_table}, set(offered), verb)
            for option in offered:
                self.assertNotIn("is no option", self.run_command(verb, option, "x", "y").err)


class Cache(CliCase):
    def test_it_is_shown_and_emptied(self):
        folder = self.path("cache")
        environment = {"RELAYOUT_CACHE_DIR": folder}
        self.assertEqual(self.ok("cache", "show", env=environment),
                         "%s: 0 programs, 0 bytes\n" % folder)
        self.assert_files()  # show creates no directory
        os.mkdir(folder, 0o700)
        self.write("cache/" + 64 * "a", b"12345")
        self.write("cache/notes.txt", b"mine")
        self.assertEqual(
            json.loads(self.ok("cache", "show", "--json", env=environment)),
            {"path": folder, "is_usable": True, "reason": None, "entries": 1,
             "bytes": 5})
        self.assertEqual(self.ok("cache", "clear", env=environment),
                         "deleted 1 programs, 5 bytes\n")
        self.assertEqual(os.listdir(folder), ["notes.txt"])

    def test_what_cannot_be_warmed_is_told(self):
        self.write("suite", b"# two lines\nf32[2,3] f32[2,3]{0,1}\n"
                   b"f32[2,3] f32[2,x]\n")
        warm = ["cache", "warm", "--suite"]
        result = self.run_command(*warm, "suite")
        self.assertEqual((result.code, result.out), (1, ""))
        self.assertTrue(result.err.startswith("relayout: suite:3: "),
                        result.err)
        self.fails(1, "cannot open none", *warm, "none")
        self.fails(1, ["cannot read .", "directory"], *warm, ".")
        self.fails(2, ["--suite", "clear"], "cache", "clear", "--suite", "x")
        self.fails(2, ["--device", "show"], "cache", "show", "--device", "0")
        self.fails(2, "'hot'", "cache", "hot")
        self.write("good", b"f32[2,3] f32[2,3]{0,1}\n")
        self.fails(1, "not stored", *warm, "good",
                   env={"RELAYOUT_CACHE_DIR": ""})

    def test_a_folder_of_no_use_is_told(self):
        folder = self.path("cache")
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        environment = {"RELAYOUT_CACHE_DIR": folder}
        self.assertIn("can be written to by others",
                      self.ok("cache", "show", env=environment))
        self.fails(1, "can be written to by others", "cache", "clear",
                   env=environment)
        self.assertIn("absolute path", self.ok(
            "cache", "show", env={"RELAYOUT_CACHE_DIR": "cache"}))
        self.assertIn("not stored", self.ok(
            "cache", "show", env={"RELAYOUT_CACHE_DIR": ""}))
        told = json.loads(self.ok("cache", "show", "--json", env={
            "XDG_CACHE_HOME": "", "HOME": ""}))
        self.assertEqual((told["path"], told["is_usable"]), (None, False))
        self.assertIn("HOME", told["reason"])

    def test_what_is_no_character_is_escaped(self):
        """The characters of a name, or the bytes if one of them is none."""
        for name, shown in (b"\xe0\xa0\x80", "\u0800"), (
                "\U0010ffff\u009b".encode(), "\U0010ffff\u009b"), (
                b"\xed\xa0\x80\xc3\xa4", "\\xed\\xa0\\x80\u00e4"), (
                b"\xc3", "\\xc3"):
            told = self.ok("cache", "show", "--json", env={
                "XDG_CACHE_HOME": os.fsdecode(b"/" + name)})
            self.assertTrue(told.isascii(), told)
            self.assertEqual(json.loads(told)["path"], "/%s/relayout" % shown)

    def test_the_home_is_the_place(self):
        told = json.loads(self.ok("cache", "show", "--json", env={
            "XDG_CACHE_HOME": "/some/where"}))
        self.assertEqual(told["path"], "/some/where/relayout")
        told = json.loads(self.ok("cache", "show", "--json", env={
            "XDG_CACHE_HOME": "", "HOME": self.folder}))
        self.assertEqual(told["path"], self.path(".cache/relayout"))


class Usage(CliCase):
    def test_wrong_command_lines(self):
        self.fails(2, "'frobnicate'", "frobnicate")
        self.fails(2, "'frobnicate'", "help", "frobnicate")
        self.fails(2, "--frob", "describe", "--frob", "f32[]")
        self.fails(2, "-x", "describe", "-x", "f32[]")
        self.fails(2, "takes no value", "describe", "--json=1", "f32[]")
        self.fails(2, "0 given, 1 expected", "describe")
        self.fails(2, "2 given, 1 expected", "describe", "f32[]", "f32[]")
        self.fails(2, "1 given, 2 expected", "show", "--inverse", "f32[]")
        self.fails(2, "1 given, 0 expected", "devices", "now")
        self.fails(2, "--perm needs a value", "convert", "a", "b", "--perm")
        self.fails(2, "--host", "convert", "a", "b", "--host", "--device", "0")
        self.fails(2, "--host", "convert", "a", "b", "--host", "--family",
                   "copy")
        self.fails(2, "show, clear or warm", "cache")
        self.fails(2, "'forget' is not show, clear or warm", "cache", "forget")
        self.fails(2, "--class: 'tpu' is not cpu or gpu", "explain", "f32[]",
                   "f32[]", "--class", "tpu")
        self.fails(2, "--color: 'red' is not auto, always or never", "show",
                   "f32[]", "--color", "red")

    def test_the_nearest_name_is_told(self):
        explain = ["explain", "f32[2,2]", "f32[2,2]{0,1}", "--class"]
        for code, wrong, right, line in (
                (2, "convrt", "convert", ["convrt"]),
                (2, "hlep", "help", ["hlep"]),
                (2, "version", "--version", ["version"]),
                (2, "descrbe", "describe", ["help", "descrbe"]),
                (2, "--perms", "--perm", ["convert", "--perms=1,0", "a", "b"]),
                (2, "shwo", "show", ["cache", "shwo"]),
                (2, "transpos", "Transpose", ["op", "transpos", "a", "b"]),
                (1, "f23", "f32", ["describe", "f23[2]"]),
                (2, "cpus", "cpu", [*explain, "cpus"]),
                (1, "tiles", "tile", [*explain, "cpu", "--family", "tiles"]),
                (1, "input ordr", "input order",
                 [*explain, "cpu", "--schedule", "input ordr"])):
            self.fails(code, [wrong, "; did you mean '%s'?\n" % right], *line)
        self.fails(2, "'pad' is not a verb, but operations run by relayout op "
                   "NAME; did you mean 'PadV2'?\nTry 'relayout op ", "pad", "a")
        self.assertNotIn("did you mean", self.fails(2, "'frob'", "frob"))

    def test_help_ends_the_reading_of_options(self):
        help_text = self.ok("describe", "--help")
        self.assertEqual(
            self.ok("describe", "--json", "--help", "--frob"), help_text)
        self.fails(2, "--frob", "describe", "--frob", "--help")

    def test_wrong_numbers(self):
        limit = ["devices", "--copy-limit"]
        self.fails(2, "'' has 0 characters", *limit, "--device", "")
        self.fails(2, "64 characters", *limit, "--device", "x" * 64)
        self.fails(2, "'all' cannot stand here", *limit, "--device", "all")
        self.fails(2, "-1 is not within 0 ..", *limit, "--device", "-1")
        self.fails(2, "2147483648 is not within", *limit, "--device",
                   "2147483648")
        self.fails(2, "does not fit", *limit, "--bytes",
                   "99999999999999999999")
        self.fails(2, "4095 is not within 4096 ..", *limit, "--bytes", "4095")
        self.fails(2, "'64M'", *limit, "--bytes", "64M")
        self.fails(2, "''", *limit, "--bytes", "")
        self.fails(2, "' 5000'", *limit, "--bytes", " 5000")
        self.fails(2, "'+5000'", *limit, "--bytes", "+5000")
        self.fails(2, "0 is not within 1 ..", *limit, "--rounds", "0")
        convert = ["convert", "a.npy", "b.npy", "--memory"]
        for size in "8796093022208TiB", "-8388609TiB", "-1GB", "0":
            self.fails(2, size + " is not within 1", *convert, size)
        self.fails(2, "'1 KiB'", *convert, "1 KiB")
        self.fails(2, "require --copy-limit", "devices", "--bytes", "5000")
        self.fails(2, "require --copy-limit", "devices", "--device", "0")
        self.fails(2, "excludes --require", *limit, "--require", "cpu")
        self.fails(2, "--json requires an index", "show", "--json", "f32[]")
        self.fails(2, "are of pictures", "show", "--letters", "f32[]", "-")
        self.fails(2, "a shape and a slot: 1 given", "show", "--inverse",
                   "f32[]")
        index = ["show", "f32[2,3]"]
        self.fails(2, "between commas", *index, "1;2")
        self.fails(2, "is not a number", *index, "1,")
        self.fails(2, "is not a number", *index, ",1")
        self.fails(2, "is not a number", *index, "")
        self.fails(2, "more than 32", *index, ",".join("0" * 33))

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                [COMMAND, "describe", "f32[2]"],
                stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output", done.stderr)


class Describe(CliCase):
    def describe(self, shape):
        return json.loads(self.ok("describe", "--json", shape))

    def test_the_example(self):
        self.assertEqual(self.describe(EXAMPLE), {
            "shape": EXAMPLE, "rank": 2, "elements": 6, "slots": 15,
            "element_bits": 32, "bytes": 24, "physical_bytes": 60,
            "padding_share": 0.6, "physical_dims": [5, 3],
            "cost": {"factor": 2.5, "parts": [
                part([1], 3, 5, 0.4), part([0], 2, 3, 0.333333)]}})

    def test_tiles(self):
        self.assertEqual(
            self.describe(" f32 [20, 300] {1,0:T(8,128)} "), {
                "shape": "f32[20,300]{1,0:T(8,128)}", "rank": 2,
                "elements": 6000, "slots": 9216, "element_bits": 32,
                "bytes": 24000, "physical_bytes": 36864,
                "padding_share": 0.348958,
                "physical_dims": [3, 3, 8, 128],
                "cost": {"factor": 1.536, "parts": [
                    part([1], 300, 384, 0.21875),
                    part([0], 20, 24, 0.166667)]}})

    def test_what_is_to_blame(self):
        told = self.describe("f32[3]{0:T(8,128)L(2000)}")
        self.assertEqual(told["cost"]["parts"], [
            part([0], 3, 128, 0.976562), part([], 1, 8, 0.875, "added"),
            part([], 1024, 2000, 0.488, "tail")])
        self.assertIsNone(self.describe("f32[0,3]")["cost"]["factor"])
        self.assertEqual(
            self.describe("f32[2,3]{:strides(8,1)}")["cost"]["parts"], [])
        self.assertTrue(
            self.ok("describe", "bf16[4,2]{1,0:T(8,128)(2,1)}").endswith(
                "cost            1024 slots for 8 elements, 128x\n"
                "                dimension 1 is 2 of 128 (98.4 % padding)\n"
                "                dimension 0 is 4 of 8 (50.0 % padding)\n"))
        self.assertTrue(
            self.ok("describe", "f32[2,5,3]{2,1,0:T(*,4)L(64)}").endswith(
                "cost            64 slots for 30 elements, 2.133x\n"
                "                the tail is 32 of 64 (50.0 % padding)\n"
                "                dimensions 1*2 are 15 of 16 (6.2 % padding)\n"))
        self.assertTrue(self.ok("describe", "f32[2,3]").endswith(
            "cost            6 slots for 6 elements, 1x\n"))

    def test_scalar_and_empty(self):
        scalar = self.describe("f64[]")
        self.assertEqual((scalar["rank"], scalar["elements"], scalar["slots"],
                          scalar["bytes"], scalar["physical_dims"]),
                         (0, 1, 1, 8, []))
        empty = self.describe("f64[3,0]")
        self.assertEqual((empty["elements"], empty["physical_bytes"],
                          empty["padding_share"]), (0, 0, 0))

    def test_packed_elements(self):
        packed = self.describe("s4[3,5]{1,0:E(4)}")
        self.assertEqual((packed["element_bits"], packed["bytes"]), (4, 8))

    def test_strides_have_no_physical_dims(self):
        view = self.describe("f32[2,3]{:strides(8,1)offset(3)}")
        self.assertEqual((view["slots"], view["physical_dims"]), (14, None))
        broadcast = self.describe("f32[2,3]{:strides(0,1)}")
        self.assertEqual((broadcast["slots"], broadcast["padding_share"]),
                         (3, 0))

    def test_text_for_people(self):
        text = self.ok("describe", EXAMPLE)
        self.assertIn("shape           %s\n" % EXAMPLE, text)
        self.assertIn("padding         60.0 %", text)
        self.assertIn("physical dims   [5,3]\n", text)

    def numpy(self, type_, dims, *options):
        return json.loads(self.ok("describe", "--json", "--numpy", type_,
                                  "--dims", dims, *options))

    def test_numpy_arrays(self):
        plain = self.numpy("<f4", "3,4", "--strides", "16,4")
        self.assertEqual(
            (plain["shape"], plain["offset_bytes"], plain["is_byte_swapped"]),
            ("f32[3,4]{1,0}", 0, False))
        self.assertEqual(self.numpy("<f4", "3,4"), plain)
        self.assertEqual(
            self.numpy("<i2", "3,4", "--strides", "2,6")["shape"],
            "s16[3,4]{0,1}")
        self.assertEqual(self.numpy("<c16", "-")["shape"], "c128[]")
        backwards = self.numpy(">u2", "5", "--strides", "-2")
        self.assertEqual(
            (backwards["shape"], backwards["offset_bytes"],
             backwards["is_byte_swapped"]),
            ("u16[5]{:strides(-1)offset(4)}", -8, True))

    def test_numpy_rows_with_a_pitch(self):
        pitch = ("<f4", "3,4", "--strides", "32,4")
        self.assertEqual(self.numpy(*pitch)["shape"],
                         "f32[3,4]{:strides(8,1)}")
        padded = self.numpy(*pitch, "--bytes", "96")
        self.assertEqual((padded["shape"], padded["physical_bytes"]),
                         ("f32[3,4]{1,0:pad(3,8)fill(unknown)}", 96))
        text = self.ok("describe", "--numpy", *pitch[:1], "--dims",
                       *pitch[1:])
        self.assertIn("slot 0 at       byte 0 from the first", text)
        self.assertIn("byte order      this machine's\n", text)

    def test_wrong_numpy_arrays(self):
        self.fails(2, "--numpy needs --dims", "describe", "--numpy", "<f4")
        self.fails(2, "require --numpy", "describe", "--dims", "3", "f32[3]")
        self.fails(2, "1 given, 0 expected", "describe", "--numpy", "<f4",
                   "--dims", "3", "f32[3]")
        self.fails(1, "1 strides, but 2 dimensions", "describe", "--numpy",
                   "<f4", "--dims", "3,4", "--strides", "4")
        self.fails(1, "'|O'", "describe", "--numpy", "|O", "--dims", "3")
        self.fails(1, "no whole number of elements", "describe", "--numpy",
                   "<f4", "--dims", "3", "--strides", "6")
        self.fails(1, "47 elements", "describe", "--numpy", "|i1", "--dims",
                   "48", "--bytes", "47")

    def test_trees(self):
        tree = "(f32[2,3]{1,0:T(8,128)}, token[], (b(s4[3]{0:E(4)}), ()))"
        told = self.describe(tree)
        self.assertEqual(told["leaves"], [
            {"index": [0], "kind": "array", "shape": "f32[2,3]{1,0:T(8,128)}",
             "elements": 6, "bytes": 24, "physical_bytes": 4096,
             "padding_share": 0.994141},
            {"index": [1], "kind": "token", "shape": None, "elements": 0,
             "bytes": 0, "physical_bytes": 0, "padding_share": 0},
            {"index": [2, 0], "kind": "buffer", "shape": "s4[3]{0:E(4)}",
             "elements": 3, "bytes": 2, "physical_bytes": 2,
             "padding_share": 0}])
        del told["leaves"]
        self.assertEqual(told, {
            "shape": tree, "kind": "tuple", "arrays": 2, "without_size": 0,
            "elements": 9, "bytes": 26, "physical_bytes": 4098,
            "padding_share": 0.993655})
        self.assertEqual(self.ok("describe", tree), """\
shape           %s
arrays          2
elements        9
bytes           26
physical bytes  4098
padding         99.4 %% of the physical bytes

leaf                     bytes      physical  padding  shape
{0}                         24          4096   99.4 %%  f32[2,3]{1,0:T(8,128)}
{1}                          -             -        -  token[]
{2,0}                        2             2    0.0 %%  b(s4[3]{0:E(4)})
""" % tree)

    def test_trees_without_sizes(self):
        told = self.describe("(opaque[], f32[?], f32[2])")
        self.assertEqual((told["arrays"], told["without_size"],
                          told["bytes"]), (1, 2, 8))
        self.assertIsNone(told["leaves"][0]["bytes"])
        self.assertIsNone(told["leaves"][1]["padding_share"])
        text = self.ok("describe", "(opaque[], f32[?], f32[2])")
        self.assertIn("without size    2\n", text)
        self.assertIn("\n{0}                          -             -        -  "
                      "opaque[]\n", text)
        self.assertEqual(self.describe("token[]")["kind"], "token")
        self.assertEqual(self.describe("()")["arrays"], 0)
        self.assertEqual(self.describe("b(f32[2])")["bytes"], 8)
        half = "s8[4611686018427387904]"
        self.fails(1, "do not fit 64 bits", "describe",
                   "(%s, %s)" % (half, half))
        self.fails(1, "position 1", "describe", "(f33[2])")

    def test_programs(self):
        program = "(x: f32[2,3]{1,0}, (unknown): (s32[4]{0}, token[])) -> " \
                  "f32[3]{0:T(8)}"
        told = self.describe(program)
        self.assertEqual(told["program"], program)
        self.assertEqual([p["name"] for p in told["parameters"]], ["x", None])
        self.assertEqual(told["parameters"][1]["bytes"], 16)
        self.assertEqual(told["result"]["physical_bytes"], 32)
        self.assertEqual(self.ok("describe", program), """\
program         %s
parameters      2 arrays, 40 bytes, 40 physical (0.0 %% padding)
result          1 array, 12 bytes, 32 physical (62.5 %% padding)

leaf                     bytes      physical  padding  shape
x                           24            24    0.0 %%  f32[2,3]{1,0}
parameter 1{0}              16            16    0.0 %%  s32[4]{0}
parameter 1{1}               -             -        -  token[]
result                      12            32   62.5 %%  f32[3]{0:T(8)}
""" % program)
        self.fails(1, "position", "describe", "(x: f32[2) -> f32[3]")

    def test_protocol_buffers(self):
        path = self.path("shape.pb")
        self.ok("describe", "f32[2,3]{0,1}", "--save-proto", path)
        # element_type 11, dimensions 2 and 3, layout {minor_to_major 0, 1},
        # is_dynamic_dimension.
        self.assertEqual(self.read("shape.pb"),
                         bytes.fromhex("100b1a0202032a040a02000132020000"))
        for shape in ("f32[20,300]{1,0:T(8,128)(2,1)E(32)}",
                      "(f32[2]{0}, (token[], b(s4[3]{0:E(4)})), opaque[])",
                      "(x: f32[2]{0}, (unknown): s32[]) -> (f32[<=7]{0})",
                      EXAMPLE):
            told = self.ok("describe", shape, "--save-proto", path)
            self.assertEqual(self.ok("describe", "--proto", path), told)
        self.write("shape.pb", b"\xff\xff")
        self.fails(1, ["shape.pb", "no ShapeProto", "no ProgramShapeProto"],
                   "describe", "--proto", path)
        self.fails(1, "No such file", "describe", "--proto", "nothing.pb")
        self.fails(1, "strides", "describe", "f32[2]{:strides(3)}",
                   "--save-proto", "other.pb")
        self.fails(2, "1 given, 0 expected", "describe", "--proto", path,
                   "f32[2]")
        self.fails(2, "one of --numpy", "describe", "--proto", path, "--hlo",
                   path)
        self.assert_files("shape.pb")

    def test_wrong_shapes(self):
        cases = [
            ("f32[2,-1]", "position 6"),
            ("f32[99999999999999999999]", "does not fit"),
            ("f32[9223372036854775807,9223372036854775807]", "9223372036"),
            ("f32[2,3]{1,0:pad(1,3)}", "1"),
            ("f32[2,3]{1,0:T(0,128)}", "0"),
            ("f32[2,3]{1,1}", "1"),
            ("f32[2,3]{0,2}", "2"),
            ("f32[2,3]{0}", "found 1"),
            ("f32[%s]" % ",".join(["1"] * 33), "32"),
            ("f33[2]", "f33"),
            ("c64[2]{0:pad(3)fill(lowest)}", "lowest"),
            ("", "position 0"),
            ("f32[2,3", "position 7"),
            ("f32[2,3]{1,0:Q}", "position 13"),
            ("f32[2,3]{1,0}x", "position 13"),
        ]
        for text, words in cases:
            with self.subTest(text=text):
                message = self.fails(1, [], "describe", text)
                self.assertIn(words.replace("position ", ""), message)


class Sentences(CliCase):
    def test_a_position_is_one_of_a_text(self):
        good, bad, worse = "f32[2,3]", "f32[2,3", "f32[3,2]{0"
        for verb in "explain", "tune":
            self.fails(1, "'%s': position 7: " % bad, verb, bad, good)
            self.fails(1, "'%s': position 7: " % bad, verb, good, bad)
            self.fails(1, "'%s': position 10: " % worse, verb, good, worse)
        self.fails(1, "'%s': position 7: " % bad, "show", bad, "1,1")
        self.write("in.npy", npy_bytes("<f4", (2, 3), bytes(24)))
        self.fails(1, "'{1,0': position 4: ", "convert", "in.npy", "out.npy",
                   "--from", good, "--to", "{1,0")
        self.fails(1, "'%s': position 7: " % bad, "convert", "in.npy",
                   "out.npy", "--from", bad, "--to", "{1,0}")
        # What is wrong with the array, too; long texts are cut.
        self.fails(1, "'f32[2,3]{1,0:pad(1,3)}': padded_dimensions[0]=1",
                   "explain", good, "f32[2,3]{1,0:pad(1,3)}")
        long = "f32[%s" % ",".join(["1"] * 70)
        self.fails(1, "'%s...': position 68: a rank above" % long[:120],
                   "explain", good, long)

    def test_as_many_entries_as_dimensions(self):
        for text, words in (
                ("f32[2,3]{1,0:pad(3)}", "2 entries of pad, one for each "
                 "dimension, found 1"),
                ("f32[2,3]{1,0:pad(3,3,3)}", "2 entries of pad, one for each "
                 "dimension, found more"),
                ("f32[2,3]{:strides(3)}", "2 entries of strides")):
            self.fails(1, words, "describe", text)

    def test_what_is_no_array(self):
        for text in "(f32[2])", "token[]", "b(f32[2])", "opaque[]":
            for arguments in (["show", text], ["show", text, "0"],
                              ["explain", text, "f32[2]"],
                              ["explain", "f32[2]", text]):
                self.fails(1, ["'%s': position 0: " % text,
                               "is not an array, but a tree of shapes"],
                           *arguments)


class Index(CliCase):
    def test_there_and_back(self):
        slots = {}
        for i in range(2):
            for j in range(3):
                out = self.ok("show", EXAMPLE, "%d,%d" % (i, j))
                self.assertEqual(out, "%d\n" % (i + 3 * j))
                slots[i + 3 * j] = "%d,%d\n" % (i, j)
        for slot in range(15):
            self.assertEqual(
                self.ok("show", "--inverse", EXAMPLE, str(slot)),
                slots.get(slot, "padding\n"))

    def test_tiles(self):
        shape = "f32[20,300]{1,0:T(8,128)}"
        self.assertEqual(self.ok("show", shape, "19,299"),
                         "%d\n" % (2 * 3072 + 2 * 1024 + 3 * 128 + 43))
        self.assertEqual(self.ok("show", "--inverse", shape, "8619"),
                         "19,299\n")

    def test_scalar(self):
        self.assertEqual(self.ok("show", "f32[]", "-"), "0\n")
        self.assertEqual(self.ok("show", "--inverse", "f32[]", "0"), "-\n")

    def test_json(self):
        self.assertEqual(json.loads(self.ok("show", "--json", EXAMPLE, "1,2")),
                         {"slot": 7})
        self.assertEqual(
            json.loads(self.ok("show", "--inverse", "--json", EXAMPLE, "7")),
            {"is_element": True, "index": [1, 2]})
        self.assertEqual(
            json.loads(self.ok("show", "--inverse", "--json", EXAMPLE, "2")),
            {"is_element": False, "index": None})

    def test_wrong_indices(self):
        self.fails(1, ["2", "size 2"], "show", EXAMPLE, "2,0")
        self.fails(1, "-1", "show", EXAMPLE, "-1,0")
        self.fails(1, "-1", "show", EXAMPLE, "--", "-1,0")
        self.fails(1, "-1", "show", EXAMPLE, "--inverse", "-1")
        self.fails(1, "15", "show", EXAMPLE, "--inverse", "15")
        self.fails(1, ["3 coordinates", "rank 2"], "show", EXAMPLE, "0,0,0")
        self.fails(1, ["0 coordinates", "rank 2"], "show", EXAMPLE, "-")
        self.fails(1, [], "show", "f32[0,3]", "0,0")


class Explain(CliCase):
    PAIR = ["f32[64,48]", "f32[64,48]{0,1}"]

    def explain(self, *arguments):
        return json.loads(self.ok("explain", "--json", *arguments))

    def test_everything_is_told(self):
        for kind in "cpu", "gpu":
            told = self.explain(*self.PAIR, "--class", kind)
            self.assertEqual(told["class"], kind)
            self.assertEqual(told["src"], "f32[64,48]{1,0}")
            self.assertEqual(told["dst"], "f32[64,48]{0,1}")
            self.assertIsNone(told["device"])
            self.assertEqual(told["read_bytes"], 64 * 48 * 4)
            self.assertEqual(told["written_bytes"], 64 * 48 * 4)
            self.assertEqual(sorted(told["canonical"]["extents"]), [48, 64])
            self.assertIn(told["family"], told["kernel_name"])
            self.assertEqual(len(told["global_size"]), len(told["local_size"]))
            candidates = {c["family"]: c for c in told["candidates"]}
            self.assertTrue(candidates[told["family"]]["is_applicable"])
            if kind == "cpu":
                self.assertFalse(candidates["copy"]["is_applicable"])
            for candidate in told["candidates"]:
                self.assertTrue(candidate["is_applicable"] or
                                candidate["reason"])

    def test_steps_are_named(self):
        told = self.explain("f32[8,4,1,16]{3,2,1,0}", "f32[8,4,1,16]{3,2,1,0}",
                            "--class", "cpu")
        self.assertGreater(len(told["steps"]), 1)
        self.assertEqual(told["family"], "copy")
        self.assertEqual(len(told["canonical"]["extents"]), 1)

    def test_permutation(self):
        told = self.explain("f32[64,48]", "f32[48,64]", "--perm", "1,0",
                            "--class", "cpu")
        same = self.explain(*self.PAIR, "--class", "cpu")
        self.assertEqual(told["permutation"], [1, 0])
        self.assertEqual(told["canonical"], same["canonical"])
        told = self.explain("f32[64,48]", "f32[48,64]", "--perm=-1,0",
                            "--class", "cpu")
        self.assertEqual(told["permutation"], [1, 0])
        self.fails(1, "-3", "explain", *self.PAIR, "--perm=-3,0", "--class",
                   "cpu")
        self.fails(1, [], "explain", *self.PAIR, "--perm", "0,0", "--class",
                   "cpu")
        self.fails(1, ["3 entries", "rank 2"], "explain", *self.PAIR,
                   "--perm", "0,1,2", "--class", "cpu")

    def test_forced_family(self):
        told = self.explain(*self.PAIR, "--class", "cpu", "--family", "gather")
        self.assertEqual(told["family"], "gather")
        self.fails(1, "copy", "explain", *self.PAIR, "--class", "cpu",
                   "--family", "copy")
        self.fails(1, "weave", "explain", *self.PAIR, "--class", "cpu",
                   "--family", "weave")

    def test_empty(self):
        told = self.explain("f32[0,3]", "f32[0,3]{0,1}", "--class", "cpu")
        self.assertEqual((told["family"], told["kernel_name"]), ("none", None))
        self.assertIn("nothing to move",
                      self.ok("explain", "f32[0,3]", "f32[0,3]{0,1}",
                              "--class", "gpu"))

    def test_source(self):
        arguments = ["explain", *self.PAIR, "--class", "cpu"]
        plain = self.ok(*arguments)
        self.assertNotIn("__kernel", plain)
        text = self.ok(*arguments, "--source")
        self.assertTrue(text.startswith(plain))
        self.assertIn("__kernel", text)
        self.assertIn("-cl-std=CL1.2", text)
        told = self.explain(*self.PAIR, "--class", "cpu", "--source")
        self.assertIn(told["source"], text)

    def test_text_for_people(self):
        text = self.ok("explain", *self.PAIR, "--class", "cpu")
        for words in ("problem as written", "canonical problem", "refused: ",
                      "work-items", "alignment", "bytes read     12288"):
            self.assertIn(words, text)

    def test_types_are_converted(self):
        text = self.ok("explain", "f32[64,48]", "bf16[64,48]{0,1}",
                       "--class", "cpu", "--alpha", "2.5", "--beta", "1")
        for words in ("cell = bf16(2.5 * src + 1 * cell), src of f32",
                      "family         compute_tile"):
            self.assertIn(words, text)
        for text, shown in ("0", "0"), ("-0", "-0"), ("00", "0"), ("07", "7"):
            self.assertIn("cell = f32(%s * src)" % shown,
                          self.ok("explain", "f32[2]", "f32[2]", "--class",
                                  "cpu", "--alpha", text))
        self.fails(2, ["--alpha"], "explain", "f32[2]", "f32[2]", "--class",
                   "cpu", "--alpha", "much")

    def test_pairs_that_do_not_fit(self):
        for src, dst in (("f32[2,3]", "f32[3,2]"), ("f32[2,3]", "f32[6]"),
                         ("f32[2,3]", "f8e8m0fnu[2,3]"),
                         ("s4[2,3]", "s4[2,3]{1,0:E(4)}")):
            self.fails(1, [], "explain", src, dst, "--class", "cpu")


if __name__ == "__main__":
    main()
