"""How a claim is judged: by a rule written beside it, from the measured scores of every seed alone.

A claim is judged once for each method of ``ours``, because the paper writes "(D)IE-GP" for two of them. On each of its
data sets the method is compared with every one of ``others``, seed by seed, and the median of the differences (or
ratios) has a 95 % interval. If the whole interval is on the claim's side the claim is *confirmed* there, if the whole
of it is on the other side *not confirmed*, else *too close to call*. The claim as a whole is refuted by one comparison
that is not confirmed, and confirmed only if all are. Of fewer than six pairs the range stands for the interval; one
pair decides nothing. A competitor without a score, or with runs that failed, leaves a claim unproven: *not measured*.

==========  ============================================================================================
``lowest``  the difference of ``metric`` to each of ``others`` is below zero; with ``slack``, below
            (slack - 1) times the other's value
``ratio``   ``metric`` over that of the best of ``others`` by ``by`` (without it, of each) is at most
            ``limit``
``near``    the difference of ``metric`` to each of ``others`` is between -``limit`` and ``limit``
``below``   the median of ``metric`` is at most ``limit``
``always``  ``metric`` of every run is at most ``limit``
``growth``  the mean over seeds of the curve ``metric`` grew at most ``limit`` times as fast as log T
            over its last three doublings of T
``falls``   the last value of the mean over seeds of the curve ``metric`` is at most ``limit`` times
            its largest
==========  ============================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from iegp.errors import InputError
from iegp_paper.bootstrap import Interval, interval, median_interval
from iegp_paper.cell import Cell
from iegp_paper.growth import growth, left

ALONE = ("below", "always", "growth", "falls")
KINDS = ("lowest", "ratio", "near", *ALONE)
Word = Literal["confirmed", "not confirmed", "too close to call", "not measured"]
# Of several findings the first that occurs in this list is that of all.
ORDER: tuple[Word, ...] = ("not confirmed", "too close to call", "not measured", "confirmed")
Measured = Mapping[tuple[str, str], Cell]
# In words of a finding, where fewer than six seeds give no interval.
RANGE = "range of "


@dataclass(frozen=True)
class Rule:
    """Rule of one claim, as the module's docstring defines it."""

    kind: str
    metric: str
    data: tuple[str, ...]
    ours: tuple[str, ...]
    others: tuple[str, ...] = ()
    by: str = ""
    limit: float = 0.0
    slack: float = 1.0

    def in_words(self) -> str:
        """Return the rule as words that follow a method's name, without its data sets."""
        others = _listed(self.others)
        if self.kind == "lowest":
            times = "" if self.slack == 1.0 else f"{self.slack:g} times "
            return f"{self.metric} below {times}that of {others}"
        if self.kind == "ratio":
            rival = f"the one of {others} with the lowest {self.by}" if self.by else others
            return f"{self.metric} at most {self.limit:g} times that of {rival}"
        return {
            "near": f"{self.metric} at most {self.limit:g} from that of {others}",
            "below": f"{self.metric} at most {self.limit:g}",
            "always": f"{self.metric} at most {self.limit:g} in every run",
            "growth": f"mean of {self.metric} grows at most {self.limit:g} times as fast as log T",
            "falls": f"mean of {self.metric} ends at most at {self.limit:g} of its largest",
        }[self.kind]


@dataclass(frozen=True)
class Finding:
    """Result of a rule for a method on one data set."""

    data: str
    word: Word
    words: str

    @property
    def rests_on_few(self) -> bool:
        """Say whether a range of fewer than six seeds stands for the interval that decided."""
        return self.word in ("confirmed", "not confirmed") and RANGE in self.words


@dataclass(frozen=True)
class Verdict:
    """Result of a rule for a method on all its data sets."""

    word: Word
    findings: tuple[Finding, ...]


def rule_from(table: Mapping[str, Any]) -> Rule:
    """Make a rule from its TOML table."""
    kind = table.get("kind")
    if kind not in KINDS:
        raise InputError(f"rule {kind!r} is not known; use one of {', '.join(KINDS)}")
    lists = {key: tuple(table[key]) for key in ("data", "ours", "others") if key in table}
    rule = Rule(**dict(table) | lists)
    if not rule.data or not rule.ours or (kind not in ALONE and not rule.others):
        raise InputError(f"rule {dict(table)!r} must name data, ours" + ("" if kind in ALONE else " and others"))
    return rule


def judge(rule: Rule, method: str, cells: Measured) -> Verdict:
    """Apply a rule to one of its methods."""
    findings = tuple(_finding(rule, method, data, cells) for data in rule.data)
    return Verdict(_worst(own.word for own in findings), findings)


def _finding(rule: Rule, method: str, data: str, cells: Measured) -> Finding:
    own = cells.get((data, method), Cell())
    if rule.kind in ("growth", "falls"):
        return _curve(rule, method, data, own)
    if rule.metric not in own.values:
        return Finding(data, "not measured", f"no {rule.metric} of {method}")
    if rule.kind in ALONE:
        return _alone(rule, method, data, own)
    rivals = [name for name in rule.others if _has(cells.get((data, name)), rule.metric, rule.by)]
    absent = [name for name in rule.others if name not in rivals]
    if rule.by and absent:
        return Finding(
            data, "not measured", f"no {rule.metric} of {_listed(absent)}, which may be the best by {rule.by}"
        )
    if rule.by:
        rivals = [min(rivals, key=lambda name: cells[data, name].scores[rule.by])]
    found = [_compared(rule, method, name, own, cells[data, name]) for name in rivals]
    failed = [name for name in (method, *rivals) if cells[data, name].n_failed]
    unknown: list[Word] = ["not measured"] if absent or failed else []
    # The rival that decides: of those with the worst verdict the one that is furthest ahead.
    worst = [entry for entry in found if entry[0] == _worst(one for one, _, _ in found)]
    remarks = [max(worst, key=lambda entry: entry[1])[2]] if worst else []
    remarks += [f"no {rule.metric} of {_listed(absent)}"] if absent else []
    remarks += [f"{name}: {cells[data, name].n_done} of {cells[data, name].n_runs} runs" for name in failed]
    return Finding(data, _worst([*(one for one, _, _ in found), *unknown]), "; ".join(remarks))


def _compared(rule: Rule, method: str, rival: str, own: Cell, other: Cell) -> tuple[Word, float, str]:
    """Compare with one method: the verdict, how far it is ahead, and words."""
    ours, theirs = own.values[rule.metric], other.values[rule.metric]
    seeds = sorted(set(ours) & set(theirs))
    if not seeds:
        return "not measured", 0.0, f"no seed that {method} and {rival} have in common"
    a, b = (np.array([values[seed] for seed in seeds]) for values in (ours, theirs))
    both = f"{method} {own.scores[rule.metric]:.3g}, {rival} {other.scores[rule.metric]:.3g}"
    with np.errstate(invalid="ignore", divide="ignore"):
        # Two runs that diverged are a draw.
        apart = np.nan_to_num(a - b, nan=0.0, posinf=math.inf, neginf=-math.inf)
        ratio = np.nan_to_num(a / b, nan=1.0, posinf=math.inf)
    if rule.kind == "ratio":
        found = median_interval(ratio)
        return _side(found, rule.limit), found.centre, f"{both}: ratio {_in_words(found)}"
    found = median_interval(apart)
    words = f"{both}: difference {_in_words(found)}"
    if rule.kind == "near":
        return _inside(found, rule.limit), abs(found.centre), words
    # Scores may be negative: "1.05 times as large" is then nearer to zero, so slack works on the difference.
    if rule.slack == 1.0:
        return _side(found, 0.0, strict=True), found.centre, words
    margin = median_interval(apart - (rule.slack - 1.0) * np.abs(b))
    words += f", to {rule.slack:g} times it {_in_words(margin)}"
    return _side(margin, 0.0, strict=True), margin.centre, words


def _alone(rule: Rule, method: str, data: str, own: Cell) -> Finding:
    values = own.values[rule.metric].values()
    if rule.kind == "always":
        largest = max(values)
        word: Word = "confirmed" if largest <= rule.limit else "not confirmed"
        return Finding(data, word, f"{method}: largest of {len(values)} runs {largest:.3g}")
    found = median_interval(values)
    return Finding(data, _side(found, rule.limit), f"{method} {_in_words(found, 'runs')}")


def _curve(rule: Rule, method: str, data: str, own: Cell) -> Finding:
    curves = [(run["size"], run[rule.metric]) for run in own.runs if rule.metric in run]
    if not curves or len(curves[0][1]) < 4:
        return Finding(data, "not measured", f"no curve {rule.metric} of {method} over four lengths or more")
    rows = np.array([values for _, values in curves], dtype=np.float64)
    # The comparator of an RKHS is measured on the shorter data sets alone.
    sizes = curves[0][0][: rows.shape[1]]
    of_mean = {"growth": lambda mean: growth(sizes, mean), "falls": left}[rule.kind]
    found = interval(rows, lambda stack: of_mean(stack.mean(axis=-2)))
    # The last four lengths are those that growth is judged by.
    ends = ", ".join(f"{value:.3g}" for value in rows.mean(axis=0)[-4:])
    lengths = ", ".join(f"{size:g}" for size in sizes[-4:])
    words = f"{method} {_in_words(found, 'seeds')}; means {ends} at T = {lengths}"
    return Finding(data, _side(found, rule.limit), words)


def _side(found: Interval, limit: float, strict: bool = False) -> Word:
    """Say on which side of the limit the interval lies; ``strict`` counts the limit itself as neither."""
    if found.n == 1:
        return "too close to call"
    if found.high < limit or (found.high == limit and not strict):
        return "confirmed"
    return "not confirmed" if found.low > limit else "too close to call"


def _inside(found: Interval, limit: float) -> Word:
    if found.n == 1:
        return "too close to call"
    if -limit <= found.low and found.high <= limit:
        return "confirmed"
    return "not confirmed" if found.low > limit or found.high < -limit else "too close to call"


def _in_words(found: Interval, what: str = "pairs") -> str:
    if found.n == 1:
        return f"{found.centre:.3g} (one seed, no interval)"
    kind = RANGE if found.is_range else ""
    return f"{found.centre:.3g} [{found.low:.3g}, {found.high:.3g}] ({kind}{found.n} {what})"


def _has(cell: Cell | None, *scores: str) -> bool:
    """Say whether a competitor has these scores; one that diverged proves nothing."""
    return cell is not None and all(math.isfinite(cell.scores.get(score, math.nan)) for score in scores if score)


def _worst(words: Iterable[Word]) -> Word:
    found = set(words)
    return next((word for word in ORDER if word in found), "not measured")


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"
