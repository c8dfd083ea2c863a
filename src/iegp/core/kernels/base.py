"""What a kernel is: a sum of terms, each of which gives features of a row.

A term is *standardised*: its value at distance zero is one (on average over rows, if it is not stationary), and its
magnitude is its prior variance. A kernel of several terms is their sum, each times its own prior variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from iegp.core.column_keys import column_key
from iegp.core.features import Basis
from iegp.core.lags import NO_LAGS, Lags
from iegp.errors import InputError
from iegp.typing import Float, Int

LAGS = (True, False, "recent", "only")


class Inputs(NamedTuple):
    """The input columns of a model; lags of the label, if there are any, come last."""

    keys: tuple[int, ...]
    """Numbers that identify the columns: frequencies are drawn by them."""
    scale: Float
    """(d,): one standardised unit of each column in its own units."""
    lags: Lags = NO_LAGS

    @classmethod
    def of(cls, keys: tuple[int, ...], scale: Float, lags: Lags) -> Inputs:
        """The user's columns, and the lags after them."""
        return cls((*keys, *lags.keys), np.concatenate([scale, np.ones(lags.n_columns)]), lags)

    @property
    def n_lags(self) -> int:
        return self.lags.n_columns

    @property
    def n_columns(self) -> int:
        return len(self.keys)

    @property
    def has_numbered_columns(self) -> bool:
        """Whether columns have no names and never come later."""
        n_own = self.n_columns - self.n_lags
        return self.keys[:n_own] == tuple(range(n_own))


class Draw(NamedTuple):
    """What a term needs to make its features; columns are those that it sees."""

    n_frequencies: int
    method: str
    seed: tuple[int, ...]
    keys: tuple[int, ...]
    scale: Float

    @property
    def n_columns(self) -> int:
        return len(self.keys)


class Kernel:
    """Base class of all kernels: single terms, and sums of them."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the sum; a single term has itself."""
        raise NotImplementedError

    @property
    def is_fitted_to_data(self) -> bool:
        """Whether some length scale is fitted to the warm-up rows."""
        return any(term.is_fitted_to_data for term in self.terms)

    def __add__(self, other: Kernel) -> Sum:
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(self.terms + other.terms)

    def __call__(self, x: Float, x2: Float | None = None) -> Float:
        """Compute the kernel matrix between two sets of rows.

        Parameters
        ----------
        x : ndarray (n, d)
            Standardised rows.
        x2 : ndarray (m, d), optional
            Other rows; ``x`` itself by default.

        Returns
        -------
        ndarray (n, m)
            Sum of the terms' values, each times its ``prior_var`` (1 where it has none).
        """
        raise NotImplementedError

    def short(self) -> str:
        """Describe the kernel in a few words, for tables and figures.

        Returns
        -------
        str
            Classes and length scales.

        Examples
        --------
        >>> from iegp.kernels import RBF, Constant, Linear, Matern
        >>> (Matern(2.0, nu=2.5) + Linear() + Constant()).short(), RBF((0.5, 2.0, 1.0)).short()
        ('Matern-2.5 2 + Linear + Constant', 'RBF 0.5 to 2')
        """
        return " + ".join(term.short() for term in self.terms)

    def to_config(self) -> dict[str, Any]:
        """Return plain data from which :func:`kernel_from_config` makes an equal kernel.

        Returns
        -------
        dict
            Name of the class and its parameters, as strings, floats and lists that JSON can store.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Sum(Kernel):
    """A sum of terms, as ``RBF(2.0) + Linear() + Constant()`` makes it.

    Parameters
    ----------
    parts : tuple of Term
        The terms. Each has its own prior variance and, if it is given one, its own drift.

    Examples
    --------
    >>> from iegp.kernels import RBF, Constant
    >>> RBF(2.0) + Constant(drift_var=0.1)
    RBF(2.0) + Constant(drift_var=0.1)
    """

    parts: tuple[Term, ...]

    def __post_init__(self) -> None:
        if not self.parts or not all(isinstance(term, Term) for term in self.parts):
            raise InputError(f"a sum has terms of iegp.kernels, such as RBF(1.0) + Linear(); these are {self.parts!r}")

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the sum."""
        return self.parts

    def __call__(self, x: Float, x2: Float | None = None) -> Float:
        return np.asarray(sum((1.0 if t.prior_var is None else t.prior_var) * t(x, x2) for t in self.terms))

    def to_config(self) -> dict[str, Any]:
        return {"sum": [term.to_config() for term in self.terms]}


@dataclass(frozen=True, repr=False)
class Term(Kernel):
    """One term of a kernel.

    Parameters
    ----------
    prior_var : float, optional
        Prior variance of this term, in units of the standardised target. Default: that of the model, or by evidence.
    drift_var : float, optional
        Drift of this term, in the model's ``drift_units``, in place of every ``drift_var`` of the model; 0 keeps the
        term fixed.
    columns : sequence of int or str, optional
        Columns that the term sees, by position or name; all by default.
    lags : {True, False, "recent", "only"}, default=True
        Whether the term sees the model's lags (labels known before the row), if it has any: beside the columns, not at
        all, or instead of them. ``"recent"``: beside the columns, those without a gap from the newest on, such as 1, 2
        and 3 of the lags (1, 2, 3, 24).
    """

    prior_var: float | None = field(default=None, kw_only=True)
    drift_var: float | None = field(default=None, kw_only=True)
    columns: Sequence[int | str] | None = field(default=None, kw_only=True)
    lags: bool | str = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if self.prior_var is not None:
            self._set("prior_var", _number(self, "prior_var", self.prior_var, 1e-100))
        if self.drift_var is not None:
            self._set("drift_var", _number(self, "drift_var", self.drift_var, 0.0))
        if isinstance(self.lags, np.bool_):
            self._set("lags", bool(self.lags))
        if self.lags not in LAGS or not isinstance(self.lags, bool | str):
            raise InputError(f"lags={self.lags!r} of {self._kind()} is not known; use True, False, 'recent' or 'only'")
        if self.columns is not None:
            self._set("columns", _column_names(self))

    def _set(self, name: str, value: object) -> None:
        # Plain floats and tuples can be hashed, printed and compared.
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        first: list[str] = []
        named: list[str] = []
        for own in fields(self):
            value = getattr(self, own.name)
            if own.name in _FIRST and not first:
                first.append(repr(value))
            elif value != own.default:
                named.append(f"{own.name}={list(value) if own.name == 'columns' else value!r}")
        return f"{type(self).__name__}({', '.join(first + named)})"

    @property
    def terms(self) -> tuple[Term, ...]:
        """This term alone."""
        return (self,)

    @property
    def is_fitted_to_data(self) -> bool:
        """Whether a length scale is fitted to the warm-up rows."""
        return False

    def places(self, inputs: Inputs) -> Int:
        """Return the positions of the columns that this term sees.

        Parameters
        ----------
        inputs : Inputs
            The columns of the model.

        Returns
        -------
        ndarray of int
            Positions, in the order of ``columns``, lags last. A column that is not there raises ``InputError``.
        """
        n_own = inputs.n_columns - inputs.n_lags
        lags = self._lag_places(inputs)
        if self.lags == "only":
            if not lags:
                raise InputError(f"{self!r} sees lags only, but the model has none; pass lags=, for example lags=3")
            return np.array(lags, dtype=np.int64)
        if self.columns is None:
            return np.array([*range(n_own), *lags], dtype=np.int64)
        found = [self._place(name, inputs.keys[:n_own]) for name in self.columns]
        return np.array(found + lags, dtype=np.int64)

    def _lag_places(self, inputs: Inputs) -> list[int]:
        places = np.arange(inputs.n_columns - inputs.n_lags, inputs.n_columns)
        if self.lags == "recent":
            # The lags of each number of a label are consecutive columns.
            places = places.reshape(-1, max(len(inputs.lags.offsets), 1))[:, : inputs.lags.n_consecutive].ravel()
        return [int(place) for place in places] if self.lags else []

    def _place(self, name: int | str, keys: tuple[int, ...]) -> int:
        key = name if isinstance(name, int) else column_key(name)
        if key not in keys:
            known = f"0 to {len(keys) - 1}" if keys == tuple(range(len(keys))) else f"{len(keys)} columns"
            raise InputError(
                f"columns={list(self.columns or ())!r} of {self._kind()}: there is no {name!r}; the data have {known}"
            )
        return keys.index(key)

    def n_features(self, n_frequencies: int, n_columns: int) -> tuple[int, int]:
        """Count the features of this term.

        Parameters
        ----------
        n_frequencies : int
            The model's number of frequencies.
        n_columns : int
            Number of columns that the term sees.

        Returns
        -------
        n_waves : int
            Number of pairs of a sine and a cosine.
        n_affine : int
            Number of features that are a column or a constant.
        """
        raise NotImplementedError

    def basis(self, draw: Draw) -> Basis:
        """Make the features of this term at prior variance one.

        Parameters
        ----------
        draw : Draw
            Columns, number of frequencies, and where random numbers come from.

        Returns
        -------
        Basis
            As many waves and affine features as :meth:`n_features` says; columns are numbered as in ``draw``.
        """
        raise NotImplementedError

    def short(self) -> str:
        """Describe the term in a few words, for tables and figures.

        Returns
        -------
        str
            Class, length scale, and the columns if not all.
        """
        seen = []
        if self.columns is not None and self.lags != "only":
            seen.append(f"columns {', '.join(map(str, self.columns))}")
        if self.lags is not True:
            seen.append({False: "no lags", "recent": "recent lags", "only": "lags only"}[self.lags])
        return f"{self._kind()} of {' and '.join(seen)}" if seen else self._kind()

    def _kind(self) -> str:
        return type(self).__name__

    def to_config(self) -> dict[str, Any]:
        """Return plain data from which :func:`kernel_from_config` makes an equal kernel.

        Returns
        -------
        dict
            Name of the class and its parameters, as strings, floats and lists that JSON can store.
        """
        config: dict[str, Any] = {"kernel": type(self).__name__}
        for own in fields(self):
            value = getattr(self, own.name)
            if own.name in _FIRST or value != own.default:
                config[own.name] = list(value) if isinstance(value, tuple) else value
        return config


# Parameters that are stored always; the first one of a term is printed without its name.
_FIRST = ("period", "length_scale")


def _number(term: Term, name: str, value: object, least: float) -> float:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not least <= float(value) <= 1e100:  # type: ignore[arg-type]
        wanted = "a positive number" if least > 0.0 else "a number of at least 0"
        raise InputError(f"{name}={value!r} of {term._kind()} must be {wanted}, or left out")
    return float(value)  # type: ignore[arg-type]


def _column_names(term: Term) -> tuple[int | str, ...]:
    names = [term.columns] if isinstance(term.columns, int | str | np.integer) else list(term.columns or ())
    plain = tuple(int(n) if isinstance(n, np.integer) else n for n in names)
    good = all((isinstance(n, str) or (isinstance(n, int) and n >= 0)) and not isinstance(n, bool) for n in plain)
    if not plain or not good or len(set(plain)) != len(plain):
        raise InputError(
            f"columns={term.columns!r} of {term._kind()} must be different positions (0, 1, ...) or names, at least one"
        )
    return plain
