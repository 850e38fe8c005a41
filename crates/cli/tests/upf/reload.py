"""Changes the file under the function and sends SIGHUP, while a session of an SMF goes on.

What it finds goes to standard output as one JSON object.
"""

import json
import os
import signal
import socket
import subprocess
import sys

from smf import GNB, UPF, Smf, g_pdu, payload_of, sessions, start, turned

COMMAND, CONFIG = sys.argv[1:3]

SESSION = """
[[session]]
ue = "10.60.0.7"
teid = {teid}
gnb = "127.0.0.2"
gnb_teid = 0x77
ambr_down = "{ambr}"
"""


def both_ways(n3: socket.socket, ue: str, uplink: int) -> bool:
    """A packet to the UE, and its answer back."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.settimeout(10)
        server.bind(("0.0.0.0", 5000))
        server.sendto(b"question", (ue, 7000))
        n3.sendto(g_pdu(uplink, turned(payload_of(n3.recv(2000)))), (UPF, 2152))
        return server.recv(2000) == b"question"


def main() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    n3 = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    n3.bind((GNB, 2152))
    n3.settimeout(10)
    least, log, found = open(CONFIG).read(), [], {"said": [], "sessions": [], "passed": []}
    upf = start(COMMAND, CONFIG, log, "--log", "json")

    def reload(text: str) -> None:
        """Writes the file, and waits for the line that says what became of it."""
        with open(CONFIG + ".new", "w") as file:
            file.write(text)
        os.replace(CONFIG + ".new", CONFIG)
        upf.send_signal(signal.SIGHUP)
        while True:
            line = upf.stderr.readline()
            assert line, "the function ended"
            log.append(line)
            if "reloaded" in line:
                break
        found["said"].append(json.loads(line))
        found["sessions"].append(sorted(s["ue"]["v4"] for s in sessions()))

    try:
        smf = Smf(recovery=1)
        smf.associate()
        _, uplink = smf.establish()
        reload(least + '[functions]\nvaqm = "off"\n' + SESSION.format(teid=0x71, ambr="10 Mbit/s"))
        found["vaqm"] = [s["vaqm"] for s in sessions()]
        found["passed"] += [both_ways(n3, "10.60.0.1", uplink), both_ways(n3, "10.60.0.7", 0x71)]
        # What needs a restart, what is no file, and the tunnel of the other session: refused whole.
        reload(least.replace("[n6]", "port = 2153\n[n6]"))
        reload("[n3]\n")
        reload(least + SESSION.format(teid=uplink, ambr="10 Mbit/s").replace("0.7", "0.8"))
        reload(least + SESSION.format(teid=0x71, ambr="20 Mbit/s"))
        found["passed"] += [both_ways(n3, "10.60.0.1", uplink), both_ways(n3, "10.60.0.7", 0x71)]
        reload(least)
        found["passed"].append(both_ways(n3, "10.60.0.1", uplink))
    finally:
        upf.terminate()
        log += upf.stderr.readlines()
        found["code"] = upf.wait()
    found["log"] = [json.loads(line) for line in log]
    print(json.dumps(found))


main()
