"""What the package's optional parts need, and how to install it.

The names are those that pip finds by themselves: the message holds for a checkout, a wheel and a release.
"""

from __future__ import annotations

import importlib.util
import re

NEEDS = {
    "gym": ("gymnasium>=1.1,<2", "numpy>=1.26"),
    "onnx": ("onnxruntime>=1.18",),
    "ray": ("pyarrow>=16", "ray>=2.40,<3", "tqdm>=4.66"),
    "sql": ("duckdb>=1.3",),
    "sweep": ("pyarrow>=16", "tqdm>=4.66"),
    "train": ("cmaes>=0.11,<1", "numpy>=1.26", "tqdm>=4.66"),
}


def command(extra: str) -> str:
    """Return the command that installs what ``extra`` needs."""
    words = " ".join(f"'{need}'" for need in NEEDS[extra])
    return f"python -m pip install {words}"


def check(extra: str) -> None:
    """Raise :class:`ModuleNotFoundError` where a package that ``extra`` needs is not installed."""
    names = [re.split(r"[<>=]", need)[0] for need in NEEDS[extra]]
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        msg = f"{', '.join(missing)} not installed: {command(extra)}"
        raise ModuleNotFoundError(msg)
