#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command in hostile environments, and given hostile words: a documented
result, exit code and sentence for each row of a table (docs/testing.md)."""

import contextlib
import json
import os
import pty
import shutil
import signal
import subprocess
import time
import unittest

from cli_case import ASAN_OPTIONS, COMMAND, CliCase, main, npy_bytes

NOBODY = 65534
CONVERT = ["convert", "in.npy", "out.npy", "--perm", "1,0", "--device",
           "default"]
LONG = "n" * 100000
ESCAPES = "\x1b[31m\r\n\u009b\u202e"


class Words(CliCase):
    """What the command line says is shown escaped, and cut."""
    # Each with one place for a word.
    LINES = [
        ["{}"], ["help", "{}"], ["convert", "--{}"], ["show", "{}"],
        ["describe", "{}"], ["describe", "--hlo", "{}"],
        ["describe", "--proto", "{}"], ["describe", "--numpy", "{}"],
        ["convert", "--host", "{}", "out.npy"],
        ["convert", "--host", "in.npy", "{}/out.npy"],
        ["convert", "--host", "in.npy", "out.npy", "--perm", "{}"],
        ["convert", "--host", "in.npy", "out.npy", "--to", "{}"],
        ["convert", "--host", "in.npy", "out.npy", "--memory", "{}"],
        ["convert", "--host", "in.npy", "out.npy", "--alpha", "{}"],
        ["convert", "in.npy", "out.npy", "--device", "{}"],
        ["convert", "in.npy", "out.npy", "--family", "{}"],
        ["op", "{}", "in.npy", "out.npy", "--host"],
        ["op", "transpose", "in.npy", "out.npy", "--host", "--attr", "{}"],
        ["op", "transpose", "in.npy", "out.npy", "--host", "--attr", "{}=1"],
        ["op", "transpose", "--host", "--input", "{}=in.npy", "out.npy"],
        ["explain", "f32[2]", "f32[2]", "--class", "{}"],
        ["explain", "f32[2]", "f32[2]", "--class", "cpu", "--schedule", "{}"],
        ["show", "f32[2]", "{}"], ["shard", "f32[2]", "{}"],
        ["cache", "{}"], ["cache", "warm", "--suite", "{}"], ["tune", "{}"],
        ["devices", "{}"], ["devices", "--copy-limit", "--device", "{}"],
    ]
    # What prints names and succeeds, by a file or a variable of the name {}.
    REPORTS = [
        ["convert", "--host", "{}.npy", "o{}.npy", "--memory", "1MiB",
         "--verify"],
        ["op", "transpose", "--host", "{}.npy", "o{}.npy", "--attr",
         "perm=1,0"],
        ["describe", "--hlo", "{}.npy.hlo"],
        ["cache", "show", "RELAYOUT_CACHE_DIR=/{}"],
        ["tune", "show", "XDG_DATA_HOME=/{}"],
    ]
    # ESCAPES, a byte that is not UTF-8 and another mark.
    NAME = ESCAPES + os.fsdecode(b"\xff") + "\u2066"

    def assert_harmless(self, text):
        """No control character but the ends of lines, no mark of direction."""
        self.assertNotRegex(
            text, "[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

    def test_reports_escape_names(self):
        self.write(self.NAME + ".npy", npy_bytes("<f4", (2, 3), bytes(24)))
        self.write(self.NAME + ".npy.hlo", b"HloModule m" + os.fsencode(
            self.NAME.replace("\r\n", "")) + b"\n\nENTRY e (p: f32[]) -> f32[]"
            b" {\n  ROOT p = f32[] parameter(0)\n}\n")
        for line in self.REPORTS:
            words = [word.replace("{}", self.NAME) for word in line]
            variables = dict(w.split("=") for w in words if "_" in w)
            words = [word for word in words if "_" not in word]
            for extra in [], ["--json"]:
                with self.subTest(line=line, extra=extra):
                    # Decodes what is printed as UTF-8.
                    out = self.ok(*words, *extra, env=variables)
                    self.assert_harmless(out)
                    if line[0] not in ("convert", "op") or extra:
                        self.assertIn(r"x1b[31m", out)

    def test_the_path_of_wisdom(self):
        """A script gets it as it is, a terminal does not."""
        variables = {"XDG_DATA_HOME": "/" + ESCAPES}
        path = "/%s/relayout/wisdom\n" % ESCAPES
        self.assertEqual(self.ok("tune", "path", env=variables), path)
        terminal, theirs = pty.openpty()
        subprocess.run([COMMAND, "tune", "path"], stdout=theirs, check=True,
                       env={**os.environ, **variables})
        os.close(theirs)
        shown = os.read(terminal, 4096).decode().replace("\r\n", "\n")
        os.close(terminal)
        self.assert_harmless(shown)
        self.assertIn(r"\x1b[31m\x0d\x0a\xc2\x9b", shown)

    def test_they_are_quoted_escaped_and_cut(self):
        self.write("in.npy", npy_bytes("<f4", (2, 3), bytes(24)))
        for line in self.LINES:
            for word in ESCAPES, LONG, "a" + ESCAPES * 30:
                arguments = [part.replace("{}", word) for part in line]
                with self.subTest(line=line, word=word[:10]):
                    result = self.run_command(*arguments)
                    self.assertIn(result.code, (1, 2), result)
                    self.assertEqual(result.out, "")
                    self.assert_harmless(result.err)
                    self.assertNotIn("n" * 400, result.err)
                    lines = result.err.splitlines()
                    self.assertEqual(len(lines), result.code, result.err[:900])
                    self.assertLess(len(lines[0]), 1000)

    def test_comments_of_shapes(self):
        """White space, as in XLA's text, and comments between tokens."""
        self.assertEqual(self.ok("describe", "f32[2,3]{1,0} /* what */"),
                         self.ok("describe", "f32[2,3]{1,0}"))
        self.fails(1, "expected '*/'", "describe", "f32[2,3]{1,0} /* what")


@contextlib.contextmanager
def small_disk(path, options):
    os.mkdir(path)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", path],
        stderr=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise unittest.SkipTest("a disk cannot be mounted")
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


# What names the folders of a user; the tests are given folders of their own.
HOMES = "HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "POCL_CACHE_DIR"


def homeless(**env):
    return {**{name: value for name, value in os.environ.items()
               if name not in HOMES}, **env}


class Environment(CliCase):
    def setUp(self):
        super().setUp()
        self.write("in.npy", npy_bytes("<f4", (2, 3), bytes(range(24))))
        self.ok("convert", "--host", "in.npy", "host.npy", "--perm", "1,0")

    def works(self, environment=os.environ, **env):
        """The result is right, whatever is not stored."""
        done = subprocess.run([COMMAND, *CONVERT], cwd=self.folder,
                              env={**environment, **env}, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        # What makes it faster is told at most.
        self.assertRegex(done.stderr.decode(), r"\A(relayout: planning without "
                         r"wisdom: [^\n]*\n)?\Z")
        self.assertEqual(self.read("out.npy"), self.read("host.npy"))
        os.unlink(self.path("out.npy"))

    def inspect(self, cache):
        return json.loads(self.ok("cache", "show", "--json",
                                  env={"RELAYOUT_CACHE_DIR": cache}))

    def works_without_a_home(self, **env):
        """The driver has a folder for the time of the command."""
        os.mkdir(self.path("tmp"))
        self.works(homeless(TMPDIR=self.path("tmp"), **env))
        os.rmdir(self.path("tmp"))

    def test_no_home(self):
        self.works_without_a_home()
        self.works_without_a_home(HOME="not/absolute",
                                  XDG_CACHE_HOME="nor/this")
        self.assert_files("host.npy", "in.npy")

    def test_home_is_read_only(self):
        with small_disk(self.path("home"), "size=1m,ro") as home:
            self.works_without_a_home(HOME=home, XDG_DATA_HOME=home)
            self.assertEqual(os.listdir(home), [])

    def test_home_of_another_user(self):
        for name in "home", "work":
            os.mkdir(self.path(name))
        user = {}
        if os.geteuid() == 0:
            user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            os.chown(self.path("work"), NOBODY, NOBODY)
            os.chmod(self.folder, 0o755)
        os.chmod(self.path("home"), 0o555)
        try:
            subprocess.run([COMMAND, "--version"], check=True,
                           capture_output=True, **user)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("another user cannot run the command")
        shutil.copy(self.path("in.npy"), self.path("work"))
        done = subprocess.run(
            [COMMAND, *CONVERT], cwd=self.path("work"), capture_output=True,
            env=homeless(HOME=self.path("home"), TMPDIR=self.path("work")),
            check=False, **user)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.read("work/out.npy"), self.read("host.npy"))
        self.assertEqual(sorted(os.listdir(self.path("work"))),
                         ["in.npy", "out.npy"])
        self.assertEqual(os.listdir(self.path("home")), [])

    def test_home_is_no_folder(self):
        self.works_without_a_home(HOME=self.path("in.npy"))

    def test_cache_of_another_user(self):
        cache = self.path("cache")
        os.mkdir(cache, 0o700)
        if os.geteuid() != 0:
            self.skipTest("only root can give a folder away")
        os.chown(cache, NOBODY, NOBODY)
        self.works(RELAYOUT_CACHE_DIR=cache)
        self.assertEqual(os.listdir(cache), [])
        self.assertIn("belongs to user", self.inspect(cache)["reason"])
        self.fails(1, "belongs to user", "cache", "clear",
                   env={"RELAYOUT_CACHE_DIR": cache})

    def test_cache_that_others_can_write_to(self):
        for name, make in (
                ("wide", lambda path: (os.mkdir(path), os.chmod(path, 0o777))),
                ("link", lambda path: os.symlink(self.folder, path)),
                ("file", lambda path: shutil.copy(self.path("in.npy"), path))):
            cache = self.path(name)
            make(cache)
            self.works(RELAYOUT_CACHE_DIR=cache)
            self.assertFalse(self.inspect(cache)["is_usable"])
        self.assertEqual(os.listdir(self.path("wide")), [])

    def test_cache_on_a_full_disk(self):
        with small_disk(self.path("cache"), "size=4k,mode=700") as cache:
            self.works(RELAYOUT_CACHE_DIR=cache)
            self.assertEqual(self.inspect(cache)["entries"], 0)
            self.assertEqual(os.listdir(cache), [])

    def test_broken_driver_file(self):
        vendors = self.path("vendors")
        os.mkdir(vendors)
        for content in b"", b"/nonexistent/libnone.so\n", bytes(range(256)), \
                b"x" * 100000, self.path("in.npy").encode() + b"\n":
            self.write("vendors/broken.icd", content)
            # ocl-icd crashes of a name with NUL, in the command's child: also
            # where a sanitizer would tell of it, and exit.
            result = self.run_command(*CONVERT, env={
                "OCL_ICD_VENDORS": vendors,
                "ASAN_OPTIONS": ASAN_OPTIONS + ":handle_segv=0"})
            self.assertIn(result.code, (1, 70) if b"\0" in content else (1,))
            self.assertRegex(result.err, r"\Arelayout: [^\n]*OpenCL[^\n]*\n\Z")
        good = os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")
        for name in os.listdir(good) if os.path.isdir(good) else []:
            shutil.copy(os.path.join(good, name), vendors)
            self.works(OCL_ICD_VENDORS=vendors)

    def test_set_user_id(self):
        """The environment is not that of whose rights it has."""
        if os.geteuid() != 0:
            self.skipTest("only root can give a file away")
        # Its libraries are found by the path that it was linked with.
        command = self.path("command")
        shutil.copy(COMMAND, command)
        os.chown(command, NOBODY, NOBODY)
        os.chmod(command, 0o4755)
        os.chmod(self.folder, 0o777)
        tried = subprocess.run([command, "--version"], capture_output=True,
                               check=False)
        secure = subprocess.run(
            [command, "cache", "clear"], capture_output=True, check=False,
            env={**os.environ, "RELAYOUT_CACHE_DIR": ""})
        if tried.returncode != 0 or secure.returncode == 0:
            self.skipTest("no set-user-ID rights here")
        for arguments, words in (
                (["cache", "clear"], "the cache is not cleared"),
                (["tune", "clear"], "the wisdom is not cleared"),
                (["devices"], "OpenCL is not used"),
                (["tune", "f32[2]", "f32[2]"], "OpenCL is not used"),
                (["cache", "warm"], "OpenCL is not used"),
                (CONVERT, "OpenCL is not used")):
            done = subprocess.run(
                [command, *arguments], cwd=self.folder, check=False,
                capture_output=True,
                env={**os.environ, "XDG_DATA_HOME": self.folder,
                     "XDG_CACHE_HOME": self.folder})
            self.assertEqual(
                (done.returncode, done.stdout, done.stderr.decode()),
                (1, b"", "relayout: %s with set-user-ID rights\n" % words))


class DriverCache(CliCase):
    """PoCL's folder for what it compiles, without which it has no device."""
    BAD = "/proc/none"  # not even root can make it

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("tmp"))
        os.mkdir(self.path("home"))
        self.write("file", b"")

    def environment(self, **env):
        return homeless(TMPDIR=self.path("tmp"), **env)

    def devices(self, **env):
        """Lists the devices."""
        done = subprocess.run([COMMAND, "devices"], cwd=self.folder,
                              env=self.environment(**env), capture_output=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""), env)
        self.assertTrue(done.stdout.startswith(b"* 0  "), done.stdout)

    def test_the_usual_one_is_taken(self):
        home, other = self.path("home"), self.path("other")
        self.devices(HOME=home, XDG_CACHE_HOME="")
        self.assertTrue(os.path.isdir(home + "/.cache/pocl/kcache"))
        shutil.rmtree(home + "/.cache")
        self.devices(HOME=home, XDG_CACHE_HOME=other)
        self.assertTrue(os.path.isdir(other + "/pocl/kcache"))
        shutil.rmtree(other)
        self.devices(HOME=home, XDG_CACHE_HOME=home, POCL_CACHE_DIR=other)
        self.assertNotEqual(os.listdir(other), [])
        shutil.rmtree(other)
        self.devices(HOME=home, POCL_CACHE_DIR="other")
        self.assertNotEqual(os.listdir(other), [])
        self.assertEqual(os.listdir(home), [])

    def test_one_that_cannot_be_made(self):
        home = self.path("home")
        os.symlink("nowhere", self.path("link"))
        for bad in self.BAD, self.path("file"), self.path("link"):
            self.devices(HOME=bad)
            self.devices(HOME=home, XDG_CACHE_HOME=bad)
            self.devices(HOME=home, XDG_CACHE_HOME=home, POCL_CACHE_DIR=bad)
        # PoCL aborts of an empty name, and takes a relative one.
        self.devices(HOME=home, POCL_CACHE_DIR="")
        self.devices(HOME=home, XDG_CACHE_HOME="relative")
        self.assertEqual(os.listdir(home), [])
        self.assertEqual(os.listdir(self.path("tmp")), [])
        self.assert_files("file", "home", "link", "tmp")

    def test_nowhere_to_make_one(self):
        for arguments in ["devices"], ["devices", "--no-isolate"]:
            done = subprocess.run(
                [COMMAND, *arguments], capture_output=True, check=False,
                env=homeless(HOME=self.path("file"), TMPDIR=self.BAD))
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertRegex(
                done.stderr.decode(), r"\Arelayout: the OpenCL driver has no "
                r"folder [^\n]*/proc/none/relayout-\w{6} cannot be made: No "
                r"such file or directory\n\Z")

    def await_folders(self, count):
        deadline = time.monotonic() + 60
        while len(os.listdir(self.path("tmp"))) != count:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_a_private_one_goes_whatever_ends_the_command(self):
        for number in signal.SIGKILL, signal.SIGINT, signal.SIGTERM:
            for isolation in [], ["--no-isolate"]:
                command = subprocess.Popen(
                    [COMMAND, "devices", "--copy-limit", "--rounds", "100000",
                     *isolation],
                    env=self.environment(), cwd=self.folder,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    start_new_session=True)
                self.addCleanup(command.kill)
                self.await_folders(1)
                folder, = os.listdir(self.path("tmp"))
                folder = os.path.join(self.path("tmp"), folder)
                self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
                while not os.listdir(folder):
                    self.assertIsNone(command.poll())
                    time.sleep(0.01)
                if number == signal.SIGINT:  # as by the terminal
                    os.killpg(command.pid, number)
                else:
                    command.send_signal(number)
                command.communicate(timeout=60)
                self.await_folders(0)


if __name__ == "__main__":
    main()
