"""Pictures of a run (extra ``plot``): predictions with their band, who was trusted when, and whether it was honest."""

from __future__ import annotations

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError('figures need matplotlib: pip install "iegp[plot]"') from error

from iegp.plots.displays import CalibrationDisplay, ExpertWeightsDisplay, PrequentialDisplay
from iegp.plots.stream import draw_run, plot_run

__all__ = ["CalibrationDisplay", "ExpertWeightsDisplay", "PrequentialDisplay", "draw_run", "plot_run"]
