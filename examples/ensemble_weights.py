"""Weights of the experts while a robot arm picks up a load: the figure of docs/ensembles.md.

python examples/ensemble_weights.py [file.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

from iegp import IEGPRegressor
from iegp.datasets import robot_arm
from iegp.kernels import RBF
from iegp.plots import ExpertWeightsDisplay


def main(path: Path) -> None:
    stream = robot_arm(3000, noise=1.5, random_state=0)
    model = IEGPRegressor(
        [RBF(2.0), RBF(6.0)], n_frequencies=50, drift_var=(0.0, 1e-3, 1e-1), noise_forgetting=None, random_state=0
    )
    run = model.prequential(stream.X, stream.y)
    display = ExpertWeightsDisplay.from_run(run, model.experts_, changes=stream.change_points)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = display.ax_.get_figure(root=True)
    assert figure is not None
    figure.savefig(path, dpi=110)
    print(f"written to {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/ensemble_weights.png"))
