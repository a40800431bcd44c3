# SPDX-License-Identifier: Apache-2.0
"""Base of the tests of the command: runs it, and makes files for it."""

import collections
import os
import shutil
import struct
import subprocess
import tempfile
import unittest

COMMAND = os.environ.get("RELAYOUT_COMMAND", "build/relayout")
# Only a process without a child reports its leaks. Complete stacks, which leak
# reports need, make a driver's compiler about fifty times slower.
ASAN_OPTIONS = "allocator_may_return_null=1:use_sigaltstack=0"

Result = collections.namedtuple("Result", "code out err")


def npy_bytes(descr, dims, data, fortran=False, version=1):
    """An .npy file, written without NumPy."""
    dims_text = repr(tuple(dims))
    header = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (
        descr if descr.startswith("[") else repr(descr), fortran, dims_text)
    length_bytes = 2 if version == 1 else 4
    space = 64 - (6 + 2 + length_bytes + len(header) + 1) % 64
    header = (header + " " * space + "\n").encode("latin-1")
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def npy_parts(content):
    """The header's text and the data of a version 1 .npy file."""
    assert content[:8] == b"\x93NUMPY\x01\x00", content[:8]
    length = struct.unpack("<H", content[8:10])[0]
    return content[10:10 + length].decode("latin-1"), content[10 + length:]


class CliCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="relayout-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def run_command(self, *arguments, env=None, **options):
        environment = dict(os.environ)
        if "--no-isolate" not in arguments:
            environment["ASAN_OPTIONS"] = ASAN_OPTIONS
        environment.update(env or {})
        done = subprocess.run(
            [COMMAND] + list(arguments), env=environment, cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=300, check=False, **options)
        messages = done.stderr.decode()
        # Who reads a message of the command need not know the library.
        for line in messages.splitlines():
            if line.startswith("relayout: "):
                self.assertNotRegex(line, r"\b(rlo|RLO)_\w")
        return Result(done.returncode, done.stdout.decode(), messages)

    def ok(self, *arguments, **options):
        """Runs it; it must succeed silently. Returns its output."""
        result = self.run_command(*arguments, **options)
        self.assertEqual((result.code, result.err), (0, ""),
                         "relayout %s\n%s" % (" ".join(arguments), result.err))
        return result.out

    def fails(self, code, words, *arguments, **options):
        """Runs it; it must fail with this code and one sentence with words."""
        result = self.run_command(*arguments, **options)
        told = "relayout %s\n%s" % (" ".join(arguments), result)
        self.assertEqual(result.code, code, told)
        self.assertEqual(result.out, "", told)
        self.assertTrue(result.err.startswith("relayout: "), told)
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, result.err, told)
        lines = result.err.splitlines()
        self.assertEqual(len(lines), 2 if code == 2 else 1, told)
        return result.err

    def assert_files(self, *names):
        """The folder holds these files and nothing else: no half file, no
        temporary one."""
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(names))


def main():
    unittest.main(verbosity=1)
