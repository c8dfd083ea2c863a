"""A safetensors file in pieces: the arrays themselves are handed on, so that a large model is not copied to be written.

The ``safetensors`` package, which reads the files, opens and closes a file by itself. Here the file is already open, is
flushed to disk and then renamed, and errors of the disk keep their number. Version 0.4 of the package also copies what
it writes: 256 MiB for a model of 256 MiB, where this takes none (``python benchmarks/own_code.py safetensors``).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.errors import IegpError
from iegp.typing import Arrays

# What the format's readers take: a file with more could be written and never be read again.
LARGEST_HEADER = 100_000_000
# The names of the format, and the order in which it wants the arrays: widest numbers first, so that all are aligned.
_NAMES = ("U64", "I64", "F64", "F32", "U32", "I32", "F16", "U16", "I16", "I8", "U8")
_KINDS = {np.dtype(f"<{name[0].lower()}{int(name[1:]) // 8}"): name for name in _NAMES} | {np.dtype(bool): "BOOL"}
_ORDER = {kind: place for place, kind in enumerate(_KINDS)}


def pieces(arrays: Arrays, metadata: dict[str, str]) -> Iterator[bytes | memoryview]:
    """Consecutive parts of the file. The arrays must be contiguous and may not change until all is written."""
    names = sorted(arrays, key=lambda name: (_ORDER[arrays[name].dtype], name))
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in names:
        start, end = end, end + arrays[name].nbytes
        kind, shape = _KINDS[arrays[name].dtype], list(arrays[name].shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LARGEST_HEADER:
        raise IegpError(
            f"the names in this model take {len(text) / 1e6:,.0f} MB, more than the {LARGEST_HEADER / 1e6:.0f} MB that "
            "a model file may have for them; use shorter keys and ids, or fewer (one model file per range of keys)"
        )
    yield struct.pack("<Q", len(text)) + text
    for name in names:
        yield raw(arrays[name])


def raw(array: NDArray[Any]) -> memoryview:
    """The bytes of a contiguous array, not a copy of them."""
    return array.reshape(-1).view(np.uint8).data
