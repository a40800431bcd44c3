# SPDX-License-Identifier: Apache-2.0
"""Weights by a recipe: each member equals NumPy's, and what fails leaves nothing behind."""

import json
import os
import tempfile
import unittest
from unittest import mock

import numpy as np

import relayout as rl

EXPERTS = 16
RECIPE = {"rules": [
    {"from": "*.{q,k,v}.w", "to": "*.qkv.w", "ops": ["concat 0"]},
    {"from": "*.o.w", "ops": ["perm 1,0"]},
    {"from": "*.experts.*.{gate,up}", "to": "*.gate_up",
     "ops": ["stack 0", "stack 2", "reshape 16,192,128", "perm 0,2,1"]},
    {"from": "*.experts.*.down", "to": "*.down",
     "ops": ["stack 0", "pad 0:8", "layout {1,2,0:T(8,128)fill(zero)}"]}]}


def members():
    rng = np.random.default_rng(29)
    model = {f"l.{n}.w": rng.standard_normal((64, 32), "f4") for n in "qkvo"}
    for e in range(EXPERTS):
        for name, dims in (("gate", (96, 128)), ("up", (96, 128)), ("down", (128, 96))):
            model[f"l.experts.{e}.{name}"] = rng.standard_normal(dims, "f4")
    return {**model, "norm": np.arange(5, dtype="f4")}


def results(model):
    def experts(name):
        return np.stack([model[f"l.experts.{e}.{name}"] for e in range(EXPERTS)])
    both = np.stack([experts("gate"), experts("up")], 2).reshape(EXPERTS, 192, 128)
    return {"l.qkv.w": np.concatenate([model[f"l.{n}.w"] for n in "qkv"]),
            "l.o.w": model["l.o.w"].T, "norm": model["norm"],
            "l.gate_up": both.transpose(0, 2, 1),
            "l.down": np.pad(experts("down"), ((0, 8), (0, 0), (0, 0)))}


def write(path, model):
    head, at = {"__metadata__": {"format": "pt"}}, 0
    for name, array in model.items():
        end = at + array.nbytes
        head[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(model.values()))


def read(path):
    """The members of a file, and its metadata."""
    with open(path, "rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        body = file.read()
    texts, found = head.pop("__metadata__"), {}
    for name, entry in head.items():
        begin, end = entry["data_offsets"]
        text = texts.get(f"relayout:{name}", f"f32[{','.join(map(str, entry['shape']))}]")
        found[name] = np.asarray(rl.LaidOut(rl.Shape(text), np.frombuffer(body[begin:end], "u1")))
    return found, texts


class Weights(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.model = members()
        write("m.safetensors", self.model)

    def check(self, path):
        made, texts = read(path)
        wanted = results(self.model)
        self.assertEqual(made.keys(), wanted.keys())
        for name, array in wanted.items():
            np.testing.assert_array_equal(made[name], array, name)
        self.assertEqual(texts["format"], "pt")
        self.assertEqual(texts["relayout.made_by:l.o.w"], "[perm 1,0]")

    def test_file(self):
        rl.weights("m.safetensors", "a.safetensors", recipe=RECIPE)
        self.check("a.safetensors")
        with open("recipe.json", "w") as file:
            json.dump(RECIPE, file)
        # The least memory cuts gate_up; a second run is a copy.
        rl.weights(["a.safetensors"], "b.safetensors", recipe="recipe.json", memory="2MiB")
        rl.weights("m.safetensors", "c.safetensors", recipe="recipe.json", memory="2MiB")
        for path in "bc":
            self.check(f"{path}.safetensors")

    def test_folder(self):
        rl.weights("m.safetensors", "out", recipe=RECIPE, max_shard="1MB")
        with open("out/model.safetensors.index.json") as file:
            self.assertEqual(len(set(json.load(file)["weight_map"].values())), 4)
        rl.weights("out", "whole.safetensors", recipe={"rules": []})
        self.check("whole.safetensors")
        with self.assertRaisesRegex(rl.Exists, "index.json would be read in place"):
            rl.weights("m.safetensors", "out", recipe=RECIPE)

    def test_failures(self):
        before = os.listdir()
        for error, sentence, options in (
                (rl.NotFound, "rule 1 takes no member", {"recipe": {"rules": [{"from": "x"}]}}),
                (FileNotFoundError, "none.json", {"recipe": "none.json"}),
                (rl.RangeError, "memory is 1024", {"recipe": RECIPE, "memory": "1KiB"})):
            with self.assertRaisesRegex(error, sentence):
                rl.weights("m.safetensors", "out", **options)
        with self.assertRaisesRegex(rl.Exists, "is an input"):
            rl.weights("m.safetensors", "m.safetensors", recipe=RECIPE)
        has_ended, interrupts = rl.Job._has_ended, []

        def interrupted_once(job, time):
            if interrupts:
                raise interrupts.pop()
            return has_ended(job, time)
        with mock.patch.object(rl.Job, "_has_ended", interrupted_once):
            for output in ("out", "a.safetensors"):
                interrupts = [KeyboardInterrupt]
                with self.assertRaises(KeyboardInterrupt):
                    rl.weights("m.safetensors", output, recipe=RECIPE)
        self.assertEqual(os.listdir(), before)


if __name__ == "__main__":
    unittest.main()
