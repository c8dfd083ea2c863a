"""Online ensemble GP regression as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from iegp._docstrings import entries, fill_docstrings
from iegp._writers import one_writer
from iegp.core import model as online
from iegp.core.changes import Change
from iegp.core.editing.merge import merged, unlearned
from iegp.core.editing.to_drifting import to_drifting
from iegp.core.predictive.mixture import Mixture
from iegp.core.settings import NoiseSetting, check_whole
from iegp.errors import InputError
from iegp.estimators import parameters
from iegp.estimators.checks import check_level
from iegp.estimators.defaults import (
    CONFORMAL_LEVELS,
    DRIFT_VARS,
    NOISE_FORGETTING,
    REGRESSION,
)
from iegp.estimators.function_samples import FunctionSamples
from iegp.estimators.regressor_base import NumberEstimator
from iegp.estimators.shared_docs import CONSTRUCTOR, METHODS
from iegp.evaluate.runs import LEVEL, PrequentialRun
from iegp.fleet import Fleet
from iegp.labels import Labels, NumberLabels
from iegp.preprocessing.encoder import Column
from iegp.typing import Float

DOCS = (
    CONSTRUCTOR
    | METHODS
    | entries("""
y : array-like (n,) or (n, D)
    Targets: one number per row, or D of them.
level : float, default=0.95
    Probability of the central interval; with ``conformal="online"`` one of ``conformal_levels``.
sample_weight : array-like (n,), default=None
    How much each row counts, from 0 up: its noise is divided by it. 0 is predicted and not learned. Predictions
    and scores are for weight 1, lags see all labels. Not with ``delay``.
""")
)


@fill_docstrings(DOCS)
@dataclass(eq=False, repr=False, kw_only=True)
class IEGPRegressor(MultiOutputMixin, NumberEstimator):  # type: ignore[misc]
    """Gaussian-process regression that learns from a stream, row by row, and predicts distributions.

    An ensemble of random-feature GP experts predicts each row before its label is used; the weights of the experts
    follow from their predictions. Cost per row and memory are constant. The defaults need no tuning: scaling, kernels
    and noise are fitted to the first ``warmup`` rows, and experts that drift at different speeds follow changes.

    Parameters
    ----------
    kernels : list of kernels, default=None
        From :mod:`iegp.kernels`: ``RBF``, ``Matern``, ``Laplace``, ``Cauchy``, each with a ``length_scale`` in units of
        the standardised inputs: a number, one per column, or a word. ``"dimension"`` is sqrt(number of columns),
        ``"evidence"`` fits one number to the warm-up rows, ``"per-dimension"`` one per column; ``stretch`` multiplies
        it. ``None`` is the default dictionary (``docs/default-model.md``), whose linear terms are left out where they
        would see more than 1,000 columns, lags counted.
    n_frequencies : int, default=75
        Random frequencies per expert; the expert has twice as many features, F. Cost per row is O(F²) per expert.
    {features}
    drift_var : float, sequence or None, default=None
        Variance of the random walk of an expert's parameters, per row, in ``drift_units``; 0 is a static expert. With a
        sequence every kernel is combined with every drift. ``None`` is (0, 1e-4, 5e-3) in units of the prior and
        (0, 1e-3, 1e-2, 1e-1) in units of the target.
    drift_units : {"target", "prior"} or None, default=None
        Whether ``drift_var`` is a variance of the standardised target, or a share of each term's initial prior
        variance, per row. ``None`` is ``"prior"`` for the default model (``kernels=None`` with stacking weights), else
        ``"target"``.
    {drift_per}
    {time_column}
    {weights}
    {switch_prob}
    stacking_rate : float, default=0.05
        With stacking and exponentiated gradients: how fast weights move, in (0, 1]; 1 is Bayes with stacking.
    {shutdown}
    prior_var : "evidence" or float, default="evidence"
        Variance of an expert's function, in units of the standardised target; ``"evidence"`` fits it to the warm-up
        rows.
    warmup : int, default=1000
        Rows from which scaling and hyperparameters are found; they are refitted at 8, 12, ..., 32, 64, 128, ...
        rows on the way.
        0 fits nothing: only for fixed kernels and variances on data that are standardised already.
    {learn_warmup}
    {delay}
    lags : int, sequence of int, "auto" or None, default=None
        Labels of earlier rows as further inputs: a number asks for so many of the newest that are known when a row is
        predicted, a sequence such as (1, 2, 24) names them by how many rows they are back (more than ``delay``).
        ``"auto"`` is 3, and at the end of the warm-up seasonal lags where the autocorrelation of its labels shows them
        and the evidence gains; ``lags_`` says which. Terms of kernels see lags unless they say ``lags=False``. ``None``
        is ``"auto"`` for the default model (``kernels=None`` with stacking weights), else 0.
    standardize : bool, default=True
        Whether columns and targets are brought to mean 0 and variance 1 by the warm-up rows.
    {random_state}
    {n_jobs}
    noise_var : "evidence" or float, default="evidence"
        Variance of the noise, as ``prior_var``.
    noise_forgetting : None, float or sequence, default=(None, (0.75, 5.0), (0.96, 20.0))
        ``None`` keeps the noise fixed; a number in (0, 1] learns it while forgetting by that factor per row (1 forgets
        nothing), starting from ``noise_var``. Inside a sequence, a pair (forgetting, degrees of freedom) is
        heavy-tailed noise that single outliers do not inflate. With a sequence every (kernel, drift) has one
        expert for each entry; they share their parameters and cost almost nothing.
    robust : bool, default=None
        Whether a glitch is left out: a label more than eight predictive standard deviations from its prediction is
        predicted and scored but not learned, unless the row before has one too, which is a change. Where such labels
        have mostly been changes, the first one is learned at once. ``None`` is true with ``weights="stacking"`` and
        false with the paper's weights. With a ``delay`` the answer that was given is judged. Prior variances that
        evidence finds are bounded too.
    spread : bool, default=None
        Whether one more factor on the scales of all experts is learned, slowly, from how well the mixture predicts: a
        mixture of experts that are each as wide as their errors is wider than its own (``docs/design.md``). Means,
        weights and what the experts learn are not touched. ``None`` is the value of ``robust``.
    conformal : {"online"} or None, default=None
        ``"online"`` keeps the long-run coverage of intervals at their level, whatever the stream does: their ends on
        the scale of the ensemble's quantiles follow how often labels were missed (``docs/how-to/coverage.md``). Means,
        standard deviations and everything learned stay as they are. ``None`` takes the quantiles as they are.
    conformal_levels : float or sequence of float, default=(0.95,)
        Only with ``conformal="online"``: the levels that are kept, from 0.1 to 0.999. Intervals of other levels are
        refused.

    Attributes
    ----------
    expert_weights_ : ndarray (n_experts,)
        Current weights of the experts.
    experts_ : table of experts
        Kernel, frequencies, prior_var, noise_var, drift_var of each, in the order of ``expert_weights_``.
    spread_ : ndarray (n_outputs,)
        Factor on the squared scales of all experts, for each output; ones with ``spread=False``.
    n_samples_seen_ : int
        Rows learned so far.
    changes_, n_changes_ : list of Change, int
        The last 100 changes of the stream that were noticed, with ``row``, ``time``, ``kind`` ("level", "noise",
        "relation") and ``strength``; and how many there were (``docs/changes.md``).
    n_features_in_, feature_names_in_
        As in scikit-learn.
    model_, labels_, single_output_
        For code that builds on an estimator: the model of the core (:class:`iegp.core.model.Online`), the codec of its
        labels (:mod:`iegp.labels`), and whether y is one-dimensional.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import IEGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(400)
    >>> model = IEGPRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.1), bool(0.05 < std[0] < 0.2)
    (True, True)
    """

    _codec, _label = NumberLabels, "one number (or one row of numbers)"
    _likelihoods, _default = ("gaussian",), REGRESSION

    noise_var: float | str = "evidence"
    noise_forgetting: NoiseSetting | Sequence[NoiseSetting] = NOISE_FORGETTING
    robust: bool | None = None
    spread: bool | None = None
    conformal: str | None = None
    conformal_levels: float | Sequence[float] = CONFORMAL_LEVELS
    labels_: NumberLabels = field(init=False)

    @property
    def spread_(self) -> Float:
        """Factor on the squared scales of all experts, for each output; ones with ``spread=False``."""
        return np.array(self._fitted().state.spread)

    # -- learning --------------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, time: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in order.

        {parameters}

        {returns_self}
        """
        return self._fit(X, y, None, time)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        check_input: bool = True,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn more rows, in order. Splitting a stream into calls differently gives the same model (to 1e-8).

        Constructor arguments are read when a model starts: ``set_params`` afterwards takes effect at the next ``fit``.

        Parameters
        ----------
        {X}
        {y}
        check_input : bool, default=True
            ``False`` skips all checks, on a model that has learned before: X is a C-contiguous float64 array (n, d), y
            a float64 array (n,) or (n, D), all finite.
        {time}
        {sample_weight}

        {returns_self}
        """
        return self._partial_fit(X, y, None, check_input, time, sample_weight)

    def prequential(
        self,
        X: ArrayLike,
        y: ArrayLike,
        level: float = LEVEL,
        check_input: bool = True,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> PrequentialRun:
        """Predict each row, then learn it (test-then-train): one pass over a stream.

        The prediction of a row does not use its label. The first rows of a new model are predicted before the units of
        y are known. Several calls, for each row or block of a stream, give the same predictions as one;
        :meth:`PrequentialRun.concatenate` joins their results.

        {parameters}

        Returns
        -------
        PrequentialRun
            With ``mean``, ``std``, ``lower`` and ``upper`` in the shape and units of y, ``log_score`` (n,) and
            ``weights`` (n, n_experts).

        Examples
        --------
        >>> import numpy as np
        >>> from iegp import IEGPRegressor
        >>> from iegp.kernels import RBF
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-3, 3, size=(400, 1))
        >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(400)
        >>> run = IEGPRegressor([RBF(1.0)], n_frequencies=10, warmup=50, random_state=0).prequential(X, y)
        >>> run.mean.shape, run.nmse < 0.1
        ((400,), True)
        """
        return self._run(X, y, None, level, check_input, time, sample_weight)

    def warm_up(self, X: ArrayLike, y: ArrayLike, time: ArrayLike | None = None) -> Self:
        """Forget everything, then set scaling and hyperparameters from these rows, once.

        The rows are also learned, unless ``learn_warmup=False`` (the paper's protocol). The warm-up is over afterwards.

        {parameters}

        {returns_self}
        """
        return self._warm_up(X, y, None, time)

    # -- histories -------------------------------------------------------------------------------------------------

    @one_writer
    def merge(self, other: IEGPRegressor, since: IEGPRegressor | None = None) -> Self:
        """Add the data that another model has learned, as if this model had learned its rows too.

        Exact, for any order of rows, for static experts (``drift_var=0.0``) with ``weights="bayes"``, ``shutdown=0.0``
        and ``noise_forgetting=None`` or ``1.0``; other models raise an error. Both models must be copies of one that
        was warmed up and had learned nothing (``learn_warmup=False``), unless ``since`` is given. Merging two copies of
        a model that had learned rows without ``since`` counts these rows twice; this cannot be detected. The cost does
        not depend on the number of rows.

        Parameters
        ----------
        other : IEGPRegressor
            The other model; it is not changed.
        since : IEGPRegressor, default=None
            The model that both were copied from, as it was then: the rows it had learned count once.

        {returns_self}
        """
        self._check_learns()
        self._check_relative(other, "the other model")
        if since is not None:
            self._check_relative(since, "since")
        self.model_ = merged(self.model_, other.model_, None if since is None else since.model_)
        return self

    @one_writer
    def unlearn(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Remove rows from the model exactly, as if they had not been learned; for the same models as :meth:`merge`.

        The results of the warm-up (scaling, hyperparameters) do not change. An error where the rows were certainly not
        learned, and where the remaining information would be lost in rounding. Rows that were not learned but are
        similar to learned ones cannot be detected.

        Parameters
        ----------
        X : array-like (n, d)
            Rows, exactly as they were learned.
        y : array-like (n,) or (n, D)
            Their targets.

        {returns_self}
        """
        model = self._fitted()
        rows, labels, _ = self._continue(X, y, None, check_input=True)
        self.model_ = unlearned(model, self._encoded(rows), labels)
        return self

    def go_live(
        self,
        *,
        drift_var: float | Sequence[float] = DRIFT_VARS["target"],
        weights: str = "stacking",
        noise_forgetting: NoiseSetting | Sequence[NoiseSetting] = NOISE_FORGETTING,
        drift_units: str = "target",
    ) -> IEGPRegressor:
        """Make a model with drifting experts, which start from the static posteriors of this one, to follow a stream.

        For static models past their warm-up, with any ``weights``. Kernels, scaling and all other settings are kept. A
        tenth of the weight is spread evenly over the new experts, so that each can gain weight. This model is not
        changed.

        Parameters
        ----------
        drift_var : float or sequence, default=(0.0, 1e-3, 1e-2, 1e-1)
            As in the constructor: variance per row, in ``drift_units``.
        weights : {"stacking", "bayes", "switching", "exponentiated-gradient"}, default="stacking"
            As in the constructor.
        noise_forgetting : None, float or sequence, default=(None, (0.75, 5.0), (0.96, 20.0))
            As in the constructor.
        drift_units : {"target", "prior"}, default="target"
            As in the constructor; the prior variances are those that this model started with.

        Returns
        -------
        IEGPRegressor
            The drifting model.
        """
        model = self._fitted()
        changes = {
            "drift_var": drift_var,
            "weights": weights,
            "noise_forgetting": noise_forgetting,
            "drift_units": drift_units,
        }
        live = type(self)(**(self.get_params(deep=False) | changes))
        # Settings are those the model was started with; parameters may have been set since.
        wanted = live.settings(model.n_outputs)
        changed = {name: getattr(wanted, name) for name in changes}
        for name in ("labels_", "_time_place", "_sources", "_encoder"):
            setattr(live, name, getattr(self, name))
        live.adopt(to_drifting(model, replace(model.settings, **changed)), getattr(self, "feature_names_in_", None))
        return live

    @classmethod
    def from_fleet(cls, fleet: Fleet, key: str | int) -> Self:
        """Make an estimator of the model of one key of a fleet. The fleet is not changed.

        Parameters
        ----------
        fleet : Fleet
            The fleet.
        key : str or int
            A key of the fleet.

        Returns
        -------
        IEGPRegressor
            Fitted model, independent of the fleet.
        """
        model = fleet.online(key)
        estimator = cls(**parameters.from_settings(model.settings, cls._get_param_names()))
        estimator.labels_ = NumberLabels(model.n_outputs, fleet.single_output)
        estimator.adopt(model, fleet.feature_names)
        return estimator

    @property
    def changes_(self) -> list[Change]:
        """The last changes of the stream that were noticed, 100 at most, newest last; none during the warm-up."""
        _, changes = online.followed(self._fitted())
        return [] if changes is None else changes.since(0)

    @property
    def n_changes_(self) -> int:
        """How many changes were noticed, also those that are no longer listed."""
        _, changes = online.followed(self._fitted())
        return 0 if changes is None else changes.n_changes

    @property
    def single_output_(self) -> bool:
        """Whether y is one-dimensional."""
        return self.labels_.single_output

    # -- predicting ------------------------------------------------------------------------------------------------

    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: Literal[False] = ...,
        check_input: bool = ...,
        time: ArrayLike | None = ...,
        *,
        horizon: int | None = ...,
        return_cov: Literal[False] = ...,
        noise: bool = ...,
    ) -> Float: ...
    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: Literal[True],
        check_input: bool = ...,
        time: ArrayLike | None = ...,
        *,
        horizon: int | None = ...,
        return_cov: bool = ...,
        noise: bool = ...,
    ) -> tuple[Float, Float]: ...
    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = ...,
        check_input: bool = ...,
        time: ArrayLike | None = ...,
        *,
        horizon: int | None = ...,
        return_cov: Literal[True],
        noise: bool = ...,
    ) -> tuple[Float, Float]: ...
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        check_input: bool = True,
        time: ArrayLike | None = None,
        *,
        horizon: int | None = None,
        return_cov: bool = False,
        noise: bool = True,
    ) -> Float | tuple[Float, Float]:
        """Predict the targets, each row as if it came next. Changes nothing.

        Parameters
        ----------
        {X}
        return_std : bool, default=False
            Also return the standard deviation *of y*, observation noise included.
        {check_input}
        {time_to_predict}
        {horizon}
        return_cov : bool, default=False
            Also return the covariance between the targets of all rows, with the squares of the standard deviations on
            its diagonal. Not together with ``return_std`` or times.
        noise : bool, default=True
            ``False`` returns the standard deviation, or covariance, of the function without the observation noise. Not
            together with times.

        Returns
        -------
        ndarray, or a pair of them
            Predictive means in the shape and units of y, and standard deviations if ``return_std``, or the covariance
            (n, n) or (n, n, D) if ``return_cov``.
        """
        dist = self.predict_dist(X, check_input, time, horizon=horizon)
        if return_cov and return_std:
            raise InputError(
                "return_std=True and return_cov=True exclude each other; ask for the covariance alone, whose diagonal "
                "has the variances"
            )
        if not (return_cov or return_std):
            return dist.mean
        if noise and return_std:
            mean, var = dist.moments()
            return mean, np.sqrt(var)
        rows = self._rows_of_functions(X, check_input, time)
        if return_std:
            return dist.mean, self._shaped(online.function_std(self.model_, rows, horizon))
        return dist.mean, self._shaped(online.covariance(self.model_, rows, horizon, noise))

    def predict_dist(
        self, X: ArrayLike, check_input: bool = True, time: ArrayLike | None = None, *, horizon: int | None = None
    ) -> Mixture:
        """Predict the whole distribution of each row's target. Changes nothing.

        {parameters: time_to_predict}

        Returns
        -------
        Mixture
            One distribution per row, in the units of y, with mean, std, quantile, interval, cdf, logpdf, crps and
            sample.

        {example_of_wave}
        >>> model = IEGPRegressor([RBF(1.0)], n_frequencies=10, random_state=0).fit(X, np.sin(X[:, 0]))
        >>> lower, upper = model.predict_dist([[0.0], [1.0]]).interval(0.9)
        >>> bool((lower < upper).all())
        True
        """
        rows, times = self._rows_to_predict(X, check_input, time)
        dist = online.predict(self.model_, rows, horizon, times)
        return Mixture.unchecked(dist.weights, dist.loc, dist.scale, dist.dof, self.single_output_)

    def predict_interval(
        self,
        X: ArrayLike,
        level: float = LEVEL,
        check_input: bool = True,
        time: ArrayLike | None = None,
        *,
        horizon: int | None = None,
    ) -> tuple[Float, Float]:
        """Predict an interval for each row's target, as if the row came next. Changes nothing.

        With ``conformal="online"`` its ends are those that keep their level in :meth:`prequential`; else it is the
        central interval of :meth:`predict_dist`.

        {parameters: time_to_predict}

        Returns
        -------
        lower, upper : ndarray
            Ends of the intervals, in the shape and units of y.

        {example_of_wave}
        >>> model = IEGPRegressor([RBF(1.0)], n_frequencies=10, conformal="online", random_state=0)
        >>> lower, upper = model.fit(X, np.sin(X[:, 0])).predict_interval([[0.0], [1.0]])
        >>> bool((lower < upper).all())
        True
        """
        rows, times = self._rows_to_predict(X, check_input, time)
        check_level(level)
        lower, upper = online.interval(self.model_, online.predict(self.model_, rows, horizon, times), float(level))
        return (lower[:, 0], upper[:, 0]) if self.single_output_ else (lower, upper)

    def sample_functions(
        self, n_samples: int = 1, random_state: int | np.random.Generator | None = None, *, horizon: int | None = None
    ) -> FunctionSamples:
        """Draw functions from the posterior: an expert by its weight, then its coefficients. Changes nothing.

        Parameters
        ----------
        n_samples : int, default=1
            Number of functions.
        random_state : int, numpy.random.Generator or None, default=None
            Seed or generator; ``None`` draws differently every time.
        horizon : int, default=None
            As in :meth:`predict`.

        Returns
        -------
        FunctionSamples
            Callable on any X: values (n_samples, n) or (n_samples, n, D), without observation noise. The model as it is
            now: what it learns later does not change them.

        {example_of_wave}
        >>> model = IEGPRegressor([RBF(1.0)], n_frequencies=10, random_state=0).fit(X, np.sin(X[:, 0]))
        >>> functions = model.sample_functions(5, random_state=0)
        >>> functions(X).shape
        (5, 200)
        """
        model = self._fitted()
        rng = np.random.default_rng(random_state)
        check_whole("n_samples", n_samples, 1)
        return FunctionSamples(self.snapshot(), online.draw(model, n_samples, horizon, rng), horizon)

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: int | np.random.Generator | None = 0) -> Float:
        """Draw targets of all rows together, observation noise included. Changes nothing.

        Parameters
        ----------
        {X}
        n_samples : int, default=1
            Number of draws.
        random_state : int, numpy.random.Generator or None, default=0
            Seed or generator; ``None`` draws differently every time.

        Returns
        -------
        ndarray (n, n_samples) or (n, D, n_samples)
            Draws, in the units of y; shaped as by scikit-learn's ``GaussianProcessRegressor``.
        """
        rng = np.random.default_rng(random_state)
        samples = self.sample_functions(n_samples, rng)
        return np.moveaxis(samples.targets(X, rng), 0, -1)

    # -- private ---------------------------------------------------------------------------------------------------

    def _rows_of_functions(self, X: ArrayLike, check_input: bool = True, time: ArrayLike | None = None) -> Float:
        """Rows (n, d) that are predicted together, and so have no times."""
        rows, times = self._rows_to_predict(X, check_input, time)
        if times is not None:
            raise InputError(
                "rows at given times are predicted one by one; leave out return_cov=True and noise=False, or times"
            )
        return rows

    def _shaped(self, values: Float) -> Float:
        return values[..., 0] if self.single_output_ else values

    def _check_relative(self, other: object, name: str) -> None:
        """Check a model that may share an ancestor with this one."""
        self._fitted()
        if not isinstance(other, IEGPRegressor):
            raise InputError(f"{name} is a {type(other).__name__}; only an IEGPRegressor can be merged")
        check_is_fitted(other)
        names, theirs = (list(getattr(model, "feature_names_in_", ())) for model in (self, other))
        if names != theirs or self.single_output_ != other.single_output_:
            raise InputError(f"cannot merge: {name} differs in the names of its columns or the shape of y")
        if _columns_of(self) != _columns_of(other):
            raise InputError(f"cannot merge: {name} has seen other categories or columns; warm up with all of them")

    def _likelihood(self, n_outputs: int) -> str:
        del n_outputs
        return "gaussian"

    def _first_codec(self, labels: Labels, extra: Any) -> NumberLabels:
        del extra
        return NumberLabels.of(labels)


def _columns_of(model: IEGPRegressor) -> list[Column] | None:
    return None if model._encoder is None else model._encoder.columns
