"""A fleet with its keys spread over the actors of a Ray cluster, which loses nothing when some of them fail.

The driver numbers batches, writes each to a journal and sends every shard its rows. A shard learns its batches strictly
in order and stores its state together with the number of the last batch; a restarted shard is sent the batches after
it. Change this package to change how batches are sent; what a shard computes is in :class:`iegp.fleet.Fleet`.
"""

from __future__ import annotations
