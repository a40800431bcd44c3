#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a wheel into an empty environment, without a network, and runs the examples of a
page there, without OpenCL.

    check_wheel.py WHEEL NEEDS PAGE

NEEDS is a folder that has the wheel of NumPy.
"""

import os
import re
import subprocess
import sys
import tempfile
import venv

# Runs in the new environment.
TRY = r"""
import doctest, os, re, sys
import relayout as rl
page, folder = sys.argv[1:]
with open(page, encoding="utf-8") as file:
    blocks = re.findall(r"^```pycon\n(.*?)^```$", file.read(), re.S | re.M)
test = doctest.DocTestParser().get_doctest("".join(blocks), {}, page, None, None)
result = doctest.DocTestRunner().run(test)
print(rl.__version__, rl.__file__, result)
assert rl.__file__.startswith(folder), "another package is tried"
assert result.failed == 0 and result.attempted > 30
try:
    rl.Service(devices=[0])
    sys.exit("a device was found")
except rl.NotFound as failure:
    assert "there is no OpenCL here" in str(failure), failure
with open("/proc/self/maps") as maps:
    assert "libOpenCL" not in maps.read()
"""


def main():
    wheel, needs, page = (os.path.abspath(path) for path in sys.argv[1:])
    if not re.search(r"-py3-none-manylinux_\d+_\d+_\w+\.whl$", wheel):
        sys.exit("%s is for no manylinux" % wheel)
    with tempfile.TemporaryDirectory() as folder:
        # Nothing of the caller's: no folder of modules, no library, no loader.
        environment = {"PATH": os.environ["PATH"], "HOME": folder,
                       "PYTHONDONTWRITEBYTECODE": "1",
                       "RELAYOUT_OPENCL_LIBRARY": "libnone.so"}
        venv.create(folder, with_pip=True)
        python = os.path.join(folder, "bin", "python")
        for command in (["-m", "pip", "-q", "install", "--no-index",
                         "--find-links", needs, wheel],
                        ["-c", TRY, page, os.path.realpath(folder)]):
            subprocess.run([python] + command, env=environment, cwd=folder, check=True)


if __name__ == "__main__":
    main()
