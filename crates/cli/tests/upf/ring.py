"""A base station at the other end of the interface whose ring the function reads for N3.

All stand in one network namespace. The base station is this file: it sends and receives frames by the other end of a pair of veth. The
data network is a socket of the kernel, beside the function's device. What it finds goes to standard output as one JSON object.
"""

import json
import select
import signal
import socket
import struct
import subprocess
import sys
import time

from gnb import DOWNLINK, QFI, UPLINK, checksum, g_pdu, http, parse, without_tc

UPF, GNB, UE, SERVER = "198.51.100.1", "198.51.100.2", "10.60.0.1", "192.0.2.1"
MAC, GNB_MAC = (bytes.fromhex(f"0200000003{n}") for n in ("01", "02"))
COMMAND, CONFIG = sys.argv[1:3]
PATIENCE = 30.0


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def filters() -> int:
    """Programs behind the ring of N3's interface."""
    words = ["tc", "filter", "show", "dev", "n3", "ingress"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.count("bytecode")


def ipv4(source: str, target: str, payload: bytes, fragment: int = 0) -> bytes:
    """RFC 791; `fragment` is the word with flags and offset."""
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 7, fragment, 64, 17, 0)
    head += socket.inet_aton(source) + socket.inet_aton(target)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def udp(source: str, target: str, ports: tuple[int, int], payload: bytes) -> bytes:
    """A UDP datagram with its checksum (RFC 768)."""
    length = 8 + len(payload)
    pseudo = socket.inet_aton(source) + socket.inet_aton(target) + struct.pack("!HH", 17, length)
    head = struct.pack("!HHH", *ports, length)
    return head + struct.pack("!H", checksum(pseudo + head + b"\0\0" + payload) or 0xFFFF) + payload


def up(payload: bytes) -> bytes:
    """A G-PDU with a packet of the UE for the server."""
    return g_pdu(UPLINK, ipv4(UE, SERVER, udp(UE, SERVER, (7000, 5000), payload)))


def outer(message: bytes) -> bytes:
    return udp(GNB, UPF, (2152, 2152), message)


class Station:
    """The other end of the link."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        # Frames have a virtio header in front (linux/if_packet.h, PACKET_VNET_HDR; none of our own comes back).
        for option in (15, 23):
            self.socket.setsockopt(263, option, 1)
        self.socket.bind(("ran", 3))

    def send(self, packet: bytes, vnet: bytes = bytes(10)) -> None:
        self.socket.send(vnet + MAC + GNB_MAC + struct.pack("!H", 0x0800) + packet)

    def receive(self) -> bytes:
        """The next GTP-U message for this station."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if not select.select([self.socket], [], [], 0.2)[0]:
                continue
            frame = self.socket.recv(70_000)[10:]
            if frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[30:34] == socket.inet_aton(GNB):
                return frame[14 + 28 :]
        raise TimeoutError


def start(config: str) -> subprocess.Popen:
    upf = subprocess.Popen([COMMAND, "upf", "--config", config], stderr=subprocess.PIPE, text=True)
    line = upf.stderr.readline()
    assert "listening" in line, line + upf.stderr.read()
    return upf


def main() -> None:
    ip("link", "set", "lo", "up")
    ip("link", "add", "n3", "address", MAC.hex(":"), "type", "veth", "peer", "name", "ran", "address", GNB_MAC.hex(":"))
    for device in ("n3", "ran"):
        ip("link", "set", device, "up")
    ip("addr", "add", f"{UPF}/24", "dev", "n3")
    ip("neigh", "replace", GNB, "lladdr", GNB_MAC.hex(":"), "dev", "n3", "nud", "permanent")
    refused = without_tc([COMMAND, "upf", "--config", CONFIG])
    found = {"refusal": refused}
    station, upf = Station(), start(CONFIG)
    try:
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.settimeout(PATIENCE)
        server.bind((SERVER, 5000))
        found["filters"] = [filters()]

        # Up and down again, with every length.
        good = 0
        for k in range(100):
            payload = bytes([k]) * (1 + 13 * k)
            station.send(ipv4(GNB, UPF, outer(up(payload))))
            came, sender = server.recvfrom(2000)
            server.sendto(came, sender)
            pdu = parse(station.receive())
            assert (pdu["teid"], pdu["qfi"]) == (DOWNLINK, QFI), pdu
            good += came == payload and pdu["packet"][28:] == payload
        found["good"] = good

        # Three datagrams in one frame, checksum left to the card: longer than a slot of the ring (VIRTIO 1.2, 5.1.6).
        parts = [up(bytes([k]) * 1000) for k in range(3)]
        whole = outer(b"".join(parts))
        station.send(ipv4(GNB, UPF, whole), vnet=struct.pack("=BBHHHH", 1, 5, 42, len(parts[0]), 34, 6))
        found["segments"] = [server.recv(2000) == bytes([k]) * 1000 for k in range(3)]

        # A datagram in two fragments comes by the kernel, which joins them.
        payload = b"in two" * 200
        whole = outer(up(payload))
        station.send(ipv4(GNB, UPF, whole[:800], 0x2000))
        station.send(ipv4(GNB, UPF, whole[800:], 800 // 8))
        found["joined"] = server.recv(2000) == payload

        # One whose checksum is wrong does not, and the next does.
        harmed = bytearray(outer(up(b"harmed")))
        harmed[-1] ^= 1
        station.send(ipv4(GNB, UPF, bytes(harmed)))
        station.send(ipv4(GNB, UPF, outer(up(b"sound"))))
        found["next"] = server.recv(2000).decode()

        station.send(ipv4(GNB, UPF, outer(struct.pack("!BBHIHBB", 0x32, 1, 4, 0, 7, 0, 0))))
        answer = station.receive()
        found["echo"] = [answer[1], struct.unpack("!H", answer[8:10])[0]]
        status = json.loads(http("/status"))
        found["counters"], found["kernel"] = status["counters"], status["kernel"]

        # Killed, its filter stays; one without a ring hears all the same.
        upf.kill()
        upf.wait()
        found["filters"].append(filters())
        with open(CONFIG) as file:
            text = file.read()
        with open("socket.toml", "w") as file:
            file.write(text.replace('interface = "n3"\n', ""))
        upf = start("socket.toml")
        found["filters"].append(filters())
        station.send(ipv4(GNB, UPF, outer(up(b"by a socket"))))
        found["after"] = server.recv(2000).decode()
        upf.send_signal(signal.SIGTERM)
        upf.wait()
        upf = start(CONFIG)
        found["filters"].append(filters())
    finally:
        upf.send_signal(signal.SIGTERM)
        found["code"] = upf.wait()
        found["filters"].append(filters())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
