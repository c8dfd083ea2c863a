"""Keeping account of regret while a stream runs."""

from __future__ import annotations

import math
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from iegp.errors import InputError
from iegp.evaluate.regret.bounds import lemma2
from iegp.evaluate.regret.sequences import best_switching_sequence, checked_table
from iegp.typing import Float

# Other weights, stacking for one, are drawn too, but the lemma does not speak of them.


class Predictive(Protocol):
    """What ``predict_dist`` of a regressor returns: components (n, M, D) and their weights (n, M)."""

    weights: Float
    loc: Float
    scale: Float
    dof: Float


class Scored(Protocol):
    """What ``prequential`` returns."""

    log_score: Float


class RegretLedger:
    """Losses of an ensemble and of its experts, row by row, and the regret they make.

    Feed it while a stream runs with :meth:`follow` (a predictive distribution and the label that came) or :meth:`add`
    (losses), or from a finished run with :meth:`from_run`. Losses are minus log scores, all before learning.

    Parameters
    ----------
    switch_prob : float, default=0.0
        The probability of leaving the active expert that the ensemble's weights assume; 0 is Bayes. It decides the
        bound of Lemma 2 that regret is drawn under.

    Examples
    --------
    >>> ledger = RegretLedger(switch_prob=0.1)
    >>> ledger.add(loss=[1.0, 1.5], expert_losses=[[0.9, 1.2], [2.0, 1.0]])
    >>> len(ledger), ledger.to_best_expert().round(3).tolist()
    (2, [0.1, 0.3])
    >>> bool(ledger.to_best_sequence(1)[-1] <= ledger.bound(1)[-1])
    True
    """

    def __init__(self, *, switch_prob: float = 0.0) -> None:
        if not 0.0 <= switch_prob < 1.0:
            raise InputError(f"switch_prob={switch_prob!r} must be a probability below 1; 0 for Bayes weights")
        self.switch_prob = float(switch_prob)
        self._losses: list[Float] = []
        self._expert_losses: list[Float] = []

    @classmethod
    def from_run(cls, run: Scored, expert_log_scores: ArrayLike, *, switch_prob: float = 0.0) -> Self:
        """The ledger of a finished run; ``expert_log_scores`` (n, M) are those of each expert on its own."""
        ledger = cls(switch_prob=switch_prob)
        ledger.add(-np.asarray(run.log_score), -np.asarray(expert_log_scores))
        return ledger

    def add(self, loss: ArrayLike, expert_losses: ArrayLike) -> None:
        """Note one row (a number, and one for each expert) or several (n,) and (n, M)."""
        own = np.atleast_1d(np.asarray(loss, dtype=np.float64))
        table = checked_table(np.atleast_2d(np.asarray(expert_losses, dtype=np.float64)))
        if np.isnan(own).any():
            raise InputError("loss has a NaN; all regret from there on would be one")
        if own.shape != (len(table),):
            raise InputError(f"loss has shape {own.shape}, expert_losses {table.shape}; give as many rows of both")
        if self._losses and table.shape[1] != self.n_experts:
            raise InputError(f"{table.shape[1]} experts, but the rows before had {self.n_experts}; keep their number")
        self._losses.append(own.copy())
        self._expert_losses.append(table.copy())

    def follow(self, dist: Predictive, y: ArrayLike, log_score: ArrayLike | None = None) -> None:
        """Note rows by what was predicted (``model.predict_dist(X)``) and what came, before the model learns it.

        ``log_score`` is the ensemble's own of these rows (``model.prequential(X, y).log_score``). Without it, it is
        computed from the weights of the prediction, in which an expert that is more than 700 nats behind counts as
        gone: an ensemble that takes such an expert back would be charged for what it did not lose.
        """
        dist = _checked_dist(dist, y)
        table = component_losses(dist, y)
        if log_score is not None:
            self.add(-np.asarray(log_score, dtype=np.float64), table)
            return
        with np.errstate(divide="ignore"):
            mixed = logsumexp(np.log(dist.weights) - table, axis=1)
        self.add(-mixed, table)

    def __repr__(self) -> str:
        return f"RegretLedger({len(self)} rows, {self.n_experts} experts)"

    def __len__(self) -> int:
        return sum(len(part) for part in self._losses)

    @property
    def n_experts(self) -> int:
        """How many experts are followed; 0 before the first row."""
        return self._expert_losses[0].shape[1] if self._expert_losses else 0

    @property
    def losses(self) -> Float:
        """(T,): the ensemble's."""
        self._require_rows()
        return np.concatenate(self._losses)

    @property
    def expert_losses(self) -> Float:
        """(T, M)."""
        self._require_rows()
        return np.concatenate(self._expert_losses)

    def to_best_expert(self) -> Float:
        """(T,): regret so far against the expert that is best so far (eq:L_mix_single)."""
        return np.asarray(np.cumsum(self.losses) - np.cumsum(self.expert_losses, axis=0).min(axis=1))

    def to_best_sequence(self, max_switches: int) -> Float:
        """(T,): regret so far against the best sequence of experts with at most ``max_switches`` switches."""
        return np.asarray(np.cumsum(self.losses) - best_switching_sequence(self.expert_losses, max_switches).running)

    def against(self, comparator_losses: ArrayLike) -> Float:
        """(T,): losses minus those of a fixed comparator, summed so far. Its end is the paper's regret."""
        other = np.asarray(comparator_losses, dtype=np.float64)
        if other.shape != (len(self),):
            raise InputError(f"comparator_losses has shape {other.shape}, but {len(self)} rows were noted")
        return np.asarray(np.cumsum(self.losses - other))

    def bound(self, max_switches: int = 0) -> Float:
        """(T,): Lemma 2 after every row; without switches and ``switch_prob=0`` it is log M (eq:L_mix_single)."""
        n_experts = self.n_experts
        return np.array(
            [
                lemma2(
                    n_rows=t,
                    n_experts=n_experts,
                    n_switches=min(max_switches, t - 1) if n_experts > 1 else 0,
                    switch_prob=self.switch_prob,
                )
                for t in range(1, len(self) + 1)
            ]
        )

    def _require_rows(self) -> None:
        if not self._losses:
            raise InputError("the ledger is empty; note rows with follow or add first")


def component_losses(dist: Predictive, y: ArrayLike) -> Float:
    """Loss of every expert of a predictive mixture, (n, M): minus log density, summed over outputs."""
    labels = np.asarray(y, dtype=np.float64).reshape(len(dist.loc), 1, -1)
    z2 = ((labels - dist.loc) / dist.scale) ** 2
    gaussian = 0.5 * (z2 + math.log(2.0 * math.pi))
    heavy = np.isfinite(dist.dof)
    dof = np.where(heavy, dist.dof, 1.0)
    constant = gammaln(0.5 * dof) - gammaln(0.5 * (dof + 1.0)) + 0.5 * np.log(np.pi * dof)
    student = constant + 0.5 * (dof + 1.0) * np.log1p(z2 / dof)
    losses: Float = (np.where(heavy, student, gaussian) + np.log(dist.scale)).sum(axis=2)
    return losses


def _checked_dist(dist: Predictive, y: ArrayLike) -> Predictive:
    """``dist``, if it is a predictive mixture with as many rows and outputs as ``y`` has labels."""
    missing = [name for name in ("loc", "scale", "dof", "weights") if not hasattr(dist, name)]
    if missing:
        raise InputError(
            f"follow got a {type(dist).__name__} without {', '.join(missing)}; give what predict_dist of a regressor "
            "returns, or log scores of any other model through RegretLedger.from_run(run, expert_log_scores)"
        )
    n, _, n_outputs = dist.loc.shape
    labels = np.asarray(y)
    # Other shapes might be broadcast against the experts without a word.
    if labels.size != n * n_outputs or (labels.ndim > 1 and len(labels) != n):
        raise InputError(
            f"y has shape {labels.shape}, but {n} rows of {n_outputs} outputs were predicted; give one label for each"
        )
    return dist
