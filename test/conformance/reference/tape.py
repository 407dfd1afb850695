"""Reverse mode: the recorded operations on tensors of interest, and the
backward pass."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable

from .values import FLOATS, Tensor


class Tape:
    """Records the operations that depend on the watched tensors, in order."""

    def __init__(self):
        self._steps: list[
            tuple[tuple[Tensor, ...], tuple[Tensor, ...], Callable]
        ] = []
        self._tracked: dict[int, Tensor] = {}
        self._variables: dict[tuple[int, int], Tensor] = {}

    def watch(self, tensor: Tensor) -> None:
        if tensor.dtype in FLOATS:
            self._tracked[id(tensor)] = tensor

    def watch_variable(self, key: tuple[int, int], leaf: Tensor) -> None:
        self._variables[key] = leaf
        self.watch(leaf)

    def read(self, key: tuple[int, int], value: Tensor) -> None:
        """A watched variable was read: the value's gradient is the variable's."""
        if key in self._variables:
            self.record(
                (self._variables[key],), (value,), lambda use, dy: (dy[0],)
            )

    def tracks(self, tensor: Tensor) -> bool:
        return id(tensor) in self._tracked

    def record(
        self,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        backward: Callable,
    ) -> None:
        """`backward(use, gradients)` gives one gradient or None for each input,
        or is a generator that returns them.
        """
        if any(self.tracks(t) for t in inputs):
            self._steps.append((inputs, outputs, backward))
            for output in outputs:
                self._tracked[id(output)] = output

    def gradients(
        self,
        use: Callable,
        of: Iterable[Tensor],
        wrt: list[Tensor],
        ones: Callable,
        zeros: Callable,
    ) -> Generator:
        """The derivatives of the sum of `of`; None for a tensor that it does
        not depend on.

        A generator, because the derivative of a collective is a collective, a
        rendezvous of replicas.
        """
        found: dict[int, Tensor] = {}

        def add(tensor: Tensor, gradient: Tensor | None) -> None:
            if gradient is not None and self.tracks(tensor):
                known = found.get(id(tensor))
                found[id(tensor)] = (
                    gradient if known is None else use("add", known, gradient)
                )

        for tensor in of:
            add(tensor, ones(tensor))
        for inputs, outputs, backward in reversed(self._steps):
            if not any(id(o) in found for o in outputs):
                continue
            upstream = [found.get(id(o)) or zeros(o) for o in outputs]
            local = backward(use, upstream)
            if isinstance(local, Generator):
                local = yield from local
            for tensor, gradient in zip(inputs, local, strict=True):
                add(tensor, gradient)
        return [found.get(id(t)) for t in wrt]
