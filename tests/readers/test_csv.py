"""CSV and TSV as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from readers.helpers import bad, good, read_all, read_batches, write

from iegp.errors import InputError
from iegp.readers import open_source


def rows(tmp_path: Path, data: bytes, name: str = "a.csv", **options: object) -> list[dict[str, object]]:
    reads = read_all(write(tmp_path / name, data), **options)
    assert bad(reads) == []
    return good(reads)


def test_numbers_and_text(tmp_path: Path):
    assert rows(tmp_path, b"x,c\n1,u\n-2.5e3,v\n") == [{"x": 1.0, "c": "u"}, {"x": -2500.0, "c": "v"}]


@pytest.mark.parametrize("marker", ["", "NA", "N/A", "null", "NULL", "None", '""', '"NA"'])
def test_missing_markers(tmp_path: Path, marker: str):
    assert rows(tmp_path, f"x,c\n1,u\n{marker},{marker}\n".encode())[1] == {"x": None, "c": None}


def test_a_column_of_nothing_but_missing_values_is_a_number(tmp_path: Path):
    with open_source(write(tmp_path / "a.csv", b"x,y\n1,\n2,NA\n")) as source:
        assert source.schema()["columns"] == {"x": "number", "y": "number"}
        assert source.read(5).columns["y"].dtype == float


@pytest.mark.parametrize("text", ["1_000", "0x10", "1e", "true", "2024-01-01", "na", "١"])
def test_what_is_no_number_is_text(tmp_path: Path, text: str):
    assert rows(tmp_path, f"x,c\n1,{text}\n".encode())[0]["c"] == text


@pytest.mark.parametrize("text", ["1", " 1 ", "\t1", "+1", "1.", "1e0", ".1E1", '"1"', '" 1"'])
def test_what_is_a_number(tmp_path: Path, text: str):
    assert rows(tmp_path, f"c,x\nu,{text}\n".encode())[0]["x"] == 1.0


def test_byte_order_mark_windows_line_ends_and_blank_lines(tmp_path: Path):
    data = b"\xef\xbb\xbfx,c\r\n1,u\r\n\r\n\n2,v\r\n"
    reads = read_all(write(tmp_path / "a.csv", data))
    assert [read.line for read in reads] == [2, 5]
    assert good(reads) == [{"x": 1.0, "c": "u"}, {"x": 2.0, "c": "v"}]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r", b"\n\n"])
def test_the_last_line_may_lack_its_end(tmp_path: Path, end: bytes):
    data = b"x,c\n1,u\n2,v" + end
    with open_source(write(tmp_path / "a.csv", data)) as source:
        batches = read_batches(source)
    assert sum(map(len, batches)) == 2
    assert batches[-1].end.offset == len(data)


def test_quoted_fields(tmp_path: Path):
    data = b'x,c\n1,"a,b"\n2,"say ""yes"""\n3,"two\r\nlines"\n4,5" pipe\n5,6" pipe\n6,"q"tail\n7,"lone\rreturn"\n'
    reads = read_all(write(tmp_path / "a.csv", data))
    texts = ["a,b", 'say "yes"', "two\r\nlines", '5" pipe', '6" pipe', "qtail", "lone\rreturn"]
    assert [row["c"] for row in good(reads)] == texts
    assert [read.line for read in reads] == [2, 3, 4, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("name", "header", "delimiter"),
    [("a.csv", "x,c", ","), ("a.csv", "x;c", ";"), ("a.csv", "x\tc", "\t"), ("a.tsv", "x\tc", "\t")],
)
def test_the_delimiter_is_found_and_remembered(tmp_path: Path, name: str, header: str, delimiter: str):
    path = write(tmp_path / name, f"{header}\n1{delimiter}u\n".encode())
    with open_source(path) as source:
        assert source.names == ("x", "c")
        assert source.schema()["delimiter"] == delimiter
    assert good(read_all(path)) == [{"x": 1.0, "c": "u"}]


def test_a_tsv_may_have_commas_in_its_fields(tmp_path: Path):
    assert rows(tmp_path, b"a,b\tc\n1\tx,y\n", "a.tsv") == [{"a,b": 1.0, "c": "x,y"}]


def test_compressed(tmp_path: Path):
    assert rows(tmp_path, b"x,c\n1,u\n", "a.csv.gz") == [{"x": 1.0, "c": "u"}]


def test_columns_kept_as_text_and_dropped(tmp_path: Path):
    assert rows(tmp_path, b"id,x,y\n007,1,junk\n", keep_text={"id"}, drop={"y"}) == [{"id": "007", "x": 1.0}]


def test_dropped_columns_are_still_named(tmp_path: Path):
    with open_source(write(tmp_path / "a.csv", b"x,y\n1,2\n"), drop=["y"]) as source:
        assert source.names == ("x", "y")
        assert list(source.read(1).columns) == ["x"]


def test_dropping_everything_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="all 1 columns"):
        open_source(write(tmp_path / "a.csv", b"x\n1\n"), drop=["x"])


def test_the_kind_is_decided_by_the_first_thousand_records(tmp_path: Path):
    early = b"x\n" + b"1\n" * 899 + b"u\n" * 101
    late = b"x\n" + b"1\n" * 1000 + b"u\n" * 200
    assert good(read_all(write(tmp_path / "a.csv", early)))[0] == {"x": "1"}
    assert [b.line for b in bad(read_all(write(tmp_path / "a.csv", late)))] == list(range(1002, 1202))


def test_a_few_texts_among_numbers_are_bad_records_not_categories(tmp_path: Path):
    reads = read_all(write(tmp_path / "a.csv", b"x\n" + b"1\n" * 30 + b"?\n" + b"2\n" * 30))
    assert [(b.line, b.column, b.text) for b in bad(reads)] == [(32, "x", "?")]
    assert "empty fields are missing" in bad(reads)[0].reason
    assert len(good(reads)) == 60


def test_a_mark_in_the_middle_of_a_file_is_a_character(tmp_path: Path):
    reads = read_all(write(tmp_path / "a.csv", "c,x\nu,1\n\ufeffv,2\n".encode()))
    assert good(reads)[1]["c"] == "\ufeffv"


def test_batches_cover_the_file(tmp_path: Path):
    data = b"x,c\n1,u\n\n2,v\nbroken\n3,w\n"
    with open_source(write(tmp_path / "a.csv", data)) as source:
        batches = read_batches(source, 2)
    assert [len(batch) for batch in batches] == [2, 1]
    assert [batch.end for batch in batches[:-1]] == [batch.start for batch in batches[1:]]


def test_at_most_must_be_positive(tmp_path: Path):
    with open_source(write(tmp_path / "a.csv", b"x\n1\n")) as source, pytest.raises(InputError, match="at_most"):
        source.read(0)
