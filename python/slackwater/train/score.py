"""Scores of policies and controllers in the same episodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slackwater._slackwater import scores_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def scores(
    domain: Mapping[str, Any], actors: Sequence[bytes | str], seeds: Sequence[int], jobs: int | None
) -> list[list[dict[str, float]]]:
    """Rows of each actor: its score and what it is made of, by episode."""
    rows: list[list[dict[str, float]]] = json.loads(scores_json(json.dumps(domain), list(actors), list(seeds), jobs))
    return rows
