#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A binding that knows no size of a struct: a relayout on the host by ctypes.

    binding.py LIBRARY
"""

import ctypes
import os
import sys


class Error(ctypes.Structure):
    """The beginning of rlo_error."""
    _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char_p)]


def load(path):
    library = ctypes.CDLL(path)
    library.rlo_error_last.restype = ctypes.POINTER(Error)
    library.rlo_version_string.restype = ctypes.c_char_p
    for name in "src", "dst", "index":
        function = getattr(library, "rlo_problem_%s_bytes" % name)
        function.restype = ctypes.c_int64
        function.argtypes = [ctypes.c_void_p]
    library.rlo_shape_parse.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]
    for name in "rlo_shape_release", "rlo_problem_release":
        getattr(library, name).argtypes = [ctypes.c_void_p]
        getattr(library, name).restype = None
    library.rlo_relayout_lower.argtypes = [ctypes.c_void_p] * 4
    library.rlo_run_host.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int32]
    return library


class Relayout:
    """A relayout between two shapes in XLA's notation."""

    def __init__(self, library, src, dst):
        self.library = library
        self.problem = self.create("problem")
        shapes = [self.create("shape"), self.create("shape")]
        try:
            for shape, text in zip(shapes, (src, dst)):
                raw = text.encode()
                self.check(library.rlo_shape_parse(raw, len(raw), shape))
            self.check(library.rlo_relayout_lower(
                shapes[0], shapes[1], None, self.problem))
        finally:
            for shape in shapes:
                library.rlo_shape_release(shape)

    def create(self, kind):
        thing = ctypes.c_void_p()
        create = getattr(self.library, "rlo_%s_create" % kind)
        self.check(create(ctypes.byref(thing)))
        return thing

    def check(self, status):
        if status != 0:
            last = self.library.rlo_error_last().contents
            raise ValueError(last.message.decode())

    def run(self, data):
        assert len(data) == self.library.rlo_problem_src_bytes(self.problem)
        assert self.library.rlo_problem_index_bytes(self.problem) == 0
        out = ctypes.create_string_buffer(
            self.library.rlo_problem_dst_bytes(self.problem))
        self.check(self.library.rlo_run_host(
            self.problem, data, None, out, os.cpu_count() or 1))
        return out.raw

    def release(self):
        self.library.rlo_problem_release(self.problem)


def main():
    library = load(sys.argv[1])
    print("relayout", library.rlo_version_string().decode())
    relayout = Relayout(library, "u8[2,3]{1,0}",
                        "u8[2,3]{0,1:pad(3,5)fill(0x2e)}")
    moved = relayout.run(b"abcdef")
    relayout.release()
    if moved != b"ad.be.cf.......":
        print("moved:", moved)
        return 1
    try:
        Relayout(library, "u8[2,3]", "u8[3,2]")
    except ValueError as error:
        print("refused:", error)
        return 0
    print("other dimensions were not refused")
    return 1


if __name__ == "__main__":
    sys.exit(main())
