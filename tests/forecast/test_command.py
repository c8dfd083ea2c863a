"""``iegp forecast``: the numbers are those of the forecaster; many series by key; messages."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest
from forecast.series import SEASON, series
from numpy.testing import assert_allclose

from iegp import IEGPForecaster
from iegp.cli.flags import UsageError
from iegp.cli.forecast import forecast
from iegp.cli.options import ForecastOptions
from iegp.errors import InputError


def write(path, lines):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(lines)
    return str(path)


@pytest.fixture
def two_shops(tmp_path):
    y = series(120)
    lines = [["shop", "when", "sales"]]
    for hour in range(120):
        stamp = str(np.datetime64("2024-01-01T00") + np.timedelta64(hour, "h"))
        lines += [[shop, stamp, repr(float(value))] for shop, value in (("a", y[hour]), ("b", 100.0 - y[hour]))]
    return write(tmp_path / "shops.csv", [*lines, ["new", "2024-01-01T00", "1.0"]])


def options(source, **more):
    return ForecastOptions(source=source, target="sales", horizon=2, season=str(SEASON), **more)


def test_many_series_and_the_report(two_shops, tmp_path, capsys):
    out, page = tmp_path / "next.csv", tmp_path / "page.html"
    assert forecast(options(two_shops, key="shop", time="when", out=str(out), report=str(page))) == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [(row["shop"], row["when"], row["ahead"]) for row in rows[:3]] == [
        ("a", "2024-01-06T00:00:00", "1"),
        ("a", "2024-01-06T01:00:00", "2"),
        ("b", "2024-01-06T00:00:00", "1"),
    ]
    time = np.arange(120.0) * 3600.0 + 19723 * 86400.0
    model = IEGPForecaster(2, season=SEASON, random_state=0).fit(series(120), time=time)
    assert_allclose([float(row["mean"]) for row in rows[:2]], model.predict(), rtol=1e-9)
    text, messages = page.read_text(), capsys.readouterr().err
    assert text.count("<section") == 2
    summary = re.search(r"Better than repeating the last value or the value a season ago: (\d) of 2 series; ", text)
    assert summary is not None
    assert int(summary[1]) == text.count("% better than repeating")
    assert text.count("Forecasts were off by") == 2
    assert "6 Jan 2024 01:00" in text
    assert "UTC" in text
    assert "<svg" in text
    assert "rows per second" in text
    assert "Left out: new" in messages
    assert "a: Forecasts were off by" in messages
    assert "Report:" in messages
    with pytest.raises(UsageError, match="exists"):
        forecast(options(two_shops, key="shop", out=str(out)))


@pytest.mark.parametrize(
    ("stamp", "first", "shown"),
    [
        ("2024-01-{:02d} {:02d}:00:00+01:00", "2024-01-03T00:00:00+01:00", ("3 Jan 2024 01:00", "(UTC+01:00)")),
        ("2024-01-{:02d}T{:02d}:00:00Z", "2024-01-03T00:00:00+00:00", ("3 Jan 2024 01:00", "(UTC)")),
        ("2024-01-{:02d}T{:02d}:00", "2024-01-03T00:00:00", ("3 Jan 2024 01:00", ">time<")),
    ],
)
def test_coming_times_have_the_offset_of_the_last_one(tmp_path, capsys, stamp, first, shown):
    lines = [[stamp.format(1 + i // 24, i % 24), repr(float(value))] for i, value in enumerate(series(48))]
    source, page = write(tmp_path / "y.csv", [["when", "sales"], *lines]), tmp_path / "page.html"
    assert forecast(options(source, time="when", quiet=True, report=str(page))) == 0
    assert capsys.readouterr().out.splitlines()[1].split(",")[0] == first
    for text in shown:
        assert text in page.read_text()


def test_standard_output_without_times(tmp_path, capsys):
    source = write(tmp_path / "y.csv", [["sales"], *[[repr(float(value))] for value in series(40)]])
    assert forecast(options(source, quiet=True)) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("row,ahead,mean,lower,upper\n40,1,")
    assert printed.err == ""


@pytest.mark.parametrize(
    ("lines", "more", "message"),
    [
        ([["x"], ["1"]], {}, "'sales' is not a column"),
        ([["sales"], ["1"], ["2"]], {}, "no series"),
        ([["sales", "t"], ["1", "a"], ["", "b"], ["3", "c"]], {}, "line 3: sales is missing; fill gaps"),
        ([["sales"], ["north"], ["south"]], {}, "line 2: sales is 'north', which is not a number"),
        ([["sales", "t"], ["1", "soon"]], {"time": "t"}, "'soon' is not read as a time; write it as 2024"),
        ([["sales", "t"], ["1", "31.12.2024"]], {"time": "t"}, re.escape("--time-format '%d.%m.%Y' reads it")),
        ([["sales", "t"], ["1", "soon"]], {"time": "t", "time_format": "%d.%m.%Y"}, "says how all of them are written"),
        ([["sales"], ["1,5"], ["2,5"]], {}, "line 2: sales is '1,5', which is not a number; --decimal , reads it"),
        ([["sales"], ["1,5"], ["2"], ["-"]], {"decimal": ","}, "line 4: sales is '-', which is not a number"),
        ([["sales"], ["1"]], {"level": 2.0}, "no series"),
        ([["sales", "k"], ["1", "a"], ["2", ""], ["3", "a"]], {"key": "k"}, "line 3: k is missing; fill it in"),
        (
            [["sales", "t"], ["1", "2024"], ["2", "2025"], ["3", "2025"]],
            {"time": "t"},
            "line 4: t is not after .* line 3",
        ),
    ],
)
def test_messages(tmp_path, lines, more, message):
    with pytest.raises(InputError, match=message):
        forecast(options(write(tmp_path / "y.csv", lines), **more))
    with pytest.raises(UsageError, match="whole numbers"):
        forecast(ForecastOptions(source="y.csv", target="y", season="day"))


def test_numbers_and_times_that_are_written_otherwise(tmp_path, capsys):
    lines, otherwise = [["when", "sales"]], [["when", "sales"]]
    for hour, value in enumerate(1000.0 + series(48)):
        lines.append([f"2024-02-{1 + hour // 24:02d}T{hour % 24:02d}:00", f"{value:.2f}"])
        number = f"{value:,.2f}".translate(str.maketrans(",.", ".,"))
        otherwise.append([f"{1 + hour // 24}.2.2024 {hour % 24}h", number])
    forecast(options(write(tmp_path / "a.csv", lines), time="when"))
    plain = capsys.readouterr().out
    form = {"time_format": "%d.%m.%Y %Hh", "decimal": ",", "thousands": "."}
    forecast(options(write(tmp_path / "b.csv", otherwise), time="when", **form))
    assert capsys.readouterr().out == plain


@pytest.mark.parametrize(
    "wrong", [{"time_format": "%d"}, {"time": "t", "time_format": "%!"}, {"decimal": ",", "thousands": ","}]
)
def test_ways_of_writing_that_are_none(tmp_path, wrong):
    with pytest.raises(UsageError):
        forecast(options(write(tmp_path / "y.csv", [["sales", "t"], ["1", "2024-01-01"]]), **wrong))


@pytest.mark.parametrize("flag", ["key", "time"])
def test_the_target_is_a_column_of_its_own(two_shops, flag):
    with pytest.raises(UsageError, match=f"--target and --{flag} both name 'sales'"):
        forecast(options(two_shops, **{flag: "sales"}))
