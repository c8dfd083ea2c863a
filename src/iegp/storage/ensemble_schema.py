"""The schema of a model in the middle of a stream: what follows from its settings, and what beliefs can be.

Features have a norm of at most ``p``, so that rows bound the beliefs about them. With ``n`` rows of curvature at most
``h`` (one for Gaussian labels) the information of a static expert, ``R'R``, lies between ``I / prior_ratio`` and
``(1 / prior_ratio + n h p²) I``, and the covariance of a drifting one, S, below ``(prior_ratio + n max(drift)) I``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iegp.core import changes
from iegp.core.compute.tolerances import (
    CALIBRATED_ROWS,
    CHANGE_THRESHOLD,
    FARTHEST_LINEAR,
    FARTHEST_SCORE,
    FARTHEST_WATCHED,
    LARGEST_BALANCE,
    LARGEST_FREQUENCY,
    LARGEST_ROOT,
    LARGEST_SPREAD,
    LARGEST_SQUARE,
    LONGEST_GAP,
    MAX_LAG,
    MOST_ASKED,
    MOST_SEASONS,
    N_DRAWS,
    USUAL_BLOCKS,
)
from iegp.core.conformal import largest_debt
from iegp.core.editing.new_key import first_ratio
from iegp.core.expert import noise
from iegp.core.features import Basis
from iegp.core.fitting.experts import layout_for, noise_numbers
from iegp.core.kernels import Inputs, Kernel, Linear, Sum
from iegp.core.lags import CLASS, NUMBER, RATE, Lags, lags_from
from iegp.core.late import asked_shapes
from iegp.core.likelihoods import named
from iegp.core.model import Online
from iegp.core.settings import Settings
from iegp.core.state import Layout, basis_at
from iegp.core.weights import rule_named, transition_matrix
from iegp.storage import schema
from iegp.storage.schema import LARGEST_FLOAT, Field, Rule
from iegp.typing import Arrays, Float, Int

_TINY = float(np.finfo(np.float64).smallest_subnormal)
# Settings allow variances from 1e-100 to 1e100, and these are ratios of two of them, a little rounded.
_RATIO = (0.9e-200, 1.1e200)
# A label of 1e300 standard deviations is learned, and beliefs grow with it.
_LARGEST_BELIEF = 1e306
_LEAST_NOISE, _LARGEST_NOISE = 1e-130, 1e306
# Latent functions are logs of odds or rates.
_LARGEST_LATENT = 1e100
# Rounding, also of beliefs that are stored in float32.
_SLACK = 1e-2


class Sizes(NamedTuple):
    """Sizes of the arrays, from the settings and the shapes of a few of them."""

    n_columns: int
    layout: Layout
    n_noise: int
    n_latents: int
    n_labels: int
    """Columns of y."""
    n_outputs: int
    """Outputs, or classes; 1 for counts."""
    n_link: int
    lags: Lags

    @property
    def n_beliefs(self) -> int:
        return self.layout.n_beliefs

    @property
    def n_experts(self) -> int:
        return self.n_beliefs * self.n_noise


class Header(NamedTuple):
    """What a file says of a model before its arrays are looked at."""

    settings: Settings
    kernels: tuple[Kernel, ...]
    """Kernels of the experts, with numbers in place of words."""
    column_keys: tuple[int, ...]


def sizes(header: Header, arrays: Arrays) -> Sizes:
    """All sizes that there are; arrays must then have them."""
    settings = header.settings
    gaussian = settings.likelihood == "gaussian"
    n_columns, n_latents = arrays["scaling.x_mean"].shape[-1], arrays["state.vector"].shape[-1]
    n_outputs, n_labels, n_link = n_latents, n_latents, 0
    if not gaussian:
        likelihood = named(settings.likelihood)
        n_link = arrays["ensemble.link"].shape[-1]
        n_outputs = likelihood.n_classes(n_link) or 1
        if n_link != likelihood.n_link(n_outputs) or (likelihood.has_classes and n_outputs < 2):
            raise ValueError(f"ensemble.link has {n_link} columns, which no {settings.likelihood} model has")
        n_latents, n_labels = likelihood.n_latents(n_outputs), likelihood.label_columns
    if n_outputs < 1:
        raise ValueError("state.vector is of no outputs")
    noise_models = settings.noise_forgetting if gaussian else settings.sharpness
    if len(header.column_keys) != n_columns:
        raise ValueError(f"column_keys are not {n_columns} different whole numbers")
    lags = _lags(settings, n_outputs, arrays)
    inputs = Inputs.of(header.column_keys, np.ones(n_columns), lags)
    layout = layout_for(settings, header.kernels, inputs)
    # A warm-up makes experts anew from the settings; those of other sizes could take any memory.
    wanted = settings.kernels
    if settings.leaves_out_linear:
        wanted = tuple(
            _without_left_out(kernel, own, inputs) for kernel, own in zip(wanted, header.kernels, strict=True)
        )
    began = tuple(map(_before_later_columns, wanted, header.kernels))
    if not np.array_equal(layout_for(settings, began, inputs).n_features, layout.n_features):
        raise ValueError("the kernels of the settings have other features than those of the experts")
    return Sizes(n_columns, layout, len(noise_models), n_latents, n_labels, n_outputs, n_link, lags)


def _before_later_columns(wanted: Kernel, found: Kernel) -> Kernel:
    """The kernel of the settings with the columns of an expert's: a term with a feature for each keeps those it has."""
    if len(wanted.terms) != len(found.terms):
        raise ValueError("the kernels of the settings have other features than those of the experts")
    terms = [
        replace(term, columns=known.columns) if term.columns is None else term
        for term, known in zip(wanted.terms, found.terms, strict=True)
    ]
    return Sum(tuple(terms))


def _without_left_out(wanted: Kernel, found: Kernel, inputs: Inputs) -> Kernel:
    """The kernel of the settings without the linear terms that were left out of the expert's.

    Columns are never fewer than when it was fitted. A linear term that is there keeps those of that time.
    """
    if len(wanted.terms) == len(found.terms):
        return wanted
    known = {term.lags for term in found.terms if isinstance(term, Linear)}
    terms = [
        term
        for term in wanted.terms
        if not isinstance(term, Linear) or term.lags in known or not term.is_too_wide(inputs)
    ]
    return Sum(tuple(terms))


def _lags(settings: Settings, n_outputs: int, arrays: Arrays) -> Lags:
    """Lags as the arrays say; files without any need not have them."""
    plain = lags_from(settings.lags, settings.likelihood, np.empty((0, 2)), n_outputs)
    if not settings.lags:
        return plain
    n_values = None if plain.kind == CLASS else plain.table.shape[1]
    table = Field((len(plain.table), n_values), -FARTHEST_LINEAR, FARTHEST_LINEAR)
    if plain.kind in (RATE, NUMBER):
        table = table._replace(low=[[-LARGEST_FLOAT], [_TINY]], high=LARGEST_FLOAT)
    offsets = Field(plain.offsets.shape, 1, MAX_LAG, np.int64, rules=(schema.equals(plain.offsets),))
    if settings.auto_lags:
        rule = Rule("be the lags of the settings and seasonal ones", lambda found: _are_seasonal(settings, found))
        offsets = Field((None,), settings.delay + 1, MAX_LAG, np.int64, rules=(rule,))
    schema.check_arrays({"ensemble.lags.offsets": offsets, "ensemble.lags.table": table}, arrays)
    return Lags(arrays["ensemble.lags.offsets"], plain.kind, arrays["ensemble.lags.table"])


def _are_seasonal(settings: Settings, offsets: Int) -> bool:
    known = set(settings.lags) <= set(offsets.tolist()) and len(offsets) <= len(settings.lags) + 2 * MOST_SEASONS
    return known and bool(np.all(np.diff(offsets) > 0))


def check(header: Header, arrays: Arrays, n_passed: int = 0, extra_weight: float | None = None) -> Sizes:
    """Refuse arrays of a model with these settings with which compiled code could fail; a ``ValueError`` names one.

    ``n_passed`` rows passed without a label; those that were learned have weights that exceed one by ``extra_weight``.
    """
    settings = header.settings
    numbers = settings.likelihood != "gaussian" and not named(settings.likelihood).has_classes
    if numbers and any(power != 1.0 for power in settings.sharpness):
        raise ValueError("counts have no classes whose probabilities could be sharpened")
    own = sizes(header, arrays)
    schema.check_arrays(_scaling(settings, own) | _ensemble(settings, own), arrays)
    ensemble = {name.removeprefix("ensemble."): array for name, array in arrays.items()}
    schema.check_arrays({"state.rows": ROWS}, arrays)
    n_rows = float(arrays["state.rows"][0])
    basis = Basis(*(ensemble[f"basis.{name}"] for name in Basis._fields))
    described = Described(settings, own, basis, ensemble["drift"], ensemble["prior_ratio"], extra_weight)
    n_more = n_passed if settings.drift_per == "row" else _steps_of(arrays)
    schema.check_arrays(schema.under("state.", state_schema(described, n_rows, n_passed=n_more)), arrays)
    return own


def clock_schema(n_held: int) -> dict[str, Field]:
    """Times of the first and the last row and the unit, NaN if unknown; and of the rows that are held."""
    return {
        "clock.times": Field((3,), (-LARGEST_FLOAT, -LARGEST_FLOAT, _TINY), gaps=True),
        "clock.held": Field((n_held,), rules=(Rule("be in order", lambda times: bool(np.all(np.diff(times) >= 0.0))),)),
    }


def _steps_of(arrays: Arrays) -> float:
    """Steps between the first row and the last."""
    schema.check_arrays({"clock.times": clock_schema(0)["clock.times"]}, arrays)
    first, last, unit = arrays["clock.times"]
    steps = (last - first) / unit
    return float(steps) if steps > 0.0 else 0.0


ROWS = Field((2,), 0.0, (schema.LARGEST_COUNT, 2.0), whole=True)


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
    models = _noise_models(settings, own)
    n_draws = N_DRAWS if not gaussian and settings.integration == "monte-carlo" else 0
    noise_var = Field((n_beliefs, own.n_latents), 1e-120, 1e302)
    n_waves, n_affine = int(own.layout.waves[-1]), int(own.layout.affine[-1])
    n_columns = own.n_columns + own.lags.n_columns
    return {
        "ensemble.basis.frequencies": Field((n_waves, n_columns), -LARGEST_FREQUENCY, LARGEST_FREQUENCY),
        "ensemble.basis.amplitudes": Field((n_waves,), 0.0, 1.0 + _SLACK),
        "ensemble.basis.columns": Field((n_affine,), -1, n_columns - 1, np.int64),
        "ensemble.basis.slopes": Field((n_affine,), 0.0, 1.0 + _SLACK),
        "ensemble.basis.curves": Field((n_affine, 3), 0.0, (FARTHEST_LINEAR, LARGEST_FREQUENCY, 1e6)),
        "ensemble.drift": Field((int(own.layout.features[-1]),), 0.0, _RATIO[1]),
        "ensemble.prior_ratio": Field((n_beliefs,), *(_RATIO if gaussian else (1e-13, 1.1e12))),
        "ensemble.noise_var": noise_var if gaussian else noise_var._replace(low=1.0, high=1.0),
        "ensemble.forgetting": Field((own.n_noise,), gaps=True, rules=(schema.equals(models[:, 0]),)),
        "ensemble.tails": Field((own.n_noise,), gaps=True, rules=(schema.equals(models[:, 1]),)),
        "ensemble.transitions": _transitions(settings, own.n_experts),
        "ensemble.link": _link(settings, own),
        "ensemble.sharpness": Field(
            (own.n_noise,), rules=(schema.equals(np.ones(own.n_noise) if gaussian else settings.sharpness),)
        ),
        # Draws of a standard normal.
        "ensemble.nodes": Field((own.n_latents, n_draws), -40.0, 40.0),
    }


def _noise_models(settings: Settings, own: Sizes) -> Float:
    """(n_noise, 2): forgetting and tails of every noise model, NaN where there is none."""
    if settings.likelihood != "gaussian":
        return np.full((own.n_noise, 2), np.nan)
    return np.array([noise_numbers(value) for value in settings.noise_forgetting], dtype=np.float64)


def _transitions(settings: Settings, n_experts: int) -> Field:
    if not rule_named(settings.weights).has_transitions:
        return Field((1, 1), 1.0, 1.0)
    expected = transition_matrix(settings.switch_array(), n_experts)
    rules = schema.ROWS_SUM_TO_ONE, schema.equals(expected, 1e-9)
    return Field((n_experts, n_experts), 0.0, 1.0, rules=rules)


def _link(settings: Settings, own: Sizes) -> Field:
    """Parameters of the likelihood: none for Gaussian labels."""
    shape = own.n_beliefs, own.n_link
    if settings.likelihood == "gaussian":
        return Field(shape)
    likelihood = named(settings.likelihood)
    rules = (schema.IN_ORDER,) if likelihood.is_ordinal else ()
    return Field(shape, likelihood.link_low, likelihood.link_high, rules=rules)


class Described(NamedTuple):
    """The experts of a state: what its numbers are compared with."""

    settings: Settings
    sizes: Sizes
    basis: Basis
    drift: Float
    prior_ratio: Float
    extra_weight: float | None
    """By how much the weights of rows exceed one, in sum; None if rows have no weights."""

    @classmethod
    def of(cls, model: Online) -> Described:
        """The experts of a model that was checked."""
        ensemble = model.experts.ensemble
        known = {"scaling.x_mean": model.scaling.x_mean, "state.vector": model.state.vector}
        known |= {f"ensemble.lags.{name}": getattr(ensemble.lags, name) for name in ("offsets", "table")}
        header = Header(model.settings, model.experts.kernels, model.column_keys)
        own = sizes(header, known | {"ensemble.link": ensemble.link})
        return cls(model.settings, own, ensemble.basis, ensemble.drift, ensemble.prior_ratio, model.extra_weight)

    def largest_drift(self) -> Float:
        """(n_beliefs,)"""
        return np.maximum.reduceat(self.drift, self.sizes.layout.features[:-1])

    def largest_square(self) -> Float:
        """(n_beliefs,): squared norm that features cannot exceed."""
        layout, kernels = self.sizes.layout, range(self.sizes.layout.n_kernels)
        own = [basis_at(layout, self.basis, k) for k in kernels]
        farthest = [np.where((b.columns < 0) | (b.curves[:, 1] > 0.0), 1.0, b.curves[:, 0]) for b in own]
        squares = [np.sum(b.amplitudes**2) + np.sum((b.slopes * f) ** 2) for b, f in zip(own, farthest, strict=True)]
        return np.array(squares)[layout.kernel_of]


def state_schema(experts: Described, n_rows: float, n_keys: int | None = None, n_passed: float = 0) -> dict[str, Field]:
    """A state after ``n_rows`` rows; or ``n_keys`` states, one more axis in front, after at most so many.

    ``n_passed`` are steps of the walk beside those of the rows: rows without a label, or elapsed time.
    """
    own, settings = experts.sizes, experts.settings
    front = () if n_keys is None else (n_keys,)
    gaussian, places = settings.likelihood == "gaussian", own.layout
    largest = _LARGEST_BELIEF if gaussian else _LARGEST_LATENT
    noise_scale = Field((*front, own.n_experts, own.n_latents), _LEAST_NOISE, _LARGEST_NOISE)
    return {
        "matrix": _matrix(experts, n_rows + (experts.extra_weight or 0.0), n_rows + n_passed, front),
        "vector": Field((*front, int(places.features[-1]), own.n_latents), -largest, largest),
        "noise_shape": _noise_shape(experts, n_rows, front),
        "noise_scale": noise_scale if gaussian else noise_scale._replace(low=1.0, high=1.0),
        "log_weights": Field((*front, own.n_experts), -np.inf, 1e-6, rules=(schema.LOG_WEIGHTS,)),
        "rows": ROWS._replace(shape=(*front, 2)),
        "recent": Field((*front, own.lags.n_recent, own.lags.table.shape[1]), -FARTHEST_LINEAR, FARTHEST_LINEAR),
        "far": _far(own.n_latents, front),
        "spread": _spread(settings, (*front, own.n_latents)),
    }


def _spread(settings: Settings, shape: tuple[int, ...]) -> Field:
    """One where it is not learned."""
    largest = LARGEST_SPREAD if settings.spread else 1.0
    return Field(shape, 1.0 / largest, largest)


def _far(n_outputs: int, front: tuple[int, ...]) -> Field:
    """The balance of changes and glitches, the size of changes, and the error of the last row."""
    largest = np.concatenate([[LARGEST_BALANCE], np.full(1 + n_outputs, LARGEST_ROOT)])
    least = np.concatenate([[-LARGEST_BALANCE, 0.0], np.full(n_outputs, -LARGEST_ROOT)])
    return Field((*front, 2 + n_outputs), least, largest)


def _noise_shape(experts: Described, n_rows: float, front: tuple[int, ...]) -> Field:
    """Bounds of the noise shapes: every row adds at most half of its weight, where they do not settle."""
    settings, own = experts.settings, experts.sizes
    models = _noise_models(settings, own)
    start = noise.start(models[:, 0], models[:, 1], np.arange(own.n_noise), np.ones((own.n_noise, 1))).shape
    grows = (models[:, 0] == 1.0) | (settings.drift_per == "time") | (experts.extra_weight is not None)
    grown = start * (1.0 + 1e-6) + np.where(grows, 0.5 * (n_rows + (experts.extra_weight or 0.0)), 0.0)
    return Field((*front, own.n_noise), start * (1.0 - 1e-6), grown)


def _matrix(experts: Described, n_rows: float, n_steps: float, front: tuple[int, ...]) -> Field:
    """Static: an upper triangular factor with a positive diagonal. Drifting: a covariance."""
    places, drift = experts.sizes.layout, experts.largest_drift()
    is_static = drift == 0.0
    likelihood = experts.settings.likelihood
    curvature = 1.0 if likelihood == "gaussian" else named(likelihood).max_curvature
    information = np.sqrt(1.0 / experts.prior_ratio + n_rows * curvature * experts.largest_square())
    covariance = experts.prior_ratio + n_steps * drift
    top = (1.0 + _SLACK) * np.where(is_static, information, covariance)
    # Static experts of keys may start from a wider prior than that of their ensemble.
    widest = np.array([first_ratio(ratio) for ratio in experts.prior_ratio])
    least = np.where(is_static, _SLACK / np.sqrt(widest), 0.0)
    static, drifting = np.flatnonzero(is_static), np.flatnonzero(~is_static)
    rules = (
        Rule("have a positive diagonal", lambda array: _diagonal_is_above(array, places, least)),
        Rule("have zeros below the diagonal of a static expert", lambda a: _all(_is_upper, a, places, static)),
        Rule("be a covariance where experts drift", lambda a: _all(_is_covariance, a, places, drifting)),
    )
    bound = np.repeat(top, np.diff(places.matrix))
    return Field((*front, int(places.matrix[-1])), -bound, bound, rules=rules)


def _all(
    test: Callable[[NDArray[np.floating]], bool], array: NDArray[np.floating], places: Layout, beliefs: Int
) -> bool:
    """Whether the matrices (..., F, F) of these beliefs pass a test."""
    n_features = places.n_features
    return all(
        test(array[..., places.matrix[b] : places.matrix[b + 1]].reshape(*array.shape[:-1], n_features[b], -1))
        for b in beliefs
    )


def _diagonal_is_above(matrices: NDArray[np.floating], places: Layout, least: Float) -> NDArray[np.bool_]:
    """(..., all entries): whether each that lies on a diagonal is positive and not below ``least`` (beliefs,)."""
    good = np.ones(matrices.shape, dtype=bool)
    for b, n_features in enumerate(places.n_features):
        diagonal = places.matrix[b] + (n_features + 1) * np.arange(n_features)
        good[..., diagonal] = (matrices[..., diagonal] > 0.0) & (matrices[..., diagonal] >= least[b])
    return good


def _is_upper(matrices: NDArray[np.floating]) -> bool:
    """Zeros below the diagonal, or what a GPU leaves of them."""
    below = np.abs(matrices[..., *np.tril_indices(matrices.shape[-1], -1)])
    return bool(np.all(below <= 1e-12 * np.abs(matrices).max(initial=0.0)))


def _is_covariance(matrices: NDArray[np.floating]) -> bool:
    """Symmetric, and no correlation beyond one, up to rounding."""
    variances = np.diagonal(matrices, axis1=-2, axis2=-1)
    largest = variances.max(axis=-1, initial=0.0)[..., None, None]
    close = np.abs(matrices - np.swapaxes(matrices, -1, -2)) <= _SLACK * largest
    spread = np.sqrt(variances)
    within = np.abs(matrices) <= (1.0 + _SLACK) * spread[..., :, None] * spread[..., None, :] + _SLACK * largest
    return bool(np.all(close & within))


def kept_schema(settings: Settings, own: Sizes, n_kept: int, fills_gaps: bool, n_lags: int = 0) -> dict[str, Field]:
    """Rows of an unfinished warm-up, in the user's units, and so many lags that they brought."""
    labels = Field((n_kept, own.n_labels))
    likelihood = None if settings.likelihood == "gaussian" else named(settings.likelihood)
    if likelihood is not None and likelihood.has_classes:
        labels = labels._replace(low=0.0, high=own.n_outputs - 1.0, whole=True)
    elif likelihood is not None:
        labels = labels._replace(low=(likelihood.label_low, _TINY), high=(likelihood.label_high, LARGEST_FLOAT))
    return {"kept.x": Field((n_kept, own.n_columns + n_lags), gaps=fills_gaps or n_lags > 0), "kept.y": labels}


def waiting_schema(settings: Settings, own: Sizes, n_waiting: int, fills_gaps: bool) -> dict[str, Field]:
    """Rows that wait for their labels, in the user's units, and the scores of their predictions."""
    kept = kept_schema(settings, own, n_waiting, fills_gaps)
    return {
        "waiting.x": kept["kept.x"],
        "waiting.y": kept["kept.y"],
        "waiting.log_scores": Field((n_waiting, own.n_experts), -np.inf, LARGEST_FLOAT),
        "waiting.squares": Field((n_waiting, own.n_beliefs, own.n_latents), 0.0, LARGEST_SQUARE, gaps=True),
        "waiting.spread": Field((n_waiting, own.n_latents), 0.0, MOST_ASKED * LARGEST_SPREAD, gaps=True),
        "waiting.far": Field((n_waiting,), 0.0, 1.0, whole=True),
    }


def conformal_schema(settings: Settings, n_outputs: int, n_waiting: int, n_keys: int | None = None) -> dict[str, Field]:
    """What intervals that keep their level remember (:class:`iegp.core.conformal.Conformal`); or that of keys."""
    n_levels, front = len(settings.conformal), () if n_keys is None else (n_keys,)
    most = largest_debt(settings.delay)
    low, high = (0.0, -FARTHEST_SCORE, -most, 0.0), (FARTHEST_SCORE, FARTHEST_SCORE, most, schema.LARGEST_COUNT)
    answers = np.array([FARTHEST_SCORE, *np.ones(n_levels)])
    sides = Rule("be -1, 0 or 1 beside the score", lambda a: np.isin(a, (-1.0, 0.0, 1.0)) | (answers > 1.0))
    return {
        "conformal.track": Field((*front, n_levels, n_outputs, 4), low, high),
        "conformal.waiting": Field((n_waiting, n_outputs, 1 + n_levels), -answers, answers, gaps=True, rules=(sides,)),
    }


def changes_schema(n_outputs: int, n_waiting: int, n_rows: float) -> dict[str, Field]:
    """What is remembered to notice changes (:class:`iegp.core.changes.Changes`)."""
    far = FARTHEST_WATCHED
    low = (-far, _TINY, -4.0 * far**2, -far, -LARGEST_FLOAT, _TINY, -CALIBRATED_ROWS, 0.0)
    most = schema.LARGEST_COUNT
    high = (far, 4.0 * far**2, 4.0 * far**2, far, LARGEST_FLOAT, LARGEST_FLOAT, most, most)
    blocks = (far * most, most, far, 3.0 * far**2 * most, USUAL_BLOCKS)
    rows = Rule("have rows in order", lambda log: bool(np.all(np.diff(log[:, 0]) >= 0.0)))
    kinds = len(changes.KINDS) - 1.0
    return {
        "changes.sums": Field((n_outputs, changes.N_SUMS), 0.0, CHANGE_THRESHOLD + math.log(n_outputs)),
        "changes.usual": Field((n_outputs, 8), low, high),
        "changes.blocks": Field((n_outputs, 5), (-blocks[0], 0.0, -far, -blocks[3], 0.0), blocks),
        "changes.log": Field(
            (None, 4),
            (0.0, -LARGEST_FLOAT, 0.0, 0.0),
            (n_rows, LARGEST_FLOAT, kinds, LARGEST_FLOAT),
            gaps=True,
            rules=(rows, Rule("have whole numbers of rows and kinds", _is_log)),
        ),
        "changes.total": Field((1,), 0.0, schema.LARGEST_COUNT, whole=True),
        "changes.waiting": Field((n_waiting, 2 * n_outputs), gaps=True),
    }


def _is_log(log: NDArray[np.floating]) -> bool:
    """Times may be unknown, and nothing else."""
    whole = log[:, [0, 2]]
    return bool(np.all(whole == np.floor(whole)) and np.all(np.isfinite(log[:, 3])))


def asked_schema(model: Online, n_waiting: int) -> Field:
    """What experts answered to rows that wait for their labels: :class:`iegp.core.late.Asked`, a row each."""
    gaussian = model.settings.likelihood == "gaussian"
    largest = _LARGEST_BELIEF if gaussian else _LARGEST_LATENT
    low_high = {
        "used": (0.0, 1.0 + 1e-6),
        "means": (-largest, largest),
        # In units of the noise, which is one of them.
        "variances": (1.0 - _SLACK if gaussian else 0.0, LARGEST_FLOAT),
        "steps": (0.0, LONGEST_GAP),
        "noise_shape": (_TINY, np.inf),
        "noise_scale": (_LEAST_NOISE, _LARGEST_NOISE),
        "lags": (-FARTHEST_LINEAR, FARTHEST_LINEAR),
    }
    *shapes, (_, n_labels), link, (n_outputs,) = asked_shapes(model.experts.ensemble, len(model.scaling.y_mean))
    sizes = [math.prod(shape) for shape in shapes]
    units = [(-LARGEST_FLOAT, LARGEST_FLOAT)] * n_labels + [(_TINY, LARGEST_FLOAT)] * n_labels
    low, high = np.array([*np.repeat(list(low_high.values()), sizes, axis=0), *units]).T
    if not gaussian:
        likelihood = named(model.settings.likelihood)
        low = np.append(low, np.broadcast_to(likelihood.link_low, link))
        high = np.append(high, np.broadcast_to(likelihood.link_high, link))
    spread = np.full(n_outputs, LARGEST_SPREAD)
    low, high = np.append(low, 1.0 / spread), np.append(high, spread)
    return Field((n_waiting, len(low)), low, high)
