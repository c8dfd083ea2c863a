"""Parquet: types, faults, row groups and damage."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from readers.helpers import bad, good, read_all, read_batches, write

from iegp.errors import InputError
from iegp.readers import open_source, parquet_source


def stored(tmp_path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", **options)
    return tmp_path / "a.parquet"


COLUMNS = {
    "int": (pa.array([1, None]), [1.0, None]),
    "float32": (pa.array([0.5, None], pa.float32()), [0.5, None]),
    "float16": (pa.array(np.array([0.5, 2.0], np.float16)), [0.5, 2.0]),
    "bool": (pa.array([True, None]), [1.0, None]),
    "decimal": (pa.array([Decimal("1.25"), None]), [1.25, None]),
    "null": (pa.nulls(2), [None, None]),
    "text": (pa.array(["u", None]), ["u", None]),
    "large text": (pa.array(["u", None], pa.large_string()), ["u", None]),
    "bytes": (pa.array([b"u", None]), ["u", None]),
    "category": (pa.array(["u", None]).dictionary_encode(), ["u", None]),
    "time": (pa.array([dt.datetime(2024, 5, 1, 12), None], pa.timestamp("ms")), ["2024-05-01T12:00:00.000", None]),
    "zone": (
        pa.array([dt.datetime(2024, 5, 1, 12), None], pa.timestamp("ms", tz="Europe/Paris")),
        ["2024-05-01T12:00:00.000Z", None],
    ),
    "date": (pa.array([dt.date(2024, 5, 1), None]), ["2024-05-01", None]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_types(tmp_path: Path, kind: str):
    column, expected = COLUMNS[kind]
    rows = good(read_all(stored(tmp_path, {"a.b": column, "a": pa.array([1, 2])})))
    assert [row["a.b"] for row in rows] == expected


def test_numbers_kept_as_text(tmp_path: Path):
    columns = {"i": [7, None], "b": [True, False], "f": [0.5, 1e300], "d": [Decimal("1.50"), None]}
    rows = good(read_all(stored(tmp_path, columns), keep_text=columns))
    assert rows == [{"i": "7", "b": True, "f": "0.5", "d": "1.50"}, {"i": None, "b": False, "f": "1e+300", "d": None}]


def test_nan_and_infinity_are_bad(tmp_path: Path):
    reads = read_all(stored(tmp_path, {"c": ["u", "v", "w", "x"], "x": [1.0, float("nan"), None, float("-inf")]}))
    assert [row["c"] for row in good(reads)] == ["u", "w"]
    assert [(b.before, b.line, b.column, b.text) for b in bad(reads)] == [(1, 2, "x", "nan"), (2, 4, "x", "-inf")]
    assert bad(reads)[0].after == (2, 3, 2)
    assert bad(reads)[0].raw == b'{"c": "v", "x": NaN}'


def test_bytes_that_are_no_text_are_bad(tmp_path: Path):
    reads = read_all(stored(tmp_path, {"c": [b"u", b"\xff", b"w"]}))
    assert [(b.line, b.column, b.text) for b in bad(reads)] == [(2, "c", "\\xff")]
    assert [row["c"] for row in good(reads)] == ["u", "w"]


def test_nested_columns_must_be_dropped(tmp_path: Path):
    path = stored(tmp_path, {"x": [1.0], "y": [[1, 2]]})
    with pytest.raises(InputError, match=r"'y' is of type list.*--ignore"):
        open_source(path)
    assert good(read_all(path, drop=["y"])) == [{"x": 1.0}]


def test_names(tmp_path: Path):
    with open_source(stored(tmp_path, {"x": [1.0, 2.0], "y": [[1], [2]]}), drop=["y"]) as source:
        assert source.names == ("x", "y")
        assert source.schema() == {"format": "parquet", "columns": {"x": "number"}}


def test_an_empty_table_and_a_doubled_name_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="no rows"):
        open_source(stored(tmp_path, {"x": pa.array([], pa.float64())}))
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="'x' twice"):
        open_source(tmp_path / "a.parquet")


def test_other_types_than_before_are_refused(tmp_path: Path):
    schema = {"format": "parquet", "columns": {"x": "text"}}
    with pytest.raises(InputError, match="other columns or types"):
        open_source(stored(tmp_path, {"x": [1.0]}), schema=schema)


def test_batches_are_bounded_and_cross_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parquet_source, "BATCH_CELLS", 8)
    path = stored(tmp_path, {"x": np.arange(50.0), "y": np.arange(50.0)}, row_group_size=7)
    with open_source(path) as source:
        batches = read_batches(source)
        assert source.bytes_read == source.size
    assert max(map(len, batches)) <= 4
    np.testing.assert_array_equal(np.concatenate([batch.columns["x"] for batch in batches]), np.arange(50.0))


def test_a_truncated_file_is_refused(tmp_path: Path):
    whole = stored(tmp_path, {"x": np.arange(50.0)}).read_bytes()
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        open_source(write(tmp_path / "b.parquet", whole[:-20]))


def test_damage_is_reported_after_what_comes_before_it(tmp_path: Path):
    path = stored(tmp_path, {"x": np.random.default_rng(0).random(4000)}, row_group_size=1000, compression="zstd")
    data = bytearray(path.read_bytes())
    place = pq.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset
    data[place : place + 40] = b"\xff" * 40
    n_rows, message = 0, ""
    with open_source(write(tmp_path / "b.parquet", bytes(data))) as source:
        try:
            while (batch := source.read(10)) is not None:
                n_rows += len(batch)
        except InputError as error:
            message = str(error)
    assert n_rows == 2000
    assert "damaged after row 2000 " in message
