"""A table that grows row by row on disk: parts while it grows, one Parquet file when it is whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

KEY = "task"
# Rows of a part: what a kill can lose is less than this.
PART = 64


class Rows:
    """Rows of ``folder``: those of a run that was killed are kept where it was the same (``identity``)."""

    def __init__(self, folder: Path, identity: str) -> None:
        """Open the folder."""
        self.folder = folder / "rows"
        self.table = folder / "table.parquet"
        self.folder.mkdir(parents=True, exist_ok=True)
        mark = self.folder / "identity.json"
        said = json.dumps({"identity": identity})
        if not mark.exists() or mark.read_text() != said:
            for old in self.folder.glob("part-*.parquet"):
                old.unlink()
            self.table.unlink(missing_ok=True)
            mark.write_text(said)
        self.pending: list[dict[str, Any]] = []
        self.done: set[int] = set()
        self.parts = sorted(self.folder.glob("part-*.parquet"))
        for part in self.parts:
            self.done.update(pq.read_table(part, columns=[KEY]).column(KEY).to_pylist())

    def add(self, task: int, rows: list[dict[str, Any]]) -> None:
        """Take in the rows of a task."""
        if task in self.done:
            return
        self.done.add(task)
        self.pending.extend({KEY: task, **row} for row in rows)
        if len(self.pending) >= PART:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if not self.pending:
            return
        path = self.folder / f"part-{len(self.parts):06d}.parquet"
        part = path.with_suffix(".tmp")
        pq.write_table(pa.Table.from_pylist(self.pending), part)
        part.replace(path)
        self.parts.append(path)
        self.pending = []

    def finish(self) -> Path:
        """Join the parts, in the order of tasks: the same table however the tasks ran."""
        self.flush()
        rows = [row for part in self.parts for row in pq.read_table(part).to_pylist()]
        # A stable sort keeps the order of a task's own rows.
        rows.sort(key=lambda row: row[KEY])
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        part = self.table.with_suffix(".tmp")
        pq.write_table(pa.table(columns), part)
        part.replace(self.table)
        return self.table
