"""The figure of docs/time.md: what is known when a row is predicted, in five situations.

python examples/time_figure.py [docs/images/time.png]
"""

from __future__ import annotations

import sys

from matplotlib.axes import Axes
from matplotlib.figure import Figure

KNOWN, WAITING, ASKED, INK = "#12436d", "#9cc3e6", "#c0392b", "#1a1a1a"
N = 11
# Situation, the argument for it, places of the rows, how many labels are known, rows that are predicted.
SITUATIONS: list[tuple[str, str, list[float], int, list[int]]] = [
    ("Each label comes before the next row", "the default", list(range(N)), 6, [6]),
    ("Labels come three rows late", "delay=3", list(range(N)), 3, [6]),
    ("Many rows are predicted at once", "fit, then predict", list(range(N)), 6, [6, 7, 8, 9, 10]),
    ("Rows come at irregular times", 'drift_per="time"', [0, 0.4, 0.8, 2.2, 2.6, 3.0, 6.8], 6, [6]),
    ("The series itself is to be continued", "IEGPForecaster", list(range(N)), 6, [6, 7, 8, 9, 10]),
]


def draw(axes: Axes, situation: tuple[str, str, list[float], int, list[int]]) -> None:
    title, argument, places, n_known, asked = situation
    axes.axhline(0, color="#b8bec4", lw=1, zorder=0)
    for t, place in enumerate(places):
        colour = ASKED if t in asked else KNOWN if t < n_known else WAITING
        if t < n_known or t in asked or t < min(asked):
            axes.plot(place, 0, "o" if t not in asked else "s", color=colour, ms=11)
    last, first = places[n_known - 1], places[asked[-1]]
    axes.annotate("", (first, 0.34), (last, 0.34), arrowprops={"arrowstyle": "->", "color": INK})
    axes.text(-0.6, 0.62, title, fontsize=11, color=INK)
    axes.text(10.6, 0.62, argument, fontsize=11, color=INK, family="monospace", ha="right")
    axes.set(xlim=(-0.8, 10.8), ylim=(-0.5, 1.0))
    axes.axis("off")


def main() -> None:
    figure = Figure(figsize=(8, 6.2), layout="constrained")
    for axes, situation in zip(figure.subplots(len(SITUATIONS), 1), SITUATIONS, strict=True):
        draw(axes, situation)
    legend = [
        ("o", KNOWN, "label known"),
        ("o", WAITING, "predicted earlier, label not here yet"),
        ("s", ASKED, "predicted now"),
    ]
    handles = [axes.plot([], [], mark, color=colour, ms=9, label=text)[0] for mark, colour, text in legend]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "time.png", dpi=130)


if __name__ == "__main__":
    main()
