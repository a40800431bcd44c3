#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What is installed can be used: by CMake, by pkg-config, and after a move.
#   check_install.sh <build folder> <work folder> <C compiler> <cmake>
set -eu

build=$1
work=$2
cc=$3
cmake=$4
here=$(cd "$(dirname "$0")" && pwd)

rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved"

"$cmake" -S "$here/consumer" -B "$work/by_cmake" \
  "-DCMAKE_PREFIX_PATH=$work/moved" "-DCMAKE_C_COMPILER=$cc" \
  >"$work/configure.log" || {
  cat "$work/configure.log"
  exit 1
}
"$cmake" --build "$work/by_cmake" >"$work/build.log" || {
  cat "$work/build.log"
  exit 1
}
"$work/by_cmake/consumer"
"$work/by_cmake/proto_consumer"

if [ -x "$work/by_cmake/safetensors_consumer" ]; then
  "$work/by_cmake/safetensors_consumer"
fi

# The component of MPI. One process needs no mpirun, and no leave to be root.
if [ -x "$work/by_cmake/mpi_consumer" ]; then
  "$work/by_cmake/mpi_consumer"
fi

if command -v pkg-config >/dev/null; then
  pc=$(find "$work/moved" -name relayout.pc)
  PKG_CONFIG_PATH=$(dirname "$pc")
  export PKG_CONFIG_PATH
  # Options, to be split at their spaces.
  # shellcheck disable=SC2046
  "$cc" -std=c11 "$here/consumer/consumer.c" -o "$work/by_pkg_config" \
    $(pkg-config --cflags --libs relayout)
  LD_LIBRARY_PATH=$(pkg-config --variable=libdir relayout) \
    "$work/by_pkg_config"
  if [ -x "$work/by_cmake/mpi_consumer" ] && command -v mpicc >/dev/null; then
    # shellcheck disable=SC2046
    mpicc -std=c11 "$here/consumer/mpi_consumer.c" -o "$work/mpi_by_pkg_config" \
      $(pkg-config --cflags --libs relayout-mpi)
    LD_LIBRARY_PATH=$(pkg-config --variable=libdir relayout-mpi) \
      "$work/mpi_by_pkg_config"
  fi
fi

# Nothing needs OpenCL's loader, nor does a program that does not call it.
for file in "$work/moved"/lib*/librelayout*.so "$work/moved"/lib*/*/librelayout*.so \
  "$work/moved/bin/relayout" "$work/by_cmake/consumer" "$work/by_pkg_config"; do
  [ -e "$file" ] || continue
  if { ldd "$file" && nm -D -u "$file"; } | grep 'libOpenCL\| cl[A-Z]'; then
    echo "$file needs OpenCL's loader: src/runtime/opencl.c has what is called"
    exit 1
  fi
done

# A page of the manual for each verb, where there is a help2man; completions.
share=$work/moved/share
if [ -d "$share/man/man1" ]; then
  for verb in $("$work/moved/bin/relayout" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    [ "$verb" = help ] || grep -q "^relayout-$verb .-" "$share/man/man1/relayout-$verb.1" || {
      echo "the manual has no page of $verb"
      exit 1
    }
  done
  grep -q '^relayout .-' "$share/man/man1/relayout.1"
fi
cmp "$share/bash-completion/completions/relayout" "$share/zsh/site-functions/_relayout"
if command -v bash >/dev/null; then
  bash -c '. "$0"; complete -p relayout' "$share/bash-completion/completions/relayout" >"$work/log"
fi

# The commands find their libraries by themselves.
"$work/moved/bin/relayout" help >/dev/null
if [ -x "$work/moved/bin/relayout-mpi" ]; then
  "$work/moved/bin/relayout-mpi" help >/dev/null
  [ ! -d "$share/man/man1" ] || grep -q '^relayout-mpi .-' "$share/man/man1/relayout-mpi.1"
elif [ -e "$share/man/man1/relayout-mpi.1" ]; then
  echo "the manual has a page of relayout-mpi, which is not installed"
  exit 1
fi
