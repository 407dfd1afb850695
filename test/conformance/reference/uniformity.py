"""Static analysis of statements: do replicas rendezvous in them, may their
values differ?

Branches that are not taken count too: whether a program is correct does not
depend on its data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .nests import leaves
from .values import varies
from .variables import Component, Layout, Variable

RENDEZVOUS = frozenset(
    {"all_reduce", "all_gather", "merge_call", "update", "variable"}
)
BODIES = ("fn", "body", "then", "else")
OPERANDS = (
    "a",
    "b",
    "value",
    "values",
    "indices",
    "slices",
    "pred",
    "init",
    "trip_count",
    "args",
    "returns",
    "yield",
    "of",
    "wrt",
    "var",
)

Lookup = Callable[[str], object]


def nested(statements) -> Iterator[dict]:
    """All statements, those of bodies included. A body is a list, or a dict
    with a list inside.
    """
    for s in statements or []:
        yield s
        for key in BODIES:
            part = s.get(key)
            yield from nested(
                part.get("body") if isinstance(part, dict) else part
            )


def has_collective(statements, lookup: Lookup) -> bool:
    """Whether replicas rendezvous anywhere in the statements; aggregated writes
    count, too.
    """
    for s in nested(statements):
        if s["op"] in RENDEZVOUS:
            return True
        if s["op"].startswith(("assign", "scatter_")):
            target = lookup(s["var"]) if isinstance(s["var"], str) else None
            if (
                isinstance(target, Variable)
                and target.layout in (Layout.MIRRORED, Layout.CENTRAL)
                and target.aggregation != "NONE"
            ):
                return True
    return False


def value_varies(value, replicas: int) -> bool:
    def leaf_varies(leaf) -> bool:
        variable = leaf.variable if isinstance(leaf, Component) else leaf
        if isinstance(variable, Variable):
            return variable.layout is Layout.ON_READ and replicas > 1
        return varies(leaf)

    return any(leaf_varies(leaf) for leaf in leaves(value))


def returns_varying(statements, returns, lookup: Lookup, replicas: int) -> bool:
    """Whether the results of the statements may differ between replicas. A
    statement with bodies depends on all values that it reads.
    """
    known: dict[str, bool] = {}

    def operand(o) -> bool:
        if isinstance(o, str):
            return known[o] if o in known else value_varies(lookup(o), replicas)
        if isinstance(o, list):
            return any(operand(i) for i in o)
        if isinstance(o, dict):
            inner = o.get("tuple", o.get("dict", ()))
            return any(
                operand(i)
                for i in (inner.values() if isinstance(inner, dict) else inner)
            )
        return False

    def visit(s: dict) -> bool:
        if s["op"] in ("all_reduce", "all_gather"):
            return False
        result = s["op"] in ("replica_id", "static_if_replica") and replicas > 1
        result |= any(operand(s[key]) for key in OPERANDS if key in s)
        for key in BODIES:
            part = s.get(key)
            for inner in (
                part.get("body") if isinstance(part, dict) else part
            ) or []:
                result |= visit(inner)
            if isinstance(part, dict):
                result |= operand(part.get("returns"))
        outs = (
            s.get("out") if isinstance(s.get("out"), list) else [s.get("out")]
        )
        for name in outs:
            if name:
                known[name] = result
        return result

    for s in statements or []:
        visit(s)
    return operand(returns)
