"""A signal at each system call of an emulator's start: none is lost, as docs/reliability.md has it.

Random moments rarely meet a window of microseconds. This lists the system calls of the main thread of `emulate`
by strace, from the first to some turns of the loop that moves packets. Then it starts the command once for each of
them, and strace sends a signal at that call. Everything happens in network and process namespaces of its own. Needs
root or user namespaces, `unshare` (util-linux), strace and iproute2. Ends with 1 where a signal was lost or the exit
code does not tell of it.

    sudo python3 benches/calls.py --binary target/debug/slackwater
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import apart

# A signal that did not end the command by then is lost.
PATIENCE_S = 30.0
# Calls after the thread has its real-time priority, which it gets last: some turns of the loop.
TURNS = 60
QUIET = ["--quiet", "--no-files", "--", "sleep", "600"]
FORMS = [
    ["--rate", "12"],
    ["--cell", "nr", "--ues", "2", "--edge", "vaqm"],
    ["--cell", "lte", "--core", "--edge", "cecc"],
    ["--cell", "lte", "--isolated"],
]


def traced(binary: str, form: list[str], options: list[str]) -> subprocess.Popen[bytes]:
    """Starts the emulator below strace; its main thread alone is traced."""
    words = ["strace", "-qq", *options, binary, "emulate", *form, *QUIET]
    null = subprocess.DEVNULL
    # A session of its own: what is left of it can be killed whole, since strace alone leaves the emulator running.
    return subprocess.Popen(words, stdin=null, stdout=null, stderr=null, start_new_session=True)


def kill(child: subprocess.Popen[bytes]) -> None:
    """Ends strace and the emulator."""
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def ended(child: subprocess.Popen[bytes], patience: float) -> bool:
    """True where it ends by itself in time; else it is killed."""
    try:
        child.wait(patience)
    except subprocess.TimeoutExpired:
        kill(child)
        return False
    return True


def calls(binary: str, form: list[str]) -> list[tuple[str, int]]:
    """The system calls of a start, in their order: each has its name and is the n-th of that name."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "calls"
        child = traced(binary, form, ["-o", str(log)])
        begun = time.monotonic()
        after = 0
        while after < TURNS and child.poll() is None and time.monotonic() - begun < PATIENCE_S:
            time.sleep(0.1)
            text = log.read_text() if log.exists() else ""
            after = text.partition("\nsched_setscheduler(")[2].count("\n")
        kill(child)
    lines = text.splitlines()
    last = next((k for k, line in enumerate(lines) if line.startswith("sched_setscheduler(")), len(lines)) + TURNS
    count: Counter[str] = Counter()
    found = []
    for line in lines[:last]:
        if name := re.match(r"(\w+)\(", line):
            count[name[1]] += 1
            found.append((name[1], count[name[1]]))
    # The first is `execve`, before which there is no emulator.
    return found[1:]


def main() -> None:
    """Moves into namespaces, and measures there."""
    options = apart.parser(__doc__)
    options.add_argument("--signal", default=signal.SIGTERM, type=lambda name: signal.Signals[name], metavar="SIGNAL")
    args = options.parse_args()
    if shutil.which("strace") is None:
        sys.exit("calls: found no strace, expected it on PATH")
    apart.enter()
    binary, number = str(Path(args.binary).resolve()), args.signal
    rows, good = [], True
    for form in FORMS:
        by_kernel = by_hand = lost = other = 0
        slowest = 0.0
        for name, n in (wanted := calls(binary, form)):
            begun = time.monotonic()
            inject = f"--inject={name}:signal={number.name}:when={n}"
            child = traced(binary, form, ["-o", "/dev/null", inject])
            if not ended(child, PATIENCE_S):
                print(f"{number.name} at {name} number {n} was lost: emulate {' '.join(form)}", flush=True)
                lost += 1
                continue
            slowest = max(slowest, time.monotonic() - begun)
            by_kernel += child.returncode == -number
            by_hand += child.returncode == 128 + number
            other += child.returncode not in (-number, 128 + number)
        good &= bool(wanted) and not (lost or other)
        rows.append([f"`{' '.join(form)}`", len(wanted), by_kernel, by_hand, other, lost, f"{slowest * 1e3:.0f}"])
    titles = ["emulate", "calls", "ended by the kernel", "by its handler", "with another code", "lost"]
    print(apart.table([*titles, "start and end, at most (ms)"], rows))
    if not good:
        sys.exit(1)


if __name__ == "__main__":
    main()
