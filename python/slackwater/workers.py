"""Runs of the arena on a Ray cluster: what `slackwater arena --ray ADDRESS` hands over.

The command writes a line a task and takes the rows in from the results' file, a line a run, as it writes them itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater import _slackwater, cluster

if TYPE_CHECKING:
    from collections.abc import Sequence


def work(task: cluster.Task) -> str:
    """Run one task: its row, as a line without its end."""
    return _slackwater.arena_task(json.dumps(task))


def run(tasks: Path, results: Path, *, jobs: int | None = None, ray: str | None = None) -> int:
    """Run every task of a file and append its row to the results; returns how many there were."""
    from tqdm import tqdm

    todo: list[cluster.Task] = [json.loads(line) for line in tasks.read_text().splitlines() if line]
    bar = tqdm(total=len(todo), unit="run", disable=None, file=sys.stderr)
    with results.open("a") as out:
        for _, row in cluster.run(work, todo, jobs=jobs, ray=ray):
            # A line at once: what ended before an interruption is kept.
            out.write(row + "\n")
            out.flush()
            bar.update()
    bar.close()
    return len(todo)


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m slackwater.workers`."""
    parser = argparse.ArgumentParser(prog="slackwater arena --ray", description="Run tasks of the arena.")
    parser.add_argument("--tasks", type=Path, required=True, help="a task a line, as JSON")
    parser.add_argument("--results", type=Path, required=True, help="where rows are appended")
    parser.add_argument("--jobs", type=int, help="processes, where there is no cluster (default: all cores)")
    parser.add_argument("--ray", metavar="ADDRESS", help="auto, local, HOST:PORT or ray://...")
    args = parser.parse_args(arguments)
    try:
        run(args.tasks, args.results, jobs=args.jobs, ray=args.ray)
    except KeyboardInterrupt:
        print("slackwater: interrupted; the same command goes on", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError, cluster.WorkerError) as error:
        print(f"slackwater: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
