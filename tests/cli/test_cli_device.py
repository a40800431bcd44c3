#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command on the default device."""

import json
import os
import signal
import subprocess
import time

from cli_case import COMMAND, CliCase, main, npy_bytes, npy_parts

LAYOUTS = ["{0,1:pad(37,53)fill(zero)}", "{1,0:T(8,128)fill(one)}",
           "{0,1}", "{1,0:pad(40,60)}"]


class Devices(CliCase):
    def test_one_is_the_default(self):
        told = json.loads(self.ok("devices", "--json"))["devices"]
        self.assertEqual([d["device"] for d in told], list(range(len(told))))
        self.assertEqual(sum(d["is_default"] for d in told), 1)
        for device in told:
            self.assertTrue(device["reason"])
            self.assertIn(device["class"], ("cpu", "gpu"))
            self.assertGreater(device["compute_units"], 0)
            self.assertGreater(device["global_memory_bytes"], 1 << 20)
        text = self.ok("devices")
        for device in told:
            self.assertIn(device["name"], text)
        self.assertEqual(text.count("* "), 1)

    def test_a_kernel_has_run(self):
        types = {d["type"] for d in json.loads(self.ok("devices", "--json"))["devices"]}
        for wanted in "cpu", "gpu":
            require = ["devices", "--require", wanted]
            if wanted.upper() in types:
                self.assertIn("a kernel ran on device ", self.ok(*require))
                self.ok(*require, "--json", "--no-isolate")
                result = self.run_command(
                    *require, env={"RELAYOUT_OPENCL_LIBRARY": os.environ["RELAYOUT_IDLE_LOADER"]})
                self.assertEqual(result.code, 1)
                self.assertRegex(result.err, r"of 4095 elements that a kernel moved \d+ are wrong")
            else:
                result = self.run_command(*require)
                self.assertEqual(result.code, 1)
                self.assertRegex(result.err, r"there is no %s among the (1 device|(?!1 )\d+ devices)\n"
                                 % wanted.upper())

    def test_no_such_device(self):
        self.fails(1, "9999", "devices", "--copy-limit", "--device", "9999")
        self.fails(1, "no device, platform or version is named 'x;1'",
                   "devices", "--copy-limit", "--device", "x;1")
        names = ["default"]
        if self.ok("devices").count("Portable Computing Language") == 1 == \
                self.ok("devices").count("platform"):
            names += ["pocl", "PORTABLE computing"]
            # A driver, which its own setting leaves without a device.
            self.fails(1, ["has a device", "Portable Computing Language"],
                       "devices", env={"POCL_DEVICES": "none"})
        for name in names:
            self.ok("devices", "--copy-limit", "--device", name, "--bytes", "4096",
                    "--rounds", "1")


# Small arrays stay on the host otherwise.
ON_DEVICE = ["--device", "default"]


class Convert(CliCase):
    def setUp(self):
        super().setUp()
        self.data = bytes((i * 2654435761 >> 13) & 255
                          for i in range(35 * 51 * 4))
        self.write("in.npy", npy_bytes("<f4", (35, 51), self.data))

    def test_same_bytes_as_the_host(self):
        for layout in LAYOUTS:
            for family in ON_DEVICE, ["--family", "gather"]:
                with self.subTest(layout=layout, family=family):
                    shape = self.ok("convert", "in.npy", "out.npy", "--to",
                                    layout, "--verify", *family).strip()
                    self.ok("convert", "in.npy", "host.npy", "--to", layout,
                            "--host")
                    self.assertEqual(self.read("out.npy"),
                                     self.read("host.npy"))
                    self.ok("convert", "out.npy", "back.npy", "--from", shape,
                            "--verify", *ON_DEVICE)
                    self.assertEqual(self.read("back.npy"),
                                     self.read("in.npy"))

    def test_who_moves_what_is_small(self):
        for more, place in [([], "size"), (["--host"], "option"),
                            (["--device", "none"], "option"),
                            (ON_DEVICE, "option"),
                            (["--family", "gather"], "option")]:
            with self.subTest(more=more):
                told = json.loads(self.ok("convert", "in.npy", "%s.npy" % place,
                                          "--perm", "1,0", "--json", *more))
                is_device = more[:1] == ["--family"] or more == ON_DEVICE
                self.assertEqual(told["chosen_by"], place)
                self.assertEqual(told["family"] == "host", not is_device)
                self.assertEqual(told["device"] is not None, is_device)
                self.assertEqual("seconds" in told, is_device)
                self.assertEqual(self.read("%s.npy" % place),
                                 self.read("size.npy"))

    def test_isolation_changes_nothing(self):
        arguments = ["--perm", "1,0", "--json", *ON_DEVICE]
        one = json.loads(self.ok("convert", "in.npy", "a.npy", *arguments))
        two = json.loads(self.ok("convert", "in.npy", "b.npy", "--no-isolate",
                                 "--verify", *arguments))
        self.assertEqual(self.read("a.npy"), self.read("b.npy"))
        self.assertEqual(one["shape"], "f32[51,35]{1,0}")
        self.assertEqual(one["family"], two["family"])
        self.assertEqual(one["device"], two["device"])
        self.assertGreater(one["seconds"], 0)
        self.assertTrue(two["is_verified"])

    def test_empty_and_scalar(self):
        self.write("empty.npy", npy_bytes("<f4", (3, 0), b""))
        told = json.loads(self.ok("convert", "empty.npy", "out.npy", "--perm",
                                  "1,0", "--json", *ON_DEVICE))
        self.assertEqual((told["shape"], told["family"]),
                         ("f32[0,3]{1,0}", "none"))
        self.write("scalar.npy", npy_bytes("<f4", (), b"abcd"))
        self.ok("convert", "scalar.npy", "out.npy", *ON_DEVICE)
        self.assertEqual(npy_parts(self.read("out.npy"))[1], b"abcd")

    def test_families(self):
        self.fails(1, "weave", "convert", "in.npy", "out.npy", "--family",
                   "weave")
        self.fails(1, "copy", "convert", "in.npy", "out.npy", "--family",
                   "copy", "--to", "{0,1}")
        self.assert_files("in.npy")

    def test_a_home_is_not_needed(self):
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("HOME", "XDG_CACHE_HOME", "POCL_CACHE_DIR")}
        environment["TMPDIR"] = self.path("tmp")
        os.mkdir(self.path("tmp"))
        # PoCL's own, in place of ours.
        before = os.path.exists("/tmp/pocl")
        done = subprocess.run(
            [COMMAND, "convert", "in.npy", "out.npy", "--to", "{0,1}",
             *ON_DEVICE],
            cwd=self.folder, env=environment, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual((os.listdir(self.path("tmp")), os.path.exists("/tmp/pocl")), ([], before))


    def test_a_warm_cache_has_the_program(self):
        environment = {"RELAYOUT_CACHE_DIR": self.path("cache")}
        self.write("suite", b"# one program\n"
                   b"f32[35,51] f32[35,51]{0,1}\n\n"
                   b"f32[51,35] f32[35,51] 1,0\n")
        warm = ["cache", "warm", "--suite", "suite", "--json"]
        first, again = [json.loads(self.ok(*warm, env=environment))["pairs"]
                        for _ in range(2)]
        self.assertEqual([(p["programs_compiled"], p["programs_found"])
                          for p in first + again],
                         [(1, 0), (0, 1), (0, 1), (0, 1)])
        held = json.loads(self.ok("cache", "show", "--json", env=environment))
        self.assertEqual(held["entries"], 1)
        self.ok("convert", "in.npy", "out.npy", "--to", "{0,1}", *ON_DEVICE,
                env=environment)
        after = json.loads(self.ok("cache", "show", "--json", env=environment))
        self.assertEqual(after, held)

    def test_a_package_has_the_program(self):
        self.write("suite", b"f32[35,51] f32[35,51]{0,1}\n")
        warm = ["cache", "warm", "--suite", "suite", "--json"]
        share = self.path("share")
        os.mkdir(share)
        self.ok(*warm, "--into", share + "/relayout/programs",
                env={"RELAYOUT_CACHE_DIR": self.path("none")})
        done = json.loads(self.ok(*warm, env={"RELAYOUT_CACHE_DIR": self.path("cache"),
                                              "XDG_DATA_DIRS": "/nowhere:" + share}))
        self.assertEqual([(p["programs_compiled"], p["programs_found"])
                          for p in done["pairs"]], [(0, 1)])
        self.assertFalse(os.path.exists(self.path("none")))
        self.fails(2, "of warm", "cache", "show", "--into", share)
        result = self.run_command(*warm, "--into", share + "/a/b/c")
        self.assertEqual(result.code, 1)
        self.assertIn("holds no program", result.err)

    def test_the_second_time_finds_the_program_on_disk(self):
        environment = {"RELAYOUT_CACHE_DIR": self.path("cache")}
        arguments = ["convert", "in.npy", "out.npy", "--to", "{0,1}",
                     "--verify", *ON_DEVICE]
        self.ok(*arguments, env=environment)
        held = json.loads(self.ok("cache", "show", "--json", env=environment))
        self.assertGreaterEqual(held["entries"], 1)
        self.ok(*arguments, env=environment)
        again = json.loads(self.ok("cache", "show", "--json", env=environment))
        self.assertEqual(again, held)
        for name in os.listdir(self.path("cache")):
            self.write("cache/" + name, b"not what was there")
        self.ok(*arguments, env=environment)
        mended = json.loads(self.ok("cache", "show", "--json",
                                    env=environment))
        self.assertEqual(mended, held)
        self.ok(*arguments, env={"RELAYOUT_CACHE_DIR": ""})
        self.fails(1, "absolute path", *arguments,
                   env={"RELAYOUT_CACHE_DIR": "cache"})


class Explain(CliCase):
    def test_it_is_the_device_that_is_explained(self):
        device = [d for d in json.loads(
            self.ok("devices", "--json"))["devices"] if d["is_default"]][0]
        told = json.loads(self.ok("explain", "--json", "f32[64,48]",
                                  "f32[64,48]{0,1}"))
        self.assertEqual(told["device"], device["name"])
        # PoCL 6 takes kernels of the GPU class by this method only, PoCL 5 by any
        # other; nothing is compiled here.
        forced = json.loads(self.ok("explain", "--json", "f32[64,48]",
                                    "f32[64,48]{0,1}", "--device", "0",
                                    "--class", "gpu",
                                    env={"POCL_WORK_GROUP_METHOD": "cbs"}
                                    if device["is_cpu_class_only"] else {}))
        self.assertEqual(forced["class"], "gpu")


class Measures(CliCase):
    def test_copy_limit(self):
        told = json.loads(self.ok("devices", "--copy-limit", "--bytes", "1048576",
                                  "--rounds", "3", "--json"))
        self.assertGreater(told["gb_per_s"], 0)
        self.assertEqual((told["bytes"], told["rounds"]), (1048576, 3))
        self.assertRegex(self.ok("devices", "--copy-limit", "--bytes", "4096"),
                         r"^\d+\.\d\d GB/s ")
        self.fails(1, [], "devices", "--copy-limit", "--bytes", "4611686018427387904")


class Interrupted(CliCase):
    def children(self, process):
        path = "/proc/%d/task/%d/children" % (process.pid, process.pid)
        with open(path, encoding="ascii") as file:
            return [int(word) for word in file.read().split()]

    def is_alive(self, process_id):
        try:
            with open("/proc/%d/stat" % process_id, encoding="ascii") as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):  # it has just gone
            return False

    def test_the_child_goes_too(self):
        process = subprocess.Popen(
            [COMMAND, "devices", "--copy-limit", "--rounds", "1000000"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not self.children(process):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        child = self.children(process)[0]
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out, err), (130, b"", b""))
        deadline = time.monotonic() + 60
        while self.is_alive(child):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)


if __name__ == "__main__":
    main()
