"""Static and switching regret, as the paper defines them, and the best sequence of experts with S switches (as5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iegp.errors import InputError
from iegp.evaluate.regret.bounds import lemma1
from iegp.evaluate.regret.comparators import Comparator, Likelihood, best_expert, best_function, best_parameter
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


def static_regret(losses: Float, comparators: Sequence[Comparator]) -> float:
    """Compute R^ST(T) (eq:static_regret): the ensemble's online loss minus that of the best fixed function.

    Parameters
    ----------
    losses : ndarray (T,)
        Minus the log scores of a run.
    comparators : sequence of Comparator
        Best function of each expert on the same rows; the best of them (eq:f_star) is compared with.

    Returns
    -------
    float
        Regret in nats; negative if the ensemble did better.
    """
    chosen = comparators[best_expert(comparators)]
    return float(_alike(losses, chosen.losses).sum() - chosen.losses.sum())


def switching_regret(losses: Float, expert_losses: Float, max_switches: int | None = None) -> float:
    """Compute R^SW(T) (eq:regret_tr): the online loss minus the least loss over sequences of experts.

    Parameters
    ----------
    losses : ndarray (T,)
        Minus the log scores of a run.
    expert_losses : ndarray (T, M)
        Losses of each expert's fixed function, or their online losses for the regret of Lemma 2.
    max_switches : int, optional
        Largest number of switches of a sequence; ``None`` lets it switch at every row.

    Returns
    -------
    float
        Regret in nats.
    """
    limit = len(losses) if max_switches is None else max_switches
    if limit >= len(losses) - 1:
        best = float(np.min(expert_losses, axis=1).sum())
    else:
        best = float(best_switching_sequence(expert_losses, limit).running[-1])
    return float(_alike(losses, np.asarray(expert_losses)[:, 0]).sum()) - best


class Curve(NamedTuple):
    """Regret after some numbers of rows, with its bound.

    Parameters
    ----------
    n_rows : ndarray (k,)
        Numbers of rows.
    regret : ndarray (k,)
        Regret after them, in nats.
    bound : ndarray (k,)
        Bound on it; NaN where none is computed.
    """

    n_rows: Float
    regret: Float
    bound: Float


def static_curve(
    losses: Float,
    features: Sequence[Float],
    y: Float,
    prior_vars: Sequence[float],
    likelihoods: Sequence[Likelihood],
    n_rows: Sequence[int],
) -> Curve:
    """Compute regret against the best random-feature parameter, and Lemma 1, after each of ``n_rows`` rows.

    The comparator is fitted again for every number of rows, as the definition says: to those rows alone.

    Parameters
    ----------
    losses : ndarray (T,)
        Minus the log scores of a run.
    features : sequence of ndarray (T, F)
        Random features of each expert: pairs of a sine and a cosine, so F is even.
    y : ndarray (T,)
        Labels.
    prior_vars : sequence of float
        Prior variance of each expert.
    likelihoods, n_rows : sequence of Likelihood, sequence of int
        Loss of each expert, and numbers of rows, at most T.

    Returns
    -------
    Curve
        One entry per number of rows.
    """
    odd = [phi.shape[1] for phi in features if phi.shape[1] % 2 or phi.shape[1] == 0]
    if odd:
        raise InputError(f"features with {odd[0]} columns; random features come in pairs, a sine and a cosine each")
    regret, bound = [], []
    for n in n_rows:
        own = [
            best_parameter(phi[:n], y[:n], prior, likelihood)
            for phi, prior, likelihood in zip(features, prior_vars, likelihoods, strict=True)
        ]
        m = best_expert(own)
        regret.append(static_regret(losses[:n], own))
        bound.append(
            lemma1(
                theta_norm_squared=2.0 * prior_vars[m] * own[m].penalty,
                prior_var=prior_vars[m],
                n_rows=n,
                n_frequencies=features[m].shape[1] // 2,
                n_experts=len(features),
                curvature=likelihoods[m].curvature,
            )
        )
    return Curve(np.asarray(n_rows, dtype=np.float64), np.asarray(regret), np.asarray(bound))


def rkhs_curve(
    losses: Float, grams: Sequence[Float], y: Float, likelihoods: Sequence[Likelihood], n_rows: Sequence[int]
) -> Curve:
    """Compute regret against the best function of the experts' RKHSs (eq:static_regret). O(T³) per number of rows.

    Theorem 1's bound is not computed.

    Parameters
    ----------
    losses : ndarray (T,)
        Minus the log scores of a run.
    grams : sequence of ndarray (T, T)
        Kernel matrix of each expert, with its prior variance.
    y : ndarray (T,)
        Labels.
    likelihoods, n_rows : sequence of Likelihood, sequence of int
        Loss of each expert, and numbers of rows, at most T.

    Returns
    -------
    Curve
        One entry per number of rows; the bound is NaN.
    """
    regret = []
    for n in n_rows:
        own = [best_function(gram[:n, :n], y[:n], one) for gram, one in zip(grams, likelihoods, strict=True)]
        regret.append(static_regret(losses[:n], own))
    return Curve(np.asarray(n_rows, dtype=np.float64), np.asarray(regret), np.full(len(n_rows), np.nan))


def _alike(losses: Float, others: Float) -> Float:
    values = np.asarray(losses, dtype=np.float64)
    if values.shape != others.shape:
        raise InputError(f"losses has shape {values.shape}, the comparator {others.shape}; score both on the same rows")
    return values
