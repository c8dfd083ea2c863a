"""A reproduction small enough for a test: two kinds of runs, one claim that holds and one that cannot."""

from __future__ import annotations

from pathlib import Path

POINTS = """
title = "Thirty points"
kind = "uncertainty"
paper = "A figure."
metric = "width ratio"
shows = ["width ratio", "covered"]
figure = "band"
methods = ["IE-GP"]
runs = 6
quick_runs = 4

[[data]]
name = "sines"
title = "two sines"
rows = 30

[[claim]]
text = "Bands are tighter near points."
rule = { kind = "below", metric = "width ratio", limit = 0.5, data = ["sines"], ours = ["IE-GP"] }

[[claim]]
text = "Bands have no width."
rule = { kind = "below", metric = "width near points", limit = 0.0, data = ["sines"], ours = ["IE-GP"] }
cause = "competitor"
why = "Nothing has no width."

[protocol.IE-GP]
learns = "hyperparameters only"
inputs = "as drawn"
scored = "interval"
"""

STREAM = """
title = "A stream"
kind = "regression"
paper = "Another figure."
metric = "nMSE"
figure = "curves"
methods = ["IE-GP", "Raker"]
runs = 2
quick_runs = 1

[options]
warmup = 100

[[data]]
name = "diabetes"
title = "Diabetes <1>"
quick_rows = 200

[[claim]]
text = "IE-GP has the lower nMSE."
rule = { kind = "lowest", metric = "nMSE", data = ["diabetes"], ours = ["IE-GP"], others = ["Raker"] }
"""

TIMES = """
same_runs_as = "stream"
title = "Times"
paper = "A third figure."
shows = ["seconds"]
figure = "times"
"""


def write_experiments(folder: Path) -> Path:
    folder.mkdir()
    for name, text in (("1-points", POINTS), ("2-stream", STREAM), ("3-times", TIMES)):
        (folder / f"{name}.toml").write_text(text, "utf-8")
    return folder
