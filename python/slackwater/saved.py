"""Runs in pickles: `pickle.dumps(run)` holds the summary, the scenario and the tables, not the world."""

from __future__ import annotations

import copyreg
from typing import TYPE_CHECKING, Any

from slackwater._slackwater import Run, Table
from slackwater.show import html

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SavedRun"]

TABLES = ("flows", "links", "throughput", "internals", "transfers", "events", "packets")


class SavedRun:
    """What a pickled :class:`slackwater.Run` comes back as: the same results, with tables of pyarrow."""

    def __init__(
        self, name: str, seed: int, summary: dict[str, Any], scenario: dict[str, Any], tables: dict[str, pa.Table]
    ) -> None:
        """Hold the results of a run."""
        self.name = name
        self.seed = seed
        self.summary = summary
        self.scenario = scenario
        self._tables = tables

    def __getattr__(self, name: str) -> pa.Table:
        """One of the tables of a run, such as ``flows``."""
        if name in TABLES and "_tables" in self.__dict__:
            return self._tables[name]
        msg = f"a saved run has no {name!r}, expected one of {', '.join(TABLES)}"
        raise AttributeError(msg)

    def __repr__(self) -> str:
        """Name and seed."""
        return f"<slackwater.SavedRun: {self.name}, seed {self.seed}>"

    def _repr_html_(self) -> str:
        return html(self)


def _arrow(table: Table) -> pa.Table:
    try:
        return table.to_arrow()
    except ImportError as error:
        msg = "a pickle of a run's tables needs pyarrow: python -m pip install pyarrow"
        raise TypeError(msg) from error


def _same(table: pa.Table) -> pa.Table:
    return table


def _run(run: Run) -> tuple[type[SavedRun], tuple[object, ...]]:
    tables = {name: _arrow(getattr(run, name)) for name in TABLES}
    return SavedRun, (run.name, run.seed, run.summary, run.scenario, tables)


def register() -> None:
    """Tell `pickle` and `copy` how."""
    # The types of `copyreg` want the same class back.
    reduce: Any = _run
    copyreg.pickle(Run, reduce)
    copyreg.pickle(Table, lambda table: (_same, (_arrow(table),)))
