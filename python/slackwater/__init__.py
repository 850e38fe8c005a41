"""Cross-layer congestion control for 4G and 5G: run a cell, its senders and its queues from Python.

>>> import slackwater
>>> run = slackwater.run("lte-demo", seed=1)
>>> run.summary["flows"][0]["goodput_mbps"]
>>> run.flows.to_polars()
"""

from slackwater._slackwater import (
    Progress,
    Run,
    ScenarioError,
    Table,
    __version__,
    controllers,
    run,
    scenarios,
    schema,
)
from slackwater.controller import Controller
from slackwater.results import index

__all__ = [
    "Controller",
    "Progress",
    "Run",
    "ScenarioError",
    "Table",
    "__version__",
    "controllers",
    "index",
    "run",
    "scenarios",
    "schema",
]
