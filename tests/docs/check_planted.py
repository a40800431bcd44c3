#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check check_docs.py on documents with known faults."""

import os
import subprocess
import sys
import tempfile

EXAMPLE = """int main(void) {
  // [snippet first/part]
  int a = 1;

  return a;
  // [/snippet]
}

// [snippet first/around]
int b;
// [snippet first/inner]
int c;
// [/snippet]
// [/snippet]
int d;
"""
PART = "```c\n// example: first/part\nint a = 1;\n\nreturn a;\n```\n"
AROUND = "```c\n// example: first/around\nint b;\nint c;\n```\n"
WHOLE = "```c\n// example: first\n" + EXAMPLE + "```\n"
ECHO = "Text\n\n```console\n$ relayout one \\\n  two\none two\n$ echo x; echo y >&2\nx\ny\n```\n"
GOES_ON = "```console\n$ echo x >file\n```\n```console continued\n$ cat file\nx\n```\n"
OUTPUT = "```text output-of first\none two\n```\n"

# (verb, document, exit status, words of the output)
CASES = [
    ("snippets", PART, 0, "1 snippets, 0 failures"),
    ("snippets", WHOLE + PART, 0, "2 snippets, 0 failures"),
    ("snippets", AROUND, 0, "1 snippets, 0 failures"),
    ("snippets", AROUND.replace("int c;\n", ""), 1, "README.md:4: differs"),
    ("snippets", PART.replace("a = 1", "a = 2"), 1, "README.md:3: differs"),
    ("snippets", PART.replace("return a;\n", ""), 1, "(nothing)"),
    ("snippets", PART.replace("first/part", "first/none"), 1, "no example"),
    ("snippets", PART.replace("first/part", "second"), 1, "no example"),
    ("snippets", PART.replace("first/part", "../first"), 1, "no example"),
    ("snippets", "```c\nint free_of_examples;\n```\n", 0, "0 snippets"),
    ("console", ECHO, 0, "2 commands, 0 failures"),
    ("console", ECHO.replace("one two", "one  two"), 1, "README.md:4: $"),
    ("console", ECHO.replace("y\n```", "y\nz\n```"), 1, "1 failures"),
    ("console", ECHO.replace("x\ny\n```", "x\n```"), 1, "1 failures"),
    ("console", ECHO.replace("console", "console no-test"), 0, "0 commands"),
    ("console", ECHO.replace("```\n", ""), 1, "has no end"),
    ("console", GOES_ON, 0, "2 commands, 0 failures"),
    ("console", GOES_ON.replace(" continued", ""), 1, "README.md:5: $"),
    ("output", OUTPUT, 0, "1 outputs, 0 failures"),
    ("output", OUTPUT.replace("two", "three"), 1, "README.md:2: output"),
    ("output", OUTPUT.replace("two\n", "two\n\n"), 1, "(nothing)"),
    ("output", OUTPUT.replace("first", "second"), 1, "no document shows"),
]


def main():
    checker = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                           "check_docs.py")
    failures = 0
    for verb, document, status, words in CASES:
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "docs", "examples"))
            for name, text in (("README.md", document),
                               ("docs/examples/first.c", EXAMPLE)):
                with open(os.path.join(root, name), "w",
                          encoding="utf-8") as file:
                    file.write(text)
            arguments = [sys.executable, checker, verb, root]
            if verb == "console":
                arguments.append("/bin/echo")
            elif verb == "output":
                arguments += ["first", "/bin/echo", "one", "two"]
            done = subprocess.run(arguments, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT,
                                  universal_newlines=True, check=False)
            if done.returncode != status or words not in done.stdout:
                failures += 1
                print("wanted %d and \"%s\" of %s:\n%s\ngot %d:\n%s"
                      % (status, words, verb, document, done.returncode,
                         done.stdout))
    print("%d cases, %d failures" % (len(CASES), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
