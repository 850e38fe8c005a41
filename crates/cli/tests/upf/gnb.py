"""A base station and a UE in one socket, written from TS 29.281 and TS 38.415 alone: it knows nothing of the function that it tries.

It stands in a network namespace with that function: N3 by the loopback device, N6 by the function's own device. What it finds
goes to standard output as one JSON object.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import urllib.request

UPF, GNB, UE = "127.0.0.1", "127.0.0.2", "10.60.0.1"
UPLINK, DOWNLINK, QFI = 0x11, 0x22, 5
# What comes before the command, such as a program that takes rights away.
*BEFORE, COMMAND, CONFIG = sys.argv[1:]

G_PDU, ECHO, ECHO_RESPONSE, ERROR, END_MARKER = 255, 1, 2, 26, 254


def checksum(data: bytes) -> int:
    """RFC 1071."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def g_pdu(teid: int, packet: bytes, qfi: int | None = QFI) -> bytes:
    """A G-PDU, with an uplink PDU session container (type 1) of one 4-octet unit."""
    if qfi is None:
        return struct.pack("!BBHI", 0x30, G_PDU, len(packet), teid) + packet
    extension = bytes([1, 0x10, qfi, 0])
    rest = b"\0\0\0\x85" + extension + packet
    return struct.pack("!BBHI", 0x34, G_PDU, len(rest), teid) + rest


def parse(message: bytes) -> dict:
    flags, kind, length, teid = struct.unpack("!BBHI", message[:8])
    assert flags >> 4 == 3 and len(message) == 8 + length, message.hex()
    at, qfi = 8, None
    if flags & 7:
        following, at = message[11], 12
        while following and flags & 4:
            units = message[at]
            assert units, "an extension header of no length"
            content = message[at + 1 : at + 4 * units - 1]
            if following == 0x85:
                assert content[0] >> 4 == 0, "a downlink container has type 0"
                qfi = content[1] & 0x3F
            following, at = message[at + 4 * units - 1], at + 4 * units
    return {"kind": kind, "teid": teid, "qfi": qfi, "packet": message[at:]}


def turned(packet: bytes) -> bytes:
    """The UE's answer to a UDP packet: addresses and ports swapped; their sums stay."""
    assert packet[0] == 0x45 and packet[9] == 17
    head, ports, rest = packet[:12], packet[20:24], packet[24:]
    return head + packet[16:20] + packet[12:16] + ports[2:] + ports[:2] + rest


def http(path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:9805{path}", timeout=20) as answer:
        return answer.read().decode()


def without_tc(words: list[str]) -> str:
    """What a command says in a mount namespace where `tc`, which is not looked for by PATH, is no program."""
    hide = "for f in /usr/sbin/tc /sbin/tc /usr/bin/tc /bin/tc; do [ ! -e $f ] || mount --bind /dev/null $f; done"
    command = ["unshare", "--mount", "sh", "-c", f'{hide}; exec "$@"', "sh", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr.strip()


def main() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    n3 = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    n3.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    n3.bind((GNB, 2152))
    n3.settimeout(30)
    upf = subprocess.Popen([*BEFORE, COMMAND, "upf", "--config", CONFIG], stderr=subprocess.PIPE, text=True)
    # Its first line says that everything is open.
    first = upf.stderr.readline()
    found = {"first": first.strip()}
    try:
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.settimeout(30)
        server.bind(("0.0.0.0", 5000))

        # Down and up again, a hundred times, with every length; ECT(0) inside shows outside (RFC 6040, 4.1).
        server.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x02)
        good, outer = 0, set()
        for k in range(100):
            payload = bytes([k]) * (1 + 13 * k)
            server.sendto(payload, (UE, 7000))
            message, control, _, sender = n3.recvmsg(2000, 100)
            outer |= {control[0][2][0]}
            pdu = parse(message)
            assert (pdu["kind"], pdu["teid"], pdu["qfi"]) == (G_PDU, DOWNLINK, QFI), pdu
            assert sender == (UPF, 2152), sender
            n3.sendto(g_pdu(UPLINK, turned(pdu["packet"])), (UPF, 2152))
            good += server.recv(2000) == payload
        found["good"], found["outer_tos"] = good, sorted(outer)

        # Path management and errors.
        n3.sendto(struct.pack("!BBHIHBB", 0x32, ECHO, 4, 0, 7, 0, 0), (UPF, 2152))
        answer = n3.recv(2000)
        found["echo"] = [answer[1], struct.unpack("!H", answer[8:10])[0], answer[12]]
        n3.sendto(g_pdu(0xBAD, b"\x45" + bytes(27)), (UPF, 2152))
        answer = parse(n3.recv(2000))
        found["error"] = [answer["kind"], answer["packet"][0], struct.unpack("!I", answer["packet"][1:5])[0]]

        # Nobody's address in the UE's tunnel, octets that are no message, an end marker: none of it comes out.
        stranger = turned(pdu["packet"])
        stranger = stranger[:10] + b"\0\0" + socket.inet_aton("10.60.0.9") + stranger[16:]
        stranger = stranger[:10] + struct.pack("!H", checksum(stranger[:20])) + stranger[12:]
        n3.sendto(g_pdu(UPLINK, stranger), (UPF, 2152))
        n3.sendto(os.urandom(40)[:1] + b"\xff" * 3, (UPF, 2152))
        n3.sendto(struct.pack("!BBHI", 0x30, END_MARKER, 0, UPLINK), (UPF, 2152))
        server.sendto(b"last", (UE, 7000))
        n3.sendto(g_pdu(UPLINK, turned(parse(n3.recv(2000))["packet"])), (UPF, 2152))
        found["last"] = server.recv(2000).decode()

        found["overview"] = json.loads(http("/status"))
        found["sessions"] = json.loads(http("/sessions"))
        found["metrics"] = http("/metrics")
    finally:
        upf.send_signal(signal.SIGTERM)
        found["closing"] = upf.stderr.read()
        found["code"] = upf.wait()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
