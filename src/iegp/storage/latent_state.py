"""A latent variable model in the middle of a stream as plain data, and back.

The neighbour index is stored as the rows it holds and rebuilt from them in order, which gives the same index.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.core.compute.tolerances import (
    FARTHEST_IN_FLOAT32,
    LARGEST_FREQUENCY,
    MAX_NOISE_VAR,
    MAX_PRIOR_RATIO,
    MIN_NOISE_VAR,
    REFRESH_FORGETTING,
    SEARCH_AXES,
)
from iegp.core.latent.embedder import Embedder
from iegp.core.latent.experts import LatentExperts
from iegp.core.latent.memory import Memory
from iegp.core.latent.model import LatentOnline
from iegp.core.latent.settings import LatentSettings
from iegp.core.latent.warmup import RowScaling
from iegp.errors import IegpError, ModelFileError, ModelTooLargeError
from iegp.storage.memory_limit import check_bytes, describe, expected_map_bytes
from iegp.storage.schema import INCREASING, LOG_WEIGHTS, Field, Rule, check_arrays, count, flag, with_floats
from iegp.typing import Arrays

_FLOATS = ("stacking_rate", "shutdown", "forgetting", "latent_var", "start_spread", "drift_var")
_TINY = float(np.finfo(np.float64).smallest_subnormal)
# Positions have a prior of at most 1e6 in variance.
_LARGEST_POSITION = 1e12
# One over the smallest ratio of noise and prior variance; and what parameters of the largest rows may be, squared.
_LARGEST_INVERSE, _LARGEST_SECOND = 1e9, 1e120
_LARGEST_OF_ALL = 1e300
_SLACK = 1.0 + 1e-6
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
        settings = LatentSettings.from_config(with_floats(config["settings"], _FLOATS))
        _check_header(settings)
        check_arrays({"kept": Field((None, None), gaps=True)}, arrays)
        model = LatentOnline(settings, arrays["kept"])
        if config["counts"] is not None:
            model.embedder = _embedder(settings, config["counts"], arrays)
        elif len(model.kept) >= settings.warmup:
            raise ValueError(f"kept has {len(model.kept)} rows, though the warm-up has {settings.warmup}")
        else:
            check_bytes(expected_map_bytes(settings, model.n_columns), describe(settings))
    except ModelTooLargeError:
        raise
    except _DAMAGE as error:
        raise ModelFileError(f"its parts do not fit together: {error}") from error
    return model


def _embedder(settings: LatentSettings, counts: dict[str, Any], arrays: Arrays) -> Embedder:
    n_seen = count("n_seen", counts["n_seen"], low=1)
    n_warmup = count("n_warmup", counts["n_warmup"], low=1, high=n_seen)
    check_arrays(_schema(settings, arrays, n_seen), arrays)
    experts = LatentExperts(*(arrays[f"experts.{name}"] for name in LatentExperts._fields))
    _check_information(experts)
    return Embedder(
        settings=settings,
        scaling=RowScaling(*(arrays[f"scaling.{name}"] for name in RowScaling._fields)),
        experts=experts,
        axes=arrays["axes"],
        memory=_memory(settings, arrays),
        log_weights=arrays["log_weights"],
        transitions=settings.transitions(),
        n_seen=n_seen,
        n_warmup=n_warmup,
    )


def _check_header(settings: LatentSettings) -> None:
    flag("chain", settings.chain)
    flag("weigh_warmup", settings.weigh_warmup)
    count("the seed", settings.seed, high=math.inf)
    settings.transitions()  # raises an error if they are none
    for kernel in settings.kernels:
        kernel.scales(settings.n_components)  # raises an error if there are not as many


def _memory(settings: LatentSettings, arrays: Arrays) -> Memory:
    vectors = arrays["memory.vectors"]
    memory = Memory(len(settings.kernels), settings.n_components, vectors.shape[1])
    memory.allocate(len(vectors))[:, : len(vectors)] = arrays["memory.positions"]
    memory.append(vectors, arrays["memory.stitched"], arrays["memory.digests"], 0)
    memory.numbers[:] = arrays["memory.numbers"]
    return memory


def _schema(settings: LatentSettings, arrays: Arrays, n_seen: int) -> dict[str, Field]:
    """Features have norm one, rows and positions are bounded where they come in, and sums grow with the rows."""
    n_experts, n_frequencies, d = len(settings.kernels), settings.n_frequencies, settings.n_components
    n_features, n_columns = 2 * n_frequencies, arrays["kept"].shape[1]
    n_stored, n_axes = len(arrays["memory.vectors"]), min(n_columns, SEARCH_AXES)
    _check_stored(settings, n_stored, n_seen)
    square = n_experts, n_features, n_features
    reach = FARTHEST_IN_FLOAT32 * math.sqrt(n_columns)
    largest_sum = _SLACK * reach * n_seen
    # Between two refreshes nothing gives back what is forgotten.
    forgotten = min(-REFRESH_FORGETTING * math.log10(settings.forgetting), 300.0)
    inverse = min(_LARGEST_INVERSE * 10.0**forgotten, _LARGEST_OF_ALL)
    second = _LARGEST_SECOND if settings.forgetting == 1.0 else _LARGEST_OF_ALL
    if settings.drift_var > 0.0:
        inverse = min(inverse + settings.drift_var / MIN_NOISE_VAR * n_seen, _LARGEST_OF_ALL)
        largest_sum = math.sqrt(second)
    return {
        "kept": Field((0, n_columns)),
        "scaling.mean": Field((n_columns,)),
        "scaling.scale": Field((1,), _TINY),
        "experts.frequencies": Field((n_experts, n_frequencies, d), -LARGEST_FREQUENCY, LARGEST_FREQUENCY),
        "experts.noise_var": Field((n_experts,), MIN_NOISE_VAR / _SLACK, _SLACK * MAX_NOISE_VAR),
        "experts.prior_var": Field((n_experts,), MIN_NOISE_VAR / _SLACK, _SLACK * MAX_PRIOR_RATIO * MIN_NOISE_VAR),
        "experts.gram": Field(square, -_SLACK * n_seen, _SLACK * n_seen, rules=(_SYMMETRIC,)),
        "experts.cross": Field((n_experts, n_features, n_columns), -largest_sum, largest_sum),
        "experts.inverse": Field(square, -inverse, inverse, rules=(_SYMMETRIC,)),
        "experts.second": Field(square, -second, second, rules=(_SYMMETRIC, _NOT_NEGATIVE)),
        "axes": Field((n_columns, n_axes), -1.0 - 1e-6, 1.0 + 1e-6),
        "log_weights": Field((n_experts,), -np.inf, 1e-6, rules=(LOG_WEIGHTS,)),
        "memory.vectors": Field((n_stored, n_axes), -_SLACK * reach, _SLACK * reach, np.float32),
        "memory.positions": Field((n_experts, n_stored, d), -_LARGEST_POSITION, _LARGEST_POSITION),
        "memory.stitched": Field((n_stored, d), -_LARGEST_POSITION, _LARGEST_POSITION),
        "memory.digests": Field((n_stored,), 0, np.iinfo(np.uint64).max, np.uint64),
        "memory.numbers": Field((n_stored,), 0, n_seen - 1, np.int64, rules=(INCREASING,)),
    }


def _check_stored(settings: LatentSettings, n_stored: int, n_seen: int) -> None:
    """All rows are stored, or as many as there may be."""
    most = n_seen if settings.max_stored is None else min(n_seen, settings.max_stored)
    least = most if settings.max_stored is None else 1
    if not least <= n_stored <= most:
        bound = f"max_stored={settings.max_stored} of {n_seen} rows"
        raise ValueError(f"memory.vectors has {n_stored} rows, but with {bound} it must have from {least} to {most}")


def _check_information(experts: LatentExperts) -> None:
    """Gram matrices and inverses are positive definite: rows are learned by dividing by what they say."""
    each = np.arange(experts.gram.shape[-1])
    gram, inverse = experts.gram.copy(), experts.inverse.copy()
    gram[:, each, each] += (experts.noise_var / experts.prior_var)[:, None]
    # What rounding may have done to the recursion since it was last computed anew.
    inverse[:, each, each] += 1e-6 * np.abs(inverse).max(axis=(1, 2))[:, None]
    for name, matrices in (("gram", gram), ("inverse", inverse)):
        try:
            np.linalg.cholesky(matrices)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"experts.{name} has a matrix that is not positive definite") from error


def _is_symmetric(matrices: NDArray[Any]) -> Any:
    largest = np.abs(matrices).max(axis=(-2, -1), keepdims=True)
    return np.abs(matrices - np.swapaxes(matrices, -1, -2)) <= 1e-6 * largest


def _has_no_negative_diagonal(matrices: NDArray[Any]) -> bool:
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    return bool(np.all(diagonal >= -1e-6 * np.abs(diagonal).max(axis=-1, keepdims=True)))


_SYMMETRIC = Rule("be symmetric", _is_symmetric)
_NOT_NEGATIVE = Rule("have no negative diagonal", _has_no_negative_diagonal)
