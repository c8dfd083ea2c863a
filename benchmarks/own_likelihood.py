"""What a likelihood of one's own costs: two classes, built in, compiled, and in plain Python.

    python benchmarks/own_likelihood.py [--rows 2000]

Time is that of the processor, per row, after the warm-up, with one thread.
"""

from __future__ import annotations

import argparse
import math
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import numba
import numpy as np

from iegp import IEGPClassifier
from iegp.likelihoods import Likelihood
from iegp.typing import Float


def logit(label: Float, z: float, link: Float) -> tuple[float, float, float]:
    """Log density, slope and curvature of a Bernoulli label."""
    x = z + link[0]
    signed = x if label[0] > 0.5 else -x
    small = math.exp(-abs(signed))
    other = small / (1.0 + small) if signed > 0.0 else 1.0 / (1.0 + small)
    return -math.log1p(small) + min(signed, 0.0), other if label[0] > 0.5 else -other, small / (1.0 + small) ** 2


class Plain(Likelihood):
    """In plain Python."""

    name = "plain"
    has_classes = True
    derivatives = staticmethod(logit)


class Fast(Likelihood):
    """Compiled."""

    name = "fast"
    has_classes = True
    derivatives = staticmethod(numba.njit(logit))  # type: ignore[assignment]


def seconds_per_row(model: IEGPClassifier, x: Float, y: Float) -> float:
    """Processor time of a pass over rows; what is compiled on the way is compiled before."""
    model.warm_up(x[:100], y[:100])
    model.partial_fit(x[:20], y[:20])
    begin = time.process_time()
    model.partial_fit(x, y)
    return (time.process_time() - begin) / len(x)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2000)
    n = parser.parse_args().rows
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 5))
    y = (np.sin(2.0 * x[:, 0]) + x[:, 1] + rng.logistic(size=n) > 0.0).astype(float)
    print(f"{'likelihood':>12} {'features':>9} {'µs/row':>9} {'ratio':>7}")
    for n_frequencies in (25, 100):
        times: dict[str, float] = {}
        for name, likelihood in (("built in", None), ("compiled", Fast()), ("plain Python", Plain())):
            rows = n if name != "plain Python" else max(200, n // 20)
            model = IEGPClassifier(likelihood=likelihood, n_frequencies=n_frequencies, random_state=0)
            times[name] = seconds_per_row(model, x[:rows], y[:rows])
            ratio = times[name] / times["built in"]
            print(f"{name:>12} {2 * n_frequencies:>9} {times[name] * 1e6:9.0f} {ratio:7.1f}")


if __name__ == "__main__":
    main()
