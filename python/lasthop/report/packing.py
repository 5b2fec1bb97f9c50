"""Compact columns of numbers: differences of whole numbers as LEB128, deflated.

Times are whole nanoseconds and sequence numbers whole bytes, which grow slowly: most differences fit into one to three
bytes. `web/src/packing.ts` reads them.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]

PAYLOAD_BITS: Final = 7
"""Bits of a number in each byte; the eighth says whether another byte follows (LEB128, as in DWARF)."""

LONGEST: Final = 10
"""Bytes of the largest number of 64 bits."""


@dataclass
class Packer:
    """Collects columns. The page's JSON has the return value of `add` in place of the column."""

    _chunks: list[bytes] = field(default_factory=list)
    _length: int = 0

    def add(self, column: npt.NDArray[Any]) -> dict[str, int]:
        """Pack a column of whole numbers; floating-point numbers are rounded to the nearest."""
        whole = np.rint(column).astype(np.int64) if column.dtype.kind == "f" else column.astype(np.int64)
        packed = varints(zigzag(np.diff(whole, prepend=0)))
        place = {"at": self._length, "bytes": len(packed), "count": len(whole)}
        self._chunks.append(packed)
        self._length += len(packed)
        return place

    def text(self) -> str:
        """Return all columns, deflated (RFC 1950) and in base64."""
        return base64.b64encode(zlib.compress(b"".join(self._chunks), 6)).decode("ascii")


def zigzag(numbers: Whole) -> npt.NDArray[np.uint64]:
    """Return signed numbers as unsigned ones of similar magnitude: 0, -1, 1, -2 become 0, 1, 2, 3 (zigzag)."""
    return ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)


def varints(numbers: npt.NDArray[np.uint64]) -> bytes:
    """Return each number in as few bytes as possible, the lowest seven bits first."""
    lengths = np.ones(len(numbers), dtype=np.int64)
    for more in range(1, LONGEST):
        lengths += (numbers >> np.uint64(PAYLOAD_BITS * more)) > 0
    ends = np.cumsum(lengths)
    packed = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    starts = ends - lengths
    for place in range(LONGEST):
        has = lengths > place
        low = (numbers[has] >> np.uint64(PAYLOAD_BITS * place)) & np.uint64(0x7F)
        continues = (lengths[has] > place + 1).astype(np.uint8) << PAYLOAD_BITS
        packed[starts[has] + place] = low.astype(np.uint8) | continues
    return packed.tobytes()
