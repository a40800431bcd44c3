#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arrays of the sizes that users have, as they convert them."""

import os
import sys

from cli_case import CliCase, main

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed: these tests are skipped")
    sys.exit(77)

# The last tile of a row is shorter than the way to the next line of memory.
SHAPES = [("f4", (4097, 1024), (1, 0)), ("f4", (8193, 1000), (1, 0)),
          ("f4", (16385, 256), (1, 0)), ("f4", (40961, 40), (1, 0)),
          ("u1", (4097, 4096), (1, 0)), ("f8", (4097, 512), (1, 0)),
          ("u1", (7, 227, 1545, 4), (3, 2, 1, 0))]
IS_ON_DEVICE = os.environ.get("RELAYOUT_SHAPES_DEVICE", "0") != "0"


class UserSizes(CliCase):
    def test_shapes(self):
        for dtype, dims, perm in SHAPES[:1] if IS_ON_DEVICE else SHAPES:
            with self.subTest(dtype=dtype, dims=dims):
                count = int(np.prod(dims))
                array = (np.arange(count, dtype="u4") * 2654435761 >> 13)
                array = array.astype(dtype).reshape(dims)
                np.save(self.path("x.npy"), array)
                self.ok("convert", "x.npy", "y.npy", "--perm",
                        ",".join(map(str, perm)),
                        *(["--device", "default"] if IS_ON_DEVICE else []))
                np.testing.assert_array_equal(np.load(self.path("y.npy")),
                                              array.transpose(perm))


if __name__ == "__main__":
    main()
