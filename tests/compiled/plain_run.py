"""A small run of everything that is compiled, as a script: ``python plain_run.py results.npz``.

The tests call :func:`run` in this process, compiled, and start this file in another with compilation switched off.
"""

from __future__ import annotations

import sys

import numpy as np
from core.builders import Kind, at_once, build, learn_in_pieces, stream

from iegp._compile import COMPILED
from iegp.core import ensemble as ens
from iegp.core.compute import linalg, sincos

KINDS = {
    "bayes": Kind(drifts=(0.0, 0.02), forgetting=(None, 1.0, 0.95), shutdown=1e-3),
    "switching": Kind(rule="switching", switch="matrix", drifts=(0.02,), n_outputs=2),
    "stacking": Kind(rule="stacking", forgetting=(0.9, (0.95, 4.0)), n_outputs=2),
    "surprising": Kind(prior_ratio=1e7),
}


def run() -> dict[str, np.ndarray]:
    """Results by name."""
    results = {"compiled": np.array(COMPILED)}
    for name, kind in KINDS.items():
        ensemble = build(kind)
        x, y = stream(40, kind.n_columns, kind.n_outputs)
        for way, (trace, state) in {
            "at once": at_once(ensemble, x, y, level=0.9),
            "pieces": learn_in_pieces(ensemble, x, y, [3, 8, 30], level=0.9),
        }.items():
            for part in (trace, state):
                results |= {f"{name} {way} {field}": value for field, value in part._asdict().items()}
            mixture = ens.predict(ensemble, state, x[:8])
            results |= {
                f"{name} {way} predicted mean": mixture.mean,
                f"{name} {way} predicted std": mixture.std,
                f"{name} {way} predicted logpdf": mixture.logpdf(y[:8]),
            }
    angles = np.random.default_rng(0).normal(scale=1e4, size=100)
    sines, cosines = np.empty(100), np.empty(100)
    sincos.sincos(angles, sines, cosines)
    return results | {"sines": sines, "cosines": cosines, "pivot": np.array(linalg.cholesky_lower(-np.eye(2)) != 0)}


if __name__ == "__main__":
    np.savez(sys.argv[1], **run())
