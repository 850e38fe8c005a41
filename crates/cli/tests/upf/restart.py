"""Kills the function with SIGKILL and starts it again, as an SMF, a gNB and a server that go on.

What it finds goes to standard output as one JSON object.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time

from smf import GNB, UE, UPF, Smf, g_pdu, http, payload_of, sessions, start, turned

COMMAND, CONFIG = sys.argv[1:3]


def both_ways(n3: socket.socket, uplink: int) -> bool:
    """A packet to the UE, and its answer back."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.settimeout(10)
    server.bind(("0.0.0.0", 5000))
    server.sendto(b"question", (UE, 7000))
    packet = payload_of(n3.recv(2000))
    n3.sendto(g_pdu(uplink, turned(packet)), (UPF, 2152))
    came = server.recv(2000)
    server.close()
    return came == b"question"


def killed(upf: subprocess.Popen) -> None:
    upf.send_signal(signal.SIGKILL)
    upf.wait()


def main() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    n3 = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    n3.bind((GNB, 2152))
    n3.settimeout(10)
    smf, log = Smf(recovery=1000), []
    found = {"stamps": [], "tunnels": [], "passed": [], "sessions": []}
    upf = start(COMMAND, CONFIG, log)
    try:
        found["stamps"].append(smf.associate())
        _, uplink = smf.establish()
        found["tunnels"].append(uplink)
        found["passed"].append(both_ways(n3, uplink))
        found["mode"] = os.stat("upf.state").st_mode & 0o777

        # The control plane has not started again: all goes on. A second later, so that another time stamp would differ.
        killed(upf)
        time.sleep(1.1)
        upf = start(COMMAND, CONFIG, log)
        found["stamps"].append(smf.heartbeat())
        found["tunnels"].append(uplink)
        found["passed"].append(both_ways(n3, uplink))
        found["sessions"].append(len(sessions()))

        # It has: its sessions are gone.
        killed(upf)
        smf.recovery += 1
        upf = start(COMMAND, CONFIG, log)
        smf.heartbeat()
        for _ in range(100):
            if not sessions():
                break
            time.sleep(0.02)
        found["sessions"].append(len(sessions()))

        # A file with an octet changed.
        smf.associate()
        smf.establish()
        killed(upf)
        octets = bytearray(open("upf.state", "rb").read())
        octets[100] ^= 1
        open("upf.state", "wb").write(octets)
        upf = start(COMMAND, CONFIG, log)
        found["stamps"].append(smf.associate())
        assert not sessions() and "sessions 0" in http("/metrics")
    finally:
        upf.terminate()
        upf.wait()
        found["said"] = "".join(log)
    print(json.dumps(found))


main()
