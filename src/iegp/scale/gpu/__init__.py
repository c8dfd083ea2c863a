"""The same fleets with PyTorch, on a GPU: all beliefs of all keys of a call in a handful of batched operations.

Touch this room to change how the block algorithm of ``iegp.core.blocks`` is laid out as tensors; what is computed is
said there. Only this room imports PyTorch (extra ``gpu``), and only when something in it is asked for.
"""

from __future__ import annotations
