"""One process at a time writes into a folder of results."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class BusyError(OSError):
    """Another process writes into the folder."""


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Make ``folder`` and hold it; :class:`BusyError` where another process does.

    The lock is the kernel's, on the file ``.lock`` in the folder: it goes with the process, however that ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"{folder}: another process writes its results there; wait, or choose another --out"
            ) from None
        try:
            yield
        finally:
            # Processes that were started meanwhile have the file open as well.
            fcntl.flock(file, fcntl.LOCK_UN)
