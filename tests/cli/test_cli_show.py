#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of `relayout show`: pictures of memory."""

import os
import pty
import re
import subprocess
import xml.etree.ElementTree as ElementTree

from cli_case import COMMAND, CliCase, main

EXAMPLE = "f32[2,3]{0,1:pad(3,5)fill(zero)}"
TILES = "f32[3,5]{1,0:T(2,2)}"
ESCAPE = re.compile(r"\033\[[0-9;]*m")

PICTURES = [
    ([EXAMPLE], """\
f32[2,3]{0,1:pad(3,5)fill(zero)}
 0  0,0 1,0   .
 3  0,1 1,1   .
 6  0,2 1,2   .
 9    .   .   .
12    .   .   .
6 elements in 15 slots; . is padding, zero
"""),
    (["--letters", "f32[2,2,3]{2,0,1:pad(2,2,4)fill(lowest)}"], """\
f32[2,2,3]{2,0,1:pad(2,2,4)fill(lowest)}
 0  a b c .
 4  g h i .

 8  d e f .
12  j k l .
12 elements in 16 slots; . is padding, the lowest value
"""),
    ([TILES], """\
f32[3,5]{1,0:T(2,2)}
+0--------+4--------+8--------+
| 0,0 0,1 | 0,2 0,3 | 0,4   . |
| 1,0 1,1 | 1,2 1,3 | 1,4   . |
+12-------+16-------+20-------+
| 2,0 2,1 | 2,2 2,3 | 2,4   . |
|   .   . |   .   . |   .   . |
+---------+---------+---------+
15 elements in 24 slots; . is padding, which a relayout does not write
"""),
    (["--letters", "bf16[4,4]{1,0:T(4,2)(2,1)L(20)}"], """\
bf16[4,4]{1,0:T(4,2)(2,1)L(20)}
+-------------+-------------+
|+0----+2----+|+8----+10---+|
|| a e | b f |||| c g | d h ||
|+4----+6----+|+12---+14---+|
|| i m | j n |||| k o | l p ||
|+-----+-----+|+-----+-----+|
+-------------+-------------+
16 elements in 20 slots; . is padding, which a relayout does not write
the tail, slots 16 to 19, is padding too
""".replace("||||", "|||")),
    (["f32[2,3]{:strides(8,1)offset(3)}"], """\
f32[2,3]{:strides(8,1)offset(3)}
 0    .   .   . 0,0 0,1 0,2   .   .
 8    .   .   . 1,0 1,1 1,2
6 elements in 14 slots; . is a slot between the elements
"""),
    (["f32[2,3]{:strides(0,1)}"], """\
f32[2,3]{:strides(0,1)}
0  *,0 *,1 *,2
6 elements in 3 slots
* is every index: each slot holds 2 elements
"""),
    (["f32[4,3,2]{:strides(0,2,0)offset(1)}"], """\
f32[4,3,2]{:strides(0,2,0)offset(1)}
0      . *,0,*
2      . *,1,*
4      . *,2,*
24 elements in 6 slots; . is a slot between the elements
* is every index: each slot holds 8 elements
"""),
    (["--letters", "f32[2,3]{:strides(0,1)}"], """\
f32[2,3]{:strides(0,1)}
0  a b c
6 elements in 3 slots
a slot has the letter of the first of its 2 elements
"""),
    (["f32[5]{:strides(0)}"], """\
f32[5]{:strides(0)}
0  *
5 elements in 1 slot
* is every index: each slot holds 5 elements
"""),
    (["u4[3]{0:E(4)}"], """\
u4[3]{0:E(4)}
0  0 1 2

bytes, high bits first
0  1 0
1  . 2
3 elements in 3 slots
"""),
    (["--letters", "f6e2m3fn[3]{0:E(6)}"], """\
f6e2m3fn[3]{0:E(6)}
0  a b c

bytes, high bits first
0  b[1:0]      a
1  c[3:0] b[5:2]
2       . c[5:4]
3 elements in 3 slots
"""),
    (["f32[]"], "f32[]\n0  -\n1 element in 1 slot\n"),
    (["f32[0,3]"], "f32[0,3]{1,0}\n0 elements in 0 slots\n"),
    (["--width", "40", "--height", "20", "--letters", "f32[100,30]"], """\
f32[100,30]{1,0}
   0    a   b   c   d   e ... 25 more
  30   ae  af  ag  ah  ai ... 25 more
  60   bi  bj  bk  bl  bm ... 25 more
  90   cm  cn  co  cp  cq ... 25 more
 120   dq  dr  ds  dt  du ... 25 more
 150   eu  ev  ew  ex  ey ... 25 more
 180   fy  fz  ga  gb  gc ... 25 more
 210   hc  hd  he  hf  hg ... 25 more
 240   ig  ih  ii  ij  ik ... 25 more
 270   jk  jl  jm  jn  jo ... 25 more
 300   ko  kp  kq  kr  ks ... 25 more
 330   ls  lt  lu  lv  lw ... 25 more
 360   mw  mx  my  mz  na ... 25 more
 390   oa  ob  oc  od  oe ... 25 more
 420   pe  pf  pg  ph  pi ... 25 more
 450   qi  qj  qk  ql  qm ... 25 more
 480   rm  rn  ro  rp  rq ... 25 more
 510   sq  sr  ss  st  su ... 25 more
 540   tu  tv  tw  tx  ty ... 25 more
      ... 81 more rows
3000 elements in 3000 slots
abbreviated: --width and --height make room for more
"""),
]


class Show(CliCase):
    def test_pictures(self):
        for arguments, picture in PICTURES:
            with self.subTest(arguments=arguments):
                self.assertEqual(self.ok("show", *arguments), picture)

    def test_each_slot_is_what_index_says(self):
        shape = "u8[2,3,4]{1,2,0:T(2,2)(2,1)}"
        lines = self.ok("show", shape, "--width", "200").splitlines()[1:]
        labels = re.findall(r"(?<![+\d,-])\d,\d,\d", "\n".join(lines))
        self.assertEqual(len(set(labels)), 24)
        numbers = {}
        for top, below in zip(lines, lines[1:]):
            for match in re.finditer(r"\+(\d+)", top):
                cells = below[match.start() + 1:].split("|")[0].split()
                numbers[int(match.group(1))] = cells
        self.assertEqual(sum(len(cells) for cells in numbers.values()), 32)
        for first, cells in numbers.items():
            for offset, cell in enumerate(cells):
                expected = self.ok("show", "--inverse", shape,
                                   str(first + offset)).strip()
                self.assertEqual(cell, "." if expected == "padding"
                                 else expected)

    def test_it_fits(self):
        for shape in ("f32[100000,100000]{1,0:T(8,128)}",
                      "bf16[64,64,512]{2,0,1:T(16,128)(2,1)}",
                      "u8[9,9,9,9,9]{4,3,2,1,0:T(3,3,3)(2,2)(2)}",
                      "s4[1000,1000]{1,0:T(8,128)E(4)}",
                      "u8[1000000000]",
                      "u8[1000000]{:strides(1000)}"):
            for width, height in ((60, 24), (200, 100)):
                lines = self.ok("show", shape, "--width", str(width),
                                "--height", str(height)).splitlines()
                self.assertIn("... ", "\n".join(lines))
                self.assertTrue(lines[-1].startswith("abbreviated"), lines[-1])
                for line in lines[1:-2]:
                    self.assertLessEqual(len(line), width, shape)
                self.assertLessEqual(len(lines), 2 * height, shape)

    def test_colors(self):
        plain = self.ok("show", TILES)
        self.assertNotIn("\033", plain)
        for choice in ("auto", "never"):
            self.assertEqual(self.ok("show", "--color", choice, TILES), plain)
        colored = self.ok("show", "--color", "always", TILES)
        self.assertIn("\033[", colored)
        self.assertEqual(ESCAPE.sub("", colored), plain)
        for line in colored.splitlines():
            self.assertTrue("\033" not in line or line.endswith("\033[0m"))

    def on_terminal(self, *arguments, **variables):
        """What the command prints on a terminal."""
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("NO_COLOR", "ASAN_OPTIONS")}
        environment.update({"TERM": "xterm"}, **variables)
        ours, theirs = pty.openpty()
        try:
            subprocess.run([COMMAND, "show", *arguments], stdout=theirs,
                           env=environment, check=True, timeout=60)
        finally:
            os.close(theirs)
        content = b""
        try:
            while True:
                part = os.read(ours, 65536)
                if not part:
                    break
                content += part
        except OSError:  # the end of a terminal
            pass
        os.close(ours)
        return content.decode("ascii")

    def test_colors_on_a_terminal(self):
        self.assertIn("\033[", self.on_terminal(TILES))
        self.assertIn("\033[", self.on_terminal(TILES, NO_COLOR=""))
        self.assertNotIn("\033", self.on_terminal(TILES, NO_COLOR="1"))
        self.assertNotIn("\033", self.on_terminal(TILES, TERM="dumb"))
        self.assertIn("\033[", self.on_terminal("--color=always", TILES,
                                                NO_COLOR="1"))

    def test_svg(self):
        path = self.path("picture.svg")
        self.assertEqual(self.ok("show", "--svg", path, TILES), "")
        root = ElementTree.parse(path).getroot()
        space = "{http://www.w3.org/2000/svg}"
        self.assertEqual(root.tag, space + "svg")
        classes = [rect.get("class") for rect in root.iter(space + "rect")]
        self.assertEqual(classes.count("box"), 6)
        self.assertEqual(classes.count("element"), 15)
        self.assertEqual(classes.count("padding"), 9)
        texts = [text.text for text in root.iter(space + "text")]
        for words in (TILES, "2,4", "20", ".",
                      "15 elements in 24 slots; . is padding, which a relayout "
                      "does not write"):
            self.assertIn(words, texts)
        width, height = float(root.get("width")), float(root.get("height"))
        for rect in root.iter(space + "rect"):
            if rect.get("class"):
                self.assertLessEqual(
                    float(rect.get("x")) + float(rect.get("width")), width)
                self.assertLessEqual(
                    float(rect.get("y")) + float(rect.get("height")), height)

    def test_svg_has_more_room_than_a_terminal(self):
        path = self.path("picture.svg")
        self.ok("show", "--svg", path, "f32[60,100]")
        text = self.read("picture.svg").decode()
        self.assertIn(">59,99<", text)
        self.assertNotIn("abbreviated", text)
        self.ok("show", "--svg", path, "--width", "80", "f32[60,100]")
        self.assertIn("abbreviated", self.read("picture.svg").decode())

    def test_svg_escapes(self):
        path = self.path("picture.svg")
        self.ok("show", "--svg", path, "f32[<=3]")
        root = ElementTree.parse(path).getroot()
        self.assertIn("f32[<=3]{0}", [text.text for text in root.iter()])

    def test_svg_that_cannot_be_written(self):
        self.fails(1, "nowhere", "show", "--svg",
                   self.path("nowhere/picture.svg"), TILES)
        self.fails(1, "full", "show", "--svg", "/dev/full", TILES)
        self.assertEqual(os.listdir(self.folder), [])

    def test_wrong_command_lines(self):
        self.fails(2, "0 given, 1 expected", "show")
        self.fails(2, "'sometimes'", "show", "--color", "sometimes", TILES)
        self.fails(2, "19 is not within 20 ..", "show", "--width", "19", TILES)
        self.fails(2, "2001 is not within", "show", "--height", "2001", TILES)
        self.fails(1, "share slots", "show", "f32[2,3]{:strides(1,1)}")
        long_index = "f32[%s]" % ",".join(["11"] * 15 + ["1"] * 17)
        self.fails(1, "--letters", "show", long_index)
        self.assertIn("more rows", self.ok("show", "--letters", long_index))
        self.fails(1, [], "show", "f32[?]")


if __name__ == "__main__":
    main()
