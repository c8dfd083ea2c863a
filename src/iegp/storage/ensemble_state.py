"""A model in the middle of a stream as plain data, and back: what a model file holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from iegp.core.fitting.experts import Experts
from iegp.core.kernels import kernel_from_config
from iegp.core.likelihoods import likelihood_code, named
from iegp.core.likelihoods.sites import INTEGRATIONS, N_DRAWS
from iegp.core.model import Online, check_label_range, label_columns
from iegp.core.scaling import Scaling
from iegp.core.settings import Settings
from iegp.core.state import Ensemble, State, layout_of
from iegp.core.weights import RULES
from iegp.errors import IegpError, ModelFileError
from iegp.typing import Arrays, Float

# The rest of an ensemble follows from the settings.
_FROM_SETTINGS = ("layout", "rule", "rate", "shutdown", "likelihood", "integration")
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
    if model.fills_gaps or model.column_keys != tuple(range(model.n_columns)):
        config |= {"column_keys": list(model.column_keys), "fills_gaps": model.fills_gaps}
    arrays: Arrays = {f"scaling.{name}": array for name, array in model.scaling._asdict().items()}
    arrays |= {f"ensemble.{name}": getattr(ensemble, name) for name in _ENSEMBLE_ARRAYS}
    arrays |= {f"state.{name}": array for name, array in model.state._asdict().items()}
    return config, arrays | {"kept.x": model.kept_x, "kept.y": model.kept_y}


def restore(config: dict[str, Any], arrays: Arrays) -> Online:
    """The model that :func:`take` took, to the bit; a :class:`ModelFileError` where the parts do not fit together."""
    try:
        settings = Settings.from_config(config["settings"])
        if "likelihood" not in config["settings"]:
            arrays = _with_later_arrays(arrays)
        arrays = _one_after_another(arrays)
        ensemble = Ensemble(
            layout=layout_of([settings.n_frequencies] * len(settings.kernels), len(settings.drift_var)),
            rule=RULES.index(settings.weights),
            rate=settings.stacking_rate,
            shutdown=settings.shutdown,
            likelihood=likelihood_code(settings.likelihood),
            integration=INTEGRATIONS.index(settings.integration),
            **{name: arrays[f"ensemble.{name}"] for name in _ENSEMBLE_ARRAYS},
        )
        scaling = Scaling(*(arrays[f"scaling.{name}"] for name in Scaling._fields))
        model = Online(
            settings=settings,
            scaling=scaling,
            experts=Experts(tuple(kernel_from_config(kernel) for kernel in config["kernels"]), ensemble),
            state=State(*(arrays[f"state.{name}"] for name in State._fields)),
            kept_x=arrays["kept.x"],
            kept_y=arrays["kept.y"],
            is_warming_up=config["is_warming_up"],
            column_keys=tuple(config.get("column_keys", range(len(scaling.x_mean)))),
            fills_gaps=config.get("fills_gaps", False),
            n_warmup_learned=0,
        )
        # Files that do not say: as many as there can have been.
        most = 0 if model.is_warming_up else min(model.n_seen, settings.warmup)
        model.n_warmup_learned = config.get("n_warmup_learned", most)
        _check_counts(model)
        _check_columns(model)
        _check_arrays(model)
        check_label_range(model, model.kept_y)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, IegpError) as error:
        raise ModelFileError(f"its parts do not fit together: {error!r}") from error
    return model


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
    """Beliefs and frequencies as they lie now; formats 1 and 2 had one more axis for beliefs and kernels."""
    later = {}
    for name, n_last in (("state.matrix", 0), ("state.vector", 1), ("ensemble.frequencies", 1)):
        array = arrays[name]
        if array.ndim == 3:
            later[name] = array.reshape(-1, *array.shape[3 - n_last :])
    return arrays | later


def _check_counts(model: Online) -> None:
    settings, frequencies = model.settings, model.experts.ensemble.frequencies
    n_kernels = len(settings.kernels)
    if len(model.experts.kernels) != n_kernels:
        raise ValueError("the numbers of kernels differ")
    if len(frequencies) != n_kernels * settings.n_frequencies:
        raise ValueError(f"there are {len(frequencies)} frequencies, not {n_kernels} times {settings.n_frequencies}")
    noise = settings.noise_forgetting if settings.likelihood == "gaussian" else settings.sharpness
    if len(model.experts.ensemble.forgetting) != len(noise):
        raise ValueError("there are more or fewer noise models than its settings say")
    if type(model.is_warming_up) is not bool:
        raise ValueError(f"is_warming_up is {model.is_warming_up!r}")
    if type(model.n_warmup_learned) is not int or not 0 <= model.n_warmup_learned <= model.n_seen:
        raise ValueError(f"n_warmup_learned is {model.n_warmup_learned!r}")
    if type(settings.seed) is not int or settings.seed < 0:
        raise ValueError(f"the seed is {settings.seed!r}")


def _check_columns(model: Online) -> None:
    keys = model.column_keys
    if len(keys) != model.n_columns or len(set(keys)) != len(keys) or not all(type(k) is int and k >= 0 for k in keys):
        raise ValueError(f"column_keys are not {model.n_columns} different whole numbers")
    if type(model.fills_gaps) is not bool:
        raise ValueError(f"fills_gaps is {model.fills_gaps!r}")


def _check_arrays(model: Online) -> None:
    """Every array has the shape and type that the others imply, so that compiled code may trust them."""
    ensemble, d, n_outputs = model.experts.ensemble, model.n_columns, model.n_outputs
    n_labels = label_columns(model.settings, n_outputs)
    n_latents, n_link, n_draws = n_outputs, 0, 0
    if model.settings.likelihood != "gaussian":
        likelihood = named(model.settings.likelihood)
        n_latents, n_link = likelihood.n_latents(n_outputs), likelihood.n_link(n_outputs)
        n_draws = N_DRAWS if model.settings.integration == "monte-carlo" else 0
    layout, n_noise = ensemble.layout, len(ensemble.forgetting)
    n_beliefs, n_experts = layout.n_beliefs, layout.n_beliefs * n_noise
    switching = model.settings.weights == "switching"
    belief_shapes = (layout.matrix[-1],), (layout.features[-1], n_latents)
    transitions = (n_experts, n_experts) if switching else (1, 1)
    shapes_of: dict[str, tuple[Iterable[Float], list[tuple[int, ...]]]] = {
        "scaling": (model.scaling, [(d,), (d,), (n_labels,), (n_labels,)]),
        "state": (model.state, [*belief_shapes, (n_noise,), (n_experts, n_latents), (n_experts,), (1,)]),
        "ensemble": (
            [getattr(ensemble, name) for name in _ENSEMBLE_ARRAYS],
            [
                (layout.frequencies[-1], d),
                *[(n_beliefs,)] * 2,
                (n_beliefs, n_latents),
                *[(n_noise,)] * 2,
                transitions,
                (n_beliefs, n_link),
                (n_noise,),
                (n_latents, n_draws),
            ],
        ),
        "kept": ((model.kept_x, model.kept_y), [(len(model.kept_x), d), (len(model.kept_x), n_labels)]),
    }
    for room, (arrays, shapes) in shapes_of.items():
        for array, shape in zip(arrays, shapes, strict=True):
            if array.shape != shape or array.dtype != np.float64:
                raise ValueError(f"an array of '{room}' has shape {array.shape} and type {array.dtype}, not {shape}")
