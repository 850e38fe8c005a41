"""Memory of an emulator that runs for a long time under load, beside neighbours that are killed.

One `slackwater emulate` (an LTE cell, vAQM behind it) carries downloads one beside the other. Each ends in one of
three ways: whole, closed early, or reset. Meanwhile other emulators of other forms start, and end after some seconds
by a random signal. The resident memory of the first is read each second. Everything happens in network and process
namespaces of its own. Needs root or user namespaces, `unshare` (util-linux) and iproute2. Ends with 1 where memory
grew, the emulator ended, nothing was carried, a neighbour did not end, or something was left.

    sudo python3 benches/soak.py --binary target/release/slackwater --seconds 3600

Many short connections show in minutes what grows with each:

    sudo python3 benches/soak.py --binary target/release/slackwater --seconds 900 --beside 32 --octets 2000
"""

import contextlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import apart

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL]
# Memory is flat where the second half of the time needs what the first did, and this: an allocator keeps some pages.
SLACK = 1.05
SLACK_KIB = 2048
# A neighbour whose signal has not ended it by then never heard it: all others end within 150 ms (docs/reliability.md).
PATIENCE = 30.0
# The server side: whoever connects gets octets until it closes.
SERVER = """
import socket, threading
def serve(peer):
    block = bytes(1 << 16)
    try:
        while True: peer.sendall(block)
    except OSError: peer.close()
server = socket.create_server(('', 7001), backlog=64)
while True: threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""
# The UE: downloads beside each other; what was carried is written down each second.
CLIENT = """
import os, random, socket, struct, sys, threading, time
host, path = sys.argv[1:3]
beside, least = map(int, sys.argv[3:])
total, opened = [0] * beside, [0] * beside
def load(k):
    draw = random.Random(k)
    while True:
        try: s = socket.create_connection((host, 7001), timeout=10)
        except OSError: time.sleep(0.1); continue
        opened[k] += 1
        left = int(draw.paretovariate(1.2) * least)
        try:
            while left > 0:
                n = len(s.recv(65536))
                if n == 0: break
                total[k] += n; left -= n
        except OSError: pass
        if draw.random() < 0.3: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        s.close()
for k in range(beside): threading.Thread(target=load, args=(k,), daemon=True).start()
while True:
    time.sleep(1)
    with open(path + '.part', 'w') as f: f.write(f'{sum(total)} {sum(opened)}')
    os.replace(path + '.part', path)
"""


def neighbours(binary: str) -> list[list[str]]:
    """Start and end other emulators in turn, so that the host's namespaces change."""
    quiet = ["--quiet", "--no-files", "--", "sleep", "600"]
    return [
        [binary, "emulate", "--rate", "12", *quiet],
        [binary, "emulate", "--cell", "nr", "--ues", "2", "--edge", "vaqm", *quiet],
        [binary, "emulate", "--cell", "lte", "--core", "--edge", "cecc", *quiet],
        [binary, "emulate", "--cell", "lte", "--isolated", *quiet],
    ]


def resident(pid: int) -> int | None:
    """KiB of memory that the process holds; `None` where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), None)


def start(words: list[str]) -> subprocess.Popen[bytes]:
    """Starts `words`, whose output is not wanted. Below `nohup` SIGHUP is ignored, and would be here too."""
    words = ["env", "--default-signal", *words]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def soak(binary: str, seconds: float, seed: int, load: tuple[int, int]) -> bool:
    """Carries `load[0]` downloads at a time, of `load[1]` octets at least, and prints the figures.

    True where memory was flat and nothing was left.
    """
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        # The command behind the cell may run as another user.
        Path(folder).chmod(0o777)
        carried = Path(folder) / "carried"
        server, client = Path(folder) / "server.py", Path(folder) / "client.py"
        server.write_text(SERVER)
        client.write_text(CLIENT)
        cell = ["--cell", "lte", "--edge", "vaqm", "--quiet", "--no-files"]
        serving = ["--server", f"exec {sys.executable} {server}"]
        behind = ["--", sys.executable, str(client), "{server}", str(carried), *map(str, load)]
        main = start([binary, "emulate", *cell, *serving, *behind])
        memory: list[int] = []
        kills, deaf, others = 0, 0, neighbours(binary)
        beside: subprocess.Popen[bytes] | None = None
        ends = 0.0
        begun = time.monotonic()
        while time.monotonic() - begun < seconds and main.poll() is None:
            time.sleep(1)
            now = resident(main.pid)
            if now is not None:
                memory.append(now)
            if beside is None:
                beside = start(others[kills % len(others)])
                ends = time.monotonic() + draw.uniform(0.2, 4.0)
            elif time.monotonic() >= ends:
                signalled = draw.choice(SIGNALS)
                beside.send_signal(signalled)
                try:
                    beside.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    deaf += 1
                    print(f"neighbour {kills} did not end by {signalled.name}")
                    beside.kill()
                    beside.wait()
                beside = None
                kills += 1
        elapsed = time.monotonic() - begun
        alive = main.poll() is None
        octets, opened = (0, 0)
        with contextlib.suppress(OSError):
            octets, opened = map(int, carried.read_text().split())
        for process in [beside, main]:
            if process is not None:
                process.terminate()
                process.wait()
    left = 0
    for _ in range(300):
        left = apart.interfaces()
        if left == 0:
            break
        time.sleep(0.1)
    if not memory:
        print("the emulator ended before its memory was read")
        return False
    half = len(memory) // 2
    # The first tenth fills caches and queues.
    first, second = max(memory[len(memory) // 10 : half + 1]), max(memory[half:])
    print(f"seed {seed}, {elapsed:.0f} s")
    tenths = [max(memory[k * len(memory) // 10 : (k + 1) * len(memory) // 10], default=0) for k in range(10)]
    print(f"memory at most in each tenth (KiB): {', '.join(map(str, tenths))}")
    titles = [
        "carried (MB)",
        "connections",
        "neighbours killed",
        "neighbours that did not end",
        "memory at most, first half (KiB)",
        "second half (KiB)",
        "interfaces left",
    ]
    print(apart.table(titles, [[f"{octets / 1e6:.1f}", opened, kills, deaf, first, second, left]]))
    if not alive:
        print(f"the emulator ended by itself, with {main.returncode}")
    return alive and octets > 0 and deaf == 0 and left == 0 and second <= first * SLACK + SLACK_KIB


def main() -> None:
    """Moves into namespaces, and measures there."""
    options = apart.parser(__doc__)
    options.add_argument("--seconds", type=float, default=3600)
    options.add_argument("--beside", type=int, default=4, help="downloads at a time (4)")
    options.add_argument("--octets", type=int, default=50_000, help="the least that one has (50,000; Pareto, 1.2)")
    args = options.parse_args()
    apart.enter()
    if not soak(str(Path(args.binary).resolve()), args.seconds, args.seed, (args.beside, args.octets)):
        sys.exit(1)


if __name__ == "__main__":
    main()
