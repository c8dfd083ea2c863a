"""Description of the machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def describe() -> str:
    """One line: processor, cores, versions."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
        ]
        processor = names[0] if names else processor
    packages = ", ".join(f"{name} {version(name)}" for name in ("iegp", "numpy", "scipy", "scikit-learn", "numba"))
    return f"{processor}, {os.cpu_count()} cores, Python {platform.python_version()}, {packages}"
