"""Descriptions of parameters that several estimators share, for :func:`iegp._docstrings.fill_docstrings`."""

from __future__ import annotations

from iegp._docstrings import entries

CONSTRUCTOR = entries("""
features : {"orthogonal", "random"}, default="orthogonal"
    How frequencies are drawn; ``"random"`` is the paper's.
drift_per : {"row", "time"}, default="row"
    Whether experts drift with every row, or with the time that elapses between rows: then ``drift_var`` is per
    median gap of the warm-up rows (without a warm-up, per unit of time), gaps widen intervals, and rows at the same
    time do not drift apart. The learning methods need times: ``time=`` or ``time_column``.
time_column : str or int, default=None
    With ``drift_per="time"``: the column of X, by name or place, that holds the times (numbers, or datetimes of a
    pandas frame). It is no input of the kernels, and ``columns`` of a kernel count the others; to use it as an
    input too, pass ``time=`` and keep it in X.
weights : {"stacking", "bayes", "switching", "exponentiated-gradient"}, default="stacking"
    How experts are weighted: the best mixture, the posterior probability, a Markov chain over experts, or the best
    mixture by exponentiated gradients.
switch_prob : float or matrix, default=0.01
    Only with ``weights="switching"``: probability of leaving the active expert at each row, or the matrix of
    probabilities from expert i (row) to expert j (column).
shutdown : float, default=1e-16
    Only with ``weights="bayes"``: an expert with a smaller weight is dropped for good and costs nothing.
learn_warmup : bool, default=True
    Whether :meth:`warm_up` also learns its rows (the paper does not).
delay : int, default=0
    How many later rows are predicted before the label of a row is known: row t is predicted from the labels of rows
    up to t - 1 - delay. A target k rows ahead is a delay of k - 1.
random_state : int, RandomState or None, default=None
    Seed of the frequencies. Nothing is drawn at random after the first row.
n_jobs : int or None, default=None
    Threads over which kernels are spread when many rows are learned at once; -1 uses all cores. Results do not
    depend on it.
""")

# For labels that depend on a latent function: classes and counts.
LATENT_CONSTRUCTOR = entries("""
kernels : list of kernels, default=None
    From :mod:`iegp.kernels`, as for :class:`IEGPRegressor`. ``None`` is the default dictionary, whose linear terms are
    left out where they would see more than 1,000 columns, lags counted.
drift_units : {"target", "prior"} or None, default=None
    Whether ``drift_var`` is a variance of the latent function, or a share of each term's initial prior variance, per
    row. ``None`` is ``"prior"`` for the default model (``kernels=None`` with stacking weights), else ``"target"``.
lags : int, sequence of int, "auto" or None, default=None
    Labels of earlier rows as further inputs: a number asks for so many of the newest that are known when a row is
    predicted, a sequence such as (1, 2, 24) names them by how many rows they are back (more than ``delay``).
    ``"auto"`` is 3, and seasonal lags that are found in the warm-up rows (``lags_``). Terms of kernels see lags
    unless they say ``lags=False``. Classes enter as indicators, counts as log(1 + y). ``None`` is 3 for the default
    model (``kernels=None`` with stacking weights), else 0.
warmup : int, default=1000
    Rows from which scaling and hyperparameters are found; they are refitted at 32, 64, 128, ... rows on the way.
""")

CLASSIFIER_CONSTRUCTOR = entries("""
n_frequencies : int, default=100
    Random frequencies per expert; the expert has twice as many features, F. Cost per row is O(F²) per expert.
drift_var : float, sequence or None, default=None
    Variance of the random walk of an expert's latent function (its log odds), per row, in ``drift_units``; 0 is a
    static expert. With a sequence every kernel is combined with every drift. ``None`` is (0, 1e-3) in units of the
    prior and (0, 1e-3, 1e-2, 1e-1) in units of the target.
sharpness : float or sequence, default=(1.0, 1.5, 3.0)
    Powers to which an expert's class probabilities are raised, each a further expert that costs almost nothing; a
    mixture of calibrated probabilities is underconfident without them. 1 leaves them as they are (the paper).
stacking_rate : float, default=0.2
    With stacking and exponentiated gradients: how fast weights move, in (0, 1]; 1 is Bayes with stacking.
prior_var : "evidence" or float, default="evidence"
    Variance of an expert's latent function; by Laplace evidence on the warm-up rows, between 1e-4 and 1e4.
integration : {"quadrature", "probit", "monte-carlo"}, default="quadrature"
    How probabilities are integrated over the latent function: by quadrature, by the paper's probit approximation,
    or by 256 fixed draws.
standardize : bool, default=True
    Whether columns are brought to mean 0 and variance 1 by the warm-up rows.
""")

METHODS = entries("""
X : array-like (n, d)
    Rows: numbers, text, dates; NaN or None where a value is missing.
check_input : bool, default=True
    As in :meth:`partial_fit`.
time : array-like (n,), default=None
    With ``drift_per="time"``: when each row came, numbers or datetimes that never go backwards; ``None`` if
    ``time_column`` names them.
horizon : int, default=None
    Predict so many rows ahead, the same for all rows of the call; not together with times. ``None`` is the next
    row whose label can be known; after :meth:`fit`, one of many rows that are predicted at once.
sample_weight : array-like (n,), default=None
    How much each row counts, from 0 to 1e15: its log likelihood is multiplied by it. 0 is predicted and not learned.
    Predictions and scores are for weight 1, lags see all labels. Not with ``delay``.
""")
METHODS |= {
    "path_to_write": """\
path : str or path
    The file; an existing one is replaced.""",
    "path_to_read": """\
path : str or path
    The file.""",
    "time_to_predict": """\
time : array-like (n,), default=None
    With ``drift_per="time"``: when each row comes, not before the last row learned. ``None`` is one step after
    it, or the column that ``time_column`` names.""",
    "returns_self": """\
Returns
-------
self
    This model.""",
    "example_of_wave": """\
Examples
--------
>>> import numpy as np
>>> from iegp import IEGPRegressor
>>> from iegp.kernels import RBF
>>> X = np.linspace(-3, 3, 200)[:, None]""",
}
