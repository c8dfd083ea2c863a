"""Learn a Ray Dataset: Ray Data streams its batches through workers, which return states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes

from iegp._imports import optional
from iegp.core.model import Online
from iegp.core.state import State
from iegp.errors import InputError
from iegp.history.parts import ArrayPart, Columns, Rows, columns_among, table_rows
from iegp.history.workers import learn_part_in_turn

_WHERE = "the Ray Dataset"


class Draft(Protocol):
    """Model in the process of learning a history, as :mod:`iegp.history.fit` keeps it."""

    names: tuple[str, ...] | None

    @property
    def n_warmup(self) -> int: ...
    def begin(self, rows: Rows, single_output: bool, names: tuple[str, ...] | None) -> Online: ...
    def untaught(self) -> Online: ...


def is_dataset(dataset: Any) -> bool:
    """Return whether this is a Ray Dataset, without importing Ray."""
    return any(kind.__module__.split(".")[0] == "ray" and kind.__name__ == "Dataset" for kind in type(dataset).__mro__)


def learn(
    dataset: Any, draft: Draft, target: str | None, features: Sequence[str] | None, part_rows: int
) -> Iterator[tuple[int, State]]:
    """Yield the states of parts as Ray Data finishes them. For a warm-up, Ray first materialises the dataset."""
    ray = optional("ray", "engine='ray'")
    if target is None:
        raise InputError("a Ray Dataset needs target=, the name of the column to predict")
    columns = _columns(dataset, target, features if features is not None else draft.names)
    if draft.n_warmup:
        first, dataset = dataset.split_at_indices([draft.n_warmup])
        batches = list(first.iter_batches(batch_size=draft.n_warmup, batch_format="pyarrow"))
        draft.begin(table_rows(pa.concat_tables(batches), columns, _WHERE, 0), True, columns.features)
    shared = ray.put(draft.untaught())

    def learn_batch(batch: pa.Table) -> dict[str, list[bytes]]:
        rows = table_rows(batch, columns, _WHERE, 0)
        return {"state": [to_bytes(learn_part_in_turn(ray.get(shared), ArrayPart(*rows))._asdict())]}

    states = dataset.map_batches(learn_batch, batch_size=part_rows, batch_format="pyarrow")
    for number, row in enumerate(states.iter_rows()):
        yield number, State(**from_bytes(row["state"]))


def _columns(dataset: Any, target: str, features: Sequence[str] | None) -> Columns:
    schema = dataset.schema()
    return columns_among(pa.schema(list(zip(schema.names, schema.types, strict=True))), target, features, _WHERE)
