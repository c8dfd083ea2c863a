"""Products of symmetric matrices of any size."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iegp.core.compute.symmetric import symmetric_times


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 25, 100, 175])
def test_is_the_product(n):
    rng = np.random.default_rng(n)
    matrix, vector, out = rng.normal(size=(n, n)), rng.normal(size=n), np.full(n, np.nan)
    matrix += matrix.T
    symmetric_times(matrix, vector, out)
    assert_allclose(out, matrix @ vector, rtol=1e-12, atol=1e-12)
