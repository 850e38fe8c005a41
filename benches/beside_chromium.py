"""Chromium's own controllers beside ours in one cell: rate, p95 of the queue's delay, and marks of both.

    sudo python3 benches/beside_chromium.py --binary target/release/slackwater --ours cl4s,scream,gcc --seeds 3

A cell of LTE has two UEs. To one goes video from `slackwater rtc send`, to the other video from Chromium, which encodes
a canvas. Both UEs run `slackwater rtc receive`, whose reports (RFC 8888) drive both senders. The cell's buffers mark by
a ramp. Rates are of the last seconds, at the receivers, where both send. Delays and marks are of the emulator's records
of each flow as a whole; the last frame's delay is from its capture. `--check` fails where the counts of emulator,
receivers and senders contradict each other.

Needs root, iproute2 and Chromium (CHROMIUM names another binary). Real time counts, so each row of the table has the
emulator's lag and the machine's load. Frames of Chromium are real (VP8) and ours synthetic: their pictures do not
compare. Chromium has no seed; `--seeds` are of the channel and of our frames.
"""

import argparse
import itertools
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import chromium
from chromium import NAMES, PATIENCE, TRIALS, VOID, RunError, last, seconds_of, spread

# A cell that two senders of 8 Mbit/s fill. The ramp is one for a service of 60 ms (docs/al4s.md).
CELL = """
[cell]
rat = "lte"
bandwidth = "3 MHz"
fading = "epa"
rlc = { buffer = "1 MB", law = { kind = "ramp", low = "10 ms", high = "30 ms" } }

[[ue]]
count = 2
speed = "3 km/h"
mobility = { kind = "static", distance = "400 m" }
"""
MOST = 8  # Mbit/s of each encoder
SETTLE = 4  # seconds of both senders that rates leave out


class Run:
    """One emulation with both senders."""

    def __init__(self, args: argparse.Namespace, pair: tuple[str, str], seed: int, folder: Path) -> None:
        """Which controllers, ours and Chromium's, by which seed; files go to `folder`."""
        self.args, self.seed, self.folder = args, seed, folder
        self.ours, self.theirs = pair

    def _file(self, name: str) -> str:
        path = self.folder / name
        path.touch()
        return shlex.quote(str(path))

    def _commands(self) -> tuple[str, str]:
        """The shell commands of the server side and of each UE."""
        program, errors = shlex.quote(str(self.args.binary)), self._file("errors")
        sent, ours, theirs = self._file("sent"), self._file("got.0"), self._file("got.1")
        address, done = self._file("address"), self._file("done")
        send = f"rtc send --json --cc {self.ours} --most {MOST} --seed {self.seed}"
        server = f"exec {program} {send} --listen $SLACKWATER_SERVER:8090 > {sent} 2>> {errors}"
        # Chromium takes seconds to start: our media begin when its packets come, and both end together.
        length = self.args.seconds + SETTLE
        first = f"""
            until [ -s {theirs} ]; do sleep 0.1; done
            {program} rtc receive --json --seconds {length} http://$SLACKWATER_SERVER:8090 > {ours} 2>> {errors}
            echo $? > {done}
        """
        second = f"""
            set -- $(ip -4 -o address show dev cell0)
            own=${{4%/*}}
            {program} rtc receive --json --listen $own:8090 > {theirs} 2>> {errors} &
            receiver=$!
            echo $own > {address}
            until [ -s {done} ]; do sleep 0.1; done
            kill -INT $receiver
            wait $receiver
        """
        return server, f"if [ $SLACKWATER_UE = 0 ]; then {first} else {second} fi; exit 0"

    def _chromium(self) -> subprocess.Popen[bytes]:
        address = (self.folder / "address").read_text().strip()
        return chromium.start(self.args.chromium, self.folder, self.theirs, f"http://{address}:8090/?most={MOST}")

    def _said(self) -> str:
        files = [self.folder / "emulate.log", self.folder / "errors"]
        return "".join(path.read_text()[-2000:] for path in files if path.exists())

    def _wait(self, what: str, emulator: subprocess.Popen[bytes], found: Callable[[], bool]) -> None:
        chromium.wait(what, emulator, found, self._said)

    def run(self) -> dict:
        """Both flows, and what all ends counted."""
        server, ue = self._commands()
        cell, summary = self.folder / "cell.toml", self.folder / "live.json"
        cell.write_text(CELL)
        words = [str(self.args.binary), "emulate", "--cell", str(cell), "--ues", "2", "--seed", str(self.seed)]
        words += ["--delay", "10 ms", "--quiet", "--no-files", "--as-root", "--json", str(summary)]
        words += ["--void-above", str(self.args.void_above), "--server", server, "--", "sh", "-c", ue]
        with (self.folder / "emulate.log").open("wb") as out:
            emulator = subprocess.Popen(words, stdout=out, stderr=out)
        browser = None
        try:
            errors = self.folder / "errors"
            # Of our sender and of the receiver for Chromium.
            self._wait("two servers for signalling", emulator, lambda: errors.read_text().count("open http://") == 2)
            browser = self._chromium()
            self._wait("media of Chromium", emulator, lambda: (self.folder / "got.1").stat().st_size > 0)
            status = emulator.wait(timeout=PATIENCE + self.args.seconds * 2)
        finally:
            chromium.end(browser, emulator)
        if status not in (0, VOID):
            raise RunError(f"emulate ended with {status}: {self._said()}")
        return self._found(json.loads(summary.read_text()), status == VOID)

    def _found(self, found: dict, void: bool) -> dict:
        """What the emulator, our ends and Chromium counted; flows are those towards the UEs with most packets."""
        flows = []
        for ue in (0, 1):
            down = [flow for flow in found["summary"]["flows"] if flow["ue"] == ue and not flow["up"]]
            flow = max(down, key=lambda flow: flow["delivered"])
            seconds = seconds_of(self.folder / f"got.{ue}")
            rates = [second["received_mbps"] for second in seconds[-self.args.seconds :]]
            flows.append(
                {
                    "mbps": statistics.fmean(rates or [0.0]),
                    "p95_ms": (flow["queue_delay_ms"] or {}).get("p95", 0.0),
                    "marks": flow["marks"],
                    "sent": flow["sent"],
                    "delivered": flow["delivered"],
                    "received": last(seconds),
                }
            )
        counters = chromium.counted(self.folder)
        return {
            "pair": [self.ours, self.theirs],
            "seed": self.seed,
            "void": void,
            "late_p99_ms": found["late_ms"]["p99"],
            "load": os.getloadavg()[0],
            "flows": flows,
            "sender": last(seconds_of(self.folder / "sent")),
            "chromium": counters[-1][1] if counters else {},
        }


def contradictions(run: dict) -> list[str]:
    """What no order of events explains. Counters are read once a second, so ends may lack what came since."""
    ours, theirs = run["flows"]
    sender, counters = run["sender"], run["chromium"]
    name_of_ours, name_of_theirs = run["pair"]
    held = []
    for name, flow in (("ours", ours), ("Chromium's", theirs)):
        made, delivered, got = flow["marks"], flow["delivered"], flow["received"]
        packets, marked = got.get("packets", 0), got.get("marked", 0)
        held += [
            (f"{name}: {packets} packets received, {delivered} delivered", 0 < packets <= delivered),
            (f"{name}: {marked} marks received, {made} made", marked <= made),
            (f"{name}: {marked} marks, {got.get('l4s', 0)} packets as ECT(1) or CE", marked <= got.get("l4s", 0)),
            (f"{name}: no report was sent", got.get("reports", 0) > 0),
        ]
    reports, read = sender.get("reports", 0), sender.get("marked", 0)
    held += [
        ("our sender: no report came", reports > 0),
        ("our sender: reports that cannot be read", sender.get("malformed", 0) == 0),
        (f"our sender: {read} marks read, {ours['marks']} made", read <= ours["marks"]),
    ]
    as_l4s, marks, sent = theirs["received"].get("l4s", 0), theirs["marks"], counters.get("packetsSent", 0)
    # Its SCReAM sends ECT(1), its GCC Not-ECT, which nothing may mark.
    expected = sent if name_of_theirs == "scream" else 0
    held += [
        ("Chromium: no report came", counters.get("ccfbMessagesReceived", 0) > 0),
        (
            f"Chromium: {counters.get('packetsSentWithEct1')} of {sent} packets sent as ECT(1)",
            counters.get("packetsSentWithEct1") == expected,
        ),
        (f"Chromium: {as_l4s} packets came as ECT(1) or CE", (as_l4s > 0) == (expected > 0)),
        (f"Chromium: {marks} marks under {name_of_theirs}", expected > 0 or marks == 0),
    ]
    return [f"{name_of_ours} beside {name_of_theirs}, seed {run['seed']}: {what}" for what, true in held if not true]


def table(runs: list[dict]) -> str:
    """Two rows for each pair: ours, and Chromium's."""
    heads = (
        "in one cell",
        "rate, Mbit/s",
        "queue delay, p95, ms",
        "marked, %",
        "last frame, ms",
        "late, p99, ms",
        "load",
    )
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for pair in dict.fromkeys(tuple(run["pair"]) for run in runs):
        of = [run for run in runs if tuple(run["pair"]) == pair]
        late, load = spread([run["late_p99_ms"] for run in of], 2), spread([run["load"] for run in of], 0)
        for place, name in enumerate((f"{pair[0]} of ours", NAMES[pair[1]])):
            flows = [run["flows"][place] for run in of]
            rate = spread([flow["mbps"] for flow in flows], 2)
            delay = spread([flow["p95_ms"] for flow in flows], 1)
            share = spread([100 * flow["marks"] / max(flow["sent"], 1) for flow in flows], 1)
            # Of Chromium's frames no time of capture comes.
            frame = "not known" if place else spread([flow["received"].get("delay_ms", 0) for flow in flows], 0)
            lines.append(f"| {name} | {rate} | {delay} | {share} | {frame} | {late} | {load} |")
    return "\n".join(lines)


def main() -> None:
    """Runs all, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=Path("target/release/slackwater"))
    parser.add_argument("--chromium", default=chromium.binary())
    parser.add_argument("--ours", default="scream", help="media controllers of `slackwater list`, separated by commas")
    parser.add_argument("--theirs", default="gcc,scream", help="controllers of Chromium, separated by commas")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each, with seeds from 1 on")
    parser.add_argument("--seconds", type=int, default=20, help="of both senders that rates are of")
    parser.add_argument("--void-above", type=float, default=1.0, help="percent of late slots that make a run void")
    parser.add_argument("--check", action="store_true", help="exit with 1 where counts contradict each other")
    parser.add_argument("--json", action="store_true", help="print the runs in place of the table")
    args = parser.parse_args()
    args.binary = args.binary.resolve()
    unknown = sorted(set(args.theirs.split(",")) - set(TRIALS))
    if unknown:
        sys.exit(f"error: --theirs: found {', '.join(unknown)}, expected {' or '.join(TRIALS)}")
    if os.geteuid() != 0 or not args.chromium or not shutil.which("ip"):
        sys.exit("error: found no root, no Chromium (CHROMIUM) or no `ip`, expected all three")

    runs = []
    for pair in itertools.product(args.ours.split(","), args.theirs.split(",")):
        for seed in range(1, args.seeds + 1):
            with tempfile.TemporaryDirectory(prefix="beside-", ignore_cleanup_errors=True) as folder:
                try:
                    run = Run(args, pair, seed, Path(folder)).run()
                except RunError as failed:
                    sys.exit(f"error: {failed}")
            if run["void"]:
                name = " beside ".join(pair)
                print(f"{name}, seed {seed}: void, late by {run['late_p99_ms']:.2f} ms at 99 %", file=sys.stderr)
            runs.append(run)
    print(json.dumps(runs) if args.json else table(runs))
    wrong = [line for run in runs for line in contradictions(run)]
    for line in wrong:
        print(f"contradiction: {line}", file=sys.stderr)
    sys.exit(bool(wrong) and args.check)


if __name__ == "__main__":
    main()
