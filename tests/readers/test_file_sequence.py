"""Several files as one source: in order, resumed anywhere, places by file."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from readers.helpers import write

from iegp.errors import InputError
from iegp.readers import Records, open_source, source_files

PARTS = (range(5), range(5, 6), range(6, 14))


def make(folder, kind):
    folder.mkdir()
    for number, part in enumerate(PARTS):
        path = folder / f"part-{number}.{kind}"
        if kind == "parquet":
            pq.write_table(pa.table({"x": [float(i) for i in part]}), path)
        elif kind == "jsonl":
            write(path, "".join(f'{{"x": {i}}}\n' for i in part).encode())
        else:
            data = ("x\n" + "".join(f"{i}\n" for i in part)).encode()
            path.write_bytes(gzip.compress(data) if kind.endswith("gz") else data)
    (folder / "notes.txt").write_text("not read")
    return folder


def read_all(source, at_most):
    parts = []
    while (batch := source.read(at_most)) is not None:
        parts.append(batch)
    return Records.joined(parts)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet"])
def test_in_order_and_resumed_after_every_record(tmp_path, kind):
    folder = make(tmp_path / "f", kind)
    with open_source(folder) as source:
        found = read_all(source, 3)
        schema = source.schema()
        assert source.bytes_read == source.size == sum(path.stat().st_size for path in folder.glob("part*"))
    np.testing.assert_array_equal(found.columns["x"], np.arange(14.0))
    for i in range(14):
        with open_source(folder, position=found.position_before(i), schema=schema) as source:
            rest = read_all(source, 4)
        np.testing.assert_array_equal(rest.columns["x"], np.arange(i, 14.0))
        assert rest.end == found.end
        np.testing.assert_array_equal(rest.lines, found.lines[i:])


def test_folder_pattern_and_list_are_the_same(tmp_path):
    folder = make(tmp_path / "f", "csv")
    files = tuple(str(folder / f"part-{number}.csv") for number in range(3))
    assert source_files(folder) == source_files(f"{folder}/part-*") == source_files(files) == files


def test_a_bad_record_is_placed_in_its_file(tmp_path):
    folder = make(tmp_path / "f", "csv")
    write(folder / "part-2.csv", b"x\n7\n8,9\n10\n")
    with open_source(folder) as source:
        found = read_all(source, 100)
        assert source.place_of(found.bad[0].line) == (str(folder / "part-2.csv"), 3)
        assert source.place_of(2) == (str(folder / "part-0.csv"), 2)
    assert found.bad[0].before == 7


def test_new_files_may_come_after_those_that_were_read(tmp_path):
    folder = make(tmp_path / "f", "csv")
    with open_source(folder) as source:
        found, schema = read_all(source, 100), source.schema()
    write(folder / "part-3.csv", b"x\n14\n")
    with open_source(folder, position=found.end, schema=schema) as source:
        assert read_all(source, 100).columns["x"].tolist() == [14.0]
    write(folder / "part-00.csv", b"x\n-1\n")
    with pytest.raises(InputError, match="File number 2 was"):
        open_source(folder, position=found.end, schema=schema)


def test_files_that_cannot_be_read_as_one_are_refused(tmp_path):
    folder = make(tmp_path / "f", "csv")
    write(folder / "part-1.csv", b"z\n1\n")
    with open_source(folder) as source, pytest.raises(InputError, match="other columns"):
        read_all(source, 100)
    with pytest.raises(InputError, match="No file matches"):
        open_source(f"{folder}/*.tsv")
    with pytest.raises(InputError, match="only one"):
        open_source(folder, follow=True)
    with pytest.raises(InputError, match="does not exist"):
        open_source([str(folder / "part-0.csv"), str(folder / "gone.csv")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no file ends in"):
        open_source(tmp_path / "empty")


@pytest.mark.parametrize("pattern", ["{}", "{}/*.csv"])
def test_a_pipe_that_a_folder_or_a_pattern_finds_is_refused(tmp_path, pattern):
    """Also where it is the only one: it would be waited for, and could not be read again."""
    (tmp_path / "f").mkdir()
    os.mkfifo(tmp_path / "f" / "part-0.csv")
    with pytest.raises(InputError, match="Name it itself"):
        open_source(pattern.format(tmp_path / "f"))
