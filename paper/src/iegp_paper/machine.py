"""Description of the machine and of the software versions."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# Linux has it.
CPUINFO = Path("/proc/cpuinfo")
_PACKAGES = ("iegp", "numpy", "scipy", "scikit-learn", "numba", "torch", "GPy", "matplotlib")


def processor() -> str:
    """Return the processor and the number of cores of this process."""
    name = platform.processor() or platform.machine()
    if CPUINFO.exists():
        models = [line.partition(":")[2].strip() for line in CPUINFO.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores"


def same_rounding() -> dict[str, str]:
    """Return environment variables by which OpenBLAS rounds alike on all x86-64 processors that have AVX2.

    It chooses kernels by the processor otherwise, and optimisers, glitches and draws from a Gaussian process magnify
    their rounding into digits that are stored. A choice by the user stands.
    """
    has_avx2 = CPUINFO.exists() and " avx2 " in CPUINFO.read_text()
    return {"OPENBLAS_CORETYPE": "Haswell"} if has_avx2 and "OPENBLAS_CORETYPE" not in os.environ else {}


def memory() -> str:
    """Return the installed memory, where the system reports it."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "unknown"
    return f"{size / 2**30:.0f} GiB"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that runs use, or that they are not installed."""
    found = {"Python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def commit() -> str:
    """Return the commit of the code that runs, with ``+`` if tracked files differ from it; empty outside a checkout."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        name = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=True)
        # Sources alone: pages and results may change while runs are made.
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", ":/src", ":/paper/src"], check=False)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return name.stdout.strip() + ("+" if changed.returncode else "")


def describe() -> dict[str, str]:
    return {"processor": processor(), "memory": memory()} | versions()
