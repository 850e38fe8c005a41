"""A base station, and the router of a data network at the other end of the interface that the function has for N6.

All stand in one network namespace: N3 by the loopback device, N6 by a pair of veth. The router is this file, which answers ARP by
RFC 826 and otherwise sends and receives frames. What it finds goes to standard output as one JSON object.
"""

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from gnb import DOWNLINK, UPLINK, UPF, checksum, g_pdu, http, parse, turned, without_tc

GNB, UE, STRANGER, SERVER = "127.0.0.2", "10.60.0.1", "10.61.0.1", "203.0.113.7"
OWN, ROUTER = "192.0.2.1", "192.0.2.254"
MAC, ROUTER_MAC, OTHER_MAC = (bytes.fromhex(f"0200000006{n}") for n in ("01", "fe", "77"))
COMMAND, CONFIG = sys.argv[1:3]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def ipv4(target: str, payload: bytes, protocol: int) -> bytes:
    """From the server to a UE (RFC 791)."""
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0)
    head += socket.inet_aton(SERVER) + socket.inet_aton(target)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def udp(payload: bytes) -> bytes:
    """Without a checksum, as RFC 768 allows over IPv4."""
    return struct.pack("!HHHH", 5000, 7000, 8 + len(payload), 0) + payload


def segment(number: int, data: bytes) -> bytes:
    """A segment of TCP that goes up (RFC 9293, 3.1)."""
    tcp = struct.pack("!HHIIBBHHH", 5000, 7000, number, 1, 0x50, 0x10, 1000, 0, 0) + data
    pseudo = socket.inet_aton(SERVER) + socket.inet_aton(UE) + struct.pack("!HH", 6, len(tcp))
    down = ipv4(UE, tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:], 6)
    # Addresses swapped; their sums stay.
    return down[:12] + down[16:20] + down[12:16] + down[20:]


def filters() -> int:
    """Programs behind the ring of N6's interface."""
    words = ["tc", "filter", "show", "dev", "n6", "ingress"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.count("bytecode")


class Router:
    """The other end of the link."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        # Frames have a virtio header in front (linux/if_packet.h, PACKET_VNET_HDR; none of our own comes back).
        for option in (15, 23):
            self.socket.setsockopt(263, option, 1)
        self.socket.bind(("dn", 3))
        self.arps = 0
        self.vnet = b""

    def send(self, packet: bytes, to: bytes = MAC, vnet: bytes = bytes(10), kind: int = 0x0800) -> None:
        self.socket.send(vnet + to + ROUTER_MAC + struct.pack("!H", kind) + packet)

    def answer(self) -> bytes | None:
        """Reads a frame; what it carries, where that is IP for this router. Its virtio header is in `vnet`."""
        octets = self.socket.recv(70_000)
        self.vnet, frame = octets[:10], octets[10:]
        kind = struct.unpack("!H", frame[12:14])[0]
        if kind == 0x0806 and frame[14:22] == struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) and frame[38:42] == socket.inet_aton(ROUTER):
            self.arps += 1
            who = frame[22:32]
            self.send(frame[14:20] + b"\0\2" + ROUTER_MAC + socket.inet_aton(ROUTER) + who, who[:6], kind=0x0806)
        if kind == 0x0800 and frame[:6] == ROUTER_MAC and frame[26:30] == socket.inet_aton(UE):
            assert frame[6:12] == MAC, frame.hex()
            return frame[14:]
        return None

    def receive(self, seconds: float = 30) -> bytes:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if select.select([self.socket], [], [], 0.2)[0] and (packet := self.answer()) is not None:
                return packet
        raise TimeoutError


def main() -> None:
    ip("link", "set", "lo", "up")
    ip("link", "add", "n6", "address", MAC.hex(":"), "type", "veth", "peer", "name", "dn", "address", ROUTER_MAC.hex(":"))
    for device in ("n6", "dn"):
        ip("link", "set", device, "up")
    forwarding = Path("/proc/sys/net/ipv4/conf/n6/forwarding")
    forwarding.write_text("1")
    refused = without_tc([COMMAND, "upf", "--config", CONFIG])
    ip("addr", "add", f"{OWN}/24", "dev", "n6")
    found = {"refusal": refused}
    n3 = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    n3.bind((GNB, 2152))
    n3.settimeout(30)
    router = Router()
    upf = subprocess.Popen([COMMAND, "upf", "--config", CONFIG], stderr=subprocess.PIPE, text=True)
    found["first"] = upf.stderr.readline().strip()
    try:
        # Up, until the function knows who the router is; then down and up again with every length.
        first = ipv4(UE, udp(b"first"), 17)
        answer = None
        while answer is None:
            n3.sendto(g_pdu(UPLINK, turned(first)), (UPF, 2152))
            try:
                answer = router.receive(0.5)
            except TimeoutError:
                assert upf.poll() is None, "the function has ended"
        assert answer == turned(first)
        assert router.arps > 0
        good = 0
        for k in range(100):
            packet = ipv4(UE, udp(bytes([k]) * (1 + 14 * k)), 17)
            router.send(packet)
            pdu = parse(n3.recv(4000))
            assert (pdu["teid"], pdu["packet"]) == (DOWNLINK, packet), pdu
            n3.sendto(g_pdu(UPLINK, turned(packet)), (UPF, 2152))
            answer = router.receive()
            # Frames of Ethernet have 60 octets at least; veth adds none.
            good += answer == turned(packet)
        found["good"] = good

        found["filters"] = [filters()]

        # What is not for UEs, or not for this host, is none of the function's.
        router.send(ipv4(STRANGER, udp(b"elsewhere"), 17))
        router.send(ipv4(UE, udp(b"of others"), 17), OTHER_MAC)

        # Ten segments in one frame, checksum left to the card: longer than a slot of the ring.
        data = bytes(range(250)) * 40
        tcp = struct.pack("!HHIIBBHHH", 5000, 7000, 1000, 1, 0x50, 0x10, 1000, 0, 0)
        vnet = struct.pack("=BBHHHH", 1, 1, 54, 1000, 34, 16)
        router.send(ipv4(UE, tcp + data, 6), vnet=vnet)
        parts, numbers = b"", []
        while len(parts) < len(data):
            packet = parse(n3.recv(4000))["packet"]
            assert packet[9] == 6, packet.hex()
            numbers.append(struct.unpack("!I", packet[24:28])[0])
            pseudo = packet[12:20] + struct.pack("!HH", 6, len(packet) - 20)
            assert checksum(pseudo + packet[20:]) == 0, packet.hex()
            parts += packet[40:]
        found["segments"] = numbers
        found["data"] = parts == data

        # The other way, ten segments that the function finds together leave as one; the next was damaged, and leaves as it came.
        upf.send_signal(signal.SIGSTOP)
        os.waitpid(upf.pid, os.WUNTRACED)
        sent = [segment(1000 + k, data[k : k + 1000]) for k in range(0, 11_000, 1000)]
        sent[10] = segment(11_000, bytes(1000))[:-1] + b"1"
        for packet in sent:
            n3.sendto(g_pdu(UPLINK, packet), (UPF, 2152))
        upf.send_signal(signal.SIGCONT)
        up = router.receive()
        # VIRTIO 1.2, 5.1.6: the kind of super-packet, and octets of each segment but the last.
        found["joined"] = [router.vnet[1], *struct.unpack("=H", router.vnet[4:6]), up[40:] == data]
        found["damaged"] = router.receive() == sent[10]
        found["overview"] = json.loads(http("/status"))
    finally:
        upf.send_signal(signal.SIGTERM)
        found["closing"] = upf.stderr.read()
        found["code"] = upf.wait()
        found["filters"].append(filters())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
