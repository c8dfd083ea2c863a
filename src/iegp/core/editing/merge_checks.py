"""Whether models can be merged at all, and whether they stem from the same one; if not, what is in the way."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from iegp.core.features import Basis
from iegp.core.lags import Lags
from iegp.core.likelihoods import GAUSSIAN
from iegp.core.model import Online
from iegp.core.state import Layout
from iegp.core.weights import rule_named
from iegp.errors import InputError


def check_mergeable(model: Online, verb: str) -> None:
    """Refuse whatever depends on the order of rows, or on rows that are still kept. ``verb`` is for the message."""
    ensemble, settings = model.experts.ensemble, model.settings
    use = (
        f"To {verb}, use drift_var=0.0 (in terms of kernels, too), weights='bayes', shutdown=0.0, robust=False and "
        "noise_forgetting=None or 1.0"
    )
    if ensemble.likelihood != GAUSSIAN:
        raise InputError(
            f"cannot {verb} a model with the likelihood {settings.likelihood!r}: its beliefs are approximations that "
            "depend on the order of rows. Only regression with Gaussian noise is exact; learn the rows in one stream"
        )
    if model.extra_weight is not None:
        raise InputError(
            f"cannot {verb} a model that has learned rows with weights: how much each counted is not kept; learn all "
            "rows in order in one model"
        )
    if model.is_warming_up:
        raise InputError(
            f"cannot {verb}: the warm-up is not over ({len(model.kept_x)} of {settings.warmup} rows), and scaling and "
            "hyperparameters would still change. Call warm_up(X, y), or learn the remaining rows first"
        )
    if np.any(ensemble.drift > 0.0):
        raise InputError(
            f"cannot {verb} experts that drift ({settings.what_drifts}): what they believe depends on when "
            f"each row came. {use}, then go_live(drift_var=...)"
        )
    if not rule_named(settings.weights).ignores_order:
        raise InputError(
            f"cannot {verb} with weights={settings.weights!r}: those weights depend on the order of rows. "
            f"{use}, then go_live(weights={settings.weights!r})"
        )
    if ensemble.shutdown > 0.0:
        raise InputError(
            f"cannot {verb} with shutdown={ensemble.shutdown:g}: an expert may have stopped learning halfway. {use}"
        )
    if settings.delay:
        raise InputError(
            f"cannot {verb} with delay={settings.delay}: rows wait for their labels in the order in which they came. "
            "Use delay=0"
        )
    if settings.lags:
        raise InputError(
            f"cannot {verb} with lags={settings.lags}: the inputs of a row are labels of the rows before it, so that "
            "their order matters. Use lags=0"
        )
    if settings.drift_per == "time":
        raise InputError(
            f"cannot {verb} with drift_per='time': a model knows when its last row came, and two models have two such "
            "times. Use drift_per='row', which is the same for static experts"
        )
    if settings.conformal:
        raise InputError(
            f"cannot {verb} with conformal='online': how often labels were missed depends on the order of rows. "
            "Use conformal=None"
        )
    if settings.robust:
        raise InputError(
            f"cannot {verb} with robust=True: whether a row was learned depends on the rows before it. {use}"
        )
    if settings.spread:
        raise InputError(f"cannot {verb} with spread=True: it depends on the order of rows. Use spread=False")
    forgotten = [value for value in settings.noise_forgetting if value is not None and value != 1.0]
    if forgotten:
        raise InputError(
            f"cannot {verb} with noise_forgetting={forgotten[0]}: noise that is forgotten depends on when each row "
            f"came. {use}, then go_live(noise_forgetting=...)"
        )


def check_same_origin(first: Online, second: Online, since: Online | None) -> None:
    """Both models, and their ancestor if given, must be static and share everything but what they learned."""
    others = [("the other model", second)] + ([] if since is None else [("the ancestor", since)])
    check_mergeable(first, "merge")
    for name, other in others:
        check_mergeable(other, "merge")
        difference = difference_between(first, other)
        if difference:
            raise InputError(
                f"cannot merge: {name} differs in {difference}. Fork both from one model: warm it up, then give each a "
                "copy.deepcopy or a saved file of it"
            )
    if since is not None:
        for name, model in (("this model", first), ("the other model", second)):
            if model.n_seen < since.n_seen or model.n_warmup_learned != since.n_warmup_learned:
                raise InputError(
                    f"cannot merge: {name} has learned {model.n_seen} rows ({model.n_warmup_learned} in its warm-up), "
                    f"the ancestor {since.n_seen} ({since.n_warmup_learned}); pass as since= the model that both were "
                    "copied from"
                )
    elif first.n_warmup_learned and second.n_warmup_learned:
        raise InputError(
            f"cannot merge: both models learned {first.n_warmup_learned} warm-up rows, which would count twice. Pass "
            "since= a copy made right after the warm-up, or use learn_warmup=False"
        )


def difference_between(first: Online, second: Online) -> str:
    """In words, what two models do not share although they would if they had the same ancestor; empty if nothing."""
    for name, value in vars(first.settings).items():
        if name == "leaves_out_linear":
            continue  # Kernels, which are compared below, are those that the warm-up ended with.
        other = getattr(second.settings, name)
        if value != other:
            return f"{'random_state' if name == 'seed' else name}: {value!r:.60} here, {other!r:.60} there"
    if first.column_keys != second.column_keys or first.fills_gaps != second.fills_gaps:
        return "its columns"
    if first.experts.kernels != second.experts.kernels:
        return "the length scales that its warm-up found"
    scaling = _unequal(first.scaling._asdict().items(), second.scaling)
    if scaling:
        return f"the scaling that its warm-up found ({scaling})"
    ensemble = _unequal(first.experts.ensemble._asdict().items(), second.experts.ensemble)
    return f"what its warm-up found ({ensemble})" if ensemble else ""


def _unequal(items: Iterable[tuple[str, object]], other: object) -> str:
    """Name of the first array that is not the same to the bit."""
    for name, value in items:
        if isinstance(value, Layout):
            continue  # follows from the settings
        if isinstance(value, Basis | Lags):
            if _unequal(value._asdict().items(), getattr(other, name)):
                return name
            continue
        if not np.array_equal(np.asarray(value), np.asarray(getattr(other, name)), equal_nan=True):
            return name
    return ""
