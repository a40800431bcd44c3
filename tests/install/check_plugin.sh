#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A shared object with kernels of its own needs nothing but what is installed.
#   check_plugin.sh <build folder> <work folder> <C compiler> <cmake>
set -eu

build=$1
work=$2
cc=$3
cmake=$4
here=$(cd "$(dirname "$0")" && pwd)

quietly() {
  "$@" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
}

rm -rf "$work"
mkdir -p "$work"
quietly "$cmake" --install "$build" --prefix "$work/prefix"
quietly "$cmake" -S "$here/plugin" -B "$work/build" \
  "-DCMAKE_PREFIX_PATH=$work/prefix" "-DCMAKE_C_COMPILER=$cc" \
  "-DEXAMPLES_DIR=$here/../../docs/examples"
quietly "$cmake" --build "$work/build"
"$work/build/custom_kernel" "$work/build/libmultiply.so"
"$work/build/custom_gradient"
