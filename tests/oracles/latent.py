"""The paper's section 6 written literally: Algorithm 2 row by row, and the objective of Remark 2. No code is shared."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def waves(x, frequencies):
    """Features of positions (n, d): sines, then cosines."""
    angles = np.atleast_2d(x) @ frequencies.T
    return np.hstack([np.sin(angles), np.cos(angles)]) / np.sqrt(len(frequencies))


def initial_objective(y, x, frequencies, noise_var, prior_var, latent_var):
    """Minus log of (eq:init_opt) with an n x n covariance; constants dropped."""
    phi = waves(x, frequencies)
    covariance = prior_var * phi @ phi.T + noise_var * np.eye(len(y))
    _, log_det = np.linalg.slogdet(covariance)
    fit = np.trace(y.T @ np.linalg.solve(covariance, y))
    return 0.5 * y.shape[1] * log_det + 0.5 * fit + 0.5 * np.sum(x**2) / latent_var


def choose_and_weigh(likelihoods, priors, weights, transitions):
    """Algorithm 2 for the ensemble, row by row in plain probabilities (T, M).

    Return the expert of each row by eq. m_star, the density of each row, and the weights after all rows by eq.
    w_up_LVM; before each row the expert may change (``transitions``, row = from; the identity is Bayes).
    """
    chosen, densities = [], []
    for likelihood, prior in zip(likelihoods, priors, strict=True):
        ahead = [sum(transitions[i][m] * weights[i] for i in range(len(weights))) for m in range(len(weights))]
        posterior = [ahead[m] * likelihood[m] * prior[m] for m in range(len(weights))]
        chosen.append(posterior.index(max(posterior)))
        joint = [ahead[m] * likelihood[m] for m in range(len(weights))]
        densities.append(sum(joint))
        weights = [value / sum(joint) for value in joint]
    return chosen, densities, weights


class Expert:
    """One expert of Algorithm 2, with its F x F and F x D matrices in full."""

    def __init__(self, frequencies, noise_var, prior_var, latent_var, y, x, forgetting=1.0):
        phi = waves(x, frequencies)
        self.frequencies, self.noise_var, self.latent_var = frequencies, noise_var, latent_var
        self.ratio, self.forgetting = noise_var / prior_var, forgetting
        self.gram, self.b = phi.T @ phi, phi.T @ y
        self.a = self.gram + self.ratio * np.eye(len(self.gram))

    def moments(self, x):
        """(eq:subeqns) at one position."""
        phi = waves(x, self.frequencies)[0]
        mean = phi @ np.linalg.solve(self.a, self.b)
        return mean, self.noise_var * (1.0 + phi @ np.linalg.solve(self.a, phi))

    def log_density(self, y, x):
        mean, variance = self.moments(x)
        seen = ~np.isnan(y)
        return -0.5 * (seen.sum() * np.log(2.0 * np.pi * variance) + np.sum((y - mean)[seen] ** 2) / variance)

    def loss(self, y, x):
        """Minus (eq:test_point_prb)."""
        return -self.log_density(y, x) + 0.5 * np.sum(x**2) / self.latent_var

    def best_position(self, y, starts):
        """The best of the starts, improved by an optimiser of SciPy."""
        start = min(starts, key=lambda x: self.loss(y, x))
        return minimize(
            lambda x: self.loss(y, x), start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11}
        ).x

    def forget(self):
        self.gram, self.a, self.b = (self.forgetting * m for m in (self.gram, self.a, self.b))

    def walk(self, drift_var):
        """The random walk of section 5.2 on the coefficients of every output: covariances grow, means stay."""
        theta, covariance = np.linalg.solve(self.a, self.b), self.noise_var * np.linalg.inv(self.a)
        self.a = self.noise_var * np.linalg.inv(covariance + drift_var * np.eye(len(covariance)))
        self.b = self.a @ theta

    def learn(self, y, x):
        """Lines 11 and 12 of Algorithm 2, without the Cholesky factor."""
        phi = waves(x, self.frequencies)[0]
        self.gram, self.a = self.gram + np.outer(phi, phi), self.a + np.outer(phi, phi)
        self.b = self.b + np.outer(phi, y)

    def refresh(self):
        self.a = self.gram + self.ratio * np.eye(len(self.gram))
