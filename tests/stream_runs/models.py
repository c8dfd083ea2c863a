"""Small models, so that a run takes a moment: one kernel, few frequencies, a short warm-up."""

from __future__ import annotations

from pathlib import Path

_KERNELS = [{"kernel": "RBF", "length_scale": 1.0}]
_SHARED = {"n_frequencies": 5, "warmup": 40, "drift_var": [0.0, 1e-3], "kernels": _KERNELS}
MODELS = {
    "regression": _SHARED | {"noise_var": 0.1},
    "classification": _SHARED,
    "count": _SHARED,
    "ordinal": _SHARED,
}
_TOML = """{noise}n_frequencies = 5
warmup = 40
drift_var = [0.0, 1e-3]
[[parameters.kernels]]
kernel = "RBF"
length_scale = 1.0
"""


def write_config(folder: Path, task: str = "regression") -> str:
    """A file for ``--config``; its name."""
    noise = "[parameters]\n" + ("noise_var = 0.1\n" if task == "regression" else "")
    (folder / "small.toml").write_text(_TOML.format(noise=noise))
    return "small.toml"
