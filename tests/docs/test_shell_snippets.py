"""The shell commands of the pages about the command are run, one after the other, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("stream.md", "tutorials/first-stream-shell.md")
SNIPPET = re.compile(r"^```sh\n(?P<code>.*?)^```", re.M | re.S)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_works(page, tmp_path):
    snippets = [match["code"] for match in SNIPPET.finditer((ROOT / "docs" / page).read_text("utf-8"))]
    assert len(snippets) >= 5
    # The command of this environment, wherever it is called from.
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for code in snippets:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", code],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        # A reader that stops early (head) ends its writer; that is no failure of ours.
        assert done.returncode in (0, 141), f"{code}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
