"""Scores of policies and controllers in the same episodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from slackwater._slackwater import scores_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Doubles = npt.NDArray[np.float64]

# What an episode gives is the difference to the other's score in it, and no more than this: where one of them starves,
# the difference says little about the others. Our choice.
MOST = 0.5


def scores(
    domain: Mapping[str, Any], actors: Sequence[bytes | str], seeds: Sequence[int], jobs: int | None
) -> list[list[dict[str, float]]]:
    """Rows of each actor: its score and what it is made of, by episode."""
    rows: list[list[dict[str, float]]] = json.loads(scores_json(json.dumps(domain), list(actors), list(seeds), jobs))
    return rows


def gains(
    domains: Sequence[Mapping[str, Any]],
    actors: Sequence[bytes | str],
    over: str,
    *,
    first: int,
    episodes: int,
    objective: str = "score",
    most: float = MOST,
    jobs: int = 1,
) -> tuple[Doubles, float]:
    """What each actor adds to the objective of ``over`` in the same episodes, ``[actor, domain]``; and that objective.

    The episodes are those of the seeds from ``first`` on, 1,000 further for each domain.
    """
    out = np.zeros((len(actors), len(domains)))
    plain = 0.0
    each = max(1, episodes // len(domains))
    for k, domain in enumerate(domains):
        seeds = list(range(first + 1000 * k, first + 1000 * k + each))
        table = scores(domain, [*actors, over], seeds, jobs)
        values = np.array([[row[objective] for row in rows] for rows in table])
        out[:, k] = np.clip(values[:-1] - values[-1], -most, most).mean(axis=1)
        plain += float(values[-1].mean()) / len(domains)
    return out, plain
