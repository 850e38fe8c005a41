"""A training's state as a file that holds data alone: JSON, with arrays as base64. Reading it runs no code."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

# Marks an array or bytes among the objects of JSON.
ARRAY, BYTES = "array:base64", "bytes:base64"
# Types of arrays that a state holds; those of Python objects would need a pickle.
KINDS = "biuf"


def plain(value: object) -> object:
    """``value`` as JSON takes it. Tuples become lists; arrays keep type, shape and every bit.

    Raises :class:`TypeError` where a value is none of numbers, texts, bytes, arrays, lists and dictionaries.
    """
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {ARRAY: [value.dtype.str, list(value.shape), data]}
    if isinstance(value, bytes):
        return {BYTES: base64.b64encode(value).decode()}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    msg = f"a state cannot hold {type(value).__name__}"
    raise TypeError(msg)


def rich(value: object) -> object:
    """What :func:`plain` was given, with lists for tuples."""
    if isinstance(value, list):
        return [rich(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {ARRAY}:
        kind, shape, data = value[ARRAY]
        dtype = np.dtype(str(kind))
        if dtype.kind not in KINDS:
            msg = f"found an array of {kind!r}, expected numbers"
            raise ValueError(msg)
        return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
    if value.keys() == {BYTES}:
        return base64.b64decode(value[BYTES])
    return {key: rich(inner) for key, inner in value.items()}


def save(path: Path, value: object) -> None:
    """Write ``value``; a kill leaves the old file or the new one."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(plain(value)))
    part.replace(path)


def load(path: Path) -> dict[str, Any]:
    """Read what :func:`save` wrote.

    Raises :class:`ValueError`, with the file's name, where it holds something else.
    """
    try:
        read = rich(json.loads(path.read_text()))
        if not isinstance(read, dict):
            raise TypeError(type(read).__name__)
        return read
    except (ValueError, TypeError) as error:
        msg = f"{path}: found no state of a training ({error}), expected one; remove it to begin anew"
        raise ValueError(msg) from error
