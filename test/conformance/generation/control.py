"""Control flow with uniform conditions, and gradients through math and
collectives.
"""

from __future__ import annotations

from building import case, const, op, py, run, tensor

from .collectives import unary
from .draw import Draw


def conditional(draw: Draw) -> dict:
    """A collective under a condition on which replicas must agree: on a shared
    value, or on a reduced one.
    """
    spec = draw.strategy()
    dtype, shape = draw.pick(("f32", "f64", "i32", "i64")), draw.shape()
    inputs = {
        "x": draw.per_replica(spec["replicas"], dtype, shape),
        "k": {"shared": draw.tensor(dtype, [])},
        "z": draw.per_replica(spec["replicas"], dtype, []),
    }
    body = []
    source = "k"
    if draw.chance(0.5):
        body.append(op("all_reduce", "s", reduce_op="SUM", value="z"))
        source = "s"
    body.append(op("less", "p", a=source, b=const(draw.tensor(dtype, []))))
    collective = op("all_reduce", "a", reduce_op="SUM", value="x")
    then = {"body": [collective], "returns": "a"}
    other = draw.pick(
        (
            [],
            [unary(draw, "b", "x", dtype)],
            [
                op("all_reduce", "b", reduce_op="SUM", value="x"),
                op("neg", "b", a="b"),
            ],
        )
    )
    else_ = {"body": other, "returns": "b" if other else "x"}
    if draw.chance(0.5):
        then, else_ = else_, then
    body.append(op("cond", "y", pred="p", then=then, else_=else_))
    return case(
        [run(body, "y", ["x", "k", "z"])], inputs=inputs, observe=["r"], **spec
    )


def varying_condition(draw: Draw) -> dict:
    """Each replica takes its own branch or number of steps, without a
    rendezvous inside.
    """
    spec = draw.several()
    dtype, shape = draw.pick(("f32", "f64", "i32")), draw.shape()
    inputs = {
        "x": draw.per_replica(spec["replicas"], dtype, shape),
        "z": draw.per_replica(spec["replicas"], dtype, []),
    }
    branches = [
        {"body": [unary(draw, "b", "x", dtype)], "returns": "b"}
        for _ in range(2)
    ]
    if draw.chance(0.6):
        body = [
            op("less", "p", a="z", b=const(draw.tensor(dtype, []))),
            op("cond", "y", pred="p", then=branches[0], else_=branches[1]),
        ]
    else:
        body = [
            op("replica_id", "n"),
            op(
                "while",
                "y",
                trip_count="n",
                init="x",
                carry="c",
                body=[op("neg", "t", a="c")],
                yield_="t",
            ),
        ]
    if draw.chance(0.5):
        body.append(op("all_reduce", "y", reduce_op="SUM", value="y"))
    return case(
        [run(body, "y", ["x", "z"])], inputs=inputs, observe=["r"], **spec
    )


def loop(draw: Draw) -> dict:
    """A counted loop around a collective; the count is static, or a shared
    value.
    """
    spec = draw.strategy()
    dtype, shape = draw.pick(("f32", "f64", "i32", "i64")), draw.shape()
    count = draw.number(0, 3)
    inputs = {
        "x": draw.per_replica(spec["replicas"], dtype, shape),
        "n": {"shared": tensor("i32", count)},
    }
    reduce_op = (
        "MEAN" if dtype in ("f32", "f64") and draw.chance(0.5) else "SUM"
    )
    inner = [
        op("all_reduce", "s", reduce_op=reduce_op, value="c"),
        op(draw.pick(("add", "sub")), "t", a="s", b="x"),
    ]
    statement = op(
        "while",
        "y",
        trip_count=draw.pick((count, "n")),
        init="x",
        carry="c",
        body=inner,
        yield_="t",
    )
    return case(
        [run([statement], "y", ["x", "n"])],
        inputs=inputs,
        observe=["r"],
        **spec,
    )


def nested_function(draw: Draw) -> dict:  # [2.3-nested-function]
    spec = draw.strategy()
    dtype, shape = draw.dtype(), draw.shape()
    inputs = {"x": draw.per_replica(spec["replicas"], dtype, shape)}
    inner = [
        unary(draw, "a", "x", dtype),
        op("all_reduce", "b", reduce_op=draw.reduce_op(), value="a"),
    ]
    body = [
        op(
            "nested_function",
            "y",
            body=inner,
            returns=draw.pick(("b", ["a", "b"])),
        )
    ]
    return case([run(body, "y", ["x"])], inputs=inputs, observe=["r"], **spec)


def same_on_every_branch(draw: Draw) -> dict:
    """Replicas that run different code by their number, but rendezvous in the
    same collectives.
    """
    spec = draw.several()
    dtype, shape = draw.pick(("f32", "f64", "i32")), draw.shape()
    inputs = {"x": draw.per_replica(spec["replicas"], dtype, shape)}
    collective = op("all_reduce", "y", reduce_op="SUM", value="z")
    ids = sorted({draw.number(0, spec["replicas"] - 1) for _ in range(2)})
    sides = [[unary(draw, "z", "x", dtype), collective] for _ in range(2)]
    body = [op("static_if_replica", ids=ids, then=sides[0], else_=sides[1])]
    return case([run(body, "y", ["x"])], inputs=inputs, observe=["r"], **spec)


## Gradients


def gradient(draw: Draw) -> dict:
    """Of a chain of math and collectives, with respect to one or two values."""
    spec = draw.strategy()
    dtype, shape = (
        draw.pick(("f32", "f64")),
        [draw.number(1, 3) for _ in range(draw.number(0, 2))],
    )
    inputs = {
        "x": draw.per_replica(spec["replicas"], dtype, shape),
        "c": draw.per_replica(spec["replicas"], dtype, shape),
    }
    body, value = [], "x"
    for step in range(draw.number(1, 4)):
        name = f"s{step}"
        kind = draw.pick(
            ("reduce", "unary", "mul", "loop", "list"), (4, 3, 3, 1, 1)
        )
        if kind == "reduce":
            body.append(
                op(
                    "all_reduce",
                    name,
                    reduce_op=draw.pick(("SUM", "MEAN")),
                    value=value,
                )
            )
        elif kind == "unary":
            body.append(unary(draw, name, value, dtype))
        elif kind == "mul":
            body.append(
                op(draw.pick(("mul", "add", "sub")), name, a=value, b="c")
            )
        elif kind == "loop":
            inner = [
                op("all_reduce", "q", reduce_op="MEAN", value="i"),
                op("mul", "t", a="q", b="c"),
            ]
            body.append(
                op(
                    "while",
                    name,
                    trip_count=2,
                    init=value,
                    carry="i",
                    body=inner,
                    yield_="t",
                )
            )
        else:
            body += [
                op("all_reduce", "w", reduce_op="SUM", value=[value, "c"]),
                op("python_sum", name, a="w"),
            ]
        value = name
    wrt = draw.pick((["x"], ["x", "c"], ["c", "x"]))
    body = [op("gradient", "y", wrt=wrt, body=body, of=value)]
    return case(
        [run(body, "y", ["x", "c"])], inputs=inputs, observe=["r"], **spec
    )


def gather_gradient(draw: Draw) -> dict:
    spec = draw.strategy()
    dtype, axis = draw.pick(("f32", "f64")), draw.pick((0, 1))
    shape = [draw.number(1, 3) for _ in range(axis + draw.number(1, 2))]
    x = draw.ragged(spec["replicas"], dtype, shape, axis)
    total = sum(part["shape"][axis] for part in x["per_replica"])
    whole = [total if i == axis else n for i, n in enumerate(shape)]
    inputs = {"x": x, "c": draw.per_replica(spec["replicas"], dtype, whole)}
    inner = [
        op("all_gather", "g", value="x", axis=axis),
        op("mul", "l", a="g", b="c"),
    ]
    if draw.chance(0.4):
        inner.append(op("reduce_sum", "l", a="l", axis=axis))
    body = [op("gradient", "y", wrt=["x"], body=inner, of="l")]
    return case(
        [run(body, "y", ["x", "c"])], inputs=inputs, observe=["r"], **spec
    )


def barrier(draw: Draw) -> dict:
    """The result of merge_call is a constant for a gradient."""
    spec = draw.several()
    inputs = {"x": draw.per_replica(spec["replicas"], "f32", draw.shape())}
    merge = op(
        "merge_call",
        "s",
        args=["x"],
        params=["a"],
        fn=[op("reduce", "t", reduce_op="SUM", value="a", axis=None)],
        returns="t",
    )
    last = draw.pick(
        (
            op("mul", "l", a="s", b="x"),
            op("mul", "l", a="s", b="s"),
            op("add", "l", a="s", b=py(1.5)),
        )
    )
    body = [op("gradient", "y", wrt=["x"], body=[merge, last], of="l")]
    return case([run(body, "y", ["x"])], inputs=inputs, observe=["r"], **spec)


FAMILIES = {
    "cond": (conditional, 3),
    "varying_cond": (varying_condition, 2),
    "while": (loop, 3),
    "nested_function": (nested_function, 1),
    "static_if": (same_on_every_branch, 1),
    "gradient": (gradient, 5),
    "gather_gradient": (gather_gradient, 3),
    "gradient_barrier": (barrier, 1),
}
