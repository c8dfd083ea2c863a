"""Online PCA: principal components that follow a stream."""

from __future__ import annotations

from dataclasses import dataclass, field

from numpy.typing import ArrayLike
from sklearn.decomposition import IncrementalPCA

from iegp.typing import Float
from iegp_paper.competitors.maps.rows import scaled_rows


@dataclass(eq=False, repr=False, kw_only=True)
class OnlinePCA:
    """Incremental PCA (Ross et al. 2008, scikit-learn's): components are updated with every batch, memory is flat.

    Parameters
    ----------
    n_components : int, default=2
    batch_size : int, default=100
        Rows per update; at least ``n_components``.
    """

    n_components: int = field(default=2, kw_only=False)
    batch_size: int = 100

    def fit_transform(self, X: ArrayLike) -> Float:
        """Learn the rows batch by batch; return all rows on the final components."""
        rows = scaled_rows(X, self.n_components)
        model = IncrementalPCA(self.n_components, batch_size=max(self.batch_size, self.n_components))
        found: Float = model.fit_transform(rows)
        return found
