"""A policy on recorded traces, beside controllers that learned nothing."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slackwater._slackwater import calibration, paired
from slackwater.train import policy as files
from slackwater.train.score import scores

if TYPE_CHECKING:
    from collections.abc import Sequence

BESIDE = ("rule", "rule2", "rule2-acks", "cubic", "bbr", "vegas", "oracle")
# Sixty seconds from each of three offsets (a study's evaluation), one-way delay 20 ms, 2,000 packets of room.
OFFSETS = 3
# `ebb` with a forecast, and with the margins that suit it without one, in tables beside `ebb`.
TRAINED = "ebb, trained"
MARGINS = "ebb, trained margins alone"
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
    return _rows(_beside(path, BESIDE), traces, domain, jobs)


def beyond(path: Path, traces: Sequence[Path], *, jobs: int | None = None) -> dict[str, list[dict[str, Any]]]:
    """Rows of policy and rule v2 on each trace, case by case of `CASES`."""
    tbs = files.load(path).metadata.get("tbs", "capacity")
    return {
        case: _rows(_beside(path, ("rule2",)), traces, DOMAIN | {"tbs": tbs, "decisions": 1000} | changes, jobs)
        for case, changes in CASES.items()
    }


def _beside(path: Path, others: Sequence[str]) -> dict[str, bytes | str]:
    """A policy and controllers that learned nothing, by name."""
    actors: dict[str, bytes | str] = {path.stem: path.read_bytes()}
    return actors | {name: name for name in others}


def forecast(
    path: Path, traces: Sequence[Path], *, in_sample: bool = False, jobs: int | None = None
) -> list[dict[str, Any]]:
    """Rows of `ebb` with a forecast, with margins alone, and of `ebb` itself on each trace: means over offsets."""
    policy = files.load(path)
    check(policy, traces, in_sample)
    actors: dict[str, bytes | str] = {TRAINED: f"ebb:forecast={path.resolve()}"}
    z, q, within = (policy.metadata[f"alone_{key}"] for key in ("z", "q_ms", "within_ms"))
    actors[MARGINS] = f"ebb:z={z},q={q},within={within}"
    return _rows(actors | {"ebb": "ebb"}, traces, DOMAIN, jobs)


def unseen() -> list[Path]:
    """Recordings in the folder of ``SLACKWATER_TRACES`` that neither shaped the generator of links nor are uplinks."""
    folder = os.environ.get("SLACKWATER_TRACES")
    if not folder:
        return []
    found = sorted(f for f in Path(folder).glob("mahimahi/**/*") if f.is_file())
    down = [f for f in found if ".up" not in f.name and not f.name.startswith("uplink")]
    return [f for f in down if re.sub(r"\.(xz|gz|zst)$", "", f.name) not in CALIBRATION]


def _rows(
    actors: dict[str, bytes | str], traces: Sequence[Path], domain: dict[str, Any], jobs: int | None
) -> list[dict[str, Any]]:
    rows = []
    for trace in traces:
        table = scores(domain | {"traces": [str(trace)]}, list(actors.values()), list(range(1, OFFSETS + 1)), jobs)
        for name, found in zip(actors, table, strict=True):
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
