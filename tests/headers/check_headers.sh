#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every public header compiles alone and twice over, as C11 and as C++17:
#   check_headers.sh <C compiler> <C++ compiler> <include folder> [option...]
# An empty name of a compiler leaves its half out. relayout/mpi.h is left out where
# <mpi.h> is not found.
set -u

cc=$1
cxx=$2
include=$3
shift 3

count=0
failed=0

# check_header <header> <compiler> <language> <standard> [option...]
check_header() {
  header=$1
  compiler=$2
  language=$3
  standard=$4
  shift 4
  count=$((count + 1))
  # The last line keeps a header of macros only from being an empty file.
  if ! printf '#include "%s"\n#include "%s"\ntypedef int header_check;\n' \
    "$header" "$header" |
    "$compiler" -x "$language" "-std=$standard" -pedantic -Wall -Wextra \
      -Werror -fsyntax-only "-I$include" "$@" -; then
    echo "$header does not compile alone as $standard"
    failed=$((failed + 1))
  fi
}

for path in "$include"/relayout/*.h "$include"/relayout/*/*.h; do
  if [ ! -e "$path" ]; then
    continue
  fi
  header=${path#"$include"/}
  if [ "$header" = relayout/mpi.h ] && [ -n "$cc" ] &&
    ! echo '#include <mpi.h>' | "$cc" -x c -fsyntax-only "$@" - 2>/dev/null; then
    continue
  fi
  if [ -n "$cc" ]; then
    check_header "$header" "$cc" c c11 -Wstrict-prototypes "$@"
  fi
  if [ -n "$cxx" ]; then
    check_header "$header" "$cxx" c++ c++17 "$@"
  fi
done

echo "$count compiled, $failed failed"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
