"""How a text file writes numbers and missing values: decimal point, thousands separator, words for what is missing."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from iegp.errors import InputError

MISSING = ("", "NA", "N/A", "null", "NULL", "None")

_FINITE = re.compile(r"[ \t]*[+-]?(?:[0-9]++\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*")
_NOT_FINITE = re.compile(r"[ \t]*[+-]?(?:inf|infinity|nan(?:\([0-9a-z_]*\))?)[ \t]*", re.IGNORECASE)


def is_finite_number(text: str) -> bool:
    """A number that fits a float64."""
    return _FINITE.fullmatch(text) is not None and abs(float(text)) != float("inf")


def is_number(text: str) -> bool:
    """A number, or one of the words for what is none (nan, inf)."""
    return _FINITE.fullmatch(text) is not None or _NOT_FINITE.fullmatch(text) is not None


class NumberStyle(NamedTuple):
    """The defaults are 1234.5, and the words of ``MISSING`` for a value that is missing."""

    na_values: tuple[str, ...] = ()
    """Words for missing values, beside the usual ones."""
    decimal: str = "."
    thousands: str = ""

    def check(self) -> None:
        """Refuse signs that cannot be distinguished."""
        for flag, sign in (("decimal", self.decimal), ("thousands", self.thousands)):
            if len(sign) > 1 or sign in tuple('0123456789+-eE"\n\r'):
                raise InputError(f"--{flag} {sign!r} must be a single sign that is no part of a number, as , or .")
        if not self.decimal or self.decimal == self.thousands:
            raise InputError(f"--decimal {self.decimal!r} and --thousands {self.thousands!r} must be different signs")

    @property
    def missing(self) -> tuple[str, ...]:
        """All words for a missing value."""
        return (*MISSING, *self.na_values)

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as Python writes them."""
        return self.decimal == "." and not self.thousands

    @property
    def pattern(self) -> str:
        """A finite number, for Python's expressions and for Arrow's. Groups of thousands have three digits."""
        point, comma = re.escape(self.decimal), re.escape(self.thousands)
        whole = f"(?:[0-9]{{1,3}}(?:{comma}[0-9]{{3}})+|[0-9]+)" if self.thousands else "[0-9]+"
        return rf"[ \t]*[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*"

    def plain(self, text: str) -> str | None:
        """The same number as Python writes it; None if it is no finite number."""
        if self.is_plain:
            return text if is_finite_number(text) else None
        if _compiled(self).fullmatch(text) is None:
            return None
        plain = (text.replace(self.thousands, "") if self.thousands else text).replace(self.decimal, ".")
        return plain if is_finite_number(plain) else None

    def is_number(self, text: str) -> bool:
        """A number, or one of the words for what is none (nan, inf)."""
        if self.is_plain:
            return is_number(text)
        return _compiled(self).fullmatch(text) is not None or _NOT_FINITE.fullmatch(text) is not None


@lru_cache
def _compiled(style: NumberStyle) -> re.Pattern[str]:
    return re.compile(style.pattern)


PLAIN = NumberStyle()
