"""Digests and descriptions to report on."""

from __future__ import annotations

from dataclasses import replace

from stream_runs.digest_streams import answers, digested

from iegp.report import About, Change, ExpertRow, InputRow

EVIL = '</script><script>window.stolen = 1</script><img src=x onerror="window.stolen = 1">\'&'
SECTIONS = {
    "numbers": [
        "predictions",
        "changes",
        "surprises",
        "scores",
        "experts",
        "inputs",
        "calibration",
        "residuals",
        "configuration",
    ],
    "classes": [
        "predictions",
        "changes",
        "surprises",
        "scores",
        "experts",
        "inputs",
        "calibration",
        "mistakes",
        "configuration",
    ],
}


def sections(task):
    return SECTIONS["numbers" if task in ("regression", "count") else "classes"]


def about(task="regression", **changes):
    experts = [ExpertRow(f"RBF({k})", drift) for k in (0.5, 2) for drift in ("0", "0.001")]
    made = About(
        title="Torque of a robot arm",
        source="robot.csv",
        target="torque (N m)",
        task=task,
        model="default",
        n_columns=21,
        experts=experts,
        config={"seed": 0, "columns": {"time": None, "ignore": ["id", "note"]}, "quiet": False},
        versions={"iegp": "0.1.0", "numpy": "2.4.0"},
        notes=[("Missing values", "12 were filled with the running mean.")],
        command="iegp stream robot.csv --target torque",
        inputs=[InputRow("q1", "number", 12, 0.7), InputRow("load", "text, 3 categories", 0, 0.3)],
        changes=[Change(20, None, "level", 3.0)],
    )
    return replace(made, **changes)


def evil_about(task):
    experts = [ExpertRow(EVIL, EVIL) for _ in range(4)]
    settings = {EVIL: EVIL, "inside": {EVIL: [EVIL]}}
    words = dict.fromkeys(("title", "source", "target", "model", "command"), EVIL)
    listed = {"inputs": [InputRow(EVIL, EVIL, 1, 1.0)], "changes": [Change(20, None, EVIL, 1.0)], "unit": EVIL}
    return about(task, experts=experts, config=settings, versions={EVIL: EVIL}, notes=[(EVIL, EVIL)], **listed, **words)


def digest(task, n, **options):
    return digested(task, answers(task, n, **options))
