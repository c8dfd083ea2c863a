"""A first call that compiles says so, where a person reads it."""

from __future__ import annotations

import sys

import pytest

from iegp import _compile


@pytest.mark.skipif(not _compile.COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("terminal", [True, False])
def test_compiling_is_announced_once_on_a_terminal(monkeypatch, capsys, terminal):
    _compile._announce.cache_clear()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    _compile._announce()
    _compile._announce()
    assert capsys.readouterr().err.count("compiles its functions for this machine") == int(terminal)
