"""Calibration panels: nominal against observed shares, and how far apart the two may be by chance."""

from __future__ import annotations

import numpy as np

from iegp._imports import on_demand
from iegp.report import svg
from iegp.report.blocks import Key, Panel, Panels, Section, nothing
from iegp.report.chart import chart
from iegp.report.scales import Axis, linear, shares
from iegp.report.text import percent, rows
from iegp.stream.digest import Results
from iegp.typing import Float

FEWEST_ROWS = 20
OBSERVED, IDEAL = Key("dots", "ours", "observed"), Key("line", "ideal", "calibrated")
CHANCE = Key("area", "chance", "within chance")


SECTION = Section(
    "calibration",
    "Calibration",
    "Calibrated predictions are right as often as they state; points inside the grey bands are within chance.",
)


def calibration(results: Results) -> Section:
    n = results.pit.sum() if results.is_number else results.reliability[:, 0].sum()
    if n < FEWEST_ROWS:
        return SECTION.holding(nothing(f"{rows(n)} scored so far; calibration is shown from {FEWEST_ROWS} on."))
    if not results.is_number:
        return SECTION.holding(Panels([_reliability(results), _confidence(results)]))
    if np.isnan(results.coverage):
        return SECTION.holding(nothing("The likelihood of this model gives no intervals, so there are none to check."))
    return SECTION.holding(Panels([_levels(results), _pit(results)]))


def _levels(results: Results) -> Panel:
    x, y = shares("nominal level of the interval"), shares("labels inside it")
    n, levels = results.pit.sum(), results.levels
    low, high = by_chance(n, levels)
    marks = [
        svg.area(x, y, levels, low, high, "chance"),
        _diagonal(x, y),
        svg.line(x, y, levels, results.inside, "ours"),
        svg.dots(x, y, levels, results.inside, "big ours"),
    ]
    how = "The diagonal is calibrated; below it intervals are too narrow, above it too wide." + _approximate(results)
    legend = [OBSERVED, IDEAL, CHANCE]
    drawn = chart(x, y, marks, legend=legend, name="coverage against nominal level", square=True)
    return Panel("Coverage against nominal level", how, [drawn])


def _pit(results: Results) -> Panel:
    bins, n = len(results.pit), results.pit.sum()
    density = results.pit * bins / n
    low, high = (float(end[0]) * bins for end in by_chance(n, np.array([1.0 / bins])))
    x, y = shares("where the label fell within its prediction (PIT)"), _from_zero(max(density.max(), high), "density")
    edges = np.arange(bins + 1) / bins
    band = svg.area(x, y, np.array([0.0, 1.0]), np.full(2, low), np.full(2, high), "chance")
    bars = svg.bars(x, y, edges, density, [rows(round(n)) for n in results.pit])
    how = "Flat is calibrated; a U means too confident, a hill too cautious, a slope a bias." + _approximate(results)
    marks: list[svg.Path | svg.Rect] = [*bars, band, svg.level(y, 1.0, "ideal")]
    legend = [Key("area", "bar", "observed"), IDEAL, CHANCE]
    drawn = chart(x, y, marks, legend=legend, name="histogram of the probability integral transform", square=True)
    return Panel("PIT histogram", how, [drawn])


def _approximate(results: Results) -> str:
    """Say that the values of counts come from moments: a histogram of few counts is only nearly flat."""
    return " For counts, from the predicted mean and variance." if results.task == "count" else ""


def _reliability(results: Results) -> Panel:
    n, confidence, right = results.reliability.T
    there = n >= 5
    x, y = shares("probability given to the predicted class"), shares("share of right predictions")
    low, high = by_chance(np.maximum(n, 1.0), np.nan_to_num(confidence))
    sticks = [
        svg.line(x, y, np.repeat(confidence[i], 2), np.array([low[i], high[i]]), "stick") for i in np.flatnonzero(there)
    ]
    marks = [_diagonal(x, y), *sticks, svg.dots(x, y, confidence[there], right[there], "big ours")]
    how = "The diagonal is calibrated; below it the model is too confident. Groups of fewer than 5 rows are left out."
    legend = [OBSERVED, IDEAL, Key("stick", "stick", "within chance")]
    drawn = chart(x, y, marks, legend=legend, name="reliability diagram", square=True)
    return Panel("Reliability", how, [drawn])


def _confidence(results: Results) -> Panel:
    n = results.reliability[:, 0]
    edges = np.arange(len(n) + 1) / len(n)
    x, y = shares("probability given to the predicted class"), _from_zero(float(n.max()), "rows")
    bars = svg.bars(x, y, edges, n, [f"{rows(own)}, {percent(own / n.sum())}" for own in n])
    how = "The further right the bars, the more confident the model; the groups are those of the reliability diagram."
    return Panel("Confidence", how, [chart(x, y, bars, name="histogram of confidence", square=True)])


def _diagonal(x: Axis, y: Axis) -> svg.Path:
    ends = np.array([0.0, 1.0])
    return svg.line(x, y, ends, ends, "ideal")


# Beyond it the normal approximation is as good; SciPy's quantiles take the longer the more rows there are, up to days.
_MOST_EXACT = 1e6


def by_chance(n: Float | float, share: Float) -> tuple[Float, Float]:
    """Return the range of 95 % of the observed shares if the true share is ``share``."""
    n = np.maximum(np.round(n), 1.0)
    few, reach = np.minimum(n, _MOST_EXACT), 1.96 * np.sqrt(np.maximum(share * (1.0 - share), 0.0) / n)
    low, high = (on_demand("scipy.stats").binom.ppf(quantile, few, share) / few for quantile in (0.025, 0.975))
    is_exact = n <= _MOST_EXACT
    return np.where(is_exact, low, share - reach), np.where(is_exact, high, share + reach)


def _from_zero(high: float, title: str) -> Axis:
    return linear(0.0, 1.05 * high, title, most=5, from_zero=True)
