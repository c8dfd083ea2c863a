"""Kinds of runs, small enough that one takes a moment: what lies in the folder before, the command, how it goes on."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from stream_runs import sources

from faulty_runs.command import Ended, run
from faulty_runs.injection import Fault
from iegp.fleet.keyed_learner import Fleets
from iegp.stream import checkpoint

_SETTINGS = """[parameters]
{noise}n_frequencies = 2
warmup = 12
drift_var = [0.0]
[[parameters.kernels]]
kernel = "RBF"
length_scale = 1.0
"""
_MODEL = ("--config", "small.toml", "--save", "m", "--checkpoint-every", "16", "-q")
_EMBED = ("--init", "pca", "--warmup", "30", "--frequencies", "2", "--save", "m", "--checkpoint-every", "32", "-q")
_BROKEN = {9: "1,2", 20: "1,2,three", 27: "a,b,c,d"}
# What a run is given.
_GIVEN = ("in.csv", "more.csv", "in.jsonl", "small.toml")


@dataclass(frozen=True)
class Scenario:
    """A command, and what it is run on."""

    command: tuple[str, ...]
    records: list[sources.Record] = field(default_factory=list)
    source: str = "in.csv"
    spoiled: dict[int, str] = field(default_factory=dict)
    """Lines of the source to be replaced."""
    n_first: int | None = None
    """Of the records so many are in the source, and the others in more.csv."""
    task: str = "regression"
    before: tuple[str, ...] = ()
    """A command that was run to its end before."""
    again: str = "--resume"
    """What is added to the command to go on, or to start anew."""

    def prepare(self, folder: Path) -> None:
        """Everything that is there before the command."""
        noise = "noise_var = 0.1\n" if self.task == "regression" else ""
        (folder / "small.toml").write_text(_SETTINGS.format(noise=noise))
        if self.source != "-":
            sources.write(folder / self.source, self.records[: self.n_first])
            _spoil(folder / self.source, self.spoiled)
        if self.n_first is not None:
            sources.write(folder / "more.csv", self.records[self.n_first :])
        if self.before:
            ended = run(folder, list(self.before))
            assert ended.code == 0, ended.err

    def start(self, folder: Path, fault: Fault | None = None) -> Ended:
        """The run; in a folder without a model its first."""
        return run(folder, list(self.command), fault, self._lines(0))

    def go_on(self, folder: Path, fault: Fault | None = None) -> Ended:
        """What a user is told to do after an error."""
        if self.source == "-" and (folder / "m").exists():
            # Nothing is sent before it is known how much has arrived.
            ended = run(folder, [*self.command, self.again], fault, b"")
            if ended.code:
                return ended
            rest = run(folder, [*self.command, self.again], None, self._lines(_arrived(folder)))
            return Ended(rest.code, ended.out + rest.out, ended.err + rest.err, ended.calls + rest.calls)
        command = list(self.command)
        return run(folder, command if self.again in command else [*command, self.again], fault, self._lines(0))

    def _lines(self, first: int) -> bytes | None:
        if self.source != "-":
            return None
        return "".join(json.dumps(record) + "\n" for record in self.records[first:]).encode()


def _spoil(path: Path, lines: dict[int, str]) -> None:
    if lines:
        content = path.read_text().splitlines()
        for number, text in lines.items():
            content[number] = text
        path.write_text("\n".join(content) + "\n")


def _arrived(folder: Path) -> int:
    """Lines of a pipe that the run has taken in."""
    return checkpoint.read(folder / "m", by_key=Fleets())[1].position.record


def made(folder: Path) -> dict[str, bytes]:
    """All that a run has written, without what a temporary file has left behind."""
    files = (path for path in folder.iterdir() if path.name not in _GIVEN and not path.name.startswith("."))
    return {path.name: path.read_bytes() for path in files}


def left_behind(folder: Path) -> list[str]:
    """Temporary files that were not removed."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".") and path.name != ".stdout"]


def fresh(template: Path, folder: Path) -> Path:
    """A copy of what was prepared."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    return folder


# -- the kinds ---------------------------------------------------------------------------------------------------------


def _stream(source: str, out: str | None, *more: str) -> tuple[str, ...]:
    return ("stream", source, "--target", "y", *(() if out is None else ("--out", out)), *_MODEL, *more)


def _rows(n: int) -> list[sources.Record]:
    rng = np.random.default_rng(0)
    values = np.sin(rng.normal(size=(n, 2)) @ rng.normal(size=(2, 5)))
    return [{f"c{k}": float(v) for k, v in enumerate(row)} | {"kind": "ab"[i % 2]} for i, row in enumerate(values)]


def _named(n: int) -> list[sources.Record]:
    return [{"id": f"row {i}", **record} for i, record in enumerate(sources.numbers(n))]


def _late_by_key(n: int) -> list[sources.Record]:
    """Rows of some sensors; every fourth gets its label later."""
    records: list[sources.Record] = []
    for i, record in enumerate(sources.keyed(n, n_keys=3)):
        records.append({"id": f"row {i}", **record} if i % 4 else {"id": f"row {i}", **record, "y": None})
        if i % 4 == 3:
            records.append({"id": f"row {i - 3}", "y": 0.5, "sensor": records[-1]["sensor"]})
    return records


def _jumping(n: int) -> list[sources.Record]:
    """A level that jumps, far enough to be noticed."""
    return [record | {"y": record["y"] + 20.0 * (i >= n // 2)} for i, record in enumerate(sources.numbers(n))]


def _streams() -> dict[str, Scenario]:
    numbers, keyed, late = sources.numbers(40), sources.keyed(48, n_keys=3), sources.late(40)
    found = {f"to {form}": Scenario(_stream("in.csv", f"out.{form}"), numbers) for form in ("jsonl", "csv", "parquet")}
    for form in ("jsonl", "csv", "parquet"):
        by_key = _stream("in.csv", f"out.{form}", "--key", "sensor")
        found[f"by key to {form}"] = Scenario(by_key, keyed)
        waiting = _stream("in.jsonl", f"out.{form}", "--max-pending", "5")
        found[f"late labels to {form}"] = Scenario(waiting, late, "in.jsonl")
    skipping = ("--on-bad-row", "skip")
    found["late labels by key"] = Scenario(
        _stream("in.jsonl", "out.parquet", "--key", "sensor", "--task", "regression"), _late_by_key(36), "in.jsonl"
    )
    found["no answers"] = Scenario(_stream("in.csv", None), numbers)
    found["classes"] = Scenario(_stream("in.csv", "out.parquet"), sources.classes(40), task="classification")
    found["bad rows"] = Scenario(_stream("in.csv", "out.parquet", *skipping), numbers, spoiled=_BROKEN)
    found["bad rows, no answers"] = Scenario(_stream("in.csv", None, *skipping), numbers, spoiled=_BROKEN)
    found["a report"] = Scenario(_stream("in.csv", "out.csv", "--report", "page.html"), sources.numbers(20))
    found["followed"] = Scenario(
        _stream("in.jsonl", "out.csv", "--follow", "--limit", "40", "--task", "regression"), numbers, "in.jsonl"
    )
    for form in ("jsonl", "csv", "parquet"):
        piped = _stream("-", f"out.{form}", "--task", "regression")
        found[f"pipe to {form}"] = Scenario(piped, _named(40), "-")
    return found


def _newer() -> dict[str, Scenario]:
    """Earlier labels as inputs, labels that come late, elapsed time, several files: what else a checkpoint holds."""
    numbers, waiting = sources.numbers(40), ("--lags", "3,4,9", "--delay", "2", "--conformal", "online")
    elapsed = ("--time", "when", "--drift-per", "time", "--lags", "2")
    found = {
        "lags and a delay": Scenario(_stream("in.csv", "out.parquet", *waiting), numbers),
        "lags and a delay by pipe": Scenario(
            _stream("-", "out.csv", *waiting, "--task", "regression"), _named(40), "-"
        ),
        "lags by key": Scenario(_stream("in.csv", "out.csv", "--key", "sensor", "--lags", "2"), sources.keyed(48, 3)),
        "elapsed time": Scenario(_stream("in.csv", "out.jsonl", *elapsed), sources.mixed(40)),
        "several files": Scenario(_stream("in.csv", "out.csv", "more.csv"), numbers, n_first=19),
        "lags of classes": Scenario(
            _stream("in.csv", "out.jsonl", "--lags", "3", "--delay", "2"), sources.classes(40), task="classification"
        ),
    }
    broken = _stream("in.csv", "out.csv", "more.csv", "--on-bad-row", "skip")
    found["several files with bad rows"] = Scenario(broken, numbers, n_first=30, spoiled=_BROKEN)
    return found


def _finished() -> dict[str, Scenario]:
    """Runs that were finished and go on, and runs that take the place of others."""
    numbers, found = sources.numbers(40), {}
    for form in ("jsonl", "parquet"):
        begun = _stream("in.csv", f"out.{form}", "--limit", "16")
        more = _stream("in.csv", f"out.{form}", "--resume")
        found[f"a finished run goes on to {form}"] = Scenario(more, numbers, before=begun)
        anew = _stream("in.csv", f"out.{form}", "--seed", "1", "--overwrite")
        whole = _stream("in.csv", f"out.{form}")
        found[f"in place of another to {form}"] = Scenario(anew, numbers, before=whole, again="--overwrite")
        unsaved = ("stream", "in.csv", "--target", "y", "--out", f"out.{form}", "--config", "small.toml", "-q")
        found[f"never saved to {form}"] = Scenario(unsaved, numbers, again="--overwrite")
    return found


def _maps() -> dict[str, Scenario]:
    found = {}
    for form in ("csv", "parquet", "npz"):
        command = ("embed", "in.csv", "--out", f"map.{form}", "--label", "kind", *_EMBED)
        found[f"map to {form}"] = Scenario(command, _rows(80))
    begun = ("embed", "in.csv", "--out", "map.csv", "--ignore", "kind", *_EMBED)
    more = (*begun, "--resume")
    found["a finished map goes on"] = Scenario(more, _rows(80), before=(*begun, "--limit", "32"))
    return found


ALL = _streams() | _newer() | _finished() | _maps()
# Its own: drawing takes as long as a dozen runs.
PICTURE = Scenario(
    ("embed", "in.csv", "--out", "map.csv", "--figure", "map.png", "--ignore", "kind", *_EMBED), _rows(64)
)
# Its own: what is out cannot be cut back.
TO_STANDARD_OUTPUT = Scenario(_stream("-", "-", "--task", "regression"), _named(40), "-")
PIPE = ALL["pipe to csv"]
IN_PLACE_OF_A_PIPE = Scenario((*PIPE.command, "--seed", "1", "--overwrite"), PIPE.records, "-")
# Its own: what was told cannot be taken back.
WITH_ALARMS = Scenario(_stream("in.csv", "out.csv", "--alarm", "alarms.jsonl"), _jumping(160))
FILE_IN_PLACE_OF_A_PIPE = Scenario((*_stream("in.csv", "out.csv"), "--overwrite"), sources.numbers(40))
