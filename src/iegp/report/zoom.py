"""Numbers of a panel as JSON, for the script that zooms and shows values."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.report.scales import Axis
from iegp.report.text import clean
from iegp.typing import Float, Int

BUTTONS = (
    ("back", "←", "earlier rows"),
    ("in", "+", "zoom in"),
    ("out", "−", "zoom out"),
    ("on", "→", "later rows"),
    ("all", "whole run", "show the whole run"),
)


def zoomable(
    drawn: str, x: Axis, y: Axis, row: Int, columns: dict[str, Float], target: str, names: list[str] | None = None
) -> str:
    """Render a chart with its numbers. ``names`` are class labels, where columns hold class numbers.

    Buttons and hint are hidden until the script runs.
    """
    data: dict[str, Any] = {
        "x": [x.low, x.high],
        "y": [y.low, y.high],
        "power": y.power,
        "target": clean(target),
        "row": row.tolist(),
        **{name: _plain(values) for name, values in columns.items()},
    }
    if names is not None:
        data["names"] = [clean(name) for name in names]
    buttons = "".join(
        f'<button type="button" data-go="{go}" title="{title}" aria-label="{title}">{sign}</button>'
        for go, sign, title in BUTTONS
    )
    hint = "Drag to zoom into a range, double click for the whole run."
    tools = f'<div class="tools" hidden><span class="hint">{hint}</span>{buttons}</div>'
    return f'<div class="zoomable">{tools}{drawn}<script type="application/json">{_json(data)}</script></div>'


def _json(data: dict[str, Any]) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plain(values: NDArray[Any]) -> list[float | int | None]:
    """Round to six digits, more than a screen shows."""
    return [_rounded(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def _rounded(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
