"""Embedded sets with a real-valued target, from scikit-learn and River."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from sklearn.datasets import load_diabetes, load_digits

from iegp.datasets.river_rows import river_rows, river_table
from iegp.datasets.stream import Stream
from iegp.typing import Float


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
