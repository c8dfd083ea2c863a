"""One model per key in a stream of records: first one model for all rows, then a fleet of its copies.

All rows teach one shared model until nothing is left to decide about it: its warm-up is over, and with it the last
refit of scaling and hyperparameters, and no column can come any more. From then on it is the template of a fleet: every
key starts from what the shared model knows and learns its own rows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.core.model import Online
from iegp.core.predictions import Predictions
from iegp.errors import IegpError, InputError
from iegp.fleet.fleet import Fleet
from iegp.stream.answers import predictions_of
from iegp.stream.learner import Learner
from iegp.typing import Arrays, Bool, Float

# How long all rows share a model that has no warm-up; as long as a job takes new columns in.
_SHARED_ROWS = 1000


@dataclass
class _Template:
    """What a fleet needs of an estimator."""

    model_: Online
    single_output_: bool = True


@dataclass(frozen=True)
class Fleets:
    """How a learner of all rows becomes one of models by key; ``tell`` hears of a fleet when it starts."""

    tell: Callable[[Fleet], None] = lambda _: None

    def begin(self, shared: Learner) -> KeyedLearner:
        return KeyedLearner(shared, None, self.tell)

    def restore(self, shared: Learner, config: dict[str, Any] | None, arrays: Arrays) -> KeyedLearner:
        """Out of a checkpoint; an error where its parts do not fit together."""
        if config is None:
            learner = KeyedLearner(shared, None, self.tell)
            if learner.rows_to_share <= 0:
                raise ValueError("the models of the keys are missing")
            return learner
        fleet = Fleet.from_parts(shared.model, config, arrays, shared.n_threads)
        if not fleet.single_output or not all(isinstance(key, str) for key in fleet.keys):
            raise ValueError("the fleet is none of a stream")
        return KeyedLearner(shared, fleet, self.tell)


class KeyedLearner:
    """A learner of rows that each belong to a key; see :class:`iegp.stream.learner.AnyLearner`."""

    def __init__(self, shared: Learner, fleet: Fleet | None, tell: Callable[[Fleet], None]) -> None:
        self.shared = shared
        self.fleet = fleet
        self._tell = tell

    @property
    def model(self) -> Online:
        """The shared model; once there is a fleet, its template."""
        return self.shared.model

    @property
    def classes(self) -> tuple[str, ...]:
        return ()

    @property
    def rows_to_share(self) -> int:
        """Rows that still teach all keys."""
        return (self.model.settings.warmup or _SHARED_ROWS) - self.model.n_seen

    @property
    def rows_to_refit(self) -> int:
        """How many rows can be learned before the shared model is fitted anew, or the fleet starts."""
        refit = self.shared.rows_to_refit
        return refit if self.fleet is not None else min(refit, self.rows_to_share)

    def too_far(self, x: Float) -> Bool:
        return self.shared.too_far(x)

    def label_too_far(self, y: Float) -> Bool:
        return self.shared.label_too_far(y)

    def add_columns(self, first_values: Float, past: Float) -> None:
        """Only before there is a fleet: its columns are fixed."""
        if self.fleet is not None:
            raise InputError("a fleet has the columns of its template and takes no more; start anew with all of them")
        self.shared.add_columns(first_values, past)

    # -- answering -------------------------------------------------------------------------------------------------

    def learn(
        self, x: Float, labels: NDArray[Any], keys: tuple[str, ...] | None = None, /
    ) -> list[tuple[Predictions, tuple[str, ...]]]:
        """Predict each row with the model of its key, then learn it."""
        if self.fleet is None:
            learned = self.shared.learn(x, labels)
            if self.rows_to_share <= 0:
                self._start()
            return learned
        cheap = self.shared.cheap_intervals
        try:
            run = self.fleet.learn(list(keys or ()), self._filled(x), labels, None if cheap else self.shared.level)
        except MemoryError as error:
            raise IegpError(
                f"no memory for more than {len(self.fleet):,} keys of {self.fleet.bytes_per_key:,} bytes each; "
                "choose a smaller model (--model light, fewer n_frequencies) or a column with fewer keys"
            ) from error
        lower, upper = self.shared.normal_interval(run.mean, run.std) if cheap else (run.lower, run.upper)
        scores = {"pit": run.pit, "weights": run.weights}
        return [(predictions_of(run.log_score, mean=run.mean, std=run.std, lower=lower, upper=upper, **scores), ())]

    def predict(self, x: Float, keys: tuple[str, ...] | None = None, /) -> Predictions:
        """Predict each row as if it came next, one of an unknown key with the template; nothing is learned."""
        if self.fleet is None:
            return self.shared.predict(x)
        dist = self.fleet.predict_dist(list(keys or ()), self._filled(x))
        mean, std = dist.mean, dist.std
        cheap = self.shared.cheap_intervals
        lower, upper = self.shared.normal_interval(mean, std) if cheap else dist.interval(self.shared.level)
        return predictions_of(np.full(len(x), np.nan), mean=mean, std=std, lower=lower, upper=upper)

    def are_new(self, keys: tuple[str, ...] | None, /) -> Bool | None:
        """Which keys the template answers for; None while one model answers for all."""
        if self.fleet is None or keys is None:
            return None
        return np.array([key not in self.fleet for key in keys], dtype=bool)

    def _start(self) -> None:
        self.fleet = Fleet(_Template(self.model), n_jobs=self.shared.n_threads)
        self._tell(self.fleet)

    def _filled(self, x: Float) -> Float:
        """A value that is absent counts as the centre of its column, as it does to the shared model."""
        gaps = np.isnan(x)
        return np.where(gaps, self.model.scaling.x_mean, x) if gaps.any() else x

    # -- storing ---------------------------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any] | None, Arrays]:
        """What a checkpoint holds beside the template: the keys and their states."""
        return (None, {}) if self.fleet is None else self.fleet.to_parts()
