"""When one machine or one stream is not enough: fleets of models by key, and histories learned by many workers.

Touch this room to change how work is spread; what is computed, and why it may be spread, is in ``iegp.core`` (merging,
keyed states). Nothing here starts a cluster.
"""

from __future__ import annotations

from iegp.scale.fleet import Fleet, FleetRun

__all__ = ["Fleet", "FleetRun"]
