"""Kills function, base station and control plane at random with SIGKILL, and starts them again.

`slackwater upf` with a state file, `slackwater gnb` with a UE in a namespace, and an SMF in a process of its own. After each round there is
one session, pings pass through it as they were, and nothing of what was killed is left. What it finds goes to standard output as one
JSON object.
"""

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time

from smf import DELETION, GNB, UE, UPF, Smf, http, sessions, start

GNB_FILE = """
cell = "lte"
[n3]
address = ["{gnb}"]
[reports]
profile = "off"
[[ue]]
name = "alice"
address = ["{ue}"]
uplink = {{ address = "{upf}", teid = {uplink} }}
downlink = 34
qfi = [9]
"""
# What lasts longer has failed.
PATIENCE = 60.0


def control(recovery: int) -> None:
    """The control plane's process: one session, until SIGTERM, which deletes it."""

    class End(Exception):
        pass

    def end(*_) -> None:
        raise End

    smf = Smf(recovery)
    # Numbers of its former life are still answered as repeated requests.
    smf.seq = 1000 * recovery
    smf.associate()
    seid, uplink = smf.establish()
    signal.signal(signal.SIGTERM, end)
    print(json.dumps([seid, uplink]), flush=True)
    smf.socket.settimeout(None)
    try:
        while True:
            smf.answer(smf.socket.recv(4000))
    except End:
        smf.socket.settimeout(10)
        assert dict(smf.request(DELETION, b"", seid))[19] == b"\x01"


def until(done, what: str):
    """What `done` says, once it says anything."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        said = done()
        if said:
            return said
        time.sleep(0.02)
    raise AssertionError(what)


def spaces(pid: int | None = None) -> set[str]:
    """Network namespaces of threads and open files, of one process or of all."""
    found = set()
    for process in [str(pid)] if pid else filter(str.isdigit, os.listdir("/proc")):
        links = [f"/proc/{process}/ns/net"]
        for folder, end in [(f"/proc/{process}/task", "/ns/net"), (f"/proc/{process}/fd", "")]:
            try:
                links += [f"{folder}/{name}{end}" for name in os.listdir(folder)]
            except OSError:
                pass
        for link in links:
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if target.startswith("net:"):
                found.add(target)
    return found


class Network:
    def __init__(self, command: str, config: str) -> None:
        self.command, self.config, self.log = command, config, []
        self.recovery, self.session = 0, None
        self.processes: dict[str, subprocess.Popen] = {}
        self.here = os.readlink("/proc/self/ns/net")

    def start(self, name: str) -> None:
        getattr(self, f"start_{name}")()

    def start_upf(self) -> None:
        self.processes["upf"] = start(self.command, self.config, self.log)

    def start_smf(self) -> None:
        self.recovery += 1
        words = [sys.executable, __file__, "control", str(self.recovery)]
        smf = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.processes["smf"] = smf
        line = smf.stdout.readline()
        assert line, "the control plane ended"
        self.session = json.loads(line)

    def start_gnb(self) -> None:
        with open("gnb.toml", "w") as file:
            file.write(GNB_FILE.format(gnb=GNB, upf=UPF, ue=UE, uplink=self.session[1]))
        words = [self.command, "gnb", "gnb.toml", "--no-files", "--quiet", "--void-above", "100"]
        gnb = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.processes["gnb"] = gnb
        # A line for N3 and one for the UE.
        assert gnb.stderr.readline() and gnb.stderr.readline(), "the base station ended"

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        left = spaces(process.pid) - {self.here}
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: not left & spaces(), f"namespaces of {name} are left")

    def end(self, name: str) -> int:
        process = self.processes.pop(name)
        process.terminate()
        return process.wait()


def ping(icmp: socket.socket, number: int, data: bytes) -> None:
    """Data to the UE and back as it was. Radio and sockets may lose a packet, so there are some tries."""
    body = struct.pack("!HH", 0xF00D, number) + data
    words = struct.unpack(f"!{len(body) // 2}H", body)
    total = sum(words) + 0x0800
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    request = struct.pack("!BBH", 8, 0, ~total & 0xFFFF) + body
    for _ in range(30):
        icmp.sendto(request, (UE, 0))
        try:
            while True:
                answer = icmp.recv(2000)[20:]
                if answer[0] == 0 and answer[4:8] == body[:4]:
                    assert answer[8:] == data, "a packet was altered"
                    return
        except TimeoutError:
            continue
    raise AssertionError("no answer of the UE")


def main() -> None:
    rounds = int(os.environ.get("SLACKWATER_KILLS", "20"))
    chance = random.Random(1)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    icmp = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    icmp.settimeout(1)
    net = Network(*sys.argv[1:3])
    kills = {"upf": 0, "smf": 0, "gnb": 0}
    number = 0
    try:
        for name in ["upf", "smf", "gnb"]:
            net.start(name)
        for _ in range(rounds):
            before = net.session
            dead = chance.choice([["upf"], ["smf"], ["gnb"], ["upf", "smf"], ["upf", "gnb"], ["gnb", "smf", "upf"]])
            # Packets are under way.
            for _ in range(chance.randrange(20)):
                icmp.sendto(struct.pack("!BBHHH", 8, 0, 0xFFFF, 0, 0) + bytes(500), (UE, 0))
            for name in dead:
                net.kill(name)
                kills[name] += 1
            if "smf" in dead and "gnb" not in dead:
                # A new session has another tunnel.
                net.end("gnb")
            for name in ["upf", "smf", "gnb"]:
                if name not in net.processes:
                    net.start(name)
            if "smf" not in dead:
                assert net.session == before
            ours = f"{net.session[0]:#x}"
            until(lambda ours=ours: [s["seid"] for s in sessions()] == [ours], "not the one session")
            for _ in range(3):
                number += 1
                ping(icmp, number & 0xFFFF, chance.randbytes(2 * chance.randrange(600)))
        counters = json.loads(http("/status"))["counters"]
        found = {"kills": kills, "pings": number, "malformed": counters["malformed_ip"] + counters["malformed_gtpu"]}
        net.end("gnb")
        found["deleted"] = net.end("smf")
        status = json.loads(http("/status"))
        found["left"] = [status["sessions"], status["held_bytes"]]
        found["code"] = net.end("upf")
        # The device went with it, and the state file holds no session.
        links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
        found["links"] = [line.split(": ")[1] for line in links.splitlines()]
        net.start("upf")
        found["kept"] = len(sessions())
        net.end("upf")
    finally:
        for process in net.processes.values():
            process.kill()
            process.wait()
    print(json.dumps(found))


if sys.argv[1] == "control":
    control(int(sys.argv[2]))
else:
    main()
