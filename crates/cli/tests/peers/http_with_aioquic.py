"""Requests to `slackwater quic serve` over HTTP/3 with aioquic, which shares no line with quinn and h3.

    http_with_aioquic.py ADDRESS PORT FOLDER METHOD:PATH...

The requests go one after the other on one connection, as they are written: aioquic changes no path. The body of the first answer goes
to FOLDER/0, and so on. One line of JSON tells of each answer (status, headers, bytes) and of all datagrams by their ECN field. The
connection reports counts of ECN (see with_aioquic.py).
"""

import json
import socket
import ssl
import sys
import time
from pathlib import Path

from aioquic.h3 import events as http
from aioquic.h3.connection import H3_ALPN, H3Connection, H3Stream
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from cryptography.hazmat.primitives import hashes

from with_aioquic import CE, ECT0, ECT1, IDLE, Counting, tos_of


class Answer:
    def __init__(self, out: Path) -> None:
        self.status = None
        self.headers: dict[str, str] = {}
        self.bytes = 0
        self.out = out.open("wb")

    def take(self, event: http.H3Event) -> bool:
        """Whether that was the end."""
        if isinstance(event, http.HeadersReceived):
            for name, value in event.headers:
                if name == b":status":
                    self.status = int(value)
                else:
                    self.headers[name.decode()] = value.decode()
        elif isinstance(event, http.DataReceived):
            self.bytes += len(event.data)
            self.out.write(event.data)
        else:
            return False
        if event.stream_ended:
            self.out.close()
        return event.stream_ended


class Http(H3Connection):
    """aioquic holds an answer to HEAD malformed, whose length has no data behind it; it is not (RFC 9114, 4.1.2)."""

    def __init__(self, quic: Counting) -> None:
        super().__init__(quic)
        self.heads: set[int] = set()

    def _check_content_length(self, stream: H3Stream) -> None:
        if stream.stream_id in self.heads:
            assert stream.content_length == 0, "an answer to HEAD has data"
        else:
            super()._check_content_length(stream)


class Client:
    def __init__(self, server: tuple[str, int], folder: Path, wanted: list[str]) -> None:
        self.server, self.folder = server, folder
        self.wanted = [request.split(":", 1) for request in wanted]
        config = QuicConfiguration(
            alpn_protocols=H3_ALPN, is_client=True, server_name="slackwater", verify_mode=ssl.CERT_NONE
        )
        self.quic = Counting(configuration=config)
        self.http: Http | None = None
        self.answers: list[Answer] = []
        self.certificate: str | None = None
        self.whole = self.over = False
        self.seen = {0: 0, ECT1: 0, ECT0: 0, CE: 0}

    def ask(self) -> None:
        """The next request, or a ping: after its last transfer the server ends it all."""
        assert self.http is not None
        if len(self.answers) == len(self.wanted):
            # Its datagram carries the acknowledgment of the last bytes. A close of ours could overtake what the server's task sees of it.
            self.quic.send_ping(1)
            self.whole = True
            return
        method, path = self.wanted[len(self.answers)]
        self.answers.append(Answer(self.folder / str(len(self.answers))))
        headers = [
            (b":method", method.encode()),
            (b":scheme", b"https"),
            (b":authority", b"slackwater"),
            (b":path", path.encode()),
        ]
        stream = self.quic.get_next_available_stream_id()
        if method == "HEAD":
            self.http.heads.add(stream)
        self.http.send_headers(stream, headers, end_stream=True)

    def take(self, event: events.QuicEvent) -> None:
        if isinstance(event, events.HandshakeCompleted):
            self.certificate = self.quic.tls._peer_certificate.fingerprint(hashes.SHA256()).hex()
            self.http = Http(self.quic)
            self.ask()
        elif isinstance(event, events.ConnectionTerminated):
            if self.whole:
                # The server knows that all has arrived, and ends.
                self.over = True
                return
            raise SystemExit(f"{event.reason_phrase} ({event.error_code})")
        if self.http is None:
            return
        for message in self.http.handle_event(event):
            if self.answers[-1].take(message):
                self.ask()

    def run(self) -> None:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        # A burst waits here while Python works.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.quic.connect(self.server, now=time.monotonic())
        last = time.monotonic()
        while not self.over:
            for data, to in self.quic.datagrams_to_send(now=time.monotonic()):
                sock.sendto(data, to)
            timer = self.quic.get_timer()
            wait = IDLE if timer is None else timer - time.monotonic()
            # Zero would make the socket one that does not block.
            sock.settimeout(max(wait, 0.000_1))
            try:
                data, ancillary, _, source = sock.recvmsg(65_536, 256)
            except (TimeoutError, ConnectionRefusedError):
                self.quic.handle_timer(now=time.monotonic())
                if time.monotonic() - last > IDLE:
                    raise SystemExit("nothing came for 15 s") from None
            else:
                last = time.monotonic()
                self.quic.mark = tos_of(ancillary) & 3
                self.seen[self.quic.mark] += 1
                self.quic.receive_datagram(data, source, now=last)
            while (event := self.quic.next_event()) is not None:
                self.take(event)
        for data, to in self.quic.datagrams_to_send(now=time.monotonic()):
            sock.sendto(data, to)


def main() -> None:
    address, port, folder, *wanted = sys.argv[1:]
    client = Client((address, int(port)), Path(folder), wanted)
    client.run()
    answers = [{"status": a.status, "headers": a.headers, "bytes": a.bytes} for a in client.answers]
    seen = client.seen
    counts = {"not_ect": seen[0], "ect0": seen[ECT0], "ect1": seen[ECT1], "ce": seen[CE]}
    print(json.dumps({"answers": answers, "certificate": client.certificate, **counts}))


main()
