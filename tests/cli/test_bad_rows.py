"""Records that cannot be used: the run stops at them after everything before is safe, or sets them aside."""

from __future__ import annotations

import gzip
import json

import pytest
from stream_runs import sources
from stream_runs.models import write_config
from stream_runs.process import iegp

STREAM = ["stream", "in.csv", "--target", "y", "--config", "small.toml", "--save", "m", "--out", "out.jsonl"]


def lines_of(n):
    return ["a,b,y", *(f"{r['a']},{r['b']},{r['y']}" for r in sources.numbers(n))]


@pytest.fixture
def folder(tmp_path):
    write_config(tmp_path)
    return tmp_path


@pytest.mark.parametrize("at", [1, 37, 1500])
def test_the_default_stops_with_file_line_column_and_text_and_goes_on_once_fixed(folder, at):
    lines = lines_of(2000)
    good = lines[at]
    lines[at] = "1.0," + "far too long to be shown " * 20 + ",2.0"
    if at < 100:
        # Among the first rows text would make it a column of text.
        lines[at] = "1.0,2.0,3.0,4.0"
    (folder / "in.csv").write_text("\n".join(lines) + "\n")
    done = iegp(folder, *STREAM)
    assert done.code == 1
    told = done.err.splitlines()[-1]
    assert told.startswith(f"iegp: in.csv, line {at + 1}")
    assert len(told) < 300
    if at == 1500:
        assert "column 'b'" in told
    assert len(sources.answers(folder / "out.jsonl")) == at - 1
    assert json.loads(iegp(folder, "inspect", "m", "--json").out)["rows learned"] == at - 1
    lines[at] = good
    (folder / "in.csv").write_text("\n".join(lines) + "\n")
    done = iegp(folder, *STREAM, "--resume")
    assert done.code == 0, done.err
    assert [answer["row"] for answer in sources.answers(folder / "out.jsonl")] == list(range(2000))


def test_skipped_rows_are_counted_and_set_aside(folder):
    lines = lines_of(100)
    for at, text in ((10, "1,2"), (50, "1,2,3,4"), (70, "")):
        lines[at] = text
    (folder / "in.csv").write_text("\n".join(lines) + "\n")
    done = iegp(folder, *STREAM, "--on-bad-row", "skip")
    assert done.code == 0, done.err
    assert "Bad records: 2" in done.err
    aside = sources.answers(folder / "m.bad.jsonl")
    assert [entry["line"] for entry in aside] == [11, 51]
    assert [entry["record"] for entry in aside] == ["1,2", "1,2,3,4"]
    assert len(sources.answers(folder / "out.jsonl")) == 97


def test_after_a_stop_the_rest_may_be_skipped(folder):
    lines = lines_of(50)
    lines[20] = "1,2"
    (folder / "in.csv").write_text("\n".join(lines) + "\n")
    assert iegp(folder, *STREAM).code == 1
    done = iegp(folder, *STREAM, "--resume", "--on-bad-row", "skip")
    assert done.code == 0, done.err
    assert len(sources.answers(folder / "out.jsonl")) == 49


@pytest.mark.parametrize("out", ["out.jsonl", "out.csv", "out.parquet"])
def test_labels_that_are_none_are_bad_rows_of_their_task(folder, out):
    records = sources.numbers(40)
    records[30]["y"] = -1.5
    sources.write(folder / "in.csv", [{**r, "y": abs(round(r["y"])) if r["y"] != -1.5 else -1} for r in records])
    write_config(folder, "count")
    done = iegp(folder, *STREAM[:-1], out, "--task", "count")
    assert done.code == 1
    assert "line 32, column 'y': '-1': a count cannot be negative" in done.err


def test_a_time_that_cannot_be_read(folder):
    records = [{**record, "when": f"2024-03-01T00:{i:02d}"} for i, record in enumerate(sources.numbers(30))]
    records[12]["when"] = "noon"
    sources.write(folder / "in.csv", records)
    done = iegp(folder, *STREAM, "--time", "when")
    assert done.code == 1
    assert "in.csv, line 14, column 'when': 'noon': no time" in done.err
    done = iegp(folder, *STREAM, "--time", "when", "--overwrite", "--on-bad-row", "skip")
    assert done.code == 0
    assert [entry["column"] for entry in sources.answers(folder / "m.bad.jsonl")] == ["when"]
    assert json.loads(sources.answers(folder / "m.bad.jsonl")[0]["record"])["when"] == "noon"


def test_missing_error(folder):
    lines = lines_of(30)
    lines[9] = ",1.0,2.0"
    (folder / "in.csv").write_text("\n".join(lines) + "\n")
    done = iegp(folder, *STREAM, "--missing", "error")
    assert done.code == 1
    assert "in.csv, line 10, column 'a': missing" in done.err
    done = iegp(folder, *STREAM, "--overwrite")
    assert done.code == 0
    assert "Missing values: filled with the mean so far: a 1" in done.err


def test_missing_text_is_counted(folder):
    records = sources.mixed(80)
    sources.write(folder / "in.csv", records)
    n_b, n_place = (sum(record[name] is None for record in records) for name in ("b", "place"))
    done = iegp(folder, *STREAM, "--time", "when")
    assert done.code == 0, done.err
    assert n_b > 0 < n_place
    said = f"Missing values: filled with the mean so far: b {n_b}; of text, taken as no category: place {n_place}\n"
    assert said in done.err


def test_a_number_beyond_all_arithmetic(folder):
    lines = lines_of(60)
    lines[55] = "1e300,1.0,1.0"
    (folder / "in.csv").write_text("\n".join(lines) + "\n")
    done = iegp(folder, *STREAM)
    assert done.code == 1
    assert "line 56, column 'a': '1e+300': too far" in done.err


def test_a_damaged_source_ends_after_all_that_could_be_read(folder):
    """A compressed file that is cut short: what it still holds is answered and saved, then comes the message."""
    content = gzip.compress("\n".join(lines_of(3000)).encode())
    (folder / "in.csv.gz").write_bytes(content[: len(content) * 3 // 4])
    done = iegp(folder, "stream", "in.csv.gz", *STREAM[2:])
    assert done.code == 1
    assert "damaged or cut short" in done.err
    n = json.loads(iegp(folder, "inspect", "m", "--json").out)["rows learned"]
    assert 1500 < n < 3000
    assert len(sources.answers(folder / "out.jsonl")) == n
    (folder / "in.csv.gz").write_bytes(content)
    done = iegp(folder, "stream", "in.csv.gz", *STREAM[2:], "--resume")
    assert done.code == 0, done.err
    assert [answer["row"] for answer in sources.answers(folder / "out.jsonl")] == list(range(3000))


@pytest.mark.parametrize("name", ["in.csv", "in.jsonl"])
@pytest.mark.parametrize("content", ["", "\n\n", "a,b,y\n", "\ufeff", "{}\n"])
def test_sources_with_nothing_in_them(folder, name, content):
    (folder / name).write_text(content)
    done = iegp(folder, "stream", name, *STREAM[2:])
    assert done.code in (1, 2)
    assert done.err.splitlines()[-1].startswith("iegp: ")


def test_limit_zero_writes_everything_and_learns_nothing(folder):
    (folder / "in.csv").write_text("\n".join(lines_of(20)) + "\n")
    done = iegp(folder, *STREAM, "--limit", "0", "--report", "page.html")
    assert done.code == 0, done.err
    assert (folder / "out.jsonl").read_text() == ""
    assert (folder / "page.html").stat().st_size > 1000
    done = iegp(folder, *STREAM, "--resume")
    assert done.code == 0, done.err
    assert len(sources.answers(folder / "out.jsonl")) == 20
    done = iegp(folder, "predict", "m", "in.csv")
    assert len(done.out.splitlines()) == 20


def test_records_without_label_or_features(folder):
    """The first without a label, some without the target at all, one with nothing but a target."""
    records = [
        {"a": 0.5, "b": 1.0},
        *sources.numbers(20),
        {"a": 1.0, "b": 2.0, "y": None},
        {"y": 1.0},
        {"a": 3.0, "b": 1.0},
    ]
    sources.write(folder / "in.jsonl", records)
    done = iegp(folder, "stream", "in.jsonl", *STREAM[2:])
    assert done.code == 0, done.err
    answers = sources.answers(folder / "out.jsonl")
    assert len(answers) == 24
    assert [answer["label"] is None for answer in answers] == [True, *[False] * 20, True, False, True]
    assert all(answer["mean"] is not None for answer in answers[2:])


def test_no_row_can_begin_a_model_without_features(folder):
    (folder / "in.csv").write_text("y\n1.5\n2.5\n")
    done = iegp(folder, *STREAM)
    assert done.code == 1
    assert "line 2: no features" in done.err


@pytest.mark.parametrize(("values", "names"), [((0, 1), {"0", "1"}), ((True, False), {"true", "false"})])
@pytest.mark.parametrize("name", ["in.csv", "in.jsonl", "in.parquet", "-"])
def test_classes_have_the_same_names_in_every_format(folder, values, names, name):
    records = [{"a": r["a"], "y": values[r["y"] > 0]} for r in sources.numbers(60)]
    if name == "in.csv":
        records = [{"a": r["a"], "y": json.dumps(r["y"])} for r in records]
    write_config(folder, "classification")
    sources.write(folder / ("in.jsonl" if name == "-" else name), records)
    stdin = {"stdin": str(folder / "in.jsonl")} if name == "-" else {}
    done = iegp(folder, "stream", name, *STREAM[2:], "--task", "classification", **stdin)
    assert done.code == 0, done.err
    answers = sources.answers(folder / "out.jsonl")
    assert set(answers[-1]["proba"]) == names
    assert {answer["label"] for answer in answers} == names
    assert answers[0]["predicted"] is None
    assert answers[0]["proba"] == {}


def test_a_class_never_seen_before_is_an_error_without_a_score(folder):
    records = [{**r, "y": "new" if i == 50 else "a" if r["y"] > 0 else "b"} for i, r in enumerate(sources.numbers(60))]
    write_config(folder, "classification")
    sources.write(folder / "in.csv", records)
    assert iegp(folder, *STREAM).code == 0
    answers = sources.answers(folder / "out.jsonl")
    assert answers[50]["log_score"] is None
    assert answers[50]["label"] == "new" != answers[50]["predicted"]
    facts = json.loads(iegp(folder, "inspect", "m", "--json").out)
    wrong = sum(answer["predicted"] != answer["label"] for answer in answers)
    assert facts["error"] == pytest.approx(wrong / 60, abs=1e-6)


def test_ids_that_are_missing_are_left_out(folder):
    records = [{"id": i if i % 2 else None, **record} for i, record in enumerate(sources.numbers(40))]
    sources.write(folder / "in.jsonl", records)
    for out in ("out.jsonl", "out.csv", "out.parquet"):
        done = iegp(folder, "stream", "in.jsonl", *STREAM[2:-1], out, "--overwrite")
        assert done.code == 0, done.err
        if out == "out.jsonl":
            answers = sources.answers(folder / out)
            assert [answer.get("id", "none") for answer in answers] == [i if i % 2 else "none" for i in range(40)]
        assert iegp(folder, "report", out).code == 0
