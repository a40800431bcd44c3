# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: doctests, types, and what an import costs."""

import doctest
import importlib
import importlib.util
import os
import subprocess
import sys
import unittest

import relayout as rl
import run_page

FOLDER = os.path.dirname(rl.__file__)
MODULES = sorted(name[:-3] for name in os.listdir(FOLDER)
                 if name.endswith(".py") and name != "__init__.py")


class Package(unittest.TestCase):
    def test_doctests(self):
        attempted = 0
        for name in MODULES:
            if name == "opencl" and importlib.util.find_spec("pyopencl") is None:
                continue
            result = doctest.testmod(importlib.import_module(f"relayout.{name}"))
            self.assertEqual(result.failed, 0, name)
            attempted += result.attempted
        self.assertGreater(attempted, 10)

    def test_examples_of_the_page(self):
        run_page.run_page(os.path.join(FOLDER, "../../docs/python.md"))

    def test_names_have_docstrings(self):
        for name in rl.__all__:
            self.assertTrue(getattr(rl, name).__doc__, name)

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_types(self):
        run = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", os.devnull,
                              "--config-file", os.path.join(FOLDER, "../pyproject.toml"),
                              FOLDER], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_import(self):
        """30 ms beyond NumPy's, in the process's own time and at the best of 5 tries; no module
        that is slow to import, nor any OpenCL library."""
        script = ("import numpy, sys, time; t = time.process_time(); import relayout; "
                  "print(time.process_time() - t); "
                  "assert not {'asyncio', 'pathlib', 'inspect'} & ("
                  "set(sys.modules) - before), 'slow to import'")
        script = script.replace("t = time", "before = set(sys.modules); t = time")
        environment = {name: value for name, value in os.environ.items()
                       if name != "PYTHONDONTWRITEBYTECODE"}
        times = [float(subprocess.run([sys.executable, "-c", script], check=True, env=environment,
                                      capture_output=True, text=True).stdout) for _ in range(6)]
        self.assertLess(min(times), 0.030, times)


if __name__ == "__main__":
    unittest.main()
