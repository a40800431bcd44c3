#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The linker of PoCL's compiler, which takes it from COMPILER_PATH. To read libm, libgcc
# and libc for each kernel takes a seventh of the time to compile it, and a kernel uses
# functions of the program alone, which has them. Whatever else is linked is linked by
# the linker as it is.
case "$*" in
  *" -o $POCL_CACHE_DIR/"*)
    for word; do
      shift
      case $word in
        -l*) ;;
        *) set -- "$@" "$word" ;;
      esac
    done
    ;;
esac
exec ld "$@"
