"""Lint the English of all pages with Vale; a page with a baseline may have no more findings than that.

python docs/style/check.py            # prints what is new, exits with 1 if there is any
python docs/style/check.py --accept   # lowers the baseline to what is left; it never rises
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BASELINE = HERE / "baseline.json"
PAGES = ("*.md", "docs/**/*.md")
# A list of changes and a list of licences are not prose.
NOT_PROSE = {"CHANGELOG.md", "THIRD-PARTY.md"}

Finding = tuple[int, str]


def pages(root: Path) -> list[str]:
    """Paths of the pages below `root`, relative to it."""
    found = {p.relative_to(root).as_posix() for glob in PAGES for p in root.glob(glob)}
    return sorted(found - NOT_PROSE)


def findings(root: Path, vale: str) -> dict[str, list[Finding]]:
    """Line and message of each finding by page, from one run of `vale`."""
    names = pages(root)
    command = [vale, "--config", str(HERE / "vale.ini"), "--output", "JSON", *names]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    # Vale exits with 1 where it found something, with 2 where it could not run.
    if run.returncode not in (0, 1):
        sys.exit(f"vale: {run.stderr.strip() or run.stdout.strip()}")
    found = json.loads(run.stdout or "{}")
    return {page: [(a["Line"], a["Message"]) for a in found.get(page, [])] for page in names}


def judge(found: dict[str, list[Finding]], baseline: dict[str, int]) -> list[str]:
    """Pages with more findings than their baseline, as lines to print: all findings of such a page."""
    lines = []
    for page, alerts in sorted(found.items()):
        allowed = baseline.get(page, 0)
        if len(alerts) > allowed:
            lines.append(f"{page}: {len(alerts)} findings, {allowed} allowed")
            lines += [f"  {page}:{line}: {message}" for line, message in alerts]
    return lines


def lowered(found: dict[str, list[Finding]], baseline: dict[str, int]) -> dict[str, int]:
    """The baseline, no higher than what was found; pages that are clean leave it."""
    least = {page: min(allowed, len(found.get(page, []))) for page, allowed in baseline.items()}
    return {page: count for page, count in sorted(least.items()) if count}


def main() -> int:
    """Run, compare, print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--vale", default="vale", help="the program (default: vale)")
    options.add_argument("--accept", action="store_true", help="lower the baseline to what is left")
    args = options.parse_args()
    baseline: dict[str, int] = json.loads(BASELINE.read_text())
    found = findings(ROOT, args.vale)
    better = lowered(found, baseline)
    if args.accept:
        BASELINE.write_text(json.dumps(better, indent=1) + "\n")
    elif better != {page: count for page, count in baseline.items() if count}:
        print("English: pages have fewer findings than docs/style/baseline.json; --accept lowers it")
    lines = judge(found, baseline)
    print(
        "\n".join(lines)
        if lines
        else f"English: {len(found)} pages, {sum(better.values())} findings left on {len(better)}"
    )
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
