"""How compiled code calls the functions of a likelihood through their addresses.

An entry takes pointers and sizes in place of arrays. It is compiled once for every function it stands before.
"""

from __future__ import annotations

from typing import Any

from iegp._compile import CallForm, array_at

# The function that an entry calls; every entry has its own.
function: Any = None


def _derivatives(label: Any, n_label: int, z: float, link: Any, n_link: int, results: Any) -> float:
    results[0], results[1], results[2] = function(array_at(label, n_label), z, array_at(link, n_link))
    return 0.0


def _site(
    label: Any, n_label: int, mean: Any, n_mean: int, var: float, link: Any, n_link: int, slope: Any, n_slope: int
) -> float:
    of_row = array_at(label, n_label), array_at(mean, n_mean), var
    return float(function(*of_row, array_at(link, n_link), array_at(slope, n_slope)))


def _log_predictive(
    label: Any, n_label: int, mean: Any, n_mean: int, var: float, link: Any, n_link: int, nodes: Any, n_rows: int,
    n_draws: int, outcomes: Any, n_outcomes: int,
) -> float:  # fmt: skip
    of_row = array_at(label, n_label), array_at(mean, n_mean), var
    draws = array_at(nodes, (n_rows, n_draws))
    return float(function(*of_row, array_at(link, n_link), draws, array_at(outcomes, n_outcomes)))


DERIVATIVES = CallForm("vfv", 3, _derivatives)
"""``derivatives(label, z, link)``"""
SITE = CallForm("vvfvv", 1, _site)
"""``site(label, mean, var, link, slope)``"""
LOG_PREDICTIVE = CallForm("vvfvmv", 1, _log_predictive)
"""``log_predictive(label, mean, var, link, nodes, outcomes)``"""
