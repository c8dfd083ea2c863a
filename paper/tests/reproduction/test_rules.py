"""Verdicts come from the scores of every seed and the rule alone."""

from __future__ import annotations

import math

import pytest
from iegp_paper.cell import Cell, cell_of
from iegp_paper.rules import KINDS, Rule, judge, rule_from
from iegp_paper.task import Outcome, Task

from iegp.errors import InputError


def cell(n_missing=0, status=None, **scores):
    """A method with these scores, one list per score, an entry per seed."""
    n = max(len(values) for values in scores.values())
    outcomes = [Outcome("done", {name: values[seed] for name, values in scores.items()}) for seed in range(n)]
    outcomes += [None if status is None else Outcome(status)] * n_missing
    return cell_of([Task("k", "d", "m", seed) for seed in range(len(outcomes))], outcomes, next(iter(scores)))


def around(centre, n=11, width=0.01):
    return [centre + width * (seed - n // 2) / n for seed in range(n)]


CELLS = {
    ("a", "ours"): cell(error=around(0.10), seconds=around(1.0), gain=around(-1.0)),
    ("a", "ours too"): cell(error=around(0.14), seconds=around(9.0), gain=around(-0.5)),
    ("a", "x"): cell(error=around(0.12), seconds=around(50.0), gain=around(-0.8)),
    ("a", "y"): cell(error=around(0.20), seconds=around(2.0), gain=around(2.0)),
    ("b", "ours"): cell(error=around(0.30), seconds=around(1.0)),
    ("b", "x"): cell(error=around(0.25), seconds=around(5.0)),
    ("b", "y"): cell(error=[math.nan] * 11, seconds=around(5.0)),
}
TABLE = {"kind": "lowest", "metric": "error", "data": ["a"], "ours": ["ours", "ours too"], "others": ["x", "y"]}


def word(method="ours", **changes):
    return judge(rule_from(TABLE | changes), method, CELLS).word


def test_lowest_compares_one_method_at_a_time_with_all_competitors():
    assert word() == "confirmed"
    assert word("ours too") == "not confirmed"
    assert word("ours too", others=["y"]) == "confirmed"


def test_the_interval_of_the_paired_difference_decides():
    noisy = [0.02, -0.03, 0.04, -0.01, -0.02, 0.03, -0.04, 0.01, 0.0, 0.02, -0.02]
    base = [10.0 * seed for seed in range(11)]
    cells = {("d", "x"): cell(m=base), ("d", "close"): cell(m=[b + e for b, e in zip(base, noisy, strict=True)])}
    # Far smaller than the spread of the seeds, and the same for every seed: pairing shows it.
    cells["d", "ahead"] = cell(m=[b - 0.001 for b in base])
    rule = Rule("lowest", "m", ("d",), ("close", "ahead"), ("x",))
    assert judge(rule, "close", cells).word == "too close to call"
    assert judge(rule, "ahead", cells).word == "confirmed"
    assert "-0.001 [-0.001, -0.001] (11 pairs)" in judge(rule, "ahead", cells).findings[0].words
    assert judge(Rule("lowest", "m", ("d",), ("x",), ("ahead",)), "x", cells).word == "not confirmed"


def test_a_tie_is_too_close_to_call():
    assert judge(Rule("lowest", "error", ("a",), ("ours",), ("ours",)), "ours", CELLS).word == "too close to call"


def test_digits_that_are_not_stored_decide_nothing():
    base = [0.1 + 0.001 * seed for seed in range(11)]
    cells = {("d", "x"): cell(m=base), ("d", "rounded apart"): cell(m=[value + 4e-8 for value in base])}
    rule = Rule("lowest", "m", ("d",), ("rounded apart",), ("x",))
    assert judge(rule, "rounded apart", cells).word == "too close to call"


def test_only_seeds_of_both_are_compared():
    cells = {("d", "A"): cell(m=[1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0]), ("d", "X"): cell(m=[2.0, 2.0, 2.0])}
    verdict = judge(Rule("lowest", "m", ("d",), ("A",), ("X",)), "A", cells)
    assert verdict.word == "confirmed"
    assert "(range of 3 pairs)" in verdict.findings[0].words
    assert verdict.findings[0].rests_on_few


def test_six_seeds_are_not_few_and_a_draw_of_few_decides_nothing():
    cells = {("d", "A"): cell(m=around(1.0, 6)), ("d", "X"): cell(m=around(2.0, 6)), ("d", "B"): cell(m=[1.0, 3.0])}
    assert not judge(Rule("lowest", "m", ("d",), ("A",), ("X",)), "A", cells).findings[0].rests_on_few
    draw = judge(Rule("lowest", "m", ("d",), ("B",), ("X",)), "B", cells).findings[0]
    assert draw.word == "too close to call"
    assert not draw.rests_on_few


def test_one_pair_has_no_interval_and_says_so():
    cells = {("d", "A"): cell(m=[1.0]), ("d", "X"): cell(m=[2.0])}
    verdict = judge(Rule("lowest", "m", ("d",), ("A",), ("X",)), "A", cells)
    assert verdict.word == "too close to call"
    assert "one seed, no interval" in verdict.findings[0].words


def test_slack_widens_the_comparison_whatever_the_sign():
    assert word("ours too", others=["x"], slack=1.3) == "confirmed"
    assert word(metric="gain") == "confirmed"
    # -0.8 is better than -0.5; a slack of 1.5 allows -0.8 + 0.4.
    assert word("ours too", metric="gain") == "not confirmed"
    assert word("ours too", metric="gain", slack=1.5) == "confirmed"


def test_slack_shows_the_interval_that_decides():
    verdict = judge(rule_from(TABLE | {"others": ["x"], "slack": 1.3}), "ours too", CELLS)
    # 0.14 - 0.12 = 0.02, and 0.14 - 1.3 x 0.12 = -0.016.
    assert "difference 0.02 [" in verdict.findings[0].words
    assert ", to 1.3 times it -0.016 [" in verdict.findings[0].words


def test_ratio_compares_with_the_best_by_another_score():
    # Best by error: x (50 s).
    assert word(kind="ratio", metric="seconds", by="error", limit=0.021) == "confirmed"
    assert word(kind="ratio", metric="seconds", by="error", limit=0.019) == "not confirmed"
    # With each of them: y is the faster one.
    assert word(kind="ratio", metric="seconds", limit=0.021) == "not confirmed"


def test_without_one_of_them_the_best_is_not_known():
    assert word(kind="ratio", metric="seconds", by="error", limit=9.0, data=["b"]) == "not measured"


def test_near_below_and_always():
    assert word(kind="near", limit=0.021, others=["x"]) == "confirmed"
    assert word(kind="near", limit=0.01, others=["x"]) == "not confirmed"
    assert word(kind="below", limit=0.11, others=[]) == "confirmed"
    assert word(kind="below", limit=0.09, others=[]) == "not confirmed"
    assert word(kind="below", limit=0.1, others=[]) == "too close to call"
    assert word(kind="always", limit=0.105, others=[]) == "confirmed"
    assert word(kind="always", limit=0.102, others=[]) == "not confirmed"


def curves(*rows):
    sizes = [100, 200, 400, 800, 1600]
    outcomes = [Outcome("done", {"m": 1.0}, {"size": sizes, "m": list(row)}) for row in rows]
    return {("d", "A"): cell_of([Task("k", "d", "A", seed) for seed in range(len(rows))], outcomes, "m")}


@pytest.mark.parametrize(("power", "expected"), [(0.0, "confirmed"), (1.0, "not confirmed")])
def test_growth_is_that_of_the_mean_over_seeds(power, expected):
    sizes = [100, 200, 400, 800, 1600]
    rows = [[(1.0 + 0.01 * seed) * math.log(n) * n**power for n in sizes] for seed in range(8)]
    rule = Rule("growth", "m", ("d",), ("A",), limit=1.5)
    verdict = judge(rule, "A", curves(*rows))
    assert verdict.word == expected
    means = [sum(row[k] for row in rows) / len(rows) for k in range(1, 5)]
    ends = ", ".join(f"{value:.3g}" for value in means)
    assert verdict.findings[0].words.endswith(f"means {ends} at T = 200, 400, 800, 1600")
    # One seed in eight that grows like T: the mean grows, the median run would not.
    if expected == "confirmed":
        rows[0] = [float(n) for n in sizes]
        assert judge(rule, "A", curves(*rows)).word != "confirmed"


def test_falls_looks_at_the_end_of_the_mean():
    rule = Rule("falls", "m", ("d",), ("A",), limit=0.5)
    assert judge(rule, "A", curves(*[[5.0, 4.0, 3.0, 2.0, 1.0]] * 6)).word == "confirmed"
    assert judge(rule, "A", curves(*[[5.0, 4.0, 3.0, 2.0, 4.0]] * 6)).word == "not confirmed"
    assert judge(rule, "A", {}).word == "not measured"


def test_one_data_set_refutes_a_claim_about_several():
    assert word(data=["a", "b"], others=["x"]) == "not confirmed"


def test_what_was_not_measured_is_not_judged():
    verdict = judge(rule_from(TABLE | {"data": ["a", "c"]}), "ours", CELLS)
    assert verdict.word == "not measured"
    assert [finding.word for finding in verdict.findings] == ["confirmed", "not measured"]
    assert "no error of ours" in verdict.findings[1].words


def test_a_competitor_without_a_score_is_named_and_leaves_the_claim_unproven():
    verdict = judge(rule_from(TABLE | {"data": ["b"], "slack": 2.0}), "ours", CELLS)
    assert verdict.word == "not measured"
    assert verdict.findings[0].words.endswith("no error of y")
    assert judge(rule_from(TABLE | {"data": ["b"]}), "ours", CELLS).word == "not confirmed"


@pytest.mark.parametrize(
    "table", [{"kind": "largest"}, {"kind": "lowest", "others": []}, {"kind": "below", "data": []}]
)
def test_rules_that_cannot_be_meant_are_refused(table):
    with pytest.raises(InputError, match="rule"):
        rule_from(TABLE | table)


def test_every_rule_can_be_put_into_words():
    for kind in KINDS:
        text = rule_from(TABLE | {"kind": kind, "limit": 0.5, "slack": 1.1, "by": "seconds"}).in_words()
        assert "error" in text


def test_a_method_of_ours_that_diverged_refutes_and_one_that_is_missing_does_not():
    rule = Rule("lowest", "m", ("d",), ("A",), ("X",))
    other = {("d", "X"): cell(m=[2.0] * 6)}
    assert judge(rule, "A", other).word == "not measured"
    assert judge(rule, "A", other | {("d", "A"): cell(m=[math.nan] * 6)}).word == "not confirmed"
    assert judge(rule, "A", other | {("d", "A"): cell(m=[1.5] * 6)}).word == "confirmed"


def test_competitors_that_all_diverged_prove_nothing():
    rule = Rule("ratio", "m", ("d",), ("A",), ("X",), limit=0.1)
    cells = {("d", "A"): cell(m=[1.0]), ("d", "X"): cell(m=[math.inf])}
    assert judge(rule, "A", cells).word == "not measured"
    assert judge(rule, "A", {("d", "A"): cell(m=[1.0]), ("d", "X"): Cell()}).word == "not measured"


def test_runs_that_failed_are_named_and_leave_the_claim_unproven():
    rule = Rule("lowest", "m", ("d",), ("A",), ("X",))
    cells = {("d", "A"): cell(n_missing=2, status="timeout", m=[1.0] * 2), ("d", "X"): cell(m=[2.0] * 2)}
    verdict = judge(rule, "A", cells)
    assert verdict.word == "not measured"
    assert "A: 2 of 4 runs" in verdict.findings[0].words
    # Runs that were not made yet could have come out either way.
    assert judge(rule, "A", cells | {("d", "A"): cell(n_missing=2, m=[1.0] * 2)}).word == "confirmed"
