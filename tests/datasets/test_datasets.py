"""The paper's data sets: the catalogue on its own, and against the files where they are present."""

from __future__ import annotations

import re
import shutil
import tomllib
from importlib.resources import files

import numpy as np
import pytest

from iegp.datasets import Stream, dataset_path, describe_dataset, list_datasets, load_arrays, load_dataset
from iegp.datasets.catalogue import CATALOGUE
from iegp.datasets.download import check_arrays, content_digest
from iegp.errors import DatasetError, InputError


@pytest.mark.parametrize("name", list_datasets())
def test_entries_are_complete(name):
    entry = describe_dataset(name)
    assert re.fullmatch("[0-9a-f]{64}", entry.sha256)
    assert {"X", "y"} <= set(entry.content)
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in entry.content.values())
    assert "\n" not in entry.description
    assert entry.sources


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(DatasetError, match="'toms_hardware'"):
        load_dataset("tomshardware")
    with pytest.raises(DatasetError, match=r"Known names: .*sarcos"):
        load_dataset("zzz")


@pytest.mark.usefixtures("cache")
def test_absent_and_no_network_says_what_to_do():
    with pytest.raises(DatasetError, match=r"SARCOS.*gaussianprocess\.org.*\$IEGP_DATA"):
        dataset_path("sarcos", download=False)


@pytest.mark.usefixtures("cache")
def test_a_wrong_file_in_the_users_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("IEGP_DATA", str(tmp_path))
    np.savez(tmp_path / "banana.npz", X=np.zeros((5300, 2)), y=np.zeros(5300, dtype=np.int8))
    with pytest.raises(DatasetError, match=r"'X'.*checksum of 'banana'"):
        load_dataset("banana")


@pytest.mark.usefixtures("cache")
def test_a_file_that_is_no_archive_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("IEGP_DATA", str(tmp_path))
    (tmp_path / "banana.npz").write_bytes(b"not an archive")
    with pytest.raises(DatasetError, match="cannot be read"):
        load_dataset("banana")


@pytest.mark.usefixtures("cache")
def test_a_file_with_pickled_objects_is_never_unpickled(tmp_path, monkeypatch):
    monkeypatch.setenv("IEGP_DATA", str(tmp_path))
    np.savez(tmp_path / "banana.npz", X=np.array([print], dtype=object), y=np.zeros(1))
    with pytest.raises(DatasetError, match="allow_pickle=False"):
        load_dataset("banana")


def test_content_digest_sees_content_and_nothing_else():
    a = np.arange(6.0).reshape(2, 3)
    assert content_digest(a) == content_digest(np.asfortranarray(a)) == content_digest(a.astype(">f8"))
    others = (a.T, a.ravel(), a + np.eye(2, 3) * 1e-15, a.astype(np.float32))
    assert content_digest(a) not in {content_digest(other) for other in others}
    assert content_digest(a, 8) == content_digest(a * (1 + 1e-12), 8) != content_digest(a * (1 + 1e-6), 8)


@pytest.mark.parametrize("name", list_datasets())
def test_files_match_the_catalogue(name, paper_data):
    entry, arrays = CATALOGUE[name], load_arrays(name, download=False)
    assert dataset_path(name, download=False) == paper_data / f"{name}.npz"
    check_arrays(entry, {key: arrays[key] for key in entry.content}, name)
    n, d = arrays["X"].shape
    assert f"({n} x {d}" in entry.description
    assert len(entry.feature_names) == d
    if "feature_names" in arrays:
        assert entry.feature_names == tuple(arrays["feature_names"].tolist())


@pytest.mark.usefixtures("paper_data")
def test_load_dataset_gives_a_stream():
    stream = load_dataset("ionosphere")
    assert stream.X.shape == (351, 34)
    assert stream.X.flags.c_contiguous
    assert set(stream.y) == {-1.0, 1.0}
    assert stream.target_name == "class (-1, +1)"


@pytest.mark.usefixtures("paper_data")
@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("banana", [-1, 1]),
        ("musk", [0, 1]),
        ("ionosphere", [-1, 1]),
        ("usps", list(range(10))),
        ("oil_flow", [0, 1, 2]),
    ],
)
def test_classes_are_whole_numbers(name, classes):
    stream = load_dataset(name)
    assert stream.task == "classification"
    assert stream.y.dtype == np.int64
    assert np.unique(stream.y).tolist() == classes
    assert load_dataset("cpu_small").task == "regression"


@pytest.mark.usefixtures("paper_data")
def test_traps_are_true():
    assert np.all(np.diff(load_dataset("musk").y) <= 0)  # sorted by class
    good = load_dataset("ionosphere").y == 1
    assert good[-97:].all()
    assert np.mean(good[1:250] != good[:249]) > 0.99
    # Both copies agree to 8 digits, hence to 4 decimals.
    known, rows = (np.round(load_dataset(name).X, 4) + 0.0 for name in ("sarcos", "sarcos_test"))
    assert {row.tobytes() for row in rows} <= {row.tobytes() for row in known}
    assert np.sum(load_dataset("usps").y <= 4) == 5427


@pytest.mark.usefixtures("cache")
def test_the_file_is_verified_again_when_it_has_changed(paper_data, tmp_path, monkeypatch):
    monkeypatch.setenv("IEGP_DATA", str(tmp_path))
    copy = tmp_path / "ionosphere.npz"
    shutil.copyfile(paper_data / "ionosphere.npz", copy)
    load_dataset("ionosphere")
    damaged = bytearray(copy.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    copy.write_bytes(damaged)
    with pytest.raises(DatasetError):
        load_dataset("ionosphere")


def test_every_entry_declares_when_its_labels_are_known():
    text = files("iegp.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    for name, entry in tomllib.loads(text).items():
        assert isinstance(entry.get("delay"), int), name


def test_a_delay_is_a_number_of_rows():
    with pytest.raises(InputError, match="delay=-1"):
        Stream("toy", [[0.0]], [0.0], ("x",), "y", "one point", delay=-1)
