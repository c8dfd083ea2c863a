"""Parsers on files as they are published: tiny ones written here, and whole sets rebuilt from the paper's data."""

from __future__ import annotations

import dataclasses
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from iegp.datasets import catalogue, load_arrays, load_dataset, parsers
from iegp.datasets.download import read_npz


def zipped(member, text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, text)
    return buffer.getvalue()


def mat(**variables):
    buffer = io.BytesIO()
    savemat(buffer, variables, do_compression=True)
    return buffer.getvalue()


def rows(table, separator):
    return "".join(separator.join(map(repr, row)) + "\n" for row in table.tolist())


def idx(array):
    axes = b"".join(int(k).to_bytes(4, "big") for k in array.shape)
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + axes + array.tobytes())


def test_idx_images(tmp_path):
    images = np.arange(5 * 2 * 3, dtype=np.uint8).reshape(5, 2, 3)
    labels = np.arange(5, dtype=np.uint8)
    for name, array in {"a": images[:3], "b": labels[:3], "c": images[3:], "d": labels[3:]}.items():
        (tmp_path / name).write_bytes(idx(array))
    arrays = parsers.idx_images(*(tmp_path / name for name in "abcd"))
    np.testing.assert_array_equal(arrays["X"], images.reshape(5, 6))
    np.testing.assert_array_equal(arrays["y"], labels)
    np.testing.assert_array_equal(arrays["is_test"], [False, False, False, True, True])


def test_zip_digits(tmp_path):
    (tmp_path / "train").write_bytes(gzip.compress(b"6.0000 -1.0000 0.862 \n5.0000 0.5 1.0 \n"))
    (tmp_path / "test").write_bytes(gzip.compress(b"9 -1 -0.5\n"))
    arrays = parsers.zip_digits(tmp_path / "train", tmp_path / "test")
    assert arrays["X"].dtype == np.float32
    np.testing.assert_array_equal(arrays["X"], np.float32([[-1, 0.862], [0.5, 1], [-1, -0.5]]))
    np.testing.assert_array_equal(arrays["y"], np.uint8([6, 5, 9]))
    np.testing.assert_array_equal(arrays["is_test"], [False, False, True])


@pytest.mark.parametrize("transpose", [False, True])
def test_matlab_samples_in_columns(tmp_path, transpose):
    X, y = np.arange(6.0).reshape(3, 2), np.arange(3.0)
    (tmp_path / "m.mat").write_bytes(mat(X=X.T if transpose else X, y=y[:, None]))
    arrays = parsers.matlab_samples_in_columns(tmp_path / "m.mat")
    np.testing.assert_array_equal(arrays["X"], X)
    np.testing.assert_array_equal(arrays["y"], y)


def test_pmlb_files_must_have_the_target_last(tmp_path):
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"target\ta\n1\t2\n"))
    with pytest.raises(ValueError, match="not the target"):
        parsers.pmlb(tmp_path / "t.gz", 1, "float64", (0, 1))


def test_small_archives_cannot_grow_without_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(parsers, "MAX_UNPACKED", 1000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(10_000)))
    (tmp_path / "bomb.zip").write_bytes(zipped("a", "0" * 10_000))
    with pytest.raises(ValueError, match="more than 1000"):
        parsers.zip_digits(tmp_path / "bomb.gz", tmp_path / "bomb.gz")
    with pytest.raises(ValueError, match="more than 1000"):
        parsers.csv_in_zip(tmp_path / "bomb.zip", "a")


def published(name, arrays):
    """The set as its public source serves it: contents by the last part of the address."""
    X, y = arrays["X"], arrays["y"]
    if name == "ionosphere":
        text = "".join(
            f"{line},{'g' if label > 0 else 'b'}\n" for line, label in zip(rows(X, ",").split(), y, strict=True)
        )
        return {"ionosphere.zip": zipped("ionosphere.data", text)}
    if name == "oil_flow":
        parts = {"Trn": "", "Tst": "_test", "Vdn": "_valid"}
        data = {f"Data{part}.txt": rows(arrays[f"X{key}"], "  ").encode() for part, key in parts.items()}
        labels = {
            f"Data{part}Lbls.txt": rows(np.eye(3)[arrays[f"y{key}"]], " ").encode() for part, key in parts.items()
        }
        return data | labels
    if name == "banana":
        text = "At1\tAt2\ttarget\n" + rows(np.column_stack([X, y]), "\t")
        return {"banana.tsv.gz": gzip.compress(text.encode(), compresslevel=1)}
    if name == "musk":
        table = np.column_stack([arrays["molecule"], arrays["conformation"], X, y])
        header = "\t".join(["molecule_name", "conformation_name", *arrays["feature_names"], "target"])
        return {"clean2.tsv.gz": gzip.compress((header + "\n" + rows(table, "\t")).encode(), compresslevel=1)}
    if name == "cpu_small":
        text = "% about\n@RELATION cpu\n@ATTRIBUTE a real\n\n@DATA\n" + rows(np.column_stack([X, y]), ", ")
        return {"cpu_small.arff": text.encode()}
    if name == "sarcos_test":
        return {"sarcos_inv_test.mat": mat(sarcos_inv_test=np.hstack([X, arrays["Y"]]))}
    if name == "air_quality":
        return {"AirData.mat": mat(X=X.T, y=y[None, :])}
    raise AssertionError(name)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "name", ["ionosphere", "oil_flow", "banana", "musk", "cpu_small", "sarcos_test", "air_quality"]
)
def test_a_public_copy_passes_the_catalogues_checksums(name, paper_data, site, monkeypatch):
    entry = catalogue.CATALOGUE[name]
    original = read_npz(entry, paper_data / entry.filename)
    site.files |= {f"/{path}": body for path, body in published(name, original).items()}
    local = tuple(
        dataclasses.replace(source, base=site.address, files=tuple(Path(file).name for file in source.files))
        for source in entry.sources
    )
    monkeypatch.setitem(catalogue.CATALOGUE, name, dataclasses.replace(entry, sources=local))
    stream = load_dataset(name)
    np.testing.assert_array_equal(stream.X, original["X"])
    np.testing.assert_array_equal(stream.y, original["y"])
    assert load_arrays(name)["X"].dtype == original["X"].dtype
    assert sorted(site.requests) == sorted(site.files)


@pytest.mark.usefixtures("cache")
def test_both_public_copies_of_sarcos_are_accepted(paper_data, site, monkeypatch):
    # One copy prints nine digits, the other eight.
    entry = catalogue.CATALOGUE["sarcos"]
    original = read_npz(entry, paper_data / entry.filename)
    table = np.column_stack([original["X"], original["y"]])
    eight = np.array([f"{v:.7e}" for v in table.ravel().tolist()], dtype=np.float64).reshape(table.shape)
    assert not np.array_equal(eight, table)
    site.files["/sarcos_inv.mat"] = mat(sarcos_inv=np.hstack([eight, np.zeros((len(eight), 6))]))
    gpml = dataclasses.replace(entry.sources[1], base=site.address)
    monkeypatch.setitem(catalogue.CATALOGUE, "sarcos", dataclasses.replace(entry, sources=(gpml,)))
    np.testing.assert_allclose(load_dataset("sarcos").X, original["X"], rtol=1e-7)
