"""Lists, tuples and dicts of values, and the passage between one value for each
replica and one value for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .errors import Rejected
from .values import Distributed, IndexedSlices, PerReplica, Tensor, is_host
from .variables import Component, Variable


def is_nest(value) -> bool:
    return isinstance(value, (list, tuple, dict))


def structure(value):
    """The structure of a nest, comparable: the nest without its leaves."""
    if isinstance(value, dict):
        return ("dict", tuple((k, structure(value[k])) for k in sorted(value)))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple(structure(v) for v in value))
    return "leaf"


def map_nest(function: Callable, first, *others):
    """Applies `function` to the leaves of nests of one structure."""
    if isinstance(first, dict):
        return {
            k: map_nest(function, first[k], *(o[k] for o in others))
            for k in first
        }
    if isinstance(first, (list, tuple)):
        return type(first)(
            map_nest(function, *vs) for vs in zip(first, *others, strict=True)
        )
    return function(first, *others)


def leaves(value) -> Iterator:
    """Leaves in the order of the language: dicts by sorted key."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from leaves(value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def pack(like, flat: Iterator):
    """A nest of the structure of `like` with the leaves of `flat`, in the order
    of `leaves`.
    """
    if isinstance(like, dict):
        packed = {k: pack(like[k], flat) for k in sorted(like)}
        return {k: packed[k] for k in like}
    if isinstance(like, (list, tuple)):
        return type(like)(pack(v, flat) for v in like)
    return next(flat)


def same_structure(values: list) -> None:
    first = structure(values[0])
    for value in values[1:]:
        if structure(value) != first:
            raise Rejected(
                "E_STRUCT_MISMATCH",
                f"expected {first} on every replica, found {structure(value)}",
            )


def same_object(a, b) -> bool:
    """Whether two replicas hold one and the same object; host scalars are what
    they equal.
    """
    if is_host(a) or is_host(b):
        return type(a) is type(b) and a == b
    if isinstance(a, (Tensor, IndexedSlices)) and isinstance(
        b, (Tensor, IndexedSlices)
    ):
        return a.identity is b.identity
    return a is b


def regroup(values: list, wrap: Callable = PerReplica):
    """One value for all replicas, of one value from each."""
    same_structure(values)
    return map_nest(lambda *leaf: _regroup_leaf(leaf, wrap), *values)


def _regroup_leaf(leaf: tuple, wrap: Callable):
    first = leaf[0]
    variable = first.variable if isinstance(first, Component) else None
    if variable is not None and all(
        isinstance(c, Component) and c.variable is variable and c.index == i
        for i, c in enumerate(leaf)
    ):
        return variable
    if all(same_object(first, other) for other in leaf[1:]):
        return first
    return wrap(leaf)


def select(value, replica: int):
    """The part of a value for replica `replica` of this worker; variables have
    their own method.
    """
    return map_nest(
        lambda leaf: (
            leaf.components[replica] if isinstance(leaf, Distributed) else leaf
        ),
        value,
    )


def is_variable(value) -> bool:
    return isinstance(value, (Variable, Component))
