"""Likelihoods as a user would write them."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from iegp._compile import COMPILED
from iegp.likelihoods import Likelihood

needs_numba = pytest.mark.skipif(not COMPILED, reason="compilation is off")


def logit_derivatives(label, z, link):
    x = z + link[0]
    signed = x if label[0] > 0.5 else -x
    small = math.exp(-abs(signed))
    other = small / (1.0 + small) if signed > 0.0 else 1.0 / (1.0 + small)
    return -math.log1p(small) + min(signed, 0.0), other if label[0] > 0.5 else -other, small / (1.0 + small) ** 2


class PlainLogit(Likelihood):
    """Two classes, in plain Python."""

    name = "plain-logit"
    has_classes = True
    derivatives = staticmethod(logit_derivatives)


class FastLogit(PlainLogit):
    """The same, compiled where compilation is on."""

    name = "fast-logit"
    derivatives = staticmethod(numba.njit(logit_derivatives))


class Geometric(Likelihood):
    """Counts 0, 1, 2, ... with the mean ``exposure * exp(z + link[0])``; the package has no such likelihood."""

    name = "geometric"
    label_low = 0.0
    has_free_link = True

    @staticmethod
    def log_density(count, log_mean):
        return count * log_mean - (count + 1.0) * math.log1p(math.exp(log_mean))

    @staticmethod
    def derivatives(label, z, link):
        log_mean = z + link[0] + math.log(label[1])
        share = 1.0 / (1.0 + math.exp(-log_mean))
        log_density = label[0] * log_mean - (label[0] + 1.0) * math.log1p(math.exp(log_mean))
        return log_density, label[0] - (label[0] + 1.0) * share, (label[0] + 1.0) * share * (1.0 - share)

    def allowed(self, y):
        return y == np.floor(y)

    def start_link(self, y, n_outcomes):
        del n_outcomes
        return np.array([np.log((y[:, 0].sum() + 0.5) / (y[:, 1].sum() + 0.5))]) if len(y) else np.zeros(1)

    def moments(self, z, link, exposure):
        mean = exposure * np.exp(z + link[0])
        return mean, mean + mean**2
