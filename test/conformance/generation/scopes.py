"""Scopes, variables created by programs, and queries of the context."""

from __future__ import annotations

from building import case, const, op, py, run, tensor, variable

from .draw import Draw


def flags(draw: Draw) -> dict:  # [4-call-for-each]
    """Host scalars that are equal on all replicas are returned as they are."""
    spec = draw.strategy()
    body = [
        op("in_cross_replica_context", "a"),
        op("require_replica_context", "b"),
        op("num_replicas", "c"),
        op(
            "merge_call",
            "d",
            args=[],
            params=[],
            fn=[op("in_cross_replica_context", "e")],
            returns="e",
        ),
        op("range_py", "f", n=draw.number(0, 4)),
    ]
    chosen = [
        draw.pick([s["out"] for s in body]) for _ in range(draw.number(1, 4))
    ]
    program = [
        run(body, {"tuple": chosen}),
        op("scope", body=[op("in_cross_replica_context", "s")]),
    ]
    program[0]["op"] = draw.pick(("run", "call_for_each_replica"))
    return case(program, observe=["r", "s"], **spec)


def made_in_scope(draw: Draw) -> dict:
    """A variable created in the strategy's scope belongs to the strategy, also
    one that is colocated with another.
    """
    spec, dtype, shape = draw.strategy(), draw.float_dtype(), draw.shape()
    made = variable("w", draw.tensor(dtype, shape), None, draw.aggregation())
    body = [op("variable", "w", **made)]
    if draw.chance(0.5):
        body = [op("colocate_vars_with", var="v", body=body)]
    program = [op("scope", body=body)]
    if draw.chance(0.7):
        program.append(
            run(
                [op(draw.write(), var="w", value="x")],
                None,
                ["x", "w"],
                out=None,
            )
        )
    program += [
        op("variable_created_in_scope", "c", var=draw.pick(("v", "w"))),
        op("read", "r", var="w"),
    ]
    inputs = {"x": draw.per_replica(spec["replicas"], dtype, shape)}
    return case(
        program,
        inputs=inputs,
        variables=[variable("v", tensor("f32", 0))],
        observe=["c", "r"],
        observe_vars=["w"],
        **spec,
    )


def non_slot(draw: Draw) -> dict:
    """A function is executed once on each device that has variables."""
    spec, dtype, shape = draw.strategy(), draw.dtype(), draw.shape()
    inputs = {
        "k": {"shared": draw.tensor(dtype, shape)},
        "x": draw.per_replica(spec["replicas"], dtype, shape),
    }
    program = [op("reduce", "m", reduce_op="SUM", value="x", axis=None)]
    body = [
        op(
            draw.pick(("add", "sub", "mul")),
            "u",
            a="a",
            b=draw.pick(("b", const(draw.tensor(dtype, [])))),
        ),
        op("equal", "e", a="u", b="b"),
    ]
    returns = draw.pick(("u", ["u", "e"], "a", None, py(4)))
    program.append(
        op(
            "update_non_slot",
            "r",
            args=["k", "m"],
            params=["a", "b"],
            fn=body,
            returns=returns,
            group=draw.chance(0.6),
        )
    )
    return case(program, inputs=inputs, observe=["r"], **spec)


FAMILIES = {
    "context_flags": (flags, 1),
    "made_in_scope": (made_in_scope, 1),
    "update_non_slot": (non_slot, 1),
}
