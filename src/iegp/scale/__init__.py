"""When one machine or one stream is not enough: fleets of models by key, and histories learned by many workers.

Touch this room to change how work is spread; what is computed, and why it may be spread, is in ``iegp.core`` (merging,
keyed states). Nothing here starts a cluster.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from iegp.scale.fleet import Fleet
from iegp.scale.fleet_run import FleetRun

if TYPE_CHECKING:
    from iegp.scale.gpu.fleet import TorchFleet
    from iegp.scale.gpu.large import TorchEnsemble
    from iegp.scale.history import fit_history
    from iegp.scale.processes.ensemble import ProcessEnsemble
    from iegp.scale.sharded.options import RayOptions
    from iegp.scale.sharded.ray_fleet import RayFleet

__all__ = [
    "Fleet",
    "FleetRun",
    "ProcessEnsemble",
    "RayFleet",
    "RayOptions",
    "TorchEnsemble",
    "TorchFleet",
    "fit_history",
]

_GPU = {"TorchFleet": "iegp.scale.gpu.fleet", "TorchEnsemble": "iegp.scale.gpu.large"}


def __getattr__(name: str) -> Any:
    """Histories read Parquet files, GPUs need PyTorch, clusters Ray, and few who use an estimator need any of them."""
    if name == "fit_history":
        return importlib.import_module("iegp.scale.history").fit_history
    if name == "ProcessEnsemble":
        return importlib.import_module("iegp.scale.processes.ensemble").ProcessEnsemble
    if name in ("RayFleet", "RayOptions"):
        return getattr(importlib.import_module("iegp.scale.sharded.ray_fleet"), name)
    if name in _GPU:
        try:
            return getattr(importlib.import_module(_GPU[name]), name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise ImportError(f'{name} needs PyTorch, which is not installed; pip install "iegp[gpu]"') from error
    raise AttributeError(f"module 'iegp.scale' has no attribute {name!r}")
