"""Files written in pieces are those that the safetensors package reads."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from safetensors.numpy import load, save

from iegp.errors import IegpError, InputError
from iegp.storage import model_file
from iegp.storage.locks import short_name, try_lock
from iegp.storage.model_file import pieces

KINDS = st.sampled_from([np.float64, np.float32, np.int64, np.bool_, np.uint8, np.int32])
SHAPES = arrays_of.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)
ARRAYS = st.dictionaries(
    st.text('abcé."\\\n 01', min_size=1, max_size=8), st.tuples(KINDS, SHAPES).flatmap(lambda ks: arrays_of.arrays(*ks))
)
WORDS = st.dictionaries(st.just("iegp"), st.text(st.characters(codec="utf-8"), max_size=40), min_size=1)


@settings(max_examples=60)
@given(arrays=ARRAYS, metadata=WORDS)
def test_what_is_written_is_read(arrays, metadata):
    content = b"".join(pieces(arrays, metadata))
    found = load(content)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
    # Without arrays, version 0.4.0 writes a header that is not JSON.
    assert not arrays or len(content) == len(save(arrays, metadata=metadata))
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert header["__metadata__"] == metadata
    assert int.from_bytes(content[:8], "little") % 8 == 0


def test_arrays_are_not_copied():
    array = np.zeros(1000)
    *_, content = pieces({"a": array}, {"iegp": "x"})
    array[:] = 1.0
    assert np.frombuffer(content, dtype=np.float64).sum() == 1000.0


def test_a_header_that_no_reader_takes_is_refused_before_anything_is_written(monkeypatch):
    monkeypatch.setattr(model_file, "LARGEST_HEADER", 1000)
    with pytest.raises(IegpError, match="names in this model take"):
        next(iter(model_file.pieces({"a": np.zeros(3)}, {"keys": "x" * 1000})))


def test_what_a_killed_process_has_left_is_removed_by_the_next(tmp_path):
    """Names of other files, of files that are being written, and of files that were made this instant stay."""
    left, live, new = (tmp_path / f".m.{pid}.0123abcd" for pid in (7, 8, 9))
    others = [
        tmp_path / name for name in (".m2.7.0123abcd", ".m.7.0123abc", ".m.lock", "m.7.0123abcd", ".m.7.x123abcd")
    ]
    for path in (left, live, *others):
        path.write_bytes(b"half")
    new.touch()
    with open(live, "ab") as file:
        assert try_lock(file.fileno())
        model_file.replace_atomically(tmp_path / "m", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"m", live.name, new.name, *(path.name for path in others)}
    os.utime(new, (0, 0))
    model_file.replace_atomically(tmp_path / "m", b"again")
    assert {path.name for path in tmp_path.iterdir()} == {"m", *(path.name for path in others)}


def test_a_file_that_is_written_is_not_taken_for_a_leftover(tmp_path):
    with model_file.replacing(tmp_path / "m") as slow:
        slow.write(b"slow")
        slow.flush()
        model_file.replace_atomically(tmp_path / "m", b"quick")
    assert (tmp_path / "m").read_bytes() == b"slow"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_or_a_device_is_not_replaced(tmp_path):
    """A rename would remove it, and root may rename over /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="pipe is a device or a pipe"):
        model_file.write(pipe, {}, {})
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_a_folder_is_not_replaced(name):
    with pytest.raises(IsADirectoryError):
        model_file.write(name, {}, {})


# -- names and links -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["m" * 255, "é" * 127, "m" * 101])
def test_names_as_long_as_file_systems_allow(tmp_path, name):
    path = tmp_path / name
    model_file.write(path, {"a": 1}, {})
    model_file.write(path, {"a": 2}, {})
    assert model_file.read(path)[0]["a"] == 2
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_leftovers_of_long_names_are_removed_and_those_of_others_stay(tmp_path):
    path, other = tmp_path / ("m" * 250), tmp_path / ("m" * 249 + "n")
    for owner in (path, other):
        (tmp_path / f".{short_name(owner)}.1234567.0123abcd").write_bytes(b"killed")
    model_file.write(path, {}, {})
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name, f".{short_name(other)}.1234567.0123abcd"}


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_replaced(tmp_path, exists):
    (tmp_path / "there").mkdir()
    target, link, second = tmp_path / "there" / "model", tmp_path / "link", tmp_path / "second"
    link.symlink_to("there/model")
    second.symlink_to(link)
    if exists:
        model_file.write(target, {"a": 1}, {})
    for place, path in enumerate((link, second)):
        model_file.write(path, {"a": place}, {})
        assert model_file.read(target)[0]["a"] == place
        assert link.readlink().as_posix() == "there/model"
        assert second.is_symlink()
        assert [entry.name for entry in target.parent.iterdir()] == ["model"]


def test_links_that_lead_nowhere_are_refused(tmp_path):
    circle, away = tmp_path / "circle", tmp_path / "away"
    circle.symlink_to("circle")
    away.symlink_to("no such folder/model")
    with pytest.raises(OSError, match="circle"):
        model_file.write(circle, {}, {})
    with pytest.raises(FileNotFoundError, match="folder"):
        model_file.write(away, {}, {})
    assert circle.is_symlink()
    assert away.is_symlink()


def test_a_link_to_a_device_is_refused(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(os.devnull)
    with pytest.raises(InputError, match="device or a pipe"):
        model_file.write(link, {}, {})


def test_links_are_not_followed_where_that_is_asked_for(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"another file")
    link.symlink_to(target)
    model_file.write(link, {"a": 1}, {}, through_link=False)
    assert target.read_bytes() == b"another file"
    assert not link.is_symlink()
