"""Peers of `slackwater upf`, `gnb` and `quic serve`, which keep them busy: for benches that end these at such a moment.

Each peer works in a thread until `ending` is set. It is active once the command has answered it. The control plane is
that of the command's tests, so what it knows of PFCP stands there.
"""

import contextlib
import os
import signal
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

sys.path.append(str(Path(__file__).resolve().parent.parent / "crates/cli/tests/upf"))

from smf import DELETION, DOWNLINK, GNB, UE, UPF, Smf, g_pdu

# The host on N6 that the UE pings, which is the function's own address there.
SERVER = "192.0.2.1"
# Pause between two messages, s.
PAUSE = 0.001
# A control plane deletes its session after so many pings, and sets up another.
LIFE = 50


def checksum(octets: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def echo(number: int, source: str, target: str) -> bytes:
    """An echo request of 84 octets (RFC 792)."""
    body = struct.pack("!BBHHH", 8, 0, 0, 1, number & 0xFFFF) + bytes(56)
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    ends = socket.inet_aton(source) + socket.inet_aton(target)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, 1, 0) + ends
    return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + body


def downlink(teid: int, packet: bytes) -> bytes:
    """A G-PDU with a downlink container of the QoS flow 9 (TS 29.281, 5.1; TS 38.415, 5.5.2.1)."""
    rest = b"\0\0\0\x85" + bytes([1, 0, 9, 0]) + packet
    return struct.pack("!BBHI", 0x34, 255, len(rest), teid) + rest


def n3(address: str) -> socket.socket:
    """The end of N3 at `address`, which does not wait."""
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind((address, 2152))
    end.setblocking(False)
    return end


def read(end: socket.socket) -> int:
    """Reads what came; how many messages that was."""
    count = 0
    with contextlib.suppress(OSError):
        while end.recv(4000):
            count += 1
    return count


class Peer(threading.Thread):
    """Who keeps a command busy."""

    # Another recovery time stamp for each: a control plane that started again (TS 29.244, 19A).
    started: ClassVar[int] = 0

    def __init__(self) -> None:
        """It begins with `start`."""
        super().__init__(daemon=True)
        Peer.started += 1
        self.active = threading.Event()
        self.ending = threading.Event()

    def heard(self, count: int) -> None:
        """The command answered so many times."""
        if count:
            self.active.set()


class Network(Peer):
    """Of `upf`: a control plane with one session after another, and a base station whose UE pings in it."""

    def run(self) -> None:
        """Until it is stopped."""
        smf, end = Smf(recovery=Peer.started), n3(GNB)
        # It is not up yet, or it is gone.
        smf.socket.settimeout(0.1)
        while not self.ending.is_set():
            with contextlib.suppress(TimeoutError, AssertionError, KeyError):
                self.session(smf, end)
        smf.socket.close()
        end.close()

    def session(self, smf: Smf, end: socket.socket) -> None:
        """An association, and sessions as long as they are answered."""
        smf.associate()
        while not self.ending.is_set():
            seid, teid = smf.establish()
            for number in range(LIFE):
                end.sendto(g_pdu(teid, echo(number, UE, SERVER)), (UPF, 2152))
                time.sleep(PAUSE)
                self.heard(read(end))
            smf.request(DELETION, b"", seid)


class Function(Peer):
    """Of `gnb`: a user plane function, whose server pings the UE."""

    def run(self) -> None:
        """Until it is stopped."""
        end, number = n3(UPF), 0
        while not self.ending.is_set():
            with contextlib.suppress(OSError):
                end.sendto(downlink(DOWNLINK, echo(number, SERVER, UE)), (GNB, 2152))
            number += 1
            time.sleep(PAUSE)
            self.heard(read(end))
        end.close()


class Downloads(Peer):
    """Of `quic serve`: two clients that download without end."""

    # Octets over the loopback by which both are known to have some.
    BUSY = 1_000_000

    def __init__(self, binary: str) -> None:
        """Clients are processes of `binary`."""
        super().__init__()
        words = [binary, "quic", "get", "127.0.0.1", "--seconds", "600", "--connect-timeout", "50 s"]
        self.words = words

    @staticmethod
    def carried() -> int:
        """Octets that the loopback received (proc_net(5))."""
        lines = Path("/proc/net/dev").read_text().splitlines()
        return next(int(line.split(":")[1].split()[0]) for line in lines if line.strip().startswith("lo:"))

    def run(self) -> None:
        """Until it is stopped."""
        begun = self.carried()
        null = os.open(os.devnull, os.O_RDWR)
        streams = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in range(3)]
        clients = [os.posix_spawn(self.words[0], self.words, os.environ, file_actions=streams) for _ in range(2)]
        os.close(null)
        while not self.ending.is_set():
            self.heard(self.carried() - begun >= self.BUSY)
            time.sleep(PAUSE)
        for client in clients:
            # The bench collects them where they have ended already.
            with contextlib.suppress(ProcessLookupError):
                os.kill(client, signal.SIGKILL)
