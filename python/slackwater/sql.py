"""Ask the results of runs: ``slackwater sql "select ..."``, or ``python -m slackwater.sql``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from slackwater.results import index

if TYPE_CHECKING:
    from collections.abc import Sequence


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="slackwater sql",
        description=__doc__,
        epilog="Examples:\n"
        "  slackwater sql 'select path, goodput_mbps from runs'\n"
        "  slackwater sql --csv 'select * from flows' > flows.csv",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("query", help="such as: select path, goodput_mbps, queue_delay_ms.p95 from runs")
    parser.add_argument("--runs", default="runs", metavar="DIR", help="folder of results (default: runs)")
    parser.add_argument("--csv", action="store_true", help="print CSV")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the answer to one query."""
    options = _parser().parse_args(arguments)
    try:
        answer = index(options.runs).sql(options.query)
    except Exception as error:
        print(f"slackwater sql: {error}", file=sys.stderr)
        return 2
    if answer is None:
        return 0
    if options.csv:
        print(",".join(answer.columns))
        for row in answer.fetchall():
            print(",".join("" if value is None else str(value) for value in row))
    else:
        answer.show(max_width=200, max_rows=1000)
    return 0


if __name__ == "__main__":
    sys.exit(main())
