"""Compressed files that are damaged or cut short, and records of a hundred megabytes."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from readers.helpers import read_batches

from iegp.errors import InputError
from iegp.readers import open_source

N = 20_000


def compressed() -> bytes:
    numbers = np.random.default_rng(0).random(N)
    return gzip.compress(b"i,x\n" + b"".join(b"%d,%r\n" % (i, value) for i, value in enumerate(numbers.tolist())))


def read_until_damage(path: Path) -> tuple[list[float], str]:
    found: list[float] = []
    with open_source(path) as source:
        try:
            while (batch := source.read(100)) is not None:
                found += batch.columns["i"].tolist()
        except InputError as error:
            return found, str(error)
    pytest.fail("the damage was not seen")


@pytest.mark.parametrize("part", [0.3, 0.9, 0.9999])
def test_a_file_that_is_cut_short(tmp_path: Path, part: float):
    data = compressed()
    path = tmp_path / "a.csv.gz"
    path.write_bytes(data[: int(len(data) * part)])
    found, message = read_until_damage(path)
    assert found == list(range(len(found)))
    assert len(found) > (part - 0.1) * N
    assert f"line {len(found) + 2})" in message
    assert "cut short" in message


def test_a_file_that_is_damaged(tmp_path: Path):
    """Damage in compressed data may show late: at the latest by the checksum at the end."""
    data = bytearray(compressed())
    data[len(data) // 2] ^= 255
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(data)
    with open_source(path) as source, pytest.raises(InputError, match="damaged"):
        read_batches(source)


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b", b"not compressed", gzip.compress(b"x\n1\n", mtime=0)[:15]])
def test_what_is_no_compressed_file(tmp_path: Path, data: bytes):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(data)
    with pytest.raises(InputError):
        open_source(path)


MEASURE = """
import resource, sys
from iegp.readers import open_source
with open_source({path!r}) as source:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    n_good = n_bad = 0
    while (batch := source.read(1000)) is not None:
        n_good, n_bad = n_good + len(batch), n_bad + len(batch.bad)
print(n_good, n_bad, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "head", "unit", "expected"),
    [
        ("a.csv", b"x,c\n1,u\n", b"v", "2 1"),
        ("a.csv", b"x,c\n1,u\n", b'2,"v' + b"w" * 96, "2 1"),
        ("a.jsonl", b'{"x": 1}\n', b"[", "2 1"),
        ("a.csv", b'x,c\n2,"v\n', b"1,some text of some length\n", "3883600 1"),
        ("a.csv", b"x,c\n", b"1,some text of some length\n", "3883600 0"),
    ],
    ids=["line", "quotes", "brackets", "open quote", "good lines"],
)
def test_memory_is_bounded(tmp_path: Path, name: str, head: bytes, unit: bytes, expected: str):
    """A hundred megabytes, of which about 16 (and what it takes to cut them) may be held at a time."""
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(head)
        block = unit * (2**20 // len(unit))
        for _ in range(100):
            file.write(block)
        file.write(b"\n" + head.splitlines()[-1] + b"\n" if "2 1" in expected else b"")
    done = subprocess.run([sys.executable, "-c", MEASURE.format(path=str(path))], capture_output=True, text=True)
    n_good, n_bad, megabytes = map(int, done.stdout.split())
    assert f"{n_good} {n_bad}" == expected
    assert megabytes < 120
