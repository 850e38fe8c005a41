"""What is running now, for the page of `slackwater serve`: a small file in the folder of results.

``running.json`` is replaced as a whole, a few times a second at most, and removed at the end; the command's own runs
write the same (``crates/lab/src/beacon.rs``). Nothing here fails: a page that shows no progress is no reason to end
a run.
"""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

PERIOD = 0.33
# Points of a curve that are kept.
POINTS = 600

Curve = tuple[str, str, list[float], list[float]]


class Beacon:
    """A running command's hand on its file; leaving the context removes it."""

    def __init__(self, folder: Path, kind: str, title: str) -> None:
        """Say that ``title`` is under way in ``folder``."""
        self.file = folder / "running.json"
        self.kind, self.title = kind, title
        self.begun = time.monotonic()
        self.written = -PERIOD
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        self.tell(0.0)

    def tell(self, share: float, curves: list[Curve] | None = None) -> None:
        """Say which share is done, and the curves so far: name, unit, places and values."""
        now = time.monotonic()
        if now - self.written < PERIOD:
            return
        self.written = now
        shown = [{"name": n, "unit": u, "x": x[-POINTS:], "y": y[-POINTS:]} for n, u, x, y in curves or []]
        said = {
            "kind": self.kind,
            "title": self.title,
            "share": share,
            "elapsed_s": now - self.begun,
            "curves": shown,
        }
        part = self.file.with_suffix(".part")
        with contextlib.suppress(OSError, ValueError):
            part.write_text(json.dumps(said, allow_nan=False))
            part.replace(self.file)

    def __enter__(self) -> Self:
        """Nothing more: the file is there."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the file."""
        with contextlib.suppress(OSError):
            self.file.unlink()
