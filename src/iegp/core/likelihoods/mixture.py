"""The predictive distribution of numbers under any likelihood: a mixture over the latent values of the experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from iegp._compile import compiled
from iegp.core.compute.logistic import hermite
from iegp.core.likelihoods.sites import LabelModel, label_model_of, log_predictive, of_belief
from iegp.errors import InputError
from iegp.typing import Float

if TYPE_CHECKING:
    from iegp.core.likelihoods.protocol import Likelihood

_NODES, _WEIGHTS = hermite(40)


class Latent(NamedTuple):
    """Latent values that M experts predict for n rows, and the weights of the experts; arrays (n, M)."""

    weights: Float
    means: Float
    variances: Float


@dataclass(frozen=True, repr=False, eq=False)
class LatentMixture:
    """Predictive distribution of n labels under a likelihood: M experts, each with a Gaussian latent value.

    Mean and standard deviation follow from the method ``moments`` of the likelihood, the density from its derivatives.
    Results have shape (n,).

    Parameters
    ----------
    likelihood : Likelihood
        Distribution of a label given the latent value.
    latent : Latent
        Weights of the experts, and means and variances of their latent values, each (n, M).
    link : ndarray (M, P)
        Parameters of the likelihood for each expert.
    exposure : ndarray (n,)
        Exposure of each row.
    """

    likelihood: Likelihood
    latent: Latent
    link: Float
    exposure: Float

    def __len__(self) -> int:
        return len(self.exposure)

    def __repr__(self) -> str:
        n, n_experts = self.latent.weights.shape
        return f"LatentMixture({self.likelihood.name}, {n} row{'s' * (n != 1)}, {n_experts} experts)"

    @property
    def mean(self) -> Float:
        """Mean of the label."""
        return self.moments()[0]

    @property
    def std(self) -> Float:
        """Standard deviation of the label."""
        return np.sqrt(self.moments()[1])

    def moments(self) -> tuple[Float, Float]:
        """Mean and variance of the label, by quadrature over the latent values.

        Returns
        -------
        tuple of two ndarrays (n,)
            Mean and variance.
        """
        weights, means, variances = self.latent
        z = means[..., None] + np.sqrt(variances)[..., None] * _NODES
        exposure = np.broadcast_to(self.exposure[:, None, None], z.shape)
        centres, spreads = self.likelihood.moments(z, self.link.T[:, None, :, None], exposure)
        centre = (weights * (np.broadcast_to(centres, z.shape) @ _WEIGHTS)).sum(axis=1)
        squares = np.broadcast_to(spreads + np.square(centres - centre[:, None, None]), z.shape)
        return centre, (weights * (squares @ _WEIGHTS)).sum(axis=1)

    def logpdf(self, y: ArrayLike) -> Float:
        """Log density, or log probability, of labels.

        Parameters
        ----------
        y : float or array (n,)
            One label, or one per row.

        Returns
        -------
        ndarray (n,)
            Logs.
        """
        labels = np.column_stack([np.broadcast_to(np.asarray(y, dtype=np.float64), (len(self),)), self.exposure])
        self.likelihood.check(labels, 0)
        labels_model = label_model_of(self.likelihood, "quadrature", np.ascontiguousarray(self.link), np.zeros((1, 0)))
        logs = _log_table(labels_model, np.ascontiguousarray(labels), self.latent)
        self.likelihood.require_sound(logs)
        with np.errstate(divide="ignore"):
            logs = logs + np.log(self.latent.weights)
        top = logs.max(axis=1)
        return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))

    def interval(self, level: float = 0.95) -> NoReturn:
        """Not known: a likelihood gives a density, and no distribution function.

        Parameters
        ----------
        level : float
            Probability that an interval would hold.

        Returns
        -------
        never
            It raises an error.
        """
        raise InputError(
            f"level={level!r}: the likelihood {self.likelihood.name!r} has no distribution function, so that there are "
            "no intervals; use mean and std"
        )

    def with_intervals(self, level: float, y: Float) -> tuple[Float, Float, Float]:
        """Ends of central intervals and probabilities of smaller labels, all unknown.

        Parameters
        ----------
        level : float
            Probability that an interval would hold.
        y : ndarray (n,)
            Labels.

        Returns
        -------
        tuple of three ndarrays (n,)
            NaN.
        """
        del level, y
        unknown = np.full(len(self), np.nan)
        return unknown, unknown, unknown


@compiled
def _log_table(labels: LabelModel, y: Float, latent: Latent) -> Float:
    """Log predictive densities (n, M) of labels (n, 2)."""
    _, means, variances = latent
    out, none = np.empty(means.shape), np.empty(0)
    for e in range(means.shape[1]):
        own = of_belief(labels, e)
        for t in range(means.shape[0]):
            out[t, e] = log_predictive(own, y[t], means[t, e : e + 1].copy(), variances[t, e], none)
    return out
