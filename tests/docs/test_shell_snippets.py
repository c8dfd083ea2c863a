"""The shell commands of the pages about the command are run, one after the other, in one folder.

A line that is one call of ``iegp`` runs in a fork of a process that has the compiled code; lines with pipes and other
commands are left to bash.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from stream_runs.process import iegp

ROOT = Path(__file__).parents[2]
# In this order: the second page goes on with the files of the first.
PAGES = ("tutorials/first-stream-shell.md", "stream.md")
SNIPPET = re.compile(r"^```sh\n(?P<code>.*?)^```", re.M | re.S)
OPERATORS = {"|", ">", "<", "&", "&&", "||", ";", "\\"}


def steps(code: str) -> list[list[str] | str]:
    """Cut a snippet into calls of the command (their arguments) and scripts for bash between them."""
    found: list[list[str] | str] = [""]
    for line in code.splitlines():
        words = shlex.split(line) if line.startswith("iegp ") and not line.endswith("\\") else []
        if words and not OPERATORS & set(words):
            found += [words[1:], ""]
        else:
            found[-1] = f"{found[-1]}{line}\n"
    return [step for step in found if step]


def run_script(code: str, folder: Path) -> None:
    """Run a script with the command of this environment, wherever it is called from."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-e", "-o", "pipefail", "-c", code]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    # Also 141 fails, a writer ended by a reader that stops early (head): the lines after it would not be run.
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr


def test_every_command_of_the_pages_works(tmp_path):
    for page in PAGES:
        snippets = [match["code"] for match in SNIPPET.finditer((ROOT / "docs" / page).read_text("utf-8"))]
        assert len(snippets) >= 5
        for step in (step for code in snippets for step in steps(code)):
            if isinstance(step, str):
                run_script(step, tmp_path)
            else:
                done = iegp(tmp_path, *step)
                assert done.code == 0, f"{page}: iegp {shlex.join(step)}\n{done.err}"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("iegp demo --out d\nhead -2 d/a.csv\n", [["demo", "--out", "d"], "head -2 d/a.csv\n"]),
        ("cat a | iegp stream -\n", ["cat a | iegp stream -\n"]),
        ("iegp stream - | tail -1\niegp inspect m\n", ["iegp stream - | tail -1\n", ["inspect", "m"]]),
        ("iegp stream \\\n  - --quiet\n", ["iegp stream \\\n  - --quiet\n"]),
    ],
)
def test_the_cutter_of_snippets(code, expected):
    assert steps(code) == expected
