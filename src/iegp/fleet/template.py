"""Template of fleets and large ensembles: an estimator past its warm-up."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from iegp.core.likelihoods import GAUSSIAN
from iegp.core.model import Online
from iegp.core.state import State
from iegp.errors import InputError


class Template(Protocol):
    """What is needed of an estimator: its model of the core, and whether y is one-dimensional."""

    model_: Online
    single_output_: bool


class TemplateParts(NamedTuple):
    """The parts of a template that are used; the model is still that of the estimator."""

    model: Online
    single_output: bool
    feature_names: tuple[str, ...] | None


def take(template: Template, what: str, instead: str, is_plain: bool = True) -> TemplateParts:
    """Check that ``what`` can be made from this; ``instead`` says what to do where it cannot.

    ``is_plain`` refuses what only some engines have: a delay, and intervals that keep their level.
    """
    if not hasattr(template, "model_"):
        name = type(template).__name__
        raise InputError(f"template, of class {name}, has learned nothing; warm it up first with warm_up(X, y)")
    model = template.model_
    if model.experts.ensemble.likelihood != GAUSSIAN or not hasattr(template, "single_output_"):
        raise InputError(
            f"{what} of {type(template).__name__} is not possible; only IEGPRegressor can be a template, {instead}"
        )
    if model.settings.conformal and is_plain:
        raise InputError(
            f"{what} of a model with conformal='online' is not possible: it does not track how often labels are "
            "missed; use conformal=None, an iegp.Fleet, or one estimator per key"
        )
    if model.settings.delay and is_plain:
        raise InputError(
            f"{what} of a model with delay={model.settings.delay} is not possible: its rows do not wait for their "
            "labels; use delay=0, an iegp.Fleet, or one estimator per key"
        )
    if model.settings.drift_per == "time":
        raise InputError(
            f"{what} of a model with drift_per='time' is not possible: its rows have no times, one is a step after "
            "another; use drift_per='row', or one estimator per key"
        )
    if model.is_warming_up:
        raise InputError(
            f"the template's warm-up is not over ({len(model.kept_x)} of {model.settings.warmup} rows), so scaling "
            "and hyperparameters are not settled; call warm_up(X, y), or let it learn the remaining rows"
        )
    names = getattr(template, "feature_names_in_", None)
    return TemplateParts(model, template.single_output_, None if names is None else tuple(map(str, names)))


class UnfittedCopy:
    """An estimator without what it has learned: its parameters, and the names and shapes it knows."""

    def __init__(self, template: Template) -> None:
        self._estimator: Any = copy(template)
        del self._estimator.model_

    def with_state(self, model: Online, state: State) -> Any:
        """An estimator of the template's class that has learned this."""
        estimator = copy(self._estimator)
        estimator.model_ = replace(model, state=state)
        return estimator
