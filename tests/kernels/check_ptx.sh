#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What clang makes of the kernels for GPUs, for one kind of GPU: no private
# memory and no division of 64 bits, moves of 16 bytes where they should be, and
# a rounding for each product and each sum.
#   check_ptx.sh <clang> <cl folder>
# Exits with 77 if this clang knows no such GPU.
set -u

clang=$1
folder=$2
count=0
failed=0

target=nvptx64-nvidia-nvcl
if ! "$clang" --print-targets | grep -q nvptx64; then
  echo "$clang does not compile for $target"
  exit 77
fi

# assemble <file> [-DNAME=value...]
assemble() {
  "$clang" -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -O3 \
    -target "$target" -w -I "$folder" -S -o - "$@"
}

fail() {
  echo "$*"
  failed=$((failed + 1))
}

# check_kernel <file> [-DNAME=value...]
check_kernel() {
  count=$((count + 1))
  text=$(assemble "$@") || {
    fail "$* does not compile"
    return
  }
  if echo "$text" | grep -qE '__local_depot'; then
    fail "$*: something lies in private memory"
  fi
  if echo "$text" | grep -qE '(div|rem)\.[su]64'; then
    fail "$*: 64 bits are divided"
  fi
}

# check_wide <file> [-DNAME=value...]: reads and writes 16 bytes at once.
check_wide() {
  count=$((count + 1))
  text=$(assemble "$@")
  for move in ld st; do
    if ! echo "$text" | grep -qE "$move\.global\.(v4\.u32|v2\.u64)"; then
      fail "$*: there is no $move of 16 bytes"
    fi
  done
}

# check_rounding <file> [-DNAME=value...]: no product is part of a sum, and by
# ".rn" it stays so (an assembler may join mul.f32 and add.f32).
check_rounding() {
  count=$((count + 1))
  text=$(assemble "$@")
  if echo "$text" | grep -qE '(fma\.rn|mad\.rn|mul|add)\.f(32|64)'; then
    fail "$*: a product and a sum are rounded once"
  fi
}

# The kernels of the GPU class: its own, and those of both classes.
for file in "$folder"/gpu_*.cl "$folder/gather.cl" "$folder/compute.cl"; do
  case $file in */gpu_common.cl) continue ;; esac
  [ -e "$file" ] || continue
  check_kernel "$file"
  lines=$(sed -n 's|^// define-matrix:||p' "$file")
  old_ifs=$IFS
  IFS='
'
  for line in $lines; do
    IFS=' '
    # The line is a list of options, to be split at its spaces.
    # shellcheck disable=SC2086
    check_kernel "$file" $line
  done
  IFS=$old_ifs
done
check_rounding "$folder/compute.cl" -DRLO_BETA=1
check_rounding "$folder/compute.cl" -DRLO_BETA=1 -DRLO_COMPUTE=2
if [ -e "$folder/gpu_compute_sum.cl" ]; then
  check_rounding "$folder/gpu_compute_sum.cl"
fi
check_wide "$folder/gpu_copy.cl"
check_wide "$folder/gpu_rows.cl" -DRLO_UNIT_BYTES=1 -DRLO_WIDE_UNITS=16
check_wide "$folder/gpu_skinny.cl" -DRLO_UNIT_BYTES=1
check_wide "$folder/gpu_tile.cl" -DRLO_TILE_A=64 -DRLO_TILE_B=64 -DRLO_SQUARE=4
check_wide "$folder/gpu_tile.cl" -DRLO_UNIT_BYTES=8 -DRLO_TILE_A=64 \
  -DRLO_SQUARE=2
check_wide "$folder/gpu_packed.cl" -DRLO_UNIT_BYTES=16

echo "$count compiled, $failed failed"
[ "$failed" -eq 0 ]
