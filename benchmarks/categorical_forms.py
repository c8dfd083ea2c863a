"""Approximations of the softmax-Laplace posterior, compared: one static expert, row by row, in plain NumPy.

    IEGP_DATA=folder python benchmarks/categorical_forms.py [--rows 1500]

- shared: one covariance for all classes, sharpened by the average curvature over the K - 1 contrasts (what iegp uses)
- marginal: one covariance per class, each keeping the marginal variance of its latent value under the joint posterior
- diagonal: one covariance per class, off-diagonal curvature dropped
- one-vs-rest: K binary experts, probabilities normalised

All but the last find the joint mode of the K latent values and average softmax over 512 quasi-random draws. Scores are
over all rows, predict then learn; the prior variance is the same for all classes.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import machine
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri, softmax
from scipy.stats import qmc

from iegp.datasets import Stream, load_dataset, load_embedded
from iegp.errors import DatasetError
from iegp.typing import Float

FORMS = ("shared", "marginal", "diagonal", "one-vs-rest")
PRIOR_VARS = (10.0, 30.0, 100.0)
N_FREQUENCIES = 50
# Length scales in units of sqrt(number of columns).
STREAMS = {"oil_flow": 0.7, "image_segments": 1.0, "digits": 1.5, "usps": 1.5}
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(20)


def load(name: str, n_rows: int) -> tuple[Float, NDArray[np.intp], int]:
    stream: Stream = load_dataset(name) if name in ("oil_flow", "usps") else load_embedded(name)
    rows = np.random.default_rng(0).permutation(len(stream.X))[:n_rows]
    X = stream.X[rows].astype(np.float64)
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    classes, y = np.unique(stream.y[rows], return_inverse=True)
    return X, y, len(classes)


def features(X: Float, length_scale: float) -> Float:
    frequencies = np.random.default_rng(0).standard_normal((N_FREQUENCIES, X.shape[1])) / length_scale
    angles = X @ frequencies.T
    return np.asarray(np.concatenate([np.sin(angles), np.cos(angles)], axis=1) / np.sqrt(N_FREQUENCIES))


def joint_mode(mean: Float, var: Float, label: int) -> Float:
    """Softmax probabilities at the mode of independent Gaussians times the likelihood."""
    z = mean.copy()
    indicator = np.arange(len(mean)) == label

    def height(z: Float) -> float:
        return float(z[label] - np.logaddexp.reduce(z) - 0.5 * ((z - mean) ** 2 / var).sum())

    for _ in range(100):
        p = softmax(z)
        hessian = np.diag(1.0 / var + p) - np.outer(p, p)
        step = np.linalg.solve(hessian, indicator - p - (z - mean) / var)
        while height(z + step) < height(z) - 1e-12 and np.abs(step).max() > 1e-9:
            step = 0.5 * step
        z = z + step
        if np.abs(step).max() < 1e-9:
            break
    return np.asarray(softmax(z))


def shrinkage(form: str, p: Float, var: Float) -> Float:
    """``h / (1 + h var)`` of every class."""
    if form == "marginal":
        posterior = np.linalg.inv(np.diag(1.0 / var + p) - np.outer(p, p)).diagonal()
        return np.asarray((var - posterior) / var**2)
    h = p * (1.0 - p)
    if form == "shared":
        h = np.full(len(p), (1.0 - (p**2).sum()) / (len(p) - 1))
    return np.asarray(h / (1.0 + h * var))


def binary_slope(mean: float, var: float, target: float) -> tuple[float, float]:
    """Slope and curvature at the mode of one binary problem, by bisection."""
    low, high = (mean, mean + var) if target else (mean - var, mean)
    for _ in range(80):
        z = 0.5 * (low + high)
        if z - mean - var * (target - expit(z)) > 0.0:
            high = z
        else:
            low = z
    return float(target - expit(z)), float(expit(z) * expit(-z))


def run(form: str, phi: Float, y: NDArray[np.intp], n_classes: int, prior_var: float) -> tuple[float, float]:
    """Mean log loss and error."""
    n, n_features = phi.shape
    covariance = np.stack([np.eye(n_features) * prior_var] * (1 if form == "shared" else n_classes))
    means = np.zeros((n_classes, n_features))
    draws = ndtri(np.clip(qmc.Sobol(n_classes, seed=1).random(512), 1e-9, 1.0 - 1e-9))
    loss, errors = 0.0, 0
    for t in range(n):
        gain = np.broadcast_to(covariance @ phi[t], (n_classes, n_features))
        mean, var = means @ phi[t], gain @ phi[t]
        if form == "one-vs-rest":
            chances = expit(mean[:, None] + np.sqrt(var)[:, None] * _NODES) @ (_WEIGHTS / _WEIGHTS.sum())
            proba = chances / chances.sum()
            sites = np.array([binary_slope(mean[k], var[k], float(k == y[t])) for k in range(n_classes)])
            slope, shrink = sites[:, 0], sites[:, 1] / (1.0 + sites[:, 1] * var)
        else:
            proba = softmax(mean + np.sqrt(var) * draws, axis=1).mean(axis=0)
            p = joint_mode(mean, var, int(y[t]))
            slope, shrink = (np.arange(n_classes) == y[t]) - p, shrinkage(form, p, var)
        loss -= np.log(proba[y[t]])
        errors += int(np.argmax(proba) != y[t])
        means = means + slope[:, None] * gain
        if form == "shared":
            covariance[0] -= shrink[0] * np.outer(gain[0], gain[0])
        else:
            covariance -= shrink[:, None, None] * gain[:, :, None] * gain[:, None, :]
    return loss / n, errors / n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1500)
    arguments = parser.parse_args()
    print(machine.describe())
    print("log loss / error\n")
    print(f"{'stream':16} {'prior_var':>9} " + " ".join(f"{form:>15}" for form in FORMS))
    for name, factor in STREAMS.items():
        try:
            X, y, n_classes = load(name, arguments.rows)
        except DatasetError:
            print(f"{name:16} left out: neither in $IEGP_DATA nor to be downloaded")
            continue
        phi = features(X, factor * np.sqrt(X.shape[1]))
        for prior_var in PRIOR_VARS:
            scores = (run(form, phi, y, n_classes, prior_var) for form in FORMS)
            print(f"{name:16} {prior_var:9g} " + " ".join(f"{f'{a:.4f} / {b:.3f}':>15}" for a, b in scores), flush=True)


if __name__ == "__main__":
    main()
