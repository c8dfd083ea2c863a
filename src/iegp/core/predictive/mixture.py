"""The predictive distribution: for every row a mixture over experts of Student-t or Gaussian components.

:class:`Mixture` is the public type; below it are compiled loops over rows that work on raw arrays. All of them take
``weights`` (n, M) and ``loc``, ``scale``, ``dof`` (n, M, D), C-contiguous float64, ``dof = inf`` for a Gaussian. Rows
and outputs are independent of each other, so any chunking gives the same bits. A component of weight zero is never
read: its fields may hold anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from iegp._compile import compiled
from iegp._docstrings import entries, fill_docstrings
from iegp.core.compute.tolerances import WEIGHT_SUM_SLACK
from iegp.core.predictive import distribution
from iegp.core.predictive.components import cdf_pdf_slope, gather, inflation
from iegp.core.predictive.crps import crps_rows
from iegp.core.predictive.distribution import Distribution, log_total
from iegp.core.predictive.quantiles import quantiles
from iegp.core.predictive.student import student_log_kernel, student_log_normaliser
from iegp.errors import InputError
from iegp.typing import Float, Int

DOCS = distribution.DOCS | entries("""
y : float or array-like (n,) or (n, D)
    One number, or one value per row (and output). A NaN gives a NaN.
""")


@fill_docstrings(DOCS)
@dataclass(frozen=True, repr=False, eq=False)
class Mixture(Distribution):
    """Predictive distribution of n rows: M experts, D outputs, each component a Student-t (``dof = inf``: Gaussian).

    The outputs of a row are independent given the expert, not without it. Components of weight zero are ignored,
    whatever their fields hold.

    Parameters
    ----------
    weights : array-like (n, M)
        Weights of the experts; rows sum to one.
    loc : array-like (n, M, D)
        Centres of the components.
    scale : array-like (n, M, D)
        Positive scales of the components.
    dof : array-like (n, M, D)
        Positive degrees of freedom; ``inf`` for a Gaussian.
    single_output : bool, default=True
        Whether results have shape (n,), which needs D = 1, instead of (n, D).

    Examples
    --------
    >>> import numpy as np
    >>> dist = Mixture(
    ...     weights=np.array([[0.5, 0.5]]),
    ...     loc=np.array([[[-1.0], [1.0]]]),
    ...     scale=np.ones((1, 2, 1)),
    ...     dof=np.full((1, 2, 1), np.inf),
    ... )
    >>> dist
    Mixture(1 row, 2 experts, 1 output, Gaussian)
    >>> float(dist.mean[0]), float(dist.var[0])
    (0.0, 2.0)
    >>> lower, upper = dist.interval(0.95)
    >>> print(f"{lower[0]:.4f} {upper[0]:.4f}")
    -2.6461 2.6461
    """

    loc: Float
    scale: Float
    dof: Float
    single_output: bool = True
    _arrays = ("weights", "loc", "scale", "dof")

    def _check(self) -> None:
        _check_shapes(self)
        _check_values(self)

    @classmethod
    def unchecked(cls, weights: Float, loc: Float, scale: Float, dof: Float, single_output: bool) -> Mixture:
        """Make a mixture without copies and checks, from contiguous float64 arrays that are valid by construction.

        Parameters
        ----------
        weights, loc, scale, dof : ndarray
            As in the constructor.
        single_output : bool
            As in the constructor.

        {returns_shared}
        """
        mixture = cls._sharing(weights, loc, scale, dof)
        object.__setattr__(mixture, "single_output", single_output)
        return mixture

    def __repr__(self) -> str:
        n, n_experts, n_outputs = self.loc.shape
        gaussian = np.isposinf(self.dof[self.weights > 0.0])
        kind = "Gaussian" if gaussian.all() else "Gaussian and Student-t" if gaussian.any() else "Student-t"
        counts = (_count(n, "row"), _count(n_experts, "expert"), _count(n_outputs, "output"))
        return f"Mixture({', '.join(counts)}, {kind})"

    @property
    def mean(self) -> Float:
        """Weighted mean of the components' centres, shape (n,) or (n, D). O(n M D)."""
        return self._shaped(_moments(self.weights, self.loc, self.scale, self.dof)[0])

    @property
    def var(self) -> Float:
        """Variance, observation noise included; ``inf`` where a component has two degrees of freedom or fewer."""
        return self._shaped(_moments(self.weights, self.loc, self.scale, self.dof)[1])

    def moments(self) -> tuple[Float, Float]:
        """Compute :attr:`mean` and :attr:`var` at once. O(n M D).

        Returns
        -------
        mean : ndarray (n,) or (n, D)
            Weighted mean of the components' centres.
        var : ndarray (n,) or (n, D)
            Variance, observation noise included.
        """
        mean, var = _moments(self.weights, self.loc, self.scale, self.dof)
        return self._shaped(mean), self._shaped(var)

    def cdf(self, y: ArrayLike) -> Float:
        """Compute the probability of a value up to ``y``, output by output. O(n M D).

        {parameters}

        Returns
        -------
        ndarray (n,) or (n, D)
            Probabilities.
        """
        return self._shaped(cdf_rows(self.weights, self.loc, self.scale, self.dof, self._values(y), 0.0))

    def logpdf(self, y: ArrayLike) -> Float:
        """Compute the log density of ``y``, *jointly* over outputs. O(n M D).

        It is summed in logs, so no density underflows. A weight below 1e-308 does underflow, and the expert then counts
        as absent; ``prequential`` keeps the logs of weights.

        {parameters}

        Returns
        -------
        ndarray (n,)
            Log densities, in nats.
        """
        return _logpdf(self.weights, self.loc, self.scale, self.dof, self._values(y))

    def crps(self, y: ArrayLike) -> Float:
        """Compute the continuous ranked probability score, output by output; smaller is better.

        Rows with Gaussian components only use the closed form, O(M²). Others integrate the squared difference of the
        distribution functions: adaptive Gauss-Kronrod from ``y`` outwards in the variable asinh(x - y), which makes
        power-law tails as short as Gaussian ones. Relative error below 1e-6 (usually 1e-8), about a hundred evaluations
        of the cdf per row.

        {parameters}

        Returns
        -------
        ndarray (n,) or (n, D)
            Scores in units of ``y``; ``inf`` where a component has half a degree of freedom or fewer.
        """
        return self._shaped(crps_rows(self.weights, self.loc, self.scale, self.dof, self._values(y)))

    def _quantiles(self, levels: Float) -> Float:
        return self._shaped(quantiles(self.weights, self.loc, self.scale, self.dof, levels))

    def _draw(self, expert: Int, generator: np.random.Generator) -> Float:
        rows = np.arange(len(self))
        loc, scale, dof = self.loc[rows, expert], self.scale[rows, expert], self.dof[rows, expert]
        heavy = np.isfinite(dof)
        normal = generator.standard_normal(loc.shape)
        spread = generator.chisquare(np.where(heavy, dof, 1.0)) / np.where(heavy, dof, 1.0)
        # With half a degree of freedom chi² underflows to zero now and then; the draw is then huge, not infinite.
        spread = np.where(heavy, np.maximum(spread, np.finfo(np.float64).tiny), 1.0)
        return self._shaped(loc + scale * normal / np.sqrt(spread))

    def _shaped(self, values: Float) -> Float:
        return values[..., 0] if self.single_output else values

    def _values(self, y: ArrayLike) -> Float:
        """Return ``y`` as a contiguous (n, D) array."""
        n, _, n_outputs = self.loc.shape
        values = np.asarray(y, dtype=np.float64)
        if values.ndim == 0 or values.shape == (n, n_outputs):
            return np.ascontiguousarray(np.broadcast_to(values, (n, n_outputs)))
        if values.shape == (n,) and n_outputs == 1:
            return np.ascontiguousarray(values[:, None])
        wanted = (n,) if self.single_output else (n, n_outputs)
        raise InputError(f"y has shape {values.shape}, but this mixture has shape {wanted}. Pass one value for each.")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _check_shapes(mixture: Mixture) -> None:
    shape = mixture.loc.shape
    if len(shape) != 3 or 0 in shape[1:]:
        raise InputError(f"loc has shape {shape}, not (rows, experts, outputs). Add axes of length 1 where needed.")
    for name, wanted in (("weights", shape[:2]), ("scale", shape), ("dof", shape)):
        found = getattr(mixture, name).shape
        if found != wanted:
            raise InputError(f"{name} has shape {found}, but loc of shape {shape} asks for {wanted}.")
    if mixture.single_output and shape[2] != 1:
        raise InputError(f"single_output=True with {shape[2]} outputs. Pass single_output=False.")


def _check_values(mixture: Mixture) -> None:
    row = _first_bad_row(mixture.weights, mixture.loc, mixture.scale, mixture.dof)
    if row >= 0:
        raise InputError(
            f"Row {row} is not a mixture: weights must be non-negative with sum 1, and every component of positive "
            f"weight needs a finite loc, a positive finite scale and a positive dof. Its weights are "
            f"{mixture.weights[row]}; check the arrays for NaN and zeros."
        )


@compiled
def _first_bad_row(weights: Float, loc: Float, scale: Float, dof: Float) -> int:
    """Return the index of the first row that is not a mixture, or -1."""
    n, n_experts, n_outputs = loc.shape
    for i in range(n):
        total = 0.0
        for m in range(n_experts):
            total += weights[i, m]
            if weights[i, m] < 0.0:
                return i
            for d in range(n_outputs):
                # Written so that a NaN fails.
                fine = abs(loc[i, m, d]) < np.inf and 0.0 < scale[i, m, d] < np.inf and dof[i, m, d] > 0.0
                if weights[i, m] > 0.0 and not fine:
                    return i
        if not abs(total - 1.0) < WEIGHT_SUM_SLACK:
            return i
    return -1


@compiled
def _moments(weights: Float, loc: Float, scale: Float, dof: Float) -> tuple[Float, Float]:
    """Compute mean and variance, both (n, D): the variance is that within the components plus that of their centres."""
    n, n_experts, n_outputs = loc.shape
    mean, var = np.zeros((n, n_outputs)), np.zeros((n, n_outputs))
    for i in range(n):
        for m in range(n_experts):
            if weights[i, m] > 0.0:
                for d in range(n_outputs):
                    mean[i, d] += weights[i, m] * loc[i, m, d]
        for m in range(n_experts):
            if weights[i, m] > 0.0:
                for d in range(n_outputs):
                    offset = loc[i, m, d] - mean[i, d]
                    within = inflation(dof[i, m, d]) * scale[i, m, d] ** 2
                    var[i, d] += weights[i, m] * (within + offset * offset)
    return mean, var


@compiled
def _logpdf(weights: Float, loc: Float, scale: Float, dof: Float, y: Float) -> Float:
    """Compute ``log sum_m w_m prod_d p_md(y_d)``, shape (n,)."""
    n, n_experts, n_outputs = loc.shape
    out = np.empty(n)
    logs = np.empty(n_experts)
    for i in range(n):
        for m in range(n_experts):
            logs[m] = -math.inf
            if weights[i, m] > 0.0:
                logs[m] = math.log(weights[i, m])
                for d in range(n_outputs):
                    logs[m] += student_log_normaliser(dof[i, m, d])
                    logs[m] += student_log_kernel(y[i, d] - loc[i, m, d], scale[i, m, d], dof[i, m, d])
        out[i] = log_total(logs)
    return out


@compiled
def cdf_rows(weights: Float, loc: Float, scale: Float, dof: Float, y: Float, floor: float) -> Float:
    """Compute the distribution function (n, D) at ``y`` (n, D), of the components that are heavier than ``floor``."""
    n, n_experts, n_outputs = loc.shape
    out = np.empty((n, n_outputs))
    table = np.empty((n_experts, 5))
    for i in range(n):
        for d in range(n_outputs):
            parts = gather(weights[i], loc[i, :, d], scale[i, :, d], dof[i, :, d], floor, table)
            out[i, d] = min(cdf_pdf_slope(y[i, d], parts)[0], 1.0) if y[i, d] == y[i, d] else math.nan
    return out
