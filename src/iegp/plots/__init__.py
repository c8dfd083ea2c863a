"""Pictures of a run (extra ``plot``): predictions with their band, and who was trusted when."""

from __future__ import annotations

from iegp.plots.stream import draw_run, plot_run

__all__ = ["draw_run", "plot_run"]
