"""Answers as text: JSON lines or CSV. Many rows are written by Arrow, few by Python; both write every digit."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iegp.core.changes import Change
from iegp.stream.answers import NEW_KEY, Answers
from iegp.typing import Float

# Below this many rows Arrow's calls cost more than they save.
FEW_ROWS = 16
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})\Z")
# What a spreadsheet takes for the beginning of a formula, and the sign that says otherwise.
_FORMULA = re.compile(r"[=+\-@\t\r\n']")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")

# A line is made of pieces: the same text for all rows, or one text per row, as a list or as an Arrow array.
Piece = Any


def json_lines(answers: Answers, key_field: str | None = None) -> bytes:
    """One JSON object per row; ``key_field`` is what the key is called, if there are keys."""
    few = len(answers) < FEW_ROWS
    pieces: list[Piece] = []
    for name, kind, values in answers.columns(key_field):
        if values is None:
            continue
        if name == "id":
            pieces.append(["" if value is None else f',"id":{id_as_json(value)}' for value in values])
        elif name == "note":
            pieces += _json_notes(answers)
        else:
            pieces += [f"{',' if pieces else '{'}{json.dumps(name)}:", *_json_values(answers, kind, values, few)]
    return _joined([*pieces, "}\n"], len(answers), few)


def _json_values(answers: Answers, kind: str, values: Any, few: bool) -> list[Piece]:
    if kind == "text":
        return [[json.dumps(value) for value in values]]
    if kind == "proba":
        return _proba(answers, few)
    return [_whole(values, few) if kind == "whole" else _numbers(values, few)]


def _json_notes(answers: Answers) -> list[Piece]:
    pieces: list[Piece] = [f',"{answers.note}":true'] if answers.note else []
    if answers.changes:
        noticed = answers.noticed
        pieces.append([_json_change(noticed[i]) if i in noticed else "" for i in range(len(answers))])
    if answers.is_new_key is not None:
        pieces.append([f',"note":"{NEW_KEY}"' if is_new else "" for is_new in answers.is_new_key])
    return pieces


def _json_change(change: Change) -> str:
    return f',"change":"{change.kind}","strength":{round(change.strength, 3)!r}'


def guarded(text: str) -> str:
    """Text with a ' in front where a spreadsheet would take it for a formula; numbers stay.

    >>> [guarded(text) for text in ("=1+1", "-2.5", "-a", "pump", "'quoted")]
    ["'=1+1", '-2.5', "'-a", 'pump', "''quoted"]
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def csv_lines(
    answers: Answers, key_field: str | None = None, with_header: bool = False, guards_formulas: bool = False
) -> bytes:
    """One line per row; probabilities are a JSON object in a field of their own."""
    few, n = len(answers) < FEW_ROWS, len(answers)
    field = (lambda text: csv_field(guarded(text))) if guards_formulas else csv_field
    pieces: list[Piece] = []
    names: list[str] = []
    for name, kind, values in answers.columns(key_field):
        if name != "id" or values is not None:
            names.append(field(name))
            known = np.full(n, np.nan) if values is None else values
            pieces += [
                ",",
                [field(value or "") for value in known] if kind == "text" else _csv_values(answers, kind, known),
            ]
    header = (",".join(names) + "\n").encode() if with_header else b""
    return header + _joined([*pieces[1:], "\n"], n, few)


def _csv_values(answers: Answers, kind: str, values: Any) -> Piece:
    few = len(answers) < FEW_ROWS
    if kind == "proba":
        return list(map(csv_field, _joined([*_proba(answers, few), "\n"], len(answers), few).decode().splitlines()))
    return _whole(values, few) if kind == "whole" else _numbers(values, few, missing="")


def id_as_json(name: str) -> str:
    """An id as it stood: a whole number stays one."""
    return name if _WHOLE.match(name) else json.dumps(name)


def csv_field(text: str) -> str:
    """Quoted where it must be."""
    if not any(character in text for character in ',"\r\n'):
        return text
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow([text])
    return buffer.getvalue()


def _proba(answers: Answers, few: bool) -> list[Piece]:
    pieces: list[Piece] = ["{"]
    for number, label in enumerate(answers.classes):
        pieces += [f"{',' if number else ''}{json.dumps(label)}:", _numbers(answers.predictions.proba[:, number], few)]
    return [*pieces, "}"]


def _whole(values: Any, few: bool) -> Piece:
    return [str(value) for value in values.tolist()] if few else pc.cast(pa.array(values), pa.string())


def _numbers(values: Float, few: bool, missing: str = "null") -> Piece:
    """Shortest text that reads back as the same number; what is not finite is missing."""
    if few:
        return [repr(value) if math.isfinite(value) else missing for value in values.tolist()]
    finite = np.isfinite(values)
    if finite.all():
        return pc.cast(pa.array(values), pa.string())
    return pc.fill_null(pc.cast(pa.array(values, mask=~finite), pa.string()), missing)


def _joined(pieces: Sequence[Piece], n: int, few: bool) -> bytes:
    if n == 0:
        return b""
    if few:
        rows = zip(*([piece] * n if isinstance(piece, str) else piece for piece in pieces), strict=True)
        return "".join("".join(row) for row in rows).encode()
    columns = [pa.array(piece, pa.string()) if isinstance(piece, list) else piece for piece in pieces]
    joined = pc.binary_join_element_wise(*columns, "")
    offsets = np.frombuffer(joined.buffers()[1], dtype=np.int32)[joined.offset : joined.offset + n + 1]
    return joined.buffers()[2].to_pybytes()[offsets[0] : offsets[-1]]  # type: ignore[no-any-return]
