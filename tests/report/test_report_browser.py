"""A real browser opens the report: every panel has a size, nothing sticks out, zoom works, the console stays empty."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from report.report_runs import about, digest, evil_about, sections
from stream_runs.digest_streams import TASKS, answers

from iegp.report import render_report
from iegp.stream.digest import Digest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH to open the report with")

# Before all scripts of the page: whatever goes wrong is written down.
WATCH = """<script>
window.wrong = [];
window.addEventListener("error", (event) => window.wrong.push(String(event.message)), true);
window.addEventListener("securitypolicyviolation", (event) => window.wrong.push(event.violatedDirective));
for (const name of ["error", "warn"]) console[name] = (...words) => window.wrong.push(words.join(" "));
</script>"""
# After them: look at the page, zoom in and out as a person would, and tell the page around.
LOOK = """<script>
const seen = {};
const sized = (e) => e.getBoundingClientRect().width > 40 && e.getBoundingClientRect().height > 40;
const empty = (e) => !e.querySelector("path:not(.grid):not([d='']), rect");
const plots = [...document.querySelectorAll(".plot:not(.strip)")];
seen.strips = [...document.querySelectorAll(".plot.strip")].filter((e) => e.getBoundingClientRect().width > 40).length;
seen.sections = [...document.querySelectorAll("section")].map((e) => e.id);
seen.unsized = plots.filter((e) => !sized(e)).length;
seen.empty = plots.filter((e) => empty(e)).length;
seen.plots = plots.length;
seen.sideways = document.documentElement.scrollWidth - document.documentElement.clientWidth;
seen.width = window.innerWidth;
const root = document.querySelector(".zoomable");
if (root) {
  const plot = root.querySelector(".plot"), box = plot.getBoundingClientRect();
  const view = () => root.dataset.view.split(" ").map(Number);
  const dots = () => [...root.querySelectorAll(".chart .dots")].map((e) => e.getAttribute("d")).join("");
  const drawn = () => dots().split("M").length - 1;
  plot.setPointerCapture = () => {};
  const point = (type, share) => plot.dispatchEvent(new PointerEvent(type,
    { clientX: box.left + share * box.width, clientY: box.top + 20, button: 0, pointerId: 1, bubbles: true }));
  seen.opened = view();
  seen.opened_edges = root.querySelectorAll(".plot .edge").length;
  seen.dots = [drawn()];
  root.querySelector('[data-go="all"]').click();
  seen.before = view();
  seen.dots.push(drawn());
  point("pointermove", 0.5);
  seen.tip = root.querySelector(".tip").textContent;
  point("pointerdown", 0.25); point("pointermove", 0.4); point("pointerup", 0.5);
  seen.zoomed = view();
  seen.dots.push(drawn());
  seen.edges = root.querySelectorAll(".plot .edge").length;
  seen.heights = [...root.querySelectorAll(".chart .y-ticks span")].map((e) => Number(e.textContent.replace("−", "-")));
  seen.outside = root.querySelector(".outside:not([hidden]) span")?.textContent ?? "";
  seen.ticks = [...root.querySelectorAll(".chart .x-ticks span")].map((e) => e.textContent);
  for (const go of ["in", "on", "back", "out"]) root.querySelector(`[data-go="${go}"]`).click();
  plot.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  seen.after = view();
}
const tell = () => parent.postMessage({ ...seen, wrong: window.wrong, stolen: window.stolen ?? null }, "*");
// Refused fetches are reported a little later.
window.addEventListener("load", () => setTimeout(tell, 100));
</script>"""
# Around it: a window may not be narrower than 500 pixels, but a frame inside one may.
FRAME = """<!doctype html><iframe src="report.html" style="border:0;width:{width}px;height:4000px"></iframe><script>
window.addEventListener("message", (event) => {{
  const left = document.createElement("pre");
  left.id = "seen";
  left.textContent = JSON.stringify(event.data);
  document.body.append(left);
}});
</script>"""


def look(tmp_path, text, width=1280):
    """What the script above saw."""
    watched = text.replace("<head>", f"<head>{WATCH}", 1).replace("</body>", f"{LOOK}</body>")
    (tmp_path / "report.html").write_text(watched, encoding="utf-8")
    page = tmp_path / "frame.html"
    page.write_text(FRAME.format(width=width), encoding="utf-8")
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1300,4000", "--virtual-time-budget=3000"]
    command += [page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, encoding="utf-8")
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stderr[-2000:]
    return json.loads(unescape(found.group(1)))


@pytest.mark.parametrize(("task", "width"), list(zip(TASKS, (390, 1280, 390, 1280), strict=True)))
def test_every_panel_is_drawn_and_nothing_sticks_out_and_zoom_works(tmp_path, task, width):
    seen = look(tmp_path, render_report(digest(task, 2500), evil_about(task)), width)
    assert seen["wrong"] == []
    assert seen["width"] == width
    assert seen["sections"] == sections(task)
    assert seen["plots"] >= 8
    assert seen["unsized"] == seen["empty"] == 0
    assert seen["sideways"] <= 0
    assert seen["stolen"] is None
    # Opened on its end, with an overview; then the whole run, dragged from a quarter to half of it, then whole again.
    assert seen["strips"] == 1
    assert seen["opened"] == [2100, 2500]
    assert seen["before"] == seen["after"] == [0, 2500]
    assert seen["zoomed"] == pytest.approx([625, 1250], abs=10)
    # Every row of the last 400, every second one before.
    assert seen["dots"] == pytest.approx([400, 1450, 313], abs=12)
    assert "800" in seen["ticks"]
    assert seen["tip"].startswith("row 1,25")


def test_rows_with_times_have_times_on_their_axes(tmp_path):
    run, n = Digest("regression"), 1200
    run.add(replace(answers("regression", n), time=1704067200.0 + 3600.0 * np.arange(n)))
    seen = look(tmp_path, render_report(run, about()))
    assert seen["wrong"] == []
    assert seen["ticks"] == ["15 Jan", "18 Jan", "21 Jan", "24 Jan"]
    assert seen["tip"].split("\n")[1] == "26 Jan 2024 00:00"


@pytest.mark.parametrize("width", [390, 1280])
def test_glitches_do_not_stretch_the_axis_of_a_zoomed_part(tmp_path, width):
    """The script limits the axis as Python does."""
    run, stream = Digest("regression"), answers("regression", 2500)
    label = stream.label.copy()
    # In the part that the report opens on, before the part that is zoomed into, and in it.
    label[[2200, 300, 800, 1000]] = [1e4, 1e4, -1e4, 1e4]
    run.add(replace(stream, label=label))
    seen = look(tmp_path, render_report(run, about()), width)
    assert seen["wrong"] == []
    assert seen["sideways"] <= 0
    assert seen["opened_edges"] == 1
    assert seen["edges"] == 2
    assert seen["outside"] == "2 labels outside the axis"
    assert max(map(abs, seen["heights"])) < 100


def test_a_short_run_opens_too(tmp_path):
    seen = look(tmp_path, render_report(digest("regression", 1), about()))
    assert seen["wrong"] == []
    assert seen["sections"] == sections("regression")


def test_errors_and_fetches_would_be_seen(tmp_path):
    """So that the tests above cannot pass by looking at nothing."""
    bad = '<script>throw new Error("broken")</script><img src="https://example.org/x.png"></footer>'
    seen = look(tmp_path, render_report(digest("regression", 50), about()).replace("</footer>", bad))
    assert any("broken" in words for words in seen["wrong"])
    assert any("img-src" in words for words in seen["wrong"])
