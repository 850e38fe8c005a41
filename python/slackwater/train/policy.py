"""Policy files: safetensors, written and read by hand (the format is a JSON header and the bytes)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Weights = npt.NDArray[np.float32]

HIDDEN = 16
INPUTS = 5
FEATURES = 14
TANH = 8
ACTIONS = {"L0": 23, "L": 22, "F": 40, "sym": 13}


@dataclass(frozen=True)
class PolicyFile:
    """Tensors and metadata of a policy."""

    tensors: dict[str, Weights]
    metadata: dict[str, str] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The file; the same tensors and metadata give the same bytes."""
        header: dict[str, object] = {"__metadata__": dict(sorted(self.metadata.items()))}
        blobs = []
        end = 0
        for name in sorted(self.tensors):
            blob = np.ascontiguousarray(self.tensors[name], dtype="<f4")
            start, end = end, end + blob.nbytes
            header[name] = {"dtype": "F32", "shape": list(blob.shape), "data_offsets": [start, end]}
            blobs.append(blob.tobytes())
        text = json.dumps(header, separators=(",", ":")).encode()
        # Data starts at a multiple of eight.
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text + b"".join(blobs)

    @classmethod
    def from_bytes(cls, data: bytes) -> PolicyFile:
        """Read a file that `to_bytes` or another library wrote."""
        if len(data) < 8 or (length := int.from_bytes(data[:8], "little")) > len(data) - 8:
            msg = "not a safetensors file: found no whole header"
            raise ValueError(msg)
        header = json.loads(data[8 : 8 + length])
        body = data[8 + length :]
        metadata = header.pop("__metadata__", {})
        tensors = {}
        for name, entry in header.items():
            start, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(body[start:end], dtype="<f4").reshape(entry["shape"])
        return cls(tensors, metadata)

    def save(self, path: Path) -> None:
        """Write the file in one go: a reader sees the old one or the new one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_bytes(self.to_bytes())
        part.replace(path)


def load(path: Path) -> PolicyFile:
    """Read a policy file."""
    return PolicyFile.from_bytes(path.read_bytes())


def sha256(path: Path) -> str:
    """Hash of a file, by which the split of training and evaluation is kept."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def metadata(kind: str, *, interval_ms: int, tbs: str, **more: object) -> dict[str, str]:
    """Metadata of a policy file; values become texts."""
    base: dict[str, object] = {
        "format": "slackwater-policy",
        "version": "1",
        "kind": kind,
        "interval_ms": interval_ms,
        "tbs": tbs,
    }
    return texts(base | more)


def texts(values: Mapping[str, object]) -> dict[str, str]:
    """Values as metadata holds them: texts as they are, the rest as JSON."""
    return {k: v if isinstance(v, str) else json.dumps(v) for k, v in values.items()}


def residual(theta: npt.NDArray[np.float64], kind: str) -> dict[str, Weights]:
    """Tensors of a residual policy from the flat vector that the search moves."""
    flat = theta.astype(np.float32)
    if kind == "residual-linear":
        return {"residual.weight": flat.reshape(1, FEATURES), "residual.bias": np.zeros(1, np.float32)}
    a, b, c = FEATURES * TANH, FEATURES * TANH + TANH, FEATURES * TANH + 2 * TANH
    return {
        "hidden.weight": flat[:a].reshape(TANH, FEATURES),
        "hidden.bias": flat[a:b],
        "out.weight": flat[b:c].reshape(1, TANH),
        "out.bias": flat[c:],
    }


def residual_size(kind: str) -> int:
    """Length of that vector."""
    return FEATURES if kind == "residual-linear" else FEATURES * TANH + 2 * TANH + 1
