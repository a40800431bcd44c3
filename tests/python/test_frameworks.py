# SPDX-License-Identifier: Apache-2.0
"""Tensors of torch and arrays of jax, whose types NumPy lacks; einops' own patterns."""

import importlib.util
import unittest

import numpy as np

import relayout as rl


def needs(name):
    return unittest.skipUnless(importlib.util.find_spec(name), f"{name} is not installed")


@needs("torch")
class Torch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch
        cls.torch = torch

    def same(self, found, expected):
        self.assertIsInstance(found, self.torch.Tensor)
        self.assertEqual(found.dtype, expected.dtype)
        self.assertEqual(found.shape, expected.shape)
        bits = [t.contiguous().view(self.torch.uint8) for t in (found, expected)]
        self.assertTrue(self.torch.equal(*bits))

    def test_types(self):
        t = self.torch
        for dtype in (t.float32, t.bfloat16, t.float16, t.float8_e4m3fn, t.float8_e5m2, t.bool,
                      t.complex64, t.int64, t.uint8):
            x = t.randint(0, 2, (30, 40, 5), dtype=t.uint8).to(t.float32).to(dtype)
            self.same(rl.transpose(x, (2, 0, 1)), x.permute(2, 0, 1))
            self.same(rl.contiguous(x[::2, :, 1:]), x[::2, :, 1:])
            self.same(rl.rearrange(x, "a b c -> (c a) b"), x.permute(2, 0, 1).reshape(150, 40))
            self.same(rl.concat([x, x], 1), t.cat([x.view(t.uint8), x.view(t.uint8)], 1).view(dtype))
            self.assertEqual(rl.digest(x), rl.digest(x.transpose(0, 2).contiguous().transpose(0, 2)))

    def test_cast_and_results(self):
        x = self.torch.randn(300, 200)
        for dtype in (self.torch.bfloat16, self.torch.float8_e4m3fn, self.torch.float16):
            self.same(rl.cast(x, dtype), x.to(dtype))
        out = self.torch.empty(200, 300)
        self.assertIs(rl.transpose(x, out=out), out)
        self.same(out, x.T)
        self.assertIs(rl.contiguous(x), x)
        y = rl.relayout(x.to(self.torch.bfloat16), "{1,0:T(8,128)(2,1)}")
        self.assertEqual(y.shape.dtype, "bf16")


class OtherDevices(unittest.TestCase):
    def test_refused(self):
        class OnGpu:
            def __dlpack__(self, **_):
                raise AssertionError("it is not asked for")

            def __dlpack_device__(self):
                return (2, 0)

        with self.assertRaisesRegex(rl.Unsupported, "device type 2"):
            rl.transpose(OnGpu())


@needs("jax")
class Jax(unittest.TestCase):
    def test_types(self):
        import jax
        for dtype in ("float32", "bfloat16", "int8", "float8_e4m3fn"):
            x = jax.numpy.arange(6000).reshape(60, 100).astype(dtype)
            moved = rl.transpose(x)
            self.assertIsInstance(moved, jax.Array)
            self.assertEqual(moved.dtype, x.dtype)
            self.assertEqual(np.asarray(moved).tobytes(), np.asarray(x).T.tobytes())
            with self.assertRaises(rl.ArgumentError):
                rl.transpose(x, out=x)


# Patterns of einops' tests (tests/test_ops.py), with an array's dims and the axes' sizes.
PATTERNS = [
    ("a b c d e -> a b c d e", (1, 2, 3, 4, 5), {}),
    ("a b c d e ... -> ... a b c d e", (1, 2, 3, 4, 5), {}),
    ("a b c d e ... -> a ... b c d e", (1, 2, 3, 4, 5), {}),
    ("... a b c d e -> ... a b c d e", (1, 2, 3, 4, 5), {}),
    ("a ... e -> a ... e", (1, 2, 3, 4, 5), {}),
    ("a ... -> a ...", (1, 2, 3, 4, 5), {}),
    ("a ... c d e -> a (...) c d e", (1, 2, 3, 4, 5), {}),
    ("a b c d e -> (a b) c d e", (2, 3, 4, 5, 6), {}),
    ("a b c d e -> a b c (d e)", (2, 3, 4, 5, 6), {}),
    ("a b c d e -> (a b c d e)", (2, 3, 4, 5, 6), {}),
    ("(a b c d e) -> (e d c b a)", (720,), dict(a=2, b=3, c=4, d=5, e=6)),
    ("(a b) (c d) -> (d c) (b a)", (6, 20), dict(a=2, d=5)),
    ("... (a b) -> ... b a", (2, 3, 12), dict(a=3)),
    ("b (h r) w c -> b c h (w r)", (2, 12, 5, 3), dict(r=2)),
    ("b c (h h2) (w w2) -> (h w) b c h2 w2", (2, 3, 4, 6), dict(h2=2, w2=2)),
    ("b h w c -> (b h) w c", (2, 3, 4, 5), {}),
    ("a 1 b -> b 1 a 1", (3, 1, 4), {}),
    ("a () b -> () a b", (3, 1, 4), {}),
    ("-> ", (), {}),
    ("a b -> b a", (0, 5), {}),
    ("(a b) c -> a (c b)", (0, 5), dict(b=3)),
]
BAD = [("a b -> a b", (2,), {}), ("a b -> a", (2, 3), {}), ("a a -> a", (2, 2), {}),
       ("a b -> (a b", (2, 3), {}), ("(a (b)) -> a b", (6,), {}), ("a b", (2, 3), {}),
       ("(a b) -> a b", (6,), {}), ("(a b) -> a b", (7,), dict(a=2)), ("a -> a", (3,), dict(q=1)),
       ("a 1 -> a", (3, 2), {}), ("a-b -> b", (3,), {}), ("a 2 -> a", (3, 2), {}),
       ("(a ...) -> a ...", (3,), {})]


class Rearrange(unittest.TestCase):
    @needs("einops")
    def test_as_einops(self):
        import einops
        for small in (True, False):
            for pattern, dims, sizes in PATTERNS:
                if not small:  # beyond what NumPy does
                    pattern, dims = pattern.replace("->", "zz ->") + " zz", (*dims, 9000)
                    if "..." in pattern.partition("zz")[0].split()[-2:]:
                        continue
                x = np.arange(int(np.prod(dims))).reshape(dims)
                with self.subTest(pattern=pattern):
                    expected = einops.rearrange(x, pattern, **sizes)
                    found = rl.rearrange(x, pattern, **sizes)
                    self.assertEqual(found.shape, expected.shape)
                    np.testing.assert_array_equal(found, expected)

    def test_lists(self):
        xs = [np.full((3, 4), n) for n in range(5)]
        np.testing.assert_array_equal(rl.rearrange(xs, "n a b -> a (n b)"),
                                      np.stack(xs).transpose(1, 0, 2).reshape(3, 20))
        with self.assertRaises(rl.ArgumentError):
            rl.rearrange([], "a -> a")

    def test_refusals(self):
        for pattern, dims, sizes in BAD:
            with self.subTest(pattern=pattern), self.assertRaises(ValueError):
                rl.rearrange(np.zeros(dims), pattern, **sizes)
        with self.assertRaises(rl.ParseError) as caught:
            rl.rearrange(np.zeros((2, 3)), "a b -> b (a")
        self.assertEqual(caught.exception.position, 11)


if __name__ == "__main__":
    unittest.main()
