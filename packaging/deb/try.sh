#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds Debian's packages in a new system and tries them in another one that has nothing
# else. Needs root; ./dev package deb calls it.
#   try.sh bookworm|trixie...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/matrix/system.sh
. tests/matrix/system.sh

# try RELEASE
try() {
  local work=$PWD/build/deb-$1
  new_system "$work/builds" "$1"
  rm -rf "$work/tries"
  cp -a "$work/builds" "$work/tries"
  copy_tree "$work/builds/relayout"
  in_system "$work/builds" sh -ec 'cd /relayout; ./dev package deb'
  mv "$work/builds/relayout/dist/deb" "$work/tries/deb"
  cp packaging/deb/try_installed.sh "$work/tries/deb"
  in_system "$work/tries" /deb/try_installed.sh
  rm -rf "$work"
}

for release in "$@"; do
  try "$release"
done
