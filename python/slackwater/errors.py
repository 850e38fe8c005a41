"""What can be wrong with what a caller gives, beside scenarios."""

from __future__ import annotations


class GridError(ValueError):
    """A grid is wrong: where, what was found and what was expected."""
