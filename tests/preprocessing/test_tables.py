"""Frames of every kind as records: the same values out of all of them, and errors that name the cell."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from iegp.errors import InputError
from iegp.preprocessing.encoder import CATEGORY
from iegp.preprocessing.tables import needs_encoder, records_of

DAY = datetime(2024, 3, 1, 12)
COLUMNS = {
    "number": [1.5, None, 3.0],
    "whole": [1, 2, None],
    "truth": [True, None, False],
    "text": ["a", None, "b"],
    "time": [DAY, None, DAY],
}
WANTED = {
    "number": [1.5, np.nan, 3.0],
    "whole": [1.0, 2.0, np.nan],
    "truth": [1.0, np.nan, 0.0],
    "text": ["a", None, "b"],
    "time": [DAY, None, DAY],
}
FRAMES = {
    "pandas": pd.DataFrame(COLUMNS),
    "pandas, nullable": pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas, objects": pd.DataFrame(COLUMNS, dtype=object),
    "polars": pl.DataFrame(COLUMNS),
    "pyarrow": pa.table(COLUMNS),
    "array": np.array([list(row) for row in zip(*COLUMNS.values(), strict=True)], dtype=object),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_all_frames_give_the_same_records(kind):
    records = records_of(FRAMES[kind], list(COLUMNS), {})
    assert len(records) == 3
    for name, wanted in WANTED.items():
        found = records.columns[name]
        if isinstance(wanted[0], float):
            assert found.dtype == np.float64
            np.testing.assert_array_equal(found, wanted)
        else:
            assert found.tolist() == wanted
    assert needs_encoder(FRAMES[kind])


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (pd.Categorical([3, 1, None]), ["3", "1", None]),
        ([Decimal("1.5"), 2, np.float32(3)], [1.5, 2.0, 3.0]),
        ([date(2024, 3, 1), pd.NaT, None], [datetime(2024, 3, 1), None, None]),
        (pd.to_timedelta(["1min", "2s", "1h"]), [60.0, 2.0, 3600.0]),
        ([{"a": 1}, pd.NA, np.nan], ["{'a': 1}", None, None]),
        ([np.datetime64("2024-03-01"), None, None], [datetime(2024, 3, 1), None, None]),
    ],
)
def test_values_of_other_types(values, wanted):
    assert records_of(pd.DataFrame({"c": values}), ["c"], {}).columns["c"].tolist() == wanted


def test_times_keep_their_zone():
    stamps = pd.to_datetime(["2024-03-01 12:00"]).tz_localize("Europe/Berlin")
    found = records_of(pd.DataFrame({"c": stamps}), ["c"], {}).columns["c"][0]
    assert (found.hour, found.astimezone(UTC).hour) == (12, 11)


def test_a_column_that_was_text_stays_text():
    numbers = pd.DataFrame({"c": [1.0, np.nan, 2.5]})
    assert records_of(numbers, ["c"], {"c": CATEGORY}).columns["c"].tolist() == ["1", None, "2.5"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, "red"], r"'red' at row 1, column 0 \('c'\), which is not a number"),
        ([DAY, np.float64(1.5)], r"X has 1.5 at row 1, column 0 \('c'\), which is not a date"),
        ([DAY, "noon"], r"'noon' at row 1, column 0 \('c'\), which is not a date"),
        (["a", 10**400], r"row 1, column 0 \('c'\), which is too large"),
        ([1, np.inf], r"infinity at row 1, column 0 \('c'\)"),
        (np.array([-np.inf, 1.0]), r"infinity at row 0, column 0 \('c'\)"),
    ],
)
def test_cells_that_do_not_fit_are_named(values, message):
    with pytest.raises(InputError, match=message):
        records_of(pd.DataFrame({"c": values}), ["c"], {})


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(InputError, match="two columns called 'a'"):
        records_of(pd.DataFrame([[1, "x"]], columns=["a", "a"]), ["a", "a"], {})


@pytest.mark.parametrize(
    ("X", "wanted"),
    [
        (np.zeros((2, 2)), False),
        ([[1.0, 2.0]], False),
        ([["a", 2.0]], True),
        ([[1.0, 2.0], [3.0]], False),
        (np.array([[1.0, None]], dtype=object), True),
        (np.array([[1.0, 2.0], ["a", None]], dtype=object), False),
        (pd.DataFrame({"a": [1.0, np.nan]}), False),
        (pd.DataFrame({"a": pd.Categorical([1, 2])}), True),
        (pd.DataFrame({"a": []}), False),
        (np.zeros(3), False),
        ("text", False),
    ],
)
def test_the_first_row_and_the_types_say_whether_there_is_more_than_numbers(X, wanted):
    assert needs_encoder(X) == wanted
