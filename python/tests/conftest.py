from typing import Any

import pytest


@pytest.fixture
def scenario() -> dict[str, Any]:
    """Two seconds of one flow over a constant link."""
    return {
        "name": "python-test",
        "duration": "2 s",
        "path": {"rtt": "40 ms"},
        "link": {"kind": "rate", "rate": "12 Mbit/s", "queue": {"kind": "fifo", "limit": "20 packets"}},
        "flow": [{"controller": "cubic"}],
        "record": {"packets": True},
    }
