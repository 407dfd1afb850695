"""Cross-replica context: reductions with and without an axis, gathers,
merge_call, updates.
"""

from __future__ import annotations

from building import case, const, op, py, run, variable

from .draw import Draw


def reduce(draw: Draw) -> dict:
    """Axis none, one, or several; ragged along the reduced axis, with replicas
    that have no elements.
    """
    spec, dtype = draw.strategy(), draw.dtype()
    rank = draw.number(1, 3)
    axis = draw.pick(
        (None, 0, rank - 1, -1, list(range(rank))), (4, 5, 2, 2, 2)
    )
    shape = draw.shape(rank)
    along = (
        {None: None, -1: rank - 1}.get(axis, axis)
        if not isinstance(axis, list)
        else 0
    )
    if along is not None and draw.chance(0.7):
        inputs = {"x": draw.ragged(spec["replicas"], dtype, shape, along)}
    else:
        inputs = {"x": draw.per_replica(spec["replicas"], dtype, shape)}
    if axis is not None and draw.chance(0.1):
        inputs = {"x": {"shared": draw.tensor(dtype, shape)}}
    program = [
        op("reduce", "r", reduce_op=draw.reduce_op(), value="x", axis=axis)
    ]
    if draw.chance(0.3):
        program[:0] = [
            op(
                "run",
                "x",
                args=["x"],
                params=["a"],
                fn=[op("identity", "b", a="a")],
                returns="b",
            )
        ]
    return case(program, inputs=inputs, observe=["r"], **spec)


def reduce_nest(draw: Draw) -> dict:
    spec = draw.strategy()
    names = [f"x{i}" for i in range(draw.number(2, 4))]
    inputs = {
        name: draw.per_replica(spec["replicas"], draw.dtype(), draw.shape())
        for name in names
    }
    program = [
        op(
            "reduce",
            "r",
            reduce_op=draw.reduce_op(),
            value=draw.nest(names),
            axis=None,
        )
    ]
    return case(program, inputs=inputs, observe=["r"], **spec)


def gather(draw: Draw) -> dict:
    spec, dtype = draw.strategy(), draw.pick((draw.dtype(), "bool"), (8, 1))
    axis = draw.pick((0, 1, 2), (6, 3, 1))
    shape = draw.shape(draw.number(axis + 1, 3))
    inputs = {
        "x": draw.ragged(spec["replicas"], dtype, shape, axis),
        "k": {"shared": draw.tensor(dtype, shape)},
    }
    shared = spec["kind"] != "multi_worker_mirrored" and draw.chance(0.15)
    return case(
        [op("gather", "r", value="k" if shared else "x", axis=axis)],
        inputs=inputs,
        observe=["r"],
        **spec,
    )


def destinations(draw: Draw) -> dict:  # [4-reduce-to-single]
    """`reduce_to`, `batch_reduce_to` and `broadcast_to`, to values, variables
    and devices.
    """
    spec, dtype, shape = draw.strategy(), draw.dtype(), draw.shape()
    inputs = {
        "x": draw.per_replica(spec["replicas"], dtype, shape),
        "z": draw.per_replica(spec["replicas"], draw.dtype(), draw.shape()),
        "k": {"shared": draw.tensor(dtype, shape)},
    }
    variables = [variable("v", draw.tensor("f32", draw.shape()))]

    def target():
        return draw.pick(("x", "v", py("/device:CPU:0")))

    program = draw.pick(
        (
            [
                op(
                    "reduce_to",
                    "r",
                    reduce_op=draw.reduce_op(),
                    value="x",
                    destinations=target(),
                )
            ],
            [op("broadcast_to", "r", value="k", destinations=target())],
            [
                op(
                    "broadcast_to",
                    "r",
                    value=py(draw.number(0, 5)),
                    destinations=target(),
                )
            ],
            [
                op(
                    "batch_reduce_to",
                    ["p", "q"],
                    reduce_op=draw.reduce_op(),
                    pairs=[
                        ["x", draw.pick(("x", "v"))],
                        ["z", draw.pick(("z", "v"))],
                    ],
                ),
                op("set", "r", a=["p", "q"]),
            ],
        )
    )
    if draw.chance(0.3) and program[0]["op"] in ("reduce_to", "broadcast_to"):
        program.append(op("local_results", "l", value="r"))
        return case(
            program,
            inputs=inputs,
            variables=variables,
            observe=["r", "l"],
            **spec,
        )
    return case(
        program, inputs=inputs, variables=variables, observe=["r"], **spec
    )


def merge(draw: Draw) -> dict:
    """A step that leaves replica context once or twice, with the operations
    allowed there.
    """
    spec = draw.strategy()
    dtype, shape = draw.pick(("f32", "f64", "i32", "i64")), draw.shape()
    inputs = {
        "x": draw.per_replica(spec["replicas"], dtype, shape),
        "k": {"shared": draw.tensor(dtype, shape)},
    }
    single = spec["kind"] != "multi_worker_mirrored"
    body, value = [], "x"
    for step in range(draw.pick((1, 2), (3, 1))):
        inner, returns = _merge_function(draw, single)
        body.append(
            op(
                "merge_call",
                f"m{step}",
                args=[value, "k"],
                params=["a", "c"],
                fn=inner,
                returns=returns,
            )
        )
        if returns in ("t", "a") and (
            returns == "a"
            or inner[-1]["op"] != "reduce"
            or inner[-1]["reduce_op"] == "SUM"
        ):
            body.append(
                op(
                    draw.pick(("add", "mul", "sub")),
                    f"z{step}",
                    a=f"m{step}",
                    b="x",
                )
            )
            value = f"z{step}"
        else:
            value = f"m{step}"
            break
    return case(
        [run(body, value, ["x", "k"])], inputs=inputs, observe=["r"], **spec
    )


def _merge_function(
    draw: Draw, single_worker: bool
) -> tuple[list[dict], object]:
    reduced = [
        op("reduce", "t", reduce_op=draw.reduce_op(), value="a", axis=None)
    ]
    summed = [op("local_results", "l", value="a"), op("python_sum", "t", a="l")]
    choices = [
        (reduced, "t"),
        (reduced, {"dict": {"total": "t", "mine": "a", "ours": "c"}}),
        (
            [
                op(
                    "reduce_to",
                    "t",
                    reduce_op=draw.reduce_op(),
                    value="a",
                    destinations="a",
                )
            ],
            ["t", "c"],
        ),
        (
            [
                op(
                    "batch_reduce_to",
                    ["t", "u"],
                    reduce_op="SUM",
                    pairs=[["a", "a"], ["a", "a"]],
                )
            ],
            {"tuple": ["t", "u"]},
        ),
        ([op("broadcast_to", "t", value="c", destinations="a")], "t"),
        ([], "a"),
        ([op("set", "t", a={"py": draw.number(-5, 5)})], ["t", "a"]),
        ([op("square", "t", a="c")], "t"),
        (
            [
                op(
                    "run",
                    "t",
                    args=["a", "c"],
                    params=["p", "q"],
                    fn=[op("mul", "s", a="p", b="q")],
                    returns="s",
                )
            ],
            "t",
        ),
    ]
    if single_worker:
        choices += [
            (summed, "t"),
            ([op("local_results", "t", value=["a", "c"])], ["t"]),
        ]
    return draw.pick(choices)


def update(draw: Draw) -> dict:  # [4-update-single]
    """Updates copy by copy, from cross-replica context, from merge_call, and
    from a replica.
    """
    spec, dtype, shape = draw.strategy(), draw.float_dtype(), draw.shape()
    inputs = {
        "k": {"shared": draw.tensor(dtype, shape)},
        "x": draw.per_replica(spec["replicas"], dtype, shape),
    }
    variables = [
        variable("v", draw.tensor(dtype, shape)),
        variable("w", draw.tensor(dtype, shape)),
    ]
    write = op(draw.write(), var="vv", value="g")
    function = {"params": ["vv", "g"], "fn": [write]}
    where = draw.pick(("cross", "merge", "replica"))
    if where == "cross":
        function["fn"] = [
            write,
            op("value", "u", var="vv"),
            op("add", "t", a="u", b=const(draw.tensor(dtype, []))),
        ]
        group = draw.chance(0.5)
        returns = draw.pick(("u", ["u", "t"], None, {"tuple": ["t"]}))
        program = [
            op(
                "update",
                "r",
                var="v",
                args=[draw.pick(("k", "w"))],
                returns=returns,
                group=group,
                **function,
            )
        ]
        return case(
            program,
            inputs=inputs,
            variables=variables,
            observe=["r"],
            observe_vars=["v"],
            **spec,
        )
    if where == "merge":
        inner = [
            op(
                "batch_reduce_to",
                ["t"],
                reduce_op=draw.reduce_op(),
                pairs=[["a", "v"]],
            ),
            op("update", var="v", args=["t"], **function),
        ]
        body = [op("merge_call", args=["x", "v"], params=["a", "v"], fn=inner)]
    else:
        body = [
            op("all_reduce", "s", reduce_op=draw.reduce_op(), value="x"),
            op(
                "update",
                var="v",
                args=["s"],
                returns=None,
                group=True,
                **function,
            ),
        ]
    return case(
        [run(body, None, ["x", "v"], out=None)],
        inputs=inputs,
        variables=variables,
        observe_vars=["v"],
        **spec,
    )


FAMILIES = {
    "reduce": (reduce, 4),
    "reduce_nest": (reduce_nest, 1),
    "gather": (gather, 2),
    "destinations": (destinations, 2),
    "merge_call": (merge, 4),
    "update": (update, 3),
}
