"""A session management function in few lines, written from TS 29.244 alone, for tests beside the function."""

import json
import socket
import struct
import subprocess
import urllib.request

UPF, SMF, GNB, UE = "127.0.0.1", "127.0.0.3", "127.0.0.2", "10.60.0.1"
DOWNLINK = 0x22

HEARTBEAT, SETUP, ESTABLISHMENT, MODIFICATION, DELETION = 1, 5, 50, 52, 54


def ie(kind: int, value: bytes) -> bytes:
    """An information element: type, length, value (8.1.1)."""
    return struct.pack("!HH", kind, len(value)) + value


def ies(octets: bytes) -> list[tuple[int, bytes]]:
    found = []
    while octets:
        kind, length = struct.unpack("!HH", octets[:4])
        found.append((kind, octets[4 : 4 + length]))
        octets = octets[4 + length :]
    return found


class Smf:
    """One control plane."""

    def __init__(self, recovery: int) -> None:
        self.recovery = recovery
        self.seq = 0
        self.stamp = None
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((SMF, 8805))
        self.socket.settimeout(10)

    def node(self) -> bytes:
        return ie(60, b"\0" + socket.inet_aton(SMF))

    def request(self, kind: int, body: bytes, seid: int | None = None) -> list[tuple[int, bytes]]:
        """Sends a request; the elements of its answer. Heartbeats meanwhile are answered."""
        self.seq += 1
        rest = (b"" if seid is None else struct.pack("!Q", seid)) + struct.pack("!I", self.seq << 8) + body
        flags = 0x20 | (seid is not None)
        self.socket.sendto(struct.pack("!BBH", flags, kind, len(rest)) + rest, (UPF, 8805))
        while True:
            message = self.socket.recv(4000)
            if message[1] == kind + 1:
                return ies(message[16 if message[0] & 1 else 8 :])
            self.answer(message)

    def answer(self, message: bytes) -> None:
        """A heartbeat's answer says when this node started (7.4.2)."""
        if message[1] == HEARTBEAT:
            self.stamp = struct.unpack("!I", dict(ies(message[8:]))[96])[0]
            body = message[4:8] + ie(96, struct.pack("!I", self.recovery))
            self.socket.sendto(struct.pack("!BBH", 0x20, 2, len(body)) + body, (UPF, 8805))

    def heartbeat(self) -> int:
        """Waits for one, and answers it; when the function started."""
        while True:
            message = self.socket.recv(4000)
            self.answer(message)
            if message[1] == HEARTBEAT:
                return self.stamp

    def associate(self) -> int:
        answer = dict(self.request(SETUP, self.node() + ie(96, struct.pack("!I", self.recovery))))
        assert answer[19] == b"\x01", answer
        return struct.unpack("!I", answer[96])[0]

    def establish(self, ue: str = UE, downlink: int = DOWNLINK, endpoint: int = 1) -> tuple[int, int]:
        """A session both ways, whose number here is `endpoint`; its number there and its uplink tunnel."""
        network = socket.inet_aton(ue)

        def pdr(number: int, pdi: bytes, removal: bytes) -> bytes:
            head = ie(56, struct.pack("!H", number)) + ie(29, struct.pack("!I", 100))
            tail = ie(108, struct.pack("!I", number)) + ie(109, struct.pack("!I", 1)) + ie(81, struct.pack("!I", 1))
            return ie(1, head + ie(2, pdi) + removal + tail)

        def far(number: int, parameters: bytes) -> bytes:
            return ie(3, ie(108, struct.pack("!I", number)) + ie(44, b"\x02") + ie(4, parameters))

        tunnel = ie(84, struct.pack("!HI", 0x0100, downlink) + socket.inet_aton(GNB))
        body = b"".join([
            self.node(),
            ie(57, b"\x02" + struct.pack("!Q", endpoint) + socket.inet_aton(SMF)),
            pdr(1, ie(20, b"\0") + ie(21, b"\x05") + ie(93, b"\x02" + network), ie(95, b"\0")),
            pdr(2, ie(20, b"\x01") + ie(93, b"\x06" + network), b""),
            far(1, ie(42, b"\x01")),
            far(2, ie(42, b"\0") + tunnel),
            ie(7, ie(109, struct.pack("!I", 1)) + ie(25, b"\0") + ie(124, b"\x09")),
            # Volume, at no trigger: it is read at the end.
            ie(6, ie(81, struct.pack("!I", 1)) + ie(62, b"\x02") + ie(37, b"\0\0")),
        ])
        answer = self.request(ESTABLISHMENT, body, 0)
        said = dict(answer)
        assert said[19] == b"\x01", answer
        created = dict(ies(said[8]))
        return struct.unpack("!Q", said[57][1:9])[0], struct.unpack("!I", created[21][1:5])[0]


def start(command: str, config: str, log, *more: str) -> subprocess.Popen:
    """The function, once it says that everything is open."""
    upf = subprocess.Popen([command, "upf", "--config", config, *more], stderr=subprocess.PIPE, text=True)
    while True:
        line = upf.stderr.readline()
        log.append(line)
        assert line, "the function ended: " + "".join(log)
        if "listening" in line:
            return upf


def http(path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:9805{path}", timeout=20) as answer:
        return answer.read().decode()


def sessions() -> list[dict]:
    return json.loads(http("/sessions"))


def g_pdu(teid: int, packet: bytes) -> bytes:
    """A G-PDU with an uplink PDU session container of QFI 9 (TS 38.415)."""
    rest = b"\0\0\0\x85" + bytes([1, 0x10, 9, 0]) + packet
    return struct.pack("!BBHI", 0x34, 255, len(rest), teid) + rest


def payload_of(message: bytes) -> bytes:
    """The packet in a G-PDU with at most one extension header."""
    assert message[1] == 255, message.hex()
    if not message[0] & 4:
        return message[8:]
    return message[12 + 4 * message[12] :]


def turned(packet: bytes) -> bytes:
    """The UE's answer to a UDP packet: addresses and ports swapped; their sums stay."""
    return packet[:12] + packet[16:20] + packet[12:16] + packet[22:24] + packet[20:22] + packet[24:]
