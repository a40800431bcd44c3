#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The library on another machine or system, or by another compiler; ./dev matrix
# calls it. Prints a row of docs/testing.md, and fails if the row does not say
# that everything passed.
#   run_machine.sh gcc|clang|gcc-N|clang-N   all targets, warnings being errors
#   run_machine.sh i386                      host suites of unit and engine
#   run_machine.sh arm64                     the same, under qemu
#   run_machine.sh s390x                     that the compiler refuses it
#   run_machine.sh bookworm|trixie|noble     ./dev demo and ./dev test, from nothing, by
#                                            root, then by two users at once
# All but compilers need root and a mirror of Debian (MIRROR). A system that was
# unpacked stays in build/matrix/NAME and is used again, but for those of the last line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly NAME=$1
readonly WORK=$PWD/build/matrix/$NAME
readonly LOG=$PWD/build/matrix/$NAME.log
# What the host suites are built with.
readonly PACKAGES=libc6-dev,cmake,make,pkg-config,check,libsubunit-dev,ocl-icd-opencl-dev,opencl-headers,libjansson-dev,python3-minimal
readonly TARGETS='unit_tests engine_tests'
# Under emulation the first does not end within its time, the second does too little in
# it, and no address space is limited for the third.
readonly NOT_EMULATED='^test_(variants|service_random(_low)?|available)$'
# What the command and the benches are tested by.
readonly OTHERS='^test_(bench|cli)'
# shellcheck source=tests/matrix/system.sh
. tests/matrix/system.sh

# row WHAT RESULT: RESULT is the last line.
row() {
  printf '| %s | %s |\n' "$1" "$2"
}

fail() {
  row "$NAME" "$1: $LOG"
  exit 1
}

# What ctest says of the suites: "N% tests passed, ..." without its sentence's end.
verdict() {
  sed -n 's/\(.*% tests passed\), \(.*\)/\1, \2/p' "$LOG" | tail -n 1
}

# Fail unless each suite passed; then print the row.
report() {
  local said
  said=$(verdict)
  [[ $said == 100%* ]] || fail "${said:-no test was run}"
  row "$1" "$said"
}

by_compiler() {
  cmake -S . -B "$WORK" -DCMAKE_C_COMPILER="$NAME" -DRELAYOUT_WERROR=ON
  cmake --build "$WORK" -j "$JOBS"
  ctest --test-dir "$WORK" -L host -R '^test_' -j "$JOBS"
}

by_i386() {
  if [[ ! -e $WORK/unpacked ]]; then
    rm -rf "$WORK"
    debootstrap --arch=i386 --variant=minbase --include="gcc,$PACKAGES" bookworm \
      "$WORK" "$MIRROR"
    touch "$WORK/unpacked"
  fi
  copy_tree "$WORK/relayout"
  # shellcheck disable=SC2016  # the system's own variables
  in_system "$WORK" sh -ec 'cd /relayout; cmake -S . -B build
    cmake --build build -j "$JOBS" --target '"$TARGETS"'
    ctest --test-dir build -L host -R "^test_" -E "'"$OTHERS"'" -j "$JOBS"'
}

by_arm64() {
  if [[ ! -e $WORK/unpacked ]]; then
    rm -rf "$WORK"
    unpack "$WORK" arm64 "$PACKAGES"
    touch "$WORK/unpacked"
  fi
  export PKG_CONFIG_SYSROOT_DIR=$WORK
  export PKG_CONFIG_LIBDIR=$WORK/usr/lib/aarch64-linux-gnu/pkgconfig:$WORK/usr/share/pkgconfig
  cmake -S . -B "$WORK/build" -DCMAKE_SYSTEM_NAME=Linux \
    -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
    -DCMAKE_SYSROOT="$WORK" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER \
    -DCMAKE_CROSSCOMPILING_EMULATOR="qemu-aarch64;-L;$WORK" \
    -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
  # shellcheck disable=SC2086  # two words
  cmake --build "$WORK/build" -j "$JOBS" --target $TARGETS
  ctest --test-dir "$WORK/build" -L host -R '^test_' -E "$OTHERS|$NOT_EMULATED" -j "$JOBS"
}

by_s390x() {
  ! s390x-linux-gnu-gcc -fsyntax-only -Iinclude src/base/version.c
}

# by_user NAME HOME VERB...: ./dev VERB in /NAME for each, by a user who can write to it and
# to /tmp only.
by_user() {
  # shellcheck disable=SC2016  # the inner shell's variables
  in_system "$WORK" HOME="$2" setpriv --reuid "$1" --regid "$1" --clear-groups \
    sh -ec 'cd "/$1"; shift; for verb; do ./dev "$verb"; done' sh "$1" "${@:3}"
}

# A clean system and clean trees, as for a person who has just got both: first one who is
# told what to ask root for; then root, who builds without what is optional before it is
# installed; then at once one whose home is not there and one whose home is root's.
by_release() {
  local user first
  new_system "$WORK" "$NAME" || return
  mkdir "$WORK/home/games"
  for user in root daemon games; do
    copy_tree "$WORK/$user"
    chroot "$WORK" chown -R "$user" "/$user"
  done
  by_user daemon /nonexistent test >"$LOG.told" 2>&1 && return 1
  grep "^dev: .*apt-get install .*pocl-opencl-icd" "$LOG.told" || return
  by_user root /root demo build test || return
  by_user daemon /nonexistent demo test >"$LOG.daemon" 2>&1 &
  first=$!
  by_user games /home/games demo test || {
    wait "$first"
    return 1
  }
  wait "$first" || {
    cat "$LOG.daemon"
    return 1
  }
}

mkdir -p build/matrix
case $NAME in
  gcc | clang | gcc-* | clang-*)
    by_compiler >"$LOG" 2>&1 || fail "$(verdict)"
    report "$("$NAME" --version | head -n 1)"
    ;;
  i386)
    by_i386 >"$LOG" 2>&1 || fail "$(verdict)"
    report "i386, $(chroot "$WORK" gcc -dumpfullversion | sed 's/^/gcc /')"
    ;;
  arm64)
    by_arm64 >"$LOG" 2>&1 || fail "$(verdict)"
    report "arm64, gcc $(aarch64-linux-gnu-gcc -dumpfullversion), qemu"
    ;;
  s390x)
    by_s390x >"$LOG" 2>&1 || fail "it is not refused"
    grep -q 'stores the low byte of a number first' "$LOG" || fail "no sentence"
    row "s390x" "refused by the compiler, with a sentence"
    ;;
  bookworm | trixie | noble)
    by_release >"$LOG" 2>&1 || fail "$(verdict)"
    # shellcheck source=/dev/null
    report "$(. "$WORK/etc/os-release"; printf %s "$PRETTY_NAME"), root and two users at once"
    ;;
  *)
    printf 'run_machine.sh: %s is no compiler, machine or release\n' "$NAME" >&2
    exit 2
    ;;
esac
