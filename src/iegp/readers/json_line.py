"""One line of JSON: an object of plain values, or the reason why it is none."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from iegp.readers.excerpt import excerpt
from iegp.readers.layout import Fault

Pairs = list[tuple[str, Any]]


class _BadLine(Exception):
    def __init__(self, column: str | None, text: str, reason: str) -> None:
        super().__init__(reason)
        self.fault = Fault(column, text, reason)


def parse_line(line: bytes) -> dict[str, Any] | Fault:
    """The object on this line. Its values are not looked at yet."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        return Fault(None, excerpt(line[error.start :].rstrip()), "not UTF-8; write JSON in UTF-8")
    try:
        value = _DECODER.decode(text.strip(" \t\r\n"))
    except _BadLine as error:
        return error.fault
    except json.JSONDecodeError as error:
        return Fault(None, excerpt(text.strip()), f"broken JSON: {error.msg} at character {error.pos + 1}")
    except RecursionError:
        return Fault(None, excerpt(text), "broken JSON: nested too deeply")
    except ValueError:  # Python refuses whole numbers with thousands of digits
        return Fault(None, excerpt(text), "a whole number with thousands of digits, too large for a float64")
    if isinstance(value, dict):
        return value
    return Fault(None, excerpt(text.strip()), 'not an object; write one like {"x": 1.5, "y": 2} on each line')


def _object(pairs: Pairs) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _BadLine(excerpt(twice), excerpt(twice), "this key is there more than once")
    return made


def _constant(word: str) -> NoReturn:
    raise _BadLine(None, word, f"{word} is no JSON; write null, or leave the key out, if the value is missing")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
