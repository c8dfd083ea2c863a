"""One model per key, all with the same experts: on one machine, on a GPU (PyTorch), or on a Ray cluster.

Change this package to change where the states of many keys are kept and how rows reach them; what is computed for one
key is in :mod:`iegp.core`. Nothing here starts a cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iegp._imports import lazy_names
from iegp.fleet.fleet import Fleet
from iegp.fleet.run import FleetRun

if TYPE_CHECKING:
    from iegp.fleet.cluster.options import RayOptions
    from iegp.fleet.cluster.ray_fleet import RayFleet
    from iegp.fleet.pytorch.fleet import TorchFleet

__all__ = ["Fleet", "FleetRun", "RayFleet", "RayOptions", "TorchFleet"]

# PyTorch and Ray are optional and slow to import.
__getattr__ = lazy_names(
    __name__,
    {
        "RayFleet": "iegp.fleet.cluster.ray_fleet",
        "RayOptions": "iegp.fleet.cluster.options",
        "TorchFleet": "iegp.fleet.pytorch.fleet",
    },
)
