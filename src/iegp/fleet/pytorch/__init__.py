"""Fleets with PyTorch, on a GPU: all beliefs of all keys of a call in a handful of batched operations.

Change this package to change how the block algorithm of ``iegp.core.expert.gaussian_block`` is laid out as tensors;
what is computed is said there. PyTorch (extra ``gpu``) is imported here and in ``iegp.parallel.torch_ensemble`` only.
"""

from __future__ import annotations
