"""Ensembles too large for one core: one stream, thousands of experts, all on one device."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from iegp._docstrings import fill_docstrings
from iegp._writers import one_writer
from iegp.core.predictive.mixture import Mixture
from iegp.fleet.pytorch.features import features
from iegp.fleet.pytorch.fleet import TorchFleet
from iegp.fleet.run import FleetRun
from iegp.fleet.shared_docs import TORCH
from iegp.fleet.template import Template, UnfittedCopy
from iegp.typing import Float

# Rows per product of features: enough to fill a GPU, half a gigabyte at a thousand features.
GRAM_ROWS = 65536


class Gram(NamedTuple):
    """Sums over rows of features and labels, in standardised units; additive over any parts of a history.

    For evidence and spectra. Not for merging models: sums square the condition number (see
    ``docs/gpu.md``).
    """

    features: Tensor
    """(n_kernels, F, F): sum of phi phi'."""
    labels: Tensor
    """(n_kernels, F, D): sum of phi y'."""
    squares: Tensor
    """(D,): sum of y²."""
    n_rows: int


@fill_docstrings(TORCH)
class TorchEnsemble:
    """One model with any number of experts on a device: a :class:`iegp.fleet.TorchFleet` with a single key.

    Weights and predictions are those of the template (to 1e-8 in float64). Memory is that of the beliefs, 8 F² bytes
    per kernel and drift, and ``WORK_BYTES`` of :mod:`iegp.fleet.pytorch.rows`.

    Parameters
    ----------
    template : IEGPRegressor
        A model past its warm-up, the state to start from; it is not changed.
    {dtype}
    {device}

    {example_of_template}
    >>> from iegp.parallel import TorchEnsemble
    >>> ensemble = TorchEnsemble(template, device="cpu")
    >>> run = ensemble.learn(X, y)
    >>> run.mean.shape, ensemble.to_model().n_samples_seen_
    ((200,), 400)
    """

    KEY = "stream"

    def __init__(self, template: Template, *, dtype: str = "float64", device: str = "cuda") -> None:
        self.fleet = TorchFleet(template, [self.KEY], dtype=dtype, device=device)
        self._unfitted = UnfittedCopy(template)

    @one_writer
    def learn(self, X: Any, y: Any, level: float | None = None) -> FleetRun:
        """Predict each row, then learn it, in order; see :meth:`TorchFleet.learn`.

        {parameters}

        {returns_run}
        """
        return self.fleet.learn(self.KEY, X, y, level)

    def predict(self, X: Any, return_std: bool = False) -> Float | tuple[Float, Float]:
        """Predict the targets, each row as if it came next. Changes nothing.

        {parameters}

        {returns_means}
        """
        return self.fleet.predict(self.KEY, X, True) if return_std else self.fleet.predict(self.KEY, X)

    def predict_dist(self, X: Any) -> Mixture:
        """Predict the whole distribution of each row's target. Changes nothing.

        {parameters}

        {returns_mixture}
        """
        return self.fleet.predict_dist(self.KEY, X)

    @property
    def expert_weights_(self) -> Float:
        """(n_experts,): current weights of the experts."""
        weights: Float = self.fleet.expert_weights_[0]
        return weights

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned, those of the template included."""
        return self.fleet.n_samples_seen_[self.KEY]

    def to_model(self) -> Any:
        """Make an estimator with the current state.

        Returns
        -------
        IEGPRegressor
            Fitted model, with the parameters of the template.
        """
        model = self.fleet.online(self.KEY)
        return self._unfitted.with_state(model, model.state)

    def gram(self, X: Any, y: Any, into: Gram | None = None) -> Gram:
        """Sum products of features and labels over rows for every kernel, without learning the rows.

        O(F²) per row and kernel, nearly all of it in one large product per kernel.

        Parameters
        ----------
        {X}
        {y}
        into : Gram or None, default=None
            Earlier sums to add to, in place; ``None`` starts from zero.

        Returns
        -------
        Gram
            Sums in standardised units, as tensors on the device.
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
