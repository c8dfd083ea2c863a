"""Summary cards at the top of a report."""

from __future__ import annotations

import math
from collections.abc import Sequence

from iegp.report.about import ExpertRow
from iegp.report.panel_weights import groups_of
from iegp.report.text import NOTHING, named, number, percent, rows, whole
from iegp.stream.digest import KeyScores, Results

# Fewer rows do not show which forecast is better.
FEWEST_ROWS = 20


def cards(results: Results, experts: Sequence[ExpertRow], keys: KeyScores | None = None) -> str:
    """Render the cards: rows, error, log score, coverage, and the best expert or the number of keys."""
    # With one model per key there is no single best expert.
    last = (
        _expert(results, experts)
        if keys is None
        else _card("Keys", whole(len(keys)), "those with the most rows and the largest errors are below")
    )
    made = [_rows(results), _loss(results), _log_score(results), _coverage(results), last]
    return f'<div class="cards">{"".join(card for card in made if card)}</div>'


def _card(heading: str, value: str, beside: str, verdict: str = "") -> str:
    """Render one card; all arguments are HTML, ``verdict`` says how the value compares."""
    return f'<div class="card"><h3>{heading}</h3><p class="value">{value}</p>{verdict}<p>{beside}</p></div>'


def _verdict(results: Results, better: bool) -> str:
    """Say in words, not by colour alone, which forecast is better; nothing for a few rows, where it would be chance."""
    if results.n_scored < FEWEST_ROWS:
        return ""
    style, text = ("good", "better than naive") if better else ("bad", "not better than naive")
    return f'<p class="{style}">{text}</p>'


def _rows(results: Results) -> str:
    missing = results.n_rows - results.n_labelled
    beside = f"{whole(results.n_scored)} scored" + (f", {whole(missing)} without a label" if missing > 0 else "")
    return _card("Rows", whole(results.n_rows), beside)


def _loss(results: Results) -> str:
    heading = "nMSE" if results.is_number else "Error"
    score, shown = results.loss, number if results.is_number else percent
    if not math.isfinite(score.model):
        return _card(heading, NOTHING, "all labels are equal" if results.n_scored > 1 else "nothing scored yet")
    better = score.model < min(score.naive, score.last)
    names = ("mean so far", "label before") if results.is_number else ("most frequent", "label before")
    prefix = "key's " if results.by_key else ""
    beside = f"{prefix}{names[0]} {shown(score.naive)}<br>{prefix}{names[1]} {shown(score.last)}"
    return _card(heading, shown(score.model), beside, _verdict(results, better))


def _log_score(results: Results) -> str:
    score = results.log_score
    if math.isnan(score.model):
        return _card("Mean log score", NOTHING, "nothing to compare with yet")
    better = score.model > score.naive
    naive = "mean and variance so far" if results.is_number else "class frequencies"
    naive = f"key's {naive}" if results.by_key else naive
    return _card("Mean log score", number(score.model), f"{naive} {number(score.naive)}", _verdict(results, better))


def _coverage(results: Results) -> str:
    if not results.is_number:
        return _confidence(results)
    heading = f"Inside the {100 * results.level:g} % interval"
    if math.isnan(results.coverage):
        return _card(heading, NOTHING, "nothing scored yet")
    return _card(
        heading, percent(results.coverage), f"of {rows(results.n_scored)}; {100 * results.level:g} % is calibrated"
    )


def _confidence(results: Results) -> str:
    n, confidence, _ = results.reliability.T
    if n.sum() == 0:
        return _card("Mean confidence", NOTHING, "nothing scored yet")
    sure = float((n * [c if math.isfinite(c) else 0.0 for c in confidence]).sum() / n.sum())
    return _card("Mean confidence", percent(sure), f"right in {percent(1 - results.loss.model)}; equal is calibrated")


def _expert(results: Results, experts: Sequence[ExpertRow]) -> str:
    if not results.weights.values.size:
        return ""
    top = max(groups_of(results, experts), key=lambda group: float(group.weight[-1]))
    beside = f"{percent(float(top.weight[-1]), 0)} of the weight at the end"
    return _card("Largest weight", f'<span class="words">{named(top.name, 48)}</span>', beside)
