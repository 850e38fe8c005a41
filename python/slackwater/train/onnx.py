"""Policies as ONNX models, written by hand: the format is protobuf, and what a policy needs of it fits on a page.

What goes in are inputs or features as `slackwater.gym` gives them (a normaliser is in the first layer already); what
comes out are the actions' scores, or the clipped logarithm of the factor on rule v2. Field numbers are those of
``onnx.proto3`` (ONNX, IR version 8, operator set 17).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from slackwater.train import policy as files

if TYPE_CHECKING:
    from slackwater.train.policy import PolicyFile, Weights

IR_VERSION = 8
OPSET = 17
_FLOAT = 1
_INT = 2


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _tensor(name: str, values: Weights) -> bytes:
    dims = b"".join(_number(1, n) for n in values.shape)
    raw = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return dims + _number(2, _FLOAT) + _bytes(8, name) + _bytes(9, raw)


def _value(name: str, width: int) -> bytes:
    """A float matrix of any number of rows."""
    shape = _bytes(1, _bytes(2, "rows")) + _bytes(1, _number(1, width))
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, _FLOAT) + _bytes(2, shape)))


def _node(kind: str, inputs: list[str], output: str, *attributes: bytes) -> bytes:
    head = b"".join(_bytes(1, i) for i in inputs) + _bytes(2, output) + _bytes(3, output) + _bytes(4, kind)
    return head + b"".join(_bytes(5, a) for a in attributes)


def _layers(kind: str) -> tuple[list[str], str]:
    """Names of the layers, and what stands between two of them."""
    if kind == "mlp":
        return ["layer0", "layer1", "layer2", "head"], "Relu"
    if kind == "ebb-forecast":
        return ["hidden", "out"], "Relu"
    if kind == "residual-tanh":
        return ["hidden", "out"], "Tanh"
    return ["residual"], ""


def model(policy: PolicyFile) -> bytes:
    """The policy as an ONNX model; its metadata go along."""
    kind = policy.metadata["kind"]
    names, between = _layers(kind)
    # Weights are kept output first, as Gemm's transposed second operand.
    transposed = _bytes(1, "transB") + _number(3, 1) + _number(20, _INT)
    nodes, at = [], "x"
    for k, name in enumerate(names):
        out = f"{name}.sum"
        nodes.append(_node("Gemm", [at, f"{name}.weight", f"{name}.bias"], out, transposed))
        at = out
        if k + 1 < len(names):
            nodes.append(_node(between, [at], name))
            at = name
    tensors = [_tensor(name, policy.tensors[name]) for name in sorted(policy.tensors)]
    if kind == "mlp":
        nodes.append(_node("Identity", [at], "scores"))
        output = _value("scores", policy.tensors["head.bias"].size)
        width = files.INPUTS
    elif kind == "ebb-forecast":
        nodes.append(_node("Identity", [at], "quantiles"))
        output = _value("quantiles", policy.tensors["out.bias"].size)
        width = policy.tensors["hidden.weight"].shape[1]
    else:
        bound = float(policy.metadata["bound"])
        for name, value in (("least", -bound), ("most", bound)):
            tensors.append(_number(2, _FLOAT) + _bytes(8, name) + _bytes(9, struct.pack("<f", value)))
        nodes.append(_node("Clip", [at, "least", "most"], "y"))
        output = _value("y", 1)
        width = files.FEATURES
    graph = b"".join(_bytes(1, n) for n in nodes) + _bytes(2, kind)
    graph += b"".join(_bytes(5, t) for t in tensors) + _bytes(11, _value("x", width)) + _bytes(12, output)
    metadata = b"".join(_bytes(14, _bytes(1, k) + _bytes(2, v)) for k, v in sorted(policy.metadata.items()))
    return (
        _number(1, IR_VERSION)
        + _bytes(2, "slackwater")
        + _bytes(7, graph)
        + _bytes(8, _bytes(1, "") + _number(2, OPSET))
        + metadata
    )
