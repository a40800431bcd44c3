#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a wheel into an empty environment, without a network, and runs the examples of a
page there, without OpenCL.

    check_wheel.py WHEEL NEEDS PAGE PYTHON...

NEEDS is a folder that has the wheel of NumPy. PYTHON is an interpreter, or the command of
another machine's by an emulator, which has no environments: the wheels are unpacked for it.
"""

import glob
import os
import subprocess
import sys
import tempfile
import zipfile

# Runs in the new environment, with its folder.
TRY = r"""
import sys
import relayout as rl
print(rl.__version__, rl.__file__)
assert rl.__file__.startswith(sys.argv[1]), "another package is tried"
try:
    rl.Service(devices=[0])
    sys.exit("a device was found")
except rl.NotFound as failure:
    assert "there is no OpenCL here" in str(failure), failure
with open("/proc/self/maps") as maps:
    assert "libOpenCL" not in maps.read()
"""
RUN_PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_page.py")


def main():
    wheel, needs, page = (os.path.abspath(path) for path in sys.argv[1:4])
    python = sys.argv[4:]
    if "-py3-none-manylinux" not in wheel or "manylinux_2_28_" not in wheel:
        sys.exit("%s is for no manylinux_2_28" % wheel)
    with tempfile.TemporaryDirectory() as folder:
        # Nothing of the caller's: no folder of modules, no library, no loader.
        environment = {"PATH": os.environ["PATH"], "HOME": folder,
                       "PYTHONDONTWRITEBYTECODE": "1",
                       "RELAYOUT_OPENCL_LIBRARY": "libnone.so"}

        def run(*command):
            subprocess.run(command, env=environment, cwd=folder, check=True)

        if len(python) == 1:
            run(*python, "-m", "venv", folder)
            python = [os.path.join(folder, "bin", "python")]
            run(*python, "-m", "pip", "-q", "install", "--no-index", "--find-links", needs, wheel)
            command = [os.path.join(folder, "bin", "relayout")]
        else:
            environment["PYTHONPATH"] = folder
            for path in [wheel, *glob.glob(os.path.join(needs, "*.whl"))]:
                with zipfile.ZipFile(path) as packed:
                    packed.extractall(folder)
            command = python[:-1] + [os.path.join(folder, "relayout", "lib", "relayout")]
            os.chmod(command[-1], 0o755)
        run(*python, "-c", TRY, os.path.realpath(folder))
        run(*python, RUN_PAGE, page)
        run(*command, "show", "u8[2,3]{0,1}")


if __name__ == "__main__":
    main()
