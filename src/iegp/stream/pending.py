"""Rows that wait for their labels, and ids that were seen: both bounded, the oldest go first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from iegp.core.fitting.experts import Experts
from iegp.core.late import Asked, asked_from
from iegp.core.model import Online
from iegp.storage.ensemble_schema import asked_schema
from iegp.storage.schema import Field, check_arrays, count, flag
from iegp.stream.answers import NUMBERS
from iegp.typing import Arrays, Bool, Float


@dataclass
class Clock:
    """How far a model has come, in rows with a label or without; counted from any row on."""

    rows: int = 0
    """Rows that came."""
    learned: int = 0
    """Rows up to the last that was learned: those after it were answered, and nothing was learned since."""

    @property
    def behind(self) -> int:
        """Rows that came after the last that was learned."""
        return self.rows - self.learned

    def came(self, n: int) -> None:
        """So many rows came and were learned at once."""
        self.rows += n
        self.learned = self.rows

    def arrived(self, place: int) -> int:
        """The label of a row has come; how many rows that is after the last learned, not above 0 if before it."""
        n_steps = place - self.learned + 1
        self.learned = max(self.learned, place + 1)
        return n_steps

    def rows_after(self, place: int) -> int:
        """How many rows came after one."""
        return self.rows - place - 1

    def to_config(self) -> list[int]:
        return [self.rows, self.learned]

    @classmethod
    def from_config(cls, config: Any) -> Clock:
        rows, learned = (count("a row of the clock", value) for value in config)
        if learned > rows:
            raise ValueError(f"{learned} rows were learned of {rows}")
        return cls(rows, learned)


@dataclass
class Waiting:
    """A row that was answered without its label; its place is taken when it is read, and filled when it is answered."""

    row: int = -1
    x: Float = field(default_factory=lambda: np.zeros(0))
    """(d,), as it was predicted with."""
    predicted: tuple[float, ...] = (np.nan,) * len(NUMBERS)
    """Mean, std, lower and upper, where labels are numbers, to be repeated with the label."""
    key: str | None = None
    """Key of the row, where there is one model per key."""
    place: int = 0
    """Number of the row in the clock of its model."""
    asked: Asked | None = None
    """What the experts answered; None where there was no answer yet."""
    experts: Experts | None = None
    """The experts that answered, while the model still has them; None if that is not known."""
    proba: tuple[float, ...] = ()
    """Probabilities, where labels are classes."""
    classes: tuple[str, ...] = ()
    """Classes that were known."""
    n_known: int | None = None
    """Labels of the warm-up that were known when it was answered there, if lags depend on them."""
    naive: Float = field(default_factory=lambda: np.zeros(0))
    """What naive forecasts knew; see :meth:`iegp.stream.digest.Digest.naive`."""


@dataclass
class Pending:
    """Rows by id, oldest first."""

    at_most: int = 10_000
    rows: dict[str, Waiting] = field(default_factory=dict)
    seen: dict[str, None] = field(default_factory=dict)
    """The last ids, waiting or not, to know a duplicate by."""
    n_dropped: int = 0
    """Rows that waited too long."""

    def reserve(self, name: str) -> Waiting:
        """A place for a row that is about to be answered; the row that has waited longest may lose its own."""
        waiting = self.rows[name] = Waiting()
        if len(self.rows) > self.at_most:
            del self.rows[next(iter(self.rows))]
            self.n_dropped += 1
        return waiting

    def take(self, name: str) -> Waiting | None:
        """The row of that name, which waits no longer; None if there is none."""
        return self.rows.pop(name, None)

    def see(self, name: str) -> bool:
        """Remember an id; whether it is new."""
        if name in self.seen or name in self.rows:
            return False
        self.seen[name] = None
        if len(self.seen) > self.at_most:
            del self.seen[next(iter(self.seen))]
        return True

    # -- storing ---------------------------------------------------------------------------------------------------

    def to_parts(self, n_columns: int, experts: Experts | None) -> tuple[dict[str, Any], Arrays]:
        """Plain data and arrays; ``experts`` are those of the model."""
        waiting = list(self.rows.values())
        known = list(dict.fromkeys(row.classes for row in waiting))
        config = {
            "at_most": self.at_most,
            "names": list(self.rows),
            "rows": [row.row for row in waiting],
            "places": [row.place for row in waiting],
            "current": [row.asked is not None and row.experts is experts for row in waiting],
            "known": [list(names) for names in known],
            "classes": [known.index(row.classes) for row in waiting],
            "seen": list(self.seen),
            "n_dropped": self.n_dropped,
        }
        if any(row.key is not None for row in waiting):
            config["keys"] = [row.key for row in waiting]
        if any(row.n_known is not None for row in waiting):
            config["n_known"] = [row.n_known for row in waiting]
        return config, {
            "x": _table([row.x for row in waiting], n_columns),
            "predicted": _table([np.array(row.predicted) for row in waiting], len(NUMBERS)),
            "asked": _table([_answer(row, experts) for row in waiting]),
            "proba": _table([np.array(row.proba) for row in waiting]),
            "naive": _table([row.naive for row in waiting]),
        }

    @classmethod
    def from_parts(cls, config: dict[str, Any], arrays: Arrays, model: Online | None) -> Pending:
        names, known = config["names"], config["known"]
        _check_config(config)
        _check_known(config.get("n_known", []), model)
        n = len(names)
        # Predictions are only repeated with the label; they are NaN where none could be made.
        numbers = Field((n, len(NUMBERS)), -np.inf, np.inf, gaps=True)
        proba = Field((n, max(map(len, known), default=0)), 0.0, 1.0 + 1e-9, gaps=True)
        naive = Field((n, None), -np.inf, np.inf, gaps=True)
        check_arrays({"x": Field((n, None), gaps=True), "predicted": numbers, "proba": proba, "naive": naive}, arrays)
        asked = _asked_rows(arrays["asked"], config["current"], model)
        rows = {}
        for i, name in enumerate(names):
            classes = tuple(known[config["classes"][i]])
            rows[name] = Waiting(
                row=config["rows"][i],
                x=arrays["x"][i].copy(),
                predicted=tuple(arrays["predicted"][i].tolist()),
                key=config.get("keys", [None] * n)[i],
                place=config["places"][i],
                asked=asked[i],
                experts=model.experts if model is not None and config["current"][i] else None,
                proba=tuple(arrays["proba"][i, : len(classes)].tolist()),
                classes=classes,
                naive=arrays["naive"][i].copy(),
                n_known=config.get("n_known", [None] * n)[i],
            )
        return cls(config["at_most"], rows, dict.fromkeys(config["seen"]), config["n_dropped"])


def _answer(row: Waiting, experts: Experts | None) -> Float:
    """What is still of use of the answers of the experts: numbers are scored with them, whatever came since."""
    asked = row.asked
    if asked is None or experts is None or (np.isnan(row.predicted[0]) and row.experts is not experts):
        return np.zeros(0)
    n_lags = experts.ensemble.lags.n_columns
    # Seasonal lags were chosen since; which labels the row saw is known from ``n_known``.
    return (asked if asked.lags.shape[1] == n_lags else asked._replace(lags=np.zeros((1, n_lags)))).flat()


def _table(rows: list[Float], width: int | None = None) -> Float:
    """Rows of different lengths as (n, width), filled up with NaN."""
    table = np.full((len(rows), max(map(len, rows), default=0) if width is None else width), np.nan)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def _check_config(config: dict[str, Any]) -> None:
    """Refuse entries that are not of their kind."""
    names, known = config["names"], config["known"]
    keys = config.get("keys", [None] * len(names))
    n_known = config.get("n_known", [None] * len(names))
    lists = *(config[name] for name in ("rows", "places", "current", "classes")), keys, n_known
    if any(len(values) != len(names) for values in lists):
        raise ValueError("the rows that wait for labels do not fit together")
    texts = [*names, *config["seen"], *(name for classes in known for name in classes)]
    if not all(isinstance(text, str) for text in texts) or len(set(names)) != len(names):
        raise ValueError("the names of rows are none")
    if not all(isinstance(key, str | None) for key in keys):
        raise ValueError("the keys of rows that wait are none")
    for number in (*config["rows"], *config["places"], config["at_most"], config["n_dropped"]):
        count("a row that waits", number)
    for number in n_known:
        if number is not None:
            count("the labels that a row knew", number)
    for number in config["classes"]:
        count("the classes of a row", number, high=len(known) - 1)
    for value in config["current"]:
        flag("current", value)


def _check_known(n_known: list[int | None], model: Online | None) -> None:
    """A row cannot have known more labels than the warm-up has, which are stored."""
    most = max((n for n in n_known if n is not None), default=-1)
    if most < 0:
        return
    labels = None if model is None else model.kept_y if model.is_warming_up else model.warmup_labels
    if labels is None or most > len(labels):
        raise ValueError(f"a row that waits knew {most} labels, which are not there")


def _asked_rows(flat: Float, is_current: list[bool], model: Online | None) -> list[Asked | None]:
    """What the experts answered to each row; a row of NaN is none."""
    is_known: Bool = np.asarray(~np.isnan(flat).all(axis=1) if flat.ndim == 2 else np.zeros(0, dtype=bool))
    if len(flat) != len(is_current) or np.any(np.array(is_current, dtype=bool) & ~is_known):
        raise ValueError("the answers to rows that wait are missing")
    if not is_known.any() or model is None:
        return [None] * len(flat)
    ensemble, n_labels = model.experts.ensemble, len(model.scaling.y_mean)
    check_arrays({"asked": asked_schema(model, int(is_known.sum()))}, {"asked": flat[is_known]})
    return [asked_from(row, ensemble, n_labels) if known else None for row, known in zip(flat, is_known, strict=True)]
