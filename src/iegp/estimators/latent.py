"""IE-GPLVM as a scikit-learn transformer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array

from iegp._docstrings import entries, fill_docstrings
from iegp._writers import one_writer
from iegp.core.features import fourier_rows
from iegp.core.kernels import RBF, Kernel
from iegp.core.latent import embedder as latent
from iegp.core.latent import model as latent_online
from iegp.core.latent.embedder import EmbeddedRows, Embedder
from iegp.core.latent.experts import InitialMap
from iegp.core.latent.memory import digests_of
from iegp.core.latent.model import LatentOnline
from iegp.core.latent.settings import LatentSettings
from iegp.errors import InputError
from iegp.estimators import parameters
from iegp.estimators.base import ModelEstimator
from iegp.estimators.checks import check_x_with_gaps, unchanged_on_error
from iegp.estimators.initial_map import initial_map
from iegp.estimators.shared_docs import METHODS
from iegp.storage import latent_state
from iegp.storage.memory_limit import describe, expected_map_bytes
from iegp.typing import Float, Int

# Short, compared with the spread of the initial map: with these and 75 frequencies nearest neighbours on the map have
# the same class more often than with the paper's seven kernels and fifty frequencies, for less time. Still shorter ones
# lower that error further, but only by placing every row at the position of a row of the warm-up.
LATENT_KERNELS = tuple(RBF(2.0 ** (k / 4.0)) for k in range(-6, -3))

DOCS = entries("""
X : array-like (n, d)
    Rows; NaN marks a missing entry.
y : object, default=None
    Ignored.
""") | {
    "returns_self": METHODS["returns_self"],
    "returns_positions": """\
Returns
-------
ndarray (n, n_components)
    Positions by the expert with the largest weight after the last row.""",
}


@fill_docstrings(DOCS)
@dataclass(eq=False, repr=False, kw_only=True)
class IEGPLVM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ModelEstimator):  # type: ignore[misc]
    """A map of high-dimensional rows that keeps learning from a stream.

    An ensemble of Gaussian process latent variable models on random features, one per kernel. The first ``warmup`` rows
    are placed together; every later row is placed where each expert finds it most probable, starting from the positions
    of its nearest neighbours, and then learned. The cost of a row does not grow with the stream, except for the search
    for neighbours, which grows with its logarithm. Memory grows by a few hundred bytes per row unless ``max_stored``
    bounds it.

    Rows are centred and divided by *one* scale, that of the warm-up rows: bring columns in different units to a common
    scale before. Entries may be missing (NaN): the observed ones determine the position.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    kernels : list of kernels, default=None
        One expert each, with length scales in units of the latent space; ``None`` is RBF of length scales
        0.35, 0.42 and 0.5. The paper's are in :func:`iegp.presets.ie_gplvm`.
    n_frequencies : int, default=75
        Random frequencies per expert. More show finer structure; the time for a row grows with their square.
    features : {"random", "orthogonal"}, default="random"
        How frequencies are drawn. In two dimensions independent ones make better maps.
    warmup : int, default=500
        Rows that are placed together. Until then results come from a provisional fit to the rows so far.
    weights : {"bayes", "switching", "stacking", "exponentiated-gradient"}, default="bayes"
        How experts are weighted: the posterior probability, a Markov chain over experts, or the best mixture, by
        soft-Bayes or by exponentiated gradients.
    switch_prob : float or array (n_experts, n_experts), default=0.01
        For ``weights="switching"``: probability of a change at a row, or a matrix (row = from, column = to).
    stacking_rate : float, default=0.1
        For stacking and exponentiated gradients: how fast weights move, in (0, 1].
    shutdown : float, default=0.0
        For ``weights="bayes"``: an expert with a smaller weight is dropped for good.
    drift_var : float, default=0.0
        Variance of the random walk of every coefficient of an expert, per row, in units of the scaled rows; above zero
        the map follows data that drift (the paper's Remark 4).
    forgetting : float, default=1.0
        Factor per row by which earlier rows count less, at least 0.001; below one the map follows data that drift. Not
        both.
    weigh_warmup : bool, default=False
        Whether the weights count the warm-up rows, as the paper defines them: the probability of an expert given *all*
        rows so far. It decides for one expert at once, since the warm-up rows hold thousands of entries. Otherwise all
        experts are alike after the warm-up.
    init : {"tsne", "pca"} or array (warmup, n_components), default="tsne"
        Initial map of the warm-up rows, from which all experts start.
    start_spread : float, default=6.0
        Spread of the initial map, in the units of the kernels' length scales.
    latent_var : float, default=40.0
        Variance of the latent prior around zero.
    chain : bool, default=True
        Whether each expert starts from the result of the one before it. Either way the maps are aligned.
    n_neighbors : int, default=3
        Neighbours. Their positions are candidates for the start of a row; the best one is improved.
    n_steps : int, default=3
        Gauss-Newton steps per row.
    max_iter : int or None, default=None
        The most steps per row until its position converges, in place of ``n_steps``.
    warmup_iter : int, default=60
        L-BFGS iterations per expert on the warm-up rows.
    max_stored : int or None, default=None
        Largest number of rows that are stored as neighbours; at least ``warmup``. When it is reached, every second one
        is dropped, so that older rows become sparser. ``None`` stores all.
    random_state : int, RandomState or None, default=None
        Seed of the frequencies (and of t-SNE).

    Attributes
    ----------
    embedding_ : ndarray (n_stored, n_components)
        Positions of the stored rows by the expert with the largest weight *now*, each as it was placed when learned.
    stitched_embedding_ : ndarray (n_stored, n_components)
        The paper's output: positions of the stored rows, each by the expert that was best when the row was learned.
    expert_embeddings_ : ndarray (n_experts, n_stored, n_components)
        Positions of the stored rows by every expert, each as it was placed when learned.
    chosen_experts_ : ndarray (n_stored,)
        The expert whose position ``stitched_embedding_`` has, for each stored row.
    stored_rows_ : ndarray (n_stored,)
        Numbers of the stored rows in the stream; all of them unless ``max_stored`` was reached.
    expert_weights_ : ndarray (n_experts,)
        Current weights of the experts.
    n_iter_ : int
        The most steps that a row takes: ``max_iter``, or ``n_steps`` without it. scikit-learn asks for it.
    noise_var_, prior_var_ : ndarray (n_experts,)
        Variances fitted to the warm-up rows, in units of the scaled rows.
    n_samples_seen_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import IEGPLVM
    >>> from iegp.kernels import RBF
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 300)
    >>> ring = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle)], axis=1)
    >>> model = IEGPLVM(kernels=[RBF(1.0), RBF(3.0)], n_frequencies=20, warmup=100, random_state=0)
    >>> model.fit_transform(ring[:200]).shape
    (200, 2)
    >>> model.partial_fit(ring[200:]).n_samples_seen_
    300
    >>> back, std = model.inverse_transform(model.transform(ring[:5]), return_std=True)
    >>> bool(np.abs(back - ring[:5]).max() < 0.3)
    True
    >>> model.expert_embeddings_.shape, model.chosen_experts_.shape
    ((2, 300, 2), (300,))
    """

    _part, _storage = "latent", latent_state

    n_components: int = field(default=2, kw_only=False)
    kernels: Kernel | list[Kernel] | tuple[Kernel, ...] | None = None
    n_frequencies: int = 75
    features: str = "random"
    warmup: int = 500
    weights: str = "bayes"
    switch_prob: float | ArrayLike = 0.01
    stacking_rate: float = 0.1
    shutdown: float = 0.0
    drift_var: float = 0.0
    forgetting: float = 1.0
    weigh_warmup: bool = False
    init: str | ArrayLike = "tsne"
    start_spread: float = 6.0
    latent_var: float = 40.0
    chain: bool = True
    n_neighbors: int = 3
    n_steps: int = 3
    max_iter: int | None = None
    warmup_iter: int = 60
    max_stored: int | None = None
    random_state: int | np.random.RandomState | None = None
    model_: LatentOnline = field(init=False)

    # -- learning --------------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Forget everything, then learn the rows of X in order.

        {parameters}

        {returns_self}
        """
        del y
        self._restart(X)
        return self

    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn more rows, in order.

        Splitting a stream into calls differently gives the same map to 1e-8 (a tie between two starting points, equal
        up to rounding, may be resolved either way); with ``max_iter`` to about 1e-6 of the length scale, where a
        position counts as converged. The same calls give the same map, bit by bit.

        {parameters}

        {returns_self}
        """
        del y
        self._continue(X)
        return self

    def fit_transform(self, X: ArrayLike, y: object = None) -> Float:
        """Forget everything, learn the rows of X, and return their positions.

        {parameters}

        {returns_positions}
        """
        del y
        return self._own_rows(self._restart(X))

    def partial_fit_transform(self, X: ArrayLike, y: object = None) -> Float:
        """Learn more rows and return the positions of *these* rows.

        {parameters}

        {returns_positions}
        """
        del y
        n_before = self.model_.n_seen if self.__sklearn_is_fitted__() else 0
        learned = self._continue(X)
        return self._own_rows(learned)[-(self.n_samples_seen_ - n_before) :]

    # -- the map ---------------------------------------------------------------------------------------------------

    def transform(self, X: ArrayLike) -> Float:
        """Compute the position of each row on the map of the expert with the largest weight. Changes nothing.

        A stored row keeps its position; any other is placed as the next row of the stream would be.

        {parameters}

        Returns
        -------
        ndarray (n, n_components)
            Positions.
        """
        rows = self._rows_to_ask(X)
        model = self._embedder()
        positions: Float = latent.place(model, rows, [model.best_expert])[0][0]
        stored = model.memory.find(digests_of(rows))
        positions[stored >= 0] = model.memory.positions[model.best_expert][stored[stored >= 0]]
        return positions

    def inverse_transform(self, X: ArrayLike, return_std: bool = False) -> Float | tuple[Float, Float]:
        """Predict rows at positions of the map, by the expert with the largest weight. Changes nothing.

        Parameters
        ----------
        X : array-like (n, n_components)
            Positions.
        return_std : bool, default=False
            Also return the standard deviation of each entry, observation noise included.

        Returns
        -------
        ndarray (n, n_columns), or a pair of them
            Predicted rows in the units of the data, and standard deviations if ``return_std``.
        """
        self._fitted()
        positions = check_array(X, dtype=np.float64, order="C", input_name="X")
        if positions.shape[1] != self.n_components:
            raise InputError(
                f"X has {positions.shape[1]} columns, but a position has n_components={self.n_components} coordinates"
            )
        model = self._embedder()
        m = model.best_expert
        phi = fourier_rows(positions, model.experts.frequencies[m])
        scale = model.scaling.scale[0]
        drift = model.settings.drift_var / model.experts.noise_var[m]
        by_inverse = phi @ model.experts.inverse[m]
        mean: Float = (phi if drift > 0.0 else by_inverse) @ model.experts.cross[m] * scale + model.scaling.mean
        if not return_std:
            return mean
        # Features have norm one, so that the drift adds the same everywhere.
        spread = np.sum(by_inverse * phi, axis=1) / model.settings.forgetting + drift
        std = scale * np.sqrt(model.experts.noise_var[m] * (1.0 + np.maximum(spread, 0.0)))
        return mean, np.repeat(std[:, None], mean.shape[1], axis=1)

    def score_samples(self, X: ArrayLike) -> Float:
        """Compute the log predictive density of each row over its observed entries: small for unusual rows.

        A mixture of all experts by their weights, each at the position that it finds most probable.

        {parameters}

        Returns
        -------
        ndarray (n,)
            Log densities.
        """
        return latent.log_densities(self._embedder(), self._rows_to_ask(X))

    @property
    def embedding_(self) -> Float:
        """Positions of the stored rows by the expert with the largest weight now."""
        model = self._embedder()
        return np.array(model.memory.positions[model.best_expert])

    @property
    def stitched_embedding_(self) -> Float:
        """Positions of the stored rows, each by the expert that was best when the row was learned."""
        return self._embedder().memory.stitched.copy()

    @property
    def expert_embeddings_(self) -> Float:
        """Positions of the stored rows by every expert."""
        return self._embedder().memory.positions.copy()

    @property
    def chosen_experts_(self) -> Int:
        """The expert whose position each stored row has in the stitched map; the first of several that agree."""
        memory = self._embedder().memory
        return np.asarray(np.argmax(np.all(memory.positions == memory.stitched, axis=2), axis=0))

    @property
    def stored_rows_(self) -> Int:
        """Numbers of the stored rows in the stream."""
        return self._embedder().memory.numbers.copy()

    @property
    def expert_weights_(self) -> Float:
        """Current weights of the experts."""
        return np.exp(self._embedder().log_weights)

    @property
    def n_iter_(self) -> int:
        """The most steps that a row takes."""
        settings: LatentSettings = self._fitted().settings
        return settings.n_steps if settings.max_iter is None else settings.max_iter

    @property
    def noise_var_(self) -> Float:
        """Noise variance of each expert, in units of the scaled rows."""
        return self._embedder().experts.noise_var.copy()

    @property
    def prior_var_(self) -> Float:
        """Prior variance of each expert, in units of the scaled rows."""
        return self._embedder().experts.prior_var.copy()

    # -- private ---------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    @one_writer
    def _restart(self, X: ArrayLike) -> EmbeddedRows | None:
        with unchanged_on_error(self):
            rows = check_x_with_gaps(self, X, reset=True)
            self.model_ = latent_online.begin(self.settings(), rows.shape[1])
            return latent_online.learn(self.model_, rows, self._initial_map())

    @one_writer
    def _continue(self, X: ArrayLike) -> EmbeddedRows | None:
        if not self.__sklearn_is_fitted__():
            return self._restart(X)
        rows = check_x_with_gaps(self, X)
        return latent_online.learn(self.model_, rows, self._initial_map())

    def _own_rows(self, learned: EmbeddedRows | None) -> Float:
        """Positions of the rows just learned, by the expert with the largest weight."""
        model = self._embedder()
        return np.array((model.memory.positions if learned is None else learned.positions)[model.best_expert])

    def _rows_to_ask(self, X: ArrayLike) -> Float:
        self._fitted()
        return check_x_with_gaps(self, X)

    def _embedder(self) -> Embedder:
        return latent_online.current(self._fitted(), self._initial_map())

    def _initial_map(self) -> InitialMap:
        settings = self.model_.settings
        return initial_map(self.init, settings.n_components, settings.warmup, settings.seed)

    def _requested_memory(self) -> tuple[int, str]:
        settings = self._settings(random_state=0)
        return expected_map_bytes(settings, 1), describe(settings)

    def settings(self) -> LatentSettings:
        """Return the checked constructor arguments.

        Returns
        -------
        LatentSettings
            Settings of the core.
        """
        return self._settings()

    def _settings(self, **instead: object) -> LatentSettings:
        given = self.get_params(deep=False) | instead
        del given["init"]
        return LatentSettings(**parameters.latent_arguments(given, LATENT_KERNELS))
