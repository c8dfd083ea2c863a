"""A model in the middle of a stream as plain data, and back: what a model file holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from iegp.core.batch_view import BatchView
from iegp.core.changes import Changes, no_blocks
from iegp.core.clock import Clock
from iegp.core.compute.tolerances import LARGEST_WEIGHT, MOST_CHANGES
from iegp.core.conformal import Conformal
from iegp.core.delay import Waiting
from iegp.core.expected_lags import beliefs_without_lags
from iegp.core.features import Basis, affine, waves
from iegp.core.fitting.experts import Experts, numbers_of_ensemble
from iegp.core.kernels import Stationary, kernel_from_config
from iegp.core.lags import NO_LAGS
from iegp.core.likelihoods import GAUSSIAN, LIKELIHOODS
from iegp.core.model import Online, check_label_range, followed
from iegp.core.scaling import Scaling
from iegp.core.settings import Settings
from iegp.core.state import Ensemble, State
from iegp.errors import IegpError, ModelFileError, UnregisteredLikelihoodError
from iegp.storage import ensemble_schema
from iegp.storage.ensemble_schema import Header, Sizes
from iegp.storage.schema import Field, Rule, check_arrays, count, flag, part_of
from iegp.typing import Arrays, Float

# The rest of an ensemble follows from the settings.
_FROM_SETTINGS = (
    *("basis", "layout", "rule", "rate", "shutdown", "likelihood", "integration", "glitch", "lags"),
    *("switch_prob", "learns_spread"),
)
BATCH_ARRAYS = ("noise_shape", "noise_scale", "log_weights")
_ENSEMBLE_ARRAYS = tuple(name for name in Ensemble._fields if name not in _FROM_SETTINGS)


def take(model: Online) -> tuple[dict[str, Any], Arrays]:
    """Configuration (ready for JSON) and arrays."""
    ensemble = model.experts.ensemble
    config = {
        "settings": model.settings.to_config(),
        "kernels": [kernel.to_config() for kernel in model.experts.kernels],
        "is_warming_up": model.is_warming_up,
        "n_warmup_learned": model.n_warmup_learned,
    }
    if model.extra_weight is not None:
        config["extra_weight"] = model.extra_weight
    if model.n_passed:
        config["n_passed"] = model.n_passed
    if model.rows_bring_lags:
        config["rows_bring_lags"] = True
    if model.fills_gaps or model.column_keys != tuple(range(model.n_columns)):
        config |= {"column_keys": list(model.column_keys), "fills_gaps": model.fills_gaps}
    arrays: Arrays = {f"scaling.{name}": array for name, array in model.scaling._asdict().items()}
    arrays |= {f"ensemble.basis.{name}": array for name, array in ensemble.basis._asdict().items()}
    if not ensemble.basis.curves[:, 1].any():
        # As in files of versions that knew affine features alone, which can load this one.
        del arrays["ensemble.basis.curves"]
    arrays |= {f"ensemble.{name}": getattr(ensemble, name) for name in _ENSEMBLE_ARRAYS}
    if len(ensemble.lags.offsets):
        arrays |= {"ensemble.lags.offsets": ensemble.lags.offsets, "ensemble.lags.table": ensemble.lags.table}
    arrays |= {f"state.{name}": array for name, array in model.state._asdict().items()}
    if model.waiting is not None:
        arrays |= {f"waiting.{name}": array for name, array in model.waiting.stored().items()}
    if model.clock is not None:
        first, last, unit, held = model.clock
        arrays |= {"clock.times": np.array([first, last, unit]), "clock.held": held}
    conformal, changes = followed(model)
    if conformal is not None:
        arrays |= {"conformal.track": conformal.track, "conformal.waiting": conformal.waiting}
    if changes is not None:
        arrays |= {f"changes.{name}": array for name, array in changes._asdict().items()}
    if model.batch is not None:
        config["batch_steps"] = model.batch.n_steps
        arrays |= {f"batch.{name}": getattr(model.batch, name) for name in BATCH_ARRAYS}
        if model.batch.lag_weights.any():
            arrays["batch.lag_weights"] = model.batch.lag_weights
    if model.kept_weights is not None:
        arrays["kept.weights"] = model.kept_weights
    if model.kept_known is not None:
        arrays["kept.known"] = model.kept_known
    if model.warmup_labels is not None:
        arrays["warmup.labels"] = model.warmup_labels
    return config, arrays | {"kept.x": model.kept_x, "kept.y": model.kept_y}


def restore(config: dict[str, Any], arrays: Arrays) -> Online:
    """The model that :func:`take` took, to the bit; a :class:`ModelFileError` where the parts do not fit together."""
    _require_likelihood(config)
    try:
        settings = Settings.from_config(config["settings"])
        if "likelihood" not in config["settings"]:
            arrays = _with_later_arrays(arrays)
        arrays = {"state.recent": NO_LAGS.table} | _with_basis(settings, _one_after_another(arrays))
        slopes = arrays["ensemble.basis.slopes"]
        arrays = {"ensemble.basis.curves": affine(np.zeros(len(slopes), dtype=np.int64), slopes, 0).curves} | arrays
        keys = config.get("column_keys", range(len(arrays["scaling.x_mean"])))
        kernels = tuple(kernel_from_config(kernel) for kernel in config["kernels"])
        if len(kernels) != len(settings.kernels):
            raise ValueError("the numbers of kernels differ")
        header = Header(settings, kernels, tuple(keys))
        n_passed = count("n_passed", config.get("n_passed", 0))
        sizes = ensemble_schema.check(header, arrays, n_passed, _extra_weight(config))
        model = _model(header, sizes, config, arrays)
        _check_header(model)
        _check_warmup(model)
        n_lags = sizes.lags.n_columns if model.rows_bring_lags else 0
        kept = ensemble_schema.kept_schema(settings, sizes, len(model.kept_x), model.fills_gaps, n_lags)
        if model.kept_weights is not None:
            kept["kept.weights"] = Field((len(model.kept_x),), 0.0, LARGEST_WEIGHT)
        if model.kept_known is not None:
            kept["kept.known"] = Field((len(model.kept_x),), 0, np.arange(len(model.kept_x)), np.int64)
        if model.warmup_labels is not None:
            _check_warmup_labels(model)
            kept["warmup.labels"] = kept["kept.y"]._replace(shape=model.warmup_labels.shape)
        check_arrays(kept, arrays)
        check_label_range(model, model.kept_y)
        if settings.delay:
            model.waiting = _waiting(model, sizes, arrays)
            check_label_range(model, model.waiting.y)
        if settings.drift_per == "time":
            model.clock = _clock(model, arrays)
        if settings.conformal:
            model.conformal = _conformal(model, arrays)
        if settings.likelihood == "gaussian" and "changes.sums" in arrays:
            model.changes = _changes(model, arrays)
        if "batch_steps" in config:
            model.batch = _batch(model, config["batch_steps"], arrays)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, IegpError) as error:
        raise ModelFileError(f"its parts do not fit together: {error}") from error
    return model


def _extra_weight(config: dict[str, Any]) -> float | None:
    value = config.get("extra_weight")
    if value is not None and not (isinstance(value, float) and 0.0 <= value < math.inf):
        raise ValueError(f"extra_weight is {value!r:.50}, not a number from 0 up")
    return value


def _require_likelihood(config: dict[str, Any]) -> None:
    """A file holds the name of a likelihood, never its code."""
    settings = config.get("settings")
    name = settings.get("likelihood", "gaussian") if isinstance(settings, dict) else "gaussian"
    if isinstance(name, str) and name not in ("gaussian", *LIKELIHOODS):
        raise UnregisteredLikelihoodError(
            f"it has the likelihood {name!r}, which is not one of this package. If it is one of your own, register it "
            "first with iegp.likelihoods.register(...), then load again"
        )


def _model(header: Header, sizes: Sizes, config: dict[str, Any], arrays: Arrays) -> Online:
    settings = header.settings
    ensemble = Ensemble(
        basis=Basis(*(arrays[f"ensemble.basis.{name}"] for name in Basis._fields)),
        layout=sizes.layout,
        lags=sizes.lags,
        **numbers_of_ensemble(settings) | {name: arrays[f"ensemble.{name}"] for name in _ENSEMBLE_ARRAYS},
    )
    scaling = Scaling(*(arrays[f"scaling.{name}"] for name in Scaling._fields))
    model = Online(
        settings=settings,
        scaling=scaling,
        experts=Experts(header.kernels, ensemble),
        state=State(*(arrays[f"state.{name}"] for name in State._fields)),
        kept_x=arrays["kept.x"],
        kept_y=arrays["kept.y"],
        kept_weights=arrays.get("kept.weights"),
        kept_known=arrays.get("kept.known"),
        warmup_labels=arrays.get("warmup.labels"),
        extra_weight=_extra_weight(config),
        is_warming_up=config["is_warming_up"],
        column_keys=header.column_keys,
        fills_gaps=config.get("fills_gaps", False),
        n_warmup_learned=0,
        n_passed=config.get("n_passed", 0),
        rows_bring_lags=config.get("rows_bring_lags", False),
    )
    # Files that do not say: as many as there can have been.
    most = 0 if model.is_warming_up else min(model.n_seen, settings.warmup)
    model.n_warmup_learned = config.get("n_warmup_learned", most)
    return model


def _waiting(model: Online, sizes: Sizes, arrays: Arrays) -> Waiting:
    """Rows that wait for their labels; as many as the delay, fewer only at the beginning of a stream."""
    n = len(arrays["waiting.x"])
    if n > model.settings.delay or (n < model.settings.delay and model.state.rows[0] > model.n_warmup_learned):
        raise ValueError(f"{n} rows wait for labels that come {model.settings.delay} rows late")
    check_arrays(ensemble_schema.waiting_schema(model.settings, sizes, n, model.fills_gaps), arrays)
    return Waiting.restored(part_of(arrays, "waiting"))


def _clock(model: Online, arrays: Arrays) -> Clock:
    """When rows came."""
    n_kept = len(model.kept_x)
    n_held = n_kept + (0 if model.waiting is None else len(model.waiting.x))
    check_arrays(ensemble_schema.clock_schema(n_held), arrays)
    first, last, unit = arrays["clock.times"].tolist()
    clock = Clock(first, last, unit, arrays["clock.held"])
    # Rows that are kept were learned, up to the last; those that wait came after it.
    in_order = np.all(clock.held[:n_kept] >= first) and np.all(clock.held[:n_kept] <= last)
    if math.isnan(first) != math.isnan(last) or first > last or not in_order or np.any(clock.held[n_kept:] < last):
        raise ValueError("the times of rows are not in order")
    return clock


def _conformal(model: Online, arrays: Arrays) -> Conformal:
    """What intervals that keep their level remember."""
    n_waiting = 0 if model.waiting is None else len(model.waiting.x)
    check_arrays(ensemble_schema.conformal_schema(model.settings, model.n_outputs, n_waiting), arrays)
    return Conformal(np.array(model.settings.conformal), **part_of(arrays, "conformal"))


def _changes(model: Online, arrays: Arrays) -> Changes:
    """Changes that were noticed."""
    n_waiting = 0 if model.waiting is None else len(model.waiting.x)
    # Files may come from before blocks of scores were remembered.
    arrays = {"changes.blocks": no_blocks(model.n_outputs)} | arrays
    check_arrays(ensemble_schema.changes_schema(model.n_outputs, n_waiting, float(model.n_seen)), arrays)
    changes = Changes(**part_of(arrays, "changes"))
    if len(changes.log) != min(changes.n_changes, MOST_CHANGES):
        raise ValueError(f"{len(changes.log)} changes are listed of {changes.n_changes}")
    return changes


def _batch(model: Online, n_steps: Any, arrays: Arrays) -> BatchView:
    """Weights and noise of predictions of many rows, which have seen as many rows as the model at most."""
    described = ensemble_schema.Described.of(model)
    fields = ensemble_schema.state_schema(described, float(model.n_seen))
    check_arrays({f"batch.{name}": fields[name] for name in BATCH_ARRAYS}, arrays)
    count("batch_steps", n_steps, low=1, high=max(model.n_seen, 1))
    parts = {name: arrays[f"batch.{name}"] for name in BATCH_ARRAYS}
    return BatchView(**parts, lag_weights=_lag_weights(model.experts.ensemble, arrays), n_steps=n_steps)


def _lag_weights(ensemble: Ensemble, arrays: Arrays) -> Float:
    """Weights of expected lags, of beliefs that see no lags; zero, for the last known labels, where a file has none."""
    name = "batch.lag_weights"
    if name not in arrays:
        return np.zeros(ensemble.n_beliefs)
    n_columns = ensemble.basis.frequencies.shape[1] - ensemble.lags.n_columns
    may_weigh = beliefs_without_lags(ensemble, n_columns)
    if not ensemble.lags.n_columns or ensemble.likelihood != GAUSSIAN:
        raise ValueError(f"there is an array {name}, but no lags of numbers")
    sums = Rule("have a sum of at most one", lambda weights: weights.sum() <= 1.0 + 1e-9)
    check_arrays({name: Field((ensemble.n_beliefs,), 0.0, 1.0 * may_weigh, rules=(sums,))}, arrays)
    return arrays[name]


def _with_later_arrays(arrays: Arrays) -> Arrays:
    """What format 1, which knew Gaussian labels only, did not store."""
    n_beliefs, n_outputs = arrays["ensemble.noise_var"].shape
    later = {
        "ensemble.link": np.zeros((n_beliefs, 0)),
        "ensemble.sharpness": np.ones(len(arrays["ensemble.forgetting"])),
        "ensemble.nodes": np.zeros((n_outputs, 0)),
    }
    return later | arrays


def _one_after_another(arrays: Arrays) -> Arrays:
    """Beliefs and frequencies in the present layout; formats 1 and 2 had one more axis for beliefs and kernels."""
    later: Arrays = {}
    if arrays["state.matrix"].ndim != 3:
        return arrays
    for name, n_last in (("state.matrix", 0), ("state.vector", 1), ("ensemble.frequencies", 1)):
        array = arrays[name]
        if array.ndim == 3:
            later[name] = array.reshape(-1, *array.shape[3 - n_last :])
    return arrays | later


def _with_basis(settings: Settings, arrays: Arrays) -> Arrays:
    """Features and drifts of formats 1 to 3, which had a single term in each kernel."""
    if "ensemble.frequencies" not in arrays:
        return arrays
    n = settings.n_frequencies
    basis = waves(arrays["ensemble.frequencies"])._replace(
        amplitudes=np.full(len(arrays["ensemble.frequencies"]), 1.0 / math.sqrt(n))
    )
    named = {f"ensemble.basis.{name}": array for name, array in basis._asdict().items()}
    named["state.rows"] = np.append(arrays["state.rows"], 0.0)
    return arrays | named | {"ensemble.drift": np.repeat(arrays["ensemble.drift_ratio"], 2 * n)}


def _check_header(model: Online) -> None:
    settings, keys = model.settings, model.column_keys
    for name in ("learn_warmup", "standardize", "robust", "spread"):
        flag(name, getattr(settings, name))
    flag("is_warming_up", model.is_warming_up)
    flag("fills_gaps", model.fills_gaps)
    if flag("rows_bring_lags", model.rows_bring_lags) and (settings.delay or settings.likelihood != "gaussian"):
        raise ValueError("rows bring their lags to a model that they cannot be brought to")
    count("n_warmup_learned", model.n_warmup_learned, high=model.n_seen)
    count("the seed", settings.seed, high=math.inf)
    for kernel in model.experts.kernels:
        for term in kernel.terms:
            if isinstance(term, Stationary):
                term.scales(len(term.places(model.inputs)))  # raises an error if there are not as many as columns
            if len(kernel.terms) > 1 and term.prior_var is None:
                raise ValueError(f"the term {term} of a sum has no prior variance")
    if len(keys) != model.n_columns or len(set(keys)) != len(keys) or not all(type(k) is int and k >= 0 for k in keys):
        raise ValueError(f"column_keys are not {model.n_columns} different whole numbers")


def _check_warmup_labels(model: Online) -> None:
    """Labels of a warm-up that is over, as many as it learned."""
    labels = model.warmup_labels
    assert labels is not None
    if model.is_warming_up or labels.shape != (model.n_warmup_learned, len(model.scaling.y_mean)):
        raise ValueError(f"the labels of the warm-up have shape {labels.shape}, it has {model.n_warmup_learned} rows")


def _check_warmup(model: Online) -> None:
    """A warm-up keeps every row it has seen and ends in time; after it none are kept."""
    n_kept = len(model.kept_x)
    if n_kept != (model.n_seen if model.is_warming_up else 0):
        raise ValueError(f"{n_kept} rows are kept, is_warming_up is {model.is_warming_up}, {model.n_seen} were learned")
    if model.is_warming_up and n_kept >= model.settings.warmup:
        raise ValueError(f"{n_kept} rows are kept, though the warm-up has {model.settings.warmup}")
