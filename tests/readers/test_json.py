"""JSON lines: values, kinds of columns, and lines that are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from readers.helpers import bad, good, known, read_all, write

from iegp.errors import InputError
from iegp.readers import json_source, open_source

FIRST = b'{"x": 1, "c": "u"}\n'
LAST = b'{"x": 3, "c": "w"}\n'

FAULTS = {
    "broken": (b'{"x": 2', None, '{"x": 2', "broken JSON"),
    "a table": (b"when,x", None, "when,x", "if this is CSV, say --format csv"),
    "not an object": (b"[1, 2]", None, "[1, 2]", "not an object"),
    "a number": (b"7", None, "7", "not an object"),
    "two objects": (b'{"x": 2} {"x": 3}', None, '{"x": 2} {"x": 3}', "broken JSON"),
    "nested list": (b'{"x": [2]}', "x", "[2]", "nested"),
    "nested object": (b'{"new": {"y": 2}}', "new", '{"y": 2}', "nested"),
    "key twice": (b'{"x": 2, "x": 3}', "x", "x", "more than once"),
    "NaN": (b'{"x": NaN}', None, "NaN", "write null"),
    "Infinity": (b'{"x": -Infinity}', None, "-Infinity", "write null"),
    "huge": (b'{"x": 1e999}', "x", "Infinity", "too large"),
    "huge whole": (b'{"x": 1' + b"0" * 400 + b"}", "x", "1" + "0" * 76 + "...", "too large"),
    "endless whole": (b'{"x": ' + b"1" * 5000 + b"}", None, '{"x": ' + "1" * 71 + "...", "too large"),
    "text in numbers": (b'{"x": "2"}', "x", "2", "one of numbers"),
    "number in text": (b'{"c": 2}', "c", "2", "one of text"),
    "encoding": (b'{"c": "caf\xe9"}', None, '\\xe9"}', "not UTF-8"),
    "NUL": (b'{"c": "\x00"}', None, '{"c": "\\x00"}', "broken JSON"),
    "escaped NUL": (b'{"c": "\\u0000"}', "c", "\\x00", "NUL"),
    "half a pair": (b'{"c": "\\ud83d"}', "c", "\\ud83d", "surrogate"),
    "empty key": (b'{"": 1}', "", "", "empty key"),
    "deep": (b"[" * 100_000, None, "[" * 77 + "...", "broken JSON"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(tmp_path: Path, fault: str):
    line, column, text, reason = FAULTS[fault]
    reads = read_all(write(tmp_path / "a.jsonl", FIRST + line + b"\n" + LAST))
    assert good(reads) == [{"x": 1.0, "c": "u"}, {"x": 3.0, "c": "w"}]
    (found,) = bad(reads)
    assert (found.before, found.line, found.column, found.text) == (1, 2, column, text)
    assert reason in found.reason
    assert found.raw == line[:65536]
    assert found.after == (len(FIRST + line) + 1, 3, 2)


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json", "a.jsonl.gz"])
def test_suffixes(tmp_path: Path, name: str):
    assert good(read_all(write(tmp_path / name, FIRST))) == [{"x": 1.0, "c": "u"}]


def test_values(tmp_path: Path):
    data = b'{"a": 1, "b": true, "c": "u", "d": null}\n{"b": 0.5, "d": "late"}\n{"a": -2e3}'
    first, second, third = good(read_all(write(tmp_path / "a.jsonl", data)))
    assert first == {"a": 1.0, "b": 1.0, "c": "u", "d": None}
    assert known(second) == {"b": 0.5, "d": "late"}
    assert known(third) == {"a": -2000.0}


def test_columns_kept_as_text(tmp_path: Path):
    lines = [b'{"t": 7}', b'{"t": true}', b'{"t": 1.5}', b'{"t": "u"}', b'{"t": 123456789012345678901234567890}', b"{}"]
    rows = good(read_all(write(tmp_path / "a.jsonl", b"\n".join(lines)), keep_text=["t"]))
    assert [row["t"] for row in rows] == ["7", True, "1.5", "u", "123456789012345678901234567890", None]


def test_dropped_columns_may_hold_anything(tmp_path: Path):
    data = b'{"x": 1, "y": [1]}\n{"x": 2, "y": "u"}\n{"x": 3, "y": 1e999}'
    assert good(read_all(write(tmp_path / "a.jsonl", data), drop=["y"])) == [{"x": 1.0}, {"x": 2.0}, {"x": 3.0}]


def test_new_keys_become_columns(tmp_path: Path):
    with open_source(write(tmp_path / "a.jsonl", b'{"x": 1}\n{"x": 2, "y": "u"}\n')) as source:
        assert source.names == ("x",)
        batch = source.read(5)
        assert source.names == ("x", "y")
        assert source.schema() == {"format": "jsonl", "columns": {"x": "number", "y": "text"}}
    np.testing.assert_array_equal(batch.columns["x"], [1.0, 2.0])
    assert batch.columns["y"].tolist() == [None, "u"]


def test_a_bad_record_brings_no_columns(tmp_path: Path):
    reads = read_all(write(tmp_path / "a.jsonl", b'{"new": "u", "x": [1]}\n{"new": 2}\n'))
    assert good(reads) == [{"new": 2.0}]


def test_the_number_of_columns_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(json_source, "MAX_COLUMNS", 3)
    data = b"".join(b'{"k%d": 1}\n' % i for i in range(5)) + b'{"k0": 2}\n'
    reads = read_all(write(tmp_path / "a.jsonl", data))
    assert [found.line for found in bad(reads)] == [4, 5]


def test_mark_line_ends_and_blank_lines(tmp_path: Path):
    reads = read_all(write(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"x": 1}\r\n \r\n\n{"x": 2}'))
    assert [(read.line, read.values) for read in reads] == [(1, {"x": 1.0}), (4, {"x": 2.0})]


def test_many_lines_come_in_bounded_batches(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", FIRST * (2 * json_source.BATCH + 1))
    with open_source(path) as source:
        assert len(source.read(10**9)) == json_source.BATCH
    assert [read.line for read in read_all(path)] == list(range(1, 2 * json_source.BATCH + 2))


@pytest.mark.parametrize("data", [b"", b"\n\n", b" "])
def test_a_file_without_records_is_refused(tmp_path: Path, data: bytes):
    with pytest.raises(InputError, match="no record"):
        open_source(write(tmp_path / "a.jsonl", data))
