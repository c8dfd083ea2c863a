"""The likelihoods: what a label says about the latent value ``z`` behind it. One file each, all of one shape.

To add one: write its file with a subclass of :class:`iegp.core.likelihoods.protocol.Likelihood`, and put it into
:data:`LIKELIHOODS`. Users' own are added to the same table by :func:`register`. Gaussian labels need no approximation
and have code of their own, so that they are not in the table.
"""

from __future__ import annotations

import numpy as np

from iegp.core.likelihoods.bernoulli import BernoulliLogit, BernoulliProbit
from iegp.core.likelihoods.categorical import Categorical
from iegp.core.likelihoods.ordinal import OrdinalLogit, OrdinalProbit
from iegp.core.likelihoods.poisson import Poisson
from iegp.core.likelihoods.protocol import Likelihood
from iegp.core.likelihoods.sites import label_model_of
from iegp.errors import InputError

__all__ = ["BUILT_IN", "GAUSSIAN", "LIKELIHOODS", "Likelihood", "likelihood_code", "likelihood_of", "named", "register"]

GAUSSIAN = 0
"""The code of Gaussian labels."""

LIKELIHOODS: dict[str, Likelihood] = {
    likelihood.name: likelihood
    for likelihood in (
        BernoulliLogit(),
        BernoulliProbit(),
        Poisson(),
        OrdinalLogit(),
        OrdinalProbit(),
        Categorical(),
    )
}
BUILT_IN = tuple(LIKELIHOODS)
_BY_CODE = {likelihood.code: likelihood for likelihood in LIKELIHOODS.values()}


def named(name: str) -> Likelihood:
    """The likelihood of this name (not the Gaussian one, which needs no approximation)."""
    if not isinstance(name, str) or name not in LIKELIHOODS:
        raise InputError(
            f"likelihood={name!r} is not known; use one of {', '.join(map(repr, LIKELIHOODS))}. One of your own must "
            "be registered first, in every process: iegp.likelihoods.register(...)"
        )
    return LIKELIHOODS[name]


def register(likelihood: Likelihood) -> Likelihood:
    """Make a user's likelihood known under its name, in place of any other of that name; returns it."""
    _check(likelihood)
    try:
        # Compiled functions are compiled now, so that what is wrong with them shows here.
        label_model_of(likelihood, "quadrature", np.zeros((1, 1)), np.zeros((1, 0)))
    except Exception as error:
        raise InputError(
            f"a function of the likelihood {likelihood.name!r} cannot be compiled; write it in the part of Python that "
            f"Numba understands, or leave the decorator out: {error}"
        ) from error
    LIKELIHOODS[likelihood.name] = _BY_CODE[likelihood.code] = likelihood
    return likelihood


def _check(likelihood: Likelihood) -> None:
    if isinstance(likelihood, type):
        raise InputError(f"{likelihood.__name__} is a class; did you mean {likelihood.__name__}()?")
    if not isinstance(likelihood, Likelihood):
        raise InputError(f"{likelihood!r:.80} is no likelihood; subclass iegp.likelihoods.Likelihood")
    name = getattr(likelihood, "name", None)
    if not isinstance(name, str) or not name or name in (*BUILT_IN, "gaussian"):
        raise InputError(f"{likelihood!r:.80} has the name {name!r}; give it one of its own, such as 'my-counts'")
    if likelihood.derivatives is Likelihood.derivatives and likelihood.site is None:
        raise InputError(f"the likelihood {name!r} has no derivatives(label, z, link); write it")
    other = _BY_CODE.get(likelihood.code)
    if other is not None and other.name != name:
        raise InputError(f"the names {name!r} and {other.name!r} have the same code by chance; choose another")


def likelihood_code(name: str) -> int:
    """The number under which an ensemble knows its likelihood."""
    return GAUSSIAN if name == "gaussian" else named(name).code


def likelihood_of(code: int) -> Likelihood:
    """The likelihood with this code."""
    if code not in _BY_CODE:
        raise InputError(
            "the model has a likelihood that is not registered in this process; call iegp.likelihoods.register(...) "
            "first"
        )
    return _BY_CODE[code]
