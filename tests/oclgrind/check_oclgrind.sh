#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Run a program in Oclgrind and judge by the log, because Oclgrind's exit status
# does not tell:
#   check_oclgrind.sh <oclgrind> <checks> clean|fault <log> <program> [<arg>...]
set -u

oclgrind=$1
checks=$2
expected=$3
log=$4
shift 4

rm -f "$log"
# The checks are options, to be split at their spaces.
# shellcheck disable=SC2086
if ! "$oclgrind" $checks --max-errors 2000 --log "$log" "$@"; then
  echo "the program itself failed"
  exit 1
fi
# Clang may store a vector that is put together from elements as undef first, and
# then each element, which counts as a value that nobody wrote.
awk 'BEGIN { RS = ""; ORS = "\n\n" } !/store <[0-9]+ x i(16|32)> undef,/' "$log" \
  >"$log.faults" || exit 1
if [ -s "$log.faults" ]; then
  found=fault
  head -n 60 "$log.faults"
else
  found=clean
fi
echo "expected: $expected; found: $found"
[ "$found" = "$expected" ]
