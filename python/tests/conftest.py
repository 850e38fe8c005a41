import os
from typing import Any

import pytest

# As a training sets it before numpy is loaded: with more threads products of matrices differ in their last bits, and a
# training that one process begins and another ends would show it.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")


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
