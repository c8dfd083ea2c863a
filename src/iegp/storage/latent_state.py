"""A latent variable model in the middle of a stream as plain data, and back.

The neighbour index is stored as the rows it holds and rebuilt from them in order, which gives the same index.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from iegp.core.latent.embedder import Embedder
from iegp.core.latent.experts import LatentExperts
from iegp.core.latent.initial import RowScaling
from iegp.core.latent.memory import Memory
from iegp.core.latent.model import LatentOnline
from iegp.core.latent.settings import LatentSettings
from iegp.errors import IegpError, ModelFileError
from iegp.typing import Arrays

_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, IegpError)


def take(model: LatentOnline) -> tuple[dict[str, Any], Arrays]:
    """Configuration (ready for JSON) and arrays."""
    config: dict[str, Any] = {"settings": model.settings.to_config(), "counts": None}
    arrays: Arrays = {"kept": model.kept}
    if model.embedder is not None:
        embedder, memory = model.embedder, model.embedder.memory
        config["counts"] = {"n_seen": embedder.n_seen, "n_warmup": embedder.n_warmup}
        arrays |= {f"scaling.{name}": array for name, array in embedder.scaling._asdict().items()}
        arrays |= {f"experts.{name}": array for name, array in embedder.experts._asdict().items()}
        arrays |= {"axes": embedder.axes, "log_weights": embedder.log_weights}
        arrays |= {
            "memory.vectors": memory.neighbours.rows(),
            "memory.positions": memory.positions,
            "memory.stitched": memory.stitched,
            "memory.digests": memory.digests,
            "memory.numbers": memory.numbers,
        }
    return config, arrays


def restore(config: dict[str, Any], arrays: Arrays) -> LatentOnline:
    """The model that :func:`take` took, to the bit; a :class:`ModelFileError` where the parts do not fit together."""
    try:
        settings = LatentSettings.from_config(config["settings"])
        model = LatentOnline(settings, arrays["kept"])
        if config["counts"] is not None:
            _check_shapes(settings, arrays)
            model.embedder = Embedder(
                settings=settings,
                scaling=RowScaling(*(arrays[f"scaling.{name}"] for name in RowScaling._fields)),
                experts=LatentExperts(*(arrays[f"experts.{name}"] for name in LatentExperts._fields)),
                axes=arrays["axes"],
                memory=_memory(settings, arrays),
                log_weights=arrays["log_weights"],
                transitions=settings.transitions(),
                n_seen=_count(config["counts"]["n_seen"]),
                n_warmup=_count(config["counts"]["n_warmup"]),
            )
    except _DAMAGE as error:
        raise ModelFileError(f"its parts do not fit together: {error!r}") from error
    return model


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"a number of rows is {value!r}")
    return value


def _memory(settings: LatentSettings, arrays: Arrays) -> Memory:
    vectors = arrays["memory.vectors"]
    memory = Memory(len(settings.kernels), settings.n_components, vectors.shape[1])
    memory.room_for(len(vectors))[:, : len(vectors)] = arrays["memory.positions"]
    memory.append(vectors, arrays["memory.stitched"], arrays["memory.digests"], 0)
    memory.numbers[:] = arrays["memory.numbers"]
    return memory


def _check_shapes(settings: LatentSettings, arrays: Arrays) -> None:
    """Every array has the shape and type that the others imply, so that compiled code may trust them."""
    n_experts, n_frequencies, d = len(settings.kernels), settings.n_frequencies, settings.n_components
    n_features, n_columns = 2 * n_frequencies, arrays["kept"].shape[1]
    n_stored, n_axes = arrays["memory.vectors"].shape
    square = (n_experts, n_features, n_features)
    expected: dict[str, tuple[tuple[int, ...], type]] = {
        "kept": ((0, n_columns), np.float64),
        "scaling.mean": ((n_columns,), np.float64),
        "scaling.scale": ((1,), np.float64),
        "experts.frequencies": ((n_experts, n_frequencies, d), np.float64),
        "experts.noise_var": ((n_experts,), np.float64),
        "experts.prior_var": ((n_experts,), np.float64),
        "experts.gram": (square, np.float64),
        "experts.cross": ((n_experts, n_features, n_columns), np.float64),
        "experts.inverse": (square, np.float64),
        "experts.second": (square, np.float64),
        "axes": ((n_columns, n_axes), np.float64),
        "log_weights": ((n_experts,), np.float64),
        "memory.vectors": ((n_stored, n_axes), np.float32),
        "memory.positions": ((n_experts, n_stored, d), np.float64),
        "memory.stitched": ((n_stored, d), np.float64),
        "memory.digests": ((n_stored,), np.uint64),
        "memory.numbers": ((n_stored,), np.int64),
    }
    if n_stored < 1:
        raise ValueError("there are no stored rows")
    if settings.max_stored is not None and n_stored > settings.max_stored:
        raise ValueError(f"{n_stored} rows are stored, more than max_stored={settings.max_stored}")
    for name, (shape, kind) in expected.items():
        if arrays[name].shape != shape or arrays[name].dtype != kind:
            raise ValueError(f"{name} has shape {arrays[name].shape} and type {arrays[name].dtype}, not {shape}")
