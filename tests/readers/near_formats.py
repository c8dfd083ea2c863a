"""Bytes that are nearly CSV, JSON lines or Parquet, for Hypothesis."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

CSV_PIECES = [b",", b"\n", b"\r\n", b"\r", b'"', b'""', b" ", b"1", b"-2.5", b"1e999", b"nan", b"NA", b"None", b"text"]
CSV_PIECES += [b"\xff", b"\x00", b"\xef\xbb\xbf", b";", b"\t", "é".encode(), b"x,c\n", b"1,u\n", b'2,"a\nb"\n']
JSON_PIECES = [
    b'{"x": ',
    b'"c": ',
    b"}",
    b"}\n",
    b"\n",
    b"\r\n",
    b", ",
    b"1",
    b"1e999",
    b"NaN",
    b"true",
    b"null",
    b'"u"',
]
JSON_PIECES += [
    b"[",
    b"]",
    b'"\\ud800"',
    b"\xff",
    b"\x00",
    b"\xef\xbb\xbf",
    b" ",
    b'{"x": 1, "c": "u"}\n',
    b'{"y": 2}\n',
]


def near_csv() -> st.SearchStrategy[bytes]:
    """A header and pieces of records, or nothing but pieces."""
    pieces = st.lists(st.sampled_from(CSV_PIECES) | st.binary(max_size=3), max_size=30).map(b"".join)
    return st.builds(bytes.__add__, st.sampled_from([b"x,c\n", b"x,c\r\n1,u\r\n", b"x\n", b""]), pieces)


def near_json() -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(JSON_PIECES) | st.binary(max_size=3), max_size=30).map(b"".join)


def _parquet() -> bytes:
    table = pa.table({"x": [1.0, None, 3.0, 4.0] * 5, "c": ["u", "v", None, "w"] * 5, "i": list(range(20))})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=6)
    return buffer.getvalue()


PARQUET = _parquet()


@st.composite
def near_parquet(draw: st.DrawFn) -> bytes:
    """A good file with a few bytes changed, or cut short."""
    data = bytearray(PARQUET)
    for _ in range(draw(st.integers(0, 6))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)
