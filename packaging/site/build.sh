#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh: the pages of docs/ and both references as a site in build/site/html, without
# network and without a warning. `./dev package site` installs what it needs.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
pages=build/site/pages

rm -rf build/site
mkdir -p "$pages"
cp -r docs/. packaging/site/python_reference.md "$pages"
cp LICENSE "$pages"
cp README.md "$pages/index.md"
# The readme's links begin in another folder, and its pictures are in docs/. What follows
# the language of a block of code is for the tests.
sed -i -E 's#\]\((\./)?docs/#](#g' "$pages/index.md"
sed -i -E 's#\]\(\.\./README\.md#](index.md#g; s/^(```[a-z]+) .*/\1/' "$pages"/*.md

{
  cat packaging/site/Doxyfile
  echo "OUTPUT_DIRECTORY = $pages"
  echo "HTML_OUTPUT = c"
} | doxygen -
mkdocs build --quiet --config-file packaging/site/mkdocs.yml
echo "build/site/html/index.html"
