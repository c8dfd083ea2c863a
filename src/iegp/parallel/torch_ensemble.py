"""Ensembles too large for one core: one stream, thousands of experts, all on one device."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from iegp.core.predictive.mixture import Mixture
from iegp.fleet.pytorch.features import features
from iegp.fleet.pytorch.fleet import TorchFleet
from iegp.fleet.run import FleetRun
from iegp.fleet.template import Shell, Template
from iegp.typing import Float

# Rows whose features are summed up at once: enough to fill a GPU, half a gigabyte at a thousand features.
GRAM_ROWS = 65536


class Gram(NamedTuple):
    """Sums over rows of features and labels, in standardised units; additive over any parts of a history.

    Good for evidence and for looking at spectra. Not for merging models: sums square the condition number (see
    ``docs/gpu.md``).
    """

    features: Tensor
    """(n_kernels, F, F): sum of phi phi'."""
    labels: Tensor
    """(n_kernels, F, D): sum of phi y'."""
    squares: Tensor
    """(D,): sum of y²."""
    n_rows: int


class TorchEnsemble:
    """One model of any number of experts on a device: a fleet with a single key, without the key.

    ``template`` is an ``IEGPRegressor`` past its warm-up; what it has learned is where this starts. Weights and
    predictions are those that the template would give (to 1e-8 in float64). Memory is that of the beliefs, 8 F² bytes
    per kernel and drift, and ``WORK_BYTES`` of :mod:`iegp.fleet.pytorch.rows`.
    :meth:`to_model` turns it into an estimator again.
    """

    KEY = "stream"

    def __init__(self, template: Template, *, dtype: str = "float64", device: str = "cuda") -> None:
        self.fleet = TorchFleet(template, [self.KEY], dtype=dtype, device=device)
        self._shell = Shell(template)

    def learn(self, X: Any, y: Any, level: float | None = None) -> FleetRun:
        """Predict each row, then learn it, in order; see :meth:`TorchFleet.learn`."""
        return self.fleet.learn(self.KEY, X, y, level)

    def predict(self, X: Any, return_std: bool = False) -> Float | tuple[Float, Float]:
        """Predictive mean; with ``return_std`` also the standard deviation *of y*."""
        return self.fleet.predict(self.KEY, X, True) if return_std else self.fleet.predict(self.KEY, X)

    def predict_dist(self, X: Any) -> Mixture:
        """The whole predictive distribution of each row. Changes nothing."""
        return self.fleet.predict_dist(self.KEY, X)

    @property
    def expert_weights_(self) -> Float:
        """(n_experts,): how much each expert is trusted now."""
        weights: Float = self.fleet.expert_weights_[0]
        return weights

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned, those of the template included."""
        return self.fleet.n_samples_seen_[self.KEY]

    def to_model(self) -> Any:
        """An estimator of the template's class that has learned all this."""
        model = self.fleet.online(self.KEY)
        return self._shell.filled(model, model.state)

    def gram(self, X: Any, y: Any, into: Gram | None = None) -> Gram:
        """Sums of the rows' features for every kernel, without learning them; ``into`` is added to, in place.

        O(F²) per row and kernel, nearly all of it in one large product per kernel.
        """
        fleet, basis = self.fleet, self.fleet.basis
        x, targets = fleet.standardised(X, y)
        n_kernels, n_features = len(basis.slopes), basis.n_features
        if into is None:
            shape, n_outputs = (n_kernels, n_features), targets.shape[1]
            into = Gram(x.new_zeros((*shape, n_features)), x.new_zeros((*shape, n_outputs)), x.new_zeros(n_outputs), 0)
        for i in range(0, len(x), GRAM_ROWS):
            rows, labels = x[None, i : i + GRAM_ROWS], targets[i : i + GRAM_ROWS]
            for k in range(n_kernels):
                phi = features(rows, basis.part(k, k + 1), None, torch.float64)[0, 0]
                into.features[k].addmm_(phi.mT, phi)
                into.labels[k].addmm_(phi.mT, labels)
        into.squares.add_(targets.square().sum(0))
        return into._replace(n_rows=into.n_rows + len(x))
