# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of a page on the package that is found, those of OpenCL where pyopencl is.

    run_page.py PAGE
"""

import doctest
import importlib.util
import re
import sys


def run_page(page):
    """How many examples were run; it exits if one of them fails."""
    with open(page, encoding="utf-8") as file:
        blocks = re.findall(r"^```pycon( opencl)?\n(.*?)^```$", file.read(), re.S | re.M)
    has_opencl = importlib.util.find_spec("pyopencl") is not None
    text = "".join(block for needs, block in blocks if has_opencl or not needs)
    test = doctest.DocTestParser().get_doctest(text, {}, page, None, None)
    result = doctest.DocTestRunner().run(test)
    if result.failed or result.attempted <= 30:
        sys.exit(f"{page}: {result.failed} examples of {result.attempted} fail")
    return result.attempted


if __name__ == "__main__":
    print(run_page(sys.argv[1]), "examples")
