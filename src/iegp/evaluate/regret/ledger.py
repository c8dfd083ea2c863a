"""Regret of an ensemble, recorded row by row while a stream runs."""

from __future__ import annotations

import math
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from iegp.errors import InputError
from iegp.evaluate.regret.bounds import lemma2
from iegp.evaluate.regret.definitions import best_switching_sequence, checked_table
from iegp.typing import Float

# The bound of Lemma 2 is for Bayes and switching weights; it does not cover others, such as stacking.


class Predictive(Protocol):
    """Predictive mixture, as ``predict_dist`` of a regressor returns it: components (n, M, D) and weights (n, M)."""

    weights: Float
    loc: Float
    scale: Float
    dof: Float


class Scored(Protocol):
    """Run with log scores, as ``prequential`` returns it."""

    log_score: Float


class RegretLedger:
    """Losses of an ensemble and of its experts, row by row, and the resulting regret.

    Fill it while a stream runs with :meth:`follow` (a predictive distribution and the label) or :meth:`add` (losses),
    or from a finished run with :meth:`from_run`. Losses are minus log scores, all before learning.

    Parameters
    ----------
    switch_prob : float, default=0.0
        The probability of leaving the active expert that the ensemble's weights assume; 0 is Bayes. It sets the bound
        of Lemma 2.

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
        """Make the ledger of a finished run.

        Parameters
        ----------
        run : PrequentialRun or ClassificationRun
            Any object with ``log_score`` (n,).
        expert_log_scores : array-like (n, M)
            Log score of each expert on its own.
        switch_prob : float, default=0.0
            Probability of leaving the active expert that the ensemble's weights assume.

        Returns
        -------
        RegretLedger
            Ledger with all rows of the run.
        """
        ledger = cls(switch_prob=switch_prob)
        ledger.add(-np.asarray(run.log_score), -np.asarray(expert_log_scores))
        return ledger

    def add(self, loss: ArrayLike, expert_losses: ArrayLike) -> None:
        """Record one row or several by their losses.

        Parameters
        ----------
        loss : float or array-like (n,)
            Loss of the ensemble, in nats; NaN raises ``InputError``.
        expert_losses : array-like (M,) or (n, M)
            Loss of each expert on the same rows. The number of experts must stay the same.
        """
        own = np.atleast_1d(np.asarray(loss, dtype=np.float64))
        table = checked_table(np.atleast_2d(np.asarray(expert_losses, dtype=np.float64)))
        if np.isnan(own).any():
            raise InputError("loss has a NaN; all later regret would be NaN")
        if own.shape != (len(table),):
            raise InputError(f"loss has shape {own.shape}, expert_losses {table.shape}; give as many rows of both")
        if self._losses and table.shape[1] != self.n_experts:
            raise InputError(f"{table.shape[1]} experts, but the rows before had {self.n_experts}; keep their number")
        self._losses.append(own.copy())
        self._expert_losses.append(table.copy())

    def follow(self, dist: Predictive, y: ArrayLike, log_score: ArrayLike | None = None) -> None:
        """Record rows by their predictions and labels, before the model learns them.

        Parameters
        ----------
        dist, y : object, array-like (n,) or (n, D)
            Prediction of a regressor, ``model.predict_dist(X)``, and the labels.
        log_score : array-like (n,), optional
            The ensemble's own log scores of these rows (``model.prequential(X, y).log_score``). Without it they are
            computed from the weights of the prediction, in which an expert that is more than 700 nats behind has weight
            zero: for an ensemble that gives such an expert weight again, the loss is then too large.
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
        """Number of experts; 0 before the first row."""
        return self._expert_losses[0].shape[1] if self._expert_losses else 0

    @property
    def losses(self) -> Float:
        """Losses of the ensemble, (T,)."""
        self._require_rows()
        return np.concatenate(self._losses)

    @property
    def expert_losses(self) -> Float:
        """Losses of the experts, (T, M)."""
        self._require_rows()
        return np.concatenate(self._expert_losses)

    def to_best_expert(self) -> Float:
        """Compute the regret so far against the expert that is best so far (eq:L_mix_single).

        Returns
        -------
        ndarray (T,)
            Regret after every row, in nats.
        """
        return np.asarray(np.cumsum(self.losses) - np.cumsum(self.expert_losses, axis=0).min(axis=1))

    def to_best_sequence(self, max_switches: int) -> Float:
        """Compute the regret so far against the best sequence of experts. O(T M S) time and memory.

        Parameters
        ----------
        max_switches : int
            Largest number of switches S of the sequence.

        Returns
        -------
        ndarray (T,)
            Regret after every row, in nats.
        """
        return np.asarray(np.cumsum(self.losses) - best_switching_sequence(self.expert_losses, max_switches).running)

    def against(self, comparator_losses: ArrayLike) -> Float:
        """Compute the regret so far against a fixed comparator.

        Parameters
        ----------
        comparator_losses : array-like (T,)
            Losses of the comparator on the same rows.

        Returns
        -------
        ndarray (T,)
            Regret after every row, in nats; the last entry is the paper's regret.
        """
        other = np.asarray(comparator_losses, dtype=np.float64)
        if other.shape != (len(self),):
            raise InputError(f"comparator_losses has shape {other.shape}, but {len(self)} rows were recorded")
        return np.asarray(np.cumsum(self.losses - other))

    def bound(self, max_switches: int = 0) -> Float:
        """Compute the bound of Lemma 2 after every row.

        Parameters
        ----------
        max_switches : int, default=0
            Largest number of switches of the sequence compared with.

        Returns
        -------
        ndarray (T,)
            Bound in nats; without switches and with ``switch_prob=0`` it is log M (eq:L_mix_single).
        """
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
            raise InputError("the ledger is empty; record rows with follow or add first")


def component_losses(dist: Predictive, y: ArrayLike) -> Float:
    """Compute the loss of every expert of a predictive mixture: minus log density, summed over outputs.

    Parameters
    ----------
    dist, y : object, array-like (n,) or (n, D)
        Prediction of a regressor, ``model.predict_dist(X)``, and the labels.

    Returns
    -------
    ndarray (n, M)
        Losses in nats.
    """
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
    """Return ``dist`` if it is a predictive mixture with as many rows and outputs as ``y`` has labels; else raise."""
    missing = [name for name in ("loc", "scale", "dof", "weights") if not hasattr(dist, name)]
    if missing:
        raise InputError(
            f"follow got a {type(dist).__name__} without {', '.join(missing)}; give what predict_dist of a regressor "
            "returns, or log scores of any other model through RegretLedger.from_run(run, expert_log_scores)"
        )
    n, _, n_outputs = dist.loc.shape
    labels = np.asarray(y)
    # Other shapes might be broadcast against the experts silently.
    if labels.size != n * n_outputs or (labels.ndim > 1 and len(labels) != n):
        raise InputError(
            f"y has shape {labels.shape}, but {n} rows of {n_outputs} outputs were predicted; give one label for each"
        )
    return dist
