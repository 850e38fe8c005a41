"""Grids: every combination of their values, one task a run; and the command `slackwater sweep`.

A grid file names a scenario, seeds and the values of keys::

    scenario = "lte-demo"
    seeds = 5
    [set]
    duration = "20 s"
    [grid]
    "flow.controller" = ["cubic", "bbr", "rule2"]
    "cell.rlc.buffer" = ["64 kB", "256 kB"]
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import sys
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import slackwater
from slackwater import beacon, cluster, extras, lock, progress
from slackwater.errors import GridError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEYS = ("scenario", "seeds", "seed", "set", "grid")


def _wrong(name: str, key: str, found: object, expected: str) -> GridError:
    return GridError(f"{name}: {key}: found {found!r}, expected {expected}")


def read(file: Path) -> dict[str, Any]:
    """The grid of a file."""
    try:
        return tomllib.loads(file.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise _wrong(str(file), "file", str(error), "a grid in TOML") from error


def tasks(grid: Mapping[str, Any], name: str, folder: Path) -> list[cluster.Task]:
    """The runs that a grid describes, in its order; seeds vary fastest.

    ``name`` stands for the grid in messages, and paths in it start at ``folder``.
    """
    for key in grid:
        if key not in KEYS:
            raise _wrong(name, key, key, f"one of {', '.join(KEYS)}")
    scenario = grid.get("scenario")
    if not isinstance(scenario, str | dict):
        raise _wrong(name, "scenario", scenario, "a file, the name of an embedded scenario, or a table")
    if isinstance(scenario, str) and scenario not in slackwater.scenarios():
        scenario = str(folder / scenario)
    count, first = grid.get("seeds", 1), grid.get("seed", 1)
    if not isinstance(count, int) or count < 1:
        raise _wrong(name, "seeds", count, "a number of at least 1")
    axes: Mapping[str, Sequence[Any]] = grid.get("grid", {})
    for key, values in axes.items():
        if not isinstance(values, list | tuple) or not values:
            raise _wrong(name, f"grid.{key}", values, "a list of values")
    out: list[cluster.Task] = []
    for point in itertools.product(*axes.values()):
        changes = dict(zip(axes, point, strict=True))
        out.extend(
            {"scenario": scenario, "changes": {**grid.get("set", {}), **changes}, "shown": changes, "seed": seed}
            for seed in range(first, first + count)
        )
    return out


def work(task: cluster.Task) -> list[dict[str, Any]]:
    """Run one configuration: a row for each flow."""
    run = slackwater.run(task["scenario"], seed=task["seed"], changes=task["changes"])
    shown = {key: value if isinstance(value, str) else json.dumps(value) for key, value in task["shown"].items()}
    rows = []
    for flow in run.summary["flows"]:
        plain = {k: v for k, v in flow.items() if not isinstance(v, dict | list)}
        rows.append({"seed": task["seed"], **shown, **plain})
    return rows


def fill(
    todo: list[cluster.Task],
    out: Path,
    title: str,
    *,
    jobs: int | None = None,
    ray: str | None = None,
    quiet: bool = False,
    threads: bool = False,
) -> tuple[Path, int]:
    """Run all tasks that ``out`` does not hold yet; returns the table and the number of runs made.

    Raises :class:`slackwater.lock.BusyError` where another process writes into ``out``.
    """
    with lock.alone(out):
        return _fill(todo, out, title, jobs=jobs, ray=ray, quiet=quiet, threads=threads)


def _fill(
    todo: list[cluster.Task],
    out: Path,
    title: str,
    *,
    jobs: int | None,
    ray: str | None,
    quiet: bool,
    threads: bool,
) -> tuple[Path, int]:
    extras.check("sweep")
    from tqdm import tqdm

    from slackwater.rows import Rows

    identity = hashlib.sha256(json.dumps([todo, slackwater.__version__], sort_keys=True).encode()).hexdigest()
    rows = Rows(out, identity)
    left = [i for i in range(len(todo)) if i not in rows.done]
    tell = progress.Lines("sweep", len(todo), len(todo) - len(left), quiet=quiet)
    bar = tqdm(total=len(todo), initial=len(todo) - len(left), unit="run", disable=quiet or None, file=sys.stderr)
    with beacon.Beacon(out, "simulation", f"{title}, {len(todo)} runs") as told:
        try:
            mine = [todo[i] for i in left]
            for k, result in cluster.run(work, mine, jobs=jobs, ray=ray, threads=threads):
                rows.add(left[k], result)
                bar.update()
                tell.at(bar.n)
                told.tell(bar.n / max(len(todo), 1))
        finally:
            # What ended before an interruption is kept.
            rows.flush()
            bar.close()
    return rows.finish(), len(left)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="slackwater sweep",
        description="Run every combination of a grid file.",
        epilog="Examples:\n  slackwater sweep grid.toml\n  slackwater sweep grid.toml --jobs 4 --out runs/grid",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("grid", type=Path, help="the grid file")
    parser.add_argument("--out", type=Path, help="where results go (default: runs/sweep-<name>)")
    parser.add_argument("--jobs", type=int, help="processes (default: all cores)")
    parser.add_argument("--ray", metavar="ADDRESS", help="run on this Ray cluster: auto, local, HOST:PORT or ray://...")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """`slackwater sweep`."""
    args = _parser().parse_args(arguments)
    out = args.out or Path("runs") / f"sweep-{args.grid.stem}"
    start = time.monotonic()
    try:
        todo = tasks(read(args.grid), str(args.grid), args.grid.parent)
        title = f"sweep {args.grid.stem}"
        table, made = fill(todo, out, title, jobs=args.jobs, ray=args.ray, quiet=args.quiet)
    except KeyboardInterrupt:
        print("slackwater: interrupted; the same command goes on", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError, cluster.WorkerError) as error:
        print(f"slackwater: {error}", file=sys.stderr)
        return 2
    print(f"{made} runs in {time.monotonic() - start:.1f} s\n{table}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
