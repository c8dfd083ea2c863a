"""Handwritten digits on a map that learns them one after the other: the figure of docs/latent.md.

python examples/digits_map.py [file.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from iegp import IEGPLVM
from iegp.plots import plot_map


def main(path: Path) -> None:
    rows, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(rows))
    rows, labels = rows[order], labels[order]
    model = IEGPLVM(warmup=180, random_state=0)
    positions = model.fit_transform(rows)
    title = f"{len(rows):,} digits, the first 180 laid out together, the rest placed as they came"
    figure = plot_map(positions, labels, title=title).get_figure(root=True)
    assert figure is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"written to {path}")
    print(f"error of the nearest neighbour on the map: {100 * _nearest_neighbour_error(positions, labels):.1f} %")


def _nearest_neighbour_error(positions: np.ndarray, labels: np.ndarray) -> float:
    """Compute the share of rows with a nearest other row of another label on the map."""
    squared = ((positions[:, None, :] - positions[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    return float(np.mean(labels[squared.argmin(axis=1)] != labels))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/digits_map.png"))
