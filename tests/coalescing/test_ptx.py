#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Known answers for ptx.py, on PTX written by hand."""
import struct
import unittest

import ptx

HEAD = """
.version 6.0
.target sm_75
.visible .entry k(
    .param .u64 .ptr .global .align 4 k_param_0,
    .param .align 16 .b8 k_param_1[16]
)
{
    .reg .pred %p<9>;
    .reg .b32 %r<40>;
    .reg .b64 %rd<20>;
    .shared .align 4 .b8 k_$_tile[512];
    .shared .align 4 .b8 more[128];
    ld.param.u64 %rd1, [k_param_0];
    ld.param.v4.u32 {%r1, %r2, %r3, %r4}, [k_param_1];
    mov.u32 %r5, %tid.x;
"""
LAUNCH = {"groups": 4, "items": 64}


def make(body, numbers=(0, 0, 0, 0)):
    arguments = [struct.pack("<Q", 1 << 44), struct.pack("<4i", *numbers)]
    return ptx.Kernel(HEAD + body + "\n    ret;\n}\n", "k", arguments)


def count(body, numbers=(0, 0, 0, 0), first_lane=0):
    return ptx.WarpCounts(make(body, numbers), 1, first_lane, 32, LAUNCH)


class Counts(unittest.TestCase):
    def test_a_straight_line(self):
        # add 1, mul.wide 1, add.s64 2, ld 1, bar 1, st 1, ret 1
        c = count("""
    add.s32 %r6, %r5, 1;
    mul.wide.s32 %rd2, %r6, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r7, [%rd3+16];
    bar.sync 0;
    st.global.u32 [%rd3], %r7;""")
        self.assertEqual((c.instructions, c.prologue), (8, 4))
        self.assertEqual((c.read_bytes, c.written_bytes), (128, 128))
        self.assertEqual(c.in_flight_bytes, 128)

    def test_halves_of_a_pair_cost_nothing(self):
        # ld 1 each, shl by 32, cvt and or 0, shr 2, st 1, ret 1
        c = count("""
    ld.global.u32 %rd2, [%rd1];
    ld.global.u32 %r6, [%rd1+4];
    cvt.u64.u32 %rd3, %r6;
    shl.b64 %rd4, %rd3, 32;
    or.b64 %rd5, %rd2, %rd4;
    shr.u64 %rd6, %rd5, %r5;
    st.global.u32 [%rd1], %rd6;""")
        self.assertEqual(c.instructions, 6)
        # An or of two low halves, or of unknown values, is two.
        for other in ("%rd3", "%rd1"):
            c = count(f"""
    ld.global.u32 %rd2, [%rd1];
    cvt.u64.u32 %rd3, %r5;
    or.b64 %rd5, %rd2, {other};""")
            self.assertEqual(c.instructions, 4)

    def test_local_memory_is_counted_once(self):
        kernel = make("")
        self.assertEqual(kernel.shared_bytes, 640)
        self.assertEqual(kernel.private_bytes, 0)

    LOOP = """
    mov.u32 %r6, 0;
$L_again:
    ld.global.v2.u32 {%r8, %r9}, [%rd1];
    {DRAIN}
    add.s32 %r6, %r6, 1;
    setp.lt.s32 %p1, %r6, {LIMIT};
    @%p1 bra $L_again;"""

    def loop(self, drain, limit, numbers=(0, 0, 0, 0)):
        body = self.LOOP.replace("{DRAIN}", drain).replace("{LIMIT}", limit)
        return count(body, numbers)

    def test_a_loop_runs_as_often_as_an_argument_says(self):
        self.assertEqual(self.loop("", "%r3", (9, 9, 5, 9)).instructions,
                         5 * 4 + 1)

    def test_lanes_that_loop_longest_count_for_the_warp(self):
        # lane k turns max(1, k) times
        self.assertEqual(self.loop("", "%r5").instructions, 31 * 4 + 1)

    def test_loads_are_in_flight_until_something_is_stored(self):
        c = self.loop("", "%r3", (0, 0, 5, 0))
        self.assertEqual(c.in_flight_bytes, 32 * 8 * 5)
        c = self.loop("st.shared.u32 [more], %r8;", "%r3", (0, 0, 5, 0))
        self.assertEqual(c.in_flight_bytes, 32 * 8)
        self.assertEqual(c.written_bytes, 0)

    def test_loads_are_in_flight_until_they_are_used(self):
        # Within a block all loads come first; the next turn begins anew.
        c = self.loop("add.s32 %r7, %r7, %r8;", "%r3", (0, 0, 5, 0))
        self.assertEqual(c.in_flight_bytes, 32 * 8)
        # One that nobody has used yet stays; what was loaded before it does not.
        c = count("""
    ld.global.u32 %r8, [%rd1];
    ld.global.u32 %r9, [%rd1+4];
    ld.global.u32 %r10, [%rd1+8];
    bra.uni $L_next;
$L_next:
    add.s32 %r7, %r7, %r9;
    ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%rd1];
    st.global.u32 [%rd1], %r7;""")
        self.assertEqual(c.in_flight_bytes, 32 * 20)

    def test_both_sides_of_a_branch_are_issued(self):
        c = count("""
    and.b32 %r6, %r5, 1;
    setp.eq.s32 %p1, %r6, 0;
    @!%p1 bra $L_odd;
    add.s32 %r7, %r7, 1;
    add.s32 %r7, %r7, 1;
    bra.uni $L_end;
$L_odd:
    add.s32 %r7, %r7, 2;
$L_end:""")
        self.assertEqual(c.instructions, 3 + 3 + 1 + 1)

    def test_what_it_does_not_know_is_an_error(self):
        for body in ("vote.ballot.b32 %r6, %p1;", "add.s32 %r6, %r5, where;",
                     "ld.const.u32 %r6, [table];"):
            with self.assertRaises(ptx.PtxError):
                make("    " + body)
        with self.assertRaises(ptx.PtxError):
            ptx.Kernel(HEAD + "\n ret;\n}\n", "k", [b"", b""])
        with self.assertRaises(ptx.PtxError):
            make("$L:\n bra $L;").run(0, 0, 1, 32, 1000)


class Values(unittest.TestCase):
    """An expression decides how often a loop turns."""

    def value_of(self, lines, numbers):
        """%r6 after the lines, as the times that a loop of one add, one setp
        and one bra turns."""
        kernel = make(lines + """
$L_next:
    add.s32 %r6, %r6, -1;
    setp.gt.s32 %p1, %r6, 0;
    @%p1 bra $L_next;""", numbers)
        trace = kernel.run(0, 0, 1, 32, 1 << 20)
        label = kernel.labels["$L_next"]
        return trace.count(label)

    def test_expressions(self):
        for lines, numbers, expected in (
                ("mul.hi.u32 %r6, %r1, %r2;", (1 << 30, 28, 0, 0), 7),
                ("mul.lo.s32 %r6, %r1, %r2;", (-3, -5, 0, 0), 15),
                ("mad.lo.s32 %r6, %r1, %r2, %r3;", (3, 5, -8, 0), 7),
                ("shr.s32 %r6, %r1, 2; neg.s32 %r6, %r6;", (-36, 0, 0, 0), 9),
                ("shr.u32 %r6, %r1, 28;", (-1, 0, 0, 0), 15),
                ("shl.b32 %r6, %r1, 3;", (2, 0, 0, 0), 16),
                ("shf.l.wrap.b32 %r6, %r1, %r2, 4;", (-1, 1, 0, 0), 31),
                ("clz.b32 %r6, %r1;", (255, 0, 0, 0), 24),
                ("rem.u32 %r6, %r1, 7;", (20, 0, 0, 0), 6),
                ("min.s32 %r6, %r1, %r2;", (9, 4, 0, 0), 4),
                ("sub.s32 %r7, %r1, %r2; not.b32 %r6, %r7;", (2, 7, 0, 0), 4),
                ("setp.lt.u32 %p2, %r1, %r2; selp.b32 %r6, 3, 8, %p2;",
                 (1, -1, 0, 0), 3),
                ("setp.lt.s32 %p2, %r1, %r2; selp.b32 %r6, 3, 8, %p2;",
                 (1, -1, 0, 0), 8),
                ("cvt.s64.s32 %rd2, %r1; sub.s64 %rd3, 0, %rd2; "
                 "cvt.u32.u64 %r6, %rd3;", (-11, 0, 0, 0), 11),
                ("mul.wide.s32 %rd2, %r1, %r2; shr.u64 %rd3, %rd2, 32; "
                 "cvt.u32.u64 %r6, %rd3;", (1 << 30, 12, 0, 0), 3),
                ("mov.u32 %r6, 5; setp.ne.s32 %p2, %r1, 0; "
                 "@%p2 mov.u32 %r6, 2;", (1, 0, 0, 0), 2),
        ):
            with self.subTest(lines):
                self.assertEqual(
                    self.value_of("    " + lines.replace("; ", ";\n    "),
                                  numbers), expected)


if __name__ == "__main__":
    unittest.main()
