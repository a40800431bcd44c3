#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""convert in pieces that was stopped, killed or failed, and goes on with
--resume: the same bytes, and little is done again."""

import errno
import hashlib
import json
import os
import random
import shlex
import shutil
import signal
import struct
import subprocess
import time
import unittest

from cli_case import COMMAND, main
from stream_case import IS_SLOW, JOURNAL, MIB, PART, SEED, StreamCase, note

# Time passes faster for the threads of jobs: a checkpoint, which is due each 5
# seconds, is made each 10 milliseconds.
CLOCK = 500
HEADER_BYTES = 88
RECORD_BYTES = 32
GOES_ON = "relayout: what is done stays; go on with: relayout convert "


class Resume(StreamCase):
    # Boxes of a few hundred kB.
    SHAPE = (1200, 1100)
    MEMORY = ["--memory", "1MiB", "--passes", "1"]

    def setUp(self):
        super().setUp()
        self.write_random("in.npy", "<f4", self.SHAPE)
        self.plain = ["convert", "--host", "in.npy", "out.npy", "--perm",
                      "1,0"]
        self.arguments = self.plain + self.MEMORY + ["--resume"]
        self.ok(*self.plain)
        self.whole = hashlib.sha256(self.read("out.npy")).hexdigest()
        os.unlink(self.path("out.npy"))

    def disk(self, write_us=1500, **faults):
        return self.bad_disk(write_us=write_us, clock=CLOCK, **faults)

    journal = JOURNAL

    def records(self):
        """How many boxes the journal has."""
        try:
            records = self.read(self.journal)[HEADER_BYTES:]
        except OSError:
            return 0
        pages = {}
        for at in range(0, len(records) - RECORD_BYTES + 1, RECORD_BYTES):
            number, boxes = struct.unpack_from("<QQ", records, at)
            pages[number] = bin(boxes).count("1")
        return sum(pages.values())

    def stop(self, number=signal.SIGKILL, arguments=None, records=2, **faults):
        """Stops a job that has noted so many boxes more, and has no end."""
        records += self.records()
        process = self.start(*(arguments or self.arguments),
                             env=self.disk(files=0, **faults))
        deadline = time.monotonic() + 60
        while self.records() < records:
            if process.poll() is not None:
                self.fail("it has ended: %s" % (self.finish(process),))
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.001)
        process.send_signal(number)
        return self.finish(process)

    def resume(self, *arguments, **options):
        """Goes on to the end; returns the last event."""
        out = self.ok(*(arguments or self.arguments), "--json", **options)
        end = json.loads(out.splitlines()[-1])
        self.assertEqual(end["status"], "RLO_OK")
        return end

    def assert_whole(self, *others):
        self.assertEqual(
            hashlib.sha256(self.read("out.npy")).hexdigest(), self.whole)
        self.assert_files("in.npy", "out.npy", *others)

    def snapshot(self):
        return {name: self.read(name) for name in os.listdir(self.folder)}

    def refuses(self, words, *arguments):
        """Refuses to go on, and touches nothing."""
        before = self.snapshot()
        words = [words] if isinstance(words, str) else words
        self.fails(1, words + ["without --resume the job begins anew"],
                   *arguments)
        self.assertTrue(self.snapshot() == before)


class Kills(Resume):
    SHAPE = (2200, 2400)
    WRITE_US = 2000

    def test_a_source_in_memory_has_no_journal(self):
        """The next run would make it of inputs that may have changed."""
        for operation, has_journal in (
                (["transpose", "--attr", "perm=1,0"], True),
                (["cast", "--attr", "dtype=f16", "--alpha", "2"], False)):
            process = self.start("op", *operation, "--host", "in.npy",
                                 "out.npy", "--resume",
                                 env=self.disk(hold=1))
            self.wait_for_part(process)
            deadline = time.monotonic() + (60 if has_journal else 0.5)
            while not os.path.exists(self.path(JOURNAL)) and \
                    time.monotonic() < deadline:
                time.sleep(0.002)
            self.assertEqual(os.path.exists(self.path(JOURNAL)), has_journal)
            self.assertEqual(self.finish(process)[0], 0)

    def test_killed_again_and_again(self):
        draw = random.Random(SEED)
        counter = "counter"
        self.write(counter, bytes(8))
        num_kills = 0
        resumed = [0]
        while num_kills < 1000:
            process = self.start(*self.arguments, "--json",
                                 env=self.disk(write_us=self.WRITE_US,
                                               count=counter))
            # A slow machine needs longer until something is noted.
            time.sleep(draw.uniform(0.05, 0.6) * (1 + num_kills / 8))
            process.kill()
            code, out, err = self.finish(process)
            self.assertEqual(err, "")
            if code == 0:
                break
            num_kills += 1
            self.assertFalse(os.path.exists(self.path("out.npy")))
            told = [json.loads(line) for line in out.splitlines()]
            self.assertLessEqual([event["event"] for event in told][1:],
                                 ["progress"] * len(told))
        end = json.loads(out.splitlines()[-1])
        resumed.append(end["bytes_resumed"])
        os.rename(self.path(counter), self.path("in.npy.counter"))
        written = struct.unpack("<q", self.read("in.npy.counter"))[0]
        os.unlink(self.path("in.npy.counter"))
        self.assert_whole()
        self.assertGreater(num_kills, 2)
        self.assertGreater(end["bytes_resumed"], 0)
        moved = end["num_passes"] * end["physical_bytes"]
        self.assertEqual(
            end["bytes_resumed"] + end["bytes_read"] + end["bytes_written"],
            2 * moved)
        # Two boxes are in work, and one or two done since the last checkpoint.
        again = written - moved
        bound = num_kills * 4 * 512 * 1024
        note("%d kills, %.1f of %.1f MB written again (at most %.1f)" %
             (num_kills, again / 1e6, moved / 1e6, bound / 1e6))
        self.assertLess(again, bound)

    def test_at_random_moments(self):
        """From before the part is made to after the journal is gone."""
        draw = random.Random(SEED)
        begin = time.monotonic()
        self.resume(env=self.disk(write_us=50))
        seconds = time.monotonic() - begin
        ends = {}
        for n in range(1000 if IS_SLOW else 2):
            os.unlink(self.path("out.npy"))
            delays = []
            for _ in range(draw.randint(1, 3)):
                number = draw.choice([signal.SIGKILL, signal.SIGINT])
                delays.append((number.name, draw.uniform(0, 1.2 * seconds)))
                process = self.start(*self.arguments,
                                     env=self.disk(write_us=50))
                time.sleep(delays[-1][1])
                process.send_signal(number)
                self.finish(process)
            told = "case %d: %s; RELAYOUT_TEST_SEED=%d" % (n, delays, SEED)
            left = set(os.listdir(self.folder))
            self.assertLessEqual(
                left, {"in.npy", "out.npy", PART, JOURNAL}, told)
            key = tuple(sorted(left - {"in.npy"}))
            ends[key] = ends.get(key, 0) + 1
            self.resume()
            self.assert_whole()
        note("left: %s" % ends)


class TwoPasses(Kills):
    """The second pass reads what the first one wrote, and writes over it."""
    SHAPE = (2200, 2400)
    MEMORY = ["--memory", "1MiB", "--passes", "2"]
    WRITE_US = 8000


class Signals(Resume):
    def test_words_and_exit_codes(self):
        self.write("out.npy", b"old")
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            code, out, err = self.stop(number)
            self.assertEqual((code, out), (128 + number, ""))
            self.assertRegex(
                err, r"^relayout: stops when what is done is on the disk; a "
                r"second signal stops at once\nrelayout: stopped at \d+ %; "
                r"what is done stays; go on with: relayout convert [^\n]*--resume[^\n]*\n$")
            self.assert_files("in.npy", "out.npy", PART, JOURNAL)
            self.assertEqual(self.read("out.npy"), b"old")
        words = shlex.split(err.split("go on with: ")[1])
        self.assertEqual(words[0], "relayout")
        subprocess.run([COMMAND, *words[1:]], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL, timeout=60)
        self.assert_whole()

    def test_names_that_a_shell_would_read(self):
        self.go_on("it's $HOME; \"my\" (array).npy", "sh")

    def test_names_that_a_terminal_would_obey(self):
        line = self.go_on("it's\\ \x1b[31m\r\n\u009b\u202e0\u00e9.npy", "bash")
        self.assertIn(r"""'it'\''s\ '$'\x1b'""", line)
        self.assertNotRegex(line, "[\x1b\r\u009b\u202e]|\n.")

    def go_on(self, name, shell):
        """Does what the line says that is printed when a job with this input is
        stopped; returns the line."""
        os.rename(self.path("in.npy"), self.path(name))
        arguments = [argument.replace("in.npy", name)
                     for argument in self.arguments]
        err = self.stop(signal.SIGINT, arguments)[2]
        line = err.split("go on with: ")[1]
        if shell == "sh":
            self.assertEqual(sorted(shlex.split(line)),
                             sorted(["relayout"] + arguments))
        done = subprocess.run(
            [shell, "-c", line.replace("relayout", shlex.quote(
                os.path.abspath(COMMAND)), 1)],
            cwd=self.folder, check=False, capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        os.rename(self.path(name), self.path("in.npy"))
        self.assert_whole()
        return line


class Refusals(Resume):
    def test_other_arguments(self):
        self.stop()
        plain = self.plain + ["--resume"]
        self.refuses([JOURNAL, " 1 passes", "this one wants 2 and "],
                     *plain, "--passes", "2")
        self.refuses("another shape or type", *self.plain[:4], "--resume")
        # The same bytes, of another shape.
        self.refuses("another shape or type", *self.plain[:4], "--to",
                     "{0,1}", "--resume")
        self.write("other.npy", self.read("in.npy").replace(b"<f4", b"<i4", 1))
        self.refuses("another shape or type", "convert", "--host", "other.npy",
                     "out.npy", "--perm", "1,0", "--resume")
        os.unlink(self.path("other.npy"))
        self.assertGreater(self.resume(*plain)["bytes_resumed"], 0)
        self.assert_whole()

    def test_another_permutation(self):
        """Where the file does not say what it holds."""
        self.journal = ".out.raw.relayout-journal"
        arguments = [argument.replace("out.npy", "out.raw")
                     for argument in self.arguments]
        self.stop(arguments=arguments)
        self.refuses("is of another job", *arguments[:4], "--perm", "0,1",
                     "--resume")
        self.refuses("is of another job", *arguments[:4], "--to",
                     "{1,0:T(8,128)}", "--resume")
        self.assertGreater(self.resume(*arguments)["bytes_resumed"], 0)
        self.assert_files("in.npy", "out.raw")

    def test_another_source(self):
        self.stop()
        shutil.copy(self.path("in.npy"), self.path("copy.npy"))
        self.refuses("--device default goes on with one that began on a device",
                     "convert", "copy.npy", "out.npy", "--perm", "1,0",
                     "--memory", "1MiB", "--resume")
        self.refuses("is of another job", "convert", "--host", "copy.npy",
                     "out.npy", "--perm", "1,0", "--resume")
        os.unlink(self.path("copy.npy"))
        # Another name of it is none.
        os.link(self.path("in.npy"), self.path("same.npy"))
        self.assertGreater(self.resume(
            "convert", "--host", "same.npy", "out.npy", "--perm", "1,0",
            "--resume")["bytes_resumed"], 0)
        os.unlink(self.path("same.npy"))
        self.assert_whole()

    def test_a_source_that_was_changed(self):
        for is_longer in False, True:
            self.stop()
            with open(self.path("in.npy"), "ab" if is_longer else "r+b") as f:
                if is_longer:
                    f.write(b"x")
                else:
                    f.seek(1000)
                    f.write(b"x")
            if is_longer:
                before = self.snapshot()
                self.fails(1, "in.npy", *self.arguments)
                self.assertTrue(self.snapshot() == before)
            else:
                self.refuses("the source has changed since", *self.arguments)
                self.ok(*self.plain)
                self.assert_files("in.npy", "out.npy")
                os.unlink(self.path("out.npy"))

    def test_bare_bytes(self):
        """Of another part of the file, in another order."""
        self.write("in.raw", self.read("in.npy") + bytes(64))
        size = "f32[1200,1100]"
        arguments = ["convert", "--host", "in.raw", "out.npy", "--perm", "1,0",
                     "--from", size, "--offset", "128", "--resume"]
        swapped = arguments + ["--byte-order", "big"]
        shifted = ["132" if a == "128" else a for a in arguments]
        for first, second in (
                (arguments, shifted), (arguments, swapped),
                (swapped, arguments),
                (swapped, [*shifted, "--byte-order", "big"])):
            self.stop(arguments=first + self.MEMORY)
            self.refuses("is of another job", *second)
            self.assertGreater(self.resume(*first)["bytes_resumed"], 0)
            os.unlink(self.path("out.npy"))

    def test_journals_that_are_none(self):
        self.stop()
        good = self.read(JOURNAL)
        for bad, words in ((b"", "is not the journal of a job"),
                           (b"garbage" * 100, "is not the journal of a job"),
                           (good[:70], "is damaged"),
                           (good[:8] + b"\7" + good[9:], "has version 7"),
                           (good[:50] + b"!" + good[51:], "is damaged")):
            self.write(JOURNAL, bad)
            self.refuses([JOURNAL, words], *self.arguments)
        # A record that is not complete is none.
        self.write(JOURNAL, good[:-1])
        self.assertGreater(self.resume()["bytes_resumed"], 0)
        self.assert_whole()

    def test_a_job_that_runs(self):
        process = self.start(*self.arguments, env=self.disk(hold=100))
        self.wait_for_part(process, JOURNAL)
        for arguments in self.arguments, self.plain + self.MEMORY:
            self.fails(1, ["out.npy", "another process", PART], *arguments)
        self.assertEqual(self.finish(process)[0], 0)
        self.assert_whole()


class Shared(Resume):
    """What another user may have made, or changed, is not believed."""

    def assert_begins_anew(self, *others):
        end = self.resume()
        self.assertEqual(end["bytes_resumed"], 0)
        self.assert_whole(*others)
        os.unlink(self.path("out.npy"))
        for name in others:
            os.unlink(self.path(name))

    def test_journals_and_parts_of_others(self):
        if os.geteuid() != 0:
            self.skipTest("only root makes files of others")
        for name in JOURNAL, PART:
            self.stop()
            os.chown(self.path(name), 1234, 1234)
            self.assert_begins_anew(name)

    def test_journals_and_parts_that_others_can_write_to(self):
        for name in JOURNAL, PART:
            self.stop()
            os.chmod(self.path(name), 0o666)
            self.assert_begins_anew()

    def test_links(self):
        for name in JOURNAL, PART:
            self.stop()
            os.rename(self.path(name), self.path("kept"))
            os.symlink("kept", self.path(name))
            self.assert_begins_anew(name, "kept")
            self.stop()
            os.link(self.path(name), self.path("kept"))
            self.assert_begins_anew("kept")

    def test_bytes_behind_the_end(self):
        self.stop()
        with open(self.path(PART), "ab") as file:
            file.write(b"more")
        self.assertGreater(self.resume()["bytes_resumed"], 0)
        self.assert_whole()

    def test_standard_streams_that_are_closed(self):
        """The part is none of them: no event is printed into it."""
        done = subprocess.run(
            ["sh", "-c", '"$@" <&- >&-', "sh", os.path.abspath(COMMAND),
             *self.arguments, "--json"], cwd=self.folder, timeout=60,
            env=self.disk(write_us=2000), capture_output=True, check=False)
        self.assertIn(b"cannot write to standard output", done.stderr)
        self.assert_whole()

    def test_a_pipe_has_no_journal(self):
        arguments = ["-" if a == "in.npy" else a for a in self.plain]
        with open(self.path("in.npy"), "rb") as file:
            cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            done = subprocess.run(
                [COMMAND, *arguments, "--resume"], cwd=self.folder,
                stdin=cat.stdout, capture_output=True, check=False,
                env=dict(os.environ), timeout=60)
            cat.stdout.close()
            cat.wait()
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assert_whole()


class Begin(Resume):
    def test_without_a_journal(self):
        self.assertEqual(self.resume()["bytes_resumed"], 0)
        self.assert_whole()
        for name in PART, JOURNAL:
            self.write(name, b"x")
            os.unlink(self.path("out.npy"))
            self.assertEqual(self.resume()["bytes_resumed"], 0)
            self.assert_whole()

    def test_anew(self):
        """Without --resume both files go, and a job begins."""
        self.stop()
        self.assert_files("in.npy", PART, JOURNAL)
        out = self.ok(*self.plain, *self.MEMORY, "--json")
        self.assertEqual(json.loads(out.splitlines()[-1])["bytes_resumed"], 0)
        self.assert_whole()

    def test_small_jobs_have_no_journal(self):
        process = self.start(*self.plain, *self.MEMORY,
                             env=self.disk(write_us=2000, files=0))
        self.wait_for_part(process)
        time.sleep(0.1)
        self.assert_files("in.npy", PART)
        process.send_signal(signal.SIGINT)
        self.assertEqual(
            self.finish(process)[2],
            "relayout: stopped; nothing was written to out.npy\n")
        self.assert_files("in.npy")

    def test_other_jobs_in_the_folder(self):
        self.stop()
        left = ".left.npy.relayout-journal"
        self.write(left, b"of a job that has ended")
        self.ok("convert", "--host", "in.npy", "other.npy", "--memory", "2MiB")
        self.assert_files("in.npy", "other.npy", PART, JOURNAL)
        self.assertGreater(self.resume()["bytes_resumed"], 0)
        self.assert_whole("other.npy")

    def test_what_is_not_moved_in_pieces(self):
        out = self.ok("convert", "--host", "in.npy", "/dev/null", "--resume")
        self.assertEqual(out, "f32[1200,1100]{1,0}\n")
        self.assert_files("in.npy")

    def test_dry_run(self):
        self.stop()
        before = self.snapshot()
        plan = json.loads(self.ok(*self.plain, "--resume", "--dry-run",
                                  "--json"))
        self.assertLessEqual(plan["host_bytes"], MIB)
        self.assertTrue(self.snapshot() == before)
        self.assertEqual(self.resume(*self.plain, "--resume")["num_pieces"],
                         plan["num_pieces"])

    def test_with_less_memory(self):
        """The boxes stay; with less than one of them it is refused."""
        for passes, memory in ("1", 5 * MIB // 2), ("2", MIB):
            job = [*self.plain, "--resume", "--passes", passes, "--memory"]
            self.stop(arguments=[*job, "4MiB"], records=1, write_us=3000)
            if passes == "1":
                self.refuses("the least that suffices is", *job, "1MiB")
            end = self.resume(*job, str(memory), "--verify")
            self.assertGreater(end["bytes_resumed"], 0)
            self.assertLessEqual(end["host_bytes_peak"], memory)
            self.assert_whole()

    def test_with_the_memory_it_began_with(self):
        self.stop()
        end = self.resume(*self.plain, "--resume")
        self.assertGreater(end["bytes_resumed"], 0)
        self.assertLessEqual(end["host_bytes_peak"], MIB)
        self.assert_whole()


class Failures(Resume):
    def test_in_the_middle(self):
        for error in errno.ENOSPC, errno.EIO:
            words = os.strerror(error)
            result = self.run_command(
                *self.arguments, env=self.disk(fail=2000, error=error))
            lines = result.err.splitlines()
            self.assertEqual((result.code, result.out, len(lines)), (1, "", 2))
            self.assertIn(words, lines[0])
            self.assertTrue(lines[1].startswith(GOES_ON), lines)
            self.assertIn("--resume", lines[1])
            self.assert_files("in.npy", PART, JOURNAL)
            # Once more, and then to the end.
            result = self.run_command(
                *self.arguments, env=self.disk(fail=10, error=error))
            self.assertEqual(result.code, 1)
            self.assertGreater(self.resume()["bytes_resumed"], 0)
            self.assert_whole()
            os.unlink(self.path("out.npy"))

    def test_without_a_journal(self):
        self.fails(1, "No space left", *self.plain, *self.MEMORY,
                   env=self.disk(fail=2000, error=errno.ENOSPC))
        self.assert_files("in.npy")

    def test_of_the_journal(self):
        """Its header is the first thing that is written at a position."""
        for number in 1, 2:
            result = self.run_command(
                *self.arguments, env=self.disk(fail=number, error=errno.EIO))
            self.assertIn(result.code, [0, 1])
            if result.code == 1:
                self.assertIn("Input/output error", result.err)
            self.resume()
            self.assert_whole()
            os.unlink(self.path("out.npy"))

    def test_a_source_that_changes(self):
        """Nothing of the job is of use then."""
        process = self.start(*self.arguments, env=self.disk(hold=2000))
        while self.records() < 2:
            self.assertIsNone(process.poll())
            time.sleep(0.001)
        with open(self.path("in.npy"), "r+b") as file:
            file.seek(1000 * 1000)
            file.write(b"new")
        code, out, err = self.finish(process)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("the source has changed", err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assert_files("in.npy")


class Verify(Resume):
    def test_after_a_resume(self):
        self.stop()
        end = self.resume(*self.arguments, "--verify")
        self.assertTrue(end["is_verified"] and end["bytes_resumed"] > 0)
        self.assert_whole()

    def test_a_digest_after_a_resume(self):
        self.stop()
        end = self.resume(*self.arguments, "--digest")
        self.assertGreater(end["bytes_resumed"], 0)
        self.assert_whole()
        self.assertEqual(end["digest"], self.ok("digest", "out.npy")[:32])

    def test_it_finds_a_wrong_byte(self):
        # The writes before it are the journal's; so is it on a busy machine, or its box
        # is not noted before the job is stopped, and is written again.
        for flip in range(100, 110):
            self.stop(flip=flip)
            result = self.run_command(*self.arguments, "--verify")
            if "the host makes" in result.err:
                break
            for name in set(os.listdir(self.folder)) - {"in.npy"}:
                os.unlink(self.path(name))
        self.assertEqual(result.code, 1)
        self.assertRegex(result.err, "the host makes .* out.npy")
        self.assert_files("in.npy")


class Operations(Resume):
    """op: several inputs and results."""

    def setUp(self):
        super().setUp()
        for n, name in enumerate(["a.npy", "b.npy", "c.npy"]):
            self.write_random(name, "<f4", (900, 1100 + 8 * n), seed=n)
        os.unlink(self.path("in.npy"))

    def stop_noted(self, arguments, journal, write_us):
        """Kills it when there is something in a journal."""
        self.journal = journal
        self.stop(arguments=arguments, records=1, write_us=write_us)

    def check(self, write_us, journals, outputs, *arguments):
        arguments = ["op", "--host", *self.MEMORY, *arguments]
        self.ok(*arguments)
        wanted = {name: self.read(name) for name in outputs}
        begin = set(os.listdir(self.folder)) - set(outputs)
        for journal in journals:
            for name in outputs:
                os.unlink(self.path(name))
            self.stop_noted(arguments + ["--resume"], journal, write_us)
            end = self.resume(*arguments, "--resume")
            self.assertGreater(end["bytes_resumed"], 0)
            self.assertEqual({name: self.read(name) for name in outputs},
                             wanted)
            self.assert_files(*begin, *outputs)

    def test_several_inputs(self):
        journals = [JOURNAL, JOURNAL + "-2", JOURNAL + "-3"]
        self.check(3000, journals, ["out.npy"], "concat", "--attr", "axis=1",
                   "a.npy", "b.npy", "c.npy", "out.npy")

    def test_memory_left_out(self):
        """The jobs that had not begun keep to the first budget, too."""
        arguments = ["concat", "--attr", "axis=1", "a.npy", "b.npy", "c.npy",
                     "out.npy", "--resume"]
        self.stop_noted(["op", "--host", *self.MEMORY, *arguments], JOURNAL,
                        3000)
        end = self.resume("op", "--host", *arguments)
        self.assertGreater(end["bytes_resumed"], 0)
        self.assertLessEqual(end["host_bytes_peak"], MIB)

    def test_several_results(self):
        self.check(50000, [".%s.npy.relayout-journal" % name for name in "xy"],
                   ["x.npy", "y.npy"], "split_v", "--attr",
                   "num_or_size_splits=2", "--attr", "axis=1", "a.npy",
                   "x.npy", "y.npy")

    def test_one_of_each(self):
        self.check(50000, [JOURNAL], ["out.npy"], "pad_v2", "--attr",
                   "paddings=3,4,5,6", "a.npy", "out.npy")

    def test_a_name_that_is_taken(self):
        """No job of the output has a journal then, wherever it would lie."""
        os.mkdir(self.path(JOURNAL))
        process = self.start("op", "--host", *self.MEMORY, "concat", "--attr",
                             "axis=1", "--resume", "a.npy", "b.npy", "c.npy",
                             "out.npy", env=self.disk(write_us=2000))
        names = set()
        while process.poll() is None:
            names |= set(os.listdir(self.folder))
            time.sleep(0.01)
        self.assertEqual(self.finish(process)[0], 0)
        self.assertFalse([name for name in names - {JOURNAL}
                          if name.startswith(("-", JOURNAL))], names)

    def test_other_attributes(self):
        arguments = ["op", "--host", *self.MEMORY, "concat", "--attr",
                     "axis=1", "--resume", "out.npy"]
        names = ["a.npy", "b.npy", "c.npy"]
        arguments[-1:] = names + ["out.npy"]
        self.stop_noted(arguments, JOURNAL + "-2", 3000)
        arguments[-4:-1] = reversed(names)
        self.refuses("is of another", *arguments)
        self.assert_files(*names, PART, JOURNAL, JOURNAL + "-2")
        # Another job takes everything away.
        self.ok("op", "--host", "pad_v2", "--attr", "paddings=0,0,0,0",
                "a.npy", "out.npy")
        self.assert_files(*names, "out.npy")

    def test_killed_again_and_again(self):
        draw = random.Random(SEED)
        arguments = ["op", "--host", *self.MEMORY, "concat", "--attr",
                     "axis=1", "a.npy", "b.npy", "c.npy", "out.npy"]
        self.ok(*arguments)
        whole = self.read("out.npy")
        os.unlink(self.path("out.npy"))
        code = 1
        kills = 0
        while code != 0:
            process = self.start(*arguments, "--resume",
                                 env=self.disk(write_us=4000))
            time.sleep(draw.uniform(0.02, 0.5) * (1 + kills / 8))
            process.kill()
            code = self.finish(process)[0]
            kills += code != 0
            self.assertLess(kills, 1000)
        note("%d kills of op" % kills)
        self.assertGreater(kills, 0)
        self.assertTrue(self.read("out.npy") == whole)
        self.assert_files("a.npy", "b.npy", "c.npy", "out.npy")


@unittest.skipUnless(IS_SLOW, "1 GiB is written")
class Large(StreamCase):
    FOLDER = None

    def test_from_a_gibibyte_on(self):
        rows = (1 << 30) // 4096
        with open(self.path("in.raw"), "wb") as file:
            file.truncate(1 << 30)
            for row in range(0, rows, 1000):
                file.seek(row * 4096)
                file.write(b"%8d" % row)
        arguments = ["convert", "--host", "in.raw", "out.raw", "--from",
                     "f32[%d,1024]" % rows, "--perm", "1,0", "--memory",
                     "64MiB"]
        journal = ".out.raw.relayout-journal"
        process = self.start(*arguments, env=self.bad_disk(clock=20))
        self.wait_for_part(process, journal)
        while os.path.getsize(self.path(journal)) < \
                HEADER_BYTES + 4 * RECORD_BYTES:
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        code, _, err = self.finish(process)
        self.assertEqual(code, 143)
        self.assertIn("relayout convert --resume --host", err)
        end = json.loads(self.ok(*arguments, "--resume",
                                 "--json").splitlines()[-1])
        self.assertGreater(end["bytes_resumed"], 0)
        self.assert_files("in.raw", "out.raw")
        self.ok("convert", "--host", "out.raw", "back.raw", "--from",
                "f32[1024,%d]" % rows, "--perm", "1,0")
        done = subprocess.run(["cmp", "in.raw", "back.raw"], cwd=self.folder,
                              check=False)
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    main()
