"""Decimal commas, thousands separators and further words for missing values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from readers.helpers import write

from iegp.errors import InputError
from iegp.readers import NumberStyle, open_source

GERMAN = NumberStyle(decimal=",", thousands=".")


def read(path, **options):
    with open_source(path, **options) as source:
        return source.read(100), source.schema()["columns"]


def test_decimal_commas_and_thousands(tmp_path):
    path = write(tmp_path / "a.csv", b'x;c\n1.234,5;a\n" 12";b\n,5;c\n-1.000.000;d\n1,5e3;e\n;f\n')
    found, kinds = read(path, style=GERMAN)
    assert kinds == {"x": "number", "c": "text"}
    np.testing.assert_array_equal(found.columns["x"], [1234.5, 12.0, 0.5, -1e6, 1500.0, np.nan])
    assert read(path)[1]["x"] == "text"


@pytest.mark.parametrize("text", ["1.5", "1.23,5", "12.34", "1,2,3", "nan", "1e999"])
def test_what_is_written_otherwise_is_a_bad_record(tmp_path, text):
    rows = "".join(f"{i},25;{i}\n" for i in range(30))
    found, _ = read(write(tmp_path / "a.csv", f"x;i\n{rows}{text};7\n8,5;8\n".encode()), style=GERMAN)
    assert [(bad.before, bad.column, bad.text) for bad in found.bad] == [(30, "x", text)]
    assert found.columns["x"][-1] == 8.5


def test_more_words_for_missing_values_in_every_format(tmp_path):
    style = NumberStyle(na_values=("-", "-999"))
    csv = write(tmp_path / "a.csv", b"x,c\n1,u\n-,-\n-999,v\n")
    lines = write(tmp_path / "a.jsonl", b'{"x": 1, "c": "u"}\n{"x": "-", "c": "-"}\n{"x": -999, "c": "v"}\n')
    pq.write_table(pa.table({"x": [1.0, -999.0, -999.0], "c": ["u", "-", "v"]}), tmp_path / "a.parquet")
    for path in (csv, lines, tmp_path / "a.parquet"):
        found, _ = read(path, style=style)
        np.testing.assert_array_equal(found.columns["x"], [1.0, np.nan, np.nan])
        assert found.columns["c"].tolist() == ["u", None, "v"]


@pytest.mark.parametrize(
    "style", [NumberStyle(decimal=""), NumberStyle(decimal=",", thousands=","), NumberStyle((), "::")]
)
def test_signs_that_cannot_be_told_apart_are_refused(style):
    with pytest.raises(InputError, match="--decimal"):
        style.check()
