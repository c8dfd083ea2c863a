"""Downloads against a real server on this machine: good, absent, damaged, cut short, too long, and not made at all."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest

from iegp.datasets import catalogue, dataset_path, load_arrays, load_dataset
from iegp.datasets.download import fetch
from iegp.datasets.entry import Dataset, Remote, Source
from iegp.datasets.integrity import content_digest
from iegp.datasets.parsers import arff
from iegp.errors import DatasetError

X, Y = np.array([[1.0, 2.0], [3.0, 4.5]]), np.array([0.5, -1.0])
GOOD = b"@relation tiny\n@attribute a real\n@data\n1, 2, 0.5\n3, 4.5, -1\n"


@pytest.fixture
def tiny(site, cache, monkeypatch):
    """A data set of two rows, published on our own server and not cached yet."""
    assert not cache.exists()
    dataset = Dataset(
        name="tiny",
        title="Tiny",
        task="regression",
        description="two rows",
        feature_names=("a", "b"),
        target_name="y",
        published="nobody",
        sha256="0" * 64,
        content={"X": content_digest(X), "y": content_digest(Y)},
        sources=(
            Source((Remote(site.address + "first.arff", "tiny.arff"),), arff("tiny.arff")),
            Source((Remote(site.address + "mirror.arff", "tiny.arff"),), arff("tiny.arff")),
        ),
    )
    monkeypatch.setitem(catalogue.CATALOGUE, "tiny", dataset)
    return dataset


@pytest.mark.usefixtures("tiny")
def test_a_download_is_parsed_verified_and_cached(site, cache):
    site.files["/first.arff"] = GOOD
    stream = load_dataset("tiny")
    np.testing.assert_array_equal(stream.X, X)
    np.testing.assert_array_equal(stream.y, Y)
    assert os.listdir(cache) == ["tiny.npz"]
    assert load_arrays("tiny").keys() == {"X", "y"}
    assert site.requests == ["/first.arff"]  # the second load came from the cache


@pytest.mark.usefixtures("tiny")
def test_a_good_cache_makes_no_request(site, cache):
    cache.mkdir()
    np.savez(cache / "tiny.npz", X=X, y=Y)
    assert dataset_path("tiny") == cache / "tiny.npz"
    assert site.requests == []


@pytest.mark.usefixtures("tiny")
def test_the_users_folder_comes_before_the_cache(site, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("IEGP_DATA", str(tmp_path))
    cache.mkdir()
    for folder in (cache, tmp_path):
        np.savez(folder / "tiny.npz", X=X, y=Y)
    assert dataset_path("tiny") == tmp_path / "tiny.npz"
    assert site.requests == []


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (None, "404"),
        (GOOD.replace(b"4.5", b"4.4"), "does not match the checksum"),
        (GOOD[:-6], "not in the expected format"),
        (b"<html>moved</html>", "not in the expected format"),
    ],
)
def test_a_bad_source_is_reported_and_leaves_nothing(site, cache, body, reason):
    if body is not None:
        site.files |= {"/first.arff": body, "/mirror.arff": body}
    with pytest.raises(DatasetError, match=rf"{reason}.*\$IEGP_DATA"):
        load_dataset("tiny")
    assert not cache.exists() or os.listdir(cache) == []
    assert site.requests == ["/first.arff", "/mirror.arff"]


@pytest.mark.usefixtures("tiny")
def test_the_mirror_helps_out(site):
    site.files |= {"/first.arff": b"rubbish", "/mirror.arff": GOOD}
    assert len(load_dataset("tiny")) == 2


@pytest.mark.usefixtures("tiny")
def test_a_transfer_cut_short_is_refused(site):
    site.files |= {"/first.arff": GOOD, "/mirror.arff": GOOD}
    site.cut |= {"/first.arff", "/mirror.arff"}
    with pytest.raises(DatasetError, match=f"stopped after {len(GOOD)} of {len(GOOD) + 100} bytes"):
        load_dataset("tiny")


@pytest.mark.usefixtures("tiny")
def test_an_unknown_array_in_the_cache_is_refused(cache):
    cache.mkdir()
    np.savez(cache / "tiny.npz", X=X, y=Y, extra=X)
    with pytest.raises(DatasetError, match="'extra'"):
        load_dataset("tiny")


def test_no_network_is_reported(tiny, monkeypatch):
    nowhere = Source((Remote("http://127.0.0.1:1/tiny.arff", "tiny.arff"),), arff("tiny.arff"))  # a closed port
    monkeypatch.setitem(catalogue.CATALOGUE, "tiny", dataclasses.replace(tiny, sources=(nowhere,)))
    with pytest.raises(DatasetError, match="could not be fetched"):
        load_dataset("tiny")


@pytest.mark.usefixtures("tiny")
def test_an_unwritable_cache_is_reported(site, cache):
    site.files["/first.arff"] = GOOD
    cache.write_text("a file where the folder should be")
    with pytest.raises(DatasetError, match="XDG_CACHE_HOME"):
        load_dataset("tiny")


def test_fetch_refuses_files_that_are_too_long(site, tmp_path):
    site.files["/long"] = bytes(1000)
    with pytest.raises(DatasetError, match="1000 bytes, more than the 999 allowed"):
        fetch(Remote(site.address + "long", "long"), tmp_path, max_bytes=999)
    assert os.listdir(tmp_path) == []


def test_fetch_refuses_a_wrong_checksum(site, tmp_path):
    site.files["/file"] = b"abc"
    with pytest.raises(DatasetError, match="checksum"):
        fetch(Remote(site.address + "file", "file", sha256="0" * 64), tmp_path)
    assert os.listdir(tmp_path) == []


def test_fetch_refuses_other_protocols(tmp_path):
    with pytest.raises(DatasetError, match="only http"):
        fetch(Remote("file:///etc/hostname", "file"), tmp_path)
