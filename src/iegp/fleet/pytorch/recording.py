"""Calls that are made again and again, as one launch.

A row per key is little work for a GPU: launching some sixty kernels takes longer than running them. Where the same keys
come call after call, the kernels of one call are recorded (a CUDA graph), and every later call copies its rows in and
launches them all at once.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from iegp.fleet.pytorch.rows import DevicePredictions

# Calls before one is recorded: kernels are compiled in the first, and keys that come only twice are not worth it.
CALLS_BEFORE = 2


class Recording:
    """One call, ready to be made again with other rows of the same shape, on the same states."""

    def __init__(self, call: Callable[[Tensor, Tensor], DevicePredictions], x: Tensor, y: Tensor) -> None:
        self._x, self._y = x.clone(), y.clone()
        self._graph = torch.cuda.CUDAGraph()
        # A stream of this device: PyTorch's own for recordings belongs to the device that recorded first. Other threads
        # of the process may use the device meanwhile. Nothing runs, and no state changes, until replay.
        stream = torch.cuda.Stream(x.device)
        with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
            self._run = call(self._x, self._y)

    def __call__(self, x: Tensor, y: Tensor) -> DevicePredictions:
        self._x.copy_(x)
        self._y.copy_(y)
        self._graph.replay()
        # The next call writes to the same memory.
        return DevicePredictions(*(tensor.clone() for tensor in self._run))
