"""Learned policies as controllers: what they see is what :mod:`slackwater.gym` shows, what they do is its action.

The sender around a policy is that of ``tyrus``: decisions at fixed times, guards, and CUBIC where the cell's reports
fall silent or are not believed.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slackwater import extras
from slackwater._slackwater import log_ratios

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

__all__ = ["OnnxPolicy", "Policy"]

# What each kind of scheme shows: the poster's inputs, or the features of residual policies (docs/training.md).
WIDTHS = {"relative": 5, "residual": 14}
# The bound of a residual's logarithm where a scheme has none, as in `slackwater.gym`.
BOUND = 1.5


class Policy:
    """A controller whose window a function sets, every 20 ms by default.

    >>> policy = slackwater.Policy(lambda seen: 6)  # of 13 actions the one that changes nothing
    >>> slackwater.run("lte-demo", changes={"flow.controller": "mine"}, controllers={"mine": policy})

    The function gets the observation and returns the action of ``slackwater.gym`` under the same ``scheme``. That is
    the number of a change of the window, or, for residuals, the logarithm of a factor over its bound, -1 to 1. All
    flows share it, so it keeps nothing between two calls. An exception ends the run and comes out of
    :func:`slackwater.run`.
    """

    name: str
    """What :func:`slackwater.compare` calls it."""
    interval: float
    """Seconds between two decisions."""
    blocks: bool
    """Rates come from the transport blocks that the cell reports; else from the ACKs."""

    def __init__(
        self,
        act: Callable[[list[float]], float],
        *,
        scheme: Mapping[str, object] | None = None,
        interval: float = 0.02,
        blocks: bool = True,
        name: str = "policy",
    ) -> None:
        """Take the function, and what it sees and does."""
        self.name = name
        self.scheme: dict[str, object] = {"kind": "relative"} if scheme is None else dict(scheme)
        self.scheme_json = json.dumps(self.scheme)
        self.interval = interval
        self.blocks = blocks
        # Complains about a scheme that is wrong.
        self.log_ratios = log_ratios(self.scheme_json)
        self.act = act

    @property
    def width(self) -> int:
        """Length of an observation."""
        return WIDTHS[str(self.scheme["kind"])]

    def log_factor(self, seen: list[float]) -> float:
        """The logarithm of the factor that the action stands for: what the sender asks for."""
        action = self.act(seen)
        if not self.log_ratios:
            return float(action) * float(str(self.scheme.get("bound", BOUND)))
        number = int(action)
        if not 0 <= number < len(self.log_ratios):
            msg = f"action: found {action}, expected 0 to {len(self.log_ratios) - 1}"
            raise ValueError(msg)
        return self.log_ratios[number]


class OnnxPolicy(Policy):
    """A policy that onnxruntime computes (extra ``onnx``).

    A model of ``slackwater train export`` declares what it sees and does. Another needs one input ``[rows, width]``
    of float32, the observation of ``slackwater.gym`` under ``scheme``. It has one output: a score for each action
    (the greatest is taken), or the number of an action (int64). For residuals it is the logarithm of a factor over its
    bound, -1 to 1.

    >>> policy = slackwater.OnnxPolicy("policy.onnx", scheme={"kind": "relative", "obs": "bdp", "actions": "sym"})
    >>> slackwater.compare("lte-demo", ["cubic", policy])
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        scheme: Mapping[str, object] | None = None,
        interval: float | None = None,
        blocks: bool | None = None,
        name: str | None = None,
    ) -> None:
        """Read the model. ``scheme``, ``interval`` and ``blocks`` stand in for what it does not declare."""
        extras.check("onnx")
        import onnxruntime

        self.path = Path(path)
        if not self.path.is_file():
            raise self._wrong("file", "no such file", "an ONNX model")
        options = onnxruntime.SessionOptions()
        # A decision takes microseconds: threads would cost more than they give.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(
                str(self.path), sess_options=options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise self._wrong("file", str(error), "an ONNX model") from error
        said: dict[str, str] = self._session.get_modelmeta().custom_metadata_map
        #: Its outputs are those of a policy file: logarithms, and not shares of the bound.
        self._ours = said.get("format") == "slackwater-policy"
        self._choice = said.get("choice", "greedy") if self._ours else "greedy"
        if self._choice not in ("greedy", "mean"):
            raise self._wrong("choice", self._choice, "greedy or mean: draws are of the policy file alone")
        if self._ours:
            scheme = self._declared(said) if scheme is None else scheme
            interval = float(said["interval_ms"]) / 1e3 if interval is None else interval
            blocks = said["tbs"] != "none" if blocks is None else blocks
        super().__init__(
            self._answer,
            scheme=scheme,
            interval=0.02 if interval is None else interval,
            blocks=True if blocks is None else blocks,
            name=self.path.stem if name is None else name,
        )
        self._input, self._index = self._checked()

    def _wrong(self, key: str, found: object, expected: str) -> ValueError:
        return ValueError(f"{self.path}: {key}: found {found}, expected {expected}")

    @staticmethod
    def _declared(said: Mapping[str, str]) -> dict[str, object]:
        """The scheme that the metadata of a policy file describe."""
        if said["kind"] == "mlp":
            return {"kind": "relative", "obs": said["obs"], "actions": said["actions"]}
        return {"kind": "residual", "bound": float(said["bound"]), "z": float(said["z"])}

    def _checked(self) -> tuple[str, bool]:
        """The name of the input, and whether the output is the number of an action."""
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(inputs) != 1 or len(outputs) != 1:
            raise self._wrong("graph", f"{len(inputs)} inputs and {len(outputs)} outputs", "one of each")
        one, out = inputs[0], outputs[0]
        if one.type != "tensor(float)" or not _fits(one.shape, self.width):
            raise self._wrong(
                f"input {one.name!r}", f"{one.type} {one.shape}", f"tensor(float) [rows, {self.width}] for this scheme"
            )
        number = out.type == "tensor(int64)"
        if number and self.log_ratios:
            return one.name, True
        wide = len(self.log_ratios) or 1
        if out.type != "tensor(float)" or not _fits(out.shape, wide):
            raise self._wrong(
                f"output {out.name!r}", f"{out.type} {out.shape}", f"tensor(float) [rows, {wide}] for this scheme"
            )
        return one.name, False

    def _run(self, seen: list[float]) -> list[Any]:
        import numpy as np

        (out,) = self._session.run(None, {self._input: np.asarray([seen], np.float32)})
        flat: list[Any] = np.asarray(out).reshape(-1).tolist()
        return flat

    def _answer(self, seen: list[float]) -> float:
        """The action of ``slackwater.gym``."""
        out = self._run(seen)
        if self._index or not self.log_ratios:
            return float(out[0])
        return float(max(range(len(out)), key=out.__getitem__))

    def log_factor(self, seen: list[float]) -> float:
        """As :meth:`Policy.log_factor`; of a policy file the logarithm itself, or the mean over the scores' softmax."""
        if not self._ours:
            return super().log_factor(seen)
        out = self._run(seen)
        if not self.log_ratios:
            return float(out[0])
        if self._choice == "greedy":
            return self.log_ratios[max(range(len(out)), key=out.__getitem__)]
        best = max(out)
        weights = [math.exp(v - best) for v in out]
        return sum(w * r for w, r in zip(weights, self.log_ratios, strict=True)) / sum(weights)


def _fits(shape: Sequence[object], width: int) -> bool:
    """Whether a matrix of this shape has rows of ``width``: a size may be a name."""
    return len(shape) == 2 and (shape[1] == width or not isinstance(shape[1], int))
