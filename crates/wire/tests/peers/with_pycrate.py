"""Reads GTP-U and PFCP messages with pycrate: "gtpu HEX" or "pfcp HEX" per line in, one JSON object per line out.

"error" is pycrate's code, "fields" what it found, and "again" are the octets that it makes of its own findings, lengths
computed anew.
"""

import json
import sys

from pycrate_mobile.TS29244_PFCP import parse_PFCP
from pycrate_mobile.TS29281_GTPU import parse_GTPU

READERS = {"gtpu": parse_GTPU, "pfcp": parse_PFCP}

for line in sys.stdin:
    kind, octets = line.split()
    message, error = READERS[kind](bytes.fromhex(octets))
    fields, again = None, ""
    if message is not None:
        fields = message.get_val_d()
        message.reautomate()
        again = message.to_bytes().hex()
    print(json.dumps({"error": error, "fields": fields, "again": again}, default=lambda v: bytes(v).hex()))
