"""The report of a run as one HTML file: no network, no web fonts, readable without JavaScript.

``iegp stream --report`` writes it. Panels turn the results of a :class:`~iegp.stream.digest.Digest` into plain blocks
and static SVG, Jinja2 templates turn these into HTML; a small script adds tooltips and zoom.
"""

from iegp.report.about import About, Change, ExpertRow, InputRow, Timing
from iegp.report.page import Snapshot, render, render_report, write_report

__all__ = [
    "About",
    "Change",
    "ExpertRow",
    "InputRow",
    "Snapshot",
    "Timing",
    "render",
    "render_report",
    "write_report",
]
