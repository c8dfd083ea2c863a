"""Bounds on regret that hold, and those of the paper that need corrections (``printed_*``); docs/regret.md says why.

They hold for exact Bayesian experts with a fixed likelihood and prior, Bayes or switching weights that start equal, and
no shutdown. ``curvature`` is the ``c`` of (as1): ``1 / noise_var`` for Gaussian labels, 1/4 for logistic ones.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from iegp._docstrings import entries, fill_docstrings
from iegp.errors import InputError
from iegp.typing import Float

DOCS = entries("""
theta_norm_squared : float
    Squared norm of the parameter compared with.
alpha_norm : float
    ``C = prior_var sum |alpha|``. It grows with the number of rows when labels are noisy.
prior_var : float
    Prior variance of the expert.
prior_vars : array-like (S + 1,)
    Prior variance of the expert of each segment.
segment_ends : array-like (S + 1,)
    Last row b of each segment, counted from 1.
past_excesses : array-like (S + 1,)
    How much worse ``theta_j`` explains the rows *before* the segment than the best parameter of that expert:
    ``L_theta(1..a-1) - min over theta of (L_theta(1..a-1) + |theta|²/(2 prior_var))``.
epsilon : float
    Largest error of the random-feature kernel.
derivative_bound : float
    Largest derivative L of the loss in the latent value (as2).
n_rows : int
    Number of rows T, at least 1.
n_experts : int
    Number of experts M, at least 1.
n_switches : int
    Number of switches S of the sequence, at most T - 1; 0 for a single expert.
n_frequencies : int
    Number of random frequencies n_RF of every expert.
curvature : float
    Largest second derivative c of the loss in the latent value (as1).
""") | {"returns_bound": "Returns\n-------\nfloat\n    Bound in nats."}
# Of lemmas as they are printed.
PRINTED = (
    DOCS
    | entries("""
theta_norms_squared : array-like (M,)
    Squared norm of the parameter of each *expert*.
alpha_norm : float
    C', the largest of the experts' ``prior_var sum |alpha|``.
prior_vars : array-like (M,)
    Prior variance of each expert.
""")
    | {"returns_bound": "Returns\n-------\nfloat\n    Printed bound in nats."}
)


@fill_docstrings(DOCS)
def learning_cost(*, prior_var: float, n_rows: int, n_frequencies: int, curvature: float) -> float:
    """Compute ``n_RF log(1 + T c prior_var / (2 n_RF))``, the cost of learning 2 n_RF parameters from T rows.

    {parameters}

    Returns
    -------
    float
        Cost in nats.
    """
    return n_frequencies * math.log1p(n_rows * curvature * prior_var / (2.0 * n_frequencies))


@fill_docstrings(DOCS)
def lemma1(
    *, theta_norm_squared: float, prior_var: float, n_rows: int, n_frequencies: int, n_experts: int, curvature: float
) -> float:
    """Bound the regret of the ensemble against any fixed theta: Lemma 1 (eq:L_OB) with the constant ``c`` of its proof.

    {parameters}

    {returns_bound}

    Examples
    --------
    >>> setting = {"n_rows": 100, "n_frequencies": 10, "n_experts": 2, "curvature": 0.25}
    >>> round(lemma1(theta_norm_squared=1.0, prior_var=1.0, **setting), 3)
    9.302
    """
    cost = learning_cost(prior_var=prior_var, n_rows=n_rows, n_frequencies=n_frequencies, curvature=curvature)
    return theta_norm_squared / (2.0 * prior_var) + cost + math.log(n_experts)


@fill_docstrings(DOCS)
def lemma2(*, n_rows: int, n_experts: int, n_switches: int, switch_prob: float) -> float:
    """Bound the regret against a sequence of experts: Lemma 2 for a given ``q1 = switch_prob``.

    It is minus the log prior probability of a sequence with S switches, ``log M - (T - 1 - S) log q0 - S log(q1 / (M -
    1))``. The factor 1 / (M - 1) is that of (as4), which the paper's proof drops. It covers sequences with fewer
    switches too, as long as staying is likelier than any one switch.

    Parameters
    ----------
    {n_rows}
    {n_experts}
    {n_switches}
    switch_prob : float
        Probability of leaving the active expert at a row. Staying must be at least as likely as a switch to any one
        other expert, else ``InputError`` is raised.

    Returns
    -------
    float
        Bound in nats; ``inf`` if switches are needed and ``switch_prob`` is 0.

    Examples
    --------
    >>> round(lemma2(n_rows=100, n_experts=2, n_switches=0, switch_prob=0.0), 4)
    0.6931
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


@fill_docstrings(DOCS)
def best_switch_prob(*, n_rows: int, n_switches: int) -> float:
    """Compute the q1 that makes Lemma 2 smallest: ``S / (T - 1)``.

    {parameters}

    Returns
    -------
    float
        Switch probability; 0 for a single row.
    """
    return n_switches / (n_rows - 1) if n_rows > 1 else 0.0


@fill_docstrings(DOCS)
def lemma2_tuned(*, n_rows: int, n_experts: int, n_switches: int) -> float:
    """Bound the regret against a sequence of experts at the best q1, in closed form.

    It is ``log M + S log T - S log S + S + S log(M - 1)``. The last term is missing in the printed lemma; it is zero
    for two experts. The bound covers sequences with fewer switches too, so staying must be likelier than any one
    switch.

    Parameters
    ----------
    {n_rows}
    {n_experts}
    n_switches : int
        Number of switches S, at most ``(T - 1) (M - 1) / M``; more raise ``InputError``.

    {returns_bound}
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


@fill_docstrings(DOCS)
def lemma3(
    *,
    theta_norms_squared: ArrayLike,
    prior_vars: ArrayLike,
    segment_ends: ArrayLike,
    past_excesses: ArrayLike,
    n_frequencies: int,
    curvature: float,
) -> float:
    """Bound the regret of segments where every expert learns every row, as in SIE-GP; it holds in place of Lemma 3.

    Segment j, rows a..b, belongs to expert m and is compared with a fixed ``theta_j``. Each segment costs::

        |theta_j|²/(2 prior_var) + n_RF log(1 + b c prior_var / (2 n_RF)) + past excess.

    Proof: the losses on rows a..b are those on 1..b, which Lemma 1's argument bounds from above, minus those on 1..a-1,
    and ``-log p(y_1..y_{a-1})`` is never below the least penalised loss because the loss is convex.

    Parameters
    ----------
    theta_norms_squared : array-like (S + 1,)
        Squared norm of ``theta_j``, one entry per segment.
    {prior_vars}
    {segment_ends}
    {past_excesses}
    {n_frequencies}
    {curvature}

    Returns
    -------
    float
        Bound in nats, summed over segments.
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


@fill_docstrings(DOCS)
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
    """Bound the regret against a function ``sum alpha kappa(., x)`` of an expert's RKHS (Theorem 1).

    It is certain when ``epsilon`` is the largest error of the random-feature kernel on the rows (:func:`kernel_error`)
    and ``derivative_bound`` the largest slope at both functions
    (:func:`~iegp.evaluate.regret.comparators.largest_slope`); with an epsilon chosen beforehand it holds with the
    probability of :func:`theorem1_probability`.

    Parameters
    ----------
    {alpha_norm}
    {prior_var}
    {epsilon}
    {derivative_bound}
    {n_rows}
    {n_frequencies}
    {n_experts}
    {curvature}
    function_norm_squared : float, optional
        Squared RKHS norm ``alpha' K alpha``. With it, the first term is ``|f|²/2 + epsilon C²/(2 prior_var)`` instead
        of ``(1 + epsilon) C²/(2 prior_var)``, because ``|theta*|² = prior_var² alpha' Phi Phi' alpha <= prior_var |f|²
        + epsilon C²``.

    {returns_bound}
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
    """Compute the probability that every kernel value is within epsilon: ``1 - 2^8 (sigma diam / epsilon)² exp(...)``.

    Parameters
    ----------
    epsilon : float
        Largest error of the random-feature kernel, positive.
    n_frequencies : int
        Number of random frequencies.
    n_columns : int
        Number of input columns.
    second_moment : float
        Second moment sigma² of the kernel's spectral density.
    diameter : float, default=1.0
        Diameter of the inputs. The paper leaves it out; the result that it cites (Rahimi & Recht 2008) has it.

    Returns
    -------
    float
        Lower bound on the probability; below zero it says nothing.
    """
    shrink = math.exp(-n_frequencies * epsilon**2 / (4.0 * n_columns + 8.0))
    return 1.0 - 2.0**8 * second_moment * (diameter / epsilon) ** 2 * shrink


def kernel_error(phi: Float, standardised_gram: Float) -> float:
    """Compute the largest error of the random-feature kernel on the rows (eq:kernel_approx).

    Parameters
    ----------
    phi : ndarray (T, F)
        Random features of the rows.
    standardised_gram : ndarray (T, T)
        Exact kernel matrix, with ones on the diagonal.

    Returns
    -------
    float
        Largest absolute difference of an entry.
    """
    return float(np.abs(phi @ phi.T - standardised_gram).max())


@fill_docstrings(DOCS)
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
    """Bound the switching regret in the experts' RKHSs; it holds in place of Theorem 2.

    It is the sum of :func:`lemma2`, :func:`lemma3` and the random-feature error of :func:`theorem1`.

    Parameters
    ----------
    alpha_norms : array-like (S + 1,)
        ``C = prior_var sum |alpha|`` of the function of each segment.
    {prior_vars}
    {segment_ends}
    {past_excesses}
    {epsilon}
    {derivative_bound}
    {n_rows}
    {n_experts}
    switch_prob : float
        Probability of leaving the active expert, as in :func:`lemma2`.
    {n_frequencies}
    {curvature}

    {returns_bound}
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


# -- bounds as the paper prints them, where they differ -------------------------------------------------------------


@fill_docstrings(PRINTED)
def printed_lemma1(
    *, theta_norm_squared: float, prior_var: float, n_rows: int, n_frequencies: int, n_experts: int
) -> float:
    """Compute Lemma 1 as printed, without the constant ``c`` of its proof: true only where ``c <= 1``.

    {parameters}

    {returns_bound}
    """
    return lemma1(
        theta_norm_squared=theta_norm_squared,
        prior_var=prior_var,
        n_rows=n_rows,
        n_frequencies=n_frequencies,
        n_experts=n_experts,
        curvature=1.0,
    )


@fill_docstrings(PRINTED)
def printed_lemma2(*, n_rows: int, n_experts: int, n_switches: int) -> float:
    """Compute Lemma 2 as printed: ``log M + S log T - S log S + S``.

    It lacks ``S log(M - 1)``: true only for M <= 2.

    {parameters}

    {returns_bound}
    """
    s = n_switches
    return math.log(n_experts) + (s * (math.log(n_rows) - math.log(s) + 1.0) if s else 0.0)


@fill_docstrings(PRINTED)
def printed_lemma3(
    *, theta_norms_squared: ArrayLike, prior_vars: ArrayLike, n_rows: int, n_frequencies: int, curvature: float
) -> float:
    """Compute Lemma 3 as printed: true if expert m learns only the rows of its own segments.

    In SIE-GP every expert learns every row, and then it does not hold.

    {parameters}

    {returns_bound}
    """
    norms, priors = np.asarray(theta_norms_squared, dtype=np.float64), np.asarray(prior_vars, dtype=np.float64)
    per_expert = n_frequencies * len(norms)
    cost = per_expert * math.log1p(n_rows * curvature * float(priors.max()) / (2.0 * per_expert))
    return float(np.sum(norms / (2.0 * priors))) + cost


@fill_docstrings(PRINTED)
def printed_theorem2(
    *,
    alpha_norm: float,
    prior_vars: ArrayLike,
    epsilon: float,
    derivative_bound: float,
    n_rows: int,
    n_switches: int,
    n_frequencies: int,
    curvature: float,
) -> float:
    """Compute Theorem 2 as printed, from Lemmas 2 and 3 as printed. It is not proved.

    {parameters}

    {returns_bound}
    """
    priors = np.asarray(prior_vars, dtype=np.float64)
    segments = printed_lemma3(
        theta_norms_squared=np.full(len(priors), (1.0 + epsilon) * alpha_norm**2),
        prior_vars=priors,
        n_rows=n_rows,
        n_frequencies=n_frequencies,
        curvature=curvature,
    )
    sequence = printed_lemma2(n_rows=n_rows, n_experts=len(priors), n_switches=n_switches)
    return sequence + segments + epsilon * derivative_bound * n_rows * alpha_norm


def _check_switches(n_rows: int, n_experts: int, n_switches: int) -> None:
    if n_rows < 1 or n_experts < 1 or not 0 <= n_switches <= n_rows - 1:
        raise InputError(
            f"n_rows={n_rows}, n_experts={n_experts}, n_switches={n_switches}: there must be a row and an expert, and "
            "at most one switch between two rows"
        )
    if n_experts == 1 and n_switches:
        raise InputError(f"n_switches={n_switches}, but a single expert has no other to switch to")
