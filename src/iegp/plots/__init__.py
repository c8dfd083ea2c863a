"""Pictures of a run (extra ``plot``): predictions with their band, who was trusted when, and whether it was honest."""

from __future__ import annotations

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError('figures need matplotlib: pip install "iegp[plot]"') from error

from iegp.plots.calibration_display import CalibrationDisplay
from iegp.plots.expert_weights_display import ExpertWeightsDisplay
from iegp.plots.prequential_display import PrequentialDisplay
from iegp.plots.stream import draw_run, plot_run

__all__ = ["CalibrationDisplay", "ExpertWeightsDisplay", "PrequentialDisplay", "draw_run", "plot_run"]
