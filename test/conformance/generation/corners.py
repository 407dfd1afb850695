"""Cases that the other families lack: host numbers of each replica, empty
nests, casts through narrow types, slices as tensors, variables that replicas
make, updates that write another variable."""

from __future__ import annotations

from building import case, op, py, run, variable

from .draw import FLOATS, INTEGERS, Draw


def host_numbers(draw: Draw) -> dict:
    """Each replica's own numbers of the host: arithmetic stays on the host,
    beside a tensor they take its element type.
    """
    spec, dtype = draw.strategy(), draw.dtype()
    inputs = {
        "x": draw.per_replica(spec["replicas"], dtype, draw.shape()),
        "h": {
            "per_replica": [
                py(draw.number(0, 3)) for _ in range(spec["replicas"])
            ]
        },
    }
    body = [
        op(
            draw.pick(("add", "sub", "mul")),
            "a",
            a="h",
            b=py(draw.number(-3, 3)),
        ),
        op(draw.pick(("neg", "square")), "b", a="a"),
        op("less", "c", a="b", b="h"),
        op(draw.pick(("add", "sub", "mul")), "d", a="x", b="h"),
        op(
            "while",
            "e",
            trip_count="h",
            init="x",
            carry="i",
            body=[op("neg", "t", a="i")],
            yield_="t",
        ),
        op(
            "cond",
            "f",
            pred="c",
            then={"body": [op("neg", "t", a="x")], "returns": "t"},
            else_={"body": [], "returns": "x"},
        ),
    ]
    chosen = [
        draw.pick([s["out"] for s in body]) for _ in range(draw.number(1, 3))
    ]
    return case(
        [run(body, chosen, ["x", "h"])], inputs=inputs, observe=["r"], **spec
    )


def empty_nests(draw: Draw) -> dict:
    """Empty lists, tuples and dicts, and None, wherever a nest is allowed."""
    spec, dtype = draw.strategy(), draw.dtype()
    inputs = {
        "x": draw.per_replica(spec["replicas"], dtype, [draw.number(1, 3)])
    }
    hollow = draw.pick(
        ([], {"tuple": []}, {"dict": {}}, [[], {"dict": {"a": []}}])
    )
    nest = draw.pick(
        (
            hollow,
            ["x", hollow],
            {"tuple": [hollow, "x"]},
            {"dict": {"b": "x", "a": hollow}},
        )
    )
    kind = draw.pick(
        (
            "all_reduce",
            "all_gather",
            "reduce",
            "run",
            "merge_call",
            "local_results",
        )
    )
    if kind == "reduce":
        return case(
            [op("reduce", "r", reduce_op="SUM", value=nest, axis=None)],
            inputs=inputs,
            observe=["r"],
            **spec,
        )
    if kind == "local_results":
        return case(
            [op("local_results", "r", value=nest)],
            inputs=inputs,
            observe=["r"],
            **spec,
        )
    body = {
        "all_reduce": [op("all_reduce", "y", reduce_op="SUM", value=nest)],
        "all_gather": [op("all_gather", "y", value=nest, axis=0)],
        "run": [op("set", "y", a=[nest, None])],
        "merge_call": [
            op(
                "merge_call",
                "y",
                args=[nest, None],
                params=["a", "b"],
                fn=[],
                returns={"tuple": ["a", "b"]},
            )
        ],
    }[kind]
    program = [run(body, "y", ["x"])]
    program[0]["op"] = draw.pick(("run", "call_for_each_replica"))
    return case(program, inputs=inputs, observe=["r"], **spec)


def casts(draw: Draw) -> dict:
    """Two consecutive casts: the operand of the second is already rounded."""
    spec = draw.strategy()
    first, second = (
        draw.pick((*FLOATS, *INTEGERS, "bool")),
        draw.pick((*FLOATS, *INTEGERS, "bool")),
    )
    inputs = {
        "x": draw.per_replica(spec["replicas"], draw.dtype(), draw.shape())
    }
    body = [
        op("cast", "a", a="x", dtype=first),
        op("cast", "b", a="a", dtype=second),
        op("equal", "c", a="b", b="b"),
    ]
    return case(
        [run(body, draw.pick(("b", ["a", "b", "c"])), ["x"])],
        inputs=inputs,
        observe=["r"],
        **spec,
    )


def dense_slices(draw: Draw) -> dict:
    """Indexed slices where a tensor is expected: they are converted to one."""
    spec, dtype, rows = draw.strategy(), draw.float_dtype(), draw.number(2, 4)

    inputs = {
        "s": draw.sparse(spec["replicas"], dtype, [rows, 2], most=3),
        "x": draw.per_replica(spec["replicas"], dtype, [rows, 2]),
    }
    kind = draw.pick(("math", "axis", "write"))
    if kind == "axis":
        axis = draw.pick((0, 1, [0, 1], {"tuple": [0, -1]}))
        return case(
            [
                op(
                    "reduce",
                    "r",
                    reduce_op=draw.reduce_op(),
                    value="s",
                    axis=axis,
                )
            ],
            inputs=inputs,
            observe=["r"],
            **spec,
        )
    if kind == "math":
        body = [
            op(draw.pick(("add", "sub", "mul")), "y", a="s", b="x"),
            op("all_reduce", "z", reduce_op="SUM", value="y"),
        ]
        return case(
            [run(body, ["y", "z"], ["s", "x"])],
            inputs=inputs,
            observe=["r"],
            **spec,
        )
    write = op(draw.write(), var="v", value="s")
    variables = [
        variable(
            "v",
            draw.tensor(dtype, [rows, 2]),
            draw.pick((None, "ON_READ")),
            draw.pick(("SUM", "MEAN")),
        )
    ]
    program = [
        run([write], None, ["s", "v"], out=None),
        op("read", "r", var="v"),
    ]
    return case(
        program,
        inputs=inputs,
        variables=variables,
        observe=["r"],
        observe_vars=["v"],
        **spec,
    )


def made_by_replicas(draw: Draw) -> dict:
    """A variable that replicas create together has the initial value of replica
    0; then each writes it.
    """
    spec, dtype, shape = draw.strategy(), draw.float_dtype(), draw.shape()
    inputs = {
        "x": draw.per_replica(spec["replicas"], dtype, shape),
        "k": {"shared": draw.tensor(dtype, shape)},
    }
    made = {
        "synchronization": draw.pick(("AUTO", "ON_READ")),
        "aggregation": draw.aggregation(),
    }
    body = [
        op("neg", "n", a="x"),
        op("variable", "q", name="q", init=draw.pick(("n", "x", "k")), **made),
    ]
    if draw.chance(0.5):
        body.append(op(draw.write(), var="q", value="x"))
    body.append(op("read", "t", var="q"))
    return case(
        [run(body, "t", ["x", "k"])], inputs=inputs, observe=["r"], **spec
    )


def update_of_another(draw: Draw) -> dict:
    """An update whose function writes and reads another variable."""
    spec, dtype, shape = draw.strategy(), draw.float_dtype(), draw.shape()
    inputs = {"k": {"shared": draw.tensor(dtype, shape)}}
    fn = [
        op("read", "b", var="w"),
        op(draw.write(), var="w", value="g"),
        op("read", "c", var="w"),
        op(draw.write(), "d", var="a", value=draw.pick(("b", "c"))),
    ]
    program = [
        op(
            "update",
            "r",
            var="v",
            args=["k"],
            params=["a", "g"],
            fn=fn,
            returns=draw.pick((["b", "c", "d"], "c")),
            group=True,
        )
    ]
    variables = [
        variable(
            name, draw.tensor(dtype, shape), None, draw.pick(("NONE", "SUM"))
        )
        for name in ("v", "w")
    ]
    return case(
        program,
        inputs=inputs,
        variables=variables,
        observe=["r"],
        observe_vars=["v", "w"],
        **spec,
    )


def literal_means(draw: Draw) -> dict:
    """One literal that every replica writes where writes are averaged: integers
    too, if there is one copy.
    """
    spec = draw.strategy()
    dtype = draw.pick(
        INTEGERS
        if spec["kind"] in ("central_storage", "one_device", "default")
        else FLOATS
    )
    write = op(draw.write(), var="v", value=py(draw.number(-9, 9)))
    program = [run([write, op("read", "t", var="v")], "t", ["v"])]
    return case(
        program,
        variables=[variable("v", draw.tensor(dtype, []), None, "MEAN")],
        observe=["r"],
        observe_vars=["v"],
        **spec,
    )


FAMILIES = {
    "host_numbers": (host_numbers, 1),
    "empty_nests": (empty_nests, 1),
    "casts": (casts, 1),
    "dense_slices": (dense_slices, 1),
    "made_by_replicas": (made_by_replicas, 1),
    "update_of_another": (update_of_another, 1),
    "literal_means": (literal_means, 1),
}
