"""``iegp stream --live PORT``: the report of a run as a page that follows it, served from a thread of its own.

The run waits for the server only while a snapshot of its digest is taken, a few milliseconds per page; pages are made
outside the run, at most one per second however many browsers ask.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from iegp.cli.flags import UsageError
from iegp.report import Snapshot, render

_LEAST_SECONDS = 1.0
_POLL_SECONDS = 0.1
# How long a request waits for the end of a block.
_PATIENCE_SECONDS = 2.0
# Browsers ask every two seconds: how long the end of a run waits for one to ask for the last page.
_LAST_SECONDS = 3.0
# A page of another site may ask this machine for its own addresses by another name; it gets no answer.
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


class LivePage:
    """A server of one page while it is entered; ``waiting`` is shown until :meth:`follow` says what to show.

    ``port`` 0 takes a free one; see ``address``. ``sent_version`` is that of the page that a browser got last. The run
    learns inside of :meth:`block`, where nothing looks at it.
    """

    def __init__(self, host: str, port: int, waiting: Snapshot) -> None:
        self._take: Callable[[], Snapshot] = lambda: waiting
        self._version: Callable[[], str] = lambda: "waiting"
        # A thread that waits for the second lock holds the first, so that each gets its turn.
        self._next, self._run = threading.Lock(), threading.Lock()
        self._rendering = threading.Lock()
        self._asked, self.sent_version = -math.inf, ""
        self._page, self._page_version, self._made = render(waiting, live=True).encode(), "waiting", -_LEAST_SECONDS
        self._server = _bound(host, port, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
        self.is_local = host in ("127.0.0.1", "localhost", "::1")
        shown = "127.0.0.1" if host in ("", "0.0.0.0") else host
        self.address = f"http://{shown}:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wait_for_last_request()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _wait_for_last_request(self) -> None:
        """A browser that follows the run is to show all of it, also once the run is over."""
        ended = time.monotonic()
        if ended - self._asked > _LAST_SECONDS:
            return
        while self.sent_version != self._version() and time.monotonic() - ended < _LAST_SECONDS:
            time.sleep(_POLL_SECONDS)

    def follow(self, take: Callable[[], Snapshot], version: Callable[[], str]) -> None:
        """Show what ``take`` gives, whenever ``version`` gives something new."""
        self._take, self._version = take, version

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """While it is entered, no snapshot is taken."""
        with self._next:
            self._run.acquire()
        try:
            yield
        finally:
            self._run.release()

    def page(self) -> tuple[bytes, str]:
        """The page and its version."""
        with self._rendering:
            self._asked = time.monotonic()
            is_old = self._version() != self._page_version
            if is_old and time.monotonic() - self._made >= _LEAST_SECONDS:
                self._make_page()
            return self._page, self._page_version

    def _make_page(self) -> None:
        """A new page; the old one stays while a block takes long, as the first does, which may be compiled before."""
        with self._next:
            if not self._run.acquire(timeout=_PATIENCE_SECONDS):
                return
        try:
            version, shown = self._version(), self._take()
        finally:
            self._run.release()
        self._page, self._page_version = render(shown, live=True).encode(), version
        self._made = time.monotonic()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    page: LivePage

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that went away is no news."""
        del request, client_address


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "iegp", ""

    def do_GET(self) -> None:
        host = self.headers.get("Host", "").rsplit(":", 1)[0]
        if self.server.page.is_local and host not in _LOCAL_NAMES:
            self.send_error(HTTPStatus.FORBIDDEN)
        elif self.path != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            page, version = self.server.page.page()
            self._send(page, version)
            self.server.page.sent_version = version

    def _send(self, page: bytes, version: str) -> None:
        tag = f'"{version}"'
        if self.headers.get("If-None-Match") == tag:
            self.send_response(HTTPStatus.NOT_MODIFIED)
            self.end_headers()
            return
        self.send_response(HTTPStatus.OK)
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(page)), "ETag": tag}
        for name, value in (headers | {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:
        """Standard error is for the run."""
        del format, args


def _bound(host: str, port: int, page: LivePage) -> _Server:
    try:
        server = _Server((host, port), _Handler)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"--live {port}: cannot listen on {host}:{port} ({error}); choose another port, or 0 for a free one"
        ) from error
    server.page = page
    return server
