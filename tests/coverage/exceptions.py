# SPDX-License-Identifier: Apache-2.0
"""What need not run, by rule: exceptions.txt.

A kind is a line "kind NAME: reason", which indented lines may continue, and its
rules, each a line "SHAPE SCOPE PATTERN":

    branch    a branch that was not taken, of a line that PATTERN matches; on each
              line as many as there are matches
    line      a line that was not run, which PATTERN matches, and its branches
    if        lines that were not run, behind an if whose text PATTERN matches: from
              the if to the end of the first statement behind it, on one line; and
              the branches that lead there, one more than there are "||". A check such
              as RLO_FAIL_IF is an if of one statement
    function  a function that was not run; no PATTERN

SCOPE is a path below src/, or FILE:FUNCTION; * stands for anything. A rule that
excepts nothing is stale, and so is one whose SCOPE has no *, if it matches what was
run.
"""

import fnmatch
import pathlib
import re
import sys

RULES = pathlib.Path(__file__).with_name("exceptions.txt")


class Rule:
    def __init__(self, kind, number, shape, scope, pattern):
        self.kind, self.number, self.shape = kind, number, shape
        self.scope, self.pattern = scope, re.compile(pattern)
        self.path, _, self.function = scope.partition(":")
        self.is_exact = "*" not in scope
        self.excepted = 0
        self.covered = []

    def applies(self, path, function):
        return (fnmatch.fnmatchcase(str(path), self.path) and
                self.function in ("", function))

    def __str__(self):
        return (f"exceptions.txt:{self.number}: {self.shape} {self.scope} "
                f"{self.pattern.pattern}")


def read_rules():
    rules, kind = [], None
    shapes = ("branch", "line", "if", "function")
    for number, text in enumerate(
            RULES.read_text(encoding="utf-8").splitlines(), 1):
        words = text.split(None, 2)
        if not words or text.startswith((" ", "#")):
            continue
        if words[0] == "kind" and text.find(":") > 0:
            kind = text[len("kind "):text.index(":")]
        elif kind and words[0] in shapes and (
                len(words) == 2 if words[0] == "function" else len(words) == 3):
            rules.append(Rule(kind, number, *words, *[""][len(words) - 2:]))
        else:
            sys.exit(f"exceptions.txt:{number}: neither a kind nor a rule: {text}")
    return rules


def indent(text):
    return len(text) - len(text.lstrip())


def find_ifs(text):
    """(first line, first line of the body, line behind the body, the text) of each
    if with braces, and of each check, which has no body. Our files are formatted, so
    that a brace that stands where the if does ends the body."""
    for first, line in enumerate(text):
        if re.match(r"\s*RLO_\w+_IF\(", line):
            stop = first
            while not text[stop].endswith(";"):
                stop += 1
            words = " ".join(part.strip() for part in text[first:stop + 1])
            yield first + 1, stop + 2, stop + 2, words
        if not re.match(r"\s*(\} else )?if \(", line):
            continue
        body = first
        while not text[body].endswith("{"):
            body += 1
        end = body + 1
        while not (text[end].startswith(" " * indent(line) + "}")):
            end += 1
        stop = body + 1
        while stop < end and not text[stop].endswith((";", "{")):
            stop += 1
        words = " ".join(part.strip() for part in text[first:stop + 1])
        yield first + 1, body + 2, end + 1, words


class File:
    """What is excepted of a file: its lines are {number: [count, branch counts,
    function]}."""

    def __init__(self, path, lines, text):
        self.path, self.lines, self.text = path, lines, text
        self.ifs = list(find_ifs(text))
        # {line: branches}; a line that did not run is in both.
        self.excepted_lines, self.excepted_branches = set(), {}

    def except_line(self, number, rule):
        count, branches, _ = self.lines[number]
        if count == 0 and number not in self.excepted_lines:
            self.excepted_lines.add(number)
            self.excepted_branches[number] = len(branches)
            rule.excepted += 1 + len(branches)

    def except_branches(self, number, most, rule):
        """Returns how many of `most` there were."""
        count, branches, _ = self.lines[number]
        before = self.excepted_branches.get(number, 0)
        found = min(most, branches.count(0) - before) if count > 0 else 0
        if found > 0:
            self.excepted_branches[number] = before + found
            rule.excepted += found
        return max(found, 0)

    def apply_to_ifs(self, rule):
        for first, body, end, words in self.ifs:
            head = [n for n in range(first, body) if n in self.lines]
            inside = [n for n in range(body, end) if n in self.lines]
            known = head if body == end else inside
            if not known or not rule.pattern.search(words) or not rule.applies(
                    self.path, self.lines[known[0]][2]):
                continue
            if inside and self.lines[inside[0]][0] > 0:
                rule.covered.append(first)
                continue
            for number in inside:
                self.except_line(number, rule)
            most = left = 1 + words.count("||")
            for number in head:
                left -= self.except_branches(number, left, rule)
            if not inside and left == most:
                rule.covered.append(first)

    def apply(self, rule):
        if rule.shape == "if":
            self.apply_to_ifs(rule)
            return
        for number, (count, branches, function) in self.lines.items():
            matches = len(rule.pattern.findall(self.text[number - 1]))
            if matches == 0 or not rule.applies(self.path, function):
                continue
            if rule.shape == "branch":
                if self.except_branches(number, matches, rule) == 0:
                    rule.covered.append(number)
            elif count == 0:
                self.except_line(number, rule)
            else:
                rule.covered.append(number)


def apply_rules(rules, files):
    """Adds what is excepted of each File, and ends with what is stale."""
    for rule in rules:
        for file in files:
            if fnmatch.fnmatchcase(str(file.path), rule.path):
                file.apply(rule)
    stale = [f"{rule}: excepts nothing" for rule in rules if rule.excepted == 0]
    stale += [f"{rule}: line {number} is covered"
              for rule in rules if rule.is_exact for number in rule.covered]
    return stale
