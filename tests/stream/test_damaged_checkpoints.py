"""Checkpoints that are not what they were: one line that says so, nothing executed, nothing large allocated."""

from __future__ import annotations

import copy
import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from stream_runs import sources
from stream_runs.models import write_config
from stream_runs.process import iegp

import iegp as package
from iegp.errors import ModelFileError
from iegp.storage import model_file as modelfile
from iegp.stream import checkpoint

COMMAND = ["stream", "in.jsonl", "--target", "y", "--config", "small.toml", "--save", "m", "--out", "out.jsonl"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A run over mixed records with rows that wait."""
    folder = tmp_path_factory.mktemp("run")
    write_config(folder)
    waiting = [{"id": f"w{i}", "a": 0.1 * i, "b": 1.0, "place": "north", "when": "2024-03-01"} for i in range(3)]
    records = [{"id": i, **record} for i, record in enumerate(sources.mixed(100))]
    sources.write(folder / "in.jsonl", [*records, *waiting])
    done = iegp(folder, *COMMAND, "--time", "when")
    assert done.code == 0, done.err
    return folder


def refused(folder: Path, name: str) -> str:
    """Resuming, predicting and inspecting say in one line what is wrong, and leave the file alone; the message."""
    before = (folder / name).read_bytes() if (folder / name).is_file() else None
    message = ""
    for command in ([*COMMAND[:-4], "--save", name, "--resume"], ["predict", name, "in.jsonl"], ["inspect", name]):
        done = iegp(folder, *command)
        # That a folder is no file is said before anything is read.
        assert done.code == (2 if command[0] == "stream" and (folder / name).is_dir() else 1), (command, done)
        assert done.err.startswith("iegp: ")
        assert done.err.count("\n") == 1
        assert done.out == ""
        message = done.err
    assert before is None or (folder / name).read_bytes() == before
    return message


def test_files_that_are_no_checkpoints(folder):
    (folder / "empty").write_bytes(b"")
    (folder / "text").write_text("a,b\n1,2\n")
    (folder / "place").mkdir()
    for name in ("empty", "text", "place"):
        assert name in refused(folder, name)


def test_the_model_of_an_estimator(folder):
    package.IEGPRegressor(n_frequencies=2, warmup=0).fit([[0.0], [1.0]], [0.0, 1.0]).save(folder / "other")
    for command in ([*COMMAND[:-4], "--save", "other", "--resume"], ["predict", "other", "in.jsonl"]):
        done = iegp(folder, *command)
        assert done.code == 1
        assert "estimator" in done.err
    assert iegp(folder, "inspect", "other").code == 0


def test_loading_a_checkpoint_in_python_says_what_to_use(folder):
    with pytest.raises(ModelFileError, match="iegp predict"):
        package.load(folder / "m")


def test_truncated(folder):
    content = (folder / "m").read_bytes()
    for length in np.linspace(1, len(content) - 1, 60).astype(int).tolist():
        (folder / "short").write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            checkpoint.read(folder / "short")
    refused(folder, "short")


def test_flipped_bytes(folder):
    """Header and numbers are both under a checksum: no flipped bit goes unnoticed."""
    content = (folder / "m").read_bytes()
    (n_header,) = struct.unpack_from("<Q", content)
    rng = np.random.default_rng(0)
    places = [*range(40), *rng.integers(8, 8 + n_header, 400), *rng.integers(8 + n_header, len(content), 200)]
    for place in places:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        (folder / "flipped").write_bytes(flipped)
        told = message_of(folder / "flipped")
        if told is not None:
            assert "flipped" in told
            continue
        job, where = checkpoint.read(folder / "flipped")
        # Blanks around the header, or a name that means the same.
        (folder / "again").unlink(missing_ok=True)
        checkpoint.write(folder / "again", job, where)
        assert (folder / "again").read_bytes() == content
    refused_or_same = iegp(folder, "inspect", "flipped")
    assert refused_or_same.code in (0, 1)


def message_of(path: Path) -> str | None:
    """What is wrong with a checkpoint; None if it can be read. Any other error than ours goes through."""
    try:
        checkpoint.read(path)
    except ModelFileError as error:
        return str(error)
    return None


def leaves(value, path=()):
    """Where in nested data every entry stands."""
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from leaves(entry, (*path, key))


def altered(header, path, value):
    header = copy.deepcopy(header)
    inner = header
    for key in path[:-1]:
        inner = inner[key]
    if value is leaves:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return header


NASTY = [leaves, None, -1, 2**62, 10**30, 1e308, float("nan"), True, "", "text", [], {}, [[]], {"a": 1}]


@pytest.mark.parametrize("stride", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_every_entry_of_the_header_altered_and_signed_again(folder, stride):
    """With a checksum that fits. Whatever loads must have the sizes of its own arrays."""
    header, arrays = modelfile.read(folder / "m")
    header.pop("sha256")
    paths = list(leaves(header))
    assert len(paths) > 80
    n_refused = n_tried = 0
    for number, path in enumerate(paths):
        for value in NASTY[number % stride :: stride]:
            changed = altered(header, path, value)
            modelfile.write(folder / "altered", changed, arrays)
            n_tried += 1
            told = message_of(folder / "altered")
            if told is not None:
                n_refused += 1
                assert "\n" not in told
                continue
            job, _ = checkpoint.read(folder / "altered")
            assert job.learner is None or job.learner.model.n_columns == len(job.encoder.columns)
    assert n_refused > 0.5 * n_tried


def test_the_header_of_the_file_altered_without_signing(folder):
    header, arrays = modelfile.read(folder / "m")
    for path in leaves({name: value for name, value in header.items() if name not in ("sha256", "format")}):
        value = header
        for key in path:
            value = value[key]
        text = json.dumps(altered(header, path, [value, 1]), sort_keys=True)
        (folder / "changed").write_bytes(b"".join(modelfile.pieces(arrays, {"iegp": text})))
        with pytest.raises(ModelFileError, match="checksum"):
            checkpoint.read(folder / "changed")
    for value in (0, modelfile.FORMAT + 1, 99, "x", None):
        modelfile.write(folder / "changed", header | {"format": value}, arrays)
        with pytest.raises(ModelFileError):
            checkpoint.read(folder / "changed")


MEASURE = """
import resource, sys
from iegp.errors import ModelFileError
from iegp.stream import checkpoint
checkpoint.read(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in sys.argv[2:]:
    try:
        checkpoint.read(name)
    except ModelFileError as error:
        print(name, str(error)[:100])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_huge_declared_sizes_allocate_nothing(folder):
    """Resident memory of a process that reads files which claim to be enormous grows by less than 30 MiB."""
    header, arrays = modelfile.read(folder / "m")
    names = []
    huge = {("pending", "at_most"): 2**40, ("plan", "max_pending"): 2**40, ("encoder", "n_open"): 2**40}
    huge |= {("online", "settings", "n_frequencies"): 10**9, ("settings", "n_frequencies"): 10**9}
    huge |= {("digest", "n_experts"): 2**33, ("digest", "strip_width"): 2**33, ("digest", "n_rows"): 2**40}
    huge |= {("settings", "warmup"): 10**10, ("counters", "rows"): 2**40}
    for number, (path, value) in enumerate(huge.items()):
        changed = altered(header, path, value)
        names.append(f"huge {number}")
        modelfile.write(folder / names[-1], changed, arrays)
    declared = {"x": {"dtype": "F64", "shape": [1 << 40], "data_offsets": [0, 1 << 43]}}
    for number, (length, text) in enumerate(((None, json.dumps(declared)), (1 << 60, "{}"), (1 << 33, "{}"))):
        names.append(f"made up {number}")
        content = struct.pack("<Q", length or len(text)) + text.encode()
        (folder / names[-1]).write_bytes(content + bytes(64))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, "m", *names],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.splitlines()[-1]) < 30.0


def test_no_count_of_a_file_bounds_a_loop(folder):
    """A report on as many rows as there can be ends like any other; more are refused."""
    header, arrays = modelfile.read(folder / "m")
    pit = np.full_like(arrays["digest.scores.pit"], 2.0**48)
    modelfile.write(folder / "many", header, arrays | {"digest.scores.pit": pit})
    done = iegp(folder, "report", "many")
    assert done.code == 0, done.err
    modelfile.write(folder / "more", header, arrays | {"digest.scores.pit": 2.0**20 * pit})
    assert "pit" in iegp(folder, "report", "more").err
    modelfile.write(folder / "more", altered(header, ("counters", "rows"), 2**63), arrays)
    assert "rows is 9223372036854775808" in iegp(folder, "report", "more").err


def test_rows_were_answered_by_a_model(folder):
    """Without it the next rows would begin another one, and the first of them have no answer."""
    header, arrays = modelfile.read(folder / "m")
    modelfile.write(folder / "without", header | {"online": None}, arrays)
    with pytest.raises(ModelFileError, match="it has no model, but 103 rows were answered"):
        checkpoint.read(folder / "without")
