"""Collectives with wrong operands: shapes, element types, axes, reductions and
destinations.
"""

from __future__ import annotations

from building import op, py, run, slices

from .draw import Draw
from .given import Given


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


def wrong_destination(draw: Draw, given: Given) -> list[dict]:
    return [
        op("reduce_to", "r", reduce_op="SUM", value="x", destinations=["x"])
    ]


def no_destination(draw: Draw, given: Given) -> list[dict]:
    return [op("broadcast_to", "r", value="k", destinations=None)]
