"""Fetch a file over HTTP without trusting the other side: bounded, timed, all or nothing."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from pathlib import Path
from typing import Protocol

from iegp.datasets.entry import Remote
from iegp.datasets.integrity import file_digest
from iegp.errors import DatasetError

MAX_BYTES = 256 * 2**20  # five times the largest file of the paper's sets, and no disk filled by mistake
TIMEOUT_S = 30.0  # per connection and per read, not for the whole file
CHUNK = 2**16


class _Reply(Protocol):
    headers: http.client.HTTPMessage

    def read(self, amt: int, /) -> bytes: ...


def fetch(remote: Remote, folder: Path, *, max_bytes: int = MAX_BYTES, timeout: float = TIMEOUT_S) -> Path:
    """Download one file into ``folder`` and return its path; on any failure raise and leave no file behind."""
    if not remote.url.startswith(("https://", "http://")):
        raise DatasetError(f"{remote.url}: only http and https addresses are fetched; correct the address.")
    path = folder / remote.filename
    # Some servers compress on the fly and then announce the wrong length; we want the bytes as they are.
    request = urllib.request.Request(remote.url, headers={"Accept-Encoding": "identity", "User-Agent": "iegp"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as reply:
            _save(reply, path, max_bytes)
        _check_bytes(remote, path)
    except urllib.error.HTTPError as error:
        error.close()
        raise _failure(remote, f"the server answered {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        path.unlink(missing_ok=True)
        raise _failure(remote, str(getattr(error, "reason", error)) or type(error).__name__) from error
    return path


def _save(reply: _Reply, path: Path, max_bytes: int) -> None:
    announced = reply.headers.get("Content-Length")
    if announced is not None and int(announced) > max_bytes:
        raise ValueError(f"the file has {announced} bytes, more than the {max_bytes} allowed")
    received = 0
    with path.open("wb") as file:
        while chunk := reply.read(CHUNK):
            received += len(chunk)
            if received > max_bytes:
                raise ValueError(f"the file is longer than the {max_bytes} bytes allowed")
            file.write(chunk)
    # http.client reports a short body only when asked for all of it at once.
    if announced is not None and received != int(announced):
        raise ValueError(f"the transfer stopped after {received} of {announced} bytes")


def _check_bytes(remote: Remote, path: Path) -> None:
    if remote.sha256 is not None and file_digest(path) != remote.sha256:
        raise ValueError("the file does not match its checksum")


def _failure(remote: Remote, reason: str) -> DatasetError:
    return DatasetError(f"{remote.url} could not be fetched: {reason}.")
