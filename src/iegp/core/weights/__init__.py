"""The weights of the experts: one file per rule, a table of them, and the meta-learner that runs them."""

from __future__ import annotations

from iegp.core.weights.learning import (
    diffuse,
    diffuse_over,
    is_dropped,
    transition_matrix,
    weigh_rows,
    weigh_spaced_rows,
)
from iegp.core.weights.logs import log_add_exp, log_sum_exp
from iegp.core.weights.protocol import Rule, WeightRule
from iegp.core.weights.table import RULES, TABLE, rule_named, scores_answers

BAYES, SWITCHING, STACKING = (RULES.index(name) for name in ("bayes", "switching", "stacking"))
"""Places of the rules in the table."""

__all__ = [
    "BAYES",
    "RULES",
    "STACKING",
    "SWITCHING",
    "TABLE",
    "Rule",
    "WeightRule",
    "diffuse",
    "diffuse_over",
    "is_dropped",
    "log_add_exp",
    "log_sum_exp",
    "rule_named",
    "scores_answers",
    "transition_matrix",
    "weigh_rows",
    "weigh_spaced_rows",
]
