"""Where records end: at line ends, for CSV outside quoted fields, found for a whole chunk at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from iegp.typing import Int

_NEWLINE, _QUOTE = 10, 34


def csv_record_ends(delimiter: str) -> Callable[[bytes], Int]:
    """The cutting rule for this delimiter: bytes to the places just after each complete record."""
    starts_field = (ord(delimiter), _NEWLINE)

    def ends(data: bytes) -> Int:
        codes = np.frombuffer(data, dtype=np.uint8)
        line_ends = np.flatnonzero(codes == _NEWLINE)
        if b'"' in data:
            line_ends = line_ends[~_quoted(line_ends, codes, starts_field)]
        return line_ends + 1

    return ends


def line_record_ends(data: bytes) -> Int:
    """The cutting rule of JSON lines: every line end is one."""
    return np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE) + 1


def _quoted(places: Int, codes: np.ndarray, starts_field: tuple[int, int]) -> np.ndarray:
    """Which of these places lie inside a quoted field."""
    quotes = np.flatnonzero(codes == _QUOTE)
    if not _all_pair_up(quotes, codes, starts_field):
        quotes = _pairs_one_by_one(quotes, codes, starts_field)
    is_inside: np.ndarray = np.searchsorted(quotes, places) % 2 == 1
    return is_inside


def _all_pair_up(quotes: Int, codes: np.ndarray, starts_field: tuple[int, int]) -> bool:
    """Does every second quote open a field, or follow the one before as in a doubled quote? Then counting is exact."""
    openings = quotes[::2]
    before = codes[openings - 1]  # of a quote at place 0 this looks at the last byte; corrected below
    is_fine = (before == _QUOTE) | (before == starts_field[0]) | (before == starts_field[1])
    is_fine |= openings == 0
    # a quote just before it is the closing one, by parity, and the two are a doubled quote inside a field
    return bool(is_fine.all())


def _pairs_one_by_one(quotes: Int, codes: np.ndarray, starts_field: tuple[int, int]) -> Int:
    """Only the quotes that open or close a field. A quote inside an unquoted field (5" pipe) is a character."""
    pairs: list[int] = []
    places = quotes.tolist()
    i, n = 0, len(places)
    while i < n:
        place = places[i]
        i += 1
        if place and int(codes[place - 1]) not in starts_field:
            continue
        pairs.append(place)
        while i + 1 < n and places[i + 1] == places[i] + 1:
            i += 2
        if i < n:
            pairs.append(places[i])
            i += 1
    return np.asarray(pairs, dtype=np.int64)
