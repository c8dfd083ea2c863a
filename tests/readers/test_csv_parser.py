"""The slow way through CSV accepts exactly the records that the fast way accepts, and cuts them at the same places."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from readers.helpers import plain
from readers.near_formats import CSV_PIECES, near_csv

from iegp.readers import csv_parser
from iegp.readers.csv_parser import CsvShape, find_fault, parse_fast, parse_slow, split_fields
from iegp.readers.record_cutter import _pairs_one_by_one, csv_record_ends

SHAPE = CsvShape(",", {"x": "number", "c": "text"}, ["x", "c"])
NUMBERS = st.text("0123456789.+-eE_ \tinfatyNAx\"'", max_size=8) | st.floats().map(repr)


def first_record(data: bytes) -> bytes:
    """Up to its end; one that is blank or does not end is none of our business here."""
    data += b"\n"
    ends = csv_record_ends(",")(data)
    assume(ends.size)
    record = data[: ends[0]]
    assume(record.strip(b"\r\n"))
    return record


def fields() -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(CSV_PIECES) | st.binary(max_size=2), max_size=5).map(b"".join)


@settings(max_examples=500)
@given(st.builds(lambda a, b: a + b"," + b, fields(), fields()))
@example(b'1,"a\rb"')
@example(b'1,"a"\rb')
@example(b"1,\xef\xbb\xbf")
@example(b"\xef\xbb\xbf1,u")
def test_faults_are_those_of_the_fast_way(data: bytes):
    record = first_record(data)
    fault = find_fault(record, SHAPE)
    is_protected = b"\r" in record.removesuffix(b"\n").removesuffix(b"\r")  # the fast way leaves these to the slow one
    if is_protected:
        assert (parse_slow([record], SHAPE)[0] is not None) == (fault is None)
    else:
        assert (parse_fast(record, 1, SHAPE) is not None) == (fault is None)


@settings(max_examples=500)
@given(NUMBERS)
def test_numbers_are_those_of_the_fast_way(text: str):
    record = first_record(text.replace('"', "").encode() + b",u")
    assert (parse_fast(record, 1, SHAPE) is not None) == (find_fault(record, SHAPE) is None)


@settings(max_examples=300)
@given(st.lists(st.builds(lambda a, b: a + b"," + b, fields(), fields()), min_size=1, max_size=6))
def test_good_records_are_parsed_alike(data: list[bytes]):
    records = [first_record(piece) for piece in data]
    columns, faults = parse_slow(records, SHAPE)
    alone = [parse_slow([record], SHAPE)[0] for record in records]
    assert [i for i, parsed in enumerate(alone) if parsed is None] == sorted(faults)
    for name in SHAPE.kept:
        together = [] if columns is None else [plain(value) for value in columns[name]]
        assert together == [plain(parsed[name][0]) for parsed in alone if parsed is not None]


@given(st.lists(st.text("ab,\"' \té", max_size=6), min_size=1, max_size=4))
def test_fields_are_those_of_the_csv_module(values: list[str]):
    quoted = ",".join('"' + value.replace('"', '""') + '"' for value in values)
    assert split_fields(quoted, ",") == values == next(csv.reader([quoted]))


@settings(max_examples=500)
@given(near_csv())
def test_counting_quotes_finds_what_reading_them_one_by_one_finds(data: bytes):
    codes = np.frombuffer(data, dtype=np.uint8)
    line_ends = np.flatnonzero(codes == 10)
    pairs = _pairs_one_by_one(np.flatnonzero(codes == 34), codes, (44, 10))
    expected = line_ends[np.searchsorted(pairs, line_ends) % 2 == 0] + 1
    np.testing.assert_array_equal(csv_record_ends(",")(data), expected)


@settings(max_examples=300)
@given(near_csv())
def test_every_record_is_one_row_for_arrow(data: bytes):
    """A record that we find whole is never two for the fast way, except by a carriage return, which is refused."""
    start = 0
    for end in csv_record_ends(",")(data).tolist():
        record, start = data[start:end], end
        fault = find_fault(record, CsvShape(",", {"c": "text"}, ["c"]))
        if fault is None and record.strip(b"\r\n"):
            columns, faults = parse_slow([record], CsvShape(",", {"c": "text"}, ["c"]))
            assert columns is not None
            assert not faults


def test_where_the_two_disagree_arrow_decides(monkeypatch: pytest.MonkeyPatch):
    """As it would with another version of Arrow that accepts less."""
    records = [b"%d,u\n" % i for i in range(20)]
    records[3] = records[11] = b"x,u\n"
    monkeypatch.setattr(csv_parser, "find_fault", lambda *_: None)
    columns, faults = parse_slow(records, SHAPE)
    assert sorted(faults) == [3, 11]
    assert columns is not None
    assert len(columns["x"]) == 18
