"""All-reduces and gathers of nests in replica context, in chains with math
between them.
"""

from __future__ import annotations

from building import case, const, op, run

from .draw import FLOATS, Draw

Inputs = dict[str, dict]


def unary(draw: Draw, out: str, a: str, dtype: str) -> dict:
    """One step of math that keeps shape and element type."""
    kind = draw.pick(("identity", "neg", "square", "add", "sub", "mul", "tanh"))
    if kind in ("add", "sub", "mul"):
        b = const(draw.tensor(dtype, [])) if draw.chance(0.5) else a
        return op(kind, out, a=a, b=b)
    return op(
        "neg" if kind == "tanh" and dtype not in ("f32", "f64") else kind,
        out,
        a=a,
    )


def options(draw: Draw) -> dict:
    if draw.chance(0.8):
        return {}
    return {
        "options": draw.pick(
            (
                {"bytes_per_pack": 0},
                {"bytes_per_pack": draw.number(1, 64)},
                {"implementation": "RING"},  # [2.5-implementation]
            )
        )
    }


def all_reduce(draw: Draw) -> dict:
    spec = draw.strategy()
    names = [f"x{i}" for i in range(draw.pick((1, 2, 3, 4), (6, 3, 2, 1)))]
    inputs, body, leaves = {}, [], []
    for name in names:
        dtype, shape = draw.dtype(), draw.shape()
        if draw.chance(0.1):
            inputs[name] = {"shared": draw.tensor(dtype, shape)}
        else:
            inputs[name] = draw.per_replica(spec["replicas"], dtype, shape)
        leaves.append(name)
        if draw.chance(0.5):
            body.append(unary(draw, f"{name}b", name, dtype))
            leaves[-1] = f"{name}b"
    nest = (
        draw.nest(leaves) if len(leaves) > 1 or draw.chance(0.3) else leaves[0]
    )
    body.append(
        op(
            "all_reduce",
            "y",
            reduce_op=draw.reduce_op(),
            value=nest,
            **options(draw),
        )
    )
    return case([run(body, "y", names)], inputs=inputs, observe=["r"], **spec)


def chain(draw: Draw) -> dict:
    """Several collectives, each on the result of the one before."""
    spec, dtype, shape = draw.strategy(), draw.dtype(), draw.shape()
    inputs = {"x": draw.per_replica(spec["replicas"], dtype, shape)}
    body, value = [], "x"
    for step in range(draw.number(2, 4)):
        name = f"s{step}"
        kind = draw.pick(("reduce", "math", "mix"), (3, 2, 2))
        if kind == "reduce":
            reduce_op = draw.reduce_op() if dtype in FLOATS else "SUM"
            body.append(
                op("all_reduce", name, reduce_op=reduce_op, value=value)
            )
        elif kind == "math":
            body.append(unary(draw, name, value, dtype))
        else:
            body.append(op(draw.pick(("add", "sub")), name, a=value, b="x"))
        value = name
    body.append(op("all_reduce", "y", reduce_op=draw.reduce_op(), value=value))
    return case(
        [run(body, draw.pick(("y", ["y", value])), ["x"])],
        inputs=inputs,
        observe=["r"],
        **spec,
    )


def all_gather(draw: Draw) -> dict:
    spec = draw.strategy()
    names = [f"x{i}" for i in range(draw.pick((1, 2, 3), (6, 3, 1)))]
    axis = draw.pick((0, 1, 2), (6, 3, 1))
    inputs, body = {}, []
    for name in names:
        dtype = "bool" if draw.chance(0.1) else draw.dtype()
        shape = draw.shape(draw.number(axis + 1, 3))
        ragged = draw.chance(0.6)
        inputs[name] = (
            draw.ragged(spec["replicas"], dtype, shape, axis)
            if ragged
            else draw.per_replica(spec["replicas"], dtype, shape)
        )
    nest = draw.nest(names) if len(names) > 1 else names[0]
    body.append(op("all_gather", "y", value=nest, axis=axis, **options(draw)))
    returns = "y"
    numbers = all(p["dtype"] != "bool" for p in inputs[names[0]]["per_replica"])
    if len(names) == 1 and numbers and draw.chance(0.4):
        body.append(
            op("reduce_sum", "z", a="y", **draw.pick(({}, {"axis": axis})))
        )
        if draw.chance(0.5):
            body.append(
                op("all_reduce", "z", reduce_op=draw.reduce_op(), value="z")
            )
        returns = draw.pick(("z", ["z", "y"]))
    return case(
        [run(body, returns, names)], inputs=inputs, observe=["r"], **spec
    )


def sparse(draw: Draw) -> dict:
    """Indexed slices with rows of their own on every replica, alone or beside a
    dense value.
    """
    spec = draw.strategy()
    dtype, width, rows = (
        draw.dtype(),
        draw.shape(draw.number(0, 2)),
        draw.number(2, 6),
    )

    inputs = {"s": draw.sparse(spec["replicas"], dtype, [rows, *width], most=4)}
    names, value = ["s"], "s"
    if draw.chance(0.3):
        inputs["d"] = draw.per_replica(
            spec["replicas"], draw.dtype(), draw.shape()
        )
        names, value = ["s", "d"], ["s", "d"]
    reduce_op = draw.reduce_op() if dtype in FLOATS else "SUM"
    if len(names) == 1 and draw.chance(0.4):
        program = [op("reduce", "r", reduce_op=reduce_op, value="s", axis=None)]
    else:
        program = [
            run(
                [op("all_reduce", "y", reduce_op=reduce_op, value=value)],
                "y",
                names,
            )
        ]
    return case(program, inputs=inputs, observe=["r"], **spec)


def regrouping(draw: Draw) -> dict:
    """How `run` regroups results: one object, N objects, host scalars, nests
    of them.
    """
    spec = draw.strategy()
    dtype = draw.dtype()
    inputs = {
        "x": draw.per_replica(spec["replicas"], dtype, draw.shape()),
        "k": {"shared": draw.tensor(dtype, draw.shape())},
    }
    body = [
        unary(draw, "a", "x", dtype),
        op("identity", "b", a="k"),
        op("set", "c", a="k"),
        op("cast", "d", a="k", dtype=dtype),
        op("num_replicas", "e"),
        op("range_py", "f", n=draw.number(0, 3)),
        op("cast", "g", a="x", dtype=draw.pick(("f32", "f64", "i32"))),
        op("expand_dims", "h", a="x", axis=0),
    ]
    names = ["x", "k", *(s["out"] for s in body)]
    chosen = [draw.pick(names) for _ in range(draw.number(1, 5))]
    first = run(
        body,
        draw.nest(chosen) if len(chosen) > 1 else chosen[0],
        ["x", "k"],
        out="q",
    )
    again = op(
        "run",
        "r",
        args=["q"],
        params=["p"],
        fn=[],
        returns=draw.pick(("p", {"tuple": ["p", {"py": draw.number(0, 9)}]})),
    )
    local = op("local_results", "r", value="q")
    program = [first, draw.pick((again, local, op("set", "r", a="q")))]
    return case(program, inputs=inputs, observe=["r"], **spec)


FAMILIES = {
    "all_reduce": (all_reduce, 4),
    "chain": (chain, 3),
    "all_gather": (all_gather, 4),
    "sparse": (sparse, 2),
    "regrouping": (regrouping, 2),
}
