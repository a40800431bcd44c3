#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The five jobs of docs/python.md, by the package that is installed.
set -eu
root=$PWD
cd "$AUTOPKGTEST_TMP"
python3 "$root/tests/python/run_page.py" "$root/docs/python.md"
