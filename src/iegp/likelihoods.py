"""Likelihoods of your own: what a label says about the latent function, for labels that no estimator has built in.

>>> import math
>>> import numpy as np
>>> from iegp.likelihoods import Likelihood, register
>>> class Exponential(Likelihood):
...     name = "exponential"
...     label_low = 0.0
...
...     @staticmethod
...     def derivatives(label, z, link):
...         scaled = label[0] * math.exp(-z)
...         return -z - scaled, scaled - 1.0, scaled
...
...     def moments(self, z, link, exposure):
...         return np.exp(z), np.exp(2.0 * z)
>>> register(Exponential()).name
'exponential'

``docs/labels.md`` has a complete example.
"""

from __future__ import annotations

from iegp.core.likelihoods import Likelihood, register
from iegp.core.likelihoods.mixture import LatentMixture

__all__ = ["LatentMixture", "Likelihood", "register"]
