"""Finished runs on disk, one small JSON file each, so that a killed reproduction goes on where it was."""

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
        """What is known of a task; None if it has to run.

        A run that took too long runs again if it is given more time now. A file that cannot be read, or that is of
        another task, is as good as none.
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
        """Keep an outcome. What failed, or lacked a package, is not kept: it may work next time."""
        if outcome.status in ("done", "timeout"):
            text = json.dumps({"task": task.identity, "outcome": asdict(outcome)})
            replace_atomically(self.path(task), text.encode())
