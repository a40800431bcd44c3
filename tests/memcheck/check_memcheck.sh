#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Run a program in valgrind's memcheck and judge by its log and its status:
#   check_memcheck.sh <valgrind> clean|<words> <log> <program> [<arg>...]
# The log must have no error, or one with these words. PoCL compiles before, since
# memcheck takes 4 s to watch it compile a program: first a run without valgrind,
# then one that valgrind emulates and nobody watches. Most often the second one finds
# all programs in PoCL's cache; where the machine has instructions that valgrind has
# not, AVX-512, it compiles them for the processor that valgrind emulates.
set -u

valgrind=$1
expected=$2
log=$3
shift 3

suppressions=$(dirname "$0")/memcheck.supp
# What memcheck exits with if it found something, else with the program's status.
found_status=99

if ! "$@" || ! "$valgrind" -q --tool=none "$@"; then
  echo "the program itself failed"
  exit 1
fi
rm -f "$log"
"$valgrind" --error-exitcode=$found_status --suppressions="$suppressions" \
  --log-file="$log" "$@"
status=$?
# A program that ends another way than by its own exit has no summary.
if ! tail -n 1 "$log" | grep 'ERROR SUMMARY'; then
  echo "the log has no summary"
  exit 1
fi
if [ "$status" -ne 0 ]; then
  head -n 80 "$log"
fi
if [ "$expected" = clean ]; then
  [ "$status" -eq 0 ]
else
  [ "$status" -eq "$found_status" ] && grep "$expected" "$log"
fi
