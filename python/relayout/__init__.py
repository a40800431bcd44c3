# SPDX-License-Identifier: Apache-2.0
"""Arrays between memory layouts, at the speed of memory.

    import relayout as rl
    b = rl.transpose(a, (0, 3, 1, 2))
    b = rl.rearrange(a, "b (h r) w c -> b c h (w r)", r=2)
    y = rl.relayout(a, to=rl.Layout("{1,0:T(8,128)(2,1)}"))

The host does it, by all cores; OpenCL is not needed, and not looked for before a device is
asked for. docs/python.md has a page on each of the jobs.
"""

from __future__ import annotations

from typing import Any

from . import _c
from .errors import (ArgumentError, BuildError, Cancelled, DataLoss, DeviceError, Error, Exists,
                     InternalError, IOFailure, NotFound, OutOfMemory, Overflow, ParseError,
                     RangeError, Unsupported)
from . import ends as _ends
from .files import convert
from .layout import Explanation, LaidOut, Layout, Shape, explain, relayout, show
from ._locate import Located, locate
from .ops import cast, concat, contiguous, digest, pad, rearrange, transpose
from .service import Job, Progress, Service, Storage
from ._weights import weights

def __getattr__(name: str) -> Any:
    if name in ("Plan", "plan"):  # they are imported when a device is asked for
        from . import opencl
        return getattr(opencl, name)
    raise AttributeError(f"module 'relayout' has no attribute {name!r}")


__version__: str = _c.version()

__all__ = [
    "ArgumentError", "BuildError", "Cancelled", "DataLoss", "DeviceError", "Error", "Exists",
    "Explanation", "IOFailure", "InternalError", "Job", "LaidOut", "Layout", "Located",
    "NotFound",
    "OutOfMemory", "Overflow", "ParseError", "Progress", "RangeError", "Service", "Shape",
    "Storage", "Unsupported", "cast", "concat", "contiguous", "convert", "digest", "explain", "locate", "pad",
    "rearrange", "relayout", "show", "transpose", "weights",
]
