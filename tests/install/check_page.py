#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do what a page says, with what is installed.

    check_page.py PREFIX PAGE FOLDER

PAGE is a document of the installed tree at PREFIX. In an empty FOLDER of its
own, with $HOME/relayout for PREFIX, as the page has it: a block whose words
include file=NAME becomes that file, and the `$` lines of a ```console installed
block are given to one shell, which must end well and print what the block
shows. There has to be such a block.
"""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "docs"))
sys.dont_write_bytecode = True
from check_docs import blocks, console_steps  # noqa: E402

COMMAND_TIMEOUT_S = 240


def write_file(folder, name, lines):
    # The mark for check_docs.py is not part of the program.
    if lines and lines[0].startswith("// example:"):
        lines = lines[1:]
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def run_block(page, number, lines, folder, environment):
    steps = console_steps(lines)
    wanted = [line for _, _, output in steps for line in output]
    script = "\n".join(["set -e"] + [text for _, text, _ in steps])
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, universal_newlines=True,
        timeout=COMMAND_TIMEOUT_S, check=False)
    if done.returncode == 0 and done.stdout.splitlines() == wanted:
        return 0
    print("%s:%d: exit status %d\n  shown:\n%s\n  wanted:\n%s"
          % (page, number, done.returncode, done.stdout, "\n".join(wanted)))
    log = os.path.join(folder, "log")
    if done.returncode != 0 and os.path.isfile(log):
        with open(log, encoding="utf-8") as file:
            print("  log:\n" + file.read())
    return 1


def main():
    prefix, page, folder = sys.argv[1:]
    home = folder + ".home"
    for path in folder, home:
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
    os.symlink(os.path.abspath(prefix), os.path.join(home, "relayout"))
    environment = dict(os.environ, LC_ALL="C", HOME=home)
    files = commands = failures = 0
    for number, words, lines in blocks(page):
        names = [word[5:] for word in words if word.startswith("file=")]
        if names:
            files += 1
            write_file(folder, names[0], lines)
        elif words == ["console", "installed"]:
            commands += 1
            failures += run_block(page, number, lines, folder, environment)
    print("%d files, %d consoles, %d failures" % (files, commands, failures))
    return 1 if failures or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
