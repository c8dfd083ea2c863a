"""Support for all kinds of runs: data by name, a clock, lines thin enough to store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from iegp.datasets import Stream, list_datasets, load_dataset, load_embedded
from iegp.errors import InputError
from iegp.typing import Float

POINTS = 150


class Clock:
    """Processor seconds spent inside ``with clock.running():``."""

    seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        begin = time.process_time()
        try:
            yield
        finally:
            self.seconds += time.process_time() - begin


def stream_of(name: str, rows: int | None) -> Stream:
    """Load a data set of the paper, or one of an installed package; its first ``rows`` rows."""
    stream = load_dataset(name) if name in list_datasets() else load_embedded(name)
    return stream if rows is None else stream.head(rows)


def shuffled(stream: Stream, seed: int) -> tuple[Float, Float]:
    """Return rows and labels in an order given by the seed."""
    order = np.random.default_rng(seed).permutation(len(stream))
    return stream.X[order], stream.y[order]


def thinned(values: Float, first_row: int = 0) -> dict[str, list[float]]:
    """Return evenly spread points of a line with an entry per row: at most POINTS, its end among them."""
    at = np.unique(np.linspace(0, len(values) - 1, min(POINTS, len(values))).astype(int))
    return {"row": (at + 1 + first_row).tolist(), "value": [float(f"{v:.5g}") for v in values[at]]}


def base_name(method: str) -> str:
    """Return the method of a variant: what stands before the parenthesis in ``IE-GP (learns the warm-up)``."""
    return method.partition(" (")[0]


def method_of(methods: dict[str, object], name: str, kind: str) -> object:
    """Find a method by its name; a variant has the method's name and a remark in parentheses."""
    if base_name(name) not in methods:
        raise InputError(f"{name!r} is not a method for {kind}; there are {', '.join(methods)}")
    return methods[base_name(name)]
