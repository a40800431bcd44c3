#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`relayout describe --hlo`: the arrays of HLO modules as XLA dumps them."""

import json
import subprocess
from random import Random

from cli_case import COMMAND, CliCase, main

STEP = """\
HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[64,100]\
{1,0:T(8,128)}, s32[8,1]{1,0:T(8,128)})->(f32[64,100]{1,0:T(8,128)}, f32[])}, \
num_partitions=2, frontend_attributes={fingerprint="0123{("}

FileNames
1 "/home/someone/step.py"

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%fused_computation.1 (param_0.1: f32[64,100], param_1.2: s32[8,1]) -> \
f32[64,100] {
  %param_0.1 = f32[64,100]{1,0:T(8,128)} parameter(0)
  %param_1.2 = s32[8,1]{1,0:T(8,128)} parameter(1)
  %broadcast.3 = s32[8,3]{1,0:T(8,128)} broadcast(s32[8,1]{1,0:T(8,128)} \
%param_1.2), dimensions={0}
  ROOT %add.7 = f32[64,100]{1,0:T(8,128)} add(f32[64,100]{1,0:T(8,128)} \
%param_0.1, f32[64,100]{1,0:T(8,128)} %param_0.1), metadata={op_name="jit(f)\
/add[a=(\\'x\\',) {" source_file="step.py" source_line=12}
}

%region_0.2 (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(f32[] %a, f32[] %b)
}, execution_thread="main"

ENTRY %main.9 (Arg_0: f32[64,100], Arg_1: s32[8,1]) -> (f32[64,100], f32[]) {
  %Arg_0 = f32[64,100]{1,0:T(8,128)} parameter(0), sharding={replicated}
  %Arg_1 = s32[8,1]{1,0:T(8,128)} parameter(1)
  %constant.4 = f32[2,2]{1,0} constant({
    { 1, -2.5 },
    { nan, inf }
  }), metadata={op_name="}"}
  %constant.5 = f32[]{:T(128)} constant(0)
  %fusion.6 = f32[64,100]{1,0:T(8,128)} fusion(f32[64,100]{1,0:T(8,128)} \
%Arg_0, s32[8,1]{1,0:T(8,128)} %Arg_1), kind=kLoop, calls=%fused_computation.1
  %token.8 = token[] after-all()
  %big-tuple = (f32[], f32[], f32[], f32[], f32[], /*index=5*/(s8[7]{0:T(32)}\
, opaque[], f32[<=9]), token[]) custom-call(), custom_call_target="a \\"b(\\""
  %reduce.9 = f32[] reduce(%fusion.6, %constant.5), dimensions={0,1}, \
to_apply=%region_0.2
  ROOT %tuple.10 = (f32[64,100]{1,0:T(8,128)}, f32[]) tuple(%fusion.6, %reduce.9)
}

"""

SHORT = """\
HloModule m2

main {
  x = f32[3]{0} parameter(0)
  ROOT y = f32[3]{0} negate(x),
      metadata={op_name="n"}
}
"""


# What XLA's parser takes and its printer does not write, and what its canonical
# printer does: nested computations.
FREE = """\
\xef\xbb\xbfHloModule m, entry_computation_layout={(f32[4,8]{1,0})->f32[8]{0}} // m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
fused (p: f32[4,8]{1,0}) -> f32[4,8]{1,0} { // }
  p = f32[4,8]{1,0} parameter(0) /* {
  q = f32[9] parameter(1) */
  ROOT n = f32[4,8]{1,0} negate(p)
} /* x */ ENTRY e { p = f32[4,8]{1,0} parameter(0)
  f = f32[4,8]{1,0}
    fusion(p), kind=kLoop, calls=fused z = f32[] constant(0)
  r = f32[8]{0} reduce(f, z), dimensions={0}, to_apply=
  {
    tmp_0 = f32[] parameter(0)
    ROOT tmp_2 = f32[] add(f32[] tmp_0, f32[] tmp_0), metadata={op_name="{"}
  }, sharding={replicated}
  t = tuple(r, z)
  ROOT g = f32[8]{0} get-tuple-element(t), index=0}
"""


class Hlo(CliCase):
    def hlo(self, text, *options):
        self.write("dump.txt", text.encode())
        return json.loads(self.ok("describe", "--json", "--hlo", "dump.txt",
                                  *options))

    def test_a_module(self):
        told = self.hlo(STEP)
        self.assertEqual(told["bad_lines"], 0)
        module, = told["modules"]
        wasteful = module.pop("wasteful")
        self.assertEqual(module["parameters"], {
            "arrays": 2, "without_size": 0, "elements": 6408, "bytes": 25632,
            "physical_bytes": 36864, "padding_share": 0.304688})
        self.assertEqual(module["result"]["physical_bytes"], 32772)
        # f32[64,100] four times, s32[8,1], f32[2,2], f32[]{:T(128)}, f32[]:
        # three of region_0.2, five of the custom call, two of the end; s8[7]
        # and f32[<=9].
        self.assertEqual((module["name"], module["computations"],
                          module["fused_computations"],
                          module["instructions"], module["arrays"],
                          module["arrays_in_fusions"],
                          module["without_size"]),
                         ("jit_step", 3, 1, 16, 18, 4, 1))
        self.assertEqual(module["bytes"],
                         3 * 25600 + 32 + 16 + 4 + 10 * 4 + 7 + 36)
        self.assertEqual(module["physical_bytes"],
                         3 * 32768 + 4096 + 16 + 512 + 10 * 4 + 32 + 36)
        self.assertEqual(module["shapes_with_padding"], 4)
        self.assertEqual([w["shape"] for w in wasteful],
                         ["f32[64,100]{1,0:T(8,128)}", "s32[8,1]{1,0:T(8,128)}",
                          "f32[]{:T(128)}", "s8[7]{0:T(32)}"])
        self.assertEqual(wasteful[0], {
            "shape": "f32[64,100]{1,0:T(8,128)}", "arrays": 3,
            "arrays_in_fusions": 2, "padding_bytes": 7168, "elements": 6400,
            "bytes": 25600, "physical_bytes": 32768, "padding_share": 0.21875,
            "instruction": "Arg_0", "opcode": "parameter",
            "computation": "main.9", "line": 23})

    def test_the_table(self):
        self.write("dump.txt", STEP.encode())
        text = self.ok("describe", "--hlo", "dump.txt", "--top", "2")
        self.assertEqual(text, """\
module          jit_step
parameters      2 arrays, 36.9 kB in memory, 30.5 % padding
result          2 arrays, 32.8 kB in memory, 21.9 % padding
computations    3, 1 of them fused
instructions    16
arrays          18, 103 kB together, 25.3 % padding
within fusions  4 arrays, not in memory
without size    1

   padding     share   in memory  arrays    line  first of them                 shape
   7.17 kB    21.9 %     32.8 kB       3      23  Arg_0 (parameter)             f32[64,100]{1,0:T(8,128)}
   4.06 kB    99.2 %     4.10 kB       1      24  Arg_1 (parameter)             s32[8,1]{1,0:T(8,128)}
... 2 more shapes with padding
""")

    def test_several_modules(self):
        told = self.hlo(STEP + SHORT)
        self.assertEqual([m["name"] for m in told["modules"]],
                         ["jit_step", "m2"])
        short = told["modules"][1]
        self.assertIsNone(short["parameters"])
        self.assertEqual((short["arrays"], short["bytes"], short["wasteful"]),
                         (2, 24, []))
        text = self.ok("describe", "--hlo", "dump.txt")
        self.assertTrue(text.endswith("\n\nno array has padding\n"), text)

    def test_standard_input_and_indented_text(self):
        text = "\n".join("    " + line for line in SHORT.splitlines())
        done = subprocess.run([COMMAND, "describe", "--json", "--hlo", "-"],
                              input=text.encode(), stdout=subprocess.PIPE,
                              check=True)
        self.assertEqual(json.loads(done.stdout)["modules"][0]["arrays"], 2)

    def test_names_and_blanks(self):
        """Tabs, names with '$' and names that begin as words do."""
        told = self.hlo(
            "HloModule m, entry_computation_layouts={none}\n"
            "ENTRY.1{ \t\r\n"
            "\tx$1\t=\tf32[3]{0}\tparameter(0)\n"
            "  ROOT.2 = (f32[2], /*a*b(*/ s32[3]) custom-call(), \t\r\n"
            "    metadata={op_name=\"n\"}\n"
            "} , execution_thread=\"main\"\n"
            "ENTRY %c {\n  ROOT y = f32[3]{0:T(4)} copy(z)\n}\n")
        self.assertEqual(told["bad_lines"], 0)
        module, = told["modules"]
        self.assertEqual((module["parameters"], module["computations"],
                          module["instructions"], module["arrays"]),
                         (None, 2, 3, 4))
        self.assertEqual([(w["instruction"], w["computation"], w["line"])
                          for w in module["wasteful"]], [("y", "c", 8)])

    def test_free_text(self):
        self.write("dump.txt", FREE.encode("latin-1"))
        told = json.loads(self.ok("describe", "--json", "--hlo", "dump.txt"))
        self.assertEqual(told["bad_lines"], 0)
        module, = told["modules"]
        # tuple(r, z) states no shape; a nested body is a part of its caller.
        self.assertEqual((module["name"], module["computations"],
                          module["fused_computations"],
                          module["instructions"], module["arrays"],
                          module["arrays_in_fusions"],
                          module["without_size"], module["bytes"]),
                         ("m", 3, 1, 11, 8, 2, 1, 3 * 4 + 2 * 128 + 4 + 2 * 32))

    def test_many_kinds(self):
        """More shapes than the first table of them has room for, in more
        computations than one."""
        lines = ["HloModule many"]
        for c in range(3):
            lines.append("c%d {" % c)
            lines += ["  x.%d = s8[%d]{0:T(1024)} iota()" % (n, n)
                      for n in range(1, 1000)]
            lines.append("}")
        module, = self.hlo("\n".join(lines), "--top", "1000")["modules"]
        self.assertEqual(module["arrays"], 2997)
        self.assertEqual([(w["arrays"], w["padding_bytes"], w["line"])
                          for w in module["wasteful"]],
                         [(3, 1024 - n, n + 2) for n in range(1, 1000)])

    def test_a_long_constant(self):
        values = ", ".join(["{ 0.125, 1e-08 }"] * 200000)
        module, = self.hlo(
            "HloModule long\nmain {\n  c = f32[200000,2]{1,0} constant({ %s })"
            "\n  ROOT d = f32[3]{0:T(4)} copy(c)\n}\n" % values)["modules"]
        self.assertEqual((module["instructions"], module["arrays"]), (2, 2))

    def test_a_line_of_64_mib(self):
        module, = self.hlo(
            "HloModule long\nmain {\n  c = s8[9] constant({" +
            "0, " * (23 << 20) + "0})\n  ROOT d = f32[3] copy(c)\n}\n"
        )["modules"]
        self.assertEqual((module["instructions"], module["arrays"]), (2, 2))

    def fails_on(self, text, *reports):
        self.write("dump.txt", text.encode("latin-1"))
        result = self.run_command("describe", "--json", "--hlo", "dump.txt")
        self.assertEqual(result.code, 1)
        self.assertEqual(len(result.err.splitlines()), len(reports), result.err)
        for line, words in zip(result.err.splitlines(), reports):
            self.assertIn(words, line)
        return json.loads(result.out) if result.out else None

    def test_bad_lines_are_named(self):
        broken = SHORT.replace("f32[3]{0} parameter", "f33[3]{0} parameter")
        told = self.fails_on(
            broken, "dump.txt:4: the shape of x: position 0: expected")
        self.assertEqual((told["bad_lines"], told["modules"][0]["arrays"]),
                         (1, 1))
        self.fails_on("HloModule m\nmain {\n  what is this\n"
                      "  x = f32[2] foo\n}\nand this\n",
                      "dump.txt:3: expected NAME = SHAPE OPCODE(...)",
                      "dump.txt:4: expected an opcode and '(' after the shape "
                      "of x",
                      "dump.txt:6: expected HloModule, a computation")
        self.fails_on("HloModule m\nmain {\n  x = f32[2] copy((y)\n"
                      "  z = f32[2] copy(x)\n",
                      "dump.txt:3: this instruction does not end",
                      "dump.txt:4: the file ends before its last computation")
        self.fails_on("HloModule m\nmain {\n  x = f32[2] copy((y)\n",
                      "dump.txt:3: this instruction does not end",
                      "dump.txt:3: the file ends before its last computation")
        self.fails_on("HloModule m\nmain {\n  x = f32[2] copy(y),\n",
                      "dump.txt:3: this instruction does not end",
                      "dump.txt:3: the file ends before its last computation")
        self.fails_on("HloModule m\n= {\n}x\n}\n",
                      "dump.txt:2: expected the name of a computation",
                      "dump.txt:3: expected NAME = SHAPE OPCODE(...) or '}'")
        self.fails_on("HloModule m, entry_computation_layout={f32[2]}\n",
                      "dump.txt:1: expected entry_computation_layout={(SHAPE")
        self.fails_on("HloModule m, entry_computation_layout={(f33[2])->f32[]}",
                      "dump.txt:1: the shape of the parameters")
        self.fails_on("HloModule\n", "dump.txt:1: expected the name of a")
        self.fails_on("HloModule m\nmain {\n  x = (f32[2], f32[3 copy()\n}\n",
                      "dump.txt:3: expected an opcode")
        self.fails_on("HloModule m\nmain {\n  x = f32[2]\n  y = f32[2] copy(x)\n"
                      "  ROOT z = f32[3]\n}\n/*",
                      "dump.txt:3: expected an opcode",
                      "dump.txt:5: expected an opcode",
                      "dump.txt:7: the file ends within a comment")
        self.fails_on("\xff\x01\n", "dump.txt:1: expected HloModule")
        self.fails_on("// a\0b\n", "dump.txt:1: expected text, found a byte")
        many = self.fails_on("HloModule m\n" + "bad\n" * 25,
                             *["dump.txt:%d: " % (n + 2) for n in range(20)],
                             "5 more lines of dump.txt")
        self.assertEqual(many["bad_lines"], 25)

    def test_any_bytes_end_in_a_report(self):
        """Pieces of a module, in any order: no crash, and numbers of lines."""
        random = Random(5)
        text = STEP + SHORT
        for run in range(60):
            pieces = list(text)
            for _ in range(random.randint(1, 8)):
                at = random.randrange(len(pieces))
                if random.random() < 0.5:
                    pieces[at] = random.choice("{}()[]\"\\,=%*/\n x1\0")
                else:
                    del pieces[at:at + random.randint(1, 60)]
            self.write("dump.txt", "".join(pieces).encode("latin-1"))
            result = self.run_command("describe", "--json", "--hlo", "dump.txt")
            self.assertIn(result.code, (0, 1), run)
            if result.out:
                self.assertEqual(json.loads(result.out)["bad_lines"] > 0,
                                 result.err != "", run)

    def test_files_without_hlo(self):
        self.assertIsNone(self.fails_on("", "dump.txt holds no HLO module"))
        self.assertIsNone(self.fails_on("\n// nothing\n\n",
                                        "holds no HLO module"))
        self.fails(1, ["nothing.txt", "No such file"], "describe", "--hlo",
                   "nothing.txt")
        self.fails(1, ["cannot read .", "directory"], "describe", "--hlo", ".")
        self.fails(2, "--top requires --hlo", "describe", "--top", "3",
                   "f32[2]")
        self.fails(2, "0 is not within 1 ..", "describe", "--top", "0",
                   "--hlo", "dump.txt")
        self.fails(2, "--save-proto", "describe", "--save-proto", "x.pb",
                   "--hlo", "dump.txt")


if __name__ == "__main__":
    main()
