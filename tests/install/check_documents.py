#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What documents and the licence an installed tree has.

    check_documents.py PREFIX ROOT

Every document of the source tree ROOT that is for users is in PREFIX, byte for
byte, each link between them leads to a file, or to a heading in it, and each header that
they name is there.
"""

import filecmp
import os
import re
import sys


def wanted(root):
    """Paths below the root: what is for users."""
    paths = ["README.md", "CHANGELOG.md", "LICENSE"]
    for folder in "docs", "docs/examples", "docs/plots":
        paths += [folder + "/" + name
                  for name in sorted(os.listdir(os.path.join(root, folder)))
                  if os.path.isfile(os.path.join(root, folder, name))]
    return paths


def anchors(path):
    """What links into a page may name: its headings, as GitHub spells them."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(?ms)^```.*?^```", "", file.read())
    return [re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")
            for heading in re.findall(r"(?m)^#+ (.*)$", text)]


def dead_links(path, include):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text):
        if not re.match(r"https?:", target):
            whole = os.path.join(os.path.dirname(path), target) if target else path
            if not os.path.exists(whole):
                yield target
            elif anchor and anchor not in anchors(whole):
                yield "%s#%s" % (target, anchor)
    for header in re.findall(r"[`<](relayout/\w+\.h)[`>]", text):
        if not os.path.isfile(os.path.join(include, header)):
            yield header


def main():
    prefix, root = sys.argv[1:]
    documents = os.path.join(prefix, "share", "doc", "relayout")
    paths = wanted(root)
    failures = 0
    for path in paths:
        installed = os.path.join(documents, path)
        if not os.path.isfile(installed) or not filecmp.cmp(
                installed, os.path.join(root, path), shallow=False):
            failures += 1
            print("%s is not installed as it is" % path)
        elif path.endswith(".md"):
            for target in dead_links(installed,
                                     os.path.join(prefix, "include")):
                failures += 1
                print("%s: %s is not in the installed tree" % (path, target))
    print("%d documents, %d failures" % (len(paths), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
