"""A driver that streams until it is killed; run by the tests as a process of its own: address, folder, cache."""

from __future__ import annotations

import sys

import ray
from fleet.keyed_streams import batches, template

from iegp.fleet import RayFleet, RayOptions

if __name__ == "__main__":
    address, folder, cache = sys.argv[1:]
    ray.init(address=address, log_to_driver=False, configure_logging=False)
    options = RayOptions(checkpoint_every=5, max_in_flight=3, cpus_per_shard=0.1, filled_cache=cache)
    fleet = RayFleet(template(), 2, folder, options=options)
    for batch in batches(10_000):
        fleet.submit(*batch)
