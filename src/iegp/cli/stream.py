"""``iegp stream``: from options to a run, and from a run to its files and its summary."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from iegp._compile_ahead import expect
from iegp.cli.about import about_run, fleet_message, fleet_of, notes, source_name, to_config, versions
from iegp.cli.flags import UsageError, as_usage, check_choice, check_name, check_not_read, check_page, is_same_name
from iegp.cli.live import LivePage
from iegp.cli.models import keyed_parameters, settings_of
from iegp.cli.options import StreamOptions
from iegp.cli.progress import Watcher, scores
from iegp.cli.running import (
    StopSignals,
    can_resume,
    check_options,
    check_unchanged,
    console,
    only_run,
    runner_of,
    through_link,
)
from iegp.cli.start_model import StartModel, read_start
from iegp.cli.stream_files import (
    files_beside,
    identifier_columns,
    is_live,
    is_pipe,
    labels_in,
    open_files,
    open_first,
    open_for,
)
from iegp.errors import IegpError
from iegp.estimators.defaults import KEYED_TEMPLATE_ROWS
from iegp.estimators.experts_table import experts_of
from iegp.fleet.keyed_learner import Fleets
from iegp.readers import Source, object_array, source_files
from iegp.report import About, Snapshot, Timing, write_report
from iegp.stream import checkpoint
from iegp.stream.answer_parquet import finish_parquet, spool_of
from iegp.stream.answer_reader import write_sidecar
from iegp.stream.answer_writer import format_of
from iegp.stream.checkpoint import RunState
from iegp.stream.digest import Digest, Results
from iegp.stream.job import Job
from iegp.stream.plan import Plan, find_task, label_name, many_classes
from iegp.stream.runner import Runner


def stream(options: StreamOptions) -> int:
    """Run to the end; the exit code."""
    say = console(options.quiet)
    _check(options)
    options = through_link(options)
    if options.key is None:
        expect("stream")
    with only_run(options), StopSignals() as stop, contextlib.ExitStack() as opened:
        live = _live(options, opened, say)
        is_resumed = can_resume(options, say)
        source: Source | None = None
        if is_resumed:
            job, run_state = _resume(options, say)
        else:
            begun = _begin(options, stop, say)
            if begun is None:
                say.print("Stopped before the first record; nothing was written")
                return stop.exit_code
            job, run_state, source = begun
            opened.enter_context(source)
        files = open_files(options, job, run_state, is_resumed)
        watcher = Watcher(job.counters, lambda: [*scores(job), top_expert(job)], options.quiet)
        runner, started = runner_of(options, job, run_state, files, stop, watcher), Started.now(job)
        if live is not None:
            _follow(live, job, run_state, started)
            runner.block = lambda: _both(live, stop)
        try:
            if source is None:
                # The journal is ahead of the checkpoint: only after it is known where the source continues.
                n = runner.replay()
                say.print(f"Resumed at row {job.counters.rows:,}" + (f" ({n} batches from the journal)" if n else ""))
                source = open_for(job.plan, options, stop.wakeup, run_state.position, run_state.schema or None)
                opened.enter_context(source)
            with watcher:
                runner.run(source)
        except (IegpError, OSError) as error:
            # What was answered is worth a report, but no reason to hide what ended the run.
            with contextlib.suppress(IegpError, OSError):
                files.close()
                if isinstance(error, IegpError) and not is_resumed and _is_empty(job, runner):
                    files.discard()
                else:
                    finish(options, job, run_state, started)
            raise
        files.close()
        finish(options, job, run_state, started)
        print_summary(options, job, say, was_stopped=stop())
        return stop.exit_code


def _is_empty(job: Job, runner: Runner) -> bool:
    """Whether nothing was read that a resumed run could go on from."""
    return not runner.has_saved and not job.counters.rows + job.counters.bad


# -- before ------------------------------------------------------------------------------------------------------------


def _check_program(command: tuple[str, ...]) -> None:
    """A program that is not there would be missed at the first change only, perhaps after days."""
    if command and shutil.which(command[0]) is None:
        raise UsageError(
            f"--alarm-command: {command[0]!r} is no program that can be started; give its path, and its arguments "
            "after commas"
        )


def _check_alarm(name: str | None) -> None:
    """A pipe without a reader would be waited for, and neither it nor a device can be flushed to disk."""
    if name is not None and Path(name).exists() and not Path(name).is_file():
        raise UsageError(f"--alarm {name} is a device or a pipe; name a file, or let --alarm-command start a program")


def _check_beside(options: StreamOptions, is_read: Sequence[str]) -> None:
    """Files that are written without being named: none of them is read, or is one that was named."""
    named = {"out": options.out, "report": options.report, "alarm": options.alarm, "save": options.save}
    for flag, path in files_beside(options):
        check_not_read(is_read, flag, str(path))
        if path.is_symlink():
            continue  # refused when it is opened
        for other, name in named.items():
            if name not in (None, "-") and is_same_name(name or "", str(path)):
                raise UsageError(f"--{other} {name} is written for --{flag} as well; choose another name")


def _check(options: StreamOptions) -> None:
    is_read = [*options.sources, *filter(None, (options.config, options.start_from))]
    check_options(options, is_read, out=options.out, report=options.report, alarm=options.alarm)
    _check_alarm(options.alarm)
    _check_program(options.alarm_command)
    if options.out not in (None, "-"):
        check_name("out", options.out or "", ".run.json", ".partial")
    _check_beside(options, is_read)
    check_page("report", options.report)
    check_choice("on-bad-row", options.on_bad_row, "stop", "skip")
    if options.jobs < 1:
        raise UsageError(f"--jobs {options.jobs} must be at least 1")
    if options.follow and options.source == "-":
        raise UsageError("--follow is for a growing file; standard input is followed anyway")
    if options.more and "-" in options.sources:
        raise UsageError("standard input is read alone: give either - or files")
    if options.out is not None:
        as_usage(lambda: format_of(options.out or ""))


def _begin(options: StreamOptions, stop: StopSignals, say: Console) -> tuple[Job, RunState, Source] | None:
    """A run that has seen nothing; None if a stop was requested before the first record."""
    if options.target is None:
        raise UsageError("which column is to be predicted? Say --target COLUMN")
    source, first = open_first(options, stop.wakeup)
    try:
        if stop() and not source.names:
            source.close()
            return None
        labels = labels_in(first, options)
        task, why = (options.task, "") if options.task else find_task(labels)
        start = None if options.start_from is None else read_start(options, task, source)
        unused = {} if start is not None else identifier_columns(first, options)
        plan = as_usage(lambda: _plan(options, task, source.names, tuple(unused)))
        _check_labels(plan, labels)
        if why:
            say.print(f"Task: {task} ({options.target!r}: {why})")
        for name, advice in unused.items():
            say.print(f"Not used: {name!r}, {advice}")
        job = _job(options, plan, start, source, say)
        first_file = source_files(options.sources)[0]
        run_state = RunState(first_file, {}, options.recorded() | {"task": task, "id": plan.id}, out=options.out)
        if not is_pipe(options):
            run_state.prefix = checkpoint.prefix_of(Path(first_file), 0)
        if not source.is_live:
            # Again from the start, with columns read as the plan wants them.
            source.close()
            source = open_for(job.plan, options, stop.wakeup, None, None)
    except BaseException:
        source.close()
        raise
    return job, run_state, source


def _job(options: StreamOptions, plan: Plan, start: StartModel | None, source: Source, say: Console) -> Job:
    """A job that has seen no row of this source."""
    if start is not None:
        plan, settings = replace(plan, features=start.columns), start.model.settings
    else:
        parameters, n_classes = _parameters(options, plan.task), len(plan.order or plan.classes)
        settings = settings_of(options.model, plan.task, options.seed, parameters, n_classes, _flags(options))
    job = Job(plan, settings, source.schema()["format"] != "jsonl", _fleets(say))
    job.n_threads = options.jobs
    if start is not None:
        job.start_from(start.model)
        say.print(f"Started from {options.start_from}, which has learned {start.model.n_seen:,} rows")
    return job


def _check_labels(plan: Plan, labels: NDArray[Any]) -> None:
    """Refuse a target with too many classes among the first records, before anything is written."""
    if plan.task != "classification":
        return
    names = object_array([label_name(label) for label in labels])
    found = many_classes(names, plan.classes, plan.classes_limit)
    if found is not None:
        raise UsageError(f"--target {plan.target} has {len(set(names)):,} different values: {found[1]}")


def _live(options: StreamOptions, opened: contextlib.ExitStack, say: Console) -> LivePage | None:
    """The page that follows the run, served from now on; None if that is not wanted."""
    if options.live is None:
        return None
    source = source_name(options.source)
    named = (source, options.target or "", options.task or "", options.model)
    about = About("Waiting for the first rows", *named, n_columns=0, versions=versions())
    page = opened.enter_context(LivePage(options.live_host, options.live, Snapshot.of(Digest("regression"), about)))
    say.print(f"Live: {page.address}")
    return page


def _follow(page: LivePage, job: Job, run_state: RunState, started: Started) -> None:
    def take() -> Snapshot:
        return Snapshot.of(job.digest, replace(about_run(job, run_state), timing=started.timing(job)))

    page.follow(take, lambda: f"{job.digest.n_rows}-{job.digest.n_labelled}")


@contextlib.contextmanager
def _both(page: LivePage, stop: StopSignals) -> Iterator[None]:
    with page.block(), stop.block():
        yield


def _parameters(options: StreamOptions, task: str) -> dict[str, Any]:
    """Parameters of the model: those of the configuration file, and what a flag says of them."""
    check_choice("drift-per", options.drift_per, "row", "time")
    parameters = dict(options.parameters)
    if options.drift_per == "time":
        parameters["drift_per"] = "time"
    if options.delay:
        parameters["delay"] = options.delay
    if options.conformal is not None:
        parameters["conformal"] = options.conformal
    if parameters.get("conformal") is not None:
        _check_conformal(options, task)
        parameters["conformal_levels"] = (options.level,)
    if options.lags is not None:
        parameters["lags"] = _lags(options.lags)
    _check_elapsed(options, parameters)
    if options.key is not None and parameters.get("lags") == "auto":
        raise UsageError(
            "--lags auto is not available with --key: seasons are looked for in rows of one series. Name the lags, "
            "as in --lags 1,2,3,24"
        )
    if options.key is not None and parameters.get("delay"):
        if parameters.get("lags"):
            raise UsageError(
                f"--lags {options.lags or parameters['lags']} is not available with --key and a delay of "
                f"{parameters['delay']}: while all keys share a model, rows of other keys wait between. Leave out one "
                "of them"
            )
        parameters["lags"] = 0
    return parameters if options.key is None else keyed_parameters(options.model, parameters)


def _flags(options: StreamOptions) -> dict[str, str]:
    """Flags that were given, by the parameter that each of them is."""
    given = {"lags": options.lags, "delay": options.delay or None, "conformal": options.conformal}
    return {name: f"--{name} {value}" for name, value in given.items() if value is not None}


def _check_conformal(options: StreamOptions, task: str) -> None:
    if task != "regression":
        raise UsageError(f"--conformal {options.conformal} is for labels that are numbers, and the task is {task}")
    if options.intervals != "exact":
        raise UsageError(f"--conformal {options.conformal} needs quantiles: leave out --intervals {options.intervals}")


def _check_elapsed(options: StreamOptions, parameters: dict[str, Any]) -> None:
    if parameters.get("drift_per", "row") == "row":
        return
    if options.time is None:
        raise UsageError("--drift-per time needs the column of time stamps: name it with --time")
    if options.key is not None:
        raise UsageError(
            "--drift-per time is not available with --key: the models of keys count rows. Leave out one of them"
        )


def _lags(text: str) -> int | str | tuple[int, ...]:
    """A number of lags, or which they are."""
    if text == "auto":
        return text
    if text == "none":
        return 0
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(
            f"--lags {text!r} is not understood; use a number such as 3, a list such as 1,2,24, auto, or none"
        )
    return int(parts[0]) if len(parts) == 1 else tuple(map(int, parts))


def _plan(options: StreamOptions, task: str, names: tuple[str, ...], unused: tuple[str, ...]) -> Plan:
    said = {field.name: getattr(options, field.name) for field in fields(Plan)}
    name_of_rows = options.id if options.id is not None else _default_id(options, names)
    plan = Plan(**said | {"task": task, "id": name_of_rows, "ignore": (*options.ignore, *unused)})
    if names and not is_live(options):
        plan.check_columns(names)
    return plan


def _default_id(options: StreamOptions, names: tuple[str, ...]) -> str | None:
    """A column called id is the id; on a pipe one may come later."""
    if "id" in (options.target, options.time, options.key, *(options.features or ()), *options.ignore):
        return None
    return "id" if "id" in names or is_live(options) else None


def _fleets(say: Console) -> Fleets:
    """How models by key are made, and what is said when it comes to it."""

    return Fleets(lambda fleet: say.print(fleet_message(fleet)), KEYED_TEMPLATE_ROWS)


def _resume(options: StreamOptions, say: Console) -> tuple[Job, RunState]:
    """The run as it was saved. What would change its answers may not be said anew."""
    assert options.save is not None
    job, run_state = checkpoint.read(options.save, options.jobs, _fleets(say))
    check_unchanged(options, run_state, is_pipe(options))
    return job, run_state


class Started(NamedTuple):
    """When this process took the run up, and how many rows were answered before."""

    moment: float
    n_rows: int

    @classmethod
    def now(cls, job: Job) -> Started:
        return cls(time.monotonic(), job.counters.rows)

    def timing(self, job: Job) -> Timing:
        """The date, and how long the run took."""
        return Timing.now(time.monotonic() - self.moment, job.counters.rows - self.n_rows)


def finish(options: StreamOptions, job: Job, run_state: RunState, started: Started) -> None:
    """Write what can only be written at the end of a run."""
    about = about_run(job, run_state)
    if run_state.out not in (None, "-"):
        out = Path(run_state.out or "")
        # A run that cannot be resumed is over, whatever ended it.
        if run_state.is_finished or options.save is None:
            finish_parquet(out, job.plan.key_field)
        results = job.digest.results()
        weights = results.weights
        kept = {"rows": weights.row.tolist(), "step": weights.step, "values": np.round(weights.values, 6).tolist()}
        beside: dict[str, Any] = {"about": to_config(about), "level": job.plan.level, "delay": job.settings.delay}
        beside |= {"weights": kept, "times": _times(results)} | (
            {} if job.plan.key is None else {"key": job.plan.key_field}
        )
        write_sidecar(out, beside | ({"guarded": True} if run_state.config.get("guard_formulas") else {}))
    if options.report is not None:
        write_report(options.report, job.digest, replace(about, timing=started.timing(job)))


def _times(results: Results) -> list[tuple[int, float]]:
    """Times of the rows that a report shows, which answers do not hold."""
    known = {own.row: own.columns["time"] for own in results.surprises}
    for points in (results.predictions, results.recent):
        known |= zip(points.row.tolist(), points.columns["time"].tolist(), strict=True)
    return sorted((row, time) for row, time in known.items() if time == time)


def _answers_of(options: StreamOptions) -> str | None:
    """Where the answers lie: Parquet is written when the run is over."""
    if options.out in (None, "-") or Path(options.out or "").exists():
        return options.out
    return f"{spool_of(Path(options.out or ''))} until the run is over"


def top_expert(job: Job) -> str:
    """The expert with the largest weight in a few words; how many keys there are, if each has its own."""
    if job.learner is None:
        return "no expert yet"
    fleet = fleet_of(job)
    if fleet is not None:
        return f"{len(fleet):,} keys"
    best = max(experts_of(job.learner.model), key=lambda expert: expert.weight)
    drift = best.speed if best.drift == 0.0 else f"{best.speed} drift"
    return f"best expert {100 * best.weight:.0f} %: {best.kernel.short()} ({drift})"


def print_summary(options: StreamOptions, job: Job, say: Console, was_stopped: bool) -> None:
    """What was done, and where it lies."""
    counters = job.counters
    verb = "Stopped after" if was_stopped else "Done:"
    say.print(", ".join([f"{verb} {counters.rows:,} rows", f"{counters.learned:,} learned", *scores(job)]))
    for heading, words in notes(job):
        say.print(f"{heading}: {words}")
    places = [("Answers", _answers_of(options)), ("Model", options.save), ("Report", options.report)]
    for what, place in places:
        if place not in (None, "-"):
            say.print(f"{what}: {place}")
    if was_stopped and options.save is not None:
        say.print("Continue with the same command and --resume")
