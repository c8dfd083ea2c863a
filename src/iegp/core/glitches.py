"""Labels far from their predictions: glitches, which are not learned, and changes, which are.

The first label that is far out may be either. A row later it is known: after a glitch labels are as before, after a
change they are off the same way. A balance in the state counts which of the two a stream has. While changes do not
prevail, the first row is left out and only what follows it is learned; where they do, it is learned at once. Either way
a label far beyond the changes before it, and beyond the row before, is left out.
"""

from __future__ import annotations

from iegp._compile import compiled
from iegp.core.compute.tolerances import (
    CHANGE_DECAY,
    CHANGE_GROWTH,
    CHANGES_PREVAIL,
    GLITCH_COST,
    LARGEST_BALANCE,
    LARGEST_ROOT,
    LEAST_SHARE,
)
from iegp.core.state import State
from iegp.typing import Bool, Float


@compiled
def is_far(limit: float, y: Float, mean: Float, std: Float) -> bool:
    """Whether some output of a label is farther from its prediction than so many standard deviations."""
    for d in range(y.size):  # noqa: SIM110 - compiled code has no generators
        if abs(y[d] - mean[d]) > limit * std[d]:
            return True
    return False


@compiled
def is_left_out(state: State, error: Float) -> bool:
    """Whether the next row, whose label is far out, is left out; ``error`` as in :func:`note_row`.

    Without an error nothing says how it compares with those before it: the first is left out, what follows is learned.
    """
    if error.size == 0:
        return bool(state.rows[1] == 0.0)
    usual = state.far[1] if state.far[0] >= CHANGES_PREVAIL else 0.0
    return _size(error) > CHANGE_GROWTH * max(usual, _size(state.far[2:]))


@compiled
def note_row(state: State, far: bool, error: Float) -> None:
    """A row is learned whose label is far out or not.

    ``error`` (D,) is that of its prediction, which knew the label of the row before; none (0,) if it did not.
    """
    n_far = state.rows[1]
    if n_far == 1.0:
        is_change = _is_change(state, far, error)
        step = 1.0 if is_change else -GLITCH_COST
        state.far[0] = min(max(state.far[0] + step, -LARGEST_BALANCE), LARGEST_BALANCE)
        if is_change:
            state.far[1] = max(CHANGE_DECAY * state.far[1], _size(state.far[2:]))
    state.far[2:] = 0.0
    if far:
        _keep_error(state, error)
    state.rows[1] = min(n_far + 1.0, 2.0) if far else 0.0


@compiled
def note_skipped(state: State, error: Float) -> None:
    """A row is left out because its label is far out; ``error`` as in :func:`note_row`."""
    _keep_error(state, error)
    state.rows[1] = 1.0


@compiled
def _keep_error(state: State, error: Float) -> None:
    for d in range(error.size):
        state.far[2 + d] = min(max(error[d], -LARGEST_ROOT), LARGEST_ROOT)


@compiled
def _size(error: Float) -> float:
    """The largest error of any output."""
    size = 0.0
    for d in range(error.size):
        size = max(size, abs(error[d]))
    return size


@compiled
def _is_change(state: State, far: bool, error: Float) -> bool:
    """Whether the row before began a change, by the label of this one.

    If it was left out, the error of this one is about the same after a change, and none after a glitch. Experts that
    have learned a glitch follow it by some share of its error, and are off by that share in return.
    """
    product, square = 0.0, 0.0
    for d in range(error.size):
        product += state.far[2 + d] * min(max(error[d], -LARGEST_ROOT), LARGEST_ROOT)
        square += state.far[2 + d] * state.far[2 + d]
    if square == 0.0 or state.far[0] < CHANGES_PREVAIL:
        return far or product > LEAST_SHARE * square
    return product >= -LEAST_SHARE * square


@compiled
def rows_before_glitch(state: State, far: Bool, errors: Float) -> int:
    """How many rows come before the first that must be left out. If there is none, all are noted.

    ``far`` (n,) says which labels are far out, ``errors`` (n, D) or (n, 0) are as those of :func:`note_row`.
    """
    n_far, before = state.rows[1], state.far.copy()
    for t in range(far.size):
        if far[t] and is_left_out(state, errors[t]):
            state.rows[1] = n_far
            state.far[:] = before
            return t
        note_row(state, far[t], errors[t])
    return far.size
