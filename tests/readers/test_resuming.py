"""Stopping after any record and going on from its position gives the rest, whatever the format and the chunks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers.helpers import Read, in_order, known, read_all, read_batches, write
from readers.near_formats import near_csv, near_json

from iegp.errors import InputError
from iegp.readers import Position, feeds, json_source, open_source, parquet_source, record_cutter

CSV = b'\xef\xbb\xbfx,c\r\n1,u\r\n\r\n2,"a\r\n""b"""\nbad\n3,5" pipe\n\n\nnan,w\n4,"open\n5,z\n6,last'
JSON = b'\xef\xbb\xbf{"x": 1, "c": "u"}\n\n{"c": 2}\n{"x": 2, "new": true}\r\n{"x": [1]}\n{"new": "u"}\n{"x": null}'
SOURCES = {"a.csv": CSV, "a.csv.gz": CSV, "a.jsonl": JSON, "a.jsonl.gz": JSON, "a.parquet": b""}


@pytest.fixture
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    name = request.param
    if name != "a.parquet":
        return write(tmp_path / name, SOURCES[name])
    columns = {"x": [1.0, np.nan, None, 4.0, np.inf, 6.0, 7.0] * 3, "c": ["u", None, "w"] * 7}
    pq.write_table(pa.table(columns), tmp_path / name, row_group_size=5)
    return tmp_path / name


def comparable(reads: list[Read]) -> list[tuple[Any, ...]]:
    """``before`` counts within a batch, and which columns are known yet may depend on it."""
    return [(r.line, known(r.values), r.bad and r.bad._replace(before=0), r.after) for r in reads]


def check_every_position(path: Path, at_most: int) -> None:
    with open_source(path) as source:
        reads = [read for batch in read_batches(source, at_most) for read in in_order(batch)]
        schema = json.loads(json.dumps(source.schema()))
    assert comparable(read_all(path)) == comparable(reads)
    for i, read in enumerate(reads):
        position = Position(*json.loads(json.dumps(read.after)))
        assert position.record == i + 1
        rest = read_all(path, at_most, position=position, schema=schema)
        assert comparable(rest) == comparable(reads[i + 1 :])


@pytest.mark.parametrize("path", SOURCES, indirect=True)
@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize("at_most", [1, 3, 1000])
def test_every_position(path: Path, chunk: int, at_most: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(feeds, "CHUNK", chunk)
    monkeypatch.setattr(json_source, "BATCH", 2 if chunk < 64 else 1024)
    monkeypatch.setattr(parquet_source, "BATCH_CELLS", 2 * chunk)
    check_every_position(path, at_most)


@pytest.mark.parametrize("path", SOURCES, indirect=True)
def test_positions_do_not_depend_on_the_chunks(path: Path, monkeypatch: pytest.MonkeyPatch):
    expected = comparable(read_all(path))
    for chunk in (1, 2, 3, 5, 8, 13, 21):
        monkeypatch.setattr(feeds, "CHUNK", chunk)
        assert comparable(read_all(path)) == expected


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_overlong_records_do_not_depend_on_the_chunks(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(record_cutter, "MAX_RECORD", 12)

    @settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(near_csv() if name == "a.csv" else near_json(), st.integers(1, 30))
    def run(data: bytes, chunk: int) -> None:
        path = write(tmp_path / name, data)
        found = []
        for size in (chunk, 1 << 20):
            monkeypatch.setattr(feeds, "CHUNK", size)
            try:
                found.append(comparable(read_all(path)))
            except InputError as error:
                found.append([str(error)])
        assert found[0] == found[1]

    run()


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_every_position_of_unusual_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(near_csv() if name == "a.csv" else near_json(), st.integers(1, 30), st.integers(1, 4))
    def run(data: bytes, chunk: int, at_most: int) -> None:
        monkeypatch.setattr(feeds, "CHUNK", chunk)
        path = write(tmp_path / name, data)
        try:
            open_source(path).close()
        except InputError:
            return
        check_every_position(path, at_most)

    run()


@pytest.mark.parametrize("path", SOURCES, indirect=True)
def test_a_finished_source_stays_finished(path: Path):
    with open_source(path) as source:
        end = read_batches(source)[-1].end
        assert source.read(1) is None
        schema = source.schema()
    with open_source(path, position=end, schema=schema) as source:
        assert source.read(1) is None
