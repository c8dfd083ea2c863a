"""The table of weight rules.

To add a rule, write its file with a :class:`Rule` and put it into :data:`TABLE`: what happens to the weights between
two rows, what a row does to them, and what else the package has to know. A rule with a number of its own adds it to
:class:`WeightRule` and to the settings.

Compiled code finds a rule by its place in the table. The chain of comparisons that this takes is made from the table.
"""

from __future__ import annotations

from typing import Any

from iegp._compile import specialised
from iegp.core.weights.bayes import BAYES
from iegp.core.weights.exponentiated_gradient import EXPONENTIATED_GRADIENT
from iegp.core.weights.protocol import Rule, WeightRule
from iegp.core.weights.stacking import STACKING
from iegp.core.weights.switching import SWITCHING
from iegp.errors import InputError
from iegp.typing import Float

TABLE: tuple[Rule, ...] = (BAYES, SWITCHING, STACKING, EXPONENTIATED_GRADIENT)
RULES = tuple(rule.name for rule in TABLE)


def rule_named(name: str) -> Rule:
    """The rule of this name."""
    if name not in RULES:
        raise InputError(f"weights={name!r} is not known; use one of {', '.join(map(repr, RULES))}")
    return TABLE[RULES.index(name)]


# What the templates below call; every link of a chain has its own.
own: Any = None
others: Any = None
place: int = -1


def _learn(rule: WeightRule, ahead: Float, log_scores: Float, total: float, log_weights: Float) -> None:
    if rule.rule == place:
        own(rule, ahead, log_scores, total, log_weights)
    else:
        others(rule, ahead, log_scores, total, log_weights)


def _between(rule: WeightRule, log_weights: Float, ahead: Float) -> None:
    if rule.rule == place:
        own(rule, log_weights, ahead)
    else:
        others(rule, log_weights, ahead)


def _chain(template: Any, functions: list[Any]) -> Any:
    """A compiled function that calls one of these, by the place of the rule."""
    chain = functions[0]
    for number, function in list(enumerate(functions))[1:]:
        chain = specialised(template, RULES[number], own=function, others=chain, place=number)
    return chain


learn_row = _chain(_learn, [rule.learn for rule in TABLE])
step_between = _chain(_between, [rule.between for rule in TABLE])
drops = tuple(rule.drops_experts for rule in TABLE)
scores_answers = tuple(rule.scores_answers for rule in TABLE)
