#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes of docs/examples, each member against NumPy."""

import json
import os
import sys

from cli_case import CliCase, main
from test_cli_weights import file_bytes, file_parts

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed: these tests are skipped")
    sys.exit(77)

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "..", "..", "docs")
EXAMPLES = os.path.join(DOCS, "examples")
TYPES = {"uint16": "BF16", "float32": "F32"}
DRAW = np.random.default_rng(20261126)


def drawn(*dims):
    """A member of bf16, as bits."""
    return DRAW.integers(0, 1 << 16, dims, np.uint16)


class Recipes(CliCase):
    tested = set()

    @classmethod
    def tearDownClass(cls):
        """A recipe that users are shown is tested."""
        shown = {n for n in os.listdir(EXAMPLES) if n.endswith(".json")}
        assert cls.tested == shown, (cls.tested, shown)

    def convert(self, recipe, members, expected):
        """Makes out.safetensors, and that once more."""
        self.tested.add(recipe + ".json")
        self.write("in.safetensors", file_bytes(
            {name: (TYPES[array.dtype.name], array.shape, array.tobytes())
             for name, array in members.items()}))
        for source, target in (("in", "out"), ("out", "again")):
            self.ok("weights", "--host", "--recipe",
                    os.path.join(EXAMPLES, recipe + ".json"),
                    source + ".safetensors", target + ".safetensors")
        made = file_parts(self.read("out.safetensors"))[0]
        self.assertEqual(set(made), set(expected))
        for name, array in expected.items():
            with self.subTest(name):
                self.assertEqual(made[name][:2], ("BF16", array.shape))
                self.assertTrue(made[name][2] == array.tobytes())
        self.assertTrue(self.read("out.safetensors")
                        == self.read("again.safetensors"))

    def test_experts(self):
        """The recipe of the page; square experts are transposed, and the
        router is not."""
        size, members, expected = 32, {}, {}
        for n in range(2):
            layer = "model.layers.%d." % n
            gate, up, down = (drawn(12, size, size) for _ in range(3))
            for e in range(12):
                for name, w in (("gate", gate), ("up", up), ("down", down)):
                    members["%smlp.experts.%d.%s_proj.weight"
                            % (layer, e, name)] = w[e]
            expected[layer + "mlp.experts.gate_up_proj"] = np.concatenate(
                [gate, up], 1).transpose(0, 2, 1)
            expected[layer + "mlp.experts.down_proj"] = down.transpose(0, 2, 1)
            router = drawn(size, size)
            for those in members, expected:
                those[layer + "mlp.gate.weight"] = router
            q, k, v = drawn(size, size), drawn(8, size), drawn(8, size)
            for name, w in (("q", q), ("k", k), ("v", v)):
                members["%sself_attn.%s_proj.weight" % (layer, name)] = w
            expected[layer + "self_attn.qkv_proj.weight"] = np.concatenate(
                [q, k, v])
        # Values that bf16 has, and tiles of 8 by 128 in which pairs of rows
        # lie side by side.
        head = DRAW.integers(-128, 128, (32, 256)).astype(np.float32)
        bits = (head.view(np.uint32) >> 16).astype(np.uint16)
        for name in "lm_head.weight", "model.embed_tokens.weight":
            members[name] = head
            expected[name] = bits.reshape(4, 4, 2, 2, 128).transpose(
                0, 3, 1, 4, 2).ravel()
        self.convert("experts", members, expected)
        with open(os.path.join(EXAMPLES, "experts.json"),
                  encoding="utf-8") as file, \
                open(os.path.join(DOCS, "weights.md"),
                     encoding="utf-8") as page:
            self.assertIn("```json\n%s```\n" % file.read(), page.read())

    def test_mixtral(self):
        """Of square experts, none transposed; 10 comes behind 9."""
        size, members, expected = 32, {}, {}
        for n in range(2):
            old = "model.layers.%d.block_sparse_moe." % n
            new = "model.layers.%d.mlp." % n
            w1, w2, w3 = (drawn(11, size, size) for _ in range(3))
            for e in range(11):
                for name, w in (("w1", w1), ("w2", w2), ("w3", w3)):
                    members["%sexperts.%d.%s.weight" % (old, e, name)] = w[e]
            gate = members[old + "gate.weight"] = drawn(11, size)
            expected[new + "gate.weight"] = gate
            expected[new + "experts.gate_up_proj"] = np.concatenate(
                [w1, w3], 1)
            expected[new + "experts.down_proj"] = w2
        name = "model.layers.0.self_attn.q_proj.weight"
        members[name] = expected[name] = drawn(size, size)
        self.convert("mixtral", members, expected)

    def test_gpt2(self):
        """Of square weights, one is transposed and the other is not."""
        size, members, expected = 48, {}, {}
        for n in range(2):
            layer = "h.%d." % n
            for name, *dims in (("attn.c_proj", size, size),
                                ("mlp.c_fc", size, 4 * size),
                                ("mlp.c_proj", 4 * size, size)):
                weight = members[layer + name + ".weight"] = drawn(*dims)
                bias = members[layer + name + ".bias"] = drawn(dims[1])
                expected[layer + name + ".weight"] = weight.T
                expected[layer + name + ".bias"] = bias
            weight = members[layer + "attn.c_attn.weight"] = drawn(
                size, 3 * size)
            bias = members[layer + "attn.c_attn.bias"] = drawn(3 * size)
            for k, part in enumerate("qkv"):
                rows = slice(k * size, (k + 1) * size)
                new = "%sattn.%s_proj." % (layer, part)
                expected[new + "weight"] = weight[:, rows].T
                expected[new + "bias"] = bias[rows]
        members["wte.weight"] = expected["wte.weight"] = drawn(size, size)
        self.convert("gpt2", members, expected)

    def test_llama(self):
        """The width and the heads of models of 7B; and then, fused."""
        width, head, members, expected = 4096, 128, {}, {}

        def turned(weight):
            """Pairs of rows that lie side by side come to lie half a head
            apart."""
            heads = weight.reshape(-1, head // 2, 2, width)
            return np.concatenate([heads[:, :, 0], heads[:, :, 1]],
                                  1).reshape(-1, width)

        for old, new, rows in (
                ("attention.wq", "self_attn.q_proj", 2 * head),
                ("attention.wk", "self_attn.k_proj", head),
                ("attention.wv", "self_attn.v_proj", head),
                ("attention.wo", "self_attn.o_proj", head),
                ("feed_forward.w1", "mlp.gate_proj", 3),
                ("feed_forward.w2", "mlp.down_proj", 4),
                ("feed_forward.w3", "mlp.up_proj", 3)):
            weight = members["layers.0.%s.weight" % old] = drawn(rows, width)
            expected["model.layers.0.%s.weight" % new] = (
                turned(weight) if old in ("attention.wq", "attention.wk")
                else weight)
        for old, new in (
                ("layers.0.attention_norm", "model.layers.0.input_layernorm"),
                ("layers.0.ffn_norm",
                 "model.layers.0.post_attention_layernorm"),
                ("norm", "model.norm"), ("tok_embeddings", "model.embed_tokens"),
                ("output", "lm_head")):
            members[old + ".weight"] = expected[new + ".weight"] = drawn(width)
        self.convert("llama", members, expected)
        fused = dict(expected)
        for new, olds in (
                ("self_attn.qkv_proj", ("self_attn.q_proj", "self_attn.k_proj",
                                        "self_attn.v_proj")),
                ("mlp.gate_up_proj", ("mlp.gate_proj", "mlp.up_proj"))):
            fused["model.layers.0.%s.weight" % new] = np.concatenate(
                [fused.pop("model.layers.0.%s.weight" % o) for o in olds])
        self.convert("fused", expected, fused)


class Shards(CliCase):
    """What the devices of a mesh hold, put together, is the whole."""
    RULES = [{"from": "*.w",
              "ops": ["perm 1,0", "shard {devices=[2,2]0,1,2,3}"]},
             {"from": "rows", "ops": [
                 "shard {devices=[2,1,2]<=[4] last_tile_dim_replicate}",
                 "layout {0,1}"]}]

    def setUp(self):
        super().setUp()
        self.members = {"even.w": drawn(6, 8), "uneven.w": drawn(5, 7),
                        "one.w": drawn(3, 1), "rows": drawn(5, 4),
                        "whole": drawn(7)}
        self.write("in.safetensors", file_bytes(
            {name: ("BF16", array.shape, array.tobytes())
             for name, array in self.members.items()},
            {"format": "pt", "sharding:gone": "{replicated}"}))
        self.recipe(self.RULES)

    def recipe(self, rules, **others):
        self.write("r.json", json.dumps({"rules": rules, **others}).encode())

    def run_recipe(self, source, target, *options):
        self.ok("weights", "--host", "--recipe", "r.json",
                source + ".safetensors", target + ".safetensors", *options)
        return file_parts(self.read(target + ".safetensors"))[:2]

    def test_mesh(self):
        made = []
        for device in range(4):
            name = "device%d" % device
            members, metadata = self.run_recipe("in", name, "--shard",
                                                str(device))
            self.run_recipe(name, "again", "--shard", str(device))
            self.assertEqual(self.read(name + ".safetensors"),
                             self.read("again.safetensors"))
            self.assertEqual(
                {key: value for key, value in metadata.items()
                 if key.startswith("sharding:")},
                {**{"sharding:%s.w" % part: "{devices=[2,2]0,1,2,3}"
                    for part in ("even", "uneven", "one")},
                 "sharding:rows": self.RULES[1]["ops"][0][6:]})
            self.assertEqual(self.ok("describe", name + ".safetensors").count(
                "  sharding={devices=["), 4)
            made.append({name: np.frombuffer(data, np.uint16).reshape(dims)
                         for name, (_, dims, data) in members.items()})
        for name in "even.w", "uneven.w", "one.w":
            parts = [each[name] for each in made]
            self.assertTrue(np.array_equal(
                np.block([parts[:2], parts[2:]]), self.members[name].T))
        self.assertEqual(made[2]["uneven.w"].shape, (3, 3))
        self.assertEqual(made[1]["one.w"].shape, (1, 1))
        for device, each in enumerate(made):
            self.assertTrue(np.array_equal(each["whole"],
                                           self.members["whole"]))
            begin = device // 2 * 3
            self.assertTrue(np.array_equal(
                each["rows"], self.members["rows"][begin:begin + 3].T.ravel()))

    def test_later(self):
        """The sharding stays until elements move; a part is cut once."""
        self.run_recipe("in", "part", "--shard", "3")
        self.fails(1, "rule 1: member 'even.w' is the part of a device "
                   "already, of {devices=[2,2]0,1,2,3}", "weights", "--recipe",
                   "r.json", "part.safetensors", "out", "--shard", "2")
        self.recipe([{"from": "even.w", "to": "new", "ops": ["cast f32"]},
                     {"from": "uneven.w", "ops": ["perm 1,0"]}])
        metadata = self.run_recipe("part", "moved")[1]
        self.assertEqual(metadata["sharding:new"], "{devices=[2,2]0,1,2,3}")
        self.assertNotIn("sharding:even.w", metadata)
        self.assertNotIn("sharding:uneven.w", metadata)
        self.assertIn("sharding:one.w", metadata)

    def test_refusals(self):
        for words, *options in (
                ("rule 1: a shard is the part of a device, and none is given",),
                ("rule 1, result 'even.w', shard {devices=[2,2]0,1,2,3}: device "
                 "4 is outside 0..3", "--shard", "4")):
            self.fails(1, words, "weights", "--recipe", "r.json",
                       "in.safetensors", "out", *options)
        self.recipe([])
        self.fails(1, "there is no shard in it", "weights", "--recipe",
                   "r.json", "in.safetensors", "out", "--shard", "1")


if __name__ == "__main__":
    main()
