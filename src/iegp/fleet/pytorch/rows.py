"""Rows of n keys through all their experts: features, beliefs, noise, weights, and the mixture they make."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from iegp.core.compute.tolerances import LARGEST_SQUARE
from iegp.core.weights import BAYES
from iegp.fleet.pytorch import drifting, noise, static, weights
from iegp.fleet.pytorch.experts import DeviceExperts, DeviceState
from iegp.fleet.pytorch.features import features
from iegp.fleet.pytorch.static import Ahead

# What working on rows may take beside the states: about this many copies of their features.
WORK_BYTES = 4 * 2**30
WORK_COPIES = 6


class DevicePredictions(NamedTuple):
    """The fields of :class:`~iegp.core.predictions.Predictions` that a device computes, as tensors on it.

    Inside the engine r rows of each of n keys, (n, r, ...), in standardised units; from ``learn(as_tensors=True)`` one
    entry per row of the call, in the user's units.
    """

    mean: Tensor
    """(..., D)"""
    std: Tensor
    log_score: Tensor
    """(...)"""
    weights: Tensor
    """(..., n_experts)"""


class Components(NamedTuple):
    """The experts' predictions: centres (n, r, B, 1, D), scales (n, r, B, R, D) and degrees of freedom (n, r, R)."""

    loc: Tensor
    scales: Tensor
    dof: Tensor


def bytes_per_row(experts: DeviceExperts) -> int:
    """Memory that learning takes beside the states, per row of a key."""
    return int(WORK_COPIES * experts.n_beliefs * experts.n_features * torch.finfo(experts.dtype).bits // 8)


def learn(
    experts: DeviceExperts, state: DeviceState, x: Tensor, y: Tensor, counts: Tensor | None
) -> tuple[DevicePredictions, Components]:
    """Predict then learn rows ``x`` (n, r, d), ``y`` (n, r, D), of which the first ``counts`` (n,) are real.

    ``state`` is updated in place. Without ``counts`` all rows are real.
    """
    n, r, n_outputs = y.shape
    valid = None if counts is None else (torch.arange(r, device=x.device) < counts[:, None]).double()
    if valid is not None:
        y = y * valid[..., None]
    ahead = _joined_parts(
        [
            _learn_beliefs(part, own, features(x, part.basis, valid, part.dtype), y.to(part.dtype), counts)
            for part, own in _in_parts(experts, state, n * r)
        ]
    )
    residuals = y[:, :, None, :] - ahead.means
    squares = (residuals.square() / ahead.variances).clamp_max(LARGEST_SQUARE)

    n_noise_models = len(experts.noise_models)
    last = None if counts is None else (counts - 1)
    scale = state.noise_scale.view(n, experts.n_beliefs, n_noise_models, n_outputs)
    is_alive = None
    if experts.rule.code == BAYES:
        is_alive = (state.log_weights > -math.inf).view(n, experts.n_beliefs, n_noise_models)
    parts = []
    for k, noise_model in enumerate(experts.noise_models):
        alive = None if is_alive is None else is_alive[:, :, k, None]
        level, dof = _learn_noise(noise_model, scale[:, :, k], state.noise_shape[:, k], squares, last, alive)
        spread = (level * ahead.variances).sqrt()
        density = noise.log_density(residuals, spread, dof[..., None, None] if isinstance(dof, Tensor) else dof)
        dofs = dof if isinstance(dof, Tensor) else torch.full((n, r), dof, dtype=torch.float64, device=x.device)
        parts.append((density.sum(-1), spread, dofs))
    scores, scales, dof_table = (
        torch.stack(column, dim=d) for column, d in zip(zip(*parts, strict=True), (3, 3, 2), strict=True)
    )
    scores = scores.view(n, r, -1)
    if is_alive is not None:
        scores = scores.masked_fill(~is_alive.view(n, 1, -1), -math.inf)
    weighed = weights.weigh(scores, state.log_weights, experts.rule, counts)
    state.log_weights.copy_(weighed.log_weights)
    state.rows[:, :1].add_(r if counts is None else counts[:, None])
    components = Components(ahead.means[:, :, :, None], scales, dof_table)
    used = weighed.ahead.exp()
    return DevicePredictions(*summarise(used, components), weighed.log_score, used), components


def predict(experts: DeviceExperts, state: DeviceState, x: Tensor) -> tuple[DevicePredictions, Components]:
    """Predict rows ``x`` (n, r, d), each as if it came next. Nothing is changed, and there are no log scores."""
    n, r, _ = x.shape
    ahead = _joined_parts(
        [
            _predict_beliefs(part, own, features(x, part.basis, None, part.dtype))
            for part, own in _in_parts(experts, state, n * r)
        ]
    )
    n_noise_models, n_outputs = len(experts.noise_models), ahead.means.shape[-1]
    scale = state.noise_scale.view(n, 1, experts.n_beliefs, n_noise_models, n_outputs)
    shape = torch.where(state.noise_shape.isinf(), 1.0, state.noise_shape)[:, None, None, :, None]
    scales = (scale / shape * ahead.variances[:, :, :, None]).sqrt()
    dof = state.noise_shape.clone()
    for k, noise_model in enumerate(experts.noise_models):
        if noise_model.is_heavy_tailed:
            dof[:, k] = noise_model.tail
        elif noise_model.is_conjugate:
            dof[:, k] *= 2.0 * noise_model.forgetting
    components = Components(ahead.means[:, :, :, None], scales, dof[:, None].expand(n, r, n_noise_models))
    used = weights.diffuse(state.log_weights, experts.rule).exp()[:, None].expand(n, r, -1)
    return DevicePredictions(*summarise(used, components), used[..., 0], used), components


def summarise(used: Tensor, components: Components) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation (n, r, D) of every row's mixture."""
    loc, scales, dof = components
    used = used.view(*scales.shape[:-1], 1)
    mean = (used * loc).sum((2, 3))
    factor = torch.where(dof.isinf(), 1.0, torch.where(dof > 2.0, dof / (dof - 2.0), math.inf))[:, :, None, :, None]
    spread = factor * scales.square() + (loc - mean[:, :, None, None]).square()
    # An expert without weight may have an infinite variance.
    return mean, torch.where(used > 0.0, used * spread, 0.0).sum((2, 3)).sqrt()


def _learn_noise(
    noise_model: noise.NoiseModel,
    scale: Tensor,
    shape: Tensor,
    squares: Tensor,
    last: Tensor | None,
    alive: Tensor | None,
) -> tuple[Tensor, Tensor | float]:
    """Squared noise scale (n, r, B, D) and degrees of freedom that rows are predicted with; learns them in place."""
    if not (noise_model.is_conjugate or noise_model.is_heavy_tailed):
        return scale[:, None], math.inf
    shapes = noise.shapes_before(shape, noise_model.forgetting, squares.shape[1]) if noise_model.is_conjugate else None
    after = noise.scales_after(noise_model, scale, squares, shapes)
    # A copy, also of a single row: the scale is overwritten below.
    before = torch.cat((scale[:, None], after[:, :-1]), dim=1)
    final = _entry(after, last)
    scale.copy_(final if alive is None else torch.where(alive, final, scale))
    if shapes is None:
        return before, noise_model.tail
    shape.copy_(_entry(shapes, last) + 0.5)
    return noise_model.forgetting * before / shapes[..., None, None], 2.0 * shapes


def _entry(table: Tensor, last: Tensor | None) -> Tensor:
    """The entry of each key's last real row."""
    if last is None:
        return table[:, -1]
    return table[torch.arange(len(table), device=table.device), last]


def _learn_beliefs(experts: DeviceExperts, state: DeviceState, phi: Tensor, y: Tensor, counts: Tensor | None) -> Ahead:
    """One-step-ahead means (n, r, B, D) and variances (n, r, B, 1), as float64."""
    n, r = y.shape[:2]
    parts = []
    if len(experts.static_beliefs):
        own_phi, own_y = _flat(experts, phi, y, True)
        learn_static = static.learn_row if r == 1 else static.learn_block
        parts.append(learn_static(_rows(state.static_root), _rows(state.static_mean), own_phi, own_y))
    if len(experts.drifting_beliefs):
        own_phi, own_y = _flat(experts, phi, y, False)
        drift = experts.drift.repeat(n, 1)
        beliefs = _rows(state.drifting_covariance), _rows(state.drifting_mean), own_phi, own_y, drift
        if r == 1:
            parts.append(drifting.learn_row(*beliefs))
        else:
            many = r if counts is None else counts.repeat_interleave(len(experts.drift))
            parts.append(drifting.learn_block(*beliefs, many))
    return _joined(experts, parts, n)


def _predict_beliefs(experts: DeviceExperts, state: DeviceState, phi: Tensor) -> Ahead:
    n, parts = len(phi), []
    if len(experts.static_beliefs):
        parts.append(static.predict(_rows(state.static_root), _rows(state.static_mean), _flat_phi(experts, phi, True)))
    if len(experts.drifting_beliefs):
        beliefs = _rows(state.drifting_covariance), _rows(state.drifting_mean)
        parts.append(drifting.predict(*beliefs, _flat_phi(experts, phi, False), experts.drift.repeat(n, 1)))
    return _joined(experts, parts, n)


def _in_parts(experts: DeviceExperts, state: DeviceState, n_rows: int) -> list[tuple[DeviceExperts, DeviceState]]:
    """Kernels that are worked on together. Several keys are few enough already; one may have thousands of kernels."""
    n_parts = -(-n_rows * bytes_per_row(experts) // WORK_BYTES)
    if len(state.rows) > 1 or n_parts <= 1:
        return [(experts, state)]
    step = max(1, experts.n_kernels // n_parts)
    return [experts.part(state, k, k + step) for k in range(0, experts.n_kernels, step)]


def _joined_parts(parts: list[Ahead]) -> Ahead:
    return parts[0] if len(parts) == 1 else Ahead(*(torch.cat(pair, dim=2) for pair in zip(*parts, strict=True)))


def _rows(tensor: Tensor) -> Tensor:
    """Keys and beliefs as one axis, without a copy: what is changed in place must be the state itself."""
    return tensor.view(-1, *tensor.shape[2:])


def _flat_phi(experts: DeviceExperts, phi: Tensor, is_static: bool) -> Tensor:
    """Features (N, r, F) of all static, or all drifting, beliefs of all keys."""
    n, n_kernels, r, n_features = phi.shape
    n_own = sum(own == is_static for own in experts.is_static)
    return phi[:, :, None].expand(n, n_kernels, n_own, r, n_features).reshape(-1, r, n_features)


def _flat(experts: DeviceExperts, phi: Tensor, y: Tensor, is_static: bool) -> tuple[Tensor, Tensor]:
    own_phi = _flat_phi(experts, phi, is_static)
    return own_phi, y.repeat_interleave(len(own_phi) // len(y), dim=0)


def _joined(experts: DeviceExperts, parts: list[Ahead], n: int) -> Ahead:
    """Predictions of static and of drifting beliefs, put in the order of the beliefs."""
    tables = [
        Ahead(p.means.view(n, -1, *p.means.shape[1:]), p.variances.view(n, -1, p.variances.shape[1])) for p in parts
    ]
    if len(tables) == 1:
        means, variances = tables[0]
    else:
        order = torch.argsort(torch.cat((experts.static_beliefs, experts.drifting_beliefs)))
        means, variances = (torch.cat(pair, dim=1)[:, order] for pair in zip(*tables, strict=True))
    return Ahead(means.transpose(1, 2).double(), variances.transpose(1, 2).double()[..., None])
