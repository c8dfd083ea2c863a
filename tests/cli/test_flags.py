"""A field of a dataclass is a flag, an entry of the configuration file, and recorded in the checkpoint."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from iegp.cli.app import app as commands
from iegp.cli.flags import FREE, NAMES, Options, UsageError, command, options_from
from iegp.cli.options import EmbedOptions, StreamOptions


@dataclass(frozen=True, kw_only=True)
class Base(Options):
    source: Annotated[str, typer.Argument(help="Where from.")]
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing."), FREE] = False


@dataclass(frozen=True, kw_only=True)
class Fruit(Base):
    kinds: Annotated[NAMES | None, typer.Option(help="a,b,c.")] = None
    size: Annotated[float, typer.Option(help="In centimetres.")] = 2.5
    count: Annotated[int | None, typer.Option(help="How many.")] = None
    config: Annotated[str | None, typer.Option(help="A TOML file."), FREE] = None


def run(*argv: str) -> tuple[Fruit | None, str]:
    found: list[Fruit] = []

    def keep(options: Fruit) -> int:
        """Help of the command."""
        found.append(options)
        return 3

    app = typer.Typer()
    app.command()(command(Fruit)(keep))
    result = CliRunner().invoke(app, list(argv))
    assert result.exit_code == (3 if found else 2 if "--help" not in argv else 0), result.output
    return (found[0] if found else None), result.output


def test_flags_fill_the_dataclass_and_say_what_was_given():
    options, _ = run("in.csv", "--kinds", "a, b", "-q", "--size", "2.5")
    assert options == Fruit(source="in.csv", kinds=("a", "b"), quiet=True, given=options.given)
    assert options.given == {"source", "kinds", "quiet", "size"}
    assert options.recorded() == {"source": "in.csv", "kinds": ("a", "b"), "size": 2.5, "count": None}


def test_a_required_field_is_a_required_argument():
    assert run("--size", "1")[0] is None


def test_help_has_every_flag_and_its_default_new_ones_first():
    _, text = run("--help")
    assert "2.5" in text
    assert text.index("--size") < text.index("--quiet")
    assert "Help of the command." in text


def test_a_configuration_file_stands_below_the_flags(tmp_path):
    (tmp_path / "c.toml").write_text('kinds = ["x", "y"]\ncount = 4\nsize = 1.0\n')
    options, _ = run("in.csv", "--config", str(tmp_path / "c.toml"), "--size", "9")
    assert (options.kinds, options.count, options.size) == (("x", "y"), 4, 9.0)
    assert {"kinds", "count", "size"} <= options.given


@pytest.mark.parametrize("text", ["size = 1\n", "count = true\n", "kinds = 3\n", "given = []\n", "config = 'a'\n"])
def test_a_configuration_of_wrong_types_is_refused(tmp_path, text):
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(UsageError, match=r"c\.toml"):
        options_from(Fruit, {"source": "in.csv", "config": str(tmp_path / "c.toml")})


def test_what_a_resumed_stream_and_a_resumed_map_must_keep():
    stream = set(StreamOptions(source="a").recorded())
    assert {"target", "task", "out", "seed", "level", "parameters"} <= stream
    assert not {"source", "save", "resume", "jobs", "given", "config", "checkpoint_every", "report"} & stream
    fixed = {"label", "features", "ignore", "components", "warmup", "frequencies", "init", "max_stored", "seed"}
    assert set(EmbedOptions(source="a", out="b").recorded()) == fixed


@pytest.mark.parametrize("own", commands.registered_commands, ids=lambda own: own.callback.__name__)
def test_a_paragraph_of_help_is_one_line_which_the_terminal_breaks(own):
    text = inspect.cleandoc(own.help or own.callback.__doc__)
    assert [paragraph for paragraph in text.strip().split("\n\n") if "\n" in paragraph.strip()] == []
