#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write null_calls.c: a call of every public function for each of its pointers.

    generate_null_calls.py INCLUDE_FOLDER OUTPUT [HEADER...]

Reads the functions that the headers of a folder declare with RLO_API, but for the
headers that are named, of components that are not there to be called, and
null_rules.py, which says which pointers may be NULL. All others are refused before
anything else is looked at, so that the other arguments point to zeros; where a
function has reason to look first, the rules have a valid one. Fails, with a
sentence for each, if a rule names what no header declares.
"""

import glob
import os
import re
import sys

import null_rules as rules

DECLARATION = re.compile(r"\bRLO_API\b(?!\s*__)([^;{}()]*?)(rlo_\w+)\s*\(([^;]*?)\)\s*;",
                         re.S)
PARAMETER = re.compile(r"(.*?)(\w+)(\[\d+\])?$", re.S)
# Pointers by another name.
HANDLES = {"cl_context", "cl_device_id", "cl_mem", "cl_command_queue", "cl_event"}
# Functions for which NULL is always legal.
ALWAYS_LEGAL = re.compile(r"_(release|retain|deinit)$")


class Parameter:
    def __init__(self, function, text):
        kind, name, array = PARAMETER.match(" ".join(text.split())).groups()
        self.name = name
        self.kind = kind.strip() + (" *" if array else "")
        self.path = function + "." + name
        self.is_function = self.kind.endswith(("_fn", "_factory"))
        self.is_pointer = ("*" in self.kind or self.is_function or
                           self.kind in HANDLES)
        # Nothing else is done with what a function like _release takes.
        self.is_released = ALWAYS_LEGAL.search(function) is not None
        # A list of objects, whose entries are pointers too.
        self.is_list = self.kind.endswith("*const *")
        self.is_output = ((name.startswith("out_") or name == "outputs")
                          and self.kind.endswith("*"))

    def argument(self, place):
        """What is passed where another argument is NULL: something valid where the
        function looks at it first, else the address of zeros."""
        if self.path in rules.ARGUMENTS:
            return rules.ARGUMENTS[self.path]
        if not self.is_pointer:
            return rules.NUMBERS.get(self.name, "0")
        if self.is_released:
            return "NULL"
        if self.is_output:
            return "(%s)room(o, %d)" % (self.kind, place)
        if self.kind in rules.BY_TYPE:
            return rules.BY_TYPE[self.kind]
        zeros = ("not_called" if self.is_function else
                 "o->pointers" if self.is_list else "(void *)o->zeros")
        return "(%s)%s" % (self.kind, zeros)


class Function:
    def __init__(self, header, result, name, parameters):
        self.header = header
        self.result = " ".join(result.replace("RLO_NODISCARD", "").split())
        self.name = name[len("rlo_"):]
        texts = [t for t in parameters.split(",") if t.split() != ["void"]]
        self.is_variadic = texts[-1:] and texts[-1].strip() == "..."
        self.parameters = [Parameter(self.name, t) for t in texts
                           if t.strip() != "..."]
        self.pointers = [p for p in self.parameters if p.is_pointer]

    def is_legal(self):
        return ALWAYS_LEGAL.search(self.name) is not None


def read_functions(folder):
    functions = []
    for path in sorted(glob.glob(os.path.join(folder, "relayout", "**", "*.h"),
                                 recursive=True)):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        functions += [Function(os.path.basename(path), *d)
                      for d in DECLARATION.findall(text)]
    return functions


def expectation(function, name):
    """The status and a part of the sentence that NULL gives; RLO_OK: whatever comes
    of it, no sentence says that it is NULL."""
    path = function.name + "." + name
    if path in rules.OTHERWISE:
        return rules.OTHERWISE[path]
    if path in rules.OPTIONAL or name == "payload" or function.is_legal():
        return "RLO_OK", "'%s' is NULL" % name
    if name.endswith("]"):
        return "RLO_INVALID_ARGUMENT", "is NULL"
    return "RLO_INVALID_ARGUMENT", "'%s' is NULL" % name


def neutral(function, name):
    """What a function without status returns; None: anything."""
    is_text = function.name.endswith(("_format", "_human_string", "_wisdom"))
    if (function.is_legal() or (is_text and name == "buffer") or
            function.name + "." + name in rules.OPTIONAL):
        return None
    return rules.NEUTRAL.get(function.name, "0")


def write_call(function, cases, releases, out):
    """The C function that calls one, with case `null` NULL."""
    arguments = []
    for place, p in enumerate(function.parameters):
        valid = p.argument(place)
        for case, name in reversed(list(enumerate(cases))):
            if name == p.name and valid != "NULL":
                valid = "null == %d ? NULL : %s" % (case, valid)
            elif name == p.name + "[0]":
                valid = "null == %d ? (%s)(void *)o->zeros : %s" % (
                    case, p.kind, valid)
        arguments.append(valid)
    if function.is_variadic:
        arguments.append('""')
    call = "rlo_%s(%s)" % (function.name, ",\n      ".join(arguments))
    out.append("static void call_%s(objects *o, int null, answer *a) {" %
               function.name)
    out.append("  (void)o;\n  (void)null;\n  (void)a;")
    if function.result == "rlo_status":
        out.append("  a->status = %s;" % call)
    elif function.result == "void":
        out.append("  %s;" % call)
    elif "*" in function.result or function.result in HANDLES:
        out.append("  a->value = (int64_t)(intptr_t)%s;" % call)
    else:
        out.append("  a->value = (int64_t)%s;" % call)
    for place, p in enumerate(function.parameters):
        release = releases.get(p.kind[:-1].strip())
        if release and p.is_output:
            made = "((%s)room(o, %d))[i]" % (p.kind, place)
            out.append("  for (int i = 0; i < 4 && %s != NULL; ++i) {" % made)
            out.append("    %s(%s);\n  }" % (release, made))
    out.append("}\n")


def quote(text):
    return '"' + text.replace('"', '\\"') + '"'


def cases_of(function):
    """The names of the pointers that are NULL, one at a time. Where NULL is legal, a
    function of the caller's would be called."""
    names = [p.name for p in function.pointers]
    names += [p.name + "[0]" for p in function.pointers
              if p.is_list and p.kind != "const void *const *"]
    calls = any(p.is_function for p in function.pointers)
    return [name for name in names
            if function.name + "." + name not in rules.ELSEWHERE and
            not (calls and expectation(function, name)[0] == "RLO_OK")]


def write_function(function, releases, out, table):
    cases = cases_of(function)
    write_call(function, cases, releases, out)
    rows = []
    for name in cases:
        status, sentence = expectation(function, name)
        value = neutral(function, name)
        rows.append("    {%s, %s, %s, %s, %s}," % (
            quote(name), status, quote(sentence),
            "true" if value is None else "false", value or "0"))
    out.append("static const null_case cases_%s[] = {\n%s\n};\n" % (
        function.name, "\n".join(rows)))
    table.append("    {%s, call_%s, cases_%s, %d, %s}," % (
        quote("rlo_" + function.name), function.name, function.name, len(rows),
        "true" if function.result == "rlo_status" else "false"))


def check(functions):
    """A sentence for each rule that is there in vain."""
    names = {f.name for f in functions}
    paths = {p.path + end for f in functions for p in f.parameters
             for end in ("", "[0]")}
    return ["null_rules.py: no header declares '%s'" % name
            for rule in (rules.OPTIONAL, rules.OTHERWISE, rules.ARGUMENTS,
                         rules.NEUTRAL, rules.ELSEWHERE)
            for name in rule if name not in paths and name not in names]


def main():
    folder, output, left_out = sys.argv[1], sys.argv[2], sys.argv[3:]
    functions = read_functions(folder)
    wrong = check(functions)
    if wrong or not functions:
        sys.exit("\n".join(wrong) or "no function found")
    releases = {f.parameters[0].kind: "rlo_" + f.name for f in functions
                if f.name.endswith("_release") and len(f.parameters) == 1}
    out = ["/* Written by generate_null_calls.py. */", '#include "nulls/null_calls.h"',
           ""]
    table = []
    for f in functions:
        if f.pointers and f.name not in rules.ELSEWHERE and f.header not in left_out:
            write_function(f, releases, out, table)
    out.append("const null_function null_functions[] = {\n%s\n};" % "\n".join(table))
    out.append("const int null_num_functions = %d;" % len(table))
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
