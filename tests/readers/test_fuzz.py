"""Whatever the bytes are: only bad records and InputError come out, and every byte is accounted for."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers.helpers import good, in_order, read_all
from readers.near_formats import PARQUET, near_csv, near_json, near_parquet

from iegp.errors import InputError
from iegp.readers import feeds, open_source, record_cutter

NEAR = {
    "a.csv": near_csv(),
    "a.tsv": near_csv(),
    "a.jsonl": near_json(),
    "a.parquet": near_parquet(),
    "a.csv.gz": near_csv().map(lambda data: gzip.compress(data, mtime=0)),
    "b.jsonl.gz": st.builds(lambda data, n: gzip.compress(data, mtime=0)[:-n], near_json(), st.integers(1, 30)),
}
QUIET = {"suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow], "database": None}


def check(path: Path, data: bytes, at_most: int) -> None:
    path.write_bytes(data)
    size = {".gz": None, ".parquet": None}.get(path.suffix, len(data))
    try:
        with open_source(path) as source:
            end = None
            while (batch := source.read(at_most)) is not None:
                assert end is None or batch.start == end
                end = batch.end
                places = [batch.start, *(read.after for read in in_order(batch)), batch.end]
                assert places == sorted(places)
                assert batch.end.record - batch.start.record == batch.n_records
                assert all(len(bad.text) <= 80 and bad.text.isprintable() and bad.reason for bad in batch.bad)
            assert size is None or end is None or end.offset == size
    except InputError:
        pass  # a refusal is an answer


@pytest.fixture(params=[(5, 40), (1 << 20, 16 << 20)], ids=["small chunks", "large chunks"])
def chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    chunk, longest = request.param
    monkeypatch.setattr(feeds, "CHUNK", chunk)
    monkeypatch.setattr(record_cutter, "MAX_RECORD", longest)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("name", NEAR)
def test_nothing_else_comes_out(tmp_path: Path, name: str):
    @settings(max_examples=100, **QUIET)
    @given(NEAR[name], st.integers(1, 5))
    def run(data: bytes, at_most: int) -> None:
        check(tmp_path / name, data, at_most)

    run()


@pytest.mark.slow
@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("name", NEAR)
def test_nothing_else_comes_out_of_many(tmp_path: Path, name: str):
    """12 x 1,000 inputs."""

    @settings(max_examples=1_000, **QUIET)
    @given(NEAR[name], st.integers(1, 5))
    def run(data: bytes, at_most: int) -> None:
        check(tmp_path / name, data, at_most)

    run()


def test_the_parquet_file_that_is_changed_is_good(tmp_path: Path):
    check(tmp_path / "a.parquet", PARQUET, 3)
    assert len(good(read_all(tmp_path / "a.parquet"))) == 20
