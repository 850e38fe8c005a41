"""QUIC at 1 Gbit/s through the emulator: the rate, and what the emulator takes of a core, each beside its goal.

    sudo python3 benches/quic_emulator.py --binary target/dist/slackwater --runs 5

A server of `slackwater quic` sends zeros through a link of 1 Gbit/s that is emulated; a client receives them. Needs
root and no other tool. The goal is 1 Gbit/s of IP packets by an emulator that takes no more than a core. The ratio of
the rate is of what the link can carry as payload of QUIC. Server and client are programs of their own, whose processor
time does not count. The table has the median of the runs, and their range.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RATE = 1000  # Mbit/s of IP packets
CORE = 100.0  # percent of a core that the emulator may take
PACKET = 1452  # UDP payload that quinn's search for the MTU finds on a path of 1,500 bytes (its default upper bound)
IP_AND_UDP = 28
# Short header, stream frame and tag of AES-GCM, about (RFC 9000, 17.3 and 19.8; RFC 9001, 5.3).
QUIC = 40
VOID = 75  # exit status of an emulation whose events came too late


def run(args: argparse.Namespace, folder: Path) -> dict[str, float]:
    """One transfer."""
    program = shlex.quote(str(args.binary))
    live, got, served = folder / "live.json", folder / "got", folder / "served"
    server = f"exec {program} quic serve --cc {args.cc} --json > {served}"
    client = f"exec {program} quic get $SLACKWATER_SERVER --seconds {args.seconds} --json > {got}"
    words = [str(args.binary), "emulate", "--rate", str(RATE), "--delay", "5 ms", "--queue", "2 MB"]
    words += ["--exact"] if args.exact else []
    words += ["--no-files", "--quiet"]
    words += ["--as-root", "--json", str(live), "--server", server, "--", "sh", "-c", client]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, VOID):
        sys.exit(f"error: emulate ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    found, received = json.loads(live.read_text()), json.loads(got.read_text())
    return {
        "mbps": received["goodput_mbps"],
        "core": 100 * found["cpu_seconds"] / found["seconds"],
        "late_p99_ms": found["late_ms"]["p99"],
        "void": done.returncode == VOID,
    }


def main() -> None:
    """Runs all, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=lambda p: Path(p).resolve(), default=Path("target/dist/slackwater").resolve())
    parser.add_argument("--cc", default="cubic", help="the server's controller")
    parser.add_argument("--seconds", type=int, default=30, help="of a run; slow start takes the first half of one")
    parser.add_argument("--exact", action="store_true", help="no packet waits for the link's millisecond")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("error: found no root, expected it: the emulator's server side is this machine")

    runs = []
    for _ in range(args.runs):
        with tempfile.TemporaryDirectory(prefix="quic-") as folder:
            runs.append(run(args, Path(folder)))
    payload = RATE * (PACKET - QUIC) / (PACKET + IP_AND_UDP)
    print("| QUIC through a link of 1 Gbit/s | median (range) | goal | ratio |")
    print("|---|---|---|---|")
    for name, key, goal in (("received, Mbit/s of payload", "mbps", payload), ("emulator, % of a core", "core", CORE)):
        values = [r[key] for r in runs]
        middle = statistics.median(values)
        print(f"| {name} | {middle:.1f} ({min(values):.1f} to {max(values):.1f}) | {goal:.0f} | {middle / goal:.2f} |")
    late, void = max(r["late_p99_ms"] for r in runs), sum(r["void"] for r in runs)
    print(f"\n{args.runs} runs of {args.seconds} s under {args.cc}, {void} of them void.")
    print(f"Late by {late:.3f} ms at 99 % at most; load {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
