#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every kernel file compiles alone, with its defaults and with each line of
#   // define-matrix: -DA=1 -DB=2
# in its head, as OpenCL C 1.2:
#   check_kernels.sh <clang> <cl folder>
# A line that is broken in two would be lost without a word: it fails. Nothing is
# declared but what builtins.cl in the folder declares, if it is there.
set -u

clang=$1
folder=$2
count=0
failed=0

declarations="-Xclang -finclude-default-header"
if [ -e "$folder/builtins.cl" ]; then
  declarations="-cl-no-stdinc -include opencl-c-base.h"
  declarations="$declarations -DRLO_BUILTINS=1 -DRLO_COMPILE_ONCE=1"
  declarations="$declarations -include $folder/builtins.cl"
fi

# Nobody uses all helpers of cpu_common.cl, hence -Wno-unused-function.
# check_kernel <file> [-DNAME=value...]
check_kernel() {
  file=$1
  shift
  count=$((count + 1))
  # Options, to be split at their spaces.
  # shellcheck disable=SC2086
  if ! "$clang" -x cl -cl-std=CL1.2 -fsyntax-only $declarations \
    -Wall -Wno-unused-function -Werror -I "$folder" "$@" "$file"; then
    echo "$(basename "$file") does not compile with: $*"
    failed=$((failed + 1))
  fi
}

for file in "$folder"/*.cl; do
  [ -e "$file" ] || continue
  check_kernel "$file"
  if grep -nE '.define-matrix:|^// -D' "$file" |
    grep -vE '^[0-9]+:// define-matrix:'; then
    echo "$(basename "$file") breaks a define-matrix line"
    failed=$((failed + 1))
  fi
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

echo "$count compiled, $failed failed"
[ "$failed" -eq 0 ]
