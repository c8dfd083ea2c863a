"""Maps: rows shuffled by the seed and embedded in the plane; the error of the nearest neighbour on the map."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from iegp import IEGPLVM, presets
from iegp.kernels import RBF
from iegp.typing import Float
from iegp_paper.competitors.maps import GPLVM, BestKernelPCA, OnGPLVM, OnlinePCA, VarGPLVM
from iegp_paper.runs.embedding_data import nearest_neighbour_error, rows_and_labels
from iegp_paper.runs.support import Clock, base_name, method_of
from iegp_paper.task import Outcome, Task

OF_PAPER: dict[str, Callable[..., IEGPLVM]] = {
    "IE-GPLVM": presets.ie_gplvm,
    "DIE-GPLVM": presets.die_gplvm,
    "SIE-GPLVM": presets.sie_gplvm,
    "DSIE-GPLVM": presets.dsie_gplvm,
}
OURS = OF_PAPER | {"iegp default": IEGPLVM}
OTHERS: dict[str, Callable[..., Any]] = {
    "online PCA": lambda random_state, **settings: OnlinePCA(**settings),  # noqa: ARG005  nothing in it is random
    "onGPLVM": OnGPLVM,
    "GPLVM": GPLVM,
    "varGPLVM": VarGPLVM,
}
KERNEL_PCA = "kernel PCA"
# Rows with positions kept for the figure.
PICTURED = 3000


def run(task: Task) -> Outcome:
    rows, labels = rows_and_labels(task.data, task.rows, task.seed)
    clock, both, method = Clock(), dict[str, Float](), base_name(task.method)
    if method == KERNEL_PCA:
        model = BestKernelPCA(lambda positions: nearest_neighbour_error(positions, labels), **_variances(task))
        positions, seconds = model.fit_transform(rows), model.seconds_
    elif method in OURS:
        rehearse(method)
        # The paper's warm-up; the default model has one of its own.
        share = {"warmup": round(task.options.get("warmup_share", 0.1) * len(rows))} if method in OF_PAPER else {}
        ours = OURS[method](**share | map_settings(task), random_state=task.seed)
        with clock.running():
            ours.fit(rows)
        positions = ours.stitched_embedding_ if method in OF_PAPER else ours.embedding_
        seconds = clock.seconds
        both = {"stitched": ours.stitched_embedding_, "final": ours.embedding_}
    else:
        make: Any = method_of(dict(OTHERS), task.method, "maps")
        with clock.running():
            positions = make(**task.settings, random_state=task.seed).fit_transform(rows)
        seconds = clock.seconds
    scores = {"error": nearest_neighbour_error(positions, labels), "seconds": seconds}
    scores |= {f"error, {name}": nearest_neighbour_error(own, labels) for name, own in both.items()}
    return Outcome("done", scores, _map_lines(positions, labels))


def map_settings(task: Task) -> dict[str, Any]:
    """Return arguments of a map; ``length_scales`` stands for RBF kernels, which a TOML file cannot hold."""
    settings = dict(task.settings)
    if "length_scales" in settings:
        settings["kernels"] = [RBF(scale) for scale in settings.pop("length_scales")]
    return settings


def _variances(task: Task) -> dict[str, Any]:
    exponents = task.settings.get("exponents")
    return {} if exponents is None else {"variances": tuple(2.0**k for k in exponents)}


def _map_lines(positions: Float, labels: Any) -> dict[str, list[Any]]:
    shown = slice(None, PICTURED)
    x, y = ([float(f"{v:.4g}") for v in column] for column in positions[shown, :2].T)
    return {"x": x, "y": y, "label": [int(label) for label in labels[shown]]}


@lru_cache
def rehearse(method: str) -> None:
    """Compile what the method compiles."""
    rows = np.random.default_rng(0).standard_normal((80, 4))
    OURS[method](warmup=40, random_state=0, init="pca", warmup_iter=3).fit(rows)
