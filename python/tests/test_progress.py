"""Lines of progress in a log."""

import io

from slackwater.progress import Lines


def test_lines_come_at_tenths_and_not_too_often() -> None:
    now = [0.0]
    out = io.StringIO()
    lines = Lines("sweep", 100, 20, out=out, clock=lambda: now[0])
    steps = [(1.0, 40), (4.0, 40), (5.0, 55), (5.5, 70), (70.0, 71), (80.0, 100)]
    for seconds, done in steps:
        now[0] = seconds
        lines.at(done)
    assert out.getvalue().splitlines() == [
        "progress: sweep, 40 of 100 runs, 4 s, about 12 s left",
        "progress: sweep, 71 of 100 runs, 70 s, about 40 s left",
    ]
    silent = io.StringIO()
    quiet = Lines("sweep", 10, 0, quiet=True, out=silent, clock=lambda: now[0])
    now[0] = 500.0
    quiet.at(5)
    assert silent.getvalue() == ""
