"""The likelihoods: what a label says about the latent value ``z`` behind it. One file each, all of one shape.

A likelihood with a scalar latent value has two verbs:

- ``derivatives(label, z, link)``: log probability of the label, its slope and its curvature (minus the second
  derivative) in ``z``. All are log-concave: the curvature is never negative.
- ``log_predictive(label, mean, var, link, outcomes)``: log probability of the label when ``z`` is Gaussian, by accurate
  quadrature; where labels are classes, ``outcomes`` receives the log probability of every class.

``label`` is a row of y: a class number, or a count and its exposure. ``link`` holds the parameters of the likelihood.
To add one: write its file, give it a row in :data:`LIKELIHOODS` and a branch in ``core/likelihoods/sites.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from iegp.errors import InputError

GAUSSIAN, BERNOULLI_LOGIT, BERNOULLI_PROBIT, POISSON, ORDINAL_LOGIT, ORDINAL_PROBIT, CATEGORICAL = range(7)


class Likelihood(NamedTuple):
    """What the rest of the core has to know about a likelihood."""

    name: str
    code: int
    label_columns: int
    """Columns of y: one, or a count and its exposure."""
    n_latents: Callable[[int], int]
    """Latent functions needed for K outcomes."""
    n_link: Callable[[int], int]
    """Parameters for K outcomes."""
    has_classes: bool
    has_free_link: bool
    """Whether evidence finds the parameters; otherwise they stay zero."""


def _one(n_outcomes: int) -> int:
    del n_outcomes
    return 1


def _all(n_outcomes: int) -> int:
    return n_outcomes


def _three(n_outcomes: int) -> int:
    del n_outcomes
    return 3


def _gaps(n_outcomes: int) -> int:
    return n_outcomes - 1


LIKELIHOODS = {
    row.name: row
    for row in (
        Likelihood("bernoulli-logit", BERNOULLI_LOGIT, 1, _one, _one, has_classes=True, has_free_link=False),
        Likelihood("bernoulli-probit", BERNOULLI_PROBIT, 1, _one, _one, has_classes=True, has_free_link=False),
        Likelihood("poisson", POISSON, 2, _one, _three, has_classes=False, has_free_link=True),
        Likelihood("ordinal-logit", ORDINAL_LOGIT, 1, _one, _gaps, has_classes=True, has_free_link=True),
        Likelihood("ordinal-probit", ORDINAL_PROBIT, 1, _one, _gaps, has_classes=True, has_free_link=True),
        Likelihood("categorical", CATEGORICAL, 1, _all, _all, has_classes=True, has_free_link=False),
    )
}
NAMES = ("gaussian", *LIKELIHOODS)


BY_CODE = {row.code: row for row in LIKELIHOODS.values()}


def named(name: str) -> Likelihood:
    """The likelihood of this name (not the Gaussian one, which needs no approximation)."""
    if name not in LIKELIHOODS:
        raise InputError(f"likelihood={name!r} is not known; use one of {', '.join(map(repr, LIKELIHOODS))}")
    return LIKELIHOODS[name]


def likelihood_code(name: str) -> int:
    """The code under which compiled code knows a likelihood."""
    return GAUSSIAN if name == "gaussian" else named(name).code
