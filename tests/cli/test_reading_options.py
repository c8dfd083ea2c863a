"""How a run reads its source: several files, ways to write numbers and times, targets with many values, first lines."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stream_runs import sources
from stream_runs.models import write_config
from stream_runs.process import iegp

from iegp import IEGPRegressor, load
from iegp.kernels import RBF

SMALL = ["--target", "y", "--config", "small.toml"]


@pytest.fixture
def folder(tmp_path):
    write_config(tmp_path)
    return tmp_path


def run(folder, *argv, **how):
    done = iegp(folder, *argv, **how)
    assert done.code == 0, done.err
    return done


# -- several files -----------------------------------------------------------------------------------------------------


def test_several_files_are_one_stream_also_when_resumed(folder):
    records = sources.numbers(2500)
    sources.write(folder / "all.csv", records)
    (folder / "parts").mkdir()
    for number, start in enumerate((0, 700, 1400)):
        sources.write(folder / "parts" / f"{number}.csv", records[start : (700, 1400, 2500)[number]])
    run(folder, "stream", "all.csv", *SMALL, "--out", "all.jsonl")
    parts = [f"parts/{number}.csv" for number in range(3)]
    for number, source in enumerate((["parts"], ["parts/*.csv"], parts)):
        run(folder, "stream", *source, *SMALL, "--out", f"{number}.jsonl", "--save", f"{number}.m", "--limit", "1024")
        run(folder, "stream", *source, *SMALL, "--out", f"{number}.jsonl", "--save", f"{number}.m", "--resume")
        assert (folder / f"{number}.jsonl").read_bytes() == (folder / "all.jsonl").read_bytes()
    predicted = [run(folder, "predict", "0.m", *source).out for source in (["all.csv"], ["parts"], parts)]
    assert predicted[0] == predicted[1] == predicted[2]


def test_a_bad_record_is_named_with_its_file(folder):
    sources.write(folder / "a.csv", sources.numbers(20))
    sources.write(folder / "b.csv", sources.numbers(20))
    with (folder / "b.csv").open("a") as file:
        file.write("1,what,3\n")
    done = iegp(folder, "stream", "a.csv", "b.csv", *SMALL, "--out", "o.csv")
    assert done.code == 1
    assert "b.csv, line 22, column 'b': 'what'" in done.err
    done = run(folder, "stream", "a.csv", "b.csv", *SMALL, "--out", "p.csv", "--on-bad-row", "skip")
    entry = json.loads((folder / "p.csv.bad.jsonl").read_text())
    assert (entry["file"], entry["line"]) == ("b.csv", 22)


# -- numbers, gaps, times ----------------------------------------------------------------------------------------------


def test_numbers_of_another_style_give_the_same_answers(folder):
    records = [{**record, "a": round(1e4 * record["a"], 2), "y": record["y"] * 1e4} for record in sources.numbers(80)]
    sources.write(folder / "plain.csv", records)
    lines = [";".join(f"{value:,.6f}".translate(str.maketrans(",.", ".,")) for value in r.values()) for r in records]
    (folder / "german.csv").write_text("\n".join(["a;b;y", *lines]) + "\n")
    exact = [{name: float(f"{value:.6f}") for name, value in record.items()} for record in records]
    sources.write(folder / "plain.csv", exact)
    style = ["--decimal", ",", "--thousands", "."]
    plain = run(folder, "stream", "plain.csv", *SMALL, "--out", "-").out
    assert run(folder, "stream", "german.csv", *SMALL, *style, "--out", "-", "--save", "g.m").out == plain
    pipe = ["-", "--format", "csv"]
    piped = run(folder, "stream", *pipe, *SMALL, *style, "--out", "-", stdin=str(folder / "german.csv"))
    means = [[json.loads(line)["mean"] for line in text.splitlines()[1:]] for text in (plain, piped.out)]
    np.testing.assert_allclose(*means, rtol=1e-8)
    scored = run(folder, "predict", "g.m", "german.csv")
    assert "Scores of 80 rows with labels, nMSE" in scored.err
    refused = iegp(folder, "stream", "german.csv", *SMALL)
    assert refused.code == 2
    assert "--decimal , --thousands ." in refused.err


def test_more_words_for_missing_values_and_times_in_a_format(folder):
    records = sources.mixed(60)
    for i, record in enumerate(records):
        record["b"] = "?" if i % 7 == 0 else i
        record["when"] = f"{1 + i // 24:02d}/03/2024 {i % 24:02d}h"
    sources.write(folder / "in.csv", records)
    options = ["--na-values", "?,-", "--time", "when", "--time-format", "%d/%m/%Y %Hh"]
    done = run(folder, "stream", "in.csv", *SMALL, *options, "--out", "o.jsonl", "--save", "m")
    assert "filled with the mean so far: b 9" in done.err
    assert "Missing columns" not in run(folder, "predict", "m", "in.csv").err
    records[40]["when"] = "2024-03-02T12:00"
    sources.write(folder / "wrong.csv", records)
    wrong = iegp(folder, "stream", "wrong.csv", *SMALL, *options)
    assert wrong.code == 1
    assert "line 42, column 'when': '2024-03-02T12:00 is not %d/%m/%Y %Hh'" in wrong.err


def test_times_and_gaps_that_are_written_otherwise_are_met_with_the_flag_that_reads_them(folder):
    records = sources.numbers(80)
    for i, record in enumerate(records):
        record["when"] = f"{1 + i // 24:02d}.03.2024 {i % 24:02d}:00"
    sources.write(folder / "in.csv", records)
    # The days of the month here could be months as well; the sign between them tells.
    unused = run(folder, "stream", "in.csv", *SMALL, "--out", "o.csv").err
    assert "that look like times; --time when --time-format '%d.%m.%Y %H:%M' makes features of it" in unused
    refused = iegp(folder, "stream", "in.csv", *SMALL, "--time", "when")
    assert refused.code == 1
    assert "--time-format '%d.%m.%Y %H:%M' reads it" in refused.err
    run(folder, "stream", "in.csv", *SMALL, "--out", "p.csv", "--time", "when", "--time-format", "%d.%m.%Y %H:%M")
    records[60]["a"] = "n/a"
    sources.write(folder / "gap.csv", records)
    gap = iegp(folder, "stream", "gap.csv", *SMALL)
    assert gap.code == 1
    assert "--na-values" in gap.err
    run(folder, "stream", "gap.csv", *SMALL, "--out", "q.csv", "--na-values", "n/a")


WRONG = {
    "a format without times": ["--time-format", "%d"],
    "a format that is none": ["--time", "a", "--time-format", "%!"],
    "the same sign twice": ["--decimal", ",", "--thousands", ","],
    "one class": ["--classes-limit", "1"],
    "a report that is a folder": ["--report", "folder"],
    "an output over the source": ["--out", "in.csv"],
    "two outputs in one file": ["--out", "x.csv", "--report", "x.csv"],
    "a report in no folder": ["--report", "nowhere/x.html"],
    "a model to start from and a model": ["--start-from", "m", "--model", "light"],
    "standard input among files": ["-"],
}


@pytest.mark.parametrize("name", WRONG)
def test_refused_before_the_run(folder, name):
    sources.write(folder / "in.csv", sources.numbers(30))
    (folder / "folder").mkdir()
    before = sorted(path.name for path in folder.iterdir() if path.name[0] != ".")
    done = iegp(folder, "stream", "in.csv", "--target", "y", *WRONG[name])
    assert done.code == 2, done.err
    assert sorted(path.name for path in folder.iterdir() if path.name[0] != ".") == before


# -- labels and columns that name rows ---------------------------------------------------------------------------------


def test_a_target_with_many_values_is_refused(folder):
    records = [record | {"y": f"n{i}"} for i, record in enumerate(sources.numbers(80))]
    sources.write(folder / "in.csv", records)
    write_config(folder, "classification")
    done = iegp(folder, "stream", "in.csv", *SMALL, "--save", "m")
    assert done.code == 2
    assert "80 different values: more than 50 classes; a column of ids cannot be a target" in done.err
    assert not (folder / "m").exists()
    few = ["--limit", "60", "--quiet"]
    assert iegp(folder, "stream", "in.csv", *SMALL, "--classes-limit", "80", *few).code == 0
    late = [record | {"y": "a" if i < 1100 else f"n{i}"} for i, record in enumerate(sources.numbers(1200))]
    sources.write(folder / "late.csv", late)
    done = iegp(folder, "stream", "late.csv", *SMALL, "--classes-limit", "3", "--out", "o.csv")
    assert done.code == 1
    assert "line 1104, column 'y': 'n1102': more than 3 classes" in done.err


def test_the_first_lines_of_a_pipe_say_what_names_rows_and_moments(folder):
    records = [
        {"at": f"2024-03-01T12:00:{i:02d}", "job": f"job {i}", "kind": f"k{i % 3}", **record}
        for i, record in enumerate(sources.numbers(40))
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    done = run(folder, "stream", "-", *SMALL, "--task", "regression", "--save", "m", stdin=str(folder / "in.jsonl"))
    assert "Not used: 'at', times; --time at makes features of it" in done.err
    assert "Not used: 'job', text that differs in every record; --id job" in done.err
    columns = json.loads(run(folder, "inspect", "m", "--json").out)["columns"]
    assert sorted(columns) == sorted(["a", "b", "kind=k0", "kind=k1", "kind=k2"]), columns


# -- other models and other columns ------------------------------------------------------------------------------------


def test_predict_says_which_columns_are_missing(folder):
    sources.write(folder / "in.csv", sources.mixed(60))
    run(folder, "stream", "in.csv", *SMALL, "--ignore", "when", "--save", "m")
    sources.write(folder / "less.csv", [{"a": record["a"], "z": 1} for record in sources.mixed(20)])
    done = run(folder, "predict", "m", "less.csv")
    assert "Missing columns: b, place;" in done.err
    assert "Scores" not in done.err
    sources.write(folder / "other.csv", [{"z": 1}])
    assert "no column of the model is there: a, b, place" in iegp(folder, "predict", "m", "other.csv").err


def test_a_model_of_a_history_goes_on(folder):
    records = sources.numbers(1700)
    columns = {name: [record[name] for record in records] for name in ("a", "b", "y")}
    table = pa.table(columns)
    pq.write_table(table.slice(0, 600), folder / "old.parquet")
    sources.write(folder / "new.csv", [{"extra": 1.0, **record} for record in records[600:]])
    run(folder, "fit-history", "old.parquet", "-t", "y", "--save", "h", "--workers", "1", "--live")
    done = run(folder, "stream", "new.csv", "-t", "y", "--start-from", "h", "--out", "o.jsonl", "--save", "m")
    assert "Started from h, which has learned 600 rows" in done.err
    model = load(folder / "h")
    new = table.slice(600).to_pandas()
    expected = model.prequential(new[["a", "b"]], new["y"])
    found = [answer["mean"] for answer in sources.answers(folder / "o.jsonl")]
    np.testing.assert_allclose(found, expected.mean, rtol=1e-9)
    part = ["stream", "new.csv", "-t", "y", "--save", "part", "--out", "p.jsonl"]
    run(folder, *part, "--start-from", "h", "--limit", "1024")
    run(folder, *part, "--resume")
    assert (folder / "p.jsonl").read_bytes() == (folder / "o.jsonl").read_bytes()


def test_a_model_without_names_cannot_go_on(folder):
    x = np.linspace(0, 1, 30)[:, None]
    IEGPRegressor([RBF(1.0)], n_frequencies=3, warmup=10, random_state=0).fit(x, x[:, 0]).save(folder / "unnamed")
    sources.write(folder / "in.csv", sources.numbers(30))
    done = iegp(folder, "stream", "in.csv", "-t", "y", "--start-from", "unnamed")
    assert done.code == 2
    assert "without names" in done.err


def test_a_model_of_text_columns_cannot_go_on(folder):
    """It has more inputs than columns, so none of the names says what an input is."""
    records = sources.numbers(30)
    frame = pa.table({"a": [record["a"] for record in records], "b": ["x", "y"] * 15}).to_pandas()
    model = IEGPRegressor([RBF(1.0)], n_frequencies=3, warmup=10, random_state=0)
    model.fit(frame, np.linspace(0, 1, 30)).save(folder / "text")
    sources.write(folder / "in.csv", records)
    done = iegp(folder, "stream", "in.csv", "-t", "y", "--start-from", "text", "--save", "m")
    assert done.code == 2
    assert "columns of text" in done.err
    assert not (folder / "m").exists()
