"""The best sequence of experts with at most S switches (as5), by dynamic programming."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.errors import InputError
from iegp.typing import Float, Int


class BestSequence(NamedTuple):
    """The best sequence of experts, and the least loss up to every row.

    Parameters
    ----------
    sequence : ndarray (T,) of int
        Expert of each row.
    running : ndarray (T,)
        Least total loss of the rows so far over sequences with at most S switches.
    """

    sequence: Int
    running: Float


def best_switching_sequence(losses: Float, max_switches: int) -> BestSequence:
    """Find the sequence of experts with the least total loss. O(T M S) time and memory.

    Parameters
    ----------
    losses : ndarray (T, M)
        Loss of every expert at every row, without NaN.
    max_switches : int
        Largest number of switches S, not negative; 0 gives the best single expert.

    Returns
    -------
    BestSequence
        The sequence, and the least loss after every row.

    Notes
    -----
    ``cost[s, m]`` is the least loss of a sequence that ends at m and may have switched s times.

    Examples
    --------
    >>> best_switching_sequence(np.array([[0.0, 3.0], [5.0, 0.0], [0.0, 1.0]]), 1).sequence
    array([0, 1, 1])
    """
    table = checked_table(losses)
    n_rows, n_experts = table.shape
    if max_switches < 0:
        raise InputError(f"max_switches={max_switches} must not be negative")
    n_levels = min(max_switches, n_rows - 1) + 1
    cost = np.tile(table[0], (n_levels, 1))
    # Predecessor of the best sequence that ends at (s, m): -1 if it stayed, else the expert it left.
    left = np.full((n_rows, n_levels, n_experts), -1, dtype=np.int32)
    running = np.empty(n_rows)
    running[0] = cost.min()
    for t in range(1, n_rows):
        origin = cost[:-1].argmin(axis=1)
        arriving = cost[:-1].min(axis=1)[:, None]
        switches = arriving < cost[1:]
        left[t, 1:] = np.where(switches, origin[:, None], -1)
        cost[1:] = np.where(switches, arriving, cost[1:])
        cost = cost + table[t]
        running[t] = cost.min()
    return BestSequence(_trace_back(left, *np.unravel_index(int(cost.argmin()), cost.shape)), running)


def _trace_back(left: Int, level: np.intp, expert: np.intp) -> Int:
    sequence = np.empty(len(left), dtype=np.int64)
    s, m = int(level), int(expert)
    for t in range(len(left) - 1, -1, -1):
        sequence[t] = m
        if left[t, s, m] >= 0:
            s, m = s - 1, int(left[t, s, m])
    return sequence


def n_switches(sequence: Int) -> int:
    """Count how often a sequence changes.

    Parameters
    ----------
    sequence : ndarray (T,)
        Expert of each row.

    Returns
    -------
    int
        Number of rows with another expert than the row before.

    Examples
    --------
    >>> n_switches(np.array([0, 0, 2, 2, 1]))
    2
    """
    return int(np.count_nonzero(np.diff(sequence)))


def checked_table(losses: Float) -> Float:
    """Return losses of experts as (T, M), or raise if there are none or one is NaN."""
    table = np.asarray(losses, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise InputError(
            f"losses of shape {table.shape} are not a table; pass one row per label, one column per expert"
        )
    if np.isnan(table).any():
        row, expert = (int(i) for i in np.argwhere(np.isnan(table))[0])
        raise InputError(f"losses has NaN at row {row}, expert {expert}; a method without densities has no regret")
    return table
