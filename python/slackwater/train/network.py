"""A fully connected network with ReLU, its gradient and Adam, in numpy."""

from __future__ import annotations

import itertools
from typing import Self

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


class Network:
    """Layers of ``sizes``; ReLU between them, none after the last."""

    def __init__(self, sizes: list[int], rng: np.random.Generator, last: float) -> None:
        """Orthogonal weights of gain sqrt 2, ``last`` for the last layer; no biases."""
        self.weights: list[F32] = []
        self.biases: list[F32] = []
        for i, (m, n) in enumerate(itertools.pairwise(sizes)):
            gain = last if i == len(sizes) - 2 else np.sqrt(2.0)
            square = rng.standard_normal((max(m, n), min(m, n)))
            q, r = np.linalg.qr(square)
            q = q * np.sign(np.diag(r))
            self.weights.append((gain * (q if m >= n else q.T)).astype(np.float32))
            self.biases.append(np.zeros(n, np.float32))

    def forward(self, x: F32) -> tuple[F32, list[F32]]:
        """Outputs, and what `backward` needs."""
        kept = [x]
        last = len(self.weights) - 1
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ w
            x += b
            if i < last:
                np.maximum(x, 0, out=x)
            kept.append(x)
        return x, kept

    def backward(self, kept: list[F32], slope: F32) -> list[F32]:
        """Gradients of all `parameters` where ``slope`` is that of the outputs."""
        grads: list[F32] = []
        for i in range(len(self.weights) - 1, -1, -1):
            grads.append(slope.sum(axis=0))
            grads.append(kept[i].T @ slope)
            if i > 0:
                slope = slope @ self.weights[i].T
                slope *= kept[i] > 0
        return grads[::-1]

    @property
    def parameters(self) -> list[F32]:
        """Weights and biases, layer by layer."""
        return [p for pair in zip(self.weights, self.biases, strict=True) for p in pair]

    def load(self, parameters: list[F32]) -> Self:
        """Take over weights and biases."""
        for mine, theirs in zip(self.parameters, parameters, strict=True):
            mine[...] = theirs
        return self


class Adam:
    """Adam (Kingma, Ba: ICLR 2015), with the gradients' norm cut first."""

    def __init__(self, parameters: list[F32]) -> None:
        """State for ``parameters``."""
        self.parameters = parameters
        self.first = [np.zeros_like(p) for p in parameters]
        self.second = [np.zeros_like(p) for p in parameters]
        self.count = 0

    def step(self, grads: list[F32], rate: float, norm: float) -> None:
        """Move the parameters against their gradients."""
        total = float(np.sqrt(sum(float(np.vdot(g, g)) for g in grads)))
        scale = min(1.0, norm / (total + 1e-6))
        self.count += 1
        rate *= np.sqrt(1.0 - 0.999**self.count) / (1.0 - 0.9**self.count)
        for p, g, m, v in zip(self.parameters, grads, self.first, self.second, strict=True):
            g = g * np.float32(scale)
            m += np.float32(0.1) * (g - m)
            v += np.float32(0.001) * (g * g - v)
            p -= np.float32(rate) * m / (np.sqrt(v) + np.float32(1e-5))
