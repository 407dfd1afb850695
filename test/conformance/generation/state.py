"""Variables: every synchronization and aggregation, written from replicas and
across them, dense and by rows.
"""

from __future__ import annotations

from building import case, const, op, py, run, tensor, variable

from .draw import FLOATS, Draw

AGGREGATIONS = ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA")


def _aggregation(draw: Draw, dtype: str, allow_none: bool) -> str:
    options = [
        a
        for a in AGGREGATIONS
        if (a != "NONE" or allow_none) and (a != "MEAN" or dtype in FLOATS)
    ]
    return draw.pick(options)


def _value(
    draw: Draw, body: list[dict], dtype: str, shape: list[int], literal: bool
) -> object:
    """The values that a replica writes: its own data, a function of its number,
    or a literal.
    """
    kind = draw.pick(
        ("data", "number", "literal"), (5, 2, 2 if literal and not shape else 0)
    )
    if kind == "data":
        return "x"
    if kind == "literal":
        return py(draw.number(1, 5))
    body += [
        op("replica_id", "i"),
        op("cast", "n", a="i", dtype=dtype),
        op("add", "y", a="n", b="x"),
    ]
    return "y"


def mirrored(draw: Draw) -> dict:
    """Writes of replicas, aggregated; then reads in both contexts."""
    spec = draw.strategy()
    dtype, shape = draw.dtype(), draw.shape()
    aggregation = _aggregation(draw, dtype, allow_none=spec["replicas"] == 1)
    synchronization = draw.pick((None, "AUTO", "ON_WRITE"))
    if spec["kind"] == "central_storage" and draw.chance(0.4):
        synchronization = "ON_READ"
    if spec["kind"] in (
        "one_device",
        "default",
        "central_storage",
    ) and draw.chance(0.1):
        synchronization = "NONE"
    body: list[dict] = []
    for _ in range(draw.pick((1, 2), (3, 1))):
        value = _value(
            draw,
            body,
            dtype,
            shape,
            literal=aggregation != "SUM" or spec["replicas"] == 1,
        )
        body.append(op(draw.write(), var="v", value=value))
    returns = None
    if draw.chance(0.7):
        body += [op("read", "a", var="v"), op("mul", "b", a="a", b="x")]
        returns = draw.pick(("a", ["a", "b"]))
    program = [
        run(body, returns, ["x", "v"]),
        op(draw.pick(("read", "value", "read_var")), "t", var="v"),
    ]
    inputs = {"x": draw.per_replica(spec["replicas"], dtype, shape)}
    spec_v = [
        variable("v", draw.tensor(dtype, shape), synchronization, aggregation)
    ]
    return case(
        program,
        inputs=inputs,
        variables=spec_v,
        observe=["r", "t"],
        observe_vars=["v"],
        **spec,
    )


def across(draw: Draw) -> dict:
    """Cross-replica writes of one value, of another variable, of the result of
    a reduction.
    """
    spec = draw.strategy()
    dtype, shape = draw.dtype(), draw.shape()
    aggregation = _aggregation(draw, dtype, allow_none=True)
    inputs = {
        "k": {"shared": draw.tensor(dtype, shape)},
        "x": draw.per_replica(spec["replicas"], dtype, shape),
    }
    variables = [
        variable("v", draw.tensor(dtype, shape), None, aggregation),
        variable("w", draw.tensor(dtype, shape)),
    ]
    program = []
    for step in range(draw.number(1, 3)):
        kind = draw.pick(
            ("shared", "variable", "reduced", "host"),
            (3, 2, 3, 0 if shape else 2),
        )
        value: object = {
            "shared": "k",
            "variable": "w",
            "reduced": f"t{step}",
            "host": py(draw.number(-3, 3)),
        }[kind]
        if kind == "reduced":
            program.append(
                op("reduce", value, reduce_op="SUM", value="x", axis=None)
            )
        program.append(op(draw.write(), var="v", value=value))
    program.append(op("read", "r", var="v"))
    return case(
        program,
        inputs=inputs,
        variables=variables,
        observe=["r"],
        observe_vars=["v"],
        **spec,
    )


def on_read(draw: Draw) -> dict:
    """Each replica writes its own copy, a read combines the copies; and
    cross-replica writes whose value a read returns.
    """
    spec = draw.strategy()
    dtype, shape = draw.dtype(), draw.shape()
    aggregation = _aggregation(draw, dtype, allow_none=True)
    body: list[dict] = []
    for _ in range(draw.pick((1, 2), (3, 1))):
        value = _value(draw, body, dtype, shape, literal=True)
        body.append(op(draw.write(), var="v", value=value))
    body.append(op("read", "a", var="v"))
    program = [run(body, draw.pick(("a", None)), ["x", "v"])]
    readable = aggregation != "NONE" or spec["kind"] in (
        "one_device",
        "default",
    )
    central_none = spec["kind"] == "central_storage" and aggregation == "NONE"
    if central_none:
        aggregation, readable = "SUM", True
    if (
        spec["kind"] == "central_storage"
        and aggregation == "SUM"
        and spec["replicas"] > 1
    ):
        # Its one copy sums the writes of replicas, and a sum of one literal is
        # rejected.
        for s in body:
            if isinstance(s.get("value"), dict):
                s["value"] = "x"
    if draw.chance(0.5):
        write = "assign" if aggregation == "SUM" else draw.write()
        program.append(op(write, var="v", value="k", read_value=False))
    if readable:
        program.append(
            op(draw.pick(("read", "value", "read_var")), "t", var="v")
        )
        if draw.chance(0.3):
            program.append(op("add", "t", a="v", b="k"))
    inputs = {
        "k": {"shared": draw.tensor(dtype, shape)},
        "x": draw.per_replica(spec["replicas"], dtype, shape),
    }
    variables = [
        variable("v", draw.tensor(dtype, shape), "ON_READ", aggregation)
    ]
    observe = ["r", "t"] if readable else ["r"]
    return case(
        program,
        inputs=inputs,
        variables=variables,
        observe=observe,
        observe_vars=["v"],
        **spec,
    )


def scatter(draw: Draw) -> dict:
    """Rows of a variable, with duplicates, from replicas or across them."""
    spec = draw.strategy()
    dtype, width, rows = (
        draw.float_dtype(),
        draw.pick(([], [2], [3])),
        draw.number(2, 6),
    )
    aggregation = draw.aggregation()
    write = draw.pick(("scatter_add", "scatter_sub"))
    if aggregation == "ONLY_FIRST_REPLICA" and draw.chance(0.6):
        write = draw.pick(("scatter_min", "scatter_max", "scatter_update"))
    crossing = draw.chance(0.3)

    sparse = draw.sparse(spec["replicas"], dtype, [rows, *width], most=4)
    parts = sparse["per_replica"]
    if crossing:
        inputs = {"s": {"shared": parts[0]}}
        program = [op(write, var="v", slices="s")]
    elif draw.chance(0.5):
        inputs = {"s": sparse}
        program = [
            run([op(write, var="v", slices="s")], None, ["s", "v"], out=None)
        ]
    else:
        pieces = [p["indexed_slices"] for p in parts]
        inputs = {
            "sv": {"per_replica": [p["values"] for p in pieces]},
            "si": {"per_replica": [p["indices"] for p in pieces]},
        }
        make = op(
            "indexed_slices",
            "s",
            values="sv",
            indices="si",
            dense_shape=[rows, *width],
        )
        program = [
            run(
                [make, op(write, var="v", slices="s")],
                None,
                ["sv", "si", "v"],
                out=None,
            )
        ]
    program.append(op("read", "r", var="v"))
    variables = [
        variable("v", draw.tensor(dtype, [rows, *width]), None, aggregation)
    ]
    return case(
        program,
        inputs=inputs,
        variables=variables,
        observe=["r"],
        observe_vars=["v"],
        **spec,
    )


def training(draw: Draw) -> dict:
    """Linear regression: a gradient, its mean over replicas, an update; counted
    by a step variable.
    """
    spec = draw.strategy()
    rows, columns = draw.number(1, 4), draw.number(1, 3)
    shares = [draw.number(1, rows) for _ in range(spec["replicas"])]
    inputs = {
        "x": {
            "per_replica": [draw.tensor("f64", [n, columns]) for n in shares]
        },
        "t": {"per_replica": [draw.tensor("f64", [n, 1]) for n in shares]},
    }
    loss = [
        op("matmul", "p", a="x", b="w"),
        op("sub", "e", a="p", b="t"),
        op("square", "q", a="e"),
        op("reduce_mean", "l", a="q"),
    ]
    body = [
        op("read", "w", var="v"),
        op("gradient", ["g"], wrt=["w"], body=loss, of="l"),
        op("all_reduce", "m", reduce_op="MEAN", value="g"),
        op("mul", "d", a="m", b=const(tensor("f64", 0.125))),
    ]
    merge = op(
        "merge_call",
        args=["d", "v"],
        params=["d", "v"],
        fn=[
            op("reduce", "a", reduce_op="MEAN", value="d", axis=None),
            op("assign_sub", var="v", value="a"),
        ],
    )
    body.append(draw.pick((op("assign_sub", var="v", value="d"), merge)))
    body.append(op("assign_add", var="n", value=py(1)))
    step = run(body, "l", ["x", "t", "v", "n"])
    variables = [
        variable("v", draw.tensor("f64", [columns, 1]), None, "MEAN"),
        variable("n", tensor("i64", 0), None, "ONLY_FIRST_REPLICA"),
    ]
    program = [step] * draw.number(1, 3)
    return case(
        program,
        inputs=inputs,
        variables=variables,
        observe=["r"],
        observe_vars=["v", "n"],
        **spec,
    )


FAMILIES = {
    "mirrored_var": (mirrored, 4),
    "cross_assign": (across, 3),
    "sync_on_read_var": (on_read, 4),
    "scatter": (scatter, 3),
    "training_step": (training, 2),
}
