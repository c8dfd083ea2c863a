"""The shell commands of the pages about the command are run, one after the other, in one folder.

A line that is one call of ``iegp`` runs in a fork of a process that has the compiled code; lines with pipes and other
commands are left to bash. A block of text below a snippet of the tutorial is what its last command prints.
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
SNIPPET = re.compile(r"^```sh\n(?P<code>.*?)^```(?:\n\n```text\n(?P<printed>.*?)^```)?", re.M | re.S)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
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


def run_script(code: str, folder: Path) -> str:
    """Run a script with the command of this environment, wherever it is called from; return what it prints."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-e", "-o", "pipefail", "-c", code]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    # Also 141 fails, a writer ended by a reader that stops early (head): the lines after it would not be run.
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def run_step(step: list[str] | str, folder: Path) -> str:
    """Run a call of the command or a script; return what it prints."""
    if isinstance(step, str):
        return run_script(step, folder)
    done = iegp(folder, *step)
    assert done.code == 0, f"iegp {shlex.join(step)}\n{done.err}"
    return f"{done.out}\n{done.err}"


def is_printed(expected: str, line: str) -> bool:
    """Whether a line is the one of the page, of whose numbers some digits are left out."""
    if NUMBER.split(expected) != NUMBER.split(line):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(line), strict=True)
    # One unit of the last digit that the page has: it is rounded or cut, and processors differ a little.
    return all(abs(float(a) - float(b)) <= 1.001 * 10.0 ** -len(a.partition(".")[2]) * ("." in a) for a, b in pairs)


def test_every_command_of_the_pages_works(tmp_path):
    n_compared = 0
    for page in PAGES:
        snippets = list(SNIPPET.finditer((ROOT / "docs" / page).read_text("utf-8")))
        assert len(snippets) >= 5
        for snippet in snippets:
            printed = [run_step(step, tmp_path) for step in steps(snippet["code"])][-1]
            if page.startswith("tutorials/") and snippet["printed"]:
                lines = iter(printed.splitlines())
                for expected in snippet["printed"].splitlines():
                    assert any(is_printed(expected, line) for line in lines), f"{expected}\nis not in\n{printed}"
                    n_compared += 1
    assert n_compared >= 10


@pytest.mark.parametrize(
    ("expected", "line", "same"),
    [
        ("nMSE 0.0235, 500 rows", "nMSE 0.02351, 500 rows", True),
        ("nMSE 0.0235, 500 rows", "nMSE 0.0237, 500 rows", False),
        ("nMSE 0.0235, 500 rows", "nMSE 0.0235, 501 rows", False),
        ("nMSE 0.0235", "NLL 0.0235", False),
        ("the same bytes", "the same bytes", True),
    ],
)
def test_the_comparison_with_what_is_printed(expected, line, same):
    assert is_printed(expected, line) == same


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
