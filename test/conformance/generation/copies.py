"""One copy of a variable: written alone, shared by all replicas, or the one
that an update's function is called for.
"""

from __future__ import annotations

from building import case, op, py, run, variable

from .draw import Draw


def one_copy(draw: Draw) -> dict:  # [5.2-component]
    """A component of a variable whose copies differ is written in cross-replica
    context; the others keep theirs.
    """
    spec, dtype, shape = draw.strategy(), draw.float_dtype(), draw.shape()
    local = (
        spec["replicas"]
        if spec["kind"] in ("mirrored", "multi_worker_mirrored")
        else 1
    )
    if spec["kind"] == "multi_worker_mirrored":
        local = spec["per_worker"]
    inputs = {
        "k": {"shared": draw.tensor(dtype, shape)},
        "x": draw.per_replica(spec["replicas"], dtype, shape),
    }
    program = [
        run([op("assign", var="v", value="x")], None, ["x", "v"], out=None),
        op("component", "c", var="v", index=draw.number(0, local - 1)),
        op(draw.write(), var="c", value="k"),
        op("read", "r", var="v"),
    ]
    variables = [
        variable("v", draw.tensor(dtype, shape), "ON_READ", draw.aggregation())
    ]
    return case(
        program,
        inputs=inputs,
        variables=variables,
        observe=["r"],
        observe_vars=["v"],
        **spec,
    )


def rows_of_central(draw: Draw) -> dict:  # [5.2-scatter-other]
    """Every scatter of replicas into a variable that has one copy applies the
    rows of all replicas, with any aggregation.
    """
    replicas, dtype, rows = (
        draw.number(2, 4),
        draw.pick(("f32", "f64")),
        draw.number(2, 4),
    )
    kind = draw.pick(("add", "sub", "mul", "min", "max", "update"))

    inputs = {"s": draw.sparse(replicas, dtype, [rows, 2], most=3)}
    write = op(f"scatter_{kind}", var="v", slices="s")
    program = (
        [run([write], None, ["s", "v"], out=None)]
        if draw.chance(0.7)
        else [write]
    )
    aggregation = draw.aggregation()
    variables = [
        variable("v", draw.tensor(dtype, [rows, 2]), None, aggregation)
    ]
    return case(
        program,
        kind="central_storage",
        replicas=replicas,
        inputs=inputs,
        variables=variables,
        observe_vars=["v"],
    )


def replicas_values_for_central(draw: Draw) -> dict:  # [5.2-cross-central]
    """A per-replica value is assigned: the one copy gets that of replica 0."""
    dtype, shape = draw.dtype(), draw.shape()
    replicas = draw.number(2, 4)
    inputs = {"x": draw.per_replica(replicas, dtype, shape)}
    program = [op(draw.write(), var="v", value="x"), op("read", "r", var="v")]
    variables = [
        variable(
            "v",
            draw.tensor(dtype, shape),
            None,
            draw.pick(("NONE", "SUM", "ONLY_FIRST_REPLICA")),
        )
    ]
    return case(
        program,
        kind="central_storage",
        replicas=replicas,
        inputs=inputs,
        variables=variables,
        observe=["r"],
        observe_vars=["v"],
    )


def inside_of_update(draw: Draw) -> dict:  # [4-update-around]
    """The function of an update reduces and gathers per-replica values that it
    captures from outside.
    """
    spec, dtype, shape = (
        draw.strategy(),
        draw.pick(("f32", "f64", "i32")),
        [draw.number(1, 3)],
    )
    inputs = {
        "x": draw.per_replica(spec["replicas"], dtype, shape),
        "k": {"shared": draw.tensor(dtype, shape)},
    }
    inner = [
        op("reduce", "m", reduce_op="SUM", value="x", axis=None),
        op("reduce", "n", reduce_op="SUM", value="x", axis=0),
        op("gather", "g", value="x", axis=0),
        op("reduce_sum", "h", a="g"),
        op("assign", "d", var="a", value="m"),
        op("assign_add", "e", var="a", value="b"),
    ]
    returns = draw.pick((["m", "n", "h"], ["d", "e"], "g"))
    program = [
        op(
            "update",
            "r",
            var="v",
            args=["k"],
            params=["a", "b"],
            fn=inner,
            returns=returns,
            group=True,
        )
    ]
    return case(
        program,
        inputs=inputs,
        variables=[variable("v", draw.tensor(dtype, shape))],
        observe=["r"],
        observe_vars=["v"],
        **spec,
    )


def inside_of_merge(draw: Draw) -> dict:  # [4-update-around]
    """The function of a merge_call reduces per-replica values that were
    defined before the replicas were run.
    """
    spec, dtype, shape = (
        draw.strategy(),
        draw.pick(("f32", "f64", "i32")),
        [draw.number(1, 3)],
    )
    inputs = {"x": draw.per_replica(spec["replicas"], dtype, shape)}
    inner = [
        op("reduce", "m", reduce_op="SUM", value="x", axis=None),
        op("gather", "g", value="x", axis=0),
        run([op("add", "w", a="p", b="x")], "w", [], out="z"),
    ]
    merge = op(
        "merge_call",
        "q",
        args=["x"],
        params=["p"],
        fn=inner,
        returns=draw.pick((["m", "z"], "g", ["z", "p"])),
    )
    program = [
        op(
            "run",
            "r",
            args=[],
            params=[],
            fn=[op("add", "y", a="x", b=py(1)), merge],
            returns=["q", "y"],
        )
    ]
    return case(program, inputs=inputs, observe=["r"], **spec)


FAMILIES = {
    "one_copy": (one_copy, 2),
    "rows_of_central": (rows_of_central, 3),
    "replicas_values_for_central": (replicas_values_for_central, 1),
    "inside_of_update": (inside_of_update, 2),
    "inside_of_merge": (inside_of_merge, 1),
}
