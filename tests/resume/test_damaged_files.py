"""A damaged, foreign or hostile file is a ModelFileError: never another error, never a crash, never code that runs."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contracts.models import small, stream
from safetensors.numpy import save as to_bytes

from iegp import load
from iegp.errors import ModelFileError
from iegp.storage import model_file as modelfile

X, Y = stream(80)


def with_right_checksum(arrays: dict[str, Any], metadata: dict[str, str]) -> bytes:
    """A file with a valid checksum, so that the checks after it are tested."""
    return to_bytes(arrays, metadata=metadata | {"iegp": modelfile.signed(json.loads(metadata["iegp"]), arrays)})


def parts(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The JSON header and the bytes of the arrays."""
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def joined(header: dict[str, Any], data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "m"
    small(n_frequencies=3, warmup=64).fit(X[:40], Y[:40]).save(path)  # in the middle of its warm-up
    return path.read_bytes()


@pytest.fixture
def refused(tmp_path) -> Callable[[bytes], str]:
    """Load these bytes, expect a ModelFileError, return its message."""

    def check(damaged: bytes) -> str:
        path = tmp_path / "damaged"
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError) as caught:
            load(path)
        return str(caught.value)

    return check


def test_the_whole_file_is_fine(content, tmp_path):
    (tmp_path / "m").write_bytes(joined(*parts(content)))
    assert load(tmp_path / "m").n_samples_seen_ == 40


FLIPS = [0x01, 0x20, 0x80]


@pytest.mark.parametrize("stride", [len(FLIPS), pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("flip", FLIPS)
def test_flipped_bytes_of_the_header(content, flip, stride, tmp_path):
    """The file is refused, or says the same: a blank, or a small letter for a large.

    So no bit of a name, of a setting or of a parameter changes unnoticed. Every byte of the header is flipped in one of
    the ways, and in all of them with a stride of one.
    """
    size = 8 + int.from_bytes(content[:8], "little")
    path, surprises, refusals = tmp_path / "m", [], 0
    (tmp_path / "whole").write_bytes(content)
    header, _ = modelfile.read(tmp_path / "whole")
    positions = range(FLIPS.index(flip) % stride, size, stride)
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= flip
        path.write_bytes(damaged)
        try:
            load(path).save(tmp_path / "again")
            assert (tmp_path / "again").read_bytes() == content
            assert modelfile.read(path)[0] == header
        except ModelFileError:
            refusals += 1
        except Exception as error:
            context = bytes(damaged[max(0, position - 25) : position + 15])
            surprises.append(f"{position} {context!r}: {error!r}"[:400])
    assert not surprises, f"{len(surprises)} surprises, first ones:\n" + "\n".join(surprises[:8])
    assert refusals > 0.99 * len(positions)


def test_truncated_files(content, refused):
    size = 8 + int.from_bytes(content[:8], "little")
    for length in [*range(12), *range(12, size, 97), size - 1, size, size + 1, (size + len(content)) // 2]:
        assert "damaged" in refused(content[:length]), length
    assert "damaged" in refused(content[:-1])


def test_trailing_bytes(content, refused):
    refused(content + b"more")


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 10**9, 10**12])
def test_huge_declared_header(content, length, refused):
    refused(length.to_bytes(8, "little") + content[8:])


TENSORS = [
    "scaling.x_mean",
    "scaling.y_scale",
    "ensemble.basis.frequencies",
    "ensemble.drift",
    "ensemble.noise_var",
    "ensemble.prior_ratio",
    "ensemble.forgetting",
    "ensemble.tails",
    "ensemble.transitions",
    "state.matrix",
    "state.vector",
    "state.noise_shape",
    "state.noise_scale",
    "state.log_weights",
    "kept.x",
    "kept.y",
]


@pytest.mark.parametrize("name", TENSORS)
def test_missing_arrays(content, name, refused):
    header, data = parts(content)
    arrays, metadata = unpacked(header, data)
    del arrays[name]
    message = refused(with_right_checksum(arrays, metadata))
    assert name in message


@pytest.mark.parametrize("name", TENSORS)
def test_arrays_of_another_shape(content, name, refused):
    arrays, metadata = unpacked(*parts(content))
    original = arrays[name]
    for wrong in (
        original[:-1],
        np.concatenate([original, original]),
        original[None],
        original.ravel()[:0],
        np.float64(1.0).reshape(()),
        original.reshape(*original.shape, 1),
    ):
        arrays[name] = np.ascontiguousarray(wrong).reshape(wrong.shape)
        assert "damaged" in refused(with_right_checksum(arrays, metadata)), (name, wrong.shape)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool", "float16", "int32"])
@pytest.mark.parametrize("name", TENSORS)
def test_arrays_of_another_type(content, name, dtype, refused):
    arrays, metadata = unpacked(*parts(content))
    arrays[name] = np.ones(arrays[name].shape, dtype=dtype)
    assert "damaged" in refused(with_right_checksum(arrays, metadata))


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F8_E5M2", "I64", "U64", "F4", "X9", "C64", "F64 ", "", 3, None])
def test_types_that_numpy_does_not_know(content, dtype, refused):
    header, data = parts(content)
    header["state.matrix"]["dtype"] = dtype
    refused(joined(header, data))


@pytest.mark.parametrize(
    "entry",
    [
        {"shape": [10**12]},
        {"shape": [2**62, 2**62]},
        {"shape": [2**64]},
        {"shape": [-1]},
        {"shape": "big"},
        {"shape": []},
        {"data_offsets": [0, 10**15]},
        {"data_offsets": [2**63, 2**63 + 8]},
        {"data_offsets": [8, 0]},
        {"data_offsets": [-8, 0]},
        {"data_offsets": []},
    ],
    ids=str,
)
def test_huge_and_senseless_declarations(content, entry, refused):
    header, data = parts(content)
    header["state.matrix"] |= entry
    refused(joined(header, data))


def unpacked(header: dict[str, Any], data: bytes) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    metadata = header.pop("__metadata__")
    arrays = {}
    for name, entry in header.items():
        start, stop = entry["data_offsets"]
        dtype = {"F64": np.float64, "I64": np.int64}[entry["dtype"]]
        arrays[name] = np.frombuffer(data[start:stop], dtype=dtype).reshape(entry["shape"]).copy()
    return arrays, metadata


# -- our own header --------------------------------------------------------------------------------------------------


def edited(content: bytes, path: tuple[str, ...], value: Any) -> bytes:
    """The file with one entry of our header replaced (or removed, if the value is ...), and a right checksum."""
    header, data = parts(content)
    ours = json.loads(header["__metadata__"]["iegp"])
    inner = ours
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    arrays, _ = unpacked(dict(header), data)
    header["__metadata__"]["iegp"] = modelfile.signed(ours, arrays)
    return joined(header, data)


def test_the_error_for_a_newer_format_names_the_upgrade(content, refused):
    assert "upgrade" in refused(edited(content, ("format",), modelfile.FORMAT + 1))
    assert "format 999" in refused(edited(content, ("format",), 999))


WRONG = [
    *[(("format",), value) for value in (0, -1, None, "new", [1], {}, 1e999, float("nan"), ...)],
    *[(("estimator",), value) for value in ("os.system", "", None, ["IEGPRegressor"], {"a": 1}, 3, ...)],
    *[(("parameters",), value) for value in (None, [], 3, "x", {}, ...)],
    *[(("parameters", "kernels"), value) for value in (3, "RBF", [3], [{}], [{"kernel": "os.system"}], [[]], ...)],
    (("parameters", "kernels"), [{"kernel": "RBF", "length_scale": -1.0}]),
    (("parameters", "kernels"), [{"kernel": "RBF", "length_scale": "x" * 10}]),
    (("parameters", "kernels"), [{"kernel": "RBF", "unknown": 1}]),
    (("parameters", "kernels"), [{"kernel": ["RBF"]}]),
    (("parameters", "kernels"), [{"kernel": {}}]),
    (("parameters", "kernels"), [{"kernel": "RBF", "length_scale": [[1.0], [1.0, 2.0]]}]),
    (("parameters", "kernels"), [{"kernel": "RBF", "length_scale": {"a": 1}}]),
    (("parameters", "switch_prob"), [[1.0], [0.5, 0.5]]),
    (("parameters", "bogus"), 3),
    *[(("online",), value) for value in (3, "x", [], {}, True)],
    *[(("online", "settings"), value) for value in (None, [], 3, {}, ...)],
    *[(("online", "settings", "drift_var"), value) for value in (None, [], [0.0], [0.0, 1e-3, 1e-2], ["x", "y"], 3)],
    *[(("online", "settings", "noise_forgetting"), value) for value in ([], [None], [None, 0.9, 0.9], [2.0, None])],
    *[(("online", "settings", "n_frequencies"), value) for value in (0, -1, 7, 10**12, "3", None)],
    *[(("online", "settings", "weights"), value) for value in ("foo", None, "switching", ["bayes"])],
    *[(("online", "settings", "seed"), value) for value in (-1, "x", None, 1.5)],
    *[(("online", "settings", "warmup"), value) for value in (-1, "x", None)],
    *[(("online", "settings", "kernels"), value) for value in ([], None, [{"kernel": "RBF"}])],
    *[(("online", "kernels"), value) for value in ([], None, 3, [{"kernel": "RBF", "length_scale": 1.0}], ...)],
    *[(("online", "settings", "weights"), value) for value in (-1, 3, 10**30, "x", None, 1.5, 1, ...)],
    *[(("online", "settings", "stacking_rate"), value) for value in ("x", None, -1.0, float("nan"), [0.1], ...)],
    *[(("online", "settings", "shutdown"), value) for value in ("x", None, -1.0, 2.0, float("nan"), ...)],
    *[(("online", "is_warming_up"), value) for value in (-1, "many", None, 1e999, [], ...)],
    (("online", "is_warming_up"), ...),
    (("single_output",), ...),
    *[(("feature_names",), value) for value in (3, ["a"], ["a", "b", "c", "d"])],
]


@pytest.mark.parametrize(("path", "value"), WRONG, ids=[f"{'.'.join(path)}={value!r}" for path, value in WRONG])
def test_wrong_entries_of_our_header(content, path, value, refused):
    refused(edited(content, path, value))


def test_two_outputs_cannot_pass_for_one(refused, tmp_path):
    """A header that contradicts its arrays is damaged, and says so when loaded, not when used."""
    small(n_frequencies=3).fit(X[:40], np.stack([Y, Y], axis=1)[:40]).save(tmp_path / "two")
    refused(edited((tmp_path / "two").read_bytes(), ("single_output",), True))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '"x"', "NaN", "[" * 5000, '{"format": 1}', "\x00"])
def test_our_header_is_not_json_or_says_nothing(content, text, refused):
    header, data = parts(content)
    header["__metadata__"]["iegp"] = text
    refused(joined(header, data))


def test_a_safetensors_file_of_another_program(refused):
    message = refused(to_bytes({"weight": np.ones(3)}))
    assert "not a model file" in message
    refused(to_bytes({"weight": np.ones(3)}, metadata={"format": "pt"}))


# -- not model files -------------------------------------------------------------------------------------------------


class Payload:
    """Touches a file when unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_refused_and_does_not_run(protocol, refused, tmp_path):
    target = tmp_path / "it-ran"
    payload = pickle.dumps(Payload(target), protocol=protocol)
    refused(payload)
    refused(to_bytes({"x": np.ones(1)}, metadata={"iegp": payload.decode("latin-1")}))
    assert not target.exists()
    pickle.loads(payload)
    assert target.exists(), "the payload is harmless: the test shows nothing"


def test_a_pickle_inside_a_valid_file_does_not_run(content, tmp_path):
    """As an array among the others, and as text in the header."""
    target = tmp_path / "it-ran"
    payload = pickle.dumps(Payload(target))
    arrays, metadata = unpacked(*parts(content))
    arrays["payload"] = np.frombuffer(payload, dtype=np.uint8)
    (tmp_path / "m").write_bytes(to_bytes(arrays, metadata=metadata | {"payload": payload.decode("latin-1")}))
    with contextlib.suppress(ModelFileError):
        load(tmp_path / "m").predict(X)
    assert not target.exists()


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"\x00",
        b"\x00" * 8,
        b"\x00" * 1000,
        b"\xff" * 1000,
        b"not a model",
        b"PK\x03\x04" + b"\x00" * 100,
        b"\x93NUMPY\x01\x00" + b" " * 200,
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        bytes(range(256)) * 16,
    ],
    ids=lambda junk: repr(junk[:12]),
)
def test_junk(junk, refused):
    refused(junk)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")
    with pytest.raises((ModelFileError, OSError)):
        load(tmp_path)


def test_messages_name_the_file(content, refused):
    for damaged in (
        content[:100],
        b"junk",
        edited(content, ("format",), modelfile.FORMAT + 1),
        edited(content, ("online", "is_warming_up"), ...),
    ):
        assert "damaged" in refused(damaged).split("/")[-1].split(" ")[0]


def test_a_flipped_bit_anywhere_in_the_numbers_is_noticed(content, refused):
    size = 8 + int.from_bytes(content[:8], "little")
    for position in np.random.default_rng(0).integers(size, len(content), 40):
        flipped = bytearray(content)
        flipped[position] ^= 1 << int(position) % 8
        assert "checksum" in refused(bytes(flipped))
