"""The number by which a column is known, so that its frequencies do not depend on the order of columns."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from numbers import Real

# Keys of names that are not numbers lie above, those of numbers below.
FIRST_NAMED = 2**62


def column_key(name: Hashable) -> int:
    """The number by which a column of this name is known, in every process and version.

    A whole number that is not negative is its own key, so that ``{0: ..., 1: ...}`` has the columns of an array. All
    other names get 62 bits of a hash.

    >>> column_key(3), column_key("3") > 2**62, column_key("3") == column_key("4")
    (3, True, False)
    """
    if isinstance(name, Real) and 0 <= name < FIRST_NAMED and name == int(name):
        return int(name)
    # Names that are equal as keys of a dictionary must be equal here, whatever their type shows.
    text = f"text {name}" if isinstance(name, str) else f"other {name!r}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return FIRST_NAMED + (int.from_bytes(digest[:8], "big") >> 2)
