"""What policies are trained on where ``--domain`` names nothing: the cases in which rule v2 leaves room."""

from __future__ import annotations

from typing import Any

# Beside plain links: paths that are short and long, short buffers, company that flies the same policy, ACKs that wait
# for each other, data that come in pieces (start-up and idle time count there), a bottleneck that no transport block
# shows, and cells. The first is the one that a policy's metadata takes interval and TBS mode from.
DOMAINS: list[dict[str, Any]] = [
    {},
    {"rtt_ms": [10, 160], "transports": ["tcp", "quic"]},
    {"buffer": [10, 100]},
    {"competitors": 3, "against": ["self"], "buffer": [100, 4000]},
    {"ack_batch_ms": [5, 40], "transports": ["tcp", "quic"]},
    {"idle": 1.0, "warmup_ms": 0, "transports": ["tcp", "quic"]},
    {"places": ["behind", "wired"]},
    {"places": ["lte"], "tbs": "allocated+idle", "competitors": 2, "against": ["self"]},
]

# What a forecast of `ebb` is trained on: links and cells, short and long paths, and other users of the same cell. Other
# flows in one queue are left out, since what is offered to one follows from what another sends.
FORECAST: list[dict[str, Any]] = [
    {},
    {"rtt_ms": [10, 160]},
    {"places": ["lte"], "tbs": "allocated+idle"},
    {"places": ["nr"], "tbs": "allocated+idle"},
    {"places": ["lte", "nr"], "tbs": "allocated+idle", "rtt_ms": [10, 160]},
    {"places": ["lte", "nr"], "tbs": "allocated+idle", "competitors": 3, "against": ["self", "cubic"]},
]
