"""Positive hyperparameters as free numbers for an optimiser: softplus, as GPflow does it, in which SSGP was written.

Beyond one the softplus is a straight line. Logs would do as well for one batch, but not for a stream: a column that
says little in one batch sends the log of its length scale off by several units, where the bound is flat, and no later
batch brings it back. On a straight line such a step is short.
"""

from __future__ import annotations

from typing import Any

import torch

# The least value, GPflow's.
LEAST = 1e-6


def free_of_log(log_value: Any) -> Any:
    """The free number of a positive value known by its log."""
    above = torch.clamp(torch.exp(log_value) - LEAST, min=1e-3 * LEAST)
    return above + torch.log(-torch.expm1(-above))


def log_of_free(free: Any) -> Any:
    """The log of the positive value of a free number."""
    return torch.log(LEAST + torch.nn.functional.softplus(free))


def slope_of_log(free: Any) -> Any:
    """Derivative of :func:`log_of_free`."""
    return torch.sigmoid(free) / (LEAST + torch.nn.functional.softplus(free))
