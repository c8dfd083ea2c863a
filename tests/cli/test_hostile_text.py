"""Text out of data: ids, labels and names reach JSON, spreadsheets and terminals as text and nothing else."""

from __future__ import annotations

import csv
import json
import re

import pytest
from stream_runs import sources
from stream_runs.models import write_config
from stream_runs.process import iegp

from iegp.preprocessing.time_features import read_time
from iegp.readers import object_array
from iegp.stream.answer_text import guarded, id_as_json
from iegp.stream.plan import find_task, key_name

ESCAPE = "\x1b]0;owned\x07\x1b[2J"
OTHER_DIGITS = ("١٢", "１２", "१२", "1_000", "1_0.5")


@pytest.mark.parametrize("name", [*OTHER_DIGITS, "-١", "7", "-12", "007", "1e5", "9" * 40])
def test_ids_are_json(name):
    assert str(json.loads(id_as_json(name))) == name


@pytest.mark.parametrize("text", OTHER_DIGITS)
def test_only_plain_digits_are_numbers(text):
    assert find_task(object_array([text] * 40))[0] == "classification"
    assert read_time(text) is None
    assert key_name(f"{text}.0") == f"{text}.0"


def test_a_label_in_other_digits_is_a_bad_row(tmp_path):
    write_config(tmp_path)
    records = [*sources.numbers(60), {"a": 1.0, "b": 1.0, "y": "1_000"}, {"a": 1.0, "b": 1.0, "y": "١٢"}]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (tmp_path / "in.jsonl").write_text(lines)
    command = ("stream", "-", "--target", "y", "--task", "regression", "--config", "small.toml", "--out", "o.jsonl")
    done = iegp(tmp_path, *command, "--on-bad-row", "skip", stdin=str(tmp_path / "in.jsonl"))
    assert done.code == 0, done.err
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == 60
    bad = [json.loads(line) for line in (tmp_path / "o.jsonl.bad.jsonl").read_text().splitlines()]
    assert [entry["text"] for entry in bad] == ["1_000", "١٢"]


def test_no_escape_reaches_the_terminal(tmp_path):
    """In names of columns, in labels and in keys; on standard error and in what inspect prints."""
    write_config(tmp_path, "classification")
    name = f"a{ESCAPE}"
    records = [{name: r["a"], "b": r["b"], "y": f"{ESCAPE}{r['y'] > 0}"} for r in sources.numbers(80)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    base = ("stream", "in.jsonl", "--config", "small.toml", "--save", "m", "--overwrite", "--target")
    runs = [
        iegp(tmp_path, *base, "y"),
        iegp(tmp_path, "inspect", "m"),
        iegp(tmp_path, "inspect", "m", "--json"),
        iegp(tmp_path, *base, "none"),
        iegp(tmp_path, *base, name),
        iegp(tmp_path, *base, "y", "--key", f"no{ESCAPE}"),
        iegp(tmp_path, *base, "y", "--task", "regression"),
    ]
    assert [run.code for run in runs[:3]] == [0, 0, 0], runs[0].err
    assert any("\\x1b]0;owned\\x07" in run.err for run in runs)
    assert "\\x1b]0;owned\\x07" in runs[1].out.replace("\n", "")
    for run in runs:
        assert "\x1b" not in run.out + run.err
        assert "\x07" not in run.out + run.err


FORMULAS = ("=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(A1)", "\tx", "'quoted", "plain", "-5")


def test_formulas_are_text_if_asked_for(tmp_path):
    """Off, text is as it was; on, it has a sign in front, of which the report knows."""
    write_config(tmp_path, "classification")
    records = [
        {"id": FORMULAS[i % 8] + str(i), "a": r["a"], "b": r["b"], "y": "=up" if r["y"] > 0 else "-down"}
        for i, r in enumerate(sources.numbers(80))
    ]
    sources.write(tmp_path / "in.csv", records)
    pages = []
    for flag in ((), ("--guard-formulas",)):
        save = ("--save", "m", "--checkpoint-every", "30", "--limit", "40", "--overwrite", *flag)
        base = ("stream", "in.csv", "--target", "y", "--config", "small.toml", "--out", "o.csv")
        assert iegp(tmp_path, *base, *save).code == 0
        # A resumed run keeps it.
        done = iegp(tmp_path, *base, "--save", "m", "--resume")
        assert done.code == 0, done.err
        with open(tmp_path / "o.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        change = guarded if flag else str
        assert [row["id"] for row in rows] == [change(record["id"]) for record in records]
        assert {row["label"] for row in rows} == {change("=up"), change("-down")}
        assert {row["predicted"] for row in rows} <= {change("=up"), change("-down"), ""}
        assert iegp(tmp_path, "report", "o.csv").code == 0
        page = (tmp_path / "o.csv.html").read_text()
        pages.append(re.sub(r"guard.formulas</th><td>(yes|no)|\d\d:\d\d:\d\d UTC", "", page))
        predicted = iegp(tmp_path, "predict", "m", "in.csv", "--out", "p.csv", "--overwrite", *flag)
        assert predicted.code == 0, predicted.err
        with open(tmp_path / "p.csv", newline="") as file:
            assert [row["id"] for row in csv.DictReader(file)] == [change(record["id"]) for record in records]
    assert pages[0] == pages[1]


def test_formulas_in_names_of_series_are_text_if_asked_for(tmp_path):
    rows = [f"{name},{i % 3}" for i in range(40) for name in ("=up", "plain")]
    (tmp_path / "in.csv").write_text("\n".join(["k,y", *rows]) + "\n")
    base = ("forecast", "in.csv", "--target", "y", "--key", "k", "--horizon", "1", "--quiet")
    for flag, name in (((), "=up"), (("--guard-formulas",), "'=up")):
        done = iegp(tmp_path, *base, *flag)
        assert done.code == 0, done.err
        assert [row["k"] for row in csv.DictReader(done.out.splitlines())] == [name, "plain"]


def test_no_escape_of_a_file_name_reaches_the_terminal(tmp_path):
    write_config(tmp_path)
    sources.write(tmp_path / "in.csv", sources.numbers(40))
    name = f"{ESCAPE}.jsonl"
    base = ("stream", "in.csv", "--target", "y", "--task", "regression", "--config", "small.toml")
    runs = [iegp(tmp_path, *base, "--out", name), iegp(tmp_path, "report", name)]
    for run in runs:
        assert run.code == 0, run.err
        assert "\x1b" not in run.out + run.err
        assert "\\x1b]0;owned\\x07" in run.err
