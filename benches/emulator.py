"""How true the emulator is: one table of medians over several runs, as docs/emulate.md has it.

Needs root, iproute2 and iperf3. Real time counts here, so a busy machine shows in the lag and in the missed slots; each
figure is the median of the runs, the range stands behind it.

    sudo python3 benches/emulator.py --binary target/release/slackwater --runs 5
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 5
# Sends datagrams of 1,500 IP bytes, faster than the link, once the other side has said hello.
BLAST = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 7000))
_, peer = s.recvfrom(100)
start = time.monotonic()
sent = 0
while (t := time.monotonic() - start) < {seconds}:
    while sent * 12000 < t * {rate}:
        s.sendto(bytes(1472), peer)
        sent += 1
    time.sleep(0.001)
"""
HELLO = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1.5)
for _ in range(20):
    s.sendto(b'hello', (sys.argv[1], 7000))
    try:
        s.recv(2000)
        break
    except socket.timeout:
        pass
try:
    while True:
        s.recv(2000)
except socket.timeout:
    pass
"""

# Sends its clock each 2 ms; the other direction of `--rate` never delays, so what passes between the clock's reading
# and the kernel's stamp at the receiver is the emulator's, the devices' and the two hosts'.
PROBE = """
import os, socket, struct, sys, time
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
except OSError:
    pass
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
due = time.monotonic()
for _ in range({count}):
    due += 0.002
    time.sleep(max(0, due - time.monotonic()))
    s.sendto(struct.pack('<q', time.clock_gettime_ns(time.CLOCK_REALTIME)), (sys.argv[1], 7001))
s.sendto(b'end', (sys.argv[1], 7001))
"""
STAMPS = """
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 35, 1)
s.bind(('', 7001))
with open('{file}', 'w') as out:
    while True:
        data, more, _, _ = s.recvmsg(100, 100)
        if data == b'end':
            break
        seconds, nanos = struct.unpack('<qq', more[0][2][:16])
        print(seconds * 10**9 + nanos - struct.unpack('<q', data)[0], file=out, flush=True)
"""
# The same towards the UE, where the link has its opportunities: the server sends once it was greeted. No multiple of a
# millisecond lies between two, so that they meet every phase.
PROBE_DOWN = """
import os, socket, struct, time
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
except OSError:
    pass
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 7001))
_, peer = s.recvfrom(100)
due = time.monotonic()
for _ in range({count}):
    due += 0.00237
    time.sleep(max(0, due - time.monotonic()))
    s.sendto(struct.pack('<q', time.clock_gettime_ns(time.CLOCK_REALTIME)), peer)
s.sendto(b'end', peer)
"""
STAMPS_DOWN = """
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 35, 1)
s.settimeout(1)
found = []
while True:
    if not found:
        s.sendto(b'hello', (sys.argv[1], 7001))
    try:
        data, more, _, _ = s.recvmsg(100, 100)
    except TimeoutError:
        continue
    if data == b'end':
        break
    seconds, nanos = struct.unpack('<qq', more[0][2][:16])
    found.append(seconds * 10**9 + nanos - struct.unpack('<q', data)[0])
with open('{file}', 'w') as out:
    print(*found, sep=chr(10), file=out)
"""
# Round trips of datagrams beside an iperf3 download, from 2 s on.
ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 7002))
while True:
    data, peer = s.recvfrom(100)
    s.sendto(data, peer)
"""
ASK = """
import socket, subprocess, sys, time
load = subprocess.Popen(['iperf3', '-c', sys.argv[1], '-R', '-t', '{seconds}'], stdout=subprocess.DEVNULL)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
time.sleep(2)
found = []
end = time.monotonic() + {seconds} - 3
while time.monotonic() < end:
    start = time.monotonic_ns()
    s.sendto(bytes(56), (sys.argv[1], 7002))
    try:
        s.recv(100)
        found.append(time.monotonic_ns() - start)
    except TimeoutError:
        found.append(2 * 10**9)
    time.sleep(0.05)
load.wait()
print(*found)
"""


def cpu_of(pid: int) -> float:
    """CPU seconds of all threads of a process that may have ended (proc_pid_stat(5), fields 14 and 15)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def emulate(binary: str, folder: Path, *args: str) -> dict:
    """One emulation; what it says of itself, and its CPU time as the kernel counts it."""
    live = folder / "live.json"
    words = [binary, "emulate", "--isolated", "--no-files", "--quiet", "--seconds", "60", "--json", str(live), *args]
    with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        cpu = cpu_of(child.pid)
        if child.wait() != 0:
            sys.exit(f"error: {' '.join(words)}: {(folder / 'err').read_text().strip()}")
    result: dict = json.loads(live.read_text())
    result["stdout"] = (folder / "out").read_text()
    result["process_cpu_seconds"] = cpu
    return result


def opportunities(binary: str, folder: Path, mbps: int) -> tuple[float, dict]:
    """Share of a saturated link's opportunities that carried a packet, in percent."""
    trace, log = folder / "trace", folder / "log"
    each = mbps * 1000 // 12
    trace.write_text("".join(f"{-(-k * 1000 // each)}\n" for k in range(1, each + 1)))
    blast = BLAST.format(seconds=SECONDS, rate=mbps * 1_300_000).replace('"', "'")
    live = emulate(
        binary, folder, "--trace", str(trace), "--queue", "200 packets", "--downlink-log", str(log),
        "--server", f'exec python3 -c "{blast}"', "--", sys.executable, "-c", HELLO, "{server}",
    )  # fmt: skip
    rows = [line.split(" ") for line in log.read_text().splitlines() if not line.startswith("#")]
    used = [int(r[0]) for r in rows if r[1] == "-" and r[2] == "1500"]
    # The link is empty before the first datagrams and after the last.
    begin, end = used[len(used) // 10], used[len(used) * 9 // 10]
    offered = [int(r[0]) for r in rows if r[1] == "#"]
    share = sum(begin <= t < end for t in used) / max(1, sum(begin <= t < end for t in offered))
    return share * 100, live


def added(binary: str, folder: Path, quantile: float) -> tuple[float, dict]:
    """Delay in ms that probes find from outside on a way without any delay of its own."""
    stamps = folder / "stamps"
    receiver = STAMPS.format(file=stamps).replace('"', "'")
    live = emulate(
        binary, folder, "--rate", "12", "--server", f'exec python3 -c "{receiver}"',
        "--", sys.executable, "-c", PROBE.format(count=SECONDS * 500), "{server}",
    )  # fmt: skip
    found = sorted(int(line) for line in stamps.read_text().splitlines())
    if len(found) < SECONDS * 400:
        sys.exit(f"error: {len(found)} of {SECONDS * 500} probes arrived")
    return found[int(quantile * (len(found) - 1))] / 1e6, live


def waits(binary: str, folder: Path, quantile: float, *middle: str) -> tuple[float, dict]:
    """Delay in ms that probes find from outside towards the UE over an idle link."""
    stamps = folder / "stamps"
    sender = PROBE_DOWN.format(count=SECONDS * 400).replace('"', "'")
    live = emulate(
        binary, folder, *middle, "--server", f'exec python3 -c "{sender}"',
        "--", sys.executable, "-c", STAMPS_DOWN.format(file=stamps), "{server}",
    )  # fmt: skip
    found = sorted(int(line) for line in stamps.read_text().splitlines())
    if len(found) < SECONDS * 300:
        sys.exit(f"error: {len(found)} of {SECONDS * 400} probes arrived")
    return found[int(quantile * (len(found) - 1))] / 1e6, live


def tcp(binary: str, folder: Path, *middle: str) -> tuple[float, dict]:
    """Mbit/s of one TCP download by iperf3."""
    client = ["iperf3", "-c", "{server}", "-R", "-t", str(SECONDS), "-J"]
    live = emulate(binary, folder, *middle, "--server", "iperf3 -s -1", "--", *client)
    received = json.loads(live["stdout"])["end"]["sum_received"]["bits_per_second"]
    return received / 1e6, live


def echo(binary: str, folder: Path, quantile: float, *more: str) -> tuple[float, dict]:
    """Round trip in ms through the LTE cell under a TCP download, 20 ms of wired delay each way."""
    server = 'python3 -c "' + ECHO.replace('"', "'") + '" & exec iperf3 -s -1'
    live = emulate(
        binary, folder, "--cell", "lte", "--delay", "20 ms", "--queue", "1000 packets", *more, "--server", server,
        "--", sys.executable, "-c", ASK.format(seconds=4 * SECONDS), "{server}",
    )  # fmt: skip
    found = sorted(int(word) for word in live["stdout"].split())
    return found[int(quantile * (len(found) - 1))] / 1e6, live


def shown(values: list[float], decimals: int) -> str:
    """The median, and the range."""
    low, middle, high = (f"{v:.{decimals}f}" for v in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def senders(binary: str, runs: int, seconds: int) -> None:
    """The kernel's senders over the 12 Mbit/s link beside the simulator's."""
    scenario = Path(__file__).resolve().parent.parent / "scenarios/live/link.toml"
    words = [binary, "run", "--live", str(scenario), "--no-files", "--json", "--set", f"duration={seconds} s"]
    found: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(runs):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        for run in json.loads(done.stdout):
            flow = run["flows"][0]
            row = (flow["goodput_mbps"], flow["srtt_ms"]["p50"], flow["queue_delay_ms"]["p50"])
            found.setdefault(", ".join(label[1] for label in run["labels"]), []).append(row)
    print(f"\n| sender, {seconds} s | goodput (Mbit/s) | median RTT (ms) | median queue (ms) |\n|---|---|---|---|")
    for name, rows in found.items():
        cells = (shown([r[k] for r in rows], d) for k, d in ((0, 3), (1, 1), (2, 1)))
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/slackwater")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=20, help="length of each run of the senders; 0 leaves them out")
    args = parser.parse_args()
    binary = str(Path(args.binary).resolve())
    cases = {
        "12 Mbit/s, full: opportunities used (%)": lambda f: opportunities(binary, f, 12),
        "100 Mbit/s, full: opportunities used (%)": lambda f: opportunities(binary, f, 100),
        "added delay from outside, p50 (ms)": lambda f: added(binary, f, 0.5),
        "added delay from outside, p99 (ms)": lambda f: added(binary, f, 0.99),
        "idle 12 Mbit/s, opportunities: delay p50 (ms)": lambda f: waits(binary, f, 0.5, "--rate", "12"),
        "idle 12 Mbit/s, opportunities: delay p99 (ms)": lambda f: waits(binary, f, 0.99, "--rate", "12"),
        "idle 12 Mbit/s, --exact: delay p50 (ms)": lambda f: waits(binary, f, 0.5, "--rate", "12", "--exact"),
        "idle 12 Mbit/s, --exact: delay p99 (ms)": lambda f: waits(binary, f, 0.99, "--rate", "12", "--exact"),
        "LTE cell: TCP (Mbit/s)": lambda f: tcp(binary, f, "--cell", "lte"),
        "LTE cell, echo under a download: RTT p50 (ms)": lambda f: echo(binary, f, 0.5),
        "LTE cell, echo under a download: RTT p95 (ms)": lambda f: echo(binary, f, 0.95),
        "LTE cell, vAQM, echo under a download: RTT p50 (ms)": lambda f: echo(binary, f, 0.5, "--edge", "vaqm"),
        "LTE cell, vAQM, echo under a download: RTT p95 (ms)": lambda f: echo(binary, f, 0.95, "--edge", "vaqm"),
        "NR cell of more than 1 Gbit/s: TCP (Mbit/s)": lambda f: tcp(binary, f, "--cell", "nr-gigabit"),
        "link of 1 Gbit/s: TCP (Mbit/s)": lambda f: tcp(binary, f, "--rate", "1000"),
    }
    print("| what | figure | late, p50 (ms) | late, p99 (ms) | thread (%) | process (%) | slots missed (%) |")
    print("|---|---|---|---|---|---|---|")
    for name, case in cases.items():
        figures, lives = [], []
        for _ in range(args.runs):
            with tempfile.TemporaryDirectory() as folder:
                figure, live = case(Path(folder))
            figures.append(figure)
            lives.append(live)
        cells = [
            shown(figures, 3 if "delay" in name else 2),
            shown([live["late_ms"]["p50"] for live in lives], 3),
            shown([live["late_ms"]["p99"] for live in lives], 3),
            shown([100 * live["cpu_seconds"] / live["seconds"] for live in lives], 1),
            shown([100 * live["process_cpu_seconds"] / live["seconds"] for live in lives], 1),
            shown([100 * live["missed_slots"] / live["slots"] for live in lives], 2),
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if args.seconds:
        senders(binary, args.runs, args.seconds)


if __name__ == "__main__":
    main()
