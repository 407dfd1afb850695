"""The inputs and variables of programs with a fault."""

from __future__ import annotations

from dataclasses import dataclass

from building import variable

from .draw import Draw


@dataclass
class Given:
    """The environment of a wrong program: x with rows, z and k scalars, and
    variables of all kinds; it may change them.
    """

    replicas: int
    inputs: dict[str, dict]
    variables: list[dict]


def given(draw: Draw, replicas: int) -> Given:
    """An environment with random values."""
    inputs = {
        "x": draw.per_replica(
            replicas,
            "f32",
            [draw.number(1, 3) for _ in range(draw.number(1, 2))],
        ),
        "z": draw.per_replica(replicas, "f32", []),
        "k": {"shared": draw.tensor("f32", [])},
    }
    variables = [
        variable("v", draw.tensor("f32", [])),
        variable("total", draw.tensor("f32", []), None, "SUM"),
        variable("o", draw.tensor("f32", []), "ON_READ", "SUM"),
        variable("q", draw.tensor("f32", [2]), "ON_READ", "SUM"),
        variable(
            "m", draw.tensor("f32", [2]), None, draw.pick(("SUM", "MEAN"))
        ),
    ]
    return Given(replicas, inputs, variables)
