"""Finding the source and its format, and refusing what cannot be one."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from readers.helpers import good, read_all, write

from iegp.errors import InputError
from iegp.readers import Position, open_source


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.gz", "a.csv.zip", "a.parquet.gz"])
def test_unknown_suffixes_are_refused(tmp_path: Path, name: str):
    with pytest.raises(InputError, match=r"Known are \.csv|own compression"):
        open_source(write(tmp_path / name, b"x\n1\n"))


def test_format_wins_over_the_suffix(tmp_path: Path):
    assert good(read_all(write(tmp_path / "a.dat", b"x\n1\n"), format="csv")) == [{"x": 1.0}]


def test_an_unknown_format_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="'xml' is not known"):
        open_source(tmp_path / "a.csv", format="xml")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.csv.gz", "a.parquet"])
def test_missing_files_and_folders_are_refused(tmp_path: Path, name: str):
    with pytest.raises(InputError, match="does not exist"):
        open_source(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="is a folder"):
        open_source(tmp_path / name)


def test_unusual_paths_are_refused():
    with pytest.raises(InputError, match="cannot be opened"):
        open_source("a\0.csv")
    with pytest.raises(InputError, match="cannot be opened"):
        open_source("a" * 5000 + ".csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_files_are_refused(tmp_path: Path):
    path = write(tmp_path / "a.csv", b"x\n1\n")
    path.chmod(0)
    with pytest.raises(InputError, match="permissions"):
        open_source(path)


def test_what_cannot_be_followed_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be followed"):
        open_source(write(tmp_path / "a.csv.gz", b"x\n1\n"), follow=True)
    with pytest.raises(InputError, match="whole file"):
        open_source(write(tmp_path / "a.parquet", b""), follow=True)


def test_parquet_on_standard_input_is_refused():
    with pytest.raises(InputError, match="whole file"):
        open_source("-", format="parquet")


def test_a_schema_of_another_format_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="stored schema"):
        open_source(write(tmp_path / "a.csv", b"x\n1\n"), schema={"format": "jsonl", "columns": {}})


@pytest.mark.parametrize(
    "damage",
    [{"columns": None}, {"columns": [1]}, {"columns": {"x": "date"}}, {"delimiter": None}, {"delimiter": "ab"}],
)
def test_a_damaged_schema_is_refused(tmp_path: Path, damage: dict[str, object]):
    schema = {"format": "csv", "delimiter": ",", "columns": {"x": "number"}} | damage
    with pytest.raises(InputError, match="is damaged"):
        open_source(write(tmp_path / "a.csv", b"x\n1\n"), schema=schema)


@pytest.mark.parametrize("position", [(-1, 1, 0), (0, None, 0), ("0", 1, 0)])
def test_a_damaged_position_is_refused(tmp_path: Path, position: tuple[int, int, int]):
    with pytest.raises(InputError, match="three whole numbers"):
        open_source(write(tmp_path / "a.csv", b"x\n1\n"), position=Position(*position))


def test_a_changed_header_is_refused(tmp_path: Path):
    schema = {"format": "csv", "delimiter": ",", "columns": {"x": "number", "z": "text"}}
    with pytest.raises(InputError, match="gone: z; new: y"):
        open_source(write(tmp_path / "a.csv", b"x,y\n1,2\n"), schema=schema)
    with pytest.raises(InputError, match="another order"):
        open_source(write(tmp_path / "a.csv", b"z,x\n1,2\n"), schema=schema)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl"])
def test_a_file_that_became_shorter_is_refused(tmp_path: Path, name: str):
    data = b'{"x": 1}\n' if "json" in name else b"x\n1\n"
    with pytest.raises(InputError, match="shorter"):
        open_source(write(tmp_path / name, data), position=Position(100, 9, 8))


def test_a_file_that_was_changed_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="no line end before byte 5"):
        open_source(write(tmp_path / "a.csv", b"x\n10000\n"), position=Position(5, 3, 1))


@pytest.mark.parametrize("name", ["in.csv", "in.csv.gz", "in.jsonl"])
def test_progress_follows_the_records_that_were_given(tmp_path, name):
    rows = ['{"a": 1, "y": 2}\n'] * 1000 if name == "in.jsonl" else ["a,y\n", *["1.5,2.5\n"] * 1000]
    content = "".join(rows).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with open_source(tmp_path / name) as source:
        seen = []
        while source.read(250) is not None:
            seen.append(source.bytes_read / source.size)
    assert seen == pytest.approx([0.25, 0.5, 0.75, 1.0], abs=0.02)
