"""How much memory the settings of a file would take once rows come.

The arrays of a fitted model are in its file, so that it is as large as the file. A model that has not begun, and a map
in its warm-up, are made from settings, and a few bytes of a file can ask for any number of frequencies.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Sequence

from iegp.core.kernels import Kernel
from iegp.core.latent.settings import LatentSettings
from iegp.core.settings import Settings
from iegp.errors import InputError, ModelTooLargeError

GIB = 1 << 30
# What a file may ask for; more if the user says so.
LIMIT_GIB = 1.0
VARIABLE = "IEGP_LARGEST_MODEL_GIB"
_FLOAT = 8
# Small arrays and objects of any model.
_OTHERS = 1 << 15
# Square matrices at the peak of a warm-up, in all: so many for each expert, and as many for the one that is fitted.
# Measured on ensembles of every likelihood and on maps; tests/storage/test_memory_limit.py compares.
_PER_BELIEF, _PER_MAP = 4, 6


def expected_bytes(settings: Settings) -> int:
    """Most memory of a model with these settings, at the least: columns that are not known yet count as one."""
    sizes = [_n_features(kernel, settings.n_frequencies) ** 2 for kernel in settings.kernels]
    n_beliefs = len(settings.kernels) * len(settings.drift_var)
    n_experts = n_beliefs * len(settings.noise_forgetting if settings.likelihood == "gaussian" else settings.sharpness)
    matrices = _PER_BELIEF * (len(settings.drift_var) * sum(sizes) + max(sizes))
    return _OTHERS + _FLOAT * (matrices + n_experts**2)


def _n_features(kernel: Kernel, n_frequencies: int) -> int:
    total = 0
    for term in kernel.terms:
        # A term that would have too many features is refused when a model begins.
        with contextlib.suppress(InputError):
            n_waves, n_affine = term.n_features(n_frequencies, 1 if term.columns is None else len(term.columns))
            total += 2 * n_waves + n_affine
    return total


def expected_map_bytes(settings: LatentSettings, n_columns: int) -> int:
    """Most memory of a map with these settings, of rows with at least so many columns."""
    n_features, n_experts = 2 * settings.n_frequencies, len(settings.kernels)
    matrices = _PER_MAP * (n_experts + 1) * n_features**2
    return _OTHERS + _FLOAT * (matrices + 2 * n_experts * n_features * (n_columns + settings.n_components))


def describe(settings: Settings | LatentSettings) -> str:
    """The parameters that decide how large a model is."""
    return f"n_frequencies={settings.n_frequencies} with {_counted(settings.kernels, 'kernel')}" + (
        f" and {_counted(settings.drift_var, 'drift')}" if isinstance(settings, Settings) else ""
    )


def _counted(values: Sequence[object], name: str) -> str:
    return f"{len(values)} {name}{'' if len(values) == 1 else 's'}"


def check_bytes(n_bytes: int, parameters: str) -> None:
    """Refuse what ``parameters`` of a file ask for, if it is more than a file may."""
    limit = _limit_gib()
    if n_bytes <= limit * GIB:
        return
    # A file may have whole numbers of any size, which no float holds.
    gib = min(n_bytes, GIB * 10**9) / GIB
    raise ModelTooLargeError(
        f"{parameters} would take {gib:.3g} GiB of memory or more, but a file may ask for {limit:g} GiB. If you trust "
        f"the file and have the memory, set the environment variable {VARIABLE}={math.ceil(gib)}; otherwise make the "
        "model anew, with less"
    )


def _limit_gib() -> float:
    text = os.environ.get(VARIABLE, "")
    if not text:
        return LIMIT_GIB
    with contextlib.suppress(ValueError):
        if (limit := float(text)) > 0.0:
            return limit
    raise ModelTooLargeError(f"{VARIABLE}={text!r:.60} is not a number of GiB above 0, such as 4")
