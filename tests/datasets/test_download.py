"""Downloads against a real server on this machine: good, absent, damaged, cut short, too long, and not made at all."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest

from iegp.datasets import catalogue, dataset_path, load_arrays, load_dataset
from iegp.datasets.catalogue import read_entry
from iegp.datasets.download import CHUNK, content_digest, fetch
from iegp.errors import DatasetError

X, Y = np.array([[1.0, 2.0], [3.0, 4.5]]), np.array([0.5, -1.0])
GOOD = b"@relation tiny\n@attribute a real\n@data\n1, 2, 0.5\n3, 4.5, -1\n"
ENTRY = {
    "title": "Tiny",
    "task": "regression",
    "description": "two rows",
    "features": ["a", "b"],
    "target_name": "y",
    "published": "on no site",
    "sha256": "0" * 64,
    "content": {"X": content_digest(X), "y": content_digest(Y)},
    "sources": [{"base": "https://example.org/", "files": ["tiny.arff"], "format": "arff"}],
}


@pytest.fixture
def tiny(site, cache, monkeypatch):
    """A data set of two rows, published on our own server and not cached yet."""
    assert not cache.exists()
    entry = ENTRY | {
        "sources": [{"base": site.address, "files": [f"{name}.arff"], "format": "arff"} for name in ("first", "mirror")]
    }
    dataset = read_entry("tiny", entry)
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
    with pytest.raises(DatasetError, match=rf"{len(GOOD)} bytes read, 100 more expected"):
        load_dataset("tiny")


@pytest.mark.usefixtures("tiny")
def test_an_unknown_array_in_the_cache_is_refused(cache):
    cache.mkdir()
    np.savez(cache / "tiny.npz", X=X, y=Y, extra=X)
    with pytest.raises(DatasetError, match="'extra'"):
        load_dataset("tiny")


def test_no_network_is_reported(tiny, monkeypatch):
    nowhere = dataclasses.replace(tiny.sources[0], base="http://127.0.0.1:1/")  # a closed port
    monkeypatch.setitem(catalogue.CATALOGUE, "tiny", dataclasses.replace(tiny, sources=(nowhere,)))
    with pytest.raises(DatasetError, match=r"could not be fetched: \[Errno \d+\] Connection refused\."):
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
        fetch(site.address + "long", tmp_path / "long", max_bytes=999)
    assert os.listdir(tmp_path) == []


def test_fetch_stops_a_file_of_unannounced_length(site, tmp_path):
    site.files["/long"] = bytes(3 * CHUNK)
    site.silent.add("/long")
    with pytest.raises(DatasetError, match=f"longer than the {CHUNK} bytes allowed"):
        fetch(site.address + "long", tmp_path / "long", max_bytes=CHUNK)
    fetch(site.address + "long", tmp_path / "long", max_bytes=3 * CHUNK)
    assert (tmp_path / "long").stat().st_size == 3 * CHUNK


def test_fetch_refuses_other_protocols(tmp_path):
    with pytest.raises(DatasetError, match="only http"):
        fetch("file:///etc/hostname", tmp_path / "file")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"titel": "Tiny"}, "'titel'"),
        ({"title": None}, "'title'"),
        ({"features": None}, "'features' is missing"),
        ({"task": "ranking"}, "task 'ranking' is unknown"),
        ({"sha256": "abc"}, "'abc' is not a SHA-256"),
        ({"content": {"X": "0" * 64}}, "no checksum for X, or none for y"),
        ({"sources": [{"base": "", "files": ["a"], "format": "xls"}]}, "format 'xls' is unknown"),
        ({"sources": [{"base": "", "files": ["a", "b"], "format": "arff"}]}, "too many positional"),
        ({"sources": [{"base": "", "files": ["a"], "format": "csv_in_zip"}]}, "'member'"),
        ({"sources": [{"base": "", "format": "arff"}]}, "'files'"),
    ],
)
def test_a_bad_entry_is_named(change, complaint):
    entry = {key: value for key, value in (ENTRY | change).items() if value is not None}
    with pytest.raises(DatasetError, match=rf"entry 'tiny': .*{complaint}"):
        read_entry("tiny", entry)
