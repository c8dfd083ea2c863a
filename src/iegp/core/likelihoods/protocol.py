"""What a likelihood is: the functions that compiled code calls, and what the rest of the package has to know."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from iegp._compile import CallForm, address_of
from iegp._docstrings import entries, fill_docstrings
from iegp.core.compute.tolerances import MAX_LATENT_VAR
from iegp.core.likelihoods import forms
from iegp.core.likelihoods.links import Link
from iegp.core.likelihoods.mixture import Latent, LatentMixture
from iegp.errors import InputError
from iegp.typing import Bool, Float

LARGEST_FLOAT = sys.float_info.max


DOCS = entries("""
n_outcomes : int
    Number of classes; 1 where labels are numbers.
y : ndarray (n, columns)
    First labels; n may be 0.
n_classes : int
    Number of classes; 0 where labels are numbers.
overdispersion : float or None
    Of counts; other likelihoods ignore it.
""") | {"any_labels": "y : ndarray (n, columns)\n    Labels."}


@fill_docstrings(DOCS)
class Likelihood:
    """What a label says about the latent value ``z`` behind it, which is a Gaussian process of the inputs.

    To write one, subclass this: set ``name``, write :meth:`derivatives`, and for labels that are numbers
    :meth:`moments`; for two classes set ``has_classes = True``. Everything else has a default. Then hand an instance to
    an estimator, or to :func:`iegp.likelihoods.register`.

    ``label`` is an array: ``label[0]`` is y, or the number of the class; where labels are numbers, ``label[1]`` is the
    exposure of the row (1 if there is none). ``link`` is an array of parameters, by default one zero.

    Attributes
    ----------
    name : str
        The name under which settings and model files know the likelihood.
    has_classes : bool, default=False
        Whether labels are the numbers of classes, 0 to K - 1.
    label_low, label_high : float
        The smallest and the largest label, where labels are numbers.
    has_free_link : bool, default=False
        Whether the evidence of the warm-up rows finds the parameters; otherwise they stay those of :meth:`start_link`.
    """

    name: ClassVar[str]
    has_classes: ClassVar[bool] = False
    label_low: ClassVar[float] = -LARGEST_FLOAT
    label_high: ClassVar[float] = LARGEST_FLOAT
    has_free_link: ClassVar[bool] = False
    # -- for this package's own --
    never_fails: ClassVar[bool] = False
    """Whether functions never fail and their results are always numbers; they are not checked then."""
    is_ordinal: ClassVar[bool] = False
    """Whether the order of the classes means something."""
    max_prior_var: ClassVar[float] = MAX_LATENT_VAR
    """The largest prior variance of ``z`` that evidence may find."""
    link_low: ClassVar[float | tuple[float, ...]] = -1e12
    link_high: ClassVar[float | tuple[float, ...]] = 1e12
    """Where the parameters lie that experts keep: model files are checked for it."""
    max_curvature: ClassVar[float] = 1e60
    """The largest curvature of a label, likewise."""
    site: ClassVar[Callable[..., float] | None] = None
    """``site(label, mean, var, link, slope)`` writes the slope (L,) of the log density at the posterior mode, and
    returns the curvature. None finds the mode of one latent value by Newton's method."""
    log_predictive: ClassVar[Callable[..., float] | None] = None
    """``log_predictive(label, mean, var, link, nodes, outcomes)`` returns the log density of the label for
    z ~ N(mean, var), and writes that of every class to ``outcomes`` (K,). None is accurate quadrature."""
    probit_log_predictive: ClassVar[Callable[..., float] | None] = None
    """As ``log_predictive``, by the paper's probit approximation, if there is one."""
    drawn_log_predictive: ClassVar[Callable[..., float] | None] = None
    """As ``log_predictive``, by averaging over the draws ``nodes`` (L, n). None where there is one latent value."""

    @staticmethod
    def derivatives(label: Float, z: float, link: Float) -> tuple[float, float, float]:
        """Log density of the label, its slope and its curvature (minus the second derivative) in ``z``.

        The density must be log-concave in ``z``: the curvature is never negative. Plain Python works; decorated with
        ``numba.njit`` it is fast.

        Parameters
        ----------
        label : ndarray (columns,)
            The label, and the exposure of the row where labels are numbers.
        z : float
            The latent value.
        link : ndarray (P,)
            Parameters of the likelihood.

        Returns
        -------
        tuple of three floats
            Log density, slope, curvature.
        """
        raise NotImplementedError

    # -- labels ------------------------------------------------------------------------------------------------------

    @property
    def label_columns(self) -> int:
        """Columns of y: a class number, or a number and its exposure."""
        return 1 if self.has_classes else 2

    def n_latents(self, n_outcomes: int) -> int:
        """Latent functions that are needed.

        {parameters}

        Returns
        -------
        int
            1 by default.
        """
        del n_outcomes
        return 1

    def n_link(self, n_outcomes: int) -> int:
        """Parameters that experts keep.

        {parameters}

        Returns
        -------
        int
            As many as :meth:`start_link` gives.
        """
        return len(self.start_link(np.empty((0, self.label_columns)), n_outcomes))

    def n_classes(self, n_link: int) -> int:
        """Number of classes of a model.

        Parameters
        ----------
        n_link : int
            Number of parameters.

        Returns
        -------
        int
            0 where labels are numbers, else 2 by default.
        """
        del n_link
        return 2 if self.has_classes else 0

    def allowed(self, y: Float) -> Bool:
        """Which numbers between the smallest and the largest label are labels.

        Parameters
        ----------
        y : ndarray (n,)
            Finite numbers.

        Returns
        -------
        ndarray of bool (n,)
            All are, by default.
        """
        return np.ones(len(y), dtype=bool)

    @property
    def wanted(self) -> str:
        """What a label is, in words for an error."""
        return f"a label of {self.name!r} from {self.label_low:g} to {self.label_high:g}"

    def check(self, y: Float, n_classes: int) -> None:
        """Refuse labels that are not possible: compiled code does not check them.

        {parameters: any_labels}
        """
        if self.has_classes:
            fine = (y[:, 0] >= 0.0) & (y[:, 0] < n_classes) & (y[:, 0] == np.floor(y[:, 0]))
            wanted = f"a class number from 0 to {n_classes - 1}"
        else:
            fine = (y[:, 0] >= self.label_low) & (y[:, 0] <= self.label_high) & (y[:, 1] > 0.0) & (y[:, 1] < np.inf)
            fine &= np.asarray(self.allowed(y[:, 0]), dtype=bool)
            wanted = f"{self.wanted} with a positive exposure"
        if not fine.all():
            row = int(np.flatnonzero(~fine)[0])
            raise InputError(f"y has {y[row].tolist()} at row {row}, which is not {wanted}; the model is unchanged")

    # -- warm-up -----------------------------------------------------------------------------------------------------

    def start_link(self, y: Float, n_outcomes: int) -> Float:
        """Parameters that explain labels without any function of the inputs: base rates.

        {parameters}

        Returns
        -------
        ndarray (P,)
            One zero by default.
        """
        del y, n_outcomes
        return np.zeros(1)

    def link_from(self, y: Float, n_outcomes: int, overdispersion: float | None = None) -> Link:
        """Where the parameters start and how evidence searches them.

        {parameters}

        Returns
        -------
        Link
            The parameters and their free numbers.
        """
        del overdispersion
        return Link(self, np.asarray(self.start_link(y, n_outcomes), dtype=np.float64))

    def finished_link(self, link: Float, prior_var: float) -> Float:
        """The parameters that experts keep.

        Parameters
        ----------
        link : ndarray (P,)
            Those that evidence found.
        prior_var : float
            Prior variance of the latent function.

        Returns
        -------
        ndarray
            ``link`` itself by default.
        """
        del prior_var
        return link

    def targets(self, y: Float, n_outcomes: int) -> Float:
        """Numbers in place of labels, for fitting length scales: a regression on them shows which columns matter.

        {parameters: any_labels}

        Returns
        -------
        ndarray (n, T)
            The labels themselves by default.
        """
        del n_outcomes
        return y[:, :1]

    # -- predictions of numbers --------------------------------------------------------------------------------------

    def moments(self, z: Float, link: Float, exposure: Float) -> tuple[Float, Float]:
        """Mean and variance of the label given the latent value, where labels are numbers.

        Parameters
        ----------
        z : ndarray
            Latent values.
        link : ndarray (P, ...)
            Parameters in the first axis; the others are broadcast with ``z``.
        exposure : ndarray
            Exposures, of the shape of ``z``.

        Returns
        -------
        tuple of two ndarrays
            Mean and variance, of the shape of ``z``.
        """
        del z, link, exposure
        raise InputError(
            f"the likelihood {self.name!r} has no method moments(z, link, exposure), which returns mean and variance "
            "of the label given z; write it, so that labels can be predicted"
        )

    def predictive(self, latent: Latent, link: Float, exposure: Float) -> Any:
        """Predictive distribution of n labels that are numbers.

        Parameters
        ----------
        latent : Latent
            Weights of M experts and their latent values, arrays (n, M).
        link : ndarray (M, P)
            Parameters.
        exposure : ndarray (n,)
            Exposures.

        Returns
        -------
        LatentMixture
            With mean, standard deviation and log density.
        """
        return LatentMixture(self, latent, link, exposure)

    # -- errors of users' functions ----------------------------------------------------------------------------------

    def require_sound(self, *arrays: Float) -> None:
        """Raise what a function of this likelihood has raised, or say that its numbers cannot be used.

        Parameters
        ----------
        *arrays : ndarray
            What was found with its help; a NaN shows that it failed.
        """
        if self.never_fails or not any(np.isnan(array).any() for array in arrays):
            return
        error = self.failures.pop() if self.failures else None
        if error is not None and not isinstance(error, Exception):
            raise error  # an interruption
        if error is not None:
            raise InputError(
                f"a function of the likelihood {self.name!r} failed: {error!r}; the model is unchanged"
            ) from error
        raise InputError(
            f"the likelihood {self.name!r} gave numbers that cannot be used: a log density, slope or curvature is not "
            "a number, or the curvature is negative (the density must be log-concave in z); the model is unchanged"
        )

    # -- addresses ---------------------------------------------------------------------------------------------------

    @property
    def code(self) -> int:
        """A number that stands for the name: the same in every process."""
        return zlib.crc32(self.name.encode()) + 1

    @cached_property
    def failures(self) -> list[BaseException]:
        """What functions of this likelihood have raised while compiled code called them; the last one is kept."""
        return []

    @cached_property
    def derivatives_address(self) -> int:
        """Address of :meth:`derivatives` in this process."""
        return self._address(self.derivatives, forms.DERIVATIVES)

    @cached_property
    def site_address(self) -> int:
        """Address of :attr:`site` in this process; 0 if there is none."""
        return self._address(self.site, forms.SITE)

    def predictive_address(self, integration: str) -> int:
        """Address of the log predictive density in this process; 0 if there is none.

        Parameters
        ----------
        integration : {"quadrature", "probit", "monte-carlo"}
            How the latent value is averaged over.

        Returns
        -------
        int
            The address.
        """
        if integration not in self._predictive:
            functions = {
                "quadrature": self.log_predictive,
                "probit": self.probit_log_predictive or self.log_predictive,
                "monte-carlo": self.drawn_log_predictive,
            }
            self._predictive[integration] = self._address(functions[integration], forms.LOG_PREDICTIVE)
        return self._predictive[integration]

    @cached_property
    def _predictive(self) -> dict[str, int]:
        return {}

    def _address(self, function: Callable[..., Any] | None, form: CallForm) -> int:
        return 0 if function is None else address_of(function, form, self._note)

    def _note(self, error: BaseException) -> None:
        self.failures[:] = [error]

    def __copy__(self) -> Likelihood:
        return self

    def __deepcopy__(self, memo: Any) -> Likelihood:
        # Copies of a model share it: there is one of a name.
        return self

    def __reduce__(self) -> Any:
        # Addresses are of this process.
        state = {name: value for name, value in vars(self).items() if name not in _OF_THIS_PROCESS}
        return _rebuilt, (type(self), state)


_OF_THIS_PROCESS = ("failures", "derivatives_address", "site_address", "_predictive")


def _rebuilt(kind: type[Likelihood], state: dict[str, Any]) -> Likelihood:
    likelihood = object.__new__(kind)
    vars(likelihood).update(state)
    return likelihood
