"""The schema of a model in the middle of a stream: what follows from its settings, and what beliefs can be.

Features have norm one, so that rows bound the beliefs about them. With ``n`` rows of curvature at most ``h`` (one for
Gaussian labels) the information of a static expert, ``R'R``, lies between ``I / prior_ratio`` and
``(1 / prior_ratio + n h) I``, and the covariance of a drifting one, S, below ``(prior_ratio + n drift_ratio) I``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iegp.core import noise
from iegp.core.experts import rung_numbers
from iegp.core.likelihoods import named
from iegp.core.numerics import LARGEST_FREQUENCY
from iegp.core.online import LARGEST_COUNT as LARGEST_LABEL
from iegp.core.online import Online
from iegp.core.settings import Settings
from iegp.core.sites import N_DRAWS
from iegp.core.weights import transition_matrix
from iegp.run import schema
from iegp.run.schema import LARGEST_FLOAT, Field, Rule
from iegp.typing import Arrays, Float

_TINY = float(np.finfo(np.float64).smallest_subnormal)
# Settings allow variances from 1e-100 to 1e100, and these are ratios of two of them, a little rounded.
_RATIO = (0.9e-200, 1.1e200)
# A label of 1e300 standard deviations is learned, and beliefs grow with it.
_LARGEST_BELIEF = 1e306
_LEAST_NOISE, _LARGEST_NOISE = 1e-130, 1e306
# Latent functions are logs of odds or rates, the curvature of a label is at most one, or as large as a rate.
_LARGEST_LATENT = 1e100
_CURVATURE = {"gaussian": 1.0, "poisson": 1e60}
_LARGEST_CUT = 1e12
# Rounding, also of beliefs that are stored in float32.
_SLACK = 1e-2


class Sizes(NamedTuple):
    """How many of what, from the settings and the shapes of a few arrays."""

    n_columns: int
    n_kernels: int
    n_frequencies: int
    n_beliefs: int
    n_rungs: int
    n_latents: int
    n_labels: int
    """Columns of y."""
    n_outputs: int
    """Outputs, or classes; 1 for counts."""
    n_link: int

    @property
    def n_experts(self) -> int:
        return self.n_beliefs * self.n_rungs

    @property
    def n_features(self) -> int:
        return 2 * self.n_frequencies


def sizes(settings: Settings, arrays: Arrays) -> Sizes:
    """All sizes that there are; arrays must then have them."""
    gaussian = settings.likelihood == "gaussian"
    n_columns, n_latents = arrays["scaling.x_mean"].shape[-1], arrays["state.vector"].shape[-1]
    n_outputs, n_labels, n_link = n_latents, n_latents, 0
    if not gaussian:
        likelihood = named(settings.likelihood)
        n_link = arrays["ensemble.link"].shape[-1]
        gaps = likelihood.n_link(2) == 1 and likelihood.n_link(3) == 2
        n_outputs = 1 if not likelihood.has_classes else n_link + 1 if gaps else max(2, n_link)
        if n_link != likelihood.n_link(n_outputs) or (likelihood.has_classes and n_outputs < 2):
            raise ValueError(f"ensemble.link has {n_link} columns, which no {settings.likelihood} model has")
        n_latents, n_labels = likelihood.n_latents(n_outputs), likelihood.label_columns
    if n_outputs < 1:
        raise ValueError("state.vector is of no outputs")
    n_kernels = len(settings.kernels)
    rungs = settings.noise_forgetting if gaussian else settings.sharpness
    n_beliefs = n_kernels * len(settings.drift_var)
    return Sizes(
        n_columns, n_kernels, settings.n_frequencies, n_beliefs, len(rungs), n_latents, n_labels, n_outputs, n_link
    )


def check(settings: Settings, arrays: Arrays) -> Sizes:
    """Refuse arrays of a model with these settings that compiled code could not trust; a ``ValueError`` names one."""
    if settings.likelihood == "poisson" and any(power != 1.0 for power in settings.sharpness):
        raise ValueError("counts have no classes whose probabilities could be sharpened")
    own = sizes(settings, arrays)
    schema.check_arrays(_scaling(settings, own) | _ensemble(settings, own), arrays)
    ensemble = {name.removeprefix("ensemble."): array for name, array in arrays.items()}
    schema.check_arrays({"state.rows": ROWS}, arrays)
    n_rows = float(arrays["state.rows"][0])
    described = Described(settings, own, ensemble["drift_ratio"], ensemble["prior_ratio"])
    schema.check_arrays(schema.under("state.", state_schema(described, n_rows)), arrays)
    return own


ROWS = Field((1,), 0.0, schema.LARGEST_COUNT, whole=True)


def _scaling(settings: Settings, own: Sizes) -> dict[str, Field]:
    """Labels that are not Gaussian are in their own units: class numbers index arrays."""
    y_mean, y_scale = Field((own.n_labels,)), Field((own.n_labels,), _TINY)
    if settings.likelihood != "gaussian":
        y_mean, y_scale = Field((own.n_labels,), 0.0, 0.0), Field((own.n_labels,), 1.0, 1.0)
    return {
        "scaling.x_mean": Field((own.n_columns,)),
        "scaling.x_scale": Field((own.n_columns,), _TINY),
        "scaling.y_mean": y_mean,
        "scaling.y_scale": y_scale,
    }


def _ensemble(settings: Settings, own: Sizes) -> dict[str, Field]:
    gaussian, n_beliefs = settings.likelihood == "gaussian", own.n_beliefs
    ladder = _ladder(settings, own)
    n_draws = N_DRAWS if not gaussian and settings.integration == "monte-carlo" else 0
    noise_var = Field((n_beliefs, own.n_latents), 1e-120, 1e302)
    return {
        "ensemble.frequencies": Field(
            (own.n_kernels, own.n_frequencies, own.n_columns), -LARGEST_FREQUENCY, LARGEST_FREQUENCY
        ),
        "ensemble.drift_ratio": Field((n_beliefs,), 0.0, _RATIO[1]),
        "ensemble.prior_ratio": Field((n_beliefs,), *(_RATIO if gaussian else (1e-13, 1.1e12))),
        "ensemble.noise_var": noise_var if gaussian else noise_var._replace(low=1.0, high=1.0),
        "ensemble.forgetting": Field((own.n_rungs,), gaps=True, rules=(schema.equals(ladder[:, 0]),)),
        "ensemble.tails": Field((own.n_rungs,), gaps=True, rules=(schema.equals(ladder[:, 1]),)),
        "ensemble.transitions": _transitions(settings, own.n_experts),
        "ensemble.link": _link(settings, own),
        "ensemble.sharpness": Field(
            (own.n_rungs,), rules=(schema.equals(np.ones(own.n_rungs) if gaussian else settings.sharpness),)
        ),
        # Draws of a standard normal.
        "ensemble.nodes": Field((own.n_latents, n_draws), -40.0, 40.0),
    }


def _ladder(settings: Settings, own: Sizes) -> Float:
    """(n_rungs, 2): forgetting and tails of every rung, NaN where there is none."""
    if settings.likelihood != "gaussian":
        return np.full((own.n_rungs, 2), np.nan)
    return np.array([rung_numbers(rung) for rung in settings.noise_forgetting], dtype=np.float64)


def _transitions(settings: Settings, n_experts: int) -> Field:
    if settings.weights != "switching":
        return Field((1, 1), 1.0, 1.0)
    expected = transition_matrix(settings.switch_array(), n_experts)
    rules = schema.ROWS_SUM_TO_ONE, schema.equals(expected, 1e-9)
    return Field((n_experts, n_experts), 0.0, 1.0, rules=rules)


def _link(settings: Settings, own: Sizes) -> Field:
    """No parameters, log rate with overdispersion and variance, or cut-points."""
    shape = own.n_beliefs, own.n_link
    if settings.likelihood == "poisson":
        return Field(shape, (-800.0, 0.0, 1e-13), (800.0, 100.0, 1.1e12))
    if settings.likelihood.startswith("ordinal"):
        return Field(shape, -_LARGEST_CUT, _LARGEST_CUT, rules=(schema.IN_ORDER,))
    return Field(shape, 0.0, 0.0)


class Described(NamedTuple):
    """The experts whose state it is: what its numbers are compared with."""

    settings: Settings
    sizes: Sizes
    drift_ratio: Float
    prior_ratio: Float

    @classmethod
    def of(cls, model: Online) -> Described:
        """Those of a model that was checked."""
        ensemble = model.experts.ensemble
        known = {"scaling.x_mean": model.scaling.x_mean, "state.vector": model.state.vector}
        own = sizes(model.settings, known | {"ensemble.link": ensemble.link})
        return cls(model.settings, own, ensemble.drift_ratio, ensemble.prior_ratio)


def state_schema(experts: Described, n_rows: float, n_keys: int | None = None) -> dict[str, Field]:
    """A state after ``n_rows`` rows; or ``n_keys`` states, one more axis in front, after at most so many."""
    own, settings = experts.sizes, experts.settings
    front = () if n_keys is None else (n_keys,)
    n_beliefs, n_features = own.n_beliefs, own.n_features
    gaussian = settings.likelihood == "gaussian"
    largest = _LARGEST_BELIEF if gaussian else _LARGEST_LATENT
    noise_scale = Field((*front, own.n_experts, own.n_latents), _LEAST_NOISE, _LARGEST_NOISE)
    return {
        "matrix": _matrix(experts, n_rows, (*front, n_beliefs, n_features, n_features)),
        "vector": Field((*front, n_beliefs, n_features, own.n_latents), -largest, largest),
        "noise_shape": _noise_shape(settings, own, n_rows, front),
        "noise_scale": noise_scale if gaussian else noise_scale._replace(low=1.0, high=1.0),
        "log_weights": Field((*front, own.n_experts), -np.inf, 1e-6, rules=(schema.LOG_WEIGHTS,)),
        "rows": ROWS._replace(shape=(*front, 1)),
    }


def _noise_shape(settings: Settings, own: Sizes, n_rows: float, front: tuple[int, ...]) -> Field:
    """It depends on the number of rows alone: half a row each, or where it settles."""
    ladder = _ladder(settings, own)
    start = noise.start(ladder[:, 0], ladder[:, 1], np.arange(own.n_rungs), np.ones((own.n_rungs, 1))).shape
    grown = start * (1.0 + 1e-6) + np.where(ladder[:, 0] == 1.0, 0.5 * n_rows, 0.0)
    return Field((*front, own.n_rungs), start * (1.0 - 1e-6), grown)


def _matrix(experts: Described, n_rows: float, shape: tuple[int, ...]) -> Field:
    """Static: an upper triangular factor with a positive diagonal. Drifting: a covariance."""
    is_static = experts.drift_ratio == 0.0
    curvature = _CURVATURE.get(experts.settings.likelihood, 1.0)
    information = np.sqrt(1.0 / experts.prior_ratio + n_rows * curvature)
    covariance = experts.prior_ratio + n_rows * experts.drift_ratio
    top = (1.0 + _SLACK) * np.where(is_static, information, covariance)
    least = np.where(is_static, _SLACK / np.sqrt(experts.prior_ratio), 0.0)
    rules = (
        Rule("have a positive diagonal", lambda array: _diagonal_is_above(array, least)),
        Rule("have zeros below the diagonal of a static expert", lambda array: _is_upper(array[..., is_static, :, :])),
        Rule("be a covariance where experts drift", lambda array: _is_covariance(array[..., ~is_static, :, :])),
    )
    return Field(shape, -top[:, None, None], top[:, None, None], rules=rules)


def _diagonal_is_above(matrices: NDArray[np.floating], least: Float) -> NDArray[np.bool_]:
    """(..., F, F): whether each entry that lies on a diagonal is positive and not below ``least`` (experts,)."""
    good = np.ones(matrices.shape, dtype=bool)
    each = np.arange(matrices.shape[-1])
    diagonal = matrices[..., each, each]
    good[..., each, each] = (diagonal > 0.0) & (diagonal >= least[:, None])
    return good


def _is_upper(matrices: NDArray[np.floating]) -> bool:
    """Zeros below the diagonal, or what a GPU leaves of them."""
    below = np.abs(matrices[..., *np.tril_indices(matrices.shape[-1], -1)])
    return bool(np.all(below <= 1e-12 * np.abs(matrices).max(initial=0.0)))


def _is_covariance(matrices: NDArray[np.floating]) -> bool:
    """Symmetric, and no correlation beyond one; rounding is forgiven."""
    variances = np.diagonal(matrices, axis1=-2, axis2=-1)
    largest = variances.max(axis=-1, initial=0.0)[..., None, None]
    close = np.abs(matrices - np.swapaxes(matrices, -1, -2)) <= _SLACK * largest
    spread = np.sqrt(variances)
    within = np.abs(matrices) <= (1.0 + _SLACK) * spread[..., :, None] * spread[..., None, :] + _SLACK * largest
    return bool(np.all(close & within))


def kept_schema(settings: Settings, own: Sizes, n_kept: int, fills_gaps: bool) -> dict[str, Field]:
    """Rows of an unfinished warm-up, in the user's units."""
    labels = Field((n_kept, own.n_labels))
    if settings.likelihood == "poisson":
        labels = labels._replace(low=(0.0, _TINY), high=(LARGEST_LABEL, LARGEST_FLOAT))
    elif settings.likelihood != "gaussian":
        labels = labels._replace(low=0.0, high=own.n_outputs - 1.0, whole=True)
    return {"kept.x": Field((n_kept, own.n_columns), gaps=fills_gaps), "kept.y": labels}
