"""Downloads a file from `slackwater quic serve` with aioquic, a QUIC stack that shares no line with quinn.

    with_aioquic.py ADDRESS PORT FILE OUT [--counts]

aioquic reads no ECN field and reports no counts. With --counts this script reads the field of each datagram and writes
the counts into aioquic's acknowledgments (RFC 9000, 19.3.2). It uses members that aioquic calls private, which is why
pyproject.toml names its version. One line of JSON tells what came: bytes, their SHA-256 and the certificate's,
datagrams by their ECN field.
"""

import argparse
import hashlib
import json
import socket
import ssl
import time
from pathlib import Path

from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet import QuicFrameType, push_ack_frame
from aioquic.quic.rangeset import RangeSet
from cryptography.hazmat.primitives import hashes

# The codepoints of RFC 3168, 5.
ECT1, ECT0, CE = 1, 2, 3
# A frame's type, four integers of 8 bytes and, in ours, three more.
ACK_CAPACITY = 1 + 4 * 8
COUNTS_CAPACITY = 3 * 8
# Nothing comes for so long: the server is gone.
IDLE = 15.0


class Counted(RangeSet):
    """The received packets of a number space, and how many came with each mark."""

    def __init__(self, connection: "Counting") -> None:
        super().__init__()
        self.connection = connection
        self.counts = {ECT0: 0, ECT1: 0, CE: 0}

    def add(self, start: int, stop: int | None = None) -> None:
        super().add(start, stop)
        # Each packet is added once: aioquic passes over what it has seen.
        if self.connection.mark in self.counts:
            self.counts[self.connection.mark] += 1


class Counting(QuicConnection):
    """A connection whose acknowledgments tell counts of ECN."""

    mark = 0

    def _initialize(self, peer_cid: bytes) -> None:
        super()._initialize(peer_cid)
        for space in self._spaces.values():
            space.ack_queue = Counted(self)

    def _write_ack_frame(self, builder, space, now) -> None:  # noqa: ANN001
        delay = int((now - space.largest_received_time) * 1_000_000) >> self._local_ack_delay_exponent
        buf = builder.start_frame(
            QuicFrameType.ACK_ECN,
            capacity=ACK_CAPACITY + COUNTS_CAPACITY,
            handler=self._on_ack_delivery,
            handler_args=(space, space.largest_received_packet),
        )
        push_ack_frame(buf, space.ack_queue, delay, builder.remaining_buffer_space - COUNTS_CAPACITY)
        for mark in (ECT0, ECT1, CE):
            buf.push_uint_var(space.ack_queue.counts[mark])
        space.ack_at = None


def tos_of(ancillary: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in ancillary:
        if (level, kind) == (socket.IPPROTO_IP, socket.IP_TOS):
            return data[0]
    return 0


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("address")
    words.add_argument("port", type=int)
    words.add_argument("file")
    words.add_argument("out", type=Path)
    words.add_argument("--counts", action="store_true")
    args = words.parse_args()

    # The server signs its certificate itself; the test compares its fingerprint.
    config = QuicConfiguration(
        alpn_protocols=["slackwater-file/1"], is_client=True, server_name="slackwater", verify_mode=ssl.CERT_NONE
    )
    kind = Counting if args.counts else QuicConnection
    connection = kind(configuration=config)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    # A burst waits here while Python works.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    server = (args.address, args.port)
    connection.connect(server, now=time.monotonic())

    seen = {0: 0, ECT1: 0, ECT0: 0, CE: 0}
    head, announced, length, digest = b"", None, 0, hashlib.sha256()
    certificate = None
    last, over = time.monotonic(), False
    with args.out.open("wb") as out:
        while not over:
            for data, to in connection.datagrams_to_send(now=time.monotonic()):
                sock.sendto(data, to)
            timer = connection.get_timer()
            wait = IDLE if timer is None else max(timer - time.monotonic(), 0.0)
            # Zero would make the socket one that does not block.
            sock.settimeout(max(wait, 0.000_1))
            try:
                data, ancillary, _, source = sock.recvmsg(65_536, 256)
            except (TimeoutError, ConnectionRefusedError):
                connection.handle_timer(now=time.monotonic())
                if time.monotonic() - last > IDLE:
                    raise SystemExit("nothing came for 15 s") from None
            else:
                last = time.monotonic()
                mark = tos_of(ancillary) & 3
                seen[mark] += 1
                connection.mark = mark
                connection.receive_datagram(data, source, now=last)

            while (event := connection.next_event()) is not None:
                if isinstance(event, events.HandshakeCompleted):
                    certificate = connection.tls._peer_certificate.fingerprint(hashes.SHA256()).hex()
                    stream = connection.get_next_available_stream_id()
                    connection.send_stream_data(stream, f"FILE {args.file}\n".encode(), end_stream=True)
                elif isinstance(event, events.StreamDataReceived):
                    data = event.data
                    if announced is None:
                        head += data
                        line, found, data = head.partition(b"\n")
                        if not found:
                            continue
                        word, _, rest = line.decode().partition(" ")
                        if word != "OK":
                            raise SystemExit(f"the server says {line!r}")
                        announced = int(rest)
                    out.write(data)
                    digest.update(data)
                    length += len(data)
                    if event.end_stream:
                        # Its datagram carries the acknowledgment of the last bytes.
                        connection.send_ping(1)
                elif isinstance(event, events.PingAcknowledged):
                    connection.close()
                    over = True
                elif isinstance(event, events.ConnectionTerminated):
                    raise SystemExit(f"{event.reason_phrase} ({event.error_code})")
    for data, to in connection.datagrams_to_send(now=time.monotonic()):
        sock.sendto(data, to)
    print(
        json.dumps(
            {
                "announced": announced,
                "bytes": length,
                "sha256": digest.hexdigest(),
                "certificate": certificate,
                "not_ect": seen[0],
                "ect0": seen[ECT0],
                "ect1": seen[ECT1],
                "ce": seen[CE],
            }
        )
    )


if __name__ == "__main__":
    main()
