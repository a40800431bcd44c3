#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The command moves an array on PoCL's device, and back on the host: the same array.
set -eu
cd "$AUTOPKGTEST_TMP"
export POCL_CACHE_DIR="$PWD" XDG_CACHE_HOME="$PWD"

relayout devices | grep 'opencl:\|pocl\|Portable'
head -c 6000000 /dev/urandom >rows.bin
relayout convert rows.bin columns.npy --from 'u8[2000,3000]' --perm 1,0 --device pocl --verify
relayout convert columns.npy back.bin --perm 1,0 --host
cmp rows.bin back.bin
relayout digest rows.bin --from 'u8[2000,3000]'
