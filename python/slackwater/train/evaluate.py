"""A policy on recorded traces, beside controllers that learned nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from slackwater.train import policy as files
from slackwater.train.score import scores

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BESIDE = ("rule", "rule2", "rule2-acks", "cubic", "bbr", "vegas", "oracle")
# Sixty seconds from each of three offsets (a study's evaluation), one-way delay 20 ms, 2,000 packets of room.
OFFSETS = 3
DOMAIN: dict[str, Any] = {"rtt_ms": [40, 40], "buffer": [2000, 2000], "window": [10, 10], "decisions": 3000}


class InSampleError(ValueError):
    """A trace was trained on."""


def check(policy: files.PolicyFile, traces: Sequence[Path], in_sample: bool) -> None:
    """Refuse traces that ``policy`` was trained on."""
    import json

    trained = set(json.loads(policy.metadata.get("traces", "[]")))
    for trace in traces:
        if not in_sample and files.sha256(trace) in trained:
            msg = f"{trace}: found a trace that the policy was trained on, expected others (--in-sample evaluates it)"
            raise InSampleError(msg)


def evaluate(
    path: Path, traces: Sequence[Path], *, in_sample: bool = False, jobs: int | None = None
) -> list[dict[str, Any]]:
    """Rows of policy and controllers on each trace: means over offsets."""
    policy = files.load(path)
    check(policy, traces, in_sample)
    rows = []
    tbs = policy.metadata.get("tbs", "capacity")
    for trace in traces:
        domain = DOMAIN | {"traces": [str(trace)], "tbs": tbs}
        actors: list[bytes | str] = [path.read_bytes(), *BESIDE]
        table = scores(domain, actors, list(range(1, OFFSETS + 1)), jobs)
        for name, found in zip([path.stem, *BESIDE], table, strict=True):
            mean = {k: sum(r[k] for r in found) / len(found) for k in found[0]}
            rows.append({"trace": trace.name, "controller": name, **mean})
    return rows


def gain(rows: Sequence[dict[str, Any]], name: str, over: str) -> tuple[float, float]:
    """Mean difference of the scores over traces, and its standard error."""
    by = {(row["trace"], row["controller"]): row["score"] for row in rows}
    off = [by[trace, name] - by[trace, over] for trace, controller in by if controller == name]
    mean = sum(off) / len(off)
    if len(off) < 2:
        return mean, math.nan
    return mean, math.sqrt(sum((x - mean) ** 2 for x in off) / (len(off) - 1) / len(off))
