"""The page that follows a run: what it shows, which requests it answers, and that it does not affect the run."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
import threading
import time
from importlib import metadata
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
from report.report_runs import about
from stream_runs import sources
from stream_runs.digest_streams import answers
from stream_runs.models import write_config
from stream_runs.process import Conversation, iegp

from iegp.cli.flags import UsageError
from iegp.cli.live import LivePage
from iegp.report import Snapshot
from iegp.stream.digest import Digest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def get(address, **headers):
    with urlopen(Request(address, headers=headers), timeout=30) as answer:
        return answer.read().decode(), dict(answer.headers)


@pytest.fixture
def live():
    """A page of an empty run, and the run: a digest that a test may add rows to."""
    digest = Digest("regression")
    with LivePage("127.0.0.1", 0, Snapshot.of(digest, about(title="Waiting"))) as page:
        page.digest = digest
        yield page


def follow(page):
    page.follow(lambda: Snapshot.of(page.digest, about()), lambda: str(page.digest.n_rows))


def test_it_shows_the_run_as_it_is_now(live, monkeypatch):
    monkeypatch.setattr("iegp.cli.live._LEAST_SECONDS", 0.0)
    assert "Waiting" in get(live.address)[0]
    follow(live)
    live.digest.add(answers("regression", 300))
    text, headers = get(live.address)
    assert "300" in re.search(r"<h3>Rows</h3>\s*<p class=.value.>([^<]*)", text)[1]
    assert "connect-src &#39;self&#39;" in text
    assert headers["Cache-Control"] == "no-store"
    with pytest.raises(HTTPError, match="304"):
        get(live.address, **{"If-None-Match": headers["ETag"]})


def test_pages_are_made_now_and_then(live):
    follow(live)
    first, _ = get(live.address)
    live.digest.add(answers("regression", 300))
    assert get(live.address)[0] == first


def test_no_snapshot_is_taken_inside_a_block_and_the_next_block_waits_for_one(live):
    follow(live)
    asked = threading.Thread(target=get, args=(live.address,))
    with live.block():
        asked.start()
        asked.join(0.3)
        assert asked.is_alive()
    with live.block():
        pass
    asked.join(30.0)
    assert not asked.is_alive()


def test_a_long_block_leaves_the_last_page(live, monkeypatch):
    monkeypatch.setattr("iegp.cli.live._PATIENCE_SECONDS", 0.05)
    follow(live)
    with live.block():
        assert "Waiting" in get(live.address)[0]
    assert "Waiting" not in get(live.address)[0]


def test_a_browser_gets_the_last_page_before_the_server_ends(monkeypatch):
    monkeypatch.setattr("iegp.cli.live._LEAST_SECONDS", 0.0)
    monkeypatch.setattr("iegp.cli.live._LAST_SECONDS", 60.0)
    digest, seen = Digest("regression"), []
    with LivePage("127.0.0.1", 0, Snapshot.of(digest, about(title="Waiting"))) as page:
        page.digest = digest
        follow(page)
        get(page.address)
        digest.add(answers("regression", 300))
        later = threading.Timer(0.5, lambda: seen.append(get(page.address)[0]))
        later.start()
    later.join()
    assert "300" in re.search(r"<h3>Rows</h3>\s*<p class=.value.>([^<]*)", seen[0])[1]


def test_a_run_without_a_browser_does_not_wait_for_one(monkeypatch):
    monkeypatch.setattr("iegp.cli.live._LAST_SECONDS", 60.0)
    with LivePage("127.0.0.1", 0, Snapshot.of(Digest("regression"), about(title="Waiting"))) as page:
        page.follow(lambda: pytest.fail("nothing asks for a page"), lambda: "1")


def test_other_names_and_places_get_no_answer(live):
    with pytest.raises(HTTPError, match="403"):
        get(live.address, Host="evil.example")
    with pytest.raises(HTTPError, match="404"):
        get(live.address + "etc/passwd")


def test_an_error_of_the_page_is_not_one_of_the_run(live):
    def broken():
        raise ZeroDivisionError

    live.follow(broken, lambda: "1")
    with pytest.raises((HTTPError, URLError, ConnectionError)):
        get(live.address)
    with live.block():
        pass


def test_a_port_that_is_taken_is_refused_before_the_run(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match="choose another port"):
            LivePage("127.0.0.1", port, Snapshot.of(Digest("regression"), about()))
        (tmp_path / "in.csv").write_text("a,y\n1,2\n")
        done = iegp(tmp_path, "stream", "in.csv", "--target", "y", "--live", str(port), "--out", "out.jsonl")
    assert done.code == 2
    assert f"--live {port}" in done.err
    assert not (tmp_path / "out.jsonl").exists()


def test_it_follows_a_pipe_and_ends_with_it(tmp_path):
    write_config(tmp_path)
    command = ["stream", "-", "--target", "y", "--config", "small.toml", "--out", "out.jsonl", "--live", "0"]
    talk = Conversation(tmp_path, *command)
    while not (found := re.search(r"Live: (\S+)", talk.running.said)):
        time.sleep(0.05)
        assert talk.running.is_alive
    waiting, _ = get(found[1])
    assert "Waiting for the first rows" in waiting
    assert "columns</dd>" not in waiting
    assert f"Written by iegp {metadata.version('iegp')}." in waiting
    for record in sources.numbers(40):
        talk.write(json.dumps(record) + "\n")
    while "y of standard input" not in get(found[1])[0]:
        time.sleep(0.2)
        assert talk.running.is_alive
    assert talk.end().code == 0
    with pytest.raises(URLError):
        get(found[1])


def browsed(address, folder):
    """Return the page as a browser has it half a minute later."""
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]
    # Its clock runs ahead of ours where nothing happens: many requests of the page, however busy the machine is.
    command += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=30000", address]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, encoding="utf-8").stdout


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH to open the page with")
def test_a_browser_sees_the_page_change(live, tmp_path, monkeypatch):
    monkeypatch.setattr("iegp.cli.live._LEAST_SECONDS", 0.0)
    asked, made = threading.Event(), answers("regression", 900)

    def version():
        asked.set()
        return str(live.digest.n_rows)

    def later():
        asked.wait(60.0)
        with live.block():
            live.digest.add(made.part(300, 900))

    live.digest.add(made.part(0, 300))
    live.follow(lambda: Snapshot.of(live.digest, about()), version)
    threading.Thread(target=later).start()
    seen = browsed(live.address, tmp_path)
    assert re.search(r"<h3>Rows</h3>\s*<p class=.value.>900", seen)
    assert 'data-view="499.0 899.0"' in seen or 'data-view="500.0 900.0"' in seen
    assert "this page updates itself" in seen


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH to open the page with")
def test_a_browser_sees_the_end_of_the_run(tmp_path):
    asked = threading.Event()

    def version():
        asked.set()
        return "1"

    def later():
        asked.wait(60.0)
        server.close()

    with contextlib.ExitStack() as server:
        page = server.enter_context(LivePage("127.0.0.1", 0, Snapshot.of(Digest("regression"), about())))
        page.follow(lambda: Snapshot.of(Digest("regression"), about()), version)
        threading.Thread(target=later).start()
        seen = browsed(page.address, tmp_path)
    assert re.search(r'class="live-state over"[^>]*>The run is over', seen)
