"""The environment of a statement: its context, the names in scope, and the
handlers of statements.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from .errors import Malformed, Rejected
from .nests import map_nest
from .strategies import Strategy
from .tape import Tape
from .values import IndexedSlices, Tensor


@dataclass(eq=False)
class Context:
    """`outside` of every scope, in the strategy's `scope` or in an `other`
    strategy's, in a `replica`'s function, in a `merge` function, or in the
    function of an `update` of one copy."""

    kind: str
    replica: int = 0
    replica_id: int = 0
    component: int | None = None
    tapes: list[Tape] = field(default_factory=list)
    token: object = field(default_factory=object)
    divergent: bool = False
    """Replicas run different statements here: a branch on the static replica id."""

    @property
    def in_replica(self) -> bool:
        return self.kind == "replica"

    def mark_varying(self, value):
        """Values of a divergent branch may differ, even of equal operands."""

        def mark(leaf):
            if isinstance(leaf, Tensor) and not leaf.varying:
                marked = leaf.alias(varying=True)
                for tape in self.tapes:
                    tape.record((leaf,), (marked,), lambda use, dy: dy)
                return marked
            return (
                leaf.alias(varying=True)
                if isinstance(leaf, IndexedSlices)
                else leaf
            )

        return map_nest(mark, value)


class Scope:
    """Names of one function, and those of the functions around it."""

    def __init__(self, parent: Scope | None = None, names: dict | None = None):
        self._parent, self._names = parent, dict(names or {})

    def __getitem__(self, name: str):
        if name in self._names:
            return self._names[name]
        if self._parent is None:
            raise Malformed(f"unknown name {name!r}")
        return self._parent[name]

    def __setitem__(self, name: str, value) -> None:
        self._names[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._names or (
            self._parent is not None and name in self._parent
        )


@dataclass(frozen=True)
class Rendezvous:
    """The request of a replica to synchronize with the others: all must have
    the same `signature`; each has its own `payload`.

    When all have arrived, `act` is run once, in cross-replica context, on all
    payloads; it returns one answer for each replica.
    """

    signature: tuple
    payload: Any
    act: Callable[[list], Generator]


@dataclass(frozen=True)
class Exchange:
    """The same between workers: each gets the payloads of all."""

    signature: tuple
    payload: Any


HANDLERS: dict[str, tuple[str, Callable]] = {}


def statement(*names: str, where: str = "any"):
    """Declares `handler(worker, statement, context, scope)`, which returns the
    value of `out` or is a generator that does.

    `where`: `cross` for strategy methods, `replica` for methods of a replica
    context, or `any`.
    """

    def declare(handler):
        for name in names:
            HANDLERS[name] = (where, handler)
        return handler

    return declare


def require(where: str, op: str, context: Context, strategy: Strategy) -> None:
    if where == "cross":
        if context.kind == "other":
            raise Rejected(
                "E_MIXED_STRATEGY", f"`{op}` in the scope of another strategy"
            )
        if context.in_replica:
            raise Rejected(
                "E_CONTEXT", f"`{op}` requires cross-replica context"
            )
    if (
        where == "replica"
        and not context.in_replica
        and not (context.kind == "outside" and strategy.kind == "default")
    ):
        raise Rejected("E_CONTEXT", f"`{op}` requires replica context")
