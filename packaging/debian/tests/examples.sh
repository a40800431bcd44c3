#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The examples are compiled by pkg-config with what is installed, and run on PoCL; other
# programs by CMake.
set -eu
work=$AUTOPKGTEST_TMP
export POCL_CACHE_DIR="$work" XDG_CACHE_HOME="$work" LD_LIBRARY_PATH="$work"
cd docs/examples

# compile <source> <program> <option>...
compile() {
  source=$1
  program=$2
  shift 2
  # Options, to be split at their spaces.
  # shellcheck disable=SC2046
  cc "$source" -o "$work/$program" -DCL_TARGET_OPENCL_VERSION=120 "-L$work" "$@" \
    $(pkg-config --cflags --libs relayout-safetensors OpenCL)
}

compile multiply.c libmultiply.so -shared -fPIC
for file in *.c; do
  name=${file%.c}
  case $name in multiply | redistribute_mpi) continue ;; esac
  printf '== %s\n' "$name"
  compile "$file" "$name" -lmultiply
  # The path is for the one that loads it.
  "$work/$name" "$work/libmultiply.so"
done

cmake -S ../../tests/install/consumer -B "$work/consumer"
cmake --build "$work/consumer"
"$work/consumer/consumer"
"$work/consumer/safetensors_consumer"
