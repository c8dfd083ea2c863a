"""Finished runs on disk, one small JSON file each, so that an interrupted reproduction can be resumed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from iegp.storage.model_file import replace_atomically
from iegp_paper.task import Outcome, Task


class Cache:
    """Outcomes of tasks in a folder; a file's name is the digest of everything that decides its content."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def path(self, task: Task) -> Path:
        return self.folder / f"{task.kind}-{task.digest}.json"

    def get(self, task: Task) -> Outcome | None:
        """Return the stored outcome of a task; None if it has to run.

        A run that exceeded its time limit runs again if the limit is longer now. A file that cannot be read, or that
        belongs to another task, is ignored.
        """
        try:
            stored = json.loads(self.path(task).read_text("utf-8"))
            if stored["task"] != json.loads(json.dumps(task.identity)):
                return None
            outcome = Outcome(**stored["outcome"])
            if outcome.status == "done" and not {name: float(value) for name, value in outcome.scores.items()}:
                return None
            limit = float(outcome.limit)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        if outcome.status == "timeout" and limit < task.seconds:
            return None
        return outcome if outcome.status in ("done", "timeout") else None

    def put(self, task: Task, outcome: Outcome) -> None:
        """Store an outcome, unless the run failed or lacked a package: it may succeed next time."""
        if outcome.status in ("done", "timeout"):
            text = json.dumps({"task": task.identity, "outcome": asdict(outcome)})
            replace_atomically(self.path(task), text.encode())
