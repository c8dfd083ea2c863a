"""Records from files and pipes: CSV, TSV, JSON lines and Parquet, in constant memory, each with its place.

:func:`open_source` finds the format; what comes out are :class:`Records`, batches of columns with the bad records set
apart, and a :class:`Position` after every record from which reading can resume. Change this package to add a format or
to change what counts as a bad record. Bytes flow feed (``feeds``) -> complete records (``record_cutter``) -> columns
(``csv_*``, ``json_*``); Parquet has its own way. Nothing here knows what the columns are for.
"""

from iegp.readers.number_style import NumberStyle
from iegp.readers.opening import open_source, source_files, would_be_read
from iegp.readers.records import START, BadRecord, Batch, Columns, Position, Records, is_missing, object_array
from iegp.readers.source import Schema, Source

__all__ = [
    "START",
    "BadRecord",
    "Batch",
    "Columns",
    "NumberStyle",
    "Position",
    "Records",
    "Schema",
    "Source",
    "is_missing",
    "object_array",
    "open_source",
    "source_files",
    "would_be_read",
]
