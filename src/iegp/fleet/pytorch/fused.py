"""Fused kernels for the steps that plain PyTorch does in too many passes.

They are written in Triton, which comes with PyTorch for GPUs.

- One row per key: a belief is read once and written once, where three products would read it three times.
- Small factors and their inverses: one kernel instead of library calls made for larger matrices.
- Rules that need the row before (weights, heavy-tailed noise): one kernel instead of dozens per row.

Every function here has a plain PyTorch version beside its call, which is used where this one is not possible.
With ``TRITON_INTERPRET=1`` they run on the CPU too, slowly, for tests.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from iegp.core.compute.tolerances import (
    FEW_SWITCHING_EXPERTS,
    LANES,
    MOST_FUSED_EXPERTS,
    MOST_FUSED_FEATURES,
    MOST_FUSED_ROWS,
    NOISE_FLOOR,
    STACKING_FLOOR,
    TILE_ENTRIES,
)
from iegp.core.weights import BAYES, STACKING, SWITCHING

try:
    import triton
    import triton.language as tl
except ModuleNotFoundError:
    triton = None

# Set to False to use plain PyTorch throughout.
ENABLED = True
_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def is_possible(tensor: Tensor) -> bool:
    """Whether kernels can run where this tensor lies."""
    return ENABLED and triton is not None and (tensor.is_cuda or _INTERPRETED)


def is_possible_for_beliefs(matrix: Tensor) -> bool:
    return is_possible(matrix) and matrix.shape[-1] <= MOST_FUSED_FEATURES


def is_possible_for_blocks(matrices: Tensor) -> bool:
    return is_possible(matrices) and matrices.shape[-1] <= MOST_FUSED_ROWS


def is_possible_for_weights(log_weights: Tensor, rule: int) -> bool:
    most = FEW_SWITCHING_EXPERTS if rule == SWITCHING else MOST_FUSED_EXPERTS
    return is_possible(log_weights) and log_weights.shape[-1] <= most


def _kernel(function: Callable[..., None]) -> Any:
    return function if triton is None else triton.jit(function)


def _power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


# -- one row per belief ------------------------------------------------------------------------------------------------


# Untyped below: the language of kernels is Triton's, and what is marked constexpr is compiled in.
@_kernel
def _learn_means(mean, phi, y, gains, means, belief, variance, n_outputs, n: tl.constexpr, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    j = tl.arange(0, SIZE)
    inside = j < n
    f = tl.load(phi + belief * n + j, mask=inside, other=0.0)
    gain = tl.load(gains + belief * n + j, mask=inside, other=0.0)
    for d in range(n_outputs):
        own = (belief * n + j) * n_outputs + d
        m = tl.load(mean + own, mask=inside, other=0.0)
        predicted = tl.sum(f * m, axis=0)
        label = tl.load(y + belief * n_outputs + d)
        tl.store(means + belief * n_outputs + d, predicted)
        tl.store(mean + own, m + gain * ((label - predicted) / variance), mask=inside)


@_kernel
def _static_row(  # type: ignore[no-untyped-def]
    root, mean, phi, y, gains, means, variances, n_outputs, n: tl.constexpr, TILE: tl.constexpr, SIZE: tl.constexpr
):
    belief = tl.program_id(0).to(tl.int64)
    matrix = root + belief * n * n
    j = tl.arange(0, SIZE)
    whitened = tl.zeros((SIZE,), dtype=root.dtype.element_ty)
    for start in range(0, n, TILE):
        i = start + tl.arange(0, TILE)
        tile = tl.load(matrix + i[:, None] * n + j[None, :], mask=(i < n)[:, None] & (j < n)[None, :], other=0.0)
        f = tl.load(phi + belief * n + i, mask=i < n, other=0.0)
        whitened += tl.sum(tile * f[:, None], axis=0)
    variance = 1.0 + tl.sum(whitened * whitened, axis=0)
    pivot = tl.sqrt(variance)
    shrink = whitened / (pivot * (pivot + 1.0))
    for start in range(0, n, TILE):
        i = start + tl.arange(0, TILE)
        both = (i < n)[:, None] & (j < n)[None, :]
        # The second look at the matrix finds it in the cache.
        tile = tl.load(matrix + i[:, None] * n + j[None, :], mask=both, other=0.0)
        gain = tl.sum(tile * whitened[None, :], axis=1)
        tl.store(gains + belief * n + i, gain, mask=i < n)
        tl.store(matrix + i[:, None] * n + j[None, :], tile - gain[:, None] * shrink[None, :], mask=both)
    tl.store(variances + belief, variance)
    tl.debug_barrier()
    _learn_means(mean, phi, y, gains, means, belief, variance, n_outputs, n, SIZE)


@_kernel
def _drifting_row(  # type: ignore[no-untyped-def]
    covariance, mean, phi, y, drift, gains, means, variances, n_outputs, n: tl.constexpr, TILE: tl.constexpr,
    SIZE: tl.constexpr,
):  # fmt: skip
    belief = tl.program_id(0).to(tl.int64)
    matrix = covariance + belief * n * n
    j = tl.arange(0, SIZE)
    step = tl.load(drift + belief * n + j, mask=j < n, other=0.0)
    whole = tl.load(phi + belief * n + j, mask=j < n, other=0.0)
    for start in range(0, n, TILE):
        i = start + tl.arange(0, TILE)
        tile = tl.load(matrix + i[:, None] * n + j[None, :], mask=(i < n)[:, None] & (j < n)[None, :], other=0.0)
        f = tl.load(phi + belief * n + i, mask=i < n, other=0.0)
        walk = tl.load(drift + belief * n + i, mask=i < n, other=0.0)
        tl.store(gains + belief * n + i, tl.sum(tile * whole[None, :], axis=1) + walk * f, mask=i < n)
    tl.debug_barrier()
    across = tl.load(gains + belief * n + j, mask=j < n, other=0.0)
    variance = 1.0 + tl.maximum(tl.sum(across * whole, axis=0), tl.sum(step * whole * whole, axis=0))
    scale = 1.0 / tl.sqrt(variance)
    across *= scale
    for start in range(0, n, TILE):
        i = start + tl.arange(0, TILE)
        both = (i < n)[:, None] & (j < n)[None, :]
        tile = tl.load(matrix + i[:, None] * n + j[None, :], mask=both, other=0.0)
        # Scaled first, so that entries (i, j) and (j, i) are the same product and S stays symmetric to the bit.
        down = tl.load(gains + belief * n + i, mask=i < n, other=0.0) * scale
        tile += tl.where(i[:, None] == j[None, :], step[None, :], 0.0)
        tl.store(matrix + i[:, None] * n + j[None, :], tile - down[:, None] * across[None, :], mask=both)
    tl.store(variances + belief, variance)
    _learn_means(mean, phi, y, gains, means, belief, variance, n_outputs, n, SIZE)


def learn_row(matrix: Tensor, mean: Tensor, phi: Tensor, y: Tensor, drift: Tensor | None) -> tuple[Tensor, Tensor]:
    """Means (N, 1, D) and variances (N, 1) of one row per belief, learned in place; static without ``drift``."""
    n, n_outputs = mean.shape[1:]
    y, phi = y.contiguous(), phi.contiguous()
    means, variances, gains = torch.empty_like(y), y.new_empty((len(y), 1)), torch.empty_like(phi)
    size = _power_of_two(n)
    # Known to the compiler, F says how the rows of a matrix are aligned.
    options = {"n": n, "TILE": min(size, TILE_ENTRIES // size), "SIZE": size, "num_warps": 4}
    if drift is None:
        _static_row[(len(y),)](matrix, mean, phi, y, gains, means, variances, n_outputs, **options)
    else:
        walk = drift.contiguous()
        _drifting_row[(len(y),)](matrix, mean, phi, y, walk, gains, means, variances, n_outputs, **options)
    return means, variances


# -- factors of blocks -------------------------------------------------------------------------------------------------


@_kernel
def _factor(  # type: ignore[no-untyped-def]
    matrices, upper, inverse, inverse_plus, is_bad, n, WITH_PLUS: tl.constexpr, SIZE: tl.constexpr
):
    block = tl.program_id(0).to(tl.int64) * n * n
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    one = tl.arange(0, SIZE)
    # The other triangle is the mirror image.
    place = tl.where(i >= j, i * n + j, j * n + i)
    left = tl.load(matrices + block + place, mask=(i < n) & (j < n), other=0.0)
    solved = tl.where(i == j, 1.0, tl.zeros((SIZE, SIZE), dtype=matrices.dtype.element_ty))
    solved_plus = solved
    smallest = tl.full((), float("inf"), dtype=matrices.dtype.element_ty)
    for k in range(n):
        # Column k of what is left, as a column and, what is left being symmetric, as a row.
        column = tl.sum(tl.where(j == k, left, 0.0), axis=1)
        square = tl.sum(tl.where(one == k, column, 0.0), axis=0)
        smallest = tl.where(square > 0.0, tl.minimum(smallest, square), -1.0)
        pivot = tl.sqrt(square)
        column = tl.where(one >= k, column / pivot, 0.0)
        tl.store(upper + block + k * n + one, column, mask=one < n)
        below = tl.where(i > k, column[:, None], 0.0)
        row = tl.sum(tl.where(i == k, solved, 0.0), axis=0) / pivot
        tl.store(inverse + block + k * n + one, row, mask=one < n)
        solved = solved - below * row[None, :]
        if WITH_PLUS:
            row_plus = tl.sum(tl.where(i == k, solved_plus, 0.0), axis=0) / (pivot + 1.0)
            tl.store(inverse_plus + block + k * n + one, row_plus, mask=one < n)
            solved_plus = solved_plus - below * row_plus[None, :]
        left = left - below * column[None, :]
    tl.store(is_bad + tl.program_id(0), smallest < 0.0)


def factors(matrices: Tensor, with_plus: bool) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Cholesky factor L, inv(L), inv(L + I) and what failed, of ``matrices`` (N, r, r)."""
    matrices = matrices.contiguous()
    upper, inverse = torch.empty_like(matrices), torch.empty_like(matrices)
    inverse_plus = torch.empty_like(matrices) if with_plus else None
    is_bad = torch.empty(len(matrices), dtype=torch.bool, device=matrices.device)
    size = max(16, _power_of_two(matrices.shape[-1]))
    _factor[(len(matrices),)](
        matrices,
        upper,
        inverse,
        inverse if inverse_plus is None else inverse_plus,
        is_bad,
        matrices.shape[-1],
        WITH_PLUS=with_plus,
        SIZE=size,
        num_warps=max(1, size * size // 256),
    )
    return upper.mT, inverse, inverse_plus, is_bad


# -- rules that need the row before ------------------------------------------------------------------------------------


@_kernel
def _log_sum_exp(values):  # type: ignore[no-untyped-def]
    largest = tl.max(values, axis=0)
    base = tl.where(largest == float("-inf"), 0.0, largest)
    return base + tl.log(tl.sum(tl.exp(values - base), axis=0))


@_kernel
def _weigh_rows(  # type: ignore[no-untyped-def]
    scores, log_weights, counts, log_transitions, ahead_out, log_score, after, n_rows, n_experts, scalars,
    RULE: tl.constexpr, IS_PLAIN: tl.constexpr, SHUTS_DOWN: tl.constexpr, PADDED: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    rate, floor, threshold = tl.load(scalars), tl.load(scalars + 1), tl.load(scalars + 2)
    key = tl.program_id(0).to(tl.int64)
    e = tl.arange(0, SIZE)
    inside = e < n_experts
    nothing = float("-inf")
    logs = tl.load(log_weights + key * n_experts + e, mask=inside, other=nothing)
    real = n_rows
    if PADDED:
        real = tl.load(counts + key).to(tl.int32)
    if RULE == 1:
        square = e[:, None] * n_experts + e[None, :]
        steps = tl.load(log_transitions + square, mask=inside[:, None] & inside[None, :], other=nothing)
    for t in range(n_rows):
        row = key * n_rows + t
        ahead = logs
        if RULE == 1:
            moved = logs[:, None] + steps
            largest = tl.max(moved, axis=0)
            base = tl.where(largest == nothing, 0.0, largest)
            ahead = base + tl.log(tl.sum(tl.exp(moved - base[None, :]), axis=0))
        score = tl.load(scores + row * n_experts + e, mask=inside, other=nothing)
        joint = ahead + score
        total = _log_sum_exp(joint)
        if RULE == 2:
            advantage = score - total
            gain = tl.log(rate) + advantage
            if not IS_PLAIN:
                near = tl.log(1.0 - rate + rate * tl.exp(tl.minimum(advantage, 700.0)))
                gain = tl.where(advantage > 700.0, gain, near)
            learned = tl.where(inside, tl.maximum(ahead + gain, floor), nothing)
        else:
            learned = joint - total
        if SHUTS_DOWN:
            best = tl.argmax(learned, axis=0)
            learned = tl.where((learned < threshold) & (e != best), nothing, learned)
        learned = learned - _log_sum_exp(learned)
        # A row that no expert thought possible gives no information about the weights.
        is_finite = tl.abs(total) < float("inf")
        learned = tl.where(is_finite, learned, ahead)
        logs = tl.where(t < real, learned, logs)
        tl.store(ahead_out + row * n_experts + e, ahead, mask=inside)
        tl.store(log_score + row, total)
    tl.store(after + key * n_experts + e, logs, mask=inside)


def weigh(
    log_scores: Tensor, log_weights: Tensor, rule: int, log_transitions: Tensor, rate: float, shutdown: float,
    counts: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Weights ahead of each row as logs, log scores of the mixtures, weights afterwards."""
    n, n_rows, n_experts = log_scores.shape
    scores, before = log_scores.contiguous(), log_weights.contiguous()
    floor = math.log(STACKING_FLOOR / n_experts) if rate < 1.0 else -math.inf
    scalars = _numbers((rate, floor, math.log(shutdown) if shutdown > 0.0 else -math.inf), scores.device)
    ahead, log_score, after = torch.empty_like(scores), scores.new_empty((n, n_rows)), torch.empty_like(before)
    _weigh_rows[(n,)](
        scores, before, before if counts is None else counts, log_transitions, ahead, log_score, after,
        n_rows, n_experts, scalars,
        RULE=rule, IS_PLAIN=rate == 1.0, SHUTS_DOWN=rule == BAYES and shutdown > 0.0, PADDED=counts is not None,
        SIZE=max(2, _power_of_two(n_experts)), num_warps=1 if n_experts <= 64 and rule != SWITCHING else 4,
    )  # fmt: skip
    return ahead, log_score, after


@lru_cache(maxsize=64)
def _numbers(values: tuple[float, ...], device: torch.device) -> Tensor:
    """Kept from call to call. As plain arguments they would reach a kernel as float32, which costs nine digits."""
    return torch.tensor(values, dtype=torch.float64, device=device)


@_kernel
def _heavy_tailed(scale, squares, scalars, after, n_rows, n_inner, n_all, LANES: tl.constexpr):  # type: ignore[no-untyped-def]
    forgetting, tail, floor = tl.load(scalars), tl.load(scalars + 1), tl.load(scalars + 2)
    i = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = i < n_all
    key, place = i // n_inner, i % n_inner
    level = tl.load(scale + i, mask=inside, other=1.0)
    for t in range(n_rows):
        own = (key * n_rows + t) * n_inner + place
        square = tl.load(squares + own, mask=inside, other=0.0)
        pull = (1.0 - forgetting) * (tail + 1.0) * square / (tail + square / level)
        level = tl.maximum(forgetting * level + pull, floor)
        tl.store(after + own, level, mask=inside)


def heavy_tailed(scale: Tensor, squares: Tensor, forgetting: float, tail: float) -> Tensor:
    """Noise scale after each row, from ``scale`` (n, ...) and ``squares`` (n, r, ...)."""
    squares, scale = squares.contiguous(), scale.contiguous()
    after = torch.empty_like(squares)
    scalars = _numbers((forgetting, tail, NOISE_FLOOR), squares.device)
    inner = math.prod(squares.shape[2:])
    blocks = -(-scale.numel() // LANES)
    _heavy_tailed[(blocks,)](
        scale, squares, scalars, after, squares.shape[1], inner, scale.numel(), LANES=LANES, num_warps=4
    )
    return after


assert (BAYES, SWITCHING, STACKING) == (0, 1, 2), "the kernel above knows rules by number"
