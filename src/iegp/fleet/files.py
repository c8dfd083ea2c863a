"""Fleets in files: the template as in a model file, then the states of all keys, page by page."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from iegp.core.conformal import Conformal
from iegp.core.delay import Waiting
from iegp.core.model import Online
from iegp.core.state import State
from iegp.errors import IegpError, ModelFileError
from iegp.fleet.checks import Key, check_keys
from iegp.fleet.pages import BELIEFS
from iegp.storage import ensemble_schema
from iegp.storage import ensemble_state as snapshot
from iegp.storage import model_file as modelfile
from iegp.storage.schema import Field, check_arrays, count, part_of, under
from iegp.typing import Arrays, Float

KIND = "Fleet"
# Name of the models of `iegp stream`; that package is not imported for a message.
_STREAM = "stream"


class Stored(NamedTuple):
    """A fleet as it lay in a file."""

    model: Online
    single_output: bool
    names: tuple[str, ...] | None
    dtype: str
    keys: list[Key]
    arrays: Arrays
    n_pages: int

    def parts(self, field: str) -> list[Float]:
        """One field of the states of all keys, in consecutive pieces."""
        return [self.arrays[f"page.{number}.{field}"] for number in range(self.n_pages)]


def write(
    path: str | os.PathLike[str], model: Online, header: dict[str, Any], pages: list[State], more: Arrays
) -> None:
    config, arrays = snapshot.take(model)
    whole = {"estimator": KIND, "iegp": version("iegp"), "online": config, "n_pages": len(pages)}
    modelfile.write(path, whole | header, arrays | page_arrays(pages) | more)


def page_arrays(pages: list[State]) -> Arrays:
    """The states of all keys under the names they have in a file."""
    return {f"page.{n}.{name}": array for n, page in enumerate(pages) for name, array in page._asdict().items()}


def read(path: str | os.PathLike[str], dtypes: tuple[str, ...]) -> Stored:
    """A fleet whose parts fit together, or a :class:`ModelFileError`."""
    header, arrays = modelfile.read(path)
    if header.get("estimator") != KIND:
        raise ModelFileError(f"{os.fspath(path)} {_what_else(header)}")
    try:
        return checked(snapshot.restore(header["online"], arrays), header, arrays, dtypes)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, IegpError) as error:
        raise ModelFileError(f"{os.fspath(path)} is damaged ({error!r}); try an older copy") from error


def _what_else(header: dict[str, Any]) -> str:
    """What a file holds that is none of a fleet, and where it can go."""
    if header.get("estimator") != _STREAM:
        return "holds no fleet but a single model; use iegp.load"
    return (
        f"is the model of a run of {_command(header)}, which Python does not load; use `iegp predict`, `iegp inspect`, "
        "or continue with `iegp stream --resume`"
    )


def _command(header: dict[str, Any]) -> str:
    """The command of a run, and how many keys it has if they have models of their own."""
    try:
        n_keys = len(header["digest"].get("keys") or ())
        is_by_key = header["plan"]["key"] is not None
    except (LookupError, TypeError, AttributeError):
        is_by_key = False
    return f"`iegp stream --key` with {n_keys:,} key{'' if n_keys == 1 else 's'}" if is_by_key else "`iegp stream`"


def checked(model: Online, header: dict[str, Any], arrays: Arrays, dtypes: tuple[str, ...]) -> Stored:
    """The parts of a fleet, if they fit together."""
    names = header["feature_names"]
    stored = Stored(
        model,
        header["single_output"],
        None if names is None else tuple(map(str, names)),
        header["dtype"],
        check_keys(header["keys"]),
        arrays,
        count("n_pages", header["n_pages"], high=len(arrays)),
    )
    _check(stored, dtypes)
    return stored


def _check(stored: Stored, dtypes: tuple[str, ...]) -> None:
    model = stored.model
    if stored.dtype not in dtypes:
        raise ValueError(f"dtype is {stored.dtype!r}")
    if type(stored.single_output) is not bool or (stored.single_output and model.n_outputs != 1):
        raise ValueError(f"single_output is {stored.single_output!r} with {model.n_outputs} outputs")
    if model.is_warming_up or model.settings.likelihood != "gaussian":
        raise ValueError("the template cannot be one")
    if stored.names is not None and len(stored.names) != model.n_columns:
        raise ValueError(f"feature_names are not {model.n_columns}")
    if len(set(stored.keys)) != len(stored.keys):
        raise ValueError("a key is there twice")
    n_keys = sum(_check_page(stored, number) for number in range(stored.n_pages))
    if n_keys != len(stored.keys):
        raise ValueError(f"there are {len(stored.keys)} keys, but {n_keys} states")
    if model.settings.delay:
        _check_waiting(stored)
    if model.settings.conformal and stored.keys:
        _check_conformal(stored)


def _check_page(stored: Stored, number: int) -> int:
    """The number of keys of a page, if their states are what they must be."""
    model, rows = stored.model, f"page.{number}.rows"
    check_arrays({rows: ensemble_schema.ROWS._replace(shape=(None, 2))}, stored.arrays)
    n_keys, n_rows = len(stored.arrays[rows]), float(stored.arrays[rows].max(initial=0.0))
    fields = ensemble_schema.state_schema(ensemble_schema.Described.of(model), n_rows, n_keys, model.n_passed)
    fields |= {name: fields[name]._replace(dtype=stored.dtype) for name in BELIEFS}
    check_arrays(under(f"page.{number}.", fields), stored.arrays)
    return n_keys


def conformal_arrays(conformal: list[Conformal]) -> Arrays:
    """What intervals of all keys remember, one key after another; those that wait as the rows that do."""
    return {
        "keys.conformal.track": np.stack([own.track for own in conformal]),
        "keys.conformal.waiting": np.concatenate([own.waiting for own in conformal]),
    }


def conformal_from(stored: Stored) -> list[Conformal]:
    """The inverse, of arrays that were checked."""
    own = part_of(stored.arrays, "keys.conformal")
    counts = stored.arrays.get("late.count", np.zeros(len(stored.keys), dtype=np.int64))
    waiting = np.split(own["waiting"], np.cumsum(counts)[:-1])
    levels = np.array(stored.model.settings.conformal)
    pairs = zip(own["track"], waiting, strict=True)
    return [Conformal(levels, track.copy(), rows.copy()) for track, rows in pairs]


def _check_conformal(stored: Stored) -> None:
    model, n_keys = stored.model, len(stored.keys)
    n_waiting = int(stored.arrays["late.count"].sum()) if model.settings.delay else 0
    fields = ensemble_schema.conformal_schema(model.settings, model.n_outputs, n_waiting, n_keys)
    check_arrays(under("keys.", fields), stored.arrays)


def waiting_arrays(waiting: list[Waiting]) -> Arrays:
    """Rows of all keys that wait for their labels, one key after another."""
    stored = [rows.stored() for rows in waiting]
    arrays = {f"late.{name}": np.concatenate([rows[name] for rows in stored]) for name in stored[0]}
    return arrays | {"late.count": np.array([len(rows.x) for rows in waiting], dtype=np.int64)}


def waiting_from(stored: Stored) -> list[Waiting]:
    """The inverse, of arrays that were checked."""
    ends = np.cumsum(stored.arrays["late.count"])
    arrays = {name: array for name, array in part_of(stored.arrays, "late").items() if name != "count"}
    parts = [np.split(array, ends[:-1]) for array in arrays.values()]
    rows_of = (dict(zip(arrays, (array.copy() for array in rows), strict=True)) for rows in zip(*parts, strict=True))
    return [Waiting.restored(rows) for rows in rows_of]


def _check_waiting(stored: Stored) -> None:
    model = stored.model
    if not stored.keys:
        return
    counted = Field((len(stored.keys),), 0, model.settings.delay, np.int64)
    check_arrays({"late.count": counted}, stored.arrays)
    own = ensemble_schema.Described.of(model).sizes
    n = int(stored.arrays["late.count"].sum())
    fields = ensemble_schema.waiting_schema(model.settings, own, n, model.fills_gaps)
    check_arrays({name.replace("waiting.", "late."): field for name, field in fields.items()}, stored.arrays)
