"""The predictive distribution: for every row a mixture over experts of Student-t or Gaussian components.

:class:`Mixture` is what people hold; below it are compiled loops over rows that a runner can call on raw arrays. All of
them take ``weights`` (n, M) and ``loc``, ``scale``, ``dof`` (n, M, D), C-contiguous float64, ``dof = inf`` for a
Gaussian. Rows and outputs are independent of each other, so any chunking gives the same bits. A component of weight
zero is never looked at: its fields may hold anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from iegp._compile import compiled
from iegp.core.student import student_cdf_pdf, student_log_kernel, student_log_normaliser
from iegp.errors import InputError
from iegp.typing import Float, Int

# Columns of the small table of the components that matter in one row and output.
WEIGHT, LOC, SCALE, DOF, LOG_NORM = 0, 1, 2, 3, 4

# Components that together weigh less than this cannot be seen in a quantile.
NEGLIGIBLE_WEIGHT = 1e-12
# Quantiles: relative error of the probability at which the search stops, and the most evaluations it may take. Halving
# every other step, the bracket has shrunk by 2^300 by then: more than all of float64's useful range.
PROBABILITY_TOLERANCE = 1e-13
MAX_EVALUATIONS = 600
# A step this short, in units of the narrowest component, leaves an error of its third power: no need to look again.
SHORT_STEP = 1e-4

# CRPS by quadrature: relative tolerances of a panel and of the tail cut off, panels, halvings of one panel.
PANEL_TOLERANCE = 1e-7
TAIL_TOLERANCE = 1e-8
MAX_PANELS = 320
MAX_HALVINGS = 60
# Below this share of its two terms the closed form of the CRPS has lost half of its digits.
CANCELLATION = 1e-8

# Gauss-Kronrod rule on [-1, 1], 7 and 15 points: node, Kronrod weight, Gauss weight (0 where Gauss has no node).
_KRONROD = np.array(
    [
        (0.991455371120812639206854697526329, 0.022935322010529224963732008058970, 0.0),
        (0.949107912342758524526189684047851, 0.063092092629978553290700663189204, 0.129484966168869693270611432679082),
        (0.864864423359769072789712788640926, 0.104790010322250183839876322541518, 0.0),
        (0.741531185599394439863864773280788, 0.140653259715525918745189590510238, 0.279705391489276667901467771423780),
        (0.586087235467691130294144691693013, 0.169004726639267902826583426598550, 0.0),
        (0.405845151377397166906606412076961, 0.190350578064785409913256402421014, 0.381830050505118944950369775488975),
        (0.207784955007898467600689403773245, 0.204432940075298892414161999234649, 0.0),
        (0.000000000000000000000000000000000, 0.209482141084727828012999174891714, 0.417959183673469387755102040816327),
    ]
)


@dataclass(frozen=True, repr=False, eq=False)
class Mixture:
    """Predictive distribution of n rows: M experts, D outputs, each component a Student-t (``dof = inf``: Gaussian).

    ``weights`` has shape (n, M) and rows that sum to one; ``loc``, ``scale`` and ``dof`` have shape (n, M, D). The
    outputs of a row are independent given the expert, not without it. With ``single_output`` results have shape (n,),
    otherwise (n, D). Components of weight zero are ignored, whatever their fields hold.

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

    weights: Float
    loc: Float
    scale: Float
    dof: Float
    single_output: bool = True

    def __post_init__(self) -> None:
        for name in ("weights", "loc", "scale", "dof"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        _check_shapes(self)
        _check_values(self)

    @classmethod
    def trusted(cls, weights: Float, loc: Float, scale: Float, dof: Float, single_output: bool) -> Mixture:
        """Without copies and checks, for arrays that are contiguous float64 and right by construction."""
        mixture = object.__new__(cls)
        for name, value in (("weights", weights), ("loc", loc), ("scale", scale), ("dof", dof)):
            object.__setattr__(mixture, name, value)
        object.__setattr__(mixture, "single_output", single_output)
        return mixture

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, rows: int | slice | Int) -> Mixture:
        """Some of the rows: a slice, a mask, or indices; a single index gives a distribution of one row."""
        if isinstance(rows, int | np.integer):
            rows = np.array([range(len(self))[rows]])
        return Mixture(self.weights[rows], self.loc[rows], self.scale[rows], self.dof[rows], self.single_output)

    def __repr__(self) -> str:
        n, n_experts, n_outputs = self.loc.shape
        gaussian = np.isposinf(self.dof[self.weights > 0.0])
        kind = "Gaussian" if gaussian.all() else "Gaussian and Student-t" if gaussian.any() else "Student-t"
        counts = (_count(n, "row"), _count(n_experts, "expert"), _count(n_outputs, "output"))
        return f"Mixture({', '.join(counts)}, {kind})"

    @classmethod
    def concatenate(cls, parts: Sequence[Mixture]) -> Mixture:
        """One distribution out of consecutive ones."""
        if len(parts) == 1:
            return parts[0]
        weights, loc, scale, dof = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("weights", "loc", "scale", "dof")
        )
        return cls.trusted(weights, loc, scale, dof, parts[0].single_output)

    @property
    def mean(self) -> Float:
        """Weighted mean of the components' centres, shape (n,) or (n, D). O(n M D)."""
        return self._shaped(_moments(self.weights, self.loc, self.scale, self.dof)[0])

    @property
    def var(self) -> Float:
        """Variance, observation noise included; ``inf`` where a component has two degrees of freedom or fewer."""
        return self._shaped(_moments(self.weights, self.loc, self.scale, self.dof)[1])

    @property
    def std(self) -> Float:
        """Square root of :attr:`var`."""
        return np.sqrt(self.var)

    def cdf(self, y: ArrayLike) -> Float:
        """Probability of a value up to ``y``, output by output: shape (n,) or (n, D). O(n M D).

        ``y`` is a number or has one value per row (and output). A NaN gives a NaN.
        """
        return self._shaped(_cdf(self.weights, self.loc, self.scale, self.dof, self._values(y)))

    def logpdf(self, y: ArrayLike) -> Float:
        """Log density of ``y``, *jointly* over outputs: shape (n,). O(n M D), summed in logs: nothing underflows."""
        return _logpdf(self.weights, self.loc, self.scale, self.dof, self._values(y))

    def quantile(self, q: ArrayLike) -> Float:
        """The values below which the probability is ``q``, a number in (0, 1) or a list of k numbers.

        Shape (n,) or (n, D); with a list, (k, n) or (k, n, D). Found to about 1e-13 in probability, at the cost of two
        or three evaluations of :meth:`cdf` each.
        """
        levels = _probabilities(q)
        found = self._shaped(quantiles(self.weights, self.loc, self.scale, self.dof, np.atleast_1d(levels)))
        return found if levels.ndim else found[0]

    def interval(self, level: float = 0.95) -> tuple[Float, Float]:
        """Central interval of the mixture, lower and upper end: a probability of (1 - level)/2 lies on either side."""
        if np.ndim(level) or not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} is not a number between 0 and 1. For a 95 % interval pass level=0.95.")
        lower, upper = self.quantile([0.5 - 0.5 * level, 0.5 + 0.5 * level])
        return lower, upper

    def crps(self, y: ArrayLike) -> Float:
        """Continuous ranked probability score, output by output: shape (n,) or (n, D), smaller is better.

        Rows whose components are all Gaussian use the closed form, O(M²). Others integrate the squared difference of
        the distribution functions: adaptive Gauss-Kronrod from ``y`` outwards in the variable asinh(x - y), which
        makes power-law tails as short as Gaussian ones. Relative error below 1e-6 (usually 1e-8), about a hundred
        evaluations of the cdf per row. ``inf`` where a component has half a degree of freedom or fewer.
        """
        return self._shaped(_crps(self.weights, self.loc, self.scale, self.dof, self._values(y)))

    def sample(self, size: int, rng: np.random.Generator | int) -> Float:
        """Draw ``size`` values per row: shape (size, n) or (size, n, D). The outputs of one draw share their expert."""
        generator = np.random.default_rng(rng)
        expert = _pick_experts(self.weights, generator.random((size, len(self))))
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
        """``y`` as a contiguous (n, D) array."""
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


def _probabilities(q: ArrayLike) -> Float:
    levels = np.asarray(q, dtype=np.float64)
    if levels.ndim > 1:
        raise InputError(f"q has shape {levels.shape}. Pass a number or a list of numbers.")
    if not np.all((levels > 0.0) & (levels < 1.0)):
        raise InputError(f"q={q!r} has values that are not strictly between 0 and 1, where quantiles are infinite.")
    return levels


@compiled
def _first_bad_row(weights: Float, loc: Float, scale: Float, dof: Float) -> int:
    """Index of the first row that is not a mixture, or -1."""
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
        if not abs(total - 1.0) < 1e-6:
            return i
    return -1


@compiled
def _moments(weights: Float, loc: Float, scale: Float, dof: Float) -> tuple[Float, Float]:
    """Mean and variance, both (n, D): the variance is that within the components plus that of their centres."""
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
                    within = _inflation(dof[i, m, d]) * scale[i, m, d] ** 2
                    var[i, d] += weights[i, m] * (within + offset * offset)
    return mean, var


@compiled
def _inflation(dof: float) -> float:
    """Variance of a Student-t of unit scale."""
    if dof <= 2.0:
        return math.inf
    return 1.0 + 2.0 / (dof - 2.0)


@compiled
def _logpdf(weights: Float, loc: Float, scale: Float, dof: Float, y: Float) -> Float:
    """``log sum_m w_m prod_d p_md(y_d)``, shape (n,)."""
    n, n_experts, n_outputs = loc.shape
    out = np.empty(n)
    logs = np.empty(n_experts)
    for i in range(n):
        largest = -math.inf
        for m in range(n_experts):
            logs[m] = -math.inf
            if weights[i, m] > 0.0:
                logs[m] = math.log(weights[i, m])
                for d in range(n_outputs):
                    logs[m] += student_log_normaliser(dof[i, m, d])
                    logs[m] += student_log_kernel(y[i, d] - loc[i, m, d], scale[i, m, d], dof[i, m, d])
                if not logs[m] <= largest:  # so that a NaN wins
                    largest = logs[m]
        out[i] = largest
        if abs(largest) < math.inf:
            out[i] += math.log(np.sum(np.exp(logs - largest)))
    return out


@compiled
def _gather(weights: Float, loc: Float, scale: Float, dof: Float, floor: float, table: Float) -> Float:
    """The components heavier than ``floor`` as rows of ``table`` (M, 5), weights normalised; a view of it.

    One row and one output: all arguments have shape (M,).
    """
    count, total = 0, 0.0
    for m in range(weights.size):
        if weights[m] > floor:
            table[count, WEIGHT] = weights[m]
            table[count, LOC] = loc[m]
            table[count, SCALE] = scale[m]
            table[count, DOF] = dof[m]
            table[count, LOG_NORM] = student_log_normaliser(dof[m])
            total += weights[m]
            count += 1
    parts = table[:count]
    parts[:, WEIGHT] /= total
    return parts


@compiled
def _cdf_pdf_slope(x: float, parts: Float) -> tuple[float, float, float]:
    """Distribution function of a mixture, its density, and the derivative of the density."""
    cdf, pdf, slope = 0.0, 0.0, 0.0
    for j in range(parts.shape[0]):
        weight, scale, dof = parts[j, WEIGHT], parts[j, SCALE], parts[j, DOF]
        r = (x - parts[j, LOC]) / scale
        below, density = student_cdf_pdf(r, dof, parts[j, LOG_NORM])
        cdf += weight * below
        if density > 0.0:
            density *= weight / scale
            pdf += density
            pull = r if dof == math.inf else (dof + 1.0) * r / (dof + r * r)
            slope -= density * pull / scale
    return cdf, pdf, slope


@compiled
def _cdf(weights: Float, loc: Float, scale: Float, dof: Float, y: Float) -> Float:
    n, n_experts, n_outputs = loc.shape
    out = np.empty((n, n_outputs))
    table = np.empty((n_experts, 5))
    for i in range(n):
        for d in range(n_outputs):
            parts = _gather(weights[i], loc[i, :, d], scale[i, :, d], dof[i, :, d], 0.0, table)
            out[i, d] = min(_cdf_pdf_slope(y[i, d], parts)[0], 1.0) if y[i, d] == y[i, d] else math.nan
    return out


@compiled
def quantiles(weights: Float, loc: Float, scale: Float, dof: Float, q: Float) -> Float:
    """Quantiles of every row and output at the levels ``q`` (k,), each in (0, 1): shape (k, n, D).

    Compiled, without the GIL, and with no checks: a runner calls it chunk by chunk on its own arrays. About 0.1 µs per
    component that matters and evaluation, two or three evaluations per quantile. Components that together weigh less
    than 1e-12 are skipped. Where no component has weight, or one that has is not a number, the result is NaN.

    >>> import numpy as np
    >>> one, zero = np.ones((1, 1, 1)), np.zeros((1, 1, 1))
    >>> quantiles(np.ones((1, 1)), zero, one, np.inf * one, np.array([0.025, 0.975])).round(4).ravel()
    array([-1.96,  1.96])
    """
    n, n_experts, n_outputs = loc.shape
    out = np.empty((q.size, n, n_outputs))
    table = np.empty((n_experts, 5))
    floor = NEGLIGIBLE_WEIGHT / n_experts
    for i in range(n):
        for d in range(n_outputs):
            parts = _gather(weights[i], loc[i, :, d], scale[i, :, d], dof[i, :, d], floor, table)
            centre, spread = _rough_moments(parts)
            for k in range(q.size):
                # The upper tail is the lower tail of the mirror image: probabilities close to one keep their digits.
                side = 1.0 if q[k] <= 0.5 else -1.0
                level = q[k] if q[k] <= 0.5 else 1.0 - q[k]
                parts[:, LOC] *= side
                start = side * centre - spread * _gaussian_distance(level)
                out[k, i, d] = side * _solve(parts, level, start, spread)
                parts[:, LOC] *= side
    return out


@compiled
def _rough_moments(parts: Float) -> tuple[float, float]:
    """Where to start a search: mean and standard deviation, infinite variances replaced by something finite."""
    centre = np.sum(parts[:, WEIGHT] * parts[:, LOC])
    var = 0.0
    for j in range(parts.shape[0]):
        within = _inflation(max(parts[j, DOF], 3.0)) * parts[j, SCALE] ** 2
        var += parts[j, WEIGHT] * (within + (parts[j, LOC] - centre) ** 2)
    return centre, math.sqrt(var)


@compiled
def _gaussian_distance(level: float) -> float:
    """How many standard deviations below its mean a Gaussian has probability ``level <= 1/2``, to three digits."""
    t = math.sqrt(-2.0 * math.log(level))  # Abramowitz and Stegun 26.2.23
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))


@compiled
def _solve(parts: Float, level: float, start: float, spread: float) -> float:
    """The x at which a mixture's distribution function is ``level <= 1/2``.

    Halley's method on the *logarithm* of the distribution function, nearly straight in Gaussian tails and well behaved
    in power-law tails, inside a bracket; after a few steps, every other one halves the bracket, so that no mixture can
    make it crawl. Where a component is narrower than the spacing of floats, a neighbour of the true x is the answer.
    """
    if parts.shape[0] == 0 or not abs(start + np.sum(parts[:, LOG_NORM])) < math.inf:
        return math.nan
    finest = np.min(parts[:, SCALE])
    low, high = -math.inf, math.inf
    x = start
    nudge = 2.0**-52 * abs(start)  # to the next float, for components narrower than the spacing of floats
    reach = max(spread, nudge)
    for evaluation in range(MAX_EVALUATIONS):
        cdf, pdf, slope = _cdf_pdf_slope(x, parts)
        gap = math.log(cdf / level) if cdf > 0.0 else -math.inf
        if abs(gap) < PROBABILITY_TOLERANCE:
            return x
        if gap < 0.0:
            low = x
        else:
            high = x
        step = _halley_step(gap, cdf, pdf, slope)
        if abs(gap) < 0.01 and abs(step) < SHORT_STEP * finest:
            return x + step
        if abs(step) > reach:
            step = math.copysign(reach, step)
            reach *= 4.0
        bracketed = low > -math.inf and high < math.inf
        if x + step == x and not bracketed:
            step = math.copysign(nudge, step)
            nudge *= 4.0
        x += step
        if bracketed and ((evaluation % 2 == 1 and evaluation > 6) or not low < x < high):
            x = 0.5 * low + 0.5 * high
        if x in (low, high):
            return x
    return x


@compiled
def _halley_step(gap: float, cdf: float, pdf: float, slope: float) -> float:
    """Step towards ``gap = 0``, where gap is the log of the distribution function minus its target."""
    if not (pdf > 0.0 and cdf > 0.0):
        return math.nan if gap != gap else -math.copysign(math.inf, gap)
    rate = pdf / cdf
    newton = -gap / rate
    bend = 0.5 * newton * (slope / pdf - rate)
    return newton / min(max(1.0 + bend, 0.5), 2.0)


@compiled
def _crps(weights: Float, loc: Float, scale: Float, dof: Float, y: Float) -> Float:
    n, n_experts, n_outputs = loc.shape
    out = np.empty((n, n_outputs))
    table = np.empty((n_experts, 5))
    stack = np.empty((MAX_HALVINGS + 2, 2))
    for i in range(n):
        for d in range(n_outputs):
            parts = _gather(weights[i], loc[i, :, d], scale[i, :, d], dof[i, :, d], 0.0, table)
            out[i, d] = _crps_one(parts, y[i, d], stack)
    return out


@compiled
def _crps_one(parts: Float, y: float, stack: Float) -> float:
    if not abs(y) < math.inf or np.min(parts[:, DOF]) <= 0.5:
        return abs(y) + math.inf  # infinite, and NaN stays NaN
    if np.min(parts[:, DOF]) == math.inf:
        distance, score = _crps_gaussian(parts, y)
        if score > CANCELLATION * distance:
            return score
    return _crps_integral(parts, y, stack)


@compiled
def _crps_gaussian(parts: Float, y: float) -> tuple[float, float]:
    """``E|Y - y|`` and the score ``E|Y - y| - E|Y - Y'| / 2`` of a Gaussian mixture."""
    distance, diversity = 0.0, 0.0
    for j in range(parts.shape[0]):
        distance += parts[j, WEIGHT] * _mean_absolute(y - parts[j, LOC], parts[j, SCALE])
        for k in range(j + 1):
            pair = _mean_absolute(parts[j, LOC] - parts[k, LOC], math.hypot(parts[j, SCALE], parts[k, SCALE]))
            diversity += (1.0 if k < j else 0.5) * parts[j, WEIGHT] * parts[k, WEIGHT] * pair
    return distance, distance - diversity


@compiled
def _mean_absolute(mean: float, std: float) -> float:
    """``E|Z|`` of a Gaussian."""
    r = mean / std
    density = math.exp(-0.5 * r * r) if abs(r) < 40.0 else 0.0
    return std * math.sqrt(2.0 / math.pi) * density + mean * math.erf(r * math.sqrt(0.5))


@compiled
def _crps_integral(parts: Float, y: float, stack: Float) -> float:
    """Integral of F² below y plus that of (1 - F)² above: the second is the first of the mirror image.

    The larger of the two comes first, because the tolerances are relative to what has been found so far.
    """
    side = 1.0 if _cdf_pdf_slope(y, parts)[0] >= 0.5 else -1.0
    total = 0.0
    for turn in (side, -side):
        parts[:, LOC] *= turn
        total = _add_tail(parts, turn * y, total, stack)
        parts[:, LOC] *= turn
    return total


@compiled
def _add_tail(parts: Float, y: float, total: float, stack: Float) -> float:
    """``total`` plus the integral of F² over ``x = y - unit sinh(u)``, u from 0 until the rest cannot matter."""
    unit = np.sum(parts[:, WEIGHT] * parts[:, SCALE])
    rest = math.inf
    for panel in range(MAX_PANELS):
        total = _add_panel(parts, y, unit, float(panel), total, stack)
        rest = _rest_of_tail(parts, y - unit * math.sinh(panel + 1.0))
        if rest <= TAIL_TOLERANCE * total:
            return total
    return total + rest  # only with less than 0.53 degrees of freedom; the bound is then also a good estimate


@compiled
def _add_panel(parts: Float, y: float, unit: float, first: float, total: float, stack: Float) -> float:
    """``total`` plus the integral over ``first <= u <= first + 1``, halved wherever the two rules disagree.

    The integrand is a square of a monotone function: a step of F cannot hide between the nodes.
    """
    stack[0, 0], stack[0, 1] = first, 1.0
    size = 1
    while size > 0:
        size -= 1
        start, width = stack[size, 0], stack[size, 1]
        fine, coarse = _gauss_kronrod(parts, y, unit, start, width)
        if abs(fine - coarse) <= PANEL_TOLERANCE * (total + fine) or width < 2.0**-MAX_HALVINGS:
            total += fine
        else:
            half = 0.5 * width
            stack[size, 0], stack[size, 1] = start + half, half
            stack[size + 1, 0], stack[size + 1, 1] = start, half
            size += 2
    return total


@compiled
def _gauss_kronrod(parts: Float, y: float, unit: float, start: float, width: float) -> tuple[float, float]:
    """Integral of F² dx over a piece of u, by 15 points and by the 7 of them that make a Gauss rule."""
    fine, coarse = 0.0, 0.0
    half = 0.5 * width
    for j in range(2 * len(_KRONROD) - 1):
        row = min(j, 2 * len(_KRONROD) - 2 - j)
        offset = -_KRONROD[row, 0] if j == row else _KRONROD[row, 0]
        u = start + half + half * offset
        cdf = _cdf_pdf_slope(y - unit * math.sinh(u), parts)[0]
        value = half * unit * math.cosh(u) * cdf * cdf
        fine += _KRONROD[row, 1] * value
        coarse += _KRONROD[row, 2] * value
    return fine, coarse


@compiled
def _rest_of_tail(parts: Float, x: float) -> float:
    """Upper bound of the integral of F² below x; infinite while x is not yet in every component's lower tail.

    Below r a Student-t falls at least as fast as the power ``p = |r| pdf / cdf``, so that its square integrates to at
    most ``cdf² |r| / (2p - 1)``; by Minkowski's inequality the roots of these bounds add up.
    """
    root = 0.0
    for j in range(parts.shape[0]):
        r = (x - parts[j, LOC]) / parts[j, SCALE]
        if r > -1.0:
            return math.inf
        cdf, pdf = student_cdf_pdf(r, parts[j, DOF], parts[j, LOG_NORM])
        if cdf > 0.0:
            excess = -2.0 * r * pdf / cdf - 1.0
            if excess <= 0.0:
                return math.inf
            root += parts[j, WEIGHT] * cdf * math.sqrt(-r * parts[j, SCALE] / excess)
    return root * root


@compiled
def _pick_experts(weights: Float, uniform: Float) -> Int:
    """For every draw and row (size, n) the expert whose share of the unit interval holds ``uniform``."""
    size, n = uniform.shape
    picked = np.zeros((size, n), dtype=np.int64)
    for s in range(size):
        for i in range(n):
            left = uniform[s, i] * np.sum(weights[i])
            for m in range(weights.shape[1]):
                if weights[i, m] > 0.0:
                    picked[s, i] = m
                    left -= weights[i, m]
                    if left < 0.0:
                        break
    return picked
