"""Reads GTP-U and PFCP messages with scapy: "gtpu HEX" or "pfcp HEX" per line in, one JSON object per line out.

"layers" are the layers' names, "fields" what scapy found in them, and "again" are the octets that scapy makes of its
own findings, lengths and padding computed anew.
"""

import json
import sys

from scapy.contrib.gtp import GTP_U_Header
from scapy.contrib.pfcp import PFCP
from scapy.packet import NoPayload, Packet

READERS = {"gtpu": GTP_U_Header, "pfcp": PFCP}


def plain(value: object) -> object:
    """The value as JSON has it."""
    if isinstance(value, Packet):
        return {"layer": value.name} | {name: plain(v) for name, v in value.fields.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, int | str) or value is None else str(value)


def forget(packet: Packet) -> None:
    """Makes scapy compute lengths and octets anew."""
    while not isinstance(packet, NoPayload):
        packet.raw_packet_cache = None
        # The length of a GSN address is a field like others to scapy: it says which kind of address follows.
        if packet.name != "GSN Address":
            for name in ("length", "ExtHdrLen", "padding"):
                packet.fields.pop(name, None)
        for inner in packet.fields.get("IE_list") or []:
            forget(inner)
        packet = packet.payload


for line in sys.stdin:
    kind, octets = line.split()
    packet = READERS[kind](bytes.fromhex(octets))
    layers, fields, layer = [], [], packet
    while not isinstance(layer, NoPayload):
        layers.append(layer.name)
        fields.append(plain(layer))
        layer = layer.payload
    forget(packet)
    print(json.dumps({"layers": layers, "fields": fields, "again": bytes(packet).hex()}))
