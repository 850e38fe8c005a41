"""Table 2 of the aL4S-CC paper on real packets with other senders: Chromium's GCC and SCReAMv2.

    sudo slackwater repro al4s --live --seconds 20 --only 1-gcc,1-scream,2-gcc,2-scream,3-gcc,3-scream -o DIR
    sudo python3 benches/table2_chromium.py --repro DIR --runs 3

Links, pattern of rates and markers are those of the scenarios that `repro` left in DIR, as are the numbers of our
controllers, simulated and on real packets, and the paper's. Chromium encodes a canvas and sends it through
`slackwater emulate` to `slackwater rtc receive`. The link keeps the pattern's first rate for LEAD seconds. Then the
pattern begins, and what is measured. The page is opened so long before that media begin about then. The table has by
how much they missed it.

Numbers are the emulator's own, of the pattern alone, by the same code as those of `repro`. For that its flows are
declared as media (`--set flow.app`). A second counts as "short of its target" where Chromium's encoder and pacer sent
less than SHORT of the rate that its controller set, so that the controller is not why the link was not used.

With `--tool DIR` the cases of SCReAMv2 run Ericsson's own in place of Chromium's: `scream_bw_test_tx` and
`scream_bw_test_rx` of github.com/EricssonResearch/scream, which you have built there. Its frames are synthetic.

A run is void where the emulator was too late, where media began more than PUNCTUAL seconds beside the pattern, or
where the browser reports that the processor limits its encoder. On a busy machine raise the priority of the whole
session (`echo -16 > /proc/self/autogroup`): `nice` alone orders a session's own processes.

Needs root, iproute2, and Chromium (CHROMIUM names another binary) or the tool.
"""

import argparse
import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import chromium
from chromium import NAMES, PATIENCE, VOID, RunError, last, seconds_of, spread

LEAD = 8.0  # seconds of the pattern's first rate before it begins
PUNCTUAL = 0.5  # seconds between the begin of media and of the pattern
SHORT = 0.85  # of the controller's target: below it a second is short of it
# Media have more bytes than this in each of three tenths of a second in a row; the offer has in one. Ours.
MEDIA_BYTES = 4_000
# In the table, and as the columns of `repro --live` are called.
COLUMNS = (
    ("link utilisation", "%", 1),
    ("queue delay, p95", "ms", 1),
    ("p99", "ms", 1),
    ("TDQ(20)", "s", 2),
    ("TDQ(55)", "s", 2),
    ("marked", "%", 1),
)
OWN = ("ECT(1) or CE, %", "short of its target, s", "media begin, s", "late, p99, ms", "load")
# Ericsson's sender as ours is in these cases: 60 frames a second that deviate by 5 %, 0.3 to 100 Mbit/s from 2 on.
TOOL = "-ect 1 -fps 60 -rand 5 -initrate 2000 -minrate 300 -maxrate 100000 -nosummary"
TOOL_PORT = 30122
# Our ends take the real-time class where they may. Ericsson's do not, and a busy machine makes their timers late.
PUNCTUALLY = ["chrt", "--rr", "1"]


class Run:
    """One emulation with one sender."""

    def __init__(self, args: argparse.Namespace, scenario: Path, sender: str, folder: Path) -> None:
        """The link of `scenario`, and who sends; files go to `folder`."""
        self.args, self.scenario, self.sender, self.folder = args, scenario, sender, folder
        self.world = tomllib.loads(scenario.read_text())
        self.seconds = float(self.world["duration"].removesuffix(" s"))

    def _emulate(self) -> list[str]:
        """The emulator's command: the scenario's link, later by LEAD."""
        link = self.world["link"]
        points = [[0.0, link["points"][0][1]], *([time + LEAD, rate] for time, rate in link["points"])]
        delay = float(self.world["path"]["rtt"].removesuffix(" ms")) / 2
        period = float(link["period"].removesuffix(" s")) + LEAD
        changes = [f"link.period={period} s", f"link.points={points}", f"warmup={LEAD} s"]
        changes += ["flow.controller=gcc", 'flow.app={ kind = "media" }']
        words = [str(self.args.binary), "emulate", "--cell", str(self.scenario), "--delay", f"{delay} ms"]
        words += [word for change in changes for word in ("--set", change)]
        words += ["--seconds", f"{LEAD + self.seconds:.0f}", "--quiet", "--as-root", "--no-files"]
        words += ["--json", str(self.folder / "live.json"), "--downlink-log", str(self.folder / "down.log")]
        return [*words, "--void-above", str(self.args.void_above)]

    def _at(self, name: str) -> str:
        return shlex.quote(str(self.folder / name))

    def _receiver(self) -> str:
        """The UE's shell command."""
        program = shlex.quote(str(self.args.binary))
        return f"""
            set -- $(ip -4 -o address show dev cell0)
            own=${{4%/*}}
            date +%s.%N > {self._at("began")}
            echo $own > {self._at("address")}
            exec {program} rtc receive --json --listen $own:8090 > {self._at("got")} 2> {self._at("errors")}
        """

    def _said(self) -> str:
        files = [self.folder / "emulate.log", self.folder / "errors"]
        return "".join(path.read_text()[-2000:] for path in files if path.exists())

    def _began(self) -> float:
        """When the command behind the link began, which is when the link did."""
        return float((self.folder / "began").read_text())

    def _before(self) -> subprocess.Popen[bytes] | None:
        """Starts what needs seconds to start."""
        browser = chromium.start(self.args.chromium, self.folder, self.sender, "about:blank")
        chromium.wait("browser", browser, lambda: chromium.port(self.folder), self._said)
        return browser

    def _listens(self) -> bool:
        errors = self.folder / "errors"
        return errors.exists() and "open http://" in errors.read_text()

    def _send(self, address: str) -> subprocess.Popen[bytes] | None:
        """Begins to send to `address` once the pattern begins."""
        self._sleep_until(LEAD - self.args.connect)
        chromium.open_page(self.folder, f"http://{address}:8090/?most={self.args.most}")
        return None

    def _sleep_until(self, seconds: float) -> None:
        time.sleep(max(self._began() + seconds - time.time(), 0))

    def run(self) -> dict[str, Any]:
        """What the emulator, the receiver and the sender counted."""
        processes = [self._before()]
        try:
            with (self.folder / "emulate.log").open("wb") as out:
                words = [*self._emulate(), "--", "sh", "-c", self._receiver()]
                emulator = subprocess.Popen(words, stdout=out, stderr=out)
            processes.append(emulator)
            chromium.wait("receiver", emulator, self._listens, self._said)
            processes.append(self._send((self.folder / "address").read_text().strip()))
            status = emulator.wait(timeout=PATIENCE + LEAD + self.seconds * 2)
        finally:
            chromium.end(*processes)
        # The emulator ends the receiver, which is no error.
        if not (self.folder / "live.json").exists():
            raise RunError(f"emulate ended with {status}: {self._said()}")
        return self._found(json.loads((self.folder / "live.json").read_text()), status == VOID)

    def _media_begin(self) -> float:
        """When media began, in seconds of the pattern."""
        tenths: dict[int, int] = {}
        for line in (self.folder / "down.log").read_text().splitlines():
            at, _, rest = line.partition(" ")
            if rest.startswith("+ "):
                tenths[int(at) // 100] = tenths.get(int(at) // 100, 0) + int(rest[2:])
        media = {tenth for tenth, size in tenths.items() if size > MEDIA_BYTES}
        first = min((tenth for tenth in media if {tenth + 1, tenth + 2} <= media), default=None)
        if first is None:
            raise RunError(f"found no media, expected them within {LEAD + self.seconds} s: {self._said()}")
        return first / 10 - LEAD

    def _short(self) -> list[float] | None:
        """When less was sent than the controller allowed, in seconds of the pattern; none where that is not known."""
        found = []
        begin = self._began() + LEAD
        for (before, a), (at, b) in itertools.pairwise(self._sent()):
            if before < begin or at > begin + self.seconds or "targetBitrate" not in a:
                continue
            sent = (float(b["bytesSent"]) - float(a["bytesSent"])) * 8 / (at - before)
            target = (float(a["targetBitrate"]) + float(b["targetBitrate"])) / 2
            if sent < SHORT * target:
                found.append(at - begin)
        return found

    def _found(self, left: dict[str, Any], void: bool) -> dict[str, Any]:
        summary = left["summary"]
        # What has most packets are the media; `_media_begin` refuses a run without any.
        begin = self._media_begin()
        flow = max((flow for flow in summary["flows"] if not flow["up"]), key=lambda flow: flow["delivered"])
        queue, media = flow["queue_delay_ms"] or {}, flow["media"]
        values = (
            100 * media["received_mbps"] / summary["links"][0]["capacity_mbps"],
            queue.get("p95", 0.0),
            queue.get("p99", 0.0),
            media["over_s"][0],
            media["over_s"][1],
            100 * flow["mark_share"],
        )
        got = self._got()
        packets = got.get("packets", 0)
        short = self._short()
        starved = any(counters.get("qualityLimitationReason") == "cpu" for _, counters in self._sent())
        return {
            "void": void or starved or abs(begin) > PUNCTUAL,
            "values": {name: value for (name, _, _), value in zip(COLUMNS, values, strict=True)},
            "own": [
                100 * got["l4s"] / packets if packets else None,
                None if short is None else float(len(short)),
                begin,
                left["late_ms"]["p99"],
                os.getloadavg()[0],
            ],
            "short": short,
            "flow": flow,
            "received": got,
            "sender": self._sent(),
        }

    def _sent(self) -> list[tuple[float, chromium.Counters]]:
        """What the sender counted, second by second."""
        return chromium.counted(self.folder)

    def _got(self) -> dict[str, float]:
        """What our receiver counted."""
        return last(seconds_of(self.folder / "got"))


class Tool(Run):
    """As `Run`, with Ericsson's own sender and receiver."""

    def _receiver(self) -> str:
        program = shlex.quote(str(self.args.tool / "scream_bw_test_rx"))
        return f"""
            set -- $(ip -4 -o address show dev cell0)
            date +%s.%N > {self._at("began")}
            echo ${{4%/*}} > {self._at("address")}
            exec {" ".join(PUNCTUALLY)} {program} $SLACKWATER_SERVER {TOOL_PORT} > {self._at("errors")} 2>&1
        """

    def _before(self) -> None:
        return None

    def _listens(self) -> bool:
        return (self.folder / "address").exists()

    def _send(self, address: str) -> subprocess.Popen[bytes]:
        self._sleep_until(LEAD)
        options = f"{TOOL} {self.args.tool_options}".split()
        words = [*PUNCTUALLY, str(self.args.tool / "scream_bw_test_tx"), *options, address, str(TOOL_PORT)]
        with (self.folder / "emulate.log").open("ab") as out:
            return subprocess.Popen(words, stdout=out, stderr=out)

    def _short(self) -> None:
        return None

    def _sent(self) -> list[tuple[float, chromium.Counters]]:
        return []

    def _got(self) -> dict[str, float]:
        return {}


def ours(case: dict[str, Any]) -> list[list[str]]:
    """The rows below Chromium's: ours on real packets and simulated, and the paper's."""
    rows = []
    for label, side in (("ours, real packets", "live"), ("ours, simulated", "simulated")):
        values = [case["values"][name][side] for name, _, _ in COLUMNS]
        cells = [
            spread(value if isinstance(value, list) else [value], digits)
            for value, (_, _, digits) in zip(values, COLUMNS, strict=True)
        ]
        rows.append([label, *cells])
    # Utilisation / p95 / p99 / TDQ(55).
    paper = [text.split()[0] for text in case["paper"].split(" / ")]
    rows.append(["the paper, of 160 s", *paper[:3], "", paper[3], ""])
    return [[*row, *("" for _ in OWN)] for row in rows]


def table(runs: dict[str, list[dict[str, Any]]], cases: dict[str, dict[str, Any]], names: dict[str, str]) -> str:
    """By case: theirs by `names`, ours, and the paper's."""
    heads = ["sender", *(f"{name}, {unit}" for name, unit, _ in COLUMNS), *OWN]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for name, all_of in runs.items():
        case = cases[name]
        good = [run for run in all_of if not run["void"]]
        title = f"**{case['what'].split(',')[0]}, {names[name.partition('-')[2]]}**"
        if good:
            cells = [spread([run["values"][name] for run in good], digits) for name, _, digits in COLUMNS]
            for i, digits in enumerate((0, 1, 1, 2, 0)):
                known = [run["own"][i] for run in good if run["own"][i] is not None]
                cells.append(spread(known, digits) if known else "not known")
        else:
            cells = ["void"] * (len(heads) - 1)
        lines += ["| " + " | ".join(row) + " |" for row in ([title, *cells], *ours(case))]
    return "\n".join(lines)


def measure(args: argparse.Namespace, name: str) -> list[dict[str, Any]]:
    """The runs of a case. A void one, or one without a result, is reported and repeated, as often as there are runs."""
    scenario = args.repro / "scenarios" / f"{name}.toml"
    found: list[dict[str, Any]] = []
    for number in range(1, 2 * args.runs + 1):
        if sum(not run["void"] for run in found) == args.runs:
            break
        with tempfile.TemporaryDirectory(prefix="table2-", ignore_cleanup_errors=True) as folder:
            try:
                run = (Tool if args.tool else Run)(args, scenario, name.partition("-")[2], Path(folder)).run()
            except RunError as failed:
                print(f"{name}, run {number}: {failed}", file=sys.stderr)
                continue
        values = ", ".join(f"{key} {value:.2f}" for key, value in run["values"].items())
        print(f"{name}, run {number}{': void' if run['void'] else ''}: {values}, {run['own']}", file=sys.stderr)
        found.append(run)
    return found


def main() -> None:
    """Runs all, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=Path("target/release/slackwater"))
    parser.add_argument("--chromium", default=chromium.binary())
    parser.add_argument("--repro", type=Path, required=True, help="what `repro al4s --live` left")
    parser.add_argument("--tool", type=Path, help="where scream_bw_test_tx and scream_bw_test_rx are")
    parser.add_argument(
        "--tool-options", default="", help="further options of its sender, such as --tool-options=-nopace"
    )
    parser.add_argument("--only", default="", help="cases that begin so, separated by commas, such as 1-,2-gcc")
    parser.add_argument("--runs", type=int, default=3, help="runs of each case")
    parser.add_argument("--most", type=float, default=40.0, help="greatest rate of Chromium's encoder, Mbit/s")
    parser.add_argument("--connect", type=float, default=0.6, help="seconds from opening the page until media begin")
    parser.add_argument("--void-above", type=float, default=1.0, help="percent of late slots that make a run void")
    parser.add_argument("--json", action="store_true", help="print the runs in place of the table")
    args = parser.parse_args()
    args.binary, args.repro = args.binary.resolve(), args.repro.resolve()
    args.tool = args.tool and args.tool.resolve()
    if os.geteuid() != 0 or not (args.tool or args.chromium) or not shutil.which("ip"):
        sys.exit("error: found no root, no Chromium (CHROMIUM) or no `ip`, expected all three")
    cases = {case["case"]: case for case in json.loads((args.repro / "live.json").read_text())}
    names = {"scream": "SCReAMv2 of Ericsson"} if args.tool else NAMES
    starts = tuple(args.only.split(","))
    wanted = [name for name in cases if name.startswith(starts) and name.partition("-")[2] in names]
    if not wanted:
        sys.exit(f"error: --repro: found the cases {', '.join(cases)}, expected some of {', '.join(names)}")

    runs = {name: measure(args, name) for name in wanted}
    print(json.dumps(runs) if args.json else table(runs, cases, names))
    sys.exit(any(sum(not run["void"] for run in of) < args.runs for of in runs.values()))


if __name__ == "__main__":
    main()
