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

from iegp.stream.answers import NEW_KEY, Answers
from iegp.typing import Float

# Below this many rows Arrow's calls cost more than they save.
FEW_ROWS = 16
NUMBERS = ("mean", "std", "lower", "upper")
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,14})\Z")

# A line is made of pieces: the same text for all rows, or one text per row, as a list or as an Arrow array.
Piece = Any


def json_lines(answers: Answers, key_field: str | None = None) -> bytes:
    """One JSON object per row; ``key_field`` is what the key is called, if there are keys."""
    few = len(answers) < FEW_ROWS
    pieces: list[Piece] = ['{"row":', _whole(answers.row, few)]
    if answers.ids is not None:
        pieces.append(["" if name is None else f',"id":{id_as_json(name)}' for name in answers.ids])
    if key_field is not None:
        pieces += [f",{json.dumps(key_field)}:", [json.dumps(key) for key in answers.keys or ()]]
    if answers.mean is not None:
        for name in NUMBERS:
            pieces += [f',"{name}":', _numbers(getattr(answers, name), few)]
    else:
        pieces += [',"predicted":', [json.dumps(label) for label in answers.predicted], ',"proba":']
        pieces += _proba(answers, few)
    pieces += [',"log_score":', _numbers(answers.log_score, few)]
    if answers.pit is not None:
        pieces += [',"pit":', _numbers(answers.pit, few)]
    pieces += [',"label":', _labels(answers, few)]
    if answers.note:
        pieces.append(f',"{answers.note}":true')
    if answers.is_new_key is not None:
        pieces.append([f',"note":"{NEW_KEY}"' if is_new else "" for is_new in answers.is_new_key])
    pieces.append("}\n")
    return _joined(pieces, len(answers), few)


def csv_header(has_ids: bool, has_classes: bool, key_field: str | None = None) -> bytes:
    """The first line of a CSV file of answers."""
    names = ["row", *(["id"] if has_ids else []), *([] if key_field is None else [csv_field(key_field)])]
    names += ["predicted", "proba"] if has_classes else NUMBERS
    return (",".join([*names, "log_score", *([] if has_classes else ["pit"]), "label", "note"]) + "\n").encode()


def csv_lines(answers: Answers) -> bytes:
    """One line per row; probabilities are a JSON object in a field of their own."""
    few = len(answers) < FEW_ROWS
    pieces: list[Piece] = [_whole(answers.row, few)]
    if answers.ids is not None:
        pieces += [",", [csv_field(name or "") for name in answers.ids]]
    if answers.keys is not None:
        pieces += [",", [csv_field(key) for key in answers.keys]]
    if answers.mean is not None:
        for name in NUMBERS:
            pieces += [",", _numbers(getattr(answers, name), few, missing="")]
    else:
        proba = _joined([*_proba(answers, few), "\n"], len(answers), few).decode().splitlines()
        pieces += [",", [csv_field(label or "") for label in answers.predicted], ",", [csv_field(p) for p in proba]]
    pieces += [",", _numbers(answers.log_score, few, missing="")]
    if answers.mean is not None:
        pit = np.full(len(answers), np.nan) if answers.pit is None else answers.pit
        pieces += [",", _numbers(pit, few, missing="")]
    if answers.label.dtype == object:
        pieces += [",", [csv_field(label or "") for label in answers.label]]
    else:
        pieces += [",", _numbers(answers.label, few, missing="")]
    pieces += [",", answers.notes, "\n"]
    return _joined(pieces, len(answers), few)


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


def _labels(answers: Answers, few: bool) -> Piece:
    if answers.label.dtype == object:
        return [json.dumps(label) for label in answers.label]
    return _numbers(answers.label, few)


def _proba(answers: Answers, few: bool) -> list[Piece]:
    assert answers.proba is not None
    pieces: list[Piece] = ["{"]
    for number, label in enumerate(answers.classes):
        pieces += [f"{',' if number else ''}{json.dumps(label)}:", _numbers(answers.proba[:, number], few)]
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
    columns = [pa.scalar(piece) if isinstance(piece, str) else _as_array(piece) for piece in pieces]
    joined = pc.binary_join_element_wise(*columns, "")
    offsets = np.frombuffer(joined.buffers()[1], dtype=np.int32)[joined.offset : joined.offset + n + 1]
    return joined.buffers()[2].to_pybytes()[offsets[0] : offsets[-1]]  # type: ignore[no-any-return]


def _as_array(piece: list[str] | pa.Array) -> pa.Array:
    return pa.array(piece, pa.string()) if isinstance(piece, list) else piece
