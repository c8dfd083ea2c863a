"""Embedded sets with labels: classes, counts and ordered levels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from iegp.datasets.embedded_regression import digits_scan
from iegp.datasets.river_rows import river_rows, river_table
from iegp.datasets.stream import Stream

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
