"""``iegp embed``: a killed run goes on as if nothing had happened, and mistakes are told in words."""

from __future__ import annotations

import numpy as np
import pytest
from stream_runs.process import iegp

EMBED = ["embed", "in.csv", "--init", "pca", "--warmup", "60", "--frequencies", "4", "-q"]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return np.sin(rng.normal(size=(700, 2)) @ rng.normal(size=(2, 160))) + 0.05 * rng.normal(size=(700, 160))


def write_csv(path, rows):
    lines = [",".join(map(repr, row)) for row in rows.tolist()]
    path.write_text("\n".join([",".join(f"c{number}" for number in range(rows.shape[1])), *lines, ""]))


def test_a_run_resumed_at_a_block_gives_the_bytes_of_one_run(tmp_path, rows):
    # More than one chunk of bytes: where a chunk ends depends on where reading began, where a block ends must not.
    write_csv(tmp_path / "in.csv", rows)
    assert (tmp_path / "in.csv").stat().st_size > 1 << 21
    done = iegp(tmp_path, *EMBED, "--out", "whole.csv", "--save", "whole.model")
    assert done.code == 0, done.err
    for more in (["--limit", "512"], ["--resume"]):
        done = iegp(tmp_path, *EMBED, "--out", "parts.csv", "--save", "parts.model", *more)
        assert done.code == 0, done.err
    for ending in ("csv", "model"):
        assert (tmp_path / f"parts.{ending}").read_bytes() == (tmp_path / f"whole.{ending}").read_bytes()


def test_a_bad_row_keeps_what_came_before_and_the_run_goes_on_once_it_is_put_right(tmp_path, rows):
    write_csv(tmp_path / "in.csv", rows[:, :6])
    good = (tmp_path / "in.csv").read_text()
    done = iegp(tmp_path, *EMBED, "--out", "whole[bold].csv", "--save", "whole.model")
    assert done.code == 0, done.err
    lines = good.splitlines()
    lines[600] = "1,2"
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    command = [*EMBED, "--out", "parts.csv", "--save", "parts.model"]
    done = iegp(tmp_path, *command)
    assert done.code == 1
    assert "in.csv, line 601" in done.err
    (tmp_path / "in.csv").write_text(good)
    done = iegp(tmp_path, *(part for part in command if part != "-q"), "--resume")
    assert done.code == 0, done.err
    assert "Resumed at row 512" in done.err
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole[bold].csv").read_bytes()
    assert (tmp_path / "parts.model").read_bytes() == (tmp_path / "whole.model").read_bytes()


def test_a_resumed_run_keeps_its_label_and_refuses_other_flags(tmp_path, rows):
    np.savez(tmp_path / "in.npz", X=rows[:200, :5], kind=np.arange(200) % 3)
    base = ["embed", "in.npz", "--init", "pca", "--warmup", "60", "--out", "map.csv", "--save", "m"]
    done = iegp(tmp_path, *base, "--label", "kind", "--limit", "100")
    assert done.code == 0, done.err
    for flags in (["--label", "X"], ["--components", "3"]):
        done = iegp(tmp_path, *base, *flags, "--resume")
        assert done.code == 2
        assert f"{flags[0]} {flags[1]} differs from" in done.err
    done = iegp(tmp_path, *base, "--resume")
    assert done.code == 0, done.err
    assert [int(line.split(",")[-1].strip('"')) for line in (tmp_path / "map.csv").read_text().splitlines()[1:]] == [
        row % 3 for row in range(200)
    ]


def _single(path, rows):
    with path.open("wb") as file:
        np.save(file, rows)


def _empty(path, _):
    path.touch()


def _cut(path, rows):
    np.savez(path, X=rows)
    path.write_bytes(path.read_bytes()[:-200])


def _flipped(path, rows):
    np.savez_compressed(path, X=rows)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


@pytest.mark.parametrize(
    "write",
    [
        _single,
        _empty,
        _cut,
        _flipped,
        lambda path, rows: np.savez(path, X=rows * 1j),
        lambda path, rows: np.savez(path, X=rows.astype(str)),
        lambda path, rows: np.savez(path, X=rows[:, :0]),
        lambda path, rows: np.savez(path, X=rows[0]),
    ],
)
def test_an_invalid_file_of_arrays_is_reported(tmp_path, rows, write):
    write(tmp_path / "in.npz", rows)
    done = iegp(tmp_path, "embed", "in.npz", "--out", "map.csv")
    assert done.code == 1
    assert done.err.startswith("iegp: ")
    assert "in.npz" in done.err
    assert "Traceback" not in done.err
