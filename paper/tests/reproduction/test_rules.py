"""Verdicts come from the scores and the rule alone."""

from __future__ import annotations

import math

import pytest
from iegp_paper.rules import Rule, judge, rule_from

from iegp.errors import InputError

SCORES = {
    ("a", "ours"): {"error": 0.10, "seconds": 1.0, "gain": -1.0},
    ("a", "ours too"): {"error": 0.14, "seconds": 9.0, "gain": -0.5},
    ("a", "x"): {"error": 0.12, "seconds": 50.0, "gain": -0.8},
    ("a", "y"): {"error": 0.20, "seconds": 2.0, "gain": 2.0},
    ("b", "ours"): {"error": 0.30, "seconds": 1.0},
    ("b", "ours too"): {"error": 0.30, "seconds": 1.0},
    ("b", "x"): {"error": 0.25, "seconds": 5.0},
    ("b", "y"): {"error": math.nan, "seconds": 5.0},
}
TABLE = {"metric": "error", "data": ["a"], "ours": ["ours", "ours too"], "others": ["x", "y"]}


def word(**changes):
    return judge(rule_from(TABLE | changes), SCORES).word


def test_lowest_asks_the_best_of_ours_and_every_asks_all():
    assert word(kind="lowest") == "confirmed"
    assert word(kind="every") == "not confirmed"
    assert word(kind="every", others=["y"]) == "confirmed"


def test_slack_widens_the_comparison_whatever_the_sign():
    assert word(kind="every", others=["x"], slack=1.2) == "confirmed"
    assert word(kind="lowest", metric="gain") == "confirmed"
    # -0.8 is better than -0.5; a slack of 1.5 allows -0.8 + 0.4.
    assert word(kind="lowest", metric="gain", ours=["ours too"]) == "not confirmed"
    assert word(kind="lowest", metric="gain", ours=["ours too"], slack=1.5) == "confirmed"


def test_ratio_compares_the_best_by_another_score():
    # Best by error: ours (1 s) and x (50 s).
    assert word(kind="ratio", metric="seconds", by="error", limit=0.02) == "confirmed"
    assert word(kind="ratio", metric="seconds", by="error", limit=0.019) == "not confirmed"
    # Best by seconds itself: y.
    assert word(kind="ratio", metric="seconds", limit=0.02) == "not confirmed"


def test_near_and_below():
    assert word(kind="near", limit=0.021) == "confirmed"
    assert word(kind="near", limit=0.01) == "not confirmed"
    assert word(kind="below", limit=0.1, others=[]) == "confirmed"
    assert word(kind="below", limit=0.09, others=[]) == "not confirmed"


def test_some_data_sets_make_a_claim_partly_true():
    assert word(kind="lowest", data=["a", "b"], others=["x"]) == "partly"


def test_what_was_not_measured_is_not_judged():
    verdict = judge(rule_from(TABLE | {"kind": "lowest", "data": ["a", "c"]}), SCORES)
    assert verdict.word == "partly"
    assert [finding.holds for finding in verdict.findings] == [True, None]
    assert "no error of ours and ours too" in verdict.findings[1].words
    assert word(kind="lowest", data=["c"]) == "not measured"


def test_a_competitor_without_a_score_is_named_and_the_claim_confirmed_in_part_at_best():
    verdict = judge(rule_from(TABLE | {"kind": "below", "limit": 1.0, "data": ["b"], "others": []}), SCORES)
    assert verdict.word == "confirmed"
    verdict = judge(rule_from(TABLE | {"kind": "lowest", "data": ["b"], "slack": 2.0}), SCORES)
    assert verdict.word == "partly"
    assert verdict.findings[0].words.endswith("(without y)")


@pytest.mark.parametrize(
    "table", [{"kind": "largest"}, {"kind": "lowest", "others": []}, {"kind": "below", "data": []}]
)
def test_rules_that_cannot_be_meant_are_refused(table):
    with pytest.raises(InputError, match="rule"):
        rule_from(TABLE | table)


def test_every_rule_can_be_put_into_words():
    for kind in ("lowest", "every", "ratio", "near", "below"):
        text = rule_from(TABLE | {"kind": kind, "limit": 0.5, "slack": 1.1, "by": "seconds"}).in_words()
        assert "error of" in text
        assert "ours" in text


def test_one_of_ours_that_is_missing_or_diverged_leaves_a_claim_unproven():
    rule = Rule("every", "m", ("d",), ("A", "B"), ("X",))
    measured = {("d", "A"): {"m": 1.0}, ("d", "X"): {"m": 2.0}}
    for also in ({}, {("d", "B"): {"m": float("nan")}}, {("d", "B"): {"m": float("inf")}}):
        verdict = judge(rule, measured | also)
        assert verdict.word == "partly"
        assert "without B" in verdict.findings[0].words
    assert judge(rule, measured | {("d", "B"): {"m": 1.5}}).word == "confirmed"


def test_competitors_that_all_diverged_prove_nothing():
    rule = Rule("ratio", "m", ("d",), ("A",), ("X",), limit=0.1)
    assert judge(rule, {("d", "A"): {"m": 1.0}, ("d", "X"): {"m": float("inf")}}).word == "not measured"


def test_medians_of_some_runs_are_named():
    rule = Rule("lowest", "m", ("d",), ("A",), ("X",))
    verdict = judge(rule, {("d", "A"): {"m": 1.0}, ("d", "X"): {"m": 2.0}}, {("d", "A"): "1 of 3 runs"})
    assert verdict.word == "partly"
    assert "A: 1 of 3 runs" in verdict.findings[0].words
