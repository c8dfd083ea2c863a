"""Pictures of a run: predictions with their band, who was trusted when, and whether it was honest.

Figures need matplotlib (extra ``plot``); the HTML report of :mod:`iegp.plots.report` needs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iegp.plots.calibration_display import CalibrationDisplay
    from iegp.plots.expert_weights_display import ExpertWeightsDisplay
    from iegp.plots.latent_map import plot_map
    from iegp.plots.prequential_display import PrequentialDisplay
    from iegp.plots.regret_display import RegretDisplay
    from iegp.plots.stream import draw_run, plot_run

__all__ = [
    "CalibrationDisplay",
    "ExpertWeightsDisplay",
    "PrequentialDisplay",
    "RegretDisplay",
    "draw_run",
    "plot_map",
    "plot_run",
]

_HOMES = {
    "CalibrationDisplay": "calibration_display",
    "ExpertWeightsDisplay": "expert_weights_display",
    "PrequentialDisplay": "prequential_display",
    "RegretDisplay": "regret_display",
    "draw_run": "stream",
    "plot_map": "latent_map",
    "plot_run": "stream",
}


def __getattr__(name: str) -> Any:
    """Import a figure when it is asked for: the report must do without matplotlib."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ImportError as error:
        if (error.name or "").split(".")[0] != "matplotlib":
            raise
        raise ImportError('figures need matplotlib: pip install "iegp[plot]"') from error
