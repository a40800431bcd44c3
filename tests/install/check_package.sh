#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What a packager relies on: components, flags of his own, and a parent project that
# gets the library alone.
#   check_package.sh <build folder> <work folder> <source folder> <C compiler> <cmake>
#   check_package.sh --static <the same>: builds and installs static libraries, too,
#   and programs with them.
#   check_package.sh --core <the same> <python3> <ABI>: the core alone.
set -eu

mode=package
case $1 in
  --*)
    mode=$1
    shift
    ;;
esac
build=$1
work=$2
source=$3
cc=$4
cmake=$5
here=$(cd "$(dirname "$0")" && pwd)

fail() {
  printf '%s\n' "$*"
  exit 1
}

quietly() {
  "$@" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
}

# What another component has, none has.
check_components() {
  for component in runtime dev command doc; do
    quietly "$cmake" --install "$build" --prefix "$work/$component" \
      --component "$component"
  done
  quietly "$cmake" --install "$build" --prefix "$work/all"
  for component in runtime dev command doc; do
    (cd "$work/$component" && find . -type f -o -type l) >"$work/files"
    case $component in
      runtime) wrong=$(grep -v '/librelayout[a-z-]*\.so\.[0-9.]*$' "$work/files") ;;
      dev) wrong=$(grep -v '/include/relayout/\|/relayout[A-Za-z-]*\.cmake$\|/relayout[a-z-]*\.pc$\|/librelayout[a-z-]*\.\(so\|a\)$' "$work/files") ;;
      command) wrong=$(grep -v '/bin/relayout\|/share/man/\|/completions/relayout$\|/site-functions/_relayout$' "$work/files") ;;
      doc) wrong=$(grep -v '^\./share/doc/' "$work/files") ;;
    esac || true
    [ -s "$work/files" ] || fail "component $component is empty"
    [ -z "$wrong" ] || fail "component $component has $wrong"
    cat "$work/files" >>"$work/parts"
  done
  (cd "$work/all" && find . -type f -o -type l) | sort >"$work/files"
  sort "$work/parts" | cmp - "$work/files" ||
    fail "the components are not all that is installed, once"
}

# configure <folder> <source> <option>...
configure() {
  folder=$1
  from=$2
  shift 2
  quietly "$cmake" -S "$from" -B "$folder" "-DCMAKE_C_COMPILER=$cc" \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@"
}

check_flags() {
  configure "$work/flags" "$source" -DRELAYOUT_BUILD_TESTS=OFF \
    -DRELAYOUT_BUILD_COMMAND=OFF -DRELAYOUT_BUILD_MPI=OFF \
    -DRELAYOUT_BUILD_SAFETENSORS=OFF -DRELAYOUT_INSTALL=OFF \
    "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -DPACKAGER"
  commands=$work/flags/compile_commands.json
  grep -q -e '-O1 -DPACKAGER' "$commands" || fail "the packager's flags are lost"
  if grep -q -e ' -O2' "$commands"; then
    fail "the project's flags stand beside the packager's"
  fi
  "$cmake" --build "$work/flags" --target help >"$work/targets"
  if grep -q 'relayout_command\|relayout_mpi\|relayout_safetensors' "$work/targets"; then
    fail "a target that was switched off is there"
  fi
  quietly "$cmake" --install "$work/flags" --prefix "$work/nothing"
  [ ! -e "$work/nothing" ] || fail "RELAYOUT_INSTALL=OFF installs something"
}

# A parent project, which has a library of its own by the same rule.
check_parent() {
  mkdir "$work/parent"
  cat >"$work/parent/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(parent C)
add_subdirectory("$source" relayout)
get_target_property(type relayout TYPE)
file(WRITE "\${CMAKE_BINARY_DIR}/type" "\${type}")
END
  for shared in "" -DBUILD_SHARED_LIBS=OFF; do
    wanted=SHARED_LIBRARY
    [ -z "$shared" ] || wanted=STATIC_LIBRARY
    configure "$work/parent/build" "$work/parent" ${shared:+"$shared"}
    [ "$(cat "$work/parent/build/type")" = "$wanted" ] ||
      fail "with '$shared' the library is no $wanted"
  done
  "$cmake" --build "$work/parent/build" --target help >"$work/targets"
  grep -q '[. ]relayout$' "$work/targets" || fail "there is no library"
  if grep 'relayout_command\|relayout_mpi\|relayout_safetensors\|_tests\|bench' \
    "$work/targets"; then
    fail "a parent project gets more than the library"
  fi
  quietly "$cmake" --install "$work/parent/build" --prefix "$work/nothing"
  [ ! -e "$work/nothing" ] || fail "a parent project installs the library"
}

check_static() {
  configure "$work/static" "$source" -DRELAYOUT_BUILD_TESTS=OFF \
    -DBUILD_SHARED_LIBS=OFF -DRELAYOUT_BUILD_MPI=OFF
  quietly "$cmake" --build "$work/static" -j 2
  quietly "$cmake" --install "$work/static" --prefix "$work/prefix"
  "$work/prefix/bin/relayout" help >/dev/null
  configure "$work/consumer" "$here/consumer" "-DCMAKE_PREFIX_PATH=$work/prefix"
  quietly "$cmake" --build "$work/consumer"
  "$work/consumer/consumer"
  if [ -x "$work/consumer/proto_consumer" ]; then
    "$work/consumer/proto_consumer"
  fi
  pc=$(find "$work/prefix" -name relayout.pc)
  PKG_CONFIG_PATH=$(dirname "$pc")
  export PKG_CONFIG_PATH
  # Options, to be split at their spaces.
  # shellcheck disable=SC2046
  quietly "$cc" -std=c11 "$here/consumer/consumer.c" -o "$work/by_pkg_config" \
    $(pkg-config --cflags --libs --static relayout)
  "$work/by_pkg_config"
}

# link_core <kind> <example> <option of pkg-config>...
link_core() {
  prefix=$work/$1
  program=$work/$1_$2
  program_source=$source/docs/examples/$2.c
  shift 2
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name relayout.pc)")
  export PKG_CONFIG_PATH
  # Options, to be split at their spaces.
  # shellcheck disable=SC2046
  quietly "$cc" -std=c11 "$program_source" -o "$program" \
    $(pkg-config --cflags --libs "$@" relayout) -ldl
  LD_LIBRARY_PATH=$(pkg-config --variable=libdir relayout) "$program" >/dev/null ||
    fail "$program fails"
}

# Headers that need one which is not there do not compile, and one too many declares what
# is not exported.
check_core() {
  for kind in static shared; do
    is_shared=ON
    [ $kind = shared ] || is_shared=OFF
    configure "$work/core" "$source" -DRELAYOUT_PROFILE=core \
      -DBUILD_SHARED_LIBS=$is_shared
    quietly "$cmake" --build "$work/core" -j 2
    quietly "$cmake" --install "$work/core" --prefix "$work/$kind" --component dev
    quietly "$cmake" --install "$work/core" --prefix "$work/$kind" --component runtime
  done
  (cd "$work/shared" && find . -type f -o -type l) >"$work/files"
  wrong=$(grep -v '/relayout/[a-z_]*\.h$\|/relayout[A-Za-z-]*\.cmake$\|/relayout\.pc$\|/librelayout\.so' \
    "$work/files") || true
  [ -z "$wrong" ] || fail "the core has $wrong"
  [ ! -e "$work/shared/include/relayout/xla" ] || fail "the core has a folder of XLA's headers"
  quietly sh "$here/../headers/check_headers.sh" "$cc" "" "$work/shared/include"
  quietly "$python" "$here/check_exports.py" "$work/shared/include" "$abi" \
    "$(find "$work/shared" -name 'librelayout.so')"
  for example in hello runtime; do
    link_core shared "$example"
    link_core static "$example" --static
  done
  configure "$work/refused" "$source" -DRELAYOUT_PROFILE=core
  if "$cmake" "$work/refused" -DRELAYOUT_BUILD_COMMAND=ON >"$work/log" 2>&1; then
    fail "the core is built with the command"
  fi
  grep -q 'RELAYOUT_BUILD_COMMAND needs RELAYOUT_PROFILE=full' "$work/log" ||
    fail "$(cat "$work/log")"
}

rm -rf "$work"
mkdir -p "$work"
case $mode in
  --static)
    check_static
    ;;
  --core)
    python=$6
    abi=$7
    check_core
    ;;
  *)
    check_components
    check_flags
    check_parent
    ;;
esac
