"""A flood for one UE by N6, and packets for another at a steady pace: what of these arrives, and what the function's memory does.

All stand in one network namespace: N3 by the loopback device, N6 by the function's own device. The flood is a process of its own, which
sends many times what the session's AMBR lets pass, at a pace that a machine of the tests can carry: what the kernel drops in front of
the function is counted apart. What is found goes to standard output as one JSON object.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from gnb import GNB, http, parse

FLOODED, OTHER = "10.60.0.1", "10.60.0.2"
# By tunnel (upf.toml): the flooded session's, the other's.
TUNNELS = (0x22, 0x24)
OCTETS = 1_200
# Packets a second of the flood, and of the other session; packets of the other session.
FLOOD, PACE, COUNT = 10_000, 500, 1_500
COMMAND, CONFIG = sys.argv[1:3]


def send(to: str, rate: int, count: int | None) -> None:
    """`count` packets, or without end, at `rate`: those that are due leave together each 2 ms."""
    n6, begun, sent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), time.monotonic(), 0
    while count is None or sent < count:
        due = min(int((time.monotonic() - begun) * rate) + 1, sent + 100, count or sys.maxsize)
        for _ in range(due - sent):
            n6.sendto(bytes(OCTETS), (to, 7000))
        sent = max(due, sent)
        time.sleep(0.002)


def memory(pid: int, name: str) -> int:
    """In KiB (proc_pid_status(5))."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def main() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    n3 = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # SO_RCVBUFFORCE: what arrives waits for a Python program.
    n3.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)
    n3.bind((GNB, 2152))
    arrived = dict.fromkeys(TUNNELS, 0)

    def count() -> None:
        while True:
            arrived[parse(n3.recv(4000))["teid"]] += 1

    threading.Thread(target=count, daemon=True).start()
    upf = subprocess.Popen([COMMAND, "upf", "--config", CONFIG], stderr=subprocess.PIPE, text=True)
    try:
        found = measure(upf, arrived)
    finally:
        upf.kill()
        upf.wait()
    print(json.dumps(found))


def measure(upf: subprocess.Popen, arrived: dict) -> dict:
    found = {"first": upf.stderr.readline().strip()}
    before = memory(upf.pid, "VmRSS")
    flood = os.fork()
    if flood == 0:
        send(FLOODED, FLOOD, None)
    begun = time.monotonic()
    try:
        send(OTHER, PACE, COUNT)
    finally:
        os.kill(flood, signal.SIGKILL)
        os.waitpid(flood, 0)
    # What the function had got is out when its counters say so.
    while sum(arrived.values()) < (counters := json.loads(http("/status"))["counters"])["n3_out"]:
        time.sleep(0.01)
    seconds = time.monotonic() - begun
    # /proc/net/dev: eight counters of what came, then bytes, packets, errors and drops of what left.
    device = next(line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("upf0:"))
    found |= {
        "sent": COUNT,
        "arrived": arrived[TUNNELS[1]],
        "flooded": counters["n6_in"] - COUNT,
        "passed_mbps": arrived[TUNNELS[0]] * (OCTETS + 28) * 8e-6 / seconds,
        "queue_dropped": counters["queue_dropped"],
        "dropped_by_kernel": int(device.split(":")[1].split()[11]),
        "grown_kib": memory(upf.pid, "VmHWM") - before,
    }
    upf.send_signal(signal.SIGTERM)
    found["code"] = upf.wait(30)
    return found


main()
