"""Summary cards at the top of a report."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from iegp.report.text import NOTHING, number, percent, rows, whole
from iegp.report.verdict import FEWEST_ROWS
from iegp.stream.digest import Results, Score


class Card(NamedTuple):
    """A number with its name, ``lines`` beside it and, in ``verdict``, a style and words on how it compares."""

    heading: str
    value: str
    lines: list[str]
    unit: str = ""
    verdict: tuple[str, str] | None = None


def cards(results: Results, unit: str = "", n_keys: int | None = None) -> list[Card]:
    """Make the cards: rows, errors, log score, coverage, and the number of keys."""
    made = [_rows(results), *(_errors(results, unit) if results.is_number else [_wrong(results)]), _log_score(results)]
    last = _coverage(results) if results.is_number else _confidence(results)
    made += [] if last is None else [last]
    return made if n_keys is None else [*made, Card("Keys", whole(n_keys), ["each has a model of its own"])]


def _rows(results: Results) -> Card:
    missing = results.n_rows - results.n_labelled
    beside = [f"{whole(results.n_scored)} scored", *([f"{whole(missing)} without a label"] if missing > 0 else [])]
    return Card("Rows", whole(results.n_rows), [", ".join(beside)])


def _errors(results: Results, unit: str) -> list[Card]:
    return [
        _score(results, "Mean absolute error (MAE)", results.mae, number, unit),
        _score(results, "Root mean squared error (RMSE)", results.rmse, number, unit),
        _score(results, "nMSE", results.loss, number),
    ]


def _wrong(results: Results) -> Card:
    return _score(results, "Error", results.loss, percent)


def _score(results: Results, heading: str, score: Score, shown: Callable[[float], str], unit: str = "") -> Card:
    """A loss beside those of the naive forecasts."""
    if not math.isfinite(score.model):
        return Card(heading, NOTHING, ["all labels are equal" if results.n_scored > 1 else "nothing scored yet"])
    names = ("mean so far" if results.is_number else "most frequent", "label before")
    prefix = "key's " if results.by_key else ""
    lines = [f"{prefix}{name} {shown(value)}" for name, value in zip(names, score[1:], strict=True)]
    return Card(heading, shown(score.model), lines, unit, _verdict(results, score.model < min(score[1:])))


def _verdict(results: Results, better: bool) -> tuple[str, str] | None:
    """Say in words, not by colour alone, which forecast is better; nothing for a few rows, where it would be chance."""
    if results.n_scored < FEWEST_ROWS:
        return None
    return ("good", "better than naive") if better else ("bad", "not better than naive")


def _log_score(results: Results) -> Card:
    score = results.log_score
    if math.isnan(score.model):
        return Card("Mean log score", NOTHING, ["nothing to compare with yet"])
    naive = "mean and variance so far" if results.is_number else "class frequencies"
    naive = f"key's {naive}" if results.by_key else naive
    lines = [f"{naive} {number(score.naive)}"]
    return Card("Mean log score", number(score.model), lines, verdict=_verdict(results, score.model > score.naive))


def _coverage(results: Results) -> Card | None:
    """Nothing where the predictions have no intervals."""
    level = f"{100 * results.level:g} %"
    heading = f"Inside the {level} interval"
    if results.n_scored == 0:
        return Card(heading, NOTHING, ["nothing scored yet"])
    if math.isnan(results.coverage):
        return None
    return Card(heading, percent(results.coverage), [f"of {rows(results.n_scored)}; {level} is calibrated"])


def _confidence(results: Results) -> Card:
    n, confidence, _ = results.reliability.T
    if n.sum() == 0:
        return Card("Mean confidence", NOTHING, ["nothing scored yet"])
    sure = float((n * [c if math.isfinite(c) else 0.0 for c in confidence]).sum() / n.sum())
    lines = [f"right in {percent(1 - results.loss.model)}; equal is calibrated"]
    return Card("Mean confidence", percent(sure), lines)
