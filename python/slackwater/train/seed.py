"""One seed of a training: the task that a core or a worker of Ray's takes."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

# One thread each: on matrices this small more of them cost five times the CPU. It must be said before numpy is loaded.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from slackwater import lock  # noqa: E402 - after what numpy reads

if TYPE_CHECKING:
    from slackwater.cluster import Task
    from slackwater.train import forecast, ppo, search


SOURCES = {"poster": ("policy", "ppo", "network", "curriculum"), "forecast": ("policy", "forecast", "network", "score")}


def trainer(scheme: str, options: dict[str, Any]) -> ppo.Trainer | search.Trainer | forecast.Trainer:
    """A trainer for ``scheme``."""
    if scheme == "forecast":
        from slackwater.train import forecast

        return forecast.Trainer(forecast.Options(**options))
    if scheme == "poster":
        from slackwater.train import ppo

        return ppo.Trainer(ppo.Options(**options))
    from slackwater.train import search

    return search.Trainer(search.Options(kind=scheme, **options))


def sources(scheme: str) -> str:
    """Hash of the training's own code: another one does not go on with this one's state."""
    digest = hashlib.sha256()
    for name in SOURCES.get(scheme, ("policy", "search", "score")):
        digest.update((Path(__file__).parent / f"{name}.py").read_bytes())
    return digest.hexdigest()


def train(task: Task) -> dict[str, Any]:
    """Train one seed, going on where ``folder`` holds a part of the same training.

    Raises :class:`slackwater.lock.BusyError` where another process trains there.
    """
    folder = Path(task["folder"])
    with lock.alone(folder):
        return _go_on(task, folder)


def _go_on(task: Task, folder: Path) -> dict[str, Any]:
    work = trainer(task["scheme"], task["options"])
    # Imported here: the threads of numpy's libraries are set above.
    from slackwater.train import state as states

    state, curve = folder / "state.json", folder / "curve.jsonl"
    identity = [task["scheme"], {k: v for k, v in task["options"].items() if k != "jobs"}, sources(task["scheme"])]
    if state.exists():
        kept = states.load(state)
        if kept["identity"] == states.plain(identity):
            work.restore(kept["state"])
    curve.write_text("".join(json.dumps(row) + "\n" for row in work.curve))
    with curve.open("a") as lines:
        for row in work.run():
            lines.write(json.dumps(row) + "\n")
            lines.flush()
            if work.at_checkpoint:
                states.save(state, {"identity": identity, "state": work.state()})
    files = sorted({Path(t).name for domain in task["options"].get("domains", []) for t in domain.get("traces", [])})
    path = work.finish(
        folder, seed=work.options.seed, revision=task["revision"], traces=task["hashes"], trace_files=files
    )
    score = work.best[0] if work.best else float("nan")
    beside = "over ebb" if task["scheme"] == "forecast" else "over rule2"
    over = [row[beside] for row in work.curve if beside in row]
    return {
        "seed": work.options.seed,
        "policy": path.read_bytes(),
        "curve": work.curve,
        "score": score,
        beside: over[-1] if over else None,
    }
