#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the part of PoCL's kernel library that a header declares.

    used_library.py LIBPOCL OPENCL_C_H IN.bc OUT.bc

PoCL reads its library of built-in functions, nine megabytes of bitcode, in every
OpenCL context that compiles a program, which takes 0.6 s. OUT has the functions that
OPENCL_C_H declares (used_builtins.py) and what they call. A function that is missing
is an error of linking, so no test can pass because of this. Where the LLVM of LIBPOCL
cannot do it, OUT is a link to IN. Does nothing if OUT has these functions.
"""

import ctypes
import pathlib
import re
import subprocess
import sys

import used_builtins

INTERNAL_LINKAGE = 8


def built_in_name(symbol):
    """What OpenCL C calls a function of the library; None for PoCL's own, and a
    name of no built-in function for those that only others call."""
    match = re.match(r"_Z(\d+)", symbol)
    if not match:
        return "Sleef" if symbol.startswith("Sleef") else None
    start = match.end()
    return symbol[start:start + int(match.group(1))].removeprefix("_cl_")


def open_llvm(libpocl):
    needed = subprocess.run(["ldd", libpocl], capture_output=True, text=True,
                            check=True).stdout
    path = re.search(r"=> (\S*libLLVM\S*)", needed).group(1)
    llvm = ctypes.CDLL(path)
    for name in ("LLVMGetFirstFunction", "LLVMGetNextFunction",
                 "LLVMGetGlobalContext", "LLVMCreatePassBuilderOptions",
                 "LLVMRunPasses", "LLVMGetGlobalParent"):
        getattr(llvm, name).restype = ctypes.c_void_p
    llvm.LLVMGetValueName2.restype = ctypes.c_char_p
    return llvm


def functions(llvm, module):
    function = llvm.LLVMGetFirstFunction(module)
    while function:
        yield ctypes.c_void_p(function)
        function = llvm.LLVMGetNextFunction(ctypes.c_void_p(function))


def reduce_library(libpocl, library, out, names):
    llvm = open_llvm(libpocl)
    buffer, module = ctypes.c_void_p(), ctypes.c_void_p()
    context = ctypes.c_void_p(llvm.LLVMGetGlobalContext())
    message = ctypes.c_char_p()
    if llvm.LLVMCreateMemoryBufferWithContentsOfFile(
            library.encode(), ctypes.byref(buffer), ctypes.byref(message)):
        raise OSError(message.value)
    if llvm.LLVMParseBitcodeInContext2(context, buffer, ctypes.byref(module)):
        raise ValueError(f"{library} is no bitcode of this LLVM")
    for function in functions(llvm, module):
        length = ctypes.c_size_t()
        symbol = llvm.LLVMGetValueName2(function, ctypes.byref(length)).decode()
        if (not llvm.LLVMIsDeclaration(function)
                and built_in_name(symbol) not in names | {None}):
            llvm.LLVMSetLinkage(function, INTERNAL_LINKAGE)
    options = ctypes.c_void_p(llvm.LLVMCreatePassBuilderOptions())
    if llvm.LLVMRunPasses(module, b"globaldce", None, options):
        raise ValueError("globaldce failed")
    if llvm.LLVMWriteBitcodeToFile(module, str(out).encode()):
        raise OSError(f"cannot write {out}")


def main(libpocl, header, library, out):
    names = {used_builtins.function_name(statement) for statement in
             used_builtins.statements(pathlib.Path(header).read_text())}
    out = pathlib.Path(out)
    # What OUT was made of.
    record = out.with_suffix(".txt")
    text = "\n".join([library, *sorted(names - {None})]) + "\n"
    if out.exists() and record.exists() and record.read_text() == text:
        return
    new = out.with_suffix(".new")
    new.unlink(missing_ok=True)
    try:
        reduce_library(libpocl, library, new, names)
    except (OSError, ValueError, AttributeError,
            subprocess.SubprocessError) as error:
        print(f"PoCL's library is used as it is: {error}")
        new.symlink_to(library)
    new.replace(out)
    record.write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
