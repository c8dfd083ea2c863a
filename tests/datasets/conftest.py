"""What the tests of streams share: a private cache, a web server of our own, the paper's data where it is."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from iegp.datasets.published import list_datasets


@dataclass
class Site:
    """A web server on this machine. ``files`` maps paths to bodies.

    ``cut`` bodies are announced longer than sent, ``silent`` ones without a length.
    """

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A running web server; a proxy configured on this machine is kept out of the way."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requests.append(self.path)
            body = site.files.get(self.path)
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            if self.path not in site.silent:
                self.send_header("Content-Length", str(len(body) + (100 if self.path in site.cut else 0)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.address = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of this test alone, empty, and no $IEGP_DATA."""
    monkeypatch.delenv("IEGP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "iegp"


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """The folder with the paper's data sets; tests that need it are skipped where it is absent."""
    folder = os.environ.get("IEGP_DATA")
    if not folder:
        pytest.skip("$IEGP_DATA is not set: the paper's data sets are not here")
    missing = [name for name in list_datasets() if not (Path(folder) / f"{name}.npz").is_file()]
    if missing:
        pytest.skip(f"$IEGP_DATA lacks {', '.join(missing)}")
    return Path(folder)
