"""A policy on recorded traces, beside controllers that learned nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from slackwater._slackwater import calibration, paired
from slackwater.train import policy as files
from slackwater.train.score import scores

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BESIDE = ("rule", "rule2", "rule2-acks", "cubic", "bbr", "vegas", "oracle")
# Sixty seconds from each of three offsets (a study's evaluation), one-way delay 20 ms, 2,000 packets of room.
OFFSETS = 3
CALIBRATION = frozenset(calibration())
# The same with a short buffer, with up to three flows of the same controller beside it, with ACKs that wait for each
# other, and with data that come in pieces: what else was trained, on traces that were not. Twenty seconds each.
CASES: dict[str, dict[str, Any]] = {
    "a queue of 50 packets": {"buffer": [50, 50]},
    "up to three more of its own": {"competitors": 3, "against": ["self"]},
    "ACKs of 20 ms": {"ack_batch_ms": [20, 20]},
    "data in pieces": {"idle": 1.0, "warmup_ms": 0},
}
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
    tbs = policy.metadata.get("tbs", "capacity")
    domain = DOMAIN | {"tbs": tbs}
    return _rows(path, traces, domain, BESIDE, jobs)


def beyond(path: Path, traces: Sequence[Path], *, jobs: int | None = None) -> dict[str, list[dict[str, Any]]]:
    """Rows of policy and rule v2 on each trace, case by case of `CASES`."""
    tbs = files.load(path).metadata.get("tbs", "capacity")
    return {
        case: _rows(path, traces, DOMAIN | {"tbs": tbs, "decisions": 1000} | changes, ("rule2",), jobs)
        for case, changes in CASES.items()
    }


def _rows(
    path: Path, traces: Sequence[Path], domain: dict[str, Any], beside: Sequence[str], jobs: int | None
) -> list[dict[str, Any]]:
    rows = []
    actors: list[bytes | str] = [path.read_bytes(), *beside]
    for trace in traces:
        table = scores(domain | {"traces": [str(trace)]}, actors, list(range(1, OFFSETS + 1)), jobs)
        for name, found in zip([path.stem, *beside], table, strict=True):
            mean = {k: sum(r[k] for r in found) / len(found) for k in found[0]}
            rows.append({"trace": trace.name, "controller": name, **mean})
    return rows


def gain(rows: Sequence[dict[str, Any]], name: str, over: str) -> tuple[float, float, float]:
    """Mean difference of the scores, trace by trace, and the ends of its 95 % interval (NaN for one trace)."""
    by = {(row["trace"], row["controller"]): row["score"] for row in rows}
    traces = [trace for trace, controller in by if controller == name]
    found = paired([by[trace, name] for trace in traces], [by[trace, over] for trace in traces])
    if found is None:
        return math.nan, math.nan, math.nan
    mean, low, high, _ = found
    return mean, math.nan if low is None else low, math.nan if high is None else high
