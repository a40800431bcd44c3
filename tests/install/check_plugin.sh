#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Programs with kernels or launches of their own need nothing but what is installed: the
# examples as they are installed, and what getting_started.md says, word for word.
#   check_plugin.sh <build folder> <work folder> <C compiler> <cmake> <python3>
set -eu

build=$1
work=$2
cc=$3
cmake=$4
python=$5
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
documents=$work/prefix/share/doc/relayout
quietly "$cmake" -S "$here/plugin" -B "$work/build" \
  "-DCMAKE_PREFIX_PATH=$work/prefix" "-DCMAKE_C_COMPILER=$cc" \
  "-DEXAMPLES_DIR=$documents/docs/examples"
quietly "$cmake" --build "$work/build"
"$work/build/custom_kernel" "$work/build/libmultiply.so"
"$work/build/custom_gradient"
"$work/build/batch"
"$work/build/runtime"
if readelf -d "$work/build/runtime" | grep 'NEEDED.*libOpenCL'; then
  echo "the example of a runtime is linked with OpenCL's loader"
  exit 1
fi
if [ -n "$python" ]; then
  "$python" "$here/check_documents.py" "$work/prefix" "$here/../.."
  CC=$cc
  export CC
  "$python" "$here/check_page.py" "$work/prefix" \
    "$documents/docs/getting_started.md" "$work/first"
  # These say lib/pkgconfig, which has other names on some systems.
  if command -v pkg-config >/dev/null && [ -d "$work/prefix/lib/pkgconfig" ]; then
    "$python" "$here/check_page.py" "$work/prefix" \
      "$documents/docs/engine.md" "$work/kernels"
    "$python" "$here/check_page.py" "$work/prefix" \
      "$documents/docs/shapes.md" "$work/quantize"
  fi
fi
