"""A fleet whose keys are spread over the actors of a Ray cluster, and which loses nothing when some of them die.

The driver numbers batches, writes each to a journal and sends every shard its rows. A shard learns its batches strictly
in order and stores its state together with the number it has reached; whoever comes back from the dead is sent what it
missed. Touch this room to change how batches travel; what a shard computes is :class:`iegp.fleet.Fleet`.
"""

from __future__ import annotations
