"""GPLVM and its variational form, both GPy's, with the settings of the paper."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from iegp._imports import optional
from iegp.typing import Float
from iegp_paper.competitors.maps.rows import principal_map, scaled_rows


@dataclass(eq=False, repr=False, kw_only=True)
class _FromGPy:
    n_components: int = field(default=2, kw_only=False)
    n_inducing: int = 100
    n_steps: int = 1000
    random_state: int = 0

    def fit_transform(self, X: ArrayLike) -> Float:
        """Embed all rows together."""
        rows = scaled_rows(X, 3)
        begin = principal_map(rows, self.n_components)
        # GPy draws inducing points from NumPy's global generator, and emits warnings of its own.
        before = np.random.get_state()  # noqa: NPY002
        np.random.seed(self.random_state)  # noqa: NPY002
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = self._model(_gpy(), rows, begin, min(self.n_inducing, len(rows)))
                model.optimize(max_iters=self.n_steps, messages=False)
        finally:
            np.random.set_state(before)  # noqa: NPY002
        return np.array(self._positions(model), dtype=np.float64)

    def _model(self, gpy: Any, rows: Float, begin: Float, n_inducing: int) -> Any:
        raise NotImplementedError

    def _positions(self, model: Any) -> Any:
        raise NotImplementedError


class GPLVM(_FromGPy):
    """Gaussian process latent variable model (Lawrence 2005, 2007), sparse with inducing points; GPy's.

    Parameters
    ----------
    n_components : int, default=2
    n_inducing, n_steps : int, default=100 and 1000
        Inducing points, and most steps of the optimiser (IE-GP paper).
    random_state : int, default=0
        Which rows become inducing points.
    """

    def _model(self, gpy: Any, rows: Float, begin: Float, n_inducing: int) -> Any:
        kernel = gpy.kern.RBF(self.n_components)
        return gpy.models.SparseGPLVM(rows, self.n_components, X=begin, kernel=kernel, num_inducing=n_inducing)

    def _positions(self, model: Any) -> Any:
        return model.X.values


class VarGPLVM(_FromGPy):
    """Bayesian GPLVM (Titsias & Lawrence 2010; Damianou et al. 2016): latent positions integrated out; GPy's.

    Parameters are those of :class:`GPLVM`; the map is the posterior mean. Length scales per latent dimension (ARD), as
    in the original.
    """

    def _model(self, gpy: Any, rows: Float, begin: Float, n_inducing: int) -> Any:
        kernel = gpy.kern.RBF(self.n_components, ARD=True)
        return gpy.models.BayesianGPLVM(rows, self.n_components, X=begin, kernel=kernel, num_inducing=n_inducing)

    def _positions(self, model: Any) -> Any:
        return model.X.mean.values


def _gpy() -> Any:
    return optional("GPy", "GPLVM")
