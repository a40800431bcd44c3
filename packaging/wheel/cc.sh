#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The compiler of a wheel: gcc compiles, zig links, which knows the symbols of older C
# libraries than this system's. We call nothing later than statx, which is of 2.28.
gcc=$WHEEL_ARCH-linux-gnu-gcc
for word; do
  case $word in
    -c | -E | -S | -v | --version | -dump* | -print*) exec "$gcc" "--sysroot=$WHEEL_SYSTEM" "$@" ;;
  esac
done
exec "$WHEEL_VENV/bin/python" -m ziglang cc -target "$WHEEL_ARCH-linux-gnu.2.28" "$@" \
  "$("$gcc" -print-libgcc-file-name)"
