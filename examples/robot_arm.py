"""A robot arm picks up a load: the figure of the README.

python examples/robot_arm.py [file.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

from iegp import IEGPRegressor
from iegp.datasets import robot_arm
from iegp.plots import plot_run


def main(path: Path, rows: int = 8000) -> None:
    stream = robot_arm(rows, noise=1.5, random_state=0)
    model = IEGPRegressor(random_state=0)
    run = model.prequential(stream.X, stream.y)
    change = stream.change_points[0]
    figure = plot_run(
        run,
        model.experts_,
        title=f"{stream.name}: one step ahead, untuned",
        target=stream.target_name,
        changes=stream.change_points,
        zoom=(change - 500, change + 500),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    print(f"written to {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/robot_arm.png"))
