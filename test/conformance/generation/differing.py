"""Values whose type, rank, size or kind differs between replicas, or that some
replicas lack; loops and branches whose sizes and trip counts are data.
"""

from __future__ import annotations

from building import case, const, f32, i32, op, py, run, shared, slices, tensor

from .draw import Draw


def _sides(draw: Draw) -> list[list[dict]]:
    """Two alternatives for `r`, computed from the vector `x`."""
    choices = [
        op("neg", "r", a="x"),
        op("cast", "r", a="x", dtype=draw.pick(("i32", "i64"))),
        op("expand_dims", "r", a="x", axis=draw.pick((0, 1))),
        op("reduce_sum", "r", a="x"),
        op("set", "r", a=const(draw.tensor("f32", [draw.number(0, 4)]))),
        op("set", "r", a=draw.pick((py(2), py(1.5), py(True)))),
        op("set", "r", a=None),
        op(
            "indexed_slices",
            "r",
            values="x",
            indices=const(tensor("i64", [1, 0])),
            dense_shape=[3],
        ),
    ]
    first = draw.number(0, len(choices) - 1)
    return [
        [choices[first]],
        [choices[(first + draw.number(1, len(choices) - 1)) % len(choices)]],
    ]


def branch(draw: Draw) -> dict:  # [1.2-regroup-differing]
    """A branch on the replica's number sets `r` to a different value on each
    side; it is returned, passed on, or computed with.
    """
    spec = draw.several()
    sides = _sides(draw)
    ids = sorted({draw.number(0, spec["replicas"] - 1) for _ in range(2)})
    body = [op("static_if_replica", ids=ids, then=sides[0], else_=sides[1])]
    inputs = {"x": draw.per_replica(spec["replicas"], "f32", [2])}
    numbers = all(s[0]["op"] != "set" or s[0]["a"] is not None for s in sides)
    kind = draw.pick(
        ("return", "again", "local", "merge", "compute"),
        (3, 2, 2, 2, 4 * numbers),
    )
    if kind == "compute":
        body += [
            op("cast", "f", a="r", dtype="f32"),
            op("add", "d", a="f", b=py(0.5)),
            op("reduce_sum", "s", a="d"),
        ]
        body += [op("all_reduce", "t", reduce_op="SUM", value="s")]
        return case(
            [run(body, ["f", "d", "t"], ["x"])],
            inputs=inputs,
            observe=["r"],
            **spec,
        )
    if kind == "merge":
        body += [
            op(
                "merge_call",
                "m",
                args=["r", "x"],
                params=["a", "b"],
                fn=[],
                returns={"tuple": ["b", "a"]},
            )
        ]
        return case(
            [run(body, "m", ["x"])], inputs=inputs, observe=["r"], **spec
        )
    program = [
        run(body, draw.pick(("r", ["r", "x"], {"dict": {"a": "r"}})), ["x"])
    ]
    if kind == "again":
        program.append(
            op(
                "run",
                "q",
                args=["r"],
                params=["z"],
                fn=[op("set", "w", a="z")],
                returns=["w", "z"],
            )
        )
    if kind == "local" and spec["kind"] != "multi_worker_mirrored":
        program.append(op("local_results", "q", value="r"))
    return case(
        program, inputs=inputs, observe=["r", "q"][: len(program)], **spec
    )


def inputs_of_each(draw: Draw) -> dict:
    """Replicas get tensors of different types and ranks, host numbers, or
    indexed slices; all of them become sums of one type.
    """
    spec = draw.several()

    def part() -> dict:
        kind = draw.pick(("tensor", "number", "slices"), (6, 1, 1))
        if kind == "number":
            return py(draw.number(-4, 4))
        if kind == "slices":
            return slices(draw.tensor("f32", [2]), [0, 2], [3])
        return draw.tensor(draw.pick(("f32", "f64", "i32")), draw.shape())

    inputs = {"x": {"per_replica": [part() for _ in range(spec["replicas"])]}}
    body = [
        op("cast", "f", a="x", dtype="f64"),
        op("reduce_sum", "s", a="f"),
        op("all_reduce", "t", reduce_op="SUM", value="s"),
    ]
    return case(
        [run(body, ["x", "f", "t"], ["x"])],
        inputs=inputs,
        observe=["r"],
        **spec,
    )


def ragged_branch(draw: Draw) -> dict:  # [1.2-local-results-ragged]
    """The sides of a branch yield tensors of different sizes; the results are
    gathered, summed, or returned.
    """
    spec, dtype = draw.strategy(), draw.pick(("f32", "i32"))
    inner = [] if draw.chance(0.5) else [draw.number(1, 2)]
    inputs = {
        name: draw.ragged(spec["replicas"], dtype, [1, *inner], 0)
        for name in ("x", "w")
    }
    inputs |= {
        "k": shared(draw.tensor(dtype, [])),
        "z": draw.per_replica(spec["replicas"], dtype, []),
    }

    def side(name: str) -> dict:
        kind = draw.pick(("given", "computed", "static"), (2, 2, 1))
        if kind == "given":
            return {"body": [], "returns": name}
        if kind == "computed":
            return {"body": [op("add", "b", a=name, b=name)], "returns": "b"}
        return {
            "body": [],
            "returns": const(draw.tensor(dtype, [draw.number(0, 5), *inner])),
        }

    body = [
        op("less", "p", a=draw.pick(("k", "z")), b=py(0)),
        op("cond", "y", pred="p", then=side("x"), else_=side("w")),
    ]
    use = draw.pick(("return", "gather", "sum", "again"))
    if use == "gather":
        body.append(op("all_gather", "y", value="y", axis=0))
    elif use == "sum":
        body += [
            op("reduce_sum", "y", a="y", axis=0),
            op("all_reduce", "y", reduce_op="SUM", value="y"),
        ]
    elif use == "again":
        body += [
            op(
                "cond",
                "y",
                pred="p",
                then={"body": [op("neg", "c", a="y")], "returns": "c"},
                else_={"body": [], "returns": "x"},
            )
        ]
    return case(
        [run(body, "y", [*inputs])], inputs=inputs, observe=["r"], **spec
    )


def loop_gradient(draw: Draw) -> dict:  # [2.4-loop]
    """A gradient through a loop whose trip count is a tensor, equal on all
    replicas if the loop has a collective.
    """
    spec = draw.strategy()
    replicas = spec["replicas"]
    exchanges = draw.chance(0.5)
    count = (
        shared(i32(draw.number(1, 3)))
        if exchanges
        else {"per_replica": [i32(draw.number(1, 3)) for _ in range(replicas)]}
    )
    inputs = {
        "x": draw.per_replica(replicas, "f32", [2]),
        "w": draw.per_replica(replicas, "f32", [2]),
        "n": count,
    }
    inner = (
        [
            op(
                "all_reduce",
                "s",
                reduce_op="MEAN" if replicas in (1, 2, 4) else "SUM",
                value="c",
            )
        ]
        if exchanges
        else [op("neg", "s", a="c")]
    )
    inner.append(op(draw.pick(("add", "sub", "mul")), "t", a="s", b="w"))
    if draw.chance(0.3):
        inner.append(
            op(
                "while",
                "t",
                trip_count=draw.pick((2, "n")),
                init="t",
                carry="d",
                body=[op("add", "e", a="d", b="w")],
                yield_="e",
            )
        )
    loop = op(
        "while",
        "y",
        trip_count="n",
        init="x",
        carry="c",
        body=inner,
        yield_="t",
    )
    body = [
        op(
            "gradient",
            "g",
            wrt=["x", "w"],
            body=[loop, op("mul", "l", a="y", b="w")],
            of="l",
        )
    ]
    return case(
        [run(body, "g", ["x", "w", "n"])], inputs=inputs, observe=["r"], **spec
    )


def some_gradients(draw: Draw) -> dict:  # [2.4-some-replicas]
    """The differentiated value depends on another value on some replicas only:
    the others have no gradient of it.
    """
    spec = draw.several()
    inputs = {
        "x": draw.per_replica(spec["replicas"], "f32", [2]),
        "w": draw.per_replica(spec["replicas"], "f32", [2]),
    }
    other = draw.pick(
        (
            op("neg", "r", a="w"),
            op("set", "r", a="w"),
            op("reduce_sum", "r", a="w"),
            op("set", "r", a=const(f32(1.0))),
        )
    )
    inner = [
        op(
            "static_if_replica",
            ids=[0],
            then=[op("square", "r", a="x")],
            else_=[other],
        ),
        op("mul", "l", a="r", b="r"),
    ]
    return case(
        [
            run(
                [op("gradient", "g", wrt=["x", "w"], body=inner, of="l")],
                "g",
                ["x", "w"],
            )
        ],
        inputs=inputs,
        observe=["r"],
        **spec,
    )


FAMILIES = {
    "differing_branch": (branch, 3),
    "differing_inputs": (inputs_of_each, 1),
    "ragged_branch": (ragged_branch, 3),
    "loop_gradient": (loop_gradient, 2),
    "some_gradients": (some_gradients, 1),
}
