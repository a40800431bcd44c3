#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that what the documents show is what happens.

    check_docs.py snippets ROOT             compare the C blocks
    check_docs.py console ROOT COMMAND      run the console blocks
    check_docs.py output ROOT NAME COMMAND...
                                            run an example

A fenced block ```c whose first line is `// example: NAME` must be equal, from
its second line on, to docs/examples/NAME.c, or to one region of that file,
which `// [snippet NAME]` or `// [snippet NAME/PART]` opens and
`// [/snippet]` closes; the block then says `// example: NAME/PART`. A region
may be indented; the document is not. Regions may be in others, whose blocks do
not show the marks.

Each ```console block is run in an empty folder of its own: every line
`$ relayout ...` (with `\\` at its end it goes on in the next) is given to a
shell in which `relayout` is COMMAND, and what it prints, to both streams, must
be equal to what the block shows up to the next `$`. One of ```console continued is
run in the folder of the block before. A block of ```console no-test is
left alone, and so is one of ```console installed, which tests/install/check_page.py
runs.

Each block ```text output-of NAME must be equal to what the example NAME, which
COMMAND runs, prints to its standard output; there has to be one.
"""

import os
import re
import subprocess
import sys
import tempfile

COMMAND_TIMEOUT_S = 120


def documents(root):
    """README.md and docs/*.md."""
    paths = [os.path.join(root, "README.md")]
    docs = os.path.join(root, "docs")
    if os.path.isdir(docs):
        paths += [os.path.join(docs, name) for name in sorted(os.listdir(docs))
                  if name.endswith(".md")]
    return [path for path in paths if os.path.isfile(path)]


def blocks(path):
    """The fenced blocks: (line number of the fence, its words, lines)."""
    found = []
    words = None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            if words is None:
                if line.startswith("```"):
                    words, start, lines = line[3:].split(), number, []
            elif line.rstrip() == "```":
                found.append((start, words, lines))
                words = None
            else:
                lines.append(line)
    if words is not None:
        raise ValueError("%s:%d: this block has no end" % (path, start))
    return found


def dedented(lines):
    margins = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    margin = min(margins, default=0)
    return [line[margin:] for line in lines]


def example_lines(root, name):
    """The lines of an example, or of one region of it; None if absent."""
    stem = name.split("/")[0]
    path = os.path.join(root, "docs", "examples", stem + ".c")
    if not re.fullmatch(r"\w+(/\w+)?", name) or not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    region = None
    depth = 0
    for line in lines:
        mark = line.strip()
        if region is None:
            if mark == "// [snippet %s]" % name:
                region = []
        elif mark.startswith("// [snippet "):
            depth += 1
        elif mark == "// [/snippet]" and depth > 0:
            depth -= 1
        elif mark == "// [/snippet]":
            # The formatter may set the closing mark off by an empty line.
            while region and not region[-1].strip():
                region.pop()
            return dedented(region)
        else:
            region.append(line)
    return lines if region is None and name == stem else None


def first_difference(expected, actual):
    for index in range(max(len(expected), len(actual))):
        a = expected[index] if index < len(expected) else "(nothing)"
        b = actual[index] if index < len(actual) else "(nothing)"
        if a != b:
            return index, a, b
    return None


def check_snippets(root):
    count = failures = 0
    for path in documents(root):
        for number, words, lines in blocks(path):
            if words[:1] != ["c"] or not lines:
                continue
            match = re.fullmatch(r"// example: (\S+)", lines[0])
            if match is None:
                continue
            count += 1
            example = example_lines(root, match.group(1))
            if example is None:
                failures += 1
                print("%s:%d: there is no example %s"
                      % (path, number, match.group(1)))
                continue
            difference = first_difference(example, lines[1:])
            if difference is not None:
                failures += 1
                print("%s:%d: differs from example %s\n  example:  %s\n"
                      "  document: %s"
                      % ((path, number + 2 + difference[0], match.group(1))
                         + difference[1:]))
    print("%d snippets, %d failures" % (count, failures))
    return failures


def console_steps(lines):
    """Pairs (offset of the command, command, lines of output)."""
    steps = []
    is_continued = False
    for offset, line in enumerate(lines):
        if is_continued:
            steps[-1][1] += "\n" + line
            is_continued = line.endswith("\\")
        elif line.startswith("$ "):
            steps.append([offset, line[2:], []])
            is_continued = line.endswith("\\")
        elif steps:
            steps[-1][2].append(line)
        else:
            raise ValueError("output before the first command: %s" % line)
    return steps


def check_block(path, number, lines, folder, environment):
    """Runs a console block. Returns its commands and failures."""
    failures = 0
    steps = console_steps(lines)
    for offset, text, expected in steps:
        done = subprocess.run(
            ["sh", "-c", text], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, universal_newlines=True,
            timeout=COMMAND_TIMEOUT_S, check=False)
        difference = first_difference(expected, done.stdout.splitlines())
        if difference is not None:
            failures += 1
            print("%s:%d: $ %s\n  document: %s\n  command:  %s"
                  % ((path, number + 1 + offset, text) + difference[1:]))
    return len(steps), failures


def check_console(root, command):
    count = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        bin_folder = os.path.join(folder, "bin")
        os.mkdir(bin_folder)
        os.symlink(os.path.abspath(command),
                   os.path.join(bin_folder, "relayout"))
        environment = dict(os.environ, LC_ALL="C",
                           PATH=bin_folder + os.pathsep
                           + os.environ.get("PATH", "/usr/bin:/bin"))
        for path in documents(root):
            work_folder = None
            for number, words, lines in blocks(path):
                if words == ["console"]:
                    work_folder = tempfile.mkdtemp(dir=folder)
                elif words != ["console", "continued"]:
                    continue
                done = check_block(path, number, lines, work_folder,
                                   environment)
                count += done[0]
                failures += done[1]
    print("%d commands, %d failures" % (count, failures))
    return failures


def check_output(root, name, command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, universal_newlines=True,
                          timeout=COMMAND_TIMEOUT_S, check=False)
    count = failures = 0
    if done.returncode != 0:
        failures += 1
        print("%s: exit status %d" % (name, done.returncode))
    for path in documents(root):
        for number, words, lines in blocks(path):
            if words != ["text", "output-of", name]:
                continue
            count += 1
            difference = first_difference(lines, done.stdout.splitlines())
            if difference is not None:
                failures += 1
                print("%s:%d: output of %s\n  document: %s\n  example:  %s"
                      % ((path, number + 1 + difference[0], name)
                         + difference[1:]))
    if count == 0:
        failures += 1
        print("%s: no document shows its output" % name)
    print("%d outputs, %d failures" % (count, failures))
    return failures


def main():
    if sys.argv[1:2] == ["snippets"] and len(sys.argv) == 3:
        return 1 if check_snippets(sys.argv[2]) else 0
    if sys.argv[1:2] == ["console"] and len(sys.argv) == 4:
        return 1 if check_console(sys.argv[2], sys.argv[3]) else 0
    if sys.argv[1:2] == ["output"] and len(sys.argv) >= 5:
        return 1 if check_output(sys.argv[2], sys.argv[3], sys.argv[4:]) else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
