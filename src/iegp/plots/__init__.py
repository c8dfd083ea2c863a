"""Pictures of a run: predictions with their band, who was trusted when, and whether it was honest.

Figures need matplotlib (extra ``plot``); the HTML report of :mod:`iegp.plots.report` needs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iegp.plots.displays import CalibrationDisplay, ExpertWeightsDisplay, PrequentialDisplay
    from iegp.plots.stream import draw_run, plot_run

__all__ = ["CalibrationDisplay", "ExpertWeightsDisplay", "PrequentialDisplay", "draw_run", "plot_run"]

_HOMES = {
    "CalibrationDisplay": "displays",
    "ExpertWeightsDisplay": "displays",
    "PrequentialDisplay": "displays",
    "draw_run": "stream",
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
