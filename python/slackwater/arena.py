"""The arena: systems in the same cells under the same conditions, controllers of one's own among them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slackwater import cluster
from slackwater._slackwater import ArenaPlan
from slackwater.show import table as _table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from slackwater.controller import Controller
    from slackwater.policy import Policy

__all__ = ["Arena", "arena"]

# Rows as `slackwater arena` keeps them: each may go on with the other's.
LINES = "results.jsonl"


class Arena:
    """Who is how good where: a table a cell."""

    def __init__(self, table: dict[str, Any]) -> None:
        """Hold the table, of the shape of `arena.json`."""
        self.table = table

    @property
    def cells(self) -> list[str]:
        """Names of the cells."""
        return [cell["name"] for cell in self.table["cells"]]

    def means(self, measure: str = "goodput") -> dict[str, dict[str, float]]:
        """The mean of a measure over seeds, by cell and system; systems without it are left out."""
        known: set[str] = set()
        found: dict[str, dict[str, float]] = {}
        for cell in self.table["cells"]:
            systems = {}
            for system in cell["systems"]:
                known |= set(system["values"])
                if measure in system["values"]:
                    systems[system["name"]] = float(system["values"][measure]["mean"])
            found[cell["name"]] = systems
        if measure not in known:
            msg = f"measure: found {measure!r}, expected one of {', '.join(sorted(known))}"
            raise ValueError(msg)
        return found

    def front(self, cell: str) -> list[str]:
        """The systems that no other of the cell beats in both of its measures."""
        for one in self.table["cells"]:
            if one["name"] == cell:
                return [system["name"] for system in one["systems"] if system["on_front"]]
        msg = f"cell: found {cell!r}, expected one of {', '.join(self.cells)}"
        raise ValueError(msg)

    def overall(self) -> list[dict[str, Any]]:
        """What became of each system over all drawn cells, beside one of them: empty without such cells."""
        return list(self.table.get("overall", []))

    def __repr__(self) -> str:
        """Cells and seeds."""
        return f"<slackwater.Arena: {len(self.cells)} cells, {len(self.table['seeds'])} seeds>"

    def _repr_html_(self) -> str:
        rows = []
        for cell in self.table["cells"]:
            for system in cell["systems"]:
                values = system["values"]
                numbers = [f"{values[key]['mean']:.3f}" if key in values else "" for key in cell["front"]]
                rows.append([cell["name"], system["name"], *numbers, "front" if system["on_front"] else ""])
        return _table(["cell", "system", "rate", "delay", ""], rows)


def arena(
    cells: Sequence[str] = (),
    systems: Sequence[str] = (),
    *,
    also: Sequence[str] = (),
    controllers: Mapping[str, type[Controller] | Policy] | None = None,
    seeds: int = 5,
    seed: int = 1,
    quick: bool = False,
    drawn: Sequence[str] = (),
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
) -> Arena:
    """Run systems in the cells of the arena, each with the same seeds, on all cores.

    ``cells`` and ``systems`` name some of ``slackwater arena --list``; empty, all. ``also`` names further rows,
    ``SENDER`` or ``SENDER+EDGE``. ``controllers`` adds classes or policies under names; they take part without being
    named in ``also``. ``seeds`` is a number, counted up from ``seed``. ``quick`` is a preview: shorter runs.
    ``drawn`` adds scenarios drawn at random, as ``["bulk:1-60"]``; with it, of the published cells only those that
    ``cells`` names are run.
    With ``out`` each run is kept there as it ends and is not made again, as `slackwater arena --out` does. Runs of
    classes and policies of one's own are not kept for another call.

    Raises :class:`ValueError` for a name that is none.
    """
    own = dict(controllers or {})
    rest = [name for name in own if not any(word.split("+")[0] == name for word in (*also, *systems))]
    plan = ArenaPlan(
        cells=list(cells),
        systems=list(systems),
        also=[*also, *rest],
        seeds=seeds,
        first_seed=seed,
        quick=quick,
        drawn=list(drawn),
        controllers=own or None,
        # Code of one's own may change between two calls.
        program=f"python {time.time_ns()}" if own else "",
    )
    rows: dict[str, str] = {}
    keys = {(*_task(task), plan.key(task)): task for task in plan.tasks}
    file = None
    if out is not None:
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / LINES
        for line in file.read_text(errors="replace").splitlines() if file.exists() else []:
            known = _known(line)
            if known is not None and known in keys:
                rows.setdefault(keys[known], line)
    left = [task for task in plan.tasks if task not in rows]
    if not plan.tasks:
        msg = "nothing to run: no system of `systems` is in a cell of `cells`"
        raise ValueError(msg)
    todo = [{"line": task} for task in left]
    for i, row in cluster.run(lambda task: plan.work(task["line"]), todo, jobs=jobs, threads=True):
        rows[left[i]] = row
        if file is not None:
            # A line at once: what ended before an interruption is kept.
            with file.open("a") as kept:
                kept.write(row + "\n")
    return Arena(json.loads(plan.table([rows[task] for task in plan.tasks])))


def _task(line: str) -> tuple[str, str, int, bool]:
    """What names a task."""
    task = json.loads(line)
    return task["cell"], task["system"], task["seed"], task["quick"]


def _known(line: str) -> tuple[str, str, int, bool, str] | None:
    """The task of a row, with its key; None where a kill cut the line off."""
    try:
        return (*_task(line), json.loads(line)["key"])
    except (ValueError, KeyError, TypeError):
        return None
