"""How a claim is judged: by a rule written beside it, from the measured scores alone.

A rule looks at each of its data sets in turn. All of them as claimed: confirmed; none: not confirmed; some: partly. A
data set without a score of IE-GP, or of any competitor, is not judged. A method without one (out of time, diverged, or
a package is missing) is left out and named, a method with missing runs is named too, and the claim is then confirmed in
part at best.

==========  ============================================================================================
``lowest``  the best of ``ours`` is at most ``slack`` times the best of ``others`` in ``metric``
``every``   the worst of ``ours`` is at most ``slack`` times the best of ``others`` in ``metric``
``ratio``   ``metric`` of the best of ``ours`` by ``by``, over that of the best of ``others`` by ``by``,
            is at most ``limit``
``near``    the best of ``ours`` and the best of ``others`` differ by at most ``limit`` in ``metric``
``below``   the best of ``ours`` is at most ``limit`` in ``metric``
==========  ============================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from iegp.errors import InputError

KINDS = ("lowest", "every", "ratio", "near", "below")
Word = Literal["confirmed", "partly", "not confirmed", "not measured"]
Scores = Mapping[tuple[str, str], Mapping[str, float]]
"""Of (data set, method): its median scores by name. Absent where nothing was measured."""
Shortfall = Mapping[tuple[str, str], str]
"""Of (data set, method): how many runs there are of how many, where some are missing."""


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
        """Return the rule as a sentence without its data sets."""
        ours, others = _listed(self.ours), _listed(self.others)
        # These three look at the best of each side alone.
        best = "the best of " if len(self.ours) > 1 else ""
        rival = "the best of " if len(self.others) > 1 else ""
        if self.kind == "below":
            return f"{self.metric} of {best}{ours} at most {self.limit:g}"
        if self.kind == "near":
            return f"{self.metric} of {best}{ours} and of {rival}{others} at most {self.limit:g} apart"
        if self.kind == "ratio":
            by = f", best by {self.by}" if self.by else ""
            return f"{self.metric} of {best}{ours} at most {self.limit:g} times that of {rival}{others}{by}"
        which = "the best" if self.kind == "lowest" else "every one"
        times = "" if self.slack == 1.0 else f"{self.slack:g} times "
        return f"{self.metric} of {which} of {ours} at most {times}that of {others}"


@dataclass(frozen=True)
class Finding:
    """Result of a rule on one data set. ``holds`` is None where it could not be judged."""

    data: str
    holds: bool | None
    words: str
    is_complete: bool = True
    """Whether all methods that the rule names were there, with all their runs."""


@dataclass(frozen=True)
class Verdict:
    """Result of a rule on all its data sets."""

    word: Word
    findings: tuple[Finding, ...]


def rule_from(table: Mapping[str, Any]) -> Rule:
    """Make a rule from its TOML table."""
    kind = table.get("kind")
    if kind not in KINDS:
        raise InputError(f"rule {kind!r} is not known; use one of {', '.join(KINDS)}")
    lists = {key: tuple(table[key]) for key in ("data", "ours", "others") if key in table}
    rule = Rule(**dict(table) | lists)
    if not rule.data or not rule.ours or (kind != "below" and not rule.others):
        raise InputError(f"rule {dict(table)!r} must name data, ours" + ("" if kind == "below" else " and others"))
    return rule


def judge(rule: Rule, scores: Scores, shortfall: Shortfall | None = None) -> Verdict:
    """Apply a rule to median scores."""
    findings = tuple(_finding(rule, data, scores, shortfall or {}) for data in rule.data)
    judged = [finding.holds for finding in findings if finding.holds is not None]
    word: Word
    if not judged:
        word = "not measured"
    elif all(judged):
        word = "confirmed" if all(own.holds is not None and own.is_complete for own in findings) else "partly"
    else:
        word = "partly" if any(judged) else "not confirmed"
    return Verdict(word, findings)


def _finding(rule: Rule, data: str, scores: Scores, shortfall: Shortfall) -> Finding:
    needed = (rule.metric,) if not rule.by else (rule.metric, rule.by)
    ours = _measured(data, rule.ours, scores, needed)
    others = _measured(data, rule.others, scores, needed)
    if not ours or (rule.others and not others):
        absent = rule.ours if not ours else rule.others
        return Finding(data, None, f"no {' and '.join(needed)} of {_listed(absent)}")
    named = (*rule.ours, *rule.others)
    left_out = [name for name in named if name not in ours and name not in others]
    short = [f"{name}: {shortfall[data, name]}" for name in named if (data, name) in shortfall and name not in left_out]
    remarks = ([f"without {_listed(left_out)}"] if left_out else []) + short
    holds, words = _compared(rule, ours, others)
    return Finding(data, holds, words + (f" ({'; '.join(remarks)})" if remarks else ""), not remarks)


def _compared(
    rule: Rule, ours: dict[str, Mapping[str, float]], others: dict[str, Mapping[str, float]]
) -> tuple[bool, str]:
    key = rule.by or rule.metric
    own = min(ours, key=lambda name: ours[name][key])
    if rule.kind == "every":
        own = max(ours, key=lambda name: ours[name][key])
    value = ours[own][rule.metric]
    if rule.kind == "below":
        return value <= rule.limit, f"{own} {value:.3g}"
    rival = min(others, key=lambda name: others[name][key])
    other = others[rival][rule.metric]
    both = f"{own} {value:.3g}, {rival} {other:.3g}"
    if rule.kind == "near":
        return abs(value - other) <= rule.limit, f"{both}: {abs(value - other):.3g} apart"
    if rule.kind == "ratio":
        return value <= rule.limit * other, f"{both}: ratio {value / other if other else float('inf'):.3g}"
    # Scores may be negative: "1.05 times as large" is then nearer to zero, so slack works on the difference.
    return value - other <= (rule.slack - 1.0) * abs(other), both


def _measured(data: str, names: Sequence[str], scores: Scores, needed: Sequence[str]) -> dict[str, Mapping[str, float]]:
    found = {name: scores[data, name] for name in names if (data, name) in scores}
    return {name: own for name, own in found.items() if all(_is_number(own.get(key)) for key in needed)}


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"
