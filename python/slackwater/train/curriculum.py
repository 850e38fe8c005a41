"""Which domains get how many environments: those in which the policy is furthest behind the rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slackwater.train.score import scores

if TYPE_CHECKING:
    from slackwater.train.ppo import Trainer

BASELINE = "rule"
# Each domain keeps this part of an even share, so that nothing is unlearned.
KEPT = 0.5
# Gaps in score are divided by this before their softmax: 0.1 is 10 % of throughput.
SCALE = 0.1


def gaps(policy: bytes, domains: list[dict[str, object]], seeds: list[int], jobs: int) -> list[float]:
    """How far the policy's score is behind the rule's in each domain, in the same episodes (Genet: SIGCOMM 2022)."""
    out = []
    for domain in domains:
        table = scores(domain, [policy, BASELINE], seeds, jobs)
        mine, rule = (np.mean([row["score"] for row in rows]) for rows in table)
        out.append(float(rule - mine))
    return out


def allot(trainer: Trainer, share: list[float]) -> list[float]:
    """Shares of the environments until the next checkpoint."""
    o = trainer.options
    n = len(o.domains)
    if n == 1 or o.gap_episodes == 0 or trainer.update == 0:
        return share
    boundary = trainer.update // o.every
    first = (1 << 41) + (o.seed << 20) + boundary * o.gap_episodes
    behind = gaps(trainer.policy().to_bytes(), o.domains, list(range(first, first + o.gap_episodes)), o.jobs)
    pull = np.exp((np.array(behind) - max(behind)) / SCALE)
    return [float(s) for s in KEPT / n + (1 - KEPT) * pull / pull.sum()]
