"""What is left of an emulator that a signal ends at any moment: nothing, as docs/reliability.md has it.

Starts `slackwater emulate` in several forms, sends each a signal at a random moment of its start or run, and counts
what is there afterwards. Everything happens in network and process namespaces of its own, so that nobody else's are
counted. Needs root or user namespaces, `unshare` (util-linux) and iproute2. Ends with 1 where a signal was lost or
something was left.

    sudo python3 benches/signals.py --binary target/release/slackwater --signals 500
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

INSIDE = "SLACKWATER_BENCH_INSIDE"
# A signal that did not end the emulator by then is lost.
PATIENCE_S = 30.0
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL]
# In the background is what ignores the signals that would end it.
STUBBORN = "(trap '' INT TERM HUP QUIT; sleep 600) & sleep 600"
SERVER = "exec python3 -c \"import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 7000)); s.recv(1)\""


def forms(binary: str, folder: str) -> dict[str, list[str]]:
    """By name, the words after `slackwater emulate`."""
    quiet = ["--quiet", "--no-files"]
    shell = ["--", "sh", "-c", STUBBORN]
    inner = ["--", binary, "emulate", "--rate", "12", *quiet, *shell]
    return {
        "link": ["--rate", "12", *quiet, *shell],
        "cell, two UEs, isolated": ["--cell", "lte", "--ues", "2", "--isolated", *quiet, *shell],
        "a server that uses UDP alone": ["--rate", "12", "--server", SERVER, *quiet, *shell],
        "nested": ["--rate", "12", *quiet, *inner],
        "files": ["--cell", "nr", "--edge", "vaqm", "--out", folder, *shell],
    }


@dataclass
class Row:
    """What became of the signals of one kind."""

    sent: int = 0
    ended: int = 0
    told: int = 0
    processes: int = 0
    spaces: int = 0
    interfaces: int = 0
    gone_ms: list[float] = field(default_factory=list)


def processes() -> list[int]:
    """Those of this process namespace, but for this one."""
    names = (path.name for path in Path("/proc").iterdir())
    return [int(name) for name in names if name.isdigit() and int(name) != os.getpid()]


def spaces() -> set[str]:
    """Network namespaces of all processes here."""
    found = set()
    for pid in [os.getpid(), *processes()]:
        # It may end meanwhile.
        with contextlib.suppress(OSError):
            found.add(str(Path(f"/proc/{pid}/ns/net").readlink()))
    return found


def interfaces() -> int:
    """Devices of this network namespace but the loopback."""
    names = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    return sum(name != "lo" for name in names)


def reap(child: int) -> int | None:
    """Collects what has ended; the exit code of `child`, where it is among that."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(status)


def once(words: list[str], number: signal.Signals, wait: float, row: Row) -> None:
    """Starts `words`, sends `number` after `wait` seconds, and adds what was found to `row`."""
    null = os.open(os.devnull, os.O_RDWR)
    streams = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in range(3)]
    # What was started in the background may have signals ignored, and would hand that down.
    child = os.posix_spawn(words[0], words, os.environ, file_actions=streams, setsigdef=SIGNALS)
    os.close(null)
    time.sleep(wait)
    os.kill(child, number)
    begun = time.monotonic()
    row.sent += 1

    code = None
    while code is None and time.monotonic() - begun < PATIENCE_S:
        code = reap(child)
        time.sleep(0.001)
    row.ended += code is not None
    # By its own hand with 128 and the number, or, before it could take signals, by the kernel.
    row.told += code in (128 + number, -number)

    # The kernel takes its time with processes and namespaces.
    while (processes() or interfaces()) and time.monotonic() - begun < PATIENCE_S:
        reap(child)
        time.sleep(0.001)
    row.gone_ms.append((time.monotonic() - begun) * 1e3)
    left = processes()
    row.processes += len(left)
    row.spaces += len(spaces()) - 1
    row.interfaces += interfaces()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    while processes():
        reap(child)
        time.sleep(0.001)


def measure(binary: str, count: int, window: float, seed: int) -> bool:
    """Prints the table; true where nothing was lost or left."""
    draw = random.Random(seed)
    rows: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as folder:
        kinds = list(forms(binary, f"{folder}/run").items())
        for k in range(count):
            number = SIGNALS[k % len(SIGNALS)]
            name, words = kinds[k // len(SIGNALS) % len(kinds)]
            row = rows.setdefault(f"{number.name}", Row())
            once([binary, "emulate", *words], number, draw.uniform(0, window), row)
    print(f"seed {seed}, moments from 0 to {window * 1e3:.0f} ms after the start")
    titles = ["signal", "sent", "ended", "exit code says so", "processes left", "namespaces left", "interfaces left"]
    print(f"| {' | '.join(titles)} | all gone after, at most (ms) |")
    print("|---" * (len(titles) + 1) + "|")
    for name, row in rows.items():
        cells = [row.sent, row.ended, row.told, row.processes, row.spaces, row.interfaces]
        print(f"| {name} | {' | '.join(map(str, cells))} | {max(row.gone_ms):.0f} |")
    return all(r.sent == r.ended == r.told and not (r.processes or r.spaces or r.interfaces) for r in rows.values())


def main() -> None:
    """Moves into namespaces, and measures there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/slackwater")
    parser.add_argument("--signals", type=int, default=500)
    parser.add_argument("--window", type=float, default=0.5, help="seconds in which the moments lie")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    binary = str(Path(args.binary).resolve())
    if INSIDE not in os.environ:
        mapped = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        apart = ["unshare", *mapped, "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        done = subprocess.run([*apart, sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"}, check=False)
        sys.exit(done.returncode)
    if not measure(binary, args.signals, args.window, args.seed):
        sys.exit(1)


if __name__ == "__main__":
    main()
