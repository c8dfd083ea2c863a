"""Right-hand sides that are true. Those of the paper that need care are in ``printed.py``; docs/regret.md says why.

They hold for exact Bayesian experts with a fixed likelihood and prior, Bayes or switching weights that start equal, and
no shutdown. ``curvature`` is the ``c`` of (as1): ``1 / noise_var`` for Gaussian labels, 1/4 for logistic ones.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from iegp.errors import InputError
from iegp.typing import Float


def learning_cost(*, prior_var: float, n_rows: int, n_frequencies: int, curvature: float) -> float:
    """``n_RF log(1 + T c prior_var / (2 n_RF))``: what it costs to learn 2 n_RF parameters from T rows."""
    return n_frequencies * math.log1p(n_rows * curvature * prior_var / (2.0 * n_frequencies))


def lemma1(
    *, theta_norm_squared: float, prior_var: float, n_rows: int, n_frequencies: int, n_experts: int, curvature: float
) -> float:
    """Lemma 1 (eq:L_OB) with the constant ``c`` of its proof: regret of the ensemble against any fixed theta."""
    cost = learning_cost(prior_var=prior_var, n_rows=n_rows, n_frequencies=n_frequencies, curvature=curvature)
    return theta_norm_squared / (2.0 * prior_var) + cost + math.log(n_experts)


def lemma2(*, n_rows: int, n_experts: int, n_switches: int, switch_prob: float) -> float:
    """Lemma 2 for a given ``q1 = switch_prob``: minus the log prior probability of a sequence with S switches.

    ``log M - (T - 1 - S) log q0 - S log(q1 / (M - 1))``: the factor 1 / (M - 1) is that of (as4), which the paper's
    proof drops. It covers sequences with fewer switches too, as long as staying is likelier than any one switch.
    """
    _check_switches(n_rows, n_experts, n_switches)
    stay, leave = 1.0 - switch_prob, switch_prob / max(n_experts - 1, 1)
    if not 0.0 <= switch_prob < 1.0 or (n_experts > 1 and stay < leave):
        raise InputError(
            f"switch_prob={switch_prob!r} makes a switch to one expert likelier than staying, or certain; the bound "
            "needs 1 - switch_prob >= switch_prob / (n_experts - 1)"
        )
    if n_switches and switch_prob == 0.0:
        return math.inf
    total = math.log(n_experts) - (n_rows - 1 - n_switches) * math.log1p(-switch_prob)
    return total - n_switches * math.log(leave) if n_switches else total


def best_switch_prob(*, n_rows: int, n_switches: int) -> float:
    """The q1 that makes Lemma 2 smallest for T rows and S switches: ``S / (T - 1)``."""
    return n_switches / (n_rows - 1) if n_rows > 1 else 0.0


def lemma2_tuned(*, n_rows: int, n_experts: int, n_switches: int) -> float:
    """The closed form of Lemma 2 at the best q1: ``log M + S log T - S log S + S + S log(M - 1)``.

    The last term is missing in the printed lemma; it is zero for two experts. It covers sequences with fewer switches
    too, so that the best q1 must leave staying likelier than any one switch.
    """
    _check_switches(n_rows, n_experts, n_switches)
    if n_switches == 0:
        return math.log(n_experts)
    s = n_switches
    if s * n_experts > (n_rows - 1) * (n_experts - 1):
        raise InputError(
            f"n_switches={s} of {n_rows} rows is so many that a switch would be likelier than staying; the bound needs "
            "n_switches <= (n_rows - 1) (n_experts - 1) / n_experts"
        )
    return math.log(n_experts) + s * (math.log(n_rows) - math.log(s) + 1.0 + math.log(n_experts - 1))


def lemma3(
    *,
    theta_norms_squared: ArrayLike,
    prior_vars: ArrayLike,
    segment_ends: ArrayLike,
    past_excesses: ArrayLike,
    n_frequencies: int,
    curvature: float,
) -> float:
    """What holds in place of Lemma 3 when every expert learns every row, as in SIE-GP. One entry for each segment.

    Segment j, rows a..b, is served by expert m and compared with a fixed ``theta_j``. ``segment_ends`` are the b;
    ``past_excesses`` are how much worse theta_j explains the rows *before* the segment than the best parameter of that
    expert: ``L_theta(1..a-1) - min over theta of (L_theta(1..a-1) + |theta|²/(2 prior_var))``. Each segment then costs

        |theta_j|²/(2 prior_var) + n_RF log(1 + b c prior_var / (2 n_RF)) + past excess.

    Proof: the losses on rows a..b are those on 1..b, which Lemma 1's argument bounds from above, minus those on 1..a-1,
    and ``-log p(y_1..y_{a-1})`` is never below the least penalised loss because the loss is convex.
    """
    norms, priors, ends, excesses = (
        np.asarray(values, dtype=np.float64)
        for values in (theta_norms_squared, prior_vars, segment_ends, past_excesses)
    )
    if not norms.shape == priors.shape == ends.shape == excesses.shape or norms.ndim != 1:
        raise InputError(
            f"shapes {norms.shape}, {priors.shape}, {ends.shape}, {excesses.shape} differ; give one entry per segment"
        )
    costs = n_frequencies * np.log1p(ends * curvature * priors / (2.0 * n_frequencies))
    return float(np.sum(norms / (2.0 * priors) + costs + excesses))


def theorem1(
    *,
    alpha_norm: float,
    prior_var: float,
    epsilon: float,
    derivative_bound: float,
    n_rows: int,
    n_frequencies: int,
    n_experts: int,
    curvature: float,
    function_norm_squared: float | None = None,
) -> float:
    """Theorem 1, for a function ``sum alpha kappa(., x)`` of the RKHS; ``alpha_norm`` is C = prior_var sum |alpha|.

    True for certain when ``epsilon`` is the largest error of the random-feature kernel on the rows
    (:func:`kernel_error`) and ``derivative_bound`` the largest slope at both functions
    (:func:`~iegp.evaluate.regret.losses.largest_slope`); with an epsilon chosen beforehand, with the probability of
    :func:`theorem1_probability`.

    C grows with the number of rows when labels are noisy. With ``function_norm_squared``, the squared RKHS norm
    ``alpha' K alpha``, the first term is ``|f|²/2 + epsilon C²/(2 prior_var)`` instead of
    ``(1 + epsilon) C²/(2 prior_var)``: ``|theta*|² = prior_var² alpha' Phi Phi' alpha <= prior_var |f|² + epsilon C²``.
    """
    norm_squared = (1.0 + epsilon) * alpha_norm**2
    if function_norm_squared is not None:
        norm_squared = prior_var * function_norm_squared + epsilon * alpha_norm**2
    return (
        lemma1(
            theta_norm_squared=norm_squared,
            prior_var=prior_var,
            n_rows=n_rows,
            n_frequencies=n_frequencies,
            n_experts=n_experts,
            curvature=curvature,
        )
        + epsilon * derivative_bound * n_rows * alpha_norm
    )


def theorem1_probability(
    *, epsilon: float, n_frequencies: int, n_columns: int, second_moment: float, diameter: float = 1.0
) -> float:
    """The probability with which every kernel value is within epsilon: ``1 - 2^8 (sigma diam / epsilon)² exp(...)``.

    The paper leaves out the diameter of the inputs, which the result it cites (Rahimi & Recht 2008) has. Below zero
    means that nothing is known.
    """
    shrink = math.exp(-n_frequencies * epsilon**2 / (4.0 * n_columns + 8.0))
    return 1.0 - 2.0**8 * second_moment * (diameter / epsilon) ** 2 * shrink


def kernel_error(phi: Float, standardised_gram: Float) -> float:
    """Largest error of the random-feature kernel on the rows (eq:kernel_approx)."""
    return float(np.abs(phi @ phi.T - standardised_gram).max())


def theorem2(
    *,
    alpha_norms: ArrayLike,
    prior_vars: ArrayLike,
    segment_ends: ArrayLike,
    past_excesses: ArrayLike,
    epsilon: float,
    derivative_bound: float,
    n_rows: int,
    n_experts: int,
    switch_prob: float,
    n_frequencies: int,
    curvature: float,
) -> float:
    """What holds in place of Theorem 2: the Lemmas 2 and 3 above, and the random-feature error of Theorem 1.

    Arguments as there; one entry per segment where :func:`lemma3` has one.
    """
    norms = np.asarray(alpha_norms, dtype=np.float64)
    n_switches = len(norms) - 1
    sequence = lemma2(n_rows=n_rows, n_experts=n_experts, n_switches=n_switches, switch_prob=switch_prob)
    segments = lemma3(
        theta_norms_squared=(1.0 + epsilon) * norms**2,
        prior_vars=prior_vars,
        segment_ends=segment_ends,
        past_excesses=past_excesses,
        n_frequencies=n_frequencies,
        curvature=curvature,
    )
    return sequence + segments + epsilon * derivative_bound * n_rows * float(norms.max())


def _check_switches(n_rows: int, n_experts: int, n_switches: int) -> None:
    if n_rows < 1 or n_experts < 1 or not 0 <= n_switches <= n_rows - 1:
        raise InputError(
            f"n_rows={n_rows}, n_experts={n_experts}, n_switches={n_switches}: there must be a row and an expert, and "
            "at most one switch between two rows"
        )
    if n_experts == 1 and n_switches:
        raise InputError(f"n_switches={n_switches}, but one expert has nobody to switch to")
