"""Download a file over HTTP with limits on time and size; a failed download leaves no file."""

from __future__ import annotations

from pathlib import Path

from pooch import HTTPDownloader

from iegp.errors import DatasetError

MAX_BYTES = 256 * 2**20  # five times the largest file of the paper's sets
TIMEOUT_S = 30.0  # per connection and per read, not for the whole file
CHUNK = 2**16
# Some servers compress on the fly and then announce the wrong length: ask for the bytes as they are.
HEADERS = {"Accept-Encoding": "identity", "User-Agent": "iegp"}


class _SizeLimit:
    """Progress bar for pooch that stops a download that is too long, by its header or by the bytes received."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes, self._received = max_bytes, 0

    @property
    def total(self) -> int:
        return self._received

    @total.setter
    def total(self, announced: int) -> None:
        if announced > self._max_bytes:
            raise ValueError(f"the file has {announced} bytes, more than the {self._max_bytes} allowed")

    def update(self, n_bytes: int) -> None:
        self._received += n_bytes
        # pooch counts the last chunk as a full one.
        if self._received >= self._max_bytes + CHUNK:
            raise ValueError(f"the file is longer than the {self._max_bytes} bytes allowed")

    def reset(self) -> None:
        self._received = 0

    def close(self) -> None:
        pass


def fetch(url: str, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
    """Download one file to ``path``; on any failure raise and leave no file behind."""
    if not url.startswith(("https://", "http://")):
        raise DatasetError(f"{url}: only http and https addresses are fetched; correct the address.")
    get = HTTPDownloader(progressbar=_SizeLimit(max_bytes), chunk_size=CHUNK, timeout=TIMEOUT_S, headers=HEADERS)
    try:
        get(url, path, None)
    except (OSError, ValueError) as error:
        path.unlink(missing_ok=True)
        raise DatasetError(f"{url} could not be fetched: {_reason(error)}.") from error


def _reason(error: BaseException) -> str:
    """Return the message of the operating system or the server, without the layers of libraries around it."""
    while error.__context__ is not None:
        error = error.__context__
    return str(error) or type(error).__name__
