"""From the format of an older model file to the present one, a step at a time.

A change of what files hold raises ``FORMAT`` in :mod:`iegp.storage.model_file` and adds a function to ``CONVERSIONS``
that makes a file of the format before one of the new format. ``tests/storage/formats`` keeps files of every format.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iegp.typing import Arrays

Conversion = Callable[[dict[str, Any], Arrays], tuple[dict[str, Any], Arrays]]


def converted(header: dict[str, Any], arrays: Arrays, n_format: int) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays as a file of format ``n_format`` would hold them."""
    for number in range(int(header["format"]), n_format):
        if number in CONVERSIONS:
            header, arrays = CONVERSIONS[number](header, arrays)
    return header, arrays


def _plans_say_how_text_is_read(header: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Runs of `iegp stream` before format 5 read plain numbers, times in ISO 8601 and any number of classes."""
    if "plan" not in header:
        return header, arrays
    reading: dict[str, Any] = {
        "na_values": [],
        "decimal": ".",
        "thousands": "",
        "time_format": None,
        "classes_limit": 1_000_000,
    }
    return header | {"plan": reading | header["plan"]}, arrays


def _states_know_glitches_from_changes(header: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """States before format 6 did not count how often labels far out were glitches or changes."""
    states = [name.removesuffix("noise_scale") for name in arrays if name.endswith("noise_scale")]
    far = {
        f"{state}far": np.zeros((*arrays[f"{state}rows"].shape[:-1], 1 + arrays[f"{state}noise_scale"].shape[-1]))
        for state in states
        if f"{state}rows" in arrays
    }
    return header, arrays | far


def _mixtures_have_a_spread(header: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Mixtures before format 7 were as wide as their experts; so they stay, because their settings say nothing."""
    added: Arrays = {}
    for name, array in arrays.items():
        state = name.removesuffix("noise_scale")
        if state != name and f"{state}rows" in arrays:
            added[f"{state}spread"] = np.ones((*arrays[f"{state}rows"].shape[:-1], array.shape[-1]))
        if name.split(".")[-1] == "squares":
            added[f"{name.removesuffix('squares')}spread"] = np.full((len(array), array.shape[-1]), np.nan)
    n_outputs = next((array.shape[-1] for name, array in arrays.items() if name.endswith("noise_scale")), 0)
    for name, array in arrays.items():
        if name.split(".")[-1] == "asked" and array.ndim == 2 and array.shape[1]:
            # A row of NaN is one without an answer.
            ones = np.where(np.isnan(array).all(axis=1, keepdims=True), np.nan, np.ones((len(array), n_outputs)))
            added[name] = np.concatenate([array, ones], axis=1)
    return header, arrays | added


def _states_know_the_size_of_changes(header: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """States before format 8 did not know how large changes have been."""
    added = {
        name: np.insert(array, 1, 0.0, axis=-1)
        for name, array in arrays.items()
        if name.split(".")[-1] == "far" and f"{name.removesuffix('far')}noise_scale" in arrays
    }
    return header, arrays | added


CONVERSIONS: dict[int, Conversion] = {
    4: _plans_say_how_text_is_read,
    5: _states_know_glitches_from_changes,
    6: _mixtures_have_a_spread,
    7: _states_know_the_size_of_changes,
}
"""By the format that they start from; where there is none, nothing that is read has changed."""
