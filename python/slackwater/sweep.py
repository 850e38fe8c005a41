"""Sweeps: every combination of a grid as one table."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slackwater.errors import GridError

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["GridError", "Sweep", "sweep"]


@dataclass(frozen=True)
class Sweep:
    """The runs of a grid: a row a flow, with the seed and the values that vary."""

    table: pa.Table
    """The rows, in the order of the grid; seeds vary fastest."""
    made: int
    """Runs that were made; the others were there already."""
    path: Path | None
    """The Parquet file; None where no folder was given."""

    def to_arrow(self) -> pa.Table:
        """The rows as a pyarrow table."""
        return self.table

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars data frame, without a copy."""
        import polars as pl

        return pl.DataFrame(self.table)

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas data frame."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Other libraries take the rows over without a copy."""
        return self.table.__arrow_c_stream__(requested_schema)


def sweep(
    grid: str | PathLike[str] | Mapping[str, Any],
    *,
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
    ray: str | None = None,
    quiet: bool = True,
) -> Sweep:
    """Run every combination of a grid and each seed, on all cores or on a Ray cluster (extra ``sweep``).

    ``grid`` is a grid file, or a dict of its shape. Its keys are ``scenario``, ``seeds`` (a number), ``seed`` (the
    first), ``set`` (keys for all runs) and ``grid`` (a list of values for each key). With ``out`` the table is kept
    there, and runs that it holds already are not made again. ``ray`` names a cluster: ``auto``, ``local`` or
    ``HOST:PORT``.

    Raises :class:`slackwater.GridError` for a grid that is wrong, :class:`slackwater.ScenarioError` for a scenario
    that is, :class:`slackwater.lock.BusyError` where another process writes into ``out``.
    """
    # Here: the module is also run as a command, which needs it not to be loaded before.
    from slackwater import extras
    from slackwater import grid as grids

    extras.check("sweep")
    import pyarrow.parquet as pq

    if isinstance(grid, Mapping):
        todo, title = grids.tasks(grid, "grid", Path()), "sweep"
    else:
        file = Path(grid)
        todo, title = grids.tasks(grids.read(file), str(file), file.parent), f"sweep {file.stem}"

    def fill(folder: Path) -> tuple[Path, int]:
        return grids.fill(todo, folder, title, jobs=jobs, ray=ray, quiet=quiet, threads=True)

    if out is None:
        with tempfile.TemporaryDirectory(prefix="slackwater-sweep-") as folder:
            path, made = fill(Path(folder))
            return Sweep(pq.read_table(path), made, None)
    path, made = fill(Path(out))
    return Sweep(pq.read_table(path), made, path)
