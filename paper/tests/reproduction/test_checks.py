"""Mistakes in TOML files of one's own are met before any run, by the file, the key and what is allowed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from iegp_paper import checks, rules
from iegp_paper.catalogue import load_experiments
from reproduction.tiny import POINTS, STREAM, TIMES

from iegp.errors import InputError

README = Path(__file__).parents[2] / "experiments" / "README.md"


def load(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text, "utf-8")
    return load_experiments(folder)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("quick_runs = 1", "quik_runs = 1", "'quik_runs' is no key of an experiment; use .*quick_runs"),
        ("quick_rows = 200", "quick_row = 200", "'quick_row' is no key of .*data.*quick_rows"),
        ('kind = "regression"', 'kind = "regresion"', "kind 'regresion' is not known there; use one of .*regression"),
        ('figure = "curves"', 'figure = "curve"', "figure 'curve' is not known there; use one of .*curves"),
        ('methods = ["IE-GP", "Raker"]', 'methods = "Raker"', "methods = 'Raker' in an experiment must be a list"),
        ('methods = ["IE-GP", "Raker"]', "methods = []", "methods is empty"),
        ("runs = 2", "runs = 0", "runs = 0 .*whole number above 0"),
        ("runs = 2", "runs = true", "runs = True .*whole number above 0"),
        ('others = ["Raker"]', 'other = ["Raker"]', "'other' is no key of the rule of 'IE-GP has.*others"),
        ('others = ["Raker"]', 'others = ["Rake"]', "'IE-GP has.* method 'Rake' is not known there.* Raker"),
        ('data = ["diabetes"]', 'data = ["diabets"]', "data set 'diabets' is not known there.* diabetes"),
        ('kind = "lowest"', 'kind = "low"', "rule 'low' is not known; use one of lowest"),
        (', others = ["Raker"]', "", "must name data, ours and others"),
        ('metric = "nMSE", data', "data", "the rule of 'IE-GP has.*' does not say metric"),
        ('kind = "lowest", metric', 'limit = "1", kind = "lowest", metric', "limit = '1' .* must be a number"),
        ("[options]", "[runs_of]\nRake = 1\n[options]", "runs_of: method 'Rake' is not known there"),
        ('title = "A stream"', "", "does not say title"),
        ('name = "diabetes"', 'methods = ["Rake"]\nname = "diabetes"', "methods of data 'diabetes': 'Rake'"),
        ("[[claim]]", '[[claim]]\nrules = "x"', "'rules' is no key of .*claim.*rule"),
        ("rule = {", "# rule = {", r"does not say rule; add it to {'text': 'IE-GP has"),
        ("[[data]]", "[data]", "data = .* must be a list"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_what_is_allowed(old, new, words, tmp_path):
    assert STREAM.count(old) >= 1
    with pytest.raises(InputError, match=rf"(?s)^2-stream\.toml.*{words}"):
        load(tmp_path, **{"2-stream": STREAM.replace(old, new, 1)})


def test_rules_may_name_what_the_runs_of_another_file_have(tmp_path):
    claim = STREAM[STREAM.index("[[claim]]") :]
    known = load(tmp_path, **{"1-stream": STREAM, "2-times": TIMES + claim})
    assert known["times"].claims[0].rule.others == ("Raker",)
    with pytest.raises(InputError, match=r"^2-times\.toml.*'Rake'"):
        load(tmp_path, **{"2-times": TIMES + claim.replace("Raker", "Rake")})
    with pytest.raises(InputError, match=r"^2-times\.toml has the runs of 'streams', which is no experiment.* stream"):
        load(tmp_path, **{"2-times": TIMES.replace('"stream"', '"streams"')})


def test_two_files_of_one_name_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"1-points\.toml and 2-points\.toml both hold experiment 'points'"):
        load(tmp_path, **{"1-points": POINTS, "2-points": POINTS})


def test_every_figure_that_may_be_named_can_be_drawn():
    pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    from iegp_paper.figures import SHAPES  # noqa: PLC0415 - needs matplotlib

    assert tuple(sorted(SHAPES)) == checks.FIGURES


def test_the_example_of_the_readme_is_complete_and_every_key_is_in_its_table(tmp_path):
    page = README.read_text("utf-8")
    example = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert example is not None
    known = load(tmp_path, **{"1-mine": example[1]})
    assert known["mine"].claims
    rows = "\n".join(line for line in page.splitlines() if line.startswith("|"))
    for key in {*checks.EXPERIMENT, *checks.DATA, *checks.CLAIM, *checks.RULE}:
        assert f"`{key}`" in rows, key
    for name in (*checks.FIGURES, *checks.KINDS, *rules.KINDS):
        assert f"`{name}`" in page, name
