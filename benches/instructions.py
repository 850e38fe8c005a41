"""Instructions per simulated second and per data packet, counted by valgrind.

Time is noisy on shared machines; instruction counts of one binary are not. Each case runs twice under callgrind, a
short and a long run, and the difference leaves out start-up. Counts above the ceilings of `ceilings.json` end with
status 1.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The long run warms up for as long as the short run lasts (1.1 s), so counts and goodput cover the same time.
SHORT, LONG = 1, 11
# The warm-up of `slackwater bench` is a tenth of what it measures.
SIMULATED = (LONG - SHORT) * 1.1
PAYLOAD_BITS = 1448 * 8


def count(binary: str, case: str, mode: str, seconds: int) -> tuple[int, float]:
    """Instructions of one run, and the goodput in Mbit/s that it reports."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", binary]
        command += ["bench", "--case", case, "--seconds", str(seconds), "--runs", "1", mode, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise SystemExit("valgrind printed no count")
    return int(found.group(1)), json.loads(done.stdout)[0]["goodput_mbps"]


def accept(rows: list[dict]) -> None:
    """Write the counts and 10 % as the ceilings, one case a line."""
    lines = []
    for r in rows:
        met = r["million_per_s"] <= r["goal_million_per_s"]
        note = (
            "goal met; ceiling is the measured count and 10 %"
            if met
            else "goal missed; ceiling is the measured count and 10 %, so that it does not grow"
        )
        entry = {
            "case": r["case"],
            "mode": r["mode"],
            "ceiling_million_per_s": round(r["million_per_s"] * 1.1, 1),
            "goal_million_per_s": r["goal_million_per_s"],
            "note": note,
        }
        lines.append("  " + json.dumps(entry))
    (HERE / "ceilings.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


def main() -> int:
    """Count every case of `ceilings.json`; 1 where one lies above its ceiling."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=str(HERE.parent / "target/dist/slackwater"))
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--accept", action="store_true", help="make these counts and 10 %% the ceilings")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed", file=sys.stderr)
        return 0
    if not Path(args.binary).is_file():
        parser.error(
            f"--binary: found no file {args.binary}, expected the command "
            "(cargo build --profile dist -p slackwater-cli)"
        )
    rows = []
    for entry in json.loads((HERE / "ceilings.json").read_text()):
        case, mode = entry["case"], f"--{entry['mode']}"
        short, _ = count(args.binary, case, mode, SHORT)
        long, goodput = count(args.binary, case, mode, LONG)
        per_second = (long - short) / SIMULATED
        rows.append(
            {
                "case": case,
                "mode": entry["mode"],
                "million_per_s": per_second / 1e6,
                "per_packet": per_second / (goodput * 1e6 / PAYLOAD_BITS),
                "ceiling_million_per_s": entry["ceiling_million_per_s"],
                "goal_million_per_s": entry["goal_million_per_s"],
                "holds": per_second / 1e6 <= entry["ceiling_million_per_s"],
            }
        )
    if args.accept:
        accept(rows)
    if args.json:
        print(json.dumps(rows, indent=2))
    else:
        head = f"{'case':<10}{'records':<9}{'M instr/s':>10}{'ceiling':>9}{'goal':>7}{'per packet':>12}"
        print(head)
        for r in rows:
            records = "on" if r["mode"] == "full" else "off"
            verdict = "" if r["holds"] else "  ABOVE"
            print(
                f"{r['case']:<10}{records:<9}{r['million_per_s']:>10.1f}"
                f"{r['ceiling_million_per_s']:>9.1f}{r['goal_million_per_s']:>7.1f}"
                f"{r['per_packet']:>12.0f}{verdict}"
            )
    return 0 if all(r["holds"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
