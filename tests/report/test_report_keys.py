"""The table of keys in a report: only some of many, and escaped."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

import numpy as np
from report.report_runs import EVIL, about
from stream_runs.digest_streams import answers

from iegp.report import render_report
from iegp.stream.digest import Digest


def page(keys):
    digest = Digest("regression")
    digest.add(replace(answers("regression", len(keys)), keys=tuple(keys)))
    return render_report(digest, about())


def section(text):
    return text[text.index('<section id="keys">') : text.index('<section id="experts">')]


def test_ten_of_many_keys_are_listed():
    rng = np.random.default_rng(0)
    text = page([f"k{int(40 * u * u)}" for u in rng.random(3000)])
    assert section(text).count("<tr>") == 22
    assert "10 of 40 keys" in section(text)
    assert 'href="#keys"' in text
    assert "its own key's model" in unescape(text)


def test_keys_with_few_labels_are_not_called_worst():
    assert "No key has that many yet" in section(page(["a", "b"] * 5))


def test_a_run_without_keys_has_no_such_section():
    digest = Digest("regression")
    digest.add(answers("regression", 30))
    text = render_report(digest, about())
    assert 'id="keys"' not in text
    assert "#keys" not in text


def test_keys_are_escaped():
    text = page([EVIL] * 30 + ["\ud800\x00"] * 30)
    assert EVIL not in text
    text.encode()
