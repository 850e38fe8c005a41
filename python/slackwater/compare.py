"""Controllers beside one another: the same seeds for each, and differences seed by seed."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slackwater._slackwater import Run, paired, run
from slackwater.policy import Policy
from slackwater.show import table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from slackwater.controller import Controller

__all__ = ["Comparison", "Difference", "compare"]


@dataclass(frozen=True)
class Difference:
    """A metric of one group less that of the first, seed by seed."""

    group: str
    """The group."""
    against: str
    """The first group."""
    mean: float
    """Mean difference, in the metric's unit."""
    low: float | None
    """Lower end of its 95 % interval; None with a single seed."""
    high: float | None
    """Upper end."""
    p: float
    """The p-value of no difference (Student's t for pairs)."""


class Comparison:
    """Runs by group, each with the same seeds in the same order."""

    def __init__(self, runs: dict[str, list[Run]]) -> None:
        """Hold the runs of each group."""
        self.runs = runs

    def values(self, metric: str = "goodput_mbps") -> dict[str, list[float]]:
        """A number of the summary by group, seed by seed; ``queue_delay_ms.p95`` names one below another."""
        return {group: [_number(one, metric) for one in runs] for group, runs in self.runs.items()}

    def means(self, metric: str = "goodput_mbps") -> dict[str, float]:
        """Its mean over the seeds of each group."""
        return {group: sum(values) / len(values) for group, values in self.values(metric).items()}

    def differences(self, metric: str = "goodput_mbps") -> list[Difference]:
        """Each group less the first, by pairs of equal seeds: what seeds have in common hides no difference."""
        (first, base), *others = self.values(metric).items()
        found = []
        for group, values in others:
            result = paired(values, base)
            if result is not None:
                found.append(Difference(group, first, *result))
        return found

    def __repr__(self) -> str:
        """Groups and seeds."""
        seeds = len(next(iter(self.runs.values()), []))
        return f"<slackwater.Comparison: {', '.join(self.runs)}, {seeds} seeds>"

    def _repr_html_(self) -> str:
        metrics = ("goodput_mbps", "queue_delay_ms.p50", "queue_delay_ms.p95")
        columns = [self.means(metric) for metric in metrics]
        rows = [[group, *(f"{column[group]:.3f}" for column in columns)] for group in self.runs]
        return table(["run", *metrics], rows)


def _number(one: Run, metric: str) -> float:
    value: Any = one.summary
    for part in metric.split("."):
        if not isinstance(value, dict) or part not in value:
            known = ", ".join(value) if isinstance(value, dict) else "a number"
            msg = f"metric: found {metric!r}, expected one of {known}"
            raise ValueError(msg)
        value = value[part]
    if isinstance(value, bool) or not isinstance(value, int | float):
        msg = f"metric: found {metric!r}, which is no number in this summary"
        raise ValueError(msg)
    return float(value)


def _name(controller: str | type[Controller] | Policy) -> str:
    if isinstance(controller, str):
        return controller
    return controller.name if isinstance(controller, Policy) else controller.__name__.lower()


def compare(
    scenario: str | PathLike[str] | Mapping[str, object],
    controllers: Sequence[str | type[Controller] | Policy] = (),
    *,
    seeds: int | Sequence[int] = 1,
    vary: Mapping[str, Sequence[object]] | None = None,
    changes: Mapping[str, object] | None = None,
    jobs: int | None = None,
) -> Comparison:
    """Run a scenario with each controller, each combination of ``vary`` and each seed, on all cores.

    ``controllers`` are names, classes of one's own, whose name in small letters stands for them, or policies.
    ``seeds`` is a number, counted up from 1, or the seeds. ``vary`` maps keys to lists of values. Groups are named by
    what differs.

    Raises :class:`slackwater.ScenarioError` for a scenario that is wrong, :class:`ValueError` where nothing is to run.
    """
    chosen = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not chosen:
        msg = f"seeds: found {seeds!r}, expected at least one"
        raise ValueError(msg)
    names = [_name(c) for c in controllers]
    own = {name: c for name, c in zip(names, controllers, strict=True) if not isinstance(c, str)}
    axes: dict[str, list[object]] = {key: list(values) for key, values in (vary or {}).items()}
    if names:
        axes = {"flow.controller": [*names], **axes}
    for key, values in axes.items():
        if not values:
            msg = f"vary: {key}: found no value, expected at least one"
            raise ValueError(msg)
    points = [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]
    tasks = [(point, seed) for point in points for seed in chosen]

    def work(task: tuple[dict[str, object], int]) -> Run:
        point, seed = task
        return run(scenario, seed=seed, changes={**(changes or {}), **point}, controllers=own or None)

    # A run releases the interpreter's lock; controllers in Python take turns.
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        results = list(pool.map(work, tasks))
    groups: dict[str, list[Run]] = {}
    for (point, _), result in zip(tasks, results, strict=True):
        groups.setdefault(", ".join(str(v) for v in point.values()) or "all", []).append(result)
    return Comparison(groups)
