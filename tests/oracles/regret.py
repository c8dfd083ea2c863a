"""Right-hand sides of Lemma 1 and Lemma 2, and the comparators they speak of."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def fixed_parameter_loss(Phi: Array, Y: Array, theta_star: Array, noise_var: Array) -> float:
    """sum_tau L(phi_tau' theta*; y_tau) for the Gaussian likelihood, all outputs. theta_star (F, D), noise_var (D,)."""
    total = 0.0
    for t in range(len(Y)):
        for d in range(Y.shape[1]):
            error = Y[t, d] - float(Phi[t] @ theta_star[:, d])
            total += 0.5 * math.log(2.0 * math.pi * noise_var[d]) + error**2 / (2.0 * noise_var[d])
    return total


def lemma1(theta_star: Array, prior_var: ArrayLike, noise_var: ArrayLike, T: int, M: int) -> float:
    """Lemma 1 (eq:L_OB) with the constant of its proof, c = 1 / noise_var for the Gaussian likelihood of (as1).

    ||theta*||^2 / (2 prior_var) + n_RF log(1 + T c prior_var / (2 n_RF)) + log M. The printed lemma drops c.
    `theta_star` is (F,) or (F, D), F = 2 n_RF; the outputs are independent given the expert, so their terms add up
    (the variances are scalars or (D,)) and log M is paid once.
    """
    columns = theta_star.reshape(len(theta_star), -1)
    n_rf = len(columns) / 2
    D = columns.shape[1]
    prior = np.broadcast_to(np.asarray(prior_var, dtype=float), (D,))
    noise = np.broadcast_to(np.asarray(noise_var, dtype=float), (D,))
    total = math.log(M)
    for d in range(D):
        c = 1.0 / float(noise[d])
        total += float(columns[:, d] @ columns[:, d]) / (2.0 * float(prior[d]))
        total += n_rf * math.log(1.0 + T * c * float(prior[d]) / (2.0 * n_rf))
    return total


def lemma2(T: int, M: int, S: int, switch_prob: float) -> float:
    """Lemma 2 before q0 is optimised (eq:id_2), plus S log(M - 1), which (as4) requires and the print drops.

    The prior probability of a path with S switches is (1/M) q0^(T-1-S) (q1/(M-1))^S, q1 = switch_prob and q0 = 1 - q1.
    Minus its logarithm bounds the regret against that path; it also covers fewer switches when q0 >= q1 / (M - 1).
    """
    q0, q1 = 1.0 - switch_prob, switch_prob
    total = math.log(M)
    if T - 1 - S > 0:
        total -= (T - 1 - S) * math.log(q0)
    if S > 0:
        total -= S * math.log(q1 / (M - 1))
    return total


def best_switching_sequence(losses: Array, S: int) -> tuple[float, list[int]]:
    """The path i_1..i_T with at most S switches (as5) of least total loss in a (T, M) table, by dynamic programming.

    best[s][m] = least loss of a path that has made exactly s switches so far and is now at m.
    """
    T, M = losses.shape
    best = [[float(losses[0, m]) if s == 0 else math.inf for m in range(M)] for s in range(S + 1)]
    paths: list[list[list[int]]] = [[[m] for m in range(M)] for _ in range(S + 1)]
    for t in range(1, T):
        new_best = [[math.inf] * M for _ in range(S + 1)]
        new_paths: list[list[list[int]]] = [[[] for _ in range(M)] for _ in range(S + 1)]
        for s in range(S + 1):
            for m in range(M):
                for before in range(M):
                    s_before = s if before == m else s - 1
                    if s_before < 0:
                        continue
                    candidate = best[s_before][before] + float(losses[t, m])
                    if candidate < new_best[s][m]:
                        new_best[s][m] = candidate
                        new_paths[s][m] = [*paths[s_before][before], m]
        best, paths = new_best, new_paths
    value, s, m = min((best[s][m], s, m) for s in range(S + 1) for m in range(M))
    return value, paths[s][m]
