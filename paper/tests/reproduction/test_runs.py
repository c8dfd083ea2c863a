"""Runs measure what their tables say: exact GPs, parts of regret, scaling of inputs, warm-up rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from iegp_paper.catalogue import load_experiments
from iegp_paper.pages.content import claim_lines
from iegp_paper.plan import Scale, methods_of
from iegp_paper.provenance import stored_runs
from iegp_paper.results import collect
from iegp_paper.runs.classification import METHODS as CLASSIFIERS
from iegp_paper.runs.embedding import map_settings
from iegp_paper.runs.gaussian_process import ensemble_loss, exact_gp
from iegp_paper.runs.regression import INPUTS, METHODS, prepared
from iegp_paper.runs.static_regret import regrets
from iegp_paper.runs.support import base_name
from iegp_paper.runs.switching_regret import regret
from iegp_paper.runs.uncertainty import METHODS as LEARNERS
from iegp_paper.task import Task
from iegp_paper.worker import perform

from iegp.errors import InputError
from iegp.evaluate.regret import best_function, gaussian
from iegp.kernels import RBF

NOISE = 0.1


def rows(n=40):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 1)), rng.standard_normal(n)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_exact_gp_is_the_best_function_of_its_rkhs(scale):
    x, y = rows()
    own, slow = exact_gp(RBF(scale)(x), y, NOISE), best_function(RBF(scale)(x), y, gaussian(NOISE))
    np.testing.assert_allclose(own.losses, slow.losses, rtol=0, atol=1e-8)
    assert own.penalty == pytest.approx(slow.penalty, abs=1e-8)


def test_the_evidence_is_the_density_of_all_labels_and_the_ensemble_mixes_it():
    x, y = rows(6)
    covariances = [RBF(scale)(x) + NOISE * np.eye(6) for scale in (0.5, 2.0)]
    densities = [
        np.exp(-0.5 * y @ np.linalg.solve(own, y)) / np.sqrt(np.linalg.det(2.0 * np.pi * own)) for own in covariances
    ]
    experts = [exact_gp(RBF(scale)(x), y, NOISE) for scale in (0.5, 2.0)]
    assert [np.exp(own.log_evidence) for own in experts] == pytest.approx(densities)
    assert ensemble_loss(experts) == pytest.approx(-np.log(np.mean(densities)))


def test_regret_to_the_rkhs_is_the_sum_of_its_parts_and_each_length_is_a_data_set_of_its_own():
    short, long = (regrets(n, True, 1.0, 10, 0) for n in (20, 40))
    for found in (short, long):
        assert found["features"] + found["comparator"] == pytest.approx(found["to RKHS"])
        assert found["regret"] <= found["bound"]
    assert regrets(20, False, 1.0, 10, 0) == {name: short[name] for name in ("regret", "bound")}
    assert regrets(20, True, 1.0, 10, 1) != short
    assert regret(20, 1.0, 10, 0) == regret(20, 1.0, 10, 0) != regret(20, 1.0, 10, 1)


def test_inputs_are_scaled_as_asked():
    x = np.array([[0.0, 10.0, 3.0], [1.0, 30.0, 3.0], [0.5, 20.0, 3.0], [0.5, 20.0, 3.0]])
    y = np.array([1.0, 3.0, 5.0, 7.0])
    assert prepared(x, y, 2, INPUTS[0]) == (pytest.approx(x), pytest.approx(y), {})
    by_column, target, settings = prepared(x, y, 2, "min-max per column")
    np.testing.assert_allclose(by_column, [[0, 0, 0], [1, 1, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]])
    np.testing.assert_allclose(target, [-1, 1, 3, 5])
    assert settings == {"standardize": False}
    np.testing.assert_allclose(prepared(x, y, 2, "min-max global")[0], x / 30.0)
    with pytest.raises(InputError, match="min-max per column"):
        prepared(x, y, 2, "log")


@pytest.mark.parametrize(("name", "methods"), [("nmse", METHODS), ("classification", CLASSIFIERS)])
def test_the_protocol_says_which_methods_learn_the_warmup_rows(name, methods):
    for method, words in load_experiments()[name].protocol.items():
        if not method.startswith("SSGP"):
            learns = methods[base_name(method)]().get_params()["learn_warmup"]
            assert learns == words["learns"].startswith("yes"), method


def test_every_method_of_a_comparison_has_a_protocol_and_every_failed_claim_a_cause():
    for own in load_experiments().values():
        if own.kind in ("regression", "classification", "embedding") and own.name in ("nmse", "classification", "maps"):
            assert set(own.protocol) == set(own.methods), own.name
        for claim in own.claims:
            assert bool(claim.cause) == bool(claim.why), claim.text
            assert not claim.why.isupper(), claim.text


def test_every_published_verdict_other_than_confirmed_has_a_cause_that_is_known():
    outcomes = stored_runs(Path(__file__).parents[2] / "results")
    for own in load_experiments().values():
        cells = collect(own, Scale(), outcomes)
        for line in (line for claim in own.claims for line in claim_lines(own, claim, cells)):
            known = line.cause in ("the paper", "a competitor's setting", "ours") and bool(line.why)
            assert known or line.verdict.word == "confirmed", (line.text, line.method, line.verdict.word)


def test_a_claim_about_every_method_of_the_paper_compares_with_all_that_have_the_score():
    outcomes, found = stored_runs(Path(__file__).parents[2] / "results"), 0
    for own in load_experiments().values():
        cells = collect(own, Scale(), outcomes)
        for claim in (claim for claim in own.claims if "every method of the paper" in claim.text):
            sets = [data for data in own.data if data.name in claim.rule.data]
            on_all = set.intersection(*(set(methods_of(own, data, Scale())) for data in sets)) - set(own.extra)
            scored = {method for method in on_all if claim.rule.metric in cells[sets[0].name, method].scores}
            assert set(claim.rule.others) == scored, claim.text
            found += 1
    assert found == 6


@pytest.mark.parametrize("method", LEARNERS)
def test_bands_on_thirty_points_are_narrow_where_there_are_points(method):
    # The noise alone has a band that is 0.39 wide.
    scores = perform(Task("uncertainty", "sines", method, 0, rows=30)).scores
    assert 0.35 < scores["width near points"] < 1.0
    assert scores["covered"] > 0.9


def test_length_scales_of_a_map_are_settings_of_a_file():
    task = Task("embedding", "oil_flow", "IE-GPLVM", 0, settings={"length_scales": [0.5, 2.0], "init": "pca"})
    assert map_settings(task) == {"kernels": [RBF(0.5), RBF(2.0)], "init": "pca"}
