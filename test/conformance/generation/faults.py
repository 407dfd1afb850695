"""Nearly valid programs: each has one error, and the class of its diagnostic is
known.
"""

from __future__ import annotations

from dataclasses import dataclass

from building import case, const, op, py, run, slices, variable

from .draw import Draw


@dataclass
class Given:
    """The environment of a wrong program: x with rows, z and k scalars, and
    variables of all kinds; it may change them.
    """

    replicas: int
    inputs: dict[str, dict]
    variables: list[dict]


def _collective(draw: Draw, value="x", out="y") -> dict:
    kind = draw.pick(("all_reduce", "all_gather", "merge_call"))
    if kind == "all_reduce":
        return op(kind, out, reduce_op=draw.pick(("SUM", "MEAN")), value=value)
    if kind == "all_gather":
        return op(kind, out, value=value, axis=0)
    return op(
        kind,
        out,
        args=[value],
        params=["a"],
        fn=[op("reduce", "t", reduce_op="SUM", value="a", axis=None)],
        returns="t",
    )


def diverging(draw: Draw, given: Given) -> list[dict]:
    """Replicas that rendezvous in different collectives, or not all of them."""
    one = _collective(draw)
    kind = draw.pick(("missing", "other", "order", "count"))
    if kind == "missing":
        sides = [[one], []]
    elif kind == "other":
        sides = [
            [op("all_reduce", "y", reduce_op="SUM", value="x")],
            [
                draw.pick(
                    (
                        op("all_reduce", "y", reduce_op="MEAN", value="x"),
                        op("all_gather", "y", value="x", axis=0),
                    )
                )
            ],
        ]
    elif kind == "order":
        first, second = (
            op("all_reduce", "y", reduce_op="SUM", value="x"),
            op("all_reduce", "z", reduce_op="SUM", value="k"),
        )
        sides = [[first, second], [second, first]]
    else:
        sides = [[one, one], [one]]
    if draw.chance(0.5):
        sides.reverse()
    ids = [draw.number(0, given.replicas - 1)]
    return [
        run(
            [op("static_if_replica", ids=ids, then=sides[0], else_=sides[1])],
            None,
            ["x", "k"],
            out=None,
        )
    ]


def in_varying_control_flow(draw: Draw, given: Given) -> list[dict]:
    collective = op("all_reduce", "t", reduce_op="SUM", value="x")
    if draw.chance(0.3):
        body = [
            op("replica_id", "n"),
            op(
                "while",
                "y",
                trip_count="n",
                init="x",
                carry="c",
                body=[collective],
                yield_="t",
            ),
        ]
    else:
        source = draw.pick(
            (
                [op("less", "p", a="z", b=const(draw.tensor("f32", [])))],
                [op("replica_id", "i"), op("less", "p", a="i", b=py(1))],
            )
        )
        sides = [
            {"body": [collective], "returns": "t"},
            {"body": [], "returns": "x"},
        ]
        if draw.chance(0.5):
            sides.reverse()
        body = [
            *source,
            op("cond", "y", pred="p", then=sides[0], else_=sides[1]),
        ]
    return [run(body, "y", ["x", "z"])]


def wrong_context(draw: Draw, given: Given) -> list[dict]:
    crossing = draw.pick(
        (
            op("reduce", "y", reduce_op="SUM", value="x", axis=None),
            op("gather", "y", value="x", axis=0),
            op("reduce_to", "y", reduce_op="SUM", value="x", destinations="x"),
            op("broadcast_to", "y", value="x", destinations="x"),
            op("run", "y", args=[], params=[], fn=[], returns=py(1)),
        )
    )
    if draw.chance(0.5):
        return [run([crossing], "y", ["x"])]
    inside = _collective(draw, "a")
    return [
        run(
            [
                op(
                    "merge_call",
                    "y",
                    args=["x"],
                    params=["a"],
                    fn=[inside],
                    returns=None,
                )
            ],
            "y",
            ["x"],
        )
    ]


def wrong_axis(draw: Draw, given: Given) -> list[dict]:
    rank = len(given.inputs["x"]["per_replica"][0]["shape"])
    if draw.chance(0.5):
        return [
            run(
                [
                    op(
                        "all_gather",
                        "y",
                        value="x",
                        axis=draw.pick((-1, rank, rank + 1)),
                    )
                ],
                "y",
                ["x"],
            )
        ]
    return [
        op(
            "reduce",
            "r",
            reduce_op="SUM",
            value="x",
            axis=draw.pick((rank, -rank - 1, [0, rank])),
        )
    ]


def wrong_shape(draw: Draw, given: Given) -> list[dict]:
    part = given.inputs["x"]["per_replica"][-1]
    given.inputs["x"]["per_replica"][-1] = draw.tensor(
        "f32", [part["shape"][0] + 1, *part["shape"][1:]]
    )
    inside = draw.pick(
        (
            op("all_reduce", "y", reduce_op="SUM", value="x"),
            op(
                "merge_call",
                "y",
                args=["x"],
                params=["a"],
                fn=[op("reduce", "t", reduce_op="MEAN", value="a", axis=None)],
                returns="t",
            ),
        )
    )
    return draw.pick(
        (
            [run([inside], "y", ["x"])],
            [op("reduce", "r", reduce_op="SUM", value="x", axis=None)],
        )
    )


def wrong_gather_shape(draw: Draw, given: Given) -> list[dict]:
    given.inputs["x"] = {
        "per_replica": [
            draw.tensor("f32", [2, 1 + (i == given.replicas - 1)])
            for i in range(given.replicas)
        ]
    }
    return draw.pick(
        (
            [run([op("all_gather", "y", value="x", axis=0)], "y", ["x"])],
            [op("gather", "r", value="x", axis=0)],
        )
    )


def wrong_rank(draw: Draw, given: Given) -> list[dict]:
    given.inputs["x"]["per_replica"][-1] = draw.tensor(
        "f32", [1, *given.inputs["x"]["per_replica"][-1]["shape"]]
    )
    return draw.pick(
        (
            [run([op("all_gather", "y", value="x", axis=0)], "y", ["x"])],
            [op("gather", "r", value="x", axis=0)],
        )
    )


def scalar_gather(draw: Draw, given: Given) -> list[dict]:
    return draw.pick(
        (
            [run([op("all_gather", "y", value="z", axis=0)], "y", ["z"])],
            [op("gather", "r", value="z", axis=0)],
        )
    )


def sparse_gather(draw: Draw, given: Given) -> list[dict]:
    given.inputs["s"] = {
        "per_replica": [
            slices(draw.tensor("f32", [1, 2]), [draw.number(0, 3)], [4, 2])
            for _ in range(given.replicas)
        ]
    }
    return [
        run(
            [op("all_gather", "y", value=draw.pick(("s", ["x", "s"])), axis=0)],
            "y",
            ["s", "x"],
        )
    ]


def wrong_reduce_op(draw: Draw, given: Given) -> list[dict]:
    name = draw.pick(("MAX", "MIN", "PROD", "AVERAGE"))
    return draw.pick(
        (
            [
                run(
                    [op("all_reduce", "y", reduce_op=name, value="x")],
                    "y",
                    ["x"],
                )
            ],
            [op("reduce", "r", reduce_op=name, value="x", axis=None)],
        )
    )


def wrong_option(draw: Draw, given: Given) -> list[dict]:
    return [
        run(
            [
                op(
                    "all_reduce",
                    "y",
                    reduce_op="SUM",
                    value="x",
                    options={"bytes_per_pack": -draw.number(1, 99)},
                )
            ],
            "y",
            ["x"],
        )
    ]


def sum_of_bools(draw: Draw, given: Given) -> list[dict]:
    given.inputs["b"] = draw.per_replica(given.replicas, "bool", draw.shape())
    return [
        run(
            [op("all_reduce", "y", reduce_op=draw.reduce_op(), value="b")],
            "y",
            ["b"],
        )
    ]


def sum_of_one_value(draw: Draw, given: Given) -> list[dict]:
    if draw.chance(0.5):
        return [
            op(
                "reduce",
                "r",
                reduce_op="SUM",
                value=py(draw.number(1, 5)),
                axis=None,
            )
        ]
    return [
        run(
            [op("assign_add", var="total", value=py(float(draw.number(1, 5))))],
            None,
            ["total"],
            out=None,
        )
    ]


def per_replica_write(draw: Draw, given: Given) -> list[dict]:
    write = draw.write()
    crossing = op(
        "update",
        var="v",
        args=["z"],
        params=["w", "g"],
        fn=[op(write, var="w", value="g")],
    )
    return [draw.pick((op(write, var="v", value="z"), crossing))]


def no_aggregation(draw: Draw, given: Given) -> list[dict]:
    write = op(draw.write(), var="v", value="z")
    return [run([write], None, ["z", "v"], out=None)]


def wrong_element_type(draw: Draw, given: Given) -> list[dict]:
    given.inputs["k"] = {
        "shared": draw.tensor(draw.pick(("f64", "i32", "f16")), [])
    }
    return [
        draw.pick(
            (
                op("assign", var="v", value="k"),
                op("assign_add", var="total", value="k"),
                op("add", "r", a="v", b="k"),
            )
        )
    ]


def on_read_sum(draw: Draw, given: Given) -> list[dict]:
    return [
        op(
            draw.pick(("assign_add", "assign_sub")),
            var="o",
            value=py(1.0),
            read_value=False,
        )
    ]


def _one_row(draw: Draw, given: Given) -> dict:
    return {
        "per_replica": [
            slices(draw.tensor("f32", [1]), [0], [2])
            for _ in range(given.replicas)
        ]
    }


def on_read_scatter(draw: Draw, given: Given) -> list[dict]:
    given.inputs["s"] = _one_row(draw, given)
    return [
        run(
            [
                op(
                    draw.pick(("scatter_add", "scatter_sub", "scatter_max")),
                    var="q",
                    slices="s",
                )
            ],
            None,
            ["s", "q"],
            out=None,
        )
    ]


def unsummable_scatter(draw: Draw, given: Given) -> list[dict]:
    given.inputs["s"] = _one_row(draw, given)
    return [
        run(
            [
                op(
                    draw.pick(("scatter_min", "scatter_max", "scatter_update")),
                    var="m",
                    slices="s",
                )
            ],
            None,
            ["s", "m"],
            out=None,
        )
    ]


def wrong_destination(draw: Draw, given: Given) -> list[dict]:
    return [
        op("reduce_to", "r", reduce_op="SUM", value="x", destinations=["x"])
    ]


def other_structure(draw: Draw, given: Given) -> list[dict]:
    sides = [
        op("set", "y", a="x"),
        op(
            "set",
            "y",
            a=draw.pick((["x"], {"dict": {"a": "x"}}, {"tuple": ["x", "x"]})),
        ),
    ]
    return [
        run(
            [
                op(
                    "static_if_replica",
                    ids=[0],
                    then=[sides[0]],
                    else_=[sides[1]],
                )
            ],
            "y",
            ["x"],
        )
    ]


def mixed_strategies(draw: Draw, given: Given) -> list[dict]:
    body = draw.pick(
        (
            [run([])],
            [op("reduce", "r", reduce_op="SUM", value="x", axis=None)],
            [op("assign", var="v", value="k")],
        )
    )
    return [
        op(
            "other_scope",
            strategy={"kind": "one_device", "replicas": 1},
            body=body,
        )
    ]


def no_synchronization(draw: Draw, given: Given) -> list[dict]:
    given.variables.append(
        variable(
            "n",
            draw.tensor("f32", draw.shape()),
            "NONE",
            draw.pick(("NONE", "SUM", "MEAN")),
        )
    )
    return []


def mean_of_integers(draw: Draw, given: Given) -> list[dict]:
    init = draw.tensor(draw.pick(("i32", "i64")), draw.shape())
    given.variables.append(
        variable("n", init, draw.pick(("AUTO", "ON_WRITE", "ON_READ")), "MEAN")
    )
    return []


def no_destination(draw: Draw, given: Given) -> list[dict]:
    return [op("broadcast_to", "r", value="k", destinations=None)]


# Each fault, the class of its diagnostic, and whether it applies only to
# strategies with several copies of a variable.
FAULTS = (
    (diverging, "E_COLLECTIVE_DIVERGENCE", False),
    (in_varying_control_flow, "E_COLLECTIVE_IN_CONTROL_FLOW", False),
    (wrong_context, "E_CONTEXT", False),
    (wrong_axis, "E_AXIS_RANGE", False),
    (wrong_shape, "E_SHAPE_MISMATCH", False),
    (wrong_gather_shape, "E_SHAPE_MISMATCH", False),
    (wrong_rank, "E_RANK_MISMATCH", False),
    (scalar_gather, "E_SCALAR_GATHER", False),
    (sparse_gather, "E_SPARSE_GATHER", False),
    (wrong_reduce_op, "E_REDUCE_OP", False),
    (wrong_option, "E_OPTION_VALUE", False),
    (sum_of_bools, "E_DTYPE_UNSUPPORTED", False),
    (sum_of_one_value, "E_NON_DISTRIBUTED_SUM", False),
    (per_replica_write, "E_PER_REPLICA_IN_UPDATE", True),
    (no_aggregation, "E_AGG_NONE", False),
    (wrong_element_type, "E_DTYPE_MISMATCH", False),
    (on_read_sum, "E_ONREAD_ASSIGN_ADD_SUM", True),
    (on_read_scatter, "E_SCATTER_ONREAD", True),
    (unsummable_scatter, "E_SCATTER_AGG", True),
    (wrong_destination, "E_DEST_LIST", False),
    (other_structure, "E_STRUCT_MISMATCH", False),
    (mixed_strategies, "E_MIXED_STRATEGY", False),
    (no_synchronization, "E_SYNC_NONE", True),
    (mean_of_integers, "E_MEAN_INT_VAR", True),
    (no_destination, "E_DEST_NONE", False),
)


def fault(draw: Draw) -> tuple[dict, str]:
    """A case and the class of its diagnostic."""
    make, code, mirrors = draw.pick(FAULTS)
    spec = draw.several()
    while (mirrors and spec["kind"] == "central_storage") or (
        make is other_structure and spec["kind"] == "multi_worker_mirrored"
    ):
        spec = draw.several()
    replicas = spec["replicas"]
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
    given = Given(replicas, inputs, variables)
    program = make(draw, given)
    return case(
        program, inputs=given.inputs, variables=given.variables, **spec
    ), code
