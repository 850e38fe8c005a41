"""Lines of progress where no bar can be drawn: a pipe, a log.

As the command's own: one at each tenth, at most one in two seconds.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds between two lines, at least; a shorter command writes none.
QUIET = 2.0
#: Seconds after which a line is due in any case.
PATIENCE = 60.0
#: Shares at which a line is due.
PARTS = 10


class Lines:
    """How many of ``total`` runs are done, of which ``done`` were done before."""

    def __init__(
        self,
        what: str,
        total: int,
        done: int,
        *,
        quiet: bool = False,
        out: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write to ``out`` (default: standard error), unless it is a terminal or ``quiet``; ``clock`` is in seconds."""
        self._what, self._total, self._first = what, max(total, 1), done
        self._out = out or sys.stderr
        self._silent = quiet or self._out.isatty()
        self._clock = clock
        self._start = self._last = clock()
        self._told = PARTS * done // self._total

    def at(self, done: int) -> None:
        """Tell that ``done`` runs are done, where a line is due."""
        now = self._clock()
        part = PARTS * done // self._total
        since = now - self._last
        if self._silent or done >= self._total or not ((part > self._told and since >= QUIET) or since >= PATIENCE):
            return
        self._told, self._last = part, now
        spent = now - self._start
        left = spent * (self._total - done) / max(done - self._first, 1)
        print(
            f"progress: {self._what}, {done} of {self._total} runs, {spent:.0f} s, about {left:.0f} s left",
            file=self._out,
            flush=True,
        )
