#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command without an OpenCL platform, and with a driver that dies."""

import os
import signal

from cli_case import CliCase, main, npy_bytes

VERBS = [["devices"], ["devices", "--require", "cpu"], ["devices", "--copy-limit"],
         ["convert", "in.npy", "out.npy", "--perm", "1,0", "--device",
          "default"],
         ["convert", "in.npy", "out.npy", "--family", "tile"],
         ["convert", "in.npy", "out.npy", "--memory", "4MiB", "--device",
          "default"],
         ["convert", "in.npy", "out.npy", "--memory", "4MiB", "--device",
          "all"]]


# What a device does if there is one, and the host otherwise.
CHOOSING = [["convert", "in.npy", "out.npy", "--perm", "1,0", "--passes", "1"],
            ["convert", "in.npy", "out.npy", "--perm", "1,0", "--resume"],
            ["op", "transpose", "in.npy", "out.npy", "--passes", "1"]]


class DriverCase(CliCase):
    def host_does_it(self, env, *options):
        self.ok("convert", "--host", "in.npy", "host.npy", "--perm", "1,0")
        for verb in CHOOSING:
            with self.subTest(verb=verb, env=env):
                result = self.run_command(*verb, *options, env=env)
                self.assertEqual(result.code, 0, result)
                self.assertRegex(
                    result.err, r"\A[^\n]*OpenCL[^\n]*\n"
                    r"relayout: the host does it without a device\n\Z")
                self.assertEqual(self.read("out.npy"), self.read("host.npy"))
                os.unlink(self.path("out.npy"))
        self.ok("convert", "in.npy", "out.npy", "--memory", "1MiB", env=env)
        os.unlink(self.path("out.npy"))
        os.unlink(self.path("host.npy"))


class NoPlatform(DriverCase):
    ENV = {"OCL_ICD_VENDORS": "/nonexistent"}

    def test_the_host_does_it(self):
        self.write("in.npy", npy_bytes("<f4", (2, 3), bytes(range(24))))
        self.host_does_it(self.ENV)
        self.host_does_it(self.ENV, "--no-isolate")
        self.assert_files("in.npy")

    def test_every_verb_says_so(self):
        self.write("in.npy", npy_bytes("<f4", (2, 3), b"\0" * 24))
        for verb in VERBS:
            for isolation in [], ["--no-isolate"]:
                with self.subTest(verb=verb, isolation=isolation):
                    self.fails(1, "OpenCL", *verb, *isolation, env=self.ENV)
        self.assert_files("in.npy")

    def test_no_cache_is_warmed(self):
        self.fails(1, "OpenCL", "cache", "warm",
                   env={**self.ENV, "RELAYOUT_CACHE_DIR": self.path("cache")})
        self.assert_files()

    def test_explain_tells_the_way_without(self):
        result = self.run_command("explain", "f32[2]", "f32[2]", env=self.ENV)
        self.assertEqual((result.code, result.out), (1, ""))
        self.assertIn("--class cpu", result.err)
        self.ok("explain", "f32[2]", "f32[2]", "--class", "cpu", env=self.ENV)

    def test_host_needs_none(self):
        self.write("in.npy", npy_bytes("<f4", (2, 3), b"\0" * 24))
        self.ok("convert", "--host", "in.npy", "out.npy", env=self.ENV)
        self.ok("convert", "in.npy", "small.npy", env=self.ENV)
        self.assertEqual(self.read("small.npy"), self.read("out.npy"))


class NoLoader(NoPlatform):
    ENV = {"RELAYOUT_OPENCL_LIBRARY": "libnone.so"}

    def test_the_library_is_named(self):
        self.fails(1, ["no OpenCL here: libnone.so: cannot open", "install"],
                   "devices", env=self.ENV)


class NoneOfItsFunctions(NoPlatform):
    ENV = {"RELAYOUT_OPENCL_LIBRARY": "libm.so.6"}

    def test_a_function_is_named(self):
        self.fails(1, "libm.so.6 has no clGetPlatformIDs", "devices",
                   env=self.ENV)


class DyingDriver(DriverCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("vendors"))
        self.write("vendors/dying.icd",
                   os.environ["RELAYOUT_DYING_DRIVER"].encode() + b"\n")
        self.write("in.npy", npy_bytes("<f4", (2, 3), b"\0" * 24))

    def environment(self, death):
        return {"OCL_ICD_VENDORS": self.path("vendors"),
                "RELAYOUT_TEST_DEATH": death}

    def test_death_becomes_exit_code_70(self):
        cases = [("abort", "signal %d" % signal.SIGABRT),
                 ("segv", "signal %d" % signal.SIGSEGV),
                 ("0", "exit code 0"), ("1", "exit code 1"),
                 ("3", "exit code 3")]
        for death, words in cases:
            for verb in VERBS + [["explain", "f32[2]", "f32[2]"]]:
                with self.subTest(death=death, verb=verb):
                    self.fails(70, ["OpenCL driver", words], *verb,
                               env=self.environment(death))
        self.assert_files("in.npy", "vendors")

    def test_the_host_does_it(self):
        for death in "segv", "3":
            self.host_does_it(self.environment(death))
        self.assert_files("in.npy", "vendors")

    def test_weights_are_described_without(self):
        self.write("w.safetensors", b"\2" + b"\0" * 7 + b"{}")
        result = self.run_command("describe", "w.safetensors", env=self.environment("segv"))
        self.assertEqual((result.code, result.out.split()[:2]), (0, ["members", "0"]))
        self.assertRegex(result.err, r"\A[^\n]*OpenCL driver[^\n]*\n\Z")

    def test_its_folder_goes_too(self):
        os.mkdir(self.path("tmp"))
        environment = {**self.environment("segv"), "POCL_CACHE_DIR": "",
                       "TMPDIR": self.path("tmp")}
        self.fails(70, "OpenCL driver", "devices", env=environment)
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_without_isolation_it_takes_the_command_along(self):
        for verb in VERBS:
            result = self.run_command(*verb, "--no-isolate",
                                      env=self.environment("segv"))
            self.assertEqual(result.code, -signal.SIGSEGV)
        # Nobody is left who could remove it; the next one does.
        self.assert_files(".out.npy.relayout-part", "in.npy", "vendors")
        self.ok("convert", "--host", "in.npy", "x.npy", "--memory", "4MiB")
        self.assert_files("in.npy", "vendors", "x.npy")


if __name__ == "__main__":
    main()
