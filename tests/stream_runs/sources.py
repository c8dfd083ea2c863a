"""Made-up streams as records, and their files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Record = dict[str, Any]


def numbers(n: int, seed: int = 0) -> list[Record]:
    """Two numbers and a smooth label."""
    rng = np.random.default_rng(seed)
    a, b, noise = rng.normal(size=(3, n))
    y = np.sin(2.0 * a) + 0.3 * b + 0.1 * noise
    return [{"a": float(a[i]), "b": float(b[i]), "y": float(y[i])} for i in range(n)]


def keyed(n: int, n_keys: int = 7, seed: int = 0) -> list[Record]:
    """Two numbers and a label that depends on the key; some keys come often, some late, some with a number."""
    rng = np.random.default_rng(seed + 1)
    records = numbers(n, seed)
    for i, record in enumerate(records):
        most = n_keys if i > n // 2 else max(1, n_keys - 2)
        place = int(most * rng.random() ** 2)
        record["sensor"] = f"s{place}" if place % 2 else str(place)
        record["y"] += 0.5 * place
    return records


def mixed(n: int, seed: int = 0) -> list[Record]:
    """Numbers with gaps, text, a time, and a label."""
    rng = np.random.default_rng(seed)
    records = numbers(n, seed)
    places = np.array(["north", "south", "east, or so", 'the "west"'])
    for i, record in enumerate(records):
        record["place"] = str(places[rng.integers(4)]) if rng.random() > 0.1 else None
        record["when"] = f"2024-03-{1 + i // 1440 % 28:02d}T{i // 60 % 24:02d}:{i % 60:02d}:00"
        if rng.random() < 0.1:
            record["b"] = None
    return records


def classes(n: int, seed: int = 0) -> list[Record]:
    """Classes, of which one appears only after the warm-up and one late."""
    records = numbers(n, seed)
    for i, record in enumerate(records):
        kind = "low" if record["y"] < -0.3 else "high" if record["y"] > 0.3 else "middle"
        if kind == "middle" and i < 100:
            kind = "low"
        if i > n // 2 and record["a"] > 1.5:
            kind = "far"
        record["y"] = kind
    return records


def late(n: int, seed: int = 0) -> list[Record]:
    """Rows with ids; every third gets its label some rows later, some twice, some never, and some ids are made up."""
    rng = np.random.default_rng(seed)
    records: list[Record] = []
    owed: list[tuple[int, Record]] = []
    for i, record in enumerate(numbers(n, seed)):
        record = {"id": i, **record}
        if i % 3 == 0:
            owed.append((i + int(rng.integers(1, 60)), {"id": i, "y": record.pop("y")}))
        records.append(record)
        for due, label in [entry for entry in owed if entry[0] <= i]:
            records.append(label)
            if rng.random() < 0.1:
                records.append(label)
            owed.remove((due, label))
        if rng.random() < 0.02:
            records.append({"id": f"unknown {i}", "y": 0.0})
        if rng.random() < 0.02:
            records.append({**record, "id": i - 1})
    return records


def write(path: Path, records: list[Record]) -> str:
    """As CSV, JSON lines or Parquet, by the suffix; the name."""
    names = list(dict.fromkeys(name for record in records for name in record))
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        columns = {name: [record.get(name) for record in records] for name in names}
        pq.write_table(pa.table(columns), path, row_group_size=700)
    return path.name


def answers(path: Path) -> list[Record]:
    """Answers of a run, as JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]
