"""What a step of an environment costs: CPU microseconds on one core, the policy's inference among them."""

from __future__ import annotations

import json
import time
from typing import Any

from slackwater._slackwater import Batch
from slackwater.train import ppo

# Name, domain, goal in microseconds. The first is the unit of the goals: a 20 Mbit/s trace link with one flow.
CASES: list[tuple[str, dict[str, Any], float | None]] = [
    ("trace link, 20 Mbit/s", {"mbps": [20, 20], "families": ["still"]}, 10.0),
    ("training links, 2 to 40 Mbit/s", {}, None),
    ("LTE cell, 10 MHz", {"places": ["lte"], "tbs": "allocated+idle"}, 100.0),
    ("NR cell, 20 MHz TDD", {"places": ["nr"], "tbs": "allocated+idle"}, 100.0),
]
ENVS, STEPS, ROUNDS = 8, 200, 7


def measure() -> list[dict[str, Any]]:
    """Least CPU time of a step over some rounds: a busy machine only adds to it."""
    policy = ppo.Trainer(ppo.Options()).policy().to_bytes()
    rows = []
    for name, domain, goal in CASES:
        batch = Batch(json.dumps(domain), json.dumps({"kind": "relative"}), ENVS, 1, 1)
        batch.rollout(policy, 50, 0)
        least = float("inf")
        for k in range(ROUNDS):
            start = time.process_time()
            batch.rollout(policy, STEPS, k)
            least = min(least, (time.process_time() - start) / (ENVS * STEPS))
        rows.append({"case": name, "us_per_step": least * 1e6, "goal_us": goal})
    return rows
