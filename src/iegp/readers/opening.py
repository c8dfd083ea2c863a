"""Open a source by its path, the suffix of which gives the format: a file, a growing file, a pipe, standard input."""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
import stat
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from iegp.errors import InputError
from iegp.readers import feeds
from iegp.readers.csv_source import CsvSource
from iegp.readers.file_sequence import FileSequence
from iegp.readers.json_source import JsonSource
from iegp.readers.number_style import PLAIN, NumberStyle
from iegp.readers.parquet_source import ParquetSource
from iegp.readers.records import Position, excerpt
from iegp.readers.source import Request, Schema, Source

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
FORMATS = tuple(dict.fromkeys(_SUFFIXES.values()))
_ALIASES = {suffix[1:]: name for suffix, name in _SUFFIXES.items()}
_STDIN = 0


class Format(NamedTuple):
    """What a source is written in."""

    name: str
    is_gzip: bool


def find_format(path: str, given: str | None) -> Format:
    """The format ``given``, or else the one that the suffix of ``path`` says. ``-`` is JSON lines."""
    is_gzip = path.lower().endswith(".gz")
    name = _named(given) if given is not None else _by_suffix(path, is_gzip)
    if name == "parquet" and is_gzip:
        raise InputError(f"{path!r} cannot be read: Parquet has its own compression. Try gunzip on it first.")
    return Format(name, is_gzip)


def _named(given: str) -> str:
    try:
        return _ALIASES[given.lower().removeprefix(".").removesuffix(".gz")]
    except KeyError:
        raise InputError(f"format {given!r} is not known. Try one of: {', '.join(FORMATS)}.") from None


def _by_suffix(path: str, is_gzip: bool) -> str:
    if path == "-":
        return "jsonl"
    stem = path.lower()[:-3] if is_gzip else path.lower()
    for suffix, name in _SUFFIXES.items():
        if stem.endswith(suffix):
            return name
    known = ", ".join(_SUFFIXES)
    raise InputError(
        f"The suffix of {path!r} does not say how it is written. Known are {known} (all but .parquet also with .gz"
        f" after it), and '-' for JSON lines on standard input. Otherwise say --format ({', '.join(FORMATS)})."
    )


def source_files(source: str | Path | Sequence[str]) -> tuple[str, ...]:
    """The files of a source in the order in which they are read.

    Of a folder those with a suffix that is known, of a pattern (``*``, ``?``, ``[``) those that it matches, by name.
    """
    if not isinstance(source, str | Path):
        return tuple(file for one in source for file in source_files(one))
    path = str(source)
    if os.path.isdir(path):
        found = [file for file in sorted(os.listdir(path)) if _has_known_suffix(file) and not file.startswith(".")]
        if not found:
            raise InputError(f"{path!r} is a folder in which no file ends in {', '.join(_SUFFIXES)}.")
        return tuple(os.path.join(path, file) for file in found)
    if any(sign in path for sign in "*?[") and not os.path.exists(path):
        found = sorted(glob.glob(path))
        if not found:
            raise InputError(f"No file matches {path!r}. Check the pattern, and put it in quotes.")
        return tuple(found)
    return (path,)


def would_be_read(source: str, file: str) -> bool:
    """Whether a file is one of a source, or would be if it were there: in its folder, or matched by its pattern."""
    return source != "-" and (_would_be_found(source, file) or _is_linked(source, file))


def _is_linked(source: str, file: str) -> bool:
    """Whether a file of a source is the same by another name, a hard link."""
    with contextlib.suppress(OSError, InputError):
        return any(os.path.samefile(found, file) for found in source_files(source))
    return False


def _would_be_found(source: str, file: str) -> bool:
    folder, name = os.path.split(os.path.realpath(file))
    if os.path.isdir(source):
        return folder == os.path.realpath(source) and _has_known_suffix(name) and not name.startswith(".")
    if any(sign in source for sign in "*?[") and not os.path.exists(source):
        parts, wanted = (os.path.abspath(path).split(os.sep) for path in (file, source))
        return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))
    return os.path.realpath(source) == os.path.realpath(file)


def _has_known_suffix(name: str) -> bool:
    return name.lower().removesuffix(".gz").endswith(tuple(_SUFFIXES))


def open_source(
    path: str | Path | Sequence[str],
    *,
    format: str | None = None,
    follow: bool = False,
    position: Position | None = None,
    schema: Schema | None = None,
    keep_text: Collection[str] = (),
    drop: Collection[str] = (),
    wakeup: int | None = None,
    style: NumberStyle = PLAIN,
) -> Source:
    """A source of records, to be used in a ``with`` statement.

    Parameters
    ----------
    path : a file, a named pipe, or ``"-"`` for standard input (JSON lines unless ``format`` says otherwise); a folder,
        a pattern or several files, which are read in order as one.
    format : ``"csv"``, ``"tsv"``, ``"jsonl"`` or ``"parquet"``; by default the suffix says it.
    follow : at the end of the file wait for more, for ever.
    position, schema : where to resume, and what was decided about the columns; from ``Records`` and
        :meth:`Source.schema`. A pipe cannot go back: there the position only continues the counting.
    keep_text : columns to read as text whatever they look like (ids, times, classes).
    drop : columns to leave out.
    wakeup : a descriptor; when it can be read, a ``read`` that waits for a live source returns an empty batch.
    style : how numbers and missing values are written in text.
    """
    _check_position(position)
    files = source_files(path)

    def open_one(path: str, position: Position | None, schema: Schema | None) -> Source:
        file_format = find_format(path, format)
        request = Request(position, _checked(schema, file_format), frozenset(keep_text), frozenset(drop), style)
        return _open_file(path, file_format, request, follow, wakeup)

    if len(files) == 1 and "files" not in (schema or {}):
        _refuse_found_pipe(path, files[0])
        return open_one(files[0], position, schema)
    if follow or "-" in files or not all(_is_regular(Path(file)) for file in files):
        raise InputError(f"{len(files)} files are read to their ends; a pipe or a growing file must be the only one.")
    return FileSequence(files, open_one, position, schema)


def _open_file(path: str, file_format: Format, request: Request, follow: bool, wakeup: int | None) -> Source:
    if file_format.name == "parquet":
        _refuse_live(path, follow)
        return ParquetSource(Path(path), request)
    open_feed = _feed_opener(path, file_format, follow, wakeup)
    label = "standard input" if path == "-" else repr(path)
    source: CsvSource | JsonSource
    if file_format.name == "jsonl":
        source = JsonSource(label, open_feed, request)
    else:
        source = CsvSource(label, open_feed, file_format.name, request)
    if not source.is_live:
        _prepare(source)
    return source


def _prepare(source: CsvSource | JsonSource) -> None:
    try:
        source.prepare()
    except BaseException:
        source.close()
        raise


def _check_position(position: Position | None) -> None:
    if position is not None and not all(isinstance(n, int) and n >= 0 for n in position):
        raise InputError(f"The position {position!r} is none: it must be three whole numbers. Start anew without it.")


def _checked(schema: Schema | None, file_format: Format) -> Schema | None:
    if schema is None:
        return None
    if schema.get("format") != file_format.name:
        raise InputError(
            f"The source is {file_format.name}, but the stored schema is of {schema.get('format')!r}."
            " Give the source it belongs to, or start anew."
        )
    kinds, delimiter = schema.get("columns"), schema.get("delimiter")
    is_good = isinstance(kinds, dict) and all(kind in ("number", "text", None) for kind in kinds.values())
    if file_format.name in ("csv", "tsv"):
        is_good = is_good and delimiter in (",", ";", "\t")
    if not is_good:
        raise InputError(f"The stored schema {excerpt(repr(schema))} is damaged. Start anew without it.")
    return schema


def _feed_opener(path: str, file_format: Format, follow: bool, wakeup: int | None) -> Callable[[int], feeds.Feed]:
    if path == "-":
        return lambda _: feeds.Pipe(_STDIN, wakeup, owned=False)
    file = Path(path)
    if not _is_regular(file):
        if file_format.is_gzip:
            raise InputError(f"{path!r} is a pipe, and compressed data is read from files only. Put gunzip before it.")
        # Without waiting for the program that writes to it: reading does that, and a signal ends it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        return lambda _: feeds.Pipe(descriptor, wakeup, owned=True)
    if file_format.is_gzip:
        if follow:
            raise InputError(f"{path!r} is compressed and cannot be followed. Follow the plain file.")
        return lambda offset: feeds.GzipFile(file, offset)
    if follow:
        return lambda offset: feeds.FollowedFile(file, offset, wakeup)
    return lambda offset: feeds.PlainFile(file, offset)


def _refuse_live(path: str, follow: bool) -> None:
    if path == "-" or not _is_regular(Path(path)) or follow:
        raise InputError(f"Parquet is read from its end, so {path!r} must be a whole file. Pipe JSON lines instead.")


def _refuse_found_pipe(source: str | Path | Sequence[str], file: str) -> None:
    """What a folder or a pattern finds is read again when a run goes on, which a pipe cannot be."""
    named = (source,) if isinstance(source, str | Path) else source
    if file not in map(str, named) and not _is_regular(Path(file)):
        raise InputError(f"{file!r} is a pipe, which cannot be read again like the files of a folder. Name it itself.")


def _is_regular(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InputError(f"{str(path)!r} does not exist. Check the path; '-' is standard input.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} cannot be opened ({error}). Check the path.") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{str(path)!r} is a folder. Give the files in it.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{str(path)!r} may not be read by this user. Change its permissions.")
    return stat.S_ISREG(mode)
