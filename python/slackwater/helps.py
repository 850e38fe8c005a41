"""The help of `train`, `sweep` and `sql`, which the command prints without Python too.

``python -m slackwater.helps DIR`` writes it.

The command embeds what this writes into ``crates/cli/assets/help``; a test holds the files to the parsers.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def _below(parser: argparse.ArgumentParser, name: str) -> dict[str, str]:
    found = {name: parser.format_help()}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, part in action.choices.items():
                found |= _below(part, f"{name}-{word}")
    return found


def texts() -> dict[str, str]:
    """The help of each command by its words, such as ``train-tyrus``."""
    from slackwater import grid, sql
    from slackwater.train import __main__ as train

    width = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        found: dict[str, str] = {}
        for name, module in (("train", train), ("sweep", grid), ("sql", sql)):
            found |= _below(module._parser(), name)
    finally:
        if width is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = width
    return found


if __name__ == "__main__":
    for name, text in texts().items():
        (Path(sys.argv[1]) / f"{name}.txt").write_text(text)
