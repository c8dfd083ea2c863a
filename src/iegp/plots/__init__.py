"""Figures of a run: predictions with their intervals, weights of the experts, calibration, regret.

They need matplotlib (extra ``plot``); the HTML report of :mod:`iegp.report` does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iegp._imports import lazy_names

if TYPE_CHECKING:
    from iegp.plots.calibration_display import CalibrationDisplay
    from iegp.plots.comparison import plot_comparison
    from iegp.plots.expert_weights_display import ExpertWeightsDisplay
    from iegp.plots.forecast_display import ForecastDisplay
    from iegp.plots.latent_map import plot_map
    from iegp.plots.prequential_display import PrequentialDisplay
    from iegp.plots.regret_display import RegretDisplay
    from iegp.plots.stream import draw_run, plot_run

__all__ = [
    "CalibrationDisplay",
    "ExpertWeightsDisplay",
    "ForecastDisplay",
    "PrequentialDisplay",
    "RegretDisplay",
    "draw_run",
    "plot_comparison",
    "plot_map",
    "plot_run",
]

__getattr__ = lazy_names(
    __name__,
    {
        "CalibrationDisplay": "iegp.plots.calibration_display",
        "ExpertWeightsDisplay": "iegp.plots.expert_weights_display",
        "ForecastDisplay": "iegp.plots.forecast_display",
        "PrequentialDisplay": "iegp.plots.prequential_display",
        "RegretDisplay": "iegp.plots.regret_display",
        "draw_run": "iegp.plots.stream",
        "plot_comparison": "iegp.plots.comparison",
        "plot_map": "iegp.plots.latent_map",
        "plot_run": "iegp.plots.stream",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
