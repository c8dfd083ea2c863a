"""Bad CSV: every fault is reported with its line, column and text, and the records around it are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from readers.helpers import bad, good, read_all, write

from iegp.errors import InputError
from iegp.readers import feeds, open_source, record_cutter

HEAD = b"x,c\n1,u\n"
TAIL = b"3,w\n"
SCHEMA = {"format": "csv", "delimiter": ",", "columns": {"x": "number", "c": "text"}}

FAULTS = {
    "field too few": (b"2\n", None, "2", "1 field, but the header has 2"),
    "field too many": (b"2,v,4\n", None, "2,v,4", "3 fields, but the header has 2"),
    "text": (b"two,v\n", "x", "two", "not a number"),
    "nan": (b"nan,v\n", "x", "nan", "NaN"),
    "infinite": (b"-Infinity,v\n", "x", "-Infinity", "infinite"),
    "too large": (b"1e999,v\n", "x", "1e999", "too large"),
    "encoding": (b"2,caf\xe9\n", None, "\\xe9", "not UTF-8"),
    "NUL": (b"2,v\x00\n", None, "\\x00", "NUL"),
    "lone return": (b"2,v\rw\n", None, "2,v\\rw", "carriage return"),
    "blank": (b" \n", None, " ", "1 field"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(tmp_path: Path, fault: str):
    record, column, text, reason = FAULTS[fault]
    reads = read_all(write(tmp_path / "a.csv", HEAD + record + TAIL), schema=SCHEMA)
    assert good(reads) == [{"x": 1.0, "c": "u"}, {"x": 3.0, "c": "w"}]
    (found,) = bad(reads)
    assert (found.before, found.line, found.column, found.text) == (1, 3, column, text)
    assert reason in found.reason
    assert found.raw == record.removesuffix(b"\n")
    assert found.after == (len(HEAD + record), 4, 2)


def test_faults_in_dropped_columns_do_not_matter(tmp_path: Path):
    assert bad(read_all(write(tmp_path / "a.csv", HEAD + b"two,v\n" + TAIL), drop=["x"])) == []


def test_long_text_is_shortened_and_long_records_are_cut(tmp_path: Path):
    (found,) = bad(read_all(write(tmp_path / "a.csv", HEAD + b"\x1b" * 100_000 + b"\n" + TAIL)))
    assert len(found.text) == 80
    assert found.text.isprintable()
    assert len(found.raw) == 65536


def test_a_quote_that_is_never_closed_costs_one_line(tmp_path: Path):
    reads = read_all(write(tmp_path / "a.csv", HEAD + b'2,"v\n' + TAIL * 3))
    assert len(good(reads)) == 4
    (found,) = bad(reads)
    assert (found.line, found.raw) == (3, b'2,"v')
    assert "not closed" in found.reason


def test_a_last_line_with_an_open_quote_is_bad(tmp_path: Path):
    (found,) = bad(read_all(write(tmp_path / "a.csv", b'c\nu\n"v')))
    assert (found.line, found.after.offset) == (3, 6)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "CHUNK", 64)
    monkeypatch.setattr(record_cutter, "MAX_RECORD", 1000)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("n", [990, 1001, 5000])
@pytest.mark.parametrize("end", [b"\n" + TAIL, b""])
def test_an_overlong_line_is_skipped_to_its_end(tmp_path: Path, n: int, end: bytes):
    data = HEAD + b"2," + b"v" * n + end
    reads = read_all(write(tmp_path / "a.csv", data), keep_text={"c"})
    assert len(bad(reads)) == (n > 1000)
    assert reads[-1].after.offset == len(data)
    assert [read.line for read in reads] == [2, 3, 4][: len(reads)]


@pytest.mark.usefixtures("small")
def test_an_overlong_quoted_field_costs_one_line(tmp_path: Path):
    data = HEAD + b'2,"v\n' + TAIL * 1000 + b'9,z"\n' + TAIL
    reads = read_all(write(tmp_path / "a.csv", data))
    assert [found.line for found in bad(reads)] == [3]
    assert good(reads)[-2]["c"] == 'z"'
    assert len(good(reads)) == 1003


HEADERS = {
    "twice": (b"x,y,x\n1,2,3\n", "'x' more than once"),
    "empty name": (b"x,,y\n1,2,3\n", "no name for column 2"),
    "index of pandas": (b",x,y\n0,1,2\n", "index=False"),
    "UTF-16": ("x,y\n1,2\n".encode("utf-16"), "UTF-16"),
    "UTF-16 without mark": ("x,y\n1,2\n".encode("utf-16-le"), "UTF-16"),
    "old Macintosh": (b"x,y\r1,2\r", "carriage return"),
    "open quote": (b'x,"y\n1,2\n', "not closed"),
    "empty": (b"", "empty"),
    "blank": (b"\n\r\n\n", "empty"),
    "header only": (b"x,y\n", "no record"),
    "header and blank lines": (b"x,y\r\n\r\n", "no record"),
}


@pytest.mark.parametrize("header", HEADERS)
def test_headers_that_are_refused(tmp_path: Path, header: str):
    data, message = HEADERS[header]
    with pytest.raises(InputError, match=message):
        open_source(write(tmp_path / "a.csv", data))
