"""Model cards: what a policy is, how it was made, what it does and where it fails."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slackwater.train.evaluate import BESIDE, gain

if TYPE_CHECKING:
    from collections.abc import Sequence

ABOUT = {
    "poster": "the poster's scheme (five inputs, 3 x 16 ReLU, a relative change of the window), trained by PPO",
    "residual-linear": "a correction of rule v2 (14 weights on logarithms of what the sender sees), found by CMA-ES",
    "residual-tanh": "a correction of rule v2 (14-8-1 tanh network), found by CMA-ES",
}


def data(domains: list[dict[str, Any]], hashes: list[str]) -> str:
    """What it was trained on, as a hash: the generator's parameters, or the files'."""
    text = json.dumps([domains, sorted(hashes)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def failures(rows: Sequence[dict[str, Any]], name: str) -> list[str]:
    """Traces on which the policy is behind rule v2, or uses less than half of the link."""
    by = {(row["trace"], row["controller"]): row for row in rows}
    out = []
    for trace in dict.fromkeys(row["trace"] for row in rows):
        mine, rule = by[trace, name], by[trace, "rule2"]
        if mine["score"] < rule["score"] - 0.01:
            out.append(f"{trace}: score {_number(mine['score'])}, rule2 {_number(rule['score'])}")
        if mine["used"] < 0.5:
            out.append(f"{trace}: uses {mine['used']:.0%} of the capacity")
    return out


def card(
    path: Path,
    scheme: str,
    command: str,
    task: dict[str, Any],
    results: Sequence[dict[str, Any]],
    rows: Sequence[dict[str, Any]],
    cases: dict[str, list[dict[str, Any]]] | None = None,
) -> str:
    """The card, in Markdown; ``rows`` and ``cases`` as `evaluate` and `beyond` gave them."""
    options = task["options"]
    domains = options["domains"]
    weights = hashlib.sha256(path.read_bytes()).hexdigest()
    ours = rows and min({row["controller"] for row in rows} - set(BESIDE))
    lines = [
        f"# {path.stem}",
        "",
        f"{ABOUT[scheme][0].upper()}{ABOUT[scheme][1:]}. `{path.name}`, SHA-256 `{weights}`.",
        "",
        "| | |",
        "|---|---|",
        f"| made by | `{command}` |",
        f"| code revision | `{task['revision']}` |",
        f"| seeds | {', '.join(str(r['seed']) for r in results)}; the best on held-out synthetic episodes ships |",
        f"| training data | {_training(task)} |",
        f"| domains | `{json.dumps(domains)}` over the defaults |",
        f"| objective | {_objective(scheme, options)} |",
        f"| interval | {domains[0].get('interval_ms', 20)} ms |",
        f"| TBS mode | {domains[0].get('tbs', 'capacity')} |",
        "",
        "## Seeds",
        "",
        "Score: mean of ln(utilisation) - 0.3 ln(p95 of the one-way delay in ms) over held-out synthetic episodes.",
        "",
        "| seed | score | over rule2 |",
        "|---|---|---|",
    ]
    for r in sorted(results, key=lambda r: r["seed"]):
        over = "" if r["over rule2"] is None else f"{r['over rule2']:+.4f}"
        lines.append(f"| {r['seed']} | {_number(r['score'])} | {over} |")
    last = max(results, key=lambda r: float(r["score"]))["curve"][-1]
    parts = [(k.rsplit(" ", 1)[1], v) for k, v in last.items() if k.startswith("over rule2, domain")]
    if parts:
        lines += ["", "The best one's gain over rule2 by domain (numbered from 0 as above):", ""]
        lines += [f"- {k}: {v:+.4f}" for k, v in parts]
    lines += ["", "## Recorded traces", ""]
    if not rows:
        lines.append("Not evaluated: `SLACKWATER_TRACES` named no folder of traces.")
    else:
        lines += [
            "None of these was trained on, nor shaped the generator of links. 60 s from each of three offsets,",
            "RTT 40 ms, 2,000 packets of room;",
            "utilisation / p95 of the one-way delay in ms.",
            "",
            f"| trace | {ours} | {' | '.join(BESIDE)} |",
            "|---" * (len(BESIDE) + 2) + "|",
        ]
        by = {(row["trace"], row["controller"]): row for row in rows}
        for trace in dict.fromkeys(row["trace"] for row in rows):
            found = [by[trace, name] for name in (ours, *BESIDE)]
            cells = " | ".join(f"{r['used']:.2f} / {r['p95_ms']:.0f}" for r in found)
            lines.append(f"| {trace} | {cells} |")
        lines += ["", "Difference in score (mean over traces, 95 % interval):", ""]
        for other in BESIDE:
            mean, low, high = gain(rows, str(ours), other)
            lines.append(f"- over {other}: {mean:+.4f} [{low:+.4f}, {high:+.4f}]")
    for case, found in (cases or {}).items():
        mean, low, high = gain(found, str(ours), "rule2")
        lines.append(f"- over rule2 with {case}: {mean:+.4f} [{low:+.4f}, {high:+.4f}]")
    lines += ["", "## Known failures", ""]
    found_failures = failures(rows, str(ours)) if rows else []
    none = "- None on these traces by more than 0.01 in score." if rows else "- Unknown on recorded traces: see above."
    lines += [f"- {f}" for f in found_failures] or [none]
    lines += [
        *(
            []
            if any(d.get("competitors") for d in domains)
            else ["- Trained with one flow on one queue: how it shares a link was not part of the objective."]
        ),
        f"- Evaluated with TBS of mode `{domains[0].get('tbs', 'capacity')}`: the numbers above hold for this mode.",
        "",
    ]
    return "\n".join(lines)


def _training(task: dict[str, Any]) -> str:
    if task["hashes"]:
        names = sorted(Path(t).name for domain in task["options"]["domains"] for t in domain.get("traces", []))
        return f"files {', '.join(names)}, with these SHA-256: {', '.join(task['hashes'])}"
    digest = data(task["options"]["domains"], [])
    return f"synthetic links, no recorded trace; SHA-256 of their parameters `{digest}`"


def _objective(scheme: str, options: dict[str, Any]) -> str:
    if scheme == "poster":
        reward = options["domains"][0].get("reward", "normalised")
        return f"reward `{reward}`, {options.get('steps', 1_500_000):,} steps"
    return (
        "gain over rule2 in ln(utilisation) - 0.3 ln(p95), at most 0.5 an episode, over "
        f"{options.get('episodes', 16)} episodes a generation"
    )


def verdict(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Whether a forecast and margins pay: ahead of `ebb` itself on recordings."""
    if not rows:
        return ["Recordings: not evaluated, `SLACKWATER_TRACES` names no folder of them"]
    traces = len({row["trace"] for row in rows})
    out = []
    for name in (n for n in dict.fromkeys(row["controller"] for row in rows) if n != "ebb"):
        mean, low, high = gain(rows, name, "ebb")
        if traces < 2:
            out.append(f"{name}: S over ebb {mean:+.4f} on one recording, which decides nothing")
            continue
        ahead = "ahead" if low > 0 else "behind" if high < 0 else "neither ahead nor behind"
        out.append(f"{name}: S over ebb {mean:+.4f} [{low:+.4f}, {high:+.4f}] on {traces} recordings ({ahead})")
    return out


def forecast(
    path: Path, command: str, task: dict[str, Any], results: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]
) -> str:
    """The card of a forecast of `ebb`, in Markdown; ``rows`` as `evaluate.forecast` gave them."""
    options = task["options"]
    weights = hashlib.sha256(path.read_bytes()).hexdigest()
    lines = [
        f"# {path.stem}",
        "",
        "A forecast for `ebb` (14-24-3 network of quartiles) and margins by CMA-ES.",
        f"`{path.name}`, SHA-256 `{weights}`.",
        "",
        "| | |",
        "|---|---|",
        f"| made by | `{command}` |",
        f"| code revision | `{task['revision']}` |",
        f"| seeds | {', '.join(str(r['seed']) for r in results)}; the best on held-out synthetic episodes ships |",
        f"| training data | {_training(task)} |",
        f"| domains | `{json.dumps(options['domains'])}` over the defaults |",
        "",
        "## Seeds",
        "",
        "Error of the forecast on held-out episodes, in parts of the mean rate, and of the mixture of `ebb`. Gain of",
        "S = ln(utilisation) - 0.3 ln(p95 of the one-way delay in ms) over `ebb` there: by the forecast, by margins",
        "alone, by both.",
        "",
        "The margins are z, q in ms and the time in ms within which a surplus is made up.",
        "",
        "| seed | error | of the mixture | forecast | margins alone | both | margins of both | margins alone |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in sorted(results, key=lambda r: r["seed"]):
        found = {k: v for row in r["curve"] for k, v in row.items()}
        errors = [f"{found[k]:.4f}" if k in found else "" for k in ("error", "error of the mixture")]
        gains = [f"{found[k]:+.4f}" for k in ("over ebb, forecast", "over ebb, margins", "over ebb")]
        dials = [
            ", ".join(f"{found[f'{k}, {beside}']:.2f}" for k in ("z", "q", "within") if f"{k}, {beside}" in found)
            for beside in ("forecast", "mixture")
        ]
        lines.append(f"| {r['seed']} | {' | '.join([*errors, *gains, *dials])} |")
    last = max(results, key=lambda r: float(r["score"]))["curve"][-1]
    parts = [(k.rsplit(" ", 1)[1], v) for k, v in last.items() if k.startswith("over ebb, domain")]
    lines += ["", "The best one's gain by domain (numbered from 0 as above):", ""]
    lines += [f"- {k}: {v:+.4f}" for k, v in parts]
    lines += ["", "## Recorded traces", "", *(f"- {line}." for line in verdict(rows)), ""]
    if rows:
        lines += ["Utilisation / p95 of the one-way delay in ms, 60 s from each of three offsets:", ""]
        names = list(dict.fromkeys(row["controller"] for row in rows))
        lines += [f"| trace | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        by = {(row["trace"], row["controller"]): row for row in rows}
        for trace in dict.fromkeys(row["trace"] for row in rows):
            cells = " | ".join(f"{by[trace, n]['used']:.2f} / {by[trace, n]['p95_ms']:.0f}" for n in names)
            lines.append(f"| {trace} | {cells} |")
        lines.append("")
    return "\n".join(lines)
