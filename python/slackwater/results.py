"""Results as a database: DuckDB views over what runs have left (extra ``sql``)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater import extras

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import duckdb

# Tables of a run, by the name of their file; `flows.parquet` holds what senders thought over time.
TABLES = {
    "series": "flows",
    "links": "links",
    "throughput": "throughput",
    "internals": "internals",
    "transfers": "transfers",
    "events": "events",
    "packets": "packets",
    "frames": "frames",
    "slots": "slots",
}

# `path` is the run's folder below the folder of results: it joins every view to `runs`.
RUNS = """
create view runs as
select
  regexp_replace(substr(filename, {skip}), '/?summary\\.json$', '') as path,
  name as scenario,
  map_from_entries(list_transform(labels::varchar[][], lambda l: row(l[1], l[2]))) as labels,
  * exclude (filename, name, labels, flows, schema),
  [f.controller for f in flows if f.controller <> ''] as controllers
from read_json({files}, filename = true, union_by_name = true, sample_size = -1, maximum_depth = -1)
"""
FLOWS = """
create view flows as
select * exclude f, unnest(f) from (
  select
    regexp_replace(substr(filename, {skip}), '/?summary\\.json$', '') as path,
    unnest(range(len(flows))) as flow,
    unnest(flows) as f
  from read_json({files}, filename = true, union_by_name = true, sample_size = -1, maximum_depth = -1)
)
"""
COMPARISONS = """
create view comparisons as
select regexp_replace(substr(filename, {skip}), '/?[^/]*$', '') as path, * exclude filename
from read_csv({files}, filename = true, union_by_name = true, all_varchar = false, sample_size = -1)
"""
TABLE = """
create view {view} as
select regexp_replace(substr(filename, {skip}), '/?[^/]*$', '') as path, * exclude filename
from read_parquet({files}, filename = true, union_by_name = true)
"""


def whole(file: Path) -> bool:
    """Whether a file can be read: not one that a run is still writing."""
    try:
        if file.suffix == ".csv":
            return file.read_bytes().endswith(b"\n")
        if file.suffix == ".json":
            return isinstance(json.loads(file.read_bytes()), dict)
        with file.open("rb") as f:
            head = f.read(4)
            f.seek(-4, 2)
            return head == f.read(4) == b"PAR1" and file.stat().st_size > 12
    except (OSError, ValueError):
        return False


def below(root: Path, name: str) -> list[Path]:
    """Files of this name below a folder, but in hidden folders: results that are being written stand in one."""
    found = sorted(root.rglob(name))
    return [file for file in found if not any(part.startswith(".") for part in file.relative_to(root).parts)]


def listed(files: Sequence[Path]) -> str:
    """Files as a list of SQL."""
    # DuckDB reads *, ? and [ in names as patterns: a folder called `x*` would bring those of `xy` along.
    texts = ("'" + re.sub(r"[*?\[]", r"[\g<0>]", file.as_posix()).replace("'", "''") + "'" for file in files)
    return "[" + ", ".join(texts) + "]"


def index(folder: str | PathLike[str] = "runs") -> duckdb.DuckDBPyConnection:
    """Open the results below ``folder`` as a database.

    The view ``runs`` has a row a run, ``flows`` a row a flow: their summaries. ``series``, ``links``, ``throughput``,
    ``internals``, ``transfers``, ``events``, ``packets``, ``frames`` and ``slots`` are the Parquet tables of all runs.
    ``arena`` has the tables of arenas. ``comparisons`` has the numbers of comparisons: intervals, best, differences
    seed by seed. Each has the column ``path``: the run's folder below ``folder``. A view exists where some run has
    left its table. Views read the files at each query; later runs are not among them.

    Raises :class:`FileNotFoundError` where there is no such folder, :class:`ImportError` without DuckDB.
    """
    extras.check("sql")
    import duckdb

    root = Path(folder).resolve()
    if not root.is_dir():
        msg = f"{root}: expected a folder of results"
        raise FileNotFoundError(msg)
    connection = duckdb.connect()
    # Characters up to the path below the folder; SQL counts from 1.
    skip = len(root.as_posix().rstrip("/")) + 2

    def view(text: str, name: str, among: Sequence[Path] | None = None) -> list[Path]:
        found = below(root, name) if among is None else among
        files = [file for file in found if whole(file)]
        if files:
            connection.execute(text.replace("{skip}", str(skip)).replace("{files}", listed(files)))
        return files

    summaries = view(RUNS, "summary.json")
    view(FLOWS, "summary.json", summaries)
    for name, file in TABLES.items():
        view(TABLE.replace("{view}", name), f"{file}.parquet")
    view(COMPARISONS, "compare.csv")
    arenas = [file.parent / "table.parquet" for file in below(root, "arena.json")]
    view(TABLE.replace("{view}", "arena"), "", arenas)
    return connection
