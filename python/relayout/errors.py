# SPDX-License-Identifier: Apache-2.0
"""What a call raises: `Error`, and the built-in exception that fits.

The sentence is the C library's, with the text of a shape that is none behind it::

    >>> import relayout as rl
    >>> try:
    ...     rl.Shape("q32[3]")
    ... except ValueError as error:
    ...     print(error.position)
    0
"""

from __future__ import annotations

import re
from concurrent.futures import CancelledError
from typing import Callable

class Error(Exception):
    """A call of the library failed.

    Attributes:
        status: the name of the status, such as ``"RLO_UNSUPPORTED"``.
        message: one sentence that names the value and the limit.
        cl_call, cl_code: the OpenCL call that failed and its code, or ``""`` and 0.
        build_log: the compiler's log of a failed kernel, or ``""``.
    """

    status = "RLO_UNKNOWN"

    def __init__(self, message: str, cl_call: str = "", cl_code: int = 0, build_log: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.cl_call = cl_call
        self.cl_code = cl_code
        self.build_log = build_log


class ArgumentError(Error, ValueError):
    """A value breaks the contract by itself: not a permutation, a tile of 0."""


class RangeError(Error, IndexError):
    """A value lies outside the object that it refers to."""


class Overflow(Error, OverflowError):
    """A result does not fit 64 bits."""


class Unsupported(Error, NotImplementedError):
    """Meaningful, but beyond a limit of this version or device."""


class NotFound(Error, LookupError):
    """A platform, a device or a name does not exist."""


class Exists(Error, LookupError):
    """The thing to create exists already."""


class OutOfMemory(Error, MemoryError):
    """Memory ran out, or a budget would be exceeded."""


class DeviceError(Error, RuntimeError):
    """An OpenCL call failed."""


class BuildError(Error, RuntimeError):
    """A kernel did not compile."""


class IOFailure(Error, OSError):
    """The system failed a file operation."""


class DataLoss(Error, OSError):
    """Data is truncated, or contradicts its header."""


class Cancelled(Error, CancelledError):
    """The work was cancelled."""


class ParseError(Error, ValueError):
    """A text does not follow its grammar."""

    @property
    def position(self) -> int | None:
        """Where, in bytes from 0; None if the sentence names no position."""
        found = re.match(r"position (\d+):", self.message)
        return int(found[1]) if found else None


class InternalError(Error, RuntimeError):
    """A fault of relayout itself. Please report it."""


# By the number of the status, from 1 on.
_BY_STATUS: tuple[type[Error], ...] = (
    ArgumentError, RangeError, Overflow, Unsupported, NotFound, Exists, OutOfMemory, DeviceError,
    BuildError, IOFailure, DataLoss, Cancelled, ParseError, InternalError)


def name_statuses(name: Callable[[int], bytes]) -> None:
    """Gives each class the name of its status."""
    for number, kind in enumerate(_BY_STATUS, 1):
        kind.status = name(number).decode()


def of_status(status: int, message: str, cl_call: str, cl_code: int, build_log: str) -> Error:
    """The exception of a status other than RLO_OK."""
    kind = _BY_STATUS[status - 1] if 0 < status <= len(_BY_STATUS) else Error
    return kind(message, cl_call, cl_code, build_log)


def number_of(error: BaseException) -> int:
    """The status that stands for an exception in C: its own, or RLO_IO."""
    return next((n for n, kind in enumerate(_BY_STATUS, 1) if type(error) is kind),
                _BY_STATUS.index(IOFailure) + 1)
