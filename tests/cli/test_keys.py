"""`iegp stream --key` as a user meets it: formats, pipes, bad rows, prediction, inspection, report."""

from __future__ import annotations

import json
import signal
import time
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import read_csv
from stream_runs import sources
from stream_runs.models import write_config
from stream_runs.process import Conversation, iegp

from iegp import Fleet, IEGPRegressor
from iegp.cli.about import LIGHT_BYTES, fleet_message
from iegp.errors import ModelFileError
from iegp.kernels import RBF
from iegp.presets import light

RECORDS = [{**record, "sensor": i * i % 7} for i, record in enumerate(sources.numbers(120))]
STREAM = ["--target", "y", "--config", "small.toml", "--key", "sensor"]


def prepare(folder, records=RECORDS, name="in.csv"):
    # Plain random features, so that a header or none makes no difference.
    write_config(folder)
    text = (folder / "small.toml").read_text().replace("[parameters]\n", '[parameters]\nfeatures = "random"\n', 1)
    (folder / "small.toml").write_text(text)
    return sources.write(folder / name, records)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run with keys 0, 1, 2 and 4."""
    folder = tmp_path_factory.mktemp("run")
    prepare(folder)
    done = iegp(folder, "stream", "in.csv", *STREAM, "--save", "m", "--out", "out.jsonl", "--report", "r.html")
    assert done.code == 0, done.err
    assert "From here on one model per key: " in done.err
    assert " MiB per key, 1,000 keys take " in done.err
    assert "--model light" not in done.err
    assert "Models by key: 4 keys" in done.err
    return folder


def test_formats_give_the_same_and_answers_have_the_key(folder, tmp_path):
    wanted = (folder / "out.jsonl").read_text()
    assert [json.loads(line)["sensor"] for line in wanted.splitlines()] == [str(record["sensor"]) for record in RECORDS]
    in_text = [{**record, "sensor": str(record["sensor"])} for record in RECORDS]
    with_gaps = [{**record, "sensor": float(record["sensor"])} for record in RECORDS]
    for number, (name, records) in enumerate(
        [("in.jsonl", RECORDS), ("in.parquet", RECORDS), ("text.jsonl", in_text), ("floats.parquet", with_gaps)]
    ):
        prepare(tmp_path, records, name)
        done = iegp(tmp_path, "stream", name, *STREAM, "--out", f"{number}.jsonl", "--jobs", "2")
        assert done.code == 0, done.err
        assert (tmp_path / f"{number}.jsonl").read_text() == wanted, name


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_answers_in_columns(folder, tmp_path, ending):
    prepare(tmp_path)
    command = ["stream", "in.csv", *STREAM, "--out", f"out.{ending}", "--save", "m"]
    assert iegp(tmp_path, *command, "--limit", "60").code == 0
    done = iegp(tmp_path, *command, "--resume")
    assert done.code == 0, done.err
    if ending == "csv":
        header, *lines = (tmp_path / "out.csv").read_text().splitlines()
        found = [line.split(",")[header.split(",").index("sensor")] for line in lines]
    else:
        found = pq.read_table(tmp_path / "out.parquet")["sensor"].to_pylist()
    assert found == [str(record["sensor"]) for record in RECORDS]
    assert iegp(tmp_path, "report", f"out.{ending}", "--out", "r.html").code == 0
    assert keys_in(tmp_path / "r.html") == keys_in(folder / "r.html")


def keys_in(page):
    """The section about keys."""
    text = page.read_text()
    return text[text.index('<section id="keys">') : text.index('<section id="experts">')]


def test_the_report_lists_keys(folder):
    section = keys_in(folder / "r.html")
    assert "4 of 4 keys" in section
    for key in ("0", "1", "2", "4"):
        assert f"<td>{key}</td>" in section
    for source in ("m", "out.jsonl"):
        assert iegp(folder, "report", source, "--out", "again.html").code == 0
        assert keys_in(folder / "again.html") == section


def test_inspect_shows_keys(folder):
    facts = json.loads(iegp(folder, "inspect", "m", "--json").out)
    assert (facts["key"], facts["keys seen"], facts["models"]) == ("sensor", 4, 4)
    assert facts["bytes per key"] > 1000
    rows = {str(key): sum(record["sensor"] == key for record in RECORDS) for key in (0, 1, 2, 4)}
    assert facts["busiest keys, rows"] == rows
    assert "Experts each key starts with" in iegp(folder, "inspect", "m").out


def test_predict_uses_the_key_and_the_template_for_an_unknown_one(folder):
    asked = [{"sensor": key, "a": 0.4, "b": 0.2} for key in (1, 4, "stranger", "another")]
    sources.write(folder / "ask.jsonl", asked)
    done = iegp(folder, "predict", "m", "ask.jsonl")
    assert done.code == 0, done.err
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [answer["sensor"] for answer in answers] == ["1", "4", "stranger", "another"]
    assert [answer.get("note") for answer in answers] == [None, None, "new key", "new key"]
    assert "New keys: 2 rows of keys that the model has not seen" in done.err
    assert "New keys" not in iegp(folder, "predict", "m", "in.csv").err
    for name in ("ask.csv", "ask.parquet"):
        assert iegp(folder, "predict", "m", "ask.jsonl", "--out", name).code == 0
        table = pq.read_table(folder / name) if name.endswith("t") else read_csv(folder / name)
        assert [note or "" for note in table["note"].to_pylist()] == ["", "", "new key", "new key"]
    means = [answer["mean"] for answer in answers]
    assert len(set(means)) == 3
    assert means[2] == means[3]
    sources.write(folder / "no-key.jsonl", [asked[0], {"a": 1.0, "b": 1.0}])
    assert "line 2, column 'sensor': no key" in iegp(folder, "predict", "m", "no-key.jsonl").err


def test_rows_without_a_key_stop_the_run_or_are_set_aside(tmp_path):
    prepare(tmp_path, [*RECORDS[:70], {**RECORDS[70], "sensor": None}, *RECORDS[71:]])
    done = iegp(tmp_path, "stream", "in.csv", *STREAM)
    assert done.code == 1
    assert "in.csv, line 72, column 'sensor': no key" in done.err
    done = iegp(tmp_path, "stream", "in.csv", *STREAM, "--on-bad-row", "skip", "--save", "m")
    assert done.code == 0
    assert "119 rows, 119 learned" in done.err
    (bad,) = (tmp_path / "m.bad.jsonl").read_text().splitlines()
    assert json.loads(bad)["column"] == "sensor"


def test_too_few_rows_for_a_fleet_are_said_to_be_too_few(tmp_path):
    prepare(tmp_path, RECORDS[:30])
    done = iegp(tmp_path, "stream", "in.csv", *STREAM, "--save", "m")
    assert done.code == 0
    assert "Models by key: all 4 keys share one still; each gets its own after 10 more labels" in done.err
    assert "models" not in json.loads(iegp(tmp_path, "inspect", "m", "--json").out)


def test_a_key_column_that_is_called_like_an_answer(tmp_path):
    """A column id that is named as the key is no longer the id; its name in the answers is taken."""
    prepare(tmp_path, [{"id": record["sensor"], **record} for record in RECORDS])
    flags = ["--target", "y", "--config", "small.toml", "--ignore", "sensor", "--key", "id", "--out", "out.jsonl"]
    done = iegp(tmp_path, "stream", "in.csv", *flags)
    assert done.code == 0, done.err
    answers = sources.answers(tmp_path / "out.jsonl")
    assert [answer["key"] for answer in answers] == [str(record["sensor"]) for record in RECORDS]
    assert "id" not in answers[0]


def test_a_pipe_killed_and_resumed_with_new_keys_and_late_labels(tmp_path):
    """Answered line by line: what a run that was left alone answers, and the same model, to the byte."""
    records = [{"id": f"r{i}", **record} for i, record in enumerate(RECORDS[:70])]
    records[50].pop("y")
    records[60]["sensor"] = "new"
    records.append({"id": "r50", "y": 0.5})
    lines = [json.dumps(record) + "\n" for record in records]
    for name in ("whole", "cut"):
        folder = tmp_path / name
        folder.mkdir()
        prepare(folder)
        command = ["stream", "-", *STREAM, "--task", "regression", "--save", "m", "--checkpoint-every", "7"]
        command += ["--lags", "2"]
        talk, told = Conversation(folder, *command, "--out", "-"), []
        for number, line in enumerate(lines):
            talk.write(line)
            answer = talk.read()
            # Killed after it was told and before that was noted, an answer comes twice.
            told.append(talk.read() if told and answer == told[-1] else answer)
            if name == "cut" and number in (20, 55):
                assert talk.kill().code == -signal.SIGKILL
                talk = Conversation(folder, *command, "--out", "-", "--resume")
                while talk.running.is_alive and "Resumed" not in talk.running.said:
                    time.sleep(0.001)
        assert talk.end().code == 0
        (folder / "told").write_text("\n".join(told))
    for file in ("told", "m"):
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "cut" / file).read_bytes()
    late = json.loads((tmp_path / "cut" / "told").read_text().splitlines()[-1])
    assert (late["late"], late["sensor"], late["row"]) == (True, str(records[50]["sensor"]), 50)
    assert np.isfinite(late["log_score"])


def test_another_key_is_another_run(folder):
    done = iegp(folder, "stream", "in.csv", *STREAM[:-1], "a", "--save", "m", "--resume")
    assert done.code == 2
    assert "--key a differs from sensor" in done.err


@pytest.mark.parametrize("n_columns", [1, 30])
def test_the_size_of_a_light_model_is_what_is_said(n_columns):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, n_columns))
    fleet = Fleet(light(random_state=0).partial_fit(rows, rows[:, 0] + 0.1 * rng.standard_normal(300)))
    # Linear terms have a feature for each column.
    assert fleet.bytes_per_key == pytest.approx(LIGHT_BYTES, rel=0.12)
    size = {1: ("0.95 MiB", "0.93"), 30: ("1.1 MiB", "1.1")}[n_columns]
    assert fleet_message(fleet) == f"From here on one model per key: {size[0]} per key, 1,000 keys take {size[1]} GiB"


def test_a_large_model_gets_a_hint_at_a_smaller_one():
    fleet = SimpleNamespace(bytes_per_key=5_800_000)
    assert fleet_message(fleet).endswith(
        ": 5.5 MiB per key, 1,000 keys take 5.4 GiB; --model light takes 1 MiB per key"
    )


def test_python_says_what_such_a_model_is_for(folder):
    with pytest.raises(ModelFileError, match=r"a run of `iegp stream --key` with 4 keys, .*iegp predict.*--resume"):
        Fleet.load(folder / "m")


def test_inspect_shows_a_fleet_saved_in_python(tmp_path):
    rows = np.random.default_rng(0).standard_normal((60, 2))
    model = IEGPRegressor([RBF(1.0)], n_frequencies=3, warmup=40, random_state=0).partial_fit(rows, rows[:, 0])
    fleet = Fleet(model, ["pump", 7], dtype="float32")
    fleet.save(tmp_path / "fleet")
    facts = json.loads(iegp(tmp_path, "inspect", "fleet", "--json").out)
    assert (facts["models"], facts["keys"], facts["bytes per key"]) == (2, ["pump", "7"], fleet.bytes_per_key)
    assert (facts["stored as"], facts["columns"], len(facts["experts"])) == ("float32", 2, len(model.experts_))
    assert "Experts each key starts with" in iegp(tmp_path, "inspect", "fleet").out


def test_a_producer_may_send_everything_again_after_a_crash(tmp_path):
    """Rows that were answered are answered again and not learned again; a label that never came teaches once."""
    prepare(tmp_path)
    records = [{"id": f"r{i}", **record} for i, record in enumerate(RECORDS[:60])]
    label = {"id": "r10", "y": records[10].pop("y")}
    command = ["stream", "-", *STREAM, "--task", "regression", "--save", "m", "--checkpoint-every", "7", "--out", "-"]
    talk = Conversation(tmp_path, *command)
    for record in records[:50]:
        talk.write(json.dumps(record) + "\n")
        talk.read()
    talk.kill()
    (tmp_path / "again").write_text("".join(json.dumps(record) + "\n" for record in [*records, label, label]))
    done = iegp(tmp_path, *command, "--resume", stdin=str(tmp_path / "again"))
    assert done.code == 0, done.err
    assert "110 rows, 60 learned" in done.err
    assert "Late labels: 1 " in done.err
    again = [json.loads(line) for line in done.out.splitlines()]
    assert [answer["id"] for answer in again if answer.get("duplicate")] == [record["id"] for record in records[:50]]
