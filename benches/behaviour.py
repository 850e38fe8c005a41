"""What a binary computes, to the last bit: stored once, compared after each step of a rebuild.

Runs every embedded scenario (all combinations of its lists), the quick arena and `repro --quick` of each paper, and
keeps what `--json` prints. A change that should not change results leaves `compare` without a difference:

    python3 benches/behaviour.py store target/release/slackwater before.json.gz
    python3 benches/behaviour.py compare target/release/slackwater before.json.gz

Status 1 where something differs.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAPERS = ["xrc", "cecc", "vaqm", "al4s", "tyrus"]
# Not results: what names a version or a file's text, and what a clock measured.
IGNORED = {"version", "scenario_hash", "elapsed_s", "cpu_s", "wall_s"}
# Differences that are printed for each run; all are counted.
SHOWN = 5


def cases(binary: str, only: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Names and arguments of the runs."""
    listed = json.loads(call(binary, ["list", "--json"]))
    every = [
        (f"scenario {s['name']}", ["compare", s["name"], "--seeds", "2", "--no-files"]) for s in listed["scenarios"]
    ]
    every += [(f"repro {p}", ["repro", p, "--quick", "--no-files"]) for p in PAPERS]
    every += [("arena", ["arena", "--quick"])]
    for name, arguments in every:
        if not only or any(word in name for word in only):
            yield name, arguments


def call(binary: str, arguments: list[str]) -> str:
    """Standard output. `repro` ends with 1 where a claim does not hold: that is a result."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([binary, *arguments], capture_output=True, text=True, cwd=folder)
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"{binary} {' '.join(arguments)}: status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def run(binary: str, only: list[str]) -> dict[str, Any]:
    """What each run printed."""
    results = {}
    binary = str(Path(binary).resolve())
    for name, arguments in cases(binary, only):
        print(name, file=sys.stderr, flush=True)
        results[name] = json.loads(call(binary, [*arguments, "--json"]))
    return results


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Paths and values of everything that is compared."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in IGNORED:
                yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]")
    else:
        yield path, value


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print what differs; the number of runs that do."""
    differing = 0
    for name, new in after.items():
        old, new = dict(leaves(before.get(name))), dict(leaves(new))
        keys = [k for k in {**old, **new} if old.get(k) != new.get(k) or (k in old) != (k in new)]
        print(f"{name}: {len(new)} values, {len(keys)} differ")
        for key in keys[:SHOWN]:
            print(f"  {key}: {old.get(key)!r} -> {new.get(key)!r}")
        differing += bool(keys)
    return differing


def main() -> None:
    """Store or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["store", "compare"])
    parser.add_argument("binary")
    parser.add_argument("file", help="results, JSON compressed by gzip")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="runs whose name has one of these words")
    options = parser.parse_args()
    results = run(options.binary, options.only)
    if options.what == "store":
        with gzip.open(options.file, "wt") as file:
            json.dump(results, file)
        return
    with gzip.open(options.file, "rt") as file:
        before = json.load(file)
    sys.exit(1 if compare(before, results) else 0)


if __name__ == "__main__":
    main()
