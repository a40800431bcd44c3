#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# In a new system: the packages that lie beside this are installed, upgraded, removed and
# tested, and nothing is left of them.
set -eu
cd "$(dirname "$0")"
export DEBIAN_FRONTEND=noninteractive

fail() {
  printf 'try_installed.sh: %s\n' "$*" >&2
  exit 1
}

install() {
  apt-get -q -y -o Acquire::Retries=3 install --no-install-recommends "$@" </dev/null
}

# The same files as an earlier version.
make_old() {
  mkdir old
  for file in *.deb; do
    dpkg-deb --raw-extract "$file" tree
    sed -i "s/\\<$version\\>/$version~/g" tree/DEBIAN/control
    dpkg-deb --build tree "old/$file" >/dev/null
    rm -r tree
  done
}

check_version() {
  for name in $names; do
    has=$(dpkg-query -W -f '${Version}' "$name")
    [ "$has" = "$1" ] || fail "$name is $has and not $1"
  done
}

version=$(dpkg-deb -f relayout_*.deb Version)
names=$(for file in *.deb; do dpkg-deb -f "$file" Package; done)
apt-get -q update
make_old
install ./old/*.deb
check_version "$version~"
install ./*.deb
check_version "$version"

# Without any OpenCL.
relayout show 'u8[2,3]{0,1}'
python3 -c 'import relayout; print(relayout.__version__)'

# Names, to be split at their spaces.
# shellcheck disable=SC2086
apt-get -q -y purge $names
left=$(find / -xdev -name '*relayout*' ! -path '/deb/*' ! -path '/proc/*')
[ -z "$left" ] || fail "left after removal: $left"

install autopkgtest
autopkgtest ./*.deb ./*.dsc -- null
