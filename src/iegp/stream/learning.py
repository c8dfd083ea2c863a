"""What a job needs of a learner, so that one model for all rows and one model per key are the same to it.

Models by key are a fleet (``iegp.fleet``), which this package does not import: a job is given a :class:`ByKey`.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from iegp.core.model import Online
from iegp.core.predictions import Predictions
from iegp.stream.learner import Learner
from iegp.typing import Arrays, Bool, Float


class AnyLearner(Protocol):
    """Rows (n, d) and labels in, predictions out; see :class:`Learner`, the plain one."""

    @property
    def model(self) -> Online:
        """The model of all rows; of models by key the one that each key starts from."""
        ...

    @property
    def classes(self) -> tuple[str, ...]: ...

    @property
    def rows_to_refit(self) -> int:
        """How many rows can be learned before something about all of them is found anew."""
        ...

    def too_far(self, x: Float) -> Bool: ...

    def label_too_far(self, y: Float) -> Bool: ...

    def add_columns(self, first_values: Float, past: Float) -> None: ...

    def learn(
        self, x: Float, labels: NDArray[Any], keys: tuple[str, ...] | None = None, /
    ) -> list[tuple[Predictions, tuple[str, ...]]]:
        """Predict each row, then learn it: predictions of consecutive rows, and the classes that were known then."""
        ...

    def predict(self, x: Float, keys: tuple[str, ...] | None = None, /) -> Predictions:
        """Predict each row as if it came next; nothing is learned."""
        ...

    def are_new(self, keys: tuple[str, ...] | None, /) -> Bool | None:
        """(n,): keys without a model of their own; None while there are no models by key."""
        ...

    def to_parts(self) -> tuple[dict[str, Any] | None, Arrays]:
        """What a checkpoint holds beside the model: plain data and arrays."""
        ...


class ByKey(Protocol):
    """How a learner of all rows becomes one of models by key."""

    def begin(self, shared: Learner) -> AnyLearner:
        """Around a learner that has seen nothing."""
        ...

    def restore(self, shared: Learner, config: dict[str, Any] | None, arrays: Arrays) -> AnyLearner:
        """Around a learner out of a checkpoint, and what :meth:`AnyLearner.to_parts` gave."""
        ...
