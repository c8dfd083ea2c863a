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
from iegp.storage.locks import try_lock
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
