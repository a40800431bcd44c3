#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights by a recipe: members, files, what is refused, and going on."""

import errno
import json
import os
import random
import signal
import struct
import time

from cli_case import main
from stream_case import IS_SLOW, SEED, StreamCase

WIDTHS = {"F32": 4, "BF16": 2, "U8": 1, "I64": 8}


def file_bytes(members, metadata=None):
    """A safetensors file of {name: (type, dimensions, bytes)}."""
    header = {"__metadata__": metadata} if metadata else {}
    at = 0
    for name, (kind, dims, data) in members.items():
        header[name] = {"dtype": kind, "shape": list(dims),
                        "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + \
        b"".join(member[2] for member in members.values())


def file_parts(content):
    """The members of a file, its metadata and where each member begins."""
    end = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:end])
    metadata = header.pop("__metadata__", {})
    members, begins = {}, {}
    for name, entry in header.items():
        begin, limit = entry["data_offsets"]
        begins[name] = end + begin
        members[name] = (entry["dtype"], tuple(entry["shape"]),
                         content[end + begin:end + limit])
    return members, metadata, begins


def turned(member):
    """A matrix with its dimensions exchanged."""
    kind, (rows, columns), data = member
    width = WIDTHS[kind]
    return (kind, (columns, rows), b"".join(
        data[width * (columns * r + c):][:width]
        for c in range(columns) for r in range(rows)))


def joined(*members):
    """Along dimension 0."""
    kind, dims, _ = members[0]
    return (kind, (sum(m[1][0] for m in members), *dims[1:]),
            b"".join(m[2] for m in members))


def stacked(*members):
    kind, dims, _ = members[0]
    return kind, (len(members), *dims), b"".join(m[2] for m in members)


def interleaved(gate, up):
    """The rows of two lists of matrices in turns, and each matrix turned."""
    kind, (rows, columns), _ = gate[0]
    width = WIDTHS[kind] * columns
    return stacked(*(turned((kind, (2 * rows, columns), b"".join(
        m[2][width * r:][:width] for r in range(rows) for m in pair)))
        for pair in zip(gate, up)))


class WeightsCase(StreamCase):
    # For lowered thresholds, by which these are large.
    WEIGHTS = ["weights", "--host", "--recipe", "r.json"]
    RULES = [
        {"from": "*.{q,k,v}.weight", "to": "*.qkv.weight",
         "ops": ["concat 0"]},
        {"from": "*.experts.*.w", "to": "*.experts",
         "ops": ["perm 1,0", "stack 0"]},
        {"from": "*.mlp.*.{gate,up}", "to": "*.mlp.gate_up",
         "ops": ["stack 0", "stack 2", "reshape 3,-1,2", "perm 0,2,1"]},
        {"from": "*.o.weight", "ops": ["perm 1,0"]}]

    def model(self, layers=2, rows=6, columns=8):
        draw = random.Random(SEED)
        members = {}

        def add(name, kind, *dims):
            count = WIDTHS[kind]
            for dim in dims:
                count *= dim
            members[name] = (kind, dims, draw.randbytes(count))

        for n in range(layers):
            for part in "qkvo":
                add("l.%d.%s.weight" % (n, part), "F32", rows, columns)
            for expert in range(11):
                add("l.%d.experts.%d.w" % (n, expert), "BF16", columns, rows)
            for expert in range(3):
                for part in ("gate", "up"):
                    add("l.%d.mlp.%d.%s" % (n, expert, part), "BF16", rows, 2)
            add("l.%d.norm" % n, "F32", columns)
        add("steps", "I64")
        add("none", "F32", 0, 4)
        return members

    def expected(self, members):
        out = {name: members[name] for name in ("steps", "none")}
        for n in range(sum(name.endswith("norm") for name in members)):
            part = {name[len("l.%d." % n):]: member
                    for name, member in members.items()
                    if name.startswith("l.%d." % n)}
            out["l.%d.norm" % n] = part["norm"]
            out["l.%d.o.weight" % n] = turned(part["o.weight"])
            out["l.%d.qkv.weight" % n] = joined(
                *(part[p + ".weight"] for p in "qkv"))
            out["l.%d.experts" % n] = stacked(
                *(turned(part["experts.%d.w" % e]) for e in range(11)))
            out["l.%d.mlp.gate_up" % n] = interleaved(
                *([part["mlp.%d.%s" % (e, p)] for e in range(3)]
                  for p in ("gate", "up")))
        return out

    def setUp(self):
        super().setUp()
        self.members = self.model()
        self.write("in.safetensors", file_bytes(self.members,
                                                {"format": "pt"}))
        self.recipe(self.RULES)

    def recipe(self, rules, **others):
        self.write("r.json", json.dumps({"rules": rules, **others}).encode())

    def read_folder(self, name="out"):
        """All members of a folder with an index."""
        index = json.loads(self.read(name + "/model.safetensors.index.json"))
        found = {}
        for file in sorted(set(index["weight_map"].values())):
            members, metadata, _ = file_parts(self.read(name + "/" + file))
            self.assertEqual(metadata["format"], "pt")
            for member in members:
                self.assertEqual(index["weight_map"][member], file)
            found.update(members)
        self.assertEqual(set(found), set(index["weight_map"]))
        self.assertEqual(sorted(os.listdir(self.path(name))), sorted(
            {*index["weight_map"].values(), "model.safetensors.index.json"}))
        return found


class Members(WeightsCase):
    def test_file(self):
        out = self.ok(*self.WEIGHTS, "in.safetensors", "out.safetensors")
        members, metadata, begins = file_parts(self.read("out.safetensors"))
        self.assertEqual(out, "12 members, 5.48 kB, in 1 file\n")
        self.assertEqual(metadata.pop("relayout.made_by:l.0.o.weight"),
                         "[perm 1,0]")
        self.assertEqual(metadata["format"], "pt")
        self.assertEqual(members, self.expected(self.members))
        for name, begin in begins.items():
            self.assertEqual(begin % (64 if "weight" in name else 2), 0)
        self.assert_files("in.safetensors", "r.json", "out.safetensors")

    def test_package(self):
        """The package safetensors reads what is written, and written again."""
        try:
            import safetensors
        except ImportError:
            self.skipTest("there is no package safetensors")
        for source, target in (("in", "one"), ("one", "two")):
            self.ok(*self.WEIGHTS, source + ".safetensors",
                    target + ".safetensors")
            found = {name: (m["dtype"], tuple(m["shape"]), bytes(m["data"]))
                     for name, m in safetensors.deserialize(
                         self.read(target + ".safetensors"))}
            self.assertEqual(found, self.expected(self.members))

    def test_folder(self):
        """Of several files, to several files, and again."""
        self.ok(*self.WEIGHTS, "in.safetensors", "out",
                "--max-shard-size", "700")
        self.assertEqual(self.read_folder(), self.expected(self.members))
        self.recipe([])
        self.ok(*self.WEIGHTS, "out", "again",
                "--max-shard-size", "1kB", "--memory", "1MiB")
        self.assertEqual(self.read_folder("again"),
                         self.expected(self.members))
        self.ok(*self.WEIGHTS, "again", "one")
        self.assertEqual(os.listdir(self.path("one")), ["model.safetensors"])

    def test_inputs(self):
        """Those of several operands are one list."""
        self.write("more.safetensors", file_bytes(
            {"more": ("U8", (3,), b"abc")}, {"by": "hand"}))
        self.recipe([], rest="copy")
        self.ok(*self.WEIGHTS, "in.safetensors",
                "more.safetensors", "out.safetensors")
        members, metadata, _ = file_parts(self.read("out.safetensors"))
        self.assertEqual(metadata, {"format": "pt", "by": "hand"})
        self.assertEqual(members["more"], ("U8", (3,), b"abc"))
        self.assertEqual(len(members), len(self.members) + 1)

    def test_short_runs(self):
        """Elements of several members in turns: in memory, as a whole or in
        parts, or, where there is too little and a layout, as they come."""
        draw = random.Random(SEED)
        most = 512 if "RELAYOUT_TEST_LOW" in os.environ else 1 << 20
        for experts, rows, columns, *layout in (
                (3, 6, 4), (9, 4, 4), (2, 40, 9), (1, 300, 2),
                (3, 6, 4, "layout {0,1,2}"), (2, 40, 9, "layout {0,1,2}")):
            members = {
                "mlp.%d.%s" % (e, part): (
                    "BF16", (rows, columns), draw.randbytes(2 * rows * columns))
                for e in range(experts) for part in ("gate", "up")}
            self.write("in.safetensors", file_bytes(members))
            self.recipe([{"from": "mlp.*.{gate,up}", "to": "out",
                          "ops": ["stack 0", "stack 2", "reshape %d,-1,%d" %
                                  (experts, columns), "perm 0,2,1", *layout]}])
            plan, *_, end = map(json.loads, self.ok(
                *self.WEIGHTS, "in.safetensors", "out.safetensors",
                "--json").splitlines())
            total = 4 * experts * rows * columns
            is_short = layout and total > most
            self.assertEqual(plan["write_run_bytes"],
                             2 if is_short else min(most, total))
            self.assertEqual(end["smallest_write"] == 2, bool(is_short))
            self.ok("convert", "out.safetensors::out", "plain.safetensors")
            plain = file_parts(self.read("plain.safetensors"))[0]
            self.assertEqual(plain["tensor"], interleaved(
                *([members["mlp.%d.%s" % (e, part)] for e in range(experts)]
                  for part in ("gate", "up"))))

    def test_padding(self):
        """Slots without an element are zero, whatever the memory held."""
        for layout in "{2,1,0:T(4,8)}", "{0,1,2:T(2,4)}":
            members = {
                "mlp.%d.%s" % (e, part): ("U8", (6, 3), b"\1" * 18)
                for e in range(3) for part in ("gate", "up")}
            self.write("in.safetensors", file_bytes(members))
            self.recipe([{"from": "mlp.*.{gate,up}", "to": "out",
                          "ops": ["stack 0", "stack 2", "reshape 3,-1,3",
                                  "perm 0,2,1", "layout " + layout]}])
            self.ok(*self.WEIGHTS, "in.safetensors", "out.safetensors",
                    env={"MALLOC_PERTURB_": "85"})
            data = file_parts(self.read("out.safetensors"))[0]["out"][2]
            self.assertGreater(len(data), 108)
            self.assertEqual((data.count(1), data.count(0)),
                             (108, len(data) - 108))

    def test_layout(self):
        """Twice is once: the layout is in the metadata, and is read there."""
        self.recipe([{"from": "*.{q,k}.weight",
                      "ops": ["layout {0,1:T(4,4)}"]}])
        for source, target in (("in", "one"), ("one", "two")):
            self.ok(*self.WEIGHTS, source + ".safetensors",
                    target + ".safetensors")
        self.assertEqual(self.read("one.safetensors"),
                         self.read("two.safetensors"))
        members, metadata, _ = file_parts(self.read("one.safetensors"))
        name = "l.0.q.weight"
        self.assertEqual(metadata["relayout:" + name],
                         "f32[6,8]{0,1:T(4,4)}")
        self.assertEqual(members[name][:2], ("F32", (64,)))
        # What is not in the rule stays, and so does what is read back.
        self.ok("convert", "one.safetensors::" + name, "plain.safetensors")
        plain = file_parts(self.read("plain.safetensors"))[0]["tensor"]
        self.assertEqual(plain, self.members[name])

    def test_twice(self):
        """Twice is once: what a rule has made is marked."""
        for source, target in (("in", "one"), ("one", "two")):
            self.ok(*self.WEIGHTS, source + ".safetensors",
                    target + ".safetensors")
        self.assertEqual(self.read("one.safetensors"),
                         self.read("two.safetensors"))
        self.assertEqual(file_parts(self.read("two.safetensors"))[0],
                         self.expected(self.members))

    def test_undone(self):
        """What is undone is done again, and a cast and a name undo nothing."""
        rules = [{"from": "*.{q,k,v}.weight", "to": "*.qkv.weight",
                  "ops": ["concat 0"]},
                 {"from": "*.o.weight", "ops": ["perm 1,0"]},
                 {"from": "*.norm", "to": "*.ln.norm"}]
        undo = [{"from": "*.qkv.weight", "to": "*.{q,k,v}.weight",
                 "ops": ["split 0"]},
                {"from": "*.o.weight", "to": "*.o.weight",
                 "ops": ["perm 1,0"]},
                {"from": "*.ln.norm", "to": "*.norm"}]
        names = [{"from": "*.o.weight", "to": "*.out.weight",
                  "ops": ["cast bf16"]}]
        for source, target, applied in (
                ("in", "once", rules), ("once", "undone", undo),
                ("undone", "again", rules), ("again", "more", rules),
                ("once", "named", names)):
            self.recipe(applied)
            self.ok(*self.WEIGHTS, source + ".safetensors",
                    target + ".safetensors")
        once = self.read("once.safetensors")
        self.assertEqual(once, self.read("again.safetensors"))
        self.assertEqual(once, self.read("more.safetensors"))
        undone = file_parts(self.read("undone.safetensors"))[0]
        self.assertEqual(undone, self.members)
        self.recipe([{**rules[1], "from": "*.out.weight"}])
        self.ok(*self.WEIGHTS, "named.safetensors", "kept.safetensors")
        self.assertEqual(self.read("named.safetensors"),
                         self.read("kept.safetensors"))

    def test_digests(self):
        """A line for each member; one that changed since it was noted is named."""
        self.ok(*self.WEIGHTS, "in.safetensors", "out", "--max-shard-size",
                "700")
        lines = self.ok("digest", "out").splitlines()
        found = {line.split("::")[1]: line for line in lines}
        self.assertEqual(set(found), set(self.expected(self.members)))
        self.assertEqual(len(lines), len(found))
        names = ["l.0.norm", "none", "l.1.experts"]
        self.assertEqual([found[name] for name in names], self.ok(
            "digest", *("out::" + name for name in names)).splitlines())
        members = {name: self.members["l.0." + name]
                   for name in ("norm", "o.weight")}
        told = {"relayout.digest:" + name: found["l.0.norm"][:32]
                for name in (*members, "gone")}
        self.write("told.safetensors", file_bytes(members, told))
        code, out, err = self.run_command("digest", "told.safetensors")
        self.assertEqual((code, len(out.splitlines())), (1, 2))
        self.assertEqual(err.count("\n"), 1)
        self.assertRegex(err, "told.safetensors::o.weight has changed: its "
                         "digest is [0-9a-f]{32}, and was "
                         + found["l.0.norm"][:32])
        self.ok("digest", "told.safetensors::norm")
        code, _, err = self.run_command("digest", "told.safetensors::o.weight")
        self.assertEqual((code, "has changed" in err), (1, True))
        self.ok("digest", "told.safetensors::o.weight", "--from", "f32[48]")

    def test_dry_run(self):
        command = [*self.WEIGHTS, "in.safetensors", "out",
                   "--dry-run"]
        out = self.ok(*command)
        for line in ("l.0.qkv.weight  f32[18,8]{1,0}",
                     "  of l.0.k.weight  f32[6,8]{1,0}",
                     "passes", "memory"):
            self.assertIn(line, out)
        plan = json.loads(self.ok(*command, "--json"))
        self.assertEqual(plan["event"], "plan")
        made = {member["name"]: member for member in plan["members"]}
        self.assertEqual(made["l.1.qkv.weight"], {
            "name": "l.1.qkv.weight", "shape": "f32[18,8]{1,0}", "rule": 1,
            "from": [{"name": "l.1.%s.weight" % p, "shape": "f32[6,8]{1,0}"}
                     for p in "qkv"]})
        total = sum(len(m[2]) for m in self.members.values())
        self.assertEqual((plan["bytes_read"], plan["bytes_written"]),
                         (total, total))
        self.assert_files("in.safetensors", "r.json")


class Refusals(WeightsCase):
    def refuses(self, words, *operands, code=1, env=None):
        """Fails with one sentence, and leaves no trace."""
        before = sorted(os.listdir(self.folder))
        self.fails(code, words, "weights", "--host", *operands, env=env)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_command_line(self):
        for words, *operands in (
                ("expected inputs, an output and --recipe", "in.safetensors",
                 "out"),
                ("expected inputs, an output and --recipe", "--recipe",
                 "r.json", "in.safetensors")):
            self.refuses(words, *operands, code=2)

    def test_recipes(self):
        for words, text in (
                ("r.json: ", b"{"),
                ("r.json: rule 1 takes no member",
                 b'{"rules": [{"from": "absent"}]}'),
                ("the recipe refuses the rest",
                 b'{"rules": [], "rest": "refuse"}'),
                ("is taken twice",
                 b'{"rules": [{"from": "l.*"}, {"from": "*.norm"}]}')):
            self.write("r.json", text)
            for target in ("out", "out.safetensors"):
                self.refuses(words, "--recipe", "r.json", "in.safetensors",
                             target)
        self.refuses("cannot open", "--recipe", "absent.json",
                     "in.safetensors", "out")

    def test_places(self):
        os.mkdir(self.path("model"))
        self.write("model/model.safetensors", self.read("in.safetensors"))
        given = ["--recipe", "r.json"]
        for words, *operands in (
                ("cannot open", "absent", "out"),
                ("are one file", "in.safetensors", "in.safetensors"),
                ("are one file", "model", "model"),
                ("would be read in place of", "model", "model",
                 "--max-shard-size", "1kB"),
                ("would be read in place of", "in.safetensors", "model",
                 "--max-shard-size", "1kB"),
                ("both have a member", "in.safetensors", "model",
                 "out"),
                ("is not a regular file", "in.safetensors",
                 "pipe.safetensors")):
            if words.startswith("is not"):
                os.mkfifo(self.path("pipe.safetensors"))
            self.refuses(words, *given, *operands)

    def test_members_that_lie(self):
        content = self.read("in.safetensors")
        self.write("short.safetensors", content[:-5])
        self.write("odd.safetensors", content.replace(b"F32", b"F16", 1))
        for name in ("short", "odd"):
            self.refuses(name + ".safetensors", "--recipe", "r.json",
                         name + ".safetensors", "out")

    def test_full_disk(self):
        for call in ("fallocate:1", "pwrite:3", "fsync:1", "rename:1"):
            with self.subTest(call):
                env = self.bad_disk()
                env["SLOW_DISK_FAIL"] = "%s:%d" % (call, errno.ENOSPC)
                for target in ("out", "out.safetensors"):
                    self.refuses(os.strerror(errno.ENOSPC), "--recipe",
                                 "r.json", "in.safetensors", target, env=env)


class Stops(WeightsCase):
    """What was stopped goes on: the same bytes."""

    KILLS = 50 if IS_SLOW else 2

    def setUp(self):
        super().setUp()
        self.members = self.model(6, 40, 64)
        self.write("in.safetensors", file_bytes(self.members,
                                                {"format": "pt"}))
        self.command = [*self.WEIGHTS, "in.safetensors",
                        "out", "--max-shard-size", "80kB", "--resume"]

    def disk(self, **options):
        return self.bad_disk(write_us=300, **options)

    def parts(self, end):
        try:
            return [name for name in os.listdir(self.path("out"))
                    if name.endswith(end)]
        except OSError:
            return []

    def has_notes(self):
        return any(os.path.getsize(self.path("out/" + name))
                   for name in self.parts("-journal"))

    def stop(self, number):
        """Stops it when something is noted."""
        process = self.start(*self.command, env=self.disk())
        deadline = time.monotonic() + 60
        while not self.has_notes():
            if process.poll() is not None:
                self.fail("it has ended: %s" % (self.finish(process),))
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.001)
        process.send_signal(number)
        return self.finish(process)

    def assert_whole(self):
        self.assertEqual(self.read_folder(), self.expected(self.members))
        self.assert_files("in.safetensors", "r.json", "out")

    def test_killed_again_and_again(self):
        draw = random.Random(SEED)
        kills = resumed = 0
        while kills < self.KILLS:
            process = self.start(*self.command, "--json", env=self.disk())
            # Every other time when something is noted.
            while kills % 2 and not self.has_notes() and \
                    process.poll() is None:
                time.sleep(0.001)
            time.sleep(draw.uniform(0, 0.1))
            process.kill()
            code, out, err = self.finish(process)
            self.assertEqual(err, "")
            if code == 0:
                resumed += json.loads(out.splitlines()[-1])["bytes_resumed"]
                self.assert_whole()
                for name in os.listdir(self.path("out")):
                    os.unlink(self.path("out/" + name))
            kills += code != 0
        end = json.loads(self.ok(*self.command, "--json").splitlines()[-1])
        self.assert_whole()
        self.assertGreater(resumed + end["bytes_resumed"], 0)

    def test_stopped(self):
        code, _, err = self.stop(signal.SIGINT)
        self.assertEqual(code, 128 + signal.SIGINT)
        self.assertIn("what is done stays; go on with: relayout weights "
                      "--host --recipe r.json", err)
        self.assertFalse(self.parts(".json"))
        end = json.loads(self.ok(*self.command, "--json").splitlines()[-1])
        self.assertGreater(end["bytes_resumed"], 0)
        self.assert_whole()

    def test_another_run(self):
        """Nothing of another recipe or of changed inputs is gone on with."""
        self.stop(signal.SIGKILL)
        names = [end.join(name.rsplit("-journal", 1))
                 for name in self.parts("-journal")
                 for end in ("-journal", "-part")]
        before = [self.read("out/" + name) for name in names]

        def assert_refused():
            self.fails(1, ["cannot go on with out/model-00001", "without "
                           "--resume the job begins anew"], *self.command)
            self.assertTrue(before == [self.read("out/" + name)
                                       for name in names])

        recipe = self.read("r.json")
        self.write("r.json", recipe + b" ")
        assert_refused()
        self.write("r.json", recipe)
        self.write("in.safetensors", self.read("in.safetensors"))
        assert_refused()
        self.ok(*self.command[:-1])
        self.assert_whole()

    def test_full_disk(self):
        """What is done stays, if it was to be resumed."""
        env = self.disk(fail=100, error=errno.ENOSPC)
        code, _, err = self.finish(self.start(*self.command, env=env))
        self.assertEqual(code, 1)
        self.assertIn(os.strerror(errno.ENOSPC), err)
        self.assertIn("what is done stays; go on with", err)
        self.ok(*self.command)
        self.assert_whole()

    def test_changed_input(self):
        process = self.start(*self.command, env=self.disk())
        self.addCleanup(process.wait)
        while not self.has_notes():
            time.sleep(0.001)
        os.utime(self.path("in.safetensors"))
        code, _, err = self.finish(process)
        self.assertEqual(code, 1)
        self.assertIn("changed", err)
        self.assert_files("in.safetensors", "r.json")


if __name__ == "__main__":
    main()
