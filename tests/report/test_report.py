"""The report: every section, messages where there is nothing to draw, and text of the user escaped."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from report.report_runs import EVIL, about, digest, evil_about, sections
from stream_runs.digest_streams import TASKS, answers, classes, digested

from iegp.report import render_report, write_report
from iegp.stream.digest import Digest

VOID = {"meta", "link", "img", "br", "hr", "input", "path", "rect"}


class Page(HTMLParser):
    """Elements, ids and visible text; fails where elements are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.words, self.fetched = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.fetched += [value for name, value in attrs if name in ("src", "href", "xlink:href", "action")]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID, attrs
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.mark.parametrize("task", TASKS)
def test_every_section_is_there_with_a_chart(task):
    page = Page(render_report(digest(task, 600), about(task)))
    assert [anchor for anchor in page.ids if anchor in sections(task)] == sections(task)
    assert page.tags.count("svg") >= 8
    assert "NaN" not in page.text
    assert "nan" not in page.text.split()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 25])
def test_short_runs_say_what_is_missing(task, n):
    text = render_report(digest(task, n), about(task))
    page = Page(text)
    assert [anchor for anchor in page.ids if anchor in sections(task)] == sections(task)
    assert not re.search(r'(d|x|y|width|height|style)="[^"]*(nan|inf)', text)
    if n == 0:
        assert "No rows have arrived yet." in page.text


@pytest.mark.parametrize("task", TASKS)
def test_without_labels_it_says_so(task):
    page = Page(render_report(digest(task, 300, unlabelled=1.0), about(task)))
    assert "No labels have arrived yet" in page.text
    assert "300 without a label" in page.text


def test_the_cards_hold_the_scores_beside_the_naive_ones():
    run = digest("regression", 600)
    results, page = run.results(), Page(render_report(run, about()))
    assert f"nMSE {results.loss.model:#.3g}" in page.text
    assert f"mean so far {results.loss.naive:#.3g}" in page.text
    assert f"{100 * results.coverage:.1f} %" in page.text
    assert "of the weight at the end" in page.text


@pytest.mark.parametrize("task", TASKS)
def test_text_of_the_user_is_only_text(task):
    run = answers(task, 300)
    if run.has_classes:
        names = {label: f"{label}{EVIL}" for label in run.classes}
        labels = np.array([names[label] for label in run.label], dtype=object)
        run = replace(run, classes=tuple(names.values()), label=labels)
    text = render_report(digested(task, run), evil_about(task))
    page = Page(text)
    plain = Page(render_report(digest(task, 300), about(task)))
    assert EVIL not in text
    assert page.tags.count("script") == plain.tags.count("script")
    assert "img" not in page.tags
    assert EVIL in " ".join(page.words)


def test_labels_that_no_page_can_hold_are_replaced():
    odd = "nul\x00 lone\ud800 turned\u202e bell\x07"
    text = render_report(digest("regression", 30), about(title=odd, target=odd))
    assert text.encode()
    assert not re.search("[\x00\x07\u202e]", text)


@pytest.mark.parametrize("task", TASKS)
def test_nothing_is_fetched(task):
    page = Page(render_report(digest(task, 300), about(task)))
    assert all(address.startswith(("#", "data:")) for address in page.fetched)
    text = render_report(digest(task, 300), about(task))
    assert not re.search(r"url\(|@import|https?://|fetch\(|XMLHttpRequest", text)


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-12, 1e12, 1e300])
def test_any_scale_can_be_drawn(scale):
    made = answers("regression", 300)
    scaled = {name: scale * made.number(name) for name in ("mean", "std", "lower", "upper")}
    made = replace(made, label=scale * made.label).predicting(**scaled)
    text = render_report(digested("regression", made), about())
    assert not re.search(r'(d|x|y|width|height|style)="[^"]*(nan|inf)', text)


def test_a_single_class_has_no_confusion_matrix():
    n, only = 50, np.array(["a"] * 50, dtype=object)
    run = classes(np.arange(n), only, np.zeros(n), proba=np.ones((n, 1)), classes=("a",))
    page = Page(render_report(digested("classification", run), about("classification")))
    assert "All labels so far are of one class" in page.text


def test_many_experts_are_grouped_and_the_rest_put_together():
    kernels = [f"RBF({i})" for i in range(12) for _ in range(3)]
    experts = [replace(about().experts[0], kernel=kernel) for kernel in kernels]
    page = Page(render_report(digest("regression", 300, experts=36), about(experts=experts)))
    assert "4 more" in page.text
    drifting = [replace(expert, drift=f"{place // 3}") for place, expert in enumerate(experts)]
    page = Page(render_report(digest("regression", 300, experts=36), about(experts=drifting)))
    assert "static" in page.text
    assert "drift 1 " in page.text
    assert "4 others" in page.text


def test_experts_that_do_not_match_the_weights_are_numbered():
    page = Page(render_report(digest("regression", 300, experts=3), about()))
    assert "expert 1" in page.text


def test_numbers_of_a_chart_are_json():
    text = render_report(digest("regression", 300), about(target=EVIL))
    found = re.search(r'<script type="application/json">(.*?)</script>', text, re.S)
    data = json.loads(found.group(1))
    assert len(data["row"]) == len(data["mean"]) == 300


def test_the_largest_run_stays_below_a_megabyte_and_a_half():
    names = tuple(f"a rather long name of a class, number {i}" for i in range(60))
    run, rng, big = Digest("classification"), np.random.default_rng(0), 1990
    labels = np.array([names[i % 60] for i in range(big)], dtype=object)
    proba, weights = rng.dirichlet(np.ones(60), big), rng.dirichlet(np.ones(300), big)
    run.add(classes(np.arange(big), labels, np.zeros(big), proba=proba, classes=names, weights=weights))
    experts = [replace(about().experts[0], kernel=f"Matern({i}, nu=1.5)") for i in range(300)]
    assert len(render_report(run, about("classification", experts=experts)).encode()) < 1_500_000
    numbers = digest("regression", big, experts=300)
    assert len(render_report(numbers, about(experts=experts)).encode()) < 1_500_000


def test_the_same_digest_gives_the_same_file(tmp_path):
    path = tmp_path / "report.html"
    run = digest("regression", 300)
    write_report(path, run, about())
    first = path.read_bytes()
    write_report(path, Digest.restore(run.config(), run.arrays()), about())
    assert path.read_bytes() == first


def test_a_report_needs_no_matplotlib():
    script = "import sys\nsys.modules['matplotlib'] = None\nimport iegp.report"
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=120)
