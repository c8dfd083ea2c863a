"""The other commands: predict, inspect, report, --version, --help, completion."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from stream_runs import sources
from stream_runs.models import write_config
from stream_runs.process import iegp

from iegp import IEGPClassifier
from iegp.storage.model_file import FORMAT

COMMANDS = ("stream", "predict", "inspect", "report", "demo", "compile")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """One run, its answers in all three formats."""
    folder = tmp_path_factory.mktemp("runs")
    write_config(folder)
    sources.write(folder / "in.csv", sources.mixed(300))
    for out in ("out.jsonl", "out.csv", "out.parquet"):
        done = iegp(folder, *stream(out), "--report", f"{out}.page.html")
        assert done.code == 0, done.err
    return folder


def stream(out: str) -> list[str]:
    where = ["--out", out, "--save", f"{out}.model"]
    return ["stream", "in.csv", "--target", "y", "--time", "when", "--config", "small.toml", *where]


def test_predict_answers_and_leaves_the_model_alone(folder):
    before = (folder / "out.csv.model").read_bytes()
    done = iegp(folder, "predict", "out.csv.model", "in.csv")
    assert done.code == 0, done.err
    assert done.err.startswith("Scores of 300 rows with labels, nMSE ")
    assert done.err.count("\n") == 1
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["row"] for row in rows] == list(range(300))
    assert all(row["lower"] < row["mean"] < row["upper"] for row in rows)
    assert (folder / "out.csv.model").read_bytes() == before
    assert rows == [json.loads(line) for line in iegp(folder, "predict", "out.csv.model", "in.csv").out.splitlines()]


def test_predict_of_too_few_labels_says_that_there_are_no_scores(folder, tmp_path):
    (tmp_path / "m").write_bytes((folder / "out.csv.model").read_bytes())
    sources.write(tmp_path / "two.csv", sources.mixed(2))
    done = iegp(tmp_path, "predict", "m", "two.csv")
    assert done.code == 0, done.err
    assert done.err == "No scores: 2 rows with labels are too few\n"


def test_predict_says_where_the_answers_are(folder, tmp_path):
    (tmp_path / "m").write_bytes((folder / "out.csv.model").read_bytes())
    records = [{name: value for name, value in record.items() if name != "y"} for record in sources.mixed(3)]
    sources.write(tmp_path / "new.csv", records)
    done = iegp(tmp_path, "predict", "m", "new.csv", "--out", "new.jsonl")
    assert done.code == 0, done.err
    assert done.err == "Answers: new.jsonl, 3 rows\n"


def test_a_report_of_another_file_says_what_it_lacks(folder, tmp_path):
    (tmp_path / "in.csv").write_bytes((folder / "in.csv").read_bytes())
    done = iegp(tmp_path, "report", "in.csv")
    assert done.code == 1
    assert "in.csv is not a file of answers of `iegp stream`: it has no 'note'" in done.err


def test_predict_needs_no_label_and_no_order_of_columns(folder, tmp_path):
    records = sources.mixed(300)[-1]
    one = {name: records[name] for name in ("when", "place", "b", "a")}
    (tmp_path / "one.jsonl").write_text(json.dumps(one) + "\n")
    (tmp_path / "m").write_bytes((folder / "out.csv.model").read_bytes())
    (answer,) = iegp(tmp_path, "predict", "m", "one.jsonl").out.splitlines()
    last = iegp(folder, "predict", "out.csv.model", "in.csv").out.splitlines()[-1]
    assert json.loads(answer)["mean"] == pytest.approx(json.loads(last)["mean"], rel=1e-9)


def test_predict_takes_categories_for_text_whatever_they_look_like(tmp_path):
    write_config(tmp_path)
    records = [{**r, "zip": "A1" if i % 5 == 0 else str(1000 + i % 2)} for i, r in enumerate(sources.numbers(60))]
    sources.write(tmp_path / "in.csv", records)
    assert iegp(tmp_path, "stream", "in.csv", "--target", "y", "--config", "small.toml", "--save", "m").code == 0
    sources.write(tmp_path / "new.csv", [{"a": 0.0, "b": 0.0, "zip": zip} for zip in ("1000", "1001")])
    sources.write(tmp_path / "new.jsonl", [{"a": 0.0, "b": 0.0, "zip": zip} for zip in ("1000", "1001")])
    means = []
    for name in ("new.csv", "new.jsonl"):
        done = iegp(tmp_path, "predict", "m", name)
        means.append([json.loads(line)["mean"] for line in done.out.splitlines()])
    assert means[0] == means[1]
    assert means[0][0] != means[0][1]
    sources.write(tmp_path / "odd.csv", [{"a": "much", "b": 0.0, "zip": "1000"}])
    done = iegp(tmp_path, "predict", "m", "odd.csv")
    assert done.code == 1
    assert "line 2, column 'a': 'much'" in done.err


@pytest.mark.parametrize("out", ["p.jsonl", "p.csv", "p.parquet"])
def test_predict_writes_every_format_and_skips_bad_rows(folder, tmp_path, out):
    (tmp_path / "m").write_bytes((folder / "out.csv.model").read_bytes())
    text = "a,b,place,when\n1,2,north,2024-03-01\n1,2\n1,2,south,noon\n3,4,,2024-03-02\n"
    (tmp_path / "new.csv").write_text(text)
    done = iegp(tmp_path, "predict", "m", "new.csv", "--out", out)
    assert done.code == 1
    assert "new.csv, line 3" in done.err
    done = iegp(tmp_path, "predict", "m", "new.csv", "--out", out, "--overwrite", "--on-bad-row", "skip")
    assert done.code == 0, done.err
    assert "2 could not be used" in done.err
    if out.endswith("parquet"):
        assert pq.read_table(tmp_path / out).num_rows == 2
        assert not list(tmp_path.glob("*.partial.jsonl"))
    else:
        assert len((tmp_path / out).read_text().splitlines()) == (3 if out.endswith("csv") else 2)


def test_predict_needs_a_model_that_has_seen_something(tmp_path):
    write_config(tmp_path)
    sources.write(tmp_path / "in.csv", sources.numbers(10))
    command = ["stream", "in.csv", "--target", "y", "--config", "small.toml", "--save", "m", "--limit", "0"]
    assert iegp(tmp_path, *command).code == 0
    done = iegp(tmp_path, "predict", "m", "in.csv")
    assert done.code == 1
    assert "seen no row" in done.err
    assert iegp(tmp_path, "inspect", "m").code == 0


def test_inspect_a_run(folder):
    facts = json.loads(iegp(folder, "inspect", "out.csv.model", "--json").out)
    assert facts["kind"] == "a run of `iegp stream`"
    assert facts["task"] == "regression"
    assert facts["target"] == "y"
    assert facts["rows answered"] == facts["rows learned"] == 300
    assert facts["finished"] is True
    assert facts["file format"] == FORMAT
    assert "a" in facts["columns"]
    assert "place=north" in facts["columns"]
    assert sum(expert["weight"] for expert in facts["experts"]) == pytest.approx(1.0)
    assert facts["configuration"]["time"] == "when"
    inputs = {row["name"]: row for row in facts["inputs"]}
    assert {"a", "place", "when"} <= inputs.keys()
    assert inputs["when"]["kind"] == "time"
    assert sum(row["relevance"] for row in inputs.values()) == pytest.approx(1.0)
    text = iegp(folder, "inspect", "out.csv.model").out
    for words in ("regression", "place=north", "RBF", "rows learned", "Missing values", "relevance", "█"):
        assert words in text


def test_inspect_an_estimator(tmp_path):
    model = IEGPClassifier(n_frequencies=3, warmup=0, random_state=0)
    model.partial_fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"], classes=["a", "b"])
    model.save(tmp_path / "m")
    facts = json.loads(iegp(tmp_path, "inspect", "m", "--json").out)
    assert facts["kind"] == "IEGPClassifier"
    assert facts["rows learned"] == 2
    assert facts["experts"]
    assert facts["inputs"] == [{"name": name, "relevance": share} for name, share in model.relevance_.items()]
    assert "IEGPClassifier" in iegp(tmp_path, "inspect", "m").out


def figures(page: Path) -> list[str]:
    """Every number that the page shows in its cards and tables."""
    text = page.read_text()
    shown = re.sub(r"<(script|style|title)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return re.findall(r">\s*([\d.,−+-]+(?: %)?)\s*<", shown)


def test_reports_of_answers_and_model_show_the_same_figures(folder):
    pages = [folder / "out.jsonl.page.html"]
    for number, run in enumerate(("out.jsonl", "out.csv", "out.parquet", "out.jsonl.model")):
        done = iegp(folder, "report", run, "--out", f"again{number}.html")
        assert done.code == 0, done.err
        pages.append(folder / f"again{number}.html")
    shown = [figures(page) for page in pages]
    assert len(shown[0]) > 20
    for page, numbers in zip(pages, shown, strict=True):
        assert numbers == shown[0], page.name
        assert re.search(r"Written\D*\d+ [A-Z][a-z]{2} \d{4} \d\d:\d\d", page.read_text("utf-8")), page.name


def test_a_report_without_the_file_beside_the_answers(folder, tmp_path):
    for name in ("out.jsonl", "out.csv", "out.parquet"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
        done = iegp(tmp_path, "report", name)
        assert done.code == 0, done.err
        assert (tmp_path / f"{name}.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    "content", ["", "{}\n", "[1]\n", "not JSON\n", '{"row": "x", "mean": 1}\n', '{"row":1,"mean":[]}\n']
)
def test_reports_of_what_is_no_run(tmp_path, content):
    (tmp_path / "odd.jsonl").write_text(content)
    done = iegp(tmp_path, "report", "odd.jsonl")
    assert done.code == (0 if content == "" else 1)
    assert content == "" or "odd.jsonl" in done.err
    (tmp_path / "odd.jsonl.run.json").write_text("{]")
    done = iegp(tmp_path, "report", "odd.jsonl")
    assert done.code == 1
    assert "odd.jsonl.run.json" in done.err


def test_a_report_of_a_run_without_rows(tmp_path):
    (tmp_path / "in.csv").write_text("a,y\n1,2\n")
    done = iegp(tmp_path, "stream", "in.csv", "--target", "y", "--limit", "0", "--out", "out.jsonl")
    assert done.code == 0, done.err
    done = iegp(tmp_path, "report", "out.jsonl")
    assert done.code == 0, done.err


def test_a_file_beside_the_answers_with_entries_of_another_kind(tmp_path):
    (tmp_path / "in.csv").write_text("a,y\n1,2\n")
    assert iegp(tmp_path, "stream", "in.csv", "--target", "y", "--out", "out.jsonl").code == 0
    beside = tmp_path / "out.jsonl.run.json"
    stored = json.loads(beside.read_text())
    for entry in ({"config": 5}, {"versions": []}, {"title": ["x"]}):
        beside.write_text(json.dumps(stored | {"about": stored["about"] | entry}))
        done = iegp(tmp_path, "report", "out.jsonl")
        assert done.code == 1
        assert "out.jsonl is damaged" in done.err


def test_version(tmp_path):
    done = iegp(tmp_path, "--version")
    assert done.code == 0
    assert re.fullmatch(r"iegp \d+\.\d+\.\d+\S*\n", done.out)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(tmp_path, command):
    done = iegp(tmp_path, command, "--help")
    assert done.code == 0
    assert "Example" in done.out
    assert f"iegp {command}" in done.out
    assert command in iegp(tmp_path, "--help").out


@pytest.mark.parametrize("command", [[], ["stream"]])
def test_h_is_help(tmp_path, command):
    short, long = iegp(tmp_path, *command, "-h"), iegp(tmp_path, *command, "--help")
    assert (short.code, short.out) == (0, long.out)


def test_as_a_command_of_its_own():
    """A process from the shell, not a fork: warnings are errors there too, but for old names that typer 0.16 uses."""
    strictly = ("-W", "error", "-W", "ignore::DeprecationWarning:typer")
    done = subprocess.run(
        [sys.executable, *strictly, "-m", "iegp", "--help"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "stream" in done.stdout


def test_shell_completion():
    for variable, value in (("_IEGP_COMPLETE", "source_bash"), ("_IEGP_COMPLETE", "complete_bash")):
        environment = os.environ | {variable: value, "COMP_WORDS": "iegp st", "COMP_CWORD": "1"}
        done = subprocess.run(
            [sys.executable, "-c", "import sys; sys.argv[0] = 'iegp'; from iegp.cli.app import main; main()"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert "_IEGP_COMPLETE" in done.stdout if value == "source_bash" else "stream" in done.stdout


def test_standard_output_carries_data_only(folder):
    done = iegp(folder, "stream", "in.csv", "--target", "y", "--time", "when", "--config", "small.toml", "--out", "-")
    assert done.code == 0
    assert [json.loads(line)["row"] for line in done.out.splitlines()] == list(range(300))
    assert "Done: 300 rows" in done.err
    quiet = iegp(folder, "stream", "in.csv", "--target", "y", "--config", "small.toml", "--time", "when", "--quiet")
    assert quiet.out == quiet.err == ""


def test_intervals_may_be_cheap(tmp_path):
    write_config(tmp_path)
    sources.write(tmp_path / "in.csv", sources.numbers(100))
    command = ["stream", "in.csv", "--target", "y", "--config", "small.toml", "--out", "-", "--level", "0.9"]
    rows = [json.loads(line) for line in iegp(tmp_path, *command, "--intervals", "normal").out.splitlines()]
    for row in rows[1:]:
        assert row["upper"] - row["mean"] == pytest.approx(1.6448536269514722 * row["std"], rel=1e-9)


def test_text_that_names_rows_is_left_out_and_said_so(tmp_path):
    write_config(tmp_path)
    records = [
        {**r, "order": f"o{i}", "when": f"2024-01-01T00:{i:02d}:00", "kind": "ab"[i % 2]}
        for i, r in enumerate(sources.numbers(60))
    ]
    sources.write(tmp_path / "in.csv", records)
    done = iegp(tmp_path, "stream", "in.csv", "--target", "y", "--config", "small.toml", "--save", "m")
    assert done.code == 0
    assert "Not used: 'order'" in done.err
    assert "--id order" in done.err
    assert "--time when" in done.err
    facts = json.loads(iegp(tmp_path, "inspect", "m", "--json").out)
    assert facts["columns"] == ["a", "b", "kind=a", "kind=b"]


def test_a_stray_text_in_the_target_stops_the_run_and_does_not_change_the_task(tmp_path):
    write_config(tmp_path)
    sources.write(
        tmp_path / "in.csv", [{**r, "y": "?" if i == 20 else r["y"]} for i, r in enumerate(sources.numbers(60))]
    )
    done = iegp(tmp_path, "stream", "in.csv", "--target", "y", "--config", "small.toml")
    assert done.code == 1
    assert "Task: regression" in done.err
    assert "line 22, column 'y': '?'" in done.err


def test_rows_that_can_never_be_learned_are_counted(tmp_path):
    write_config(tmp_path)
    records = sources.numbers(30)
    for record in records[::3]:
        del record["y"]
    sources.write(tmp_path / "in.jsonl", records)
    done = iegp(tmp_path, "stream", "in.jsonl", "--target", "y", "--config", "small.toml")
    assert "10 rows had neither a label nor an id" in done.err


def test_a_named_pipe_is_no_model_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for command in (["inspect", "pipe"], ["predict", "pipe", "in.csv"], ["report", "pipe"]):
        done = iegp(tmp_path, *command)
        assert done.code == 1
        assert "file" in done.err
