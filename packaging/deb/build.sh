#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Debian's packages and their source package into dist/deb/; ./dev package deb calls it, with
# the names of our files in its input. They are built twice, in folders, by a mask, a language
# and a time zone that differ, must have the same bytes, and are read by lintian.
#   build.sh --needs: prints the packages that this needs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ ${1:-} == --needs ]]; then
  printf '%s\n' build-essential lintian
  sed -n 's/^ debhelper-compat.*/ debhelper,/; s/^ \([a-z0-9-]*\),$/\1/p; /^$/q' \
    packaging/debian/control
  exit
fi

readonly WORK=$PWD/build/deb
readonly DIST=$PWD/dist/deb
VERSION=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
readonly VERSION
readonly SOURCE=relayout-${VERSION%-*}
DATE=$(dpkg-parsechangelog -l packaging/debian/changelog -S Timestamp)
readonly DATE

# build NAME: in build/deb/NAME, from tree.tar.
build() {
  local tree=$WORK/$1/$SOURCE
  mkdir -p "$tree"
  tar -x -C "$tree" -f "$WORK/tree.tar"
  chmod -R u=rwX,go=rX "$tree"
  tar -c -C "$WORK/$1" --sort=name --mtime="@$DATE" --owner=0 --group=0 --numeric-owner \
    "$SOURCE" | gzip -n >"$WORK/$1/${SOURCE/-/_}.orig.tar.gz"
  cp -rp "$tree/packaging/debian" "$tree"
  (cd "$tree" && DEB_BUILD_OPTIONS="parallel=${JOBS:-2}" dpkg-buildpackage --no-sign) \
    >"$WORK/$1.log" 2>&1 || {
    tail -n 30 "$WORK/$1.log"
    exit 1
  }
}

grep -q "VERSION_STRING \"${VERSION%-*}\"" include/relayout/version.h || {
  echo "build.sh: packaging/debian/changelog has $VERSION, version.h another version" >&2
  exit 1
}
rm -rf "$WORK" "$DIST"
mkdir -p "$WORK" "$DIST"
tar -c -f "$WORK/tree.tar" --files-from=-
build first
(
  umask 077
  LC_ALL=C.UTF-8 TZ=Asia/Tokyo build again
)
# All but the lists of what they were built with.
for file in "$WORK"/first/*.{deb,dsc,tar.*}; do
  cmp "$file" "$WORK/again/${file##*/}"
done
# Debian's bug about the package is there for an upload to Debian only.
lintian --allow-root --fail-on error,warning \
  --suppress-tags initial-upload-closes-no-bugs "$WORK"/first/*.changes
cp "$WORK"/first/*.{deb,dsc,tar.*,changes,buildinfo} "$DIST"
